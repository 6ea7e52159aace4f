"""The informed bounds of a node's actions: by one step from its parent's states, or by its own states."""

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
def inform(s: Search, i: int, level: int) -> None:
    """Write the informed bounds of belief i's actions at a level, in all modes, to ``scratch.hint``."""
    f, hint, n_modes = s.informed, s.scratch.hint, s.nodes.hi.shape[1]
    own = s.scratch.own
    for a in range(own.size):
        hint[EXACT, a] = np.inf
    for j in range(f.multiplier.shape[0]):
        k = f.cost[j]
        t = place(f.value[k], f.value.shape[1], value_at(s.levels, level, k)) if f.value.shape[1] > 1 else 0
        _products(f, s.beliefs, i, j, t, own)
        allowance = priced_level(s.space, s.levels, f.multiplier[j], level)
        for a in range(own.size):
            hint[EXACT, a] = min(hint[EXACT, a], own[a] + allowance)
            if j + 1 < n_modes:
                hint[j + 1, a] = own[a]
    s.counts[0].upper_backups = s.counts[0].upper_backups + f.multiplier.shape[0] * _terms(s.beliefs, i)


@inner
def _terms(b: Beliefs, i: int) -> int:
    """The support that an informed bound sums over."""
    parent = b.info[i].parent
    return int(b.info[i].size if parent == NONE else b.info[parent].size)
