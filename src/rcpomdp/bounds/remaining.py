"""Upper bounds at the start from tables over states and remaining budgets, backwards in time.

``V_t(s, D) = max_a R(s, a) + γ Σ_s' T(s, a, s') V_t+1(s', D − β^t c(s, a))`` over the actions that D pays for, where
c(s, a) is the least cost over the class of s: the MDP with the remaining budget for a second state. The fast informed
bound has the same recursion over observations. Both grant the agent more than it has, so the value at b_0 and ĉ is an
upper bound. After the last step stands the bound without a budget.

D is in units of the first step. A free step changes nothing then, so only the steps that cost something are rounded: an
even grid of a few hundred levels loses little, where levels of `bounds.informed`, which serve at all times, need many
more for it. Levels are rounded up. Once everything that can still be spent is less than the budget, they divide that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .._types import FloatArray, IndexArray, IntArray
from ..kernels.bounds import branching, remaining
from ..kernels.bounds.branching import Branching
from ..model import CPOMDP
from ..model.classes import in_class_order, observability_classes
from .fib import fib_vectors
from .informed.effort import Effort
from .informed.sweeps import branching_of
from .mdp import mdp_q_values
from .one_step import one_step_size

_TAIL, _MOST_STEPS = 1e-3, 800  # the table ends when so little may follow, or after so many steps
_LEAST_LEVELS, _MOST_LEVELS = 20, 4000  # of one budget
_PARTS = 10  # of the least cost that levels of an undiscounted budget may be
_DOWN = 1e-9  # of a level that is left is nothing
_FITS = 1e-6  # of a level may be missing; more than `_DOWN` adds up to
_SLICE = 30_000_000  # products between two looks at the deadline, about 0.03 s
_EPS = float(np.finfo(np.float64).eps)


class _Grid(NamedTuple):
    """Levels of one budget: level i of n is a remaining budget of ``i / n`` of the span."""

    n: int
    span: FloatArray  # [steps + 1]


class RemainingBudgets:
    """Tables over remaining budgets for one model; `budget` [K] are its limits, inf where there is none."""

    def __init__(self, model: CPOMDP, budget: FloatArray, memory_limit: float = np.inf) -> None:
        classes = observability_classes(model)
        self.model = in_class_order(model, classes)
        self._memory = memory_limit
        self._steps = int(min(max(math.ceil(model.steps_until(_TAIL)), 1), _MOST_STEPS))
        self._limited = np.flatnonzero(np.isfinite(budget) & model.cost.any(axis=(1, 2)))
        self._budget, self._beta = budget[self._limited], np.array(model.cost_discount)[self._limited]
        floor = np.minimum.reduceat(self.model.cost[self._limited], classes.start[:-1], axis=1)  # [K, n_classes, A]
        of_classes = np.repeat(np.arange(classes.n_classes), classes.sizes)
        costs, kind = np.unique(np.moveaxis(floor, 0, 2).reshape(-1, len(self._limited)), axis=0, return_inverse=True)
        self._costs = costs  # [kinds, K]
        self._kind = kind.reshape(floor.shape[1:])[of_classes].astype(np.int32)  # [S, A]

    def work(self, is_informed: bool) -> float:
        """Return the products that a level of each budget takes, or a little more."""
        m, n = self.model, self.model.n_states * self.model.n_actions
        entries = one_step_size(m).support * m.n_actions if is_informed else len(m.arrays.t_next)
        return float(self._steps * (entries + 2 * n))

    def bound(self, is_informed: bool, work: float, over: Callable[[], bool]) -> float | None:
        """Return the bound at the start by a table of so many products; None if these are too few, or time is up."""
        model = self.model
        actions = model.n_actions if is_informed else 1
        grids = self._grids(int(min(work / self.work(is_informed), self._numbers / (model.n_states * actions))))
        if grids is None:
            return None
        width = math.prod(grid.n + 1 for grid in grids)
        unlimited = fib_vectors(model).T if is_informed else mdp_q_values(model).max(axis=1)[:, None]
        after = np.repeat(np.ascontiguousarray(unlimited)[:, :, None], width, axis=2)  # [S, A or 1, L]
        now, scratch = np.empty_like(after), np.empty((3, width))
        rows = self._branching(over) if is_informed else None
        if is_informed and rows is None:
            return None
        m, chunk = model.arrays, max(1, int(_SLICE * model.n_states * self._steps / (self.work(is_informed) * width)))
        place = np.empty((0, 0), dtype=np.int32)
        for t in range(self._steps - 1, -1, -1):
            place = self._places(grids, t)
            if t == 0 and not is_informed:
                break  # the first step is that of the belief, which all its states share
            best = after.max(axis=1) if rows is not None else after[:, 0]
            for first in range(0, model.n_states, chunk):
                if over():
                    return None
                known = model.terminal, self._kind, place, model.discount, after
                last = min(first + chunk, model.n_states)
                if rows is None:
                    remaining.mdp_step(m, *known, now, scratch, first, last)
                else:
                    remaining.fib_step(m, rows, *known, best, now, scratch, first, last)
            after, now = now, after
        b0 = np.flatnonzero(model.initial_belief)
        at_start = model.initial_belief[b0]
        if rows is not None:
            value = float((at_start @ after[b0, :, -1]).max())
        else:
            value = float((at_start @ self._first_step(b0, after[:, 0], place[:, -1])).max())
        return value + self._rounding(after) if np.isfinite(value) else value

    @property
    def _numbers(self) -> float:
        """The numbers of a table that the memory limit has room for: there are two."""
        return self._memory / 24

    def _first_step(self, states: IntArray, after: FloatArray, place: IndexArray) -> FloatArray:
        """Return Q [n, A] of some states at the start, where paying leads from the whole budget to `place [kinds]`."""
        model = self.model
        q = np.empty((states.size, model.n_actions))
        for a, moves in enumerate(model.transition):
            to = place[self._kind[states, a]]
            expected = np.array([moves[[s]] @ after[:, i] for s, i in zip(states, to, strict=True)]).ravel()
            value = np.where(to < 0, -np.inf, model.reward[states, a] + model.discount * expected)
            q[:, a] = np.where(model.terminal[states], 0.0, value)
        return q

    def _rounding(self, table: FloatArray) -> float:
        """More than rounding can have taken off."""
        terms = int(np.diff(self.model.arrays.t_ptr).max()) * self.model.n_observations + 8
        largest = max(float(np.abs(table[np.isfinite(table)]).max(initial=0.0)), float(np.abs(self.model.reward).max()))
        return self._steps * terms * _EPS * largest

    def _branching(self, over: Callable[[], bool]) -> Branching | None:
        model, size = self.model, one_step_size(self.model)
        key, weight = np.empty(size.widest, dtype=np.int64), np.empty(size.widest)

        def fill(x: Branching, used: IntArray, first: int, last: int) -> None:
            branching.branch_states(model.arrays, x, key, weight, used, first, last)

        return branching_of(model.n_states, model.n_actions, size.support, fill, Effort(deadline=over))

    def _grids(self, width: int) -> list[_Grid] | None:
        """Return levels of each budget, so many of all together at most; None if that is too few."""
        grids: list[_Grid] = []
        for k in range(len(self._limited)):
            share = int(width ** (1 / (len(self._limited) - k)))
            if share <= _LEAST_LEVELS:
                return None
            grids.append(self._grid(k, min(share - 1, _MOST_LEVELS)))
            width //= grids[-1].n + 1
        return grids

    def _grid(self, k: int, most: int) -> _Grid:
        beta, budget, steps = float(self._beta[k]), float(self._budget[k]), np.arange(self._steps + 1)
        costs = np.unique(self._costs[:, k])
        costs = costs[costs > 0]
        if not costs.size or budget <= 0:
            return _Grid(1, np.full(steps.size, max(budget, 1e-300)))
        if beta == 1:  # multiples of a unit are exact
            for parts in range(1, _PARTS + 1):
                unit = costs[0] / parts
                n = math.floor(budget / unit * (1 + _DOWN)) + 1
                if n <= most and np.abs(costs / unit - np.round(costs / unit)).max() <= _DOWN:
                    return _Grid(n, np.full(steps.size, n * unit))
        largest = float(costs[-1]) / (1 - beta) if beta < 1 else np.inf
        return _Grid(most, np.minimum(budget, np.maximum(largest * beta**steps, 1e-300)))

    def _places(self, grids: Sequence[_Grid], t: int) -> IndexArray:
        """Return where paying for each kind of action leads from each level at time t, [kinds, L]; -1 if it cannot."""
        n = len(self._costs)
        index, fits = np.zeros((n, 1), dtype=np.int64), np.ones((n, 1), dtype=bool)
        for k, grid in enumerate(grids):
            here, then = grid.span[t] / grid.n, grid.span[t + 1] / grid.n
            left = np.arange(grid.n + 1) * here - (self._beta[k] ** t * self._costs[:, k])[:, None]
            to = np.clip(np.ceil(left / then - _DOWN), 0, grid.n).astype(np.int64)
            index = (index[:, :, None] * (grid.n + 1) + to[:, None, :]).reshape(n, -1)
            fits = (fits[:, :, None] & (left >= -_FITS * here)[:, None, :]).reshape(n, -1)
        return np.where(fits, index, -1).astype(np.int32)
