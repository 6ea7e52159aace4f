"""What a search leaves behind, as the writer of a proof reads it: beliefs, what follows them, and bounds over budgets.

Nothing of it is taken on trust: it tells which beliefs and budgets the bound rests on, and values are worked out anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from ..._types import FloatArray, IndexArray, IntArray
from ...bounds.informed import Effort, budget_levels, fib_over_levels, tib_over_levels
from ...bounds.one_step import OneStep, one_step_beliefs
from ...kernels.arcs.rows import LENT
from ...model import CPOMDP
from ..arcs.few_beliefs import FewBeliefs
from ..arcs.search import BudgetSearch
from ..belief_graph.search import BeliefGraphSearch
from ..pointbased.search import PointBasedSearch
from .levels import TABLE_UP, closed_levels, first_budget

NONE = -1
_EXPLAINED = 1e-6  # relative: a bound that follows from others up to this is theirs
_RELATIVE = 1e-4  # least fall of a bound over one-step beliefs that counts


class Table(NamedTuple):
    """A bound at states, ``Q_a(s) ≥ (μR − λ·C)(s, a) + ...``, for budgets of one cost up to each level."""

    weights: FloatArray  # [1 + K] μ and λ
    cost: int
    level: FloatArray  # [T] increasing, the last inf
    value: FloatArray  # [T, S + L, A] in the model's own order of states, then of one-step beliefs if there are any


class Late(NamedTuple):
    """Beliefs one step after a known state."""

    of: IntArray  # their number by action, state and observation, where the latter is possible; empty if none are used
    belief: Any  # [L, S] sparse

    def extend(self, table: Table) -> Table:
        """A table of states with what follows from it at these beliefs."""
        if not self.of.size:
            return table
        late = np.stack([self.belief @ value for value in table.value])
        return table._replace(value=np.concatenate([table.value, late], axis=1))


class Graph(NamedTuple):
    """Beliefs and their edges."""

    first: IntArray  # [N, A] first edge of an action
    degree: IntArray  # [N, A] number of edges, 0 if it was not expanded
    edge_obs: IntArray | IndexArray
    edge_child: IntArray | IndexArray
    base: IntArray  # [N] ends of a belief's ray, or NONE
    tip: IntArray
    weight: FloatArray  # [N] of the base


class Evidence(Protocol):
    """What the writer asks a search."""

    model: CPOMDP
    graph: Graph
    tables: list[Table]
    late: Late
    grid: list[FloatArray]  # [K] budgets at which bounds are kept, increasing, the last inf

    def beliefs(self, i: IntArray) -> Any:
        """Beliefs as rows of a sparse matrix, in the model's own order of states."""

    def better_points(self, i: IntArray) -> IntArray:
        """Points of the sawtooth that bound beliefs in relaxation 0 as they are not by themselves, or NONE, [n]."""

    def exact_at(self, i: IntArray, budget: FloatArray) -> FloatArray:
        """Known bounds on V*, [n]; inf where none is known."""

    def relaxed_at(self, j: int, i: IntArray, budget: FloatArray) -> FloatArray:
        """Known bounds on relaxation j, [n]; inf where none is known but what tables tell."""


def of(search: Any) -> Evidence:
    """What a search leaves behind."""
    if isinstance(search, BudgetSearch):
        return _OfBudgetSearch(search)
    if isinstance(search, BeliefGraphSearch):
        return _OfGraphSearch(search)
    if isinstance(search, FewBeliefs):
        return _OfFewBeliefs(search)
    assert isinstance(search, PointBasedSearch)
    return _OfPointBasedSearch(search)


def no_late(model: CPOMDP) -> Late:
    """No one-step beliefs."""
    return Late(np.zeros(0, dtype=np.int64), sp.csr_array((0, model.n_states)))


def _rows(order: IntArray, n_states: int, state: Any, prob: Any, at: Any, at_prob: Any, size: Any) -> Any:
    """Beliefs from pools of states, numbered by class, and of probabilities."""
    ptr = np.concatenate([[0], np.cumsum(size)])
    inside = np.arange(ptr[-1]) - np.repeat(ptr[:-1], size)
    states = order[state[np.repeat(at, size) + inside]]
    rows = sp.csr_array((prob[np.repeat(at_prob, size) + inside], states, ptr), shape=(len(size), n_states))
    rows.sort_indices()
    return rows


def _place(values: FloatArray, budget: FloatArray) -> IntArray:
    """Place of the least of some values that is at least a budget, but for what the writer rounds up."""
    largest = values[np.isfinite(values)].max(initial=0.0)
    return np.minimum(np.searchsorted(values * (1 + 1e-6) + 2e-6 * largest, budget), len(values) - 1)


