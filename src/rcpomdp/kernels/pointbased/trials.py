"""The search: trials from a belief with a budget.

A trial carries the exact budget d that is left. It descends by the action with the largest upper bound and the
successor that contributes most to the gap at the root, and backs up on the way down and up. Its target is a share of
the current gap: a step at depth t is left alone once its gap is at most ``target / γ^t``. Where a bound stems from a
relaxation, and that from a ray, the trial goes on at the end of the ray, within the relaxation. While nothing is
known that keeps the budget, every other trial is thrifty: it goes by the action that needs least and the successor
whose candidates exceed the budget by most. A sampled trial takes the actions that are best by the lower bound, and lets
chance choose what is observed: it makes plans for the beliefs that the policy meets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import AnyArray, FloatArray
from ..jit import inner, kernel
from ..reference import by_reference
from .arrays import EXACT, NO_ROOM, NONE, Beliefs, Search
from .backups import back_up_all, back_up_new, bound_at
from .beliefs import expand
from .candidates import best_candidate, refresh
from .choices import THRIFTY, affordable, choose, next_step
from .improvement import improve, improve_thrift
from .levels import level_of, pay, place_of
from .spending import MOVE
from .strips import cell, cover, open_strip

DONE, FULL, CROWDED = 0, 1, 2
LONG = 20_000_000  # elementary steps after which a trial goes no deeper, so that the clock is looked at
STILL = 8  # trials in a row that change nothing, after which more would not either


class Tuning(NamedTuple):
    """Parameters of the search."""

    share: float  # a deep trial's target, as a share of the current gap
    wide_share: float  # the same for the wide trials that take turns with the deep ones
    least_gain: float  # a plan is made if it promises this share of the target more
    all_actions: bool  # expand every action of a visited belief, not only the best
    sampled: int  # sampled trials for each one by bounds
    explore: float  # chance of an action at random in a sampled trial


@inner
def visit(search: Search, strip: int, level: int, mode: int, d: FloatArray, tuning: Tuning) -> tuple[int, float]:
    """Back up a strip and choose the action at a level, expanding what looks best until it is; NO_ROOM if full."""
    if not open_strip(search, strip):
        return NO_ROOM, 0.0
    space, beliefs, i = search.space, search.beliefs, search.strips.info[strip].belief
    row = beliefs.info[i].row
    if tuning.all_actions:
        for a in range(beliefs.reward.shape[1]):
            if beliefs.edge[row, a] == NONE and not expand(space, beliefs, search.scratch, search.counts, i, a):
                return NO_ROOM, 0.0
    settled = False
    while True:
        a, value = choose(search, strip, level, mode, d)
        if a != NONE and beliefs.edge[row, a] == NONE:
            if not expand(space, beliefs, search.scratch, search.counts, i, a):
                return NO_ROOM, 0.0
            if not back_up_new(search, strip, level, a):
                return NO_ROOM, 0.0
            settled = False
        elif settled:
            return a, value
        elif not back_up_all(search, strip, level):
            return NO_ROOM, 0.0
        else:
            settled = True


@inner
def want_level(search: Search, d: FloatArray) -> None:
    """Note a budget at which a level would have helped."""
    if search.counts[0].wanted < search.scratch.wanted.shape[0]:
        for k in range(d.size):
            search.scratch.wanted[search.counts[0].wanted, k] = d[k]
        search.counts[0].wanted += 1


@inner
def is_close(search: Search, strip: int, level: int, mode: int, d: FloatArray, value: float, limit: float) -> bool:
    """True if a belief with a budget is within the limit; `value` is the bound of its best affordable action."""
    space, i, at = search.space, search.strips.info[strip].belief, cell(search, strip, level)
    candidate = best_candidate(space, search.beliefs, search.candidates, i, d, False)
    if mode == THRIFTY and (candidate != NONE or value > -np.inf):
        return candidate != NONE
    bound = bound_at(search, at, d)
    if value > -np.inf and (candidate == NONE or min(value, bound) - search.candidates.total[candidate, 0] > limit):
        return False
    least = space.worst if candidate == NONE else search.candidates.total[candidate, 0]
    if bound - least > limit:
        want_level(search, d)  # close at this very budget, not at the level above
    return True


@inner
def learn(search: Search, strip: int, level: int, a: int, mode: int, d: FloatArray, least_gain: float) -> bool:
    """Look for better candidates at a visited belief; False if full."""
    i = search.strips.info[strip].belief
    if mode == THRIFTY:
        return improve_thrift(search, i, d)
    return improve(search, strip, level, a, d, least_gain)


@inner
def back_up_step(search: Search, t: int, least_gain: float) -> bool:
    """Back up a step of a trial on its way back, and learn from it; False if full."""
    scratch = search.scratch
    if not back_up_all(search, scratch.path[t], scratch.level[t]):
        return False
    return learn(
        search, scratch.path[t], scratch.level[t], scratch.action[t], scratch.mode[t], scratch.left[t], least_gain
    )


@inner
def start(search: Search, root: int, budget: FloatArray) -> tuple[int, int]:
    """The strip and level that a trial starts at; the strip is NO_ROOM if full."""
    level = level_of(search.levels, budget)
    first = place_of(search.levels, level, 0)
    return cover(search, root, level >> search.levels.bits, first), first


@inner
def has_moved(search: Search, t: int, before: float) -> bool:
    """True if the bound at a step of a trial fell."""
    scratch = search.scratch
    bound = search.strips.hi[cell(search, scratch.path[t], scratch.level[t]), EXACT]
    return bool(bound < before - MOVE * abs(before))


@inner
def work_done(search: Search) -> int:
    """All work so far."""
    c = search.counts[0]
    return int(c.making_beliefs + c.testing_plans + c.making_plans + c.upper_backups)


@inner
def trial(search: Search, root: int, budget: FloatArray, mode: int, target: float, tuning: Tuning, number: int) -> int:
    """One trial from a belief with a budget."""
    scratch, strips = search.scratch, search.strips
    made = search.counts[0].beliefs + search.counts[0].plans + search.counts[0].candidate_links
    depth, moved, limit, least_gain = 0, False, target, tuning.least_gain * target
    enough = work_done(search) + LONG
    for k in range(budget.size):
        scratch.left[0, k] = budget[k]
    strip, level = start(search, root, budget)
    while strip != NONE:
        if strip == NO_ROOM:
            return FULL
        d = scratch.left[depth]
        scratch.path[depth] = strip
        scratch.level[depth] = level
        scratch.mode[depth] = mode
        search.counts[0].visits += 1
        before = strips.hi[cell(search, strip, level), EXACT]
        a, value = visit(search, strip, level, mode, d, tuning)
        if a == NO_ROOM or not learn(search, strip, level, a, mode, d, least_gain):
            return FULL
        moved = moved or has_moved(search, depth, before)
        scratch.action[depth] = a
        depth += 1
        over = a == NONE or depth == scratch.path.size or work_done(search) > enough
        if over or is_close(search, strip, level, mode, d, value, limit):
            break
        limit /= search.space.discount
        rest = scratch.left[depth]
        row = search.beliefs.info[strips.info[strip].belief].row
        pay(search.space, d, search.beliefs.cost[row, :, a], rest)
        strip, level, mode = next_step(search, strip, level, a, mode, rest, limit)
    for t in range(depth - 1, -1, -1):
        before = strips.hi[cell(search, scratch.path[t], scratch.level[t]), EXACT]
        if not back_up_step(search, t, least_gain):
            return FULL
        moved = moved or has_moved(search, t, before)
    if moved or search.counts[0].beliefs + search.counts[0].plans + search.counts[0].candidate_links > made:
        search.counts[0].moved = number
    return DONE


@inner
def random(state: AnyArray) -> float:
    """A number in [0, 1) from a counter (SplitMix64)."""
    state[0] = state[0] + np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inner
def drawn_edge(beliefs: Beliefs, row: int, a: int, u: float) -> int:
    """The edge of an expanded action that a number in [0, 1) falls on."""
    last = beliefs.edge[row, a] + beliefs.degree[row, a] - 1
    for e in range(beliefs.edge[row, a], last):
        u -= beliefs.edge_prob[e]
        if u < 0.0:
            return e
    return int(last)


@inner
def sampled_trial(
    search: Search, root: int, budget: FloatArray, target: float, tuning: Tuning, chance: AnyArray
) -> int:
    """One trial by chance from a belief with a budget: plans for the beliefs that the policy meets."""
    scratch, strips, beliefs, space = search.scratch, search.strips, search.beliefs, search.space
    depth, limit, weight, enough = 0, tuning.least_gain * target, 1.0, work_done(search) + LONG
    for k in range(budget.size):
        scratch.left[0, k] = budget[k]
    strip, level = start(search, root, budget)
    while True:
        if strip == NO_ROOM:
            return FULL
        d, i = scratch.left[depth], strips.info[strip].belief
        scratch.path[depth] = strip
        scratch.level[depth] = level
        search.counts[0].visits += 1
        a, _ = visit(search, strip, level, EXACT, d, tuning)
        if a == NO_ROOM or not refresh(search, i, d):
            return FULL
        scratch.action[depth] = a
        scratch.mode[depth] = EXACT
        depth += 1
        candidate = best_candidate(space, beliefs, search.candidates, i, d, False)
        known = search.candidates.total[candidate, 0] if candidate != NONE else space.worst
        weight *= space.discount
        gap = bound_at(search, cell(search, strip, level), d) - known
        if a == NONE or gap * weight <= target or depth == scratch.path.size or work_done(search) > enough:
            break
        if random(chance) < tuning.explore:
            tried = int(random(chance) * beliefs.reward.shape[1])
            a = tried if affordable(search, i, tried, d) else a
        elif candidate != NONE and random(chance) < 0.5:
            a = search.candidates.info[candidate].action
        row = beliefs.info[i].row
        if beliefs.edge[row, a] == NONE and not expand(space, beliefs, scratch, search.counts, i, a):
            return FULL
        rest = scratch.left[depth]
        if not pay(space, d, beliefs.cost[row, :, a], rest):
            break
        scratch.action[depth - 1] = a
        strip, level = start(search, beliefs.edge_child[drawn_edge(beliefs, row, a, random(chance))], rest)
    for t in range(depth - 1, -1, -1):
        if not back_up_step(search, t, limit):
            return FULL
    return DONE


@inner
def known(search: Search, i: int, d: FloatArray) -> float:
    """The lower bound of belief i within a budget; where nothing is known to fit, what no value is below."""
    candidate = best_candidate(search.space, search.beliefs, search.candidates, i, d, False)
    return float(search.space.worst if candidate == NONE else search.candidates.total[candidate, 0])


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
    most_plans: int,
    chance: AnyArray,
) -> tuple[int, int]:
    """Trials until the gap is at most epsilon, `work`, trials or plans are as many as may be, or room is short.

    `trials` counts those of the whole search. Return why the search paused, and the new count. What a search does
    depends on its own state alone, not on where it is paused.
    """
    search = by_reference(search)
    stop = work_done(search) + work
    strip, level = start(search, root, budget)
    if strip == NO_ROOM or not refresh(search, root, budget):
        return FULL, trials
    while work_done(search) < stop and trials < most_trials and trials - search.counts[0].moved < STILL:
        upper = search.strips.hi[cell(search, strip, level), EXACT]
        if upper == -np.inf:
            break
        if search.counts[0].plans > most_plans:
            return CROWDED, trials
        search.counts[0].upper_backups += 1  # a trial that changes nothing is work too
        gap = upper - known(search, root, budget)
        mode = EXACT
        if best_candidate(search.space, search.beliefs, search.candidates, root, budget, False) == NONE:
            mode = THRIFTY if trials % 2 == 0 else EXACT
        elif gap <= epsilon:
            break
        share = tuning.share if trials % 4 < 2 else tuning.wide_share
        if mode == EXACT and tuning.sampled > 0 and trials % (tuning.sampled + 1) > 0:
            status = sampled_trial(search, root, budget, max(epsilon, tuning.share * gap), tuning, chance)
            search.counts[0].moved = trials
        else:
            status = trial(search, root, budget, mode, max(epsilon, share * gap), tuning, trials)
        if status == FULL:
            return FULL, trials
        trials += 1
    return DONE, trials
