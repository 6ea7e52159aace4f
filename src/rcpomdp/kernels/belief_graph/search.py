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
from .plans import OLDER, VALUES, Plans, add_plan, plan_has_room, refresh_lower
from .store import (
    BASE,
    BELIEFS,
    CLASS,
    HI,
    LO,
    MAKING_BELIEFS,
    MAKING_PLANS,
    NONE,
    PLAN,
    PLANS,
    POINT,
    POINTS,
    SEEN_POINT,
    SIZE,
    TESTED,
    TIP,
    UPPER_BACKUPS,
    WEIGHT,
    Scratch,
    Space,
    Store,
    best_action,
    enlist_point,
    expand,
    fill_products,
    share_of_point,
)

DONE, FULL, CROWDED = 0, 1, 2
_MOST_POINTS = 64  # points that one look tests, the newest first
_NESTING = 8  # rays followed one after the other to where a gap comes from


class Tuning(NamedTuple):
    """How the search goes about it."""

    share: float  # a deep trial's target, as a share of the current gap
    wide_share: float  # the same for the wide trials that take turns with the deep ones
    least_weight: float  # a ray is kept if it puts at least this weight on the prediction; above 1: no rays
    end_share: float  # the end of a ray is visited if it has this share of the excess
    least_gain: float  # a plan is made if it promises this share of the target more
    least_drop: float  # a belief becomes a point of the sawtooth if its bound fell by this share; above 1: none
    all_actions: bool  # expand every action of a visited belief, not only the best


@inner
def upper(b: Store, i: int) -> float:
    """The upper bound of belief i, by its ray too."""
    if b.info[i, BASE] != NONE:
        weight = b.value[i, WEIGHT]
        ray = weight * b.value[b.info[i, BASE], HI] + (1.0 - weight) * b.value[b.info[i, TIP], HI]
        b.value[i, HI] = min(b.value[i, HI], ray)
    return float(b.value[i, HI])


@inner
def test_points(b: Store, i: int) -> None:
    """Lower HI of belief i by the sawtooth over the points of its class that are newer than the last look.

    ``b = φp + (1−φ)r`` with ``φ = min_{p(s)>0} b(s)/p(s)``, and ``V(r) ≤ max_a F_a·r`` for the hint's vectors F, hence
    ``V(b) ≤ max_a (F_a·b + φ (v_p − F_a·p))``: never looser than interpolation over the corners.
    """
    newest = b.newest[b.info[i, CLASS]]
    k = newest
    left = _MOST_POINTS
    while k > b.info[i, SEEN_POINT] and left > 0:
        left -= 1
        p = b.point[k]
        k = b.older[k]
        if p == i or b.info[p, SIZE] > b.info[i, SIZE]:
            continue
        phi = share_of_point(b, i, p)
        if phi > 0.0:
            v = b.value[p, HI]
            bound = -np.inf
            for a in range(b.hint.shape[1]):
                bound = max(bound, b.hint[i, a] + phi * (v - b.hint[p, a]))
            b.value[i, HI] = min(b.value[i, HI], bound)
    b.info[i, SEEN_POINT] = newest


@inner
def make_point(b: Store, i: int, least_drop: float) -> None:
    """Let belief i serve as a point if its bound has come down enough from the hint towards its lower bound."""
    hint = b.hint[i, best_action(b.hint[i])]
    if b.info[i, POINT] != NONE or hint - b.value[i, HI] <= least_drop * (hint - b.value[i, LO]):
        return
    enlist_point(b, i)


@inner
def back_up_action(b: Store, discount: float, i: int, a: int) -> float:
    """Bound an expanded action from above: ``R(b, a) + γ Σ_o p(o) V(b')``.

    A posterior whose ray starts at b itself puts weight on V(b). Collected on the left side, the bound becomes
    ``V(b) ≤ (R + γ rest) / (1 − γ W)`` for the best action, hence for the largest such quotient.
    """
    total, self_weight = b.gain[i, a], 0.0
    first = b.edge[i, a]
    for e in range(first, first + b.degree[i, a]):
        child, p = b.edge_child[e], b.edge_prob[e]
        if b.info[child, BASE] == i:
            weight, tip = b.value[child, WEIGHT], b.value[b.info[child, TIP], HI]
            if weight * b.value[i, HI] + (1.0 - weight) * tip <= b.value[child, HI]:
                total += discount * p * (1.0 - weight) * tip
                self_weight += discount * p * weight
                continue
        if child == i:
            self_weight += discount * p
            continue
        total += discount * p * upper(b, child)
    b.used[UPPER_BACKUPS] += 4 * b.degree[i, a]
    return float(total / (1.0 - self_weight))


