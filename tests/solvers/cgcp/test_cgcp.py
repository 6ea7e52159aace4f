"""CGCP: known optima, the master program, bounds against brute force, limits, and what it refuses."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import rcpomdp as rc
import reference
from rcpomdp import cli
from rcpomdp.policies import ControllerPolicy, MixturePolicy
from rcpomdp.solvers import Result, TracePoint
from rcpomdp.solvers.belief_graph.search import BeliefGraphSearch, Objective
from rcpomdp.solvers.cgcp.master import Master
from rcpomdp.solvers.cgcp.solve import cgcp
from rcpomdp.tolerance import spending_limit
from strategies import Dense, random_model
from work import AMPLE

MODELS = range(40)


def hard_model(n_costs: int = 1, budget: Any = 30.0) -> Dense:
    """A model that no search closes in a moment."""
    rng = np.random.default_rng(0)
    return random_model(rng, 5, 3, 3, n_costs, density=1.0, deterministic=0.0, discount=0.99, budget=budget)


def check_result(case: Dense, result: Result, loose: float | None = None) -> None:
    """The mixture earns and spends what the result says, keeps the budget if it should, and bounds move one way."""
    if loose is None:
        loose = reference.tolerance(case, np.concatenate([case.R[None], case.C]))
    assert isinstance(result.policy, MixturePolicy)
    if sum(policy.actions.size for policy in result.policy.policies) < 200:
        parts = [reference.controller_totals(case, policy) for policy in result.policy.policies]
        totals = result.policy.weights @ np.array(parts)
    else:  # too large for a dense solve
        exact = rc.evaluate(case.model, result.policy)
        totals = np.array([exact.reward, *exact.cost])
    np.testing.assert_allclose([result.reward, *result.cost], totals, rtol=0, atol=loose)
    assert (result.cost <= result.sure_cost + loose).all()
    assert result.admissible is None
    if result.lower > -np.inf:
        assert result.lower <= totals[0] + loose
        assert (totals[1:] <= case.model.budget + 1e-6).all()
    if result.status != "infeasible":
        assert result.lower <= result.upper
    trace = result.trace[:-1] if result.status == "infeasible" else result.trace
    lower, upper = [point.lower for point in trace], [point.upper for point in trace]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert tuple(result.trace[-1][1:3]) == (result.lower, result.upper)


# Known answers


@pytest.mark.parametrize(
    ("name", "params", "budget", "value", "violations"),
    [
        ("ce", {}, 5, 12.0, (0.45, 0.55)),  # by hand: tunnel A whatever was seen
        ("tiger", {}, 3, -1.7733, (0.0, 1.0)),
        ("tiger", {}, 1.5, -70.6875, (0.0, 1.0)),  # within the bounds of a search over expansions; see below
        ("tunnels", {}, 1, 1.6013, (0.25, 0.6)),
        ("tunnels", {"p_correct": 0.95}, 1, 1.6788, (0.35, 0.6)),
        ("crs-4-4", {}, 1, 12.2944, (0.0, 0.0)),  # the optimum under recursive budgets, which is no larger
    ],
)
def test_known_optima(name: str, params: dict[str, Any], budget: float, value: float, violations: Any) -> None:
    model = rc.problems.make(name, **params).with_budget(budget)
    result = cgcp(model, epsilon=1e-3, time_limit=30)
    assert result.status == "optimal"
    assert result.gap <= 1e-3
    assert result.lower == pytest.approx(value, abs=1e-3)
    assert (result.cost <= budget).all()
    check_result(reference.dense(model), result, 1e-6)
    exact = rc.evaluate(model, result.policy)
    assert result.reward == pytest.approx(exact.reward, abs=1e-6)
    np.testing.assert_allclose(result.cost, exact.cost, atol=1e-6)
    found = rc.simulate(model, result.policy, runs=2000, steps=60)
    assert abs(found.reward.mean - exact.reward) <= 4 * found.reward.se + found.truncation[0] + 1e-4
    assert abs(found.cost[0].mean - exact.cost[0]) <= 4 * found.cost[0].se + found.truncation[1][0] + 1e-4
    assert violations[0] <= found.violation_rate.mean <= violations[1]


def test_the_lagrangian_bound_of_tiger() -> None:
    """At the λ where two plans that listen twice or not at all have the same value, by expansion of beliefs."""
    model = rc.problems.make("tiger").with_budget(1.5)
    result = cgcp(model, epsilon=1e-6)
    case = reference.dense(model)
    bounds = [
        1.5 * multiplier + reference.value_interval(case, case.R - multiplier * case.C[0], model.initial_belief, 200)[1]
        for multiplier in np.linspace(72, 74, 41)
    ]
    assert result.lower - 1e-9 <= min(bounds) <= result.upper + 0.05
    assert result.reward == pytest.approx(-70.6875, abs=1e-5)


def test_a_budget_that_does_not_bind_leaves_the_optimum() -> None:
    for budget in (np.inf, 1e6, 10.0):
        result = cgcp(rc.problems.make("tiger").with_budget(budget))
        assert result.status == "optimal"
        assert 1.932 <= result.lower <= result.upper <= 1.935


# The master program


def random_master(seed: int) -> tuple[Master, np.ndarray, np.ndarray, np.ndarray]:
    """A master program whose columns come one by one, some of them far from the budgets' size."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 12)), int(rng.integers(1, 4))
    rewards = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4)
    costs = rng.exponential(size=(n, k)) * 10.0 ** rng.integers(-3, 4, k) * (rng.random((n, k)) < 0.8)
    budget = costs.mean(axis=0) * rng.choice([0.0, 0.3, 0.7, 1.2], k)
    budget[rng.random(k) < 0.2] = np.inf
    master = Master(budget, spending_limit(budget), float(np.abs(rewards).max()))
    return master, rewards, costs, budget


