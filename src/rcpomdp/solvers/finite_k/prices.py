"""Graph searches at several multipliers λ, which serve all beliefs of the tree.

A graph search (`solvers.belief_graph.search`) bounds ``V_λ(b) = max_π V_R − λ·V_C`` at whatever belief it is asked for,
and knows a plan that attains its lower bound. A belief that is new is shown to every graph search at once, so that it
begins with a cut for each λ and with the plans that are best there. One more graph search minimises costs: it proves
that a budget is too small, or finds a plan that keeps it. When there are as many graph searches as there may be, the
one that was used least lately takes up a new λ; the cuts that it gave remain.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._types import FloatArray
from ...model import CPOMDP, beliefs
from ...model.beliefs import Belief
from ..belief_graph.search import BeliefGraphSearch, Objective
from ..clock import Clock
from .fronts import Columns, Front

_SEARCHES = 8  # that maximise; fewer where the model is large
_LARGE = 20_000  # states times actions of all graph searches together
_STRIDE = 500_000  # elementary steps between looks at goal and clock
_MOST_IDLE = 20  # such strides without any change before a search is given up
_SAME = 1e-9  # relative difference of multipliers that counts as none


class Prices:
    """Graph searches, the columns that they found, and the fronts of the beliefs that were asked for.

    Parameters
    ----------
    memory_limit : bytes that beliefs and plans of all graph_searches may take
    """

    def __init__(self, model: CPOMDP, memory_limit: float, clock: Clock) -> None:
        self.model, self.clock = model, clock
        self._most = int(np.clip(_LARGE // (model.n_states * model.n_actions), 1, _SEARCHES))
        self._share = memory_limit / (1 + self._most)
        self.limited = np.flatnonzero(np.isfinite(model.budget))
        first = np.zeros(model.n_costs)
        first[self.limited] = 1.0
        self._homes: dict[int, int] = {}  # the initial belief in each graph search, by identity
        self.graph_searches = [self._graph_search(Objective(1.0, np.zeros(model.n_costs)))]
        self.cheapest = self._graph_search(Objective(0.0, first / self.limited.size))
        self.ordered = self.cheapest.ordered
        self.initial = beliefs.initial(self.ordered)
        self._columns: dict[int, Columns] = {}  # by class
        self._fronts: dict[int, Front] = {}  # by belief
        self._searches: dict[int, int] = {}  # of each graph search, by identity: how often its bounds may have changed

    def _graph_search(self, objective: Objective) -> BeliefGraphSearch:
        graph_search = BeliefGraphSearch(self.model, objective, None, self._share)
        self._homes[id(graph_search)] = graph_search.root
        return graph_search

    def visit(self, graph_search: BeliefGraphSearch, b: Belief) -> bool:
        """Make a belief the root of a search; False if there is no room for it, which the initial one always has."""
        if b is self.initial:
            graph_search.root = self._homes[id(graph_search)]
            return True
        return graph_search.move_root(b)

    @property
    def all(self) -> list[BeliefGraphSearch]:
        """Every graph search."""
        return [*self.graph_searches, self.cheapest]

    @property
    def slack(self) -> float:
        """More than rounding can have done to a bound."""
        return max(graph_search.slack for graph_search in self.graph_searches)

    @property
    def out_of_memory(self) -> bool:
        """True if a graph search ended for want of memory."""
        return any(graph_search.out_of_memory for graph_search in self.all)

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of beliefs and plans."""
        return sum(graph_search.sizes[0] for graph_search in self.all), sum(
            graph_search.sizes[1] for graph_search in self.all
        )

    def front(self, b: Belief) -> Front:
        """The front of a belief of the model in class order."""
        graph_search = self.cheapest  # the one that is always there: it tells which beliefs are the same
        if not self.visit(graph_search, b):
            raise MemoryError
        found = self._fronts.get(graph_search.root)
        if found is None:
            cls = graph_search.root_class
            if cls not in self._columns:
                first, end = graph_search.class_bounds(cls)
                self._columns[cls] = Columns(cls, first, end - first, self.model.n_costs)
                for plan in graph_search.blind_plans:
                    self._columns[cls].add(graph_search, plan)
            found = self._fronts[graph_search.root] = Front(b, self._columns[cls], self.limited, self.model.n_costs)
            self.refresh(found)
        return found

    def refresh(self, front: Front) -> None:
        """Ask the graph searches that did something since the last time for their bounds and plans at a belief."""
        for graph_search in self.all:
            if front.read.get(id(graph_search)) != self._searches.get(id(graph_search), 0) and self.visit(
                graph_search, front.belief
            ):
                self._note(graph_search, front)
        front.take_up()

    def _note(self, graph_search: BeliefGraphSearch, front: Front) -> None:
        """Tell a front what a graph search, whose root is there, has found."""
        if graph_search.objective.reward == 1.0:
            front.cut(graph_search.objective.costs, graph_search.upper + graph_search.slack)
        else:
            front.floor(graph_search.objective.costs, -graph_search.upper - graph_search.slack)
        front.columns.add(graph_search, graph_search.best_plan)
        front.read[id(graph_search)] = self._searches.get(id(graph_search), 0)

    def improve(self, front: Front, left: FloatArray, most: FloatArray, goal: float, scale: float, work: int) -> bool:
        """One step of column generation at a belief; whether it was done with, not cut short.

        Parameters
        ----------
        left, most : [K] what may be spent there for sure, and with all tolerance
        goal : gap that is sought
        work : elementary steps to do at most
        """
        mix = front.mix(left, most, scale)
        at = self.limited
        if mix.value > -np.inf:
            graph_search = self._aimed(mix.multipliers)
            if not self.visit(graph_search, front.belief):
                return False

            def wanted() -> float:
                return max((graph_search.lower - mix.threshold) / 2, goal / 4, graph_search.slack)

        else:
            graph_search = self._cheapest(mix.multipliers)
            if not self.visit(graph_search, front.belief):
                return False
            lam = graph_search.objective.costs[at]

            def wanted() -> float:
                within = lam @ graph_search.best_totals()[1][at] <= lam @ left[at]
                hopeless = -graph_search.upper - graph_search.slack > lam @ most[at]
                return np.inf if within or hopeless else graph_search.slack

        front.visits += 1
        done = self._search(graph_search, wanted, front.visits * work)
        self._note(graph_search, front)
        front.take_up()
        return done

    def _search(self, graph_search: BeliefGraphSearch, wanted: Callable[[], float], work: int) -> bool:
        """Search until the gap is as wanted or nothing changes any more; False if that was cut short."""
        self._changed(graph_search)
        stop, idle, before = graph_search.work + work, 0, (0.0, 0.0, 0)
        while graph_search.gap > (goal := wanted()):
            now = graph_search.lower, graph_search.upper, graph_search.sizes[0]
            idle, before = (idle + 1 if now == before else 0), now
            if idle == _MOST_IDLE:
                return True
            if graph_search.work >= stop or self.clock.over or graph_search.out_of_memory:
                return False
            graph_search.search(goal, int(min(_STRIDE, stop - graph_search.work)))
        return True

    def _aimed(self, multipliers: FloatArray) -> BeliefGraphSearch:
        """A graph search at these multipliers, the last of the list from now on."""
        for graph_search in self.graph_searches:
            apart = np.abs(graph_search.objective.costs - multipliers).max()
            if apart <= _SAME * multipliers.max():
                break
        else:
            objective = Objective(1.0, multipliers.copy())
            if len(self.graph_searches) < self._most:
                graph_search = self._graph_search(objective)
                self.graph_searches.append(graph_search)
            else:
                graph_search = self.graph_searches[0]
                graph_search.retarget(objective)
                self._changed(graph_search)
        self.graph_searches.remove(graph_search)
        self.graph_searches.append(graph_search)
        return graph_search

    def _cheapest(self, multipliers: FloatArray) -> BeliefGraphSearch:
        graph_search = self.cheapest
        if multipliers.any() and not np.allclose(graph_search.objective.costs, multipliers, rtol=_SAME, atol=0.0):
            graph_search.retarget(Objective(0.0, multipliers.copy()))
            self._changed(graph_search)
        return graph_search

    def _changed(self, graph_search: BeliefGraphSearch) -> None:
        self._searches[id(graph_search)] = self._searches.get(id(graph_search), 0) + 1
