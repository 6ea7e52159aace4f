"""Strips: upper bounds at a belief over neighbouring budget levels, and their backups.

``hi[., 0] ≥ V*(b, d_l)`` by backups in which an action spends ``C(b, a)``. ``hi[., j] ≥ V̄_j(b, d_l)`` is the optimal
value of ``R − λ_j·C`` when an action spends only the least cost of the belief's class. The budget left then depends
on the history alone, not on b, so V̄_j(·, d) is convex on a class, and rays bound it; and ``V*(b, d) ≤ V̄_j(b, d) +
λ_j·d``. Where costs do not vary within classes, V* itself is the value of a relaxation, hence convex: no other is
kept, and rays bound it.

A strip has the levels of the first cost between the least and the most that were asked for, and grows on demand; a
backup is for all of them. `cell` is where a level's bounds are; it moves when a strip grows.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray, IntArray
from ..jit import inner, kernel
from .arrays import EXACT, NO_ROOM, NONE, Levels, Search, Strips
from .beliefs import open_belief
from .informed import inform
from .levels import SNAP, fill_map, join, place_after, place_of, priced, priced_level, value_at

_NEIGHBOURS = 3  # strips of the same belief that one look compares
MOVE = 1e-9  # least change of a bound, in proportion to it, that counts as one
_TOTAL, _LOWER, _OWN, _BEST = range(4)  # rows of Scratch.sums; OWN is the weight that a backup puts on itself


# Making and growing strips


@inner
def cell(s: Search, strip: int, level: int) -> int:
    """Where the bounds of a level of a strip are."""
    return int(s.strips.info[strip].at + level - s.strips.info[strip].low)


@inner
def row_of(s: Search, strip: int, level: int) -> int:
    """Where the bounds of actions at a level of an opened strip are."""
    return int(s.strips.info[strip].q + level - s.strips.info[strip].low)


@inner
def find(s: Search, i: int, others: int) -> int:
    """The strip of belief i with these levels of the other costs, or NONE."""
    strip = s.beliefs.info[i].strip
    while strip != NONE and s.strips.info[strip].others != others:
        strip = s.strips.info[strip].next
    return int(strip)


@inner
def cover(s: Search, i: int, others: int, low: int, high: int) -> int:
    """The strip of belief i with the levels ``low:high`` of the first cost, made or widened; NO_ROOM if full."""
    strip = find(s, i, others)
    if strip == NONE:
        return _make(s, i, others, low, high)
    first, last = s.strips.info[strip].low, s.strips.info[strip].low + s.strips.info[strip].size
    if low >= first and high <= last:
        return strip
    return _widen(s, strip, min(low, first), max(high, last))


@inner
def _make(s: Search, i: int, others: int, low: int, high: int) -> int:
    n, count = s.strips, s.counts[0]
    new, size = count.strips, high - low
    if new >= n.info.shape[0] or count.cells + size > n.hi.shape[0]:
        return NO_ROOM
    made = n.info[new]
    made.others = others
    made.at = count.cells
    made.q = NONE
    made.belief = i
    made.low = low
    made.size = size
    made.room = size
    count.strips = new + 1
    count.cells = count.cells + size
    _fill(s, new, low, high)
    _enlist(s, i, new)
    for mode in range(n.hi.shape[1]):
        _apply_neighbours(s, new, mode)
        _apply_monotone(s, new, mode)
    return int(new)


@inner
def _widen(s: Search, strip: int, low: int, high: int) -> int:
    """Give a strip more levels, in another place if its own is too small."""
    n, count = s.strips, s.counts[0]
    old_low, old_size, size = n.info[strip].low, n.info[strip].size, high - low
    at, q = n.info[strip].at, n.info[strip].q
    if size > n.info[strip].room:
        room = min(2 * size, s.levels.after.shape[1])
        if count.cells + room > n.hi.shape[0] or (q != NONE and count.opened + room > n.q.shape[0]):
            return NO_ROOM
        n.info[strip].room = room
        n.info[strip].at = count.cells
        count.cells = count.cells + room
        if q != NONE:
            n.info[strip].q = count.opened
            count.opened = count.opened + room
    to, q_to = n.info[strip].at + old_low - low, n.info[strip].q + old_low - low
    for c in range(old_size - 1, -1, -1):
        for mode in range(n.hi.shape[1]):
            n.hi[to + c, mode] = n.hi[at + c, mode]
            n.lo[to + c, mode] = n.lo[at + c, mode]
            if q != NONE:
                for a in range(n.q.shape[2]):
                    n.q[q_to + c, mode, a] = n.q[q + c, mode, a]
    n.info[strip].low = low
    n.info[strip].size = size
    _fill(s, strip, low, old_low)
    _fill(s, strip, old_low + old_size, high)
    for mode in range(n.hi.shape[1]):
        _apply_neighbours(s, strip, mode)
        _apply_monotone(s, strip, mode)
    return strip


@inner
def _fill(s: Search, strip: int, first: int, last: int) -> None:
    """Start the levels ``first:last`` of a strip from the informed bounds."""
    n, i, others = s.strips, s.strips.info[strip].belief, s.strips.info[strip].others
    for level in range(first, last):
        inform(s, i, join(s.levels, level, others), level > first)
        at = cell(s, strip, level)
        for mode in range(n.hi.shape[1]):
            most = -np.inf
            for a in range(s.scratch.hint.shape[1]):
                most = max(most, s.scratch.hint[mode, a])
            n.hi[at, mode] = most
            n.lo[at, mode] = -np.inf
        if n.info[strip].q != NONE:
            _fill_actions(s, strip, level)


@inner
def _fill_actions(s: Search, strip: int, level: int) -> None:
    """Start the bounds of actions from the informed ones that were just written."""
    n, i = s.strips, s.strips.info[strip].belief
    all_costs, q = join(s.levels, level, n.info[strip].others), n.q[row_of(s, strip, level)]
    for mode in range(q.shape[0]):
        for a in range(q.shape[1]):
            q[mode, a] = s.scratch.hint[mode, a] if _can_pay(s, i, a, mode, all_costs) else -np.inf


@inner
def _can_pay(s: Search, i: int, a: int, mode: int, level: int) -> bool:
    """Whether a level affords an action's own step."""
    for k in range(s.levels.counts.size):
        cost = _spending(s, i, a, mode, k)
        if place_after(s.space, s.levels, k, place_of(s.levels, level, k), cost, cost) == NONE:
            return False
    return True


