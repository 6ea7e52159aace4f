"""The budget levels at which bounds are kept.

Two kinds: budgets that a few steps of known cost lead to exactly, ``d' = (d − c)/β`` from the root's, nearest first;
and a geometric series ``ĉ·β^{−i/m}``, on which a free step is a shift by m, so that rounding up happens at most once
between two costs. More can be added where a search wants them.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from ..._types import FloatArray
from ...kernels.pointbased.arrays import NONE, Levels, Space
from ...kernels.pointbased.levels import list_maps
from ...model.remaining_budget import left_after

_SAME = 1e-12  # relative difference of two levels that are one
_SMALL = 1e3  # times that a budget goes into the cap, from which on it is next to nothing
_DEPTH = 3.0
_EXACT = 4096  # levels that steps lead to exactly, at most
_BITS = 20  # at most, of the place of a level
_MAPS = 1 << 24  # entries of all maps that are kept


def level_values(
    budget: float, costs: FloatArray, discount: float, cap: float, n: int, depth: float = _DEPTH
) -> FloatArray:
    """About n levels for one cost, increasing, the last unlimited; the budget is one of them.

    Parameters
    ----------
    costs : what steps cost
    cap : a budget that is as good as unlimited
    depth : the series goes down to the budget's e^-depth-th part

    >>> level_values(1.0, np.array([0.0, 1.0]), 0.5, 2.0, 4).tolist()
    [0.25, 0.5, 1.0, inf]
    """
    found, seen, queue = [budget], {f"{budget:.11e}"}, deque([budget])
    while queue and len(found) < min(n // 4, _EXACT):
        d = queue.popleft()
        for c in costs:
            left = float(left_after(d, c, discount))
            if 0 <= left < cap and f"{left:.11e}" not in seen:
                seen.add(f"{left:.11e}")
                found.append(left)
                queue.append(left)
    if discount == 1:
        return undiscounted_levels(budget, costs, n)
    if budget > 0:
        room, step = max(2, n - len(found)), -np.log(discount)
        above, below = np.log(cap / budget) / step, depth / step  # free steps up to the cap, and down
        m = max(1, int(room / (above + below)))
        below = min(int(below * m), max(room // 2, room - int(above * m)))
        # From next to nothing it takes many free steps to a budget that buys something: none of them may be rounded.
        above = min(int(above * m), room - below if cap < _SMALL * budget else 4 * n)
        found.extend(budget * discount ** (-np.arange(-below, above + 1) / m))
    values = np.array(found)
    return _distinct(np.append(values[values < cap], np.inf))


def undiscounted_levels(budget: float, costs: FloatArray, n: int, extra: FloatArray | None = None) -> FloatArray:
    """About n levels for a cost that is not discounted, ``d' = d − c``, increasing, the last unlimited.

    Those that costs lead to, if they are few: then nothing is rounded. Else also a grid down to 0.

    >>> undiscounted_levels(2.0, np.array([0.0, 0.5, 1.0]), 8).tolist()
    [0.0, 0.5, 1.0, 1.5, 2.0, inf]
    """
    found, paid = np.array([budget]), np.unique(costs[costs > 2 * _SAME * budget])  # less is rounding of a level
    front = found
    while front.size and found.size <= n:
        left = (front[:, None] - paid).ravel()
        grown = _distinct(np.concatenate([found, left[left >= 0]]))
        front = np.setdiff1d(grown, found)
        found = grown
    parts = [found, [np.inf]] if not front.size else [found[-n:], np.linspace(0.0, budget, n), [np.inf]]
    return _distinct(np.concatenate([*parts, extra if extra is not None else []]))


def _distinct(values: FloatArray) -> FloatArray:
    """In increasing order, those that are more than rounding apart."""
    values = np.unique(values)
    before = np.concatenate([[-np.inf], values[:-1]])
    apart: FloatArray = values[(values - before > _SAME * values) | np.isinf(values)]
    return apart


def build_levels(x: Space, values: list[FloatArray], tiny: FloatArray, trifle: FloatArray) -> Levels:
    """Levels of each cost from their values, increasing, the last inf, with their maps."""
    n_costs, bits = len(values), min(62 // max(1, len(values)), _BITS)
    values = [v[-(1 << bits) :] for v in values]
    value = np.full((n_costs, max([len(v) for v in values], default=1)), np.inf)
    for k, v in enumerate(values):
        value[k, : len(v)] = v
    costs, which = np.zeros(1), np.zeros(x.floor.shape[:2], dtype=np.int64)
    if n_costs:
        costs, which = np.unique(x.floor[..., 0], return_inverse=True)
    n_first = len(values[0]) if n_costs else 1
    if len(costs) * n_first > _MAPS:
        costs, which = costs[:0], np.full(x.floor.shape[:2], NONE)
    levels = Levels(
        value=value,
        counts=np.array([len(v) for v in values], dtype=np.int64),
        tiny=tiny,
        trifle=trifle,
        bits=bits,
        after=np.empty((len(costs), n_first), dtype=np.int64),
        which=np.ascontiguousarray(which.reshape(x.floor.shape[:2]), dtype=np.int64),
    )
    list_maps(x, levels, costs)
    return levels


def with_levels(x: Space, levels: Levels, more: list[FloatArray]) -> Levels:
    """The levels with more of them; those there are stay as they are."""
    values = []
    for k, new in enumerate(more):
        known = levels.value[k, : levels.counts[k]]
        near = np.minimum(np.searchsorted(known, new), len(known) - 1)
        with np.errstate(invalid="ignore"):  # inf is known
            gap = np.minimum(np.abs(known[near] - new), np.abs(new - known[np.maximum(near - 1, 0)]))
        values.append(np.union1d(known, new[gap > _SAME * new]))
    return build_levels(x, values, levels.tiny, levels.trifle)
