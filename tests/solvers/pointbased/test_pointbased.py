"""The point-based search over beliefs and budget levels: bounds, candidates and plan sets against brute force."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import budget_reference
import rcpomdp as rc
import reference
from random_cases import random_case
from rcpomdp.bounds.one_step import OneStep, later_beliefs, one_step_beliefs
from rcpomdp.kernels.pointbased.arrays import EXACT, NONE
from rcpomdp.model import CPOMDP
from rcpomdp.policies import PlanSetPolicy
from rcpomdp.solvers.arcs.by_search import by_search
from rcpomdp.solvers.belief_graph.search import Objective
from rcpomdp.solvers.clock import Clock
from rcpomdp.solvers.effort import Effort
from rcpomdp.solvers.pointbased import PointBasedSearch, PointBasedSwitches, best_policy, informed_choice
from rcpomdp.solvers.pointbased.levels import build_levels, with_levels
from rcpomdp.solvers.pointbased.policy import plan_set
from rcpomdp.solvers.route import POINT_BASED, Route
from strategies import Dense, lively_models, random_model

WORK = 150_000
N_MODELS = 150
VARIANTS = {
    "as it is": PointBasedSwitches(delay=3),
    "known one step late": PointBasedSwitches(delay=1),
    "fast informed bound": PointBasedSwitches(delay=2, informed="fib"),
    "bound of the MDP": PointBasedSwitches(delay=2, informed="mdp", informed_levels=False),
    "no chance": PointBasedSwitches(delay=2, sampled=0),
    "one class": PointBasedSwitches(delay=2, classes=False),
    "all actions": PointBasedSwitches(delay=2, lazy_actions=False),
    "few tests": PointBasedSwitches(delay=2, most_tests=2),
}


def under_budget(case: Dense, switches: PointBasedSwitches | None = None, n_levels: int = 64) -> PointBasedSearch:
    model = case.model
    objective = Objective(1.0, np.zeros(model.n_costs))
    budget, switches = np.array(model.spending_limit), switches or PointBasedSwitches(delay=1)
    return PointBasedSearch(model, objective, budget, switches, n_levels=n_levels, delay_seconds=np.inf)


def run(search: PointBasedSearch, work: int = WORK) -> PointBasedSearch:
    """Search, with more levels when they hold it up."""
    for _ in range(20):
        search.search(1e-6, work // 20)
        if search.still and not search.refine():
            break
    return search


# Random models


@pytest.mark.parametrize("seed", range(N_MODELS))
def test_bounds_hold(seed: int) -> None:
    case = random_case(seed)
    if case.model.discount == 0:
        pytest.skip("without a future nothing is searched")
    name = list(VARIANTS)[seed % len(VARIANTS)]
    search = run(under_budget(case, VARIANTS[name]))
    low, high = budget_reference.optimum_interval(case, 3000)
    room = 1e-6 * (1 + float(np.abs(case.R).max())) + search.slack
    assert search.upper + search.late + room >= low
    assert search.lower - room <= high
    if search.infeasible:
        assert low == -np.inf
    if search.best_candidate != NONE:
        policy = plan_set(search, search.best_candidate)
        found = rc.verify(case.model, policy, {"lower": search.lower})
        assert found.verified, found.problem
        assert rc.simulate(case.model, policy, 50, 30, seed=seed).summary()["violation_rate"]["mean"] == 0


@given(lively_models())
@settings(derandomize=True, deadline=None, max_examples=40)
def test_without_a_budget_it_is_a_pomdp(case: Dense) -> None:
    model = case.model
    objective = Objective(1.0, np.zeros(model.n_costs))
    search = PointBasedSearch(model, objective, switches=PointBasedSwitches(delay=3), delay_seconds=np.inf)
    search.search(1e-6, WORK)
    low, high = reference.value_interval(case, case.R, model.initial_belief)
    room = reference.tolerance(case, case.R[None]) + search.slack
    assert search.lower - room <= high
    assert search.upper + room >= low
    reward, cost, _ = search.best_totals()
    totals = reference.controller_totals(case, search.policy())
    assert totals == pytest.approx([reward, *cost], abs=1e-6 * (1 + float(np.abs(totals).max())))


@given(lively_models(n_costs=1))
@settings(derandomize=True, deadline=None, max_examples=20)
def test_prices_are_part_of_the_objective(case: Dense) -> None:
    gain = case.R - 0.7 * case.C[0]
    search = PointBasedSearch(case.model, Objective(1.0, np.array([0.7])))
    search.search(1e-6, WORK)
    low, high = reference.value_interval(case, gain, case.model.initial_belief)
    room = reference.tolerance(case, gain[None]) + search.slack
    assert search.lower - room <= high
    assert search.upper + room >= low


@given(lively_models((0.5, 0.9), n_costs=1))
@settings(derandomize=True, deadline=None, max_examples=30)
def test_bounds_that_wait_longer_are_no_worse_and_hold_at_every_belief(case: Dense) -> None:
    """What is known of beliefs that a search meets, by mixtures of what their ancestors' states have become."""
    model, uppers = case.model, []
    for delay in (1, 2, 3):
        switches = PointBasedSwitches(delay=delay)
        search = PointBasedSearch(model, Objective(1.0, np.zeros(1)), switches=switches, delay_seconds=np.inf)
        assert search.parts.informed.delay.tolist() == [delay]
        uppers.append(search.upper)
        search.search(1e-6, 2000)
        x, strips = search.parts.beliefs, search.parts.strips
        for i in range(min(int(search.parts.counts["beliefs"][0]), 20)):
            if x.info["strip"][i] == NONE:
                continue
            at, size = x.info["offset"][i], x.info["size"][i]
            b = np.zeros(model.n_states)
            b[search.classes.order[x.state[at : at + size]]] = x.prob[at : at + size]
            low, _ = reference.value_interval(case, case.R, b)
            bound = float(strips.hi[strips.info["at"][x.info["strip"][i]], EXACT])
            assert bound >= low - reference.tolerance(case, case.R[None]) - search.slack
    assert (np.diff(uppers) <= 1e-9 * (1 + float(np.abs(case.R).max()))).all()


