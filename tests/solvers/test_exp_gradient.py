"""Exponentiated gradient: the update, the mixture of its rounds, its bounds, limits, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
import reference
from rcpomdp.policies import MixturePolicy
from rcpomdp.solvers import Result, TracePoint
from rcpomdp.solvers.cgcp.solve import cgcp
from rcpomdp.solvers.exp_gradient import exp_gradient, multipliers, published_update
from strategies import Dense, random_model
from work import AMPLE


def check_result(case: Dense, result: Result) -> None:
    """The mixture earns and spends what the result says, and the lower bound is there only if it keeps the budget."""
    loose = reference.tolerance(case, np.concatenate([case.R[None], case.C])) + 1e-7
    assert isinstance(result.policy, MixturePolicy)
    exact = rc.evaluate(case.model, result.policy)
    assert result.reward == pytest.approx(exact.reward, abs=loose)
    np.testing.assert_allclose(result.cost, exact.cost, atol=loose)
    within = (result.cost <= case.model.spending_limit).all()
    assert (result.lower > -np.inf) == within
    assert result.lower <= result.reward
    assert result.admissible is None
    if result.status != "infeasible":
        assert result.lower <= result.upper
    upper = [point.upper for point in result.trace]
    assert upper == sorted(upper, reverse=True)
    assert tuple(result.trace[-1][1:3]) == (result.lower, result.upper)


# The update


def test_log_odds_are_the_published_update() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        bound, z = rng.uniform(0.1, 100), rng.normal()
        multiplier = rng.uniform(0.01, 0.99) * bound
        published = bound * multiplier * np.exp(z) / (bound + multiplier * (np.exp(z) - 1))
        log_odds = np.log(multiplier / (bound - multiplier))
        assert multipliers(np.array([log_odds]), np.array([bound]))[0] == pytest.approx(multiplier)
        assert multipliers(np.array([log_odds + z]), np.array([bound]))[0] == pytest.approx(published)


def test_the_closed_form_of_two_costs() -> None:
    """With costs c_1, c_2, ... the odds are the product of all e^z, whatever the order: here up as often as down."""
    steps = np.array([0.7, -0.2, 0.7, -0.2, -1.0])
    expected = 3.0 / (1 + np.exp(-steps.sum()))
    assert multipliers(np.array([steps.sum()]), np.array([3.0]))[0] == pytest.approx(expected)
    assert multipliers(np.array([steps[::-1].sum()]), np.array([3.0]))[0] == pytest.approx(expected)


@pytest.mark.parametrize("size", [1e3, 1e100, 1e308, np.inf])
def test_the_update_is_stable_for_huge_costs(size: float) -> None:
    assert multipliers(np.array([size, -size, 0.0]), np.full(3, 8.0)).tolist() == [8.0, 0.0, 4.0]


def test_the_published_update_is_the_same_where_numbers_are_good() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        bound, z = np.array([rng.uniform(0.1, 100)]), rng.normal(size=1)
        odds = rng.normal(size=1)
        np.testing.assert_allclose(
            published_update(multipliers(odds, bound), z, bound), multipliers(odds + z, bound), rtol=1e-9
        )
    lost = published_update(np.array([5.0]), np.array([1e4]), np.array([10.0]))  # e^z overflows
    assert lost.tolist() == [10.0]


# Known answers


def test_the_constants_of_the_paper() -> None:
    """C-Tiger's optimal multiplier is above B = 10, so that all rounds listen as if it were free."""
    model = rc.problems.make("tiger")
    result = exp_gradient(model, variant="paper")
    assert (result.status, result.variant) == ("iteration limit", "paper")
    assert result.reward == pytest.approx(1.933, abs=2e-3)
    assert result.cost[0] == pytest.approx(3.227, abs=2e-3)
    assert result.lower == -np.inf
    check_result(reference.dense(model), result)
    assert exp_gradient(model, variant="paper", bound=30.0).cost[0] < 3.2


def test_the_first_two_rounds_of_the_paper_are_alike() -> None:
    """CE at λ = 5 looks and turns round, for 6 at a cost of 3.5; from the third on an answer spends the budget."""
    result = exp_gradient(rc.problems.make("ce"), variant="paper")
    assert result.reward == pytest.approx(0.02 * 6 + 0.98 * 12, abs=1e-3)
    assert result.cost[0] == pytest.approx(0.02 * 3.5 + 0.98 * 5, abs=1e-3)


def test_a_multiplier_out_of_its_interval_bounds_nothing() -> None:
    """Where rounding throws λ below 0, ``λ·ĉ + V_λ`` is no bound, and is not taken for one."""
    model = rc.problems.make("crs-4-4").with_budget(0.5)
    result = exp_gradient(model, variant="paper")
    assert result.upper >= 10.2197 - 1e-3  # the optimum, as column generation proves it
    check_result(reference.dense(model), result)