def _finite(value: FloatArray) -> FloatArray:
    """Values of which those that nothing can be paid for are never read."""
    return np.where(np.isfinite(value), value, 0.0)


class _OfGraphSearch:
    """A belief-graph search without budgets."""

    def __init__(self, search: BeliefGraphSearch) -> None:
        self.search, self.model = search, search.model
        store, n = search.store, int(search.store.counts["beliefs"][0])
        self.info = store.info[:n]
        count = np.where(store.edge[:n] != NONE, store.degree[:n], 0)
        self.graph = Graph(
            store.edge[:n],
            count,
            store.edge_obs,
            store.edge_child,
            *(self.info[name].copy() for name in ("base", "tip", "weight")),
        )
        upper, informed = self.info["upper"], store.informed[:n].max(axis=1)
        self._plain: FloatArray = np.where(upper < informed, upper, np.inf)
        self._sawtooth: dict[int, tuple[IntArray, Any]] = {}  # points of a class, and their beliefs
        self._better: dict[int, int] = {}  # `better_points` by belief
        self.order = search.classes.order
        self.late = no_late(self.model)
        weights = np.array([search.objective.reward, *search.objective.costs])
        self.tables = [Table(weights, 0, np.array([np.inf]), self._in_model_order(search.space.informed)[None])]
        self.grid = [np.array([np.inf]) for _ in range(self.model.n_costs)]

    def _in_model_order(self, vectors: FloatArray) -> FloatArray:
        return np.ascontiguousarray(vectors[self.search.classes.rank])

    def beliefs(self, i: IntArray) -> Any:
        store, info = self.search.store, self.info[i]
        return _rows(
            self.order, self.model.n_states, store.state, store.prob, info["states"], info["probs"], info["size"]
        )

    def better_points(self, i: IntArray) -> IntArray:
        for n in i[np.isfinite(self._plain[i])].tolist():
            if n not in self._better:
                self._better[n] = self._better_point(n)
        return np.array([self._better.get(n, NONE) for n in i.tolist()], dtype=np.int64)

    def _better_point(self, i: int) -> int:
        """The point by which belief i is bounded lowest, if what follows it, or its ray, tells less than is known."""
        store, upper = self.search.store, self.info["upper"]
        itself = store.informed[i].copy()
        for a in np.flatnonzero(self.graph.degree[i]).tolist():
            edges = slice(store.edge[i, a], store.edge[i, a] + store.degree[i, a])
            after = store.edge_prob[edges] @ upper[store.edge_child[edges]]
            itself[a] = min(itself[a], store.gain[i, a] + self.model.discount * after)
        known = float(itself.max())
        if known <= upper[i] + _EXPLAINED * abs(upper[i]):
            return NONE
        of = int(self.info[i]["cls"])
        if of not in self._sawtooth:
            points = store.point[: int(store.counts["points"][0])]
            mine = points[self.info["cls"][points] == of]
            self._sawtooth[of] = mine, self.beliefs(mine)
        mine, rows = self._sawtooth[of]
        if not len(mine):
            return NONE
        b = self.beliefs(np.array([i])).toarray()[0]
        share = np.minimum.reduceat(b[rows.indices] / rows.data, rows.indptr[:-1])
        share[mine == i] = 0.0
        drop = np.minimum(upper[mine, None] - store.informed[mine], 0.0)
        bound = (store.informed[i] + share[:, None] * drop).max(axis=1)
        return int(mine[bound.argmin()]) if bound.min() < known else NONE

    def exact_at(self, i: IntArray, budget: FloatArray) -> FloatArray:
        return np.full(len(i), np.inf)

    def relaxed_at(self, j: int, i: IntArray, budget: FloatArray) -> FloatArray:
        return self._plain[i]


