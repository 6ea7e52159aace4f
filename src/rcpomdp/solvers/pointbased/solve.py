"""Solving noisy models by a point-based search: the loop around it, and what it returns.

The lower bound is what the best candidate is proven to earn. The policy is the set of plans that it rests on, which
usually earns more: it changes to a better plan wherever the budget that is left allows it.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from ...kernels.pointbased.arrays import NONE
from ...kernels.pointbased.plans import forget_idle
from ...model import CPOMDP
from ...policies import PlanSetPolicy
from ...simulation.simulate import simulate
from ..arcs.outcome import outcome
from ..belief_graph.search import Objective
from ..clock import SETUP, Clock
from ..early import finishing
from ..effort import Effort
from ..policy_value import Worth, simulated_worth, worth
from ..result import INFEASIBLE, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, STALLED, TIME_LIMIT, Result, TracePoint
from ..warmup import smallest_model
from . import storage
from .guides import guided_plan_sets
from .policy import plan_set
from .search import PointBasedSearch
from .switches import PointBasedSwitches

_LEVELS = 2000
_FEWEST_RUNS, _VALUES = 40, 50_000_000  # simulated runs at the end, and how many times values of plans
_MOST_RUNS, _TO_CHOOSE = 1000, 0.1  # simulated runs to choose a guide, and the share of its time for each
_GUIDES = 0.25  # share of it that is for guides, where costs vary within a class


def solve_noisy(model: CPOMDP, effort: Effort, switches: PointBasedSwitches | None = None) -> Result:
    """Bounds on the best reward within the budget, and a set of plans that keeps it in every history."""
    budget, clock, seed = np.array(model.spending_limit), effort.clock, effort.seed
    search = PointBasedSearch(
        model,
        Objective(1.0, np.zeros(model.n_costs)),
        budget,
        switches,
        effort.memory_limit,
        _LEVELS,
        seed,
        over=lambda: clock.share_used(SETUP),
        delay_seconds=0.0 if effort.proves else clock.share_left(SETUP),
    )
    clock.ready()
    trace = [effort.first(_point(search, 0.0))]
    is_guided, earns = budget.size > 0 and search.parts.space.varies, None
    try:
        status = _search(search, effort, 1 - _GUIDES if is_guided else 1.0, trace)
        if is_guided and status != OPTIMAL and search.best_candidate != NONE:
            earns = _best_guided(search, clock, seed)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except MemoryError:
        status = MEMORY_LIMIT
    with finishing(clock):
        return _outcome(search, status, earns, clock, trace, seed)


def _outcome(
    search: PointBasedSearch, status: str, earns: _Earning | None, clock: Clock, trace: list[TracePoint], seed: int
) -> Result:
    """What was found; the best candidate's plans are the policy, unless there is one already."""
    model = search.model
    best = search.best_candidate
    candidate = best if best != NONE else search.thriftiest_candidate
    admissible, most, sure = best != NONE, model.most_spent, search.parts.candidates.sure[candidate]
    if earns is None and admissible:
        earns = _earned(model, plan_set(search, candidate), clock.afterwards(), seed)
    elif earns is None:  # it may break the budget, and is not simulated: its plans tell what it earns and costs
        earns = _Earning(plan_set(search, candidate), Worth(*search.totals(candidate)))
    trace.append(_point(search, clock.seconds, trace[-1]))
    # It may change plans as long as the budget allows, so the budget is what no history exceeds.
    sure_cost = np.minimum(model.budget, most) if admissible else sure.copy()
    reward, cost = earns.worth.reward, earns.worth.cost
    if admissible:  # chance has no say in what is proven
        reward = min(max(reward, trace[-1].lower), trace[-1].upper)
        cost = np.minimum(cost, sure_cost)
    return outcome(
        status,
        trace,
        clock.setup_seconds,
        seed,
        policy=earns.policy,
        reward=reward,
        cost=cost,
        sure_cost=sure_cost,
        admissible=admissible,
        needed=search.needed,
        visits=int(search.parts.counts["visits"][0]),
        standard_error=earns.worth.error,
        runs=earns.worth.runs,
        evidence=search,
    )


class _Earning(NamedTuple):
    """A policy and what it earns and costs."""

    policy: PlanSetPolicy
    worth: Worth


def _earned(model: CPOMDP, policy: PlanSetPolicy, clock: Clock, seed: int) -> _Earning:
    """What a policy earns in simulated runs, of which a large set gets fewer; or exactly."""
    if model.horizon is not None:  # its beliefs come to an end
        return _Earning(policy, worth(model, policy, clock, seed))
    runs = max(_FEWEST_RUNS, _VALUES // policy.values.size)
    return _Earning(policy, simulated_worth(model, policy, clock, seed, runs))


def _best_guided(search: PointBasedSearch, clock: Clock, seed: int) -> _Earning:
    """The plans with the guides that earn most, or without any if none earn more by a standard error."""
    seconds = clock.left if clock.left is not None else clock.elapsed * _GUIDES / (1 - _GUIDES)

    def earned(policy: PlanSetPolicy) -> Worth:
        return simulated_worth(search.model, policy, Clock(_TO_CHOOSE * seconds), seed, _MOST_RUNS, np.inf)

    policy = plan_set(search, search.best_candidate)
    best = _Earning(policy, earned(policy))
    plans = plan_set(search, search.best_candidate, everywhere=True)
    for guided in guided_plan_sets(search, plans, (0.5 - 2 * _TO_CHOOSE) * seconds, seed):
        found = earned(guided)
        if found.error is not None and found.reward > best.worth.reward + found.error[0]:
            best = _Earning(guided, found)
    return best


def _search(search: PointBasedSearch, effort: Effort, share: float, trace: list[TracePoint]) -> str:
    """Trials in slices of time until something ends it, or a share of the time is up; return what did."""
    epsilon, clock = effort.epsilon, effort.clock
    inner_epsilon = max(epsilon - 2 * search.slack - search.late, search.slack)
    while not trace[-1].upper - trace[-1].lower <= epsilon:
        if search.infeasible:
            return INFEASIBLE
        if clock.share_used(share):
            return TIME_LIMIT
        if search.out_of_memory:
            return MEMORY_LIMIT
        with clock.slice() as work:
            search.search(inner_epsilon, work)
        trace.append(_point(search, clock.seconds, trace[-1]))
        if effort.progress is not None:
            effort.progress(trace[-1])
        if search.still and search.gap > inner_epsilon and not search.refine():
            return STALLED
        if search.gap <= inner_epsilon and trace[-1].upper - trace[-1].lower > epsilon and not search.infeasible:
            return STALLED
    return OPTIMAL


def _point(search: PointBasedSearch, seconds: float, before: TracePoint | None = None) -> TracePoint:
    """The bounds now, rounded outward; what held before still does."""
    lower, upper = search.lower - search.slack, search.upper + search.slack + search.late
    if before is not None:
        lower, upper = max(lower, before.lower), min(upper, before.upper)
    return TracePoint(seconds, lower, upper, search.trials, *search.sizes)


@cache
def load_kernels() -> None:
    """Compile the kernels, or load them from the cache, before any clock runs: a few steps on the smallest model."""
    search = PointBasedSearch(smallest_model(), Objective(1.0, np.zeros(1)), np.ones(1))
    search.search(0.0, 10)
    search.forget()
    search.refine()
    storage.rehash(search.parts)
    forget_idle(search.parts)
    simulate(search.model, plan_set(search, search.thriftiest_candidate), 1, 1)
