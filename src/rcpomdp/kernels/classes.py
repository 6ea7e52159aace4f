"""States that can share a belief's support: closure of a partition under (action, observation).

Congruence closure. A class remembers one successor for each label (action, observation): its representative.
A second successor under the same label is united with it. When two classes unite, the shorter list of
representatives is folded into the longer, and those that meet under a label are united in turn. A hash table finds
the representative of (class, label). Each reachable state is scanned once: N entries take N log N steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import BoolArray, IndexArray, IntArray
from .arrays import ModelArrays
from .jit import inner, kernel

NONE = -1
ENTRIES, KEYS, FULL = 0, 1, 2  # places in Partition.used


class Partition(NamedTuple):
    """Classes as a union-find forest; the representatives of a class are a linked list of entries."""

    parent: IntArray  # [S]
    head: IntArray  # [S] first entry of a root's list, or NONE
    length: IntArray  # [S] entries in a root's list
    label: IntArray  # [N] a * O + o of an entry
    state: IntArray  # [N] the representative
    link: IntArray  # [N] next entry, or NONE
    key: IntArray  # [H] 1 + root * A*O + label, or 0 where free; H is a power of 2
    entry: IntArray  # [H] the entry of a key
    pairs: IntArray  # [N, 2] stack of states still to be united
    used: IntArray  # [3] entries made, keys set, whether the table proved too small


@inner
def find(parent: IntArray, s: int) -> int:
    """Root of s, halving the path."""
    while parent[s] != s:
        parent[s] = parent[parent[s]]
        s = parent[s]
    return s


@inner
def _slot(p: Partition, key: int) -> int:
    """The place of a key, or the free place where it would go."""
    mask = p.key.size - 1
    i = ((key * 0x1E3779B97F4A7C15) >> 24) & mask  # the product wraps around
    while p.key[i] != 0 and p.key[i] != key:
        i = (i + 1) & mask
    return i


@inner
def _put(p: Partition, width: int, root: int, entry: int) -> None:
    """Put an entry on a root's list and in the table."""
    p.link[entry] = p.head[root]
    p.head[root] = entry
    p.length[root] += 1
    if 2 * p.used[KEYS] < p.key.size:
        _set_key(p, 1 + root * width + p.label[entry], entry)
        return
    p.key[:] = 0  # sweep out the keys of classes that are no more
    p.used[KEYS] = 0
    for r in range(p.parent.size):
        e = p.head[r] if p.parent[r] == r else NONE
        while e != NONE and 4 * p.used[KEYS] < p.key.size:
            _set_key(p, 1 + r * width + p.label[e], e)
            e = p.link[e]
    p.used[FULL] = 4 * p.used[KEYS] >= p.key.size


@inner
def _set_key(p: Partition, key: int, entry: int) -> None:
    slot = _slot(p, key)
    p.key[slot] = key
    p.entry[slot] = entry
    p.used[KEYS] += 1


@inner
def _unite(p: Partition, width: int, n_pairs: int) -> None:
    """Unite the pairs on the stack, and all that follows from it."""
    while n_pairs > 0 and not p.used[FULL]:
        n_pairs -= 1
        kept = find(p.parent, p.pairs[n_pairs, 0])
        gone = find(p.parent, p.pairs[n_pairs, 1])
        if kept == gone:
            continue
        if p.length[kept] < p.length[gone]:
            kept, gone = gone, kept
        p.parent[gone] = kept
        entry = p.head[gone]
        while entry != NONE:
            following = p.link[entry]
            slot = _slot(p, 1 + kept * width + p.label[entry])
            if p.key[slot] == 0:
                _put(p, width, kept, entry)
            else:
                p.pairs[n_pairs, 0] = p.state[p.entry[slot]]
                p.pairs[n_pairs, 1] = p.state[entry]
                n_pairs += 1
            entry = following


@inner
def _scan(m: ModelArrays, p: Partition, s: int) -> int:
    """Add the successors of s to its class; return how many pairs of states are to be united."""
    n_states, n_actions = m.reward.shape
    width = n_actions * m.n_observations
    root = find(p.parent, s)
    n_pairs = 0
    for a in range(n_actions):
        for e in range(m.t_ptr[a * n_states + s], m.t_ptr[a * n_states + s + 1]):
            row = a * n_states + m.t_next[e]
            for f in range(m.z_ptr[row], m.z_ptr[row + 1]):
                label = a * m.n_observations + m.z_obs[f]
                slot = _slot(p, 1 + root * width + label)
                if p.key[slot] == 0:
                    entry = p.used[ENTRIES]
                    p.used[ENTRIES] = entry + 1
                    p.label[entry] = label
                    p.state[entry] = m.t_next[e]
                    _put(p, width, root, entry)
                elif p.state[p.entry[slot]] != m.t_next[e]:
                    p.pairs[n_pairs, 0] = p.state[p.entry[slot]]
                    p.pairs[n_pairs, 1] = m.t_next[e]
                    n_pairs += 1
    return n_pairs


@kernel
def close(m: ModelArrays, support: IntArray, p: Partition) -> BoolArray:
    """Close the partition from a belief's support; return which states are reachable, [S].

    If the table proves too small, ``used[FULL]`` is set and the result means nothing.
    """
    n_states, n_actions = m.reward.shape
    reachable = np.zeros(n_states, dtype=np.bool_)
    queue = np.empty(n_states, dtype=np.int64)
    end = 0
    for i in range(support.size):
        p.parent[support[i]] = support[0]
        reachable[support[i]] = True
        queue[end] = support[i]
        end += 1
    scanned = 0
    while scanned < end and not p.used[FULL]:
        s = queue[scanned]
        scanned += 1
        _unite(p, n_actions * m.n_observations, _scan(m, p, s))
        for a in range(n_actions):
            for e in range(m.t_ptr[a * n_states + s], m.t_ptr[a * n_states + s + 1]):
                if not reachable[m.t_next[e]]:
                    reachable[m.t_next[e]] = True
                    queue[end] = m.t_next[e]
                    end += 1
    for s in range(n_states):
        p.parent[s] = find(p.parent, s)
    return reachable


@kernel
def list_observations(
    m: ModelArrays,
    class_of: IndexArray,
    start: IntArray,
    last_pair: IntArray,
    pointer: IntArray,
    observation: IntArray,
    follower: IntArray,
) -> None:
    """List the observations possible from each (class, action) and the class that follows, for states in class order.

    Called first with empty lists it only counts, into ``pointer [n_classes*A + 1]``. ``last_pair [O]`` is scratch.
    """
    n_states, n_actions = m.reward.shape
    last_pair[:] = NONE
    end = 0
    for c in range(start.size - 1):
        for a in range(n_actions):
            pair = c * n_actions + a
            for s in range(start[c], start[c + 1]):
                for e in range(m.t_ptr[a * n_states + s], m.t_ptr[a * n_states + s + 1]):
                    row = a * n_states + m.t_next[e]
                    for f in range(m.z_ptr[row], m.z_ptr[row + 1]):
                        if last_pair[m.z_obs[f]] != pair:
                            last_pair[m.z_obs[f]] = pair
                            if observation.size:
                                observation[end] = m.z_obs[f]
                                follower[end] = class_of[m.t_next[e]]
                            end += 1
            pointer[pair + 1] = end