@inner
def back_up_upper(b: Store, discount: float, i: int) -> int:
    """Lower HI of belief i by its best action, recomputed until it is stable; return it.

    An action that is not expanded keeps its hint; if it is the best, there the bound stays.
    """
    q = b.q_hi[i]
    best = best_action(q)
    while b.edge[i, best] != NONE:
        value = back_up_action(b, discount, i, best)
        if value >= q[best]:  # bounds only fall; what does not fall is stable
            break
        q[best] = value
        following = best_action(q)
        if following == best:
            break
        best = following
    b.value[i, HI] = min(b.value[i, HI], q[best])
    return best


@inner
def best_lower_action(b: Store, discount: float, i: int) -> tuple[int, float]:
    """The expanded action that promises most, and its promise ``R(b, a) + γ Σ_o p(o) LO(b')``."""
    best, promise = NONE, -np.inf
    for a in range(b.gain.shape[1]):
        if b.edge[i, a] == NONE:
            continue
        value = b.gain[i, a]
        for e in range(b.edge[i, a], b.edge[i, a] + b.degree[i, a]):
            value += discount * b.edge_prob[e] * b.value[b.edge_child[e], LO]
        b.used[MAKING_PLANS] += b.degree[i, a]
        if value > promise:
            best, promise = a, value
    return best, promise


@inner
def back_up_lower(x: Space, b: Store, g: Plans, w: Scratch, discount: float, i: int, least_gain: float) -> int:
    """Make a plan for belief i if the best expanded action promises more than LO by `least_gain`."""
    refresh_lower(x, b, g, i)
    a, promise = best_lower_action(b, discount, i)
    while a != NONE:
        for e in range(b.edge[i, a], b.edge[i, a] + b.degree[i, a]):
            refresh_lower(x, b, g, b.edge_child[e])
        again, promise = best_lower_action(b, discount, i)
        if again == a:
            break
        a = again
    if promise <= b.value[i, LO] + least_gain:
        return DONE
    if not plan_has_room(x, b, g, b.info[i, CLASS], a):
        return FULL
    add_plan(x, b, g, w, discount, i, a)
    refresh_lower(x, b, g, i)
    return DONE


@inner
def largest_excess(b: Store, i: int, a: int, target: float) -> int:
    """The successor that contributes most to the gap, or NONE if all are within `target`."""
    chosen, most = NONE, 0.0
    for e in range(b.edge[i, a], b.edge[i, a] + b.degree[i, a]):
        child = b.edge_child[e]
        excess = b.edge_prob[e] * (upper(b, child) - b.value[child, LO] - target)
        if excess > most:
            chosen, most = child, excess
    return chosen


@inner
def next_belief(x: Space, b: Store, g: Plans, i: int, a: int, target: float, end_share: float) -> int:
    """Where a trial goes from belief i under action a, or NONE if all successors are within `target`.

    If the successor owes its upper bound to a ray whose ends have their share of the excess, the end that weighs more
    is visited in its place: it is one of few, where posteriors are endless.
    """
    chosen = largest_excess(b, i, a, target)
    while chosen != NONE:
        refresh_lower(x, b, g, chosen)
        again = largest_excess(b, i, a, target)
        if again == chosen:
            break
        chosen = again
    for _ in range(_NESTING):
        if chosen == NONE or b.info[chosen, BASE] == NONE:
            break
        weight, base, tip = b.value[chosen, WEIGHT], b.info[chosen, BASE], b.info[chosen, TIP]
        by_ray = weight * b.value[base, HI] + (1.0 - weight) * b.value[tip, HI]
        if b.value[chosen, HI] < by_ray - 1e-12 * (1.0 + abs(by_ray)):
            break
        refresh_lower(x, b, g, base)
        refresh_lower(x, b, g, tip)
        at_base = weight * (upper(b, base) - b.value[base, LO] - target)
        at_tip = (1.0 - weight) * (upper(b, tip) - b.value[tip, LO] - target)
        if base == i:
            at_base = 0.0  # where we are
        if max(at_base, at_tip) <= end_share * (b.value[chosen, HI] - b.value[chosen, LO] - target):
            break
        chosen = base if at_base > at_tip else tip
    return chosen


