"""Belief plans: what is known to be possible from a belief within a budget.

A belief plan is an action and, for each observation that can follow, a belief plan of the belief that follows; or, as a
leaf, a plan that can be followed for ever. It carries its exact totals from its belief and its sure cost, ``w = C(b, a)
+ β max_o w_o``: no history under it spends more. So ``V*(b, d) ≥ v`` for every ``d ≥ w``, and the belief plans of a
belief are a step function over budgets, exact where the levels of the upper bounds are rounded. A belief plan is never
changed once it is made; one that is dominated leaves its belief's list but may still be followed by others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import AnyArray, FloatArray, IntArray
from ..belief_graph.plans import product
from ..belief_graph.store import NONE, Space, Store
from ..budget import CostRules, left_after
from ..jit import inner
from ..plans import Plans
from .levels import Bounds, Levels, LevelScratch

BELIEF_PLAN = np.dtype(
    [
        ("belief", np.int64),
        ("action", np.int64),
        ("links", np.int64),  # first of its successors
        ("plan", np.int64),  # of a leaf, or NONE
        ("next", np.int64),  # belief plan of the same belief
    ]
)
COUNTS = np.dtype(
    [
        ("belief_plans", np.int64),
        ("belief_plan_links", np.int64),
        ("filled", np.int64),  # beliefs that have their products
        ("visits", np.int64),
        ("moved", np.int64),  # last trial that changed a bound
        ("looks", np.int64),  # successors that were looked at for their bound,
        ("by_multiplier", np.int64),  # and those that owe it to a multiplier
        ("wanted", np.int64),  # budgets at which a level would have helped
        ("rows", np.int64),
    ]
)


class BeliefPlans(NamedTuple):
    """Belief plans by capacity, and counts of the search."""

    info: AnyArray  # [N] COURSE
    total: FloatArray  # [N, 1 + K] expected reward and costs
    sure: FloatArray  # [N, K]
    link: IntArray  # belief plan that follows each edge of (belief, action)
    head: IntArray  # [beliefs] first belief plan of a belief's list
    leaf_ptr: IntArray  # [n_classes + 1]
    leaf_plan: IntArray  # plans that a belief of the class may follow from the start
    leaf_floor: FloatArray  # [., K] what they spend at least, by the least costs of classes
    limited: IntArray  # [K] 1 where there is a budget
    unconstrained_from: FloatArray  # [K] budget from which on plans of the unconstrained search are worth a look
    counts: AnyArray  # [1] COUNTS


@inner
def fits(belief_plans: BeliefPlans, belief_plan: int, d: FloatArray) -> bool:
    """True if a belief plan is sure to stay within a budget."""
    for k in range(d.size):  # noqa: SIM110 - compiled code has no all()
        if belief_plans.limited[k] and belief_plans.sure[belief_plan, k] > d[k]:
            return False
    return True


@inner
def best_belief_plan(belief_plans: BeliefPlans, i: int, d: FloatArray) -> int:
    """The best belief plan of belief i within a budget, or NONE."""
    best, belief_plan = NONE, belief_plans.head[i]
    while belief_plan != NONE:
        if (best == NONE or belief_plans.total[belief_plan, 0] > belief_plans.total[best, 0]) and fits(
            belief_plans, belief_plan, d
        ):
            best = belief_plan
        belief_plan = belief_plans.info[belief_plan].next
    return best


@inner
def share_of(belief_plans: BeliefPlans, belief_plan: int, d: FloatArray) -> float:
    """The largest share of a budget that a belief plan may spend; above 1 it does not fit."""
    share = 0.0
    for k in range(d.size):
        if belief_plans.limited[k]:
            share = max(share, belief_plans.sure[belief_plan, k] / max(d[k], 1e-300))
    return share


@inner
def thriftiest_belief_plan(belief_plans: BeliefPlans, i: int, d: FloatArray) -> int:
    """The belief plan of belief i that spends the least share of a budget, or NONE."""
    best, least, belief_plan = NONE, np.inf, belief_plans.head[i]
    while belief_plan != NONE:
        share = share_of(belief_plans, belief_plan, d)
        if share < least:
            best, least = belief_plan, share
        belief_plan = belief_plans.info[belief_plan].next
    return best


@inner
def known(belief_plans: BeliefPlans, levels: Levels, i: int, d: FloatArray) -> float:
    """The lower bound of belief i within a budget; where nothing is known to fit, what no value is below."""
    belief_plan = best_belief_plan(belief_plans, i, d)
    return float(levels.worst if belief_plan == NONE else belief_plans.total[belief_plan, 0])


@inner
def belief_plans_have_room(belief_plans: BeliefPlans, n_links: int) -> bool:
    """True if one more belief plan fits."""
    return bool(
        belief_plans.counts[0].belief_plans < belief_plans.info.shape[0]
        and belief_plans.counts[0].belief_plan_links + n_links <= belief_plans.link.size
    )


@inner
def _dominates(belief_plans: BeliefPlans, one: int, other: int) -> bool:
    if belief_plans.total[one, 0] < belief_plans.total[other, 0]:
        return False
    for k in range(belief_plans.limited.size):
        if belief_plans.limited[k] and belief_plans.sure[one, k] > belief_plans.sure[other, k]:
            return False
    return True


@inner
def _enter(belief_plans: BeliefPlans, i: int) -> bool:
    """Put the belief plan that was just written into belief i's list, unless it is dominated there."""
    new = belief_plans.counts[0].belief_plans
    belief_plan = belief_plans.head[i]
    while belief_plan != NONE:
        if _dominates(belief_plans, belief_plan, new):
            return False
        belief_plan = belief_plans.info[belief_plan].next
    before, belief_plan = NONE, belief_plans.head[i]
    while belief_plan != NONE:
        after = belief_plans.info[belief_plan].next
        if _dominates(belief_plans, new, belief_plan):
            if before == NONE:
                belief_plans.head[i] = after
            else:
                belief_plans.info[before].next = after
        else:
            before = belief_plan
        belief_plan = after
    belief_plans.info[new].next = belief_plans.head[i]
    belief_plans.head[i] = new
    belief_plans.counts[0].belief_plans = new + 1
    return True


