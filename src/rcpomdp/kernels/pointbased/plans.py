"""Plans at beliefs: what they are worth there, what they leave of a budget, and which are idle."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..budget import left_after
from ..jit import inner, kernel
from ..plans import Plans
from .arrays import NONE, Beliefs, Search, Space


@kernel
def product(space: Space, beliefs: Beliefs, plans: Plans, i: int, plan: int, row: int) -> float:
    """``α·b`` of one row."""
    cls = beliefs.info[i].cls
    first = space.start[cls]
    at, size = beliefs.info[i].offset, beliefs.info[i].size
    vector = plans.value[plans.info[plan].values + row * (space.start[cls + 1] - first) :]
    prob = beliefs.prob[at : at + size]
    total = 0.0
    if beliefs.state[at + size - 1] - beliefs.state[at] == size - 1:  # no gaps: four sums at a time
        vector = vector[beliefs.state[at] - first :]
        one, two, three = 0.0, 0.0, 0.0
        whole = size - size % 4
        for j in range(0, whole, 4):
            total += prob[j] * vector[j]
            one += prob[j + 1] * vector[j + 1]
            two += prob[j + 2] * vector[j + 2]
            three += prob[j + 3] * vector[j + 3]
        for j in range(whole, size):
            total += prob[j] * vector[j]
        return (total + one) + (two + three)
    state = beliefs.state[at : at + size]
    for j in range(size):
        total += prob[j] * vector[state[j] - first]
    return total


@inner
def rest_for_plan(space: Space, cls: int, a: int, d: FloatArray, rest: FloatArray) -> bool:
    """Write what a plan of (class, action) leaves of a budget; False if that is overspent."""
    for k in range(d.size):
        rest[k] = left_after(d[k], space.peak[cls, a, k], space.model.cost_discount[k])
        if space.limited[k] and rest[k] < 0.0:
            return False
    return True


@kernel
def forget_idle(search: Search) -> int:
    """Take plans that are a candidate of no belief off their class's list; return how many stay.

    Nothing is freed: other plans may follow them.
    """
    beliefs, plans, candidates = search.beliefs, search.plans, search.candidates
    busy = np.zeros(plans.info.shape[0], dtype=np.bool_)
    for i in range(search.counts[0].beliefs):
        candidate = beliefs.info[i].candidate
        while candidate != NONE:
            if candidates.info[candidate].plan != NONE:
                busy[candidates.info[candidate].plan] = True
            candidate = candidates.info[candidate].next
    kept = 0
    for cls in range(plans.newest.size):
        busy[plans.newest[cls]] = True  # the head marks what has been tested
        busy[plans.default[cls]] = True
        plan = plans.newest[cls]
        while plan != NONE:
            kept += 1
            older = plans.info[plan].older
            while older != NONE and not busy[older]:
                older = plans.info[older].older
            plans.info[plan].older = older
            plan = older
    return kept
