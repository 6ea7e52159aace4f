"""Strips: upper bounds at a belief over budget levels.

``hi[., 0] ≥ V*(b, d_l)`` by backups in which an action spends ``C(b, a)``. ``hi[., j] ≥ V̄_j(b, d_l)`` is the optimal
value of ``R − λ_j·C`` when an action spends only the least cost of the belief's class, and ``V*(b, d) ≤ V̄_j(b, d) +
λ_j·d``. Where costs do not vary within classes, V* itself is the value of a relaxation: no other is kept.

A strip has the levels of the first cost that were asked for, in increasing order: its *entries*. Values never increase
as budgets fall, so where a strip does not have a level, its next entry above bounds it. Entries move when a strip
grows.
"""

from __future__ import annotations

import numpy as np

from ..jit import inner, kernel
from ..reference import by_reference
from .arrays import NO_ROOM, NONE, Levels, Search
from .beliefs import open_belief
from .informed_beliefs import inform
from .levels import join, place_of
from .spending import level_after

_NEIGHBOURS = 3  # strips of the same belief that one look compares


# Entries


@inner
def entry_above(search: Search, strip: int, level: int) -> int:
    """The first entry of a strip that has no less than a level; as many as there are if there is none."""
    strips = search.strips
    at, low, high = strips.info[strip].at, 0, strips.info[strip].size
    while low < high:
        middle = (low + high) // 2
        if strips.level[at + middle] < level:
            low = middle + 1
        else:
            high = middle
    return int(low)


@inner
def cell(search: Search, strip: int, level: int) -> int:
    """Place of the bounds of a level that a strip has."""
    return int(search.strips.info[strip].at + entry_above(search, strip, level))


@inner
def q_cell(search: Search, strip: int, mode: int, a: int, entry: int) -> int:
    """Place of the bound of an action at an entry of an opened strip; entries are next to each other."""
    n, n_actions = search.strips.info[strip], search.scratch.hint.shape[1]
    return int(n.q + (mode * n_actions + a) * n.room + entry)


@inner
def find(search: Search, i: int, others: int) -> int:
    """The strip of belief i with these levels of the other costs, or NONE."""
    strip = search.beliefs.info[i].strip
    while strip != NONE and search.strips.info[strip].others != others:
        strip = search.strips.info[strip].next
    return int(strip)


@inner
def find_level(search: Search, i: int, others: int, level: int) -> int:
    """The strip of belief i that has a level, or NONE."""
    strip = find(search, i, others)
    if strip != NONE:
        entry = entry_above(search, strip, level)
        if (
            entry < search.strips.info[strip].size
            and search.strips.level[search.strips.info[strip].at + entry] == level
        ):
            return strip
    return NONE


# Making and growing strips


@inner
def cover(search: Search, i: int, others: int, level: int) -> int:
    """The strip of belief i that has a level, made or widened if need be; NO_ROOM if full."""
    strips, count = search.strips, search.counts[0]
    strip = find(search, i, others)
    if strip == NONE:
        if count.strips >= strips.info.shape[0] or count.cells >= strips.hi.shape[0]:
            return NO_ROOM
        strip = count.strips
        count.strips = strip + 1
        made = strips.info[strip]
        made.others = others
        made.at = count.cells
        made.q = NONE
        made.belief = i
        made.size = 0
        made.room = 0
        _enlist(search, i, strip)
    entry = entry_above(search, strip, level)
    if entry < strips.info[strip].size and strips.level[strips.info[strip].at + entry] == level:
        return int(strip)
    return int(strip) if _insert(search, strip, entry, level) else NO_ROOM


@inner
def _insert(search: Search, strip: int, entry: int, level: int) -> bool:
    """Give a strip one more entry, in another place if its own is too small; False if full."""
    strips, count, n_q = search.strips, search.counts[0], search.scratch.hint.size
    old_at, old_q, size, old_room = (
        strips.info[strip].at,
        strips.info[strip].q,
        strips.info[strip].size,
        strips.info[strip].room,
    )
    at, q, room = old_at, old_q, old_room
    if size == room:
        room = max(1, 2 * size)
        if count.cells + room > strips.hi.shape[0] or (q != NONE and count.opened + room * n_q > strips.q.size):
            return False
        at = count.cells
        count.cells = at + room
        if q != NONE:
            q = count.opened
            count.opened = q + room * n_q
    for new in range(size, -1, -1):  # from the end: nothing is overwritten before it has moved
        old = new if new < entry else new - 1
        if new != entry and (at != old_at or new != old):
            strips.level[at + new] = strips.level[old_at + old]
            strips.lo[at + new] = strips.lo[old_at + old]
            for mode in range(strips.hi.shape[1]):
                strips.hi[at + new, mode] = strips.hi[old_at + old, mode]
    if q != NONE:
        for line in range(n_q):
            for new in range(size, -1, -1):
                old = new if new < entry else new - 1
                if new != entry:
                    strips.q[q + line * room + new] = strips.q[old_q + line * old_room + old]
    strips.level[at + entry] = level
    strips.info[strip].at = at
    strips.info[strip].q = q
    strips.info[strip].size = size + 1
    strips.info[strip].room = room
    _fill(search, strip, entry)
    return True


