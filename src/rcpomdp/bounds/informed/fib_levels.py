"""The fast informed bound over budget levels: the state becomes known with the next observation."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray, IntArray
from ...kernels.bounds import branching
from ...kernels.bounds.branching import Branching
from ...model import CPOMDP
from ..one_step import one_step_size
from .effort import FULL_EFFORT, Effort
from .levels import Levels, monotone
from .mdp_levels import mdp_over_levels, mdp_q_over_levels, points_of
from .sweeps import Sweeps, branching_of


def fib_over_levels(
    model: CPOMDP, gain: FloatArray, levels: Levels, effort: Effort = FULL_EFFORT, value: FloatArray | None = None
) -> FloatArray:
    """F[l, s, a]: for every belief b of class κ, ``V̄(b, l) ≤ max_a Σ_s b(s) F_a(s, l)``; −inf where not allowed.

    Falls from the MDP's Q (from `value`, what `mdp_over_levels` gave), so it is a bound wherever it stops.
    """
    value = mdp_over_levels(model, gain, levels, effort) if value is None else value
    q = mdp_q_over_levels(model, gain, levels, value)
    size = one_step_size(model)
    n, n_actions = model.n_states, model.n_actions
    points = points_of(model, gain, levels)

    def fill(x: Branching, used: IntArray, first: int, last: int) -> None:
        branching.branch_states(model.arrays, x, key, weight, used, first, last)

    key, weight = np.empty(size.widest, dtype=np.int64), np.empty(size.widest)
    rows = branching_of(n, n_actions, size.support, fill, effort)
    if rows is not None:
        Sweeps(model, points, levels, rows, q, effort).settle(every=True)
    return monotone(q)
