"""Nodes: upper bounds at a belief with a budget level, and their backups.

``hi[n, 0] ≥ V*(b, d_l)`` by backups in which an action spends ``C(b, a)``. ``hi[n, j] ≥ V̄_j(b, d_l)`` is the optimal
value of ``R − λ_j·C`` when an action spends only the least cost of the belief's class. The budget left then depends
on the history alone, not on b, so V̄_j(·, d) is convex on a class, and rays bound it; and ``V*(b, d) ≤ V̄_j(b, d) +
λ_j·d``. Where costs do not vary within classes, V* itself is the value of a relaxation, hence convex: no other is
kept, and rays bound it.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..jit import inner, kernel
from .arrays import EXACT, NO_ROOM, NONE, Search
from .beliefs import open_belief
from .informed import inform
from .levels import SNAP, covers, level_after, priced, priced_level, value_at

_NEIGHBOURS = 3  # nodes of the same belief that one look compares
MOVE = 1e-9  # least change of a bound, in proportion to it, that counts as one


@inner
def _slot(s: Search, i: int, level: int) -> int:
    """Where a node stands in the table, or the free place where it would."""
    n = s.nodes
    mask = n.table.size - 1
    h = (i + 1) * 0x1E3779B97F4A7C15 ^ (level + 1) * 0x3F58476D1CE4E5B9  # products wrap around
    slot = (h ^ (h >> 29)) & mask
    while n.table[slot] != NONE:
        known = n.info[n.table[slot]]
        if known.belief == i and known.level == level:
            break
        slot = (slot + 1) & mask
    return slot


@inner
def node_of(s: Search, i: int, level: int) -> int:
    """The node of belief i at a level, made if it is new; NO_ROOM if full.

    A new one starts from the informed bound, and from nodes of the same belief with no less budget: the value never
    increases as the budget falls.
    """
    n = s.nodes
    slot = _slot(s, i, level)
    if n.table[slot] != NONE:
        return int(n.table[slot])
    count = s.counts[0]
    new = count.nodes
    if new >= n.info.shape[0] or 2 * new >= n.table.size:
        return NO_ROOM
    count.nodes = new + 1
    n.table[slot] = new
    made = n.info[new]
    made.level = level
    made.belief = i
    made.row = NONE
    made.base = NONE
    made.tip = NONE
    inform(s, i, level)
    for mode in range(n.hi.shape[1]):
        most = -np.inf
        for a in range(s.scratch.hint.shape[1]):
            most = max(most, s.scratch.hint[mode, a])
        n.hi[new, mode] = most
        n.lo[new, mode] = -np.inf
    _enlist(s, i, new)
    return int(new)


@inner
def _enlist(s: Search, i: int, new: int) -> None:
    """Put a node into its belief's list, which is in the order of the first budget, and bound it by those with more."""
    n = s.nodes
    before, other = NONE, s.beliefs.info[i].node
    while other != NONE and not covers(s.levels, n.info[other].level, n.info[new].level):
        before, other = other, n.info[other].next
    n.info[new].next = other
    if before == NONE:
        s.beliefs.info[i].node = new
    else:
        n.info[before].next = new
    for mode in range(n.hi.shape[1]):
        apply_monotone(s, new, mode)


@inner
def apply_monotone(s: Search, node: int, mode: int) -> None:
    """Lower a bound by the next nodes of the same belief with no less budget: values never increase as budgets fall."""
    n, other = s.nodes, s.nodes.info[node].next
    for _ in range(_NEIGHBOURS):
        if other == NONE:
            break
        if n.hi[other, mode] < n.hi[node, mode] and covers(s.levels, n.info[other].level, n.info[node].level):
            n.hi[node, mode] = n.hi[other, mode]
        other = n.info[other].next


@inner
def open_node(s: Search, node: int) -> bool:
    """Give a node the bounds of its actions; False if full."""
    n = s.nodes
    if n.info[node].row != NONE:
        return True
    i, level, row = n.info[node].belief, n.info[node].level, s.counts[0].node_rows
    if row >= n.q.shape[0] or not open_belief(s.space, s.beliefs, s.counts, i):
        return False
    s.counts[0].node_rows = row + 1
    n.info[node].row = row
    inform(s, i, level)
    for a in range(n.q.shape[2]):
        for mode in range(n.q.shape[1]):
            n.q[row, mode, a] = s.scratch.hint[mode, a] if can_pay(s, i, a, mode, level) else -np.inf
        n.kids[row, 0, a] = NONE
        n.kids[row, 1, a] = NONE
    return True


