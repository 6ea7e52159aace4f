"""The least budget at a belief: both bounds against brute force, closed forms, and what they decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from budget_reference import least_budget_interval
from random_cases import random_case
from rcpomdp.bounds.class_plan import class_plan
from rcpomdp.bounds.least_budget import BaseBounds, Bracket, LeastBudget
from rcpomdp.model import CPOMDP, beliefs
from rcpomdp.policies import ControllerPolicy
from strategies import Dense


def tightened(model: CPOMDP, trials: int = 300) -> Bracket:
    """The bounds at the start after some trials, asked about a budget that they cannot decide before they meet."""
    found = LeastBudget(BaseBounds(model), trials)
    b = beliefs.initial(model)
    for _ in range(20):
        middle = (found.at(b).lo + found.at(b).hi) / 2
        found.decide(b, middle)
    return found.at(b)


@pytest.mark.parametrize("seed", range(40))
def test_the_bounds_hold_the_least_budget_of_brute_force(seed: int) -> None:
    case = random_case(seed)
    model = case.model
    low, high = least_budget_interval(case, 800)
    rounding = 1e-9 * np.maximum(high, 1e-12)
    base, better = BaseBounds(model).at(beliefs.initial(model)), tightened(model)
    for found in (base, better):
        assert (found.lo <= high + rounding).all()
        assert (found.hi >= low - rounding).all()
        assert (found.lo <= found.hi).all()
    assert (better.lo >= base.lo).all()
    if model.n_costs == 1:
        assert (better.hi <= base.hi).all()


@pytest.mark.parametrize("seed", range(10))
def test_a_plan_by_classes_surely_costs_what_it_says(seed: int) -> None:
    """The plan as a controller, checked by `rc.verify`, which shares no code with it."""
    case = random_case(seed)
    model, plan = case.model, class_plan(case.model)
    successors = np.zeros((len(plan.action), model.n_observations), dtype=np.int64)
    for c, a in enumerate(plan.action):
        for s in np.flatnonzero(plan.class_of == c):
            for after in np.flatnonzero(case.T[a, s]):
                successors[c, case.Z[a, after] > 0] = plan.class_of[after]
    start = int(plan.class_of[np.flatnonzero(model.initial_belief)[0]])
    policy = ControllerPolicy(model, plan.action, successors, start=start)
    found = rc.verify(model.with_budget([np.inf] * model.n_costs), policy)
    assert (found.spent <= plan.sure_cost[start] * (1 + 1e-9)).all()


def sensor(budget: Any = 1.0) -> CPOMDP:
    """Look for 0.1, turn back for 1, or go on, which costs 3 if the way is bad. Looking tells it."""
    end, bad, good = [0, 0, 1], [1, 0, 0], [0, 1, 0]
    told, blank = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    return CPOMDP(
        transition=[[bad, good, end], [end, end, end], [end, end, end]],
        observation=[told, blank, blank],
        reward=np.zeros((3, 3)),
        cost=[[0.1, 1, 3], [0.1, 1, 0], [0, 0, 0]],
        initial_belief=[0.5, 0.5, 0],
        discount=0.5,
        budget=budget,
        actions=["look", "back", "on"],
        terminal=["s2"],
    )


def test_what_an_action_needs_depends_on_what_is_known() -> None:
    """Looking for ever costs 0.2; what an action needs depends on what is known."""
    model = sensor()
    b = beliefs.initial(model)
    found = LeastBudget(BaseBounds(model))
    assert found.decide(b, np.array([0.2 * (1 + 1e-9)])) is True  # looking on, 0.1 / (1 − γ)
    assert found.decide(b, np.array([0.19])) is False
    assert found.decide(b, np.array([0.99]), 1) is False  # back costs 1 whatever follows
    assert found.decide(b, np.array([1.0 + 1e-9]), 1) is True
    assert found.decide(b, np.array([1.49]), 2) is False  # on costs 1.5 by this belief
    np.testing.assert_allclose(found.of_action(b, 2), 1.5, rtol=1e-9)
    informed = beliefs.update(model, b, "look", 0)
    assert found.decide(informed, np.array([1.5]), 2) is False  # and 3 where it is known to be bad
    ended = beliefs.update(model, b, "back", 2)
    assert found.at(ended) == Bracket(np.zeros(1), np.zeros(1))


def test_several_costs_need_one_policy_that_keeps_both() -> None:
    """Two doors: each costs nothing of one kind. Either budget can be kept at 0, and both together at 1."""
    model = CPOMDP(
        transition=[[[0, 1], [0, 1]]] * 2,
        observation=[[[1], [1]]] * 2,
        reward=np.zeros((2, 2)),
        cost=[[[1, 0], [0, 0]], [[0, 1], [0, 0]]],
        initial_belief=[1, 0],
        discount=0.9,
        budget=[0.5, 0.5],
        terminal=["s1"],
    )
    found = LeastBudget(BaseBounds(model))
    b = beliefs.initial(model)
    assert found.decide(b, np.array([0.5, 0.5])) is False  # though of each cost alone nothing is needed
    assert found.decide(b, np.array([0.5, 0.5]), 0) is False
    assert found.decide(b, np.array([0.0, 1.0 + 1e-9])) is True
    assert found.decide(b, np.array([1.0 + 1e-9, 0.0])) is True
    assert found.at(b).lo.tolist() == [0, 0]


def test_a_budget_of_nothing_is_kept_by_exact_zeros() -> None:
    model = rc.problems.make("tunnels", budget=0.0)
    found = LeastBudget(BaseBounds(model))
    b = beliefs.initial(model)
    assert found.at(b).hi.tolist() == [0]  # into tunnel 3
    assert found.decide(b, np.zeros(1), model.actions.index("left")) is False  # out of tunnel 1 it is 0.5 to the hall


def test_without_costs_everything_suffices() -> None:
    model = rc.problems.make("rs-5-7")
    assert LeastBudget(BaseBounds(model)).decide(beliefs.initial(model), np.zeros(0), 0) is True


def test_trials_are_counted_and_end() -> None:
    case: Dense = random_case(3)
    found = LeastBudget(BaseBounds(case.model), most_trials=5)
    b = beliefs.initial(case.model)
    for _ in range(10):
        found.decide(b, (found.at(b).lo + found.at(b).hi) / 2)
    assert 0 <= found.trials_left <= 5
