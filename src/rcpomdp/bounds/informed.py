"""Upper bounds that know the budget: the MDP's, the fast informed and the tighter informed bound over budget levels.

The relaxation P̄ of an RC-POMDP is an ordinary POMDP whose states are pairs (s, l) of a state and an observed budget
level: action a is allowed in class κ iff ``d_l ≥ c(κ, a)``, the least cost over the class, and leads to the least level
``l' ≥ (d_l − c) / γ``. With a gain ``g = R − λ·C``, every admissible policy earns at most ``V̄(b, l) + λ·d_l``.

- MDP: ``V(s, l) = max_a g(s, a) + γ Σ_s' T(s, a, s') V(s', l')``;
- FIB (Hauskrecht 2000): ``F_a(s, l) = g(s, a) + γ Σ_o max_a' Σ_s' P(s', o | s, a) F_a'(s', l')``: the state becomes
  known with the next observation;
- TIB (Krale et al. 2025): ``Q(b, l, a) = g(b, a) + γ Σ_o max_a' Σ_s b(s) P(o | s, a) Q(b_sao, l', a')`` over one-step
  beliefs b_sao: it becomes known one step late.

An action that is not allowed is worth −inf, and so is a point from which no policy is admissible. Operators are
monotone and the iteration starts above its fixed point, so it falls from there and every value on the way is a bound:
stopping early is sound. With the unlimited level alone these are the bounds of a plain POMDP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._types import BoolArray, FloatArray, IndexArray, IntArray
from ..kernels.arrays import ModelArrays
from ..kernels.bounds import branching, informed
from ..kernels.bounds.branching import GROUPS, MIXED, SINGLES, Branching
from ..kernels.bounds.informed import NEVER, NOT_ALLOWED, Points, Steps, Table
from ..kernels.bounds.one_step import Rows
from ..model import CPOMDP
from .mdp import mdp_q_values
from .one_step import OneStep, one_step_size

_RELATIVE = 1e-6
_SAME = 1e-12  # relative difference of a budget and a cost that are one
_DOWN = 1 - 1e-13  # what is left is rounded down by this before it is rounded up to a level
_SLICE = 30_000_000  # products between two looks at the deadline, about 0.05 s
_STATE_SLACK = 4.0
_BELIEF_SLACK = 64.0  # equal beliefs differ by 1e-14, which is 45 roundings
_EPS = float(np.finfo(np.float64).eps)


class Levels(NamedTuple):
    """Budget levels of one cost, and where actions lead from each."""

    values: FloatArray  # [L] increasing; the last is inf, unlimited
    steps: Steps
    class_of: IndexArray  # [S]

    @property
    def unlimited(self) -> int:
        """The last level."""
        return len(self.values) - 1


def budget_levels(values: FloatArray, floor: FloatArray, class_of: IntArray | IndexArray, discount: float) -> Levels:
    """Find where each action leads from each level.

    Parameters
    ----------
    values : [L] increasing, the last one inf
    floor : [n_classes, A] least cost of an action over a class
    class_of : [S]
    discount : by which a budget grows at each step, ``d' = (d − c) / γ``

    >>> levels = budget_levels(np.array([1.0, 2.0, np.inf]), np.array([[0.0, 1.0]]), np.zeros(1, dtype=int), 0.5)
    >>> levels.steps.level[levels.steps.kind[0]].tolist()  # free: twice as much is left; costs 1: nothing, 2, all
    [[1, 2, 2], [0, 1, 2]]
    """
    if len(values) == 0 or values[-1] != np.inf or not (np.diff(values) > 0).all():
        raise ValueError("levels must increase, and the last must be inf")
    if int(class_of.max()) >= len(floor):
        raise ValueError("floor must have a row for each class")
    costs, kind = np.unique(floor, return_inverse=True)
    left = values[None, :] - costs[:, None]
    allowed = left >= -_SAME * np.maximum(costs, 0.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        after = np.where(left > 0, left / discount * _DOWN, np.inf if discount == 0 else 0.0)
    level = np.where(allowed, np.searchsorted(values, after), NOT_ALLOWED).astype(np.int32)
    steps = Steps(kind.reshape(floor.shape).astype(np.int32), level)
    return Levels(values, steps, np.asarray(class_of, dtype=np.int32))


def no_levels(model: CPOMDP) -> Levels:
    """The unlimited level alone, in which everything is allowed."""
    class_of = np.zeros(model.n_states, dtype=np.int32)
    return budget_levels(np.array([np.inf]), np.zeros((1, model.n_actions)), class_of, model.discount)


class Effort:
    """How long to go on: sweeps of each bound, a deadline, looked at every 0.1 s or so, and the least fall that counts.

    The last is relative to the largest gain, times ``min(1, 10(1−γ))``.
    """

    def __init__(
        self, max_sweeps: int = 1000, deadline: Callable[[], bool] | None = None, relative: float = _RELATIVE
    ) -> None:
        self.max_sweeps = max_sweeps
        self.relative = relative
        self._deadline = deadline

    def over(self) -> bool:
        """Whether the deadline is reached."""
        return self._deadline is not None and self._deadline()

    def tolerance(self, model: CPOMDP, gain: FloatArray) -> float:
        """The least fall that counts."""
        return self.relative * float(np.abs(gain).max()) * min(1.0, 10 * (1 - model.discount))


_ALL = Effort()


def mdp_over_levels(model: CPOMDP, gain: FloatArray, levels: Levels, effort: Effort = _ALL) -> FloatArray:
    """V[l, s] of the relaxation's MDP, from above: for every belief, ``V̄(b, l) ≤ Σ_s b(s) V(l, s)``.

    The model is in class order, ``gain [S, A]``. The unlimited level is `mdp_q_values`; each level starts from the one
    above it, sweeps run from the top down, and every value is rounded up: a bound wherever it stops.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("tiger")  # opening the right door pays 10 and costs nothing
    >>> mdp_over_levels(model, model.reward, no_levels(model)).round(6).tolist()
    [[40.0, 40.0]]
    """
    m, gamma = model.arrays._replace(reward=gain), model.discount
    n_levels, n = len(levels.values), model.n_states
    value = np.tile(mdp_q_values(model._changed(arrays=m)).max(axis=1), (n_levels, 1))
    peak = np.abs(value).max(axis=1)
    settled, fall = effort.tolerance(model, gain), np.full(n_levels, np.inf)
    leads_to = _leads_to(levels)
    chunk = max(1, _SLICE * n // max(1, len(m.t_next)))
    for sweep in range(effort.max_sweeps):
        due = leads_to @ (fall > settled) | (sweep == 0)  # no step at all may lead from a level
        due[-1] = False
        if not due.any():
            break
        for level in np.flatnonzero(due)[::-1]:
            fall[level] = 0.0
            for first in range(0, n, chunk):
                if effort.over():
                    return _monotone(value)
                informed.mdp_levels(
                    m,
                    levels.class_of,
                    model.terminal,
                    levels.steps,
                    gamma,
                    value,
                    peak,
                    _STATE_SLACK,
                    fall,
                    level,
                    first,
                    min(first + chunk, n),
                    sweep % 2 == 1,
                )
        fall[~due] = 0.0
    return _monotone(value)


def mdp_q_over_levels(model: CPOMDP, gain: FloatArray, levels: Levels, value: FloatArray) -> FloatArray:
    """Q[l, s, a] of the relaxation's MDP from `mdp_over_levels`; −inf where an action is not allowed."""
    return _state_values(model, model.arrays._replace(reward=gain), levels, value, _STATE_SLACK)