@inner
def spending(s: Search, i: int, a: int, mode: int, out: FloatArray) -> None:
    """Write what action a spends of the budgets at an opened belief."""
    b = s.beliefs
    for k in range(out.size):
        out[k] = b.cost[b.info[i].row, k, a] if mode == EXACT else s.space.floor[b.info[i].cls, a, k]


@inner
def can_pay(s: Search, i: int, a: int, mode: int, level: int) -> bool:
    """Whether a level affords an action's own step."""
    spending(s, i, a, mode, s.scratch.need)
    return bool(level_after(s.space, s.levels, level, s.scratch.need) != NONE)


@inner
def kids_of(s: Search, node: int, a: int, mode: int) -> int:
    """The first child node of an expanded action, made if need be; NONE if it cannot be paid, NO_ROOM if full."""
    n, b = s.nodes, s.beliefs
    row, which = n.info[node].row, min(mode, 1)
    if n.kids[row, which, a] != NONE:
        return int(n.kids[row, which, a])
    i = n.info[node].belief
    spending(s, i, a, mode, s.scratch.need)
    level = level_after(s.space, s.levels, n.info[node].level, s.scratch.need)
    if level == NONE:
        return NONE
    first_edge, degree = b.edge[b.info[i].row, a], b.degree[b.info[i].row, a]
    first = s.counts[0].kids
    other = n.kids[row, 1 - which, a]
    if other != NONE and n.info[n.kid[other]].level == level:  # the same nodes
        n.kids[row, which, a] = other
        return int(other)
    if first + degree > n.kid.size:
        return NO_ROOM
    for e in range(degree):
        child = node_of(s, b.edge_child[first_edge + e], level)
        if child == NO_ROOM:
            return NO_ROOM
        n.kid[first + e] = child
    s.counts[0].kids = first + degree
    n.kids[row, which, a] = first
    return int(first)


@inner
def has_rays(s: Search, mode: int) -> bool:
    """Whether the bounds of a mode are convex in the belief."""
    return mode != EXACT or not s.space.varies


@inner
def apply_ray(s: Search, node: int, mode: int) -> None:
    """Lower a convex bound by the ray of its belief; where there is no room for its ends, that waits."""
    n, i = s.nodes, s.nodes.info[node].belief
    if s.beliefs.info[i].base == NONE or not has_rays(s, mode):
        return
    if n.info[node].base == NONE:
        level = n.info[node].level
        base, tip = node_of(s, s.beliefs.info[i].base, level), node_of(s, s.beliefs.info[i].tip, level)
        if min(base, tip) == NO_ROOM:
            return
        n.info[node].base = base
        n.info[node].tip = tip
    weight = s.beliefs.info[i].weight
    by_ray = weight * n.hi[n.info[node].base, mode] + (1.0 - weight) * n.hi[n.info[node].tip, mode]
    n.hi[node, mode] = min(n.hi[node, mode], by_ray)


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
def is_ruled_out(s: Search, i: int, a: int, level: int) -> bool:
    """Whether an expanded action needs more than a level has."""
    needs(s, i, a, s.scratch.need)
    for k in range(s.scratch.need.size):
        d = value_at(s.levels, level, k)
        most = s.levels.trifle[k] if d == s.levels.tiny[k] else d
        if s.space.limited[k] and most < s.scratch.need[k] * (1.0 - SNAP):
            return True
    return False


