"""CPBVI and CPBVI-D: lotteries, points, backups, what the policy does, and the paper's own figures."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.policies import BudgetedAlphaPolicy, lottery
from rcpomdp.policies.lottery import best_lottery
from rcpomdp.solvers.cpbvi.points import Points

# Lotteries


@pytest.mark.parametrize("n_costs", [1, 2, 3])
def test_a_lottery_is_worth_what_the_linear_program_is(n_costs: int) -> None:
    rng = np.random.default_rng(n_costs)
    for _ in range(100):
        values, budget = rng.random((12, 1 + n_costs)), rng.random(n_costs) * 0.6
        drawn, weights = best_lottery(values, budget)
        assert weights.sum() == pytest.approx(1)
        assert (np.diff(drawn) > 0).all()
        assert len(drawn) <= n_costs + 1
        program = lottery._program(values[:, 0], values[:, 1:], budget)
        if program is None:
            assert len(drawn) == 1
            continue
        assert (weights @ values[drawn, 1:] <= budget + 1e-6).all()
        assert weights @ values[drawn, 0] == pytest.approx(program[1] @ values[program[0], 0], abs=1e-6)


def test_without_a_lottery_the_best_option_within_the_budgets_is_taken() -> None:
    rng = np.random.default_rng(0)
    for n_costs, _ in product((0, 1, 2), range(50)):
        values, budget = rng.random((6, 1 + n_costs)), rng.random(n_costs)
        within = [i for i in range(6) if (values[i, 1:] <= budget).all()]
        drawn, weights = best_lottery(values, budget, mixed=False)
        assert weights.tolist() == [1.0]
        if within:
            assert drawn.tolist() == [max(within, key=lambda i: values[i, 0])]


@pytest.mark.parametrize("mixed", [True, False])
def test_where_nothing_keeps_the_budget_the_least_cost_is_taken_and_ties_go_by_reward(mixed: bool) -> None:
    values = np.array([[9.0, 3.0], [1.0, 2.0], [4.0, 2.0]])
    assert best_lottery(values, np.array([1.0]), mixed)[0].tolist() == [2]
    assert best_lottery(values, np.array([-1.0]), mixed)[0].tolist() == [2]
    both = np.array([[9.0, 3.0, 0.0], [1.0, 1.0, 1.5], [4.0, 0.0, 3.0]])
    assert best_lottery(both, np.array([0.9, 0.9]), mixed)[0].tolist() == [1]


def test_an_unlimited_cost_plays_no_part() -> None:
    values = np.array([[1.0, 0.0, 5.0], [3.0, 2.0, 900.0]])
    assert best_lottery(values, np.array([np.inf, np.inf]))[0].tolist() == [1]
    drawn, weights = best_lottery(values, np.array([1.0, np.inf]))
    assert drawn.tolist() == [0, 1]
    np.testing.assert_allclose(weights, 0.5, atol=1e-8)


# Points


def test_points_are_reachable_beliefs_with_what_is_left_on_the_way() -> None:
    model = rc.problems.make("tiger")
    points = Points(model, 12, np.random.default_rng(0), lambda: False)
    assert len(points.beliefs) == 12
    assert points.left[0] == pytest.approx(model.budget)
    dense = np.array([b.dense(model.n_states) for b in points.beliefs])
    assert min(np.abs(dense[i] - dense[j]).sum() for i in range(12) for j in range(i)) > 1e-9
    # Each is b_0 or follows another by Bayes' rule, with d' = (d - C(b, a)) / γ.
    for i in range(1, 12):
        ways = [
            (points.left[j] - rc.beliefs.expected_cost(model, points.beliefs[j], a)) / model.discount
            for j in range(12)
            for a in range(model.n_actions)
            for branch in rc.beliefs.branches(model, points.beliefs[j], a)
            if np.abs(branch.belief.dense(model.n_states) - dense[i]).sum() < 1e-9
        ]
        assert any(np.allclose(points.left[i], left) for left in ways)


def test_a_small_world_has_fewer_points() -> None:
    for most in (30, 10**9):  # room is made as it is needed
        assert rc.solve(rc.problems.make("ce"), "cpbvi", beliefs=most).trace[-1].beliefs <= 5


# What is found


@pytest.mark.parametrize("solver", ["cpbvi", "cpbvi-d"])
def test_counterexample_goes_to_look_and_turns_round_at_rocks(solver: str) -> None:
    """Both promise 12 for 5 by going in; replanning with 5 left at rocks affords B alone: (12 + 0) / 2, (2 + 5) / 2.

    The paper's Table 4 has violation rate 0 for both, and reward 6.19 ± 0.19, cost 3.61 ± 0.11 for CPBVI-D.
    """
    model = rc.problems.make("ce")
    result = rc.solve(model, solver)
    assert result.status == "converged"
    assert result.reward == pytest.approx(6, abs=1e-3)
    assert result.cost[0] == pytest.approx(3.5, abs=1e-3)
    assert result.standard_error is None
    reward, cost = result.policy.promise()
    assert (reward, *cost) == pytest.approx((12, 5), abs=1e-3)
    assert rc.simulate(model, result.policy).violation_rate.mean == 0


@pytest.mark.parametrize("solver", ["cpbvi", "cpbvi-d"])
def test_without_blind_plans_the_counterexample_takes_tunnel_b(solver: str) -> None:
    """The plan that turns round at rocks starts with a blind one; where sets replace sets it is lost on the way."""
    result = rc.solve(rc.problems.make("ce"), solver, blind_plans=False)
    assert (result.reward, result.cost[0]) == pytest.approx((10, 5), abs=1e-3)


@pytest.mark.parametrize("solver", ["cpbvi", "cpbvi-d"])
def test_a_planned_budget_is_what_is_acted_with(solver: str) -> None:
    """Planned with 2 in place of 1, the richest tunnel is taken, whatever is seen; the model's own budget is broken."""
    model = rc.problems.make("tunnels")
    other = rc.solve(model, solver, planned_budget=2)
    same = rc.solve(model.with_budget(2), solver)
    assert other.policy.budget.tolist() == [2.0]
    assert other.reward == same.reward == pytest.approx(2 * 0.99**4)
    assert rc.simulate(model, other.policy).violation_rate.mean > 0.8
    with pytest.raises(rc.InputError, match="budget"):
        rc.solve(model, solver, planned_budget=[1, 2])


