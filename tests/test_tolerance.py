"""The tolerance on budgets is relative: nothing is spent of a budget of 0, and the unit of costs decides nothing."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from plan_sets import of_controller
from rcpomdp.evaluation import controller_values
from rcpomdp.gym import CPOMDPEnv
from rcpomdp.policies import ControllerPolicy, blind
from rcpomdp.policies.lottery import best_lottery
from rcpomdp.solvers.cgcp.master import Master
from rcpomdp.solvers.result import Result
from rcpomdp.testing import truth
from rcpomdp.testing.broken import RuleError
from rcpomdp.tolerance import spending_limit
from strategies import Dense, cpomdps, random_model
from work import AMPLE

SCALES = (2.0**-40, 1e-12, 1e9)
RARE = 5e-10


def work_or_rest(budget: float = 0.0, discount: float = 0.5) -> rc.CPOMDP:
    """One state. Work costs 1, and earns so much that even a billionth of it is worth having; rest is free."""
    return rc.CPOMDP(
        transition=[[[1.0]]] * 2,
        observation=[[[1.0]]] * 2,
        reward=[[1e9, 0.0]],
        cost=[[1.0, 0.0]],
        initial_belief=[1.0],
        discount=discount,
        actions=["work", "rest"],
        budget=budget,
    )


def rarely_costly(chance: float = RARE, budget: float = 0.0) -> rc.CPOMDP:
    """Going on earns 1 and costs 1 in a state that is hardly ever the one; staying is free. Nothing is observed."""
    return rc.CPOMDP(
        transition=[np.eye(2)] * 2,
        observation=[[[1.0], [1.0]]] * 2,
        reward=[[1.0, 0.0]] * 2,
        cost=[[0.0, 0.0], [1.0, 0.0]],
        initial_belief=[1 - chance, chance],
        discount=0.5,
        actions=["go", "stay"],
        budget=budget,
    )


def in_units(model: rc.CPOMDP, unit: float) -> rc.CPOMDP:
    """The same model with costs and budgets counted in another unit."""
    return model._changed(arrays=model.arrays._replace(cost=model.cost * unit), budget=model.budget * unit)


# A budget of 0


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        ("arcs", {}),
        ("arcs", {"variant": "paper"}),
        ("cgcp", {}),
        ("cgcp-cl", {"step_time": 0.01}),
        ("cpbvi", {}),
        ("cpbvi-d", {}),
    ],
)
def test_nothing_is_spent_of_a_budget_of_0_deep_in_a_history(solver: str, options: dict[str, object]) -> None:
    model = work_or_rest()
    result = rc.solve(model, solver, time_limit=2, **options)
    runs = rc.simulate(model, result.policy, runs=3, steps=60)
    assert (runs.outcome.spent == 0).all()
    assert (result.cost == 0).all()


@pytest.mark.parametrize("solver", ["arcs", "cgcp", "cpbvi", "cpbvi-d"])
def test_a_rare_cost_is_too_much_for_a_budget_of_0(solver: str) -> None:
    model = rarely_costly()
    result = rc.solve(model, solver, time_limit=2)
    assert result.reward == pytest.approx(0)
    assert (result.cost == 0).all()
    assert rc.solve(model.with_budget(2.1 * RARE), solver, time_limit=2).reward == pytest.approx(2, abs=1e-3)


def test_the_checker_refuses_a_rare_cost_of_a_budget_of_0() -> None:
    model = rarely_costly()
    go, stay = blind(model, "go"), blind(model, "stay")
    found = rc.verify(model, go)
    assert found.problem == "after go:o0 the policy has spent 5e-10 > 0"
    assert found.history == (("go", "o0"),)
    assert "at the start the policy expects to spend 1.0" in str(rc.verify(model, go, k=3).problem)
    assert rc.verify(model, of_controller(model, go)).problem is not None
    for policy in (stay, of_controller(model, stay)):
        assert rc.verify(model, policy, {"sure_cost": [0.0]}).verified
    assert rc.verify(model.with_budget(2.1 * RARE), go).verified


def test_a_claim_of_no_cost_is_refuted_by_a_rare_one() -> None:
    model = rarely_costly(budget=1.0)
    go = blind(model, "go")
    assert rc.verify(model, go, {"sure_cost": [0.0]}).problem == "some history spends 1e-09, more than 0 as claimed"
    assert rc.verify(model, go, {"cost": [0.0]}).problem == "the policy's cost is 1e-09, not 0 as claimed"
    assert rc.verify(model, go, {"cost": [1e-9], "sure_cost": [1e-9]}).verified


def test_one_budget_of_0_is_kept_beside_a_large_one() -> None:
    """The rounding of one cost is none of another's business."""
    model = rc.CPOMDP(
        transition=[[[0.3, 0.7], [0.6, 0.4]]] * 2,
        observation=[[[0.2, 0.8], [0.9, 0.1]]] * 2,
        reward=[[1.0, 0.0]] * 2,
        cost=[[[0.0, 1.0], [0.0, 1.0]], [[1e6, 0.0], [3e5, 0.0]]],
        initial_belief=[0.5, 0.5],
        discount=0.9,
        budget=[0.0, 1e8],
    )
    assert rc.verify(model, blind(model, 0), k=4).verified
    assert rc.verify(model, blind(model, 0)).verified
    assert rc.solve(model, "arcs", time_limit=2).cost[0] == 0


