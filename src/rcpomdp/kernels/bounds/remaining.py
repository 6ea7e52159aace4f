"""One step of a table over states and remaining budgets, backwards in time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import BoolArray, FloatArray, IndexArray, IntArray
from ..arrays import ModelArrays
from ..jit import inner, kernel
from .branching import Branching

NONE = -1


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
    states: IntArray,
) -> None:
    """Write V of one time into ``now [S, 1, L]`` for some states, from the next time's ``after [S, 1, L']``.

    ``place[kind[s, a]]`` is where paying for an action leads from each remaining budget, or -1.
    """
    n_states, n_actions = m.reward.shape
    width = after.shape[2]
    expected, value = scratch[0, :width], scratch[1, : now.shape[2]]
    for s in states:
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
            for i in range(value.size):
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
    states: IntArray,
) -> None:
    """Write Q of one time into ``now [S, A, L]`` for some states, from the next time's ``after [S, A, L']``.

    ``best_after [S, L']`` is the largest of `after` over actions: all that counts where the next state is known.
    """
    n_actions, width = after.shape[1], after.shape[2]
    expected, mixed = scratch[0, :width], scratch[1:3, :width]
    for s in states:
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


class GridRows(NamedTuple):
    """What follows points of a grid of beliefs, in rows ``a*E + e``; a belief is filled up to n states with zeros."""

    ptr: IntArray  # [A*E + 1] where the observations of a row start: those that its class may lead to
    belief: FloatArray  # [., n] the belief that follows
    moves: FloatArray  # [., n, n] T(s, a, s') Z(s', a, o)
    vertex_ptr: IntArray  # where the points around that belief start
    vertex: IndexArray
    point_ptr: IntArray  # [A*E + 1] where the points of a row start, those of all its observations together,
    point: IndexArray
    point_weight: FloatArray  # and their weights


@inner
def _follow(x: GridRows, at: int, to: IndexArray, discount: float, after: FloatArray, vector: FloatArray) -> None:
    """Add to the vectors of a plan, at each level, those of the best point around the belief after an observation."""
    n, width = vector.shape
    for level in range(width):
        if to[level] < 0 or vector[0, level] == -np.inf:
            continue
        best, most = NONE, -np.inf
        for v in range(x.vertex_ptr[at], x.vertex_ptr[at + 1]):
            point, value = x.vertex[v], 0.0
            if after[point, 0, to[level]] == -np.inf:
                continue
            for s in range(n):
                value += x.belief[at, s] * after[point, s, to[level]]
            if value > most:
                best, most = point, value
        if best == NONE:
            vector[0, level] = -np.inf
            continue
        for s in range(n):
            total = 0.0
            for s_next in range(n):
                total += x.moves[at, s, s_next] * after[best, s_next, to[level]]
            vector[s, level] += discount * total


@kernel
def plan_step(
    x: GridRows,
    points: FloatArray,
    reward: FloatArray,
    kind: IndexArray,
    place: IndexArray,
    discount: float,
    after: FloatArray,
    now: FloatArray,
    first: int,
    last: int,
) -> None:
    """Write the vectors of the best plans of one time into ``now [E, n, L]`` for points first:last.

    ``after [E, n, L']`` are those of the next time; −inf where no plan is known to keep the budget.
    ``reward [E, n, A]``.
    """
    n_points, n, _ = after.shape
    width, n_actions = now.shape[2], reward.shape[2]
    vector, most = np.empty((n, width)), np.empty(width)
    for e in range(first, last):
        most[:] = -np.inf
        now[e] = -np.inf
        for a in range(n_actions):
            to, row = place[kind[e, a]], a * n_points + e
            for s in range(n):
                vector[s] = reward[e, s, a]
            for at in range(x.ptr[row], x.ptr[row + 1]):
                _follow(x, at, to, discount, after, vector)
            for level in range(width):
                if to[level] < 0 or vector[0, level] == -np.inf:
                    continue
                value = 0.0
                for s in range(n):
                    value += points[e, s] * vector[s, level]
                if value > most[level]:
                    most[level] = value
                    for s in range(n):
                        now[e, s, level] = vector[s, level]
