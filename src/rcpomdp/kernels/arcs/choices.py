"""Choices of a trial under a budget: the action to take, and the successor to visit.

A trial descends by the action with the largest upper bound and the successor that contributes most to the gap at the
root. Where a successor owes its bound to a relaxation, and that to a ray, the trial goes on at the end of the ray,
within the relaxation. A thrifty trial goes by the action that needs least (``C + β max_o M_lo``) and the successor
whose known belief plans exceed the budget by most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import FloatArray, IntArray
from ..belief_graph.store import NONE, Scratch, Space, Store
from ..budget import CostRules
from ..jit import inner
from ..plans import Plans
from .belief_plans import (
    BeliefPlans,
    best_belief_plan,
    pay,
    share_of,
    start_belief_plans,
    thriftiest_belief_plan,
)
from .level_bounds import EXACT, bound_at, fill_bounds, needs
from .levels import Bounds, Levels, LevelScratch, allowance_of, level_of, relaxed_gain
from .rows import apply_ray, hi_at, informed_of, lo_at, plain_at

NO_ROOM = -2  # in place of an action
THRIFTY = -2  # mode of a trial for something that keeps the budget at all
_NESTING = 8  # rays followed one after the other to where a gap comes from


class Steps(NamedTuple):
    """The path of a trial."""

    mode: IntArray  # [depth] EXACT, THRIFTY or the relaxation
    left: FloatArray  # [depth, K] budget
    wanted: FloatArray  # [., K] budgets at which a level would have helped


class Search(NamedTuple):
    """All that a search under a budget works on."""

    space: Space
    store: Store
    plans: Plans
    scratch: Scratch
    levels: Levels
    bounds: Bounds
    belief_plans: BeliefPlans
    level_scratch: LevelScratch
    steps: Steps
    discount: float
    rules: CostRules


@inner
def fill_new(search: Search) -> bool:
    """Give the store's new beliefs their bounds and leaves; False if full."""
    belief_plans = search.belief_plans
    while belief_plans.counts[0].filled < search.store.counts[0].beliefs:
        i = belief_plans.counts[0].filled
        cls = search.store.info[i].cls
        if (
            belief_plans.counts[0].belief_plans + belief_plans.leaf_ptr[cls + 1] - belief_plans.leaf_ptr[cls]
            > belief_plans.info.shape[0]
        ):
            return False
        fill_bounds(search.space, search.store, search.levels, search.bounds, i)
        start_belief_plans(search.space, search.store, search.plans, belief_plans, i)
        belief_plans.counts[0].filled = i + 1
    return True


# Choice of the action


@inner
def exact_value(
    store: Store,
    levels: Levels,
    bounds: Bounds,
    level_scratch: LevelScratch,
    discount: float,
    rules: CostRules,
    i: int,
    a: int,
    d: FloatArray,
) -> float:
    """The upper bound of action a at belief i with budget d; −inf if it breaks the budget."""
    if not pay(bounds, rules, i, a, d, level_scratch.rest):
        return -np.inf
    if store.edge[i, a] == NONE:
        bound = np.inf
        for j in range(levels.multiplier.shape[0]):
            bound = min(bound, informed_of(store, bounds, i, j, a) + allowance_of(levels, j, d))
        return bound
    needs(store, bounds, rules, i, a, level_scratch.need)
    for k in range(d.size):
        if level_scratch.need[k] > d[k]:
            return -np.inf
    level = level_of(levels, level_scratch.rest)
    for j in range(levels.multiplier.shape[0]):
        level_scratch.allowance[j] = allowance_of(levels, j, level_scratch.rest)
    value = store.gain[i, a]
    for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
        value += (
            discount
            * store.edge_prob[e]
            * bound_at(store, levels, bounds, store.edge_child[e], level, level_scratch.allowance)
        )
    return float(value)


@inner
def relaxed_value(
    store: Store, levels: Levels, bounds: Bounds, discount: float, i: int, a: int, j: int, level: int
) -> float:
    """The upper bound of action a in relaxation j; −inf if it breaks the budget."""
    to = levels.after[levels.which[store.info[i].cls * store.gain.shape[1] + a], level]
    if to == NONE:
        return -np.inf
    if store.edge[i, a] == NONE:
        return informed_of(store, bounds, i, j, a)
    value = relaxed_gain(store, levels, bounds, i, a, j)
    for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
        value += discount * store.edge_prob[e] * hi_at(store, levels, bounds, store.edge_child[e], j, to)
    return value


@inner
def thrift(
    store: Store,
    belief_plans: BeliefPlans,
    bounds: Bounds,
    level_scratch: LevelScratch,
    rules: CostRules,
    i: int,
    a: int,
    d: FloatArray,
) -> float:
    """Minus the share of the budget that action a needs; −inf if it needs more than there is."""
    needs(store, bounds, rules, i, a, level_scratch.need)
    share = 0.0
    for k in range(d.size):
        if belief_plans.limited[k]:
            if level_scratch.need[k] > d[k]:
                return -np.inf
            share = max(share, level_scratch.need[k] / max(d[k], 1e-300))
    return -share


