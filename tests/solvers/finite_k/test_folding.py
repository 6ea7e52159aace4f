"""Costs with discounts of their own under a horizon, for solvers that know one discount alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from finite_k_reference import Layered

import rcpomdp as rc
from rcpomdp.policies import BudgetedAlphaPolicy
from rcpomdp.solvers.folding import folded
from rcpomdp.tolerance import spending_limit

KINDS: list[dict[str, int]] = [
    {},
    {"n_costs": 2},
    {"n": 3, "n_actions": 3, "steps": 2},
    {"steps": 4, "n_observations": 1},
]


def case_of(seed: int) -> Layered:
    return Layered(seed, undiscounted=(0.4, 1.0)[seed % 2], **KINDS[seed // 2 % len(KINDS)])


@pytest.mark.parametrize("seed", range(16))
def test_finite_k_against_brute_force(seed: int) -> None:
    case = case_of(seed)
    model = case.model()
    for k in (1, 2, 3):
        low, high = case.value(k, case.budget), case.value(k, spending_limit(case.budget) * (1 + 1e-11))
        result = rc.solve(model, "arcs", k=k, epsilon=1e-4)
        assert (result.status == "infeasible") == (high == -np.inf)
        if high == -np.inf:
            continue
        assert result.status == "optimal"
        assert result.lower <= high + 1e-6
        assert result.upper >= low - 1e-6
        found = rc.verify(model, result.policy, result.claims(model), k=k)
        assert found.problem is None


@pytest.mark.parametrize("seed", range(0, 16, 3))
@pytest.mark.parametrize("solver", ["cgcp", "cgcp-cl", "exp-gradient"])
def test_bounds_of_the_c_pomdp(seed: int, solver: str) -> None:
    case = case_of(seed)
    model = case.model()
    optimum = case.value(1, spending_limit(case.budget))
    result = rc.solve(model, solver, time_limit=60)
    assert (result.status == "infeasible") == (optimum == -np.inf)
    if optimum > -np.inf:
        assert result.lower - 1e-6 <= optimum <= result.upper + 1e-6
        if solver != "cgcp-cl":  # its policy is not what its first step would follow
            exact = rc.evaluate(model, result.policy)
            assert exact.reward == pytest.approx(result.reward, abs=1e-9)
            assert exact.cost == pytest.approx(result.cost, abs=1e-9)


def test_the_published_search_agrees_with_ours() -> None:
    model = rc.problems.make("tiger", cost_discount=1, horizon=6).with_budget(2)
    published, ours = rc.solve(model, variant="paper"), rc.solve(model)
    assert published.lower <= ours.upper + 1e-9
    assert published.upper >= ours.lower - 1e-9
    assert rc.verify(model, published.policy, published.claims(model)).verified


@pytest.mark.parametrize("solver", ["cpbvi", "cpbvi-d"])
def test_what_is_left_is_counted_by_the_costs_own_discount(solver: str, tmp_path: Path) -> None:
    """The policy for the folded model, and what was made of it for the model itself, do the same."""
    model = rc.problems.make("tiger", cost_discount=1, horizon=6).with_budget(2.5)
    result = rc.solve(model, solver, beliefs=60)
    inner = rc.solve(folded(model, "this"), solver, beliefs=60)
    assert isinstance(result.policy, BudgetedAlphaPolicy)
    assert result.policy.model is model
    result.save(tmp_path / "policy.rcp", model)
    for policy in (result.policy, rc.load_policy(tmp_path / "policy.rcp", model)):
        for seed in range(10):
            seen = np.random.default_rng(seed).integers(0, 2, size=6).tolist()
            assert walk(policy, seen, seed) == walk(inner.policy, seen, seed)


def walk(policy: Any, seen: list[int], seed: int) -> list[int]:
    state = policy.initial(np.random.default_rng(seed))
    done = [policy.action(state)]
    for o in seen[:-1]:
        state = policy.update(state, o)
        done.append(policy.action(state))
    return done


def test_a_start_at_a_later_time_counts_from_there() -> None:
    """What is spent counts from the first step on, at whatever time that is."""
    model = rc.problems.make("tiger", cost_discount=1, horizon=6)
    later = model.with_initial_belief({(s, 2): 0.5 for s in model.base.states}).with_budget(2)
    short = rc.problems.make("tiger", cost_discount=1, horizon=4).with_budget(2)
    assert rc.solve(later, "cgcp").lower == pytest.approx(rc.solve(short, "cgcp").lower, abs=1e-6)


def test_what_cannot_be_folded_is_told() -> None:
    model = rc.problems.make("tiger", cost_discount=1, horizon=60)
    with pytest.raises(rc.InputError) as caught:
        rc.solve(model, "cgcp")
    assert str(caught.value) == (
        "solver 'cgcp' knows costs that count for up to 1e+06 times as much as the reward at the horizon, and cost "
        "'cost' counts for 3.14e+07 times as much; 'arcs' knows such costs"
    )
    mixed = rc.problems.make("tiger", cost_discount=1, horizon=3)
    two_times = mixed.with_initial_belief({(s, t): 0.25 for s in mixed.base.states for t in (0, 1)})
    with pytest.raises(rc.InputError, match="^a finite k needs a horizon, or costs discounted as the reward is"):
        rc.solve(two_times, k=2)
