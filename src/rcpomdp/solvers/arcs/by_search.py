"""ARCS by search: engines that take turns, then the best policy that they know.

Half of a time limit is never worth a wrong choice of engine, so that where `solvers.route` leaves a doubt two of them
take turns; the better bound of each side counts. Relaxations take turns with them: whatever bounds the optimum from
above counts, too. A share of the time is kept for choosing a policy by simulation, and goes back to the search where
there is nothing to choose from.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from ..._types import FloatArray
from ...bounds.belief_grid import BeliefGrid
from ...bounds.blind import blind_vectors
from ...bounds.mdp import mdp_q_values
from ...deadline import TimeUpError, within
from ...model import CPOMDP
from ...model.classes import observability_classes
from ...policies import ControllerPolicy
from ..clock import PILOT_SETUP, SETUP, Clock
from ..driver import Driver, Engine
from ..early import finishing
from ..effort import Effort
from ..pointbased.best_policy import BestPolicy, best_guided, plans_alone
from ..pointbased.engine import PointBasedEngine
from ..pointbased.policy import candidate_controller, plan_set
from ..pointbased.switches import PointBasedSwitches
from ..policy_value import with_expected_costs
from ..result import INFEASIBLE, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, TIME_LIMIT, Result
from ..route import BELIEF_GRAPH, POINT_BASED, Route
from .engine import BeliefGraphEngine
from .known_supports import KnownSupports, told_of_states, with_known_supports, without_known_supports
from .outcome import outcome
from .relaxations import ExpectationEngine, MultiplierEngine, RemainingEngine
from .search import ArcsSwitches

_DOUBT = 2.0  # standard errors by which a policy must earn more than one that promises more
_TO_CHOOSE, _TO_CHOOSE_ALIKE = 0.2, 0.12  # share of the time for choosing a policy; if costs are alike in a class
_SHORT_SETUP = 0.15  # share of the time for informed bounds where states are split, or there is a grid of beliefs
_FOR_SUPPORTS = 0.05  # share of the time for splitting states by supports
_LEAST_PRICE = 0.2  # of what can be gained at all: a whole budget costs at least that where guides are looked for
_PROMISING = 0.25  # of the gap: a table whose bound is no farther behind is made larger
_FACTORS = (1.0, 2.0, 0.5)  # of the multipliers, for searches whose vectors guide a policy
_TINY = 1e-100  # a budget that stands for none where shares of it are compared
_LEFT_OVER = 0.04  # share of the time left over by the choice of a policy with which the search goes on
_ENDED = (OPTIMAL, INFEASIBLE, INTERRUPTED)  # statuses with which there is nothing to choose
_NOTHING = 1e-6  # of what can be spent at all

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
    is_plain = effort.proves or switches is not None or act_time is not None or known_infeasible
    race = _Race(model, effort, route, found, is_plain)
    race.start(
        lambda split, share: PointBasedEngine(split, effort, point_based, share),
        lambda split: BeliefGraphEngine(split, effort, switches, known_infeasible),
    )
    status = race.run()
    try:
        status = race.choose(status)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except MemoryError:
        status = MEMORY_LIMIT
    with finishing(effort.clock):
        if status == INFEASIBLE and BELIEF_GRAPH in route.engines:
            race.ask_for_least_budget()
        result = race.result(status)
        if act_time is None or not result.admissible:
            return result
        # The expected costs are those of the plan that it follows if it finds nothing better.
        result = with_expected_costs(result, model, effort.clock, effort.seed)
        engine = race.engine(BeliefGraphEngine)
        assert engine is not None
        return replace(result, policy=engine.acting(act_time))


class _Race:
    """The engines of one solve.

    Engines that look for a policy search the model with known supports, if there is one (`arcs.known_supports`).
    Relaxations take the model as it is.
    """

    def __init__(self, model: CPOMDP, effort: Effort, route: Route, found: Result | None, is_plain: bool) -> None:
        self._model, self._effort, self._route, self._found = model, effort, route, found
        self._is_plain = is_plain
        self._split, self._supports = (model, None) if is_plain else self._with_known_supports()
        self._relaxations = Relaxations(model, effort, self._is_promising)
        self._chosen: BestPolicy | None = None

    def _with_known_supports(self) -> tuple[CPOMDP, KnownSupports | None]:
        """The model with known supports, if there is time for it."""
        limit = self._effort.clock.time_limit
        clock = Clock(None if limit is None else _FOR_SUPPORTS * limit)
        with suppress(TimeUpError), within(over=lambda: clock.over):
            return with_known_supports(self._model)
        return self._model, None

    @property
    def _to_choose(self) -> float:
        """The share of the time for choosing a policy."""
        if POINT_BASED not in self._route.engines:
            return 0.0
        return _TO_CHOOSE if costs_vary(self._split) else _TO_CHOOSE_ALIKE

    @property
    def _share_for_setup(self) -> float:
        """The share of the time for the informed bounds of the point-based search: less where others hold, too."""
        others_hold = self._supports is not None or (not self._is_plain and BeliefGrid.fits(self._model))
        return _SHORT_SETUP if others_hold else SETUP

    def start(self, point_based: Callable[[CPOMDP, float], Engine], belief_graph: Callable[[CPOMDP], Engine]) -> None:
        """Put the engines at the start."""
        makers = {
            POINT_BASED: lambda: point_based(self._split, self._share_for_setup),
            BELIEF_GRAPH: lambda: belief_graph(self._split),
        }
        self._driver = Driver(
            [makers[name] for name in self._route.engines],
            self._effort,
            [] if self._found is None else list(self._found.trace),
            [] if self._is_plain else self._relaxations.makers(POINT_BASED in self._route.engines),
            (lambda: point_based(self._split, PILOT_SETUP)) if self._route.has_pilot and not self._is_plain else None,
        )

    def _is_promising(self, upper: float) -> bool:
        """True if an upper bound is no more than a share of the gap above the best."""
        last = self._driver.trace[-1]
        return upper - last.upper <= _PROMISING * (last.upper - last.lower)

    def engine(self, kind: type[_E]) -> _E | None:
        """The engine of a kind, if it was set up and not dropped; of two, the one that proves more of its policy."""
        found = [engine for engine in reversed(self._driver.engines) if isinstance(engine, kind)]
        return max(found, key=lambda engine: engine.lower, default=None)

    def run(self) -> str:
        """Search, but for the time that choosing a policy takes; return what ended it."""
        return self._driver.run(1 - self._to_choose)

    def choose(self, status: str) -> str:
        """Choose a policy, and search on where time is left over; return what ended it."""
        clock = self._effort.clock
        if status in _ENDED:
            return status
        engine = self.engine(PointBasedEngine)
        if engine is None or not engine.is_admissible:
            status = self._driver.run()
            engine = self.engine(PointBasedEngine)
        if engine is None or not engine.is_admissible or not engine.search.limited.any():
            return status
        if status in _ENDED or clock.over:
            return status
        began = clock.elapsed
        self._chosen = self._best_policy(engine)
        limit, used = clock.time_limit, clock.elapsed - began
        if status != TIME_LIMIT or limit is None or clock.share_left(1.0) < used + _LEFT_OVER * limit:
            return status
        status = self._driver.run(1 - (used + _LEFT_OVER * limit / 2) / limit)
        if status not in _ENDED:
            engine = self.engine(PointBasedEngine)
            assert engine is not None  # it was there before
            self._chosen = self._best_policy(engine)
        return status

    def _best_policy(self, engine: PointBasedEngine) -> BestPolicy:
        """The plans of a search with the guides that earn most."""
        clock = self._effort.clock
        plans = plan_set(engine.search, engine.search.best_candidate, everywhere=True)
        return best_guided(
            told_of_states(plans, self._model, self._supports),
            [each.search for each in self._relaxations.searches],
            self._relaxations.multipliers,
            engine.lower,
            clock.left,
            clock.afterwards,
            self._effort.seed,
        )

    def ask_for_least_budget(self) -> None:
        """Let a belief-graph search find the least budget."""
        if self.engine(BeliefGraphEngine) is None:
            self._driver.add(lambda: BeliefGraphEngine(self._split, self._effort, known_infeasible=True))

    def result(self, status: str) -> Result:
        """The best policy of all engines, with the best bounds of each side."""
        trace, found = self._driver.trace, self._found
        if found is not None and not self._driver.engines:  # there was no time for a search
            return replace(found, status=status)
        trace.append(trace[-1]._replace(seconds=self._effort.clock.seconds))
        graph, points = self.engine(BeliefGraphEngine), self.engine(PointBasedEngine)
        promised = [] if found is None else [(found.lower, found)]
        if graph is not None:
            told = without_known_supports(graph.result(status, trace), self._model, self._supports)
            promised.append((graph.lower, told))
        if points is not None:
            promised.append((points.lower, self._of_points(points, status)))
        promise, best = max(promised, key=lambda each: _rank(each[0], each[1], self._model.budget))
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
            route=f"{self._route}{'' if self._supports is None else '; states are split by the supports of beliefs'}",
            evidence=proves.search,
        )

    def _of_points(self, engine: PointBasedEngine, status: str) -> Result:
        """The policy of a point-based search.

        If its plans alone are optimal, or may break the budget, it is the best candidate's graph of plans, which has
        exact totals. Else it changes plans wherever the remaining budget allows a better one, and simulated runs tell
        its value.
        """
        search, trace, effort = engine.search, self._driver.trace, self._effort
        admissible = engine.is_admissible
        candidate = search.best_candidate if admissible else search.thriftiest_candidate
        more: dict[str, Any] = {}
        if status == OPTIMAL or not admissible:
            reward, cost = search.totals(candidate)
            sure_cost = search.parts.candidates.sure[candidate].copy()
            followed = candidate_controller(search, candidate)
            more["policy"] = ControllerPolicy(self._model, followed.actions, followed.successors, start=followed.start)
        else:
            chosen = self._chosen
            if chosen is None:
                plans = told_of_states(plan_set(search, candidate), self._model, self._supports)
                chosen = plans_alone(plans, effort.clock.afterwards(), effort.seed)
            # It may change plans as long as the budget allows, so the budget is what no history exceeds.
            sure_cost = np.minimum(self._model.budget, self._model.most_spent)
            reward = min(max(chosen.value.reward, engine.lower), trace[-1].upper)  # chance has no say in what is proven
            cost, error = np.minimum(chosen.value.cost, sure_cost), chosen.value.error
            if error is not None:  # runs that contradict what is proven err by so much at least
                error = np.maximum(error, np.abs(np.append(reward - chosen.value.reward, cost - chosen.value.cost)))
            more |= {"policy": chosen.policy, "candidates": chosen.candidates}
            more |= {"standard_error": error, "runs": chosen.value.runs}
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


class Relaxations:
    """The relaxations of a solve; searches at multipliers are kept for guides, whether or not their bounds count."""

    def __init__(self, model: CPOMDP, effort: Effort, is_promising: Callable[[float], bool]) -> None:
        self._model, self._effort, self._is_promising = model, effort, is_promising
        self._expectation = ExpectationEngine(model, effort)
        self.searches: list[MultiplierEngine] = []

    def makers(self, has_guides: bool) -> list[Callable[[], Engine]]:
        """Return what sets them up, in the order of their turns."""
        made: list[Callable[[], Engine]] = [
            lambda: RemainingEngine(self._model, self._effort, self._is_promising),
            lambda: self._expectation,
        ]
        if has_guides:
            made.append(lambda: self._search(0.0))
        if has_guides and costs_vary(self._model):
            made += [partial(self._search, factor) for factor in _FACTORS]
        return made

    @property
    def multipliers(self) -> FloatArray:
        """Multipliers [K] at which the budgets are about worth their price.

        Where budgets in expectation say little, a share of what can be gained at all takes their place.
        """
        model, found = self._model, self._expectation.multipliers
        limited = np.isfinite(model.budget) & model.cost.any(axis=(1, 2))
        unit = np.maximum(model.budget, _NOTHING * model.most_spent)
        least = np.zeros(model.n_costs)
        least[limited] = _LEAST_PRICE * self._gain / unit[limited]
        return least if found is None else np.maximum(found, least)

    @cached_property
    def _gain(self) -> float:
        """By how much the optimum may exceed the best action for ever."""
        b0 = self._model.initial_belief
        known = min((engine.upper for engine in (self._expectation, *self.searches)), default=np.inf)
        if not np.isfinite(known):
            known = float((b0 @ mdp_q_values(self._model)).max())
        return max(known - float((blind_vectors(self._model, self._model.reward[None])[:, 0] @ b0).max()), 0.0)

    def _search(self, factor: float) -> MultiplierEngine:
        multipliers = factor * self.multipliers if factor else np.zeros(self._model.n_costs)
        self.searches.append(MultiplierEngine(self._model, self._effort, multipliers))
        return self.searches[-1]


def costs_vary(model: CPOMDP) -> bool:
    """True if some limited cost differs within an observability class that can be reached."""
    classes, cost = observability_classes(model), model.cost[np.isfinite(model.budget)]
    least, most = (f.reduceat(cost[:, classes.order], classes.start[:-1], axis=1) for f in (np.minimum, np.maximum))
    return bool((least != most)[:, classes.reachable].any())


def _rank(promise: float, result: Result, budget: FloatArray) -> tuple[bool, float, float, int]:
    """The key of the best policy: the reward that is proven, or else how near it comes to keeping the budget."""
    if result.admissible:
        return True, promise, 0.0, 0
    limited = np.isfinite(budget)
    share = result.sure_cost[limited] / np.maximum(budget[limited], _TINY)
    return False, promise, -float(share.max(initial=0.0)), result.horizon or 0


def _error(result: Result) -> float:
    return 0.0 if result.standard_error is None else float(result.standard_error[0])
