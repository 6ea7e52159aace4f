"""The budget levels at which bounds are kept.

Two kinds: budgets that a few steps of known cost lead to exactly, ``d' = (d − c)/β`` from the root's, nearest first;
and a geometric series ``ĉ·β^{−i/m}``, on which a free step is a shift by m, so that rounding up happens at most once
between two costs.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from ..._types import FloatArray
from ...model.remaining_budget import left_after
from ..pointbased.levels import undiscounted_levels

_SAME = 1e-12  # relative difference of two levels that are one
_TINY = 1e3  # times that a budget goes into the cap, from which on it is next to nothing
_DEPTH = 3.0  # the series goes down to the budget's e^-3-th part


def level_values(
    budget: float, costs: FloatArray, discount: float, cap: float, n: int, extra: FloatArray | None = None
) -> FloatArray:
    """About n levels for one cost, increasing, the last unlimited; the budget is one of them.

    Parameters
    ----------
    costs : what steps cost
    cap : a budget that is as good as unlimited
    extra : more levels that are wanted

    >>> level_values(1.0, np.array([0.0, 1.0]), 0.5, 2.0, 4).tolist()
    [0.25, 0.5, 1.0, inf]
    """
    found = [budget]
    queue = deque(found)
    while queue and len(found) < n // 4:
        d = queue.popleft()
        for c in costs:
            left = float(left_after(d, c, discount))
            if 0 <= left < cap and not any(abs(left - f) <= _SAME * f for f in found):
                found.append(left)
                queue.append(left)
    if discount == 1:
        return undiscounted_levels(budget, costs, n, extra)
    if budget > 0:
        room, step = max(2, n - len(found)), -np.log(discount)
        above, below = np.log(cap / budget) / step, _DEPTH / step  # free steps up to the cap, and down
        m = max(1, int(room / (above + below)))
        below = min(int(below * m), max(room // 2, room - int(above * m)))
        # From next to nothing it takes many free steps to a budget that buys something: none of them may be rounded.
        above = min(int(above * m), room - below if cap < _TINY * budget else 4 * n)
        found += [budget * discount ** (-i / m) for i in range(-below, above + 1)]
    if extra is not None:
        found += [e for e in extra if abs(e - budget) > 2 * _SAME * budget]
    values = np.unique([f for f in found if f < cap])
    distinct = np.diff(values, prepend=-np.inf) > _SAME * values
    return np.concatenate([values[distinct], [np.inf]])
