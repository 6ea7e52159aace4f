"""Supports of beliefs: which states can be the case after each history, as sets of bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import IntArray, UnsignedArray
from .arrays import ModelArrays
from .jit import inner, kernel

NONE = -1
FULL = -1  # in place of a count: there are more supports than room


class Supports(NamedTuple):
    """Supports by capacity, the initial one first; a support is W words of 64 states each."""

    bits: UnsignedArray  # [N, W]
    after: IntArray  # [N, A, O] the support that follows; NONE where the observation is impossible
    table: IntArray  # hash table; its size is a power of 2


@inner
def _find(x: Supports, support: UnsignedArray, count: int) -> int:
    """Return the number of a support, which is `count` for a new one, written down already; FULL without room."""
    h = np.uint64(1469598103934665603)
    for word in support:
        h = (h ^ word) * np.uint64(1099511628211)
        h ^= h >> np.uint64(29)
    mask = x.table.size - 1
    at = np.int64(h & np.uint64(mask))
    while x.table[at] != NONE:
        known = x.table[at]
        same = True
        for w in range(support.size):
            if x.bits[known, w] != support[w]:
                same = False
                break
        if same:
            return int(known)
        at = (at + 1) & mask
    if count == x.bits.shape[0]:
        return FULL
    x.table[at] = count
    for w in range(support.size):
        x.bits[count, w] = support[w]
    return count


@kernel
def enter_first(x: Supports, support: UnsignedArray) -> None:
    """Write down the initial support."""
    _find(x, support, 0)


@kernel
def enumerate_supports(m: ModelArrays, x: Supports, first: int, count: int, last: int) -> int:
    """Follow supports first:last by every action and observation; return how many there are then, or FULL.

    `count` of them are known.
    """
    n_states, n_actions = m.reward.shape
    seen = np.zeros((m.n_observations, x.bits.shape[1]), dtype=np.uint64)
    possible = np.zeros(m.n_observations, dtype=np.bool_)
    members, one = np.empty(n_states, dtype=np.int64), np.uint64(1)
    for i in range(first, min(last, count)):
        size = 0
        for s in range(n_states):
            if (x.bits[i, s >> 6] >> np.uint64(s & 63)) & one:
                members[size] = s
                size += 1
        for a in range(n_actions):
            seen[:] = np.uint64(0)
            possible[:] = False
            for s in members[:size]:
                for e in range(m.t_ptr[a * n_states + s], m.t_ptr[a * n_states + s + 1]):
                    lands = m.t_next[e]
                    row = a * n_states + lands
                    for f in range(m.z_ptr[row], m.z_ptr[row + 1]):
                        o = m.z_obs[f]
                        seen[o, lands >> 6] |= one << np.uint64(lands & 63)
                        possible[o] = True
            for o in range(m.n_observations):
                x.after[i, a, o] = NONE
                if possible[o]:
                    found = _find(x, seen[o], count)
                    if found == FULL:
                        return FULL
                    x.after[i, a, o] = found
                    count = max(count, found + 1)
    return count
