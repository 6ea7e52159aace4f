"""The states that a controller can be in at each of its nodes: its reward and costs, and what its nodes can cost."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from .._types import AnyArray, BoolArray, FloatArray, IntArray
from ..model import CPOMDP
from ..policies import ControllerPolicy, StochasticControllerPolicy
from .worst import EPS, worst

_STEPS = 2_000  # of the policy, before what is left is solved for
_SOLVABLE = 20_000  # (node, state) pairs


class Totals(NamedTuple):
    """Expected reward and costs of a controller, [1 + K] each."""

    value: FloatArray
    error: FloatArray  # the value is off by no more than this
    size: FloatArray  # what the value would be if all that is earned and lost were added up without its sign

    def put(self, rows: Any, part: Totals) -> None:
        """Fill in some rows."""
        for mine, its in zip(self, part, strict=True):
            mine[rows] = its


def _at_most(share: float, totals: FloatArray) -> FloatArray:
    """A share of totals, of which some or the share may be infinite: nothing of what is infinite is nothing."""
    return np.array([share * total if share and total else 0.0 for total in totals.tolist()])


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
        model = self.model
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
        ways = [worst(c, parent, child, beta) for c, beta in zip(here, model.cost_discount.tolist(), strict=True)]
        over: BoolArray = np.asarray((here > model.arrays.step_limit[:, None]).any(axis=0))
        graph: Any = sp.csr_array((np.ones(parent.size), (parent, child)), shape=(n_nodes, n_nodes))
        while not np.array_equal(reached := over | (graph @ over.astype(np.float64) > 0), over):
            over = reached
        self.may_break = over  # [nodes] whether a step that costs too much may follow
        self.most = np.array([way.above for way in ways]).reshape(here.shape)

    def bound(self, node: int, live: AnyArray) -> FloatArray:
        """Sure cost after a node from any belief over these states, none of them terminal, [K]."""
        pairs = self.find(node * self.model.n_states + live.astype(np.int64))
        return np.where(self.costly[:, pairs].any(axis=1), self.most[:, node], 0.0)

    def totals(self) -> Totals:
        """Expected reward and costs: the flow of probability is followed."""
        model = self.model
        gain = np.concatenate([model.reward[None], model.cost])[:, self.state, self.action]
        discounts = np.append(model.discount, model.cost_discount)
        found = Totals(*(np.zeros(len(gain)) for _ in Totals._fields))
        if not self.size:
            return found
        for discount in np.unique(discounts).tolist():
            rows = np.flatnonzero(discounts == discount)
            if discount < 1:
                found.put(rows, self._flow(gain[rows], discount, None))
                continue
            for row in rows.tolist():  # only what leads to something is followed, or it would never end
                counts = (
                    np.ones(self.size, dtype=np.bool_) if row == 0 else self.costly[row - 1] & ~self._endless(row - 1)
                )
                if row > 0 and self._endless(row - 1)[: self.start.size].any():
                    found.value[row] = np.inf
                    continue
                found.put([row], self._flow(gain[row : row + 1], 1.0, counts))
        return found

    def _endless(self, k: int) -> BoolArray:
        """Pairs from which cost k may have to be paid again and again without end."""
        n, part = connected_components(self.matrix, connection="strong")
        moves = self.matrix.tocoo()
        closed = np.bincount(part, minlength=n) > 0
        closed[part[moves.coords[0][part[moves.coords[0]] != part[moves.coords[1]]]]] = False
        closed[part[self.matrix.sum(axis=1) < 1 - 1e-9]] = False  # there it ends
        pays = np.zeros(n, dtype=np.bool_)
        pays[part[self.model.cost[k, self.state, self.action] > 0]] = True
        endless: BoolArray = (closed & pays)[part]
        while True:
            reached = endless | (self.matrix @ endless.astype(np.float64) > 0)
            if (reached == endless).all():
                return endless
            endless = reached

    def _most_visits(self, counts: BoolArray) -> float:
        """The most steps that are expected among the pairs that count."""
        if np.isfinite(self.model.most_steps) or self.size > _SOLVABLE:
            return self.model.most_steps
        keep = sp.diags_array(counts.astype(np.float64))
        system = sp.csc_array(sp.identity(self.size, format="csc") - keep @ self.matrix)
        return float(splu(system).solve(counts.astype(np.float64)).max())

    def _flow(self, gain: FloatArray, gamma: float, counts: BoolArray | None) -> Totals:
        """Totals of ``gain [rows, pairs]`` that share a discount, over the pairs that count."""
        total, size = np.zeros(len(gain)), np.zeros(len(gain))
        most = 1 / (1 - gamma) if counts is None else self._most_visits(counts)
        largest = _at_most(most, np.abs(gain).max(axis=1))
        flow, tail, steps = np.zeros(self.size), np.full(len(gain), math.inf), 0
        flow[: self.start.size] = self.start
        backward = self.matrix.T
        if counts is not None:
            keep = sp.diags_array(counts.astype(np.float64))
            flow, backward = flow * counts, sp.csr_array(keep @ backward)
        while steps < _STEPS and (tail > 1e-13 * size).any():
            total += gain @ flow
            size += np.abs(gain) @ flow
            flow = gamma * (backward @ flow)
            tail, steps = _at_most(float(flow.sum()), largest), steps + 1
        if (tail > 1e-13 * size).any() and self.size <= _SOLVABLE:
            system = sp.csc_array(sp.identity(self.size, format="csc") - gamma * backward)
            visits = splu(system).solve(flow)
            total += gain @ visits
            size += np.abs(gain) @ np.abs(visits)
            tail = _at_most(float(np.abs(flow - system @ visits).sum()), largest)
        return Totals(total, tail + EPS * (steps + 8) * size, size)

    def expected_costs(self) -> tuple[FloatArray, FloatArray]:
        """Expected costs from each pair on, [K, pairs], and how far above them the truth may be, [K]."""
        if not self.size:
            return self.model.cost[:, self.state, self.action], np.zeros(self.model.n_costs)
        parts = [self._expected(k, float(beta)) for k, beta in enumerate(self.model.cost_discount)]
        return np.array([x for x, _ in parts]).reshape(-1, self.size), np.array([off for _, off in parts])

    def _expected(self, k: int, gamma: float) -> tuple[FloatArray, float]:
        gain, matrix, most = (
            self.model.cost[k, self.state, self.action],
            self.matrix,
            1 / (1 - gamma) if gamma < 1 else 0.0,
        )
        if gamma == 1:
            counts = self.costly[k] & ~self._endless(k)
            matrix, most = sp.csr_array(sp.diags_array(counts.astype(np.float64)) @ matrix), self._most_visits(counts)
        x = np.zeros_like(gain)
        if self.size <= _SOLVABLE:
            solve = splu(sp.csc_array(sp.identity(self.size, format="csc") - gamma * matrix)).solve
            x = solve(gain)
            # What is left over by each equation reaches as far as the chain goes on, not as far as 1/(1−γ).
            off = np.abs(gain + gamma * (matrix @ x) - x) + 8 * EPS * np.abs(x)
            error = 2 * float(np.abs(solve(off)).max())
            return np.where(self._endless(k), np.inf, x) if gamma == 1 else x, error
        for _ in range(_STEPS):
            after = gain + gamma * (matrix @ x)
            left = float(np.abs(after - x).max()) * gamma * most
            x = after
            if left <= 1e-12 * float(x.max()):
                break
        if gamma == 1:
            x = np.where(self._endless(k), np.inf, x)
        return x, left + 8 * EPS * float(x.max(initial=0.0, where=np.isfinite(x))) * most


def entries(pointer: AnyArray, rows: AnyArray) -> tuple[IntArray, IntArray]:
    """For sparse rows: the place in `rows` of each entry, and the entry's own place."""
    first = pointer[rows].astype(np.int64)
    length = pointer[rows + 1] - first
    owner = np.repeat(np.arange(rows.size), length)
    start = np.cumsum(length) - length
    return owner, np.arange(owner.size) + (first - start)[owner]
