"""Solving noisy models by a point-based search: the loop around it, and what it returns.

The lower bound is what the best candidate is proven to earn. The policy is the set of plans that it rests on, which
usually earns more: it changes to a better plan wherever the budget that is left allows it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ..._types import FloatArray
from ...kernels.pointbased.arrays import NONE
from ...model import CPOMDP
from ...policies import PlanSetPolicy
from ..arcs.outcome import outcome
from ..belief_graph.search import Objective
from ..clock import Clock
from ..early import finishing
from ..policy_value import simulated_worth, worth
from ..result import INFEASIBLE, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, STALLED, TIME_LIMIT, Result, TracePoint
from ..warmup import smallest_model
from . import storage
from .policy import plan_set
from .search import PointBasedSearch
from .switches import PointBasedSwitches

_LEVELS = 2000
_FEWEST_RUNS, _VALUES = 40, 50_000_000  # simulated runs at the end, and how many times values of plans
_SETUP = 0.35  # share of the time limit that informed bounds may take


def solve_noisy(
    model: CPOMDP,
    epsilon: float,
    clock: Clock,
    memory_limit: float,
    seed: int,
    progress: Callable[[TracePoint], None] | None,
    switches: PointBasedSwitches | None = None,
) -> Result:
    """Bounds on the best reward within the budget, and a set of plans that keeps it in every history."""
    budget = np.array(model.spending_limit)
    search = PointBasedSearch(
        model,
        Objective(1.0, np.zeros(model.n_costs)),
        budget,
        switches,
        memory_limit,
        _LEVELS,
        seed,
        over=lambda: clock.share_used(_SETUP),
    )
    clock.ready()
    trace = [_point(search, 0.0)]
    try:
        status = _search(search, epsilon, clock, trace, progress)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except MemoryError:
        status = MEMORY_LIMIT
    with finishing():
        return _outcome(model, search, status, clock, trace, seed)


def _outcome(
    model: CPOMDP, search: PointBasedSearch, status: str, clock: Clock, trace: list[TracePoint], seed: int
) -> Result:
    """What was found."""
    trace.append(_point(search, clock.seconds, trace[-1]))
    best = search.best_candidate
    candidate = best if best != NONE else search.thriftiest_candidate
    policy, sure = plan_set(search, candidate), search.parts.candidates.sure[candidate]
    admissible, most = best != NONE, model.most_spent
    # A policy that may break the budget is not simulated: its plans tell what it is expected to earn and cost.
    reward, cost = search.totals(candidate)
    error = None
    if admissible:
        reward, cost, error = _earned(model, policy, clock.afterwards(), seed)
        # Chance has no say in what is proven.
        reward = min(max(reward, trace[-1].lower), trace[-1].upper)
    return outcome(
        status,
        trace,
        clock.setup_seconds,
        seed,
        policy=policy,
        reward=reward,
        cost=cost,
        # It may change plans as long as the budget allows, so the budget is what no history exceeds.
        sure_cost=np.minimum(model.budget, most) if admissible else sure.copy(),
        admissible=admissible,
        needed=search.needed,
        visits=int(search.parts.counts["visits"][0]),
        standard_error=error,
    )


def _earned(
    model: CPOMDP, policy: PlanSetPolicy, clock: Clock, seed: int
) -> tuple[float, FloatArray, FloatArray | None]:
    """Mean reward and costs of simulated runs, and their standard errors; a large set gets fewer runs.

    None if they are exact.
    """
    if model.horizon is not None:  # its beliefs come to an end
        return worth(model, policy, clock, seed)
    return simulated_worth(model, policy, clock, seed, max(_FEWEST_RUNS, _VALUES // policy.values.size))


def _search(
    search: PointBasedSearch,
    epsilon: float,
    clock: Clock,
    trace: list[TracePoint],
    progress: Callable[[TracePoint], None] | None,
) -> str:
    """Trials in slices of time until something ends it; return what did."""
    inner_epsilon = max(epsilon - 2 * search.slack - search.late, search.slack)
    while not trace[-1].upper - trace[-1].lower <= epsilon:
        if search.infeasible:
            return INFEASIBLE
        if clock.over:
            return TIME_LIMIT
        if search.out_of_memory:
            return MEMORY_LIMIT
        with clock.slice() as work:
            search.search(inner_epsilon, work)
        trace.append(_point(search, clock.seconds, trace[-1]))
        if progress is not None:
            progress(trace[-1])
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
