"""The plan to follow at a belief with what is left of the budget.

A plan i covers the beliefs whose support is in its domain. It earns at least ``α_i·b`` and spends at most ``w_i``
whatever is observed, so with ``w_i ≤ d`` it may be followed from (b, d).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import FloatArray, IndexArray, IntArray
from ..arrays import ModelArrays
from ..belief import expectation
from ..budget import left_after
from ..jit import inner, kernel

ROUNDING = 1e-12  # relative difference of sure cost and budget that counts as none


class PlanArrays(NamedTuple):
    """Plans in the order of their domains and, within one, of their first sure cost; belief nodes come last.

    The values of domain i's n plans stand state by state, n numbers for each, from ``values_start[i]`` on; those of
    belief nodes, one number each, from ``values_start[m]`` on.
    """

    budget: FloatArray  # [K] at the start
    sure_cost: FloatArray  # [n, K] w
    domain: IntArray  # [n]; -1 at a belief node
    group: IntArray  # [m + 1] the plans of domain i are group[i]:group[i + 1], the belief nodes all from group[m] on
    domain_start: IntArray  # [m + 1]
    domain_states: IntArray  # domain i is domain_start[i]:domain_start[i + 1]
    holder_start: IntArray  # [S + 1]
    holder: IntArray  # the domains that hold state s are holder_start[s]:holder_start[s + 1]
    values_start: IntArray  # [m + 1]
    values: FloatArray


@inner
def _affordable(sure_cost: float, left: float) -> bool:
    return sure_cost <= left * (1.0 + ROUNDING)


@inner
def _places(p: PlanArrays, domain: int, states: IndexArray, place: IntArray) -> bool:
    """Write where each state stands in a domain; False if one does not."""
    first, last = p.domain_start[domain], p.domain_start[domain + 1]
    at = first
    for i in range(states.size):
        while at < last and p.domain_states[at] < states[i]:
            at += 1
        if at == last or p.domain_states[at] != states[i]:
            return False
        place[i] = at - first
    return True


@kernel
def node_value(p: PlanArrays, node: int, states: IndexArray, probs: FloatArray, place: IntArray) -> float:
    """Value that a node promises at a belief: ``α·b``, −inf where its domain does not hold the belief."""
    domain = p.domain[node]
    if domain < 0:
        return float(p.values[p.values_start[-1] + node - p.group[-1]])
    if not _places(p, domain, states, place):
        return -np.inf
    n = p.group[domain + 1] - p.group[domain]
    first = p.values_start[domain] + node - p.group[domain]
    total = 0.0
    for i in range(states.size):
        total += probs[i] * p.values[first + place[i] * n]
    return total


@inner
def _within(p: PlanArrays, first: int, last: int, left: FloatArray) -> int:
    """Number of a domain's plans that the first cost does not rule out: they come first."""
    if left.size == 0:
        return last - first
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if _affordable(p.sure_cost[middle, 0], left[0]):
            low = middle + 1
        else:
            high = middle
    return low - first


@kernel
def best_node(
    p: PlanArrays,
    node: int,
    value: float,
    left: FloatArray,
    states: IndexArray,
    probs: FloatArray,
    score: FloatArray,
    place: IntArray,
) -> int:
    """The plan that promises most at a belief of those within the budget, or ``node`` if none has more than ``value``.

    ``score`` and ``place`` are scratch.
    """
    for h in range(p.holder_start[states[0]], p.holder_start[states[0] + 1]):
        domain = p.holder[h]
        if not _places(p, domain, states, place):
            continue
        first, last = p.group[domain], p.group[domain + 1]
        n = last - first
        within = _within(p, first, last, left)
        for j in range(within):
            score[j] = 0.0
        for i in range(states.size):
            start = p.values_start[domain] + place[i] * n
            row = p.values[start : start + within]
            for j in range(within):
                score[j] += probs[i] * row[j]
        for j in range(within):
            if score[j] > value:
                good = True
                for k in range(1, left.size):
                    good = good and _affordable(p.sure_cost[first + j, k], left[k])
                if good:
                    node, value = first + j, score[j]
    return int(node)


@kernel
def follow(
    p: PlanArrays,
    node: int,
    left: FloatArray,
    states: IndexArray,
    probs: FloatArray,
    score: FloatArray,
    place: IntArray,
) -> int:
    """The node to go on with at a belief, where ``node`` is at hand whatever it costs."""
    return best_node(p, node, node_value(p, node, states, probs, place), left, states, probs, score, place)


@kernel
def spend(m: ModelArrays, a: int, states: IndexArray, probs: FloatArray, left: FloatArray, out: FloatArray) -> None:
    """Write ``d' = (d − C(b, a)) / β`` into ``out [K]``, which may be ``left``; a rest that is only rounding is 0."""
    for k in range(left.size):
        spent = expectation(m.cost[k], a, states, probs)
        if left[k] < np.inf and abs(left[k] - spent) <= ROUNDING * left[k]:
            spent = left[k]  # or the rest would grow by 1/β a step until it pays for something
        out[k] = left_after(left[k], spent, m.cost_discount[k])
