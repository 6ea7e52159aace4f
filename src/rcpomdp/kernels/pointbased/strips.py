"""Strips: upper bounds at a belief over budget levels.

``hi[., 0] ≥ V*(b, d_l)`` by backups in which an action spends ``C(b, a)``. ``hi[., j] ≥ V̄_j(b, d_l)`` is the optimal
value of ``R − λ_j·C`` when an action spends only the least cost of the belief's class. The budget left then depends
on the history alone, not on b, so V̄_j(·, d) is convex on a class, and rays bound it; and ``V*(b, d) ≤ V̄_j(b, d) +
λ_j·d``. Where costs do not vary within classes, V* itself is the value of a relaxation, hence convex: no other is
kept, and rays bound it.

A strip has the levels of the first cost that were asked for, in increasing order: its *entries*. Values never increase
as budgets fall, so where a strip does not have a level, its next entry above bounds it. Entries move when a strip
grows.
"""

from __future__ import annotations

import numpy as np

from ..jit import inner, kernel
from ..reference import by_reference
from .arrays import EXACT, NO_ROOM, NONE, Levels, Search
from .beliefs import open_belief
from .informed import inform
from .levels import join, place_of
from .spending import level_after

_NEIGHBOURS = 3  # strips of the same belief that one look compares


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
        apply_neighbours(s, strip, mode)
        apply_monotone(s, strip, mode)
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
def apply_neighbours(s: Search, strip: int, mode: int) -> None:
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
def apply_monotone(s: Search, strip: int, mode: int) -> None:
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


# What Python asks


@kernel
def root_strip(s: Search, i: int, level: int) -> int:
    """The strip of a belief that has a level, for Python; NO_ROOM if full."""
    return cover(by_reference(s), i, level >> s.levels.bits, place_of(s.levels, level, 0))
