"""The beliefs and budgets that a bound rests on, from the initial belief on.

Starting at the root, an action is followed where a table alone does not bound it as low as the search has, and what
follows is looked up where the search has bounded it best: exactly, in a relaxation, between the ends of its ray, or by
a point of the sawtooth. All entries of one depth are followed at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._types import BoolArray, FloatArray, IntArray
from ...model import CPOMDP
from ...verification.ground import lasting, least_costs, rounding_of_costs
from ...verification.inequalities import kinds
from ...verification.proof import EXACT
from .evidence import NONE, Evidence
from .levels import UP, closed_levels, first_budget

_SAME = 1e-6  # relative: budgets that differ by less become one, the larger
_DEEPEST = 4  # rays upon rays
_ROUNDED = 1e-11  # relative: more than the checker rounds costs and what is left by
_CLOSE = 1e-9  # what a ray may bound higher than the search has


class Trace(NamedTuple):
    """Entries and covers of a proof, by the beliefs' numbers in the search."""

    point: IntArray  # [E]
    mode: IntArray  # [E]
    depth: IntArray  # [E]
    budget: FloatArray  # [E, K]
    known: FloatArray  # [E] bounds of the search
    follows: BoolArray  # [E, A] actions that are followed
    cover: IntArray  # [M, 3] point, action and observation
    target: IntArray  # [M, most] points, or NONE


def no_trace(model: CPOMDP) -> Trace:
    """Nothing is followed."""
    n = np.zeros(0, dtype=np.int64)
    follows = np.zeros((0, model.n_actions), dtype=np.bool_)
    return Trace(n, n, n, np.zeros((0, model.n_costs)), np.zeros(0), follows, n.reshape(0, 3), n.reshape(0, 1))


