"""The informed bounds of a belief's actions: by one step from its parent's states, or by its own states."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..jit import inner
from .arrays import EXACT, NONE, Beliefs, Informed, Search
from .levels import allowance_of_level, place, value_at


@inner
def _entry(informed: Informed, row: int, o: int) -> int:
    """Place of observation o in a row of one-step beliefs, or NONE."""
    low, high = informed.ptr[row], informed.ptr[row + 1]
    while low < high:
        middle = (low + high) // 2
        if informed.obs[middle] < o:
            low = middle + 1
        else:
            high = middle
    return low if low < informed.ptr[row + 1] and informed.obs[low] == o else NONE


@inner
def _products(informed: Informed, beliefs: Beliefs, i: int, j: int, t: int, out: FloatArray) -> None:
    """Write the informed bound of belief i's actions: by one step from its parent's states, or by its own states."""
    for a in range(out.size):
        out[a] = 0.0
    parent, n_states = beliefs.info[i].parent, informed.corner.shape[2]
    if informed.delayed.shape[2] == 0 or (parent == NONE and i != 0):
        for e in range(beliefs.info[i].offset, beliefs.info[i].offset + beliefs.info[i].size):
            p, vector = beliefs.prob[e], informed.corner[j, t, beliefs.state[e]]
            for a in range(out.size):
                out[a] += p * vector[a]
        return
    if parent == NONE:
        for a in range(out.size):
            out[a] = informed.delayed[j, t, informed.root, a]
        return
    total, action, o = 0.0, beliefs.info[i].action, beliefs.info[i].obs
    for e in range(beliefs.info[parent].offset, beliefs.info[parent].offset + beliefs.info[parent].size):
        entry = _entry(informed, action * n_states + beliefs.state[e], o)
        if entry != NONE:
            p = beliefs.prob[e] * informed.prob[entry]
            total += p
            values = informed.delayed[j, t, informed.belief[entry]]
            for a in range(out.size):
                out[a] += p * values[a]
    for a in range(out.size):
        out[a] /= total


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
        if not again or t != coarse[j]:
            _products(informed, search.beliefs, i, j, t, found[j])
            coarse[j] = t
            search.counts[0].upper_backups += _terms(search.beliefs, i)
        allowance = allowance_of_level(search.space, search.levels, informed.multiplier[j], level)
        for a in range(hint.shape[1]):
            hint[EXACT, a] = min(hint[EXACT, a], found[j, a] + allowance)
            if j + 1 < hint.shape[0]:
                hint[j + 1, a] = found[j, a]


@inner
def _terms(beliefs: Beliefs, i: int) -> int:
    """The support that an informed bound sums over."""
    parent = beliefs.info[i].parent
    return int(beliefs.info[i].size if parent == NONE else beliefs.info[parent].size)
