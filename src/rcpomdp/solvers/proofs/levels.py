"""Budget levels of a proof: such that what is left after a step, rounded up, is not taken a whole level too far."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray

UP = 1e-9  # relative: by this a level is above what it is made for
_LATTICE = 1e-12  # the same, of the budget, for what is not discounted


def closed_levels(known: FloatArray, budget: float, beta: float) -> FloatArray:
    """About as many levels as a search has, the last inf.

    A free step leads from a level to no more than another: each is above ``ĉ β^(−i/m)`` by a little more than the one
    below it. Without a discount the levels of the search are kept, each above it by a little more than the next higher.

    >>> closed_levels(np.array([0.5, 1.0, 2.0]), 1.0, 0.5).round(6).tolist()
    [0.5, 0.707107, 1.0, 1.414214, 2.0, inf]
    """
    finite = np.unique(known[np.isfinite(known) & (known > 0)])
    if not finite.size or not 0 < budget < np.inf:
        return np.unique([*known, *([0.0] if budget == 0 else []), np.inf])
    if beta == 1:
        above = finite + _LATTICE * budget * np.arange(len(finite))[::-1]
        return np.unique([0.0, *above, budget, np.inf])
    span = np.log(finite.max() / finite.min()) / -np.log(beta)  # in free steps
    if span > 10 * len(finite):  # next to no discount
        return np.unique([*finite, budget, np.inf])
    m = max(1, round(len(finite) / max(span, 1.0)))
    step = -np.log(beta) / m + np.log1p(UP)
    below, above_it = (np.log(x) / step for x in (budget / finite.min(), max(finite.max() / budget, 1.0)))
    series = budget * np.exp(step * np.arange(-int(np.ceil(below)), int(np.ceil(above_it)) + 1))
    return np.unique([*series, budget, np.inf])
