"""Nodes for which others can stand in, taken out one after another.

To take out node i, every edge that leads to it is led to another node: the one that is worth most there,
``max_m μ_e·α_m`` over the nodes with ``w_m ≤ d_e``. What only i led to goes with it, so that the node comes first that
loses least per node that goes (`dominators`). Between two such steps, edges are led to better nodes where that
earns more. What these first-order estimates promise is measured anew each time, and taken back if it does not hold.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._types import FloatArray, IntArray
from ..policies.equal_nodes import NOWHERE, reached
from .dominators import dominated
from .measure import Measure

_TRIES = 25  # nodes that are tried in turn, unless one can be taken out
_FAR = 3.0  # times the loss that is allowed: an estimate of more is not tried
_ROUNDS = 6  # of better edges
_TINY = 1e-12  # of the reward's scale: no gain


class Goal(NamedTuple):
    """What must hold of a smaller controller."""

    reward: float  # that it earns at least
    limit: FloatArray  # [K] that no history spends more than
    keeps: Callable[[Measure, FloatArray], bool]  # whether it does, where the bounds of nodes do not prove it
    deadline: float


def thin_out(measure: Measure, goal: Goal) -> Measure:
    """Take out nodes until none can go."""
    by_nodes = measure.keeps(goal.limit)  # else any node is tried, and histories are walked to judge it
    if by_nodes:
        measure = _with_better_edges(measure, goal)
    while time.perf_counter() < goal.deadline and measure.actions.size > 1:
        smaller = _one_step(measure, goal, by_nodes)
        if smaller is None:
            break
        measure = smaller
    return measure


class _Choices:
    """The value of leading each edge to each node."""

    def __init__(self, measure: Measure, goal: Goal, by_nodes: bool) -> None:
        self.measure = measure
        n = measure.actions.size
        self.source, self.observation = np.nonzero(measure.successors != NOWHERE)
        self.target = measure.successors[self.source, self.observation]
        value = measure.arrivals[self.source, self.observation] @ measure.alpha.T  # [edges, n]
        self.now = value[np.arange(self.target.size), self.target]
        if by_nodes:
            left = measure.left(goal.limit)[:, self.source]
            fits = (measure.sure_cost[:, None] <= left[:, :, None]).all(axis=0)
            value[~fits] = -np.inf
        value[np.arange(self.target.size), self.target] = self.now
        self.value: FloatArray = value
        self.size = n

    def led(self, edges: IntArray, targets: IntArray) -> Measure:
        """The controller with some edges led elsewhere."""
        m = self.measure
        successors = m.successors.copy()
        successors[self.source[edges], self.observation[edges]] = targets
        # An observation that was impossible at a node may become possible: it then stays where it is.
        met = Measure(m.model, m.moves, m.actions, successors)
        actions, after = reached(m.actions, met.successors, 0)
        return Measure(m.model, m.moves, actions, after)


def _one_step(measure: Measure, goal: Goal, by_nodes: bool) -> Measure | None:
    """The controller without the node that costs least, and without what only that node led to."""
    choices = _Choices(measure, goal, by_nodes)
    n, spare = choices.size, measure.reward - goal.reward
    lists: list[list[int]] = [[] for _ in range(n)]
    for i, j in zip(choices.source.tolist(), choices.target.tolist(), strict=True):
        lists[i].append(j)
    first, last = dominated(lists)
    by_target = np.argsort(choices.target, kind="stable")
    start = np.searchsorted(choices.target[by_target], np.arange(n + 1))
    loss, edges_of, targets_of = np.full(n, np.inf), {}, {}
    for i in range(1, n):
        goes = (first >= first[i]) & (first < last[i])
        edges = by_target[start[i] : start[i + 1]]
        edges = edges[~goes[choices.source[edges]]]
        value = np.where(goes, -np.inf, choices.value[edges])
        loss[i] = (choices.now[edges] - value.max(axis=1)).sum()
        edges_of[i], targets_of[i] = edges, value.argmax(axis=1)
    share = np.where(loss > 0, loss / (last - first), loss)
    near = [i for i in np.argsort(share, kind="stable").tolist() if loss[i] <= _FAR * spare + _room(measure)]
    for i in near[:_TRIES]:
        smaller = choices.led(edges_of[i], targets_of[i])
        if smaller.actions.size >= n or time.perf_counter() > goal.deadline:
            continue
        if by_nodes and smaller.keeps(goal.limit):
            better = _with_better_edges(smaller, goal)
            is_needed = smaller.reward < goal.reward and better.actions.size < n
            if is_needed or better.actions.size <= smaller.actions.size:
                smaller = better
        if smaller.reward >= goal.reward and (smaller.keeps(goal.limit) or goal.keeps(smaller, goal.limit)):
            return smaller
    return None


def _with_better_edges(measure: Measure, goal: Goal) -> Measure:
    """Lead edges to nodes that are worth more there, as many at once as raise the reward and keep the limit."""
    for _ in range(_ROUNDS):
        choices = _Choices(measure, goal, by_nodes=True)
        gain = choices.value.max(axis=1) - choices.now
        edges = np.argsort(-gain, kind="stable")[: int((gain > _room(measure)).sum())]
        while edges.size and time.perf_counter() < goal.deadline:
            better = choices.led(edges, choices.value[edges].argmax(axis=1))
            if better.keeps(goal.limit) and better.reward > measure.reward + _room(measure):
                measure = better
                break
            edges = edges[: edges.size // 4]
        else:
            return measure
    return measure


def _room(measure: Measure) -> float:
    return _TINY * max(1e-300, float(np.abs(measure.model.reward).max()))