@inner
def _spending(s: Search, i: int, a: int, mode: int, k: int) -> float:
    """What action a spends of budget k at an opened belief."""
    b = s.beliefs
    return float(b.cost[b.info[i].row, k, a] if mode == EXACT else s.space.floor[b.info[i].cls, a, k])


@inner
def open_strip(s: Search, strip: int) -> bool:
    """Give a strip the bounds of its actions; False if full."""
    n, i = s.strips, s.strips.info[strip].belief
    if n.info[strip].q != NONE:
        return True
    first, room = s.counts[0].opened, n.info[strip].room
    if first + room > n.q.shape[0] or not open_belief(s.space, s.beliefs, s.counts, i):
        return False
    s.counts[0].opened = first + room
    n.info[strip].q = first
    low = n.info[strip].low
    for level in range(low, low + n.info[strip].size):
        inform(s, i, join(s.levels, level, n.info[strip].others), level > low)
        _fill_actions(s, strip, level)
    return True


# Strips bound each other: values never increase as budgets fall


@inner
def _covers(v: Levels, more: int, less: int) -> bool:
    """Whether levels of the other costs have no less of any budget than some others."""
    for k in range(v.counts.size - 1):  # noqa: SIM110 - compiled code has no all()
        if place_of(v, more, k) < place_of(v, less, k):
            return False
    return True


@inner
def _enlist(s: Search, i: int, new: int) -> None:
    """Put a strip into its belief's list, before the first one that has no less budget."""
    n = s.strips
    before, other = NONE, s.beliefs.info[i].strip
    while other != NONE and not _covers(s.levels, n.info[other].others, n.info[new].others):
        before, other = other, n.info[other].next
    n.info[new].next = other
    if before == NONE:
        s.beliefs.info[i].strip = new
    else:
        n.info[before].next = new


