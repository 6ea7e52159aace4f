"""Upper bounds under a budget: vectors over budget levels (`kernels.arcs.levels`), one per belief.

Two bounds are kept at every belief:

- ``upper[l] ≥ V*(b, d_l)``, by backups in which an action spends ``C(b, a)``;
- ``hi[j, l] ≥ V̄_j(b, d_l)``, the optimal value of ``R − λ_j·C`` when an action spends only the least cost of the
  belief's class. The budget left then depends on the history alone, not on b, so V̄_j(·, d) is convex on a class, and
  rays bound it; and ``V*(b, d) ≤ V̄_j(b, d) + λ_j·d``. ``lo[j, l]`` is what is known of V̄_j from below; it only
  guides the search.

``least`` bounds M(b), the least budget that suffices, from below: ``M(b) = min_a C(b, a) + β max_o M(b')``, over the
actions whose step does not cost more than a step may.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..belief_graph.points import enlist_point, share_of_point
from ..belief_graph.store import NONE, Space, Store
from ..budget import CostRules
from ..jit import inner
from .belief_plans import BeliefPlans
from .levels import SNAP, Bounds, Levels, LevelScratch, fill_map, relaxed_gain
from .rows import AT_TIP, HERE, apply_ray, hi_at, informed_of, plain_at, plain_row, row_above, row_below

EXACT = -1  # mode of what is not within a relaxation
MOST_POINTS = 16  # points that one look tests, the newest first
MOVE = 1e-9  # least change of a bound that counts as one
# Rows of LevelScratch; OWN is the weight that a backup puts on the belief itself at the same level
Q, Q_LO, BEST, BEST_LO, OWN = range(5)


@inner
def fill_informed(store: Store, levels: Levels, bounds: Bounds, i: int, j: int) -> None:
    """Write a belief's products with the informed bounds of relaxation j, which is not the first."""
    products = bounds.informed[i, j - 1]
    for a in range(products.size):
        products[a] = 0.0
    states, probs = store.info[i].states, store.info[i].probs
    for t in range(store.info[i].size):
        p, informed = store.prob[probs + t], levels.informed[j, store.state[states + t]]
        for a in range(products.size):
            products[a] += p * informed[a]


@inner
def fill_bounds(space: Space, store: Store, levels: Levels, bounds: Bounds, i: int) -> None:
    """Give a new belief its products. It has no row yet; the store's objective is the reward."""
    model = space.model
    n_actions, n_costs = store.gain.shape[1], levels.n.size
    pair = store.info[i].cls * n_actions
    states, probs, size = store.info[i].states, store.info[i].probs, store.info[i].size
    for a in range(n_actions):
        for k in range(n_costs):
            bounds.cost[i, k, a] = levels.floor[pair + a, k]
            if (
                space.peak[store.info[i].cls, a, k] > levels.floor[pair + a, k]
            ):  # else all states of the class cost the same
                cost = 0.0
                for t in range(size):
                    cost += store.prob[probs + t] * model.cost[k, store.state[states + t], a]
                bounds.cost[i, k, a] = cost
    for j in range(1, levels.multiplier.shape[0]):
        fill_informed(store, levels, bounds, i, j)
    for k in range(n_costs):
        bounds.least[i, k] = 0.0
        if levels.least_cost.shape[1] > 0:
            least = np.inf
            for a in range(n_actions):
                expected = 0.0
                for t in range(size):
                    expected += store.prob[probs + t] * levels.least_cost[k, store.state[states + t], a]
                least = min(least, expected)
            bounds.least[i, k] = least
    bounds.row[i] = NONE


@inner
def test_points(store: Store, levels: Levels, bounds: Bounds, i: int, j: int, level: int) -> None:
    """Lower one bound of belief i by the sawtooth over the newest points of its class: they are convex.

    As `search.test_points`: ``V̄(b) ≤ max_a (F_a·b + φ (v_p − F_a·p))`` for a point p with ``φ = min b(s)/p(s)``.
    """
    row = bounds.row[i]
    k, left = store.newest[store.info[i].cls], MOST_POINTS
    while k != NONE and left > 0:
        left -= 1
        p = store.point[k]
        k = store.older[k]
        if p == i or store.info[p].size > store.info[i].size:
            continue
        phi = share_of_point(store, i, p)
        if phi > 0.0:
            bound = -np.inf
            for a in range(store.gain.shape[1]):
                drop = plain_at(store, levels, bounds, p, j, level) - informed_of(store, bounds, p, j, a)
                bound = max(bound, informed_of(store, bounds, i, j, a) + phi * drop)
            bounds.hi[row, j, level] = min(bounds.hi[row, j, level], bound)


@inner
def make_point(store: Store, bounds: Bounds, i: int, j: int, level: int, least_drop: float) -> None:
    """Let belief i serve as a point if a bound has come down enough from its informed bound towards what is known."""
    informed, row = -np.inf, bounds.row[i]
    for a in range(store.gain.shape[1]):
        informed = max(informed, informed_of(store, bounds, i, j, a))
    if store.info[i].point != NONE or informed - bounds.hi[row, j, level] <= least_drop * (
        informed - bounds.lo[row, j, level]
    ):
        return
    enlist_point(store, i)


