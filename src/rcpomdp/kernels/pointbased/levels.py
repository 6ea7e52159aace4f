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
def place(ordered: FloatArray, n: int, d: float) -> int:
    """The first of n increasing values that is at least d, but for rounding."""
    low, high = 0, n - 1
    bound = d * (1.0 - SNAP)
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def level_of(v: Levels, d: FloatArray) -> int:
    """The level that a budget is rounded up to."""
    level = 0
    for k in range(d.size):
        level |= v.number[k, place(v.ordered[k], v.counts[k], d[k])] << (k * v.bits)
    return level


@inner
def value_at(v: Levels, level: int, k: int) -> float:
    """The budget of cost k at a level."""
    return float(v.value[k, (level >> (k * v.bits)) & ((1 << v.bits) - 1)])


@inner
def covers(v: Levels, more: int, less: int) -> bool:
    """Whether a level has no less of any budget than another."""
    for k in range(v.counts.size):  # noqa: SIM110 - compiled code has no all()
        if value_at(v, more, k) < value_at(v, less, k):
            return False
    return True


@inner
def left_after(x: Space, d: FloatArray, cost: FloatArray, rest: FloatArray) -> bool:
    """Write ``(d − c) / γ``; False if that is overspent."""
    for k in range(d.size):
        rest[k] = (d[k] - cost[k]) / x.discount
        if rest[k] < 0.0 and x.limited[k]:
            return False
    return True


@inner
def level_after(x: Space, v: Levels, level: int, cost: FloatArray) -> int:
    """The level after spending `cost [K]` at a level, or NONE if it cannot be afforded."""
    to = 0
    for k in range(v.counts.size):
        d = value_at(v, level, k)
        if d == v.tiny[k] and cost[k] <= v.trifle[k]:
            to |= v.number[k, place(v.ordered[k], v.counts[k], d)] << (k * v.bits)
            continue
        if x.limited[k] and d < cost[k] * (1.0 - SNAP):
            return NONE
        rest = max(d - cost[k], 0.0) / x.discount
        to |= v.number[k, place(v.ordered[k], v.counts[k], rest)] << (k * v.bits)
    return to


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
