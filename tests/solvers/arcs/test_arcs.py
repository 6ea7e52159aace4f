"""ARCS: bounds, feasibility and policies against brute force, known optima, limits, acting, and what it refuses."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numba
import numpy as np
import pytest
from scipy.optimize import linprog

import budget_reference
import rcpomdp as rc
import reference
from random_cases import random_case, with_budget
from rcpomdp.kernels.arcs.level_bounds import bound_at
from rcpomdp.kernels.arcs.levels import Bounds, Levels, list_maps
from rcpomdp.kernels.belief_graph.store import NONE, Store
from rcpomdp.policies import ControllerPolicy
from rcpomdp.solvers import Result, TracePoint, clock
from rcpomdp.solvers.arcs.levels import level_values
from rcpomdp.solvers.arcs.multipliers import dual_multipliers
from rcpomdp.solvers.arcs.online import OnlinePolicy
from rcpomdp.solvers.arcs.search import ArcsSwitches, BudgetSearch
from rcpomdp.solvers.belief_graph.search import BeliefGraphSearch, BeliefGraphSwitches, Objective
from strategies import Dense, random_belief, random_model
from work import AMPLE, stop_after

N_MODELS = 200
N_ORACLE = 3000  # nodes of the brute force
TAIL = 1e-3  # share of the largest total that simulated runs may miss at their end


# Random models


@cache
def solved(seed: int) -> Result:
    return rc.solve(random_case(seed).model, "arcs", epsilon=1e-3, time_limit=3, progress=stop_after(250))


@cache
def optimum(seed: int) -> tuple[float, float]:
    """The optimum by brute force, from below and above."""
    return budget_reference.optimum_interval(random_case(seed), N_ORACLE)


def check_bounds(case: Dense, result: Result, low: float, high: float) -> None:
    """The bounds enclose an optimum that lies between low and high, and feasibility is what it is."""
    loose = reference.tolerance(case, case.R)
    assert result.lower <= high + loose
    assert result.upper >= low - loose
    if result.status == "infeasible":
        assert low == -np.inf
        assert result.upper == -np.inf
    if high == -np.inf:
        assert not result.admissible
        assert result.status != "optimal"
    if result.admissible:
        assert result.reward <= high + loose
        assert result.upper > -np.inf
    if result.status == "optimal":
        assert result.gap <= 1e-3


def span(case: Dense) -> np.ndarray:
    """The largest totals of reward and costs, [1 + K]."""
    return np.abs(np.concatenate([case.R[None], case.C])).max(axis=(1, 2)) / (1 - case.model.discount)


def check_result(case: Dense, result: Result) -> None:
    """The policy is worth what the result says; if it is called admissible, it is; and bounds move one way."""
    model = case.model
    loose = reference.tolerance(case, np.concatenate([case.R[None], case.C]))
    found = rc.evaluate(model, result.policy, most_work=20_000)  # of a plan set as far as that goes
    near = loose + found.error
    if result.standard_error is not None:
        near = near + 5 * result.standard_error + TAIL * span(case)
    if result.standard_error is None or model.steps_until(TAIL) <= 500:  # longer runs are cut, and say little
        assert (np.abs(np.subtract([result.reward, *result.cost], [found.reward, *found.cost])) <= near).all()
    assert (result.cost <= result.sure_cost + loose).all()
    assert (result.lower if result.promise is None else result.promise) <= result.reward + loose
    assert (result.lower > -np.inf) == bool(result.admissible)
    if result.admissible:
        assert (result.sure_cost <= model.spending_limit * (1 + 1e-12)).all()
        verification = rc.verify(model, result.policy, result.summary())
        assert verification.verified, verification.problem
        assert (result.horizon, result.suffices, result.needed) == (None, None, None)
    else:
        assert isinstance(result.horizon, int)
        assert result.suffices is not None
        np.testing.assert_array_equal(result.suffices, result.sure_cost)
        assert (result.sure_cost > model.spending_limit).any()
    lower, upper = [point.lower for point in result.trace], [point.upper for point in result.trace]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert (lower[-1], upper[-1]) == (result.lower, result.upper)
    for column in ("seconds", "trials", "beliefs", "plans"):
        values = [getattr(point, column) for point in result.trace]
        assert values == sorted(values)


def check_horizon(case: Dense, result: Result, most: int = 12) -> None:
    """``W(h_t) + γ^t V_C(b_t) ≤ ĉ`` for all histories of t < k steps, and W never exceeds the sure cost."""
    assert isinstance(result.policy, ControllerPolicy)
    assert result.horizon is not None
    gamma, limit, policy = case.model.discount, case.model.spending_limit, result.policy
    cost = node_costs(case, policy)
    loose = reference.tolerance(case, case.C)
    for t, reached in enumerate(budget_reference.histories(case, policy, min(max(result.horizon, 4), most))):
        for (node, _), (b, spent) in reached.items():
            if t < result.horizon:
                assert (spent + gamma**t * cost[node] @ b <= limit + loose).all()
            assert (spent <= result.sure_cost + loose).all()


def node_costs(case: Dense, policy: ControllerPolicy) -> np.ndarray:
    """What each node costs from each state, [N, K, S]: by iteration from zero until what is left is rounding."""
    gamma, n = case.model.discount, len(policy.actions)
    here = case.C[:, :, policy.actions].transpose(2, 0, 1)
    step = np.einsum("ast,ato->asot", case.T, case.Z)[policy.actions]  # [N, S, O, S]
    value = np.zeros((n, *case.C.shape[:2]))
    for _ in range(5000):
        after = here + gamma * np.einsum("nsot,nokt->nks", step, value[policy.successors])
        if np.abs(after - value).max(initial=0.0) <= 1e-12 * (1 - gamma) * (1 + np.abs(after).max(initial=0.0)):
            break
        value = after
    return value


@pytest.mark.parametrize("chunk", range(20))
def test_random_models_against_brute_force(chunk: int) -> None:
    for seed in range(chunk, N_MODELS, 20):
        case, result = random_case(seed), solved(seed)
        check_bounds(case, result, *optimum(seed))
        check_result(case, result)
        low, high = budget_reference.least_budget_interval(case, 1500)
        if result.needed is not None and result.suffices is not None:
            assert (result.needed <= high + 1e-9 * np.maximum(1, high)).all()
            assert (result.suffices >= low - 1e-9 * np.maximum(1, low)).all()
            if case.model.discount < 0.99 and len(result.policy.actions) <= 400:
                check_horizon(case, result)


def test_most_random_models_are_solved() -> None:
    """Not only are bounds and policies sound: nearly always the search also ends."""
    of_one_cost = [seed for seed in range(N_MODELS) if random_case(seed).model.n_costs == 1]
    ended = [
        solved(seed).status in {"optimal", "infeasible"}
        for seed in of_one_cost
        if random_case(seed).model.discount < 0.99
    ]
    assert np.mean(ended) >= 0.8
    statuses = [solved(seed).status for seed in range(N_MODELS)]
    assert statuses.count("infeasible") >= 10
    assert statuses.count("optimal") >= 100
    # Where a policy is admissible by the brute force, one is found.
    possible = [seed for seed in of_one_cost if optimum(seed)[0] > -np.inf]
    assert np.mean([bool(solved(seed).admissible) for seed in possible]) >= 0.95


@pytest.mark.parametrize("seed", range(0, N_MODELS, 16))
def test_simulated_runs_keep_the_budget(seed: int) -> None:
    result = solved(seed)
    simulation = rc.simulate(random_case(seed).model, result.policy, runs=300, steps=40, seed=3)
    if result.admissible:
        assert simulation.violation_rate.mean == 0
    assert (simulation.outcome.spent <= result.sure_cost * (1 + 1e-9) + 1e-9).all()


def binding_seeds(count: int) -> list[int]:
    """Models with costs of which some budget binds, and with some future but not an endless one."""
    found = (s for s in itertools.count(1000) if 0.3 <= random_case(s).model.discount <= 0.95 and binds(random_case(s)))
    return list(itertools.islice(found, count))


def binds(case: Dense) -> bool:
    model = case.model
    return model.n_costs > 0 and bool((model.spending_limit < case.C.max(axis=(1, 2)) / (1 - model.discount)).any())


SWITCHES = {
    "one level": ArcsSwitches(levels=1, most_levels=1),
    "few levels": ArcsSwitches(levels=1),
    "relaxation": ArcsSwitches(relaxation=False),
    "multipliers": ArcsSwitches(multipliers=False),
    "needs": ArcsSwitches(needs=False),
    "monotone": ArcsSwitches(monotone=False),
    "leaves": ArcsSwitches(leaves=False),
    "unconstrained_leaves": ArcsSwitches(unconstrained_leaves=False),
    "sawtooth": ArcsSwitches(sawtooth=True),
    "rays": ArcsSwitches(belief_graph=BeliefGraphSwitches(rays=False)),
    "classes": ArcsSwitches(belief_graph=BeliefGraphSwitches(classes=False)),
    "merge": ArcsSwitches(belief_graph=BeliefGraphSwitches(merge=False)),
    "lazy_actions": ArcsSwitches(belief_graph=BeliefGraphSwitches(lazy_actions=False)),
    "fib": ArcsSwitches(belief_graph=BeliefGraphSwitches(fib=False)),
}


@pytest.mark.parametrize("switch", SWITCHES)
def test_bounds_are_sound_without_each_idea(switch: str) -> None:
    ended = 0
    for seed in binding_seeds(12):
        case = random_case(seed)
        result = rc.solve(case.model, "arcs", switches=SWITCHES[switch], time_limit=2, progress=stop_after(100))
        check_bounds(case, result, *optimum(seed))
        check_result(case, result)
        ended += result.status in {"optimal", "infeasible"}
    assert ended >= 3


@pytest.mark.parametrize("switch", ["all", "multipliers", "monotone", "sawtooth", "rays", "classes"])
def test_every_bound_of_every_belief_holds(switch: str) -> None:
    """``upper[i, l] ≥ V*(b_i, d_l)`` and ``least[i] ≤ M(b_i)``, not only at the root."""
    checked, unvisited = 0, 0
    for seed in binding_seeds(8):
        case = random_case(seed)
        graph_switches = SWITCHES[switch].belief_graph if switch != "all" else BeliefGraphSwitches()
        graph_search = BeliefGraphSearch(case.model, Objective(1.0, np.zeros(case.model.n_costs)), graph_switches)
        search = BudgetSearch(graph_search, SWITCHES.get(switch))
        for trials in (8, 24):
            search.search(1e-3, 10**6, trials)
            search.update_multiplier()
        search.refine()
        search.search(1e-3, 10**6, 40)
        order = graph_search.ordered.initial_belief  # the states of the store are in this order
        store, levels = graph_search.store, search.levels
        rng = np.random.default_rng(seed)
        loose = reference.tolerance(case, case.R) + search.slack
        for i in rng.permutation(int(store.counts["beliefs"][0]))[:4]:
            states, probs, size = store.info[["states", "probs", "size"]][i]
            belief = np.zeros(len(order))
            belief[store.state[states : states + size]] = store.prob[probs : probs + size]
            here = started_at(case, state_order(graph_search, case), belief)
            least = budget_reference.least_budget_interval(here, 500)[1]
            assert (search.bounds.least[i] <= least + 1e-9 * np.maximum(1, least)).all()
            for level in rng.permutation(levels.part_of.shape[1])[:4]:
                d = [levels.value[k, levels.part_of[k, level]] for k in range(case.model.n_costs)]
                low, _ = budget_reference.optimum_interval(with_budget(here, d), 500)
                assert upper_at(store, levels, search.bounds, i, level) >= low - loose
                checked += low > -np.inf
                unvisited += search.bounds.row[i] == NONE
    assert checked >= 30
    assert unvisited >= 10


@numba.njit(error_model="numpy")
def upper_at(store: Store, levels: Levels, bounds: Bounds, i: int, level: int) -> float:
    """The least upper bound at a level, whether a belief was visited or not."""
    return bound_at(store, levels, bounds, i, level, levels.allowance[:, level])


def state_order(graph_search: BeliefGraphSearch, case: Dense) -> np.ndarray:
    """For each state of the search its number in the model."""
    order = graph_search.classes.order
    np.testing.assert_array_equal(case.R[order], graph_search.ordered.reward)
    return np.asarray(order)


def started_at(case: Dense, order: np.ndarray, belief: np.ndarray) -> Dense:
    """The same model from another belief, which is given in the order of states of the search."""
    start = np.zeros(len(belief))
    start[order] = belief / belief.sum()
    model = rc.CPOMDP(
        transition=case.T,
        observation=case.Z,
        reward=case.R,
        cost=case.C,
        initial_belief=start,
        discount=case.model.discount,
    )
    return case._replace(model=model)


# Known answers


@pytest.mark.parametrize("name", ["tiger", "tunnels", "crs-4-4", "ce"])
def test_without_budgets_the_bounds_are_those_of_sarsop(name: str) -> None:
    model = rc.problems.make(name).with_budget(np.inf)
    ours, theirs = rc.solve(model, "arcs", epsilon=0.01), rc.solve(model, "sarsop", epsilon=0.01)
    assert (ours.lower, ours.upper, ours.status) == (theirs.lower, theirs.upper, theirs.status)
    assert ours.admissible
    assert rc.verify(model, ours.policy, ours.summary()).verified


@pytest.mark.parametrize("seed", range(4))
def test_budgets_that_nothing_exceeds_are_none(seed: int) -> None:
    """``max C/(1 − γ)`` is as good as unlimited, and a model without costs has no budget."""
    for n_costs in (0, 1, 2):
        case = random_model(np.random.default_rng(seed), 3, 3, 2, n_costs, discount=0.8)
        most = case.C.max(axis=(1, 2), initial=0.0) / (1 - 0.8)
        ours = rc.solve(case.model.with_budget(most), "arcs", epsilon=0.01, time_limit=AMPLE)
        theirs = rc.solve(case.model, "sarsop", epsilon=0.01, time_limit=AMPLE)
        assert ours.status == theirs.status == "optimal"
        assert max(ours.lower, theirs.lower) <= min(ours.upper, theirs.upper)
        assert ours.admissible


@pytest.mark.parametrize(
    ("name", "params", "epsilon", "low", "high", "gap"),
    [
        ("ce", {}, 1e-3, 10.0, 10.0, 1e-3),  # tunnel B at once
        ("tiger", {}, 0.01, -2.780, -2.769, 0.01),
        ("tiger", {"budget": 1.5}, 0.01, -70.688, -70.677, 0.01),
        ("tunnels", {}, 1e-4, 1.01403 - 5e-6, 1.01403 + 5e-6, 1e-4),
        ("tunnels", {"p_correct": 0.95}, 1e-4, 1.04313 - 5e-6, 1.04313 + 5e-6, 1e-4),
        ("crs-4-4", {}, 0.02, 12.294, 12.31, 0.02),
    ],
)
def test_known_optima(name: str, params: dict[str, Any], epsilon: float, low: float, high: float, gap: float) -> None:
    model = rc.problems.make(name, **params)
    result = rc.solve(model, "arcs", epsilon=epsilon, time_limit=60)
    assert result.status == "optimal"
    assert result.gap <= gap
    assert result.lower <= high
    assert result.upper >= low
    if name == "crs-4-4":
        assert result.lower >= 12.294
    check_result(reference.dense(model), result)


def test_the_budget_may_be_spent_to_the_last_unit() -> None:
    """Each step costs 1 and γ = ½: a budget of exactly 2 suffices for ever, and anything less does not."""
    model = rc.CPOMDP(
        transition=[np.eye(1)] * 2, observation=[np.ones((1, 1))] * 2, reward=[[1, 3]], cost=[[1, 3]],
        initial_belief=[1], discount=0.5, budget=2,
    )  # fmt: skip
    result = rc.solve(model, "arcs")
    assert (result.status, result.admissible) == ("optimal", True)
    assert result.lower == pytest.approx(2, abs=1e-6)
    result = rc.solve(model.with_budget(2 - 1e-6), "arcs", time_limit=AMPLE)
    assert (result.status, result.admissible, result.lower, result.upper) == ("infeasible", False, -np.inf, -np.inf)
    # 3 at first and the 1s afterwards cost 4, and so do three steps in a row that end in M: the first is worth more.
    assert rc.solve(model.with_budget(4), "arcs").lower == pytest.approx(4, abs=1e-3)


# What is not possible


def costly_case(seed: int, n_costs: int = 1) -> Dense:
    """A model in which every step costs something."""
    rng = np.random.default_rng(seed)
    return random_model(rng, 3, 2, 2, n_costs, cost_density=1.0, discount=0.5, density=1.0)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_needed_and_what_suffices_is_told(seed: int) -> None:
    case = costly_case(seed)
    (low,), (high,) = budget_reference.least_budget_interval(case, 20_000)
    case = with_budget(case, 0.9 * low)
    result = rc.solve(case.model, "arcs", time_limit=AMPLE)
    assert (result.status, result.admissible) == ("infeasible", False)
    assert (result.lower, result.upper) == (-np.inf, -np.inf)
    assert result.needed is not None
    assert result.suffices is not None
    (needed,), (suffices,) = result.needed, result.suffices
    assert case.model.budget[0] < needed <= high + 1e-9
    assert low - 1e-9 <= suffices
    assert suffices - needed <= 0.01 * suffices
    check_result(case, result)
    check_horizon(case, result)
    # What suffices does, and what is needed less a little does not.
    assert rc.verify(case.model.with_budget(suffices), result.policy).verified
    again = rc.solve(case.model.with_budget(suffices * (1 + 1e-6)), "arcs", epsilon=1.0, time_limit=AMPLE)
    assert again.admissible
    assert not rc.solve(case.model.with_budget(needed * (1 - 1e-3)), "arcs", time_limit=0.3).admissible


@pytest.mark.parametrize("seed", range(4))
def test_several_costs_that_cannot_all_be_kept(seed: int) -> None:
    """Each budget suffices alone, but one of them is too small."""
    case = costly_case(seed, n_costs=2)
    low, high = budget_reference.least_budget_interval(case, 5000)
    case = with_budget(case, [high[0] * 2, low[1] * 0.8])
    result = rc.solve(case.model, "arcs", time_limit=AMPLE)
    assert (result.status, result.admissible) == ("infeasible", False)
    assert result.needed is not None
    assert (result.needed <= high + 1e-9).all()
    check_result(case, result)
    check_horizon(case, result)


def test_horizons_of_policies_that_are_not_proven() -> None:
    """A budget just below the least that suffices is often kept in expectation for a few steps."""
    horizons = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        case = random_model(rng, 3, 3, 2, 1, cost_density=0.7, discount=0.7)
        (low,), _ = budget_reference.least_budget_interval(case, 2000)
        case = with_budget(case, low * 0.97)
        result = rc.solve(case.model, "arcs", time_limit=2, progress=stop_after(10))
        if result.admissible:
            continue
        check_result(case, result)
        check_horizon(case, result)
        horizons.add(result.horizon)
    assert max(horizons) >= 1
    assert min(horizons) == 0


# Limits


def hard_case(n_costs: int = 1) -> Dense:
    """A model that no search closes in a moment."""
    case = random_model(np.random.default_rng(0), 5, 3, 3, n_costs, density=1.0, deterministic=0.0, discount=0.95)
    _, high = budget_reference.least_budget_interval(case, 2000)
    return with_budget(case, high + 1.5)


@pytest.mark.parametrize("n_costs", [1, 2])
def test_a_time_limit_that_set_up_uses_up_leaves_the_first_bounds(n_costs: int) -> None:
    case = hard_case(n_costs)
    result = rc.solve(case.model, "arcs", epsilon=1e-9, time_limit=1e-9)
    assert (result.status, result.trace[-1].trials) == ("time limit", 0)
    check_bounds(case, result, *budget_reference.optimum_interval(case, 2000))
    check_result(case, result)


def test_a_time_limit_keeps_what_was_found() -> None:
    case = hard_case()
    result = rc.solve(case.model, "arcs", epsilon=1e-9, time_limit=0.3)
    assert (result.status, result.admissible) == ("time limit", True)
    assert result.gap > 1e-9
    check_bounds(case, result, *budget_reference.optimum_interval(case, 2000))
    check_result(case, result)


def test_a_memory_limit_keeps_what_was_found() -> None:
    case = hard_case()
    result = rc.solve(case.model, "arcs", epsilon=1e-9, memory_limit=2e7, time_limit=20)
    assert result.status == "memory limit"
    check_bounds(case, result, *budget_reference.optimum_interval(case, 2000))
    check_result(case, result)


@pytest.mark.parametrize("calls", [1, 3])
def test_an_interrupt_returns_what_was_found(calls: int) -> None:
    case, seen = hard_case(), []

    def interrupt(point: TracePoint) -> None:
        seen.append(point)
        if len(seen) == calls:
            raise KeyboardInterrupt

    result = rc.solve(case.model, "arcs", epsilon=1e-9, progress=interrupt)
    assert (result.status, len(seen)) == ("interrupted", calls)
    assert (seen[-1].lower, seen[-1].upper) == (result.lower, result.upper)
    check_bounds(case, result, *budget_reference.optimum_interval(case, 2000))
    check_result(case, result)


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [("tiger", 0.05), ("tunnels", 1e-3), ("crs-4-4", 0.02), *((str(seed), 0.05) for seed in (2, 5, 10, 12))],
)
def test_slices_change_nothing(name: str, epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    if name.isdigit():
        rng = np.random.default_rng(int(name))
        model = random_model(rng, 3, 3, 2, 1, discount=0.7, density=1.0, n_free_actions=1, budget=1.3).model
    else:
        model = rc.problems.make(name)
    found = []
    for work in (1000, 10**8):
        monkeypatch.setattr(clock, "_FIRST_WORK", work)
        result = rc.solve(model, "arcs", epsilon=epsilon)
        assert result.status == "optimal"
        found.append((result.lower, result.upper, result.trace[-1][3:], len(result.policy.actions)))
    assert found[0] == found[1]
    assert found[0][2][0] > 1


# Acting


def stop(_: TracePoint) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("name", "options", "runs", "steps"),
    [
        ("tiger", {"epsilon": 5.0}, 24, 20),
        ("tiger", {"epsilon": 1e-3, "progress": stop}, 24, 20),
        ("tunnels", {"epsilon": 0.5}, 40, 14),
        ("tunnels", {"epsilon": 1e-3, "progress": stop}, 40, 14),
    ],
)
def test_a_search_while_acting_keeps_the_budget_and_loses_nothing(
    name: str, options: dict[str, Any], runs: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "_FIRST_WORK", 2000)  # so that an interrupt leaves a poor policy
    model = rc.problems.make(name)
    plain = rc.solve(model, "arcs", **options, switches={})  # by the search that acts
    assert plain.admissible
    result = rc.solve(model, "arcs", **options, act_time=0.005)
    assert isinstance(result.policy, OnlinePolicy)
    assert (result.lower, result.upper, result.reward) == (plain.lower, plain.upper, plain.reward)
    simulation = rc.simulate(model, result.policy, runs=runs, steps=steps, seed=1)
    assert simulation.violation_rate.mean == 0
    assert (simulation.outcome.spent <= model.spending_limit).all()
    tail, _ = simulation.truncation
    assert simulation.reward.mean >= plain.reward - 4 * simulation.reward.se - tail - 1e-9


def test_no_time_to_act_is_the_plain_policy() -> None:
    """Without time before a step the policy may still change to what is known to be better, and is as admissible."""
    model = rc.problems.make("tiger", budget=1.5)
    plain, result = (rc.solve(model, "arcs", epsilon=0.01, **options) for options in ({}, {"act_time": 0}))
    ours, theirs = (rc.simulate(model, r.policy, runs=200, steps=30, seed=5) for r in (result, plain))
    assert ours.violation_rate.mean == theirs.violation_rate.mean == 0
    assert ours.reward.mean >= theirs.reward.mean - 4 * np.hypot(ours.reward.se, theirs.reward.se)


@pytest.mark.parametrize("seed", range(6))
def test_acting_on_random_models_keeps_the_budget(seed: int) -> None:
    """Every history of a few steps, not only those of luck: each step's spending is added up by hand."""
    case = random_case(binding_seeds(12)[seed])
    result = rc.solve(case.model, "arcs", epsilon=0.5, time_limit=0.1, act_time=1e-4)
    if not result.admissible or not isinstance(result.policy, OnlinePolicy):
        return
    policy, gamma = result.policy, case.model.discount
    front = [(policy.initial(np.random.default_rng(0)), case.model.initial_belief, np.zeros(case.model.n_costs))]
    for t in range(4):
        following = []
        for state, b, spent in front:
            a = policy.action(state)
            paid = spent + gamma**t * case.C[:, :, a] @ b
            assert (paid <= case.model.spending_limit * (1 + 1e-12)).all()
            following += [(policy.update(state, o), after, paid) for o, _, after in reference.branches(case, b, a)]
        front = following[:40]


