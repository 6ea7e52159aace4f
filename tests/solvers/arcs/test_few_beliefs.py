"""Models with few beliefs: bounds from both sides that meet, and policies that keep what they promise."""

from __future__ import annotations

import numpy as np
import pytest

import budget_reference
import rcpomdp as rc
import reference
from rcpomdp.solvers.arcs.few_beliefs import few_beliefs


def never() -> bool:
    return False


def few(model: rc.CPOMDP) -> object:
    found = few_beliefs(model, 1e9, never)
    assert found is not None
    return found


def slippery(budget: float, discount: float = 0.9, cost: float = 1.0) -> rc.CPOMDP:
    """Two states that are seen; going on earns something, costs something, and may fail."""
    return rc.CPOMDP(
        transition=[[[0.3, 0.7], [0.7, 0.3]], [[1.0, 0.0], [0.0, 1.0]]],
        observation=[[[1.0, 0.0], [0.0, 1.0]]] * 2,
        reward=[[1.0, 0.0], [3.0, 0.0]],
        cost=[[cost, 0.0], [0.4 * cost, 0.0]],
        initial_belief=[1.0, 0.0],
        discount=discount,
        budget=budget,
    )


@pytest.mark.parametrize("name", ["mini-hall", "cheese-maze"])
def test_some_problems_have_few_beliefs(name: str) -> None:
    model = rc.problems.make(name)
    assert few(model).n_beliefs < 30  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["hallway", "crs-4-4"])
def test_others_have_not(name: str) -> None:
    assert few_beliefs(rc.problems.make(name), 1e9, never) is None


@pytest.mark.parametrize("budget", [0.0, 0.5, 1.0, 2.5, 6.0])
def test_bounds_meet_and_the_policy_keeps_the_budget(budget: float) -> None:
    model = slippery(budget)
    r = rc.solve(model, "arcs", epsilon=1e-3)
    assert r.status == "optimal"
    assert r.lower <= r.reward + 1e-9
    assert r.reward <= r.upper + 1e-9
    assert (r.sure_cost <= model.spending_limit).all()
    assert rc.verify(model, r.policy, r.summary()).verified
    low, high = budget_reference.optimum_interval(reference.dense(model), 20_000)
    assert r.lower <= high + 1e-9
    assert r.upper >= low - 1e-9


def test_more_levels_never_loosen_a_bound() -> None:
    mdp = few(slippery(2.5))
    before = (-np.inf, np.inf)
    for _ in range(4):
        for _ in range(30):
            mdp.sweep()  # type: ignore[attr-defined]
        now = (mdp.lower, mdp.upper)  # type: ignore[attr-defined]
        assert before[0] <= now[0] <= now[1] <= before[1]
        before = now
        assert mdp.refine(1e9)  # type: ignore[attr-defined]


def test_costs_and_budget_may_be_scaled() -> None:
    one, other = (rc.solve(slippery(2.5 * by, cost=by), "arcs", epsilon=1e-3) for by in (1.0, 1e-12))
    assert one.upper == pytest.approx(other.upper, abs=1e-6)
    assert one.lower == pytest.approx(other.lower, abs=1e-6)


def test_what_is_infeasible_is_told_with_what_suffices() -> None:
    model = rc.CPOMDP(
        transition=[[[1.0]]],
        observation=[[[1.0]]],
        reward=[[1.0]],
        cost=[[1.0]],
        initial_belief=[1.0],
        discount=0.5,
        budget=1.9,
    )
    r = rc.solve(model, "arcs")
    assert r.status == "infeasible"
    assert r.suffices == pytest.approx([2.0])
    assert r.needed == pytest.approx([2.0])


def test_the_sure_cost_is_that_of_the_rarest_history() -> None:
    model = rc.CPOMDP(
        transition=[[[1e-3, 1.0 - 1e-3], [0.0, 1.0]]],
        observation=[[[1.0, 0.0], [0.0, 1.0]]],
        reward=[[1.0], [0.0]],
        cost=[[1.0], [0.0]],
        initial_belief=[1.0, 0.0],
        discount=0.9,
        budget=9.999,
    )
    mdp = few(model)
    *_, sure = mdp.controller()  # type: ignore[attr-defined]
    assert sure == pytest.approx([10.0], rel=1e-12)


def seen_and_certain(seed: int, n_costs: int = 1) -> rc.CPOMDP:
    """Four states that are seen, and moves that do not fail."""
    rng, n, m = np.random.default_rng(seed), 4, 3
    return rc.CPOMDP(
        transition=np.eye(n)[rng.integers(0, n, (m, n))],
        observation=[np.eye(n)] * m,
        reward=rng.uniform(-5, 5, (n, m)),
        cost=rng.uniform(0, 2, (n_costs, n, m)),
        initial_belief=np.eye(n)[0],
        discount=0.99,
        budget=rng.uniform(60, 120, n_costs),
    )


@pytest.mark.parametrize("n_costs", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_what_budgets_allow_in_expectation_bounds_what_they_allow_in_every_history(seed: int, n_costs: int) -> None:
    found = few(seen_and_certain(seed, n_costs))
    for _ in range(200):
        found.sweep()  # type: ignore[attr-defined]
    before = found.upper  # type: ignore[attr-defined]
    assert found.refine(1e9)  # type: ignore[attr-defined]
    bounds = found.bounds  # type: ignore[attr-defined]
    assert (bounds.lower <= bounds.upper + 1e-9).all()
    assert found.upper <= before  # type: ignore[attr-defined]


def test_levels_of_a_long_future_start_from_what_budgets_allow_in_expectation() -> None:
    found = few(seen_and_certain(10))
    for _ in range(2):
        for _ in range(100):
            found.sweep()  # type: ignore[attr-defined]
        found.refine(1e9)  # type: ignore[attr-defined]
    assert found.upper - found.lower < 60  # type: ignore[attr-defined]
