"""The distinct beliefs one step after a known state, ``b_sao(s') ∝ T(s, a, s') Z(s', a, o)``.

They are what the tighter informed bound (Krale et al. 2025) keeps values at: a belief's successor b_ao is the mixture
of the b_sao with weights ``b(s) P(o | s, a)``. Noisy problems have few of them, since most states are alike; where
moves are deterministic each is a state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._types import FloatArray, IndexArray, IntArray
from ..kernels.bounds import one_step as kernels
from ..kernels.bounds.one_step import BELIEFS, POOL, Beliefs, Rows
from ..model import CPOMDP

_SLICE = 2_000_000  # quadruples (s, a, s', o) between two looks at the deadline, about 0.05 s


class OneStep(NamedTuple):
    """The observations that follow each state and action, in rows ``a*S + s``, and the distinct beliefs after them."""

    ptr: IntArray  # [A*S + 1] where row a*S + s starts
    obs: IndexArray  # [entries] observation o, increasing within a row
    prob: FloatArray  # [entries] P(o | s, a) > 0
    belief: IndexArray  # [entries] index of b_sao
    start: IntArray  # [n + 1] where the support of a belief starts
    state: IndexArray  # [sum of supports] its states, increasing
    weight: FloatArray  # [sum of supports] their probabilities
    cls: IndexArray  # [n] class of a belief
    root: int  # index of the initial belief

    @property
    def n_beliefs(self) -> int:
        """Number of distinct beliefs, the initial one included."""
        return len(self.cls)


class OneStepSize(NamedTuple):
    """Counts of the one-step beliefs of a model before equal ones are merged."""

    entries: int  # (s, a, o) that can be
    support: int  # (s, a, s', o) that can be: the sum of the supports
    widest: int  # the most (s', o) of one (s, a)


def one_step_size(model: CPOMDP) -> OneStepSize:
    """Count the entries and supports of the one-step beliefs, in one pass over the model's arrays.

    >>> import rcpomdp as rc
    >>> one_step_size(rc.problems.make("tiger"))
    OneStepSize(entries=12, support=20, widest=4)
    """
    return OneStepSize(*kernels.count(model.arrays, np.full(model.n_observations, kernels.NONE)))


def one_step_beliefs(model: CPOMDP, class_of: IndexArray, deadline: Callable[[], bool] | None = None) -> OneStep | None:
    """Find the distinct one-step beliefs of a model, and its initial belief; None if the deadline is reached first.

    >>> import rcpomdp as rc
    >>> found = one_step_beliefs(rc.problems.make("tiger"), np.zeros(2, dtype=np.int32))
    >>> found.n_beliefs, found.root  # left, right, and not knowing
    (3, 2)
    """
    m, n = model.arrays, model.n_states
    size = one_step_size(model)
    rows = Rows(
        ptr=np.zeros(n * model.n_actions + 1, dtype=np.int64),
        obs=np.empty(size.entries, dtype=np.int32),
        prob=np.empty(size.entries),
        belief=np.empty(size.entries, dtype=np.int32),
    )
    width = max(size.widest, n)
    key, weight, scaled = np.empty(width, dtype=np.int64), np.empty(width), np.empty(width)
    beliefs = _with_capacity(None, min(size.entries, 2 * n) + 1, min(size.support, 4 * n) + 2 * n)
    chunk = max(1, _SLICE * len(rows.ptr) // max(1, size.support))
    row, n_rows = 0, n * model.n_actions
    while row < n_rows:
        if deadline is not None and deadline():
            return None
        last = min(row + chunk, n_rows)
        row = kernels.fill_rows(m, rows, beliefs, key, weight, scaled, row, last)
        if row < last:
            beliefs = _with_capacity(beliefs, 2 * len(beliefs.hash), 2 * len(beliefs.state))
    initial = np.flatnonzero(model.initial_belief)
    beliefs = _with_capacity(beliefs, len(beliefs.hash) + 1, len(beliefs.state) + len(initial))
    root = kernels.intern(beliefs, initial, n, model.initial_belief[initial], 0, len(initial))
    found, pool = int(beliefs.used[BELIEFS]), int(beliefs.used[POOL])
    start, state = beliefs.start[: found + 1].copy(), beliefs.state[:pool].copy()
    filled = int(rows.ptr[-1])  # products that underflow leave fewer than were counted
    return OneStep(
        rows.ptr,
        rows.obs[:filled],
        rows.prob[:filled],
        rows.belief[:filled],
        start,
        state,
        beliefs.weight[:pool].copy(),
        np.asarray(class_of, dtype=np.int32)[state[start[:-1]]],
        int(root),
    )


def _with_capacity(old: Beliefs | None, n: int, pool: int) -> Beliefs:
    """Room for n beliefs whose supports have `pool` states together, with the old ones in it."""
    new = Beliefs(
        start=np.zeros(n + 1, dtype=np.int64),
        state=np.empty(pool, dtype=np.int32),
        weight=np.empty(pool),
        hash=np.empty(n, dtype=np.int64),
        table=np.full(2 ** int(np.ceil(np.log2(2 * n + 2))), kernels.NONE),
        used=np.zeros(2, dtype=np.int64),
    )
    if old is not None:
        for field in ("start", "state", "weight", "hash", "used"):
            kept = getattr(old, field)
            getattr(new, field)[: len(kept)] = kept
        kernels.rehash(new)
    return new