@inner
def lower_monotone(levels: Levels, bound: FloatArray) -> None:
    """No level is worth more than one with more budget."""
    if not levels.monotone:
        return
    for k in range(levels.n.size):
        stride = levels.stride[k]
        for level in range(bound.size - 1, -1, -1):
            if levels.part_of[k, level] < levels.n[k] - 1:
                bound[level] = min(bound[level], bound[level + stride])


@inner
def raise_monotone(levels: Levels, bound: FloatArray) -> None:
    """No level is worth less than one with less budget."""
    if not levels.monotone:
        return
    for k in range(levels.n.size):
        stride = levels.stride[k]
        for level in range(bound.size):
            if levels.part_of[k, level] > 0:
                bound[level] = max(bound[level], bound[level - stride])


@inner
def back_up_relaxed(  # noqa: PLR0912, PLR0915 - flat loops over levels, which is what the compiler makes fast
    store: Store,
    levels: Levels,
    bounds: Bounds,
    belief_plans: BeliefPlans,
    level_scratch: LevelScratch,
    discount: float,
    i: int,
    j: int,
) -> bool:
    """Back up relaxation j of belief i at all levels, from above and below; return whether a bound moved."""
    n_actions = store.gain.shape[1]
    here = bounds.hi[bounds.row[i], j]
    apply_ray(store, levels, bounds, i, j, here)
    q, q_lo, best, best_lo, own = (
        level_scratch.row[Q],
        level_scratch.row[Q_LO],
        level_scratch.row[BEST],
        level_scratch.row[BEST_LO],
        level_scratch.row[OWN],
    )
    for level in range(best.size):
        best[level] = -np.inf
        best_lo[level] = -np.inf
    for a in range(n_actions):
        after = levels.after[levels.which[store.info[i].cls * n_actions + a]]
        first = store.edge[i, a]
        if first == NONE:
            informed = informed_of(store, bounds, i, j, a)
            for level in range(after.size):
                if after[level] != NONE:
                    best[level] = max(best[level], informed)
            continue
        gain = relaxed_gain(store, levels, bounds, i, a, j)
        for level in range(q.size):
            q[level] = gain
            q_lo[level] = gain
            own[level] = 0.0
        for e in range(first, first + store.degree[i, a]):
            child, p = store.edge_child[e], discount * store.edge_prob[e]
            hi, lo = (
                bounds.hi[row_above(store, levels, bounds, child, j), j],
                bounds.lo[row_below(store, levels, bounds, belief_plans, child, j), j],
            )
            from_here = child == i or store.info[child].base == i
            weight, at_tip = store.info[child].weight, here
            if from_here and child != i:
                at_tip = bounds.hi[plain_row(store, levels, bounds, store.info[child].tip, j, AT_TIP), j]
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
        store.counts[0].upper_backups += after.size * store.degree[i, a] // 4
        for level in range(after.size):
            if after[level] != NONE:
                best[level] = max(best[level], q[level] / (1.0 - own[level]))
                best_lo[level] = max(best_lo[level], q_lo[level])
    hi, lo = here, bounds.lo[bounds.row[i], j]
    moved = False
    for level in range(hi.size):
        if best[level] < hi[level]:
            moved = moved or best[level] < hi[level] - MOVE
            hi[level] = best[level]
        if best_lo[level] > lo[level]:
            moved = moved or best_lo[level] > lo[level] + MOVE
            lo[level] = best_lo[level]
    lower_monotone(levels, hi)
    raise_monotone(levels, lo)
    return moved


@inner
def needs(store: Store, bounds: Bounds, rules: CostRules, i: int, a: int, need: FloatArray) -> None:
    """Write what action a needs at least: ``C(b, a) + β max_o M_lo(b')``, or inf if it breaks a step limit."""
    forbidden = False
    for k in range(need.size):
        worst = 0.0
        if store.edge[i, a] != NONE:
            for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
                worst = max(worst, bounds.least[store.edge_child[e], k])
        need[k] = bounds.cost[i, k, a] + rules.discount[k] * worst
        forbidden = forbidden or bounds.cost[i, k, a] > rules.step_limit[k]
    if forbidden:
        for k in range(need.size):
            need[k] = np.inf


@inner
def back_up_least(store: Store, bounds: Bounds, level_scratch: LevelScratch, rules: CostRules, i: int) -> bool:
    """Raise M_lo of belief i; whether it moved."""
    for k in range(level_scratch.need.size):
        level_scratch.rest[k] = np.inf
    for a in range(store.gain.shape[1]):
        needs(store, bounds, rules, i, a, level_scratch.need)
        for k in range(level_scratch.need.size):
            level_scratch.rest[k] = min(level_scratch.rest[k], level_scratch.need[k])
    moved = False
    for k in range(level_scratch.need.size):
        moved = moved or level_scratch.rest[k] > bounds.least[i, k] * (1.0 + MOVE)
        bounds.least[i, k] = max(bounds.least[i, k], level_scratch.rest[k])
    return moved


