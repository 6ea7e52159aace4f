"""Budget levels: the remaining budgets at which upper bounds are kept; what is left is rounded *up* to a level.

The least level above zero, δ, is *tiny*: what is left there buys nothing of more than a trifle δ/γ^T within T steps.
So at this level trifles are free, all else cannot be paid, and it is never left. A policy can do the same for T
steps, so that no more than γ^T times the span of the values is missing, which is added to the bound at the root.
"""

from __future__ import annotations

from ..._types import FloatArray
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
def join(v: Levels, first: int, others: int) -> int:
    """The level of all costs from that of the first cost and those of the others."""
    return first | (others << v.bits)


@inner
def place_of(v: Levels, level: int, k: int) -> int:
    """The place of a level among those of cost k."""
    return (level >> (k * v.bits)) & ((1 << v.bits) - 1)


@inner
def level_of(v: Levels, d: FloatArray) -> int:
    """The level that a budget is rounded up to."""
    level = 0
    for k in range(d.size):
        level |= place(v.value[k], v.counts[k], d[k]) << (k * v.bits)
    return level


@inner
def value_at(v: Levels, level: int, k: int) -> float:
    """The budget of cost k at a level."""
    return float(v.value[k, place_of(v, level, k)])


@inner
def left_after(x: Space, d: FloatArray, cost: FloatArray, rest: FloatArray) -> bool:
    """Write ``(d − c) / γ``; False if that is overspent."""
    for k in range(d.size):
        rest[k] = (d[k] - cost[k]) / x.discount
        if rest[k] < 0.0 and x.limited[k]:
            return False
    return True


@inner
def is_enough(x: Space, v: Levels, k: int, d: float, need: float) -> bool:
    """Whether the level d of cost k is not below what is needed."""
    most = v.trifle[k] if d == v.tiny[k] else d
    return bool(not x.limited[k] or most >= need * (1.0 - SNAP))


@inner
def place_after(x: Space, v: Levels, k: int, at: int, cost: float, need: float) -> int:
    """Where spending a cost leads from a place among the levels of cost k; NONE if that is below `need`."""
    d = v.value[k, at]
    if not is_enough(x, v, k, d, need):
        return NONE
    if d == v.tiny[k]:  # never left
        return at
    return place(v.value[k], v.counts[k], max(d - cost, 0.0) / x.discount)


@kernel
def list_maps(x: Space, v: Levels, costs: FloatArray) -> None:
    """Fill the rows of `after`, one for each cost."""
    for row in range(costs.size):
        for at in range(v.after.shape[1]):
            v.after[row, at] = place_after(x, v, 0, at, costs[row], costs[row]) if v.counts.size > 0 else at


@inner
def priced(x: Space, multiplier: FloatArray, d: FloatArray) -> float:
    """``λ·d``, what is as good as unlimited counted as its cap."""
    total = 0.0
    for k in range(d.size):
        if multiplier[k] > 0.0:
            total += multiplier[k] * min(d[k], x.cap[k])
    return total


@inner
def priced_level(x: Space, v: Levels, multiplier: FloatArray, level: int) -> float:
    """``λ·d`` of a level."""
    total = 0.0
    for k in range(v.counts.size):
        if multiplier[k] > 0.0:
            total += multiplier[k] * min(value_at(v, level, k), x.cap[k])
    return total


@kernel
def level_at(v: Levels, d: FloatArray) -> int:
    """The level that a budget is rounded up to, for Python."""
    return level_of(v, d)
