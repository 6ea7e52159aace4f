"""Where a trial goes next: the action to take, and the successor to visit.

A trial takes the action with the largest upper bound and the successor that contributes most to the gap at the root.
Where a bound stems from a relaxation, and that from a ray, the trial goes on at the end of the ray, within the
relaxation. A thrifty trial takes the action that needs least and the successor whose options exceed the budget by most.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..jit import inner
from .arrays import EXACT, NONE, Search
from .nodes import apply_ray, bound_at, has_rays, kids_of, needs
from .options import best_option, refresh, share_of, thriftiest_option

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
def choose(s: Search, node: int, mode: int, d: FloatArray) -> tuple[int, float]:
    """The action with the largest bound that is affordable, and that bound; NONE if every action breaks the budget."""
    n, i = s.nodes, s.nodes.info[node].belief
    best, most = NONE, -np.inf
    for a in range(n.q.shape[2]):
        if mode == THRIFTY:
            if not affordable(s, i, a, d):
                continue
            value = -share_of(s.space, s.scratch.need, d)
        else:
            value = n.q[n.info[node].row, mode, a]
            if value > most and mode == EXACT and not affordable(s, i, a, d):
                continue
        if value > most:
            best, most = a, value
    return best, most


@inner
def relaxed_excess(s: Search, node: int, mode: int, target: float) -> float:
    """By how much the gap of a node in a relaxation is above the target."""
    return float(s.nodes.hi[node, mode] - max(s.nodes.lo[node, mode], s.space.worst) - target)


@inner
def excess(s: Search, node: int, mode: int, rest: FloatArray, target: float) -> float:
    """By how much a node with this budget left is above the target."""
    x, b, c, i = s.space, s.beliefs, s.options, s.nodes.info[node].belief
    if mode > EXACT:
        return relaxed_excess(s, node, mode, target)
    if mode == THRIFTY:
        option = thriftiest_option(x, b, c, i, rest)
        return (share_of(x, c.sure[option], rest) if option != NONE else np.inf) - 1.0
    bound, known = bound_at(s, node, rest), s.nodes.lo[node, EXACT]
    if known == -np.inf:
        return bound - x.worst + 1.0  # whatever the target, it must be found out whether there is one
    return float(bound - known - target)


@inner
def gap_at(s: Search, node: int, mode: int, d: FloatArray, target: float) -> float:
    """The excess of a node in a convex mode, exact or relaxed, at its own level or the budget d."""
    if mode > EXACT:
        return relaxed_excess(s, node, mode, target)
    i = s.nodes.info[node].belief
    if not refresh(s, i, d):
        return 0.0
    option = best_option(s.space, s.beliefs, s.options, i, d, False)
    s.nodes.lo[node, EXACT] = s.options.total[option, 0] if option != NONE else -np.inf
    return excess(s, node, EXACT, d, target)


@inner
def follow_rays(s: Search, node: int, mode: int, d: FloatArray, target: float, here: int, share: float) -> int:
    """The end of a node's rays that its bound hangs on and that has a share of the excess, or the node itself."""
    n = s.nodes
    for _ in range(_NESTING):
        apply_ray(s, node, mode)
        if n.info[node].base == NONE:
            break
        weight, base, tip = s.beliefs.info[n.info[node].belief].weight, n.info[node].base, n.info[node].tip
        by_ray = weight * n.hi[base, mode] + (1.0 - weight) * n.hi[tip, mode]
        if n.hi[node, mode] < by_ray - 1e-12 * (1.0 + abs(by_ray)):
            break
        apply_ray(s, base, mode)
        apply_ray(s, tip, mode)
        at_base = weight * gap_at(s, base, mode, d, target)
        at_tip = (1.0 - weight) * gap_at(s, tip, mode, d, target)
        if base == here:
            at_base = 0.0  # where we are
        if max(at_base, at_tip) <= share * gap_at(s, node, mode, d, target):
            break
        node = base if at_base > at_tip else tip
    return node


@inner
def relaxation_behind(s: Search, node: int, rest: FloatArray) -> int:
    """The relaxation that the upper bound of a node stems from, or EXACT."""
    bound = bound_at(s, node, rest)
    for mode in range(1, s.nodes.hi.shape[1]):
        allowance = 0.0
        for k in range(rest.size):
            if s.informed.multiplier[mode - 1, k] > 0.0:
                allowance += s.informed.multiplier[mode - 1, k] * min(rest[k], s.space.cap[k])
        if s.nodes.hi[node, mode] + allowance <= bound:
            return mode
    return EXACT


@inner
def largest_excess(s: Search, first: int, i: int, a: int, mode: int, rest: FloatArray, target: float) -> int:
    """The child that contributes most to the gap, or NONE if all are within the target."""
    b, row = s.beliefs, s.beliefs.info[i].row
    chosen, most = NONE, 0.0
    for e in range(b.degree[row, a]):
        over = b.edge_prob[b.edge[row, a] + e] * excess(s, s.nodes.kid[first + e], mode, rest, target)
        if over > most:
            chosen, most = e, over
    return chosen


@inner
def next_step(  # noqa: PLR0911 - one way out for each mode
    s: Search, node: int, a: int, mode: int, rest: FloatArray, target: float, share: float
) -> tuple[int, int]:
    """Where a trial goes under action a, and in which mode; NONE if all are within the target, NO_ROOM if full."""
    n, i = s.nodes, s.nodes.info[node].belief
    first = kids_of(s, node, a, max(mode, EXACT))
    if first < 0:
        return first, mode
    chosen = largest_excess(s, first, i, a, mode, rest, target)
    if chosen == NONE:
        return NONE, mode
    kid = n.kid[first + chosen]
    if mode == THRIFTY:
        return kid, mode
    j = mode
    if mode == EXACT and n.hi.shape[1] > 1:
        if n.lo[kid, EXACT] == -np.inf:
            return kid, THRIFTY
        j = relaxation_behind(s, kid, rest)
    if not has_rays(s, j):
        return kid, mode
    end = follow_rays(s, kid, j, rest, target, node, share)
    if mode == EXACT and j > EXACT:
        within = relaxed_excess(s, kid, j, target) <= share * excess(s, kid, EXACT, rest, target)
        if end == kid or within:
            return kid, EXACT
    return end, j
