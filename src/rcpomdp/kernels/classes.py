"""Which states can share a belief's support: closure of a partition under (action, observation).

Congruence closure. A class remembers one successor for each label (action, observation): its representative.
A second successor under the same label is united with it. When two classes unite, their representatives are
folded together, and those that meet under a label are united in turn. Each reachable state is scanned once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import BoolArray, IntArray
from .arrays import ModelArrays
from .jit import kernel

NONE = -1


class Partition(NamedTuple):
    """Classes as a union-find forest; the representatives of a class are a linked list of entries."""

    parent: IntArray  # [S]
    head: IntArray  # [S] first entry of a root's list, or NONE
    label: IntArray  # [N] a * O + o of an entry
    state: IntArray  # [N] the representative
    link: IntArray  # [N] next entry, or NONE
    by_label: IntArray  # [A*O] scratch: the representative under each label, NONE between calls
    pairs: IntArray  # [N, 2] stack of states still to be united


@kernel
def find(parent: IntArray, s: int) -> int:
    """Root of s, halving the path."""
    while parent[s] != s:
        parent[s] = parent[parent[s]]
        s = parent[s]
    return s


@kernel
def _spread(p: Partition, root: int) -> None:
    """Write a list of representatives into the scratch."""
    entry = p.head[root]
    while entry != NONE:
        p.by_label[p.label[entry]] = p.state[entry]
        entry = p.link[entry]


@kernel
def _wipe(p: Partition, root: int) -> None:
    """Clear the scratch again."""
    entry = p.head[root]
    while entry != NONE:
        p.by_label[p.label[entry]] = NONE
        entry = p.link[entry]


@kernel
def _unite(p: Partition, n_pairs: int) -> None:
    """Unite the pairs on the stack, and all that follows from it."""
    while n_pairs > 0:
        n_pairs -= 1
        kept = find(p.parent, p.pairs[n_pairs, 0])
        gone = find(p.parent, p.pairs[n_pairs, 1])
        if kept == gone:
            continue
        if p.head[kept] == NONE:
            kept, gone = gone, kept
        p.parent[gone] = kept
        if p.head[gone] == NONE:
            continue
        _spread(p, kept)
        entry = p.head[gone]
        while entry != NONE:
            following = p.link[entry]
            twin = p.by_label[p.label[entry]]
            if twin == NONE:
                p.link[entry] = p.head[kept]
                p.head[kept] = entry
            else:
                p.pairs[n_pairs, 0] = twin
                p.pairs[n_pairs, 1] = p.state[entry]
                n_pairs += 1
            entry = following
        _wipe(p, kept)


@kernel
def _scan(m: ModelArrays, p: Partition, s: int, n_entries: int) -> int:
    """Add the successors of s to its class; return the number of entries in use."""
    n_states, n_actions = m.reward.shape
    root = find(p.parent, s)
    _spread(p, root)
    n_pairs = 0
    for a in range(n_actions):
        for e in range(m.t_ptr[a * n_states + s], m.t_ptr[a * n_states + s + 1]):
            row = a * n_states + m.t_next[e]
            for f in range(m.z_ptr[row], m.z_ptr[row + 1]):
                label = a * m.n_observations + m.z_obs[f]
                twin = p.by_label[label]
                if twin == NONE:
                    p.by_label[label] = m.t_next[e]
                    p.label[n_entries] = label
                    p.state[n_entries] = m.t_next[e]
                    p.link[n_entries] = p.head[root]
                    p.head[root] = n_entries
                    n_entries += 1
                elif twin != m.t_next[e]:
                    p.pairs[n_pairs, 0] = twin
                    p.pairs[n_pairs, 1] = m.t_next[e]
                    n_pairs += 1
    _wipe(p, root)
    _unite(p, n_pairs)
    return n_entries


@kernel
def close(m: ModelArrays, support: IntArray, p: Partition) -> BoolArray:
    """Close the partition from a belief's support; return which states are reachable, [S]."""
    n_states, n_actions = m.reward.shape
    reachable = np.zeros(n_states, dtype=np.bool_)
    queue = np.empty(n_states, dtype=np.int64)
    end = 0
    for i in range(support.size):
        p.parent[support[i]] = support[0]
        reachable[support[i]] = True
        queue[end] = support[i]
        end += 1
    n_entries = 0
    scanned = 0
    while scanned < end:
        s = queue[scanned]
        scanned += 1
        n_entries = _scan(m, p, s, n_entries)
        for a in range(n_actions):
            for e in range(m.t_ptr[a * n_states + s], m.t_ptr[a * n_states + s + 1]):
                if not reachable[m.t_next[e]]:
                    reachable[m.t_next[e]] = True
                    queue[end] = m.t_next[e]
                    end += 1
    for s in range(n_states):
        p.parent[s] = find(p.parent, s)
    return reachable
