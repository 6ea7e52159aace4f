"""The search: trials from a belief with a budget.

A trial carries the exact budget d that is left. It descends by the action with the largest upper bound and the
successor that contributes most to the gap at the root, and backs up on the way down and up. Its target is a share of
the current gap: a step at depth t is left alone once its gap is at most ``target / γ^t``. Where a bound stems from a
relaxation, and that from a ray, the trial goes on at the end of the ray, within the relaxation. While nothing is
known that keeps the budget, every other trial is thrifty: it goes by the action that needs least and the successor
whose options exceed the budget by most. A sampled trial takes the actions that are best by the lower bound, and lets
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
from .choices import THRIFTY, affordable, choose, next_step
from .improvement import improve, improve_thrift
from .levels import join, left_after, level_of, place_of, value_at
from .options import best_option, refresh
from .spending import MOVE
from .strips import cell, cover, open_strip

DONE, FULL, CROWDED = 0, 1, 2
STILL = 8  # trials in a row that change nothing, after which more would not either


class Tuning(NamedTuple):
    """How the search goes about it."""

    share: float  # a deep trial's target, as a share of the current gap
    wide_share: float  # the same for the wide trials that take turns with the deep ones
    least_weight: float  # a ray is kept if it puts at least this weight on the prediction; above 1: no rays
    end_share: float  # the end of a ray is visited if it has this share of the excess
    least_gain: float  # a plan is made if it promises this share of the target more
    all_actions: bool  # expand every action of a visited belief, not only the best
    sampled: int  # sampled trials for each one by bounds
    explore: float  # chance of an action at random in a sampled trial


@inner
def visit(s: Search, strip: int, level: int, mode: int, d: FloatArray, tuning: Tuning) -> tuple[int, float]:
    """Back up a strip and choose the action at a level, expanding what looks best until it is; NO_ROOM if full."""
    if not open_strip(s, strip):
        return NO_ROOM, 0.0
    x, b, i = s.space, s.beliefs, s.strips.info[strip].belief
    row = b.info[i].row
    if tuning.all_actions:
        for a in range(b.reward.shape[1]):
            if b.edge[row, a] == NONE and not expand(x, b, s.scratch, s.counts, i, a, 2.0):
                return NO_ROOM, 0.0
    least_weight = tuning.least_weight if mode != THRIFTY else 2.0  # rays say nothing about what is needed
    settled = False
    while True:
        a, value = choose(s, strip, level, mode, d)
        if a != NONE and b.edge[row, a] == NONE:
            if not expand(x, b, s.scratch, s.counts, i, a, least_weight):
                return NO_ROOM, 0.0
            if not back_up_new(s, strip, level, a, max(mode, EXACT)):
                return NO_ROOM, 0.0
            settled = False
        elif settled:
            return a, value
        elif not back_up_all(s, strip, level, max(mode, EXACT)):
            return NO_ROOM, 0.0
        else:
            settled = True


@inner
def want_level(s: Search, d: FloatArray) -> None:
    """Note a budget at which a level would have helped."""
    if s.counts[0].wanted < s.scratch.wanted.shape[0]:
        for k in range(d.size):
            s.scratch.wanted[s.counts[0].wanted, k] = d[k]
        s.counts[0].wanted = s.counts[0].wanted + 1


@inner
def is_close(s: Search, strip: int, level: int, mode: int, d: FloatArray, value: float, limit: float) -> bool:
    """Whether a belief with a budget is within the limit; `value` is the bound of its best affordable action."""
    x, i, at = s.space, s.strips.info[strip].belief, cell(s, strip, level)
    if mode > EXACT:
        return bool(min(value, s.strips.hi[at, mode]) - s.strips.lo[at, mode] <= limit)
    option = best_option(x, s.beliefs, s.options, i, d, False)
    if mode == THRIFTY and (option != NONE or value > -np.inf):
        return option != NONE
    bound = bound_at(s, at, d)
    if value > -np.inf and (option == NONE or min(value, bound) - s.options.total[option, 0] > limit):
        return False
    least = x.worst if option == NONE else s.options.total[option, 0]
    if bound - least > limit:
        want_level(s, d)  # close at this very budget, not at the level above
    return True


@inner
def raise_lo(s: Search, strip: int, level: int) -> None:
    """Let the relaxations at a level know what the belief's options are worth within it."""
    b, c, n = s.beliefs, s.options, s.strips
    at, all_costs = cell(s, strip, level), join(s.levels, level, n.info[strip].others)
    option = b.info[n.info[strip].belief].option
    while option != NONE:
        within = True
        for k in range(c.sure.shape[1]):
            if s.space.limited[k] and c.sure[option, k] > value_at(s.levels, all_costs, k):
                within = False
        for mode in range(1, n.hi.shape[1]):
            value = c.total[option, 0]
            for k in range(c.sure.shape[1]):
                value -= s.informed.multiplier[mode - 1, k] * c.total[option, 1 + k]
            if within:
                n.lo[at, mode] = max(n.lo[at, mode], value)
        option = c.info[option].next