def fib_over_levels(
    model: CPOMDP, gain: FloatArray, levels: Levels, effort: Effort = _ALL, value: FloatArray | None = None
) -> FloatArray:
    """F[l, s, a]: for every belief b of class κ, ``V̄(b, l) ≤ max_a Σ_s b(s) F_a(s, l)``; −inf where not allowed.

    Falls from the MDP's Q (from `value`, what `mdp_over_levels` gave), so it is a bound wherever it stops.
    """
    value = mdp_over_levels(model, gain, levels, effort) if value is None else value
    q = mdp_q_over_levels(model, gain, levels, value)
    size = one_step_size(model)
    n, n_actions = model.n_states, model.n_actions
    points = Points(levels.class_of, gain, model.terminal, _STATE_SLACK)

    def fill(x: Branching, used: IntArray, first: int, last: int) -> None:
        branching.branch_states(model.arrays, x, key, weight, used, first, last)

    key, weight = np.empty(size.widest, dtype=np.int64), np.empty(size.widest)
    rows = _branching(n, n_actions, size.support, fill, effort)
    if rows is not None:
        _Sweeps(model, points, levels, rows, q, effort).settle(every=True)
    return _monotone(q)


class TighterBound(NamedTuple):
    """The tighter informed bound over levels."""

    q: FloatArray  # [L, n, A] of one-step beliefs
    corner: FloatArray  # [L, S, A] vectors: V̄(b, l) ≤ max_a Σ_s b(s) corner[l, s, a] for every belief b of a class

    def root(self, one_step: OneStep) -> FloatArray:
        """[L] bounds at the initial belief."""
        return np.asarray(self.q[:, one_step.root].max(axis=1))


