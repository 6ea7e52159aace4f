"""Where a trial under a budget goes next: the action to take, and the successor to visit.

A trial descends by the action with the largest upper bound and the successor that contributes most to the gap at the
root. Where a successor owes its bound to a relaxation, and that to a ray, the trial goes on at the end of the ray,
within the relaxation. A thrifty trial goes by the action that needs least (``C + γ max_o M_lo``) and the successor
whose known courses exceed the budget by most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import FloatArray, IntArray
from ..belief_graph.plans import Plans
from ..belief_graph.store import BASE, BELIEFS, CLASS, NONE, TIP, UPPER_BACKUPS, WEIGHT, Scratch, Space, Store
from ..jit import inner
from .courses import (
    COURSES,
    FILLED,
    LOOKS,
    PRICED,
    Courses,
    best_course,
    left_after,
    share_of,
    start_courses,
    thriftiest_course,
)
from .level_bounds import EXACT, bound_at, fill_bounds, needs
from .levels import Bounds, Levels, LevelScratch, level_of, priced, priced_gain
from .rows import apply_ray, hi_at, hint_of, lo_at, plain_at

NO_ROOM = -2  # in place of an action
THRIFTY = -2  # mode of a trial for something that keeps the budget at all
_NESTING = 8  # rays followed one after the other to where a gap comes from


class Steps(NamedTuple):
    """The path of a trial."""

    mode: IntArray  # [depth] EXACT, THRIFTY or the relaxation
    left: FloatArray  # [depth, K] budget
    wanted: FloatArray  # [., K] budgets at which a level would have helped


class Search(NamedTuple):
    """All that a search under a budget works on."""

    x: Space
    b: Store
    g: Plans
    w: Scratch
    v: Levels
    y: Bounds
    c: Courses
    z: LevelScratch
    p: Steps
    discount: float


@inner
def fill_new(s: Search) -> bool:
    """Give the store's new beliefs their bounds and leaves; False if full."""
    c = s.c
    while c.used[FILLED] < s.b.used[BELIEFS]:
        i = c.used[FILLED]
        cls = s.b.info[i, CLASS]
        if c.used[COURSES] + c.leaf_ptr[cls + 1] - c.leaf_ptr[cls] > c.info.shape[0]:
            return False
        fill_bounds(s.x, s.b, s.v, s.y, i)
        start_courses(s.x, s.b, s.g, c, i)
        c.used[FILLED] = i + 1
    return True


# Choice of the action


@inner
def exact_value(
    b: Store, v: Levels, y: Bounds, z: LevelScratch, discount: float, i: int, a: int, d: FloatArray
) -> float:
    """The upper bound of action a at belief i with budget d; −inf if it breaks the budget."""
    if not left_after(y, discount, i, a, d, z.rest):
        return -np.inf
    if b.edge[i, a] == NONE:
        bound = np.inf
        for j in range(v.price.shape[0]):
            bound = min(bound, hint_of(b, y, i, j, a) + priced(v, j, d))
        return bound
    needs(b, y, discount, i, a, z.need)
    for k in range(d.size):
        if z.need[k] > d[k]:
            return -np.inf
    level = level_of(v, z.rest)
    for j in range(v.price.shape[0]):
        z.worth[j] = priced(v, j, z.rest)
    value = b.gain[i, a]
    for e in range(b.edge[i, a], b.edge[i, a] + b.degree[i, a]):
        value += discount * b.edge_prob[e] * bound_at(b, v, y, b.edge_child[e], level, z.worth)
    return float(value)


@inner
def relaxed_value(b: Store, v: Levels, y: Bounds, discount: float, i: int, a: int, j: int, level: int) -> float:
    """The upper bound of action a in relaxation j; −inf if it breaks the budget."""
    to = v.after[v.which[b.info[i, CLASS] * b.gain.shape[1] + a], level]
    if to == NONE:
        return -np.inf
    if b.edge[i, a] == NONE:
        return hint_of(b, y, i, j, a)
    value = priced_gain(b, v, y, i, a, j)
    for e in range(b.edge[i, a], b.edge[i, a] + b.degree[i, a]):
        value += discount * b.edge_prob[e] * hi_at(b, v, y, b.edge_child[e], j, to)
    return value


@inner
def thrift(b: Store, c: Courses, y: Bounds, z: LevelScratch, discount: float, i: int, a: int, d: FloatArray) -> float:
    """Minus the share of the budget that action a needs; −inf if it needs more than there is."""
    needs(b, y, discount, i, a, z.need)
    share = 0.0
    for k in range(d.size):
        if c.limited[k]:
            if z.need[k] > d[k]:
                return -np.inf
            share = max(share, z.need[k] / max(d[k], 1e-300))
    return -share


