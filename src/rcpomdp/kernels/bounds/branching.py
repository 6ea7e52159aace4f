"""Successors of each point and action, laid out for sweeps: points are states (FIB) or beliefs some steps later (TIB).

After (point i, action a) each observation leads to a mixture of points. One that leads to a single point j adds
``w V(j)``; whichever observations do, their weights are added. A true mixture is a group and adds
``max_a' Σ_j w_j Q(j, a')``.

Pointers and points are unsigned: a signed index may be negative, and looking whether it is takes two thirds of a sweep.
"""

from __future__ import annotations

from typing import NamedTuple

from ..._types import FloatArray, IntArray, UnsignedArray, UnsignedIndexArray
from ..arrays import ModelArrays
from ..jit import inner, kernel
from .one_step import Mixtures, gather, gather_mixture, sort_by_key

# Entries of `used`
SINGLES, GROUPS, MIXED = range(3)


class Branching(NamedTuple):
    """Successors of point i under action a in row ``i*A + a``; all weights are positive."""

    single_ptr: UnsignedArray  # [n*A + 1] where the single points of a row start
    single: UnsignedIndexArray  # point
    single_weight: FloatArray
    group_ptr: UnsignedArray  # [n*A + 1] where the groups of a row start
    mixed_ptr: UnsignedArray  # [groups + 1] where the points of a group start
    mixed: UnsignedIndexArray  # point
    mixed_weight: FloatArray
    terms: IntArray  # [n*A] how many products were added to make a row: what rounding may multiply


@inner
def _write_row(
    x: Branching, row: int, n_points: int, key: IntArray, weight: FloatArray, n: int, used: IntArray
) -> None:
    """Write one row from sorted keys ``o*n + j``; the scratch is overwritten."""
    x.terms[row] = n
    singles = 0  # kept at the beginning of the scratch, which has been read by then
    i = 0
    while i < n:
        o, first = key[i] // n_points, used[MIXED]
        at = first
        last = -1
        while i < n and key[i] // n_points == o:
            j = key[i] % n_points
            if j == last:
                x.mixed_weight[at - 1] += weight[i]
            else:
                x.mixed[at] = j
                x.mixed_weight[at] = weight[i]
                at += 1
                last = j
            i += 1
        if at == first + 1:
            key[singles] = x.mixed[first]
            weight[singles] = x.mixed_weight[first]
            singles += 1
        else:
            used[MIXED] = at
            used[GROUPS] += 1
            x.mixed_ptr[used[GROUPS]] = at
    sort_by_key(key, weight, singles)
    at = used[SINGLES]
    for i in range(singles):
        if i > 0 and key[i] == key[i - 1]:
            x.single_weight[at - 1] += weight[i]
        else:
            x.single[at] = key[i]
            x.single_weight[at] = weight[i]
            at += 1
    used[SINGLES] = at
    x.single_ptr[row + 1] = at
    x.group_ptr[row + 1] = used[GROUPS]


@kernel
def branch_states(
    m: ModelArrays, x: Branching, key: IntArray, weight: FloatArray, used: IntArray, first: int, last: int
) -> None:
    """Fill the rows of states first:last, which follow those that are filled: s' after o has weight P(s', o | s, a)."""
    n_states, n_actions = m.reward.shape
    for s in range(first, last):
        for a in range(n_actions):
            n = gather(m, s, a, key, weight)
            _write_row(x, s * n_actions + a, n_states, key, weight, n, used)


@kernel
def branch_beliefs(
    beliefs: Mixtures,
    n_elements: int,
    n_actions: int,
    x: Branching,
    key: IntArray,
    weight: FloatArray,
    used: IntArray,
    first: int,
    last: int,
) -> None:
    """Fill the rows of beliefs first:last: what followed element j after o has weight ``w_j P(o | j, a)``."""
    n_beliefs = beliefs.start.size - 1
    for b in range(first, last):
        for a in range(n_actions):
            n = gather_mixture(beliefs, n_elements, b, a, key, weight)
            _write_row(x, b * n_actions + a, n_beliefs, key, weight, n, used)
