"""What actions spend and need, and the levels that they lead to.

``least`` bounds M(b), the least budget that suffices, from below: ``M(b) = min_a C(b, a) + γ max_o M(b')``. An action
that needs more than a level has is out of the question there.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..jit import inner
from .arrays import EXACT, NONE, Search
from .levels import SNAP, place_after, place_of

MOVE = 1e-9  # least change of a bound, in proportion to it, that counts as one


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
