"""The states that a controller can be in at each of its nodes: its reward and costs, and what its nodes can cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from .._types import AnyArray, BoolArray, FloatArray, IntArray
from ..model import CPOMDP
from ..policies import ControllerPolicy, StochasticControllerPolicy
from .worst import EPS, worst

_STEPS = 2_000  # of the policy, before what is left is solved for
_SOLVABLE = 20_000  # (node, state) pairs


class Chain:
    """The (node, state) pairs that a controller can reach before the end, and what each can still cost."""

    def __init__(self, model: CPOMDP, policy: ControllerPolicy | StochasticControllerPolicy) -> None:
        self.model, self.policy = model, policy
        self._lots = policy if isinstance(policy, StochasticControllerPolicy) else None
        n = model.n_states
        support = np.flatnonzero((model.initial_belief > 0) & ~model.terminal)
        nodes, weights = self._starts()
        level = (nodes[:, None] * n + support.astype(np.int64)).ravel()
        self.start = np.outer(weights, model.initial_belief[support]).ravel()  # [those pairs] come first
        chunks: list[IntArray] = []  # all pairs so far, in sorted pieces whose sizes fall off
        levels, edges, before = [], [], 0
        while level.size:
            levels.append(level)
            chunks.append(level)
            while len(chunks) > 1 and chunks[-2].size <= 2 * chunks[-1].size:
                chunks.append(np.sort(np.concatenate([chunks.pop(), chunks.pop()])))
            source, target, probability = self._follow(level)
            edges.append((source + before, target, probability))
            before += level.size
            level = np.unique(target)
            for chunk in chunks:
                level = level[chunk[np.minimum(np.searchsorted(chunk, level), chunk.size - 1)] != level]
        keys = np.concatenate([level, *levels])
        self._order = np.argsort(keys)
        self._sorted = keys[self._order]
        self.node, self.state = np.divmod(keys, n)
        rows, columns, data = (np.concatenate([level[:0], *(e[i] for e in edges)]) for i in range(3))
        self.size = keys.size
        self.matrix: Any = sp.csr_array((data, (rows, self.find(columns))), shape=(keys.size, keys.size))
        self.action = policy.actions[self.node]
        self._bound_costs()

    def _starts(self) -> tuple[IntArray, FloatArray]:
        """The nodes of the first step and their probabilities."""
        if self._lots is None:
            return np.array([self.policy.start]), np.ones(1)
        _, node, weight = self._lots.drawn(self.policy.start)
        once, place = np.unique(node, return_inverse=True)
        total = np.zeros(once.size)
        np.add.at(total, place.reshape(-1), weight)
        return once, total

    def followers(self, node: int, observation: int) -> list[int]:
        """The nodes that may follow one."""
        after = self.policy.successors[node, observation]
        return [int(after)] if self._lots is None else np.unique(self._lots.drawn(after).node).tolist()

    def _follow(self, level: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """(place in the level, pair that follows, probability) of every move before the end."""
        model, n = self.model, self.model.n_states
        node, state = np.divmod(level, n)
        action = self.policy.actions[node]
        found: list[tuple[IntArray, IntArray, FloatArray]] = []
        for a in np.unique(action).tolist():
            here = np.flatnonzero(action == a)
            t, z = model.transition[a], model.observation[a]
            moved, entry = entries(t.indptr, state[here])
            lands, p = t.indices[entry], t.data[entry]
            goes_on = ~model.terminal[lands]
            moved, lands, p = moved[goes_on], lands[goes_on], p[goes_on]
            seen, entry = entries(z.indptr, lands)
            source = here[moved[seen]]
            after = self.policy.successors[node[source], z.indices[entry]]
            lands, p = lands[seen], p[seen] * z.data[entry]
            if self._lots is not None:
                owner, after, weight = self._lots.drawn(after)
                source, lands, p = source[owner], lands[owner], p[owner] * weight
            found.append((source, after * n + lands, p))
        return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))  # type: ignore[return-value]  # three

    def find(self, keys: IntArray) -> IntArray:
        """Places of pairs ``node · S + state`` that are in the chain."""
        return self._order[np.searchsorted(self._sorted, keys)]

    def _bound_costs(self) -> None:
        """Find the pairs that can reach a cost at all, [K, pairs], and the most that can follow a node, [K, nodes]."""
        model, gamma = self.model, self.model.discount
        cost = model.cost[:, self.state, self.action]
        self.costly: BoolArray = cost > 0
        for costly in self.costly:
            while True:
                reached = costly | (self.matrix @ costly.astype(np.float64) > 0)
                if (reached == costly).all():
                    break
                costly[:] = reached
        n_nodes = self.policy.actions.size
        here = np.zeros((model.n_costs, n_nodes))
        for k in range(model.n_costs):
            np.maximum.at(here[k], self.node, cost[k])
        moves = self.matrix.tocoo()
        links = np.unique(self.node[moves.coords[0]] * n_nodes + self.node[moves.coords[1]])
        parent, child = np.divmod(links, n_nodes)
        self.most = np.array([worst(c, parent, child, gamma).above for c in here]).reshape(here.shape)

    def bound(self, node: int, live: AnyArray) -> FloatArray:
        """Sure cost after a node from any belief over these states, none of them terminal, [K]."""
        pairs = self.find(node * self.model.n_states + live.astype(np.int64))
        return np.where(self.costly[:, pairs].any(axis=1), self.most[:, node], 0.0)

    def totals(self) -> tuple[FloatArray, float]:
        """Expected reward and costs, [1 + K], and how far off they may be: the flow of probability is followed."""
        model, gamma = self.model, self.model.discount
        gain = np.concatenate([model.reward[None], model.cost])[:, self.state, self.action]
        total, size = np.zeros(len(gain)), np.zeros(len(gain))
        if not self.size:
            return total, 0.0
        largest = float(np.abs(gain).max()) / (1 - gamma)
        flow, tail, steps = np.zeros(self.size), math.inf, 0
        flow[: self.start.size] = self.start
        backward = self.matrix.T
        while steps < _STEPS and tail > 1e-13 * float(size.max()):
            total += gain @ flow
            size += np.abs(gain) @ flow
            flow = gamma * (backward @ flow)
            tail, steps = float(flow.sum()) * largest, steps + 1
        if tail > 1e-13 * float(size.max()) and self.size <= _SOLVABLE:
            system = sp.csc_array(sp.identity(self.size, format="csc") - gamma * backward)
            visits = splu(system).solve(flow)
            total += gain @ visits
            size += np.abs(gain) @ np.abs(visits)
            tail = float(np.abs(flow - system @ visits).sum()) * largest
        return total, tail + EPS * (steps + 8) * float(size.max())

    def expected_costs(self) -> tuple[FloatArray, FloatArray]:
        """Expected costs from each pair on, [K, pairs], and how far above them the truth may be, [K]."""
        gamma = self.model.discount
        gain = self.model.cost[:, self.state, self.action].T
        if not self.size:
            return gain.T, np.zeros(self.model.n_costs)
        x = np.zeros_like(gain)
        if self.size <= _SOLVABLE:
            solve = splu(sp.csc_array(sp.identity(self.size, format="csc") - gamma * self.matrix)).solve
            x = solve(gain)
            # What is left over by each equation reaches as far as the chain goes on, not as far as 1/(1−γ).
            off = np.abs(gain + gamma * (self.matrix @ x) - x) + 8 * EPS * np.abs(x)
            return x.T, 2 * np.abs(solve(off)).max(axis=0)
        for _ in range(_STEPS):
            after = gain + gamma * (self.matrix @ x)
            left: FloatArray = np.abs(after - x).max(axis=0) * gamma / (1 - gamma)
            x = after
            if (left <= 1e-12 * x.max(axis=0)).all():
                break
        return x.T, left + 8 * EPS * x.max(axis=0) / (1 - gamma)


def entries(pointer: AnyArray, rows: AnyArray) -> tuple[IntArray, IntArray]:
    """For sparse rows: the place in `rows` of each entry, and the entry's own place."""
    first = pointer[rows].astype(np.int64)
    length = pointer[rows + 1] - first
    owner = np.repeat(np.arange(rows.size), length)
    start = np.cumsum(length) - length
    return owner, np.arange(owner.size) + (first - start)[owner]