# What is refused


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"variant": "level"}, "unknown variant 'level'; did you mean 'levels'? (known: levels, paper)"),
        ({"variant": "xyz"}, "unknown variant 'xyz' (known: levels, paper)"),
        ({"variant": "paper", "switches": ArcsSwitches()}, "switches and proof are those of the variant 'levels'"),
        ({"variant": "paper", "act_time": -1}, "the time before a step must be at least 0, not -1"),
        ({"variant": "paper", "heuristic_share": 1.5}, "the share of heuristic rounds must be from 0 to 1, not 1.5"),
        ({"variant": "paper", "ties": "last"}, "ties are decided by one of 'best', 'first', not 'last'"),
        ({"variant": "paper", "ties": "first", "act_time": 0.1}, "ties 'first' go without act_time"),
        ({"pruning": False}, "pruning, heuristic_share and ties are those of the variant 'paper'"),
        ({"epsilon": -1e-9}, "epsilon must be at least 0, not -1e-09"),
        ({"epsilon": float("nan")}, "epsilon must be at least 0, not nan"),
        ({"epsilon": "small"}, "epsilon must be at least 0, not 'small'"),
        ({"epsilon": True}, "epsilon must be at least 0, not True"),
        ({"time_limit": 0}, "the time limit must be above 0, not 0"),
        ({"memory_limit": 0}, "the memory limit must be above 0, not 0"),
        ({"act_time": -1}, "the time before a step must be at least 0, not -1"),
        ({"act_time": float("nan")}, "the time before a step must be at least 0, not nan"),
        ({"act_time": "long"}, "the time before a step must be at least 0, not 'long'"),
        ({"act_tim": 1}, "solver 'arcs' has no option 'act_tim'; did you mean 'act_time'?"),
    ],
)
@pytest.mark.parametrize("discount", [0.75, 0.0])
def test_bad_arguments_are_named(options: dict[str, Any], complaint: str, discount: float) -> None:
    with pytest.raises(rc.InputError) as caught:
        rc.solve(rc.problems.make("tiger", discount=discount), "arcs", **options)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