def test_tiger_without_lotteries_spends_its_budget_and_no_more() -> None:
    model = rc.problems.make("tiger")
    result = rc.solve(model, "cpbvi-d")
    exact = rc.evaluate(model, result.policy, tolerance=1e-3)
    assert exact.error < 0.02  # more beliefs than there is time for
    assert exact.cost[0] <= 3 + exact.error
    best = rc.solve(model, "cgcp").upper
    blind = max(rc.evaluate(model, rc.policies.blind(model, a)).reward for a in (1, 2))  # listening for ever costs 4
    assert blind < exact.reward <= best
    assert rc.simulate(model, result.policy).violation_rate.mean == 0


def test_without_a_budget_it_is_point_based_value_iteration() -> None:
    model = rc.problems.make("tiger", budget=None)
    best = rc.solve(model, "sarsop").lower
    for solver in ("cpbvi", "cpbvi-d"):
        result = rc.solve(model, solver)
        assert result.reward == pytest.approx(best, abs=0.05)


def test_a_budget_of_two_costs_binds_in_each() -> None:
    """One state, γ = 1/2: rewards 2, 1, 0; costs (1, 0), (0, 1), (0, 0); budgets 1, 1/2; totals are twice a step's."""
    model = rc.CPOMDP(
        transition=[[[1.0]]] * 3,
        observation=[[[1.0]]] * 3,
        reward=[[2.0, 1.0, 0.0]],
        cost=[[[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]]],
        initial_belief=[1.0],
        discount=0.5,
        budget=[1.0, 0.5],
    )
    mixed, single = rc.solve(model, "cpbvi"), rc.solve(model, "cpbvi-d")
    assert mixed.cost.shape == single.cost.shape == (2,)
    assert (single.cost <= model.spending_limit + 1e-6).all()
    error = 5 * mixed.standard_error[1:] if mixed.standard_error is not None else 0
    assert (mixed.cost <= model.budget + error + 1e-6).all()
    assert mixed.reward <= 2.5 + 1e-6 + (0 if mixed.standard_error is None else 5 * mixed.standard_error[0])


@pytest.mark.parametrize("solver", ["cpbvi", "cpbvi-d"])
def test_no_bounds_are_claimed_and_the_summary_is_json(solver: str) -> None:
    result = rc.solve(rc.problems.make("tunnels"), solver, iterations=5)
    assert (result.lower, result.upper) == (-np.inf, np.inf)
    assert result.admissible is None
    told = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert (told["lower"], told["upper"], told["gap"], told["sure_cost"]) == (None, None, None, [None])
    assert told["status"] in ("iteration limit", "converged")


def test_an_estimate_says_so() -> None:
    model = rc.problems.make("tiger")
    result = rc.solve(model, "cpbvi")
    assert result.standard_error is not None
    assert result.standard_error.shape == (2,)
    assert result.summary()["standard_error"] == result.standard_error.tolist()
    assert result.summary()["runs"] == result.runs >= 40
    runs = rc.simulate(model, result.policy, runs=500, steps=40, seed=9)
    assert abs(runs.reward.mean - result.reward) < 6 * np.hypot(runs.reward.se, result.standard_error[0])


