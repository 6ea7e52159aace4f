"""The tolerance on budgets: a total w keeps the budget ĉ iff ``w ≤ ĉ (1 + 1e-9)``.

It is relative. What is spent, ``W = Σ γ^t C(b_t, a_t)``, is a sum without negative terms, so that its rounding is a
share of it, some 1e-16 for each term. Nothing absolute is added: costs and budgets may be counted in any unit, and
ĉ = 0 is kept by exact zeros alone, which sums and products of zeros are. An absolute tolerance would be carried along
as a budget, ``d' = (d − C) / γ``, and at γ = 0.5 a 1e-9 pays for a cost of 1 after 30 steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._types import BoolArray, FloatArray

RELATIVE = 1e-9


def spending_limit(budget: ArrayLike) -> FloatArray:
    """The most that may be spent: ``ĉ (1 + 1e-9)``, for any array of budgets.

    >>> spending_limit(np.array([0.0, 5.0, np.inf])).tolist()
    [0.0, 5.000000005, inf]
    """
    return np.asarray(budget, dtype=np.float64) * (1 + RELATIVE)


def slack(budget: ArrayLike) -> FloatArray:
    """The part of the limit that is tolerance: ``1e-9 ĉ``, and 0 where nothing is limited.

    >>> slack(np.array([0.0, 5.0, np.inf])).tolist()
    [0.0, 5e-09, 0.0]
    """
    return RELATIVE * np.where(np.isfinite(budget), budget, 0.0)


def same(low: ArrayLike, high: ArrayLike) -> BoolArray:
    """Return whether totals ``low ≤ high`` of one cost differ by no more than the tolerance.

    >>> same(np.array([0.0, 0.0, 5.0]), np.array([0.0, 1e-12, 5.000000001])).tolist()
    [True, False, True]
    """
    least, most = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    return np.asarray((least == most) | (least >= most - RELATIVE * np.where(np.isfinite(most), most, 0.0)))
