"""The tighter informed bound over budget levels: the state becomes known one step late."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._types import FloatArray, IntArray
from ...kernels.bounds import branching
from ...kernels.bounds.branching import Branching
from ...kernels.bounds.level_sweeps import Points
from ...kernels.bounds.one_step import Rows
from ...model import CPOMDP
from ..one_step import OneStep
from .effort import FULL_EFFORT, Effort
from .fib_levels import fib_over_levels
from .levels import Levels, monotone, peak
from .mdp_levels import state_values
from .sweeps import Sweeps, branching_of

_BELIEF_SLACK = 64.0  # equal beliefs differ by 1e-14, which is 45 roundings
_EPS = float(np.finfo(np.float64).eps)


class TighterBound(NamedTuple):
    """The tighter informed bound over budget levels."""

    q: FloatArray  # [L, n, A] of one-step beliefs
    corner: FloatArray  # [L, S, A] vectors: V̄(b, l) ≤ max_a Σ_s b(s) corner[l, s, a] for every belief b of a class

    def root(self, one_step: OneStep) -> FloatArray:
        """Bounds at the initial belief, [L]."""
        return np.asarray(self.q[:, one_step.root].max(axis=1))


def tib_size(model: CPOMDP, one_step: OneStep) -> int:
    """Most products that a sweep of `tib_over_levels` needs for each action and level."""
    following = np.diff(one_step.ptr).reshape(model.n_actions, model.n_states).sum(axis=0)
    return int(following[one_step.state].sum())


def tib_over_levels(
    model: CPOMDP,
    gain: FloatArray,
    levels: Levels,
    one_step: OneStep,
    effort: Effort = FULL_EFFORT,
    start: FloatArray | None = None,
    every: bool = False,
) -> TighterBound:
    """Q[l, b, a] of the one-step beliefs, and the vectors ``g(s, a) + γ Σ_o P(o | s, a) max_a' Q(b_sao, l', a')``.

    Falls from the vectors `start [L, S, A]` (what `fib_over_levels` gave), so it is a bound wherever it stops. Unless
    `every`, only the entries that some maximum takes are brought down as far as they go: no value depends on others.
    """
    start = fib_over_levels(model, gain, levels, effort) if start is None else start
    n, n_actions = one_step.n_beliefs, model.n_actions
    shares = sp.csr_array((one_step.weight, one_step.state, one_step.start), shape=(n, model.n_states))
    slack = _EPS * (int(np.diff(one_step.start).max()) + _BELIEF_SLACK)
    q = np.stack([shares @ vectors + slack * peak(vectors) for vectors in start])
    ended = np.diff(one_step.start) == np.add.reduceat(model.terminal[one_step.state], one_step.start[:-1], dtype=int)
    q[:, ended] = 0.0
    cls = levels.class_of[one_step.state[one_step.start[:-1]]]
    points = Points(cls, np.asarray(shares @ gain), ended, _BELIEF_SLACK)
    rows = Rows(one_step.ptr, one_step.obs, one_step.prob, one_step.belief)

    def fill(x: Branching, used: IntArray, first: int, last: int) -> None:
        support = one_step.start, one_step.state, one_step.weight
        branching.branch_beliefs(rows, *support, model.n_states, n_actions, x, key, weight, used, first, last)

    following = np.diff(one_step.ptr).reshape(n_actions, model.n_states).max(axis=0)
    widest = int(np.add.reduceat(following[one_step.state], one_step.start[:-1]).max())
    key, weight = np.empty(widest, dtype=np.int64), np.empty(widest)
    x = branching_of(n, n_actions, tib_size(model, one_step), fill, effort)
    if x is not None:
        Sweeps(model, points, levels, x, q, effort).settle(every)
    q = monotone(q)
    after = model.arrays._replace(t_ptr=one_step.ptr, t_next=one_step.belief, t_prob=one_step.prob, reward=gain)
    corner = state_values(model, after, levels, q.max(axis=2), _BELIEF_SLACK)
    return TighterBound(q, np.minimum(corner, start))