class _OfBudgetSearch(_OfGraphSearch):
    """A belief-graph search under a budget."""

    def __init__(self, search: BudgetSearch) -> None:
        super().__init__(search.graph_search)
        self.budget_search, self.bounds, self.levels = search, search.bounds, search.levels
        self.filled = int(search.belief_plans.counts["filled"][0])  # beliefs that have bounds over levels yet
        one = np.array([np.inf])
        self.tables = [
            Table(np.array([1.0, *weights]), 0, one, self._in_model_order(vectors)[None])
            for weights, vectors in zip(search.multipliers, search._informed_vectors, strict=True)
        ]
        self.grid = [search.levels.value[k, : search.levels.n[k]] for k in range(self.model.n_costs)]

    def _level(self, budget: FloatArray) -> IntArray:
        level = np.zeros(len(budget), dtype=np.int64)
        for k, values in enumerate(self.grid):
            level += _place(values, budget[:, k]) * self.levels.stride[k]
        return level

    def _known(self, values: FloatArray, i: IntArray, budget: FloatArray) -> FloatArray:
        row = np.where(i < self.filled, self.bounds.row[i], NONE)
        return np.where(row >= LENT, values[np.maximum(row, 0), self._level(budget)], np.inf)

    def exact_at(self, i: IntArray, budget: FloatArray) -> FloatArray:
        ruled_out = (self.bounds.least[i] > budget).any(axis=1) & (i < self.filled)
        return np.where(ruled_out, -np.inf, self._known(self.bounds.upper, i, budget))

    def relaxed_at(self, j: int, i: IntArray, budget: FloatArray) -> FloatArray:
        if j >= self.bounds.hi.shape[1]:
            return np.full(len(i), np.inf)
        known = self._known(self.bounds.hi[:, j], i, budget)
        return np.minimum(known, super().relaxed_at(j, i, budget)) if j == 0 else known


class _OfBeliefPool:
    """Beliefs of a point-based search."""

    def __init__(self, search: PointBasedSearch) -> None:
        self.model, self.search = search.model, search
        self.late = no_late(search.model)
        b, n = search.parts.beliefs, int(search.parts.counts["beliefs"][0])
        self.info = b.info[:n]
        row = self.info["row"]
        first = b.edge[np.maximum(row, 0)].astype(np.int64)
        count = np.where((row[:, None] >= 0) & (first != NONE), b.degree[np.maximum(row, 0)], 0)
        none = np.full(n, NONE)
        self.graph = Graph(first, count.astype(np.int64), b.edge_obs, b.edge_child, none, none, np.zeros(n))

    def _in_model_order(self, vectors: FloatArray) -> FloatArray:
        return np.ascontiguousarray(vectors[..., self.search.classes.rank, :])

    def beliefs(self, i: IntArray) -> Any:
        b, info = self.search.parts.beliefs, self.info[i]
        order, n = self.search.classes.order, self.model.n_states
        return _rows(order, n, b.state, b.prob, info["offset"], info["offset"], info["size"].astype(np.int64))

    def better_points(self, i: IntArray) -> IntArray:
        return np.full(len(i), NONE)

    def relaxed_at(self, j: int, i: IntArray, budget: FloatArray) -> FloatArray:
        return np.full(len(i), np.inf)


class _OfFewBeliefs(_OfBeliefPool):
    """All beliefs there are, with bounds at each level."""

    def __init__(self, few: FewBeliefs) -> None:
        super().__init__(few.search)
        self.few = few
        plain = self._in_model_order(few.search.parts.informed.corner[0, -1])
        self.tables = [Table(np.eye(1, 1 + self.model.n_costs)[0], 0, np.array([np.inf]), plain[None])]
        self.grid = [np.array([np.inf]) for _ in range(self.model.n_costs)]
        for j, k in enumerate(few.limited.tolist()):
            self.grid[k] = np.append(few.grid.value[j, : few.grid.counts[j] - 1], np.inf)

    def exact_at(self, i: IntArray, budget: FloatArray) -> FloatArray:
        level = np.zeros(len(i), dtype=np.int64)
        for j, k in enumerate(self.few.limited.tolist()):
            level += _place(self.grid[k], budget[:, k]) * self.few.grid.stride[j]
        ruled_out = (self.few.mdp.need[i].min(axis=1) > budget[:, self.few.limited]).any(axis=1)
        return np.where(ruled_out, -np.inf, self.few.bounds.upper[i, level])


