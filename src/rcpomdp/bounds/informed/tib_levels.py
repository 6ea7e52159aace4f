"""The tighter informed bound over budget levels: the state becomes known one step late, or some steps late."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._types import FloatArray, IntArray
from ...kernels.bounds import branching
from ...kernels.bounds.branching import Branching
from ...kernels.bounds.level_sweeps import Points
from ...model import CPOMDP
from ..one_step import OneStep
from .effort import FULL_EFFORT, Effort
from .fib_levels import fib_over_levels
from .levels import Levels, monotone, peak
from .mdp_levels import point_values, points_of
from .sweeps import Sweeps, branching_of

_BELIEF_SLACK = 64.0  # equal beliefs differ by 1e-14, which is 45 roundings; once more for each step
_EPS = float(np.finfo(np.float64).eps)


class TighterBound(NamedTuple):
    """The tighter informed bound over budget levels."""

    q: FloatArray  # [L, n, A] of the beliefs so many steps after a known state
    corner: FloatArray  # [L, S, A] vectors: V̄(b, l) ≤ max_a Σ_s b(s) corner[l, s, a] for every belief b of a class
    delay: int  # steps

    def root(self, last: OneStep) -> FloatArray:
        """Bounds at the initial belief, [L]."""
        return np.asarray(self.q[:, last.root].max(axis=1))


class _Layer(NamedTuple):
    """States, or beliefs so many steps after a known one, and bounds at them."""

    points: Points
    q: FloatArray  # [L, n, A]
    step: OneStep | None  # that leads here


def tib_over_levels(
    model: CPOMDP,
    gain: FloatArray,
    levels: Levels,
    steps: Iterable[OneStep],
    effort: Effort = FULL_EFFORT,
    start: FloatArray | None = None,
    every: bool = False,
) -> TighterBound:
    """Q[l, b, a] of the beliefs after the last of the steps, and vectors over states that follow from it.

    Each step leads to the beliefs one step after those of the one before, the first to ``b_sao``. With belief ``b`` the
    mixture ``Σ_j w_j e_j`` of those one step earlier, and ``e_jao`` what follows these,
    ``Q(b, l, a) = g(b, a) + γ Σ_o max_a' Σ_j w_j P(o | e_j, a) Q(e_jao, l', a')``. At those one step earlier
    ``Q(e, l, a) = g(e, a) + γ Σ_o P(o | e, a) max_a' Q(e_ao, l', a')``, and so on back to the states.

    Falls from the vectors `start [L, S, A]` (what `fib_over_levels` gave, or any bounds), and from each step's bounds
    to those of the next, so it is a bound wherever it stops. Unless `every`, only the entries that some maximum takes
    are brought down as far as they go: no value depends on others. The next step is asked for when the bounds of the
    one before are there.
    """
    start = fib_over_levels(model, gain, levels, effort) if start is None else start
    points = points_of(model, gain, levels)
    layers = [_Layer(points, np.where(levels.allowed(points.cls), start, -np.inf), None)]
    for step in steps:
        layers.append(_next_layer(model, levels, layers[-1], step, len(layers), effort, every))
    corner = layers[-1].q
    for later, earlier in pairwise(reversed(layers)):
        assert later.step is not None
        at_once = point_values(model, earlier.points, levels, later.step, corner.max(axis=2), later.points.slack)
        corner = np.minimum(at_once, earlier.q)
    return TighterBound(layers[-1].q, corner, len(layers) - 1)


def _next_layer(
    model: CPOMDP, levels: Levels, before: _Layer, step: OneStep, delay: int, effort: Effort, every: bool
) -> _Layer:
    """The beliefs after one more step, and bounds at them that fall from those of the step before."""
    n, n_elements, n_actions = step.n_beliefs, len(before.points.gain), model.n_actions
    shares = sp.csr_array((step.weight, step.state, step.start), shape=(n, n_elements))
    slack = _BELIEF_SLACK * delay
    rounding = _EPS * (int(np.diff(step.start).max()) + slack)
    q = np.stack([shares @ vectors + rounding * peak(vectors) for vectors in before.q])
    first = step.start[:-1]
    ended = np.diff(step.start) == np.add.reduceat(before.points.ended[step.state], first, dtype=int)
    q[:, ended] = 0.0
    points = Points(before.points.cls[step.state[first]], np.asarray(shares @ before.points.gain), ended, slack)
    mixtures, widest = step.mixtures, step.widest(n_actions)

    def fill(x: Branching, used: IntArray, first: int, last: int) -> None:
        branching.branch_beliefs(mixtures, n_elements, n_actions, x, key, weight, used, first, last)

    key, weight = np.empty(widest, dtype=np.int64), np.empty(widest)
    x = branching_of(n, n_actions, step.branches(n_actions), fill, effort)
    if x is not None:
        Sweeps(model, points, levels, x, q, effort).settle(every)
    return _Layer(points, monotone(q), step)
