"""Strips: upper bounds at a belief over budget levels, and their backups.

``hi[., 0] ≥ V*(b, d_l)`` by backups in which an action spends ``C(b, a)``. ``hi[., j] ≥ V̄_j(b, d_l)`` is the optimal
value of ``R − λ_j·C`` when an action spends only the least cost of the belief's class. The budget left then depends
on the history alone, not on b, so V̄_j(·, d) is convex on a class, and rays bound it; and ``V*(b, d) ≤ V̄_j(b, d) +
λ_j·d``. Where costs do not vary within classes, V* itself is the value of a relaxation, hence convex: no other is
kept, and rays bound it.

A strip has the levels of the first cost that were asked for, in increasing order: its *entries*. A backup is for all
of them, and asks what follows for all that they lead to. Values never increase as budgets fall, so where a strip does
not have a level, its next entry above bounds it. Entries move when a strip grows.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..jit import inner, kernel
from ..reference import by_reference
from .arrays import EXACT, NO_ROOM, NONE, Levels, Search
from .beliefs import open_belief
from .informed import inform
from .levels import SNAP, join, place_after, place_of, priced, priced_level, value_at

_NEIGHBOURS = 3  # strips of the same belief that one look compares
MOVE = 1e-9  # least change of a bound, in proportion to it, that counts as one
_TOTAL, _LOWER, _OWN, _BEST = range(4)  # rows of Scratch.sums; OWN is the weight that a backup puts on itself


# Entries


@inner
def entry_above(s: Search, strip: int, level: int) -> int:
    """The first entry of a strip that has no less than a level; as many as there are if there is none."""
    n = s.strips
    at, low, high = n.info[strip].at, 0, n.info[strip].size
    while low < high:
        middle = (low + high) // 2
        if n.level[at + middle] < level:
            low = middle + 1
        else:
            high = middle
    return int(low)


@inner
def cell(s: Search, strip: int, level: int) -> int:
    """Where the bounds of a level that a strip has are."""
    return int(s.strips.info[strip].at + entry_above(s, strip, level))


@inner
def q_cell(s: Search, strip: int, mode: int, a: int, entry: int) -> int:
    """Where the bound of an action at an entry of an opened strip is; entries are next to each other."""
    n, n_actions = s.strips.info[strip], s.scratch.hint.shape[1]
    return int(n.q + (mode * n_actions + a) * n.room + entry)


@inner
def find(s: Search, i: int, others: int) -> int:
    """The strip of belief i with these levels of the other costs, or NONE."""
    strip = s.beliefs.info[i].strip
    while strip != NONE and s.strips.info[strip].others != others:
        strip = s.strips.info[strip].next
    return int(strip)


@inner
def find_level(s: Search, i: int, others: int, level: int) -> int:
    """The strip of belief i that has a level, or NONE."""
    strip = find(s, i, others)
    if strip != NONE:
        entry = entry_above(s, strip, level)
        if entry < s.strips.info[strip].size and s.strips.level[s.strips.info[strip].at + entry] == level:
            return strip
    return NONE


# Making and growing strips


@inner
def cover(s: Search, i: int, others: int, level: int) -> int:
    """The strip of belief i that has a level, made or widened if need be; NO_ROOM if full."""
    n, count = s.strips, s.counts[0]
    strip = find(s, i, others)
    if strip == NONE:
        if count.strips >= n.info.shape[0] or count.cells >= n.hi.shape[0]:
            return NO_ROOM
        strip = count.strips
        count.strips = strip + 1
        made = n.info[strip]
        made.others = others
        made.at = count.cells
        made.q = NONE
        made.belief = i
        made.size = 0
        made.room = 0
        _enlist(s, i, strip)
    entry = entry_above(s, strip, level)
    if entry < n.info[strip].size and n.level[n.info[strip].at + entry] == level:
        return int(strip)
    return int(strip) if _insert(s, strip, entry, level) else NO_ROOM


@inner
def _insert(s: Search, strip: int, entry: int, level: int) -> bool:
    """Give a strip one more entry, in another place if its own is too small; False if full."""
    n, count, n_q = s.strips, s.counts[0], s.scratch.hint.size
    old_at, old_q, size, old_room = n.info[strip].at, n.info[strip].q, n.info[strip].size, n.info[strip].room
    at, q, room = old_at, old_q, old_room
    if size == room:
        room = max(1, 2 * size)
        if count.cells + room > n.hi.shape[0] or (q != NONE and count.opened + room * n_q > n.q.size):
            return False
        at = count.cells
        count.cells = at + room
        if q != NONE:
            q = count.opened
            count.opened = q + room * n_q
    for new in range(size, -1, -1):  # from the end: nothing is overwritten before it has moved
        old = new if new < entry else new - 1
        if new != entry and (at != old_at or new != old):
            n.level[at + new] = n.level[old_at + old]
            for mode in range(n.hi.shape[1]):
                n.hi[at + new, mode] = n.hi[old_at + old, mode]
                n.lo[at + new, mode] = n.lo[old_at + old, mode]
    if q != NONE:
        for line in range(n_q):
            for new in range(size, -1, -1):
                old = new if new < entry else new - 1
                if new != entry:
                    n.q[q + line * room + new] = n.q[old_q + line * old_room + old]
    n.level[at + entry] = level
    n.info[strip].at = at
    n.info[strip].q = q
    n.info[strip].size = size + 1
    n.info[strip].room = room
    _fill(s, strip, entry)
    return True


@inner
def _fill(s: Search, strip: int, entry: int) -> None:
    """Start an entry from the informed bounds, and from those of the same belief with no less budget."""
    n, i, others, at = s.strips, s.strips.info[strip].belief, s.strips.info[strip].others, s.strips.info[strip].at
    inform(s, i, join(s.levels, n.level[at + entry], others), False)
    for mode in range(n.hi.shape[1]):
        most = -np.inf
        for a in range(s.scratch.hint.shape[1]):
            most = max(most, s.scratch.hint[mode, a])
        n.hi[at + entry, mode] = most
        n.lo[at + entry, mode] = -np.inf
        _apply_neighbours(s, strip, mode)
        _apply_monotone(s, strip, mode)
    if n.info[strip].q != NONE:
        _fill_actions(s, strip, entry)


@inner
def _fill_actions(s: Search, strip: int, entry: int) -> None:
    """Start the bounds of actions from the informed ones just written; what cannot be paid is worth −inf."""
    n = s.strips
    level = n.level[n.info[strip].at + entry]
    for mode in range(s.scratch.hint.shape[0]):
        for a in range(s.scratch.hint.shape[1]):
            to, _ = level_after(s, strip, level, a, mode)
            n.q[q_cell(s, strip, mode, a, entry)] = s.scratch.hint[mode, a] if to != NONE else -np.inf


@inner
def open_strip(s: Search, strip: int) -> bool:
    """Give a strip the bounds of its actions; False if full."""
    n, i = s.strips, s.strips.info[strip].belief
    if n.info[strip].q != NONE:
        return True
    first, room = s.counts[0].opened, n.info[strip].room * s.scratch.hint.size
    if first + room > n.q.size or not open_belief(s.space, s.beliefs, s.counts, i):
        return False
    s.counts[0].opened = first + room
    n.info[strip].q = first
    for entry in range(n.info[strip].size):
        level = n.level[n.info[strip].at + entry]
        inform(s, i, join(s.levels, level, n.info[strip].others), entry > 0)
        _fill_actions(s, strip, entry)
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
            at, above, last = n.info[strip].at, n.info[other].at, n.info[other].at + n.info[other].size
            for c in range(at, at + n.info[strip].size):
                while above < last and n.level[above] < n.level[c]:
                    above += 1
                if above < last:
                    n.hi[c, mode] = min(n.hi[c, mode], n.hi[above, mode])
        other = n.info[other].next


@inner
def _apply_monotone(s: Search, strip: int, mode: int) -> None:
    """Lower bounds by the entries above."""
    n, at = s.strips, s.strips.info[strip].at
    for c in range(at + n.info[strip].size - 2, at - 1, -1):
        n.hi[c, mode] = min(n.hi[c, mode], n.hi[c + 1, mode])


# Rays


@inner
def has_rays(s: Search, mode: int) -> bool:
    """Whether the bounds of a mode are convex in the belief."""
    return mode != EXACT or not s.space.varies


@inner
def cover_ray(s: Search, i: int, others: int, level: int) -> bool:
    """Have the ends of a belief's ray at a level; False if full."""
    base, tip = s.beliefs.info[i].base, s.beliefs.info[i].tip
    return bool(base == NONE or (cover(s, base, others, level) != NO_ROOM and cover(s, tip, others, level) != NO_ROOM))