@inner
def trial(x: Space, b: Store, g: Plans, w: Scratch, discount: float, root: int, target: float, tuning: Tuning) -> int:
    """One trial from the root."""
    i, depth = root, 0
    limit = target
    least_gain = tuning.least_gain * target
    while i != NONE and depth < w.path.size:
        w.path[depth] = i
        depth += 1
        if tuning.least_drop < 1.0:
            test_points(b, i)
        if tuning.all_actions:
            for a in range(b.gain.shape[1]):
                if b.edge[i, a] == NONE and not expand(x, b, w, i, a, tuning.least_weight):
                    return FULL
        a = back_up_upper(b, discount, i)
        while b.edge[i, a] == NONE:
            if not expand(x, b, w, i, a, tuning.least_weight):
                return FULL
            a = back_up_upper(b, discount, i)
        if back_up_lower(x, b, g, w, discount, i, least_gain) == FULL:
            return FULL
        if upper(b, i) - b.value[i, LO] <= limit:
            break
        limit /= discount
        i = next_belief(x, b, g, i, a, limit, tuning.end_share)
    for t in range(depth - 1, -1, -1):
        i = w.path[t]
        back_up_upper(b, discount, i)
        if tuning.least_drop < 1.0:
            make_point(b, i, tuning.least_drop)
        if back_up_lower(x, b, g, w, discount, i, least_gain) == FULL:
            return FULL
    return DONE


@inner
def work_done(b: Store) -> int:
    """All work so far."""
    total = 0
    for k in range(MAKING_BELIEFS, b.used.size):
        total += b.used[k]
    return total


@kernel
def search(
    x: Space,
    b: Store,
    g: Plans,
    w: Scratch,
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
    stop = work_done(b) + work
    while work_done(b) < stop:
        gap = b.value[root, HI] - b.value[root, LO]
        if gap <= epsilon:
            break
        if b.used[PLANS] > most_plans:
            return CROWDED, trials
        b.used[UPPER_BACKUPS] += 1  # a trial that changes nothing is work too
        share = tuning.share if trials % 2 == 0 else tuning.wide_share
        if trial(x, b, g, w, discount, root, max(epsilon, share * gap), tuning) == FULL:
            return FULL, trials
        trials += 1
    return DONE, trials


@kernel
def retarget(x: Space, b: Store, g: Plans, weights: FloatArray, discount: float, rounds: int) -> None:
    """Take up another objective, whose gain and hint are in x already: ``weights [1 + K]`` over reward and costs.

    Row 0 of every plan is made from its rows of reward and costs. Beliefs start from the hint again, and a few rounds
    of backups, the youngest first, carry what their edges and rays tell.
    """
    rows = x.gain.shape[0]
    for plan in range(b.used[PLANS]):
        cls = g.info[plan, CLASS]
        size = x.start[cls + 1] - x.start[cls]
        first = g.info[plan, VALUES]
        for s in range(size):
            total = 0.0
            for row in range(1, rows):
                total += weights[row - 1] * g.value[first + row * size + s]
            g.value[first + s] = total
    for c in range(g.newest.size):
        g.newest[c] = NONE
    for plan in range(b.used[PLANS]):  # what was idle may be wanted now
        g.info[plan, OLDER] = g.newest[g.info[plan, CLASS]]
        g.newest[g.info[plan, CLASS]] = plan
    for c in range(b.newest.size):
        b.newest[c] = NONE
    b.used[POINTS] = 0
    for i in range(b.used[BELIEFS]):
        b.info[i, PLAN] = NONE
        b.info[i, TESTED] = NONE
        b.info[i, POINT] = NONE
        b.info[i, SEEN_POINT] = NONE
        fill_products(x, b, i)
    for _ in range(rounds):
        for i in range(b.used[BELIEFS] - 1, -1, -1):
            back_up_upper(b, discount, i)
            upper(b, i)
