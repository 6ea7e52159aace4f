"""The store of beliefs: each distinct belief once, with what follows from it.

States are numbered so that an observability class is contiguous; a belief lies inside one class. Actions are expanded
one at a time: an expanded action has edges, one for each observation that can follow.
"""

from __future__ import annotations

import numpy as np

from ..._types import AnyArray, FloatArray, IndexArray
from ..belief import clear, condition, count_below, predict
from ..jit import inner, kernel
from .arrays import NONE, Beliefs, Scratch, Space

SAME = 1e-14  # relative difference below which two probabilities are rounding of one
_GRID = 2.0**40  # probabilities are hashed on a grid this fine


# Interning


@inner
def _hash(cls: int, state: IndexArray, prob: FloatArray, n: int) -> int:
    h = cls + 1
    for i in range(n):
        h = (h ^ (state[i] + 1)) * 0x1E3779B97F4A7C15  # products wrap around
        h = (h ^ (h >> 29) ^ int(prob[i] * _GRID + 0.5)) * 0x3F58476D1CE4E5B9
    return h ^ (h >> 31)


@inner
def _same(beliefs: Beliefs, i: int, h: int, cls: int, state: IndexArray, prob: FloatArray, n: int) -> bool:
    known = beliefs.info[i]
    if known.hash != h or known.cls != cls or known.size != n:
        return False
    at = known.offset
    for j in range(n):
        if beliefs.state[at + j] != state[j] or abs(beliefs.prob[at + j] - prob[j]) > SAME * prob[j]:
            return False
    return True


@kernel
def intern(space: Space, beliefs: Beliefs, counts: AnyArray, state: IndexArray, prob: FloatArray, n: int) -> int:
    """The belief with this support and these probabilities, made if it is new. There must be room."""
    cls = int(space.class_of[state[0]])
    h = _hash(cls, state, prob, n)
    mask = beliefs.table.size - 1
    slot = h & mask
    while beliefs.table[slot] != NONE:
        if space.merge and _same(beliefs, beliefs.table[slot], h, cls, state, prob, n):
            return int(beliefs.table[slot])
        slot = (slot + 1) & mask
    count = counts[0]
    new, at = count.beliefs, count.pool
    beliefs.table[slot] = new
    count.beliefs = new + 1
    count.pool = at + n
    count.making_beliefs += 4 * n
    made = beliefs.info[new]
    made.cls = cls
    made.size = n
    made.offset = at
    made.hash = h
    made.parent = NONE
    made.row = NONE
    made.strip = NONE
    made.candidate = NONE
    made.tested = NONE
    for j in range(n):
        beliefs.state[at + j] = state[j]
        beliefs.prob[at + j] = prob[j]
    for k in range(beliefs.least.shape[1]):
        beliefs.low[new, k] = np.inf
        beliefs.high[new, k] = -1.0
        beliefs.least[new, k] = _least_cost(space, state, prob, n, k)
    return int(new)


@inner
def _least_cost(space: Space, state: IndexArray, prob: FloatArray, n: int, k: int) -> float:
    """A lower bound on the least expected cost, hence on the least budget that suffices."""
    if space.least_cost.shape[1] == 0:
        return 0.0
    least = np.inf
    for a in range(space.least_cost.shape[2]):
        expected = 0.0
        for j in range(n):
            expected += prob[j] * space.least_cost[k, state[j], a]
        least = min(least, expected)
    return least


@kernel
def rehash(beliefs: Beliefs, n: int) -> None:
    """Fill an empty table with the n beliefs there are."""
    mask = beliefs.table.size - 1
    for i in range(n):
        slot = beliefs.info[i].hash & mask
        while beliefs.table[slot] != NONE:
            slot = (slot + 1) & mask
        beliefs.table[slot] = i


# Opening and expanding