@inner
def _fill(search: Search, strip: int, entry: int) -> None:
    """Start an entry from the informed bounds, and from those of the same belief with no less budget."""
    strips, i, others, at = (
        search.strips,
        search.strips.info[strip].belief,
        search.strips.info[strip].others,
        search.strips.info[strip].at,
    )
    inform(search, i, join(search.levels, strips.level[at + entry], others), False)
    strips.lo[at + entry] = -np.inf
    for mode in range(strips.hi.shape[1]):
        most = -np.inf
        for a in range(search.scratch.hint.shape[1]):
            most = max(most, search.scratch.hint[mode, a])
        strips.hi[at + entry, mode] = most
        apply_neighbours(search, strip, mode)
        apply_monotone(search, strip, mode)
    if strips.info[strip].q != NONE:
        _fill_actions(search, strip, entry)


@inner
def _fill_actions(search: Search, strip: int, entry: int) -> None:
    """Start the bounds of actions from the informed ones just written; what cannot be paid is worth −inf."""
    strips = search.strips
    level = strips.level[strips.info[strip].at + entry]
    for mode in range(search.scratch.hint.shape[0]):
        for a in range(search.scratch.hint.shape[1]):
            to, _ = level_after(search, strip, level, a, mode)
            strips.q[q_cell(search, strip, mode, a, entry)] = search.scratch.hint[mode, a] if to != NONE else -np.inf


@inner
def open_strip(search: Search, strip: int) -> bool:
    """Give a strip the bounds of its actions; False if full."""
    strips, i = search.strips, search.strips.info[strip].belief
    if strips.info[strip].q != NONE:
        return True
    first, room = search.counts[0].opened, strips.info[strip].room * search.scratch.hint.size
    if first + room > strips.q.size or not open_belief(search.space, search.beliefs, search.counts, i):
        return False
    search.counts[0].opened = first + room
    strips.info[strip].q = first
    for entry in range(strips.info[strip].size):
        level = strips.level[strips.info[strip].at + entry]
        inform(search, i, join(search.levels, level, strips.info[strip].others), entry > 0)
        _fill_actions(search, strip, entry)
    return True


# Strips bound each other: values never increase as budgets fall


@inner
def _covers(levels: Levels, more: int, less: int) -> bool:
    """True if levels of the other costs have no less of any budget than some others."""
    for k in range(levels.counts.size - 1):  # noqa: SIM110 - compiled code has no all()
        if place_of(levels, more, k) < place_of(levels, less, k):
            return False
    return True


@inner
def _enlist(search: Search, i: int, new: int) -> None:
    """Put a strip into its belief's list, before the first one that has no less budget."""
    strips = search.strips
    before, other = NONE, search.beliefs.info[i].strip
    while other != NONE and not _covers(search.levels, strips.info[other].others, strips.info[new].others):
        before, other = other, strips.info[other].next
    strips.info[new].next = other
    if before == NONE:
        search.beliefs.info[i].strip = new
    else:
        strips.info[before].next = new


@inner
def apply_neighbours(search: Search, strip: int, mode: int) -> None:
    """Lower bounds by the next strips of the same belief with no less budget."""
    strips, other = search.strips, search.strips.info[strip].next
    for _ in range(_NEIGHBOURS):
        if other == NONE:
            break
        if _covers(search.levels, strips.info[other].others, strips.info[strip].others):
            at, above, last = (
                strips.info[strip].at,
                strips.info[other].at,
                strips.info[other].at + strips.info[other].size,
            )
            for c in range(at, at + strips.info[strip].size):
                while above < last and strips.level[above] < strips.level[c]:
                    above += 1
                if above < last:
                    strips.hi[c, mode] = min(strips.hi[c, mode], strips.hi[above, mode])
        other = strips.info[other].next


@inner
def apply_monotone(search: Search, strip: int, mode: int) -> None:
    """Lower bounds by the entries above."""
    strips, at = search.strips, search.strips.info[strip].at
    for c in range(at + strips.info[strip].size - 2, at - 1, -1):
        strips.hi[c, mode] = min(strips.hi[c, mode], strips.hi[c + 1, mode])


# What Python asks


@kernel
def root_strip(search: Search, i: int, level: int) -> int:
    """The strip of a belief that has a level, for Python; NO_ROOM if full."""
    return cover(by_reference(search), i, level >> search.levels.bits, place_of(search.levels, level, 0))
