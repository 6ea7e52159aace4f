"""The search over beliefs with a budget left: trials from the root.

A trial carries the exact budget d that is left. It descends as `kernels.arcs.choices` has it, and backs up on the way
down and up. While nothing is known that keeps the budget, every other trial is thrifty and looks for it.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..belief_graph.plans import ACTION as PLAN_ACTION
from ..belief_graph.plans import LINKS as PLAN_LINKS
from ..belief_graph.search import DONE, FULL, Tuning, back_up_lower, work_done
from ..belief_graph.store import BELIEFS, CLASS, EDGES, NONE, PLAN, UPPER_BACKUPS, expand
from ..jit import inner, kernel
from ..reference import by_reference
from .choices import NO_ROOM, THRIFTY, Search, choose, fill_new, next_step
from .courses import (
    ACTION,
    BELIEF,
    COURSES,
    FILLED,
    LINKS,
    MOVED,
    VISITS,
    WANTED,
    Courses,
    add_leaf,
    back_up_course,
    back_up_thrift,
    best_course,
    courses_have_room,
    known,
    left_after,
)
from .courses import PLAN as LEAF
from .level_bounds import EXACT, back_up, bound_at, fill_hints, make_point, test_points
from .levels import Levels, level_of, priced
from .rows import known_over, open_row, start_row

STILL = 8  # trials in a row that change nothing, after which more would not either


# What is learned at a step


@inner
def is_loose(c: Courses, d: FloatArray) -> bool:
    """Whether a budget is so large that plans made without one may keep it."""
    for k in range(d.size):  # noqa: SIM110 - compiled code has no all()
        if c.limited[k] and d[k] < c.loose[k]:
            return False
    return True


@inner
def hand_over(s: Search, i: int, least_gain: float) -> bool:
    """Let belief i follow the plan that is best without a budget; False if full."""
    before = s.b.info[i, PLAN]
    if back_up_lower(s.x, s.b, s.g, s.w, s.discount, i, least_gain) == FULL:
        return False
    plan = s.b.info[i, PLAN]
    if plan in (before, NONE):
        return True
    if not courses_have_room(s.c, 0):
        return False
    add_leaf(s.x, s.b, s.g, s.c, i, plan)
    return True


@inner
def improve(s: Search, i: int, mode: int, d: FloatArray, least_gain: float) -> bool:
    """Look for a better course at (belief i, budget d); False if full."""
    if mode == THRIFTY:
        return back_up_thrift(s.b, s.c, s.y, s.z, s.discount, i, d)
    if mode == EXACT:
        if is_loose(s.c, d) and not hand_over(s, i, least_gain):
            return False
        return back_up_course(s.b, s.c, s.y, s.z, s.discount, i, d, least_gain)
    return True


@inner
def is_close(s: Search, i: int, mode: int, level: int, d: FloatArray, value: float, limit: float) -> bool:
    """Whether (belief i, budget d) is within the limit; `value` is the bound of its best action."""
    if mode >= 0:
        row = s.y.row[i]
        return bool(min(value, s.y.hi[row, mode, level]) - s.y.lo[row, mode, level] <= limit)
    if mode == THRIFTY and best_course(s.c, i, d) != NONE:
        return True
    for j in range(s.v.price.shape[0]):
        s.z.worth[j] = priced(s.v, j, d)
    if mode == THRIFTY and value > -np.inf:
        return False
    bound, course = bound_at(s.b, s.v, s.y, i, level, s.z.worth), best_course(s.c, i, d)
    if value > -np.inf and (course == NONE or min(value, bound) - s.c.total[course, 0] > limit):
        return False
    least = s.v.worst if course == NONE else s.c.total[course, 0]
    if bound - least > limit and s.c.used[WANTED] < s.p.wanted.shape[0]:
        for k in range(d.size):  # close at this very budget, not at the level above: a level would help
            s.p.wanted[s.c.used[WANTED], k] = d[k]
        s.c.used[WANTED] += 1
    return True


@inner
def spend(s: Search, i: int, a: int, mode: int, level: int, d: FloatArray) -> int:
    """The level after action a; ``z.rest`` becomes the budget that is left, ``z.worth`` what it is worth."""
    v, z = s.v, s.z
    if mode < 0:
        left_after(s.y, s.discount, i, a, d, z.rest)
        to = level_of(v, z.rest)
    else:
        to = v.after[v.which[s.b.info[i, CLASS] * s.b.gain.shape[1] + a], level]
        for k in range(d.size):
            z.rest[k] = v.value[k, v.part_of[k, to]]
    for j in range(v.price.shape[0]):
        z.worth[j] = priced(v, j, z.rest)
    return int(to)


# Trials


@inner
def visit(s: Search, i: int, mode: int, level: int, d: FloatArray, tuning: Tuning) -> tuple[int, float]:
    """Choose the action of a step, expanding what looks best until it is; NO_ROOM if there is none for that."""
    if tuning.all_actions:
        for a in range(s.b.gain.shape[1]):
            if s.b.edge[i, a] == NONE and not expand(s.x, s.b, s.w, i, a, tuning.least_weight):
                return NO_ROOM, 0.0
        if not fill_new(s):
            return NO_ROOM, 0.0
    if tuning.least_drop < 1.0 and mode >= 0:
        test_points(s.b, s.v, s.y, i, mode, level)
    a, value = choose(s, i, mode, level, d)
    least_weight = tuning.least_weight if mode != THRIFTY else 2.0  # rays say nothing about what is needed
    while a != NONE and s.b.edge[i, a] == NONE:
        if not expand(s.x, s.b, s.w, i, a, least_weight) or not fill_new(s):
            return NO_ROOM, 0.0
        a, value = choose(s, i, mode, level, d)
    return a, value


@inner
def trial(s: Search, root: int, budget: FloatArray, mode: int, target: float, tuning: Tuning, number: int) -> int:
    """One trial from (root, budget)."""
    b, c, p = s.b, s.c, s.p
    before = b.used[BELIEFS] + c.used[COURSES]
    i, depth, moved = root, 0, False
    limit, least_gain = target, tuning.least_gain * target
    for k in range(budget.size):
        p.left[0, k] = budget[k]
    while i != NONE:
        d = p.left[depth]
        s.w.path[depth] = i
        p.mode[depth] = mode
        c.used[VISITS] += 1
        level = level_of(s.v, d)
        if not open_row(b, s.v, s.y, c, i):
            return FULL
        edges = b.used[EDGES]
        a, value = visit(s, i, mode, level, d, tuning)
        if a == NO_ROOM:
            return FULL
        depth += 1
        if b.used[EDGES] > edges or a == NONE:  # else the way up will do
            moved = back_up(b, s.v, s.y, s.c, s.z, s.discount, i, mode) or moved
        if not improve(s, i, mode, d, least_gain):
            return FULL
        if is_close(s, i, mode, level, d, value, limit) or a == NONE or depth == p.mode.size:
            break
        limit /= s.discount
        to = spend(s, i, a, mode, level, d)
        i, mode = next_step(s, i, a, mode, to, limit, tuning.end_share)
        for k in range(d.size):
            p.left[depth, k] = s.z.rest[k] if mode < 0 else s.v.value[k, s.v.part_of[k, to]]
    for t in range(depth - 1, -1, -1):
        i, mode, d = s.w.path[t], p.mode[t], p.left[t]
        moved = back_up(b, s.v, s.y, s.c, s.z, s.discount, i, mode) or moved
        if tuning.least_drop < 1.0 and mode >= 0:
            make_point(b, s.y, i, mode, level_of(s.v, d), tuning.least_drop)
        if not improve(s, i, mode, d, least_gain):
            return FULL
    if moved or b.used[BELIEFS] + c.used[COURSES] > before:
        c.used[MOVED] = number
    return DONE


@kernel
def search(
    s: Search,
    root: int,
    budget: FloatArray,
    epsilon: float,
    tuning: Tuning,
    work: int,
    trials: int,
    most_trials: int,
) -> tuple[int, int]:
    """Trials until the gap at (root, budget) is at most epsilon, `work` or `most_trials` are done, or room is short.

    `trials` counts those of the whole search. Return why the search paused, and the new count.
    """
    s = by_reference(s)
    if not fill_new(s) or not open_row(s.b, s.v, s.y, s.c, root):
        return FULL, trials
    stop = work_done(s.b) + work
    level = level_of(s.v, budget)
    while work_done(s.b) < stop and trials < most_trials and trials - s.c.used[MOVED] < STILL:
        if s.y.upper[s.y.row[root], level] == -np.inf:
            break
        s.b.used[UPPER_BACKUPS] += 1  # a trial that changes nothing is work too
        gap = s.y.upper[s.y.row[root], level] - known(s.c, s.v, root, budget)
        mode = EXACT
        if best_course(s.c, root, budget) == NONE and trials % 2 == 0:
            mode = THRIFTY
        elif gap <= epsilon:
            break
        share = tuning.share if trials % 4 < 2 else tuning.wide_share
        if trial(s, root, budget, mode, max(epsilon, share * gap), tuning, trials) == FULL:
            return FULL, trials
        trials += 1
    return DONE, trials


@kernel
def refill(s: Search, first: int, rounds: int) -> None:
    """Start the relaxations from `first` on again, and carry what the edges tell by a few rounds of backups."""
    s = by_reference(s)
    b, v, y, c, z = s.b, s.v, s.y, s.c, s.z
    for i in range(c.used[FILLED]):
        for j in range(first, v.price.shape[0]):
            fill_hints(b, v, y, i, j)
    for i in range(c.used[FILLED]):
        if y.row[i] == NONE:
            continue
        for j in range(v.price.shape[0]):
            if j < first:
                known_over(b, v, c, i, j, y.lo[y.row[i], j])
            else:
                start_row(b, v, y, c, i, y.row[i], j)
    mode = EXACT
    for _ in range(rounds):
        for i in range(s.c.used[FILLED] - 1, -1, -1):
            if y.row[i] != NONE:
                back_up(b, v, y, c, z, s.discount, i, mode)


# What Python asks


@kernel
def level_at(v: Levels, d: FloatArray) -> int:
    """The level that a budget is rounded up to."""
    return level_of(v, d)


@kernel
def best_at(c: Courses, i: int, d: FloatArray) -> int:
    """The best known course at (belief, budget), or NONE."""
    return best_course(c, i, d)


@kernel
def follow(s: Search, course: int, o: int) -> int:
    """The course that follows a course after an observation; NONE if that was impossible, NO_ROOM if there is none.

    A leaf is followed by the leaf of the plan that its plan goes on with, at the belief that is then reached.
    """
    s = by_reference(s)
    b, c, g, x = s.b, s.c, s.g, s.x
    i, plan = c.info[course, BELIEF], c.info[course, LEAF]
    a = c.info[course, ACTION] if plan == NONE else g.info[plan, PLAN_ACTION]
    least_weight = 2.0  # no rays: this belief is where we are, not where bounds are wanted
    if b.edge[i, a] == NONE and not expand(x, b, s.w, i, a, least_weight):
        return NO_ROOM
    if not fill_new(s) or not courses_have_room(c, 0):
        return NO_ROOM
    for e in range(b.degree[i, a]):
        if b.edge_obs[b.edge[i, a] + e] != o:
            continue
        if plan == NONE:
            return int(c.link[c.info[course, LINKS] + e])
        pair = g.info[plan, CLASS] * s.b.gain.shape[1] + a
        for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
            if x.seen_obs[f] == o:
                new = c.used[COURSES]
                add_leaf(
                    x, b, g, c, b.edge_child[b.edge[i, a] + e], g.link[g.info[plan, PLAN_LINKS] + f - x.seen_ptr[pair]]
                )
                c.used[COURSES] = new + 1  # kept even if it is dominated: it is what is followed
                return int(new)
    return NONE
