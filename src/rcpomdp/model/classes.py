"""Observability classes: states that can ever share a belief's support, found from a flat model.

Unite the support of b_0; then, until nothing changes, for each class, action and observation, unite the
successors. Every reachable belief lies inside one class, so vectors and bounds can live per class: RockSample
splits into one class per cell, as if its position had been declared observed.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from .. import deadline
from .._types import BoolArray, FloatArray, IndexArray, IntArray
from ..kernels.arrays import ModelArrays
from . import CPOMDP
from .labels import Labels


class Classes(NamedTuple):
    """A partition of the states, and the numbering in which each class is contiguous."""

    class_of: IntArray  # [S] class of a state, in the model's own numbering
    order: IntArray  # [S] the state at each place of the new numbering
    rank: IntArray  # [S] the new number of each state: the inverse of `order`
    start: IntArray  # [n_classes + 1] class c is start[c]:start[c + 1] of the new numbering
    reachable: BoolArray  # [n_classes] False only for the last class, if some states cannot be reached

    @property
    def n_classes(self) -> int:
        """Number of classes, the one of unreachable states included."""
        return len(self.start) - 1

    @property
    def sizes(self) -> IntArray:
        """Number of states of each class."""
        sizes: IntArray = np.diff(self.start)
        return sizes


def observability_classes(model: CPOMDP) -> Classes:
    """The finest partition in which every belief reachable from b_0 lies inside one class.

    States that cannot be reached from b_0 are put together in a last class.

    >>> import rcpomdp as rc
    >>> rc.observability_classes(rc.problems.make("crs-4-4")).n_classes  # 25 cells and the end
    26
    """
    deadline.check()
    root, reachable = _close(model)
    deadline.check()
    root = np.where(reachable, root, model.n_states)
    _, first, class_of = np.unique(root, return_index=True, return_inverse=True)
    order = np.argsort(class_of, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    start = np.concatenate([[0], np.cumsum(np.bincount(class_of))])
    return Classes(class_of.astype(np.int64), order, rank, start, reachable[first])


def one_class(model: CPOMDP) -> Classes:
    """The coarsest partition, which holds for every model."""
    every, n = np.arange(model.n_states), model.n_states
    return Classes(np.zeros(n, dtype=np.int64), every, every, np.array([0, n]), np.ones(1, dtype=np.bool_))


def _close(model: CPOMDP) -> tuple[IntArray, BoolArray]:
    """The root of each state's class, and which states are reachable."""
    from ..kernels.classes import FULL, NONE, Partition, close

    m, n = model.arrays, model.n_states
    # One entry, and one pair, for each (s, a, s', o) at most; what is not used is never touched.
    row = m.t_next + n * np.repeat(np.arange(model.n_actions), np.diff(m.t_ptr[::n]))
    entries = int(np.diff(m.z_ptr)[row].sum())
    table = 2**16
    while True:
        partition = Partition(
            parent=np.arange(n),
            head=np.full(n, NONE),
            length=np.zeros(n, dtype=np.int64),
            label=np.empty(entries, dtype=np.int64),
            state=np.empty(entries, dtype=np.int64),
            link=np.empty(entries, dtype=np.int64),
            key=np.zeros(table, dtype=np.int64),
            entry=np.empty(table, dtype=np.int64),
            pairs=np.empty((entries, 2), dtype=np.int64),
            used=np.zeros(3, dtype=np.int64),
        )
        reachable = close(m, np.flatnonzero(model.initial_belief), partition)
        if not partition.used[FULL]:
            return partition.parent, reachable
        table *= 8


def in_class_order(model: CPOMDP, classes: Classes) -> CPOMDP:
    """The same model with its states renumbered so that each class is contiguous."""
    m, n = model.arrays, model.n_states
    if (classes.order == np.arange(n)).all():
        return model
    t_ptr, t_next, t_prob = _gather_rows(m.t_ptr, m.t_next, m.t_prob, classes.order, model.n_actions)
    z_ptr, z_obs, z_prob = _gather_rows(m.z_ptr, m.z_obs, m.z_prob, classes.order, model.n_actions)
    t_next = classes.rank[t_next].astype(np.int32)
    row = np.repeat(np.arange(len(t_ptr) - 1), np.diff(t_ptr))
    sorted_entries = np.argsort(row * n + t_next, kind="stable")
    arrays = ModelArrays(
        t_ptr,
        t_next[sorted_entries],
        t_prob[sorted_entries],
        z_ptr,
        z_obs,
        z_prob,
        np.ascontiguousarray(m.reward[classes.order]),
        np.ascontiguousarray(m.cost[:, classes.order]),
        m.cost_discount,
        m.step_limit,
        m.n_observations,
    )
    return model._changed(
        arrays=arrays,
        initial_belief=model.initial_belief[classes.order],
        terminal=model.terminal[classes.order],
        states=Labels.computed(n, _Reordered(model.states, classes.order), "state"),
    )


class _Reordered:
    """The label of a renumbered state."""

    def __init__(self, labels: Labels, order: IntArray) -> None:
        self._labels, self._order = labels, order

    def __call__(self, i: int) -> Hashable:
        return self._labels[int(self._order[i])]


def _gather_rows(
    pointer: IntArray, column: IndexArray, value: FloatArray, order: IntArray, n_actions: int
) -> tuple[IntArray, IndexArray, FloatArray]:
    """Rows a*S + order[i] at place a*S + i."""
    n = len(order)
    rows = (np.arange(n_actions)[:, None] * n + order[None, :]).ravel()
    length = np.diff(pointer)[rows]
    new_pointer = np.concatenate([[0], np.cumsum(length)])
    entry = np.arange(new_pointer[-1]) + np.repeat(pointer[:-1][rows] - new_pointer[:-1], length)
    return new_pointer, column[entry], value[entry]