@inner
def add_leaf(space: Space, store: Store, plans: Plans, belief_plans: BeliefPlans, i: int, plan: int) -> None:
    """Let belief i follow a plan. There must be room."""
    new = belief_plans.counts[0].belief_plans
    rows = space.gain.shape[0]
    for row in range(rows - belief_plans.total.shape[1], rows):  # reward and costs come last
        belief_plans.total[new, row - rows + belief_plans.total.shape[1]] = product(space, store, plans, i, plan, row)
    may_forbid = False  # an infinite sure cost may be that of a step which some cost forbids
    for k in range(belief_plans.limited.size):
        may_forbid = may_forbid or (space.model.step_limit[k] < np.inf and belief_plans.total[new, 1 + k] > 0.0)
    for k in range(belief_plans.limited.size):
        # What is never expected is never spent, whatever other states of the class would cost.
        spends = belief_plans.total[new, 1 + k] > 0.0 or may_forbid
        belief_plans.sure[new, k] = plans.sure[plan, k] if spends else 0.0
    belief_plans.info[new].belief = i
    belief_plans.info[new].action = NONE
    belief_plans.info[new].links = belief_plans.counts[0].belief_plan_links
    belief_plans.info[new].plan = plan
    _enter(belief_plans, i)


@inner
def start_belief_plans(space: Space, store: Store, plans: Plans, belief_plans: BeliefPlans, i: int) -> None:
    """Give a new belief the leaves of its class. There must be room."""
    belief_plans.head[i] = NONE
    cls = store.info[i].cls
    for f in range(belief_plans.leaf_ptr[cls], belief_plans.leaf_ptr[cls + 1]):
        add_leaf(space, store, plans, belief_plans, i, belief_plans.leaf_plan[f])


@inner
def breaks_step_limit(bounds: Bounds, rules: CostRules, i: int, a: int) -> bool:
    """True if a step costs more than a step may."""
    for k in range(rules.step_limit.size):  # noqa: SIM110 - compiled code has no any()
        if bounds.cost[i, k, a] > rules.step_limit[k]:
            return True
    return False


@inner
def pay(bounds: Bounds, rules: CostRules, i: int, a: int, d: FloatArray, rest: FloatArray) -> bool:
    """Write ``(d − C(b, a)) / β``; False if that is overspent, or the step costs more than a step may."""
    for k in range(d.size):
        rest[k] = left_after(d[k], bounds.cost[i, k, a], rules.discount[k])
        if rest[k] < 0.0 or bounds.cost[i, k, a] > rules.step_limit[k]:
            return False
    return True