@pytest.mark.parametrize(
    ("name", "budget", "value", "loss", "rest"),
    [
        # The loss is regret: a share of the multipliers' range times the costs', over the square root of the rounds.
        ("ce", 5.0, 12.0, 0.01, 0.01),
        ("ce", 4.0, 8.0, 1.0, 0.3),
        ("tunnels", 1.0, 1.6013, 0.25, 0.3),
        ("crs-4-4", 1.0, 12.2944, 2.0, 0.5),
        ("tiger", 3.0, -1.773, 15.0, 0.8),
    ],
)
def test_mixtures_are_near_the_optimum(name: str, budget: float, value: float, loss: float, rest: float) -> None:
    model = rc.problems.make(name).with_budget(budget)
    result = exp_gradient(model)
    check_result(reference.dense(model), result)
    assert abs(result.reward - value) <= loss
    assert abs(result.cost[0] - budget) <= rest
    assert result.upper >= value - 1e-3
    found = rc.simulate(model, result.policy, runs=2000, steps=60)
    assert abs(found.reward.mean - result.reward) <= 4 * found.reward.se + found.truncation[0] + 1e-4
    assert abs(found.cost[0].mean - result.cost[0]) <= 4 * found.cost[0].se + found.truncation[1][0] + 1e-4


def test_more_rounds_come_nearer() -> None:
    model = rc.problems.make("tunnels")
    few, many = (exp_gradient(model, iterations=k) for k in (20, 1000))
    assert few.status == many.status == "iteration limit"
    assert abs(many.reward - 1.6013) < abs(few.reward - 1.6013)
    assert abs(many.cost[0] - 1) < abs(few.cost[0] - 1)
    assert many.upper == pytest.approx(1.6013, abs=2e-3)


def test_a_budget_that_does_not_bind_is_solved_at_once() -> None:
    for budget in (np.inf, 10.0):
        result = exp_gradient(rc.problems.make("tiger").with_budget(budget))
        assert result.status == "optimal"
        assert 1.932 <= result.lower <= result.upper <= 1.935


def test_a_bound_below_the_multiplier_spends_too_much() -> None:
    """The optimal multiplier of CRS(4,4) is about 4.15; at half of it, checking more pays."""
    model = rc.problems.make("crs-4-4")
    result = exp_gradient(model, bound=0.5, iterations=20)
    check_result(reference.dense(model), result)
    assert result.cost[0] > 1
    assert result.lower == -np.inf
    assert result.reward > 12.3


# Random models


@pytest.mark.parametrize("seed", range(12))
def test_bounds_agree_with_column_generation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_costs = int(rng.integers(1, 3))
    case = random_model(
        rng, 3, 2, 2, n_costs, n_free_actions=seed % 2, discount=0.8, budget=rng.uniform(0.2, 4, n_costs)
    )
    expected = cgcp(case.model, epsilon=1e-2, time_limit=AMPLE)
    result = exp_gradient(case.model, iterations=30, time_limit=AMPLE, epsilon=1e-2)
    check_result(case, result)
    assert (result.status == "infeasible") == (expected.status == "infeasible")
    if result.status == "infeasible":
        assert result.needed is not None
        assert (result.needed <= result.cost + 1e-6).all()
        assert (result.cost > case.model.budget).any()
    else:
        assert result.upper >= expected.lower - 1e-7
        assert result.lower <= expected.upper + 1e-7


def test_no_costs_and_zero_budgets() -> None:
    case = random_model(np.random.default_rng(3), n_costs=0)
    assert exp_gradient(case.model, epsilon=1e-2).status == "optimal"
    model = rc.problems.make("crs-4-4").with_budget(0.0)
    result = exp_gradient(model, iterations=50)
    check_result(reference.dense(model), result)
    assert result.upper >= 8.144  # going straight out costs nothing


def test_infeasible_budgets_are_proven_so() -> None:
    model = rc.problems.make("ce").with_budget(3.0)
    result = exp_gradient(model)
    assert result.status == "infeasible"
    assert result.lower == result.upper == -np.inf
    assert result.needed == pytest.approx([3.5], abs=1e-4)
    assert result.suffices == pytest.approx([3.5], abs=1e-4)
    check_result(reference.dense(model), result)


# Limits


def hard_model() -> Dense:
    """A model that no search closes in a moment."""
    rng = np.random.default_rng(0)
    return random_model(rng, 5, 3, 3, 1, density=1.0, deterministic=0.0, discount=0.99, budget=30.0)


def test_an_interrupt_keeps_the_rounds_that_were_played() -> None:
    case, told = hard_model(), []

    def interrupt(point: TracePoint) -> None:
        told.append(point)
        if point.seconds > 0.5:
            raise KeyboardInterrupt

    result = exp_gradient(case.model, epsilon=0.5, time_limit=20, progress=interrupt)
    assert result.status == "interrupted"
    check_result(case, result)
    assert told

    def at_once(point: TracePoint) -> None:
        raise KeyboardInterrupt

    check_result(case, exp_gradient(case.model, progress=at_once))


def test_a_time_limit_is_kept() -> None:
    case = hard_model()
    result = exp_gradient(case.model, epsilon=1e-9, time_limit=0.5, iterations=5)
    assert result.status in {"time limit", "iteration limit"}
    check_result(case, result)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"iterations": 0}, "iterations must be a whole number of at least 1, not 0"),
        ({"bound": 0}, "the bound on the multipliers must be above 0, not 0"),
        ({"bound": np.inf}, "the bound on the multipliers must be above 0"),
        ({"bound": "high"}, "the bound on the multipliers must be above 0"),
        ({"bound": [1, 2]}, "the bound on the multipliers must be above 0"),
        ({"bound": True}, "the bound on the multipliers must be above 0"),
        ({"time_limit": -1}, "time limit must be above 0"),
    ],
)
def test_senseless_options_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(rc.InputError, match=sentence):
        exp_gradient(rc.problems.make("ce"), **options)
