"""ARCS by search: engines that take turns, then the best policy that they know.

Half of a time limit is never worth a wrong choice of engine, so that where `solvers.route` leaves a doubt two of them
take turns; the better bound of each side counts. Relaxations take turns with them: whatever bounds the optimum from
above counts, too. A share of the time is kept for choosing a policy by simulation, and goes back to the search where
there is nothing to choose from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ..._types import FloatArray
from ...model import CPOMDP
from ..driver import Driver, Engine
from ..early import finishing
from ..effort import Effort
from ..pointbased.best_policy import BestPolicy, best_guided, plans_alone
from ..pointbased.engine import PointBasedEngine
from ..pointbased.policy import plan_set
from ..pointbased.switches import PointBasedSwitches
from ..policy_value import Worth, with_expected_costs
from ..result import INFEASIBLE, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, Result, TracePoint
from ..route import BELIEF_GRAPH, POINT_BASED, Route
from .engine import BeliefGraphEngine
from .outcome import outcome
from .relaxations import ExpectationEngine, MultiplierEngine, Relaxation, RemainingEngine
from .search import ArcsSwitches

_DOUBT = 2.0  # standard errors by which a policy must earn more than one that promises more
_TO_CHOOSE = 0.15  # share of the time for choosing a policy

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
    relaxations = _Relaxations(model, effort)
    is_plain = effort.proves or switches is not None or known_infeasible
    driver = Driver(
        [makers[name] for name in route.engines],
        effort,
        [] if found is None else list(found.trace),
        [] if is_plain else relaxations.makers(POINT_BASED in route.engines),
    )
    chosen: BestPolicy | None = None
    status = driver.run(1 - _TO_CHOOSE if POINT_BASED in route.engines else 1.0)
    try:
        status, chosen = _chosen(driver, effort, status, relaxations)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except MemoryError:
        status = MEMORY_LIMIT
    with finishing(effort.clock):
        result = _result(driver, status, chosen, effort, found)
        if act_time is None or not result.admissible:
            return result
        # The expected costs are those of the plan that it follows if it finds nothing better.
        result = with_expected_costs(result, model, effort.clock, effort.seed)
        engine = _of_kind(driver, BeliefGraphEngine)
        assert engine is not None
        return replace(result, policy=engine.acting(act_time))


class _Relaxations:
    """The relaxations of a solve; searches at multipliers are kept for guides, whether or not their bounds count."""

    def __init__(self, model: CPOMDP, effort: Effort) -> None:
        self._model, self._effort = model, effort
        self._expectation = ExpectationEngine(model, effort)
        self.searches: list[MultiplierEngine] = []

    def makers(self, has_guides: bool) -> list[Callable[[], Engine]]:
        """Return what sets them up, in the order of their turns."""
        made: list[Callable[[], Engine]] = [
            lambda: RemainingEngine(self._model, self._effort),
            lambda: self._expectation,
        ]
        if has_guides:
            made += [lambda: self._search(np.zeros(self._model.n_costs)), self._priced]
        return made

    @property
    def dual(self) -> FloatArray | None:
        """Multipliers [K] at which the budgets are worth their price; None if they are not known."""
        found = self._expectation.multipliers
        return found if found is not None and found.any() else None

    def _priced(self) -> Engine:
        return self._search(self.dual) if self.dual is not None else Relaxation(self._model, self._effort)

    def _search(self, multipliers: FloatArray) -> MultiplierEngine:
        self.searches.append(MultiplierEngine(self._model, self._effort, multipliers))
        return self.searches[-1]


def _chosen(driver: Driver, effort: Effort, status: str, relaxations: _Relaxations) -> tuple[str, BestPolicy | None]:
    """Search on in the time for choosing a policy where there is no choice, then choose; the status, and the choice."""
    clock, engine = effort.clock, _of_kind(driver, PointBasedEngine)
    ended = status in (OPTIMAL, INFEASIBLE, INTERRUPTED)
    if not ended and (engine is None or not engine.is_admissible):
        status = driver.run()
        engine = _of_kind(driver, PointBasedEngine)
    if engine is None or not engine.is_admissible or not engine.search.limited.any():
        return status, None
    if status in (OPTIMAL, INFEASIBLE, INTERRUPTED) or clock.over:
        return status, None
    seconds = clock.left if clock.left is not None else clock.elapsed * _TO_CHOOSE / (1 - _TO_CHOOSE)
    searches = [engine.search for engine in relaxations.searches]
    return status, best_guided(engine.search, searches, relaxations.dual, seconds, effort.seed)


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
    promise, best = max(promised, key=lambda each: (bool(each[1].admissible), each[0]))
    for lower, other in promised:
        if other.admissible and other.reward - _DOUBT * _error(other) > best.reward:
            promise, best = lower, other
    at_least = trace[-1].lower
    proves = min((engine for engine in (graph, points) if engine is not None), key=lambda engine: engine.upper)
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


def _error(result: Result) -> float:
    return 0.0 if result.standard_error is None else float(result.standard_error[0])


def _of_points(
    engine: PointBasedEngine, status: str, trace: list[TracePoint], chosen: BestPolicy | None, effort: Effort
) -> Result:
    """The policy of a point-based search; the best candidate's plans, unless there is a choice already."""
    search = engine.search
    model, admissible = search.model, engine.is_admissible
    candidate = search.best_candidate if admissible else search.thriftiest_candidate
    if chosen is None and admissible:
        chosen = plans_alone(search, candidate, effort.clock.afterwards(), effort.seed)
    elif chosen is None:  # it may break the budget, and is not simulated: its plans tell what it earns and costs
        chosen = BestPolicy(plan_set(search, candidate), Worth(*search.totals(candidate)))
    sure_cost = search.parts.candidates.sure[candidate].copy()
    reward, cost = chosen.value.reward, chosen.value.cost
    if admissible:
        # It may change plans as long as the budget allows, so the budget is what no history exceeds.
        sure_cost = np.minimum(model.budget, model.most_spent)
        reward = min(max(reward, engine.lower), trace[-1].upper)  # chance has no say in what is proven
        cost = np.minimum(cost, sure_cost)
    return outcome(
        status,
        trace,
        effort.clock.setup_seconds,
        effort.seed,
        policy=chosen.policy,
        reward=reward,
        cost=cost,
        sure_cost=sure_cost,
        admissible=admissible,
        needed=search.needed,
        visits=int(search.parts.counts["visits"][0]),
        standard_error=chosen.value.error,
        runs=chosen.value.runs,
        candidates=chosen.candidates,
    )