@inner
def _apply_neighbours(s: Search, strip: int, mode: int) -> None:
    """Lower bounds by the next strips of the same belief with no less budget."""
    n, other = s.strips, s.strips.info[strip].next
    for _ in range(_NEIGHBOURS):
        if other == NONE:
            break
        if _covers(s.levels, n.info[other].others, n.info[strip].others):
            low = max(n.info[strip].low, n.info[other].low)
            high = min(n.info[strip].low + n.info[strip].size, n.info[other].low + n.info[other].size)
            for level in range(low, high):
                at = cell(s, strip, level)
                n.hi[at, mode] = min(n.hi[at, mode], n.hi[cell(s, other, level), mode])
        other = n.info[other].next


@inner
def _apply_monotone(s: Search, strip: int, mode: int) -> None:
    """Lower bounds by the levels above."""
    n, at = s.strips, s.strips.info[strip].at
    for c in range(at + n.info[strip].size - 2, at - 1, -1):
        n.hi[c, mode] = min(n.hi[c, mode], n.hi[c + 1, mode])


# Rays


@inner
def has_rays(s: Search, mode: int) -> bool:
    """Whether the bounds of a mode are convex in the belief."""
    return mode != EXACT or not s.space.varies


@inner
def cover_ray(s: Search, i: int, others: int, low: int, high: int) -> bool:
    """Have strips for the ends of a belief's ray; False if full."""
    base, tip = s.beliefs.info[i].base, s.beliefs.info[i].tip
    return bool(
        base == NONE or (cover(s, base, others, low, high) != NO_ROOM and cover(s, tip, others, low, high) != NO_ROOM)
    )


@inner
def apply_ray(s: Search, strip: int, mode: int, low: int, high: int) -> None:
    """Lower convex bounds at the levels ``low:high`` by the ray of the belief, as far as its ends have them."""
    n, i, others = s.strips, s.strips.info[strip].belief, s.strips.info[strip].others
    if s.beliefs.info[i].base == NONE or not has_rays(s, mode):
        return
    base, tip, weight = find(s, s.beliefs.info[i].base, others), find(s, s.beliefs.info[i].tip, others), 0.0
    if min(base, tip) == NONE:
        return
    weight = s.beliefs.info[i].weight
    low = max(low, n.info[base].low, n.info[tip].low)
    high = min(high, n.info[base].low + n.info[base].size, n.info[tip].low + n.info[tip].size)
    at, at_base, at_tip = cell(s, strip, 0), cell(s, base, 0), cell(s, tip, 0)
    for level in range(low, high):
        by_ray = weight * n.hi[at_base + level, mode] + (1.0 - weight) * n.hi[at_tip + level, mode]
        n.hi[at + level, mode] = min(n.hi[at + level, mode], by_ray)


# What is needed


@inner
def needs(s: Search, i: int, a: int, need: FloatArray) -> None:
    """Write what action a of an opened belief needs at least: ``C(b, a) + γ max_o M_lo(b')``."""
    b, row = s.beliefs, s.beliefs.info[i].row
    for k in range(need.size):
        worst = 0.0
        if b.edge[row, a] != NONE:
            for e in range(b.edge[row, a], b.edge[row, a] + b.degree[row, a]):
                worst = max(worst, b.least[b.edge_child[e], k])
        need[k] = b.cost[row, k, a] + s.space.discount * worst


@inner
def back_up_least(s: Search, i: int) -> bool:
    """Raise M_lo of an opened belief; whether it moved."""
    b, need, least = s.beliefs, s.scratch.need, s.scratch.spare
    for k in range(need.size):
        least[k] = np.inf
    for a in range(b.reward.shape[1]):
        needs(s, i, a, need)
        for k in range(need.size):
            least[k] = min(least[k], need[k])
    moved = False
    for k in range(need.size):
        moved = moved or least[k] > b.least[i, k] * (1.0 + MOVE)
        b.least[i, k] = max(b.least[i, k], least[k])
    return moved


@inner
def others_after(s: Search, i: int, a: int, mode: int, others: int) -> int:
    """The levels of the other costs after an action, or NONE if one cannot be paid; ``scratch.need`` is written."""
    v, need = s.levels, s.scratch.need
    if mode == EXACT:
        needs(s, i, a, need)
    to = 0
    for k in range(1, v.counts.size):
        cost = _spending(s, i, a, mode, k)
        at = place_of(v, others, k - 1)
        at = place_after(s.space, v, k, at, cost, need[k] if mode == EXACT else cost)
        if at == NONE:
            return NONE
        to |= at << ((k - 1) * v.bits)
    return to


