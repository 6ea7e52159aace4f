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

from ..._types import AnyArray, FloatArray, IntArray
from ..belief_graph.plans import Plans, product
from ..belief_graph.store import NONE, Space, Store
from ..jit import inner
from .levels import Bounds, Levels, LevelScratch

COURSE = np.dtype(
    [
        ("belief", np.int64),
        ("action", np.int64),
        ("links", np.int64),  # first of its successors
        ("plan", np.int64),  # of a leaf, or NONE
        ("next", np.int64),  # course of the same belief
    ]
)
COUNTS = np.dtype(
    [
        ("courses", np.int64),
        ("course_links", np.int64),
        ("filled", np.int64),  # beliefs that have their products
        ("visits", np.int64),
        ("moved", np.int64),  # last trial that changed a bound
        ("looks", np.int64),  # successors that were looked at for their bound,
        ("priced", np.int64),  # and those that owe it to a multiplier
        ("wanted", np.int64),  # budgets at which a level would have helped
        ("rows", np.int64),
    ]
)


class Courses(NamedTuple):
    """Courses by capacity, and counts of the search."""

    info: AnyArray  # [N] COURSE
    total: FloatArray  # [N, 1 + K] expected reward and costs
    sure: FloatArray  # [N, K]
    link: IntArray  # course that follows each edge of (belief, action)
    head: IntArray  # [beliefs] first course of a belief's list
    leaf_ptr: IntArray  # [n_classes + 1]
    leaf_plan: IntArray  # plans that a belief of the class may follow from the start
    leaf_floor: FloatArray  # [., K] what they spend at least, by the least costs of classes
    limited: IntArray  # [K] 1 where there is a budget
    loose: FloatArray  # [K] budget from which on plans of the unconstrained search are worth a look
    counts: AnyArray  # [1] COUNTS


@inner
def fits(courses: Courses, course: int, d: FloatArray) -> bool:
    """Whether a course is sure to stay within a budget."""
    for k in range(d.size):  # noqa: SIM110 - compiled code has no all()
        if courses.limited[k] and courses.sure[course, k] > d[k]:
            return False
    return True


@inner
def best_course(courses: Courses, i: int, d: FloatArray) -> int:
    """The best course of belief i within a budget, or NONE."""
    best, course = NONE, courses.head[i]
    while course != NONE:
        if (best == NONE or courses.total[course, 0] > courses.total[best, 0]) and fits(courses, course, d):
            best = course
        course = courses.info[course].next
    return best


@inner
def share_of(courses: Courses, course: int, d: FloatArray) -> float:
    """The largest share of a budget that a course may spend; above 1 it does not fit."""
    share = 0.0
    for k in range(d.size):
        if courses.limited[k]:
            share = max(share, courses.sure[course, k] / max(d[k], 1e-300))
    return share


@inner
def thriftiest_course(courses: Courses, i: int, d: FloatArray) -> int:
    """The course of belief i that spends the least share of a budget, or NONE."""
    best, least, course = NONE, np.inf, courses.head[i]
    while course != NONE:
        share = share_of(courses, course, d)
        if share < least:
            best, least = course, share
        course = courses.info[course].next
    return best


@inner
def known(courses: Courses, levels: Levels, i: int, d: FloatArray) -> float:
    """The lower bound of belief i within a budget; where nothing is known to fit, what no value is below."""
    course = best_course(courses, i, d)
    return float(levels.worst if course == NONE else courses.total[course, 0])


@inner
def courses_have_room(courses: Courses, n_links: int) -> bool:
    """Whether one more course fits."""
    return bool(
        courses.counts[0].courses < courses.info.shape[0]
        and courses.counts[0].course_links + n_links <= courses.link.size
    )


@inner
def _dominates(courses: Courses, one: int, other: int) -> bool:
    if courses.total[one, 0] < courses.total[other, 0]:
        return False
    for k in range(courses.limited.size):
        if courses.limited[k] and courses.sure[one, k] > courses.sure[other, k]:
            return False
    return True


@inner
def _enter(courses: Courses, i: int) -> bool:
    """Put the course that was just written into belief i's list, unless it is dominated there."""
    new = courses.counts[0].courses
    course = courses.head[i]
    while course != NONE:
        if _dominates(courses, course, new):
            return False
        course = courses.info[course].next
    before, course = NONE, courses.head[i]
    while course != NONE:
        after = courses.info[course].next
        if _dominates(courses, new, course):
            if before == NONE:
                courses.head[i] = after
            else:
                courses.info[before].next = after
        else:
            before = course
        course = after
    courses.info[new].next = courses.head[i]
    courses.head[i] = new
    courses.counts[0].courses = new + 1
    return True


@inner
def add_leaf(space: Space, store: Store, plans: Plans, courses: Courses, i: int, plan: int) -> None:
    """Let belief i follow a plan. There must be room."""
    new = courses.counts[0].courses
    rows = space.gain.shape[0]
    for row in range(rows - courses.total.shape[1], rows):  # reward and costs come last
        courses.total[new, row - rows + courses.total.shape[1]] = product(space, store, plans, i, plan, row)
    for k in range(courses.limited.size):
        # What is never expected is never spent, whatever other states of the class would cost.
        courses.sure[new, k] = plans.sure[plan, k] if courses.total[new, 1 + k] > 0.0 else 0.0
    courses.info[new].belief = i
    courses.info[new].action = NONE
    courses.info[new].links = courses.counts[0].course_links
    courses.info[new].plan = plan
    _enter(courses, i)


