"""Backups of strips: all entries at once, action by action.

A backup asks what follows for the level that is visited; where other entries lead, the next entry above bounds it.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..budget import left_after
from ..jit import inner
from .arrays import EXACT, NO_ROOM, NONE, Search
from .levels import allowance_of, allowance_of_level, join, place_of, value_at
from .spending import back_up_least, first_after, level_after, others_after
from .strips import (
    apply_monotone,
    apply_neighbours,
    cover,
    entry_above,
    find,
    q_cell,
)

_TOTAL, _LOWER, _OWN, _BEST = range(4)  # rows of Scratch.sums; OWN is the weight that a backup puts on itself


@inner
def bound_at(search: Search, at: int, rest: FloatArray) -> float:
    """The least upper bound of a cell when this much is left, no more than its level has."""
    bound = search.strips.hi[at, EXACT]
    for mode in range(1, search.strips.hi.shape[1]):
        multiplier = search.informed.multiplier[mode - 1]
        bound = min(bound, search.strips.hi[at, mode] + allowance_of(search.space, multiplier, rest))
    return float(bound)


@inner
def _gain(search: Search, i: int, a: int, mode: int) -> float:
    """``R(b, a) − λ_j·C(b, a)``."""
    beliefs, row = search.beliefs, search.beliefs.info[i].row
    gain = beliefs.reward[row, a]
    if mode != EXACT:
        for k in range(beliefs.cost.shape[1]):
            gain -= search.informed.multiplier[mode - 1, k] * beliefs.cost[row, k, a]
    return float(gain)


@inner
def _cover_children(search: Search, i: int, a: int, others: int, level: int) -> bool:
    """Have all that may follow an expanded action at a level; False if full."""
    beliefs, row = search.beliefs, search.beliefs.info[i].row
    for e in range(beliefs.edge[row, a], beliefs.edge[row, a] + beliefs.degree[row, a]):
        if cover(search, beliefs.edge_child[e], others, level) == NO_ROOM:
            return False
    return True


@inner
def _lead(search: Search, strip: int, a: int, mode: int) -> int:
    """Write where an action leads from the entries of a strip; return the levels of the other costs there, or NONE."""
    strips, i, at = search.strips, search.strips.info[strip].belief, search.strips.info[strip].at
    others = others_after(search, i, a, mode, strips.info[strip].others)
    for entry in range(strips.info[strip].size):
        search.scratch.to[entry] = first_after(search, i, a, mode, strips.level[at + entry]) if others != NONE else NONE
    return others


@inner
def back_up_action(search: Search, strip: int, level: int, a: int, mode: int) -> bool:
    """Bound an expanded action from above at all entries: ``R(b, a) + γ Σ_o p(o) hi(b', l')``; False if full.

    What may follow has entries for where this level leads; where the others lead, the next entry above bounds it. What
    a backup puts on the belief and level itself is collected on the left side: ``V(b) ≤ (R + γ rest) / (1 − γ W)`` for
    the best action, hence for the largest such quotient.
    """
    strips, beliefs, i = search.strips, search.beliefs, search.strips.info[strip].belief
    to, others = level_after(search, strip, level, a, mode)
    if to != NONE and not _cover_children(search, i, a, others, to):
        return False
    others = _lead(search, strip, a, mode)
    size = strips.info[strip].size
    row, total, lower, own = (
        beliefs.info[i].row,
        search.scratch.sums[_TOTAL],
        search.scratch.sums[_LOWER],
        search.scratch.sums[_OWN],
    )
    gain = _gain(search, i, a, mode)
    for entry in range(size):
        total[entry] = gain
        lower[entry] = gain
        own[entry] = 0.0
    relaxed = mode == EXACT and strips.hi.shape[1] > 1
    if relaxed:
        _fill_allowance(search, strip, a)
    if others != NONE:
        for e in range(beliefs.edge[row, a], beliefs.edge[row, a] + beliefs.degree[row, a]):
            _add_child(search, strip, mode, others, e, relaxed)
    search.counts[0].upper_backups += beliefs.degree[row, a] * (4 + size)
    at, q = strips.info[strip].at, q_cell(search, strip, mode, a, 0)
    for entry in range(size):
        if search.scratch.to[entry] == NONE:
            strips.q[q + entry] = -np.inf
        else:
            value = total[entry] if own[entry] == 0.0 else total[entry] / (1.0 - own[entry])
            strips.q[q + entry] = min(strips.q[q + entry], value)
            if mode == EXACT:
                strips.lo[at + entry] = max(strips.lo[at + entry], lower[entry])
    return True


@inner
def _fill_allowance(search: Search, strip: int, a: int) -> None:
    """Write ``λ_j·(d − C(b, a))/β`` to ``scratch.allowance``, for all relaxations and entries."""
    beliefs, strips, space = search.beliefs, search.strips, search.space
    row, at = beliefs.info[strips.info[strip].belief].row, strips.info[strip].at
    for j in range(search.scratch.allowance.shape[0]):
        fixed, multiplier = 0.0, search.informed.multiplier[j]
        for k in range(1, multiplier.size):
            if multiplier[k] > 0.0:
                d = search.levels.value[k, place_of(search.levels, strips.info[strip].others, k - 1)]
                rest = max(left_after(d, beliefs.cost[row, k, a], space.model.cost_discount[k]), 0.0)
                fixed += multiplier[k] * min(rest, space.cap[k])
        for entry in range(strips.info[strip].size):
            search.scratch.allowance[j, entry] = fixed
            if multiplier[0] > 0.0:
                d = search.levels.value[0, strips.level[at + entry]]
                rest = max(left_after(d, beliefs.cost[row, 0, a], space.model.cost_discount[0]), 0.0)
                search.scratch.allowance[j, entry] += multiplier[0] * min(rest, space.cap[0])


@inner
def _add_child(search: Search, strip: int, mode: int, others: int, e: int, relaxed: bool) -> None:
    """Add what an edge contributes to the sums of a backup."""
    strips, beliefs = search.strips, search.beliefs
    kid, p = find(search, beliefs.edge_child[e], others), search.space.discount * beliefs.edge_prob[e]
    total, lower, own = search.scratch.sums[_TOTAL], search.scratch.sums[_LOWER], search.scratch.sums[_OWN]
    here, at, last = strips.info[strip].at, 0, 0
    if kid != NONE:
        at, last = strips.info[kid].at, strips.info[kid].at + strips.info[kid].size
    for entry in range(strips.info[strip].size):
        to = search.scratch.to[entry]
        if to == NONE:
            continue
        while at < last and strips.level[at] < to:
            at += 1
        if at == last:  # nothing bounds it yet
            total[entry] = np.inf
            lower[entry] = -np.inf
            continue
        lower[entry] += p * (strips.lo[at] if strips.level[at] == to else -np.inf)
        if kid == strip and to == strips.level[here + entry] and strips.level[at] == to:
            own[entry] += p
            continue
        bound = strips.hi[at, mode]
        if relaxed:
            for j in range(1, strips.hi.shape[1]):
                bound = min(bound, strips.hi[at, j] + search.scratch.allowance[j - 1, entry])
        total[entry] += p * bound


@inner
def _may_be_best(search: Search, strip: int, a: int, mode: int, size: int) -> bool:
    """True if an action's bound is above what is found already, at some entry."""
    strips, best = search.strips, search.scratch.sums[_BEST]
    q = q_cell(search, strip, mode, a, 0)
    for entry in range(size):  # noqa: SIM110 - compiled code has no any()
        if strips.q[q + entry] > best[entry]:
            return True
    return False


