"""Interning: each distinct belief is stored once, and so is each support and each list of probabilities.

Three hash tables with open addressing find a belief, a support and probabilities; numbers that differ by rounding alone
are the same.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray, IndexArray
from ..jit import inner, kernel
from .store import BY_BELIEF, BY_PROBS, BY_STATES, NONE, SAME, Space, Store, best_action

_GRID = 2.0**40  # probabilities are hashed on a grid this fine


@inner
def _mix(h: int, word: int) -> int:
    h = (h ^ word) * 0x1E3779B97F4A7C15  # products wrap around
    return h ^ (h >> 29)


@inner
def _find_states(store: Store, h: int, state: IndexArray, n: int) -> int:
    """The slot of a support: that of the first belief that has it, or an empty one."""
    mask = store.table.shape[1] - 1
    slot = h & mask
    while store.table[BY_STATES, slot] != NONE:
        i = store.table[BY_STATES, slot]
        if store.info[i].states_hash == h and store.info[i].size == n:
            at, j = store.info[i].states, 0
            while j < n and store.state[at + j] == state[j]:
                j += 1
            if j == n:
                break
        slot = (slot + 1) & mask
    return int(slot)


@inner
def _find_probs(store: Store, h: int, prob: FloatArray, n: int) -> int:
    """The slot of probabilities, but for rounding: that of the first belief that has them, or an empty one."""
    mask = store.table.shape[1] - 1
    slot = h & mask
    while store.table[BY_PROBS, slot] != NONE:
        i = store.table[BY_PROBS, slot]
        if store.info[i].probs_hash == h and store.info[i].size == n:
            at, j = store.info[i].probs, 0
            while j < n and abs(store.prob[at + j] - prob[j]) <= SAME * prob[j]:
                j += 1
            if j == n:
                break
        slot = (slot + 1) & mask
    return int(slot)


@inner
def _shares(store: Store, i: int, states: int, probs: int) -> bool:
    """True if belief i has the support of one belief and the probabilities of another; NONE has nothing to share."""
    if states == NONE or probs == NONE:  # noqa: PLR1714 - compiled code is slow at looking into tuples
        return False
    return bool(store.info[i].states == store.info[states].states and store.info[i].probs == store.info[probs].probs)


@kernel
def intern(space: Space, store: Store, state: IndexArray, prob: FloatArray, n: int) -> int:
    """The belief with this support and these probabilities, made if it is new. There must be room."""
    states_hash, probs_hash = n, n
    for j in range(n):
        states_hash = _mix(states_hash, state[j])
        probs_hash = _mix(probs_hash, int(prob[j] * _GRID + 0.5))
    by_states, by_probs = _find_states(store, states_hash, state, n), _find_probs(store, probs_hash, prob, n)
    states, probs = store.table[BY_STATES, by_states], store.table[BY_PROBS, by_probs]
    h = _mix(states_hash, probs_hash)
    mask = store.table.shape[1] - 1
    slot = h & mask
    while store.table[BY_BELIEF, slot] != NONE:
        i = store.table[BY_BELIEF, slot]
        if space.merge and store.info[i].hash == h and _shares(store, i, states, probs):
            return int(i)
        slot = (slot + 1) & mask
    new = store.counts[0].beliefs
    store.table[BY_BELIEF, slot] = new
    store.counts[0].beliefs = new + 1
    store.counts[0].making_beliefs += n * space.informed.shape[1]
    store.info[new].cls = space.class_of[state[0]]
    store.info[new].size = n
    store.info[new].plan = NONE
    store.info[new].tested = NONE
    store.info[new].base = NONE
    store.info[new].tip = NONE
    store.info[new].point = NONE
    store.info[new].seen_point = NONE
    store.info[new].hash = h
    store.info[new].states_hash = states_hash
    store.info[new].probs_hash = probs_hash
    if states == NONE:
        store.table[BY_STATES, by_states] = new
        _add_states(store, new, state, n)
    else:
        store.info[new].states = store.info[states].states
    if probs == NONE:
        store.table[BY_PROBS, by_probs] = new
        _add_probs(store, new, prob, n)
    else:
        store.info[new].probs = store.info[probs].probs
    for a in range(store.edge.shape[1]):
        store.edge[new, a] = NONE
    fill_products(space, store, new)
    return int(new)


@inner
def _add_states(store: Store, i: int, state: IndexArray, n: int) -> None:
    """Append the support of a belief to the pool."""
    at = store.counts[0].state_pool
    store.info[i].states = at
    for j in range(n):
        store.state[at + j] = state[j]
    store.counts[0].state_pool = at + n


@inner
def _add_probs(store: Store, i: int, prob: FloatArray, n: int) -> None:
    """Append the probabilities of a belief to the pool."""
    at = store.counts[0].prob_pool
    store.info[i].probs = at
    for j in range(n):
        store.prob[at + j] = prob[j]
    store.counts[0].prob_pool = at + n


@inner
def fill_products(space: Space, store: Store, i: int) -> None:
    """Write a belief's products with the informed bound's vectors and the objective, and the bounds that follow."""
    q, gain = store.q_hi[i], store.gain[i]
    for a in range(q.size):
        q[a] = 0.0
        gain[a] = 0.0
    states, probs = store.info[i].states, store.info[i].probs
    for j in range(store.info[i].size):
        p, s = store.prob[probs + j], store.state[states + j]
        informed, here = space.informed[s], space.gain[0, s]
        for a in range(q.size):
            q[a] += p * informed[a]
            gain[a] += p * here[a]
    for a in range(q.size):
        store.informed[i, a] = q[a]
    store.info[i].upper = q[best_action(q)]
    store.info[i].lower = -np.inf


@inner
def _enlist(store: Store, row: int, h: int, i: int) -> None:
    """Put belief i into a row of the table."""
    mask = store.table.shape[1] - 1
    slot = h & mask
    while store.table[row, slot] != NONE:
        slot = (slot + 1) & mask
    store.table[row, slot] = i


@kernel
def rehash(store: Store) -> None:
    """Fill an empty table with the beliefs there are."""
    states, probs = 0, 0
    for i in range(store.counts[0].beliefs):
        _enlist(store, BY_BELIEF, store.info[i].hash, i)
        if store.info[i].states == states:  # it was the first to have this support
            _enlist(store, BY_STATES, store.info[i].states_hash, i)
            states += store.info[i].size
        if store.info[i].probs == probs:
            _enlist(store, BY_PROBS, store.info[i].probs_hash, i)
            probs += store.info[i].size
