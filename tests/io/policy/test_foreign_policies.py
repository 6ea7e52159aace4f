"""Policies of other programs: what each form means, round trips, and what is refused with which words."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from rcpomdp.io import read_policy, write_policy
from rcpomdp.policies import AlphaPolicy, BudgetedAlphaPolicy, ControllerPolicy, MixturePolicy, RandomPolicy
from strategies import Dense, cpomdps

DATA = Path(__file__).parents[2] / "data" / "policies"
MESSAGES = json.loads((DATA / "bad" / "messages.json").read_text())
MODEL = rc.problems.make("tiger")
ALPHA = AlphaPolicy(MODEL, [[0.1, -0.0], [-10, 1 / 3], [5e-324, -10]], [0, 1, 2])
CONTROLLER = ControllerPolicy(MODEL, [2, 0, 1], [[1, 1], [0, 2], [1, 1]], start=1)


def rows(policy: rc.policies.Policy) -> list[dict]:
    return list(rc.simulate(MODEL, policy, runs=100, seed=3).rows())


# What each form means


def test_vectors_of_sarsop_dense_and_sparse() -> None:
    policy = read_policy(DATA / "good" / "tiger.policy", MODEL)
    assert policy.vectors.tolist() == [[1.5, 1.5], [-100, 10], [0, -100]]
    assert policy.actions.tolist() == [0, 1, 2]


def test_vectors_of_pomdp_solve() -> None:
    policy = read_policy(DATA / "good" / "tiger.alpha", MODEL)
    assert policy.vectors.tolist() == [[1.5, 1.5], [-100, 10], [0, -100]]
    assert policy.actions.tolist() == [0, 1, 2]


def test_a_graph_begins_at_its_first_node_unless_told_otherwise() -> None:
    policy = read_policy(DATA / "good" / "doors.pg", MODEL)
    assert policy.actions.tolist() == [0, 0, 0, 2, 1]
    assert policy.successors.tolist() == [[1, 2], [3, 0], [0, 4], [0, 0], [0, 0]]
    assert policy.start == 0
    assert read_policy(DATA / "good" / "doors.pg", MODEL, start=4).start == 4
    with pytest.raises(rc.PolicyError, match="starts at node 5, which does not exist$"):
        read_policy(DATA / "good" / "doors.pg", MODEL, start=5)
    with pytest.raises(rc.PolicyError, match=r"^a \.alpha file has no nodes to start at$"):
        read_policy(DATA / "good" / "tiger.alpha", MODEL, start=0)


def test_a_graph_begins_where_the_vectors_beside_it_say() -> None:
    """Nodes 7 and 3, in this order; an observation that cannot be made stays where it is."""
    policy = read_policy(DATA / "good" / "old.pg", MODEL)
    assert policy.successors.tolist() == [[0, 0], [1, 0]]
    assert policy.start == 1  # 5/2 is more than 4/2
    left = MODEL.with_initial_belief([1.0, 0.0])
    assert read_policy(DATA / "good" / "old.pg", left).start == 0
    assert read_policy(DATA / "good" / "old.pg", MODEL, start=0).start == 0


# Round trips


def test_a_solution_of_sarsop_comes_back_in_each_format(tmp_path: Path) -> None:
    """The vectors of the solution's nodes are worth as much as it is, and act the same after a round trip."""
    solution = rc.solve(MODEL, "sarsop")
    vectors = rc.policies.node_vectors(solution.policy, MODEL)
    assert vectors.value(MODEL.initial_belief) == pytest.approx(solution.reward, abs=1e-9)
    for ending in (".policy", ".alpha"):
        write_policy(tmp_path / f"x{ending}", vectors, MODEL)
        again = read_policy(tmp_path / f"x{ending}", MODEL)
        assert again.vectors.tobytes() == vectors.vectors.tobytes()
        for p in np.linspace(0, 1, 101):
            assert again.at([p, 1 - p]).action == vectors.at([p, 1 - p]).action
        assert rows(again) == rows(vectors)
    write_policy(tmp_path / "graph.pg", solution.policy, MODEL)
    again = read_policy(tmp_path / "graph.pg", MODEL)
    assert rows(again) == rows(solution.policy)
    assert rc.evaluate(MODEL, again).reward == pytest.approx(solution.reward, abs=1e-9)


@pytest.mark.parametrize("ending", [".policy", ".alpha"])
def test_vectors_come_back_bit_by_bit(ending: str, tmp_path: Path) -> None:
    write_policy(tmp_path / f"x{ending}", ALPHA, MODEL)
    again = read_policy(tmp_path / f"x{ending}", MODEL)
    assert again.vectors.tobytes() == ALPHA.vectors.tobytes()
    assert again.actions.tolist() == ALPHA.actions.tolist()


