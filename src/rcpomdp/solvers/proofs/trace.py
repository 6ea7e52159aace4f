"""The beliefs and budgets that a bound rests on, from the initial belief on.

Starting at the root, an action is followed where a table alone does not bound it as low as the search has, and what
follows is looked up where the search has bounded it best: exactly, in a relaxation, or between the ends of its ray.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._types import BoolArray, FloatArray, IntArray
from ...model import CPOMDP
from ...verification.inequalities import growth_of_twins, lasting
from ...verification.proof import EXACT
from .evidence import NONE, Evidence
from .levels import UP, closed_levels

_SAME = 1e-6  # relative: budgets that differ by less become one, the larger
_DEEPEST = 4  # rays upon rays


class Trace(NamedTuple):
    """Entries and covers of a proof, by the beliefs' numbers in the search."""

    point: IntArray  # [E]
    mode: IntArray  # [E]
    budget: FloatArray  # [E, K]
    covers: dict[tuple[int, int, int, tuple[int, ...]], None]
    known: FloatArray  # [E] bounds of the search
    steps: dict[tuple[int, int, int], None]  # modes, points and actions that are followed


class Tracer:
    """Follows what a bound rests on."""

    def __init__(
        self,
        model: CPOMDP,
        evidence: Evidence,
        class_of: IntArray,
        tol: float,
        least: float,
        room: int,
        lifts: bool,
    ) -> None:
        self.model, self.e, self.class_of, self.tol = model, evidence, class_of, tol
        self.floor = np.full((model.n_costs, int(class_of.max()) + 1, model.n_actions), np.inf)
        for k in range(model.n_costs):
            np.minimum.at(self.floor[k], class_of, model.cost[k])
        self.idle: BoolArray = self.floor[:, np.unique(class_of)].max(axis=(1, 2), initial=0.0) == 0  # [K]
        self.growth = growth_of_twins(model) * (1 + 1e-14)
        self.cap = self.model.cost.max(axis=(1, 2), initial=0.0) * lasting(self.model)
        self.seen: dict[tuple[Any, ...], None] = {}  # entries
        self.covers: dict[tuple[int, int, int, tuple[int, ...]], None] = {}
        self.steps: dict[tuple[int, int, int], None] = {}
        self.depth = 0
        self.levels = [
            closed_levels(grid[grid >= least * limit], float(limit), float(beta))
            for grid, limit, beta in zip(self.e.grid, self.model.spending_limit, self.model.cost_discount, strict=True)
        ]
        self.lifts = lifts
        self.room = [room if len(grid) > 1 else 0 for grid in self.e.grid]
        self.pending: list[tuple[int, IntArray, FloatArray]] = []

    def run(self, root: int, mode: int, budget: FloatArray, most: int) -> Trace:
        """All that the bound of a belief with a budget rests on, or so many entries of it."""
        self.slack = self.lift = self.tol
        self._push(mode, np.array([root]), budget.reshape(1, -1))
        while self.pending and len(self.seen) < most:
            layer, self.pending = self.pending, []
            self.depth += 1
            self.lift = self.tol * self.model.fade * self.model.discount ** (-self.depth / 2)
            for m in sorted({part[0] for part in layer}):
                self._expand(m, *(np.concatenate([p[i] for p in layer if p[0] == m]) for i in (1, 2)))
            self.slack /= self.model.discount
        keys = list(self.seen)
        budgets = np.array([key[2:] for key in keys], dtype=np.float64).reshape(len(keys), self.model.n_costs)
        point, modes = np.array([k[0] for k in keys]), np.array([k[1] for k in keys])
        known = np.full(len(keys), np.inf)
        for m in np.unique(modes).tolist():
            known[modes == m] = self._known(m, point[modes == m], budgets[modes == m])
        return Trace(point, modes, budgets, self.covers, known, self.steps)

    def _known(self, mode: int, point: IntArray, budget: FloatArray) -> FloatArray:
        if mode != EXACT:
            return self._relaxed_at(mode, point, budget)
        known = self.e.exact_at(point, budget)
        for j in self._relaxations(1.0):
            known = np.minimum(known, self._relaxed_at(j, point, budget) + self._allowance(j, budget))
        return known

    def _relaxed_at(self, j: int, i: IntArray, budget: FloatArray) -> FloatArray:
        """Bounds of the search on relaxation j; a budget that it never spends counts for nothing."""
        return self.e.relaxed_at(j, i, np.where(self.idle, 0.0, budget))

    def _lifted(self, mode: int, point: IntArray, budget: FloatArray) -> FloatArray:
        """The largest budgets with which the bound is hardly higher: many budgets become one."""

        def known(of: FloatArray) -> FloatArray:
            return self.e.exact_at(point, of) if mode == EXACT else self._relaxed_at(mode, point, of)

        most = known(budget) + self.lift
        most = np.where(np.isfinite(most), most, -np.inf)
        lifted = budget.copy()
        for k, values in enumerate(self.levels):
            low, high = np.searchsorted(values, lifted[:, k]), np.full(len(point), len(values) - 1)
            trial = lifted.copy()
            while (low < high).any():
                middle = (low + high + 1) // 2
                trial[:, k] = values[middle]
                fits = known(trial) <= most
                low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
            lifted[:, k] = np.maximum(lifted[:, k], values[low])
        return lifted

    def _push(self, mode: int, point: IntArray, budget: FloatArray) -> None:
        if mode != EXACT:
            budget = np.where(self.idle, np.inf, budget)
        if self.depth and self.lifts:
            budget = self._lifted(mode, point, budget)
        fresh = []
        for n, key in enumerate(zip(point.tolist(), *budget.T.tolist(), strict=True)):
            entry = (key[0], mode, *key[1:])
            if entry not in self.seen:
                self.seen[entry] = None
                fresh.append(n)
        if fresh:
            self.pending.append((mode, point[fresh], budget[fresh]))

    def _round(self, budget: FloatArray) -> FloatArray:
        """Budgets rounded up to levels; the first few that are met become levels of their own."""
        rounded = budget.copy()
        for k in range(len(self.levels)):
            values, d = self.levels[k], budget[:, k]
            above = values[np.searchsorted(values, d)]
            far = np.unique(d[above > d * (1 + _SAME)])
            if far.size and self.room[k] > 0:
                new = far[: self.room[k]] * (1 + UP)
                self.room[k] -= len(new)
                self.levels[k] = values = np.union1d(values, new)
                above = values[np.searchsorted(values, d)]
            rounded[:, k] = above
        return rounded

    def _left(self, budget: FloatArray, cost: FloatArray, growth: float) -> FloatArray:
        beta = self.model.cost_discount
        with np.errstate(invalid="ignore"):
            left = np.where(np.isinf(budget), np.inf, np.maximum(budget - cost, 0.0) / beta * (1 + 1e-15) * growth)
        return np.where((cost == 0) & (beta == 1) & (growth == 1), budget, left)

    def _table(self, j: int, rows: Any, budget: FloatArray) -> FloatArray:
        """Bounds of actions by a table, [n, A]."""
        table = self.e.tables[j]
        at = np.searchsorted(table.level, budget[:, table.cost]) if budget.shape[1] else np.zeros(len(budget), int)
        bound = np.empty((rows.shape[0], self.model.n_actions))
        for t in np.unique(at).tolist():
            bound[at == t] = rows[np.flatnonzero(at == t)] @ table.value[t, : self.model.n_states]
        return bound

    def _allowance(self, j: int, budget: FloatArray) -> FloatArray:
        return np.asarray(np.minimum(budget, self.cap) @ self.e.tables[j].weights[1:])

    def _relaxations(self, mu: float) -> list[int]:
        return [j for j, table in enumerate(self.e.tables) if table.weights[0] == mu]

    def _expand(self, mode: int, point: IntArray, budget: FloatArray) -> None:
        """Follow the actions of entries of one mode that a table does not bound low enough."""
        rows = self.e.beliefs(point)
        cls = self.class_of[rows.indices[rows.indptr[:-1]]]
        floors = self.floor[:, cls]  # [K, n, A]
        costs = np.stack([rows @ c for c in self.model.cost]) if self.model.n_costs else floors
        spent = floors if mode != EXACT else costs
        able = np.ones((len(point), self.model.n_actions), dtype=np.bool_)
        for k in range(self.model.n_costs):
            able &= spent[k] <= np.minimum(budget[:, k], self.model.arrays.step_limit[k])[:, None] * (1 + 1e-9)
        if mode == EXACT:
            ways = self._relaxations(1.0)
            hint = np.min([self._table(j, rows, budget) + self._allowance(j, budget)[:, None] for j in ways], axis=0)
            known = self.e.exact_at(point, budget)
            for j in ways:
                relaxed = self._relaxed_at(j, point, budget) + self._allowance(j, budget)
                best = relaxed <= known
                known = np.minimum(known, relaxed)
                if best.any():
                    self._push(j, point[best], budget[best])
            # What a relaxation bounds as low needs no step of its own, but one may bound it still lower.
        else:
            hint, known = self._table(mode, rows, budget), self._relaxed_at(mode, point, budget)
        for a in range(self.model.n_actions):
            need = able[:, a] & (self.e.graph.degree[point, a] > 0) & (hint[:, a] > known + self.slack)
            at = np.flatnonzero(need)
            if at.size:
                self.steps.update(dict.fromkeys((mode, i, a) for i in point[at].tolist()))
                after = self._left(budget[at], spent[:, at, a].T, self.growth if mode == EXACT else 1.0)
                self._follow(mode, point[at], self._round(after), a)

    def _follow(self, mode: int, point: IntArray, budget: FloatArray, a: int) -> None:
        g = self.e.graph
        count = g.degree[point, a]
        owner = np.repeat(np.arange(len(point)), count)
        edge = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count) + g.first[point, a][owner]
        goes_on = ~self._is_over(g.edge_child[edge].astype(np.int64))
        edge, owner = edge[goes_on], owner[goes_on]
        child, obs, left = g.edge_child[edge].astype(np.int64), g.edge_obs[edge], budget[owner]
        if mode != EXACT:
            self._mix(mode, point[owner], a, obs, child, left)
            return
        best, way = self.e.exact_at(child, left), np.full(len(child), EXACT)
        for j in self._relaxations(1.0):
            relaxed = self._relaxed(j, child, left) + self._allowance(j, left)
            way = np.where(relaxed < best - 1e-12, j, way)
            best = np.minimum(best, relaxed)
        exact = np.flatnonzero((way == EXACT) & np.isfinite(best) | (best == -np.inf))
        for key in zip(point[owner][exact].tolist(), obs[exact].tolist(), child[exact].tolist(), strict=True):
            self.covers[key[0], a, key[1], (key[2],)] = None
        if exact.size:
            self._push(EXACT, child[exact], left[exact])
        for j in np.unique(way[way != EXACT]).tolist():
            some = np.flatnonzero((way == j) & (best > -np.inf))
            self._mix(j, point[owner][some], a, obs[some], child[some], left[some])

    def _is_over(self, i: IntArray) -> BoolArray:
        """True for beliefs of terminal states alone."""
        once, place = np.unique(i, return_inverse=True)
        rows = self.e.beliefs(once)
        over: BoolArray = np.asarray(rows @ (~self.model.terminal).astype(np.float64) == 0)
        return over[place.ravel()]

    def _relaxed(self, j: int, i: IntArray, budget: FloatArray) -> FloatArray:
        """Bounds of relaxation j, by rays too."""
        found = self._relaxed_at(j, i, budget)
        rayed = np.flatnonzero(self.e.graph.base[i] != NONE)
        if rayed.size:
            weighed = self._by_ray(j, i[rayed], budget[rayed])
            found[rayed] = np.minimum(found[rayed], weighed)
        return found

    def _by_ray(self, j: int, i: IntArray, budget: FloatArray) -> FloatArray:
        weight = self.e.graph.weight[i]
        ends = []
        for end in (self.e.graph.base[i], self.e.graph.tip[i]):
            known = self._relaxed_at(j, end, budget)
            bare = ~np.isfinite(known)
            if bare.any():
                known[bare] = self._table(j, self.e.beliefs(end[bare]), budget[bare]).max(axis=1)
            ends.append(known)
        return np.asarray(weight * ends[0] + (1 - weight) * ends[1])

    def _mix(self, j: int, point: IntArray, a: int, obs: IntArray, child: IntArray, budget: FloatArray) -> None:
        """Cover what follows by itself or the ends of its ray, whichever is bounded lower, and go on there."""
        useful = np.isfinite(self._relaxed(j, child, budget))
        point, obs, child, budget = point[useful], obs[useful], child[useful], budget[useful]
        targets = [[c] for c in child.tolist()]
        members, owner = child.copy(), np.arange(len(child))
        for _ in range(_DEEPEST):
            known = self._relaxed_at(j, members, budget[owner])
            rayed = self.e.graph.base[members] != NONE
            split = np.zeros(len(members), dtype=np.bool_)
            at = np.flatnonzero(rayed)
            if at.size:
                split[at] = self._by_ray(j, members[at], budget[owner[at]]) <= known[at] + 1e-9
            if not split.any():
                break
            for n, m in zip(owner[split].tolist(), members[split].tolist(), strict=True):
                place = targets[n].index(m)
                ends = [int(self.e.graph.base[m]), int(self.e.graph.tip[m])]
                targets[n][place : place + 1] = [end for end in ends if end not in targets[n]]
            owner = np.repeat(np.arange(len(child)), [len(t) for t in targets])
            members = np.array([m for t in targets for m in t], dtype=np.int64)
        for p, o, t in zip(point.tolist(), obs.tolist(), targets, strict=True):
            self.covers[p, a, o, tuple(t)] = None
        known = np.isfinite(self._relaxed_at(j, members, budget[owner]))
        if known.any():
            self._push(j, members[known], budget[owner[known]])
