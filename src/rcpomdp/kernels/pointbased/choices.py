"""Where a trial goes next: the action to take, and the successor to visit.

A trial takes the action with the largest upper bound and the successor that contributes most to the gap at the root.
Where a bound stems from a relaxation, and that from a ray, the trial goes on at the end of the ray, within the
relaxation. A thrifty trial takes the action that needs least and the successor whose options exceed the budget by most.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..jit import inner
from .arrays import EXACT, NO_ROOM, NONE, Search
from .backups import bound_at
from .levels import priced
from .options import best_option, refresh, share_of, thriftiest_option
from .spending import level_after, needs
from .strips import apply_ray, cell, cover, entry_above, find, has_rays, q_cell

THRIFTY = -1  # mode of a trial, beside EXACT and the relaxations
_NESTING = 8  # rays followed one after the other to where a gap comes from


@inner
def affordable(s: Search, i: int, a: int, d: FloatArray) -> bool:
    """Whether nothing rules an action of an opened belief out at this very budget."""
    needs(s, i, a, s.scratch.need)
    for k in range(d.size):  # noqa: SIM110 - compiled code has no all()
        if s.space.limited[k] and s.scratch.need[k] > d[k]:
            return False
    return True


@inner
def choose(s: Search, strip: int, level: int, mode: int, d: FloatArray) -> tuple[int, float]:
    """The action with the largest bound that is affordable, and that bound; NONE if every action breaks the budget."""
    i, best, most, entry = s.strips.info[strip].belief, NONE, -np.inf, entry_above(s, strip, level)
    for a in range(s.beliefs.reward.shape[1]):
        value = s.strips.q[q_cell(s, strip, max(mode, EXACT), a, entry)]
        if mode == THRIFTY:
            if not affordable(s, i, a, d):
                continue
            value = -share_of(s.space, s.scratch.need, d)
        elif value > most and mode == EXACT and not affordable(s, i, a, d):
            continue
        if value > most:
            best, most = a, value
    return best, most


@inner
def relaxed_excess(s: Search, at: int, mode: int, target: float) -> float:
    """By how much the gap of a cell in a relaxation is above the target."""
    return float(s.strips.hi[at, mode] - max(s.strips.lo[at, mode], s.space.worst) - target)


@inner
def excess(s: Search, i: int, at: int, mode: int, rest: FloatArray, target: float) -> float:
    """By how much belief i, at a cell and with this budget left, is above the target."""
    x, b, c = s.space, s.beliefs, s.options
    if mode > EXACT:
        return relaxed_excess(s, at, mode, target)
    if mode == THRIFTY:
        option = thriftiest_option(x, b, c, i, rest)
        return (share_of(x, c.sure[option], rest) if option != NONE else np.inf) - 1.0
    bound, known = bound_at(s, at, rest), s.strips.lo[at, EXACT]
    if known == -np.inf:
        return bound - x.worst + 1.0  # whatever the target, it must be found out whether there is one
    return float(bound - known - target)


@inner
def gap_at(s: Search, i: int, at: int, mode: int, d: FloatArray, target: float) -> float:
    """The excess of belief i in a convex mode, exact or relaxed, at its own level or the budget d."""
    if mode > EXACT:
        return relaxed_excess(s, at, mode, target)
    if not refresh(s, i, d):
        return 0.0
    option = best_option(s.space, s.beliefs, s.options, i, d, False)
    s.strips.lo[at, EXACT] = s.options.total[option, 0] if option != NONE else -np.inf
    return excess(s, i, at, EXACT, d, target)


@inner
def follow_rays(
    s: Search, i: int, others: int, level: int, mode: int, d: FloatArray, target: float, here: int, share: float
) -> int:
    """The end of a belief's rays that its bound hangs on and that has a share of the excess, or the belief itself."""
    n, b = s.strips, s.beliefs
    for _ in range(_NESTING):
        base, tip, weight = b.info[i].base, b.info[i].tip, b.info[i].weight
        if base == NONE or min(cover(s, base, others, level), cover(s, tip, others, level)) == NO_ROOM:
            break
        apply_ray(s, find(s, i, others), mode)
        apply_ray(s, find(s, base, others), mode)
        apply_ray(s, find(s, tip, others), mode)
        at = cell(s, find(s, i, others), level)
        base_at, tip_at = cell(s, find(s, base, others), level), cell(s, find(s, tip, others), level)
        by_ray = weight * n.hi[base_at, mode] + (1.0 - weight) * n.hi[tip_at, mode]
        if n.hi[at, mode] < by_ray - 1e-12 * (1.0 + abs(by_ray)):
            break
        at_base = weight * gap_at(s, base, base_at, mode, d, target)
        at_tip = (1.0 - weight) * gap_at(s, tip, tip_at, mode, d, target)
        if base == here:
            at_base = 0.0  # where we are
        if max(at_base, at_tip) <= share * gap_at(s, i, at, mode, d, target):
            break
        i = base if at_base > at_tip else tip
    return i


