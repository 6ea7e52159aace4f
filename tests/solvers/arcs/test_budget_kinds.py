"""ARCS with costs that are not discounted, horizons and γ = 1: closed forms, backward induction, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from budget_kinds import best_within, of_a_kind, uses
from rcpomdp.policies import ControllerPolicy
from rcpomdp.solvers import SOLVERS, Result
from rcpomdp.solvers.arcs.online import OnlinePolicy
from reference import dense
from strategies import Dense, random_model
from work import AMPLE, stop_after

SEARCH: dict[str, Any] = {"switches": {}}  # the search alone, without what suits few beliefs


def check(model: rc.CPOMDP, result: Result, optimum: float, loose: float = 1e-6) -> None:
    """The bounds enclose the optimum and meet, and the policy is what it is said to be."""
    if optimum == -np.inf:
        assert result.status == "infeasible"
        return
    assert result.status == "optimal"
    assert result.lower - loose <= optimum <= result.upper + loose
    found = rc.verify(model, result.policy, result.claims(model))
    assert found.verified, found.problem


# Closed forms


@pytest.mark.parametrize("options", [{}, SEARCH])
@pytest.mark.parametrize("n", [0, 1, 3, 12, 40, 45, 300])
def test_a_number_of_uses(n: int, options: dict[str, Any]) -> None:
    """What is left of a budget may be more than rewards' discount lets be spent, 10, for many steps."""
    for budget in (n, n + 0.5):
        model = uses(cost_discount=1.0, budget=budget)
        result = rc.solve(model, time_limit=AMPLE, **options)
        check(model, result, (1 - 0.9**n) / 0.1)
        assert result.cost[0] <= n
        assert result.sure_cost[0] <= n


@pytest.mark.parametrize("options", [{}, SEARCH])
@pytest.mark.parametrize("share", [1e-3, 1e-6, 1e-9, 1e-12, 1e-13, 1e-17, 1e-300])
def test_costs_far_below_the_budget_do_not_vanish(share: float, options: dict[str, Any]) -> None:
    model = uses(share, cost_discount=1.0, budget=1.0)
    result = rc.solve(model, time_limit=AMPLE, **options)
    check(model, result, 10.0)
    assert result.sure_cost[0] <= 1


@pytest.mark.parametrize("unit", [1e-300, 1e-12, 1e300])
def test_the_unit_of_costs_decides_nothing(unit: float) -> None:
    model = uses(unit, cost_discount=1.0, budget=3 * unit)
    check(model, rc.solve(model, time_limit=AMPLE), 2.71)


def test_each_cost_has_its_own_discount() -> None:
    """The first allows all uses, the second 4, the third 3 for the time being and others later on."""
    costs = [[[1.0, 0.0]], [[1.0, 0.0]], [[1.0, 0.0]]]
    model = uses(costs, cost_discount=[0.9, 1.0, 1.0], budget=[10, 4, 3.5])
    check(model, rc.solve(model, time_limit=AMPLE), 2.71)


def test_risk_is_a_cost_that_is_not_discounted() -> None:
    """To dare earns 1 and ends in failure by 0.1; a risk of 0.1 in all is one dare, and 0.19 are two."""
    moves = [[[0.9, 0.1], [0, 1]], [[1, 0], [0, 1]]]
    for budget, optimum in ((0.1, 1.0), (0.19, 1.0), (0.2, 1 + 0.9 * 0.9)):
        model = rc.CPOMDP(
            transition=moves,
            observation=[[[1, 0], [0, 1]]] * 2,
            reward=[[1, 0], [0, 0]],
            cost=[[0.1, 0], [0, 0]],
            initial_belief=[1, 0],
            discount=0.9,
            cost_discount=1.0,
            budget=budget,
        )
        check(model, rc.solve(model, time_limit=AMPLE), optimum)


def test_nothing_keeps_a_budget_of_what_never_ends() -> None:
    model = uses([[1.0, 0.25]], cost_discount=1.0, budget=100)
    result = rc.solve(model, time_limit=AMPLE)
    assert result.status == "infeasible"
    assert result.cost.tolist() == [np.inf]
    assert rc.solve(model.with_horizon(100), time_limit=AMPLE).admissible