@inner
def choose(s: Search, i: int, mode: int, level: int, d: FloatArray) -> tuple[int, float]:
    """The action with the largest bound, and that bound; NONE if every action breaks the budget."""
    best, most = NONE, -np.inf
    for a in range(s.b.gain.shape[1]):
        if mode == EXACT:
            value = exact_value(s.b, s.v, s.y, s.z, s.discount, i, a, d)
        elif mode == THRIFTY:
            value = thrift(s.b, s.c, s.y, s.z, s.discount, i, a, d)
        else:
            value = relaxed_value(s.b, s.v, s.y, s.discount, i, a, mode, level)
        s.b.used[UPPER_BACKUPS] += s.b.degree[i, a] if s.b.edge[i, a] != NONE else 1
        if value > most:
            best, most = a, value
    return best, most


# Choice of the successor


@inner
def relaxed_excess(b: Store, v: Levels, y: Bounds, c: Courses, i: int, j: int, level: int, target: float) -> float:
    """By how much the gap of belief i in relaxation j is above the target."""
    return float(hi_at(b, v, y, i, j, level) - max(lo_at(b, v, y, c, i, j, level), v.worst) - target)


@inner
def excess(s: Search, i: int, mode: int, level: int, target: float) -> float:
    """By how much belief i is above the target; ``z.rest`` is its budget, ``z.worth`` what that is worth."""
    if mode >= 0:
        return relaxed_excess(s.b, s.v, s.y, s.c, i, mode, level, target)
    if mode == THRIFTY:
        course = thriftiest_course(s.c, i, s.z.rest)
        return (share_of(s.c, course, s.z.rest) if course != NONE else np.inf) - 1.0
    bound, course = bound_at(s.b, s.v, s.y, i, level, s.z.worth), best_course(s.c, i, s.z.rest)
    if course == NONE:
        return bound - s.v.worst + 1.0  # whatever the target, it must be found out whether there is one
    return float(bound - s.c.total[course, 0] - target)


@inner
def follow_rays(s: Search, i: int, j: int, level: int, target: float, here: int, share: float) -> int:
    """The end of belief i's rays that its relaxed bound hangs on and that has a share of the excess, or i itself."""
    b, v, y, c = s.b, s.v, s.y, s.c
    for _ in range(_NESTING):
        if b.info[i, BASE] == NONE:
            break
        weight, base, tip = b.value[i, WEIGHT], b.info[i, BASE], b.info[i, TIP]
        by_ray = weight * plain_at(b, v, y, base, j, level) + (1.0 - weight) * plain_at(b, v, y, tip, j, level)
        if hi_at(b, v, y, i, j, level) < by_ray - 1e-12 * (1.0 + abs(by_ray)):
            break
        for end in (base, tip):
            if y.row[end] != NONE:
                apply_ray(b, v, y, end, j, y.hi[y.row[end], j])
        at_base = weight * relaxed_excess(b, v, y, c, base, j, level, target)
        at_tip = (1.0 - weight) * relaxed_excess(b, v, y, c, tip, j, level, target)
        if base == here:
            at_base = 0.0  # where we are
        if max(at_base, at_tip) <= share * relaxed_excess(b, v, y, c, i, j, level, target):
            break
        i = base if at_base > at_tip else tip
    return i


@inner
def relaxation_behind(b: Store, v: Levels, y: Bounds, z: LevelScratch, i: int, level: int) -> int:
    """The relaxation that the upper bound of belief i stems from, or EXACT."""
    bound = bound_at(b, v, y, i, level, z.worth)
    for j in range(v.price.shape[0]):
        if hi_at(b, v, y, i, j, level) + min(z.worth[j], v.worth[j, level]) <= bound:
            return j
    return EXACT


@inner
def next_step(s: Search, i: int, a: int, mode: int, level: int, target: float, end_share: float) -> tuple[int, int]:
    """Where a trial goes from belief i under action a, and in which mode; NONE if all successors are within `target`.

    `level` is that of the successors, and ``z.rest`` their budget.
    """
    b, c = s.b, s.c
    chosen, most = NONE, 0.0
    for e in range(b.edge[i, a], b.edge[i, a] + b.degree[i, a]):
        over = b.edge_prob[e] * excess(s, b.edge_child[e], mode, level, target)
        if over > most:
            chosen, most = b.edge_child[e], over
    j = mode
    if mode == EXACT and chosen != NONE:
        if best_course(c, chosen, s.z.rest) == NONE:
            return chosen, THRIFTY
        j = relaxation_behind(s.b, s.v, s.y, s.z, chosen, level)
        c.used[LOOKS] += 1
        c.used[PRICED] += 1 if j > 0 else 0
    if chosen == NONE or j < 0:
        return chosen, mode
    end = follow_rays(s, chosen, j, level, target, i, end_share)
    if mode == EXACT:
        within = relaxed_excess(s.b, s.v, s.y, s.c, chosen, j, level, target) <= end_share * excess(
            s, chosen, EXACT, level, target
        )
        if end == chosen or within:
            return chosen, EXACT
    return end, j
