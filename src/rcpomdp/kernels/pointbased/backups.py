"""Backups of strips: all entries at once, action by action.

A backup asks what follows for the level that is visited; where other entries lead, the next entry above bounds it.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..jit import inner
from .arrays import EXACT, NO_ROOM, NONE, Search
from .levels import join, place_of, priced, priced_level, value_at
from .spending import back_up_least, first_after, level_after, others_after
from .strips import (
    apply_monotone,
    apply_neighbours,
    apply_ray,
    cell,
    cover,
    cover_ray,
    entry_above,
    find,
    find_level,
    has_rays,
    q_cell,
)

_TOTAL, _LOWER, _OWN, _BEST = range(4)  # rows of Scratch.sums; OWN is the weight that a backup puts on itself


@inner
def bound_at(s: Search, at: int, rest: FloatArray) -> float:
    """The least upper bound of a cell when this much is left, no more than its level has."""
    bound = s.strips.hi[at, EXACT]
    for mode in range(1, s.strips.hi.shape[1]):
        multiplier = s.informed.multiplier[mode - 1]
        bound = min(bound, s.strips.hi[at, mode] + priced(s.space, multiplier, rest))
    return float(bound)


@inner
def _gain(s: Search, i: int, a: int, mode: int) -> float:
    """``R(b, a) − λ_j·C(b, a)``."""
    b, row = s.beliefs, s.beliefs.info[i].row
    gain = b.reward[row, a]
    if mode != EXACT:
        for k in range(b.cost.shape[1]):
            gain -= s.informed.multiplier[mode - 1, k] * b.cost[row, k, a]
    return float(gain)


@inner
def _cover_children(s: Search, i: int, a: int, mode: int, others: int, level: int) -> bool:
    """Have all that may follow an expanded action, and the ends of their rays, at a level; False if full."""
    b, row = s.beliefs, s.beliefs.info[i].row
    for e in range(b.edge[row, a], b.edge[row, a] + b.degree[row, a]):
        child = b.edge_child[e]
        if cover(s, child, others, level) == NO_ROOM:
            return False
        if has_rays(s, mode) and not cover_ray(s, child, others, level):
            return False
    return True


@inner
def _lead(s: Search, strip: int, a: int, mode: int) -> int:
    """Write where an action leads from the entries of a strip; return the levels of the other costs there, or NONE."""
    n, i, at = s.strips, s.strips.info[strip].belief, s.strips.info[strip].at
    others = others_after(s, i, a, mode, n.info[strip].others)
    for entry in range(n.info[strip].size):
        s.scratch.to[entry] = first_after(s, i, a, mode, n.level[at + entry]) if others != NONE else NONE
    return others


@inner
def back_up_action(s: Search, strip: int, level: int, a: int, mode: int) -> bool:
    """Bound an expanded action from above at all entries: ``R(b, a) + γ Σ_o p(o) hi(b', l')``; False if full.

    What may follow has entries for where this level leads; where the others lead, the next entry above bounds it. What
    a backup puts on the belief and level itself, directly or by a ray that starts there, is collected on the left
    side: ``V(b) ≤ (R + γ rest) / (1 − γ W)`` for the best action, hence for the largest such quotient.
    """
    n, b, i = s.strips, s.beliefs, s.strips.info[strip].belief
    to, others = level_after(s, strip, level, a, mode)
    if to != NONE and not _cover_children(s, i, a, mode, others, to):
        return False
    others = _lead(s, strip, a, mode)
    size = n.info[strip].size
    row, total, lower, own = b.info[i].row, s.scratch.sums[_TOTAL], s.scratch.sums[_LOWER], s.scratch.sums[_OWN]
    gain = _gain(s, i, a, mode)
    for entry in range(size):
        total[entry] = gain
        lower[entry] = gain
        own[entry] = 0.0
    relaxed = mode == EXACT and n.hi.shape[1] > 1
    if relaxed:
        _price_rest(s, strip, a)
    if others != NONE:
        for e in range(b.edge[row, a], b.edge[row, a] + b.degree[row, a]):
            _add_child(s, strip, mode, others, e, relaxed)
    s.counts[0].upper_backups = s.counts[0].upper_backups + b.degree[row, a] * (4 + size)
    at, q = n.info[strip].at, q_cell(s, strip, mode, a, 0)
    for entry in range(size):
        if s.scratch.to[entry] == NONE:
            n.q[q + entry] = -np.inf
        else:
            value = total[entry] if own[entry] == 0.0 else total[entry] / (1.0 - own[entry])
            n.q[q + entry] = min(n.q[q + entry], value)
            n.lo[at + entry, mode] = max(n.lo[at + entry, mode], lower[entry])
    return True


@inner
def _price_rest(s: Search, strip: int, a: int) -> None:
    """Write ``λ_j·(d − C(b, a))/γ`` to ``scratch.worth``, for all relaxations and entries."""
    b, n, x = s.beliefs, s.strips, s.space
    row, at = b.info[n.info[strip].belief].row, n.info[strip].at
    for j in range(s.scratch.worth.shape[0]):
        fixed, multiplier = 0.0, s.informed.multiplier[j]
        for k in range(1, multiplier.size):
            if multiplier[k] > 0.0:
                d = s.levels.value[k, place_of(s.levels, n.info[strip].others, k - 1)]
                fixed += multiplier[k] * min(max(d - b.cost[row, k, a], 0.0) / x.discount, x.cap[k])
        for entry in range(n.info[strip].size):
            s.scratch.worth[j, entry] = fixed
            if multiplier[0] > 0.0:
                rest = max(s.levels.value[0, n.level[at + entry]] - b.cost[row, 0, a], 0.0) / x.discount
                s.scratch.worth[j, entry] += multiplier[0] * min(rest, x.cap[0])


@inner
def _add_child(s: Search, strip: int, mode: int, others: int, e: int, relaxed: bool) -> None:
    """Add what an edge contributes to the sums of a backup."""
    n, b, i = s.strips, s.beliefs, s.strips.info[strip].belief
    child, p = b.edge_child[e], s.space.discount * b.edge_prob[e]
    kid = find(s, child, others)
    if kid not in (strip, NONE):
        apply_ray(s, kid, mode)
    total, lower, own = s.scratch.sums[_TOTAL], s.scratch.sums[_LOWER], s.scratch.sums[_OWN]
    here, at, last = n.info[strip].at, 0, 0
    if kid != NONE:
        at, last = n.info[kid].at, n.info[kid].at + n.info[kid].size
    rays_here = others == n.info[strip].others and b.info[child].base == i and has_rays(s, mode)
    weight, tip = b.info[child].weight, NONE
    for entry in range(n.info[strip].size):
        to = s.scratch.to[entry]
        if to == NONE:
            continue
        while at < last and n.level[at] < to:
            at += 1
        if at == last:  # nothing bounds it yet
            total[entry] = np.inf
            lower[entry] = -np.inf
            continue
        lower[entry] += p * (n.lo[at, mode] if n.level[at] == to else -np.inf)
        bound = n.hi[at, mode]
        if to == n.level[here + entry] and n.level[at] == to:
            tip = find_level(s, b.info[child].tip, others, to) if rays_here else NONE
            if kid == strip:
                own[entry] += p
                continue
            if tip != NONE:
                at_tip = n.hi[cell(s, tip, to), mode]
                if weight * n.hi[here + entry, mode] + (1.0 - weight) * at_tip <= bound:
                    own[entry] += p * weight
                    total[entry] += p * (1.0 - weight) * at_tip
                    continue
        if relaxed:
            for j in range(1, n.hi.shape[1]):
                bound = min(bound, n.hi[at, j] + s.scratch.worth[j - 1, entry])
        total[entry] += p * bound


@inner
def _may_be_best(s: Search, strip: int, a: int, mode: int, size: int) -> bool:
    """Whether an action's bound is above what is found already, at some entry."""
    n, best = s.strips, s.scratch.sums[_BEST]
    q = q_cell(s, strip, mode, a, 0)
    for entry in range(size):  # noqa: SIM110 - compiled code has no any()
        if n.q[q + entry] > best[entry]:
            return True
    return False