@inner
def bound_at(s: Search, node: int, rest: FloatArray) -> float:
    """The least upper bound of a node when this much is left, no more than its level has."""
    bound = s.nodes.hi[node, EXACT]
    for mode in range(1, s.nodes.hi.shape[1]):
        multiplier = s.informed.multiplier[mode - 1]
        bound = min(bound, s.nodes.hi[node, mode] + priced(s.space, multiplier, rest))
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
def back_up_action(s: Search, node: int, a: int, mode: int) -> float:
    """Bound an expanded action from above: ``R(b, a) + γ Σ_o p(o) hi(b', l')``; NaN if full.

    What a backup puts on the node itself, directly or by a ray that starts there, is collected on the left side:
    ``V(b) ≤ (R + γ rest) / (1 − γ W)`` for the best action, hence for the largest such quotient.
    """
    n, b, i = s.nodes, s.beliefs, s.nodes.info[node].belief
    row, discount = b.info[i].row, s.space.discount
    if mode == EXACT and is_ruled_out(s, i, a, n.info[node].level):
        return -np.inf
    first = kids_of(s, node, a, mode)
    if first == NO_ROOM:
        return np.nan
    if first == NONE:
        return -np.inf
    rest = s.scratch.rest
    if mode == EXACT:
        for k in range(rest.size):
            rest[k] = max(value_at(s.levels, n.info[node].level, k) - b.cost[row, k, a], 0.0) / discount
    total, own, lower = _gain(s, i, a, mode), 0.0, _gain(s, i, a, mode)
    for e in range(b.degree[row, a]):
        kid, p = n.kid[first + e], discount * b.edge_prob[b.edge[row, a] + e]
        lower += p * n.lo[kid, mode]
        if kid == node:
            own += p
            continue
        apply_monotone(s, kid, mode)
        apply_ray(s, kid, mode)
        if n.info[kid].base == node:
            weight = b.info[n.info[kid].belief].weight
            tip = n.hi[n.info[kid].tip, mode]
            if has_rays(s, mode) and weight * n.hi[node, mode] + (1.0 - weight) * tip <= n.hi[kid, mode]:
                own += p * weight
                total += p * (1.0 - weight) * tip
                continue
        total += p * (bound_at(s, kid, rest) if mode == EXACT else n.hi[kid, mode])
    s.counts[0].upper_backups = s.counts[0].upper_backups + 4 * b.degree[row, a]
    n.lo[node, mode] = max(n.lo[node, mode], lower)
    return float(total / (1.0 - own))


@inner
def best_action(q: FloatArray) -> int:
    """The first of the largest entries."""
    best = 0
    for a in range(1, q.size):
        if q[a] > q[best]:
            best = a
    return best


@inner
def back_up(s: Search, node: int, mode: int) -> int:
    """Lower the bound of an opened node by its best action, recomputed until it is stable; return it, or NO_ROOM.

    An action that is not expanded keeps its informed bound; if it is the best, there the bound stays.
    """
    n, b = s.nodes, s.beliefs
    i = n.info[node].belief
    q, row = n.q[n.info[node].row, mode], b.info[i].row
    best = best_action(q)
    while b.edge[row, best] != NONE and q[best] > -np.inf:
        value = back_up_action(s, node, best, mode)
        if np.isnan(value):
            return NO_ROOM
        if value >= q[best]:  # bounds only fall; what does not fall is stable
            break
        q[best] = value
        following = best_action(q)
        if following == best:
            break
        best = following
    n.hi[node, mode] = min(n.hi[node, mode], max(q[best], _least_value(s, n.info[node].level, mode)))
    apply_monotone(s, node, mode)
    apply_ray(s, node, mode)
    if mode == EXACT:
        for j in range(1, n.hi.shape[1]):
            allowance = priced_level(s.space, s.levels, s.informed.multiplier[j - 1], n.info[node].level)
            n.hi[node, EXACT] = min(n.hi[node, EXACT], n.hi[node, j] + allowance)
    return best


@inner
def _least_value(s: Search, level: int, mode: int) -> float:
    """What the bound of a node does not fall below: at a tiny level nothing is impossible, it may only be far away."""
    for k in range(s.levels.counts.size):
        if value_at(s.levels, level, k) == s.levels.tiny[k]:
            allowance = priced(s.space, s.informed.multiplier[mode - 1], s.space.cap) if mode > EXACT else 0.0
            return s.space.worst - allowance
    return -np.inf


@inner
def back_up_all(s: Search, node: int, mode: int) -> int:
    """Back up a node in a relaxation alone, or if the mode is exact in all modes; return its best action."""
    if mode == EXACT:
        for j in range(1, s.nodes.hi.shape[1]):
            if back_up(s, node, j) == NO_ROOM:
                return NO_ROOM
        back_up_least(s, s.nodes.info[node].belief)
    return back_up(s, node, mode)


@kernel
def rehash_nodes(s: Search) -> None:
    """Fill an empty table with the nodes there are."""
    n = s.nodes
    for node in range(s.counts[0].nodes):
        n.table[_slot(s, n.info[node].belief, n.info[node].level)] = node


@kernel
def root_node(s: Search, i: int, level: int) -> int:
    """The node of a belief at a level, for Python."""
    return node_of(s, i, level)
