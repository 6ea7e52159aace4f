"""Upper bounds under a budget: vectors over budget levels (`kernels.arcs.levels`), one per belief.

Two bounds are kept at every belief:

- ``upper[l] ≥ V*(b, d_l)``, by backups in which an action spends ``C(b, a)``;
- ``hi[j, l] ≥ V̄_j(b, d_l)``, the optimal value of ``R − λ_j·C`` when an action spends only the least cost of the
  belief's class. The budget left then depends on the history alone, not on b, so V̄_j(·, d) is convex on a class, and
  rays bound it; and ``V*(b, d) ≤ V̄_j(b, d) + λ_j·d``. ``lo[j, l]`` is what is known of V̄_j from below; it only
  guides the search.

``least`` bounds M(b), the least budget that suffices, from below: ``M(b) = min_a C(b, a) + γ max_o M(b')``.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..belief_graph.store import (
    BASE,
    CLASS,
    HI,
    NONE,
    POINT,
    PROBS,
    SIZE,
    STATES,
    TIP,
    UPPER_BACKUPS,
    WEIGHT,
    Space,
    Store,
    enlist_point,
    share_of_point,
)
from ..jit import inner
from .courses import Courses
from .levels import SNAP, Bounds, Levels, LevelScratch, fill_map, priced_gain
from .rows import AT_TIP, HERE, apply_ray, hi_at, hint_of, plain_at, plain_row, row_above, row_below

EXACT = -1  # mode of what is not within a relaxation
MOST_POINTS = 16  # points that one look tests, the newest first
MOVE = 1e-9  # least change of a bound that counts as one
# Rows of LevelScratch; OWN is the weight that a backup puts on the belief itself at the same level
Q, Q_LO, BEST, BEST_LO, OWN = range(5)


@inner
def fill_hints(b: Store, v: Levels, y: Bounds, i: int, j: int) -> None:
    """Write a belief's products with the hints of relaxation j, which is not the first."""
    products = y.hint[i, j - 1]
    for a in range(products.size):
        products[a] = 0.0
    states, probs = b.info[i, STATES], b.info[i, PROBS]
    for t in range(b.info[i, SIZE]):
        p, hint = b.prob[probs + t], v.hint[j, b.state[states + t]]
        for a in range(products.size):
            products[a] += p * hint[a]


@inner
def fill_bounds(x: Space, b: Store, v: Levels, y: Bounds, i: int) -> None:
    """Give a new belief its products. It has no row yet; the store's objective is the reward."""
    m = x.model
    n_actions, n_costs = b.gain.shape[1], v.n.size
    pair = b.info[i, CLASS] * n_actions
    states, probs, size = b.info[i, STATES], b.info[i, PROBS], b.info[i, SIZE]
    for a in range(n_actions):
        for k in range(n_costs):
            y.cost[i, k, a] = v.floor[pair + a, k]
            if x.peak[b.info[i, CLASS], a, k] > v.floor[pair + a, k]:  # else all states of the class cost the same
                cost = 0.0
                for t in range(size):
                    cost += b.prob[probs + t] * m.cost[k, b.state[states + t], a]
                y.cost[i, k, a] = cost
    for j in range(1, v.price.shape[0]):
        fill_hints(b, v, y, i, j)
    for k in range(n_costs):
        y.least[i, k] = 0.0
        if v.cost_hint.shape[1] > 0:
            least = np.inf
            for a in range(n_actions):
                expected = 0.0
                for t in range(size):
                    expected += b.prob[probs + t] * v.cost_hint[k, b.state[states + t], a]
                least = min(least, expected)
            y.least[i, k] = least
    y.row[i] = NONE


@inner
def test_points(b: Store, v: Levels, y: Bounds, i: int, j: int, level: int) -> None:
    """Lower one bound of belief i by the sawtooth over the newest points of its class: they are convex.

    As `search.test_points`: ``V̄(b) ≤ max_a (F_a·b + φ (v_p − F_a·p))`` for a point p with ``φ = min b(s)/p(s)``.
    """
    row = y.row[i]
    k, left = b.newest[b.info[i, CLASS]], MOST_POINTS
    while k != NONE and left > 0:
        left -= 1
        p = b.point[k]
        k = b.older[k]
        if p == i or b.info[p, SIZE] > b.info[i, SIZE]:
            continue
        phi = share_of_point(b, i, p)
        if phi > 0.0:
            bound = -np.inf
            for a in range(b.gain.shape[1]):
                drop = plain_at(b, v, y, p, j, level) - hint_of(b, y, p, j, a)
                bound = max(bound, hint_of(b, y, i, j, a) + phi * drop)
            y.hi[row, j, level] = min(y.hi[row, j, level], bound)


