"""Actions that end a run for sure, where the end is not seen."""

from __future__ import annotations

from typing import Any

import pytest

import rcpomdp as rc
from rcpomdp.policies import PlanSetPolicy
from rcpomdp.solvers.arcs.certain_ends import with_certain_ends


def corridor(length: int, slip: float, budget: float = 6.0, discount: float = 0.95) -> rc.CPOMDP:
    """A robot looks for the end of a corridor; every step costs 1 until it stops, and what it sees tells it little."""
    cells = list(range(length))

    def transition(s: object, a: str) -> dict[object, float]:
        if a == "stop" or (a == "take" and s == length - 1):
            return {"off": 1.0}
        if a == "take":
            return {s: 1.0}
        there = min(int(s) + 1, length - 1)  # type: ignore[call-overload]
        return {there: 1.0} if there == s or slip == 0 else {there: 1 - slip, s: slip}

    return rc.CPOMDP.from_functions(
        states=[*cells, "off"],
        actions=["go", "take", "stop"],
        observations=["dim", "bright"],
        transition=transition,
        observation=lambda a, s: (
            None if s == "off" else {"dim": 0.7 - 0.4 * (s == length - 1), "bright": 0.3 + 0.4 * (s == length - 1)}
        ),
        reward=lambda s, a: (10.0 if s == length - 1 else -2.0) if a == "take" else 0.0,
        cost=lambda s, a: 1.0,
        initial={0: 0.5, 1: 0.5},
        discount=discount,
        budget=budget,
        terminal=["off"],
    )


def test_only_what_ends_for_sure_has_an_end_of_its_own() -> None:
    model = corridor(5, 0.2)
    changed, ends = with_certain_ends(model)
    assert ends is not None
    assert (changed.n_states, changed.n_observations) == (7, 3)
    stop, take = model.actions.index("stop"), model.actions.index("take")
    cls = ends.class_of[0]
    assert ends.certain[cls, stop]
    assert not ends.certain[cls, take]
    assert changed.transition[stop].toarray()[:, -1].tolist() == [1.0] * 7


def yard(budget: float = 12.0) -> rc.CPOMDP:
    """A robot that slips looks for the far corner of a yard; it is seldom sure where it is, or whether it is off."""
    cells = [(x, y) for x in range(5) for y in range(5) if (x, y) not in {(2, 1), (2, 2), (3, 3)}]
    moves = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}

    def step(cell: tuple[int, int], d: tuple[int, int]) -> tuple[int, int]:
        there = cell[0] + d[0], cell[1] + d[1]
        return there if there in cells else cell

    def transition(s: Any, a: str) -> dict[Any, float]:
        if a == "stop" or (a == "take" and s == (4, 4)):
            return {"off": 1.0}
        if a == "take":
            return {s: 1.0}
        found: dict[Any, float] = {}
        x, y = moves[a]
        for there, p in ((step(s, (x, y)), 0.8), (s, 0.1), (step(s, (y, x)), 0.05), (step(s, (-y, -x)), 0.05)):
            found[there] = found.get(there, 0) + p
        return found

    def observation(a: str, s: Any) -> dict[str, float] | None:
        if s == "off":
            return None
        walls = sum(step(s, d) == s for d in moves.values())
        return {name: 0.1 + 0.7 * (walls == i) for i, name in enumerate(("free", "one", "many"))} if walls < 3 else None

    return rc.CPOMDP.from_functions(
        states=[*cells, "off"],
        actions=[*moves, "take", "stop"],
        observations=["free", "one", "many"],
        transition=transition,
        observation=observation,
        reward=lambda s, a: (20.0 if s == (4, 4) else -1.0) if a == "take" else 0.0,
        cost=lambda s, a: 1.0,
        initial={(0, 0): 0.5, (0, 1): 0.5},
        discount=0.95,
        budget=budget,
        terminal=["off"],
    )


@pytest.mark.parametrize(
    ("model", "least"), [(corridor(5, 0.0, 10.0), 3.0), (corridor(4, 0.3, 10.0), 1.0), (yard(), 5.0)]
)
def test_a_policy_that_stops_is_found_and_verified(model: rc.CPOMDP, least: float) -> None:
    result = rc.solve(model, "arcs", time_limit=8)
    assert result.lower > least
    assert rc.verify(model, result.policy, result.summary()).verified
    runs = rc.simulate(model, result.policy, runs=500, steps=100, seed=1)
    assert runs.violation_rate.mean == 0
    assert runs.reward.mean + 4 * runs.reward.se >= result.lower


def test_plans_of_a_noisy_model_are_told_of_the_model_itself() -> None:
    model = yard()
    policy = rc.solve(model, "arcs", time_limit=3).policy
    assert isinstance(policy, PlanSetPolicy)
    assert policy.model is model
    assert policy.successors.shape[1] == model.n_observations


def test_plans_under_a_horizon_are_told_of_the_model_itself() -> None:
    model = yard(budget=9.0).with_horizon(12)
    changed, ends = with_certain_ends(model)
    assert ends is not None
    assert changed.base is not None
    result = rc.solve(model, "arcs", time_limit=3)
    assert isinstance(result.policy, PlanSetPolicy)
    assert result.policy.model is model
    assert rc.verify(model, result.policy, result.summary()).verified


def test_bounds_under_a_horizon_that_no_budget_binds_are_kept_when_time_is_up() -> None:
    result = rc.solve(
        yard().with_horizon(12), "arcs", time_limit=3
    )  # 12 steps cost less than 12, as they are discounted
    assert result.route is not None
    assert result.route.startswith("no budget can bind")
    assert result.lower > 9.0
    assert result.upper < 9.2