@inner
def _back_up_actions(search: Search, strip: int, level: int, mode: int) -> bool:
    """Recompute the actions that may be best somewhere, those first that are at this level; False if full.

    The best bounds are left in ``scratch.sums``. An action that is not expanded keeps its informed bound; where it is
    the best, there the bound stays.
    """
    strips, beliefs, done, best = search.strips, search.beliefs, search.scratch.done, search.scratch.sums[_BEST]
    row = beliefs.info[strips.info[strip].belief].row
    for entry in range(strips.info[strip].size):
        best[entry] = -np.inf
    for a in range(done.size):
        done[a] = False
    for _ in range(done.size):
        a, most, entry = NONE, -np.inf, entry_above(search, strip, level)
        for other in range(done.size):
            q = strips.q[q_cell(search, strip, mode, other, entry)]
            if not done[other] and (a == NONE or q > most):
                a, most = other, q
        done[a] = True
        size = strips.info[strip].size
        if not _may_be_best(search, strip, a, mode, size):
            if size == 1:
                break
            continue
        if beliefs.edge[row, a] != NONE:
            if not back_up_action(search, strip, level, a, mode):
                return False
            if strips.info[strip].size > size:  # a child is the belief itself, and entries have moved
                for other in range(strips.info[strip].size):
                    best[other] = np.inf
        q = q_cell(search, strip, mode, a, 0)
        for other in range(strips.info[strip].size):
            best[other] = max(best[other], strips.q[q + other])
    return True


@inner
def back_up(search: Search, strip: int, level: int, mode: int) -> bool:
    """Lower the bounds of an opened strip by its best actions; False if full."""
    strips, best, others = search.strips, search.scratch.sums[_BEST], search.strips.info[strip].others
    if not _back_up_actions(search, strip, level, mode):
        return False
    at = strips.info[strip].at
    for entry in range(strips.info[strip].size):
        if best[entry] < strips.hi[at + entry, mode]:
            least = _least_value(search, join(search.levels, strips.level[at + entry], others), mode)
            strips.hi[at + entry, mode] = min(strips.hi[at + entry, mode], max(best[entry], least))
    if mode == EXACT:
        for j in range(1, strips.hi.shape[1]):
            multiplier = search.informed.multiplier[j - 1]
            for c in range(at, at + strips.info[strip].size):
                allowance = allowance_of_level(
                    search.space, search.levels, multiplier, join(search.levels, strips.level[c], others)
                )
                strips.hi[c, EXACT] = min(strips.hi[c, EXACT], strips.hi[c, j] + allowance)
    apply_neighbours(search, strip, mode)
    apply_monotone(search, strip, mode)
    return True


@inner
def _least_value(search: Search, level: int, mode: int) -> float:
    """Least value that a bound may have: at a tiny level nothing is impossible, it may only be far away."""
    for k in range(search.levels.counts.size):
        if value_at(search.levels, level, k) == search.levels.tiny[k]:
            allowance = (
                allowance_of(search.space, search.informed.multiplier[mode - 1], search.space.cap)
                if mode > EXACT
                else 0.0
            )
            return search.space.worst - allowance
    return -np.inf


@inner
def back_up_all(search: Search, strip: int, level: int) -> bool:
    """Back up a strip in all relaxations, then exactly; False if full."""
    for j in range(1, search.strips.hi.shape[1]):
        if not back_up(search, strip, level, j):
            return False
    back_up_least(search, search.strips.info[strip].belief)
    return back_up(search, strip, level, EXACT)


@inner
def back_up_new(search: Search, strip: int, level: int, a: int) -> bool:
    """The same for an action alone that was just expanded."""
    for j in range(1, search.strips.hi.shape[1]):
        if not back_up_action(search, strip, level, a, j):
            return False
    return back_up_action(search, strip, level, a, EXACT)
