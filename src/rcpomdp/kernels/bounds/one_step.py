"""The distinct beliefs one step after a known state, ``b_sao(s') ∝ T(s, a, s') Z(s', a, o)``, and more steps after it.

One more step leads from the mixture ``p = Σ_j w_j e_j`` of elements to ``p_ao``, the mixture of what followed them,
with weights ``w_j P(o | e_j, a)``: a belief is stored as a mixture of those one step earlier, the first ones of states.
"""

from __future__ import annotations

from typing import NamedTuple

from ..._types import FloatArray, IndexArray, IntArray
from ..arrays import ModelArrays
from ..jit import inner, kernel

NONE = -1
SAME = 1e-14  # relative difference below which two probabilities are rounding of one
_GRID = 2.0**40  # probabilities are hashed on a grid this fine

# Entries of Beliefs.used
BELIEFS, POOL = range(2)


class Beliefs(NamedTuple):
    """Distinct beliefs, by capacity; `used` counts what is filled."""

    start: IntArray  # [N + 1] where the support of a belief starts
    state: IndexArray  # [P] supports, increasing: states, or beliefs of one step earlier
    weight: FloatArray  # [P] probabilities there
    hash: IntArray  # [N]
    table: IntArray  # [H] hash table of beliefs; H is a power of 2
    used: IntArray  # [2] BELIEFS, POOL


class Rows(NamedTuple):
    """Row ``a*n + e``: what can be observed after action a at element e of n, by increasing observation."""

    ptr: IntArray  # [A*n + 1]
    obs: IndexArray  # [entries]
    prob: FloatArray  # [entries] P(o | e, a)
    belief: IndexArray  # [entries] what follows


class Mixtures(NamedTuple):
    """Beliefs as mixtures of elements, and what follows those."""

    start: IntArray  # [n + 1] where the elements of a belief start
    element: IndexArray  # states, or beliefs of one step earlier
    weight: FloatArray
    rows: Rows  # of the elements; they lead to these beliefs