@inner
def learn(s: Search, strip: int, level: int, a: int, mode: int, d: FloatArray, least_gain: float) -> bool:
    """Look for better options at a visited belief; False if full."""
    i = s.strips.info[strip].belief
    if mode == THRIFTY:
        return improve_thrift(s, i, d)
    if mode > EXACT:
        if not refresh(s, i, d):
            return False
        raise_lo(s, strip, level)
        return True
    return improve(s, strip, level, a, d, least_gain)


@inner
def back_up_step(s: Search, t: int, least_gain: float) -> bool:
    """Back up a step of a trial on its way back, and learn from it; False if full."""
    w = s.scratch
    if not back_up_all(s, w.path[t], w.level[t], max(w.mode[t], EXACT)):
        return False
    return learn(s, w.path[t], w.level[t], w.action[t], w.mode[t], w.left[t], least_gain)


@inner
def start(s: Search, root: int, budget: FloatArray) -> tuple[int, int]:
    """The strip and level that a trial starts at; the strip is NO_ROOM if full."""
    level = level_of(s.levels, budget)
    first = place_of(s.levels, level, 0)
    return cover(s, root, level >> s.levels.bits, first), first


@inner
def has_moved(s: Search, t: int, before: float) -> bool:
    """Whether the bound at a step of a trial fell."""
    w = s.scratch
    return bool(s.strips.hi[cell(s, w.path[t], w.level[t]), max(w.mode[t], EXACT)] < before - MOVE * abs(before))


@inner
def trial(s: Search, root: int, budget: FloatArray, mode: int, target: float, tuning: Tuning, number: int) -> int:
    """One trial from a belief with a budget."""
    w, n = s.scratch, s.strips
    made = s.counts[0].beliefs + s.counts[0].plans + s.counts[0].option_links
    depth, moved, limit, least_gain = 0, False, target, tuning.least_gain * target
    for k in range(budget.size):
        w.left[0, k] = budget[k]
    strip, level = start(s, root, budget)
    while strip != NONE:
        if strip == NO_ROOM:
            return FULL
        d = w.left[depth]
        w.path[depth] = strip
        w.level[depth] = level
        w.mode[depth] = mode
        s.counts[0].visits = s.counts[0].visits + 1
        before = n.hi[cell(s, strip, level), max(mode, EXACT)]
        a, value = visit(s, strip, level, mode, d, tuning)
        if a == NO_ROOM or not learn(s, strip, level, a, mode, d, least_gain):
            return FULL
        moved = moved or has_moved(s, depth, before)
        w.action[depth] = a
        depth += 1
        if is_close(s, strip, level, mode, d, value, limit) or a == NONE or depth == w.path.size:
            break
        limit /= s.space.discount
        rest = w.left[depth]
        if mode <= EXACT:
            row = s.beliefs.info[n.info[strip].belief].row
            left_after(s.space, d, s.beliefs.cost[row, :, a], rest)
        strip, level, mode = next_step(s, strip, level, a, mode, rest, limit, tuning.end_share)
        if mode > EXACT and strip >= 0:
            for k in range(d.size):
                rest[k] = value_at(s.levels, join(s.levels, level, n.info[strip].others), k)
    for t in range(depth - 1, -1, -1):
        before = n.hi[cell(s, w.path[t], w.level[t]), max(w.mode[t], EXACT)]
        if not back_up_step(s, t, least_gain):
            return FULL
        moved = moved or has_moved(s, t, before)
    if moved or s.counts[0].beliefs + s.counts[0].plans + s.counts[0].option_links > made:
        s.counts[0].moved = number
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
def drawn_edge(b: Beliefs, row: int, a: int, u: float) -> int:
    """The edge of an expanded action that a number in [0, 1) falls on."""
    last = b.edge[row, a] + b.degree[row, a] - 1
    for e in range(b.edge[row, a], last):
        u -= b.edge_prob[e]
        if u < 0.0:
            return e
    return int(last)