@pytest.mark.parametrize("seed", range(60))
def test_primal_equals_dual_and_warm_equals_cold(seed: int) -> None:
    master, rewards, costs, budget = random_master(seed)
    for reward, cost in zip(rewards, costs, strict=True):
        master.add(reward, cost)
        master.solve()
    limited = np.isfinite(budget)
    size = np.abs(rewards).max()
    expected = linprog(
        -rewards, costs.T[limited], budget[limited], np.ones((1, len(rewards))), [1.0], method="highs-ds"
    )
    assert master.feasible == (expected.status == 0)
    assert (master.multipliers >= 0).all()
    assert (master.multipliers[~limited] == 0).all()
    mixture = master.mixture
    assert mixture.weights.min() >= 0
    assert mixture.weights.sum() == pytest.approx(1)
    weighted = master.multipliers[limited] @ budget[limited]
    reduced = (rewards if master.feasible else 0.0) - costs @ master.multipliers - master.threshold
    if master.feasible:
        assert mixture.reward == pytest.approx(-expected.fun, abs=1e-7 * size)
        assert master.threshold + weighted == pytest.approx(mixture.reward, abs=1e-7 * size)  # strong duality
        assert (reduced <= 1e-7 * size).all()  # the dual is feasible
        assert (mixture.cost <= spending_limit(budget)).all()
        assert master.solved_anew().mixture.reward == pytest.approx(mixture.reward, abs=1e-7 * size)
    else:
        assert master.excess > 0
        assert (reduced <= 1e-7).all()
        assert (costs @ master.multipliers > weighted).all()  # the proof that no mixture of them will do


def test_a_live_program_needs_few_pivots_for_a_new_column() -> None:
    rng = np.random.default_rng(0)
    costs = rng.random((100, 2))
    costs[0] = 0.0
    budget = np.full(2, 0.3)
    live, pivots, anew = Master(budget, budget, 1.0), 0, 0
    for reward, cost in zip(np.sqrt(costs).sum(axis=1), costs, strict=True):
        live.add(float(reward), cost)
        live.solve()
        pivots += live.pivots
        anew += live.solved_anew().pivots
    assert 0 < pivots < anew / 4


def test_rounding_above_the_budget_is_mended() -> None:
    master = Master(np.array([1.0]), np.array([1.0 + 1e-9]), 1.0)
    for reward, cost in ((5.0, 1.0 + 5e-10), (0.0, 0.0)):
        master.add(reward, np.array([cost]))
    master.solve()
    assert master.mixture.cost[0] <= 1.0
    assert master.mixture.reward == pytest.approx(5.0, abs=1e-7)


# Random models