def undecided(n_states: int = 12) -> CPOMDP:
    """A model in which more is learnt at each step."""
    return random_model(np.random.default_rng(0), n_states, 3, 4, 1, density=0.6, support=n_states).model


def made_steps(monkeypatch: pytest.MonkeyPatch) -> list[OneStep | None]:
    """The steps of delay that are asked for from now on, None where one was not made to the end."""
    made: list[OneStep | None] = []

    def noted(*args: Any) -> OneStep | None:
        made.append(later_beliefs(*args))
        return made[-1]

    monkeypatch.setattr(informed_choice, "later_beliefs", noted)
    return made


def test_no_step_of_delay_is_made_once_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever time the solve has beyond that: it is for the search."""
    made = made_steps(monkeypatch)
    search = PointBasedSearch(undecided(), Objective(1.0, np.zeros(1)), delay_seconds=0.0)
    assert search.parts.informed.delay.tolist() == [1]
    assert not any(made)


def test_steps_of_delay_keep_the_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    made, model = made_steps(monkeypatch), undecided()
    first = one_step_beliefs(model, np.zeros(model.n_states, dtype=np.int32))
    assert first is not None
    objective, switches = Objective(1.0, np.zeros(1)), PointBasedSwitches(delay=2)
    for room, delay in ((100.0, 1), (np.inf, 2)):  # bytes for a branch
        limit = room * first.branches(model.n_actions)
        search = PointBasedSearch(model, objective, None, switches, memory_limit=limit, delay_seconds=np.inf)
        assert search.parts.informed.delay.tolist() == [delay]
        assert len(made) == delay - 1


def test_what_surely_ends_is_bounded_without_a_discount_though_its_classes_go_round() -> None:
    """A step leads on by one place or by two, and places look alike: the class of all of them follows itself."""
    n_places, rng = 5, np.random.default_rng(3)
    n = n_places + 1
    T, Z = np.zeros((2, n, n)), rng.dirichlet(np.ones(3), (2, n))
    for s in range(n):
        T[0, s, min(s + 1, n - 1)] += 0.7
        T[0, s, min(s + 2, n - 1)] += 0.3
    T[1] = T[0]
    R, C = rng.normal(size=(n, 2)), np.array([np.zeros(n), np.ones(n)]).T[None].copy()
    R[-1], C[:, -1] = 0.0, 0.0
    model = CPOMDP(transition=T, observation=Z, reward=R, cost=C, initial_belief=np.eye(n)[0], discount=1.0, budget=1.0)
    search = PointBasedSearch(model, Objective(1.0, np.zeros(1)), np.ones(1))
    assert search.cap.tolist() == [n_places]
    assert 0 < search.slack < 1e-9
    search.search(1e-6, WORK)
    known = rc.solve(model.with_horizon(n_places), epsilon=1e-6)
    assert known.status == "optimal"
    assert search.lower - 1e-6 <= known.upper
    assert search.upper + search.late + 1e-6 >= known.lower


# What it holds


def test_more_budget_is_never_worth_less() -> None:
    search = run(under_budget(reference.dense(rc.problems.make("tiger"))), 400_000)
    strips, count = search.parts.strips, int(search.parts.counts["strips"][0])
    for at, size in strips.info[["at", "size"]][:count].tolist():
        assert (np.diff(strips.level[at : at + size]) > 0).all()
        assert (np.diff(strips.hi[at : at + size, EXACT]) >= -1e-12).all()


def test_candidates_of_a_belief_do_not_dominate_each_other() -> None:
    search = run(under_budget(reference.dense(rc.problems.make("tiger"))), 400_000)
    sure, total = search.parts.candidates.sure, search.parts.candidates.total
    candidates = search.root_candidates
    for one in candidates:
        others = [other for other in candidates if other != one]
        assert not any(sure[o, 0] <= sure[one, 0] and total[o, 0] >= total[one, 0] for o in others)


def test_a_search_does_not_depend_on_where_it_is_paused() -> None:
    case = reference.dense(rc.problems.make("maze20"))
    whole, parts = under_budget(case), under_budget(case)
    whole.search(1e-3, 10**12, most_trials=40)
    while parts.trials < 40:
        parts.search(1e-3, 5000, most_trials=40)
    assert (whole.lower, whole.upper, whole.sizes) == (parts.lower, parts.upper, parts.sizes)


def test_strips_keep_their_levels_when_there_are_more() -> None:
    search = run(under_budget(reference.dense(rc.problems.make("tiger"))), 100_000)
    strips, count = search.parts.strips, int(search.parts.counts["strips"][0])

    def budgets() -> list[list[float]]:
        value = search.parts.levels.value[0]
        return [
            value[strips.level[at : at + size]].tolist() for at, size in strips.info[["at", "size"]][:count].tolist()
        ]

    before, upper = budgets(), search.upper
    assert search.refine()
    assert budgets() == before
    assert search.upper == upper


def test_levels_that_are_wanted_are_added_once() -> None:
    nothing, space = np.full(1, np.nan), under_budget(reference.dense(rc.problems.make("tiger"))).parts.space
    levels = build_levels(space, [np.array([1.0, 4.0, np.inf])], nothing, nothing)
    more = with_levels(space, levels, [np.array([0.5, 2.0, 4.0 * (1 + 1e-14)])])
    assert more.value[0, : more.counts[0]].tolist() == [0.5, 1.0, 2.0, 4.0, np.inf]


# Next to nothing


def test_what_is_left_of_a_spent_budget_buys_nothing() -> None:
    """CRS(4,4): one check spends the budget of 1, and the optimum is 12.2944 (theory: check, sample if good, leave)."""
    search = under_budget(reference.dense(rc.problems.make("crs-4-4")), PointBasedSwitches(sampled=0), 128)
    search.search(1e-3, 20_000_000)
    assert search.lower == pytest.approx(12.29436, abs=1e-4)
    assert search.lower <= search.upper <= search.lower + 0.01


def test_a_cost_that_comes_late_is_not_impossible() -> None:
    """A first step spends the budget; 40 free steps later a step costs 1, which by then is within the tolerance."""
    n = 42
    model = rc.CPOMDP(
        transition=[np.eye(n, k=1) + np.diag([*np.zeros(n - 1), 1.0])],
        observation=[np.ones((n, 1))],
        reward=np.ones((n, 1)),
        cost=np.array([[1.0], *[[0.0]] * (n - 2), [0.0]]) + np.array([*[[0.0]] * (n - 2), [1.0], [0.0]]),
        initial_belief=np.eye(n)[0],
        discount=0.5,
        budget=1.0,
    )
    search = run(under_budget(reference.dense(model)))
    assert not search.infeasible
    assert search.upper + search.late >= 2.0 - 1e-9


# Solving by this search alone


def solve_point_based(model: CPOMDP, seconds: float, memory_limit: float = 1e9) -> rc.solvers.Result:
    """Solve by the point-based search alone."""
    effort = Effort(1e-3, Clock(seconds), memory_limit)
    return by_search(model, effort, Route((POINT_BASED,), "this search is tested"))


@pytest.fixture(scope="module")
def hallway() -> PointBasedSearch:
    search = under_budget(reference.dense(rc.problems.make("hallway")), n_levels=500)
    search.search(1e-3, 60_000_000)
    return search


def test_hallway_is_better_than_a_guard(hallway: PointBasedSearch) -> None:
    """SARSOP's policy, stopped when a step does not fit, earns 0.40 ± 0.01 of what may be 0.76 at most."""
    policy = plan_set(hallway, hallway.best_candidate)
    found = rc.verify(hallway.model, policy, {"lower": hallway.lower, "upper": hallway.upper})
    assert found.verified, found.problem
    assert hallway.upper < 0.77
    outcome = rc.simulate(hallway.model, policy, 300, 150, seed=0).summary()
    assert outcome["violation_rate"]["mean"] == 0
    assert outcome["reward"]["mean"] + 4 * outcome["reward"]["se"] > hallway.lower
    assert outcome["reward"]["mean"] > 0.4


