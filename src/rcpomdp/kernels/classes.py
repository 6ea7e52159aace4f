"""Which states can share a belief's support: closure of a partition under (action, observation).

Congruence closure. Each class remembers one successor per (action, observation), its representative; a second
successor is united with it. When two classes unite, the shorter list of representatives is folded into the
longer, and representatives that meet are united in turn. Each reachable state is scanned once.
"""

from __future__ import annotations

import numpy as np

from .._types import BoolArray, IntArray
from .arrays import ModelArrays
from .jit import kernel

NONE = -1


@kernel
def find(parent: IntArray, s: int) -> int:
    """Root of s, halving the path."""
    while parent[s] != s:
        parent[s] = parent[parent[s]]
        s = parent[s]
    return s


@kernel
def _slot(keys: IntArray, key: int) -> int:
    """Where a key stands in the open-addressing table, or where it would go."""
    mask = keys.size - 1
    i = ((key * 0x1E3779B97F4A7C15) >> 20) & mask  # the product wraps around
    while keys[i] != NONE and keys[i] != key:
        i = (i + 1) & mask
    return i


@kernel
def _rehash(keys: IntArray, entries: IntArray) -> tuple[IntArray, IntArray]:
    """A table of twice the size with the same content."""
    new_keys = np.full(keys.size * 2, NONE, dtype=np.int64)
    new_entries = np.empty(keys.size * 2, dtype=np.int64)
    for i in range(keys.size):
        if keys[i] != NONE:
            j = _slot(new_keys, keys[i])
            new_keys[j] = keys[i]
            new_entries[j] = entries[i]
    return new_keys, new_entries


@kernel
def _doubled(array: IntArray) -> IntArray:
    """An array of twice the size that starts with the same content."""
    new = np.empty(array.size * 2, dtype=np.int64)
    for i in range(array.size):  # a slice assignment would take two seconds to compile
        new[i] = array[i]
    return new


@kernel
def close(m: ModelArrays, support: IntArray) -> tuple[IntArray, BoolArray]:
    """Root of each state's class [S] and whether the state is reachable [S], from a belief's support."""
    n_states, n_actions = m.reward.shape
    width = n_actions * m.n_observations
    parent = np.arange(n_states)
    reachable = np.zeros(n_states, dtype=np.bool_)
    queue = np.empty(n_states, dtype=np.int64)
    queue_end = 0
    # A class's representatives: a linked list of entries (label = a*O + o, successor).
    head = np.full(n_states, NONE, dtype=np.int64)
    length = np.zeros(n_states, dtype=np.int64)
    entry_label = np.empty(1024, dtype=np.int64)
    entry_state = np.empty(1024, dtype=np.int64)
    entry_next = np.empty(1024, dtype=np.int64)
    n_entries = 0
    keys = np.full(4096, NONE, dtype=np.int64)  # root * width + label -> entry
    entries = np.empty(4096, dtype=np.int64)
    n_keys = 0
    pending_x = np.empty(1024, dtype=np.int64)  # pairs of states still to be united
    pending_y = np.empty(1024, dtype=np.int64)
    n_pending = 0

    for i in range(support.size):
        reachable[support[i]] = True
        queue[queue_end] = support[i]
        queue_end += 1
        parent[support[i]] = support[0]

    scanned = 0
    while scanned < queue_end:
        s = queue[scanned]
        scanned += 1
        for a in range(n_actions):
            for e in range(m.t_ptr[a * n_states + s], m.t_ptr[a * n_states + s + 1]):
                successor = np.int64(m.t_next[e])
                if not reachable[successor]:
                    reachable[successor] = True
                    queue[queue_end] = successor
                    queue_end += 1
                row = a * n_states + successor
                for f in range(m.z_ptr[row], m.z_ptr[row + 1]):
                    label = a * m.n_observations + m.z_obs[f]
                    root = find(parent, s)
                    slot = _slot(keys, root * width + label)
                    if keys[slot] == NONE:
                        if n_entries == entry_label.size:
                            entry_label = _doubled(entry_label)
                            entry_state = _doubled(entry_state)
                            entry_next = _doubled(entry_next)
                        entry_label[n_entries] = label
                        entry_state[n_entries] = successor
                        entry_next[n_entries] = head[root]
                        head[root] = n_entries
                        length[root] += 1
                        keys[slot] = root * width + label
                        entries[slot] = n_entries
                        n_entries += 1
                        n_keys += 1
                        if 2 * n_keys > keys.size:
                            keys, entries = _rehash(keys, entries)
                        continue
                    pending_x[0] = successor
                    pending_y[0] = entry_state[entries[slot]]
                    n_pending = 1
                    while n_pending > 0:
                        n_pending -= 1
                        big = find(parent, pending_x[n_pending])
                        small = find(parent, pending_y[n_pending])
                        if big == small:
                            continue
                        if length[big] < length[small]:
                            big, small = small, big
                        parent[small] = big
                        entry = head[small]
                        while entry != NONE:
                            following = entry_next[entry]
                            slot = _slot(keys, big * width + entry_label[entry])
                            if keys[slot] == NONE:
                                entry_next[entry] = head[big]
                                head[big] = entry
                                length[big] += 1
                                keys[slot] = big * width + entry_label[entry]
                                entries[slot] = entry
                                n_keys += 1
                                if 2 * n_keys > keys.size:
                                    keys, entries = _rehash(keys, entries)
                            else:
                                if n_pending == pending_x.size:
                                    pending_x = _doubled(pending_x)
                                    pending_y = _doubled(pending_y)
                                pending_x[n_pending] = entry_state[entry]
                                pending_y[n_pending] = entry_state[entries[slot]]
                                n_pending += 1
                            entry = following
    for s in range(n_states):
        parent[s] = find(parent, s)
    return parent, reachable