@inner
def bound_at(store: Store, levels: Levels, bounds: Bounds, i: int, level: int, allowance: FloatArray) -> float:
    """The least upper bound of belief i at a level, when what is left is worth ``allowance [J]``."""
    bound = bounds.upper[bounds.row[i], level] if bounds.row[i] != NONE else np.inf
    for j in range(allowance.size):
        bound = min(bound, hi_at(store, levels, bounds, i, j, level) + min(allowance[j], levels.allowance[j, level]))
    return float(bound)


@inner
def find_map(
    store: Store, levels: Levels, bounds: Bounds, level_scratch: LevelScratch, rules: CostRules, i: int, a: int
) -> int:
    """The row of `after` for action a at belief i; if there is none, NONE, and `map` of the scratch is filled."""
    needs(store, bounds, rules, i, a, level_scratch.need)
    pair = store.info[i].cls * store.gain.shape[1] + a
    as_class = True
    for k in range(level_scratch.need.size):
        level_scratch.rest[k] = bounds.cost[i, k, a]
        if level_scratch.need[k] - levels.floor[pair, k] > SNAP * levels.floor[pair, k]:
            as_class = False
    if as_class:  # the belief spends what its whole class does
        return int(levels.which[pair])
    fill_map(levels, level_scratch.rest, level_scratch.need, rules.discount, level_scratch.part, level_scratch.map)
    return NONE


@inner
def back_up_exact(  # noqa: PLR0912 - as above
    store: Store,
    levels: Levels,
    bounds: Bounds,
    level_scratch: LevelScratch,
    discount: float,
    rules: CostRules,
    i: int,
) -> bool:
    """Back up the bound of belief i at all levels: ``max_a R + γ Σ_o p(o) upper(b', (d − C)/β)``; whether it moved."""
    n_actions, n_relaxed = store.gain.shape[1], levels.multiplier.shape[0]
    q, bound, best = level_scratch.row[Q], level_scratch.row[Q_LO], level_scratch.row[BEST]
    for level in range(best.size):
        best[level] = -np.inf
    for a in range(n_actions):
        row = find_map(store, levels, bounds, level_scratch, rules, i, a)
        after = level_scratch.map if row == NONE else levels.after[row]
        first = store.edge[i, a]
        if first == NONE:
            for j in range(n_relaxed):
                informed, allowance = informed_of(store, bounds, i, j, a), levels.allowance[j]
                for level in range(after.size):
                    q[level] = informed + allowance[level] if j == 0 else min(q[level], informed + allowance[level])
        else:
            for level in range(q.size):
                q[level] = store.gain[i, a]
            for e in range(first, first + store.degree[i, a]):
                child, p = store.edge_child[e], discount * store.edge_prob[e]
                upper = bounds.upper[max(bounds.row[child], HERE)]
                for level in range(after.size):
                    bound[level] = upper[after[level]] if after[level] != NONE else -np.inf
                for j in range(n_relaxed):
                    spent = 0.0
                    for k in range(level_scratch.rest.size):
                        spent += levels.multiplier[j, k] * bounds.cost[i, k, a]
                    hi, allowance = bounds.hi[row_above(store, levels, bounds, child, j), j], levels.allowance[j]
                    for level in range(after.size):
                        to = after[level]
                        if to != NONE:
                            left = min(allowance[to], (allowance[level] - spent) * levels.growth[level])
                            bound[level] = min(bound[level], hi[to] + left)
                for level in range(after.size):
                    q[level] += p * bound[level]
            store.counts[0].upper_backups += after.size * store.degree[i, a] // 4
        for level in range(after.size):
            if after[level] != NONE:
                best[level] = max(best[level], q[level])
    upper = bounds.upper[bounds.row[i]]
    moved = False
    for j in range(n_relaxed):
        hi, allowance = bounds.hi[bounds.row[i], j], levels.allowance[j]
        for level in range(upper.size):
            best[level] = min(best[level], hi[level] + allowance[level])
    for level in range(upper.size):
        if best[level] < upper[level]:
            moved = moved or best[level] < upper[level] - MOVE
            upper[level] = best[level]
    lower_monotone(levels, upper)
    return moved


@inner
def back_up(
    store: Store,
    levels: Levels,
    bounds: Bounds,
    belief_plans: BeliefPlans,
    level_scratch: LevelScratch,
    discount: float,
    rules: CostRules,
    i: int,
    mode: int,
) -> bool:
    """Back up belief i in the relaxation that is the mode, or if it is none everywhere; whether a bound moved."""
    moved = False
    for j in range(levels.multiplier.shape[0]):
        if levels.relaxed and (mode < 0 or mode == j):
            moved = back_up_relaxed(store, levels, bounds, belief_plans, level_scratch, discount, i, j) or moved
    if mode >= 0:
        return moved
    store.info[i].upper = min(store.info[i].upper, bounds.hi[bounds.row[i], 0, bounds.upper.shape[1] - 1])
    moved = back_up_least(store, bounds, level_scratch, rules, i) or moved
    return back_up_exact(store, levels, bounds, level_scratch, discount, rules, i) or moved
