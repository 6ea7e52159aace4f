"""SARSOP: known optima, bounds and policies on random models, limits, and what it refuses."""

from __future__ import annotations

import itertools
import json
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
import reference
from rcpomdp.solvers import SOLVERS, Result, TracePoint, clock
from rcpomdp.solvers.belief_graph.search import BeliefGraphSearch, BeliefGraphSwitches, Objective
from rcpomdp.solvers.sarsop import sarsop
from strategies import DISCOUNTS, Dense, cpomdps, lively_models, random_model
from work import AMPLE

SETTINGS = settings(derandomize=True, deadline=None, max_examples=60)


def hard_model(n_costs: int = 1) -> Dense:
    """A model that no search closes in a moment."""
    return random_model(np.random.default_rng(0), 5, 3, 3, n_costs, density=1.0, deterministic=0.0, discount=0.99)


def check_result(case: Dense, result: Result, weights: np.ndarray | None = None, cost: int | None = None) -> None:
    """The policy earns what the result says, its objective is no worse than the bound, and bounds move one way."""
    loose = reference.tolerance(case, np.concatenate([case.R[None], case.C]))
    totals = reference.controller_totals(case, result.policy)
    np.testing.assert_allclose([result.reward, *result.cost], totals, rtol=0, atol=loose)
    assert (result.cost <= result.sure_cost + loose).all()
    if cost is not None:
        assert 0 <= result.lower <= totals[1 + cost] + loose
        assert totals[1 + cost] <= result.upper + loose
    elif weights is None:
        assert result.lower <= totals[0] + loose
    else:
        assert result.lower <= totals[0] - weights @ totals[1:] + loose
    assert result.lower <= result.upper
    lower = [point.lower for point in result.trace]
    upper = [point.upper for point in result.trace]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert (lower[-1], upper[-1]) == (result.lower, result.upper)
    for column in ("seconds", "trials", "beliefs", "plans"):
        values = [getattr(point, column) for point in result.trace]
        assert values == sorted(values)


# Known answers


@pytest.mark.parametrize(
    ("name", "params", "objective", "low", "high"),
    [
        # Bounds of another SARSOP at a gap of 0.001: the optimum lies between.
        ("tiger", {"discount": 0.95}, "reward", 19.3711, 19.3721),
        ("tiger", {}, "reward", 1.93301, 1.9339),
        ("crs-4-4", {}, "reward", 16.9264, 16.9271),
        ("crs-4-4", {}, 4.15, 8.1450, 8.160),
        # By hand.
        ("ce", {}, "reward", 12 - 1e-4, 12 + 1e-4),  # tunnel A at once; its discount is near 1
        ("tunnels", {}, "reward", 2 * 0.99**4 - 1e-9, 2 * 0.99**4 + 1e-9),
        ("tunnels", {}, "cost", 0, 0),
        ("tiger", {}, "cost", 0, 0),  # never listen
        ("crs-4-4", {}, "cost", 0, 0),  # sample nothing
    ],
)
def test_known_optima(name: str, params: dict[str, Any], objective: Any, low: float, high: float) -> None:
    model = rc.problems.make(name, **params)
    result = sarsop(model, objective=objective, epsilon=0.001)
    assert result.status == "optimal"
    assert result.gap <= 0.001
    assert result.lower <= high
    assert result.upper >= low
    is_cost = objective == "cost"
    weights = None if isinstance(objective, str) else np.array([objective])
    check_result(reference.dense(model), result, weights, 0 if is_cost else None)


def test_tiger_to_five_digits() -> None:
    result = sarsop(rc.problems.make("tiger", discount=0.95), epsilon=0.001)
    assert 19.3700 <= result.lower <= 19.37137  # the optimum is 19.371368...
    assert 19.37136 <= result.upper <= 19.3730
    result = sarsop(rc.problems.make("tiger"), epsilon=0.001)
    assert 1.932 <= result.lower <= result.upper <= 1.935


def test_the_lagrangian_bound_of_rocksample() -> None:
    """With λ = 4.15 it proves that no admissible policy with budget 1 earns more than 12.31."""
    result = sarsop(rc.problems.make("crs-4-4"), objective=4.15, epsilon=0.01)
    assert result.upper + 4.15 <= 12.315


