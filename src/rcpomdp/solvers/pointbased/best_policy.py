"""The policy that a point-based search ends with: its plans, guided by whatever earns most in simulated runs.

Plans say what can be paid, guides where to go (`solvers.pointbased.guides`). Every candidate keeps the budget in every
history, whatever its guides are (docs/theory.md, Theorem 26), so that simulation may choose among them. A first look of
few runs leaves the best three; more runs choose among these and the plans alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._types import FloatArray
from ...policies import PlanSetPolicy
from ..clock import Clock
from ..policy_value import Worth, simulated_worth, worth
from ..result import CandidateValue
from .guides import guided_plan_sets
from .search import PointBasedSearch

_FEWEST_RUNS, _VALUES = 40, 50_000_000  # simulated runs of a set without guides, and how many times values of plans
_LOOK_RUNS, _LOOK = 100, 0.02  # runs of a first look at a candidate, and the share of the time for it at most
_FINAL, _FINAL_RUNS, _FINAL_SHARE = 3, 1000, 0.11  # candidates that get more runs, how many, and the share for each


class BestPolicy(NamedTuple):
    """A policy, its value, and what the candidates for it earned."""

    policy: PlanSetPolicy
    value: Worth
    candidates: tuple[CandidateValue, ...] = ()  # the policy first


def plans_alone(plans: PlanSetPolicy, clock: Clock, seed: int) -> BestPolicy:
    """A plan set and its value: by simulated runs, or exactly under a horizon."""
    model = plans.model
    if model.horizon is not None:  # its beliefs come to an end
        return BestPolicy(plans, worth(model, plans, clock, seed))
    runs = max(_FEWEST_RUNS, _VALUES // plans.values.size)
    return BestPolicy(plans, simulated_worth(model, plans, clock, seed, runs))


def best_guided(
    plans: PlanSetPolicy,
    searches: Sequence[PointBasedSearch],
    multipliers: FloatArray,
    seconds: float,
    seed: int,
) -> BestPolicy:
    """The plans with the guides that earn most, or without any if none earns more by a standard error.

    `searches` are those without a budget; ``multipliers [K]`` are those at which budgets are about worth their price.
    """

    def value(policy: PlanSetPolicy, share: float, runs: int, look: int) -> Worth:
        return simulated_worth(plans.model, policy, Clock(share * seconds), seed + look, runs, np.inf)

    tried = {"plans": (plans, value(plans, _LOOK, _LOOK_RUNS, 0))}
    for name, guided in guided_plan_sets(plans, searches, multipliers, seconds, seed):
        tried[name] = guided, value(guided, _LOOK, _LOOK_RUNS, 0)
    best_first = sorted((name for name in tried if name != "plans"), key=lambda name: -tried[name][1].reward)
    for name in ["plans", *best_first[:_FINAL]]:  # with other runs: the best of many looks better than it is
        policy, _ = tried[name]
        tried[name] = policy, value(policy, _FINAL_SHARE, _FINAL_RUNS, 1)
    best = "plans"
    for name in best_first[:_FINAL]:
        now, before = tried[name][1], tried[best][1]
        margin = _error(now) if best == "plans" else 0.0
        if now.reward > before.reward + margin:
            best = name
    names = sorted(tried, key=lambda name: name != best)
    values = tuple(CandidateValue(name, tried[name][1].reward, _error(tried[name][1])) for name in names)
    return BestPolicy(*tried[best], values)


def _error(value: Worth) -> float:
    return 0.0 if value.error is None else float(value.error[0])
