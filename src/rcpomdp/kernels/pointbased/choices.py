"""Choices of a trial: the action to take, and the successor to visit.

A trial takes the action with the largest upper bound and the successor that contributes most to the gap at the root.
Where a bound stems from a relaxation, and that from a ray, the trial goes on at the end of the ray, within the
relaxation. A thrifty trial takes the action that needs least and the successor whose candidates exceed the budget by
most.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..jit import inner
from .arrays import EXACT, NO_ROOM, NONE, Search
from .backups import bound_at
from .candidates import share_of, thriftiest_candidate
from .spending import level_after, needs
from .strips import cell, cover, entry_above, find, q_cell

THRIFTY = -1  # mode of a trial that looks for what spends little, beside EXACT


@inner
def affordable(search: Search, i: int, a: int, d: FloatArray) -> bool:
    """True if nothing rules an action of an opened belief out at this very budget."""
    needs(search, i, a, search.scratch.need)
    for k in range(d.size):  # noqa: SIM110 - compiled code has no all()
        if search.space.limited[k] and search.scratch.need[k] > d[k]:
            return False
    return True


@inner
def choose(search: Search, strip: int, level: int, mode: int, d: FloatArray) -> tuple[int, float]:
    """The action with the largest bound that is affordable, and that bound; NONE if every action breaks the budget."""
    i, best, most, entry = search.strips.info[strip].belief, NONE, -np.inf, entry_above(search, strip, level)
    for a in range(search.beliefs.reward.shape[1]):
        value = search.strips.q[q_cell(search, strip, EXACT, a, entry)]
        if mode == THRIFTY:
            if not affordable(search, i, a, d):
                continue
            value = -share_of(search.space, search.scratch.need, d)
        elif value > most and mode == EXACT and not affordable(search, i, a, d):
            continue
        if value > most:
            best, most = a, value
    return best, most


@inner
def excess(search: Search, i: int, at: int, mode: int, rest: FloatArray, target: float) -> float:
    """By how much belief i, at a cell and with this budget left, is above the target."""
    space, beliefs, candidates = search.space, search.beliefs, search.candidates
    if mode == THRIFTY:
        candidate = thriftiest_candidate(space, beliefs, candidates, i, rest)
        return (share_of(space, candidates.sure[candidate], rest) if candidate != NONE else np.inf) - 1.0
    bound, known = bound_at(search, at, rest), search.strips.lo[at]
    if known == -np.inf:
        return bound - space.worst + 1.0  # whatever the target, it must be found out whether there is one
    return float(bound - known - target)


@inner
def largest_excess(
    search: Search, i: int, a: int, others: int, level: int, mode: int, rest: FloatArray, target: float
) -> int:
    """The successor that contributes most to the gap, or NONE if all are within the target."""
    beliefs, row = search.beliefs, search.beliefs.info[i].row
    chosen, most = NONE, 0.0
    for e in range(beliefs.edge[row, a], beliefs.edge[row, a] + beliefs.degree[row, a]):
        child = beliefs.edge_child[e]
        at = cell(search, find(search, child, others), level)
        over = beliefs.edge_prob[e] * excess(search, child, at, mode, rest, target)
        if over > most:
            chosen, most = child, over
    return int(chosen)


@inner
def next_step(
    search: Search, strip: int, level: int, a: int, mode: int, rest: FloatArray, target: float
) -> tuple[int, int, int]:
    """The successor that a trial visits under action a: a strip, its level and the mode.

    The strip is NONE if all that may follow is within the target, NO_ROOM if full.
    """
    beliefs, i = search.beliefs, search.strips.info[strip].belief
    to, others = level_after(search, strip, level, a, EXACT)
    if to == NONE:
        return NONE, NONE, mode
    row = beliefs.info[i].row
    for e in range(beliefs.edge[row, a], beliefs.edge[row, a] + beliefs.degree[row, a]):
        if cover(search, beliefs.edge_child[e], others, to) == NO_ROOM:
            return NO_ROOM, NONE, mode
    chosen = largest_excess(search, i, a, others, to, mode, rest, target)
    if chosen == NONE:
        return NONE, to, mode
    after = find(search, chosen, others)
    if search.space.varies and search.strips.lo[cell(search, after, to)] == -np.inf:
        mode = THRIFTY  # first of all some plan must be known
    return after, to, mode
