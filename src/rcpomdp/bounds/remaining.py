"""Upper bounds at the start from tables over states and remaining budgets, backwards in time.

``V_t(s, D) = max_a R(s, a) + γ Σ_s' T(s, a, s') V_t+1(s', D − β^t c(s, a))`` over the actions that D pays for, where
c(s, a) is the least cost over the class of s: the MDP with the remaining budget for a second state. The fast informed
bound has the same recursion over observations. Both grant the agent more than it has, so the value at b_0 and ĉ is an
upper bound. After the last step stands the bound without a budget.

D is in units of the first step. A free step changes nothing then, so that only steps that cost something are rounded.
Levels belong to one time each: a few hundred lose little, where the levels of `bounds.informed`, which serve at all
times, need many more for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .._types import FloatArray, IndexArray, IntArray
from ..deadline import charge
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
_LEAST_LEVELS, _MOST_LEVELS = 20, 20_000  # of one budget, on average
_FEWEST = 4  # levels of one budget at any time
_ROUNDING = 1e-9  # of a budget that a table may grant too much or too little at all its times together
_CROWD = 50_000  # levels that are sorted one by one
_PRODUCT = 0.07  # elementary steps that a product takes, about
_SLICE = 30_000_000  # products between two looks at the deadline, about 0.03 s
_EPS = float(np.finfo(np.float64).eps)


class Ledger:
    """Levels of the remaining budgets at each time, and where paying for an action leads from them.

    Levels are the budgets that payments lead to from the whole budget, as long as there is room for all of them. Then
    those that lie in one of many even parts of the budget become one, which is rounded up or down. What can never be
    spent again is one level, inf.

    Parameters
    ----------
    costs : [K, n_classes, A] cost of an action in a class
    budget : [K] inf where there is none
    discount : [K] of each cost
    steps : times of the table
    is_up : whether remaining budgets are rounded up, or down
    """

    def __init__(
        self, costs: FloatArray, budget: FloatArray, discount: FloatArray, steps: int, is_up: bool = True
    ) -> None:
        self.limited = np.flatnonzero(np.isfinite(budget) & costs.any(axis=(1, 2)))
        self.steps, self._is_up = steps, is_up
        self._budget, self._beta = budget[self.limited], discount[self.limited]
        rows = costs[self.limited].reshape(self.limited.size, math.prod(costs.shape[1:])).T
        kind = np.zeros(len(rows), dtype=np.int64)
        self._costs = np.zeros((1, 0))  # [kinds, K]
        if self.limited.size:
            self._costs, kind = np.unique(rows, axis=0, return_inverse=True)
        self.kind = kind.reshape(costs.shape[1:]).astype(np.int32)  # [n_classes, A]
        self._same = _ROUNDING / (2 * steps) * self._budget  # budgets that differ by less are one
        self._levels: list[list[FloatArray]] = []  # [K][steps + 1] increasing

    def divide(self, width: float, widest: float = np.inf) -> bool:
        """Make levels: of all budgets together `width` on average over all times, at most `widest` at any time.

        Return False if that is too few.
        """
        self._levels, n = [], len(self.limited)
        for k in range(n):
            most = min(width ** (1 / (n - k)), _MOST_LEVELS)
            if most < _LEAST_LEVELS:
                return False
            at_each_time = np.minimum(most * self._importance(k) ** (1 / n), widest ** (1 / n))
            self._levels.append(self._forward(k, np.maximum(at_each_time.astype(np.int64), _FEWEST)))
            width /= float(np.mean([len(levels) for levels in self._levels[-1]]))
        return True

    def _importance(self, k: int) -> FloatArray:
        """Return weights [steps + 1] for the numbers of levels at each time; their mean is 1.

        An even grid over a range of budgets r loses about r/n by n levels, so that numbers in proportion to √r lose
        least in all. Later ranges are smaller: less can be spent from then on.
        """
        t = np.arange(self.steps + 1)
        beta, largest = float(self._beta[k]), float(self._costs[:, k].max())
        later = beta**t / (1 - beta) if beta < 1 else np.full(self.steps + 1, np.inf)
        weight = np.sqrt(np.minimum(self._budget[k], largest * later) + 1e-9 * self._budget[k] + 1e-300)
        return np.asarray(weight / weight.mean())

    def width(self, t: int) -> int:
        """Levels of all budgets together at a time; the last one is the largest of each."""
        return math.prod(len(levels[t]) for levels in self._levels)

    def _forward(self, k: int, most: IntArray) -> list[FloatArray]:
        beta, costs = float(self._beta[k]), np.unique(self._costs[:, k])
        largest = float(costs[-1]) / (1 - beta) if beta < 1 else np.inf  # the most that can be spent from now on
        levels = [np.array([self._budget[k] if self._budget[k] < largest else np.inf])]
        for t in range(self.steps):
            left = (levels[-1][:, None] - beta**t * costs).ravel()
            left = np.maximum(left[left >= -self._same[k] * self.steps], 0.0)
            left[left >= beta ** (t + 1) * largest] = np.inf
            levels.append(self._thinned(left, int(most[t + 1]), float(self._same[k])))
        return levels

    def _thinned(self, left: FloatArray, most: int, same: float) -> FloatArray:
        """At most so many levels, in increasing order, which the others are rounded to."""
        finite, unlimited = left[np.isfinite(left)], [np.inf] * bool(np.isinf(left).any() or not left.size)
        if finite.size > _CROWD:
            finite = self._rounded(finite, most)
        finite = np.unique(finite)
        if finite.size:
            new = np.concatenate([[True], np.diff(finite) > same])
            finite = finite[np.append(new[1:], True) if self._is_up else new]
        if finite.size >= most:
            finite = self._rounded(finite, most)
        return np.append(finite, unlimited)

    def _rounded(self, left: FloatArray, most: int) -> FloatArray:
        """The largest of the levels in each of so many even parts, or the least if they are rounded down."""
        low, high = left.min(), left.max()
        part = np.floor((left - low) / max(high - low, 1e-300) * (most - 2)).astype(np.int64)
        kept = np.full(most - 1, -np.inf if self._is_up else np.inf)
        (np.maximum if self._is_up else np.minimum).at(kept, part, left)
        finite: FloatArray = kept[np.isfinite(kept)]
        return finite

    def places(self, t: int) -> IndexArray:
        """Where paying for each kind of action leads from each level at time t, [kinds, L]; -1 if it cannot be paid."""
        n = len(self._costs)
        index, fits = np.zeros((n, 1), dtype=np.int64), np.ones((n, 1), dtype=bool)
        for k, levels in enumerate(self._levels):
            then, same = levels[t + 1], self._same[k]
            left = levels[t] - (self._beta[k] ** t * self._costs[:, k])[:, None]
            enough = left >= -same * self.steps
            if self._is_up:
                to = np.searchsorted(then, left - same)
                to = np.minimum(to, len(then) - 1)
            else:
                to = np.searchsorted(then, left + same, side="right") - 1
                enough &= to >= 0
            index = (index[:, :, None] * len(then) + np.maximum(to, 0)[:, None, :]).reshape(n, -1)
            fits = (fits[:, :, None] & enough[:, None, :]).reshape(n, -1)
        return np.where(fits, index, -1).astype(np.int32)

    def left(self, t: int) -> FloatArray:
        """The remaining budgets of each level at time t as they are then, [L, limited]."""
        mesh = np.meshgrid(*(levels[t] for levels in self._levels), indexing="ij")
        return np.stack([axis.ravel() for axis in mesh], axis=1) / self._beta**t if mesh else np.zeros((1, 0))


class RemainingBudgets:
    """Tables over remaining budgets for one model; `budget` [K] are its limits, inf where there is none."""

    def __init__(self, model: CPOMDP, budget: FloatArray, memory_limit: float = np.inf) -> None:
        classes = observability_classes(model)
        self.model = in_class_order(model, classes)
        self._memory = memory_limit
        self._steps = steps_of_table(model, _TAIL)
        self._states = _states_by_time(self.model, self._steps, model.horizon is not None)
        least = np.minimum.reduceat(self.model.cost, classes.start[:-1], axis=1)  # [K, n_classes, A]
        self._ledger = Ledger(least, budget, np.array(model.cost_discount), self._steps)
        self._kind = self._ledger.kind[np.repeat(np.arange(classes.n_classes), classes.sizes)]  # [S, A]

    def work(self, is_informed: bool) -> float:
        """Return the products that a level of each budget takes, or a little more."""
        m, n = self.model, self.model.n_states * self.model.n_actions
        entries = one_step_size(m).support * m.n_actions if is_informed else len(m.arrays.t_next)
        return float(sum(map(len, self._states)) / m.n_states * (entries + 2 * n))

    def bound(self, is_informed: bool, work: float, over: Callable[[], bool]) -> float | None:
        """Return the bound at the start by a table of so many products; None if these are too few, or time is up."""
        model = self.model
        actions = model.n_actions if is_informed else 1
        if not self._ledger.divide(work / self.work(is_informed), self._numbers / (model.n_states * actions)):
            return None
        widths = [self._ledger.width(t) for t in range(self._steps + 1)]
        unlimited = fib_vectors(model).T if is_informed else mdp_q_values(model).max(axis=1)[:, None]
        after = np.repeat(np.ascontiguousarray(unlimited)[:, :, None], widths[-1], axis=2)  # [S, A or 1, L]
        scratch = np.empty((3, max(widths)))
        rows = self._branching(over) if is_informed else None
        if is_informed and rows is None:
            return None
        m, place = model.arrays, np.empty((0, 0), dtype=np.int32)
        per_state = self.work(is_informed) / sum(map(len, self._states))
        for t in range(self._steps - 1, -1, -1):
            place = self._ledger.places(t)
            if t == 0 and not is_informed:
                break  # the first step is that of the belief, which all its states share
            best = after.max(axis=1) if rows is not None else after[:, 0]
            now = np.zeros((*after.shape[:2], widths[t]))
            chunk = max(1, int(_SLICE / (per_state * max(widths[t], widths[t + 1]))))
            for first in range(0, len(self._states[t]), chunk):
                charge(_PRODUCT * chunk * per_state * max(widths[t], widths[t + 1]))
                if over():
                    return None
                known = model.terminal, self._kind, place, model.discount, after
                states = self._states[t][first : first + chunk]
                if rows is None:
                    remaining.mdp_step(m, *known, now, scratch, states)
                else:
                    remaining.fib_step(m, rows, *known, best, now, scratch, states)
            after = now
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


def _states_by_time(model: CPOMDP, steps: int, has_horizon: bool) -> list[IntArray]:
    """Return the states that matter at each time: under a horizon a state has its time, else all do at all times."""
    if not has_horizon:
        return [np.arange(model.n_states)] * steps
    states = [np.flatnonzero(model.initial_belief)]
    for _ in range(steps - 1):
        follow = [moves[states[-1]].indices for moves in model.transition]
        states.append(np.unique(np.concatenate(follow)).astype(np.int64))
    return states


def steps_of_table(model: CPOMDP, tail: float) -> int:
    """Return the number of times of a table: up to the horizon, or until at most a share `tail` of all may follow."""
    return int(min(max(math.ceil(model.steps_until(tail)), 1), model.horizon or _MOST_STEPS, _MOST_STEPS))
