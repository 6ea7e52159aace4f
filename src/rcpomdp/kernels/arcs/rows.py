"""Rows: bounds over all levels, which only beliefs have that were visited.

Until then the bounds of a belief follow from its products with the informed bounds, from its ray, and from its belief
plans: they are worked out where they are asked for. `at` stands for one level, `over` for all of them.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..belief_graph.store import NONE, Store
from ..jit import inner
from .belief_plans import BeliefPlans
from .levels import Bounds, Levels

# The first rows are lent to beliefs without one, for a moment; their `upper` is inf
HERE, AT_BASE, AT_TIP, LENT = range(4)


@inner
def informed_of(store: Store, bounds: Bounds, i: int, j: int, a: int) -> float:
    """The product of belief i with the informed bound of action a in relaxation j; the first is that of the reward."""
    return float(store.informed[i, a] if j == 0 else bounds.informed[i, j - 1, a])


@inner
def informed_at(store: Store, levels: Levels, bounds: Bounds, i: int, j: int, level: int) -> float:
    """Informed bound of belief i at one level."""
    n_actions = store.gain.shape[1]
    bound, pair = -np.inf, store.info[i].cls * n_actions
    for a in range(n_actions):
        if levels.after[levels.which[pair + a], level] != NONE:
            bound = max(bound, informed_of(store, bounds, i, j, a))
    return float(min(bound, store.info[i].upper) if j == 0 else bound)  # the upper bound of the store knows no budget


@inner
def informed_over(store: Store, levels: Levels, bounds: Bounds, i: int, j: int, out: FloatArray) -> None:
    """The same at all levels."""
    n_actions = store.gain.shape[1]
    pair = store.info[i].cls * n_actions
    for level in range(out.size):
        out[level] = -np.inf
    for a in range(n_actions):
        informed, which, beaten = informed_of(store, bounds, i, j, a), levels.which[pair + a], False
        for other in range(n_actions):  # of actions that cost the same, one is best at all levels
            over = informed_of(store, bounds, i, j, other) - informed
            beaten = beaten or (levels.which[pair + other] == which and (over > 0.0 or (over == 0.0 and other < a)))
        if beaten:
            continue
        informed = min(informed, store.info[i].upper) if j == 0 else informed
        after = levels.after[which]
        for level in range(out.size):
            if after[level] != NONE:
                out[level] = max(out[level], informed)


@inner
def plain_at(store: Store, levels: Levels, bounds: Bounds, i: int, j: int, level: int) -> float:
    """The bound of belief i in relaxation j without its ray, if it has no row."""
    return float(
        bounds.hi[bounds.row[i], j, level] if bounds.row[i] != NONE else informed_at(store, levels, bounds, i, j, level)
    )


@inner
def hi_at(store: Store, levels: Levels, bounds: Bounds, i: int, j: int, level: int) -> float:
    """The bound of belief i in relaxation j."""
    bound = plain_at(store, levels, bounds, i, j, level)
    if bounds.row[i] == NONE and store.info[i].base != NONE:
        weight, base, tip = store.info[i].weight, store.info[i].base, store.info[i].tip
        by_ray = weight * plain_at(store, levels, bounds, base, j, level) + (1.0 - weight) * plain_at(
            store, levels, bounds, tip, j, level
        )
        bound = min(bound, by_ray)
    return float(bound)


@inner
def plain_row(store: Store, levels: Levels, bounds: Bounds, i: int, j: int, place: int) -> int:
    """The row of belief i; if it has none, a lent one that holds the informed bounds of relaxation j."""
    if bounds.row[i] != NONE:
        return int(bounds.row[i])
    informed_over(store, levels, bounds, i, j, bounds.hi[place, j])
    return place


@inner
def apply_ray(store: Store, levels: Levels, bounds: Bounds, i: int, j: int, own: FloatArray) -> None:
    """Lower bounds of belief i in relaxation j by its ray: they are convex."""
    base, tip = store.info[i].base, store.info[i].tip
    if base == NONE:
        return
    weight = store.info[i].weight
    at_base, at_tip = (
        bounds.hi[plain_row(store, levels, bounds, base, j, AT_BASE), j],
        bounds.hi[plain_row(store, levels, bounds, tip, j, AT_TIP), j],
    )
    for level in range(own.size):
        own[level] = min(own[level], weight * at_base[level] + (1.0 - weight) * at_tip[level])


@inner
def row_above(store: Store, levels: Levels, bounds: Bounds, i: int, j: int) -> int:
    """A row with the upper bounds of belief i in relaxation j, its ray included."""
    row = plain_row(store, levels, bounds, i, j, HERE)
    apply_ray(store, levels, bounds, i, j, bounds.hi[row, j])
    return row


# From below


@inner
def leaf_of(belief_plans: BeliefPlans, cls: int, belief_plan: int) -> int:
    """Number of a belief plan among the leaves of its class, or NONE."""
    for f in range(belief_plans.leaf_ptr[cls], belief_plans.leaf_ptr[cls + 1]):
        if belief_plans.leaf_plan[f] == belief_plans.info[belief_plan].plan:
            return f
    return NONE


@inner
def is_within(levels: Levels, floor: FloatArray, level: int) -> bool:
    """True if a level is no less than a floor."""
    for k in range(floor.size):  # noqa: SIM110 - compiled code has no all()
        if floor[k] > levels.value[k, levels.part_of[k, level]]:
            return False
    return True


@inner
def relaxed_total(belief_plans: BeliefPlans, levels: Levels, belief_plan: int, j: int) -> float:
    """Value of a belief plan in relaxation j."""
    value = belief_plans.total[belief_plan, 0]
    for k in range(levels.n.size):
        value -= levels.multiplier[j, k] * belief_plans.total[belief_plan, 1 + k]
    return float(value)


@inner
def known_at(store: Store, levels: Levels, belief_plans: BeliefPlans, i: int, j: int, level: int) -> float:
    """Best value of the belief plans of belief i in relaxation j."""
    best, belief_plan = -np.inf, belief_plans.head[i]
    while belief_plan != NONE:
        value, leaf = (
            relaxed_total(belief_plans, levels, belief_plan, j),
            leaf_of(belief_plans, store.info[i].cls, belief_plan),
        )
        if value > best and is_within(
            levels, belief_plans.sure[belief_plan] if leaf == NONE else belief_plans.leaf_floor[leaf], level
        ):
            best = value
        belief_plan = belief_plans.info[belief_plan].next
    return best


@inner
def known_over(store: Store, levels: Levels, belief_plans: BeliefPlans, i: int, j: int, out: FloatArray) -> None:
    """The same at all levels."""
    for level in range(out.size):
        out[level] = -np.inf
    belief_plan = belief_plans.head[i]
    while belief_plan != NONE:
        value, leaf = (
            relaxed_total(belief_plans, levels, belief_plan, j),
            leaf_of(belief_plans, store.info[i].cls, belief_plan),
        )
        floor = (
            belief_plans.sure[belief_plan] if leaf == NONE else belief_plans.leaf_floor[leaf]
        )  # of a leaf what it spends at least will do
        for level in range(out.size):
            if value > out[level] and is_within(levels, floor, level):
                out[level] = value
        belief_plan = belief_plans.info[belief_plan].next


@inner
def lo_at(store: Store, levels: Levels, bounds: Bounds, belief_plans: BeliefPlans, i: int, j: int, level: int) -> float:
    """Lower bound of belief i in relaxation j, a guide alone."""
    return float(
        bounds.lo[bounds.row[i], j, level]
        if bounds.row[i] != NONE
        else known_at(store, levels, belief_plans, i, j, level)
    )


@inner
def row_below(store: Store, levels: Levels, bounds: Bounds, belief_plans: BeliefPlans, i: int, j: int) -> int:
    """A row with what is known of belief i in relaxation j from below."""
    if bounds.row[i] != NONE:
        return int(bounds.row[i])
    known_over(store, levels, belief_plans, i, j, bounds.lo[HERE, j])
    return HERE


# Beliefs get rows


@inner
def open_row(store: Store, levels: Levels, bounds: Bounds, belief_plans: BeliefPlans, i: int) -> bool:
    """Give belief i a row, if it has none; False if full."""
    if bounds.row[i] != NONE:
        return True
    new = belief_plans.counts[0].rows
    if new == bounds.upper.shape[0]:
        return False
    upper = bounds.upper[new]
    for level in range(upper.size):
        upper[level] = np.inf
    for j in range(levels.multiplier.shape[0]):
        start_row(store, levels, bounds, belief_plans, i, new, j)
    bounds.row[i] = new
    belief_plans.counts[0].rows = new + 1
    return True


@inner
def start_row(
    store: Store, levels: Levels, bounds: Bounds, belief_plans: BeliefPlans, i: int, row: int, j: int
) -> None:
    """Start relaxation j of belief i in a row."""
    hi, upper = bounds.hi[row, j], bounds.upper[row]
    informed_over(store, levels, bounds, i, j, hi)
    apply_ray(store, levels, bounds, i, j, hi)
    for level in range(upper.size):
        upper[level] = min(upper[level], hi[level] + levels.allowance[j, level])
    known_over(store, levels, belief_plans, i, j, bounds.lo[row, j])
