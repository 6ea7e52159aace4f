"""The search of ARCS: trials in slices of time, multipliers and finer levels in between, until something ends it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from ...model import CPOMDP
from ...policies import ControllerPolicy
from .. import sarsop as unconstrained
from ..belief_graph.search import BeliefGraphSearch, Objective
from ..clock import Clock
from ..early import finishing
from ..effort import Effort
from ..policy_value import with_expected_costs
from ..result import INFEASIBLE, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, STALLED, TIME_LIMIT, Result, TracePoint
from ..warmup import smallest_ending_model, smallest_model
from .online import OnlinePolicy
from .outcome import outcome
from .search import NEARLY_UNCONSTRAINED, ArcsSwitches, BudgetSearch
from .storage import most_spent

_PROBE = 1_000_000  # elementary steps of a search without a budget that comes first
_NEXT_LAYOUT = 4  # times as long as the last time it may take to lay out finer levels
_FIRST_MULTIPLIER = 8  # trials before the first look at multipliers,
_NEXT_MULTIPLIER = 3  # and how many times as many until the next


def by_search(
    model: CPOMDP,
    effort: Effort,
    switches: ArcsSwitches,
    *,
    act_time: float | None = None,
    found: Result | None = None,
    hopeless: bool = False,
) -> Result:
    """Search by belief plans, levels and rays, from what was `found` before if there is something.

    `hopeless`: it is known that no policy keeps the budget, and what is needed is asked for.
    """
    clock = effort.clock
    with clock.stopped():
        load_kernels()
        if act_time is not None:
            load_acting_kernels()
        if (model.spending_limit >= NEARLY_UNCONSTRAINED * model.most_spent).all():
            unconstrained.load_kernels()  # it may be needed too
    with clock.setting_up_again():
        graph_search = BeliefGraphSearch(
            model, Objective(1.0, np.zeros(model.n_costs)), switches.belief_graph, effort.memory_limit
        )
        is_free = (model.spending_limit >= most_spent(graph_search)).all() and not model.has_step_limits
        search = None if is_free else BudgetSearch(graph_search, switches, hopeless)
    if search is None:
        return _without_budget(graph_search, effort)
    result = _solve(search, effort, found)
    if act_time is None or not result.admissible:
        return result
    result = with_expected_costs(result, model, clock, effort.seed)  # of what is followed if nothing better is found
    return replace(result, policy=OnlinePolicy(search, search.best_belief_plan, act_time, effort.epsilon))


def _solve(search: BudgetSearch, effort: Effort, before: Result | None) -> Result:
    """Search, from what was found before if there is something, and say what was found."""
    clock = effort.clock
    if before is None:
        clock.ready()
    trace = (
        [effort.first(_point(search, 0.0))]
        if before is None
        else [*before.trace, _point(search, clock.seconds, before.trace[-1])]
    )
    try:
        search.probe(effort.epsilon, _PROBE)
        status = _search(search, effort, trace)
        if status == INFEASIBLE:
            search.bracket(lambda: clock.over)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except MemoryError:
        status = MEMORY_LIMIT
    with finishing(clock):
        return _outcome(search, status, clock, trace, effort.seed, before)


def _outcome(
    search: BudgetSearch, status: str, clock: Clock, trace: list[TracePoint], seed: int, before: Result | None
) -> Result:
    """What was found: by the search, or before it if that was no worse."""
    trace.append(_point(search, clock.seconds, trace[-1]))
    if before is not None and before.lower >= search.lower - search.slack:
        last = trace[-1]
        before = replace(before, status=status, trace=trace, evidence=search)
        return replace(before, lower=last.lower, upper=last.upper, seconds=last.seconds)
    best = search.best_belief_plan
    belief_plan = best if best >= 0 else search.thriftiest_belief_plan
    total, sure = search.belief_plans.total[belief_plan], search.belief_plans.sure[belief_plan]
    return outcome(
        status,
        trace,
        clock.setup_seconds,
        seed,
        policy=ControllerPolicy(search.model, *search.graph(belief_plan)),
        reward=float(total[0]),
        cost=total[1:].copy(),
        sure_cost=sure.copy(),
        admissible=best >= 0,
        horizon=0 if best >= 0 else search.horizon(belief_plan),
        needed=search.needed,
        visits=search.visits,
        evidence=search,
    )


def _search(search: BudgetSearch, effort: Effort, trace: list[TracePoint]) -> str:
    """Trials, with a look at multipliers now and then and more levels when they hold it up; return what ended it."""
    epsilon, clock = effort.epsilon, effort.clock
    inner_epsilon = max(epsilon - 2 * search.slack, search.slack)
    next_multiplier = _FIRST_MULTIPLIER
    while not trace[-1].upper - trace[-1].lower <= epsilon:
        if search.infeasible:
            return INFEASIBLE
        if clock.over:
            return TIME_LIMIT
        if search.out_of_memory:
            return MEMORY_LIMIT
        with clock.slice(lambda: search.graph_search.work) as work:
            search.search(inner_epsilon, work, next_multiplier)
        has_time = clock.left is None or _NEXT_LAYOUT * search.layout_seconds <= clock.left
        if search.still and search.gap > inner_epsilon and not (has_time and search.refine()):
            return STALLED if has_time else TIME_LIMIT
        if search.trials >= next_multiplier:
            next_multiplier *= _NEXT_MULTIPLIER
            if has_time:
                search.update_multiplier()
        trace.append(_point(search, clock.seconds, trace[-1]))
        if effort.progress is not None:
            effort.progress(trace[-1])
        if search.gap <= inner_epsilon and trace[-1].upper - trace[-1].lower > epsilon and not search.infeasible:
            return STALLED
    return OPTIMAL


def _without_budget(graph_search: BeliefGraphSearch, effort: Effort) -> Result:
    """No policy can exceed the budget: the optimum is that of the POMDP without one."""
    found = unconstrained.sarsop(
        graph_search.model,
        epsilon=effort.epsilon,
        time_limit=effort.clock.left,
        memory_limit=graph_search.memory_limit,
        warm_start=graph_search,
        progress=effort.progress,
    )
    return replace(
        found,
        solver="arcs",
        variant="levels",
        sure_cost=np.minimum(found.sure_cost, most_spent(graph_search))
        if graph_search.model.n_costs
        else found.sure_cost,
        setup_seconds=effort.clock.seconds - found.seconds,
        admissible=True,
        seed=effort.seed,
    )


def _point(search: BudgetSearch, seconds: float, before: TracePoint | None = None) -> TracePoint:
    """The bounds now, rounded outward; what held before still does, and counts go on from there."""
    now = TracePoint(seconds, search.lower - search.slack, search.upper + search.slack, search.trials, *search.sizes)
    if before is None:
        return now
    return TracePoint(
        seconds,
        max(now.lower, before.lower),
        min(now.upper, before.upper),
        max(now.trials, before.trials),
        max(now.beliefs, before.beliefs),
        max(now.plans, before.plans),
    )


@cache
def load_kernels() -> None:
    """Compile the kernels, or load them from the cache, before any clock runs: a few steps on the smallest model."""
    for model in (smallest_ending_model(), smallest_model()):
        search = _search_of(model)
        search.search(0.0, 10, 2)
        search.refine()
    search.graph_search.best_totals()


@cache
def load_acting_kernels() -> None:
    """The same for what only acting needs."""
    search = _search_of(smallest_model())
    policy = OnlinePolicy(search, search.thriftiest_belief_plan, 0.0, 1.0)
    policy.update(policy.initial(np.random.default_rng(0)), 0)


def _search_of(model: CPOMDP) -> BudgetSearch:
    return BudgetSearch(BeliefGraphSearch(model, Objective(1.0, np.zeros(1))))
