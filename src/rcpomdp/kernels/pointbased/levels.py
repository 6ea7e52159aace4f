"""Budget levels: the remaining budgets at which upper bounds are kept; what is left is rounded *up* to a level.

The least level above zero, δ, is *tiny*: what is left there buys nothing of more than a trifle δ/γ^T within T steps,
as β ≥ γ. So at this level trifles are free, all else cannot be paid, and it is never left. A policy can do the same for
T steps, so that no more than γ^T times the span of the values is missing, which is added to the bound at the root.
"""

from __future__ import annotations

from ..._types import FloatArray
from ..budget import left_after
from ..jit import inner, kernel
from .arrays import NONE, Levels, Space

SNAP = 1e-13  # relative difference below which a budget is rounding of a level


@inner
def place(values: FloatArray, n: int, d: float) -> int:
    """The first of n increasing values that is at least d, but for rounding."""
    low, high = 0, n - 1
    bound = d * (1.0 - SNAP)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def join(levels: Levels, first: int, others: int) -> int:
    """The level of all costs from that of the first cost and those of the others."""
    return first | (others << levels.bits)


@inner
def place_of(levels: Levels, level: int, k: int) -> int:
    """The place of a level among those of cost k."""
    return (level >> (k * levels.bits)) & ((1 << levels.bits) - 1)


@inner
def level_of(levels: Levels, d: FloatArray) -> int:
    """The level that a budget is rounded up to."""
    level = 0
    for k in range(d.size):
        level |= place(levels.value[k], levels.counts[k], d[k]) << (k * levels.bits)
    return level


@inner
def value_at(levels: Levels, level: int, k: int) -> float:
    """The budget of cost k at a level."""
    return float(levels.value[k, place_of(levels, level, k)])


@inner
def pay(space: Space, d: FloatArray, cost: FloatArray, rest: FloatArray) -> bool:
    """Write ``(d − c) / β``; False if that is overspent."""
    for k in range(d.size):
        rest[k] = left_after(d[k], cost[k], space.model.cost_discount[k])
        if rest[k] < 0.0 and space.limited[k]:
            return False
    return True


@inner
def is_enough(space: Space, levels: Levels, k: int, d: float, need: float) -> bool:
    """True if the level d of cost k is not below what is needed."""
    most = levels.trifle[k] if d == levels.tiny[k] else d
    return bool(not space.limited[k] or most >= need * (1.0 - SNAP))


@inner
def place_after(space: Space, levels: Levels, k: int, at: int, cost: float, need: float) -> int:
    """Place that spending a cost leads to from a place among the levels of cost k; NONE if that is below `need`."""
    d = levels.value[k, at]
    if not is_enough(space, levels, k, d, need):
        return NONE
    if d == levels.tiny[k]:  # never left
        return at
    return place(levels.value[k], levels.counts[k], max(left_after(d, cost, space.model.cost_discount[k]), 0.0))


@kernel
def list_maps(space: Space, levels: Levels, costs: FloatArray) -> None:
    """Fill the rows of `after`, one for each cost."""
    for row in range(costs.size):
        for at in range(levels.after.shape[1]):
            levels.after[row, at] = (
                place_after(space, levels, 0, at, costs[row], costs[row]) if levels.counts.size > 0 else at
            )


@inner
def allowance_of(space: Space, multiplier: FloatArray, d: FloatArray) -> float:
    """``λ·d``, or ``λ·cap`` if that is less."""
    total = 0.0
    for k in range(d.size):
        if multiplier[k] > 0.0:
            total += multiplier[k] * min(d[k], space.cap[k])
    return total


@inner
def allowance_of_level(space: Space, levels: Levels, multiplier: FloatArray, level: int) -> float:
    """``λ·d`` of a level."""
    total = 0.0
    for k in range(levels.counts.size):
        if multiplier[k] > 0.0:
            total += multiplier[k] * min(value_at(levels, level, k), space.cap[k])
    return total


@kernel
def level_at(levels: Levels, d: FloatArray) -> int:
    """The level that a budget is rounded up to, for Python."""
    return level_of(levels, d)