class _OfPointBasedSearch(_OfBeliefPool):
    """A point-based search: strips of levels at the beliefs that were met."""

    def __init__(self, search: PointBasedSearch) -> None:
        super().__init__(search)
        s, k = search.parts, self.model.n_costs
        plain = np.array([search.objective.reward, *search.objective.costs])
        one_step = one_step_beliefs(search.ordered, s.space.class_of) if s.informed.delay.any() else None
        if one_step is not None:
            self.late, self._late_rows = self._one_step(one_step)
        budgets = zip(s.informed.multiplier[1:], s.informed.cost[1:].tolist(), strict=True)
        self.tables = [self._informed(plain, 0, np.array([np.inf]), one_step)]
        self.tables += [self._informed(np.array([1.0, *w]), c, self._coarse(c), one_step) for w, c in budgets]
        self.grid = [s.levels.value[i, : s.levels.counts[i]] for i in range(k)]
        n = s.strips.info[: int(s.counts["strips"][0])]
        opened = np.flatnonzero(n["q"] != NONE)
        size = n["size"][opened].astype(np.int64)
        owner = np.repeat(opened, size)
        cell = n["at"][owner] + np.arange(len(owner)) - np.repeat(np.cumsum(size) - size, size)
        self._levels = [len(values) for values in self.grid] or [1]
        others = n["others"][owner]
        key = n["belief"][owner].astype(np.int64)
        for i in range(1, k):
            key = key * self._levels[i] + ((others >> ((i - 1) * s.levels.bits)) & ((1 << s.levels.bits) - 1))
        key = key * self._levels[0] + s.strips.level[cell]
        order = np.argsort(key)
        self._key, self._hi = key[order], s.strips.hi[cell[order]]

    def _coarse(self, k: int) -> FloatArray:
        """Budgets at which a table is kept."""
        f = self.search.parts.informed
        known = f.value[k, np.isfinite(f.value[k])]
        limit = float(self.search.budget[k])
        # A proof begins with a little more than the limit; levels of tables must be no less than those of its entries.
        more = limit * (1 + 2 * (first_budget(self.model) - 1))
        return closed_levels(known, limit, float(self.model.cost_discount[k]), more, TABLE_UP)

    def _one_step(self, one: OneStep) -> tuple[Late, IntArray]:
        """One-step beliefs in the model's own order of states, and their numbers in the search."""
        n, rank = self.model.n_states, self.search.classes.rank
        rows = (np.arange(self.model.n_actions)[:, None] * n + rank).ravel()
        size = np.diff(one.ptr)[rows]
        at = np.repeat(one.ptr[rows] - np.cumsum(size) + size, size) + np.arange(size.sum())
        used, late_of = np.unique(one.belief[at], return_inverse=True)
        belief: Any = sp.csr_array(
            (one.weight, self.search.classes.order[one.state], one.start), shape=(one.n_beliefs, n)
        )
        return Late(late_of.ravel().astype(np.int64), belief[used]), used

    def _informed(self, weights: FloatArray, k: int, level: FloatArray, one_step: OneStep | None) -> Table:
        """An informed bound over budgets, anew: levels are others, and what the search has may not have settled."""
        model, x = self.search.ordered, self.search.parts.space
        gain = weights[0] * model.reward - np.tensordot(weights[1:], model.cost, axes=1)
        floor = x.floor[..., k] if len(level) > 1 else np.zeros(x.floor.shape[:2])
        levels = budget_levels(level, floor, x.class_of, float(model.cost_discount[k]) if model.n_costs else 1.0)
        if one_step is None:
            return Table(weights, k, level, _finite(self._in_model_order(fib_over_levels(model, gain, levels))))
        found = tib_over_levels(model, gain, levels, [one_step], Effort(relative=_RELATIVE))
        value = np.concatenate([self._in_model_order(found.corner), found.q[:, self._late_rows]], axis=1)
        return Table(weights, k, level, _finite(value))

    def exact_at(self, i: IntArray, budget: FloatArray) -> FloatArray:
        if not self.search.limited.any():
            return np.full(len(i), np.inf)
        ruled_out = (self.search.parts.beliefs.least[i] > budget).any(axis=1)
        return np.where(ruled_out, -np.inf, self._at(0, i, budget))

    def relaxed_at(self, j: int, i: IntArray, budget: FloatArray) -> FloatArray:
        if not self.search.limited.any():
            return self._at(0, i, budget)
        return self._at(j + 1, i, budget) if j + 1 < self._hi.shape[1] else np.full(len(i), np.inf)

    def _at(self, mode: int, i: IntArray, budget: FloatArray) -> FloatArray:
        if not len(self._key):  # all was told at the root, before any strip
            return np.full(len(i), np.inf)
        key = i.astype(np.int64)
        for k in range(1, budget.shape[1]):
            key = key * self._levels[k] + _place(self.grid[k], budget[:, k])
        first = _place(self.grid[0], budget[:, 0]) if budget.shape[1] else np.zeros(len(i), dtype=np.int64)
        key = key * self._levels[0] + first
        at = np.minimum(np.searchsorted(self._key, key), len(self._key) - 1)
        fits = (self._key[at] >= key) & (self._key[at] // self._levels[0] == key // self._levels[0])
        return np.where(fits, self._hi[at, mode], np.inf)