@inner
def start_courses(space: Space, store: Store, plans: Plans, courses: Courses, i: int) -> None:
    """Give a new belief the leaves of its class. There must be room."""
    courses.head[i] = NONE
    cls = store.info[i].cls
    for f in range(courses.leaf_ptr[cls], courses.leaf_ptr[cls + 1]):
        add_leaf(space, store, plans, courses, i, courses.leaf_plan[f])


@inner
def left_after(bounds: Bounds, discount: float, i: int, a: int, d: FloatArray, rest: FloatArray) -> bool:
    """Write ``(d − C(b, a)) / γ``; False if that is overspent."""
    for k in range(d.size):
        rest[k] = (d[k] - bounds.cost[i, k, a]) / discount
        if rest[k] < 0.0:
            return False
    return True


@inner
def back_up_course(
    store: Store,
    courses: Courses,
    bounds: Bounds,
    level_scratch: LevelScratch,
    discount: float,
    i: int,
    d: FloatArray,
    least_gain: float,
) -> bool:
    """Make a course for (belief, budget) if a step ahead promises `least_gain` more than is known; False if full."""
    current = best_course(courses, i, d)
    best, most = NONE, -np.inf if current == NONE else courses.total[current, 0] + least_gain
    for a in range(store.gain.shape[1]):
        if store.edge[i, a] == NONE or not left_after(bounds, discount, i, a, d, level_scratch.rest):
            continue
        value = store.gain[i, a]
        for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
            course = best_course(courses, store.edge_child[e], level_scratch.rest)
            value = value + discount * store.edge_prob[e] * courses.total[course, 0] if course != NONE else -np.inf
        store.counts[0].making_plans = store.counts[0].making_plans + 4 * store.degree[i, a]
        if value > most:
            best, most = a, value
    if best == NONE:
        return True
    if not courses_have_room(courses, store.degree[i, best]):
        return False
    left_after(bounds, discount, i, best, d, level_scratch.rest)
    for e in range(store.degree[i, best]):
        courses.link[courses.counts[0].course_links + e] = best_course(
            courses, store.edge_child[store.edge[i, best] + e], level_scratch.rest
        )
    _add_course(store, courses, bounds, discount, i, best)
    return True


@inner
def back_up_thrift(  # noqa: PLR0912 - one look at all actions
    store: Store, courses: Courses, bounds: Bounds, level_scratch: LevelScratch, discount: float, i: int, d: FloatArray
) -> bool:
    """Make the course of least sure cost, as a share of the budget d, that one step ahead shows; False if full."""
    current = thriftiest_course(courses, i, d)
    best, least = NONE, share_of(courses, current, d) * (1.0 - 1e-9) if current != NONE else np.inf
    for a in range(store.gain.shape[1]):
        if store.edge[i, a] == NONE:
            continue
        for k in range(d.size):
            level_scratch.rest[k] = max((d[k] - bounds.cost[i, k, a]) / discount, 0.0)
            level_scratch.sure[k] = 0.0
        share = 0.0
        for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
            course = thriftiest_course(courses, store.edge_child[e], level_scratch.rest)
            if course == NONE:
                share = np.inf
                break
            for k in range(d.size):
                level_scratch.sure[k] = max(level_scratch.sure[k], courses.sure[course, k])
        for k in range(d.size):
            if courses.limited[k]:
                share = max(share, (bounds.cost[i, k, a] + discount * level_scratch.sure[k]) / max(d[k], 1e-300))
        if share < least:
            best, least = a, share
    if best == NONE:
        return True
    if not courses_have_room(courses, store.degree[i, best]):
        return False
    for k in range(d.size):
        level_scratch.rest[k] = max((d[k] - bounds.cost[i, k, best]) / discount, 0.0)
    for e in range(store.degree[i, best]):
        courses.link[courses.counts[0].course_links + e] = thriftiest_course(
            courses, store.edge_child[store.edge[i, best] + e], level_scratch.rest
        )
    _add_course(store, courses, bounds, discount, i, best)
    return True


@inner
def _add_course(store: Store, courses: Courses, bounds: Bounds, discount: float, i: int, a: int) -> None:
    """Add the course of action a whose links have been written. There must be room."""
    new, links = courses.counts[0].courses, courses.counts[0].course_links
    courses.total[new, 0] = store.gain[i, a]
    for k in range(courses.limited.size):
        courses.total[new, 1 + k] = bounds.cost[i, k, a]
        courses.sure[new, k] = 0.0
    for e in range(store.degree[i, a]):
        course, p = courses.link[links + e], discount * store.edge_prob[store.edge[i, a] + e]
        for row in range(courses.total.shape[1]):
            courses.total[new, row] += p * courses.total[course, row]
        for k in range(courses.limited.size):
            courses.sure[new, k] = max(courses.sure[new, k], courses.sure[course, k])
    for k in range(courses.limited.size):
        courses.sure[new, k] = bounds.cost[i, k, a] + discount * courses.sure[new, k]
    courses.info[new].belief = i
    courses.info[new].action = a
    courses.info[new].links = links
    courses.info[new].plan = NONE
    if _enter(courses, i):
        courses.counts[0].course_links = links + store.degree[i, a]