@inner
def map_after(s: Search, i: int, a: int, mode: int, low: int, high: int) -> int:
    """The row of `after` that says where an action leads from levels of the first cost; NONE: ``scratch.map``.

    ``scratch.need`` is what the action needs.
    """
    v, cls = s.levels, s.beliefs.info[i].cls
    row = v.which[cls, a]
    if row != NONE and (
        mode != EXACT or v.counts.size == 0 or s.scratch.need[0] <= s.space.floor[cls, a, 0] * (1.0 + SNAP)
    ):
        return int(row)
    cost = _spending(s, i, a, mode, 0)
    fill_map(s.space, v, cost, s.scratch.need[0] if mode == EXACT else cost, low, high, s.scratch.map)
    return NONE


@inner
def level_after(s: Search, strip: int, level: int, a: int, mode: int) -> tuple[int, int]:
    """The levels of the first and of the other costs after an action of an opened belief; NONE if it cannot be paid."""
    i = s.strips.info[strip].belief
    others = others_after(s, i, a, mode, s.strips.info[strip].others)
    if others == NONE or s.levels.counts.size == 0:
        return (NONE if others == NONE else level), others
    cost = _spending(s, i, a, mode, 0)
    need = s.scratch.need[0] if mode == EXACT else cost
    return place_after(s.space, s.levels, 0, level, cost, need), others


# Backups


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
def _cover_children(s: Search, i: int, a: int, mode: int, others: int, low: int, high: int) -> bool:
    """Have strips for all that may follow an expanded action, and for the ends of their rays; False if full."""
    b, row = s.beliefs, s.beliefs.info[i].row
    for e in range(b.edge[row, a], b.edge[row, a] + b.degree[row, a]):
        child = b.edge_child[e]
        if cover(s, child, others, low, high) == NO_ROOM:
            return False
        if has_rays(s, mode) and not cover_ray(s, child, others, low, high):
            return False
    return True


@inner
def _span(after: IntArray, low: int, high: int) -> tuple[int, int]:
    """The least level that a map leads to, and one more than the largest; (0, 0) if it leads nowhere."""
    first, last = after.size, 0
    for level in range(low, high):
        if after[level] != NONE:
            first, last = min(first, after[level]), max(last, after[level] + 1)
    return (first, last) if last > 0 else (0, 0)


