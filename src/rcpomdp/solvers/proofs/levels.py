"""Budget levels of a proof: such that what is left after a step, rounded up, is not taken a whole level too far."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ...model import CPOMDP
from ...verification.ground import reserve

_CHAIN = 1000  # steps that what is impossible rests on, at most, it is hoped
UP = 1e-9  # relative: by this a level of entries is above what it is made for,
TABLE_UP = 1e-6  # and one of tables, which must be no less than those of the entries that are made for the same
_LATTICE = 1e-3  # times these, of the budget, for what is not discounted


def first_budget(model: CPOMDP) -> float:
    """The budget that a proof begins with, as a multiple of what may be spent: the checker's beliefs are rounded."""
    return reserve(model, _CHAIN)


def closed_levels(
    known: FloatArray, limit: float, beta: float, first: float | None = None, up: float = UP
) -> FloatArray:
    """About as many levels as a search has, the last inf.

    A free step leads from a level to no more than another: each is above ``d β^(−i/m)`` by a little more than the one
    below it. Without a discount the levels of the search are kept, and 0, each above it by a little more than the next
    higher.

    Parameters
    ----------
    known : levels of the search, whose budget is `limit`
    first : budget d that the proof begins with, a little more than that

    >>> closed_levels(np.array([0.5, 1.0, 2.0]), 1.0, 0.5).round(6).tolist()
    [0.5, 0.707107, 1.0, 1.0, 1.414214, 2.0, inf]
    """
    budget = limit if first is None else first
    finite = np.unique(known[np.isfinite(known) & (known > 0)])
    if not finite.size or not 0 < budget < np.inf:
        return np.unique([*known, *([0.0] if budget == 0 else []), np.inf])
    if beta == 1:
        lattice = np.array([0.0, *finite]) + (budget - limit)
        above = lattice + _LATTICE * up * budget * np.arange(len(lattice))[::-1]
        return np.unique([0.0, *above, budget, np.inf])
    span = np.log(finite.max() / finite.min()) / -np.log(beta)  # in free steps
    if span > 10 * len(finite):  # next to no discount
        return np.unique([*(finite * (budget / limit) * (1 + up)), budget, np.inf])
    m = max(1, round(len(finite) / max(span, 1.0)))
    step = -np.log(beta) / m + np.log1p(up)
    below, above_it = (np.log(x) / step for x in (budget / finite.min(), max(finite.max() / budget, 1.0)))
    start, end = -int(np.ceil(below)), int(np.ceil(above_it))
    series = budget * (1 + up) ** (1 - start) * np.exp(step * np.arange(start, end + 1))
    return np.unique([*series, budget, np.inf])
