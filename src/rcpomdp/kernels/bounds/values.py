"""Sweeps of value iteration on the underlying MDP, and of the fast informed bound."""

from __future__ import annotations

import numpy as np

from ..._types import BoolArray, FloatArray
from ..arrays import ModelArrays
from ..jit import inner, kernel

_EPS = 2.3e-16  # a little above the spacing of doubles at 1


@inner
def mdp_backup(m: ModelArrays, discount: float, value: FloatArray, s: int, a: int) -> float:
    """``R(s, a) + γ Σ_s' T(s, a, s') V(s')``."""
    row = a * m.reward.shape[0] + s
    total = 0.0
    for e in range(m.t_ptr[row], m.t_ptr[row + 1]):
        total += m.t_prob[e] * value[m.t_next[e]]
    return float(m.reward[s, a] + discount * total)


@kernel
def mdp_sweep(m: ModelArrays, discount: float, value: FloatArray, terminal: BoolArray, backward: bool) -> float:
    """One sweep in place over V, in either order of the states; return the largest change."""
    n_states, n_actions = m.reward.shape
    largest = 0.0
    for i in range(n_states):
        s = n_states - 1 - i if backward else i
        if terminal[s]:
            continue
        best = -np.inf
        for a in range(n_actions):
            best = max(best, mdp_backup(m, discount, value, s, a))
        largest = max(largest, abs(value[s] - best))
        value[s] = best
    return largest


@kernel
def mdp_q(m: ModelArrays, discount: float, value: FloatArray, q: FloatArray) -> None:
    """Write ``Q(s, a) = R(s, a) + γ Σ_s' T(s, a, s') V(s')`` into ``q [S, A]``."""
    n_states, n_actions = m.reward.shape
    for s in range(n_states):
        for a in range(n_actions):
            q[s, a] = mdp_backup(m, discount, value, s, a)


@inner
def fib_backup(m: ModelArrays, discount: float, q: FloatArray, s: int, a: int, acc: FloatArray) -> float:
    """``R(s, a) + γ Σ_o max_a' Σ_s' T(s, a, s') Z(s', a, o) Q(s', a')``, rounded up.

    ``acc [O, A]`` is scratch, zero on entry and on exit.
    """
    n_states, n_actions = m.reward.shape
    first, last = m.t_ptr[a * n_states + s], m.t_ptr[a * n_states + s + 1]
    terms = 4
    size = abs(m.reward[s, a])
    for e in range(first, last):
        row = a * n_states + m.t_next[e]
        for f in range(m.z_ptr[row], m.z_ptr[row + 1]):
            p = m.t_prob[e] * m.z_prob[f]
            terms += 1
            for a_next in range(n_actions):
                acc[m.z_obs[f], a_next] += p * q[m.t_next[e], a_next]
    total = 0.0
    for e in range(first, last):
        row = a * n_states + m.t_next[e]
        for f in range(m.z_ptr[row], m.z_ptr[row + 1]):
            best = acc[m.z_obs[f], 0]
            for a_next in range(n_actions):
                best = max(best, acc[m.z_obs[f], a_next])
                acc[m.z_obs[f], a_next] = 0.0
            total += best  # zero when another successor has given this observation already
            size += abs(best)
    return float(m.reward[s, a] + discount * total + _EPS * terms * size)


@kernel
def fib_sweep(
    m: ModelArrays,
    discount: float,
    q: FloatArray,
    out: FloatArray,
    terminal: BoolArray,
    acc: FloatArray,
    first: int,
    last: int,
) -> float:
    """One sweep over ``q [S, A]``, from above, into ``out``, which may be q itself; return the largest fall.

    Of the states from `first` to before `last`.
    """
    n_actions = m.reward.shape[1]
    largest = 0.0
    for s in range(first, last):
        if terminal[s]:
            continue
        for a in range(n_actions):
            value = fib_backup(m, discount, q, s, a, acc)
            if value < q[s, a]:
                largest = max(largest, q[s, a] - value)
                out[s, a] = value
    return largest