@pytest.mark.parametrize("name", ["ce", "tunnels", "tiger"])
@pytest.mark.parametrize("objective", ["reward", "cost", 0.3])
def test_small_problems_against_expansion(name: str, objective: Any) -> None:
    case = reference.dense(rc.problems.make(name))
    gain = {"reward": case.R, "cost": -case.C[0]}.get(objective, case.R - 0.3 * case.C[0])
    low, high = reference.value_interval(case, gain, case.model.initial_belief, size=200)
    result = sarsop(case.model, objective=objective)
    loose = reference.tolerance(case, gain)
    lower, upper = (-result.upper, -result.lower) if objective == "cost" else (result.lower, result.upper)
    assert lower <= high + loose
    assert upper >= low - loose
    assert high - low < 1


def test_the_least_cost_of_the_counterexample() -> None:
    """Look, and then take the tunnel that costs less after what was seen."""
    model = rc.problems.make("ce")
    result = sarsop(model, objective="cost")
    assert result.lower <= 3.5 * model.discount <= result.upper
    assert result.cost == pytest.approx([3.5 * model.discount], abs=1e-9)


def test_ties_in_cost_are_broken_by_reward() -> None:
    model = rc.CPOMDP(
        transition=[np.eye(2)] * 4,
        observation=[np.ones((2, 1))] * 4,
        reward=[[1, 3, 10, 2], [1, 0, 10, 2]],
        cost=[[[0, 0, 1, 0]] * 2, [[5, 1, 0, 2]] * 2],
        initial_belief=[0.5, 0.5],
        discount=0.9,
        costs=["fuel", "noise"],
    )
    result = sarsop(model, objective="cost:fuel")
    assert (result.lower, result.objective) == (0, "cost 'fuel'")
    assert (result.reward, *result.cost) == (pytest.approx(20), 0, pytest.approx(20))
    result = sarsop(model, objective="cost:noise")
    assert result.reward == pytest.approx(100)
    assert result.cost == pytest.approx([10, 0])
    assert result.sure_cost == pytest.approx([10, 0])


# Random models


@SETTINGS
@given(st.data(), st.one_of(lively_models(), lively_models(), cpomdps(max_observations=3, discounts=DISCOUNTS)))
def test_bounds_and_policy_of_random_models(data: st.DataObject, case: Dense) -> None:
    kinds = ["reward"] if not case.model.n_costs else ["reward", "cost", "weights"]
    kind = data.draw(st.sampled_from(kinds), label="objective")
    objective: Any = kind
    gain, weights, cost = case.R, None, None
    if kind == "weights":
        objective = [data.draw(st.sampled_from((0.0, 0.7, 5.0)), label="weight") for _ in case.C]
        weights = np.array(objective)
        gain = case.R - np.tensordot(weights, case.C, axes=1)
    elif kind == "cost":
        cost = data.draw(st.integers(0, case.model.n_costs - 1), label="cost")
        objective, gain = f"cost:{case.model.costs[cost]}", -case.C[cost]
    result = sarsop(case.model, objective=objective, epsilon=0.01, time_limit=0.05)
    check_result(case, result, weights, cost)
    assert (result.status == "optimal") == (result.gap <= 0.01)
    low, high = reference.value_interval(case, gain, case.model.initial_belief)
    if cost is not None:
        low, high = -high, -low
    loose = reference.tolerance(case, gain)
    assert result.lower <= high + loose
    assert result.upper >= low - loose


@pytest.mark.parametrize(("name", "steps"), [("tiger", 80), ("tunnels", 20), ("crs-4-4", 200)])
def test_simulated_policies_earn_what_is_promised(name: str, steps: int) -> None:
    model = rc.problems.make(name)
    result = sarsop(model, epsilon=0.001)
    simulation = rc.simulate(model, result.policy, runs=4000, steps=steps, seed=7)
    reward_tail, (cost_tail,) = simulation.truncation
    assert abs(simulation.reward.mean - result.reward) <= 4.5 * simulation.reward.se + reward_tail + 1e-9
    assert abs(simulation.cost[0].mean - result.cost[0]) <= 4.5 * simulation.cost[0].se + cost_tail + 1e-9
    assert (simulation.outcome.spent <= result.sure_cost + 1e-9).all()


