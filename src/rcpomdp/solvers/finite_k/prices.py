"""Engines at several multipliers λ, which serve all beliefs of the tree.

An engine (`solvers.belief_graph.search`) bounds ``V_λ(b) = max_π V_R − λ·V_C`` at whatever belief it is asked for, and
knows a plan that attains its lower bound. A belief that is new is shown to every engine at once, so that it begins with
a cut for each λ and with the plans that are best there. One more engine minimises costs: it proves that a budget is
too small, or finds a plan that keeps it. When there are as many engines as there may be, the one that was used least
lately takes up a new λ; the cuts that it gave remain.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._types import FloatArray
from ...model import CPOMDP, beliefs
from ...model.beliefs import Belief
from ..belief_graph.search import Engine, Objective
from ..clock import Clock
from .fronts import Columns, Front

_ENGINES = 8  # that maximise; fewer where the model is large
_LARGE = 20_000  # states times actions of all engines together
_STRIDE = 500_000  # elementary steps between looks at goal and clock
_MOST_IDLE = 20  # such strides without any change before a search is given up
_SAME = 1e-9  # relative difference of multipliers that counts as none


class Prices:
    """Engines, the columns that they found, and the fronts of the beliefs that were asked for.

    Parameters
    ----------
    memory_limit : bytes that beliefs and plans of all engines may take
    """

    def __init__(self, model: CPOMDP, memory_limit: float, clock: Clock) -> None:
        self.model, self.clock = model, clock
        self._most = int(np.clip(_LARGE // (model.n_states * model.n_actions), 1, _ENGINES))
        self._share = memory_limit / (1 + self._most)
        self.limited = np.flatnonzero(np.isfinite(model.budget))
        first = np.zeros(model.n_costs)
        first[self.limited] = 1.0
        self._homes: dict[int, int] = {}  # the initial belief in each engine, by identity
        self.engines = [self._engine(Objective(1.0, np.zeros(model.n_costs)))]
        self.cheapest = self._engine(Objective(0.0, first / self.limited.size))
        self.ordered = self.cheapest.ordered
        self.initial = beliefs.initial(self.ordered)
        self._columns: dict[int, Columns] = {}  # by class
        self._fronts: dict[int, Front] = {}  # by belief
        self._searches: dict[int, int] = {}  # of each engine, by identity: how often its bounds may have changed

    def _engine(self, objective: Objective) -> Engine:
        engine = Engine(self.model, objective, None, self._share)
        self._homes[id(engine)] = engine.root
        return engine

    def visit(self, engine: Engine, b: Belief) -> bool:
        """Make a belief the root of an engine; False if there is no room for it, which the initial one always has."""
        if b is self.initial:
            engine.root = self._homes[id(engine)]
            return True
        return engine.move_root(b)

    @property
    def all(self) -> list[Engine]:
        """Every engine."""
        return [*self.engines, self.cheapest]

    @property
    def slack(self) -> float:
        """More than rounding can have done to a bound."""
        return max(engine.slack for engine in self.engines)

    @property
    def out_of_memory(self) -> bool:
        """True if an engine ended for want of memory."""
        return any(engine.out_of_memory for engine in self.all)

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of beliefs and plans."""
        return sum(engine.sizes[0] for engine in self.all), sum(engine.sizes[1] for engine in self.all)

    def front(self, b: Belief) -> Front:
        """The front of a belief of the model in class order."""
        engine = self.cheapest  # the one that is always there: it tells which beliefs are the same
        if not self.visit(engine, b):
            raise MemoryError
        found = self._fronts.get(engine.root)
        if found is None:
            cls = engine.root_class
            if cls not in self._columns:
                first, end = engine.class_bounds(cls)
                self._columns[cls] = Columns(cls, first, end - first, self.model.n_costs)
                for plan in engine.blind_plans:
                    self._columns[cls].add(engine, plan)
            found = self._fronts[engine.root] = Front(b, self._columns[cls], self.limited, self.model.n_costs)
            self.refresh(found)
        return found

    def refresh(self, front: Front) -> None:
        """Ask the engines that did something since the last time for their bounds and plans at a belief."""
        for engine in self.all:
            if front.read.get(id(engine)) != self._searches.get(id(engine), 0) and self.visit(engine, front.belief):
                self._note(engine, front)
        front.take_up()

    def _note(self, engine: Engine, front: Front) -> None:
        """Tell a front what an engine, whose root is there, has found."""
        if engine.objective.reward == 1.0:
            front.cut(engine.objective.costs, engine.upper + engine.slack)
        else:
            front.floor(engine.objective.costs, -engine.upper - engine.slack)
        front.columns.add(engine, engine.best_plan)
        front.read[id(engine)] = self._searches.get(id(engine), 0)

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
            engine = self._aimed(mix.multipliers)
            if not self.visit(engine, front.belief):
                return False

            def wanted() -> float:
                return max((engine.lower - mix.threshold) / 2, goal / 4, engine.slack)

        else:
            engine = self._cheapest(mix.multipliers)
            if not self.visit(engine, front.belief):
                return False
            lam = engine.objective.costs[at]

            def wanted() -> float:
                within = lam @ engine.best_totals()[1][at] <= lam @ left[at]
                hopeless = -engine.upper - engine.slack > lam @ most[at]
                return np.inf if within or hopeless else engine.slack

        front.visits += 1
        done = self._search(engine, wanted, front.visits * work)
        self._note(engine, front)
        front.take_up()
        return done

    def _search(self, engine: Engine, wanted: Callable[[], float], work: int) -> bool:
        """Search until the gap is as wanted or nothing changes any more; False if that was cut short."""
        self._changed(engine)
        stop, idle, before = engine.work + work, 0, (0.0, 0.0, 0)
        while engine.gap > (goal := wanted()):
            now = engine.lower, engine.upper, engine.sizes[0]
            idle, before = (idle + 1 if now == before else 0), now
            if idle == _MOST_IDLE:
                return True
            if engine.work >= stop or self.clock.over or engine.out_of_memory:
                return False
            engine.search(goal, int(min(_STRIDE, stop - engine.work)))
        return True

    def _aimed(self, multipliers: FloatArray) -> Engine:
        """An engine at these multipliers, the last of the list from now on."""
        for engine in self.engines:
            apart = np.abs(engine.objective.costs - multipliers).max()
            if apart <= _SAME * multipliers.max():
                break
        else:
            objective = Objective(1.0, multipliers.copy())
            if len(self.engines) < self._most:
                engine = self._engine(objective)
                self.engines.append(engine)
            else:
                engine = self.engines[0]
                engine.retarget(objective)
                self._changed(engine)
        self.engines.remove(engine)
        self.engines.append(engine)
        return engine

    def _cheapest(self, multipliers: FloatArray) -> Engine:
        engine = self.cheapest
        if multipliers.any() and not np.allclose(engine.objective.costs, multipliers, rtol=_SAME, atol=0.0):
            engine.retarget(Objective(0.0, multipliers.copy()))
            self._changed(engine)
        return engine

    def _changed(self, engine: Engine) -> None:
        self._searches[id(engine)] = self._searches.get(id(engine), 0) + 1
