"""Sweeps of the informed bounds over budget levels, from above.

A step of kind ``kind[κ, a]`` leads from budget level l to ``level[kind, l]``, or is not allowed. Backups are rounded
up, so whatever a sweep leaves is a bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import BoolArray, FloatArray, IndexArray
from ..arrays import ModelArrays
from ..belief_graph.store import best_action
from ..jit import inner, kernel
from .branching import Branching

NOT_ALLOWED = -1
NEVER = -1
_EPS = 2.3e-16  # a little above the spacing of doubles at 1


class Steps(NamedTuple):
    """Budget levels after each kind of step."""

    kind: IndexArray  # [n_classes, A] which row of `level` an action is in a class
    level: IndexArray  # [kinds, L] level after the step, or NOT_ALLOWED


class Points(NamedTuple):
    """The points that have values: states, or one-step beliefs."""

    cls: IndexArray  # [n] class
    gain: FloatArray  # [n, A] objective
    ended: BoolArray  # [n] worth nothing whatever is done
    slack: float  # terms that rounding may have cost before: in probabilities, and in merging equal points


class Table(NamedTuple):
    """Bounds, and when each was last brought up to date."""

    q: FloatArray  # [L, n, A] -inf where an action is not allowed
    v: FloatArray  # [L, n] max_a q
    wanted: BoolArray  # [L, n, A] whether some maximum was taken there: nothing else need be brought up to date
    done: IndexArray  # [L, n, A] the last sweep that backed it up, or NEVER
    changed: IndexArray  # [L, n] the last sweep that left it lower by more than the tolerance
    owed: FloatArray  # [L, n] by how much it has fallen since then
    latest: IndexArray  # [L] largest entry of `changed`
    peak: FloatArray  # [L] largest finite |q|


@inner
def _state_q(m: ModelArrays, discount: float, v: FloatArray, peak: float, slack: float, s: int, a: int) -> float:
    """``g(s, a) + γ Σ_s' T(s, a, s') V(s')``, rounded up."""
    row = a * m.reward.shape[0] + s
    total = 0.0
    for e in range(m.t_ptr[row], m.t_ptr[row + 1]):
        total += m.t_prob[e] * v[m.t_next[e]]
    terms = m.t_ptr[row + 1] - m.t_ptr[row] + slack
    return float(m.reward[s, a] + discount * total + _EPS * terms * (abs(m.reward[s, a]) + peak))


@kernel
def mdp_levels(
    m: ModelArrays,
    class_of: IndexArray,
    terminal: BoolArray,
    steps: Steps,
    discount: float,
    v: FloatArray,
    peak: FloatArray,
    slack: float,
    fall: FloatArray,
    level: int,
    first: int,
    last: int,
    backward: bool,
) -> None:
    """Back up states first:last of one level of ``v [L, S]`` in place; raise ``fall [L]`` to the largest fall."""
    n_actions = m.reward.shape[1]
    for i in range(last - first):
        s = last - 1 - i if backward else first + i
        if terminal[s]:
            continue
        best = -np.inf
        for a in range(n_actions):
            up = steps.level[steps.kind[class_of[s], a], level]
            if up != NOT_ALLOWED:
                best = max(best, _state_q(m, discount, v[up], peak[up], slack, s, a))
        if level + 1 < v.shape[0]:
            best = min(best, v[level + 1, s])
        if best < v[level, s]:
            fall[level] = max(fall[level], v[level, s] - best)
            v[level, s] = best
            if best > -np.inf:
                peak[level] = max(peak[level], abs(best))


@kernel
def mdp_q_levels(
    m: ModelArrays,
    class_of: IndexArray,
    terminal: BoolArray,
    steps: Steps,
    discount: float,
    v: FloatArray,
    peak: FloatArray,
    slack: float,
    q: FloatArray,
) -> None:
    """Write ``g(s, a) + γ Σ_j P(j | s, a) V(l', j)`` into ``q [L, S, A]``, rounded up; -inf where not allowed.

    The successors j are what ``m.t_next`` holds: states, or whatever else has a value in ``v [L, n]``.
    """
    for level in range(q.shape[0]):
        for s in range(q.shape[1]):
            for a in range(q.shape[2]):
                up = steps.level[steps.kind[class_of[s], a], level]
                if up == NOT_ALLOWED:
                    q[level, s, a] = -np.inf
                elif terminal[s]:
                    q[level, s, a] = 0.0
                else:
                    q[level, s, a] = _state_q(m, discount, v[up], peak[up], slack, s, a)


@inner
def _is_due(x: Branching, t: Table, row: int, up: int, done: int) -> bool:
    """Return whether something that a row depends on has changed since it was backed up."""
    if t.latest[up] < done:
        return False
    changed = t.changed[up]
    for e in range(x.single_ptr[row], x.single_ptr[row + 1]):
        if changed[x.single[e]] >= done:
            return True
    for e in range(x.mixed_ptr[x.group_ptr[row]], x.mixed_ptr[x.group_ptr[row + 1]]):
        if changed[x.mixed[e]] >= done:
            return True
    return False


@inner
def _backup(x: Branching, p: Points, discount: float, t: Table, i: int, a: int, up: int) -> float:
    """``g(i, a) + γ Σ_o max_a' Σ_j w_oj Q(j, a')`` with Q at level `up`, rounded up; what is best there is wanted."""
    n_actions = p.gain.shape[1]
    row = i * n_actions + a
    q, v, wanted = t.q[up], t.v[up], t.wanted[up]
    total = 0.0
    for e in range(x.single_ptr[row], x.single_ptr[row + 1]):
        total += x.single_weight[e] * v[x.single[e]]
    for g in range(x.group_ptr[row], x.group_ptr[row + 1]):
        best, most = 0, -np.inf
        for b in range(n_actions):
            value = 0.0
            for e in range(x.mixed_ptr[g], x.mixed_ptr[g + 1]):
                value += x.mixed_weight[e] * q[x.mixed[e], b]
            if value > most:
                best, most = b, value
        total += most
        for e in range(x.mixed_ptr[g], x.mixed_ptr[g + 1]):
            wanted[x.mixed[e], best] = True
    size = abs(p.gain[i, a]) + t.peak[up]
    return float(p.gain[i, a] + discount * total + _EPS * (x.terms[row] + p.slack) * size)


@inner
def _lower(t: Table, level: int, i: int, a: int, value: float, settled: float, now: int) -> None:
    """Put a lower value in its place; those that depend on it are due once they are owed more than the tolerance."""
    t.owed[level, i] += t.q[level, i, a] - value
    t.q[level, i, a] = value
    if value > -np.inf:
        t.peak[level] = max(t.peak[level], abs(value))
    if t.owed[level, i] > settled:
        t.owed[level, i] = 0.0
        t.changed[level, i] = now
        t.latest[level] = now


@inner
def _refresh(
    x: Branching,
    p: Points,
    steps: Steps,
    discount: float,
    t: Table,
    settled: float,
    now: int,
    level: int,
    i: int,
    a: int,
) -> int:
    """Back up one entry if it is due; return the backups made, 0 or 1."""
    before = t.q[level, i, a]
    if before == -np.inf:
        return 0
    up = steps.level[steps.kind[p.cls[i], a], level]
    if not _is_due(x, t, i * p.gain.shape[1] + a, up, t.done[level, i, a]):
        return 0
    t.done[level, i, a] = now
    value = _backup(x, p, discount, t, i, a, up)
    if value < before:
        _lower(t, level, i, a, value, settled, now)
    return 1


@kernel
def sweep(
    x: Branching,
    p: Points,
    steps: Steps,
    discount: float,
    t: Table,
    settled: float,
    now: int,
    top: int,
    bottom: int,
    first: int,
    last: int,
) -> int:
    """Bring points first:last of levels top, top - 1, ..., bottom up to date, in place; return the backups made.

    What is wanted and due is backed up, and so is the best action of every point. No value is left above that of the
    level above.
    """
    n_levels, _, n_actions = t.q.shape
    backups = 0
    for level in range(top, bottom - 1, -1):
        for i in range(first, last):
            if p.ended[i]:
                continue
            q = t.q[level, i]
            if level + 1 < n_levels:
                for a in range(n_actions):
                    if t.q[level + 1, i, a] < q[a]:
                        _lower(t, level, i, a, t.q[level + 1, i, a], settled, now)
            for a in range(n_actions):
                if t.wanted[level, i, a]:
                    backups += _refresh(x, p, steps, discount, t, settled, now, level, i, a)
            best = best_action(q)
            while not t.wanted[level, i, best]:
                t.wanted[level, i, best] = True
                backups += _refresh(x, p, steps, discount, t, settled, now, level, i, best)
                best = best_action(q)
            t.v[level, i] = q[best]
    return backups