def test_a_search_while_acting_keeps_what_is_left() -> None:
    model = uses(cost_discount=1.0, budget=3)
    result = rc.solve(model, act_time=0.001, time_limit=AMPLE)
    assert isinstance(result.policy, OnlinePolicy)
    assert result.cost == pytest.approx([3])
    runs = rc.simulate(model, result.policy, runs=2, steps=12)
    assert (runs.violation_rate.mean, runs.reward.mean) == (0, pytest.approx(2.71))


def test_an_interrupt_keeps_bounds_and_policy() -> None:
    model = of_a_kind(
        random_model(np.random.default_rng(3), 4, 3, 3, 1, discount=0.95), cost_discount=1.0, budget=6.0, horizon=30
    )
    result = rc.solve(model, progress=stop_after(1), epsilon=1e-9)
    assert result.status in {"interrupted", "optimal"}
    assert result.lower <= result.upper
    if result.admissible:
        assert rc.verify(model, result.policy, result.claims(model)).verified


# Horizons


def maintenance() -> rc.CPOMDP:
    """A machine that wears out: run, inspect or repair it. Inspections and repairs cost."""
    wear = [[0.8, 0.2, 0.0], [0.0, 0.7, 0.3], [0.0, 0.0, 1.0]]
    return rc.CPOMDP(
        transition=[wear, np.eye(3), [[1.0, 0.0, 0.0]] * 3],
        observation=[[[0.5, 0.5]] * 3, [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]], [[0.5, 0.5]] * 3],
        reward=[[2.0, 0.0, -1.0], [1.0, 0.0, -1.0], [-3.0, 0.0, -1.0]],
        cost=[[0.0, 0.5, 2.0]] * 3,
        initial_belief=[0.5, 0.5, 0.0],
        discount=0.95,
        actions=["run", "inspect", "repair"],
    )


def with_discounts(model: rc.CPOMDP, **changes: Any) -> tuple[Dense, rc.CPOMDP]:
    case = dense(model)
    return case, of_a_kind(case, **changes)