@inner
def back_up_action(s: Search, strip: int, a: int, mode: int) -> bool:
    """Bound an expanded action from above at all levels: ``R(b, a) + γ Σ_o p(o) hi(b', l')``; False if full.

    What a backup puts on the belief and level itself, directly or by a ray that starts there, is collected on the left
    side: ``V(b) ≤ (R + γ rest) / (1 − γ W)`` for the best action, hence for the largest such quotient.
    """
    n, b, i = s.strips, s.beliefs, s.strips.info[strip].belief
    low, high = n.info[strip].low, n.info[strip].low + n.info[strip].size
    others = others_after(s, i, a, mode, n.info[strip].others)
    first, last, after = 0, 0, s.scratch.map
    if others != NONE:
        which = map_after(s, i, a, mode, low, high)
        after = s.scratch.map if which == NONE else s.levels.after[which]
        first, last = _span(after, low, high)
    if last == 0:
        for level in range(low, high):
            n.q[row_of(s, strip, level), mode, a] = -np.inf
        return True
    if not _cover_children(s, i, a, mode, others, first, last):
        return False
    row, total, lower, own = b.info[i].row, s.scratch.sums[_TOTAL], s.scratch.sums[_LOWER], s.scratch.sums[_OWN]
    gain = _gain(s, i, a, mode)
    for level in range(low, high):
        total[level] = gain
        lower[level] = gain
        own[level] = 0.0
    for e in range(b.edge[row, a], b.edge[row, a] + b.degree[row, a]):
        _add_child(s, strip, a, mode, others, e, after, low, high, first, last)
    s.counts[0].upper_backups = s.counts[0].upper_backups + b.degree[row, a] * (4 + (high - low) // 4)
    at, q = cell(s, strip, 0), row_of(s, strip, 0)
    for level in range(low, high):
        if after[level] == NONE:
            n.q[q + level, mode, a] = -np.inf
        else:
            n.q[q + level, mode, a] = min(n.q[q + level, mode, a], total[level] / (1.0 - own[level]))
            n.lo[at + level, mode] = max(n.lo[at + level, mode], lower[level])
    return True


@inner
def _add_child(
    s: Search,
    strip: int,
    a: int,
    mode: int,
    others: int,
    e: int,
    after: IntArray,
    low: int,
    high: int,
    first: int,
    last: int,
) -> None:
    """Add what an edge contributes to the sums of a backup."""
    n, b, i = s.strips, s.beliefs, s.strips.info[strip].belief
    child, p = b.edge_child[e], s.space.discount * b.edge_prob[e]
    kid = find(s, child, others)
    if kid != strip:
        apply_ray(s, kid, mode, first, last)
    total, lower, own = s.scratch.sums[_TOTAL], s.scratch.sums[_LOWER], s.scratch.sums[_OWN]
    at, here = cell(s, kid, 0), cell(s, strip, 0)
    rays_here = others == n.info[strip].others and b.info[child].base == i and has_rays(s, mode)
    if kid != strip and not rays_here and not (mode == EXACT and n.hi.shape[1] > 1):
        for level in range(low, high):
            to = after[level]
            if to != NONE:
                lower[level] += p * n.lo[at + to, mode]
                total[level] += p * n.hi[at + to, mode]
        return
    weight = b.info[child].weight
    at_tip = cell(s, find(s, b.info[child].tip, others), 0) if rays_here else 0
    row, rest = b.info[i].row, s.scratch.rest
    for level in range(low, high):
        to = after[level]
        if to == NONE:
            continue
        lower[level] += p * n.lo[at + to, mode]
        if kid == strip and to == level:
            own[level] += p
            continue
        if rays_here and to == level:
            tip = n.hi[at_tip + to, mode]
            if weight * n.hi[here + to, mode] + (1.0 - weight) * tip <= n.hi[at + to, mode]:
                own[level] += p * weight
                total[level] += p * (1.0 - weight) * tip
                continue
        bound = n.hi[at + to, mode]
        if mode == EXACT and n.hi.shape[1] > 1:
            for k in range(rest.size):
                d = s.levels.value[0, level] if k == 0 else value_at(s.levels, n.info[strip].others, k - 1)
                rest[k] = max(d - b.cost[row, k, a], 0.0) / s.space.discount
            bound = bound_at(s, at + to, rest)
        total[level] += p * bound


@inner
def best_action(q: FloatArray) -> int:
    """The first of the largest entries."""
    best = 0
    for a in range(1, q.size):
        if q[a] > q[best]:
            best = a
    return best


@inner
def _may_be_best(s: Search, strip: int, a: int, mode: int, low: int, high: int) -> bool:
    """Whether an action's bound is above what is found already, at some level."""
    n, best = s.strips, s.scratch.sums[_BEST]
    q = row_of(s, strip, 0)
    for level in range(low, high):  # noqa: SIM110 - compiled code has no any()
        if n.q[q + level, mode, a] > best[level]:
            return True
    return False


@inner
def _back_up_actions(s: Search, strip: int, level: int, mode: int) -> bool:
    """Recompute the actions that may be best at some level, those first that are at this one; False if full.

    An action that is not expanded keeps its informed bound; where it is the best, there the bound stays.
    """
    n, b, done, best = s.strips, s.beliefs, s.scratch.done, s.scratch.sums[_BEST]
    low, high = n.info[strip].low, n.info[strip].low + n.info[strip].size
    row = b.info[n.info[strip].belief].row
    for at in range(low, high):
        best[at] = -np.inf
    for a in range(done.size):
        done[a] = False
    for _ in range(done.size):
        q, a = n.q[row_of(s, strip, level), mode], NONE
        for other in range(done.size):
            if not done[other] and (a == NONE or q[other] > q[a]):
                a = other
        done[a] = True
        if not _may_be_best(s, strip, a, mode, low, high):
            if high - low == 1:
                break
            continue
        if b.edge[row, a] != NONE and not back_up_action(s, strip, a, mode):
            return False
        at = row_of(s, strip, 0)
        for other in range(low, high):
            best[other] = max(best[other], n.q[at + other, mode, a])
    return True


@inner
def back_up(s: Search, strip: int, level: int, mode: int) -> int:
    """Lower the bounds of an opened strip by its best actions; return the best at this level, or NO_ROOM."""
    n, best = s.strips, s.scratch.sums[_BEST]
    low, high = n.info[strip].low, n.info[strip].low + n.info[strip].size
    if has_rays(s, mode) and not cover_ray(s, n.info[strip].belief, n.info[strip].others, low, high):
        return NO_ROOM
    if not _back_up_actions(s, strip, level, mode):
        return NO_ROOM
    at, others = cell(s, strip, 0), n.info[strip].others
    for other in range(low, high):
        if best[other] < n.hi[at + other, mode]:
            least = _least_value(s, join(s.levels, other, others), mode)
            n.hi[at + other, mode] = min(n.hi[at + other, mode], max(best[other], least))
    apply_ray(s, strip, mode, low, high)
    if mode == EXACT:
        for j in range(1, n.hi.shape[1]):
            for other in range(low, high):
                allowance = priced_level(
                    s.space, s.levels, s.informed.multiplier[j - 1], join(s.levels, other, others)
                )
                n.hi[at + other, EXACT] = min(n.hi[at + other, EXACT], n.hi[at + other, j] + allowance)
    _apply_neighbours(s, strip, mode)
    _apply_monotone(s, strip, mode)
    return best_action(n.q[row_of(s, strip, level), mode])


@inner
def _least_value(s: Search, level: int, mode: int) -> float:
    """What a bound does not fall below: at a tiny level nothing is impossible, it may only be far away."""
    for k in range(s.levels.counts.size):
        if value_at(s.levels, level, k) == s.levels.tiny[k]:
            allowance = priced(s.space, s.informed.multiplier[mode - 1], s.space.cap) if mode > EXACT else 0.0
            return s.space.worst - allowance
    return -np.inf


@inner
def back_up_all(s: Search, strip: int, level: int, mode: int) -> int:
    """Back up a strip in a relaxation alone, or if the mode is exact in all modes; return its best action."""
    if mode == EXACT:
        for j in range(1, s.strips.hi.shape[1]):
            if back_up(s, strip, level, j) == NO_ROOM:
                return NO_ROOM
        back_up_least(s, s.strips.info[strip].belief)
    return back_up(s, strip, level, mode)


# What Python asks


@kernel
def root_strip(s: Search, i: int, level: int) -> int:
    """The strip of a belief that has a level; NO_ROOM if full."""
    first = place_of(s.levels, level, 0)
    return cover(s, i, level >> s.levels.bits, first, first + 1)


@kernel
def lay_out(s: Search, before: Strips, place: IntArray, source: IntArray) -> None:
    """Fill empty strips from those there were with fewer levels: a new level is bounded by the next one above it.

    ``place [K, levels before]`` is where a level stands now; ``source [levels]`` the first one before, of the first
    cost, that has no less.
    """
    n, count, bits = s.strips, s.counts[0], s.levels.bits
    count.cells = 0
    count.opened = 0
    for strip in range(count.strips):
        old, new = before.info[strip], n.info[strip]
        others = 0
        for k in range(1, s.levels.counts.size):
            others |= place[k, place_of(s.levels, old.others, k - 1)] << ((k - 1) * bits)
        low, high = place[0, old.low], place[0, old.low + old.size - 1] + 1
        new.others = others
        new.at = count.cells
        new.q = NONE if old.q == NONE else count.opened
        new.belief = old.belief
        new.next = old.next
        new.low = low
        new.size = high - low
        new.room = high - low
        count.cells = count.cells + new.size
        count.opened = count.opened + (new.size if old.q != NONE else 0)
        for level in range(low, high):
            c, o = level - low, source[level] - old.low
            for mode in range(n.hi.shape[1]):
                n.hi[new.at + c, mode] = before.hi[old.at + o, mode]
                n.lo[new.at + c, mode] = before.lo[old.at + o, mode] if place[0, source[level]] == level else -np.inf
                if old.q != NONE:
                    for a in range(n.q.shape[2]):
                        n.q[new.q + c, mode, a] = before.q[old.q + o, mode, a]

