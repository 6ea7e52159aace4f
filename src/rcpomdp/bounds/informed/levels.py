"""Budget levels of the relaxation, and the level after each action.

An action that costs c leads from level l to the least level that is at least ``(d_l − c) / γ``. That is rounded
down first, so that what equals a level is not taken to the next one by rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import BoolArray, FloatArray, IndexArray, IntArray
from ...kernels.bounds.level_sweeps import NOT_ALLOWED, Steps
from ...model import CPOMDP

_SAME = 1e-12  # relative difference of a budget and a cost that are one
_DOWN = 1 - 1e-13  # what is left is rounded down by this before it is rounded up to a level


class Levels(NamedTuple):
    """Budget levels of one cost, and the level after each action from each of them."""

    values: FloatArray  # [L] increasing; the last is inf, unlimited
    steps: Steps
    class_of: IndexArray  # [S]

    @property
    def unlimited(self) -> int:
        """Index of the unlimited level, the last."""
        return len(self.values) - 1

    def allowed(self, cls: IndexArray) -> BoolArray:
        """Return whether an action is allowed at each level in each of some classes, [L, n, A]."""
        return np.moveaxis(self.steps.level[self.steps.kind[cls]] != NOT_ALLOWED, 2, 0)


def budget_levels(values: FloatArray, floor: FloatArray, class_of: IntArray | IndexArray, discount: float) -> Levels:
    """Find the budget level after each action from each level.

    Parameters
    ----------
    values : [L] increasing, the last one inf
    floor : [n_classes, A] least cost of an action over a class
    class_of : [S]
    discount : by which a budget grows at each step, ``d' = (d − c) / γ``

    >>> levels = budget_levels(np.array([1.0, 2.0, np.inf]), np.array([[0.0, 1.0]]), np.zeros(1, dtype=int), 0.5)
    >>> levels.steps.level[levels.steps.kind[0]].tolist()  # free: twice as much is left; costs 1: nothing, 2, all
    [[1, 2, 2], [0, 1, 2]]
    """
    if len(values) == 0 or values[-1] != np.inf or not (np.diff(values) > 0).all():
        raise ValueError("levels must increase, and the last must be inf")
    if int(class_of.max()) >= len(floor):
        raise ValueError("floor must have a row for each class")
    costs, kind = np.unique(floor, return_inverse=True)
    left = values[None, :] - costs[:, None]
    allowed = left >= -_SAME * np.maximum(costs, 0.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        after = np.where(left > 0, left / discount * _DOWN, np.inf if discount == 0 else 0.0)
    level = np.where(allowed, np.searchsorted(values, after), NOT_ALLOWED).astype(np.int32)
    steps = Steps(kind.reshape(floor.shape).astype(np.int32), level)
    return Levels(values, steps, np.asarray(class_of, dtype=np.int32))


def no_levels(model: CPOMDP) -> Levels:
    """The unlimited level alone, in which everything is allowed."""
    class_of = np.zeros(model.n_states, dtype=np.int32)
    return budget_levels(np.array([np.inf]), np.zeros((1, model.n_actions)), class_of, model.discount)


def leads_to(levels: Levels) -> BoolArray:
    """Return whether some step leads from one level to another, [L, L]."""
    n_levels = len(levels.values)
    found = np.zeros((n_levels, n_levels), dtype=np.bool_)
    for after in levels.steps.level:
        allowed = after != NOT_ALLOWED
        found[np.flatnonzero(allowed), after[allowed]] = True
    return found


def monotone(values: FloatArray) -> FloatArray:
    """Values [L, ...] that never rise as the budget falls."""
    return np.minimum.accumulate(values[::-1])[::-1]


def peak(values: FloatArray) -> float:
    """Largest finite absolute value."""
    return float(np.abs(values).max(initial=0.0, where=np.isfinite(values)))
