"""Budgets of nothing: what may be done follows from what can be the case."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import budget_reference
import rcpomdp as rc
from budget_kinds import best_within, of_a_kind
from rcpomdp.policies import PlanSetPolicy
from rcpomdp.solvers.arcs.supports import over_supports
from strategies import Dense, random_model
from work import AMPLE, stop_after


def hidden(budget: float) -> rc.CPOMDP:
    """Which of two states it is cannot be seen; the second action costs in one of them, and pays in both."""
    return rc.CPOMDP(
        transition=[[[0.6, 0.4], [0.4, 0.6]]] * 2,
        observation=[[[0.8, 0.2], [0.3, 0.7]]] * 2,
        reward=[[0.0, 5.0], [1.0, 5.0]],
        cost=[[0.0, 0.0], [0.0, 1e-6]],
        initial_belief=[1.0, 0.0],
        discount=0.95,
        budget=budget,
    )


def case_of(seed: int) -> Dense:
    rng = np.random.default_rng(seed)
    budget = np.where(np.arange(n_costs := 1 + seed % 2) == 0, 0.0, rng.uniform(0, 4, n_costs))
    return random_model(
        rng, 4, 3, 2, n_costs, discount=0.8, density=0.4, deterministic=0.5, cost_density=0.4, budget=budget
    )


@pytest.mark.parametrize("seed", range(24))
def test_bounds_and_policies_against_brute_force(seed: int) -> None:
    case = case_of(seed)
    low, high = budget_reference.optimum_interval(case, 2000)
    r = rc.solve(case.model, time_limit=AMPLE, switches={})  # the search alone
    assert r.lower <= high + 1e-6
    assert r.upper >= low - 1e-6
    assert (r.status == "infeasible") == (high == -np.inf)
    if r.admissible:
        found = rc.verify(case.model, r.policy, r.summary())
        assert found.verified, found.problem


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", [{"cost_discount": 1.0}, {"step_limit": 0.5}, {"discount": 1.0}])
def test_horizons_limits_of_steps_and_discounts(seed: int, kind: dict[str, Any]) -> None:
    case = case_of(2 * seed)
    plain = of_a_kind(case, **kind)
    model = plain.with_horizon(3)
    optimum = best_within(case, plain, 3)
    r = rc.solve(model, time_limit=AMPLE, switches={})
    if optimum == -np.inf:
        assert r.status == "infeasible"
        return
    assert r.lower - 1e-6 <= optimum <= r.upper + 1e-6
    assert r.status == "optimal"
    assert rc.verify(model, r.policy, r.summary()).verified


def test_a_circle_of_free_actions_is_found() -> None:
    """Nothing is free at every state, and what is leads around: 0, 1.48 and −1.48, for ever."""
    model = rc.CPOMDP(
        transition=[
            [[1, 0, 0], [1, 0, 0], [0, 1, 0]],
            [[0, 1, 0], [0.8, 0, 0.2], [0, 1, 0]],
            [[0, 0, 1], [0, 1, 0], [0, 0, 1]],
        ],
        observation=np.ones((3, 3, 1)),
        reward=[[4.0, -5.0, -1.48], [1.48, -4.0, 2.0], [0.0, 0.0, 1.0]],
        cost=[[1.0, 0.31, 0.0], [0.0, 1.0, 0.31], [0.0, 1.0, 0.31]],
        initial_belief=[0, 0, 1],
        discount=0.5,
        budget=0,
        cost_discount=0.7,
    )
    r = rc.solve(model, time_limit=AMPLE)
    assert r.status == "optimal"
    assert r.reward == pytest.approx((0.5 * 1.48 - 0.25 * 1.48) / (1 - 0.125), abs=1e-3)
    assert rc.verify(model, r.policy, r.summary()).sure_cost.tolist() == [0.0]


def test_what_may_cost_something_is_out_of_the_question() -> None:
    for start in ([1.0, 0.0], [0.5, 0.5]):
        model = hidden(0.0).with_initial_belief(start)
        r = rc.solve(model, "arcs", time_limit=AMPLE)
        assert r.status == "optimal"
        assert rc.verify(model, r.policy, r.summary()).verified
        assert rc.simulate(model, r.policy, runs=50, steps=60, seed=0).spent[0].mean == 0.0


def test_plan_sets_keep_to_what_may_be_done() -> None:
    """Beside a budget of nothing there is another one, and the gap is open when the search is stopped."""
    model = rc.problems.make("clinic").with_budget([4.5, 0.0, 1.0])
    found = rc.solve(model, progress=stop_after(60))
    assert isinstance(found.policy, PlanSetPolicy)
    assert found.admissible
    verification = rc.verify(model, found.policy, found.summary())
    assert verification.verified, verification.problem
    assert rc.simulate(model, found.policy, 200, 50).violation_rate.mean == 0


def test_where_nothing_is_free_the_numbers_are_those_of_the_model() -> None:
    model = hidden(0.0).with_initial_belief([0.5, 0.5])
    costly = model._changed(arrays=model.arrays._replace(cost=model.cost + 1.0))
    for options in ({}, {"switches": {}}):
        r = rc.solve(costly, "arcs", time_limit=AMPLE, **options)
        assert r.status == "infeasible"
        assert r.reward == pytest.approx(rc.evaluate(costly, r.policy).reward)
        assert r.needed is not None
        assert r.needed[0] > 0


def test_only_budgets_of_nothing_are_looked_at() -> None:
    assert over_supports(hidden(1.0)) is None
    free = hidden(0.0)
    assert over_supports(free._changed(arrays=free.arrays._replace(cost=0 * free.cost))) is None
    found = over_supports(free)
    assert found is not None
    # At first it is known that the costly state is not the case; after that it may be.
    told = found.model()
    assert told.reward[0].tolist() == [0.0, 5.0]
    assert (told.reward[1:, 0] == told.reward[1:, 1]).all()
    assert not told.cost.any()
    assert told.budget.tolist() == [np.inf]