def small_case(seed: int) -> Dense:
    """Two or three states, two actions and observations, under a budget near what is needed or below what is spent."""
    rng = np.random.default_rng(seed)
    n_costs = int(rng.integers(1, 3))
    discount = float(rng.choice([0.0, 0.5, 0.9]))
    case = random_model(rng, int(rng.integers(2, 4)), 2, 2, n_costs, discount=discount, budget=np.full(n_costs, np.inf))
    spent = np.array([controller_values(case)[:, 1 + k] for k in range(n_costs)])  # [K, n]
    low, high = spent.min(axis=1), spent.max(axis=1)
    budget = low + rng.choice([-0.1, 0.05, 0.3, 0.6], n_costs) * (high - low)
    budget = np.where(rng.random(n_costs) < 0.15, np.inf, np.maximum(budget, 0.0))
    return case._replace(model=case.model.with_budget(budget))


def controller_values(case: Dense) -> np.ndarray:
    """Reward and costs [n, 1 + K] of all deterministic controllers with two nodes."""
    n_actions, n_observations = len(case.T), case.Z.shape[2]
    values = []
    for actions in itertools.product(range(n_actions), repeat=2):
        for links in itertools.product(range(2), repeat=2 * n_observations):
            policy = ControllerPolicy(case.model, actions, np.array(links).reshape(2, n_observations))
            values.append(reference.controller_totals(case, policy))
    return np.array(values)


def lagrangian_bound(case: Dense) -> float:
    """The least λ·ĉ + V_λ over a grid of multipliers, V_λ by expansion of beliefs."""
    limited = np.flatnonzero(np.isfinite(case.model.budget))
    least = np.inf
    for multiplier in itertools.product([0.0, 0.3, 1.0, 3.0, 10.0], repeat=limited.size):
        gain = case.R - np.tensordot(multiplier, case.C[limited], axes=1)
        value = reference.value_interval(case, gain, case.model.initial_belief, 60)[1]
        least = min(least, value + float(np.dot(multiplier, case.model.budget[limited])))
    return least


@pytest.mark.parametrize("seed", MODELS)
def test_bounds_enclose_what_brute_force_finds(seed: int) -> None:
    case = small_case(seed)
    budget, values = case.model.budget, controller_values(case)
    limited = np.isfinite(budget)
    result = cgcp(case.model, epsilon=1e-2, time_limit=AMPLE)
    check_result(case, result)
    brute = linprog(-values[:, 0], values[:, 1:].T[limited], budget[limited], np.ones((1, len(values))), [1.0])
    assert result.status in {"optimal", "infeasible", "time limit"}
    if brute.status == 0:
        assert result.status != "infeasible"
        assert -brute.fun <= result.upper + 1e-7
        assert result.lower <= lagrangian_bound(case) + 1e-6
        assert result.gap <= 0.05 * (1 + abs(result.upper))
    if result.status == "infeasible":
        assert result.lower == result.upper == -np.inf
        assert (result.needed <= values[:, 1:].min(axis=0) + 1e-6).all()
        assert (result.suffices == result.cost).all()
        assert (result.cost > budget).any()


def test_two_budgets_bear_on_each_other() -> None:
    """Three blind actions, each of two cheap in one cost: the best mixture takes both in equal parts."""
    model = rc.CPOMDP(
        transition=np.ones((3, 1, 1)),
        observation=np.ones((3, 1, 1)),
        reward=[[4.0, 4.0, 0.0]],
        cost=[[[2.0, 0.0, 0.0]], [[0.0, 2.0, 0.0]]],
        initial_belief=[1.0],
        discount=0.5,
        budget=[2.0, 2.0],
    )
    result = cgcp(model)
    assert result.status == "optimal"
    assert result.reward == pytest.approx(8.0)
    np.testing.assert_allclose(result.cost, [2.0, 2.0])
    result = cgcp(model.with_budget([1.0, np.inf]))
    assert result.reward == pytest.approx(8.0)
    result = cgcp(model.with_budget([1.0, 1.0]))
    assert result.reward == pytest.approx(4.0)
    np.testing.assert_allclose(result.cost, [1.0, 1.0])


def test_costs_that_cannot_both_be_kept_are_infeasible() -> None:
    """Each budget can be kept alone: what is needed of one cost does not say that of both."""
    model = rc.CPOMDP(
        transition=np.ones((2, 1, 1)),
        observation=np.ones((2, 1, 1)),
        reward=[[1.0, 0.0]],
        cost=[[[1.0, 0.0]], [[0.0, 1.0]]],
        initial_belief=[1.0],
        discount=0.5,
        budget=[0.9, 0.9],
    )
    result = cgcp(model)
    assert result.status == "infeasible"
    np.testing.assert_allclose(result.cost, [1.0, 1.0])
    np.testing.assert_allclose(result.needed, [0.0, 0.0], atol=1e-7)
    assert cgcp(model.with_budget([1.0, 1.0])).status == "optimal"