@pytest.mark.parametrize("seed", range(20))
def test_bounds_hold_where_large_rewards_cancel(seed: int) -> None:
    """Four states in turn, whose rewards of about 1e9 add up to nearly nothing: the value is a fraction."""
    rng = np.random.default_rng(seed)
    gamma = (0.9, 0.95, 0.99)[seed % 3]
    reward = rng.uniform(-1, 1, 4) * 1e9
    reward[0] = rng.uniform(-1e-3, 1e-3) - sum(gamma**t * reward[t] for t in range(1, 4))
    model = rc.CPOMDP(
        transition=[np.roll(np.eye(4), 1, axis=1)],
        observation=[np.ones((4, 1))],
        reward=reward[:, None],
        initial_belief=[1, 0, 0, 0],
        discount=gamma,
    )
    exact = sum(Fraction(gamma) ** t * Fraction(float(r)) for t, r in enumerate(reward)) / (1 - Fraction(gamma) ** 4)
    result = sarsop(model, epsilon=0.001)
    assert Fraction(result.lower) <= exact <= Fraction(result.upper)
    assert (result.status == "optimal") == (result.gap <= 0.001)
    assert result.gap < 10


def test_bounds_of_a_search_hold_where_large_rewards_cancel() -> None:
    """The state is known: the value is the best of finitely many fractions, and from state 0 nearly nothing."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        T = rng.dirichlet(np.full(4, 0.7), (2, 4))
        T[:, :, 0] = 0  # nothing comes back to state 0
        T /= T.sum(axis=2, keepdims=True)
        reward = rng.uniform(-1, 1, (4, 2)) * 1e9
        gamma = (0.9, 0.95, 0.99)[seed % 3]
        reward[0] -= reference.solve_mdp(T, reward.T, gamma)[0][0]
        model = rc.CPOMDP(
            transition=T, observation=[np.eye(4)] * 2, reward=reward, initial_belief=[1, 0, 0, 0], discount=gamma
        )
        rows, every = reference.dense(model).T, np.arange(4)
        exact = max(
            reference.exact_totals(rows[policy, every], reward[every, policy], gamma)[0]
            for policy in itertools.product(range(2), repeat=4)
        )
        result = sarsop(model, epsilon=0.001)
        assert Fraction(result.lower) <= exact <= Fraction(result.upper)
        assert (result.status == "optimal") == (result.gap <= 0.001)
        assert result.gap < 10


@pytest.mark.parametrize("scale", [1e9, 1e-9])
def test_bounds_scale_with_the_rewards(scale: float) -> None:
    case = random_model(np.random.default_rng(1), 3, 2, 2, 1, discount=0.5)
    model = case.model._changed(arrays=case.model.arrays._replace(reward=case.R * scale))
    plain, scaled = sarsop(case.model, epsilon=1e-3), sarsop(model, epsilon=1e-3 * scale)
    assert plain.status == scaled.status == "optimal"
    assert scaled.gap <= 1e-3 * scale
    assert scaled.lower <= plain.upper * scale
    assert scaled.upper >= plain.lower * scale
    check_result(reference.dense(model), scaled)


def test_every_option_may_be_switched() -> None:
    model = rc.problems.make("tiger", discount=0.95)
    for switches in (
        BeliefGraphSwitches(rays=False),
        BeliefGraphSwitches(sawtooth=False),
        BeliefGraphSwitches(classes=False, fib=False),
        BeliefGraphSwitches(lazy_actions=False, forget=False),
        BeliefGraphSwitches(share=0.0, wide_share=0.0),
        BeliefGraphSwitches(share=0.9, wide_share=0.9),
    ):
        result = sarsop(model, epsilon=0.01, switches=switches)
        assert result.status == "optimal"
        assert 19.3600 <= result.lower <= 19.3721
        assert 19.3711 <= result.upper <= 19.3821


# Warm start


@pytest.mark.parametrize("name", ["crs-4-4", "tiger", "tunnels"])
def test_one_search_serves_many_weights(name: str) -> None:
    model = rc.problems.make(name)
    case = reference.dense(model)
    graph_search = BeliefGraphSearch(model, Objective(1.0, np.zeros(1)))
    for objective in (0.5, 4.15, 0.0, 2.0, "cost", "reward"):
        cold = sarsop(model, objective=objective, epsilon=0.001)
        warm = sarsop(model, objective=objective, epsilon=0.001, warm_start=graph_search)
        assert warm.status == cold.status == "optimal"
        assert (warm.objective, warm.solver) == (cold.objective, "sarsop")
        first = warm.trace[0]  # before any search
        assert first.lower <= cold.upper
        assert first.upper >= cold.lower
        assert max(warm.lower, cold.lower) <= min(warm.upper, cold.upper)
        weights = None if isinstance(objective, str) else np.array([objective])
        check_result(case, warm, weights, 0 if objective == "cost" else None)


def test_a_search_of_another_model_is_refused() -> None:
    graph_search = BeliefGraphSearch(rc.problems.make("tiger"), Objective(1.0, np.zeros(1)))
    with pytest.raises(rc.InputError, match="made for another model"):
        sarsop(rc.problems.make("tiger", discount=0.95), warm_start=graph_search)
    result = sarsop(
        rc.problems.make("tiger").with_budget(2), epsilon=0.01, warm_start=graph_search
    )  # budgets play no part
    assert result.status == "optimal"


# Limits


def test_time_limit() -> None:
    case = hard_model()
    result = sarsop(case.model, epsilon=1e-9, time_limit=0.2)
    assert result.status == "time limit"
    assert result.gap > 1e-9
    check_result(case, result)


def test_a_time_limit_that_set_up_uses_up_leaves_the_first_bounds() -> None:
    case = hard_model()
    result = sarsop(case.model, epsilon=1e-9, time_limit=1e-9)
    assert (result.status, result.trace[-1].trials) == ("time limit", 0)
    check_result(case, result)


def test_memory_limit() -> None:
    case = hard_model()
    result = sarsop(case.model, epsilon=1e-9, memory_limit=2e6, time_limit=20)
    assert result.status == "memory limit"
    assert result.trace[-1].beliefs < 20_000
    check_result(case, result)


@pytest.mark.parametrize("calls", [1, 3])
def test_an_interrupt_returns_what_was_found(calls: int) -> None:
    case, seen = hard_model(), []

    def interrupt(point: TracePoint) -> None:
        seen.append(point)
        if len(seen) == calls:
            raise KeyboardInterrupt

    result = sarsop(case.model, epsilon=1e-9, progress=interrupt)
    assert (result.status, len(seen)) == ("interrupted", calls)
    assert (seen[-1].lower, seen[-1].upper) == (result.lower, result.upper)
    low, high = reference.value_interval(case, case.R, case.model.initial_belief)
    assert result.lower <= high + 1e-6
    assert result.upper >= low - 1e-6
    check_result(case, result)


@pytest.mark.parametrize("name", ["tiger", "tunnels", "ce", "crs-4-4"])
def test_an_epsilon_of_zero_ends_where_rounding_begins(name: str) -> None:
    result = sarsop(rc.problems.make(name), epsilon=0)
    assert result.status in {"optimal", "stalled"}
    assert result.gap <= 1e-4
    assert (result.status == "optimal") == (result.gap <= 0)


def test_a_search_that_finds_nothing_more_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_MOST_IDLE", 2)
    monkeypatch.setattr(BeliefGraphSearch, "search", lambda *_: None)
    case = hard_model()
    result = sarsop(case.model, epsilon=1e-9, switches=BeliefGraphSwitches())
    assert result.status == "stalled"
    check_result(case, result)


def test_a_gap_just_above_epsilon_is_closed() -> None:
    """Trials whose target is epsilon come to 0.010002 and no further; sharper ones go on from there."""
    transition = [
        [[0.11, 0.03, 0.14, 0.72], [0, 0.31, 0, 0.69], [0, 0.91, 0.05, 0.04], [0.25, 0.25, 0.25, 0.25]],
        [[0.85, 0.15, 0, 0], [0, 1, 0, 0], [0, 0.3, 0.01, 0.69], [0, 0.17, 0.83, 0]],
        [[0.59, 0.02, 0.14, 0.25], [0.23, 0.21, 0.15, 0.41], [0.15, 0.42, 0.24, 0.19], [0, 0.38, 0.62, 0]],
    ]
    observation = [
        [[1 / 3, 1 / 3, 1 / 3], [0, 1, 0], [0.87, 0, 0.13], [0.5, 0, 0.5]],
        [[0, 1, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]],
        [[0, 0.36, 0.64], [0.06, 0.94, 0], [0, 0.36, 0.64], [0, 0, 1]],
    ]
    model = rc.CPOMDP(
        transition=transition,
        observation=observation,
        reward=[[0.74, 0, 1.48], [3, -0.74, -1.48], [-2, -0.74, -2], [1, -1.85, 1]],
        initial_belief=[1 / 3, 1 / 3, 0, 1 / 3],
        discount=0.9,
    )
    assert sarsop(model, epsilon=0.01, time_limit=AMPLE).status == "optimal"


def test_trials_that_change_nothing_are_counted() -> None:
    stalls = clock.StallDetector()
    assert not stalls.found(0.0, 1.0, trials=10)
    assert not stalls.found(0.0, 1.0, trials=4000)
    assert stalls.share is None
    assert not stalls.found(0.0, 0.9, trials=8000)  # something changed
    assert not stalls.found(0.0, 0.9, trials=12_000)
    assert stalls.share is None
    assert not stalls.found(0.0, 0.9, trials=13_000)
    assert stalls.share == 0.25
    assert [stalls.found(0.0, 0.9, trials=13_000 + 5000 * i) for i in range(1, 5)] == [False, False, False, True]


def test_the_same_call_gives_the_same_result() -> None:
    """The first slice of work closes it, so that the clock has no part in it."""
    first, second = (sarsop(rc.problems.make("tiger", discount=0.95), epsilon=1e-4) for _ in range(2))
    assert [point[1:] for point in first.trace] == [point[1:] for point in second.trace]
    assert (first.reward, first.cost.tolist()) == (second.reward, second.cost.tolist())
    np.testing.assert_array_equal(first.policy.successors, second.policy.successors)
    assert first.trace[-1].trials > 1


def test_progress_is_told_of_each_slice() -> None:
    seen: list[TracePoint] = []
    result = sarsop(rc.problems.make("tiger"), epsilon=1e-4, progress=seen.append)
    assert seen == result.trace[1:-1]


# What is refused


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"epsilon": -1e-9}, "epsilon must be at least 0, not -1e-09"),
        ({"epsilon": float("nan")}, "epsilon must be at least 0, not nan"),
        ({"time_limit": 0}, "the time limit must be above 0, not 0"),
        ({"time_limit": float("nan")}, "the time limit must be above 0, not nan"),
        ({"objective": "profit"}, "the objective is 'reward', 'cost', 'cost:NAME' or weights λ, not 'profit'"),
        ({"objective": "costs"}, "not 'costs'"),
        ({"objective": "cost:feul"}, "cost 'feul' is not declared"),
        ({"objective": [1.0, 2.0]}, "the weights λ must be 1 finite numbers, one per cost, not [1.0, 2.0]"),
        ({"objective": []}, "must be 1 finite numbers"),
        ({"objective": float("inf")}, "must be 1 finite numbers"),
        ({"objective": [[1.0]]}, "must be 1 finite numbers"),
        ({"objective": None}, "must be 1 finite numbers"),
        ({"objective": ["much"]}, "must be 1 finite numbers"),
        ({"objective": {"cost": 1.0}}, "must be 1 finite numbers"),
        ({"epsilon": "small"}, "epsilon must be at least 0, not 'small'"),
        ({"time_limit": "long"}, "the time limit must be above 0, not 'long'"),
        ({"memory_limit": 0}, "the memory limit must be above 0, not 0"),
        ({"memory_limit": float("nan")}, "the memory limit must be above 0, not nan"),
        ({"epsilom": 1}, "solver 'sarsop' has no option 'epsilom'; did you mean 'epsilon'?"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(rc.InputError) as caught:
        rc.solve(rc.problems.make("tiger"), **{"solver": "sarsop", **options})
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_costs_that_are_not_there_or_not_named_are_refused() -> None:
    without = random_model(np.random.default_rng(0), n_costs=0).model
    several = random_model(np.random.default_rng(0), n_costs=2).model
    with pytest.raises(rc.InputError, match="no cost to minimise"):
        sarsop(without, objective="cost")
    with pytest.raises(rc.InputError, match="must be 0 finite numbers"):
        sarsop(without, objective=1.0)
    with pytest.raises(rc.InputError, match="has 2 costs; name one, as in 'cost:cost0'"):
        sarsop(several, objective="cost")
    assert sarsop(several, objective="cost:cost1", time_limit=1).objective == "cost 'cost1'"


def test_what_doubles_cannot_hold_is_refused() -> None:
    case = random_model(np.random.default_rng(0), n_costs=1)
    model = case.model._changed(arrays=case.model.arrays._replace(reward=case.R * 1e305))
    with pytest.raises(rc.InputError, match="too large"):
        sarsop(model)
    with pytest.raises(rc.InputError, match="too large"):
        sarsop(case.model, objective=1e308)


def test_only_models_are_solved() -> None:
    with pytest.raises(rc.InputError, match="'tiger' is no model"):
        rc.solve("tiger")  # type: ignore[arg-type]  # that is the point


def test_unknown_solvers_are_refused_with_a_hint() -> None:
    with pytest.raises(rc.InputError, match="unknown solver 'sarsp'; did you mean 'sarsop'?"):
        rc.solve(rc.problems.make("tiger"), "sarsp")
    with pytest.raises(rc.InputError, match=re.escape(f"unknown solver 'xyz' (known: {', '.join(SOLVERS)})")):
        rc.solve(rc.problems.make("tiger"), "xyz")


# What comes back


def test_result_speaks_for_itself() -> None:
    assert "sarsop" in SOLVERS
    result = rc.solve(rc.problems.make("tiger"), "sarsop", epsilon=0.001)
    assert isinstance(result, rc.Result)
    summary = json.loads(json.dumps(result.summary()))
    assert summary["status"] == "optimal"
    assert summary["gap"] == result.upper - result.lower == result.gap
    assert summary["cost"] == [result.cost[0]]
    assert summary["trials"] == result.trace[-1].trials
    assert repr(result).startswith("Result of sarsop: optimal, reward in [1.93")
    assert "and cost" in repr(result)
    assert result.seconds > 0
    assert result.setup_seconds > 0


def test_models_without_costs_have_results_without_costs() -> None:
    case = random_model(np.random.default_rng(3), 3, 2, 2, 0, discount=0.8)
    result = sarsop(case.model, epsilon=0.01)
    assert result.cost.shape == result.sure_cost.shape == (0,)
    assert "cost" not in repr(result)
    check_result(case, result)


def test_five_costs_can_be_weighed_and_minimised() -> None:
    case = random_model(np.random.default_rng(4), 3, 3, 2, 5, discount=0.8)
    weights = np.array([0.1, 0.0, 2.0, 0.5, 1.0])
    check_result(case, sarsop(case.model, objective=weights, epsilon=0.01), weights)
    for k in range(5):
        result = sarsop(case.model, objective=f"cost:cost{k}", epsilon=0.01, time_limit=5)
        check_result(case, result, cost=k)


def test_costs_need_not_be_named_by_text() -> None:
    case = random_model(np.random.default_rng(4), 3, 2, 2, 2, discount=0.8)
    model = rc.CPOMDP(
        transition=case.T,
        observation=case.Z,
        reward=case.R,
        cost=case.C,
        initial_belief=case.model.initial_belief,
        discount=0.8,
        costs=[0, 1],
    )
    for k in range(2):
        assert sarsop(model, objective=f"cost:{k}", epsilon=0.1).objective == f"cost {k}"


def test_policies_can_be_saved_and_followed(tmp_path: Any) -> None:
    model = rc.problems.make("tunnels")
    result = sarsop(model)
    rc.save_policy(tmp_path / "policy.rcp", result.policy, model)
    loaded = rc.load_policy(tmp_path / "policy.rcp", model)
    totals = reference.controller_totals(reference.dense(model), loaded)
    np.testing.assert_allclose(totals, [result.reward, *result.cost], rtol=0, atol=1e-9)


@pytest.mark.parametrize("drift", [8e-13, 5e-15])
@pytest.mark.parametrize("discount", [0.95, 0.99])
def test_a_belief_that_drifts_by_less_than_it_shows_keeps_the_bounds_apart(drift: float, discount: float) -> None:
    """Successors that nearly are the belief itself: what is taken for one must be allowed for in the bounds."""
    model = rc.CPOMDP(
        transition=[[[1 - drift, drift], [0, 1]]] * 2,
        observation=[[[1], [1]]] * 2,
        reward=[[-1.0, 1.0], [1.0, -1.0]],
        initial_belief=[0.5, 0.5],
        discount=discount,
    )
    result = rc.solve(model, "sarsop", epsilon=1e-9, time_limit=2)
    assert result.lower <= rc.evaluate(model, result.policy).reward <= result.upper
