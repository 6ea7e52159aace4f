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
from .candidates import best_candidate, refresh, share_of, thriftiest_candidate
from .levels import allowance_of
from .spending import level_after, needs
from .strips import apply_ray, cell, cover, entry_above, find, has_rays, q_cell

THRIFTY = -1  # mode of a trial, beside EXACT and the relaxations
_NESTING = 8  # rays followed one after the other to where a gap comes from


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
        value = search.strips.q[q_cell(search, strip, max(mode, EXACT), a, entry)]
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
def relaxed_excess(search: Search, at: int, mode: int, target: float) -> float:
    """By how much the gap of a cell in a relaxation is above the target."""
    return float(search.strips.hi[at, mode] - max(search.strips.lo[at, mode], search.space.worst) - target)


@inner
def excess(search: Search, i: int, at: int, mode: int, rest: FloatArray, target: float) -> float:
    """By how much belief i, at a cell and with this budget left, is above the target."""
    space, beliefs, candidates = search.space, search.beliefs, search.candidates
    if mode > EXACT:
        return relaxed_excess(search, at, mode, target)
    if mode == THRIFTY:
        candidate = thriftiest_candidate(space, beliefs, candidates, i, rest)
        return (share_of(space, candidates.sure[candidate], rest) if candidate != NONE else np.inf) - 1.0
    bound, known = bound_at(search, at, rest), search.strips.lo[at, EXACT]
    if known == -np.inf:
        return bound - space.worst + 1.0  # whatever the target, it must be found out whether there is one
    return float(bound - known - target)


@inner
def gap_at(search: Search, i: int, at: int, mode: int, d: FloatArray, target: float) -> float:
    """The excess of belief i in a convex mode, exact or relaxed, at its own level or the budget d."""
    if mode > EXACT:
        return relaxed_excess(search, at, mode, target)
    if not refresh(search, i, d):
        return 0.0
    candidate = best_candidate(search.space, search.beliefs, search.candidates, i, d, False)
    search.strips.lo[at, EXACT] = search.candidates.total[candidate, 0] if candidate != NONE else -np.inf
    return excess(search, i, at, EXACT, d, target)


@inner
def follow_rays(
    search: Search, i: int, others: int, level: int, mode: int, d: FloatArray, target: float, here: int, share: float
) -> int:
    """The end of a belief's rays that its bound hangs on and that has a share of the excess, or the belief itself."""
    strips, beliefs = search.strips, search.beliefs
    for _ in range(_NESTING):
        base, tip, weight = beliefs.info[i].base, beliefs.info[i].tip, beliefs.info[i].weight
        if base == NONE or min(cover(search, base, others, level), cover(search, tip, others, level)) == NO_ROOM:
            break
        apply_ray(search, find(search, i, others), mode)
        apply_ray(search, find(search, base, others), mode)
        apply_ray(search, find(search, tip, others), mode)
        at = cell(search, find(search, i, others), level)
        base_at, tip_at = (
            cell(search, find(search, base, others), level),
            cell(search, find(search, tip, others), level),
        )
        by_ray = weight * strips.hi[base_at, mode] + (1.0 - weight) * strips.hi[tip_at, mode]
        if strips.hi[at, mode] < by_ray - 1e-12 * (1.0 + abs(by_ray)):
            break
        at_base = weight * gap_at(search, base, base_at, mode, d, target)
        at_tip = (1.0 - weight) * gap_at(search, tip, tip_at, mode, d, target)
        if base == here:
            at_base = 0.0  # where we are
        if max(at_base, at_tip) <= share * gap_at(search, i, at, mode, d, target):
            break
        i = base if at_base > at_tip else tip
    return i


@inner
def relaxation_behind(search: Search, at: int, rest: FloatArray) -> int:
    """The relaxation that the upper bound of a cell stems from, or EXACT."""
    bound = bound_at(search, at, rest)
    for mode in range(1, search.strips.hi.shape[1]):
        if search.strips.hi[at, mode] + allowance_of(search.space, search.informed.multiplier[mode - 1], rest) <= bound:
            return mode
    return EXACT


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
    search: Search, strip: int, level: int, a: int, mode: int, rest: FloatArray, target: float, share: float
) -> tuple[int, int, int]:
    """The successor that a trial visits under action a: a strip, its level and the mode.

    The strip is NONE if all that may follow is within the target, NO_ROOM if full.
    """
    strips, beliefs, i = search.strips, search.beliefs, search.strips.info[strip].belief
    to, others = level_after(search, strip, level, a, max(mode, EXACT))
    if to == NONE:
        return NONE, NONE, mode
    row = beliefs.info[i].row
    for e in range(beliefs.edge[row, a], beliefs.edge[row, a] + beliefs.degree[row, a]):
        if cover(search, beliefs.edge_child[e], others, to) == NO_ROOM:
            return NO_ROOM, NONE, mode
    chosen = largest_excess(search, i, a, others, to, mode, rest, target)
    if chosen == NONE or mode == THRIFTY:
        return (find(search, chosen, others) if chosen != NONE else NONE), to, mode
    at, j = cell(search, find(search, chosen, others), to), mode
    if mode == EXACT and strips.hi.shape[1] > 1:
        if strips.lo[at, EXACT] == -np.inf:
            return find(search, chosen, others), to, THRIFTY
        j = relaxation_behind(search, at, rest)
    if has_rays(search, j):
        end = follow_rays(search, chosen, others, to, j, rest, target, i, share)
        at = cell(search, find(search, chosen, others), to)
        within = (
            mode == EXACT
            and j > EXACT
            and (
                end == chosen
                or relaxed_excess(search, at, j, target) <= share * excess(search, chosen, at, EXACT, rest, target)
            )
        )
        if not within:
            chosen, mode = end, j
    return find(search, chosen, others), to, mode
