"""ARCS by search: engines that take turns, then the best policy that they know.

Half of a time limit is never worth a wrong choice of engine, so that where `solvers.route` leaves a doubt two of them
take turns; the better bound of each side counts. A share of the time is kept for choosing a policy by simulation, and
goes back to the search where there is nothing to choose from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..._types import FloatArray
from ...model import CPOMDP
from ..driver import Driver, Engine
from ..early import finishing
from ..effort import Effort
from ..pointbased.best_policy import BestPolicy, best_guided, plans_alone
from ..pointbased.engine import PointBasedEngine
from ..pointbased.policy import candidate_controller
from ..pointbased.switches import PointBasedSwitches
from ..policy_value import with_expected_costs
from ..result import INFEASIBLE, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, Result, TracePoint
from ..route import BELIEF_GRAPH, POINT_BASED, Route
from .engine import BeliefGraphEngine
from .expectation import ExpectationEngine
from .outcome import outcome
from .search import ArcsSwitches

_DOUBT = 2.0  # standard errors by which a policy must earn more than one that promises more
_TINY = 1e-100  # a budget that stands for none where shares of it are compared
_TO_CHOOSE, _TO_CHOOSE_ALIKE = 0.25, 0.1  # share of the time for choosing a policy; if costs are alike within a class

_E = TypeVar("_E", bound=Engine)


def by_search(
    model: CPOMDP,
    effort: Effort,
    route: Route,
    *,
    found: Result | None = None,
    switches: ArcsSwitches | None = None,
    point_based: PointBasedSwitches | None = None,
    act_time: float | None = None,
    known_infeasible: bool = False,
) -> Result:
    """Search by the engines of a route, from what was `found` before if there is something.

    `known_infeasible`: it is known that no policy keeps the budget, and only the least budget is asked for.
    """
    makers: dict[str, Callable[[], Engine]] = {
        POINT_BASED: lambda: PointBasedEngine(model, effort, point_based),
        BELIEF_GRAPH: lambda: BeliefGraphEngine(model, effort, switches, known_infeasible),
    }
    engines = [makers[name] for name in route.engines]
    if effort.clock.time_limit is not None and not effort.proves and switches is None and not known_infeasible:
        engines.insert(1, lambda: ExpectationEngine(model, effort))
    driver = Driver(engines, effort, [] if found is None else list(found.trace))
    chosen: BestPolicy | None = None
    status = driver.run(1 - _TO_CHOOSE if POINT_BASED in route.engines else 1.0)
    try:
        status, chosen = _chosen(driver, effort, status)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except MemoryError:
        status = MEMORY_LIMIT
    with finishing(effort.clock):
        if status == INFEASIBLE and BELIEF_GRAPH in route.engines and _of_kind(driver, BeliefGraphEngine) is None:
            driver.add(lambda: BeliefGraphEngine(model, effort, known_infeasible=True))  # it finds the least budget
        result = _result(driver, status, chosen, effort, found)
        if act_time is None or not result.admissible:
            return result
        # The expected costs are those of the plan that it follows if it finds nothing better.
        result = with_expected_costs(result, model, effort.clock, effort.seed)
        engine = _of_kind(driver, BeliefGraphEngine)
        assert engine is not None
        return replace(result, policy=engine.acting(act_time))


def _chosen(driver: Driver, effort: Effort, status: str) -> tuple[str, BestPolicy | None]:
    """Search on in the time for choosing a policy where there is no choice, then choose; the status, and the choice."""
    clock, engine = effort.clock, _of_kind(driver, PointBasedEngine)
    ended = status in (OPTIMAL, INFEASIBLE, INTERRUPTED)
    if not ended and engine is not None and not engine.search.parts.space.varies:
        status = driver.run(1 - _TO_CHOOSE_ALIKE)
        engine = _of_kind(driver, PointBasedEngine)
    if not ended and (engine is None or not engine.is_admissible):
        status = driver.run()
    engine = _of_kind(driver, PointBasedEngine)
    if engine is None or not engine.is_admissible or not engine.search.limited.any():
        return status, None
    if status in (OPTIMAL, INFEASIBLE, INTERRUPTED) or clock.over:
        return status, None
    seconds = clock.left if clock.left is not None else clock.elapsed * _TO_CHOOSE / (1 - _TO_CHOOSE)
    return status, best_guided(engine.search, _dual(driver), seconds, effort.seed)


def _dual(driver: Driver) -> FloatArray | None:
    engine = _of_kind(driver, ExpectationEngine)
    return None if engine is None else engine.multipliers


def _of_kind(driver: Driver, kind: type[_E]) -> _E | None:
    return next((engine for engine in driver.engines if isinstance(engine, kind)), None)


def _result(driver: Driver, status: str, chosen: BestPolicy | None, effort: Effort, found: Result | None) -> Result:
    """The best policy of all engines, with the best bounds of each side."""
    trace = driver.trace
    trace.append(trace[-1]._replace(seconds=effort.clock.seconds))
    graph, points = _of_kind(driver, BeliefGraphEngine), _of_kind(driver, PointBasedEngine)
    promised = [] if found is None else [(found.lower, found)]
    if graph is not None:
        promised.append((graph.lower, graph.result(status, trace)))
    if points is not None:
        promised.append((points.lower, _of_points(points, status, trace, chosen, effort)))
    proves = min((engine for engine in (points, graph) if engine is not None), key=lambda engine: engine.upper)
    budget = proves.search.model.budget
    promise, best = max(promised, key=lambda each: _rank(each[0], each[1], budget))
    for lower, other in promised:
        if other.admissible and other.reward - _DOUBT * _error(other) > best.reward:
            promise, best = lower, other
    at_least = trace[-1].lower
    needed = [each.needed for _, each in promised if each.needed is not None]
    return replace(
        best,
        status=status,
        lower=at_least,
        upper=trace[-1].upper,
        promise=promise if best.admissible and promise < at_least else None,
        trace=trace,
        seconds=trace[-1].seconds,
        needed=None if best.needed is None else np.max(needed, axis=0),
        evidence=proves.search,
    )


def _rank(promise: float, result: Result, budget: FloatArray) -> tuple[bool, float, float, int]:
    """The key of the best policy: the reward that is proven, or else how near it comes to keeping the budget."""
    if result.admissible:
        return True, promise, 0.0, 0
    limited = np.isfinite(budget)
    share = result.sure_cost[limited] / np.maximum(budget[limited], _TINY)
    return False, promise, -float(share.max(initial=0.0)), result.horizon or 0


def _error(result: Result) -> float:
    return 0.0 if result.standard_error is None else float(result.standard_error[0])


def _of_points(
    engine: PointBasedEngine, status: str, trace: list[TracePoint], chosen: BestPolicy | None, effort: Effort
) -> Result:
    """The policy of a point-based search.

    If its plans alone are optimal, or may break the budget, it is the best candidate's graph of plans, which has exact
    totals. Else it changes plans wherever the remaining budget allows a better one, and simulated runs tell its value.
    """
    search = engine.search
    model, admissible = search.model, engine.is_admissible
    candidate = search.best_candidate if admissible else search.thriftiest_candidate
    more: dict[str, Any] = {}
    if status == OPTIMAL or not admissible:
        reward, cost = search.totals(candidate)
        sure_cost = search.parts.candidates.sure[candidate].copy()
        more["policy"] = candidate_controller(search, candidate)
    else:
        if chosen is None:
            chosen = plans_alone(search, candidate, effort.clock.afterwards(), effort.seed)
        # It may change plans as long as the budget allows, so the budget is what no history exceeds.
        sure_cost = np.minimum(model.budget, model.most_spent)
        reward = min(max(chosen.value.reward, engine.lower), trace[-1].upper)  # chance has no say in what is proven
        cost = np.minimum(chosen.value.cost, sure_cost)
        more |= {"policy": chosen.policy, "candidates": chosen.candidates}
        more |= {"standard_error": chosen.value.error, "runs": chosen.value.runs}
    return outcome(
        status,
        trace,
        effort.clock.setup_seconds,
        effort.seed,
        reward=reward,
        cost=cost,
        sure_cost=sure_cost,
        admissible=admissible,
        needed=search.needed,
        visits=int(search.parts.counts["visits"][0]),
        **more,
    )