class Tracer:
    """Follows what a bound rests on.

    Parameters
    ----------
    tol : what may be lost where a table must do
    least : share of the budget below which it is not told apart
    room : levels that are made for budgets that are met
    lifts : whether budgets are raised where the bound is hardly higher
    """

    def __init__(
        self, model: CPOMDP, evidence: Evidence, class_of: IntArray, tol: float, least: float, room: int, lifts: bool
    ) -> None:
        self.model, self.e, self.class_of, self.tol, self.lifts = model, evidence, class_of, tol, lifts
        self.floor = least_costs(model, class_of)
        self.idle: BoolArray = self.floor[:, np.unique(class_of)].max(axis=(1, 2), initial=0.0) == 0  # [K]
        self.cap = self.model.cost.max(axis=(1, 2), initial=0.0) * lasting(self.model)
        self.levels = [
            closed_levels(grid[grid >= least * limit], float(limit), float(beta), float(limit) * first_budget(model))
            for grid, limit, beta in zip(self.e.grid, self.model.spending_limit, self.model.cost_discount, strict=True)
        ]
        self.room = [room if len(grid) > 1 else 0 for grid in self.e.grid]
        self.slack = self.lift = tol
        self._budgets: dict[tuple[float, ...], int] = {}
        self._seen = np.zeros(0, dtype=np.int64)  # keys of entries, increasing
        self._pushed: list[tuple[int, IntArray, FloatArray]] = []
        self._entries: list[Any] = []
        self._covers: list[tuple[IntArray, IntArray]] = []

    def run(self, root: int, mode: int, budget: FloatArray, most: int) -> Trace:
        """All that the bound of a belief with a budget rests on, or so many entries of it."""
        self._push(mode, np.array([root]), budget.reshape(1, -1))
        depth = 0
        while self._pushed and len(self._seen) < most:
            self.lift = self.tol * self.model.fade * self.model.discount ** (-depth / 2)
            pushed, self._pushed = self._pushed, []
            for m in sorted({part[0] for part in pushed}):
                point, due = (np.concatenate([part[i] for part in pushed if part[0] == m]) for i in (1, 2))
                point, due = self._fresh(m, point, due, lifts=self.lifts and depth > 0)
                if point.size:
                    known, follows = self._expand(m, point, due)
                    each = np.full(len(point), m), np.full(len(point), depth)
                    self._entries.append((point, *each, due, known, follows))
            depth += 1
            self.slack /= self.model.discount
        point, modes, depths, due, known, follows = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        # What is laid out for one budget serves all of them.
        once, place = np.unique(point * (len(self.e.tables) + 1) + modes, return_inverse=True)
        together = np.zeros((len(once), self.model.n_actions), dtype=np.bool_)
        np.logical_or.at(together, place.ravel(), follows)
        return Trace(point, modes, depths, due, known, together[place.ravel()], *self._all_covers())

    # Entries

    def _push(self, mode: int, point: IntArray, budget: FloatArray) -> None:
        if point.size:
            self._pushed.append((mode, point, np.where(self.idle, np.inf, budget) if mode != EXACT else budget))

    def _fresh(self, mode: int, point: IntArray, budget: FloatArray, lifts: bool) -> tuple[IntArray, FloatArray]:
        """Entries that are new, each once."""
        _, once = np.unique(self._key(mode, point, budget), return_index=True)
        point, budget = point[once], budget[once]
        if lifts:
            budget = self._lifted(mode, point, budget)
        key, once = np.unique(self._key(mode, point, budget), return_index=True)
        place = np.searchsorted(self._seen, key)
        known = np.append(self._seen, -1)[place] == key
        self._seen = np.insert(self._seen, place[~known], key[~known])
        return point[once[~known]], budget[once[~known]]

    def _key(self, mode: int, point: IntArray, budget: FloatArray) -> IntArray:
        number = np.zeros(len(point), dtype=np.int64)
        if budget.shape[1] == 1:
            values, number = np.unique(budget[:, 0], return_inverse=True)
            rows: Any = values[:, None]
        elif budget.shape[1]:
            rows, number = np.unique(budget, axis=0, return_inverse=True)
        if budget.shape[1]:
            ids = [self._budgets.setdefault(tuple(row), len(self._budgets)) for row in rows.tolist()]
            number = np.array(ids, dtype=np.int64)[number.ravel()]
        return ((number * (len(self.e.tables) + 1) + mode + 1) << 32) + point

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

    # Budgets

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

    def _left(self, budget: FloatArray, cost: FloatArray) -> FloatArray:
        beta = self.model.cost_discount
        with np.errstate(invalid="ignore"):
            left = np.where(np.isinf(budget), np.inf, np.maximum(budget - cost, 0.0) / beta * (1 + _ROUNDED))
        return np.where((cost == 0) & (beta == 1), budget, left)

    # Bounds

    def _relaxed_at(self, j: int, i: IntArray, budget: FloatArray) -> FloatArray:
        """Bounds of the search on relaxation j; a budget that it never spends counts for nothing."""
        return self.e.relaxed_at(j, i, np.where(self.idle, 0.0, budget))

    def _relaxed(self, j: int, i: IntArray, budget: FloatArray) -> FloatArray:
        """Bounds of relaxation j, by rays too."""
        found = self._relaxed_at(j, i, budget)
        rayed = np.flatnonzero(self.e.graph.base[i] != NONE)
        if rayed.size:
            found[rayed] = np.minimum(found[rayed], self._by_ray(j, i[rayed], budget[rayed]))
        return found

    def _by_ray(self, j: int, i: IntArray, budget: FloatArray) -> FloatArray:
        weight, ends = self.e.graph.weight[i], []
        for end in (self.e.graph.base[i], self.e.graph.tip[i]):
            known = self._relaxed_at(j, end, budget)
            bare = ~np.isfinite(known)
            if bare.any():
                known[bare] = self._table(j, self.e.beliefs(end[bare]), budget[bare]).max(axis=1)
            ends.append(known)
        return np.asarray(weight * ends[0] + (1 - weight) * ends[1])

    def _table(self, j: int, rows: Any, budget: FloatArray) -> FloatArray:
        """Bounds of actions by a table, [n, A]."""
        table = self.e.tables[j]
        at = np.searchsorted(table.level, budget[:, table.cost]) if budget.shape[1] else np.zeros(len(budget), int)
        bound = np.empty((rows.shape[0], self.model.n_actions))
        for t in kinds(at):
            bound[at == t] = rows[np.flatnonzero(at == t)] @ table.value[t, : self.model.n_states]
        return bound

    def _allowance(self, j: int, budget: FloatArray) -> FloatArray:
        return np.asarray(np.minimum(budget, self.cap) @ self.e.tables[j].weights[1:])

    def _relaxations(self, mu: float) -> list[int]:
        return [j for j, table in enumerate(self.e.tables) if table.weights[0] == mu]

    # Steps

    def _expand(self, mode: int, point: IntArray, budget: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Follow the actions of entries of one mode that no table bounds low enough; what is known, and which."""
        rows = self.e.beliefs(point)
        cls = self.class_of[rows.indices[rows.indptr[:-1]]]
        spent = self.floor[:, cls]  # [K, n, A]
        if mode == EXACT and self.model.n_costs:
            spent = np.stack([rows @ c * (1 - rounding_of_costs(self.model)) for c in self.model.cost])
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
                # What a relaxation bounds as low needs no step of its own, but one may bound it still lower.
                self._push(j, point[best], budget[best])
        else:
            hint, known = self._table(mode, rows, budget), self._relaxed_at(mode, point, budget)
        follows = able & (self.e.graph.degree[point] > 0) & (hint > known[:, None] + self.slack)
        at, a = np.nonzero(follows)
        if at.size:
            after = self._left(budget[at], spent[:, at, a].T)
            self._follow(mode, point[at], a, self._round(after))
        return known, follows

    def _follow(self, mode: int, point: IntArray, a: IntArray, budget: FloatArray) -> None:
        g = self.e.graph
        count = g.degree[point, a]
        owner = np.repeat(np.arange(len(point)), count)
        edge = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count) + g.first[point, a][owner]
        goes_on = ~self._is_over(g.edge_child[edge].astype(np.int64))
        edge, owner = edge[goes_on], owner[goes_on]
        child, left = g.edge_child[edge].astype(np.int64), budget[owner]
        after = np.stack([point[owner], a[owner], g.edge_obs[edge]], axis=1)
        if mode != EXACT:
            self._mix(mode, after, child, left)
            return
        best, way = self.e.exact_at(child, left), np.full(len(child), EXACT)
        for j in self._relaxations(1.0):
            relaxed = self._relaxed(j, child, left) + self._allowance(j, left)
            way = np.where(relaxed < best - 1e-12, j, way)
            best = np.minimum(best, relaxed)
        exact = np.flatnonzero((way == EXACT) & np.isfinite(best) | (best == -np.inf))
        self._covers.append((after[exact], child[exact, None]))
        self._push(EXACT, child[exact], left[exact])
        for j in np.unique(way[way != EXACT]).tolist():
            some = np.flatnonzero((way == j) & (best > -np.inf))
            self._mix(j, after[some], child[some], left[some])

    def _is_over(self, i: IntArray) -> BoolArray:
        """True for beliefs of terminal states alone."""
        once, place = np.unique(i, return_inverse=True)
        over: BoolArray = np.asarray(self.e.beliefs(once) @ (~self.model.terminal).astype(np.float64) == 0)
        return over[place.ravel()]

    def _mix(self, j: int, after: IntArray, child: IntArray, budget: FloatArray) -> None:
        """Cover what follows by itself, the ends of its ray or a point, whichever is bounded lowest; go on there."""
        useful = np.isfinite(self._relaxed(j, child, budget))
        after, child, budget = after[useful], child[useful], budget[useful]
        member, owner = child, np.arange(len(child))
        for _ in range(_DEEPEST):
            instead = self._instead(j, member, budget[owner])  # [n, 2]
            parts = (instead != NONE).sum(axis=1)
            if not parts.any():
                break
            ends = np.where(parts[:, None] > 0, instead, np.stack([member, np.full_like(member, NONE)], axis=1))
            member, owner = ends.ravel(), np.repeat(owner, 2)
            pair = owner * (int(member.max()) + 2) + member + 1
            once = np.zeros(len(pair), dtype=np.bool_)
            once[np.unique(pair, return_index=True)[1]] = True
            member, owner = member[once & (member != NONE)], owner[once & (member != NONE)]
        place = np.arange(len(owner)) - np.searchsorted(owner, owner)
        target = np.full((len(child), int(place.max(initial=0)) + 1), NONE)
        target[owner, place] = member
        self._covers.append((after, target))
        known = np.isfinite(self._relaxed_at(j, member, budget[owner]))
        self._push(j, member[known], budget[owner[known]])

    def _instead(self, j: int, member: IntArray, budget: FloatArray) -> IntArray:
        """The points that a belief is better bounded by than by itself, or NONE, [n, 2]."""
        found = np.full((len(member), 2), NONE)
        known = self._relaxed_at(j, member, budget)
        at = np.flatnonzero(self.e.graph.base[member] != NONE)
        if at.size:
            split = at[self._by_ray(j, member[at], budget[at]) <= known[at] + _CLOSE]
            found[split] = np.stack([self.e.graph.base[member[split]], self.e.graph.tip[member[split]]], axis=1)
        if j == 0:
            whole = np.flatnonzero(found[:, 0] == NONE)
            once, place = np.unique(member[whole], return_inverse=True)
            found[whole, 0] = self.e.better_points(once)[place.ravel()]
        return found

    def _all_covers(self) -> tuple[IntArray, IntArray]:
        """Each cover once."""
        most = max((target.shape[1] for _, target in self._covers), default=1)
        padded = [np.pad(t, ((0, 0), (0, most - t.shape[1])), constant_values=NONE) for _, t in self._covers]
        rows = np.concatenate(
            [np.zeros((0, 3 + most), dtype=np.int64)]
            + [np.concatenate([after, target], axis=1) for (after, _), target in zip(self._covers, padded, strict=True)]
        )
        order = np.lexsort(rows.T[::-1])
        new = np.append(True, (np.diff(rows[order], axis=0) != 0).any(axis=1))[: len(rows)]
        rows = rows[order[new]]
        return rows[:, :3], rows[:, 3:]