@inner
def relaxation_behind(s: Search, at: int, rest: FloatArray) -> int:
    """The relaxation that the upper bound of a cell stems from, or EXACT."""
    bound = bound_at(s, at, rest)
    for mode in range(1, s.strips.hi.shape[1]):
        if s.strips.hi[at, mode] + priced(s.space, s.informed.multiplier[mode - 1], rest) <= bound:
            return mode
    return EXACT


@inner
def largest_excess(
    s: Search, i: int, a: int, others: int, level: int, mode: int, rest: FloatArray, target: float
) -> int:
    """The successor that contributes most to the gap, or NONE if all are within the target."""
    b, row = s.beliefs, s.beliefs.info[i].row
    chosen, most = NONE, 0.0
    for e in range(b.edge[row, a], b.edge[row, a] + b.degree[row, a]):
        child = b.edge_child[e]
        at = cell(s, find(s, child, others), level)
        over = b.edge_prob[e] * excess(s, child, at, mode, rest, target)
        if over > most:
            chosen, most = child, over
    return int(chosen)


@inner
def next_step(
    s: Search, strip: int, level: int, a: int, mode: int, rest: FloatArray, target: float, share: float
) -> tuple[int, int, int]:
    """Where a trial goes under action a: a strip, its level and the mode.

    The strip is NONE if all that may follow is within the target, NO_ROOM if full.
    """
    n, b, i = s.strips, s.beliefs, s.strips.info[strip].belief
    to, others = level_after(s, strip, level, a, max(mode, EXACT))
    if to == NONE:
        return NONE, NONE, mode
    row = b.info[i].row
    for e in range(b.edge[row, a], b.edge[row, a] + b.degree[row, a]):
        if cover(s, b.edge_child[e], others, to) == NO_ROOM:
            return NO_ROOM, NONE, mode
    chosen = largest_excess(s, i, a, others, to, mode, rest, target)
    if chosen == NONE or mode == THRIFTY:
        return (find(s, chosen, others) if chosen != NONE else NONE), to, mode
    at, j = cell(s, find(s, chosen, others), to), mode
    if mode == EXACT and n.hi.shape[1] > 1:
        if n.lo[at, EXACT] == -np.inf:
            return find(s, chosen, others), to, THRIFTY
        j = relaxation_behind(s, at, rest)
    if has_rays(s, j):
        end = follow_rays(s, chosen, others, to, j, rest, target, i, share)
        at = cell(s, find(s, chosen, others), to)
        within = (
            mode == EXACT
            and j > EXACT
            and (
                end == chosen or relaxed_excess(s, at, j, target) <= share * excess(s, chosen, at, EXACT, rest, target)
            )
        )
        if not within:
            chosen, mode = end, j
    return find(s, chosen, others), to, mode