@pytest.mark.parametrize("gamma", [0.95, 1.0])
@pytest.mark.parametrize("budget", [None, 0.0, 2.0, 2.5])
@pytest.mark.parametrize("make", [maintenance, lambda: rc.problems.make("tiger")])
def test_horizons_against_backward_induction(make: Any, budget: float | None, gamma: float) -> None:
    case, model = with_discounts(make(), discount=gamma, cost_discount=1.0, budget=budget)
    for horizon in (1, 2, 4):
        short = model.with_horizon(horizon)
        result = rc.solve(short, epsilon=1e-6, time_limit=AMPLE)
        check(short, result, best_within(case, model, horizon), 1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_random_models_against_backward_induction(seed: int) -> None:
    """Costs of several kinds, limits of steps, and γ = 1 now and then."""
    rng = np.random.default_rng(seed)
    n_costs, gamma = int(rng.integers(1, 3)), float(rng.choice([0.5, 0.9, 1.0]))
    case = random_model(
        rng, 3, int(rng.integers(2, 4)), 2, n_costs, discount=0.9, n_free_actions=int(rng.integers(2)), support=2
    )
    beta = [float(rng.choice([gamma, (1 + gamma) / 2, 1.0])) for _ in range(n_costs)]
    limit = [float(rng.choice([np.inf, 0.0, 0.5, 1.0, 1.4])) for _ in range(n_costs)]
    budget = [float(rng.choice([np.inf, 0.0, 1.0, 3.0, rng.uniform(0, 4)])) for _ in range(n_costs)]
    model = of_a_kind(case, discount=gamma, cost_discount=beta, step_limit=limit, budget=budget)
    for horizon in (1, 3):
        short = model.with_horizon(horizon)
        result = rc.solve(short, epsilon=1e-4, time_limit=AMPLE)
        check(short, result, best_within(case, model, horizon), 1e-7)


def test_a_horizon_changes_nothing_where_the_process_ends_before() -> None:
    """Without a discount, a chain of three states ends by itself."""
    case = Dense(
        rc.CPOMDP(
            transition=[np.eye(4, k=1) + np.diag([0, 0, 0, 1.0])] * 2,
            observation=[[[1.0]] * 4] * 2,
            reward=[[1.0, 3.0], [1.0, 3.0], [1.0, 4.0], [0.0, 0.0]],
            cost=[[0.0, 1.0]] * 3 + [[0.0, 0.0]],
            initial_belief=[1, 0, 0, 0],
            discount=1.0,
            budget=1.0,
        ),
        *[np.empty(0)] * 4,
    )
    assert case.model.most_steps == 3
    for model in (case.model, case.model.with_horizon(3), case.model.with_horizon(9)):
        check(model, rc.solve(model, time_limit=AMPLE), 6.0)


OPTIONS = {
    "cgcp-cl": {"step_time": 0.05},
    "cpbvi": {"beliefs": 30, "iterations": 30},
    "cpbvi-d": {"beliefs": 30, "iterations": 30},
    "exp-gradient": {"iterations": 20},
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("make", [maintenance, lambda: rc.problems.make("tiger")])
def test_all_solvers_agree_where_no_budget_binds(make: Any, solver: str) -> None:
    """Three steps, γ = 1, and a budget that is never reached."""
    case, model = with_discounts(make(), discount=1.0, budget=100.0)
    short = model.with_horizon(3)
    optimum = best_within(case, model, 3)
    result = rc.solve(short, solver, time_limit=AMPLE, **OPTIONS.get(solver, {}))
    if SOLVERS[solver].bounds:
        assert result.lower - 1e-6 <= optimum <= result.upper + 1e-6
    assert result.reward == pytest.approx(optimum, abs=2e-3)


# Refusals


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in {"arcs", "sarsop"}])
def test_other_solvers_say_what_they_do_not_know(solver: str) -> None:
    with pytest.raises(rc.InputError) as caught:
        rc.solve(uses(cost_discount=1.0, budget=3), solver)
    assert str(caught.value) == (
        f"solver {solver!r} needs a horizon, or costs discounted as the reward is, by 0.9: cost 'cost' is discounted "
        "by 1; 'arcs' knows such costs"
    )
    with pytest.raises(rc.InputError) as caught:
        rc.solve(uses(step_limit=0.5, budget=3), solver)
    assert str(caught.value) == (
        f"solver {solver!r} keeps no limits for single steps, and cost 'cost' has the step limit 0.5; 'arcs' keeps them"
    )


@pytest.mark.parametrize(("options", "what"), [({"variant": "paper"}, "the variant 'paper'"), ({"k": 2}, "a finite k")])
def test_variants_as_published_say_so_too(options: dict[str, Any], what: str) -> None:
    told = {
        "cost_discount": "needs a horizon, or costs discounted as the reward is, by 0.9: "
        "cost 'cost' is discounted by 1",
        "step_limit": "goes without limits for single steps, and cost 'cost' has the step limit 1",
    }
    for kind, sentence in told.items():
        with pytest.raises(rc.InputError) as caught:
            rc.solve(uses(budget=3, **{kind: 1.0}), **options)
        assert str(caught.value) == f"{what} {sentence}"


def test_sarsop_tells_costs_by_their_own_discount() -> None:
    model = uses(cost_discount=0.95, step_limit=0.5, budget=0)
    result = rc.solve(model, "sarsop")
    assert (result.reward, result.cost[0]) == (pytest.approx(10), pytest.approx(20))
    assert rc.solve(uses(cost_discount=1.0), "sarsop").cost.tolist() == [np.inf]
    with pytest.raises(rc.InputError, match="^cost 'cost' is discounted by 0.95, and the least cost is known"):
        rc.solve(model, "sarsop", objective="cost")
    assert isinstance(result.policy, ControllerPolicy)
