"""Bounds from proofs: never below what a policy earns that keeps what is left, and lower than those of the start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.model.remaining_budget import left_after
from rcpomdp.tolerance import slack
from rcpomdp.views.explorer.alternatives import WORSE, Bounds
from rcpomdp.views.explorer.walk import ENDED, starts, walk


@pytest.fixture(scope="module")
def rocks() -> rc.Result:
    return rc.solve(rc.problems.make("crs-4-4"), epsilon=0.01, time_limit=30, proof=True)


@pytest.fixture(scope="module")
def tunnels() -> rc.Result:
    return rc.solve(rc.problems.make("tunnels"), epsilon=0.01, time_limit=30, proof=True)


def check_all_histories(model: rc.CPOMDP, policy: Any, proof: rc.Proof | None) -> int:
    """The action taken earns no more than its bound says, after every history of a policy that keeps its budget."""
    bounds = Bounds(model, proof)
    graph = walk(model, starts(model, policy, 0), 300)
    todo = [(graph.roots[0], model.budget.copy(), slack(model.budget))]
    checked = 0
    while todo and checked < 300:
        node, left, room = todo.pop()
        action = graph.action[node]
        if action == ENDED:
            continue
        belief = graph.beliefs[graph.belief[node]]
        option = bounds.at(belief, left + room)[action]
        most = option.within(left, room)
        attained = float(graph.values[node, 0, 0])
        assert most is not None
        assert most >= attained - 1e-9 * max(1.0, abs(attained))
        checked += 1
        spent = option.cost
        left, room = left_after(left, spent, model.cost_discount), left_after(room, 0.0, model.cost_discount)
        todo += [(edge.node, left, room) for edge in graph.edges[node] if edge.node >= 0]
    return checked


@pytest.mark.parametrize("name", ["rocks", "tunnels"])
def test_no_bound_is_below_what_is_earned(name: str, request: pytest.FixtureRequest) -> None:
    result = request.getfixturevalue(name)
    assert result.model is not None
    assert check_all_histories(result.model, result.policy, result.proof) > 3


def test_a_forged_proof_proves_no_more_than_it_can(rocks: rc.Result) -> None:
    """Values that are 3 too low are found out: what they bound is raised by more than that."""
    assert rocks.model is not None
    assert rocks.proof is not None
    forged = rocks.proof._replace(entry_value=rocks.proof.entry_value - 3.0)
    assert check_all_histories(rocks.model, rocks.policy, forged) > 3


def test_the_solvers_bounds_are_lower_than_those_it_starts_from(rocks: rc.Result) -> None:
    model = rocks.model
    assert model is not None
    first, proven = rc.explain(rocks.policy, model), rc.explain(rocks.policy, model, proof=rocks.proof)
    for (_, before), (option, now) in zip(first.alternatives, proven.alternatives, strict=True):
        assert before.reward_hi is not None
        assert now.reward_hi is not None
        assert now.reward_hi < before.reward_hi - 1
        assert now.word in ("taken", WORSE)
        if option.action == proven.action:
            assert now.reward_hi == pytest.approx(rocks.upper, abs=1e-6)
    assert sum(verdict.word == WORSE for _, verdict in first.alternatives) == 0


def test_a_proof_for_expectation_bounds_what_keeps_the_budget_as_well() -> None:
    model = rc.problems.make("tunnels")
    cgcp = rc.solve(model, "cgcp", proof=True)
    arcs = rc.solve(model, epsilon=0.01)
    assert check_all_histories(model, arcs.policy, cgcp.proof) > 3
    told = rc.explain(arcs.policy, model, proof=cgcp.proof)
    assert max(v.reward_hi or -np.inf for _, v in told.alternatives) <= cgcp.upper + 1e-6


@pytest.mark.parametrize("costs", [0, 2])
def test_several_costs_and_none(costs: int) -> None:
    if costs:
        model = rc.problems.make("ce").with_costs({"steps": lambda s, a: 1.0}, budget=[50.0])
    else:
        model = rc.problems.make("rocksample", costs=False, budget=None)
    assert model.n_costs == costs
    result = rc.solve(model, "arcs" if costs else "sarsop", epsilon=0.1, time_limit=5, proof=True)
    for before, now in zip(
        Bounds(model).at(rc.beliefs.initial(model)),
        Bounds(model, result.proof).at(rc.beliefs.initial(model)),
        strict=True,
    ):
        assert now.reward_hi <= before.reward_hi
        assert now.stairs == before.stairs


def test_the_command_line_takes_a_proof(run: Callable[..., Any], tmp_path: Path, rocks: rc.Result) -> None:
    policy, proof, page = (str(tmp_path / name) for name in ("rocks.rcp", "rocks.rcproof", "rocks.html"))
    rocks.save(policy)
    rc.save_proof(proof, rocks.proof, rocks.model)
    code, told, _ = run("explain", policy, "--proof", proof)
    assert code == 0
    assert "north: worse; within the budget it earns at most 12.0306" in told
    assert "not proven worse" in run("explain", policy)[1]
    assert run("explore", policy, "--proof", proof, "--out", page, "--no-open")[0] == 0
    assert "12.0305862" in Path(page).read_text()
    code, _, told = run("explain", policy, "--proof", str(tmp_path / "none.rcproof"))
    assert code == 2
    assert told.count("\n") == 1
