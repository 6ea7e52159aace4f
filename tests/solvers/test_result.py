"""What a result claims, and the file it is saved to."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import rcpomdp as rc
from rcpomdp.cli.printing import solution_table
from rcpomdp.errors import InputError
from rcpomdp.solvers import SOLVERS, Result

CLAIMS = [
    *("solver", "variant", "objective", "status", "lower", "upper", "reward", "cost", "sure_cost"),
    *("admissible", "horizon", "budget", "epsilon", "seed", "seconds", "setup_seconds"),
]


def test_a_saved_result_is_the_file_of_its_policy_and_claims(tmp_path) -> None:
    model = rc.problems.make("ce", budget=6)
    result = rc.solve(model, "sarsop", time_limit=60, progress=lambda point: None)
    problem = {"name": "ce", "parameters": {"budget": 6}}
    result.save(tmp_path / "result.rcp", model, problem)
    rc.save_policy(tmp_path / "policy.rcp", result.policy, model, result.claims(model), problem)
    assert (tmp_path / "result.rcp").read_bytes() == (tmp_path / "policy.rcp").read_bytes()
    facts = rc.policy_info(tmp_path / "result.rcp")
    assert list(facts["claims"]) == [*CLAIMS, "options"]
    assert (facts["claims"]["epsilon"], facts["claims"]["options"]) == (1e-3, {"time_limit": 60})
    assert (facts["claims"]["budget"], facts["problem"]) == ([6], problem)


def test_a_problem_may_be_named_alone_or_left_out(tmp_path) -> None:
    model = rc.problems.make("ce")
    result = rc.solve(model, "cpbvi-d", epsilon=0.5, beliefs=3)
    result.save(tmp_path / "named.rcp", model, "ce")
    assert rc.policy_info(tmp_path / "named.rcp")["problem"] == {"name": "ce", "parameters": {}}
    result.save(tmp_path / "remembered.rcp")
    assert rc.policy_info(tmp_path / "remembered.rcp")["problem"] == {"name": "ce", "parameters": {}}
    own = model.with_initial_belief(model.initial_belief)  # of which it is not known how it was made
    result.save(tmp_path / "nameless.rcp", own)
    facts = rc.policy_info(tmp_path / "nameless.rcp")
    assert facts["problem"] is None
    assert facts["claims"]["options"] == {"epsilon": 0.5, "beliefs": 3}


def test_the_command_line_saves_the_same(tmp_path, run) -> None:
    path = tmp_path / "policy.rcp"
    assert run("solve", "ce", "--epsilon", "0.01", "--seed", "2", "--out", str(path)).code == 0
    model = rc.problems.make("ce")
    result = rc.solve(model, epsilon=0.01, seed=2)
    mine, own = result.claims(model), rc.policy_info(path)["claims"]
    assert list(mine) == list(own) == [*CLAIMS, "options"]
    assert {key: own[key] for key in own if "seconds" not in key} == {
        key: mine[key] for key in mine if "seconds" not in key
    }


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("epsilon", -1, "epsilon must be at least 0, not -1"),
        ("time_limit", 0, "the time limit must be above 0, not 0"),
        ("memory_limit", True, "the memory limit must be above 0, not True"),
        ("seed", 1.5, "seed must be a whole number of at least 0, not 1.5"),
        ("progress", 7, "progress must be a function, not 7"),
    ],
)
def test_all_solvers_refuse_the_same_with_the_same_sentence(name: str, option: str, value, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        rc.solve(rc.problems.make("ce"), name, **{option: value})
    assert str(refused.value) == sentence


def noisy(**more: Any) -> Result:
    """A result whose totals are means of runs."""
    found = rc.solve(rc.problems.make("ce"))
    return replace(found, reward=3.531197, cost=np.array([13.0]), standard_error=np.array([0.78633, 0.45424]), **more)


def test_means_of_runs_are_told_from_exact_totals() -> None:
    assert repr(noisy(runs=150)).endswith("policy with reward 3.531 ± 0.79 and cost 13 ± 0.45 in 150 simulated runs")
    assert "3.531 ± 0.79 (simulated)" in noisy(runs=150)._repr_html_()
    assert "13 ± 0.45 expected (simulated)" in noisy(runs=150)._repr_html_()
    assert "±" not in repr(rc.solve(rc.problems.make("ce")))


def test_the_command_line_tells_means_of_runs_from_exact_totals() -> None:
    page = StringIO()
    Console(file=page, width=120).print(solution_table(noisy(runs=150).summary()))
    shown = {line[:15].strip(): line[15:].strip() for line in page.getvalue().splitlines()}
    assert (shown["reward"], shown["cost"], shown["simulated runs"]) == ("3.531 ± 0.79", "13 ± 0.45", "150")
    assert "standard error" not in shown


def test_what_no_policy_can_keep_is_told() -> None:
    model = rc.problems.make("ce", budget=1)
    found = rc.solve(model)
    assert found.status == "infeasible"
    assert repr(found).startswith(
        "Result of arcs: infeasible, no policy keeps the budget, a policy that breaks it, with reward"
    )