def test_a_run_that_spends_of_a_budget_of_0_violates_it() -> None:
    model = rarely_costly()
    go = blind(model, "go")
    runs = rc.simulate(model, go, runs=20, steps=60)
    assert runs.violation_rate.mean == 1
    assert (runs.outcome.violation == 0).all()
    assert rc.simulate(model, blind(model, "stay"), runs=20, steps=60).violation_rate.mean == 0
    env = CPOMDPEnv(model)
    env.reset(seed=0)
    assert env.step(1)[4]["remaining_budget"] == [0]
    assert env.step(0)[4]["remaining_budget"][0] < 0


def test_a_rare_cost_is_told_as_more_than_nothing_left() -> None:
    model = rarely_costly()
    told = rc.explain(blind(model, "go"), model)
    assert told.broken == (0, 0)
    assert told.keeps is False
    kept = rc.explain(blind(model, "stay"), model, [0] * 60)
    assert (kept.broken, kept.keeps, kept.left.tolist()) == (None, True, [0])
    assert [verdict.word for _, verdict in kept.alternatives] == ["breaks the budget", "taken"]


def test_the_conformance_kit_does_not_overlook_a_rare_cost() -> None:
    model = rarely_costly()
    result = rc.solve(model, "arcs", time_limit=2)
    wrong: Result = replace(result, policy=blind(model, "go"))
    truth.keeps_what_it_says(model, result, truth.sampled(model, result.policy), exactly=False)
    with pytest.raises(RuleError, match="the budget of an admissible policy is 0, but a simulated run spends 9.99"):
        truth.keeps_what_it_says(model, wrong, truth.sampled(model, wrong.policy), exactly=False)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(0, 10**6))
def test_costs_to_come_are_0_exactly_where_none_can_come(seed: int) -> None:
    """A policy that may end up in a part of the world where nothing costs anything."""
    rng = np.random.default_rng(seed)
    n, free = 12, rng.permutation(12) < 6
    moves = rng.random((n, n)) * (rng.random((n, n)) < 0.4) + 1e-3 * np.eye(n)
    moves[np.ix_(free, ~free)] = 0.0
    model = rc.CPOMDP(
        transition=[moves / moves.sum(axis=1, keepdims=True)],
        observation=[np.ones((n, 1))],
        reward=np.ones((n, 1)),
        cost=(~free * rng.random(n))[:, None],
        initial_belief=np.full(n, 1 / n),
        discount=0.999,
        budget=0.0,
    )
    found = controller_values(model, blind(model, 0))
    cost = found.values[:, 1]
    assert (cost >= 0).all()
    assert (cost[free[found.pairs]] == 0).all()


@pytest.mark.parametrize("solver", ["arcs", "cgcp"])
@pytest.mark.filterwarnings("error")
def test_a_cost_of_next_to_no_probability_leaves_numbers_that_are_some(solver: str) -> None:
    """Going on costs 1e-310, and nothing may be spent: the multiplier of such a cost is beyond all numbers."""
    result = rc.solve(rarely_costly(chance=1e-310), solver, time_limit=AMPLE)
    assert result.status in ("optimal", "stalled")
    assert result.lower <= 1e-9
    assert 0 <= result.upper < np.inf
    assert result.reward == pytest.approx(0)
    assert (result.cost == 0).all()


# Lotteries and mixtures


def test_a_lottery_spends_nothing_of_a_budget_of_0() -> None:
    choices = np.array([[0.0, 0.0, 0.0], [5.0, 1e-11, 0.0], [3.0, 0.0, 2.0], [9.0, 1.0, 0.0]])  # reward, costs
    drawn, weights = best_lottery(choices, np.array([0.0, 1.0]))
    assert drawn.tolist() == [0, 2]
    assert weights == pytest.approx([0.5, 0.5])
    assert best_lottery(choices, np.array([0.0, 1.0]), mixed=False)[0].tolist() == [0]
    assert best_lottery(choices[:, :2], np.zeros(1))[0].tolist() == [2]
    assert best_lottery(choices, np.array([-1e-17, 1.0]))[0].tolist() == [0]  # spent already, but for rounding


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(SCALES))
def test_a_lottery_is_the_same_in_any_unit(seed: int, unit: float) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    choices = rng.exponential(size=(n, 1 + k)) * (rng.random((n, 1 + k)) < 0.8)
    budget = choices[:, 1:].mean(axis=0) * rng.choice([0.0, 0.5, 1.0, 2.0], k)
    drawn, weights = best_lottery(choices, budget)
    other, others = best_lottery(choices * np.r_[1.0, np.full(k, unit)], budget * unit)
    value = weights @ choices[drawn]
    assert others @ choices[other, 0] == pytest.approx(value[0], abs=1e-7)
    if (value[1:] <= spending_limit(budget)).all():
        assert (others @ choices[other, 1:] <= budget * (1 + 1e-8)).all()