@inner
def make_point(b: Store, y: Bounds, i: int, j: int, level: int, least_drop: float) -> None:
    """Let belief i serve as a point if a bound has come down enough from its hint towards what is known."""
    hint, row = -np.inf, y.row[i]
    for a in range(b.gain.shape[1]):
        hint = max(hint, hint_of(b, y, i, j, a))
    if b.info[i, POINT] != NONE or hint - y.hi[row, j, level] <= least_drop * (hint - y.lo[row, j, level]):
        return
    enlist_point(b, i)


@inner
def lower_monotone(v: Levels, bound: FloatArray) -> None:
    """No level is worth more than one with more budget."""
    if not v.monotone:
        return
    for k in range(v.n.size):
        stride = v.stride[k]
        for level in range(bound.size - 1, -1, -1):
            if v.part_of[k, level] < v.n[k] - 1:
                bound[level] = min(bound[level], bound[level + stride])


@inner
def raise_monotone(v: Levels, bound: FloatArray) -> None:
    """No level is worth less than one with less budget."""
    if not v.monotone:
        return
    for k in range(v.n.size):
        stride = v.stride[k]
        for level in range(bound.size):
            if v.part_of[k, level] > 0:
                bound[level] = max(bound[level], bound[level - stride])


@inner
def back_up_relaxed(  # noqa: PLR0912, PLR0915 - flat loops over levels, which is what the compiler makes fast
    b: Store, v: Levels, y: Bounds, c: Courses, z: LevelScratch, discount: float, i: int, j: int
) -> bool:
    """Back up relaxation j of belief i at all levels, from above and below; return whether a bound moved."""
    n_actions = b.gain.shape[1]
    here = y.hi[y.row[i], j]
    apply_ray(b, v, y, i, j, here)
    q, q_lo, best, best_lo, own = z.row[Q], z.row[Q_LO], z.row[BEST], z.row[BEST_LO], z.row[OWN]
    for level in range(best.size):
        best[level] = -np.inf
        best_lo[level] = -np.inf
    for a in range(n_actions):
        after = v.after[v.which[b.info[i, CLASS] * n_actions + a]]
        first = b.edge[i, a]
        if first == NONE:
            hint = hint_of(b, y, i, j, a)
            for level in range(after.size):
                if after[level] != NONE:
                    best[level] = max(best[level], hint)
            continue
        gain = priced_gain(b, v, y, i, a, j)
        for level in range(q.size):
            q[level] = gain
            q_lo[level] = gain
            own[level] = 0.0
        for e in range(first, first + b.degree[i, a]):
            child, p = b.edge_child[e], discount * b.edge_prob[e]
            hi, lo = y.hi[row_above(b, v, y, child, j), j], y.lo[row_below(b, v, y, c, child, j), j]
            from_here = child == i or b.info[child, BASE] == i
            weight, at_tip = b.value[child, WEIGHT], here
            if from_here and child != i:
                at_tip = y.hi[plain_row(b, v, y, b.info[child, TIP], j, AT_TIP), j]
            for level in range(after.size):
                to = after[level]
                if to == NONE:
                    continue
                q_lo[level] += p * lo[to]
                if to == level and from_here:
                    # What a backup puts on the belief itself is collected on the other side.
                    if child == i:
                        own[level] += p
                        continue
                    by_ray = weight * here[to] + (1.0 - weight) * at_tip[to]
                    if by_ray <= hi[to]:
                        own[level] += p * weight
                        q[level] += p * (1.0 - weight) * at_tip[to]
                        continue
                q[level] += p * hi[to]
        b.used[UPPER_BACKUPS] += after.size * b.degree[i, a] // 4
        for level in range(after.size):
            if after[level] != NONE:
                best[level] = max(best[level], q[level] / (1.0 - own[level]))
                best_lo[level] = max(best_lo[level], q_lo[level])
    hi, lo = here, y.lo[y.row[i], j]
    moved = False
    for level in range(hi.size):
        if best[level] < hi[level]:
            moved = moved or best[level] < hi[level] - MOVE
            hi[level] = best[level]
        if best_lo[level] > lo[level]:
            moved = moved or best_lo[level] > lo[level] + MOVE
            lo[level] = best_lo[level]
    lower_monotone(v, hi)
    raise_monotone(v, lo)
    return moved


@inner
def needs(b: Store, y: Bounds, discount: float, i: int, a: int, need: FloatArray) -> None:
    """Write what action a needs at least: ``C(b, a) + γ max_o M_lo(b')``."""
    for k in range(need.size):
        worst = 0.0
        if b.edge[i, a] != NONE:
            for e in range(b.edge[i, a], b.edge[i, a] + b.degree[i, a]):
                worst = max(worst, y.least[b.edge_child[e], k])
        need[k] = y.cost[i, k, a] + discount * worst


