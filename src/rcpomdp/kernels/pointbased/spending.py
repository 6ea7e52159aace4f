"""Costs and needs of actions, and the levels that they lead to.

``least`` bounds M(b), the least budget that suffices, from below: ``M(b) = min_a C(b, a) + β max_o M(b')``. An action
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
def needs(search: Search, i: int, a: int, need: FloatArray) -> None:
    """Write what action a of an opened belief needs at least: ``C(b, a) + β max_o M_lo(b')``."""
    beliefs, row = search.beliefs, search.beliefs.info[i].row
    for k in range(need.size):
        worst = 0.0
        if beliefs.edge[row, a] != NONE:
            for e in range(beliefs.edge[row, a], beliefs.edge[row, a] + beliefs.degree[row, a]):
                worst = max(worst, beliefs.least[beliefs.edge_child[e], k])
        need[k] = beliefs.cost[row, k, a] + search.space.model.cost_discount[k] * worst


@inner
def _spending(search: Search, i: int, a: int, mode: int, k: int) -> float:
    """Cost of action a to budget k at an opened belief."""
    beliefs = search.beliefs
    return float(
        beliefs.cost[beliefs.info[i].row, k, a] if mode == EXACT else search.space.floor[beliefs.info[i].cls, a, k]
    )


@inner
def back_up_least(search: Search, i: int) -> bool:
    """Raise M_lo of an opened belief; whether it moved."""
    beliefs, need, least = search.beliefs, search.scratch.need, search.scratch.spare
    for k in range(need.size):
        least[k] = np.inf
    for a in range(beliefs.reward.shape[1]):
        needs(search, i, a, need)
        for k in range(need.size):
            least[k] = min(least[k], need[k])
    moved = False
    for k in range(need.size):
        moved = moved or least[k] > beliefs.least[i, k] * (1.0 + MOVE)
        beliefs.least[i, k] = max(beliefs.least[i, k], least[k])
    return moved


@inner
def others_after(search: Search, i: int, a: int, mode: int, others: int) -> int:
    """The levels of the other costs after an action, or NONE if one cannot be paid; ``scratch.need`` is written."""
    levels, need = search.levels, search.scratch.need
    if mode == EXACT:
        needs(search, i, a, need)
    to = 0
    for k in range(1, levels.counts.size):
        cost = _spending(search, i, a, mode, k)
        at = place_of(levels, others, k - 1)
        at = place_after(search.space, levels, k, at, cost, need[k] if mode == EXACT else cost)
        if at == NONE:
            return NONE
        to |= at << ((k - 1) * levels.bits)
    return to


@inner
def first_after(search: Search, i: int, a: int, mode: int, level: int) -> int:
    """The level of the first cost after an action, or NONE; ``scratch.need`` is what the action needs."""
    levels, cls = search.levels, search.beliefs.info[i].cls
    if levels.counts.size == 0:
        return level
    row, need = levels.which[cls, a], search.scratch.need[0]
    if row != NONE and (mode != EXACT or need <= search.space.floor[cls, a, 0] * (1.0 + SNAP)):
        return int(levels.after[row, level])
    cost = _spending(search, i, a, mode, 0)
    return place_after(search.space, levels, 0, level, cost, need if mode == EXACT else cost)


@inner
def level_after(search: Search, strip: int, level: int, a: int, mode: int) -> tuple[int, int]:
    """The levels of the first and of the other costs after an action of an opened belief; NONE if it cannot be paid."""
    i = search.strips.info[strip].belief
    others = others_after(search, i, a, mode, search.strips.info[strip].others)
    return (first_after(search, i, a, mode, level) if others != NONE else NONE), others
