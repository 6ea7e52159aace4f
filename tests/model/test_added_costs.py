"""Costs that are added to a model: what they come to, where they stay away, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.errors import ModelError, PolicyError
from rcpomdp.model.added_costs import costly_ends

TIGER = rc.problems.make("tiger")


def test_functions_of_each_arity_are_averaged() -> None:
    model = rc.problems.make("tunnels")
    rng = np.random.default_rng(0)
    values = rng.random((model.n_states, model.n_actions, model.n_states, model.n_observations))
    at = {label: i for i, label in enumerate(model.states)}
    act = {label: i for i, label in enumerate(model.actions)}
    see = {label: i for i, label in enumerate(model.observations)}
    made = model.with_costs(
        {
            "two": lambda s, a: values[at[s], act[a], 0, 0],
            "three": lambda s, a, t: values[at[s], act[a], at[t], 0],
            "four": lambda s, a, t, o: values[at[s], act[a], at[t], see[o]],
        }
    )
    t = np.stack([matrix.toarray() for matrix in model.transition])
    z = np.stack([matrix.toarray() for matrix in model.observation])
    wanted = [
        values[:, :, 0, 0],
        np.einsum("ast,sat->sa", t, values[..., 0]),
        np.einsum("ast,ato,sato->sa", t, z, values),
    ]
    for found, want in zip(made.cost[1:], wanted, strict=True):
        np.testing.assert_allclose(found, np.where(model.terminal[:, None], 0, want), atol=1e-12)
    assert made.terminal.tolist() == model.terminal.tolist()
    assert made.budget.tolist() == [1.0, np.inf, np.inf, np.inf]
    assert made.source is None  # it is no longer the problem that it was made from


def test_arrays_terms_and_horizons() -> None:
    array = np.array([[1.0, 0, 0], [0, 2.0, 0]])
    made = TIGER.with_costs({"x": array}, budget=5, cost_discount=1, step_limit=2)
    assert made.cost[1].tolist() == array.tolist()
    assert (made.budget[1], made.cost_discount[1], made.step_limit[1]) == (5, 1, 2)
    short = TIGER.with_horizon(3).with_costs({"x": array}, budget=5)
    other = TIGER.with_costs({"x": array}, budget=5).with_horizon(3)
    assert short.fingerprint == other.fingerprint
    assert np.array_equal(short.budget, other.budget)


def test_lines_mean_what_a_file_means(tmp_path: Path) -> None:
    lines = ["doors: * : * 1", "doors: listen 0", "ears: listen : tiger-left : * : hear-left 2"]
    made = TIGER.with_costs(lines)
    rc.save_model(tmp_path / "tiger.pomdp", TIGER)
    text = (tmp_path / "tiger.pomdp").read_text().replace("#! costs: 1 cost", "#! costs: 3 cost doors ears")
    text = text.replace("#! budget: 3", "#! budget: 3 inf inf")
    text += "#! C[1]: * : * : * : * 1\n#! C[1]: listen : * : * : * 0\n"
    text += "#! C[2]: listen : tiger-left : * : hear-left 2\n"
    (tmp_path / "more.pomdp").write_text(text)
    np.testing.assert_allclose(made.cost, rc.load_model(tmp_path / "more.pomdp").cost, atol=1e-12)


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ("energy", "'energy' is not of the form NAME: ACTION : STATE VALUE"),
        ("energy: lisen : * 1", "unknown action 'lisen'; did you mean 'listen'"),
        ("energy: listen : * one", "ends in 'one', which is no number"),
        ("energy: listen : * -1", "is -1, not a finite number of at least 0"),
        ("cost: listen : * 1", "cost 'cost' is declared twice"),
        ({"x": 3.0}, "cost 'x' has shape"),
        ({"x": lambda s: 1}, "cost 'x' takes"),
        ({"x": lambda s, a: "much"}, "cost 'x' of state 'tiger-left' under action 'listen' is 'much', not a number"),
        ({"x": -np.ones((2, 3))}, "cost 'x' of state 'tiger-left' under action 'listen' is -1, below 0"),
        ([3], "cost 3 is no text"),
        ({}, "no cost is given"),
    ],
)
def test_what_makes_no_sense_is_refused(costs: object, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        TIGER.with_costs(costs)


def test_an_end_that_costs_is_asked_about(tmp_path: Path, run) -> None:
    model = rc.CPOMDP(
        transition=[[[0.0, 1.0], [0.0, 1.0]]],
        observation=[[[1.0], [1.0]]],
        reward=[[1.0], [0.0]],
        cost=[[1.0], [1.0]],
        initial_belief=[1, 0],
        discount=0.9,
        states=["on", "done"],
    )
    assert costly_ends(model) == ["done"]
    assert costly_ends(TIGER) == []
    rc.save_model(tmp_path / "m.pomdp", model)
    assert "'done' absorbs but costs: is it meant to be the end?" in run("check", str(tmp_path / "m.pomdp")).err
    free = rc.CPOMDP(
        transition=model.transition,
        observation=model.observation,
        reward=model.reward,
        initial_belief=[1, 0],
        discount=0.9,
        states=["on", "done"],
    )
    assert free.with_costs({"c": lambda s, a: 1.0}).cost[0].tolist() == [[1.0], [0.0]]  # an end costs nothing


def test_a_model_remembers_where_it_is_from_and_a_policy_file_says_so(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = rc.problems.make("tiger", accuracy=0.9)
    policy = rc.policies.blind(model, "listen")
    assert model.source == {"name": "tiger", "parameters": {"accuracy": 0.9}}
    assert model.with_budget(2).source == model.source
    rc.save_policy("a.rcp", policy, model)
    assert rc.policy_info("a.rcp")["problem"] == model.source
    rc.save_model("w.pomdp", model.with_horizon(2))
    loaded = rc.load_model("w.pomdp")
    assert loaded.source == {"name": "w.pomdp", "parameters": {}}
    for problem in ({"file": "w.pomdp"}, "w.pomdp", {"name": "w.pomdp"}, None):
        rc.save_policy("b.rcp", rc.policies.blind(loaded, "listen"), loaded, problem=problem)
        assert rc.policy_info("b.rcp")["problem"] == loaded.source
    for problem in ({}, {"name": "a", "file": "b"}, {"title": "x"}, 3):
        with pytest.raises(PolicyError, match="it needs a name, .* or a model file"):
            rc.save_policy("c.rcp", policy, model, problem=problem)
    assert not Path("c.rcp").exists()


def test_the_title_of_a_model_without_a_name_is_its_files(tmp_path: Path) -> None:
    (tmp_path / "plain.pomdp").write_text(
        "discount: 0.9\nvalues: reward\nstates: 1\nactions: 1\nobservations: 1\n"
        "T: 0\nidentity\nO: 0\nuniform\nR: * : * : * : * 1\n"
    )
    model = rc.load_model(tmp_path / "plain.pomdp")
    assert (model.name, model.title, TIGER.title) == ("", "plain", "tiger")


def test_the_command_line_adds_costs_and_remembers_them(tmp_path: Path, run, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rc.save_model("plain.pomdp", TIGER.scalarised([0.0]))
    ran = run("solve", "plain.pomdp", "--budget", "5")
    assert ran.code == 2
    assert (
        "'plain.pomdp' has no costs that a budget could limit; add one by --cost 'NAME: ACTION : STATE VALUE'"
        in ran.err
    )
    ran = run("solve", "plain.pomdp", "--cost", "ears: listen : * 1", "--budget", "2", "--out", "p.rcp", "--json")
    assert ran.code == 0, ran.err
    assert rc.policy_info("p.rcp")["problem"]["parameters"] == {"costs": ["ears: listen : * 1"]}
    assert run("verify", "p.rcp").code == 0


def test_pomdpx_costs_go_by_names(tmp_path: Path) -> None:
    path = tmp_path / "tiger.pomdpx"
    rc.save_model(path, TIGER)
    text = path.read_text()
    assert "<?rcpomdp-cost 0 0 0 1.0 1 1.0?>" in text
    path.write_text(
        text.replace("<?rcpomdp-cost 0 0 0 1.0 1 1.0?>", "<?rcpomdp-cost cost listen * 1.0 tiger-right 1?>")
    )
    assert rc.load_model(path).cost.tolist() == TIGER.cost.tolist()
    path.write_text(text.replace("<?rcpomdp-cost 0 0", "<?rcpomdp-cost 0 whistle"))
    with pytest.raises(rc.ModelFileError, match="action 'whistle' is neither a name nor between 0 and 2"):
        rc.load_model(path)