@inner
def back_up_least(b: Store, y: Bounds, z: LevelScratch, discount: float, i: int) -> bool:
    """Raise M_lo of belief i; whether it moved."""
    for k in range(z.need.size):
        z.rest[k] = np.inf
    for a in range(b.gain.shape[1]):
        needs(b, y, discount, i, a, z.need)
        for k in range(z.need.size):
            z.rest[k] = min(z.rest[k], z.need[k])
    moved = False
    for k in range(z.need.size):
        moved = moved or z.rest[k] > y.least[i, k] * (1.0 + MOVE)
        y.least[i, k] = max(y.least[i, k], z.rest[k])
    return moved


@inner
def bound_at(b: Store, v: Levels, y: Bounds, i: int, level: int, worth: FloatArray) -> float:
    """The least upper bound of belief i at a level, when what is left is worth ``worth [J]``."""
    bound = y.upper[y.row[i], level] if y.row[i] != NONE else np.inf
    for j in range(worth.size):
        bound = min(bound, hi_at(b, v, y, i, j, level) + min(worth[j], v.worth[j, level]))
    return float(bound)


@inner
def find_map(b: Store, v: Levels, y: Bounds, z: LevelScratch, discount: float, i: int, a: int) -> int:
    """The row of `after` that says where action a leads from belief i; if it is in none, NONE, and written to z.map."""
    needs(b, y, discount, i, a, z.need)
    pair = b.info[i, CLASS] * b.gain.shape[1] + a
    as_class = True
    for k in range(z.need.size):
        z.rest[k] = y.cost[i, k, a]
        if z.need[k] - v.floor[pair, k] > SNAP * v.floor[pair, k]:
            as_class = False
    if as_class:  # the belief spends what its whole class does
        return int(v.which[pair])
    fill_map(v, z.rest, z.need, discount, z.part, z.map)
    return NONE


@inner
def back_up_exact(  # noqa: PLR0912 - as above
    b: Store, v: Levels, y: Bounds, z: LevelScratch, discount: float, i: int
) -> bool:
    """Back up the bound of belief i at all levels: ``max_a R + γ Σ_o p(o) upper(b', (d − C)/γ)``; whether it moved."""
    n_actions, n_relaxed = b.gain.shape[1], v.price.shape[0]
    q, bound, best = z.row[Q], z.row[Q_LO], z.row[BEST]
    for level in range(best.size):
        best[level] = -np.inf
    for a in range(n_actions):
        row = find_map(b, v, y, z, discount, i, a)
        after = z.map if row == NONE else v.after[row]
        first = b.edge[i, a]
        if first == NONE:
            for j in range(n_relaxed):
                hint, worth = hint_of(b, y, i, j, a), v.worth[j]
                for level in range(after.size):
                    q[level] = hint + worth[level] if j == 0 else min(q[level], hint + worth[level])
        else:
            for level in range(q.size):
                q[level] = b.gain[i, a]
            for e in range(first, first + b.degree[i, a]):
                child, p = b.edge_child[e], discount * b.edge_prob[e]
                upper = y.upper[max(y.row[child], HERE)]
                for level in range(after.size):
                    bound[level] = upper[after[level]] if after[level] != NONE else -np.inf
                for j in range(n_relaxed):
                    spent = 0.0
                    for k in range(z.rest.size):
                        spent += v.price[j, k] * y.cost[i, k, a]
                    hi, worth, factor = y.hi[row_above(b, v, y, child, j), j], v.worth[j], 1.0 / discount
                    for level in range(after.size):
                        to = after[level]
                        if to != NONE:
                            left = min(worth[to], (worth[level] - spent) * factor)
                            bound[level] = min(bound[level], hi[to] + left)
                for level in range(after.size):
                    q[level] += p * bound[level]
            b.used[UPPER_BACKUPS] += after.size * b.degree[i, a] // 4
        for level in range(after.size):
            if after[level] != NONE:
                best[level] = max(best[level], q[level])
    upper = y.upper[y.row[i]]
    moved = False
    for j in range(n_relaxed):
        hi, worth = y.hi[y.row[i], j], v.worth[j]
        for level in range(upper.size):
            best[level] = min(best[level], hi[level] + worth[level])
    for level in range(upper.size):
        if best[level] < upper[level]:
            moved = moved or best[level] < upper[level] - MOVE
            upper[level] = best[level]
    lower_monotone(v, upper)
    return moved


@inner
def back_up(b: Store, v: Levels, y: Bounds, c: Courses, z: LevelScratch, discount: float, i: int, mode: int) -> bool:
    """Back up belief i in the relaxation that is the mode, or if it is none everywhere; whether a bound moved."""
    moved = False
    for j in range(v.price.shape[0]):
        if v.relaxed and (mode < 0 or mode == j):
            moved = back_up_relaxed(b, v, y, c, z, discount, i, j) or moved
    if mode >= 0:
        return moved
    b.value[i, HI] = min(b.value[i, HI], y.hi[y.row[i], 0, y.upper.shape[1] - 1])
    moved = back_up_least(b, y, z, discount, i) or moved
    return back_up_exact(b, v, y, z, discount, i) or moved