@pytest.mark.parametrize("unit", [1.0, *SCALES])
@pytest.mark.parametrize("small", [1.0, 1e-6, 1e-11, 1e-15])
def test_a_mixture_spends_nothing_of_a_budget_of_0(unit: float, small: float) -> None:
    master = Master(np.array([0.0, unit]), np.array([0.0, unit]), 1.0)
    for reward, cost in ((5.0, [1.0, 0.0]), (3.0, [small, 0.0]), (2.0, [0.0, 2.0]), (0.0, [0.0, 0.0])):
        master.add(reward, unit * np.array(cost))
        master.solve()
    assert master.feasible
    assert master.mixture.weights == pytest.approx([0, 0, 0.5, 0.5])
    assert master.mixture.cost[0] == 0


# Any unit


@pytest.mark.parametrize("unit", SCALES)
@pytest.mark.parametrize(
    ("problem", "solver"), list(itertools.product(["ce", "crs-4-4", "tunnels"], ["arcs", "cgcp", "cpbvi-d"]))
)
def test_the_unit_of_costs_decides_nothing(problem: str, solver: str, unit: float) -> None:
    model = rc.problems.make(problem)
    other = in_units(model, unit)
    result, again = (rc.solve(m, solver, time_limit=AMPLE) for m in (model, other))
    assert again.status == result.status
    for bound in ("lower", "upper", "reward"):
        assert getattr(again, bound) == pytest.approx(getattr(result, bound), abs=1e-5)
    np.testing.assert_allclose(again.cost / unit, result.cost, rtol=1e-6)
    np.testing.assert_allclose(again.sure_cost / unit, result.sure_cost, rtol=1e-9)
    runs, others = (rc.simulate(m, r.policy, runs=50, steps=60) for m, r in ((model, result), (other, again)))
    assert (others.violation_rate, others.overrun_rate) == (runs.violation_rate, runs.overrun_rate)
    np.testing.assert_allclose(others.outcome.spent / unit, runs.outcome.spent, rtol=1e-9)
    if solver != "cpbvi-d":
        one, two = rc.verify(model, result.policy, result.summary()), rc.verify(other, again.policy, again.summary())
        assert (two.verified, two.history) == (one.verified, one.history)
        np.testing.assert_allclose(two.sure_cost / unit, one.sure_cost, rtol=1e-9)


def random_controller(model: rc.CPOMDP, rng: np.random.Generator) -> ControllerPolicy:
    nodes = int(rng.integers(1, 5))
    actions = rng.integers(0, model.n_actions, nodes)
    return ControllerPolicy(model, actions, rng.integers(0, nodes, (nodes, model.n_observations)), 0)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(cpomdps(), st.integers(0, 10**6), st.sampled_from([2.0**-40, 2.0**30]), st.sampled_from([None, 3]))
def test_a_verdict_is_the_same_in_any_unit(case: Dense, seed: int, unit: float, horizon: int | None) -> None:
    """Units that are powers of 2 change no digit; rewards are in none of them, and small enough not to matter."""
    model = case.model._changed(arrays=case.model.arrays._replace(reward=np.zeros_like(case.model.reward)))
    policy = random_controller(model, np.random.default_rng(seed))
    other = in_units(model, unit)
    one, two = rc.verify(model, policy, k=horizon), rc.verify(other, policy, k=horizon)
    assert (two.verified, two.history, two.beliefs) == (one.verified, one.history, one.beliefs)
    np.testing.assert_array_equal(two.spent, unit * one.spent)
    np.testing.assert_array_equal(two.sure_cost, unit * one.sure_cost)
    told, again = rc.explain(policy, model), rc.explain(policy, other)
    assert (again.broken, again.keeps) == (told.broken, told.keeps)
    assert [v.word for _, v in again.alternatives] == [v.word for _, v in told.alternatives]
    runs, others = rc.simulate(model, policy, runs=10, steps=20), rc.simulate(other, policy, runs=10, steps=20)
    np.testing.assert_array_equal(others.outcome.violation, runs.outcome.violation)


@pytest.mark.parametrize("seed", range(8))
def test_rounding_does_no_harm_to_a_budget_that_is_spent_to_the_last(seed: int) -> None:
    """The budget is what the only history spends, summed up from its end."""
    rng = np.random.default_rng(seed)
    case = random_model(rng, n_observations=1, discount=0.8)
    policy = random_controller(case.model, rng)
    node, belief, costs = policy.start, case.model.initial_belief, []
    for _ in range(400):
        a = policy.actions[node]
        costs.append(belief @ case.C[0, :, a])
        node, belief = policy.successors[node, 0], belief @ case.T[a]
    spent = 0.0
    for cost in costs[::-1]:
        spent = cost + 0.8 * spent
    for off, kept in ((-1e-8, False), (-1e-13, True), (0.0, True)):
        model = case.model.with_budget(spent * (1 + off))
        assert rc.verify(model, policy).verified == kept
        assert rc.simulate(model, policy, runs=3, steps=400).violation_rate.mean == (not kept)
