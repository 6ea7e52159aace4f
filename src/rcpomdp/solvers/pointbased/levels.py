"""Which budget levels to keep bounds at.

Two kinds: budgets that a few steps of known cost lead to exactly, ``d' = (d − c)/γ`` from the root's, nearest first;
and a geometric series ``ĉ·γ^{−i/m}``, on which a free step is a shift by m, so that rounding up happens at most once
between two costs.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from ..._types import AnyArray, FloatArray
from ...kernels.pointbased.arrays import Levels

_SAME = 1e-12  # relative difference of two levels that are one
_MORE = 64  # room for levels beyond those to begin with
_TINY = 1e3  # times that a budget goes into the cap, from which on it is next to nothing
_DEPTH = 3.0  # the series goes down to the budget's e^-3-th part


def level_values(
    budget: float, costs: FloatArray, discount: float, cap: float, n: int, tiny: float = 0.0
) -> FloatArray:
    """About n levels for one cost, increasing, the last unlimited; the budget is one of them.

    Parameters
    ----------
    costs : what steps cost
    cap : a budget that is as good as unlimited
    tiny : the least level

    >>> level_values(1.0, np.array([0.0, 1.0]), 0.5, 2.0, 4).tolist()
    [0.25, 0.5, 1.0, inf]
    """
    found = [budget]
    queue = deque(found)
    while queue and len(found) < n // 4:
        d = queue.popleft()
        for c in costs:
            left = (d - c) / discount
            if 0 <= left < cap and not any(abs(left - f) <= _SAME * f for f in found):
                found.append(left)
                queue.append(left)
    if budget > 0:
        room, step = max(2, n - len(found)), -np.log(discount)
        above, below = np.log(cap / budget) / step, _DEPTH / step  # free steps up to the cap, and down
        m = max(1, int(room / (above + below)))
        below = min(int(below * m), max(room // 2, room - int(above * m)))
        # From next to nothing it takes many free steps to a budget that buys something: none of them may be rounded.
        above = min(int(above * m), room - below if cap < _TINY * budget else 4 * n)
        found += [budget * discount ** (-i / m) for i in range(-below, above + 1)]
    values = np.unique([f for f in [tiny, *found] if tiny <= f < cap])
    distinct = np.diff(values, prepend=-np.inf) > _SAME * values
    return np.concatenate([values[distinct], [np.inf]])


def build_levels(values: list[FloatArray], tiny: FloatArray, trifle: FloatArray) -> Levels:
    """Levels of each cost from their values, increasing, the last inf; there is room for more."""
    n_costs = len(values)
    bits = min(62 // max(1, n_costs), 20)
    most = min(1 << bits, max([2 * len(v) + _MORE for v in values], default=1))
    shape = n_costs, most
    levels = Levels(
        np.full(shape, np.inf),
        np.full(shape, np.inf),
        np.zeros(shape, dtype=np.int64),
        np.zeros(n_costs, dtype=np.int64),
        tiny,
        trifle,
        bits,
    )
    return with_levels(levels, values)


def with_levels(levels: Levels, values: list[FloatArray]) -> Levels:
    """The levels with more of them; those there are keep their numbers. What there is no room for is left out."""
    for k, more in enumerate(values):
        n = int(levels.counts[k])
        known = levels.value[k, :n]
        new = [v for v in more if not np.isclose(known, v, rtol=_SAME, atol=0.0).any()][: (1 << levels.bits) - n]
        if n + len(new) > levels.value.shape[1]:
            room = min(1 << levels.bits, 2 * (n + len(new)))
            levels = levels._replace(
                value=_widened(levels.value, room),
                ordered=_widened(levels.ordered, room),
                number=_widened(levels.number, room),
            )
        levels.value[k, n : n + len(new)] = new
        levels.counts[k] = n = n + len(new)
        order = np.argsort(levels.value[k, :n], kind="stable")
        levels.number[k, :n] = order
        levels.ordered[k, :n] = levels.value[k, order]
    return levels


def _widened(array: AnyArray, room: int) -> AnyArray:
    wide = np.zeros((len(array), room), dtype=array.dtype)
    wide[:, : array.shape[1]] = array
    return wide
