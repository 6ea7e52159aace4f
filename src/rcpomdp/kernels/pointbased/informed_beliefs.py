"""The informed bounds of a belief's actions: by some steps from an ancestor's states, or by its own states."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..jit import inner
from .arrays import EXACT, NONE, Beliefs, Informed, Scratch, Search
from .levels import allowance_of_level, place, value_at


@inner
def _entry(informed: Informed, row: int, o: int) -> int:
    """Place of observation o in a row of what follows, or NONE."""
    low, high = informed.ptr[row], informed.ptr[row + 1]
    while low < high:
        middle = (low + high) // 2
        if informed.obs[middle] < o:
            low = middle + 1
        else:
            high = middle
    return low if low < informed.ptr[row + 1] and informed.obs[low] == o else NONE


@inner
def _add(informed: Informed, scratch: Scratch, j: int, element: int, weight: float, layer: int, steps: int) -> float:
    """Add what an element of a layer has become in the last steps to the mixture of bound j; return its weight."""
    for step in range(steps - 1, -1, -1):
        row = informed.row[layer] + scratch.came_by[step, 0] * informed.size[layer] + element
        entry = _entry(informed, row, scratch.came_by[step, 1])
        if entry == NONE:
            return 0.0
        weight *= informed.prob[entry]
        element = informed.belief[entry]
        layer += 1
    n = scratch.mixed[j]
    scratch.element[j, n] = element
    scratch.weight[j, n] = weight
    scratch.mixed[j] = n + 1
    return weight


@inner
def _mix(informed: Informed, beliefs: Beliefs, scratch: Scratch, i: int, j: int) -> None:
    """Write belief i as a mixture of what ``delay[j]`` steps lead to: from its ancestor's states, or from the root."""
    delay, ancestor, steps = informed.delay[j], i, 0
    while steps < delay and beliefs.info[ancestor].parent != NONE:
        scratch.came_by[steps, 0] = beliefs.info[ancestor].action
        scratch.came_by[steps, 1] = beliefs.info[ancestor].obs
        ancestor = beliefs.info[ancestor].parent
        steps += 1
    scratch.mixed[j] = 0
    if steps < delay:
        total = _add(informed, scratch, j, informed.root[delay - steps], 1.0, delay - steps, steps)
    else:
        total = 0.0
        for e in range(beliefs.info[ancestor].offset, beliefs.info[ancestor].offset + beliefs.info[ancestor].size):
            total += _add(informed, scratch, j, beliefs.state[e], beliefs.prob[e], 0, steps)
    for e in range(scratch.mixed[j]):
        scratch.weight[j, e] /= total


@inner
def _products(informed: Informed, beliefs: Beliefs, scratch: Scratch, i: int, j: int, t: int, out: FloatArray) -> None:
    """Write informed bound j of belief i's actions at a coarse level."""
    for a in range(out.size):
        out[a] = 0.0
    if informed.delay[j] == 0:
        for e in range(beliefs.info[i].offset, beliefs.info[i].offset + beliefs.info[i].size):
            p, vector = beliefs.prob[e], informed.corner[j, t, beliefs.state[e]]
            for a in range(out.size):
                out[a] += p * vector[a]
        return
    per_level = informed.size[informed.delay[j]] * out.size
    at = informed.at[j]
    if at + (t + 1) * per_level <= informed.at[j + 1]:  # else it has one level, for it knows no budget
        at += t * per_level
    for e in range(scratch.mixed[j]):
        p, first = scratch.weight[j, e], at + scratch.element[j, e] * out.size
        for a in range(out.size):
            out[a] += p * informed.late[first + a]


@inner
def inform(search: Search, i: int, level: int, again: bool) -> None:
    """Write the informed bounds of belief i's actions at a level, in all modes, to ``scratch.hint``.

    If it is asked `again` for the same belief, what is at the same coarse level is not computed anew.
    """
    informed, hint, found, coarse = search.informed, search.scratch.hint, search.scratch.informed, search.scratch.coarse
    for a in range(hint.shape[1]):
        hint[EXACT, a] = np.inf
    for j in range(informed.multiplier.shape[0]):
        k = informed.cost[j]
        t = (
            place(informed.value[k], informed.value.shape[1], value_at(search.levels, level, k))
            if informed.value.shape[1] > 1
            else 0
        )
        if not again and informed.delay[j] > 0:
            _mix(informed, search.beliefs, search.scratch, i, j)
        if not again or t != coarse[j]:
            _products(informed, search.beliefs, search.scratch, i, j, t, found[j])
            coarse[j] = t
            search.counts[0].upper_backups += _terms(search, i, j)
        allowance = allowance_of_level(search.space, search.levels, informed.multiplier[j], level)
        for a in range(hint.shape[1]):
            hint[EXACT, a] = min(hint[EXACT, a], found[j, a] + allowance)
            if j + 1 < hint.shape[0]:
                hint[j + 1, a] = found[j, a]


@inner
def _terms(search: Search, i: int, j: int) -> int:
    """The terms that informed bound j of a belief sums."""
    return int(search.beliefs.info[i].size if search.informed.delay[j] == 0 else search.scratch.mixed[j])