def test_time_limits_hold_and_what_was_found_is_returned() -> None:
    result = rc.solve(rc.problems.make("hallway"), "cpbvi", time_limit=1)
    assert result.status == "time limit"
    assert len(result.policy.actions) >= 5


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"beliefs": 0}, "beliefs must be a whole number of at least 1, not 0"),
        ({"iterations": 2.5}, "iterations must be a whole number of at least 1, not 2.5"),
        ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ({"epsilon": -1}, "epsilon must be at least 0, not -1"),
        ({"time_limit": 0}, "the time limit must be above 0, not 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, float], sentence: str) -> None:
    with pytest.raises(rc.InputError) as error:
        rc.solve(rc.problems.make("ce"), "cpbvi", **options)
    assert str(error.value) == sentence


# The policy


def test_a_vector_is_what_a_plan_from_every_state_is_worth() -> None:
    """A single vector that loops is a controller of one node; so is its backup."""
    model = rc.problems.make("tiger")
    result = rc.solve(model, "cpbvi-d", iterations=1, beliefs=1)
    blind = result.policy.vectors[: model.n_actions]
    for a, rows in enumerate(blind):
        exact = rc.evaluate(model, rc.policies.blind(model, a))
        assert rows @ model.initial_belief == pytest.approx([exact.reward, *exact.cost], abs=1e-6)


def test_evaluation_agrees_with_simulation() -> None:
    model = rc.problems.make("tunnels")
    policy = rc.solve(model, "cpbvi").policy
    exact, runs = rc.evaluate(model, policy), rc.simulate(model, policy, runs=2000, steps=60)
    assert exact.error < 1e-6
    assert abs(exact.reward - runs.reward.mean) < 5 * runs.reward.se
    assert abs(exact.cost[0] - runs.cost[0].mean) < 5 * runs.cost[0].se


def test_the_policy_can_be_saved_and_does_the_same(tmp_path: Path) -> None:
    model = rc.problems.make("tiger")
    policy = rc.solve(model, "cpbvi", iterations=5, time_limit=5).policy
    rc.save_policy(tmp_path / "p.rcp", policy, model)
    again = rc.load_policy(tmp_path / "p.rcp", model)
    assert isinstance(again, BudgetedAlphaPolicy)
    assert rc.policy_info(tmp_path / "p.rcp")["policy"]["kind"] == "budgeted-alpha"
    first, second = (rc.simulate(model, p, runs=30, seed=2).outcome.reward for p in (policy, again))
    np.testing.assert_array_equal(first, second)


def test_actions_are_drawn_as_the_lottery_says() -> None:
    """Two vectors of one state, worth 1 for a cost of 1 or nothing; half a unit is left."""
    model = rc.CPOMDP(
        transition=[[[1.0]]] * 2,
        observation=[[[1.0]]] * 2,
        reward=[[1.0, 0.0]],
        cost=[[1.0, 0.0]],
        initial_belief=[1.0],
        discount=0.5,
        budget=0.5,
    )
    policy = BudgetedAlphaPolicy(model, [[[1.0], [1.0]], [[0.0], [0.0]]], [0, 1], [0.5])
    drawn = [policy.action(policy.initial(np.random.default_rng(i))) for i in range(400)]
    assert np.mean(drawn) == pytest.approx(0.5, abs=0.1)
    state = policy.initial(np.random.default_rng(0))
    assert policy.update(state, 0).left == (((0.5 - (state.action == 0)) / 0.5),)


def test_what_is_no_policy_is_refused() -> None:
    model = rc.problems.make("tiger")
    good = np.zeros((1, 2, 2))
    for arguments, sentence in (
        ((good[:, :1], [0], [3]), r"1 actions need vectors of shape \(1, 2, 2\), not \(1, 1, 2\)"),
        ((good, [7], [3]), "vector 0 takes action 7, which the model does not have"),
        ((good * np.nan, [0], [3]), "vector 0 is not finite at state"),
        ((good, [0], [3, 4]), "the budget is .*, not one number per cost"),
    ):
        with pytest.raises(rc.PolicyError, match=sentence):
            BudgetedAlphaPolicy(model, *arguments)


@pytest.mark.parametrize("solver", ["cpbvi", "cpbvi-d"])
def test_memory_is_limited(solver: str) -> None:
    """Points that do not fit are not made, and vectors that do not fit are not backed up."""
    model = rc.problems.make("tiger")
    usual = rc.solve(model, solver)
    few = rc.solve(model, solver, memory_limit=100.0)
    assert (few.status, few.trace[-1].trials, few.trace[-1].beliefs) == ("memory limit", 0, 6)
    some = rc.solve(model, solver, memory_limit=20_000.0)
    assert some.status == "memory limit"
    assert 0 < some.trace[-1].trials < usual.trace[-1].trials
    assert some.trace[-1].beliefs == usual.trace[-1].beliefs
