"""The search over the store: upper and lower backups, and trials from the root.

A trial descends by the action with the largest upper bound and the successor that contributes most to the gap at the
root, backs up on the way down and again on the way up. Its target is a share of the current gap: a node at depth t is
left alone once its gap is at most ``target / γ^t``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import FloatArray
from ..jit import inner, kernel
from ..plans import Plans, plan_has_room
from .expansion import expand
from .interning import fill_products
from .plans import follow_best, refresh_lower
from .points import enlist_point, share_of_point
from .store import NONE, Scratch, Space, Store, best_action

DONE, FULL, CROWDED = 0, 1, 2
_MOST_POINTS = 64  # points that one look tests, the newest first
LONG = 3_000_000  # elementary steps after which a trial goes no deeper, so that the clock is looked at
_NESTING = 8  # rays followed one after the other to where a gap comes from


class Tuning(NamedTuple):
    """Parameters of the search."""

    share: float  # a deep trial's target, as a share of the current gap
    wide_share: float  # the same for the wide trials that take turns with the deep ones
    least_weight: float  # a ray is kept if it puts at least this weight on the prediction; above 1: no rays
    end_share: float  # the end of a ray is visited if it has this share of the excess
    least_gain: float  # a plan is made if it promises this share of the target more
    least_drop: float  # a belief becomes a point of the sawtooth if its bound fell by this share; above 1: none
    all_actions: bool  # expand every action of a visited belief, not only the best


@inner
def upper(store: Store, i: int) -> float:
    """The upper bound of belief i, by its ray too."""
    if store.info[i].base != NONE:
        weight = store.info[i].weight
        ray = weight * store.info[store.info[i].base].upper + (1.0 - weight) * store.info[store.info[i].tip].upper
        store.info[i].upper = min(store.info[i].upper, ray)
    return float(store.info[i].upper)


@inner
def test_points(store: Store, i: int) -> None:
    """Lower the upper bound of belief i by the sawtooth over the points of its class that are newer than the last look.

    ``b = φp + (1−φ)r`` with ``φ = min_{p(s)>0} b(s)/p(s)``, and ``V(r) ≤ max_a F_a·r`` for the informed bound's vectors
    F, hence ``V(b) ≤ max_a (F_a·b + φ (v_p − F_a·p))``: never looser than interpolation over the corners.
    """
    newest = store.newest[store.info[i].cls]
    k = newest
    left = _MOST_POINTS
    while k > store.info[i].seen_point and left > 0:
        left -= 1
        p = store.point[k]
        k = store.older[k]
        if p == i or store.info[p].size > store.info[i].size:
            continue
        phi = share_of_point(store, i, p)
        if phi > 0.0:
            v = store.info[p].upper
            bound = -np.inf
            for a in range(store.informed.shape[1]):
                bound = max(bound, store.informed[i, a] + phi * (v - store.informed[p, a]))
            store.info[i].upper = min(store.info[i].upper, bound)
    store.info[i].seen_point = newest


@inner
def make_point(store: Store, i: int, least_drop: float) -> None:
    """Let belief i serve as a point if its bound has come far enough from the informed to the lower bound."""
    informed = store.informed[i, best_action(store.informed[i])]
    if store.info[i].point != NONE or informed - store.info[i].upper <= least_drop * (informed - store.info[i].lower):
        return
    enlist_point(store, i)


@inner
def back_up_action(store: Store, discount: float, i: int, a: int) -> float:
    """Bound an expanded action from above: ``R(b, a) + γ Σ_o p(o) V(b')``.

    A posterior whose ray starts at b itself puts weight on V(b). Collected on the left side, the bound becomes
    ``V(b) ≤ (R + γ rest) / (1 − γ W)`` for the best action, hence for the largest such quotient.
    """
    total, self_weight = store.gain[i, a], 0.0
    first = store.edge[i, a]
    for e in range(first, first + store.degree[i, a]):
        child, p = store.edge_child[e], store.edge_prob[e]
        if store.info[child].base == i:
            weight, tip = store.info[child].weight, store.info[store.info[child].tip].upper
            if weight * store.info[i].upper + (1.0 - weight) * tip <= store.info[child].upper:
                total += discount * p * (1.0 - weight) * tip
                self_weight += discount * p * weight
                continue
        if child == i:
            self_weight += discount * p
            continue
        total += discount * p * upper(store, child)
    store.counts[0].upper_backups += 4 * store.degree[i, a]
    return float(total / (1.0 - self_weight))


@inner
def back_up_upper(store: Store, discount: float, i: int) -> int:
    """Lower the upper bound of belief i by its best action, recomputed until it is stable; return it.

    An action that is not expanded keeps its informed bound; if it is the best, there the bound stays.
    """
    q = store.q_hi[i]
    best = best_action(q)
    while store.edge[i, best] != NONE:
        value = back_up_action(store, discount, i, best)
        if value >= q[best]:  # bounds only fall; what does not fall is stable
            break
        q[best] = value
        following = best_action(q)
        if following == best:
            break
        best = following
    store.info[i].upper = min(store.info[i].upper, q[best])
    return best


@inner
def best_lower_action(store: Store, discount: float, i: int) -> tuple[int, float]:
    """The expanded action that promises most, and its promise ``R(b, a) + γ Σ_o p(o) lower(b')``."""
    best, promise = NONE, -np.inf
    for a in range(store.gain.shape[1]):
        if store.edge[i, a] == NONE:
            continue
        value = store.gain[i, a]
        for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
            value += discount * store.edge_prob[e] * store.info[store.edge_child[e]].lower
        store.counts[0].making_plans += store.degree[i, a]
        if value > promise:
            best, promise = a, value
    return best, promise


@inner
def back_up_lower(
    space: Space, store: Store, plans: Plans, scratch: Scratch, discount: float, i: int, least_gain: float
) -> int:
    """Make a plan for belief i if the best expanded action promises `least_gain` more than its lower bound."""
    refresh_lower(space, store, plans, i)
    a, promise = best_lower_action(store, discount, i)
    while a != NONE:
        for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
            refresh_lower(space, store, plans, store.edge_child[e])
        again, promise = best_lower_action(store, discount, i)
        if again == a:
            break
        a = again
    if promise <= store.info[i].lower + least_gain:
        return DONE
    if not plan_has_room(space, plans, store.counts, store.info[i].cls, a):
        return FULL
    follow_best(space, store, plans, scratch, discount, i, a)
    refresh_lower(space, store, plans, i)
    return DONE


@inner
def largest_excess(store: Store, i: int, a: int, target: float) -> int:
    """The successor that contributes most to the gap, or NONE if all are within `target`."""
    chosen, most = NONE, 0.0
    for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
        child = store.edge_child[e]
        excess = store.edge_prob[e] * (upper(store, child) - store.info[child].lower - target)
        if excess > most:
            chosen, most = child, excess
    return chosen


@inner
def next_belief(space: Space, store: Store, plans: Plans, i: int, a: int, target: float, end_share: float) -> int:
    """The belief that a trial visits after belief i and action a, or NONE if all successors are within `target`.

    If the successor owes its upper bound to a ray whose ends have their share of the excess, the end that weighs more
    is visited in its place: it is one of few, where posteriors are endless.
    """
    chosen = largest_excess(store, i, a, target)
    while chosen != NONE:
        refresh_lower(space, store, plans, chosen)
        again = largest_excess(store, i, a, target)
        if again == chosen:
            break
        chosen = again
    for _ in range(_NESTING):
        if chosen == NONE or store.info[chosen].base == NONE:
            break
        weight, base, tip = store.info[chosen].weight, store.info[chosen].base, store.info[chosen].tip
        by_ray = weight * store.info[base].upper + (1.0 - weight) * store.info[tip].upper
        if store.info[chosen].upper < by_ray - 1e-12 * (1.0 + abs(by_ray)):
            break
        refresh_lower(space, store, plans, base)
        refresh_lower(space, store, plans, tip)
        at_base = weight * (upper(store, base) - store.info[base].lower - target)
        at_tip = (1.0 - weight) * (upper(store, tip) - store.info[tip].lower - target)
        if base == i:
            at_base = 0.0  # where we are
        if max(at_base, at_tip) <= end_share * (store.info[chosen].upper - store.info[chosen].lower - target):
            break
        chosen = base if at_base > at_tip else tip
    return chosen


@inner
def work_done(store: Store) -> int:
    """All work so far."""
    done = store.counts[0]
    return int(done.making_beliefs + done.testing_plans + done.making_plans + done.upper_backups + done.testing_points)


@inner
def trial(
    space: Space,
    store: Store,
    plans: Plans,
    scratch: Scratch,
    discount: float,
    root: int,
    target: float,
    tuning: Tuning,
) -> int:
    """One trial from the root."""
    i, depth, enough = root, 0, work_done(store) + LONG
    limit = target
    least_gain = tuning.least_gain * target
    while i != NONE and depth < scratch.path.size:
        scratch.path[depth] = i
        depth += 1
        if tuning.least_drop < 1.0:
            test_points(store, i)
        if tuning.all_actions:
            for a in range(store.gain.shape[1]):
                if store.edge[i, a] == NONE and not expand(space, store, scratch, i, a, tuning.least_weight):
                    return FULL
        a = back_up_upper(store, discount, i)
        while store.edge[i, a] == NONE:
            if not expand(space, store, scratch, i, a, tuning.least_weight):
                return FULL
            a = back_up_upper(store, discount, i)
        if back_up_lower(space, store, plans, scratch, discount, i, least_gain) == FULL:
            return FULL
        if upper(store, i) - store.info[i].lower <= limit or work_done(store) > enough:
            break
        limit /= discount
        i = next_belief(space, store, plans, i, a, limit, tuning.end_share)
    for t in range(depth - 1, -1, -1):
        i = scratch.path[t]
        back_up_upper(store, discount, i)
        if tuning.least_drop < 1.0:
            make_point(store, i, tuning.least_drop)
        if back_up_lower(space, store, plans, scratch, discount, i, least_gain) == FULL:
            return FULL
    return DONE


@kernel
def search(
    space: Space,
    store: Store,
    plans: Plans,
    scratch: Scratch,
    discount: float,
    root: int,
    epsilon: float,
    tuning: Tuning,
    work: int,
    trials: int,
    most_plans: int,
) -> tuple[int, int]:
    """Trials until the root's gap is at most epsilon, `work` is done, room is short, or there are `most_plans`.

    `trials` counts those of the whole search. Return why the search paused, and the new count. What a search does
    depends on its own state alone, not on where it is paused.
    """
    stop = work_done(store) + work
    while work_done(store) < stop:
        gap = store.info[root].upper - store.info[root].lower
        if gap <= epsilon:
            break
        if store.counts[0].plans > most_plans:
            return CROWDED, trials
        store.counts[0].upper_backups += 1  # a trial that changes nothing is work too
        share = tuning.share if trials % 2 == 0 else tuning.wide_share
        if trial(space, store, plans, scratch, discount, root, max(epsilon, share * gap), tuning) == FULL:
            return FULL, trials
        trials += 1
    return DONE, trials


@kernel
def retarget(space: Space, store: Store, plans: Plans, weights: FloatArray, discount: float, rounds: int) -> None:
    """Take up another objective, already in ``space``: ``weights [1 + K]`` over reward and costs.

    Row 0 of every plan is made from its rows of reward and costs. Beliefs start from the informed bound again, and a
    few rounds of backups, the youngest first, carry what their edges and rays tell.
    """
    rows = space.gain.shape[0]
    for plan in range(store.counts[0].plans):
        cls = plans.info[plan].cls
        size = space.start[cls + 1] - space.start[cls]
        first = plans.info[plan].values
        for s in range(size):
            total = 0.0
            for row in range(1, rows):
                total += weights[row - 1] * plans.value[first + row * size + s]
            plans.value[first + s] = total
    for c in range(plans.newest.size):
        plans.newest[c] = NONE
    for plan in range(store.counts[0].plans):  # what was idle may be wanted now
        plans.info[plan].older = plans.newest[plans.info[plan].cls]
        plans.newest[plans.info[plan].cls] = plan
    for c in range(store.newest.size):
        store.newest[c] = NONE
    store.counts[0].points = 0
    for i in range(store.counts[0].beliefs):
        store.info[i].plan = NONE
        store.info[i].tested = NONE
        store.info[i].point = NONE
        store.info[i].seen_point = NONE
        fill_products(space, store, i)
    for _ in range(rounds):
        for i in range(store.counts[0].beliefs - 1, -1, -1):
            back_up_upper(store, discount, i)
            upper(store, i)