@inner
def sampled_trial(s: Search, root: int, budget: FloatArray, target: float, tuning: Tuning, chance: AnyArray) -> int:
    """One trial by chance from a belief with a budget: plans for the beliefs that the policy meets."""
    w, n, b, x = s.scratch, s.strips, s.beliefs, s.space
    depth, limit, weight = 0, tuning.least_gain * target, 1.0
    for k in range(budget.size):
        w.left[0, k] = budget[k]
    strip, level = start(s, root, budget)
    while True:
        if strip == NO_ROOM:
            return FULL
        d, i = w.left[depth], n.info[strip].belief
        w.path[depth] = strip
        w.level[depth] = level
        s.counts[0].visits = s.counts[0].visits + 1
        a, _ = visit(s, strip, level, EXACT, d, tuning)
        if a == NO_ROOM or not refresh(s, i, d):
            return FULL
        w.action[depth] = a
        w.mode[depth] = EXACT
        depth += 1
        option = best_option(x, b, s.options, i, d, False)
        known = s.options.total[option, 0] if option != NONE else x.worst
        weight *= x.discount
        gap = bound_at(s, cell(s, strip, level), d) - known
        if a == NONE or gap * weight <= target or depth == w.path.size:
            break
        if random(chance) < tuning.explore:
            tried = int(random(chance) * b.reward.shape[1])
            a = tried if affordable(s, i, tried, d) else a
        elif option != NONE and random(chance) < 0.5:
            a = s.options.info[option].action
        row = b.info[i].row
        if b.edge[row, a] == NONE and not expand(x, b, w, s.counts, i, a, 2.0):
            return FULL
        rest = w.left[depth]
        if not left_after(x, d, b.cost[row, :, a], rest):
            break
        w.action[depth - 1] = a
        strip, level = start(s, b.edge_child[drawn_edge(b, row, a, random(chance))], rest)
    for t in range(depth - 1, -1, -1):
        if not back_up_step(s, t, limit):
            return FULL
    return DONE


@inner
def work_done(s: Search) -> int:
    """All work so far."""
    c = s.counts[0]
    return int(c.making_beliefs + c.testing_plans + c.making_plans + c.upper_backups)


@inner
def known(s: Search, i: int, d: FloatArray) -> float:
    """The lower bound of belief i within a budget; where nothing is known to fit, what no value is below."""
    option = best_option(s.space, s.beliefs, s.options, i, d, False)
    return float(s.space.worst if option == NONE else s.options.total[option, 0])


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
    most_plans: int,
    chance: AnyArray,
) -> tuple[int, int]:
    """Trials until the gap is at most epsilon, `work`, trials or plans are as many as may be, or room is short.

    `trials` counts those of the whole search. Return why the search paused, and the new count. What a search does
    depends on its own state alone, not on where it is paused.
    """
    s = by_reference(s)
    stop = work_done(s) + work
    strip, level = start(s, root, budget)
    if strip == NO_ROOM or not refresh(s, root, budget):
        return FULL, trials
    while work_done(s) < stop and trials < most_trials and trials - s.counts[0].moved < STILL:
        upper = s.strips.hi[cell(s, strip, level), EXACT]
        if upper == -np.inf:
            break
        if s.counts[0].plans > most_plans:
            return CROWDED, trials
        s.counts[0].upper_backups = s.counts[0].upper_backups + 1  # a trial that changes nothing is work too
        gap = upper - known(s, root, budget)
        mode = EXACT
        if best_option(s.space, s.beliefs, s.options, root, budget, False) == NONE:
            mode = THRIFTY if trials % 2 == 0 else EXACT
        elif gap <= epsilon:
            break
        share = tuning.share if trials % 4 < 2 else tuning.wide_share
        if mode == EXACT and tuning.sampled > 0 and trials % (tuning.sampled + 1) > 0:
            status = sampled_trial(s, root, budget, max(epsilon, tuning.share * gap), tuning, chance)
            s.counts[0].moved = trials
        else:
            status = trial(s, root, budget, mode, max(epsilon, share * gap), tuning, trials)
        if status == FULL:
            return FULL, trials
        trials += 1
    return DONE, trials
