"""Budget levels: the remaining budgets at which bounds are kept, and the arrays of those bounds.

A level is a remaining budget, or for several costs a tuple of them; the last level of each cost is unlimited. What is
left after a step is rounded *up* to a level, so that bounds stay bounds. `kernels.arcs.level_bounds` backs them up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import FloatArray, IndexArray, IntArray
from ..belief_graph.store import NONE, Store
from ..budget import left_after
from ..jit import inner, kernel

SNAP = 1e-13  # relative difference below which a budget is rounding of a level


class Levels(NamedTuple):
    """Levels and relaxations; L is the product of the counts."""

    value: FloatArray  # [K, most] levels of each cost, increasing, the last inf
    n: IntArray  # [K] how many there are
    stride: IntArray  # [K] of a cost's level in the common index
    part_of: IntArray  # [K, L] level of each cost
    multiplier: FloatArray  # [J, K] λ of each relaxation; the first is 0
    cap: FloatArray  # [K] the most that any policy spends, discounted by γ as rewards are
    allowance: FloatArray  # [J, L] λ·d of a level, of each cost no more than its cap
    growth: FloatArray  # [L] by which an allowance may grow in a step: 1/β, and 1/γ where a cap was all that counted
    floor: FloatArray  # [n_classes*A, K] least cost of an action over a class
    which: IntArray  # [n_classes*A] row of `after`
    after: IntArray  # [., L] level after spending the floor, or NONE if it cannot be afforded
    informed: FloatArray  # [J, S, A] vectors whose largest product with a belief bounds V_λ from above
    least_cost: FloatArray  # [K, S, A] vectors whose least product bounds the expected cost from below; [K, 0, 0]: zero
    worst: float  # what no value is below
    relaxed: bool  # whether the relaxations are backed up, or stay at their informed bounds
    monotone: bool  # whether levels bound each other


class Bounds(NamedTuple):
    """Bounds of the beliefs of the store; those over levels by row (`kernels.arcs.rows`)."""

    row: IndexArray  # [N] row of a belief, or NONE; the first few are lent
    cost: FloatArray  # [N, K, A]
    informed: FloatArray  # [N, J - 1, A] products with the informed bounds of the relaxations but the first
    least: FloatArray  # [N, K]
    hi: FloatArray  # [rows, J, L]
    lo: FloatArray  # [rows, J, L]
    upper: FloatArray  # [rows, L]


class LevelScratch(NamedTuple):
    """Working memory of backups."""

    row: FloatArray  # [5, L] values of an action and of the best one, from above and below; OWN
    map: IntArray  # [L]
    part: IntArray  # [K, most]
    need: FloatArray  # [K]
    rest: FloatArray  # [K]
    sure: FloatArray  # [K]
    allowance: FloatArray  # [J]


@inner
def place(levels: Levels, k: int, d: float) -> int:
    """The first level of cost k that is at least d."""
    low, high = 0, levels.n[k] - 1
    bound = d * (1.0 - SNAP)
    while low < high:
        middle = (low + high) // 2
        if levels.value[k, middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def level_of(levels: Levels, d: FloatArray) -> int:
    """The level that a budget is rounded up to, or NONE if it is overspent."""
    level = 0
    for k in range(d.size):
        if d[k] < 0.0:
            return NONE
        level += place(levels, k, d[k]) * levels.stride[k]
    return level


@inner
def fill_map(
    levels: Levels, spent: FloatArray, need: FloatArray, discount: FloatArray, part: IntArray, out: IntArray
) -> None:
    """Write for each level where it leads after `spent`, or NONE where it is below `need` or that is infinite."""
    for k in range(spent.size):
        at = 0
        for n in range(levels.n[k]):
            d = levels.value[k, n]
            if d < spent[k] or d < need[k] * (1.0 - SNAP) or need[k] == np.inf:
                part[k, n] = NONE
                continue
            left = left_after(d, spent[k], discount[k]) * (1.0 - SNAP) if discount[k] > 0.0 else np.inf
            while at < levels.n[k] - 1 and levels.value[k, at] < left:
                at += 1
            part[k, n] = at * levels.stride[k]
    for level in range(out.size):
        total = 0
        for k in range(spent.size):
            moved = part[k, levels.part_of[k, level]]
            if moved == NONE:
                total = NONE
                break
            total += moved
        out[level] = total


@kernel
def list_maps(levels: Levels, spending: FloatArray, discount: FloatArray, part: IntArray, out: IntArray) -> None:
    """Fill ``out [n, L]`` with the maps of ``spending [n, K]``."""
    for n in range(spending.shape[0]):
        fill_map(levels, spending[n], spending[n], discount, part, out[n])


@inner
def relaxed_gain(store: Store, levels: Levels, bounds: Bounds, i: int, a: int, j: int) -> float:
    """``R(b, a) − λ_j·C(b, a)``."""
    gain = store.gain[i, a]
    for k in range(levels.n.size):
        gain -= levels.multiplier[j, k] * bounds.cost[i, k, a]
    return float(gain)


@inner
def allowance_of(levels: Levels, j: int, d: FloatArray) -> float:
    """``λ_j·d``, or ``λ_j·cap`` if that is less."""
    total = 0.0
    for k in range(d.size):
        total += levels.multiplier[j, k] * min(d[k], levels.cap[k])
    return total
