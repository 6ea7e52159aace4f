"""Courses: what is known to be possible from a belief within a budget.

A course is an action and, for each observation that can follow, a course of the belief that follows; or, as a leaf, a
plan that can be followed for ever. It carries its exact totals from its belief and its sure cost,
``w = C(b, a) + γ max_o w_o``: no history under it spends more. So ``V*(b, d) ≥ v`` for every ``d ≥ w``, and the courses
of a belief are a step function over budgets, exact where the levels of the upper bounds are rounded. A course is never
changed once it is made; one that is dominated leaves its belief's list but may still be followed by others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import FloatArray, IntArray
from ..belief_graph.plans import Plans, product
from ..belief_graph.store import CLASS, MAKING_PLANS, NONE, Space, Store
from ..jit import inner
from .levels import Bounds, Levels, LevelScratch

# Columns of Courses.info
BELIEF, ACTION, LINKS, PLAN, NEXT = range(5)
# Entries of Courses.used; LOOKS are successors that were looked at for their bound, PRICED of them owe it to a price
COURSES, COURSE_LINKS, FILLED, VISITS, MOVED, LOOKS, PRICED, WANTED, ROWS = range(9)


class Courses(NamedTuple):
    """Courses by capacity, and counts of the search."""

    info: IntArray  # [N, 5] BELIEF, ACTION, first of LINKS, PLAN of a leaf or NONE, NEXT of the same belief
    total: FloatArray  # [N, 1 + K] expected reward and costs
    sure: FloatArray  # [N, K]
    link: IntArray  # course that follows each edge of (belief, action)
    head: IntArray  # [beliefs] first course of a belief's list
    leaf_ptr: IntArray  # [n_classes + 1]
    leaf_plan: IntArray  # plans that a belief of the class may follow from the start
    leaf_floor: FloatArray  # [., K] what they spend at least, by the least costs of classes
    limited: IntArray  # [K] 1 where there is a budget
    loose: FloatArray  # [K] budget from which on plans of the unconstrained search are worth a look
    used: IntArray  # [9] COURSES, their LINKS, beliefs FILLED, VISITS, last trial that MOVED a bound, ..., ROWS


@inner
def fits(c: Courses, course: int, d: FloatArray) -> bool:
    """Whether a course is sure to stay within a budget."""
    for k in range(d.size):  # noqa: SIM110 - compiled code has no all()
        if c.limited[k] and c.sure[course, k] > d[k]:
            return False
    return True


@inner
def best_course(c: Courses, i: int, d: FloatArray) -> int:
    """The best course of belief i within a budget, or NONE."""
    best, course = NONE, c.head[i]
    while course != NONE:
        if (best == NONE or c.total[course, 0] > c.total[best, 0]) and fits(c, course, d):
            best = course
        course = c.info[course, NEXT]
    return best


@inner
def share_of(c: Courses, course: int, d: FloatArray) -> float:
    """The largest share of a budget that a course may spend; above 1 it does not fit."""
    share = 0.0
    for k in range(d.size):
        if c.limited[k]:
            share = max(share, c.sure[course, k] / max(d[k], 1e-300))
    return share


@inner
def thriftiest_course(c: Courses, i: int, d: FloatArray) -> int:
    """The course of belief i that spends the least share of a budget, or NONE."""
    best, least, course = NONE, np.inf, c.head[i]
    while course != NONE:
        share = share_of(c, course, d)
        if share < least:
            best, least = course, share
        course = c.info[course, NEXT]
    return best


@inner
def known(c: Courses, v: Levels, i: int, d: FloatArray) -> float:
    """The lower bound of belief i within a budget; where nothing is known to fit, what no value is below."""
    course = best_course(c, i, d)
    return float(v.worst if course == NONE else c.total[course, 0])


@inner
def courses_have_room(c: Courses, n_links: int) -> bool:
    """Whether one more course fits."""
    return bool(c.used[COURSES] < c.info.shape[0] and c.used[COURSE_LINKS] + n_links <= c.link.size)


@inner
def _dominates(c: Courses, one: int, other: int) -> bool:
    if c.total[one, 0] < c.total[other, 0]:
        return False
    for k in range(c.limited.size):  # noqa: SIM110 - compiled code has no all()
        if c.limited[k] and c.sure[one, k] > c.sure[other, k]:
            return False
    return True


@inner
def _enter(c: Courses, i: int) -> bool:
    """Put the course that was just written into belief i's list, unless it is dominated there."""
    new = c.used[COURSES]
    course = c.head[i]
    while course != NONE:
        if _dominates(c, course, new):
            return False
        course = c.info[course, NEXT]
    before, course = NONE, c.head[i]
    while course != NONE:
        after = c.info[course, NEXT]
        if _dominates(c, new, course):
            if before == NONE:
                c.head[i] = after
            else:
                c.info[before, NEXT] = after
        else:
            before = course
        course = after
    c.info[new, NEXT] = c.head[i]
    c.head[i] = new
    c.used[COURSES] = new + 1
    return True


@inner
def add_leaf(x: Space, b: Store, g: Plans, c: Courses, i: int, plan: int) -> None:
    """Let belief i follow a plan. There must be room."""
    new = c.used[COURSES]
    rows = x.gain.shape[0]
    for row in range(rows - c.total.shape[1], rows):  # reward and costs come last
        c.total[new, row - rows + c.total.shape[1]] = product(x, b, g, i, plan, row)
    for k in range(c.limited.size):
        # What is never expected is never spent, whatever other states of the class would cost.
        c.sure[new, k] = g.sure[plan, k] if c.total[new, 1 + k] > 0.0 else 0.0
    c.info[new, BELIEF] = i
    c.info[new, ACTION] = NONE
    c.info[new, LINKS] = c.used[COURSE_LINKS]
    c.info[new, PLAN] = plan
    _enter(c, i)


