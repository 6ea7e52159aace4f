"""The plan to follow at a belief with what is left of the budget, and the guide that may go before it.

A plan i covers the beliefs whose support is in its domain. It earns at least ``α_i·b`` and spends at most ``w_i``
whatever is observed, so with ``w_i ≤ d`` it may be followed from (b, d). Of a guide it is not known what it spends: its
first action may be taken if after every observation some plan can be paid by what is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import FloatArray, IndexArray, IntArray
from ..arrays import ModelArrays
from ..belief import clear, expectation, observation_probabilities, predict, update
from ..budget import left_after
from ..jit import inner, kernel

NONE = -1
ROUNDING = 1e-12  # relative difference of sure cost and budget that counts as none
BLOCK = 64  # plans of a domain that have a common bound


class PlanArrays(NamedTuple):
    """Plans in the order of their domains and, within one, of their first sure cost; belief nodes come last.

    Guides have an infinite sure cost, and so come after the plans of their domain.

    The values of domain i's n plans stand state by state, n numbers for each, from ``values_start[i]`` on; those of
    belief nodes, one number each, from ``values_start[m]`` on. The plans of a domain form blocks of `BLOCK`, the last
    one smaller. The largest value of each block stands state by state, too, from ``tops_start[i]`` on.
    """

    budget: FloatArray  # [K] at the start
    sure_cost: FloatArray  # [n, K] w
    domain: IntArray  # [n]; -1 at a belief node
    group: IntArray  # [m + 1] the plans of domain i are group[i]:group[i + 1], the belief nodes all from group[m] on
    guides: IntArray  # [m] the guides of domain i are guides[i]:group[i + 1]
    domain_start: IntArray  # [m + 1]
    domain_states: IntArray  # domain i is domain_start[i]:domain_start[i + 1]
    holder_start: IntArray  # [S + 1]
    holder: IntArray  # the domains that hold state s are holder_start[s]:holder_start[s + 1]
    values_start: IntArray  # [m + 1]
    tops_start: IntArray  # [m + 1]
    values: FloatArray
    tops: FloatArray


class PlanScratch(NamedTuple):
    """Working memory; ``acc`` is zero between calls."""

    score: FloatArray  # [n]
    place: IntArray  # [S]
    acc: FloatArray  # [S]
    touched: IndexArray  # [S]
    states: IndexArray  # [S] a belief that may follow
    probs: FloatArray  # [S]
    chance: FloatArray  # [O]
    left: FloatArray  # [K]
    guide: IntArray  # [A] the best guide of each action,
    guided: FloatArray  # [A] and its value


@kernel
def plan_scratch(n: int, n_states: int, n_actions: int, n_observations: int, n_costs: int) -> PlanScratch:
    """Working memory for n nodes."""
    return PlanScratch(
        np.empty(n),
        np.empty(n_states, dtype=np.int64),
        np.zeros(n_states),
        np.empty(n_states, dtype=np.int32),
        np.empty(n_states, dtype=np.int32),
        np.empty(n_states),
        np.empty(n_observations),
        np.empty(n_costs),
        np.empty(n_actions, dtype=np.int64),
        np.empty(n_actions),
    )


@inner
def is_guide(p: PlanArrays, node: int) -> bool:
    """True if nothing is known of what a node spends."""
    return bool(p.sure_cost.shape[1] > 0 and p.sure_cost[node, 0] == np.inf)


@inner
def _affordable(sure_cost: float, left: float) -> bool:
    return sure_cost <= left * (1.0 + ROUNDING)


@inner
def _places(p: PlanArrays, domain: int, states: IndexArray, place: IntArray) -> bool:
    """Write where each state stands in a domain; False if one does not."""
    first, last = p.domain_start[domain], p.domain_start[domain + 1]
    if last - first < states.size:
        return False
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
def _within(p: PlanArrays, domain: int, left: FloatArray) -> int:
    """Number of a domain's plans that the first cost does not rule out: they come first."""
    low, high = p.group[domain], p.guides[domain]
    if left.size == 0:
        return int(high - low)
    while low < high:
        middle = (low + high) // 2
        if _affordable(p.sure_cost[middle, 0], left[0]):
            low = middle + 1
        else:
            high = middle
    return int(low - p.group[domain])


@inner
def _others_fit(p: PlanArrays, node: int, left: FloatArray) -> bool:
    """True if all costs but the first can be paid."""
    for k in range(1, left.size):  # noqa: SIM110 - compiled code has no all()
        if not _affordable(p.sure_cost[node, k], left[k]):
            return False
    return True


@inner
def _fill_scores(
    p: PlanArrays, domain: int, first: int, last: int, size: int, probs: FloatArray, w: PlanScratch
) -> None:
    """Write ``α·b`` of a domain's nodes, the first-th to the last-th, for a belief whose places are known."""
    n = p.group[domain + 1] - p.group[domain]
    for j in range(first, last):
        w.score[j] = 0.0
    for i in range(size):
        start = p.values_start[domain] + w.place[i] * n
        row = p.values[start : start + last]
        for j in range(first, last):
            w.score[j] += probs[i] * row[j]


