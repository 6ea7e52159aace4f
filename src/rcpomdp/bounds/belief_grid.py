"""Bounds at the start from values on a grid of beliefs and remaining budgets, backwards in time.

For models whose observability classes have a few states only. With a class's least costs in place of its costs, what is
left of a budget follows from the history alone, so that the value is convex in the belief. A belief's value is then at
most that of the grid points around it, weighed as it is a mixture of them (Lovejoy 1991). From below each grid point
has a vector over its class: a plan, counted with the largest costs of classes. Remaining budgets are in units of the
first step, as in `bounds.remaining`, rounded up for the one bound and down for the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._types import FloatArray, IntArray
from ..deadline import charge
from ..kernels.arrays import ModelArrays
from ..kernels.bounds import remaining
from ..kernels.bounds.remaining import GridRows
from ..model import CPOMDP
from ..model.classes import in_class_order, observability_classes
from .blind import blind_sure_costs, blind_vectors
from .class_plan import followers
from .mdp import mdp_q_values
from .remaining import Ledger, steps_of_table

_DIVISIONS = {1: 1, 2: 64, 3: 16}  # of the edges of a class's simplex, by its states
_MOST_ROWS = 50_000  # grid points, times actions and observations
_TAIL = 1e-4
_SAME = 1e-12  # of a division
_PRODUCT = 1.5  # elementary steps that a product takes, about
_SLICE = 3_000_000  # products between two looks at the deadline, about 0.05 s
_EPS = float(np.finfo(np.float64).eps)


class Bounds(NamedTuple):
    """Bounds on the optimum."""

    lower: float
    upper: float


class BeliefGrid:
    """A grid of beliefs, with what follows each; `fits` tells for which models there is one."""

    def __init__(self, model: CPOMDP, memory_limit: float = np.inf) -> None:
        classes = observability_classes(model)
        self.model = in_class_order(model, classes)
        self._memory, self._start = memory_limit, classes.start
        self._width = int(classes.sizes[classes.reachable].max())
        self._number: dict[tuple[int, ...], int] = {}
        self._beliefs: list[FloatArray] = []  # [n] of each point, over its class, filled with zeros
        self._cls: list[int] = []
        for cls in np.flatnonzero(classes.reachable).tolist():
            for point in _simplex(int(classes.sizes[cls]), _DIVISIONS[int(classes.sizes[cls])]):
                self._number[cls, *point] = len(self._cls)
                self._add(cls, np.array(point) / sum(point))
        first = int(np.flatnonzero(self.model.initial_belief)[0])
        cls = int(np.searchsorted(classes.start, first, side="right")) - 1
        self._add(cls, self.model.initial_belief[classes.start[cls] : classes.start[cls + 1]])  # the last point
        self._classes = np.array(self._cls)
        self._points = np.array(self._beliefs)  # [E, n]
        self._rows = self._follow()
        self._steps = steps_of_table(model, _TAIL)
        self._terminal = np.zeros(len(self._cls), dtype=np.bool_)

    @staticmethod
    def fits(model: CPOMDP) -> bool:
        """True if the classes of a model are small enough, and few; plans of a grid heed no limits of single steps."""
        if model.has_step_limits:
            return False
        classes = observability_classes(model)
        sizes = classes.sizes[classes.reachable]
        if sizes.max() > max(_DIVISIONS):
            return False
        points = sum((_DIVISIONS[n] + 1) ** (n - 1) for n in sizes.tolist())
        return bool(points * model.n_actions * model.n_observations <= _MOST_ROWS)

    @property
    def work(self) -> float:
        """Products that a level of each budget takes, for both bounds."""
        n = self._width
        return float(self._steps * (len(self._rows.belief) * (2 + n * n) + self._points.size * self.model.n_actions))

    def bounds(self, budget: FloatArray, limit: FloatArray, work: float, over: Callable[[], bool]) -> Bounds | None:
        """Return the bounds at the start by so many products; None if these are too few, or time is up.

        ``limit [K]`` are the budgets with a tolerance for rounding, which the upper bound keeps to.
        """
        model, beta = self.model, np.array(self.model.cost_discount)
        least, most = (f.reduceat(model.cost, self._start[:-1], axis=1) for f in (np.minimum, np.maximum))
        width = work / self.work, self._memory / (32 * self._points.size)
        above, below = (
            Ledger(costs, most_spent, beta, self._steps, is_up)
            for costs, most_spent, is_up in ((least, limit, True), (most, budget, False))
        )
        if not above.divide(*width) or not below.divide(*width):
            return None
        upper, lower = self._from_above(above, over), self._from_below(below, over)
        return None if upper is None or lower is None else Bounds(lower, upper)

    def _from_above(self, ledger: Ledger, over: Callable[[], bool]) -> float | None:
        """Values at grid points; each is the best of an action's, as for a state of an MDP."""
        model, n, rows = self.model, len(self._cls), self._rows
        reward = np.einsum("es,esa->ea", self._points, self._of_class(model.reward))
        m = ModelArrays(
            t_ptr=rows.point_ptr,
            t_next=rows.point,
            t_prob=rows.point_weight,
            z_ptr=model.arrays.z_ptr,
            z_obs=model.arrays.z_obs,
            z_prob=model.arrays.z_prob,
            reward=np.ascontiguousarray(reward),
            cost=model.arrays.cost,
            cost_discount=model.arrays.cost_discount,
            step_limit=model.arrays.step_limit,
            n_observations=model.n_observations,
        )
        unlimited = np.einsum("es,es->e", self._points, self._of_class(mdp_q_values(model).max(axis=1)))
        widths = [ledger.width(t) for t in range(self._steps + 1)]
        after, scratch = np.repeat(unlimited[:, None, None], widths[-1], axis=2), np.empty((2, max(widths)))
        kind = np.ascontiguousarray(ledger.kind[self._classes])
        for t in range(self._steps - 1, -1, -1):
            place, now = ledger.places(t), np.empty((n, 1, widths[t]))
            for first, last in self._parts(n, widths[t]):
                charge(_PRODUCT * (last - first) * widths[t] * self.work / (n * self._steps))
                if over():
                    return None
                known = self._terminal, kind, place, model.discount, after
                remaining.mdp_step(m, *known, now, scratch, np.arange(first, last))
            after = now
        value = float(after[-1, 0, -1])
        return value + self._rounding(after) if np.isfinite(value) else value

    def _from_below(self, ledger: Ledger, over: Callable[[], bool]) -> float | None:
        """Vectors over the class at grid points."""
        model, n = self.model, len(self._cls)
        after = self._blind(ledger)
        kind = np.ascontiguousarray(ledger.kind[self._classes])
        reward = np.ascontiguousarray(self._of_class(model.reward))
        for t in range(self._steps - 1, -1, -1):
            place, now = ledger.places(t), np.empty((n, self._width, ledger.width(t)))
            for first, last in self._parts(n, ledger.width(t)):
                charge(_PRODUCT * (last - first) * ledger.width(t) * self.work / (n * self._steps))
                if over():
                    return None
                remaining.plan_step(
                    self._rows, self._points, reward, kind, place, model.discount, after, now, first, last
                )
            after = now
        vector = after[-1, :, -1]
        if not np.isfinite(vector).all():
            return -np.inf
        return float(self._points[-1] @ vector) - self._rounding(after)

    def _blind(self, ledger: Ledger) -> FloatArray:
        """The best action for ever at each point and level after the last step, [E, n, L]; −inf where none is kept."""
        model = self.model
        peak = np.maximum.reduceat(model.cost, self._start[:-1], axis=1).transpose(1, 2, 0)
        seen = followers(model, observability_classes(model))
        sure = blind_sure_costs(np.ascontiguousarray(peak), *seen, np.array(model.cost_discount))  # [classes, A, K]
        vectors = self._of_class(blind_vectors(model, model.reward[None])[:, 0].T)  # [E, n, A]
        value = np.einsum("es,esa->ea", self._points, vectors)
        left = ledger.left(self._steps)
        kept = (sure[self._classes][:, None, :, ledger.limited] <= left[None, :, None]).all(axis=3)
        best = np.where(kept, value[:, None], -np.inf)  # [E, L, A]
        chosen = np.take_along_axis(vectors, best.argmax(axis=2)[:, None, :], axis=2)  # [E, n, L]
        return np.where(np.isfinite(best.max(axis=2))[:, None, :], chosen, -np.inf)

    def _of_class(self, values: FloatArray) -> FloatArray:
        """``values [S, ...]`` over the classes of the points, [E, n, ...]; of what is no state of a class 0."""
        places = self._start[self._classes][:, None] + np.arange(self._width)
        inside = places < self._start[self._classes + 1][:, None]
        found = values[np.where(inside, places, 0)]
        found[~inside] = 0.0
        return found

    def _rounding(self, table: FloatArray) -> float:
        """More than rounding can have moved a bound by."""
        terms = int(np.diff(self._rows.ptr).max()) * (self._width + 1) ** 2 + 16
        largest = float(np.abs(table[np.isfinite(table)]).max(initial=0.0)) + float(np.abs(self.model.reward).max())
        return self._steps * terms * _EPS * largest

    def _parts(self, n: int, width: int) -> list[tuple[int, int]]:
        """The points in parts that take about 0.05 s."""
        size = max(1, int(_SLICE * n * self._steps / (self.work * width)))
        return [(first, min(first + size, n)) for first in range(0, n, size)]

    def _add(self, cls: int, belief: FloatArray) -> None:
        self._cls.append(cls)
        self._beliefs.append(np.append(belief, np.zeros(self._width - belief.size)))

    def _follow(self) -> GridRows:
        """The beliefs that follow each point and action, as mixtures of points, in rows ``a*E + e``."""
        model, start = self.model, self._start
        ptr, belief, moves, vertex_ptr, vertex = [0], [], [], [0], list[int]()
        points: list[dict[int, float]] = []
        for a in range(model.n_actions):
            known: dict[int, tuple[IntArray, FloatArray, FloatArray]] = {}
            for cls, b in zip(self._cls, self._beliefs, strict=True):
                if cls not in known:
                    known[cls] = self._moves_of(cls, a)
                lands, moved, told = known[cls]
                row = dict[int, float]()
                for o in np.flatnonzero(told.any(axis=0)).tolist():
                    joint = moved * told[:, o]  # [size, lands]
                    after = b[: len(moved)] @ joint
                    chance = float(after.sum())
                    if chance == 0:  # other beliefs that follow a plan of this point may observe it
                        after = joint.sum(axis=0)
                    seen = np.flatnonzero(joint.any(axis=0))
                    to = int(np.searchsorted(start, lands[seen[0]], side="right")) - 1
                    follows, block = np.zeros(self._width), np.zeros((self._width, self._width))
                    follows[lands[seen] - start[to]] = after[seen] / after.sum()
                    block[: len(moved), lands[seen] - start[to]] = joint[:, seen]
                    mixture = self._mixture(to, follows[: int(start[to + 1] - start[to])])
                    if chance > 0:
                        for point, share in mixture.items():
                            row[point] = row.get(point, 0.0) + chance * share
                    belief.append(follows)
                    moves.append(block)
                    vertex += mixture
                    vertex_ptr.append(len(vertex))
                ptr.append(len(belief))
                points.append(row)
        point_ptr = np.cumsum([0, *map(len, points)])
        return GridRows(
            ptr=np.array(ptr),
            belief=np.array(belief),
            moves=np.array(moves),
            vertex_ptr=np.array(vertex_ptr),
            vertex=np.array(vertex, dtype=np.int32),
            point_ptr=point_ptr,
            point=np.array([point for row in points for point in row], dtype=np.int32),
            point_weight=np.array([share for row in points for share in row.values()]),
        )

    def _moves_of(self, cls: int, a: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """The states [m] that a class leads to under an action, T(s, a, ·) [size, m], and Z(·, a, o) [m, O]."""
        moves = self.model.transition[a][int(self._start[cls]) : int(self._start[cls + 1])]
        lands = np.unique(moves.indices).astype(np.int64)
        return lands, moves[:, lands].toarray(), self.model.observation[a][lands].toarray()

    def _mixture(self, cls: int, belief: FloatArray) -> dict[int, float]:
        """The grid points around a belief, with their weights: its simplex in Freudenthal's triangulation."""
        divisions = _DIVISIONS[belief.size]
        sums = np.minimum(divisions * np.cumsum(belief[::-1])[::-1], divisions)  # decreasing
        sums[0] = divisions
        corner = np.floor(sums + _SAME)
        rest = np.maximum(sums - corner, 0.0)
        order = np.argsort(-rest, kind="stable")
        bounds = np.concatenate([[1.0], rest[order], [0.0]])
        found = dict[int, float]()
        for i, share in enumerate(bounds[:-1] - bounds[1:]):
            if share > 0:
                point = corner - np.append(corner[1:], 0.0)
                found[self._number[cls, *point.astype(int).tolist()]] = float(share)
            if i < order.size:
                corner[order[i]] += 1
        return found


def _simplex(n: int, divisions: int) -> list[tuple[int, ...]]:
    """All ways to divide a number into n parts."""
    if n == 1:
        return [(divisions,)]
    return [(i, *rest) for i in range(divisions + 1) for rest in _simplex(n - 1, divisions - i)]
