"""Rows: bounds over all levels, which only beliefs have that were visited.

Until then the bounds of a belief follow from its products with the hints, from its ray, and from its courses: they are
worked out where they are asked for. `at` stands for one level, `over` for all of them.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..belief_graph.store import BASE, CLASS, HI, NONE, TIP, WEIGHT, Store
from ..jit import inner
from .courses import NEXT, PLAN, ROWS, Courses
from .levels import Bounds, Levels

# The first rows are lent to beliefs without one, for a moment; their `upper` is inf
HERE, AT_BASE, AT_TIP, LENT = range(4)


@inner
def hint_of(b: Store, y: Bounds, i: int, j: int, a: int) -> float:
    """The product of belief i with the hint of action a in relaxation j; the first is that of the reward."""
    return float(b.hint[i, a] if j == 0 else y.hint[i, j - 1, a])


@inner
def hinted_at(b: Store, v: Levels, y: Bounds, i: int, j: int, level: int) -> float:
    """What the hints say of belief i at one level."""
    n_actions = b.gain.shape[1]
    bound, pair = -np.inf, b.info[i, CLASS] * n_actions
    for a in range(n_actions):
        if v.after[v.which[pair + a], level] != NONE:
            bound = max(bound, hint_of(b, y, i, j, a))
    return float(min(bound, b.value[i, HI]) if j == 0 else bound)  # HI is of the reward without a budget


@inner
def hinted_over(b: Store, v: Levels, y: Bounds, i: int, j: int, out: FloatArray) -> None:
    """The same at all levels."""
    n_actions = b.gain.shape[1]
    pair = b.info[i, CLASS] * n_actions
    for level in range(out.size):
        out[level] = -np.inf
    for a in range(n_actions):
        hint, which, beaten = hint_of(b, y, i, j, a), v.which[pair + a], False
        for other in range(n_actions):  # of actions that cost the same, one is best at all levels
            over = hint_of(b, y, i, j, other) - hint
            beaten = beaten or (v.which[pair + other] == which and (over > 0.0 or (over == 0.0 and other < a)))
        if beaten:
            continue
        hint = min(hint, b.value[i, HI]) if j == 0 else hint
        after = v.after[which]
        for level in range(out.size):
            if after[level] != NONE:
                out[level] = max(out[level], hint)


@inner
def plain_at(b: Store, v: Levels, y: Bounds, i: int, j: int, level: int) -> float:
    """The bound of belief i in relaxation j without its ray, if it has no row."""
    return float(y.hi[y.row[i], j, level] if y.row[i] != NONE else hinted_at(b, v, y, i, j, level))


@inner
def hi_at(b: Store, v: Levels, y: Bounds, i: int, j: int, level: int) -> float:
    """The bound of belief i in relaxation j."""
    bound = plain_at(b, v, y, i, j, level)
    if y.row[i] == NONE and b.info[i, BASE] != NONE:
        weight, base, tip = b.value[i, WEIGHT], b.info[i, BASE], b.info[i, TIP]
        by_ray = weight * plain_at(b, v, y, base, j, level) + (1.0 - weight) * plain_at(b, v, y, tip, j, level)
        bound = min(bound, by_ray)
    return float(bound)


@inner
def plain_row(b: Store, v: Levels, y: Bounds, i: int, j: int, place: int) -> int:
    """The row of belief i; if it has none, a lent one, into which is written what the hints say of relaxation j."""
    if y.row[i] != NONE:
        return int(y.row[i])
    hinted_over(b, v, y, i, j, y.hi[place, j])
    return place


@inner
def apply_ray(b: Store, v: Levels, y: Bounds, i: int, j: int, own: FloatArray) -> None:
    """Lower bounds of belief i in relaxation j by its ray: they are convex."""
    base, tip = b.info[i, BASE], b.info[i, TIP]
    if base == NONE:
        return
    weight = b.value[i, WEIGHT]
    at_base, at_tip = y.hi[plain_row(b, v, y, base, j, AT_BASE), j], y.hi[plain_row(b, v, y, tip, j, AT_TIP), j]
    for level in range(own.size):
        own[level] = min(own[level], weight * at_base[level] + (1.0 - weight) * at_tip[level])


@inner
def row_above(b: Store, v: Levels, y: Bounds, i: int, j: int) -> int:
    """A row with the upper bounds of belief i in relaxation j, its ray included."""
    row = plain_row(b, v, y, i, j, HERE)
    apply_ray(b, v, y, i, j, y.hi[row, j])
    return row


# From below


@inner
def leaf_of(c: Courses, cls: int, course: int) -> int:
    """Which of the leaves of its class a course is, or NONE."""
    for f in range(c.leaf_ptr[cls], c.leaf_ptr[cls + 1]):
        if c.leaf_plan[f] == c.info[course, PLAN]:
            return f
    return NONE


@inner
def is_within(v: Levels, floor: FloatArray, level: int) -> bool:
    """Whether a level is no less than a floor."""
    for k in range(floor.size):  # noqa: SIM110 - compiled code has no all()
        if floor[k] > v.value[k, v.part_of[k, level]]:
            return False
    return True


@inner
def priced_total(c: Courses, v: Levels, course: int, j: int) -> float:
    """What a course is worth in relaxation j."""
    value = c.total[course, 0]
    for k in range(v.n.size):
        value -= v.price[j, k] * c.total[course, 1 + k]
    return float(value)


@inner
def known_at(b: Store, v: Levels, c: Courses, i: int, j: int, level: int) -> float:
    """What the courses of belief i say of relaxation j from below."""
    best, course = -np.inf, c.head[i]
    while course != NONE:
        value, leaf = priced_total(c, v, course, j), leaf_of(c, b.info[i, CLASS], course)
        if value > best and is_within(v, c.sure[course] if leaf == NONE else c.leaf_floor[leaf], level):
            best = value
        course = c.info[course, NEXT]
    return best


@inner
def known_over(b: Store, v: Levels, c: Courses, i: int, j: int, out: FloatArray) -> None:
    """The same at all levels."""
    for level in range(out.size):
        out[level] = -np.inf
    course = c.head[i]
    while course != NONE:
        value, leaf = priced_total(c, v, course, j), leaf_of(c, b.info[i, CLASS], course)
        floor = c.sure[course] if leaf == NONE else c.leaf_floor[leaf]  # of a leaf what it spends at least will do
        for level in range(out.size):
            if value > out[level] and is_within(v, floor, level):
                out[level] = value
        course = c.info[course, NEXT]


@inner
def lo_at(b: Store, v: Levels, y: Bounds, c: Courses, i: int, j: int, level: int) -> float:
    """What is known of belief i in relaxation j from below."""
    return float(y.lo[y.row[i], j, level] if y.row[i] != NONE else known_at(b, v, c, i, j, level))


@inner
def row_below(b: Store, v: Levels, y: Bounds, c: Courses, i: int, j: int) -> int:
    """A row with what is known of belief i in relaxation j from below."""
    if y.row[i] != NONE:
        return int(y.row[i])
    known_over(b, v, c, i, j, y.lo[HERE, j])
    return HERE


# Beliefs get rows


@inner
def open_row(b: Store, v: Levels, y: Bounds, c: Courses, i: int) -> bool:
    """Give belief i a row, if it has none; False if full."""
    if y.row[i] != NONE:
        return True
    new = c.used[ROWS]
    if new == y.upper.shape[0]:
        return False
    upper = y.upper[new]
    for level in range(upper.size):
        upper[level] = np.inf
    for j in range(v.price.shape[0]):
        start_row(b, v, y, c, i, new, j)
    y.row[i] = new
    c.used[ROWS] = new + 1
    return True


@inner
def start_row(b: Store, v: Levels, y: Bounds, c: Courses, i: int, row: int, j: int) -> None:
    """Start relaxation j of belief i in a row."""
    hi, upper = y.hi[row, j], y.upper[row]
    hinted_over(b, v, y, i, j, hi)
    apply_ray(b, v, y, i, j, hi)
    for level in range(upper.size):
        upper[level] = min(upper[level], hi[level] + v.worth[j, level])
    known_over(b, v, c, i, j, y.lo[row, j])