def test_results_with_simulated_rewards_are_complete() -> None:
    model = rc.problems.make("maze20")
    result = rc.solve(model, "arcs", time_limit=2)
    assert isinstance(result.policy, PlanSetPolicy)
    assert result.status == "time limit"
    assert result.admissible
    assert result.lower < result.upper
    assert result.standard_error is not None
    assert result.sure_cost == pytest.approx(model.spending_limit)
    assert rc.verify(model, result.policy, result.summary()).verified


def test_infeasible_budgets_are_said_so() -> None:
    model = rc.problems.make("maze20").with_budget(0.0)
    result = solve_point_based(model, 5)
    assert result.admissible  # sensing is free
    assert result.sure_cost.tolist() == [0.0]


def test_without_a_policy_that_keeps_the_budget_the_thriftiest_is_returned() -> None:
    model = rc.CPOMDP(
        transition=[np.full((2, 2), 0.5)] * 2,
        observation=[np.ones((2, 1))] * 2,
        reward=np.ones((2, 2)),
        cost=np.array([[1.0, 2.0], [1.0, 2.0]]),
        initial_belief=[0.5, 0.5],
        discount=0.5,
        budget=1.0,
    )
    result = solve_point_based(model, 2)
    assert not result.admissible
    assert result.suffices == pytest.approx([2.0])
    assert result.lower == -np.inf


