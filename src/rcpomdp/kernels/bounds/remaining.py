"""One step of a table over states and remaining budgets, backwards in time."""

from __future__ import annotations

import numpy as np

from ..._types import BoolArray, FloatArray, IndexArray
from ..arrays import ModelArrays
from ..jit import inner, kernel
from .branching import Branching


@inner
def _best_of_group(x: Branching, group: int, after: FloatArray, mixed: FloatArray, best: FloatArray) -> None:
    """Add ``max_a' Σ_j w_j Q(j, a')`` of one group to `best`, at each remaining budget."""
    n_actions, width = after.shape[1], after.shape[2]
    first, last = x.mixed_ptr[group], x.mixed_ptr[group + 1]
    most = mixed[1]
    most[:] = -np.inf
    for a in range(n_actions):
        total = mixed[0]
        total[:] = 0.0
        for e in range(first, last):
            weight, row = x.mixed_weight[e], after[x.mixed[e], a]
            for i in range(width):
                total[i] += weight * row[i]
        for i in range(width):
            most[i] = max(most[i], total[i])
    for i in range(width):
        best[i] += most[i]


@inner
def _pay(gain: float, discount: float, expected: FloatArray, place: IndexArray, out: FloatArray) -> None:
    """Write ``gain + γ expected`` at the budget that is left, −inf where the action cannot be paid."""
    for i in range(out.size):
        out[i] = gain + discount * expected[place[i]] if place[i] >= 0 else -np.inf


@kernel
def mdp_step(
    m: ModelArrays,
    terminal: BoolArray,
    kind: IndexArray,
    place: IndexArray,
    discount: float,
    after: FloatArray,
    now: FloatArray,
    scratch: FloatArray,
    first: int,
    last: int,
) -> None:
    """Write V of one time into ``now [S, 1, L]`` for states first:last, from the next time's ``after [S, 1, L]``.

    ``place[kind[s, a]]`` is where paying for an action leads from each remaining budget, or -1.
    """
    n_states, n_actions = m.reward.shape
    width = after.shape[2]
    expected, value = scratch[0], scratch[1]
    for s in range(first, last):
        best = now[s, 0]
        if terminal[s]:
            best[:] = 0.0
            continue
        best[:] = -np.inf
        for a in range(n_actions):
            expected[:] = 0.0
            row = a * n_states + s
            for e in range(m.t_ptr[row], m.t_ptr[row + 1]):
                weight, values = m.t_prob[e], after[m.t_next[e], 0]
                for i in range(width):
                    expected[i] += weight * values[i]
            _pay(m.reward[s, a], discount, expected, place[kind[s, a]], value)
            for i in range(width):
                best[i] = max(best[i], value[i])


@kernel
def fib_step(
    m: ModelArrays,
    x: Branching,
    terminal: BoolArray,
    kind: IndexArray,
    place: IndexArray,
    discount: float,
    after: FloatArray,
    best_after: FloatArray,
    now: FloatArray,
    scratch: FloatArray,
    first: int,
    last: int,
) -> None:
    """Write Q of one time into ``now [S, A, L]`` for states first:last, from the next time's ``after [S, A, L]``.

    ``best_after [S, L]`` is the largest of `after` over actions: all that counts where the next state is known.
    """
    n_actions, width = after.shape[1], after.shape[2]
    expected, mixed = scratch[0], scratch[1:3]
    for s in range(first, last):
        for a in range(n_actions):
            if terminal[s]:
                now[s, a] = 0.0
                continue
            expected[:] = 0.0
            row = s * n_actions + a
            for e in range(x.single_ptr[row], x.single_ptr[row + 1]):
                weight, values = x.single_weight[e], best_after[x.single[e]]
                for i in range(width):
                    expected[i] += weight * values[i]
            for group in range(x.group_ptr[row], x.group_ptr[row + 1]):
                _best_of_group(x, group, after, mixed, expected)
            _pay(m.reward[s, a], discount, expected, place[kind[s, a]], now[s, a])
