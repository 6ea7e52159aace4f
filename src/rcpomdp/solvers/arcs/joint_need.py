"""Budgets that can each be kept, and not together.

If a policy keeps all budgets, then for every ``λ ≥ 0`` its expected cost ``Σ_k λ_k C_k`` is at most ``Σ_k λ_k ĉ_k``.
What no policy falls short of, even if it always knew the state, bounds the former from below; where that exceeds the
latter for some λ, no policy keeps the budgets.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ..._types import FloatArray
from ...model import CPOMDP

_SHARES = (0.25, 0.5, 0.75)  # of the first of two costs
_ROUNDING = 1e-9
_MOST_WORK = 3e8  # entries of matrices times vectors
_SETTLED = 1e-3  # share of a discounted sum that further sweeps could add
_MOST_SWEEPS, _MOST_CALLS = 2000, 20_000  # sweeps, and sweeps times actions


def jointly_infeasible(model: CPOMDP) -> bool:
    """True if a weighted sum of the costs proves that no policy keeps all budgets.

    >>> import rcpomdp as rc
    >>> jointly_infeasible(rc.problems.make("delivery"))
    False
    """
    budget = np.asarray(model.spending_limit)
    limited = np.flatnonzero((budget > 0) & np.isfinite(budget))
    if limited.size < 2:
        return False
    weights = shares(limited.size) / budget[limited]  # [L, K]; budgets add up to 1
    cost = np.tensordot(weights, model.cost[limited], axes=1).transpose(2, 1, 0)  # [A, S, L]
    entries = sum(matrix.nnz for matrix in model.transition) * len(weights)
    settled = model.steps_until(_SETTLED) + 1
    sweeps = int(min(settled, _MOST_SWEEPS, _MOST_CALLS / model.n_actions, _MOST_WORK / max(entries, 1)))
    least = np.zeros(cost.shape[1:])
    for _ in range(sweeps):
        least = np.min(
            [cost[a] + model.discount * (matrix @ least) for a, matrix in enumerate(model.transition)], axis=0
        )
    return bool(((model.initial_belief @ least) * (1 - _ROUNDING) > 1).any())


def shares(n: int) -> FloatArray:
    """Shares of n costs that add up to 1: all alike, and two at a time."""
    found = [np.full(n, 1 / n)]
    for i, j in combinations(range(n), 2):
        for share in _SHARES:
            row = np.zeros(n)
            row[i], row[j] = share, 1 - share
            found.append(row)
    return np.array(found)