@inner
def choose(search: Search, i: int, mode: int, level: int, d: FloatArray) -> tuple[int, float]:
    """The action with the largest bound, and that bound; NONE if every action breaks the budget."""
    best, most = NONE, -np.inf
    for a in range(search.store.gain.shape[1]):
        if mode == EXACT:
            value = exact_value(
                search.store,
                search.levels,
                search.bounds,
                search.level_scratch,
                search.discount,
                search.rules,
                i,
                a,
                d,
            )
        elif mode == THRIFTY:
            value = thrift(
                search.store, search.belief_plans, search.bounds, search.level_scratch, search.rules, i, a, d
            )
        else:
            value = relaxed_value(search.store, search.levels, search.bounds, search.discount, i, a, mode, level)
        looked = search.store.degree[i, a] if search.store.edge[i, a] != NONE else 1
        search.store.counts[0].upper_backups += looked
        if value > most:
            best, most = a, value
    return best, most


# Choice of the successor


@inner
def relaxed_excess(
    store: Store, levels: Levels, bounds: Bounds, belief_plans: BeliefPlans, i: int, j: int, level: int, target: float
) -> float:
    """By how much the gap of belief i in relaxation j is above the target."""
    return float(
        hi_at(store, levels, bounds, i, j, level)
        - max(lo_at(store, levels, bounds, belief_plans, i, j, level), levels.worst)
        - target
    )


@inner
def excess(search: Search, i: int, mode: int, level: int, target: float) -> float:
    """By how much belief i is above the target; the scratch holds its budget (`rest`) and the allowance for it."""
    if mode >= 0:
        return relaxed_excess(search.store, search.levels, search.bounds, search.belief_plans, i, mode, level, target)
    if mode == THRIFTY:
        belief_plan = thriftiest_belief_plan(search.belief_plans, i, search.level_scratch.rest)
        return (
            share_of(search.belief_plans, belief_plan, search.level_scratch.rest) if belief_plan != NONE else np.inf
        ) - 1.0
    bound, belief_plan = (
        bound_at(search.store, search.levels, search.bounds, i, level, search.level_scratch.allowance),
        best_belief_plan(search.belief_plans, i, search.level_scratch.rest),
    )
    if belief_plan == NONE:
        return bound - search.levels.worst + 1.0  # whatever the target, it must be found out whether there is one
    return float(bound - search.belief_plans.total[belief_plan, 0] - target)


@inner
def follow_rays(search: Search, i: int, j: int, level: int, target: float, here: int, share: float) -> int:
    """The end of belief i's rays that its relaxed bound hangs on and that has a share of the excess, or i itself."""
    store, levels, bounds, belief_plans = search.store, search.levels, search.bounds, search.belief_plans
    for _ in range(_NESTING):
        if store.info[i].base == NONE:
            break
        weight, base, tip = store.info[i].weight, store.info[i].base, store.info[i].tip
        by_ray = weight * plain_at(store, levels, bounds, base, j, level) + (1.0 - weight) * plain_at(
            store, levels, bounds, tip, j, level
        )
        if hi_at(store, levels, bounds, i, j, level) < by_ray - 1e-12 * (1.0 + abs(by_ray)):
            break
        for end in (base, tip):
            if bounds.row[end] != NONE:
                apply_ray(store, levels, bounds, end, j, bounds.hi[bounds.row[end], j])
        at_base = weight * relaxed_excess(store, levels, bounds, belief_plans, base, j, level, target)
        at_tip = (1.0 - weight) * relaxed_excess(store, levels, bounds, belief_plans, tip, j, level, target)
        if base == here:
            at_base = 0.0  # where we are
        if max(at_base, at_tip) <= share * relaxed_excess(store, levels, bounds, belief_plans, i, j, level, target):
            break
        i = base if at_base > at_tip else tip
    return i


@inner
def relaxation_behind(
    store: Store, levels: Levels, bounds: Bounds, level_scratch: LevelScratch, i: int, level: int
) -> int:
    """The relaxation that the upper bound of belief i stems from, or EXACT."""
    bound = bound_at(store, levels, bounds, i, level, level_scratch.allowance)
    for j in range(levels.multiplier.shape[0]):
        if (
            hi_at(store, levels, bounds, i, j, level) + min(level_scratch.allowance[j], levels.allowance[j, level])
            <= bound
        ):
            return j
    return EXACT


@inner
def next_step(
    search: Search, i: int, a: int, mode: int, level: int, target: float, end_share: float
) -> tuple[int, int]:
    """The belief that a trial visits after belief i and action a, and the mode; NONE if all are within `target`.

    `level` is that of the successors, and `rest` of the scratch their budget.
    """
    store, belief_plans = search.store, search.belief_plans
    chosen, most = NONE, 0.0
    for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
        over = store.edge_prob[e] * excess(search, store.edge_child[e], mode, level, target)
        if over > most:
            chosen, most = store.edge_child[e], over
    j = mode
    if mode == EXACT and chosen != NONE:
        if best_belief_plan(belief_plans, chosen, search.level_scratch.rest) == NONE:
            return chosen, THRIFTY
        j = relaxation_behind(search.store, search.levels, search.bounds, search.level_scratch, chosen, level)
        belief_plans.counts[0].looks += 1
        belief_plans.counts[0].by_multiplier += 1 if j > 0 else 0
    if chosen == NONE or j < 0:
        return chosen, mode
    end = follow_rays(search, chosen, j, level, target, i, end_share)
    if mode == EXACT:
        within = relaxed_excess(
            search.store, search.levels, search.bounds, search.belief_plans, chosen, j, level, target
        ) <= end_share * excess(search, chosen, EXACT, level, target)
        if end == chosen or within:
            return chosen, EXACT
    return end, j