@settings(derandomize=True, deadline=None, max_examples=60)
@given(cpomdps(), st.integers(0, 2**32 - 1), st.sampled_from([".policy", ".alpha", ".pg"]))
def test_random_policies_come_back(
    tmp_path_factory: pytest.TempPathFactory, case: Dense, seed: int, ending: str
) -> None:
    rng, model, n = np.random.default_rng(seed), case.model, 4
    actions = rng.integers(model.n_actions, size=n)
    path = tmp_path_factory.mktemp("x") / f"x{ending}"
    if ending == ".pg":
        policy = ControllerPolicy(model, actions, rng.integers(n, size=(n, model.n_observations)), int(rng.integers(n)))
        write_policy(path, policy, model)
        again = read_policy(path, model)
        # The same up to the numbers of the nodes: follow both along random observations.
        ours, theirs = policy.start, again.start
        for _ in range(20):
            assert policy.action(ours) == again.action(theirs)
            o = int(rng.integers(model.n_observations))
            ours, theirs = policy.update(ours, o), again.update(theirs, o)
        return
    vectors = AlphaPolicy(
        model, rng.normal(size=(n, model.n_states)) * 10.0 ** rng.integers(-300, 300, (n, 1)), actions
    )
    write_policy(path, vectors, model)
    assert read_policy(path, model).vectors.tobytes() == vectors.vectors.tobytes()


def test_strange_names_of_models_do_no_harm(tmp_path: Path) -> None:
    for name in ('"><!DOCTYPE', "\x00", "a & b"):
        model = rc.CPOMDP(
            transition=[np.eye(2)], observation=[np.eye(2)], reward=[[1], [2]], initial_belief=[1, 0], discount=0.5,
            name=name,
        )  # fmt: skip
        write_policy(tmp_path / "x.policy", AlphaPolicy(model, [[1, 2]], [0]), model)
        assert read_policy(tmp_path / "x.policy", model).vectors.tolist() == [[1, 2]]


def test_load_policy_takes_them_by_their_ending(tmp_path: Path) -> None:
    write_policy(tmp_path / "x.pg", CONTROLLER, MODEL)
    assert rows(rc.load_policy(tmp_path / "x.pg", MODEL)) == rows(CONTROLLER)


# What is refused


@pytest.mark.parametrize("name", MESSAGES)
def test_malformed_files_are_refused_with_a_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DATA / "bad")
    with pytest.raises(rc.PolicyError) as complaint:
        read_policy(name, MODEL)
    assert str(complaint.value) == MESSAGES[name].replace("FILE", repr(name))


def test_every_malformed_file_has_its_message() -> None:
    assert set(os.listdir(DATA / "bad")) == {*MESSAGES, "messages.json", "vectors-beside.alpha"}
    assert len(MESSAGES) >= 25


@pytest.mark.parametrize(
    ("policy", "ending", "sentence"),
    [
        (
            CONTROLLER,
            ".policy",
            "a .policy file holds one set of α-vectors, and a controller has no vectors; write .pg, or those of its "
            "nodes (rc.policies.node_vectors)",
        ),
        (
            ALPHA,
            ".pg",
            "a .pg file holds one controller, and α-vectors name no successors; write .policy or .alpha",
        ),
        (
            MixturePolicy([CONTROLLER, CONTROLLER], [0.5, 0.5]),
            ".pg",
            "a .pg file holds one controller, and a mixture is several policies, one of which is drawn",
        ),
        (RandomPolicy(MODEL), ".alpha", "a .alpha file holds one set of α-vectors, and a random policy is neither"),
        (
            BudgetedAlphaPolicy(MODEL, [[[0, 0], [0, 0]]], [0], [1.0]),
            ".alpha",
            "a .alpha file holds one set of α-vectors, and this policy also looks at what is left of the budget",
        ),
        (ALPHA, ".txt", "'x.txt' does not end in .policy, .alpha or .pg"),
        (ALPHA, "", "'x' does not end in .policy, .alpha or .pg"),
    ],
)
def test_what_cannot_be_expressed_is_refused(
    policy, ending: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rc.PolicyError) as complaint:
        write_policy(f"x{ending}", policy, MODEL)
    assert str(complaint.value) == sentence
    assert not list(tmp_path.iterdir())


