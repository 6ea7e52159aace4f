"""The distinct beliefs one step after a known state, ``b_sao(s') ∝ T(s, a, s') Z(s', a, o)``, or more steps after it.

They are what the tighter informed bound (Krale et al. 2025) keeps values at: a belief's successor b_ao is the mixture
of the b_sao with weights ``b(s) P(o | s, a)``. Noisy problems have few of them, since most states are alike; where
moves are deterministic each is a state. One step leads from states to the first ones, another one from these to
beliefs two steps after a known state, and so on: each is a mixture of those one step earlier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._types import FloatArray, IndexArray, IntArray
from ..deadline import charge
from ..kernels.bounds import one_step as kernels
from ..kernels.bounds.one_step import BELIEFS, POOL, Beliefs, Mixtures, Rows
from ..model import CPOMDP

_ENTRY = 2  # elementary steps for each of these, about
_SLICE = 2_000_000  # quadruples (s, a, s', o) between two looks at the deadline, about 0.05 s


class OneStep(NamedTuple):
    """The observations that follow each element and action, in rows ``a*N + e``, and the distinct beliefs after them.

    The N elements are states, or the beliefs of one step earlier.
    """

    ptr: IntArray  # [A*N + 1] where row a*N + e starts
    obs: IndexArray  # [entries] observation o, increasing within a row
    prob: FloatArray  # [entries] P(o | e, a) > 0
    belief: IndexArray  # [entries] index of the belief after (e, a, o)
    start: IntArray  # [n + 1] where the support of a belief starts
    state: IndexArray  # [sum of supports] its elements, increasing
    weight: FloatArray  # [sum of supports] their probabilities
    cls: IndexArray  # [n] class of a belief
    root: int  # index of the initial belief

    @property
    def n_beliefs(self) -> int:
        """Number of distinct beliefs, the initial one included."""
        return len(self.cls)

    @property
    def mixtures(self) -> Mixtures:
        """The beliefs as kernels take them."""
        rows = Rows(self.ptr, self.obs, self.prob, self.belief)
        return Mixtures(self.start, self.state, self.weight, rows)

    def branches(self, n_actions: int) -> int:
        """Number of (element, observation) that can follow the beliefs, over all actions."""
        return int(np.diff(self.ptr).reshape(n_actions, -1).sum(axis=0)[self.state].sum())

    def widest(self, n_actions: int) -> int:
        """The most (element, observation) that can follow one belief and action, or more."""
        following = np.diff(self.ptr).reshape(n_actions, -1).max(axis=0)
        return int(np.add.reduceat(following[self.state], self.start[:-1]).max())


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

    def fill(
        rows: Rows, beliefs: Beliefs, key: IntArray, weight: FloatArray, scaled: FloatArray, first: int, last: int
    ) -> int:
        return int(kernels.fill_rows(m, rows, beliefs, key, weight, scaled, first, last))

    initial = np.flatnonzero(model.initial_belief)
    root = initial, model.initial_belief[initial]
    return _filled(n, model.n_actions, size, fill, root, np.asarray(class_of, dtype=np.int32), deadline)


def later_beliefs(before: OneStep, n_actions: int, deadline: Callable[[], bool] | None = None) -> OneStep | None:
    """Find the distinct beliefs one step after those of `before`, and the initial one; None if the deadline is reached.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("tiger")
    >>> later = later_beliefs(one_step_beliefs(model, np.zeros(2, dtype=np.int32)), model.n_actions)
    >>> later.n_beliefs  # left, right, not knowing, and having heard one roar
    5
    """
    branches = before.branches(n_actions)
    size = OneStepSize(branches, branches, before.widest(n_actions))
    n_elements, mixtures = (len(before.ptr) - 1) // n_actions, before.mixtures

    def fill(
        rows: Rows, beliefs: Beliefs, key: IntArray, weight: FloatArray, scaled: FloatArray, first: int, last: int
    ) -> int:
        return int(kernels.fill_later_rows(mixtures, n_elements, rows, beliefs, key, weight, scaled, first, last))

    root = np.array([before.root]), np.ones(1)
    return _filled(before.n_beliefs, n_actions, size, fill, root, before.cls, deadline)


def _filled(
    n: int,
    n_actions: int,
    size: OneStepSize,
    fill: Callable[[Rows, Beliefs, IntArray, FloatArray, FloatArray, int, int], int],
    initial: tuple[IntArray, FloatArray],
    cls: IndexArray,
    deadline: Callable[[], bool] | None,
) -> OneStep | None:
    """Rows of n elements, filled between looks at the deadline, and the beliefs they lead to."""
    rows = Rows(
        ptr=np.zeros(n * n_actions + 1, dtype=np.int64),
        obs=np.empty(size.entries, dtype=np.int32),
        prob=np.empty(size.entries),
        belief=np.empty(size.entries, dtype=np.int32),
    )
    width = max(size.widest, n)
    key, weight, scaled = np.empty(width, dtype=np.int64), np.empty(width), np.empty(width)
    beliefs = _with_capacity(None, min(size.entries, 2 * n) + 1, min(size.support, 4 * n) + 2 * n)
    chunk = max(1, _SLICE * len(rows.ptr) // max(1, size.support))
    row, n_rows = 0, n * n_actions
    while row < n_rows:
        if deadline is not None and deadline():
            return None
        last = min(row + chunk, n_rows)
        charge(_ENTRY * (last - row) * size.support / n_rows)
        row = fill(rows, beliefs, key, weight, scaled, row, last)
        if row < last:
            beliefs = _with_capacity(beliefs, 2 * len(beliefs.hash), 2 * len(beliefs.state))
    support, shares = initial
    beliefs = _with_capacity(beliefs, len(beliefs.hash) + 1, len(beliefs.state) + len(support))
    root = kernels.intern(beliefs, support, n, shares, 0, len(support))
    found, pool = int(beliefs.used[BELIEFS]), int(beliefs.used[POOL])
    start, state = beliefs.start[: found + 1].copy(), beliefs.state[:pool].copy()
    filled = int(rows.ptr[-1])  # products that underflow, and equal beliefs, leave fewer than were counted
    return OneStep(
        rows.ptr,
        rows.obs[:filled].copy(),
        rows.prob[:filled].copy(),
        rows.belief[:filled].copy(),
        start,
        state,
        beliefs.weight[:pool].copy(),
        cls[state[start[:-1]]],
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