@inner
def open_belief(space: Space, beliefs: Beliefs, counts: AnyArray, i: int) -> bool:
    """Give a belief its row: what its actions earn and cost; False if full."""
    if beliefs.info[i].row != NONE:
        return True
    count = counts[0]
    row = count.belief_rows
    if row >= beliefs.reward.shape[0]:
        return False
    count.belief_rows = row + 1
    beliefs.info[i].row = row
    cls, first, size = beliefs.info[i].cls, beliefs.info[i].offset, beliefs.info[i].size
    for a in range(beliefs.reward.shape[1]):
        beliefs.edge[row, a] = NONE
        beliefs.degree[row, a] = 0
        total = 0.0
        for t in range(first, first + size):
            total += beliefs.prob[t] * space.gain[0, beliefs.state[t], a]
        beliefs.reward[row, a] = total
        for k in range(beliefs.cost.shape[1]):
            beliefs.cost[row, k, a] = space.floor[cls, a, k]
            if space.peak[cls, a, k] > space.floor[cls, a, k]:  # else all states of the class cost the same
                total = 0.0
                for t in range(first, first + size):
                    total += beliefs.prob[t] * space.model.cost[k, beliefs.state[t], a]
                beliefs.cost[row, k, a] = total
    return True


@inner
def is_expanded(beliefs: Beliefs, i: int, a: int) -> bool:
    """True if action a of belief i has edges."""
    return bool(beliefs.info[i].row != NONE and beliefs.edge[beliefs.info[i].row, a] != NONE)


@inner
def _has_room(space: Space, beliefs: Beliefs, counts: AnyArray, i: int, a: int) -> bool:
    """True if an expansion of belief i under action a is sure to fit."""
    pair = beliefs.info[i].cls * space.gain.shape[2] + a
    first, last = space.seen_ptr[pair], space.seen_ptr[pair + 1]
    entries = 0
    for f in range(first, last):
        c = space.seen_class[f]
        entries += space.start[c + 1] - space.start[c]
    n_beliefs = counts[0].beliefs + last - first
    return bool(
        n_beliefs <= beliefs.info.shape[0]
        and 2 * n_beliefs <= beliefs.table.size
        and counts[0].pool + entries <= beliefs.state.size
        and counts[0].edges + last - first <= beliefs.edge_child.size
    )


@inner
def expand(space: Space, beliefs: Beliefs, scratch: Scratch, counts: AnyArray, i: int, a: int) -> bool:
    """Give belief i the edges of action a; False if full."""
    if not open_belief(space, beliefs, counts, i) or not _has_room(space, beliefs, counts, i, a):
        return False
    if is_expanded(beliefs, i, a):
        return True
    model, row = space.model, beliefs.info[i].row
    at, size = beliefs.info[i].offset, beliefs.info[i].size
    n = predict(model, beliefs.state[at : at + size], beliefs.prob[at : at + size], a, scratch.acc, scratch.touched)
    pair = beliefs.info[i].cls * space.gain.shape[2] + a
    first_edge = counts[0].edges
    beliefs.edge[row, a] = first_edge
    for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
        o, cls = space.seen_obs[f], space.seen_class[f]
        # The successors in this class, touched[first:last]: they are sorted.
        first = count_below(scratch.touched, n, space.start[cls])
        last = count_below(scratch.touched, n, space.start[cls + 1])
        support, p_obs, _ = condition(
            model, a, o, scratch.acc, scratch.touched, first, last, scratch.state, scratch.prob
        )
        counts[0].making_beliefs += 4 * (last - first)
        if p_obs <= 0.0:
            continue
        before = counts[0].beliefs
        counts[0].reached += 1
        child = intern(space, beliefs, counts, scratch.state, scratch.prob, support)
        if counts[0].beliefs > before:
            counts[0].fresh += 1
            beliefs.info[child].parent = i
            beliefs.info[child].action = a
            beliefs.info[child].obs = o
        edge = counts[0].edges
        beliefs.edge_child[edge] = child
        beliefs.edge_obs[edge] = o
        beliefs.edge_prob[edge] = p_obs
        counts[0].edges = edge + 1
    beliefs.degree[row, a] = counts[0].edges - first_edge
    clear(scratch.acc, scratch.touched, n)
    return True


@kernel
def expand_all(space: Space, beliefs: Beliefs, scratch: Scratch, counts: AnyArray, first: int, most: int) -> int:
    """Expand all actions of the beliefs from `first` on, until there are `most`; return the first that is not done.

    It is the number of beliefs if they are closed under all that can follow.
    """
    i = first
    while i < counts[0].beliefs and counts[0].beliefs <= most:
        for a in range(space.gain.shape[2]):
            if not is_expanded(beliefs, i, a) and not expand(space, beliefs, scratch, counts, i, a):
                return i
        i += 1
    return i
