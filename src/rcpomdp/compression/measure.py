"""What a controller's nodes are worth, from where they are reached, and what may be spent there.

``α_n(s) = R(s, a_n) + γ Σ T Z α_{n_o}(s')`` for every node and state; ``μ_e(s)``, the discounted times that edge
``e = (n, o)`` leads to state s. A controller whose edge e leads to m in place of m' earns ``μ_e·(α_m' − α_m)`` less, to
first order. ``w_n = c̄_n + β max_o w_{n_o}`` bounds what follows a node, where c̄_n is the largest cost over the states
that it can meet. At node n at least d_n is left, where ``d = ĉ`` at the start and ``d_{n_o} ≤ (d_n − c̄_n) / β``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from .._types import BoolArray, FloatArray, IntArray
from ..model import CPOMDP
from ..policies import ControllerPolicy
from ..policies.equal_nodes import NOWHERE, closed

_SOLVABLE = 20_000  # pairs of node and state; more are iterated
_SWEEPS = 20_000
_ROOM = 1 + 1e-12  # in what is left, which is compared with a sum of rounded numbers


class Moves(NamedTuple):
    """The moves of an action from state to state, with what is observed, before the end."""

    source: IntArray
    observation: IntArray
    target: IntArray
    probability: FloatArray

    @classmethod
    def of(cls, model: CPOMDP, action: int) -> Moves:
        """Those that have a probability."""
        move, told = model.transition[action].tocoo(), model.observation[action]
        source, target = (axis.astype(np.int64) for axis in move.coords)
        goes_on = ~model.terminal[source] & ~model.terminal[target]
        source, target, p = source[goes_on], target[goes_on], move.data[goes_on]
        length = np.diff(told.indptr)[target]
        each = np.repeat(np.arange(target.size), length)
        place = np.arange(each.size) - np.repeat(np.cumsum(length) - length, length) + told.indptr[target][each]
        chance = p[each] * told.data[place]
        kept = chance > 0
        seen = told.indices[place].astype(np.int64)
        return cls(source[each][kept], seen[kept], target[each][kept], chance[kept])


class Measure:
    """A controller under measurement: actions [n], successors [n, O] with `NOWHERE` for what cannot be observed."""

    def __init__(self, model: CPOMDP, moves: list[Moves], actions: IntArray, successors: IntArray) -> None:
        self.model, self.moves, self.actions, self.given = model, moves, actions, successors
        n, n_states = actions.size, model.n_states
        after = closed(successors)
        rows, columns, data, edges = [], [], [], []
        for a in np.unique(actions).tolist():
            nodes, m = np.flatnonzero(actions == a)[:, None], moves[a]
            rows.append((nodes * n_states + m.source).ravel())
            columns.append((after[nodes, m.observation] * n_states + m.target).ravel())
            edges.append(((nodes * model.n_observations + m.observation) * n_states + m.target).ravel())
            data.append(np.broadcast_to(m.probability, (nodes.size, m.source.size)).ravel())
        self._rows, self._columns, self._edges = (np.concatenate(x) for x in (rows, columns, edges))
        self._data = np.concatenate(data)
        size = n * n_states
        self._matrix: Any = sp.csr_array((self._data, (self._rows, self._columns)), shape=(size, size))
        start = np.zeros(size)
        start[:n_states] = np.where(model.terminal, 0.0, model.initial_belief)
        self._start = start
        met = start > 0
        backward = self._matrix.T.tocsr()
        while not np.array_equal(more := met | (backward @ met.astype(np.float64) > 0), met):
            met = more
        self.met: BoolArray = met.reshape(n, n_states)

    @cached_property
    def successors(self) -> IntArray:
        """[n, O] with `NOWHERE` for observations that cannot be made where the node is met."""
        o, s = self.model.n_observations, self.model.n_states
        possible = np.zeros(self.given.size, dtype=np.bool_)
        possible[self._edges[self.met.ravel()[self._rows]] // s] = True
        return np.where(possible.reshape(-1, o), closed(self.given), NOWHERE)

    def _solve(self, matrix: Any, right: FloatArray) -> FloatArray:
        """``x = right + γ·matrix·x``."""
        gamma = self.model.discount
        if right.size <= _SOLVABLE:
            system = sp.csc_array(sp.identity(right.size, format="csc") - gamma * matrix)
            return np.asarray(splu(system).solve(right))
        x, enough = right, 1e-13 * float(np.abs(right).max()) / self.model.fade
        for _ in range(_SWEEPS):
            new: FloatArray = right + gamma * (matrix @ x)
            if float(np.abs(new - x).max()) * (gamma / self.model.fade) <= enough:
                return new
            x = new
        return x

    @cached_property
    def _visits(self) -> FloatArray:
        """[n · S] discounted times that a node is visited in a state."""
        visits, met = np.zeros(self._start.size), np.flatnonzero(self.met.ravel())
        visits[met] = self._solve(self._matrix[met][:, met].T, self._start[met])
        return visits

    @cached_property
    def reward(self) -> float:
        """Expected discounted reward."""
        return float(self._visits @ self._gain)

    @property
    def _gain(self) -> FloatArray:
        return np.ascontiguousarray(self.model.reward[:, self.actions].T).ravel()

    @cached_property
    def alpha(self) -> FloatArray:
        """[n, S]."""
        return self._solve(self._matrix, self._gain).reshape(self.met.shape)

    @cached_property
    def arrivals(self) -> FloatArray:
        """[n, O, S] μ."""
        flow = self.model.discount * self._visits[self._rows] * self._data
        shape = (*self.successors.shape, self.model.n_states)
        found: FloatArray = np.bincount(self._edges, flow, minlength=int(np.prod(shape))).reshape(shape)
        return found

    @cached_property
    def _cost(self) -> FloatArray:
        """[K, n] c̄."""
        cost = self.model.cost[:, :, self.actions].transpose(0, 2, 1)
        return np.asarray(np.where(self.met, cost, 0.0).max(axis=2))

    @cached_property
    def sure_cost(self) -> FloatArray:
        """[K, n] w; inf where it is not known."""
        beta, w = self.model.cost_discount[:, None], np.zeros(self._cost.shape)
        for _ in range(max(1_000, 2 * self.actions.size)):
            after = np.concatenate([w, np.zeros((len(w), 1))], axis=1)[:, self.successors].max(axis=2)
            new: FloatArray = self._cost + beta * after
            rise = np.max(new - w, axis=1, keepdims=True, initial=0.0)
            w = new
            if (rise <= 1e-15 * w.max(axis=1, keepdims=True)).all():
                return w
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(rise > 0, w + rise * beta / (1 - beta), w))

    def left(self, limit: FloatArray) -> FloatArray:
        """[K, n] the least that may be left after a node's step, if `limit` [K] is left at the start."""
        w = self.sure_cost
        d = np.full(w.shape, np.inf)
        d[:, 0] = limit
        source, o = np.nonzero(self.successors != NOWHERE)
        target = self.successors[source, o]
        for _ in range(2 * self.actions.size):
            new = d.copy()
            for row, after in zip(new, self._after(d)[:, source], strict=True):
                np.minimum.at(row, target, after)
            new = np.maximum(new, w)  # below this it falls by rounding alone
            if np.allclose(new, d, rtol=1e-13, atol=0.0):
                break
            d = new
        return self._after(d) * _ROOM

    def _after(self, left: FloatArray) -> FloatArray:
        """``(d − c̄) / β``; no limit where nothing is carried on (β = 0)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            after: FloatArray = (left - self._cost) / self.model.cost_discount[:, None]
        return np.where(np.isnan(after), np.inf, after)

    def keeps(self, limit: FloatArray) -> bool:
        """True if the bounds of nodes prove that no history spends more."""
        return bool((self.sure_cost[:, 0] <= limit).all())

    def policy(self) -> ControllerPolicy:
        """The controller as it is."""
        return ControllerPolicy(self.model, self.actions, closed(self.successors))
