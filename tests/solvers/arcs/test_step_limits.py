"""Limits of single steps: with and without budgets, where nothing is free, and where nothing after a step counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from budget_kinds import uses
from rcpomdp.solvers.arcs.online import OnlinePolicy
from work import AMPLE

LAST = {"transition": [[[1.0]]] * 3, "observation": [[[1.0]]] * 3, "actions": ["much", "some", "little"]}


def three(budget: float | None, **changes: Any) -> rc.CPOMDP:
    """Much, some and little are earned, and cost 1, 0.6 and 0.5: nothing is free."""
    return uses([[1.0, 0.6, 0.5]], reward=[[3.0, 2.0, 1.0]], budget=budget, **LAST, **changes)


@pytest.mark.parametrize("options", [{}, {"switches": {}}])
@pytest.mark.parametrize(
    ("limit", "optimum"), [(None, 30.0), (1.0, 30.0), (0.99, 20.0), (0.6, 20.0), (0.5, 10.0), (0.49, None), (0.0, None)]
)
@pytest.mark.parametrize("budget", [None, 1000.0])
def test_a_limit_leaves_what_costs_no_more(
    budget: float | None, limit: float | None, optimum: float | None, options: dict[str, Any]
) -> None:
    model = three(budget, step_limit=limit)
    result = rc.solve(model, time_limit=AMPLE, **options)
    assert result.sure_cost.shape == result.cost.shape == (1,)
    if optimum is None:
        assert (result.status, result.lower, result.upper) == ("infeasible", -np.inf, -np.inf)
        assert result.needed is not None
        assert result.needed.shape == (1,)
        return
    assert result.status == "optimal"
    assert (result.lower, result.upper) == (pytest.approx(optimum), pytest.approx(optimum))
    found = rc.verify(model, result.policy, result.claims(model))
    assert found.verified, found.problem


@pytest.mark.parametrize("options", [{}, {"switches": {}}, {"act_time": 0.001}])
@pytest.mark.parametrize(("budget", "optimum"), [(6.0, 20.0), (5.0, 10.0), (5.1, 11.0)])
def test_budgets_and_limits_hold_together(budget: float, optimum: float, options: dict[str, Any]) -> None:
    """Some for ever costs 6, little 5; with 5.1 there is a tenth for one step of some."""
    model = three(budget, step_limit=0.6)
    result = rc.solve(model, time_limit=10, **options)
    assert result.lower <= optimum + 1e-6
    assert result.upper >= optimum - 1e-6
    assert result.admissible
    if isinstance(result.policy, OnlinePolicy):
        assert rc.simulate(model, result.policy, runs=2, steps=20).violation_rate.mean == 0
    else:
        assert rc.verify(model, result.policy, result.claims(model)).verified


@pytest.mark.parametrize(
    ("limit", "status", "value"), [(None, "optimal", 3.0), (0.6, "optimal", 2.0), (0.4, "infeasible", -np.inf)]
)
def test_where_nothing_after_a_step_counts_its_limit_does(limit: float | None, status: str, value: float) -> None:
    result = rc.solve(three(5.0, discount=0.0, step_limit=limit))
    assert (result.status, result.lower, result.upper) == (status, value, value)
    assert rc.solve(three(0.6, discount=0.0)).lower == 2.0


def test_the_belief_decides_what_a_step_costs() -> None:
    """To go costs 1 in one of two states: 0.5 by what is believed, until it was seen."""
    model = rc.CPOMDP(
        transition=[np.eye(2)] * 2,
        observation=[np.eye(2)] * 2,
        reward=[[1.0, 0.0]] * 2,
        cost=[[1.0, 0.0], [0.0, 0.0]],
        initial_belief=[0.5, 0.5],
        discount=0.5,
        step_limit=0.5,
    )
    result = rc.solve(model, time_limit=AMPLE)  # go, and then only in the state that costs nothing
    assert result.lower == pytest.approx(1 + 0.5 * 0.5 * 2)
    assert rc.verify(model, result.policy, result.claims(model)).verified
    none = rc.CPOMDP(**{**_parts(model), "step_limit": 0.49})
    assert rc.solve(none, time_limit=AMPLE).lower == pytest.approx(0.5)  # stay, and see


def _parts(model: rc.CPOMDP) -> dict[str, Any]:
    names = ("transition", "observation", "reward", "cost", "initial_belief", "discount")
    return {name: getattr(model, name) for name in names}


def test_a_search_while_acting_needs_a_budget() -> None:
    with pytest.raises(rc.InputError) as caught:
        rc.solve(three(None, step_limit=1.0), act_time=0.1)
    assert str(caught.value) == "a search while acting needs a budget beside step limits"