def test_a_policy_that_may_spend_without_end_is_returned_as_infeasible() -> None:
    """Each action costs something somewhere, the cost is not discounted, and nothing ends."""
    model = rc.CPOMDP(
        transition=[[[0.6, 0.4], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]]],
        observation=[[[0.7, 0.3], [0.2, 0.8]], [[0.5, 0.5], [0.4, 0.6]]],
        reward=[[1.0, 2.0], [0.0, 3.0]], cost=[[[0.0, 1.0], [1.0, 0.0]]],
        initial_belief=[0.5, 0.5], discount=0.9, cost_discount=1.0, budget=5.0,
    )  # fmt: skip
    found = rc.solve(model)
    assert found.status == "infeasible"
    assert np.isinf(found.sure_cost[0])


def test_plans_that_may_spend_without_end_are_no_part_of_a_plan_set() -> None:
    """To wait is free, and whoever leaves pays for ever, without a discount."""
    model = rc.CPOMDP(
        transition=[[[0.7, 0.3, 0.0], [0.4, 0.6, 0.0], [0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]] * 3],
        observation=[[[0.8, 0.2, 0.0], [0.3, 0.7, 0.0], [0.0, 0.0, 1.0]]] * 2,
        reward=[[0.0, 1.0], [1.0, 0.0], [5.0, 5.0]], cost=[[[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]]],
        initial_belief=[0.5, 0.5, 0.0], discount=0.9, cost_discount=1.0, budget=3.0,
    )  # fmt: skip
    search = PointBasedSearch(model, Objective(1.0, np.zeros(1)), np.array(model.spending_limit))
    search.search(0.0, WORK)
    assert np.isinf(search.parts.plans.sure[search.parts.plans.default[search.classes.reachable]]).any()
    plans = plan_set(search, search.best_candidate, everywhere=True)
    assert np.isfinite(plans.sure_cost).all()
    assert rc.verify(model, plans).verified


