"""Guides for a plan set: vectors of the POMDP without a budget, which look further ahead than plans.

Where costs vary within a class, a plan pays for the worst of it at every step, and the budget seems to last for a few
steps only. What is really spent is less, and a policy that never thinks of the end does better as long as it can go on.
So plans say what can be paid, and guides where to go: vectors for ``R − λ·C``, with λ = 0 and with a λ for which the
budget is worth its price. Nothing is proven of what they earn: simulated runs choose.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..._types import FloatArray
from ...kernels.pointbased.arrays import NONE
from ...kernels.pointbased.plans import forget_idle
from ...lp import MixingProgram
from ...policies.plan_set import Guide, PlanSetPolicy
from ...simulation.visits import nodes_met
from ..belief_graph.search import Objective
from ..clock import Clock

if TYPE_CHECKING:
    from .search import PointBasedSearch

_MOST_STEPS, _TAIL = 500, 1e-2  # of simulated runs: until what may follow is a hundredth
_SEARCH = 0.8  # share of a guide's time for its search; in the rest runs tell which vectors are needed
_BELOW = 0.8  # of the price at which the best policy and the cheapest are worth the same


def guided_plan_sets(
    search: PointBasedSearch, policy: PlanSetPolicy, seconds: float, seed: int
) -> Iterator[PlanSetPolicy]:
    """The plan set with guides for λ = 0, and with those for a better price if there is one, in so many seconds."""
    free = _search_for(search, np.zeros(search.model.n_costs), Clock(_SEARCH * seconds))
    yield _with_guides(policy, free, Clock((1 - _SEARCH) / 2 * seconds), seed)
    price = _price(search, free)
    if price.any():
        priced = _search_for(search, price, Clock(_SEARCH * seconds))
        yield _with_guides(policy, priced, Clock((1 - _SEARCH) / 2 * seconds), seed)


def _search_for(search: PointBasedSearch, price: FloatArray, clock: Clock) -> PointBasedSearch:
    """A search for ``R − λ·C`` without a budget, for as long as the clock runs."""
    memory = max(search.memory_limit - search.memory, 0.0)
    found = type(search)(
        search.model, Objective(1.0, price), memory_limit=memory, over=lambda: clock.over, switches=search.switches
    )
    while not (clock.over or found.still or found.out_of_memory or found.gap <= found.slack):
        with clock.slice() as work:
            found.search(found.slack, work)
    return found


def _price(search: PointBasedSearch, free: PointBasedSearch) -> FloatArray:
    """Prices [K] at which what is known without a budget and what is known within it are worth the same, and less."""
    limited = search.limited
    reward, cost, _ = free.best_totals()
    known = [search.totals(candidate) for candidate in search.root_candidates]
    rewards = np.array([reward, *(total for total, _ in known)])
    costs = np.array([cost, *(spent for _, spent in known)])[:, limited]
    budget = np.minimum(search.budget[limited], costs[0])
    scale = np.maximum(costs.max(axis=0), budget)
    price = np.zeros(limited.size)
    keep = scale > 0
    if not (costs <= budget).all(axis=1).any() or not keep.any():
        return price
    program = MixingProgram(budget[keep], scale[keep])
    program.add(rewards, costs[:, keep])
    found = program.solve()
    if found is not None:
        price[np.flatnonzero(limited)[keep]] = _BELOW * found.multipliers
    return price


def _with_guides(policy: PlanSetPolicy, search: PointBasedSearch, clock: Clock, seed: int) -> PlanSetPolicy:
    """The plan set with the vectors of a search that simulated runs were guided by."""
    guides, steps = _guides(search), min(_MOST_STEPS, math.ceil(search.model.steps_until(_TAIL)))
    met = nodes_met(search.model, policy.with_guides(guides), steps, seed, lambda: clock.over)
    return policy.with_guides([guide for guide, used in zip(guides, met[policy.actions.size :], strict=True) if used])


def _guides(search: PointBasedSearch) -> list[Guide]:
    """The vectors of a search's objective that are best somewhere."""
    x, g, order = search.parts.space, search.parts.plans, search.classes.order
    forget_idle(search.parts)
    found = []
    for cls in np.flatnonzero(search.classes.reachable).tolist():
        states = order[x.start[cls] : x.start[cls + 1]]
        increasing = np.argsort(states)
        domain, plan = states[increasing], int(g.newest[cls])
        while plan != NONE:
            info = g.info[plan]
            vector = g.value[info["values"] : info["values"] + domain.size]
            found.append(Guide(int(info["action"]), domain, vector[increasing]))
            plan = int(info["older"])
    return found