# Levels


@pytest.mark.parametrize("seed", range(60))
def test_levels_are_sorted_and_hold_what_is_wanted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gamma = float(rng.choice([0.3, 0.5, 0.75, 0.95, 0.999, 1 - np.exp(-14)]))
    costs = np.unique(rng.choice([0.0, 0.31, 1.0, 2.0, 1e-6], int(rng.integers(1, 4))))
    cap = max(float(costs.max()), 1e-3) / (1 - gamma)
    budget = float(rng.choice([0.0, 1e-9, 1e-3, 0.5, 0.999])) * cap
    n = int(rng.choice([1, 2, 4, 16, 128, 500]))
    extra = rng.uniform(0, 1.2, 5) * cap
    values = level_values(budget, costs, gamma, cap, n, extra)
    assert (np.diff(values) > 0).all()
    assert values[-1] == np.inf
    assert (values[:-1] < cap).all()
    assert (values >= 0).all()
    assert budget in values
    for d in extra[extra < cap]:
        assert np.abs(values[:-1] - d).min() <= 1e-12 * d
    assert len(values) <= 5 * n + len(costs) + len(extra) + 4
    # Without more that is wanted, the first steps from the budget are levels as well.
    if n >= 128 and budget > 0:
        for c in costs:
            left = (budget - c) / gamma
            if 0 <= left < cap:
                assert np.abs(values[:-1] - left).min() <= 1e-12 * max(left, 1e-300)