@inner
def _back_up_actions(s: Search, strip: int, level: int, mode: int) -> bool:
    """Recompute the actions that may be best somewhere, those first that are at this level; False if full.

    The best bounds are left in ``scratch.sums``. An action that is not expanded keeps its informed bound; where it is
    the best, there the bound stays.
    """
    n, b, done, best = s.strips, s.beliefs, s.scratch.done, s.scratch.sums[_BEST]
    row = b.info[n.info[strip].belief].row
    for entry in range(n.info[strip].size):
        best[entry] = -np.inf
    for a in range(done.size):
        done[a] = False
    for _ in range(done.size):
        a, most, entry = NONE, -np.inf, entry_above(s, strip, level)
        for other in range(done.size):
            q = n.q[q_cell(s, strip, mode, other, entry)]
            if not done[other] and (a == NONE or q > most):
                a, most = other, q
        done[a] = True
        size = n.info[strip].size
        if not _may_be_best(s, strip, a, mode, size):
            if size == 1:
                break
            continue
        if b.edge[row, a] != NONE:
            if not back_up_action(s, strip, level, a, mode):
                return False
            if n.info[strip].size > size:  # a child is the belief itself, and entries have moved
                for other in range(n.info[strip].size):
                    best[other] = np.inf
        q = q_cell(s, strip, mode, a, 0)
        for other in range(n.info[strip].size):
            best[other] = max(best[other], n.q[q + other])
    return True


