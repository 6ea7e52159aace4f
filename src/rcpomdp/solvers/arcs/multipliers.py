"""Multipliers λ of the costs: the duals of the mixing program (`rcpomdp.lp`) over what is known."""

from __future__ import annotations

import numpy as np

from ..._types import BoolArray, FloatArray
from ...lp import MixingProgram

_TINY = 1e-9
_INSIDE = 1e-3  # share of the best one's costs that is held back, so that some multiplier is above zero


def dual_multipliers(totals: FloatArray, best: float, limited: BoolArray) -> FloatArray | None:
    """Multipliers [K] that belief plans with ``totals [n, 1 + K]`` (reward, costs) suggest; None if they suggest none.

    The budget is a little below what the best of them spends: one that does not use up the budget has a dual of zero,
    though every unit of it raised the value.

    >>> dual_multipliers(np.array([[8.0, 0.0], [12.0, 1.0]]), 12.0, np.array([True])).round(6).tolist()
    [4.0]
    """
    if len(totals) < 2 or not np.isfinite(best):
        return None
    rewards, costs = totals[:, 0], totals[:, 1:][:, limited]
    budget = costs[int(np.abs(rewards - best).argmin())] * (1 - _INSIDE)
    if not (budget > 0).any() or not (costs <= budget).all(axis=1).any():
        return None
    scale = np.maximum(costs.max(axis=0), budget)
    keep = scale > 0
    program = MixingProgram(budget[keep], scale[keep])
    program.add(rewards, costs[:, keep])
    found = program.solve()
    if found is None or (found.multipliers * scale[keep]).max() <= _TINY:
        return None
    multipliers = np.zeros(len(limited))
    multipliers[np.flatnonzero(limited)[keep]] = found.multipliers
    return multipliers