def tib_size(model: CPOMDP, one_step: OneStep) -> int:
    """At most how many products a sweep of `tib_over_levels` needs for each action and level."""
    following = np.diff(one_step.ptr).reshape(model.n_actions, model.n_states).sum(axis=0)
    return int(following[one_step.state].sum())


def tib_over_levels(
    model: CPOMDP,
    gain: FloatArray,
    levels: Levels,
    one_step: OneStep,
    effort: Effort = _ALL,
    start: FloatArray | None = None,
    every: bool = False,
) -> TighterBound:
    """Q[l, b, a] of the one-step beliefs, and the vectors ``g(s, a) + γ Σ_o P(o | s, a) max_a' Q(b_sao, l', a')``.

    Falls from the vectors `start [L, S, A]` (what `fib_over_levels` gave), so it is a bound wherever it stops. Unless
    `every`, only the entries that some maximum takes are brought down as far as they go: no value depends on others.
    """
    start = fib_over_levels(model, gain, levels, effort) if start is None else start
    n, n_actions = one_step.n_beliefs, model.n_actions
    shares = sp.csr_array((one_step.weight, one_step.state, one_step.start), shape=(n, model.n_states))
    slack = _EPS * (int(np.diff(one_step.start).max()) + _BELIEF_SLACK)
    q = np.stack([shares @ vectors + slack * _peak(vectors) for vectors in start])
    ended = np.diff(one_step.start) == np.add.reduceat(model.terminal[one_step.state], one_step.start[:-1], dtype=int)
    q[:, ended] = 0.0
    cls = levels.class_of[one_step.state[one_step.start[:-1]]]
    points = Points(cls, np.asarray(shares @ gain), ended, _BELIEF_SLACK)
    rows = Rows(one_step.ptr, one_step.obs, one_step.prob, one_step.belief)

    def fill(x: Branching, used: IntArray, first: int, last: int) -> None:
        support = one_step.start, one_step.state, one_step.weight
        branching.branch_beliefs(rows, *support, model.n_states, n_actions, x, key, weight, used, first, last)

    following = np.diff(one_step.ptr).reshape(n_actions, model.n_states).max(axis=0)
    widest = int(np.add.reduceat(following[one_step.state], one_step.start[:-1]).max())
    key, weight = np.empty(widest, dtype=np.int64), np.empty(widest)
    x = _branching(n, n_actions, tib_size(model, one_step), fill, effort)
    if x is not None:
        _Sweeps(model, points, levels, x, q, effort).settle(every)
    q = _monotone(q)
    after = model.arrays._replace(t_ptr=one_step.ptr, t_next=one_step.belief, t_prob=one_step.prob, reward=gain)
    corner = _state_values(model, after, levels, q.max(axis=2), _BELIEF_SLACK)
    return TighterBound(q, np.minimum(corner, start))