@inner
def back_up_belief_plan(
    store: Store,
    belief_plans: BeliefPlans,
    bounds: Bounds,
    level_scratch: LevelScratch,
    discount: float,
    rules: CostRules,
    i: int,
    d: FloatArray,
    least_gain: float,
) -> bool:
    """Make a belief plan for (belief, budget) if a step ahead promises `least_gain` more; False if full."""
    current = best_belief_plan(belief_plans, i, d)
    best, most = NONE, -np.inf if current == NONE else belief_plans.total[current, 0] + least_gain
    for a in range(store.gain.shape[1]):
        if store.edge[i, a] == NONE or not pay(bounds, rules, i, a, d, level_scratch.rest):
            continue
        value = store.gain[i, a]
        for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
            belief_plan = best_belief_plan(belief_plans, store.edge_child[e], level_scratch.rest)
            value = (
                value + discount * store.edge_prob[e] * belief_plans.total[belief_plan, 0]
                if belief_plan != NONE
                else -np.inf
            )
        store.counts[0].making_plans += 4 * store.degree[i, a]
        if value > most:
            best, most = a, value
    if best == NONE:
        return True
    if not belief_plans_have_room(belief_plans, store.degree[i, best]):
        return False
    pay(bounds, rules, i, best, d, level_scratch.rest)
    for e in range(store.degree[i, best]):
        belief_plans.link[belief_plans.counts[0].belief_plan_links + e] = best_belief_plan(
            belief_plans, store.edge_child[store.edge[i, best] + e], level_scratch.rest
        )
    _add_belief_plan(store, belief_plans, bounds, discount, rules, i, best)
    return True


@inner
def back_up_thrift(  # noqa: PLR0912 - one look at all actions
    store: Store,
    belief_plans: BeliefPlans,
    bounds: Bounds,
    level_scratch: LevelScratch,
    discount: float,
    rules: CostRules,
    i: int,
    d: FloatArray,
) -> bool:
    """Make the belief plan of least sure cost, as a share of the budget d, that one step ahead shows; False if full."""
    current = thriftiest_belief_plan(belief_plans, i, d)
    best, least = NONE, share_of(belief_plans, current, d) * (1.0 - 1e-9) if current != NONE else np.inf
    for a in range(store.gain.shape[1]):
        if store.edge[i, a] == NONE or breaks_step_limit(bounds, rules, i, a):
            continue
        for k in range(d.size):
            level_scratch.rest[k] = max(left_after(d[k], bounds.cost[i, k, a], rules.discount[k]), 0.0)
            level_scratch.sure[k] = 0.0
        share = 0.0
        for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
            belief_plan = thriftiest_belief_plan(belief_plans, store.edge_child[e], level_scratch.rest)
            if belief_plan == NONE:
                share = np.inf
                break
            for k in range(d.size):
                level_scratch.sure[k] = max(level_scratch.sure[k], belief_plans.sure[belief_plan, k])
        for k in range(d.size):
            if belief_plans.limited[k]:
                sure = bounds.cost[i, k, a] + rules.discount[k] * level_scratch.sure[k]
                share = max(share, sure / max(d[k], 1e-300))
        if share < least:
            best, least = a, share
    if best == NONE:
        return True
    if not belief_plans_have_room(belief_plans, store.degree[i, best]):
        return False
    for k in range(d.size):
        level_scratch.rest[k] = max(left_after(d[k], bounds.cost[i, k, best], rules.discount[k]), 0.0)
    for e in range(store.degree[i, best]):
        belief_plans.link[belief_plans.counts[0].belief_plan_links + e] = thriftiest_belief_plan(
            belief_plans, store.edge_child[store.edge[i, best] + e], level_scratch.rest
        )
    _add_belief_plan(store, belief_plans, bounds, discount, rules, i, best)
    return True


@inner
def _add_belief_plan(
    store: Store, belief_plans: BeliefPlans, bounds: Bounds, discount: float, rules: CostRules, i: int, a: int
) -> None:
    """Add the belief plan of action a whose links have been written. There must be room."""
    new, links = belief_plans.counts[0].belief_plans, belief_plans.counts[0].belief_plan_links
    belief_plans.total[new, 0] = store.gain[i, a]
    for k in range(belief_plans.limited.size):
        belief_plans.total[new, 1 + k] = bounds.cost[i, k, a]
        belief_plans.sure[new, k] = 0.0
    for e in range(store.degree[i, a]):
        belief_plan, p = belief_plans.link[links + e], discount * store.edge_prob[store.edge[i, a] + e]
        for row in range(belief_plans.total.shape[1]):
            belief_plans.total[new, row] += p * belief_plans.total[belief_plan, row]
        for k in range(belief_plans.limited.size):
            belief_plans.sure[new, k] = max(belief_plans.sure[new, k], belief_plans.sure[belief_plan, k])
    for k in range(belief_plans.limited.size):
        belief_plans.sure[new, k] = bounds.cost[i, k, a] + rules.discount[k] * belief_plans.sure[new, k]
    belief_plans.info[new].belief = i
    belief_plans.info[new].action = a
    belief_plans.info[new].links = links
    belief_plans.info[new].plan = NONE
    if _enter(belief_plans, i):
        belief_plans.counts[0].belief_plan_links = links + store.degree[i, a]
