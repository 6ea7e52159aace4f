"""Budget levels by number: new ones can be added while the search goes on, and old ones keep their numbers."""

from __future__ import annotations

import numpy as np

from ..._types import AnyArray, FloatArray
from ...kernels.pointbased.arrays import Levels

_SAME = 1e-12  # relative difference of two levels that are one
_MORE = 64  # room for levels beyond those to begin with


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