def test_policies_of_another_model_are_not_written(tmp_path: Path) -> None:
    other = rc.problems.make("ce")
    with pytest.raises(rc.PolicyError, match="^3 actions need vectors of shape"):
        write_policy(tmp_path / "x.policy", ALPHA, other)
    with pytest.raises(rc.PolicyError, match="^node 0 takes action 2, which the model does not have$"):
        write_policy(tmp_path / "x.pg", CONTROLLER, other)
    assert not list(tmp_path.iterdir())


def test_sparse_vectors_do_not_outgrow_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rcpomdp.io.policy.sarsop.MOST_VALUES", 4)
    with pytest.raises(rc.PolicyError, match=": line 6: the vectors have more than 4 values$"):
        read_policy(DATA / "good" / "tiger.policy", MODEL)


def test_missing_files_and_our_own_endings(tmp_path: Path) -> None:
    with pytest.raises(rc.PolicyError, match="^policy file '.*none.alpha' does not exist$"):
        read_policy(tmp_path / "none.alpha", MODEL)
    (tmp_path / "folder.pg").mkdir()
    with pytest.raises(rc.PolicyError, match="^'.*' is not a file$"):
        read_policy(tmp_path / "folder.pg", MODEL)
    with pytest.raises(rc.PolicyError, match=r"^'.*x.policy' is the name of another program's policy; save as \.rcp, "):
        rc.save_policy(tmp_path / "x.policy", ALPHA, MODEL)
    with pytest.raises(rc.PolicyError, match="is the name of a model file; save the policy as .rcp"):
        rc.save_policy(tmp_path / "x.pomdp", ALPHA, MODEL)
    with pytest.raises(rc.PolicyError, match="^'.*x.policy' is another program's policy file, which says nothing"):
        rc.policy_info(tmp_path / "x.policy")


GOOD = {path.name: path.read_text() for path in (DATA / "good").iterdir()}


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.data())
def test_corruption_is_refused_or_still_a_policy(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(GOOD)), label="file")
    text = GOOD[name]
    i = data.draw(st.integers(0, len(text) - 1), label="from")
    j = min(len(text), i + data.draw(st.integers(0, 20), label="length"))
    piece = data.draw(
        st.one_of(st.just(""), st.just(text[i:j] * 2), st.text("<>/&X- .0123456789e\"'=\n", max_size=6)), label="new"
    )
    folder = tmp_path_factory.mktemp("x")
    (folder / name).write_text(text[:i] + piece + text[j:])
    sentence = "none"
    try:
        policy = read_policy(folder / name, MODEL)
    except rc.PolicyError as complaint:
        policy, sentence = None, str(complaint)
    assert sentence
    assert "\n" not in sentence
    if policy is not None:
        assert policy.actions.max() < MODEL.n_actions
        assert policy.action(policy.initial(np.random.default_rng(0))) < MODEL.n_actions


# What goes on and on


@pytest.mark.parametrize("ending", ["alpha", "pg"])
def test_a_line_without_end_is_refused_before_it_is_held(ending: str, tmp_path: Path) -> None:
    """A file of 20 GB that takes no room on the disk."""
    path = tmp_path / f"x.{ending}"
    with path.open("wb") as file:
        file.truncate(20_000_000_000)
    with pytest.raises(rc.PolicyError, match="^policy file '.*': line 1: there are more than [0-9,]+ letters"):
        read_policy(path, rc.problems.make("tiger"))


@pytest.mark.parametrize(("ending", "what"), [("alpha", "the vectors .* values"), ("pg", "the nodes .* successors")])
def test_lines_without_end_are_refused(ending: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rcpomdp.io.policy.pomdp_solve.MOST_VALUES", 4)
    path = tmp_path / f"x.{ending}"
    path.write_text("0\n1 2\n\n" * 3 if ending == "alpha" else "0 0 0 0\n1 0 0 0\n2 0 0 0\n")
    with pytest.raises(rc.PolicyError, match=f"line [37]: {what.replace(' .* ', ' have more than 4 ')}$"):
        read_policy(path, rc.problems.make("tiger"))


@pytest.mark.parametrize("ending", ["alpha", "pg", "policy"])
def test_a_lack_of_memory_is_one_sentence(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object) -> None:
        raise MemoryError

    for reader in ("read_alpha", "read_graph", "read_sarsop"):
        monkeypatch.setattr(f"rcpomdp.io.policy.foreign.{reader}", no_room)
    path = tmp_path / f"x.{ending}"
    path.touch()
    with pytest.raises(rc.PolicyError, match="^policy file '.*' needs more memory than there is$"):
        read_policy(path, rc.problems.make("tiger"))