class _Sweeps:
    """Sweeps over one table until nothing is due."""

    def __init__(
        self, model: CPOMDP, points: Points, levels: Levels, x: Branching, q: FloatArray, effort: Effort
    ) -> None:
        self.discount, self.points, self.steps, self.x, self.effort = model.discount, points, levels.steps, x, effort
        self.ends = bool(model.terminal.any())
        self.settled = effort.tolerance(model, points.gain)
        self.table = _table(q)
        self.sweeps = 0
        n_actions = q.shape[2]
        entries = (
            np.diff(x.single_ptr.astype(np.int64)) + n_actions * np.diff(x.mixed_ptr[x.group_ptr].astype(np.int64)) + 1
        )
        self.work = np.concatenate([[0], np.cumsum(entries.reshape(-1, n_actions).sum(axis=1))])

    def settle(self, every: bool) -> None:
        """First the unlimited level, on which the others stand, then all of them."""
        top = len(self.table.q) - 1
        for whole in (False, True) if every else (False,):
            self.table.wanted[...] |= whole
            if (self.ends or self._settle_shifted()) and self._settle(top, top):
                # Each level starts from the one above it; what is not allowed there stays -inf.
                np.minimum(self.table.q, self.table.q[top], out=self.table.q)
                self.table.v[...] = self.table.q.max(axis=2)
                self._settle(top - 1, 0)

    def _settle(self, top: int, bottom: int) -> bool:
        """Sweep levels top, ..., bottom until nothing is due; False if the effort is over."""
        while self.sweeps < self.effort.max_sweeps:
            self.sweeps += 1
            backups = 0
            for part in self._slices(top, bottom):
                if self.effort.over():
                    return False
                backups += self._sweep(self.steps, self.table, self.points, part)
            if not backups:
                return True
        return False

    def _sweep(self, steps: Steps, table: Table, points: Points, part: tuple[int, int, int, int]) -> int:
        return int(informed.sweep(self.x, points, steps, self.discount, table, self.settled, self.sweeps, *part))

    def _settle_shifted(self) -> bool:
        """Settle the unlimited level of a process that cannot end; False if the effort is over.

        The operator moves with a constant, ``H(Q + c) = HQ + γc``, so that ``Q* ≤ HQ + γ max(HQ − Q) / (1−γ)``: what
        falls everywhere is taken off at once. H is applied from level 1 to level 0 of a table of two.
        """
        gamma = self.discount
        steps = Steps(np.zeros_like(self.steps.kind), np.ones((1, 2), dtype=np.int32))
        two = _table(np.repeat(self.table.q[-1:], 2, axis=0))
        two.wanted[...] = True
        while self.sweeps < self.effort.max_sweeps:
            self.sweeps += 1
            two.done[...] = NEVER
            for part in self._slices(0, 0):
                if self.effort.over():
                    return False
                self._sweep(steps, two, self.points, part)
            change = two.q[0] - two.q[1]
            shift = gamma / (1 - gamma) * min(0.0, float(change.max()))
            two.q[0] += shift + 4 * _EPS * (abs(shift) + two.peak.max())
            np.minimum(two.q[0], two.q[1], out=two.q[1])
            two.q[0] = two.q[1]
            two.v[...] = two.q.max(axis=2)
            two.peak[...] = _peak(two.q)
            self.table.q[-1], self.table.v[-1] = two.q[1], two.v[1]
            if change.max() - change.min() <= self.settled:
                return True
        return False

    def _slices(self, top: int, bottom: int) -> Iterator[tuple[int, int, int, int]]:
        """Parts of a sweep that take about 0.05 s: (top, bottom, first, last), levels and points."""
        n, level_work = len(self.work) - 1, int(self.work[-1])
        together = max(1, _SLICE // max(1, level_work))
        parts = min(n, -(-level_work // _SLICE))
        cuts = np.searchsorted(self.work, np.linspace(0, level_work, max(1, parts) + 1)[1:-1])
        bounds = [0, *(int(cut) for cut in cuts), n]
        for high in range(top, bottom - 1, -together):
            low = max(bottom, high - together + 1)
            yield from ((high, low, first, last) for first, last in pairwise(bounds))


def _table(q: FloatArray) -> Table:
    """A table over ``q [L, n, A]`` of which nothing is up to date."""
    n_levels, n, _ = q.shape
    return Table(
        q=q,
        v=q.max(axis=2),
        wanted=np.zeros(q.shape, dtype=np.bool_),
        done=np.full(q.shape, NEVER, dtype=np.int32),
        changed=np.zeros((n_levels, n), dtype=np.int32),
        owed=np.zeros((n_levels, n)),
        latest=np.zeros(n_levels, dtype=np.int32),
        peak=np.array([_peak(level) for level in q]),
    )


def _branching(
    n: int, n_actions: int, entries: int, fill: Callable[[Branching, IntArray, int, int], None], effort: Effort
) -> Branching | None:
    """What follows n points, with room for so many entries; None if the deadline is reached before it is filled."""
    x = Branching(
        single_ptr=np.zeros(n * n_actions + 1, dtype=np.uint64),
        single=np.empty(entries, dtype=np.uint32),
        single_weight=np.empty(entries),
        group_ptr=np.zeros(n * n_actions + 1, dtype=np.uint64),
        mixed_ptr=np.zeros(entries // 2 + 1, dtype=np.uint64),
        mixed=np.empty(entries + 1, dtype=np.uint32),  # a single point is written here first
        mixed_weight=np.empty(entries + 1),
        terms=np.empty(n * n_actions, dtype=np.int64),
    )
    used = np.zeros(3, dtype=np.int64)
    chunk = max(1, _SLICE // 30 * n // max(1, entries))
    for first in range(0, n, chunk):
        if effort.over():
            return None
        fill(x, used, first, min(first + chunk, n))
    return x._replace(
        single=x.single[: used[SINGLES]].copy(),
        single_weight=x.single_weight[: used[SINGLES]].copy(),
        mixed_ptr=x.mixed_ptr[: used[GROUPS] + 1].copy(),
        mixed=x.mixed[: used[MIXED]].copy(),
        mixed_weight=x.mixed_weight[: used[MIXED]].copy(),
    )


def _state_values(model: CPOMDP, m: ModelArrays, levels: Levels, value: FloatArray, slack: float) -> FloatArray:
    q = np.empty((len(levels.values), model.n_states, model.n_actions))
    peak = np.array([_peak(level) for level in value])
    informed.mdp_q_levels(m, levels.class_of, model.terminal, levels.steps, model.discount, value, peak, slack, q)
    return q


def _leads_to(levels: Levels) -> BoolArray:
    """[L, L] whether some step leads from one level to another."""
    n_levels = len(levels.values)
    found = np.zeros((n_levels, n_levels), dtype=np.bool_)
    for after in levels.steps.level:
        allowed = after != NOT_ALLOWED
        found[np.flatnonzero(allowed), after[allowed]] = True
    return found


def _monotone(values: FloatArray) -> FloatArray:
    """Values [L, ...] that never rise as the budget falls."""
    return np.minimum.accumulate(values[::-1])[::-1]


def _peak(values: FloatArray) -> float:
    """The largest finite size."""
    return float(np.abs(values).max(initial=0.0, where=np.isfinite(values)))