@inner
def start_courses(x: Space, b: Store, g: Plans, c: Courses, i: int) -> None:
    """Give a new belief the leaves of its class. There must be room."""
    c.head[i] = NONE
    cls = b.info[i, CLASS]
    for f in range(c.leaf_ptr[cls], c.leaf_ptr[cls + 1]):
        add_leaf(x, b, g, c, i, c.leaf_plan[f])


@inner
def left_after(y: Bounds, discount: float, i: int, a: int, d: FloatArray, rest: FloatArray) -> bool:
    """Write ``(d − C(b, a)) / γ``; False if that is overspent."""
    for k in range(d.size):
        rest[k] = (d[k] - y.cost[i, k, a]) / discount
        if rest[k] < 0.0:
            return False
    return True


@inner
def back_up_course(
    b: Store, c: Courses, y: Bounds, z: LevelScratch, discount: float, i: int, d: FloatArray, least_gain: float
) -> bool:
    """Make a course for (belief, budget) if a step ahead promises `least_gain` more than is known; False if full."""
    current = best_course(c, i, d)
    best, most = NONE, -np.inf if current == NONE else c.total[current, 0] + least_gain
    for a in range(b.gain.shape[1]):
        if b.edge[i, a] == NONE or not left_after(y, discount, i, a, d, z.rest):
            continue
        value = b.gain[i, a]
        for e in range(b.edge[i, a], b.edge[i, a] + b.degree[i, a]):
            course = best_course(c, b.edge_child[e], z.rest)
            value = value + discount * b.edge_prob[e] * c.total[course, 0] if course != NONE else -np.inf
        b.used[MAKING_PLANS] += 4 * b.degree[i, a]
        if value > most:
            best, most = a, value
    if best == NONE:
        return True
    if not courses_have_room(c, b.degree[i, best]):
        return False
    left_after(y, discount, i, best, d, z.rest)
    for e in range(b.degree[i, best]):
        c.link[c.used[COURSE_LINKS] + e] = best_course(c, b.edge_child[b.edge[i, best] + e], z.rest)
    _add_course(b, c, y, discount, i, best)
    return True


@inner
def back_up_thrift(  # noqa: PLR0912 - one look at all actions
    b: Store, c: Courses, y: Bounds, z: LevelScratch, discount: float, i: int, d: FloatArray
) -> bool:
    """Make the course of least sure cost, as a share of the budget d, that one step ahead shows; False if full."""
    current = thriftiest_course(c, i, d)
    best, least = NONE, share_of(c, current, d) * (1.0 - 1e-9) if current != NONE else np.inf
    for a in range(b.gain.shape[1]):
        if b.edge[i, a] == NONE:
            continue
        for k in range(d.size):
            z.rest[k] = max((d[k] - y.cost[i, k, a]) / discount, 0.0)
            z.sure[k] = 0.0
        share = 0.0
        for e in range(b.edge[i, a], b.edge[i, a] + b.degree[i, a]):
            course = thriftiest_course(c, b.edge_child[e], z.rest)
            if course == NONE:
                share = np.inf
                break
            for k in range(d.size):
                z.sure[k] = max(z.sure[k], c.sure[course, k])
        for k in range(d.size):
            if c.limited[k]:
                share = max(share, (y.cost[i, k, a] + discount * z.sure[k]) / max(d[k], 1e-300))
        if share < least:
            best, least = a, share
    if best == NONE:
        return True
    if not courses_have_room(c, b.degree[i, best]):
        return False
    for k in range(d.size):
        z.rest[k] = max((d[k] - y.cost[i, k, best]) / discount, 0.0)
    for e in range(b.degree[i, best]):
        c.link[c.used[COURSE_LINKS] + e] = thriftiest_course(c, b.edge_child[b.edge[i, best] + e], z.rest)
    _add_course(b, c, y, discount, i, best)
    return True


@inner
def _add_course(b: Store, c: Courses, y: Bounds, discount: float, i: int, a: int) -> None:
    """Add the course of action a whose links have been written. There must be room."""
    new, links = c.used[COURSES], c.used[COURSE_LINKS]
    c.total[new, 0] = b.gain[i, a]
    for k in range(c.limited.size):
        c.total[new, 1 + k] = y.cost[i, k, a]
        c.sure[new, k] = 0.0
    for e in range(b.degree[i, a]):
        course, p = c.link[links + e], discount * b.edge_prob[b.edge[i, a] + e]
        for row in range(c.total.shape[1]):
            c.total[new, row] += p * c.total[course, row]
        for k in range(c.limited.size):
            c.sure[new, k] = max(c.sure[new, k], c.sure[course, k])
    for k in range(c.limited.size):
        c.sure[new, k] = y.cost[i, k, a] + discount * c.sure[new, k]
    c.info[new, BELIEF] = i
    c.info[new, ACTION] = a
    c.info[new, LINKS] = links
    c.info[new, PLAN] = NONE
    if _enter(c, i):
        c.used[COURSE_LINKS] = links + b.degree[i, a]
