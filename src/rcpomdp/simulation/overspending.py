"""Overspending: by how much runs go beyond the budget, from which step on, and whether they had to.

What is spent is ``W(h_t) = Σ_{τ<t} β^τ C(b_τ, a_τ)``, by beliefs and in the units of the root. It never falls, so that
the overspending of a run, ``max_t W(h_t) − ĉ`` where that is above 0, is that of its end. What the states of a run
cost beyond the budget is its overrun.

*Stochastic self-destruction* (paper, Sec. 3) is to overspend although one need not. Let M(b) be the least budget that
suffices from b in every history (`bounds.least_budget`). At (b, d) an admissible plan exists iff ``M(b) ≤ d``, and
one that begins with action a iff ``C(b, a) + β max_o M(b_o) ≤ d``. Step t of a run is *deliberate* if the first holds
and the second does not: whatever is done afterwards, some observation leads beyond the budget, and another action
would have kept it. A run overspends deliberately if one of its steps is deliberate. Luck may save it.

M is known between bounds, so that a run is counted only if it is *proven*: M(b) from above is within d, and what the
action needs from below is not. From a history where an admissible plan exists, only a deliberate step leads to one
where there is none; where the first is proven of an earlier step, and of a later one that its action, or any, goes
beyond the budget, some step between them was deliberate, though it may not be known which. What is neither proven nor
ruled out is *undecided*. Hence, if an admissible policy exists at all, every run in violation is deliberate.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import tolerance
from .._types import BoolArray, FloatArray, IntArray
from ..bounds.least_budget import BaseBounds, LeastBudget
from ..kernels.simulation.rollout import NEVER
from .trajectory import Step


class Verdict(NamedTuple):
    """The finding on one run."""

    step: int  # by which it is proven that a step was deliberate, or NEVER
    undecided: bool  # not proven, and not ruled out


class Deliberate(NamedTuple):
    """The verdicts on runs."""

    step: IntArray  # [runs] step by which a deliberate one is proven, or NEVER
    undecided: BoolArray  # [runs] neither proven nor ruled out


class FirstStep(NamedTuple):
    """The step at which something happens first, over the runs in which it does."""

    mean: float
    earliest: int


class Judge:
    """Tells deliberate steps; what is found out at one run serves the next."""

    def __init__(self, base: BaseBounds) -> None:
        self._limit = np.asarray(base.model.spending_limit)
        self._least = LeastBudget(base)

    def verdict(self, steps: Iterable[Step]) -> Verdict:
        """Whether a run overspends deliberately, and by which step that is proven."""
        could, undecided = False, False  # whether it could have kept the budget at a step so far, as is proven
        for step in steps:
            room = self._limit - step.spent
            if step.action is None or not step.cost_weight.all() or (room < 0).any():
                break  # nothing is spent, or nothing can be kept, from here on
            left = room / step.cost_weight
            keeps = self._least.decide(step.belief, left, step.action)
            can = keeps or self._least.decide(step.belief, left)
            if can is False and could:
                return Verdict(step.time - 1, undecided=False)
            if keeps is False and (can or could):
                return Verdict(step.time, undecided=False)
            could = could or bool(can)
            undecided = undecided or (keeps is not True and can is not False)
        return Verdict(NEVER, undecided)


def beyond(totals: FloatArray, budget: ArrayLike) -> FloatArray:
    """By how much totals [runs, K] exceed each budget, 0 where it is kept.

    >>> beyond(np.array([[4.0], [5.000000001], [7.0]]), [5.0]).T.tolist()
    [[0.0, 0.0, 2.0]]
    """
    excess: FloatArray = np.where(totals > tolerance.spending_limit(budget), totals - np.asarray(budget), 0.0)
    return excess


def first_step(steps: IntArray) -> FirstStep | None:
    """The first step over the runs that have one; None if none has."""
    happened = steps[steps != NEVER]
    return FirstStep(float(happened.mean()), int(happened.min())) if happened.size else None


def plain(step: FirstStep | None) -> dict[str, Any] | None:
    """Plain numbers, ready for JSON."""
    return None if step is None else step._asdict()