def one_state(rewards: list[float], costs: list[float], budget: float, others: float | None = None) -> rc.CPOMDP:
    """One state for ever, discount 1/2; beside it a state that is never reached and costs `others`."""
    n, actions = 1 if others is None else 2, len(rewards)
    return rc.CPOMDP(
        transition=[np.eye(n)] * actions,
        observation=[np.ones((n, 1))] * actions,
        reward=[rewards, [0.0] * actions][:n],
        cost=[[costs, [others] * actions][:n]],
        initial_belief=[1.0, 0.0][:n],
        discount=0.5,
        budget=budget,
    )


@pytest.mark.parametrize("scale", [1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("reachable", [True, False])
def test_one_dear_entry_makes_nothing_else_cheap(scale: float, reachable: bool) -> None:
    """A mixture of a free action and one of total cost 2 and reward 20; the dear one is of no use."""
    dear = ([0.0], [scale], None) if reachable else ([], [], scale)
    for budget in (1e-6, 1e-3, 0.5):
        model = one_state([0.0, 10.0, *dear[0]], [0.0, 1.0, *dear[1]], budget, dear[2])
        result = cgcp(model)
        assert result.lower <= 10 * budget + 1e-6
        assert result.lower > -np.inf
        assert result.upper >= 10 * budget
        assert result.cost[0] <= budget + 1e-9


@pytest.mark.parametrize("scale", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("least", [0.5000001, 0.50001, 0.51])
def test_one_dear_entry_makes_nothing_feasible(scale: float, least: float) -> None:
    for model in (one_state([1.0, 2.0], [least, scale], 1.0), one_state([1.0, 2.0], [least, 2 * least], 1.0, scale)):
        result = cgcp(model)
        assert result.lower == -np.inf
        assert result.status in ("infeasible", "stalled")
        assert result.status == "infeasible" or scale * 1e-9 > 2 * least - 1  # rounding of the search itself
        assert result.needed[0] <= 2 * least + 1e-9


def test_the_outcome_does_not_depend_on_the_clock() -> None:
    outcomes = [cgcp(rc.problems.make("hallway"), iterations=2) for _ in range(2)]
    assert len({(r.lower, r.upper, r.trace[-1].trials) for r in outcomes}) == 1


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_the_unit_of_rewards_decides_nothing(scale: float) -> None:
    """Costs of a small world in which the first budget is nil, and the second is met by a mixture alone."""
    model = rc.CPOMDP(
        transition=[[[1, 0], [0, 1]], [[1, 0], [1, 0]], [[0, 1], [0, 1]]],
        observation=[[[1.0], [1.0]]] * 3,
        reward=scale * np.array([[-1.0, 0, -1], [0, 0, -2]]),
        cost=[[[0.57, 0, 0], [0.33, 0, 0.09]], [[6.4, 2.3, 0], [0, 0, 0]]],
        initial_belief=[0, 1.0],
        discount=0.6,
        budget=[0, 2.7783232165192557],
    )
    result = cgcp(model, epsilon=1e-3 * scale)
    assert result.status == "optimal"
    assert result.lower / scale == pytest.approx(-0.18252, abs=1e-3)
    assert (result.cost <= model.spending_limit).all()


def test_a_model_without_costs_is_the_plain_one() -> None:
    case = random_model(np.random.default_rng(3), n_costs=0)
    result = cgcp(case.model, epsilon=1e-4)
    assert result.status == "optimal"
    low, high = reference.value_interval(case, case.R, case.model.initial_belief)
    assert result.lower <= high + 1e-6
    assert result.upper >= low - 1e-6


def test_the_least_cost_is_found_where_the_budget_is_too_small() -> None:
    """Look, and then take the tunnel that costs less after what was seen: 3.5."""
    model = rc.problems.make("ce").with_budget(3.0)
    result = cgcp(model)
    least = 3.5 * model.discount
    assert result.status == "infeasible"
    assert result.needed is not None
    assert result.suffices is not None
    assert result.needed[0] <= least <= result.suffices[0] + 1e-6
    assert result.needed[0] == pytest.approx(least, abs=1e-4)
    assert result.cost[0] == pytest.approx(least, abs=1e-6)
    assert cgcp(model.with_budget(result.suffices)).status == "optimal"


# Limits


def test_an_interrupt_keeps_what_was_found() -> None:
    case = hard_model()

    def interrupt(point: TracePoint) -> None:
        if point.seconds > 0.3:
            raise KeyboardInterrupt

    result = cgcp(case.model, epsilon=1e-9, progress=interrupt)
    assert result.status == "interrupted"
    assert np.isfinite([result.lower, result.upper]).all()
    check_result(case, result)

    def at_once(point: TracePoint) -> None:
        raise KeyboardInterrupt

    check_result(case, cgcp(case.model, progress=at_once))


def test_a_time_limit_is_kept_and_the_bounds_hold() -> None:
    case = hard_model()
    short = cgcp(case.model, epsilon=1e-9, time_limit=0.3)
    assert short.status == "time limit"
    check_result(case, short)
    longer = cgcp(case.model, epsilon=1e-9, time_limit=1.5)
    assert longer.lower <= short.upper
    assert short.lower <= longer.upper


def test_other_limits() -> None:
    case = hard_model(2, [30.0, 40.0])
    result = cgcp(case.model, iterations=1, time_limit=5)
    assert result.status == "iteration limit"
    check_result(case, result)
    result = cgcp(case.model, memory_limit=2e6, epsilon=1e-9, time_limit=20)
    assert result.status in {"memory limit", "time limit"}
    check_result(case, result)


def test_progress_is_told() -> None:
    points: list[TracePoint] = []
    result = cgcp(rc.problems.make("tiger"), progress=points.append)
    assert points
    assert result.trace[:-1] == points


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"epsilon": -1}, "epsilon must be at least 0"),
        ({"time_limit": 0}, "time limit must be above 0"),
        ({"iterations": 0}, "iterations must be a whole number of at least 1, not 0"),
        ({"iterations": 1.5}, "iterations must be a whole number"),
        ({"iterations": float("nan")}, "iterations must be a whole number"),
        ({"iterations": float("inf")}, "iterations must be a whole number"),
        ({"time_limit": np.complex128(1)}, "the time limit must be above 0"),
        ({"iterations": "many"}, "iterations must be a whole number"),
    ],
)
def test_senseless_options_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(rc.InputError, match=sentence):
        cgcp(rc.problems.make("ce"), **options)


