"""Budgets that remain after a step, for arrays: the rule is that of `kernels/budget.py`, ``d' = (d − C) / γ``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import FloatArray
from ..kernels import budget

_compiled: Any = budget.left_after
_step = _compiled.py_func  # as it is written, which arrays can be put into


def left_after(left: ArrayLike, spent: ArrayLike, discount: float) -> FloatArray:
    """The rest of budgets, below 0 where they are overspent; without a future (γ = 0) the units stay as they are.

    >>> left_after([3.0, np.inf], [1.0, 1.0], 0.5).tolist()
    [4.0, inf]
    """
    rest = _step(np.asarray(left, dtype=np.float64), np.asarray(spent, dtype=np.float64), discount)
    return np.asarray(rest)
