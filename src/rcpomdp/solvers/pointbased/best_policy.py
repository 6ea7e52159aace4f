"""The policy that a point-based search ends with: its plans, guided by whatever earns most in simulated runs.

Plans say what can be paid, guides where to go (`solvers.pointbased.guides`). Every candidate keeps the budget in every
history, whatever its guides are (docs/theory.md, Theorem 26), so that simulation may choose among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..._types import FloatArray
from ...policies import PlanSetPolicy
from ..clock import Clock
from ..policy_value import Worth, exact_worth, simulated_worth, worth
from ..result import CandidateValue
from .guides import guided_plan_sets
from .search import PointBasedSearch

_FEWEST_RUNS, _VALUES = 40, 50_000_000  # simulated runs of a set without guides, and how many times values of plans
_LAST = 3  # candidates in the last round of simulated runs
_PLANS = 4  # shares of the time for the plans alone, whose runs take longest, and which mostly earn most
_TELLING = 2  # runs: what a candidate with fewer earned tells nothing
_MOST_RUNS, _UNTIMED_RUNS = 1000, 100  # of a candidate in one round, with a time limit and without
_HASTE = 0.8  # of its share of the time a candidate may take in a round: a batch of runs ends late


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
    promise: float,
    seconds: float | None,
    afterwards: Callable[[], Clock],
    seed: int,
) -> BestPolicy:
    """Return the plans with the guides that earn most, or without any if none earns more.

    `searches` are those without a budget; ``multipliers [K]`` are those at which budgets are about worth their price.
    The plans alone earn at least `promise`. Each round of simulated runs drops the worse half of the guides. What
    counts is the mean less its standard error, so that a few lucky runs win nothing. If time was short for the winner,
    some more runs `afterwards` tell its value. Without `seconds` the number of runs is fixed.
    """
    clock = Clock(seconds)
    tried = {"plans": plans, **dict(guided_plan_sets(plans, searches, multipliers, seconds, seed))}
    tally = _Tally(promise)
    running, n_rounds = list(tried), max(1, math.ceil(math.log2(len(tried) / _LAST)) + 1)
    for rounds in range(n_rounds):
        n_shares = len(running) - 1 + _PLANS
        each = None if clock.left is None else _HASTE * clock.left / (n_rounds - rounds) / n_shares
        most_runs = _UNTIMED_RUNS if each is None else _MOST_RUNS
        for name in running:
            if tally.values and clock.over:
                break
            share = Clock(None if each is None else each * (_PLANS if name == "plans" else 1))
            tally.add(name, simulated_worth(plans.model, tried[name], share, seed + rounds, most_runs, np.inf))
        guided = sorted((name for name in running if name != "plans"), key=tally.promising, reverse=True)
        running = ["plans", *guided[: max(_LAST - 1, len(running) // 2)]]
    best = max(running, key=tally.promising)
    for more in range(_LAST):
        if tally.runs(best) >= _FEWEST_RUNS or (more and clock.over):
            break
        tally.add(best, simulated_worth(plans.model, tried[best], afterwards(), seed + n_rounds + more, _FEWEST_RUNS))
        best = max(running, key=tally.promising)
    value = tally.values[best]
    if plans.model.horizon is not None:  # its beliefs come to an end
        value = exact_worth(plans.model, tried[best], afterwards().left or np.inf) or value
    return BestPolicy(tried[best], value, tally.told(best))


class _Tally:
    """Simulated runs of candidates; the plans alone earn at least `promise`."""

    def __init__(self, promise: float) -> None:
        self.values: dict[str, Worth] = {}
        self._promise = promise

    def add(self, name: str, found: Worth) -> None:
        """Add runs of a candidate."""
        self.values[name] = together(self.values[name], found) if name in self.values else found

    def runs(self, name: str) -> int:
        """Return the number of a candidate's runs."""
        return (self.values[name].runs or 0) if name in self.values else 0

    def promising(self, name: str) -> float:
        """Return the mean reward less its standard error.

        Rewards of a run have one variance for all candidates, as that of a few runs may be small by chance.
        """
        least = self._promise if name == "plans" else -math.inf
        if self.runs(name) < _TELLING:
            return least
        counts = [(value.runs or 0, _error(value)) for value in self.values.values()]
        variance = sum((n - 1) * n * error**2 for n, error in counts) / max(sum(n - 1 for n, _ in counts), 1)
        return max(self.values[name].reward - math.sqrt(variance / self.runs(name)), least)

    def told(self, best: str) -> tuple[CandidateValue, ...]:
        """Return all candidates with their rewards, the best one first."""
        names = sorted(self.values, key=lambda name: (name != best, -self.values[name].reward))
        return tuple(CandidateValue(name, self.values[name].reward, _error(self.values[name])) for name in names)


def together(one: Worth, other: Worth) -> Worth:
    """The value by the simulated runs of both."""
    if one.runs is None or other.runs is None or one.error is None or other.error is None:
        return one if one.error is None else other
    n, m = one.runs, other.runs
    means = [np.append(each.reward, each.cost) for each in (one, other)]
    mean = (n * means[0] + m * means[1]) / (n + m)
    squares = n * (n - 1) * one.error**2 + m * (m - 1) * other.error**2
    squares += n * (means[0] - mean) ** 2 + m * (means[1] - mean) ** 2
    return Worth(float(mean[0]), mean[1:], np.sqrt(squares / ((n + m) * (n + m - 1))), n + m)


def _error(value: Worth) -> float:
    return 0.0 if value.error is None else float(value.error[0])