@inner
def back_up(s: Search, strip: int, level: int, mode: int) -> bool:
    """Lower the bounds of an opened strip by its best actions; False if full."""
    n, best, others = s.strips, s.scratch.sums[_BEST], s.strips.info[strip].others
    if has_rays(s, mode) and not cover_ray(s, n.info[strip].belief, others, level):
        return False
    if not _back_up_actions(s, strip, level, mode):
        return False
    at = n.info[strip].at
    for entry in range(n.info[strip].size):
        if best[entry] < n.hi[at + entry, mode]:
            least = _least_value(s, join(s.levels, n.level[at + entry], others), mode)
            n.hi[at + entry, mode] = min(n.hi[at + entry, mode], max(best[entry], least))
    apply_ray(s, strip, mode)
    if mode == EXACT:
        for j in range(1, n.hi.shape[1]):
            multiplier = s.informed.multiplier[j - 1]
            for c in range(at, at + n.info[strip].size):
                allowance = priced_level(s.space, s.levels, multiplier, join(s.levels, n.level[c], others))
                n.hi[c, EXACT] = min(n.hi[c, EXACT], n.hi[c, j] + allowance)
    apply_neighbours(s, strip, mode)
    apply_monotone(s, strip, mode)
    return True


@inner
def _least_value(s: Search, level: int, mode: int) -> float:
    """What a bound does not fall below: at a tiny level nothing is impossible, it may only be far away."""
    for k in range(s.levels.counts.size):
        if value_at(s.levels, level, k) == s.levels.tiny[k]:
            allowance = priced(s.space, s.informed.multiplier[mode - 1], s.space.cap) if mode > EXACT else 0.0
            return s.space.worst - allowance
    return -np.inf


@inner
def back_up_all(s: Search, strip: int, level: int, mode: int) -> bool:
    """Back up a strip in a relaxation alone, or if the mode is exact in all modes; False if full."""
    if mode == EXACT:
        for j in range(1, s.strips.hi.shape[1]):
            if not back_up(s, strip, level, j):
                return False
        back_up_least(s, s.strips.info[strip].belief)
    return back_up(s, strip, level, mode)


@inner
def back_up_new(s: Search, strip: int, level: int, a: int, mode: int) -> bool:
    """The same for an action alone that was just expanded."""
    if mode == EXACT:
        for j in range(1, s.strips.hi.shape[1]):
            if not back_up_action(s, strip, level, a, j):
                return False
    return back_up_action(s, strip, level, a, mode)
