"""The worst way through a graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import FloatArray, IntArray

EPS = float(np.finfo(np.float64).eps)


class Worst(NamedTuple):
    """The worst way through a graph: ``x_i = here_i + γ max_j x_j`` over the successors j of i."""

    value: FloatArray  # [n] of the moves
    above: FloatArray  # [n] a bound from above
    move: IntArray  # [n] successor; n where there is none

    def end_of_path(self) -> int:
        """The point where the worst moves from 0 end, or any point of the cycle that they enter."""
        i = 0
        for _ in range(len(self.value)):
            if self.move[i] == len(self.value):
                break
            i = int(self.move[i])
        return i


def worst(here: FloatArray, parent: IntArray, child: IntArray, gamma: float) -> Worst:
    """Policy iteration on edges sorted by parent; moves are followed to the end by doubling their length."""
    n = here.size
    move = np.full(n + 1, n)
    gain = np.append(here, 0.0)
    x = gain.copy()
    rise = np.zeros(0)
    if child.size:
        first = np.flatnonzero(np.diff(parent, prepend=-1))
        owner, length = parent[first], np.diff(first, append=child.size)
        for _ in range(1000):
            value = x[child]
            best = np.maximum.reduceat(value, first)
            rise = best - x[move[owner]]
            better = (rise > 4 * EPS * best) | (move[owner] == n)
            if not better.any():
                break
            edge = np.flatnonzero((value == np.repeat(best, length)) & np.repeat(better, length))[::-1]
            move[parent[edge]] = child[edge]  # of equal ones the first, which is written last
            x, jump, weight = gain.copy(), move.copy(), gamma
            while weight > 0 and (jump != n).any():
                x = x + weight * x[jump]
                jump, weight = jump[jump], weight * weight
    slack = max(0.0, float(rise.max(initial=0.0))) * gamma / (1 - gamma)
    return Worst(x[:n], x[:n] + slack if slack else x[:n], move[:n])
