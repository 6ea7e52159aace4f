"""Multipliers λ of the costs: the dual of mixing what is known.

``max Σ x_i v_i`` subject to ``Σ x_i c_i ≤ ĉ``, ``Σ x_i = 1``, ``x ≥ 0`` over known rewards v_i and costs c_i; the duals
of the budget rows say what one more unit of each cost is worth.
"""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np

from ..._types import BoolArray, FloatArray

_TINY = 1e-9
_INSIDE = 1e-3  # share of the best one's costs that is held back, so that some multiplier is above zero


def dual_multipliers(totals: FloatArray, best: float, limited: BoolArray) -> FloatArray | None:
    """Multipliers [K] that belief plans with ``totals [n, 1 + K]`` (reward, costs) suggest; None if they suggest none.

    The budget is a little below what the best of them spends: one that does not use up the budget has a dual of zero,
    though every unit of it was worth something.

    >>> dual_prices(np.array([[8.0, 0.0], [12.0, 1.0]]), 12.0, np.array([True])).round(6).tolist()
    [4.0]
    """
    if len(totals) < 2 or not np.isfinite(best):
        return None
    rewards, costs = totals[:, 0], totals[:, 1:][:, limited]
    budget = costs[int(np.abs(rewards - best).argmin())] * (1 - _INSIDE)
    if not (budget > 0).any() or not (costs <= budget).all(axis=1).any():
        return None
    scale = np.maximum(costs.max(axis=0), budget)  # the solver takes what is below 1e-9 for zero
    keep = scale > 0
    costs, budget, scale = costs[:, keep] / scale[keep], budget[keep] / scale[keep], scale[keep]
    costs[costs < _TINY] = 0.0
    make: Any = highspy.Highs  # its stubs do not know expressions
    solver = make()
    solver.silent()
    x = [solver.addVariable(lb=0.0) for _ in totals]
    solver.addConstr(sum(x) == 1.0)
    for k in range(costs.shape[1]):
        solver.addConstr(sum(float(c) * share for c, share in zip(costs[:, k], x, strict=True)) <= float(budget[k]))
    solver.maximize(sum(float(v) * share for v, share in zip(rewards, x, strict=True)))
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    duals = np.abs(np.array(solver.getSolution().row_dual[1:]))
    multipliers = np.zeros(len(limited))
    multipliers[np.flatnonzero(limited)[keep]] = duals / scale
    return multipliers if duals.max() > _TINY else None
