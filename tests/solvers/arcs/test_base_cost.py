"""What every step costs, taken out of costs and budget."""

from __future__ import annotations

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.policies import PlanSetPolicy
from rcpomdp.solvers.arcs.base_cost import without_base_cost
from rcpomdp.solvers.arcs.joint_need import jointly_infeasible
from work import AMPLE, stop_after


def two_ways(budget: list[float], discount: float = 0.99) -> rc.CPOMDP:
    """One state; a thrifty step costs (1, 2) and earns 0, a good one costs (2, 1) and earns 1."""
    return rc.CPOMDP(
        transition=np.ones((2, 1, 1)),
        observation=np.ones((2, 1, 1)),
        reward=[[0.0, 1.0]],
        cost=[[[1.0, 2.0]], [[2.0, 1.0]]],
        initial_belief=[1.0],
        discount=discount,
        budget=budget,
    )


def test_costs_and_budget_are_those_beyond_what_every_step_costs() -> None:
    model = two_ways([130.0, np.inf])
    rest, total = without_base_cost(model)
    np.testing.assert_allclose(total, [100, 100])
    np.testing.assert_allclose(rest.budget, [30, np.inf], rtol=1e-8)
    assert rest.cost[:, 0].tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99])
def test_a_budget_of_just_what_is_needed_is_one_of_nothing(discount: float) -> None:
    model = two_ways([1 / (1 - discount), np.inf], discount)
    assert without_base_cost(model)[0].budget[0] == 0
    result = rc.solve(model, "arcs", time_limit=AMPLE)
    assert result.status == "optimal"
    assert result.lower == pytest.approx(0, abs=1e-6)
    assert result.sure_cost[0] == pytest.approx(1 / (1 - discount))
    assert rc.verify(model, result.policy, result.summary()).verified


def test_results_are_told_of_the_model_itself() -> None:
    model = two_ways([130.0, 190.0])
    result = rc.solve(model, "arcs", time_limit=AMPLE, progress=stop_after(50))
    assert result.admissible
    assert 100 <= result.sure_cost[0] <= 130 * (1 + 1e-9)
    assert (result.cost >= 100 * (1 - 1e-9)).all()
    assert rc.verify(model, result.policy, result.summary()).verified


def test_a_noisy_models_plans_are_told_of_the_model_itself() -> None:
    hallway = rc.problems.make("hallway")
    dear = rc.CPOMDP(
        transition=list(hallway.transition),
        observation=list(hallway.observation),
        reward=hallway.reward,
        cost=hallway.cost + 1,
        initial_belief=hallway.initial_belief,
        discount=hallway.discount,
        budget=hallway.budget + 1 / (1 - hallway.discount),
    )
    result = rc.solve(dear, "arcs", time_limit=6, progress=stop_after(20))
    assert isinstance(result.policy, PlanSetPolicy)
    assert result.policy.model is dear
    assert result.lower > 0.1
    assert rc.verify(dear, result.policy, result.summary()).verified


def test_less_than_every_step_costs_is_infeasible() -> None:
    result = rc.solve(two_ways([99.0, np.inf]), "arcs", time_limit=AMPLE)
    assert result.status == "infeasible"
    assert result.needed is not None
    assert result.needed[0] == pytest.approx(100, rel=1e-6)


def test_budgets_that_can_be_kept_one_by_one_and_not_together() -> None:
    model = two_ways([120.0, 120.0])
    assert jointly_infeasible(model)
    result = rc.solve(model, "arcs", time_limit=AMPLE)
    assert result.status == "infeasible"
    assert result.upper == -np.inf
    assert result.needed is not None
    assert (result.needed <= model.budget).all()
    assert not jointly_infeasible(two_ways([150.0, 151.0]))


def steps(costs: list[float], budget: float, discount: float = 0.9) -> rc.CPOMDP:
    """One action, which leads through as many states as there are costs and stays in the last."""
    n = len(costs)
    moves = np.eye(n, k=1)
    moves[-1, -1] = 1.0
    return rc.CPOMDP(
        transition=moves[None],
        observation=np.ones((1, n, 1)),
        reward=np.ones((n, 1)),
        cost=np.array(costs)[None, :, None],
        initial_belief=np.eye(n)[0],
        discount=discount,
        budget=[budget],
    )


def test_costs_that_differ_by_rounding_are_one() -> None:
    model = two_ways([6.0, np.inf], 0.95)
    model = model._changed(arrays=model.arrays._replace(cost=np.array([[[0.3, 3 * 0.1]], [[0.0, 0.0]]])))
    result = rc.solve(model, "arcs", time_limit=5)
    assert result.lower == pytest.approx(20, abs=1e-3)
    assert result.status == "optimal"


@pytest.mark.parametrize("extra", [1e-16, 3e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-3])
def test_a_first_step_that_costs_a_little_more_is_paid_for(extra: float) -> None:
    model = steps([1 + extra, 1.0], (1 + extra) + 0.9 / (1 - 0.9))
    result = rc.solve(model, "arcs", time_limit=5)
    assert result.status == "optimal"
    assert result.lower == pytest.approx(10, abs=1e-3)
    assert rc.verify(model, result.policy, result.summary()).verified


def test_what_a_policy_surely_costs_is_enough_for_it() -> None:
    model = steps([0.3, 0.1 + 0.2], 5.0)
    sure = float(rc.solve(model, "arcs").sure_cost[0])
    assert rc.solve(model.with_budget([sure]), "arcs", time_limit=5).status == "optimal"
