"""The inequalities of a proof: what each entry and table must be no less than, if all the others hold.

Relaxation j at point p with budget d: ``Q_a ≥ (μR − λ·C)(p, a) + γ Σ_o max_a' Q_a'(τ_o, d')``, where ``τ_o(s') = Σ_s
p(s) T(s, a, s') Z(s', a, o)`` and ``d' = (d − c)/β`` with the least cost c of the class, rounded up to a level. Values
are convex and homogeneous: if ``τ = Σ φ_i p_i + r`` with ``r ≥ 0``, then ``Q(τ) ≤ Σ φ_i Q(p_i) + Σ_s r(s) Q(s)``, by an
entry or else by the table at p_i, by the table at s. The φ are found here: the most that fits, point by point. Where a
proof has beliefs ``b_sao`` one step after a state, ``Q(τ_o) ≤ Σ_s p(s) P(o | s, a) Q(b_sao)``, by the table at these.

Exact entries spend ``C(p, a)``. What follows is bounded by a relaxation, ``V*(b, d) ≤ V_j(b, d) + λ_j·d``, by the exact
entry of a point that is the same but for rounding, or ruled out: by what is left, or if ``V_j + λ_j·d < 0`` for
μ = 0. Plain NumPy and SciPy, and nothing of the solvers and kernels of this package.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._types import BoolArray, FloatArray, IntArray
from ..errors import ProofError
from ..model import CPOMDP
from .chain import entries
from .ground import TWIN, Ground, lasting, reserve, rounding_of_costs
from .proof import EXACT, Proof

_HUGE = 1e300
_FAINT = 1e-290  # a probability below this is rounded by more than a share of it
_BATCH = 1_000_000  # numbers that are worked on at once, more or less


class Followers(NamedTuple):
    """What follows some points under an action: a row for each observation, and a line for each way to cover it."""

    point: IntArray  # [points]
    row_ptr: IntArray  # [points + 1]
    cls: IntArray  # [rows]
    mass: FloatArray  # [rows] probability of the observation
    over: BoolArray  # [rows] whether the process is over
    line_ptr: IntArray  # [rows + 1]
    rest: Any  # [lines, S + L] what no point covers
    cover: IntArray  # [lines] number of the cover, −1: corners alone
    target: IntArray  # [most, lines] points, or −1
    share: FloatArray  # [most, lines] φ
    twin: BoolArray  # [lines] whether the one target is the same belief but for rounding


class Steps(NamedTuple):
    """What follows some entries under an action, as rows and lines, each once for each entry."""

    f: Followers
    entry: IntArray  # [jobs]
    job: IntArray  # [rows]
    row: IntArray  # [rows] of f
    owner: IntArray  # [lines] its row
    line: IntArray  # [lines] of f
    left: FloatArray  # [rows, K] budgets that are left


class Inequalities(Ground):
    """The right sides, for the tables and entries that a proof has now."""

    def __init__(self, model: CPOMDP, proof: Proof) -> None:
        proof.check_form(model)
        super().__init__(model, proof)
        self.value = proof.entry_value
        shape = (len(proof.point_ptr) - 1, model.n_states)
        points: Any = sp.csr_array((proof.point_prob, proof.point_state, proof.point_ptr), shape=shape)
        self.points: Any = sp.csr_array(sp.diags_array(1 / points.sum(axis=1)) @ points)
        first = proof.point_state[proof.point_ptr[:-1]]
        self.point_class = proof.class_of[first]
        whole = np.repeat(self.point_class, np.diff(proof.point_ptr)) == proof.class_of[proof.point_state]
        if not whole.all() or not self.reached[self.point_class].all():
            raise ProofError("this is no proof for the model: a point is in no class that can be reached")
        alive = np.add.reduceat(~model.terminal[proof.point_state], proof.point_ptr[:-1])
        if (alive[1:] == 0).any():
            raise ProofError("this is no proof for the model: a point holds terminal states alone")
        self.cap = model.cost.max(axis=(1, 2), initial=0.0) * lasting(model)
        self.budget = self._budgets(proof.entry_level)
        # Beliefs that stand for one another may cost a little more or less, in each of so many steps.
        self.step_limit = model.arrays.step_limit * reserve(model, len(proof.entry_point))
        costs = [self.points @ c * (1 - rounding_of_costs(model)) for c in model.cost]
        self.point_cost = np.stack(costs, axis=1) if costs else np.zeros((shape[0], 0, model.n_actions))
        self._list_entries()
        key = (proof.cover_point * model.n_actions + proof.cover_action) * model.n_observations
        key = key + proof.cover_observation
        self._cover_order = np.argsort(key, kind="stable")
        self._cover_key = key[self._cover_order]
        self.doubt = 0.0  # by how much bounds of relaxations may be too low
        self.rests: list[tuple[IntArray, IntArray]] = []  # entries that may be impossible because earlier ones are
        self.reserve = np.inf  # an exact entry holds for budgets that are smaller than its own by this factor
        self._gains: dict[int, FloatArray] = {}
        self._hinted: dict[tuple[int, int], FloatArray] = {}

    # Budgets

    def _budgets(self, level: IntArray) -> FloatArray:
        budget = np.empty(level.shape)
        for k in range(level.shape[1]):
            budget[:, k] = self.proof.level[self.proof.level_ptr[k] + level[:, k]]
        return budget

    def coarse(self, j: int, budget: FloatArray) -> IntArray:
        """The level of a table that is no less than budgets [n, K]."""
        first, last = self.proof.table_ptr[j : j + 2]
        if not budget.shape[1]:
            return np.full(len(budget), last - 1)
        place = np.searchsorted(self.proof.table_level[first:last], budget[:, self.proof.table_cost[j]])
        return np.asarray(first + place)

    def allowance(self, j: int, budget: FloatArray) -> FloatArray:
        """``λ_j·d``, of each cost no more than can be spent at all."""
        return np.asarray(np.minimum(budget, self.cap) @ self.proof.weights[j, 1:])

    def gain(self, j: int) -> FloatArray:
        """``μR − λ·C``, [S, A]."""
        mu, weights = self.proof.weights[j, 0], self.proof.weights[j, 1:]
        return np.asarray(mu * self.model.reward - np.tensordot(weights, self.model.cost, axes=1))

    # Entries

    def _list_entries(self) -> None:
        p = self.proof
        self._width = np.diff(p.level_ptr).astype(np.int64)
        key = self._key(p.entry_point, p.entry_mode, p.entry_level)
        self._order = np.argsort(key, kind="stable")
        self._sorted = key[self._order]
        if (np.diff(self._sorted) == 0).any():
            raise ProofError("this is no proof for the model: two entries are for the same point, mode and budget")

    def _key(self, point: IntArray, mode: Any, level: IntArray) -> IntArray:
        key: IntArray = point * (len(self.proof.weights) + 1) + (mode + 1)
        for k, width in enumerate(self._width.tolist()):
            key = key * width + level[:, k]
        return key

    def find(self, point: IntArray, mode: int, budget: FloatArray) -> IntArray:
        """The entry of each point with the next budget that is no less, or −1; of costs but the last, at its level."""
        p, k = self.proof, budget.shape[1]
        level = np.empty((len(point), k), dtype=np.int64)
        for i in range(k):
            level[:, i] = np.searchsorted(p.level[p.level_ptr[i] : p.level_ptr[i + 1]], budget[:, i])
        key = self._key(point, mode, level)
        if not len(self._sorted):
            return np.full(len(point), -1)
        at = np.minimum(np.searchsorted(self._sorted, key), len(self._sorted) - 1)
        last = int(self._width[-1]) if k else 1
        fits = (self._sorted[at] >= key) & (self._sorted[at] // last == key // last)
        return np.where(fits, self._order[at], -1)

    def hinted(self, j: int, t: int) -> FloatArray:
        """Bounds of a table at all points, [N, A]."""
        if (j, t) not in self._hinted:
            self._hinted[j, t] = np.asarray(self.points @ self.proof.table[t, : self.model.n_states])
        return self._hinted[j, t]

    def hints(self, mode: int, at: IntArray) -> FloatArray:
        """Bounds of entries [n] by tables, without a step, [n, A]; −inf for what cannot be paid for."""
        p, point, budget = self.proof, self.proof.entry_point[at], self.budget[at]
        bound = np.full((len(at), self.model.n_actions), np.inf)
        for j in range(len(p.weights)) if mode == EXACT else (mode,):
            # An entry of a relaxation must not vouch for itself; an exact one may rest on that of a relaxation.
            found = self.at_points(j, point, budget, by_entries=mode == EXACT)
            if mode == EXACT:
                found += self.allowance(j, budget)[:, None]
            if mode != EXACT or p.weights[j, 0] == 1:
                np.minimum(bound, found, out=bound)
            elif p.weights[j, 0] == 0:
                bound[found < -self.doubt] = -np.inf
        able = self.allowed(self.point_class[point], budget)
        if mode == EXACT:
            limit = np.minimum(budget, self.step_limit)
            able &= (self.point_cost[point] <= limit[:, :, None]).all(axis=1)
        bound[~able] = -np.inf
        return bound

    def at_points(self, j: int, point: IntArray, budget: FloatArray, by_entries: bool = True) -> FloatArray:
        """Bounds of relaxation j at points, by table and entry, [n, A]."""
        coarse, entry = self.coarse(j, budget), self.find(point, j, budget)
        found = np.empty((len(point), self.model.n_actions))
        for t in kinds(coarse):
            found[coarse == t] = self.hinted(j, t)[point[coarse == t]]
        here = (entry >= 0) & by_entries
        found[here] = np.minimum(found[here], self.value[entry[here]])
        return found

    # Steps

    def table_steps(self, a: int) -> Iterator[tuple[int, int, FloatArray]]:
        """(relaxation, level, what its table must be no less than for action a, [S + L]); −inf: it is not allowed."""
        p, model = self.proof, self.model
        corners = np.flatnonzero(self.corner_reached)
        row, obs, corner, value = self.spread(self.corners[corners], a)
        starts = np.flatnonzero(np.diff(row * model.n_observations + obs, prepend=-1))
        lines: Any = sp.csr_array((value, corner, np.append(starts, len(row))), shape=(len(starts), self.n_corners))
        after_class, source = self.corner_class[corner[starts]], row[starts]
        cls = self.corner_class[corners]
        for j in range(len(p.weights)):
            gain = self.corners[corners] @ self.gain(j)[:, a]
            k = int(p.table_cost[j])
            for t in range(p.table_ptr[j], p.table_ptr[j + 1]):
                budget, cost = (
                    np.full((self.n_classes, model.n_costs), np.inf),
                    np.zeros((self.n_classes, model.n_costs)),
                )
                if model.n_costs:
                    budget[:, k], cost[:, k] = p.table_level[t], self.floor[k][:, a]
                after = self.left_of(budget, cost)
                coarse = self.coarse(j, after)[cls][source]
                best = np.full(len(starts), -np.inf)
                for u in kinds(coarse):
                    here = slice(None) if (coarse == u).all() else np.flatnonzero(coarse == u)
                    each = np.asarray(lines[here] @ p.table[u])
                    each[~self.allowed(after_class[here], after[cls][source[here]])] = -np.inf
                    best[here] = each.max(axis=1)
                total = np.full(self.n_corners, -np.inf)
                step = gain + model.discount * np.bincount(source, best, minlength=len(corners))
                total[corners] = np.where(self.allowed(cls, budget[cls])[:, a], step, -np.inf)
                yield j, t, total

    def follow(self, point: IntArray, a: int) -> Followers:
        """What follows points under an action, and how covers cover it."""
        p, model, n = self.proof, self.model, self.n_corners
        row, obs, state, value = self.successors(self.points[point], a)
        pair = row * model.n_observations + obs
        starts = np.flatnonzero(np.diff(pair, prepend=-1))
        ends, source = np.append(starts, len(row)), row[starts]
        key = (point[source] * model.n_actions + a) * model.n_observations + obs[starts]
        low, high = (np.searchsorted(self._cover_key, key, side=side) for side in ("left", "right"))
        # States alone bound no better than a cover; one-step beliefs may, for some action.
        late = int(self.proof.late_of.size > 0)
        bare = late + (low == high)
        line_ptr = np.concatenate([[0], np.cumsum(bare + high - low)])
        of_row, number = entries(line_ptr, np.arange(len(starts)))
        number -= line_ptr[of_row]
        by_cover = number >= bare[of_row]
        cover = np.append(self._cover_order, -1)[np.where(by_cover, low[of_row] + number - bare[of_row], -1)]
        of, seen, corner, weight = self.spread(self.points[point], a)
        spread = np.flatnonzero(np.diff(of * model.n_observations + seen, prepend=-1))
        if not np.array_equal(of[spread] * model.n_observations + seen[spread], pair[starts]):
            raise ProofError("this is no proof for the model: some probability is too small for doubles")
        both = np.concatenate([spread, len(of) + ends])
        owner, at = entries(both, np.where(number >= late, len(spread) + of_row, of_row))
        columns, rest = np.concatenate([corner, state])[at], np.concatenate([weight, value])[at]
        line_key = owner * n + columns
        length = np.where(cover >= 0, np.diff(p.cover_ptr, append=0)[cover], 0)
        most = int(length.max(initial=0))
        target, share = np.full((most, len(of_row)), -1), np.zeros((most, len(of_row)))
        twin = np.zeros(len(of_row), dtype=np.bool_)
        size = np.diff(ends)[of_row]
        for m in range(most):
            lines = np.flatnonzero(length > m)
            target[m, lines] = p.cover_target[p.cover_ptr[cover[lines]] + m]
            member, e = entries(self.points.indptr, target[m, lines])
            wanted = lines[member] * n + self.points.indices[e]
            place = np.minimum(np.searchsorted(line_key, wanted), len(line_key) - 1)
            ratio = np.where(line_key[place] == wanted, rest[place] / self.points.data[e], 0.0)
            first = np.flatnonzero(np.diff(member, prepend=-1))
            share[m, lines] = phi = np.minimum.reduceat(ratio, first)
            support = np.diff(np.append(first, len(member)))
            same = np.maximum.reduceat(ratio, first) <= phi * (1 + TWIN)
            same &= np.minimum.reduceat(np.minimum(rest[place], self.points.data[e]), first) >= _FAINT
            twin[lines] = (length[lines] == 1) & same & (support == size[lines]) & (phi > 0)
            fits = phi[member] > 0
            rest[place[fits]] = np.maximum(rest[place[fits]] - phi[member[fits]] * self.points.data[e[fits]], 0.0)
        count = np.bincount(source, minlength=len(point))
        lines = np.append(np.flatnonzero(np.diff(owner, prepend=-1)), len(owner))
        return Followers(
            point,
            np.concatenate([[0], np.cumsum(count)]),
            p.class_of[state[starts]],
            np.add.reduceat(value, starts),
            np.logical_and.reduceat(model.terminal[state], starts),
            line_ptr,
            sp.csr_array((rest, columns, lines), shape=(len(of_row), n)),
            cover,
            target,
            share,
            twin,
        )

    def steps(self, mode: int, at: IntArray, a: int) -> FloatArray:
        """What entries [n] of a mode must be no less than for action a, by what follows, [n]."""
        total, of = np.empty(len(at)), self.proof.entry_point[at]
        point = np.unique(of)
        work = np.diff(self.points.indptr)[point].cumsum() * self.model.n_observations
        for part in np.split(point, np.flatnonzero(np.diff(work // _BATCH)) + 1):
            some = np.flatnonzero((of >= part[0]) & (of <= part[-1]))
            total[some] = self.steps_of(self.follow(part, a), mode, at[some], a)
        return total

    def steps_of(self, f: Followers, mode: int, at: IntArray, a: int) -> FloatArray:
        """The same, with what follows the points of these entries."""
        parts = np.array_split(at, max(1, len(at) * self.model.n_actions * 16 // _BATCH))
        return np.concatenate([self._step(f, mode, part, a) for part in parts])

    def lay_out(self, f: Followers, mode: int, at: IntArray, a: int) -> Steps:
        """Rows and lines for each of entries [n] of a mode under action a, and what is left there."""
        point = self.proof.entry_point[at]
        cost = self.point_cost[point, :, a] if mode == EXACT else self.floor[:, self.point_class[point], a].T
        left = self.left_of(self.budget[at], cost)
        job, row = entries(f.row_ptr, np.searchsorted(f.point, point))
        owner, line = entries(f.line_ptr, row)
        return Steps(f, at, job, row, owner, line, left[job])

    def _step(self, f: Followers, mode: int, at: IntArray, a: int) -> FloatArray:
        p = self.proof
        _, _, job, row, owner, line, left = self.lay_out(f, mode, at, a)
        first = np.flatnonzero(np.diff(owner, prepend=-1))
        cls = f.cls[row]
        if mode != EXACT:
            best = least_of(self.covered(f, mode, line, cls[owner], left[owner]), first).max(axis=1)
        else:
            each = np.full((len(row), self.model.n_actions), np.inf)
            mass = f.mass[row][:, None]
            for j in range(len(p.weights)):
                found = least_of(self.covered(f, j, line, cls[owner], left[owner]), first)
                found += mass * self.allowance(j, left)[:, None]
                if p.weights[j, 0] == 0:
                    each[found < -self.doubt * mass] = -np.inf
                elif p.weights[j, 0] == 1:
                    np.minimum(each, found, out=each)
            # That nothing is possible may rest only on entries before this one.
            before, twins = self._twins(f, at[job[owner]], line, left[owner])
            before, twins = (np.minimum(each, mass * least_of(part, first)) for part in (before, twins))
            best = twins.max(axis=1)
            best = np.where(best == -np.inf, before.max(axis=1), best)
        bound = np.asarray(best)
        bound[f.over[row]] = 0.0
        jobs = np.flatnonzero(np.diff(job, prepend=-1))
        impossible = np.logical_or.reduceat(bound == -np.inf, jobs)
        total = np.add.reduceat(np.maximum(bound, -_HUGE), jobs)
        return np.where(impossible, -np.inf, self.point_gain(mode)[p.entry_point[at], a] + self.model.discount * total)

    def point_gain(self, j: int) -> FloatArray:
        """What each action earns at each point in a mode, [N, A]."""
        if j not in self._gains:
            self._gains[j] = np.asarray(self.points @ (self.model.reward if j == EXACT else self.gain(j)))
        return self._gains[j]

    def covered(self, f: Followers, j: int, line: IntArray, cls: IntArray, budget: FloatArray) -> FloatArray:
        """Bounds of relaxation j on what lines cover, with budgets [n, K]; −inf for what cannot be paid for, [n, A]."""
        coarse = self.coarse(j, budget)
        value = np.empty((len(line), self.model.n_actions))
        for t in kinds(coarse):
            here = np.flatnonzero(coarse == t)
            value[here] = self.of_rest(f, t, line[here])
        for target, share in zip(f.target, f.share, strict=True):
            some = np.flatnonzero(share[line] > 0)
            value[some] += share[line[some], None] * self.at_points(j, target[line[some]], budget[some])
        value[~self.allowed(cls, budget)] = -np.inf
        return value

    def of_rest(self, f: Followers, t: int, line: IntArray) -> FloatArray:
        """Bounds of a table on what no point covers, [n, A]."""
        once, place = np.unique(line, return_inverse=True)
        return np.asarray(f.rest[once] @ self.proof.table[t])[place.ravel()]

    def _twins(
        self, f: Followers, entry: IntArray, line: IntArray, budget: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds by exact entries of beliefs that are the same, [n, A]: the first without −inf of later entries."""
        bound = np.full((len(line), self.model.n_actions), np.inf)
        before = bound.copy()
        some = np.flatnonzero(f.twin[line])
        if some.size:
            found = self.find(f.target[0][line[some]], EXACT, budget[some])
            bound[some] = np.where((found >= 0)[:, None], self.value[found], np.inf)
            later = (found >= entry[some])[:, None] & (bound[some] == -np.inf)
            before[some] = np.where(later, np.inf, bound[some])
            none = (self.value == -np.inf).any(axis=1)
            earlier = (found >= 0) & (found < entry[some]) & none[found] & none[entry[some]]
            self.rests.append((entry[some][earlier], found[earlier]))
        return before, bound


def least_of(values: FloatArray, first: IntArray) -> FloatArray:
    """The least of the rows of values [n, A] from each first one on, up to the next."""
    if len(first) == len(values):
        return values
    least, count = values[first], np.diff(first, append=len(values))
    for m in range(1, int(count.max(initial=0))):  # most have one or two
        some = np.flatnonzero(count > m)
        least[some] = np.minimum(least[some], values[first[some] + m])
    return least


def kinds(numbers: IntArray) -> list[int]:
    """The different ones of many numbers that are small and not negative."""
    return np.flatnonzero(np.bincount(numbers)).tolist()