@inner
def sort_by_key(key: IntArray, weight: FloatArray, n: int) -> None:
    """Sort ``key[:n]`` by Shell's method, and its weights along: rows are short and mostly in order."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            k, w = key[i], weight[i]
            j = i
            while j >= gap and key[j - gap] > k:
                key[j] = key[j - gap]
                weight[j] = weight[j - gap]
                j -= gap
            key[j] = k
            weight[j] = w
        gap //= 3


@inner
def gather(m: ModelArrays, s: int, a: int, key: IntArray, weight: FloatArray) -> int:
    """Write the (o, s') that can follow (s, a), as keys ``o*S + s'`` in order, and their probabilities."""
    n_states = m.reward.shape[0]
    n = 0
    in_order = True
    for e in range(m.t_ptr[a * n_states + s], m.t_ptr[a * n_states + s + 1]):
        row = a * n_states + m.t_next[e]
        for f in range(m.z_ptr[row], m.z_ptr[row + 1]):
            p = m.t_prob[e] * m.z_prob[f]
            if p > 0.0:  # a product can underflow
                key[n] = m.z_obs[f] * n_states + m.t_next[e]
                weight[n] = p
                in_order = in_order and (n == 0 or key[n - 1] < key[n])
                n += 1
    if not in_order:
        sort_by_key(key, weight, n)
    return n


@kernel
def count(m: ModelArrays, mark: IntArray) -> tuple[int, int, int]:
    """Triples (s, a, o) and quadruples (s, a, s', o) that can be, and the most of the latter in one (s, a).

    ``mark [O]`` is scratch, negative on entry.
    """
    n_states, n_actions = m.reward.shape
    triples, quadruples, most = 0, 0, 0
    for r in range(n_states * n_actions):
        before = quadruples
        for e in range(m.t_ptr[r], m.t_ptr[r + 1]):
            row = r // n_states * n_states + m.t_next[e]
            for f in range(m.z_ptr[row], m.z_ptr[row + 1]):
                quadruples += 1
                if mark[m.z_obs[f]] != r:
                    mark[m.z_obs[f]] = r
                    triples += 1
        most = max(most, quadruples - before)
    return triples, quadruples, most


@inner
def _hash(state: IntArray, n_states: int, weight: FloatArray, first: int, last: int) -> int:
    h = 1
    for i in range(first, last):
        h = (h ^ (state[i] % n_states + 1)) * 0x1E3779B97F4A7C15  # products wrap around
        h = (h ^ (h >> 29) ^ int(weight[i] * _GRID + 0.5)) * 0x3F58476D1CE4E5B9
    return h ^ (h >> 31)


@inner
def _same(b: Beliefs, i: int, key: IntArray, n_states: int, weight: FloatArray, first: int, last: int) -> bool:
    at = b.start[i]
    if b.start[i + 1] - at != last - first:
        return False
    for j in range(last - first):
        w = weight[first + j]
        if b.state[at + j] != key[first + j] % n_states or abs(b.weight[at + j] - w) > SAME * w:
            return False
    return True


@kernel
def intern(b: Beliefs, key: IntArray, n_states: int, weight: FloatArray, first: int, last: int) -> int:
    """The belief over the states ``key % S`` with these weights, which sum to 1; NONE if there is no room."""
    h = _hash(key, n_states, weight, first, last)
    mask = b.table.size - 1
    slot = h & mask
    while b.table[slot] != NONE:
        i = b.table[slot]
        if b.hash[i] == h and _same(b, i, key, n_states, weight, first, last):
            return int(i)
        slot = (slot + 1) & mask
    new, at = b.used[BELIEFS], b.used[POOL]
    if new == b.hash.size or 2 * new >= b.table.size or at + last - first > b.state.size:
        return NONE
    b.table[slot] = new
    b.hash[new] = h
    for j in range(last - first):
        b.state[at + j] = key[first + j] % n_states
        b.weight[at + j] = weight[first + j]
    b.used[BELIEFS] = new + 1
    b.used[POOL] = at + last - first
    b.start[new + 1] = b.used[POOL]
    return int(new)


@kernel
def rehash(b: Beliefs) -> None:
    """Fill an empty table with the beliefs there are."""
    mask = b.table.size - 1
    for i in range(b.used[BELIEFS]):
        slot = b.hash[i] & mask
        while b.table[slot] != NONE:
            slot = (slot + 1) & mask
        b.table[slot] = i


@inner
def gather_mixture(x: Mixtures, n_elements: int, p: int, a: int, key: IntArray, weight: FloatArray) -> int:
    """Write what can follow (belief p, a): keys ``o*n + belief`` in order, maybe again, and ``w_j P(o | e_j, a)``."""
    n_beliefs = x.start.size - 1
    n = 0
    for i in range(x.start[p], x.start[p + 1]):
        row = a * n_elements + x.element[i]
        for e in range(x.rows.ptr[row], x.rows.ptr[row + 1]):
            w = x.weight[i] * x.rows.prob[e]
            if w > 0.0:  # a product can underflow
                key[n] = x.rows.obs[e] * n_beliefs + x.rows.belief[e]
                weight[n] = w
                n += 1
    sort_by_key(key, weight, n)
    return n


@inner
def _write_row(
    x: Rows, b: Beliefs, row: int, n_elements: int, key: IntArray, weight: FloatArray, scaled: FloatArray, n: int
) -> bool:
    """Write one row from sorted keys ``o*n + e`` that differ; False if there is no room for its beliefs."""
    at = x.ptr[row]
    i = 0
    while i < n:
        o, j, total = key[i] // n_elements, i, 0.0
        while j < n and key[j] // n_elements == o:
            total += weight[j]
            j += 1
        for e in range(i, j):
            scaled[e] = weight[e] / total
        belief = intern(b, key, n_elements, scaled, i, j)
        if belief == NONE:
            return False
        x.obs[at] = o
        x.prob[at] = total
        x.belief[at] = belief
        at += 1
        i = j
    x.ptr[row + 1] = at
    return True


@kernel
def fill_rows(
    m: ModelArrays, x: Rows, b: Beliefs, key: IntArray, weight: FloatArray, scaled: FloatArray, first: int, last: int
) -> int:
    """Fill rows first:last of states, or as many as there is room for beliefs of; return the first that is not filled.

    ``key``, ``weight`` and ``scaled`` are scratch, as long as the longest row of quadruples.
    """
    n_states = m.reward.shape[0]
    for r in range(first, last):
        n = gather(m, r % n_states, r // n_states, key, weight)
        if not _write_row(x, b, r, n_states, key, weight, scaled, n):
            return r
    return last


@kernel
def fill_later_rows(
    before: Mixtures,
    n_elements: int,
    x: Rows,
    b: Beliefs,
    key: IntArray,
    weight: FloatArray,
    scaled: FloatArray,
    first: int,
    last: int,
) -> int:
    """Fill rows first:last of the beliefs `before` in the same way; what follows are mixtures of them."""
    n_beliefs = before.start.size - 1
    for r in range(first, last):
        n = gather_mixture(before, n_elements, r % n_beliefs, r // n_beliefs, key, weight)
        different = 0
        for i in range(n):
            if different > 0 and key[different - 1] == key[i]:
                weight[different - 1] += weight[i]
            else:
                key[different] = key[i]
                weight[different] = weight[i]
                different += 1
        if not _write_row(x, b, r, n_beliefs, key, weight, scaled, different):
            return r
    return last
