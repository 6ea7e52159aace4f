"""The informed bounds of a belief's actions: by one step from its parent's states, or by its own states."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..jit import inner
from .arrays import EXACT, NONE, Beliefs, Informed, Search
from .levels import place, priced_level, value_at


@inner
def _entry(f: Informed, row: int, o: int) -> int:
    """Where observation o stands in a row of one-step beliefs, or NONE."""
    low, high = f.ptr[row], f.ptr[row + 1]
    while low < high:
        middle = (low + high) // 2
        if f.obs[middle] < o:
            low = middle + 1
        else:
            high = middle
    return low if low < f.ptr[row + 1] and f.obs[low] == o else NONE


@inner
def _products(f: Informed, b: Beliefs, i: int, j: int, t: int, out: FloatArray) -> None:
    """Write the informed bound of belief i's actions: by one step from its parent's states, or by its own states."""
    for a in range(out.size):
        out[a] = 0.0
    parent, n_states = b.info[i].parent, f.corner.shape[2]
    if f.delayed.shape[2] == 0 or (parent == NONE and i != 0):
        for e in range(b.info[i].offset, b.info[i].offset + b.info[i].size):
            p, vector = b.prob[e], f.corner[j, t, b.state[e]]
            for a in range(out.size):
                out[a] += p * vector[a]
        return
    if parent == NONE:
        for a in range(out.size):
            out[a] = f.delayed[j, t, f.root, a]
        return
    total, action, o = 0.0, b.info[i].action, b.info[i].obs
    for e in range(b.info[parent].offset, b.info[parent].offset + b.info[parent].size):
        entry = _entry(f, action * n_states + b.state[e], o)
        if entry != NONE:
            p = b.prob[e] * f.prob[entry]
            total += p
            values = f.delayed[j, t, f.belief[entry]]
            for a in range(out.size):
                out[a] += p * values[a]
    for a in range(out.size):
        out[a] /= total


@inner
def inform(s: Search, i: int, level: int, again: bool) -> None:
    """Write the informed bounds of belief i's actions at a level, in all modes, to ``scratch.hint``.

    If it is asked `again` for the same belief, what is at the same coarse level is not computed anew.
    """
    f, hint, found, coarse = s.informed, s.scratch.hint, s.scratch.informed, s.scratch.coarse
    for a in range(hint.shape[1]):
        hint[EXACT, a] = np.inf
    for j in range(f.multiplier.shape[0]):
        k = f.cost[j]
        t = place(f.value[k], f.value.shape[1], value_at(s.levels, level, k)) if f.value.shape[1] > 1 else 0
        if not again or t != coarse[j]:
            _products(f, s.beliefs, i, j, t, found[j])
            coarse[j] = t
            s.counts[0].upper_backups = s.counts[0].upper_backups + _terms(s.beliefs, i)
        allowance = priced_level(s.space, s.levels, f.multiplier[j], level)
        for a in range(hint.shape[1]):
            hint[EXACT, a] = min(hint[EXACT, a], found[j, a] + allowance)
            if j + 1 < hint.shape[0]:
                hint[j + 1, a] = found[j, a]


@inner
def _terms(b: Beliefs, i: int) -> int:
    """The support that an informed bound sums over."""
    parent = b.info[i].parent
    return int(b.info[i].size if parent == NONE else b.info[parent].size)