@inner
def apply_ray(s: Search, strip: int, mode: int) -> None:
    """Lower convex bounds by the ray of the belief, wherever both its ends are bounded."""
    n, i, others = s.strips, s.strips.info[strip].belief, s.strips.info[strip].others
    if s.beliefs.info[i].base == NONE or not has_rays(s, mode):
        return
    base, tip, weight = find(s, s.beliefs.info[i].base, others), find(s, s.beliefs.info[i].tip, others), 0.0
    if min(base, tip) == NONE:
        return
    weight, at = s.beliefs.info[i].weight, n.info[strip].at
    on_base, on_tip = n.info[base].at, n.info[tip].at
    base_end, tip_end = on_base + n.info[base].size, on_tip + n.info[tip].size
    for c in range(at, at + n.info[strip].size):
        while on_base < base_end and n.level[on_base] < n.level[c]:
            on_base += 1
        while on_tip < tip_end and n.level[on_tip] < n.level[c]:
            on_tip += 1
        if on_base == base_end or on_tip == tip_end:
            break
        by_ray = weight * n.hi[on_base, mode] + (1.0 - weight) * n.hi[on_tip, mode]
        n.hi[c, mode] = min(n.hi[c, mode], by_ray)


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
def _spending(s: Search, i: int, a: int, mode: int, k: int) -> float:
    """What action a spends of budget k at an opened belief."""
    b = s.beliefs
    return float(b.cost[b.info[i].row, k, a] if mode == EXACT else s.space.floor[b.info[i].cls, a, k])


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
def first_after(s: Search, i: int, a: int, mode: int, level: int) -> int:
    """The level of the first cost after an action, or NONE; ``scratch.need`` is what the action needs."""
    v, cls = s.levels, s.beliefs.info[i].cls
    if v.counts.size == 0:
        return level
    row, need = v.which[cls, a], s.scratch.need[0]
    if row != NONE and (mode != EXACT or need <= s.space.floor[cls, a, 0] * (1.0 + SNAP)):
        return int(v.after[row, level])
    cost = _spending(s, i, a, mode, 0)
    return place_after(s.space, v, 0, level, cost, need if mode == EXACT else cost)


@inner
def level_after(s: Search, strip: int, level: int, a: int, mode: int) -> tuple[int, int]:
    """The levels of the first and of the other costs after an action of an opened belief; NONE if it cannot be paid."""
    i = s.strips.info[strip].belief
    others = others_after(s, i, a, mode, s.strips.info[strip].others)
    return (first_after(s, i, a, mode, level) if others != NONE else NONE), others


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
    _apply_neighbours(s, strip, mode)
    _apply_monotone(s, strip, mode)
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


@kernel
def root_strip(s: Search, i: int, level: int) -> int:
    """The strip of a belief that has a level, for Python; NO_ROOM if full."""
    return cover(by_reference(s), i, level >> s.levels.bits, place_of(s.levels, level, 0))