def test_costs_that_cannot_be_met_claim_what_the_checker_finds() -> None:
    model = rc.CPOMDP(
        transition=[[[1.0, 0.0], [0.0, 1.0]]],
        observation=[np.ones((2, 1))],
        reward=[[1.0], [0.0]],
        cost=[[0.0], [1.0]],
        initial_belief=[1.0, 0.0],
        discount=0.5,
        budget=1.5,
    )
    result = solve_point_based(model, 2)
    assert result.status == "optimal"
    assert rc.verify(model, result.policy, result.summary()).verified


def test_memory_that_runs_out_ends_the_search() -> None:
    result = solve_point_based(rc.problems.make("hallway"), 20, 3e7)
    assert result.status == "memory limit"
    assert result.lower < result.upper


def test_informed_bounds_of_many_actions_keep_the_memory_limit() -> None:
    rng, n, n_actions = np.random.default_rng(0), 12, 120
    transition, observation = rng.dirichlet(np.ones(n), (n_actions, n)), rng.dirichlet(np.ones(3), (n_actions, n))
    model = rc.CPOMDP(
        transition=transition,
        observation=observation,
        reward=rng.normal(size=(n, n_actions)),
        cost=np.zeros((1, n, n_actions)),
        initial_belief=np.full(n, 1 / n),
        discount=0.9,
        budget=1.0,
    )
    tracemalloc.start()
    try:
        PointBasedSearch(model, Objective(1.0, np.zeros(1)), memory_limit=3e7)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3e7


def test_a_mean_of_runs_is_not_above_what_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    model = rc.problems.make("maze20")
    lucky = best_policy.Worth(1e6, np.array([1e6]), np.array([0.1, 0.1]), 40)
    monkeypatch.setattr(best_policy, "simulated_worth", lambda *_: lucky)
    monkeypatch.setattr(best_policy, "worth", lambda *_: lucky)
    result = rc.solve(model, "arcs", time_limit=2)
    assert result.admissible
    assert result.reward == result.upper
    assert result.cost.tolist() == result.sure_cost.tolist()
