"""The search over beliefs with a budget left: trials from the root.

A trial carries the exact budget d that is left. It descends as `kernels.arcs.choices` has it, and backs up on the way
down and up. While nothing is known that keeps the budget, every other trial is thrifty and looks for it.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..belief_graph.expansion import expand
from ..belief_graph.search import DONE, FULL, LONG, Tuning, back_up_lower, work_done
from ..belief_graph.store import NONE
from ..jit import inner, kernel
from ..reference import by_reference
from .belief_plans import (
    BeliefPlans,
    add_leaf,
    back_up_belief_plan,
    back_up_thrift,
    belief_plans_have_room,
    best_belief_plan,
    known,
    pay,
)
from .choices import NO_ROOM, THRIFTY, Search, choose, fill_new, next_step
from .level_bounds import EXACT, back_up, bound_at, fill_informed, make_point, test_points
from .levels import Levels, allowance_of, level_of
from .rows import known_over, open_row, start_row

STILL = 8  # trials in a row that change nothing, after which more would not either


# What is learned at a step


@inner
def is_nearly_unconstrained(belief_plans: BeliefPlans, d: FloatArray) -> bool:
    """True if a budget is so large that plans made without one may keep it."""
    for k in range(d.size):  # noqa: SIM110 - compiled code has no all()
        if belief_plans.limited[k] and d[k] < belief_plans.unconstrained_from[k]:
            return False
    return True


@inner
def unconstrained_leaves(search: Search, i: int, least_gain: float) -> bool:
    """Let belief i follow the plan that is best without a budget; False if full."""
    before = search.store.info[i].plan
    if back_up_lower(search.space, search.store, search.plans, search.scratch, search.discount, i, least_gain) == FULL:
        return False
    plan = search.store.info[i].plan
    if plan in (before, NONE):
        return True
    if not belief_plans_have_room(search.belief_plans, 0):
        return False
    add_leaf(search.space, search.store, search.plans, search.belief_plans, i, plan)
    return True


@inner
def improve(search: Search, i: int, mode: int, d: FloatArray, least_gain: float) -> bool:
    """Look for a better belief plan at (belief i, budget d); False if full."""
    if mode == THRIFTY:
        return back_up_thrift(
            search.store, search.belief_plans, search.bounds, search.level_scratch, search.discount, search.rules, i, d
        )
    if mode == EXACT:
        if is_nearly_unconstrained(search.belief_plans, d) and not unconstrained_leaves(search, i, least_gain):
            return False
        return back_up_belief_plan(
            search.store,
            search.belief_plans,
            search.bounds,
            search.level_scratch,
            search.discount,
            search.rules,
            i,
            d,
            least_gain,
        )
    return True


@inner
def is_close(search: Search, i: int, mode: int, level: int, d: FloatArray, value: float, limit: float) -> bool:
    """True if (belief i, budget d) is within the limit; `value` is the bound of its best action."""
    if mode >= 0:
        row = search.bounds.row[i]
        return bool(min(value, search.bounds.hi[row, mode, level]) - search.bounds.lo[row, mode, level] <= limit)
    if mode == THRIFTY and best_belief_plan(search.belief_plans, i, d) != NONE:
        return True
    for j in range(search.levels.multiplier.shape[0]):
        search.level_scratch.allowance[j] = allowance_of(search.levels, j, d)
    if mode == THRIFTY and value > -np.inf:
        return False
    bound, belief_plan = (
        bound_at(search.store, search.levels, search.bounds, i, level, search.level_scratch.allowance),
        best_belief_plan(search.belief_plans, i, d),
    )
    if value > -np.inf and (
        belief_plan == NONE or min(value, bound) - search.belief_plans.total[belief_plan, 0] > limit
    ):
        return False
    least = search.levels.worst if belief_plan == NONE else search.belief_plans.total[belief_plan, 0]
    if bound - least > limit and search.belief_plans.counts[0].wanted < search.steps.wanted.shape[0]:
        for k in range(d.size):  # close at this very budget, not at the level above: a level would help
            search.steps.wanted[search.belief_plans.counts[0].wanted, k] = d[k]
        search.belief_plans.counts[0].wanted += 1
    return True


@inner
def spend(search: Search, i: int, a: int, mode: int, level: int, d: FloatArray) -> int:
    """The level after action a; the scratch gets the budget that is left (`rest`) and the allowance for it."""
    levels, level_scratch = search.levels, search.level_scratch
    if mode < 0:
        pay(search.bounds, search.rules, i, a, d, level_scratch.rest)
        to = level_of(levels, level_scratch.rest)
    else:
        to = levels.after[levels.which[search.store.info[i].cls * search.store.gain.shape[1] + a], level]
        for k in range(d.size):
            level_scratch.rest[k] = levels.value[k, levels.part_of[k, to]]
    for j in range(levels.multiplier.shape[0]):
        level_scratch.allowance[j] = allowance_of(levels, j, level_scratch.rest)
    return int(to)


# Trials


@inner
def visit(search: Search, i: int, mode: int, level: int, d: FloatArray, tuning: Tuning) -> tuple[int, float]:
    """Choose the action of a step, expanding what looks best until it is; NO_ROOM if there is none for that."""
    if tuning.all_actions:
        for a in range(search.store.gain.shape[1]):
            if search.store.edge[i, a] == NONE and not expand(
                search.space, search.store, search.scratch, i, a, tuning.least_weight
            ):
                return NO_ROOM, 0.0
        if not fill_new(search):
            return NO_ROOM, 0.0
    if tuning.least_drop < 1.0 and mode >= 0:
        test_points(search.store, search.levels, search.bounds, i, mode, level)
    a, value = choose(search, i, mode, level, d)
    least_weight = tuning.least_weight if mode != THRIFTY else 2.0  # rays say nothing about what is needed
    while a != NONE and search.store.edge[i, a] == NONE:
        if not expand(search.space, search.store, search.scratch, i, a, least_weight) or not fill_new(search):
            return NO_ROOM, 0.0
        a, value = choose(search, i, mode, level, d)
    return a, value


@inner
def trial(search: Search, root: int, budget: FloatArray, mode: int, target: float, tuning: Tuning, number: int) -> int:
    """One trial from (root, budget)."""
    store, belief_plans, steps = search.store, search.belief_plans, search.steps
    before = store.counts[0].beliefs + belief_plans.counts[0].belief_plans
    i, depth, moved, enough = root, 0, False, work_done(store) + LONG
    limit, least_gain = target, tuning.least_gain * target
    for k in range(budget.size):
        steps.left[0, k] = budget[k]
    while i != NONE:
        d = steps.left[depth]
        search.scratch.path[depth] = i
        steps.mode[depth] = mode
        belief_plans.counts[0].visits += 1
        level = level_of(search.levels, d)
        if not open_row(store, search.levels, search.bounds, belief_plans, i):
            return FULL
        edges = store.counts[0].edges
        a, value = visit(search, i, mode, level, d, tuning)
        if a == NO_ROOM:
            return FULL
        depth += 1
        if store.counts[0].edges > edges or a == NONE:  # else the way up will do
            moved = (
                back_up(
                    store,
                    search.levels,
                    search.bounds,
                    search.belief_plans,
                    search.level_scratch,
                    search.discount,
                    search.rules,
                    i,
                    mode,
                )
                or moved
            )
        if not improve(search, i, mode, d, least_gain):
            return FULL
        over = a == NONE or depth == steps.mode.size or work_done(store) > enough
        if over or is_close(search, i, mode, level, d, value, limit):
            break
        limit /= search.discount
        to = spend(search, i, a, mode, level, d)
        i, mode = next_step(search, i, a, mode, to, limit, tuning.end_share)
        for k in range(d.size):
            steps.left[depth, k] = (
                search.level_scratch.rest[k] if mode < 0 else search.levels.value[k, search.levels.part_of[k, to]]
            )
    for t in range(depth - 1, -1, -1):
        i, mode, d = search.scratch.path[t], steps.mode[t], steps.left[t]
        moved = (
            back_up(
                store,
                search.levels,
                search.bounds,
                search.belief_plans,
                search.level_scratch,
                search.discount,
                search.rules,
                i,
                mode,
            )
            or moved
        )
        if tuning.least_drop < 1.0 and mode >= 0:
            make_point(store, search.bounds, i, mode, level_of(search.levels, d), tuning.least_drop)
        if not improve(search, i, mode, d, least_gain):
            return FULL
    if moved or store.counts[0].beliefs + belief_plans.counts[0].belief_plans > before:
        belief_plans.counts[0].moved = number
    return DONE


@kernel
def search(
    search: Search,
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
    search = by_reference(search)
    if not fill_new(search) or not open_row(search.store, search.levels, search.bounds, search.belief_plans, root):
        return FULL, trials
    stop = work_done(search.store) + work
    level = level_of(search.levels, budget)
    while (
        work_done(search.store) < stop and trials < most_trials and trials - search.belief_plans.counts[0].moved < STILL
    ):
        if search.bounds.upper[search.bounds.row[root], level] == -np.inf:
            break
        search.store.counts[0].upper_backups += 1  # a trial that changes nothing is work too
        gap = search.bounds.upper[search.bounds.row[root], level] - known(
            search.belief_plans, search.levels, root, budget
        )
        mode, is_close_enough = EXACT, gap <= epsilon
        if best_belief_plan(search.belief_plans, root, budget) == NONE:
            if trials % 2 == 0 or is_close_enough:  # what is left to find is that anything keeps the budget
                mode = THRIFTY
        elif is_close_enough:
            break
        share = tuning.share if trials % 4 < 2 else tuning.wide_share
        if trial(search, root, budget, mode, max(epsilon, share * gap), tuning, trials) == FULL:
            return FULL, trials
        trials += 1
    return DONE, trials


@kernel
def refill(search: Search, first: int, rounds: int) -> None:
    """Start the relaxations from `first` on again, and carry what the edges tell by a few rounds of backups."""
    search = by_reference(search)
    store, levels, bounds, belief_plans, level_scratch = (
        search.store,
        search.levels,
        search.bounds,
        search.belief_plans,
        search.level_scratch,
    )
    for i in range(belief_plans.counts[0].filled):
        for j in range(first, levels.multiplier.shape[0]):
            fill_informed(store, levels, bounds, i, j)
    for i in range(belief_plans.counts[0].filled):
        if bounds.row[i] == NONE:
            continue
        for j in range(levels.multiplier.shape[0]):
            if j < first:
                known_over(store, levels, belief_plans, i, j, bounds.lo[bounds.row[i], j])
            else:
                start_row(store, levels, bounds, belief_plans, i, bounds.row[i], j)
    mode = EXACT
    for _ in range(rounds):
        for i in range(search.belief_plans.counts[0].filled - 1, -1, -1):
            if bounds.row[i] != NONE:
                back_up(store, levels, bounds, belief_plans, level_scratch, search.discount, search.rules, i, mode)


# What Python asks


@kernel
def level_at(levels: Levels, d: FloatArray) -> int:
    """The level that a budget is rounded up to."""
    return level_of(levels, d)


@kernel
def best_at(belief_plans: BeliefPlans, i: int, d: FloatArray) -> int:
    """The best known belief plan at (belief, budget), or NONE."""
    return best_belief_plan(belief_plans, i, d)


@kernel
def follow(search: Search, belief_plan: int, o: int) -> int:
    """The belief plan that follows another after an observation: NONE if that was impossible, NO_ROOM if it is full.

    A leaf is followed by the leaf of the plan that its plan goes on with, at the belief that is then reached.
    """
    search = by_reference(search)
    store, belief_plans, plans, space = search.store, search.belief_plans, search.plans, search.space
    i, plan = belief_plans.info[belief_plan].belief, belief_plans.info[belief_plan].plan
    a = belief_plans.info[belief_plan].action if plan == NONE else plans.info[plan].action
    least_weight = 2.0  # no rays: this belief is where we are, not where bounds are wanted
    if store.edge[i, a] == NONE and not expand(space, store, search.scratch, i, a, least_weight):
        return NO_ROOM
    if not fill_new(search) or not belief_plans_have_room(belief_plans, 0):
        return NO_ROOM
    for e in range(store.degree[i, a]):
        if store.edge_obs[store.edge[i, a] + e] != o:
            continue
        if plan == NONE:
            return int(belief_plans.link[belief_plans.info[belief_plan].links + e])
        pair = plans.info[plan].cls * search.store.gain.shape[1] + a
        for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
            if space.seen_obs[f] == o:
                new = belief_plans.counts[0].belief_plans
                add_leaf(
                    space,
                    store,
                    plans,
                    belief_plans,
                    store.edge_child[store.edge[i, a] + e],
                    plans.link[plans.info[plan].links + f - space.seen_ptr[pair]],
                )
                belief_plans.counts[0].belief_plans = new + 1  # kept even if it is dominated: it is what is followed
                return int(new)
    return NONE
