"""Finite k: bounds against brute force, the ends k = 1 and k = ∞, what is saved and verified, limits, and bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from finite_k_reference import Layered

import rcpomdp as rc
from rcpomdp.policies import StochasticControllerPolicy
from rcpomdp.solvers import Result, TracePoint
from rcpomdp.solvers.finite_k.fronts import _upper_hull
from rcpomdp.solvers.finite_k.solve import _deepest
from rcpomdp.tolerance import spending_limit

KINDS: list[dict[str, int]] = [
    {},
    {"n_costs": 2},
    {"n": 3, "n_actions": 3, "steps": 2},
    {"steps": 4, "n_observations": 1},
    {"n": 3},
]


def case_of(seed: int) -> Layered:
    return Layered(seed, **KINDS[seed % len(KINDS)])


def check(case: Layered, model: rc.CPOMDP, k: int, result: Result) -> None:
    """No bound, at no time, is on the wrong side; a policy that is claimed to keep the budget does."""
    low, high = case.value(k, case.budget), case.value(k, spending_limit(case.budget) * (1 + 1e-11))
    for point in result.trace:
        assert point.lower <= high + 1e-6
        assert point.upper >= low - 1e-6
    assert (result.status == "infeasible") == (result.upper == -np.inf)
    if result.lower > -np.inf:
        found = rc.verify(model, result.policy, result.claims(model), k=k)
        assert found.problem is None
        assert found.reward >= result.lower - 1e-9


@pytest.mark.parametrize("seed", range(25))
def test_bounds_against_brute_force(seed: int) -> None:
    case = case_of(seed)
    model = case.model()
    values = []
    for k in (1, 2, 3):
        result = rc.solve(model, "arcs", k=k, epsilon=1e-4)
        check(case, model, k, result)
        assert result.status in ("optimal", "infeasible")
        assert (result.status == "infeasible") == (case.value(k, spending_limit(case.budget)) == -np.inf)
        assert result.k == k
        values.append((result.lower, result.upper))
    for (_, before), (after, _) in pairwise(values):
        assert after <= before + 1e-6  # the value never rises with k


@pytest.mark.parametrize("seed", range(0, 25, 3))
def test_one_is_the_c_pomdp_and_many_the_rc_pomdp(seed: int) -> None:
    case = case_of(seed)
    model = case.model()
    one, cgcp = rc.solve(model, "arcs", k=1), rc.solve(model, "cgcp")
    assert (one.status, one.lower, one.upper) == (cgcp.status, cgcp.lower, cgcp.upper)
    every = rc.solve(model, "arcs")
    many = rc.solve(model, "arcs", k=case.steps + 1)
    assert (many.status == "infeasible") == (every.status == "infeasible")
    if many.status == "optimal":
        assert many.lower <= every.upper + 1e-6
        assert every.lower <= many.upper + 1e-6
        assert rc.verify(model, many.policy).verified
    for unlimited in (None, np.inf):
        same = rc.solve(model, "arcs", k=unlimited)
        assert (same.status, same.lower, same.upper, same.k) == (every.status, every.lower, every.upper, None)


@pytest.mark.parametrize("seed", range(0, 25, 2))
def test_bounds_hold_whenever_it_is_stopped(seed: int) -> None:
    case = case_of(seed)
    model = case.model()
    for k in (2, 3):
        check(case, model, k, rc.solve(model, "arcs", k=k, epsilon=0.0, time_limit=1e-3))
        check(case, model, k, rc.solve(model, "arcs", k=k, epsilon=0.0, memory_limit=1.0))


@pytest.mark.parametrize(
    ("name", "budget", "values"),
    [
        ("ce", 5.0, {1: 12.0, 2: 10.0, 3: 10.0}),  # by hand: who has seen rocks in A must not enter it again
        ("tiger", 3.0, {1: -1.773, 3: -2.288, 6: -2.618, 10: -2.715, 30: -2.777}),
        ("tunnels", 1.0, {1: 1.6013, 2: 1.3896, 4: 1.2179, 10: 1.0140}),
        ("crs-4-4", 1.0, {1: 12.2944, 5: 12.2944}),  # where the ends meet
    ],
)
def test_from_the_c_pomdp_to_the_rc_pomdp(name: str, budget: float, values: dict[int, float]) -> None:
    model = rc.problems.make(name).with_budget(budget)
    for k, value in values.items():
        result = rc.solve(model, "arcs", k=k)
        assert result.status == "optimal"
        assert result.lower - 1e-3 <= value <= result.upper + 1e-3
        assert result.gap <= 1e-3
        assert rc.verify(model, result.policy, result.claims(model), k=k).verified


# The policy


def tiger(k: int = 3) -> tuple[rc.CPOMDP, Result]:
    model = rc.problems.make("tiger").with_budget(3)
    return model, rc.solve(model, "arcs", k=k)


def test_the_policy_is_evaluated_simulated_saved_and_verified(tmp_path: Path, run: Callable[..., Any]) -> None:
    model, result = tiger()
    assert isinstance(result.policy, StochasticControllerPolicy)
    exact = rc.evaluate(model, result.policy)
    assert exact.reward == pytest.approx(result.reward, abs=1e-9)
    assert exact.cost == pytest.approx(result.cost, abs=1e-9)
    runs = rc.simulate(model, result.policy, runs=2000, steps=60)
    assert abs(runs.reward.mean - exact.reward) <= 4 * runs.reward.se + runs.truncation[0]
    assert abs(runs.cost[0].mean - exact.cost[0]) <= 4 * runs.cost[0].se + runs.truncation[1][0]
    path = str(tmp_path / "tiger.rcp")
    result.save(path, model, {"name": "tiger", "parameters": {}})
    loaded = rc.load_policy(path, model)
    again = rc.simulate(model, loaded, runs=50, steps=20, seed=3)
    np.testing.assert_array_equal(
        again.outcome.reward, rc.simulate(model, result.policy, runs=50, steps=20, seed=3).outcome.reward
    )
    told = run("verify", path)  # by the k that the file claims
    first = "VERIFIED at histories shorter than 3; not checked: upper bound, status"
    assert (told.code, told.out.splitlines()[0]) == (0, first)
    told = run("verify", path, "--k", "9")
    assert told.code == 1
    assert told.out.startswith("NOT VERIFIED at histories shorter than 9: after ")
    written = rc.explore(loaded, model, tmp_path / "tiger.html", most_nodes=50)
    assert written.randomised == [True]


def test_no_lot_is_drawn_before_the_last_history() -> None:
    """For k − 1 steps the same is done whatever the draws; then only lots differ."""
    _, result = tiger(4)
    rng = np.random.default_rng(0)
    for _ in range(20):
        seen = rng.integers(0, 2, size=2)
        actions = set()
        for seed in range(20):
            state = result.policy.initial(np.random.default_rng(seed))
            done = [result.policy.action(state)]
            for o in seen.tolist():
                state = result.policy.update(state, o)
                done.append(result.policy.action(state))
            actions.add(tuple(done))
        assert len(actions) == 1


def test_sure_costs_are_those_of_every_draw() -> None:
    model, result = tiger()
    found = rc.verify(model, result.policy, k=3)
    assert found.spent[0] <= result.sure_cost[0] + 1e-9
    assert not rc.verify(model, result.policy).verified  # some histories spend more than the budget


# Limits, and what is asked for


def test_progress_and_interrupts() -> None:
    model = rc.problems.make("tunnels")
    points: list[TracePoint] = []
    rc.solve(model, "arcs", k=4, progress=points.append)
    lower, upper = [p.lower for p in points], [p.upper for p in points]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)

    def stop(point: TracePoint) -> None:
        if point.trials > 3:
            raise KeyboardInterrupt

    result = rc.solve(model, "arcs", k=8, epsilon=0.0, progress=stop)
    assert result.status == "interrupted"
    assert result.lower <= 1.01584
    assert result.upper >= 1.01583
    if result.lower > -np.inf:
        assert rc.verify(model, result.policy, k=8).verified


def test_time_and_memory_run_out() -> None:
    model = rc.problems.make("crs-5-7")
    result = rc.solve(model, "arcs", k=3, time_limit=0.5)
    assert result.status == "time limit"
    result = rc.solve(model, "arcs", k=3, memory_limit=4e6)
    assert result.status == "memory limit"


def test_infeasible_budgets(run: Callable[..., Any]) -> None:
    """Tunnel B costs 5 in two steps; A may do with less on average."""
    told = run("solve", "ce", "--budget", "1", "--k", "2")
    assert told.code == 3
    assert "no policy keeps the budget at every history shorter than 2: cost 1 is given, at least" in told.err
    result = rc.solve(rc.problems.make("ce").with_budget(1), "arcs", k=2)
    assert result.needed is not None
    assert result.suffices is not None
    assert 1 < result.needed[0] <= result.suffices[0] + 1e-9


@pytest.mark.parametrize("k", [0, -1, 2.5, np.nan, -np.inf, "3", True])
def test_a_bad_k_is_refused(k: Any) -> None:
    with pytest.raises(rc.InputError, match="^k must be a whole number of at least 1, or inf for every history, not "):
        rc.solve(rc.problems.make("ce"), "arcs", k=k)


def test_k_on_the_command_line(run: Callable[..., Any]) -> None:
    for word in ("0", "2.5", "nan", "many"):
        told = run("solve", "ce", "--k", word)
        assert told.code == 2
        assert told.err.startswith("rcpomdp: k must be a whole number of at least 1")
    assert run("solve", "ce", "--solver", "cgcp", "--k", "2").code == 2
    told = run("solve", "ce", "--k", "2", "--json")
    assert told.code == 0
    found = json.loads(told.out)
    assert (found["k"], found["status"], round(found["lower"], 3)) == (2, "optimal", 10.0)
    assert json.loads(run("solve", "ce", "--k", "inf", "--json").out).get("k") is None


def test_what_is_for_every_history_goes_without_k() -> None:
    model = rc.problems.make("ce")
    for more in ({"variant": "paper"}, {"switches": {}}, {"act_time": 0.1}):
        with pytest.raises(rc.InputError, match="^a finite k goes without variant, switches, act_time and proof"):
            rc.solve(model, "arcs", k=2, **more)


def test_where_k_makes_no_difference() -> None:
    model = rc.problems.make("tiger")
    for other in (model.with_budget(np.inf), model.scalarised([1.0])):
        every, finite = rc.solve(other, "arcs"), rc.solve(other, "arcs", k=4)
        assert (every.lower, every.upper) == (finite.lower, finite.upper)
        assert finite.k == 4
    ended = rc.problems.make("ce").with_initial_belief({"out": 1.0})
    assert rc.solve(ended, "arcs", k=3).lower == pytest.approx(0.0, abs=1e-5)
    case = Layered(0)
    case.discount = 0.0
    for k in (2, 5):
        result = rc.solve(case.model(), "arcs", k=k)
        assert (result.status, result.k) in (("optimal", k), ("infeasible", k))


def test_a_k_beyond_the_tolerance_is_no_deeper() -> None:
    model = rc.problems.make("tiger").with_budget(3)
    deepest = _deepest(model)
    assert 0.75 ** (deepest - 1) * 1.0 / (1 - 0.75) <= 3e-10
    assert 0.75 ** (deepest - 3) * 1.0 / (1 - 0.75) > 3e-10
    assert _deepest(model.with_budget(0)) == 10**9
    assert rc.solve(rc.problems.make("tunnels"), "arcs", k=10**8).lower == pytest.approx(1.0140263, abs=1e-3)


def test_the_outcome_does_not_depend_on_the_clock() -> None:
    outcomes = [rc.solve(rc.problems.make("tunnels"), "arcs", k=5) for _ in range(2)]
    assert len({(r.lower, r.upper, r.tree_nodes, r.trace[-1].trials) for r in outcomes}) == 1


@pytest.mark.parametrize("seed", range(20))
def test_the_hull_is_what_mixtures_reach(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost, reward = rng.integers(0, 6, size=9).astype(float), rng.normal(size=9).round(1)
    hull = _upper_hull(cost, reward, list(range(9)))
    assert (np.diff(cost[hull]) > 0).all()
    assert (np.diff(reward[hull]) > 0).all()
    for d in np.linspace(cost.min(), 6, 25):
        best = max(
            (1 - w) * reward[i] + w * reward[j]
            for i in range(9)
            for j in range(9)
            if cost[i] <= d
            for w in [0.0 if cost[j] <= cost[i] else min(1.0, (d - cost[i]) / (cost[j] - cost[i]))]
        )
        assert np.interp(d, cost[hull], reward[hull]) == pytest.approx(best)