# The part of the belief-graph search


def test_the_root_of_a_search_can_be_moved() -> None:
    model = rc.problems.make("tunnels")
    graph_search = BeliefGraphSearch(model, Objective(1.0, np.zeros(1)))
    graph_search.search(1e-6, 10_000_000)
    b = rc.beliefs.initial(graph_search.ordered)
    for a, o in ((1, 0), (1, 4)):
        chances = rc.beliefs.observation_probabilities(graph_search.ordered, b, a)
        b = rc.beliefs.posterior(graph_search.ordered, b, a, o if chances[o] > 0 else int(chances.argmax()))
    start = graph_search.root
    assert graph_search.move_root(b)
    assert graph_search.root != start
    graph_search.search(1e-6, 10_000_000)
    fresh = BeliefGraphSearch(
        graph_search.ordered.with_initial_belief(b.dense(model.n_states)), Objective(1.0, np.zeros(1))
    )
    fresh.search(1e-6, 10_000_000)
    assert graph_search.lower <= fresh.upper + 1e-9
    assert fresh.lower <= graph_search.upper + 1e-9
    assert graph_search.move_root(rc.beliefs.initial(graph_search.ordered))
    assert graph_search.root == start


# The command line


def run_cli(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["rcpomdp", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def test_solve_save_and_simulate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = str(tmp_path / "mixture.rcp")
    assert run_cli(monkeypatch, "solve", "tunnels", "--solver", "cgcp", "--out", path, "--json") == 0
    assert json.loads(capsys.readouterr().out)["lower"] == pytest.approx(1.6013, abs=1e-3)
    assert run_cli(monkeypatch, "simulate", "--policy", path, "--runs", "200", "--json") == 0
    assert json.loads(capsys.readouterr().out)["reward"]["mean"] == pytest.approx(1.6, abs=0.1)
    assert run_cli(monkeypatch, "solve", "ce", "--solver", "cgcp", "--budget", "3") == 3
    assert "no policy keeps the budget in expectation: cost 3 is given" in capsys.readouterr().err
