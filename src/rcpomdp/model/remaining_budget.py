"""Budgets that remain after a step, for arrays: the rule is that of `kernels/budget.py`, ``d' = (d − C) / β``."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._types import FloatArray


def left_after(left: ArrayLike, spent: ArrayLike, discount: ArrayLike) -> FloatArray:
    """The rest of budgets, below 0 where they are overspent; without a future (β = 0) the units stay as they are.

    >>> left_after([3.0, np.inf], [1.0, 1.0], 0.5).tolist()
    [4.0, inf]
    """
    rest = np.asarray(left, dtype=np.float64) - np.asarray(spent, dtype=np.float64)
    beta = np.asarray(discount, dtype=np.float64)
    return np.asarray(rest / np.where(beta > 0, beta, 1.0))
