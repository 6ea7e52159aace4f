"""Belief updates over sparse beliefs.

A belief is ``(states, probs)``: its support in increasing order and the probabilities there. Every kernel
takes a scratch pair ``acc [S]`` (all zero on entry and on exit) and ``touched [S]``.
"""

from __future__ import annotations

import numpy as np

from .._types import FloatArray, IndexArray, IntArray
from .arrays import ModelArrays
from .jit import inner, kernel


@inner
def _sort(values: IndexArray, n: int) -> None:
    """Sort ``values[:n]`` by Shell's method: supports are short, and sort() is slow to compile."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            value = values[i]
            j = i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3


@kernel
def predict(m: ModelArrays, states: IndexArray, probs: FloatArray, a: int, acc: FloatArray, touched: IndexArray) -> int:
    """Fill ``acc[s'] = Σ_s b(s) T(s, a, s')``; return n, with the support in increasing ``touched[:n]``."""
    n_states = m.reward.shape[0]
    n = 0
    in_order = True
    for i in range(states.size):
        row = a * n_states + states[i]
        for e in range(m.t_ptr[row], m.t_ptr[row + 1]):
            p = probs[i] * m.t_prob[e]
            if p > 0.0:  # a product can underflow, and must then not count as touched
                s = m.t_next[e]
                if acc[s] == 0.0:
                    in_order = in_order and (n == 0 or touched[n - 1] < s)
                    touched[n] = s
                    n += 1
                acc[s] += p
    if not in_order:
        _sort(touched, n)
    return n


@kernel
def clear(acc: FloatArray, touched: IndexArray, n: int) -> None:
    """Give the scratch back all zero."""
    for i in range(n):
        acc[touched[i]] = 0.0


@kernel
def likelihood(m: ModelArrays, a: int, s: int, o: int) -> float:
    """Z(s, a, o)."""
    row = a * m.reward.shape[0] + s
    for e in range(m.z_ptr[row], m.z_ptr[row + 1]):
        if m.z_obs[e] == o:
            return float(m.z_prob[e])
    return 0.0


@inner
def count_below(values: IndexArray, n: int, bound: int) -> int:
    """Number of the increasing ``values[:n]`` below `bound`."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if values[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def condition(
    m: ModelArrays,
    a: int,
    o: int,
    acc: FloatArray,
    touched: IndexArray,
    first: int,
    last: int,
    next_states: IndexArray,
    next_probs: FloatArray,
) -> tuple[int, float, float]:
    """Write the prediction ``touched[first:last]`` given o; return support size, p(o) and the least likelihood."""
    support, p_obs, least = 0, 0.0, np.inf
    for j in range(first, last):
        s = touched[j]
        z = likelihood(m, a, s, o)
        least = min(least, z)
        p = acc[s] * z
        if p > 0.0:
            next_states[support] = s
            next_probs[support] = p
            support += 1
            p_obs += p
    for j in range(support):
        next_probs[j] /= p_obs
    return support, p_obs, least


@kernel
def update(
    m: ModelArrays,
    states: IndexArray,
    probs: FloatArray,
    a: int,
    o: int,
    acc: FloatArray,
    touched: IndexArray,
    next_states: IndexArray,
    next_probs: FloatArray,
) -> tuple[int, float]:
    """Write ``b'(s') ∝ Z(s', a, o) Σ_s T(s, a, s') b(s)`` (Eq. 1); return support size and p(o | b, a)."""
    n = predict(m, states, probs, a, acc, touched)
    size, total, _ = condition(m, a, o, acc, touched, 0, n, next_states, next_probs)
    clear(acc, touched, n)
    return size, total


@kernel
def observation_probabilities(
    m: ModelArrays,
    states: IndexArray,
    probs: FloatArray,
    a: int,
    acc: FloatArray,
    touched: IndexArray,
    out: FloatArray,
) -> None:
    """Write p(o | b, a) into ``out [O]``."""
    n_states = m.reward.shape[0]
    n = predict(m, states, probs, a, acc, touched)
    out[:] = 0.0
    for i in range(n):
        row = a * n_states + touched[i]
        for e in range(m.z_ptr[row], m.z_ptr[row + 1]):
            out[m.z_obs[e]] += acc[touched[i]] * m.z_prob[e]
    clear(acc, touched, n)


@kernel
def branch(
    m: ModelArrays,
    states: IndexArray,
    probs: FloatArray,
    a: int,
    acc: FloatArray,
    touched: IndexArray,
    p_obs: FloatArray,
    start: IntArray,
) -> tuple[IndexArray, FloatArray]:
    """All posteriors at once.

    Writes p(o | b, a) into ``p_obs [O]``; the posterior of o stands at ``start[o]:start[o + 1]`` of the two
    arrays returned (states, probabilities).
    """
    n_states = m.reward.shape[0]
    n = predict(m, states, probs, a, acc, touched)
    p_obs[:] = 0.0
    start[:] = 0
    for i in range(n):
        row = a * n_states + touched[i]
        for e in range(m.z_ptr[row], m.z_ptr[row + 1]):
            p = acc[touched[i]] * m.z_prob[e]
            if p > 0.0:
                start[m.z_obs[e] + 1] += 1
                p_obs[m.z_obs[e]] += p
    for o in range(p_obs.size):
        start[o + 1] += start[o]
    next_states = np.empty(start[-1], dtype=np.int32)
    next_probs = np.empty(start[-1], dtype=np.float64)
    fill = start[:-1].copy()
    for i in range(n):
        row = a * n_states + touched[i]
        for e in range(m.z_ptr[row], m.z_ptr[row + 1]):
            o = m.z_obs[e]
            p = acc[touched[i]] * m.z_prob[e]
            if p > 0.0:
                next_states[fill[o]] = touched[i]
                next_probs[fill[o]] = p / p_obs[o]
                fill[o] += 1
    clear(acc, touched, n)
    return next_states, next_probs


@kernel
def expectation(values: FloatArray, a: int, states: IndexArray, probs: FloatArray) -> float:
    """``Σ_s b(s) values[s, a]``."""
    total = 0.0
    for i in range(states.size):
        total += probs[i] * values[states[i], a]
    return total