def test_free_steps_lead_from_level_to_level() -> None:
    values = level_values(1.0, np.array([0.0, 1.0]), 0.5, 2.0, 64)[:-1]
    inside = values[values < values[-1] * 0.5]
    assert len(inside) > 10
    for d in inside:
        assert np.abs(values - d / 0.5).min() <= 1e-12 * d


@pytest.mark.parametrize("seed", range(12))
def test_level_maps_round_up_and_no_further(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_costs, gamma = 1 + seed % 3, float(rng.choice([0.5, 0.75, 0.95]))
    case = random_model(rng, 3, 3, 2, n_costs, discount=gamma, cost_density=1.0, budget=rng.uniform(0.2, 1.5, n_costs))
    graph_search = BeliefGraphSearch(case.model, Objective(1.0, np.zeros(n_costs)))
    levels = BudgetSearch(graph_search, ArcsSwitches(levels=int(rng.choice([4, 16, 64])))).levels
    some = [levels.value[k, rng.integers(0, levels.n[k], 6)] for k in range(n_costs)]
    spending = np.stack([np.concatenate([[0.0], rng.uniform(0, 2, 5), s[np.isfinite(s)][:3]])[:6] for s in some]).T
    spending = np.ascontiguousarray(spending)
    n_levels = levels.part_of.shape[1]
    out = np.full((len(spending), n_levels), -7, dtype=np.int64)
    list_maps(
        levels, spending, np.full(n_costs, gamma), np.empty((n_costs, levels.value.shape[1]), dtype=np.int64), out
    )
    kept = 0
    for c, row in zip(spending, out, strict=True):
        for level, after in enumerate(row):
            d = np.array([levels.value[k, levels.part_of[k, level]] for k in range(n_costs)])
            assert (after == NONE) == bool((d < c).any())
            if after == NONE:
                continue
            kept += 1
            for k in range(n_costs):
                left, to = (d[k] - c[k]) / gamma, int(levels.part_of[k, after])
                assert levels.value[k, to] >= left * (1 - 1e-12)
                assert to == 0 or levels.value[k, to - 1] < left
    assert kept > n_levels


# Multipliers


@pytest.mark.parametrize(
    ("totals", "best", "limited", "multipliers"),
    [
        ([[8, 0], [12, 1]], 12, [True], [4]),
        ([[0, 0], [6, 1], [8, 2]], 8, [True], [2]),
        ([[0, 0], [6, 1], [8, 2]], 6, [True], [6]),
        ([[0, 0], [1, 1], [8, 2]], 8, [True], [4]),  # (1, 1) is below the chord
        ([[0, 0], [3, 1], [8, 2], [5, 3]], 8, [True], [4]),
        ([[-1000, 0], [-500, 1e-12]], -500, [True], [5e14]),
        ([[8, 0], [12, 1e9]], 12, [True], [4e-9]),
        ([[0, 0, 0], [5, 1, 0], [3, 0, 2], [8, 1, 2]], 8, [True, True], [5, 1.5]),
        ([[0, 0, 0], [5, 1, 0], [3, 0, 2e-12], [8, 1, 2e-12]], 8, [True, True], [5, 1.5e12]),
        ([[0, 0, 7], [5, 1, 9]], 5, [True, False], [5, 0]),
        ([[0, 7, 0], [5, 9, 1]], 5, [False, True], [0, 5]),
    ],
)
def test_multipliers_in_closed_form(
    totals: list[list[float]], best: float, limited: list[bool], multipliers: list[float]
) -> None:
    found = dual_multipliers(np.array(totals, dtype=float), best, np.array(limited))
    assert found is not None
    np.testing.assert_allclose(found, multipliers, rtol=1e-6)


@pytest.mark.parametrize(
    ("totals", "best"),
    [
        ([[8, 0]], 8),  # one belief plan says nothing
        ([[8, 0], [12, 1]], -np.inf),
        ([[5, 1], [3, 2]], 5),  # nothing spends less than the best
        ([[5, 0], [3, 0]], 5),  # nothing is spent
    ],
)
def test_no_prices_where_nothing_suggests_them(totals: list[list[float]], best: float) -> None:
    assert dual_multipliers(np.array(totals, dtype=float), best, np.array([True])) is None


@pytest.mark.parametrize("seed", range(30))
def test_prices_close_the_gap_of_the_dual(seed: int) -> None:
    """``max_i (v_i − λ·c_i) + λ·ĉ`` is the best mixture's reward: λ is an optimal dual."""
    rng = np.random.default_rng(seed)
    n_costs = int(rng.integers(1, 4))
    scale = 10.0 ** rng.integers(-10, 6, n_costs)
    costs = rng.uniform(0.0, 1.0, (12, n_costs)) * scale
    costs[0] = 0.0
    rewards = rng.uniform(-5, 5, 12) + (costs / scale).sum(axis=1) * 5
    best = float(rewards.max())
    budget = costs[int(rewards.argmax())] * (1 - 1e-3)
    prices = dual_multipliers(np.column_stack([rewards, costs]), best, np.ones(n_costs, dtype=bool))
    mixture = linprog(-rewards, (costs / scale).T, budget / scale, np.ones((1, 12)), [1.0])
    if prices is None:
        assert best == rewards[0]
        return
    assert (prices >= 0).all()
    assert (rewards - costs @ prices).max() + prices @ budget == pytest.approx(-mixture.fun, rel=1e-6, abs=1e-6)


# What comes back


def test_a_result_says_what_it_needs() -> None:
    case = with_budget(costly_case(1), 0.1)
    summary = rc.solve(case.model, "arcs", time_limit=AMPLE).summary()
    assert (summary["solver"], summary["variant"], summary["status"]) == ("arcs", "levels", "infeasible")
    assert summary["lower"] is summary["upper"] is None
    assert summary["suffices"][0] >= summary["needed"][0] > 0.1


def test_beliefs_far_from_the_start_play_no_part() -> None:
    """A belief drawn anywhere leads to bounds around the same brute force."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        case = random_model(rng, 3, 2, 2, 1, discount=0.7, n_free_actions=1)
        here = started_at(case, np.arange(3), random_belief(rng, 3))
        here = with_budget(here, 0.8)
        result = rc.solve(here.model, "arcs", time_limit=0.3)
        check_bounds(here, result, *budget_reference.optimum_interval(here, 2000))
        check_result(here, result)


@pytest.mark.parametrize(("chance", "stay", "back"), [(1e-16, 0.1668, 0.01), (1e-17, 0.6372, 0.2746)])
def test_a_cost_that_hardly_ever_comes_is_no_free_lunch(chance: float, stay: float, back: float) -> None:
    """The one policy spends 0.95 after an observation of probability 1e-16: what rounding hides still counts."""
    model = rc.CPOMDP(
        transition=[[[stay, 1 - stay, chance], [back, 1 - back, 0], [1, 0, 0]]],
        observation=[[[1, 0], [1, 0], [0, 1]]],
        reward=[[1]] * 3,
        cost=[[0], [0], [1]],
        initial_belief=[1, 0, 0],
        discount=0.95,
        budget=0.0,
    )
    assert rc.solve(model, "arcs", time_limit=AMPLE).status == "infeasible"


# Searches that get on


def two_states(to: tuple[int, ...], start: int) -> rc.CPOMDP:
    """Two states that are seen, and where each action leads; going to and fro spends the budget to the last digit."""
    transition = np.zeros((2, 2, 2))
    for (a, s), after in zip(itertools.product(range(2), repeat=2), to, strict=True):
        transition[a, s, after] = 1.0
    return rc.CPOMDP(
        transition=transition,
        observation=[np.eye(2)] * 2,
        reward=np.zeros((2, 2)),
        cost=[[2.0, 2.0], [0.1, 1.0]],
        initial_belief=np.eye(2)[start],
        discount=0.99,
        budget=105.47738693467328,
    )


@pytest.mark.parametrize("to", [(0, 0, 1, 0), (1, 0, 0, 0), (1, 0, 1, 0)])
def test_a_search_for_thrift_alone_makes_a_trial_at_every_call(
    to: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where bounds are as near as they should be, and nothing is known yet to keep the budget."""
    search, calls, run = (
        BudgetSearch(BeliefGraphSearch(two_states(to, 0), Objective(1.0, np.zeros(1)))),
        [],
        BudgetSearch._run,
    )

    def counted(self: BudgetSearch, *given: Any) -> None:
        calls.append(self.trials)
        assert len(calls) < 200
        run(self, *given)

    monkeypatch.setattr(BudgetSearch, "_run", counted)
    search.search(2.0, 200_000, 100)
    assert search.trials >= 2


@pytest.mark.parametrize("start", [0, 1])
def test_a_budget_that_is_attained_exactly_is_found(start: int) -> None:
    for to in itertools.product(range(2), repeat=4):
        model = two_states(to, start)
        result = rc.solve(model, "arcs", epsilon=2.0, time_limit=AMPLE)
        leaves, stays = to[0] or to[2], to[1] or to[3]  # the dear state, and in the cheap one
        assert result.status == ("optimal" if leaves or (start == 1 and stays) else "infeasible"), to
        if result.status == "optimal":
            assert rc.verify(model, result.policy, result.summary()).verified


def test_levels_that_are_wanted_two_at_a_time_double_all_the_same() -> None:
    search = BudgetSearch(BeliefGraphSearch(two_states((0, 0, 1, 0), 0), Objective(1.0, np.zeros(1))))
    for times in range(1, 5):
        search.steps.wanted[:2, 0] = 50 + times * np.array([0.1234, 0.4321])
        search.belief_plans.counts["wanted"][0] = 2
        assert search.refine()
        assert search.n_levels == 128 * 2**times
    search.steps.wanted[:8, 0] = 20 + 0.01 * np.arange(8)
    search.belief_plans.counts["wanted"][0] = 8
    assert search.refine()
    assert search.n_levels == 128 * 2**4


@pytest.mark.parametrize("number", [1, 2])
def test_an_interrupt_while_levels_change_finds_whole_bounds(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from rcpomdp.solvers.arcs import search as budgeted

    carry_over, calls = budgeted.carry_over, []

    def interrupted(*given: Any) -> int:
        calls.append(given)
        if len(calls) == number:
            raise KeyboardInterrupt
        return carry_over(*given)

    monkeypatch.setattr(budgeted, "carry_over", interrupted)
    result = rc.solve(rc.problems.make("crs-4-4"), "arcs", time_limit=20, epsilon=1e-9)
    assert result.status == "interrupted"
    assert result.lower <= 12.2944 <= result.upper + 1e-3


def test_costs_beyond_doubles_are_refused() -> None:
    model = rc.CPOMDP(
        transition=[[[1.0]]],
        observation=[[[1.0]]],
        reward=[[1.0]],
        cost=[[1e308]],
        initial_belief=[1.0],
        discount=0.5,
        budget=3,
    )
    with pytest.raises(rc.InputError, match="costs are too large"):
        rc.solve(model, "arcs")
