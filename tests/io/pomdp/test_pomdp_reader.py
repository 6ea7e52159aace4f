"""Known files and odd ones."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from test_pomdp_meaning import agrees

import pomdp_reference as reference
import rcpomdp as rc
from rcpomdp.errors import ModelFileError
from rcpomdp.io.pomdp import tables as pomdp_tables
from rcpomdp.io.pomdp.reader import read_stream

DATA = Path(__file__).parents[2] / "data" / "pomdp"
FILES = sorted(DATA.glob("*.pomdp"))


def read(text: str, *, compiled: bool = False, piece: int = 1 << 16) -> rc.CPOMDP:
    return read_stream(io.BytesIO(text.encode()), "FILE", compiled=compiled, piece=piece)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_corpus_means_what_a_second_reader_finds(path: Path) -> None:
    text = path.read_text()
    for compiled in (False, True):
        for piece in (1, 100, 1 << 16):
            agrees(read(text, compiled=compiled, piece=piece), reference.read(text), exact=True)


def test_the_tiger_file_is_the_tiger_problem() -> None:
    model, known = rc.load_model(DATA / "tiger.pomdp"), rc.problems.make("tiger", discount=0.95)
    for a in range(3):
        assert model.transition[a].toarray().tolist() == known.transition[a].toarray().tolist()
        assert model.observation[a].toarray() == pytest.approx(known.observation[a].toarray(), abs=1e-15)
    assert model.reward.tolist() == known.reward.tolist()
    assert model.cost.tolist() == known.cost.tolist()
    assert list(model.states) == list(known.states)
    assert (model.name, list(model.costs), model.budget.tolist()) == ("tiger", ["listening"], [3.0])


def test_every_form_by_hand() -> None:
    """Worked out on paper."""
    model = rc.load_model(DATA / "every-form.pomdp")
    assert list(model.states) == ["left", "middle", "right"]
    assert list(model.actions) == ["go on", (1, 2)]
    assert list(model.costs) == ["time", "risk"]
    assert model.budget.tolist() == [4.5, np.inf]
    assert model.initial_belief.tolist() == [0.5, 0.5, 0.0]
    assert model.transition[0].toarray().tolist() == [[1, 0, 0], [0.5, 0.5, 0], [0, 1, 0]]
    assert model.transition[1].toarray().tolist() == [[0.5, 0.25, 0.25], [0, 0.5, 0.5], [0, 1, 0]]
    assert model.observation[1].toarray().tolist() == [[0.5, 0, 0.5], [0, 0.5, 0.5], [0.5, 0.5, 0]]
    # Values are costs. Left: 1/2 (1 - 4)/2 + 1/4 (5 + 6)/2 + 1/4 (7 + 8)/2; middle: 1/2 1 + 1/2 (10 + 20)/2.
    assert model.reward.tolist() == [[-1, -2.5], [-1, -8], [-1, -1]]
    assert model.cost[0].tolist() == [[1, 1], [1, 1], [1, 1]]
    assert model.cost[1].tolist() == [[0, 0.5], [0, 0], [0, 0]]


def test_where_all_outcomes_agree_a_reward_is_exact() -> None:
    third = "T: 0 uniform O: 0 uniform"
    text = f"discount: 0 states: 3 actions: 1 observations: 3 {third} R: 0 : * : * : * 5 R: 0 : 0 : * : * 0.1\n"
    for o in range(3):
        text += f"R: 0 : 0 : * : {o} 0.3\n"
    assert read(text).reward.tolist() == [[0.3], [5.0], [5.0]]


def test_published_roundings_are_taken() -> None:
    model = read("discount: 0.5 states: 3 actions: 1 observations: 1 T: 0 : * 0.333333 0.333333 0.333333 O: 0 uniform")
    assert model.transition[0].toarray() == pytest.approx(np.full((3, 3), 1 / 3), abs=1e-15)


@pytest.mark.parametrize("compiled", [False, True])
def test_small_and_odd_models(compiled: bool) -> None:
    one = read("discount: 0 states: 1 actions: 1 observations: 1 start: 0 T: 0 : 0 : 0 1 O: 0 1.0", compiled=compiled)
    assert (one.n_states, one.n_costs, one.terminal.tolist()) == (1, 0, [True])
    assert read("discount: 0 states: 1 actions: 1 observations: 1 start: 1 T: 0 1 O: 0 1").initial_belief.tolist() == [
        1
    ]
    # All states of a model that has one are that one.
    alone = read(
        "discount: 0 states: 1 actions: 2 observations: 2 T: * 1 O: 0 uniform O: 1 : * 0.25 0.75", compiled=compiled
    )
    assert [z.toarray().tolist() for z in alone.observation] == [[[0.5, 0.5]], [[0.25, 0.75]]]
    # The second observation never comes, the third state is never reached.
    odd = read(
        "discount: 0.9 states: 3 actions: 1 observations: 2 start: 0 T: 0 identity O: 0 : * 1 0 R: 0 : 0 : * : 1 5",
        compiled=compiled,
    )
    assert odd.reward.tolist() == [[0.0], [0.0], [0.0]]
    assert rc.simulate(odd, rc.policies.RandomPolicy(odd), runs=10).outcome.reward.tolist() == [0.0] * 10
    costs = "#! costs: 5\n#! budget: 1 2 3 4 inf\n" + "".join(f"#! C[{k}]: * : * : * : * {k}\n" for k in range(5))
    five = read(
        f"discount: 0.9 states: 2 actions: 1 observations: 1 T: 0 identity O: 0 uniform\n{costs}", compiled=compiled
    )
    assert list(five.costs) == [f"cost{k}" for k in range(5)]
    assert five.cost[:, 0, 0].tolist() == [0, 1, 2, 3, 4]
    assert five.budget.tolist() == [1, 2, 3, 4, np.inf]


@pytest.mark.parametrize("named", [False, True])
def test_a_hundred_thousand_states(named: bool, tmp_path: Path) -> None:
    """A ring with a slip; every state has its own line."""
    n = 100_000
    names = [f"cell-{s}" for s in range(n)] if named else list(map(str, range(n)))
    with (tmp_path / "ring.pomdp").open("w") as file:
        file.write(f"discount: 0.9\nstates: {' '.join(names) if named else n}\nactions: go\nobservations: 2\n")
        file.write("start include: 0 5\nO: go : * : 0 1\nO: go : 7 0.5 0.5\n")
        for s in range(n):
            file.write(f"T: go : {names[s]} : {names[(s + 1) % n]} 0.75\nT: go : {names[s]} : {names[s]} .25\n")
        file.write(f"R: * : * : * : * -1\nR: go : * : {names[3]} : * 3\n")
    model = rc.load_model(tmp_path / "ring.pomdp")
    assert model.n_states == n
    assert model.arrays.t_prob.size == 2 * n
    assert model.states[99] == ("cell-99" if named else "s99")
    assert model.transition[0][[4, n - 1], [5, 0]].tolist() == [0.75, 0.75]
    assert model.reward[:5, 0].tolist() == [-1, -1, 0.75 * 3 - 0.25, 0.25 * 3 - 0.75, -1]
    assert np.flatnonzero(model.initial_belief).tolist() == [0, 5]


def test_what_is_stated_again_and_again_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pomdp_tables, "_COMPACT_FROM", 100)
    text = (
        "discount: 0 states: 9 actions: 2 observations: 1 O: * uniform\n"
        + "T: * : * 0 1 0 0 0 0 0 0 0 T: 1 uniform " * 40
    )
    for compiled in (False, True):
        model = read(text, compiled=compiled)
        assert model.transition[0].toarray().tolist() == [[0, 1, *[0] * 7]] * 9
        assert model.transition[1].toarray().tolist() == [[1 / 9] * 9] * 9
    monkeypatch.setattr(pomdp_tables, "_MOST_WRITTEN", 1000)
    with pytest.raises(ModelFileError, match="T is stated again and again, 1,000 entries in all"):
        read(text)


def test_comments_of_others_are_comments() -> None:
    text = "#!/bin/solve\n#!!!! not ours\n# #! budget: 3\nT"
    model = read(f"{text.removesuffix('T')}discount: 0 states: 1 actions: 1 observations: 1 T: 0 1 O: 0 1 #! budget: 3")
    assert model.n_costs == 0


def test_line_endings_of_all_systems() -> None:
    text = (DATA / "tiger.pomdp").read_text()
    assert read(text.replace("\n", "\r\n")).fingerprint == read(text).fingerprint
    assert read(text.replace("\n", "\r\n")).name == "tiger"
