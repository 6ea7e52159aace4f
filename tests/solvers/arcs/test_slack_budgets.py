"""Budgets that no policy can exceed change nothing: not the bounds, not the policy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import rcpomdp as rc
from random_cases import random_case
from rcpomdp.policies import ControllerPolicy, PlanSetPolicy
from rcpomdp.solvers.arcs.slack_budgets import most_from_start, slack_costs, without_slack_budgets
from work import AMPLE, stop_after

TIMER = 0.5  # cost of every step beside the problem's own


def timed(model: rc.CPOMDP, budget: float, first: bool = False) -> rc.CPOMDP:
    """The model with one more cost of every step: half a unit for the first action, a whole one for others."""
    more = np.ones((1, model.n_states, model.n_actions))
    more[:, :, 0] = TIMER
    more[:, model.terminal] = 0.0
    parts = [more, model.cost] if first else [model.cost, more]
    limits = [budget, *model.budget] if first else [*model.budget, budget]
    return rc.CPOMDP(
        transition=list(model.transition),
        observation=list(model.observation),
        reward=model.reward,
        cost=np.concatenate(parts),
        initial_belief=model.initial_belief,
        discount=model.discount,
        budget=limits,
        terminal=model.terminal,
    )


def never_binds(model: rc.CPOMDP) -> float:
    return 1.0 / (1.0 - model.discount)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("limit", [lambda _: np.inf, never_binds], ids=["infinite", "never binding"])
@pytest.mark.parametrize("problem", ["ce", "tiger", "tunnels", "crs-4-4"])
def test_a_slack_budget_changes_no_bounds(problem: str, limit: Callable[[rc.CPOMDP], float], first: bool) -> None:
    plain = rc.problems.make(problem)
    model = timed(plain, limit(plain), first)
    before, found = (rc.solve(m, "arcs", epsilon=0.02, time_limit=AMPLE) for m in (plain, model))
    assert found.status == before.status == "optimal"
    assert max(before.lower, found.lower) <= min(before.upper, found.upper)
    timer, own = (0, 1) if first else (1, 0)
    assert found.sure_cost[own] <= plain.spending_limit[0]
    assert TIMER - 1e-9 <= found.sure_cost[timer] <= never_binds(plain) * (1 + 1e-9)
    assert found.cost[timer] <= found.sure_cost[timer] * (1 + 1e-9)
    assert rc.verify(model, found.policy, found.summary()).verified


@pytest.mark.parametrize("seed", range(40))
def test_random_models_with_a_slack_budget(seed: int) -> None:
    """The search is the same to the last bit where its end does not depend on the clock."""
    plain = random_case(seed).model
    if plain.discount in (0.0, 1.0) or plain.n_costs == 0 or plain.discount > 0.99:
        pytest.skip("without a future, or costs, nothing is taken out")
    model = timed(plain, np.inf)
    if slack_costs(plain).all():
        pytest.skip("no budget binds")
    before, found = (rc.solve(m, "arcs", epsilon=0.05, progress=stop_after(60)) for m in (plain, model))
    assert found.status in (before.status, "interrupted") or before.status == "interrupted"
    assert max(before.lower, found.lower) <= min(before.upper, found.upper) or found.status == "infeasible"
    if found.status == before.status == "optimal":
        assert (found.lower, found.upper, found.reward) == (before.lower, before.upper, before.reward)
        np.testing.assert_array_equal(found.sure_cost[:-1], before.sure_cost)
    if found.admissible:
        assert rc.verify(model, found.policy, found.summary()).verified


def test_plan_sets_report_the_slack_cost() -> None:
    plain = rc.problems.make("hallway")
    model = timed(plain, np.inf)
    found = rc.solve(model, "arcs", time_limit=4)
    assert isinstance(found.policy, PlanSetPolicy)
    assert found.policy.sure_cost.shape[1] == 2
    assert found.sure_cost[1] == pytest.approx(never_binds(plain))
    assert found.standard_error is not None
    assert found.standard_error.shape == (3,)
    assert TIMER * never_binds(plain) * 0.99 <= found.cost[1] <= never_binds(plain)
    assert rc.verify(model, found.policy, found.summary()).verified


def test_plan_sets_with_belief_nodes_and_guides_report_the_slack_cost() -> None:
    """Belief nodes have no domain: their class is that of the belief at which they are met."""
    model = timed(rc.problems.make("patrol"), np.inf)
    found = rc.solve(model, "arcs", time_limit=4)
    assert isinstance(found.policy, PlanSetPolicy)
    assert (found.policy.domain < 0).any()
    assert np.isinf(found.policy.sure_cost[found.policy.is_guide]).all()
    assert np.isfinite(found.policy.sure_cost[~found.policy.is_guide]).all()
    assert rc.verify(model, found.policy, found.summary()).verified


def test_controllers_keep_their_exact_totals() -> None:
    model = timed(rc.problems.make("crs-4-4"), np.inf)
    found = rc.solve(model, "arcs", epsilon=0.02)
    assert isinstance(found.policy, ControllerPolicy)
    assert found.standard_error is None
    exact = rc.evaluate(model, found.policy)
    np.testing.assert_allclose([found.reward, *found.cost], [exact.reward, *exact.cost], rtol=1e-6)


def test_models_with_a_horizon() -> None:
    """In four steps the timer comes to at most 4."""
    plain = rc.problems.make("tiger", budget=2.0).with_horizon(4)
    model = timed(rc.problems.make("tiger", budget=2.0), 4.0).with_horizon(4)
    assert slack_costs(model).tolist() == [False, True]
    before, found = (rc.solve(m, "arcs", epsilon=1e-3, time_limit=AMPLE) for m in (plain, model))
    assert found.status == before.status == "optimal"
    assert found.lower == pytest.approx(before.lower, abs=2e-3)
    assert found.sure_cost[1] <= 4.0
    assert rc.verify(model, found.policy, found.summary()).verified


def test_costs_that_are_not_discounted() -> None:
    """Without a discount and without an end only a budget without a limit is slack."""
    plain = rc.problems.make("tiger")
    for budget, is_slack in ((np.inf, True), (1e9, False)):
        model = timed(plain, budget).with_cost_discount([plain.discount, 1.0])
        assert slack_costs(model).tolist() == [False, is_slack]
    found = rc.solve(timed(plain, np.inf).with_cost_discount([plain.discount, 1.0]), "arcs", epsilon=0.02)
    before = rc.solve(plain, "arcs", epsilon=0.02)
    assert (found.lower, found.upper) == (before.lower, before.upper)
    assert rc.verify(found.model, found.policy, found.summary()).verified
    short = timed(plain, 4.0).with_cost_discount([1.0, 1.0]).with_horizon(4)
    assert most_from_start(short).tolist() == [4.0, 4.0]
    assert slack_costs(short)[1]
    found = rc.solve(short, "arcs", epsilon=1e-3)
    assert found.sure_cost[1] <= 4.0
    assert rc.verify(short, found.policy, found.summary()).verified


def wandering(budget: list[float], **more: object) -> rc.CPOMDP:
    """Twelve states that any action leads to, and noise; the first action is free, and earns least."""
    rng = np.random.default_rng(0)
    n, n_actions = 12, 3
    return rc.CPOMDP(
        transition=rng.dirichlet(np.ones(n), (n_actions, n)),
        observation=rng.dirichlet(np.ones(3), (n_actions, n)),
        reward=rng.uniform(-5, 5, (n, n_actions)) * (np.arange(n_actions) > 0) - 3 * (np.arange(n_actions) == 0),
        cost=rng.uniform(0.1, 1, (2, n, n_actions)) * (np.arange(n_actions) > 0),
        initial_belief=np.ones(n) / n,
        discount=0.9,
        budget=budget,
        **more,  # type: ignore[arg-type]  # a cost discount
    )


def test_plan_sets_beside_a_cost_that_has_no_bound() -> None:
    """Without a discount and without an end, plans may spend any amount of the cost that has no budget."""
    model = wandering([3.0, np.inf], cost_discount=[0.9, 1.0])
    found = rc.solve(model, "arcs", progress=stop_after(60))
    assert isinstance(found.policy, PlanSetPolicy)
    assert np.isinf(found.sure_cost[1])
    verification = rc.verify(model, found.policy, found.summary())
    assert verification.verified, verification.problem


@pytest.mark.parametrize("limit", [np.inf, 1e6])
def test_plan_sets_claim_no_more_of_the_slack_cost_than_is_proven(limit: float) -> None:
    for model in (rc.problems.make("delivery").with_budget([limit, 1.0]), wandering([3.0, limit])):
        found = rc.solve(model, "arcs", progress=stop_after(60))
        assert isinstance(found.policy, PlanSetPolicy)
        verification = rc.verify(model, found.policy, found.summary())
        assert verification.verified, verification.problem


def test_infeasible_budgets_beside_a_slack_one() -> None:
    plain = rc.problems.make("ce", budget=1)
    found = rc.solve(timed(plain, np.inf), "arcs")
    before = rc.solve(plain, "arcs")
    assert found.status == before.status == "infeasible"
    assert found.needed is not None
    assert before.needed is not None
    assert found.needed[0] == pytest.approx(before.needed[0])
    assert found.needed[1] == 0.0


def test_where_all_budgets_are_slack_or_none_nothing_is_taken_out() -> None:
    tiger = rc.problems.make("tiger")
    for model in (tiger, timed(tiger.with_budget(np.inf), np.inf), timed(tiger, 1.0)):
        rest, slack = without_slack_budgets(model)
        assert rest is model
        assert slack is None


def test_limits_of_steps_are_never_slack() -> None:
    model = timed(rc.problems.make("tiger"), np.inf).with_step_limit([np.inf, 0.7])
    assert without_slack_budgets(model)[1] is None