@kernel
def best_node(
    p: PlanArrays,
    node: int,
    value: float,
    left: FloatArray,
    states: IndexArray,
    probs: FloatArray,
    w: PlanScratch,
) -> int:
    """The plan within the budget that promises most at a belief, or ``node`` if none has more than ``value``.

    Plans that may spend more mostly promise more, so the last block comes first. A block is left out if its bound is
    no more than what is found. Of plans that promise as much as each other the first one of the first domain counts.
    """
    for h in range(p.holder_start[states[0]], p.holder_start[states[0] + 1]):
        domain = p.holder[h]
        within = _within(p, domain, left)
        if within == 0 or not _places(p, domain, states, w.place):
            continue
        n_blocks = (p.guides[domain] - p.group[domain] + BLOCK - 1) // BLOCK
        best = NONE
        for block in range((within - 1) // BLOCK, -1, -1):
            top = 0.0
            for i in range(states.size):
                top += probs[i] * p.tops[p.tops_start[domain] + w.place[i] * n_blocks + block]
            if top < value or (top == value and best == NONE):
                continue
            first, last = block * BLOCK, min((block + 1) * BLOCK, within)
            _fill_scores(p, domain, first, last, states.size, probs, w)
            for j in range(last - 1, first - 1, -1):
                is_better = w.score[j] > value or (w.score[j] == value and best != NONE)
                if is_better and _others_fit(p, p.group[domain] + j, left):
                    best, value = j, w.score[j]
        if best != NONE:
            node = p.group[domain] + best
    return int(node)


@inner
def _find_guides(p: PlanArrays, action: IntArray, states: IndexArray, probs: FloatArray, w: PlanScratch) -> None:
    """Write the guide of each action with the largest ``α·b`` into ``w.guide [A]``; NONE if none covers the belief."""
    w.guide[:] = NONE
    for h in range(p.holder_start[states[0]], p.holder_start[states[0] + 1]):
        domain = p.holder[h]
        first, last = p.guides[domain] - p.group[domain], p.group[domain + 1] - p.group[domain]
        if first == last or not _places(p, domain, states, w.place):
            continue
        _fill_scores(p, domain, first, last, states.size, probs, w)
        for j in range(first, last):
            node = p.group[domain] + j
            a = action[node]
            if w.guide[a] == NONE or w.score[j] > w.guided[a]:
                w.guide[a], w.guided[a] = node, w.score[j]


@inner
def _some_plan_fits(p: PlanArrays, left: FloatArray, states: IndexArray, place: IntArray) -> bool:
    """True if some plan covers a support and can be paid."""
    for h in range(p.holder_start[states[0]], p.holder_start[states[0] + 1]):
        domain = p.holder[h]
        within = _within(p, domain, left)
        if within > 0 and _places(p, domain, states, place):
            for j in range(within):
                if _others_fit(p, p.group[domain] + j, left):
                    return True
    return False


@kernel
def spend(m: ModelArrays, a: int, states: IndexArray, probs: FloatArray, left: FloatArray, out: FloatArray) -> None:
    """Write ``d' = (d − C(b, a)) / β`` into ``out [K]``, which may be ``left``; a rest that is only rounding is 0."""
    for k in range(left.size):
        spent = expectation(m.cost[k], a, states, probs)
        if left[k] < np.inf and abs(left[k] - spent) <= ROUNDING * left[k]:
            spent = left[k]  # or the rest would grow by 1/β a step until it pays for something
        out[k] = left_after(left[k], spent, m.cost_discount[k])


@inner
def _leaves_enough(
    m: ModelArrays, p: PlanArrays, a: int, left: FloatArray, states: IndexArray, probs: FloatArray, w: PlanScratch
) -> bool:
    """True if an action can be paid, and after every observation some plan by what is left."""
    for k in range(left.size):
        if expectation(m.cost[k], a, states, probs) > m.step_limit[k]:
            return False
    spend(m, a, states, probs, left, w.left)
    for k in range(left.size):
        if w.left[k] < 0.0:
            return False
    n = predict(m, states, probs, a, w.acc, w.touched)
    clear(w.acc, w.touched, n)
    if _some_plan_fits(p, w.left, w.touched[:n], w.place):  # whatever is observed
        return True
    observation_probabilities(m, states, probs, a, w.acc, w.touched, w.chance)
    for o in range(w.chance.size):
        if w.chance[o] > 0.0:
            size, _ = update(m, states, probs, a, o, w.acc, w.touched, w.states, w.probs)
            if not _some_plan_fits(p, w.left, w.states[:size], w.place):
                return False
    return True


@kernel
def follow(
    m: ModelArrays,
    p: PlanArrays,
    action: IntArray,
    node: int,
    left: FloatArray,
    states: IndexArray,
    probs: FloatArray,
    w: PlanScratch,
) -> int:
    """The node to go on with at a belief, where ``node`` is at hand whatever it costs, or NONE is.

    That is the best guide of those whose action leaves enough for a plan; without guides, or if none leaves enough, the
    plan that promises most of those within the budget, else ``node``.
    """
    _find_guides(p, action, states, probs, w)
    while True:
        guide = NONE
        for a in range(w.guide.size):
            if w.guide[a] != NONE and (guide == NONE or w.guided[a] > w.guided[guide]):
                guide = a
        if guide == NONE:
            break
        if _leaves_enough(m, p, guide, left, states, probs, w):
            return int(w.guide[guide])
        w.guide[guide] = NONE
    value = node_value(p, node, states, probs, w.place) if node != NONE else -np.inf
    return int(best_node(p, node, value, left, states, probs, w))
