"""Relaxations as engines: searches and tables that bound the optimum from above alone.

Each forgets a part of the problem:

- Remaining budgets: the agent is told the state, at once or after each step.
- A grid of beliefs, for small classes: a belief is worth at most what the grid points around it are. This one also
  bounds the optimum from below, by plans that are too many for a policy.
- Expectation: budgets hold on average only. Column generation solves this and finds the best multipliers.
- Multipliers: there is no budget, and costs are paid at a price λ, so that ``V* ≤ V_λ + λ·ĉ``. With λ = 0 this is the
  POMDP without a budget. The search's vectors also guide policies (`solvers.pointbased.guides`).

A policy that keeps its budgets in every history keeps them in expectation (docs/theory.md, Theorem 7). The last two
discount all costs by γ. A cost with a discount ``β ≥ γ`` of its own comes to at least as much.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

from ..._types import FloatArray
from ...bounds.belief_grid import BeliefGrid
from ...bounds.remaining import RemainingBudgets
from ...deadline import TimeUpError, within
from ...errors import InputError
from ...model import CPOMDP
from .. import sarsop as unconstrained
from ..belief_graph.search import BeliefGraphSearch, Objective
from ..cgcp.solve import ColumnGeneration
from ..checks import LARGEST_OF_PROGRAMS, check_totals
from ..clock import Clock, Slices
from ..effort import Effort
from ..pointbased.engine import load_kernels as load_point_based_kernels
from ..pointbased.search import PointBasedSearch
from ..result import INFEASIBLE, INTERRUPTED, MEMORY_LIMIT, STALLED, TIME_LIMIT
from ..warmup import loads_kernels, smallest_ending_model, smallest_model

_TABLES, _GRID = 0.025, 0.5  # shares of the time limit: each table, a grid
_SET_UP, _PRICED_SET_UP = 0.05, 0.02  # the same for the set-up of a search without a price, and of one with a price
_EXPECTATION, _MORE_EXPECTATION = 0.03, 0.1  # the same for column generation at first, and each time after that
_PILOT = 2e8  # products of the first table, which tells how many there is time for
_SPEED = 1.5e9  # products a second, about
_UNTIMED = 2e9  # products of a table without a time limit
_ITERATIONS, _UNTIMED_ITERATIONS = 100, 10  # of column generation


class Relaxation:
    """An engine that knows no policy within the budget; this one knows nothing at all."""

    name = "relaxation"
    lower = -np.inf

    def __init__(self, model: CPOMDP, effort: Effort) -> None:
        self.upper = np.inf
        self.work = self.memory = 0
        self._model, self._effort = model, effort

    @property
    def counts(self) -> tuple[int, int, int]:
        """Trials, beliefs and plans: those of a relaxation are not of the policy."""
        return 0, 0, 0

    def limit_memory(self, limit: float) -> None:
        """Take no more than so many bytes from now on."""

    def advance(self) -> str | None:
        """Search for a slice of time; return a status if nothing is left to do."""
        return STALLED


class RemainingEngine(Relaxation):
    """Tables over remaining budgets, for a share of the time limit each, in one go."""

    name = "remaining budgets"

    def __init__(self, model: CPOMDP, effort: Effort, is_promising: Callable[[float], bool]) -> None:
        super().__init__(model, effort)
        self.lower = -np.inf
        self._is_promising = is_promising  # whether a bound is near enough to the best for a larger table

    def advance(self) -> str | None:
        """Make the tables."""
        effort = self._effort
        with effort.clock.stopped():
            _load_table_kernels()
        with suppress(TimeUpError, MemoryError), within():
            if BeliefGrid.fits(self._model):
                self._largest(partial(self._note_both, BeliefGrid(self._model, effort.memory_limit / 4)), _GRID)
            tables = RemainingBudgets(self._model, self._model.spending_limit, effort.memory_limit / 4)
            for is_informed in (False, True):
                self._largest(partial(self._note, tables, is_informed), _TABLES)
        return INFEASIBLE if self.upper == -np.inf else STALLED

    def _largest(self, make: Callable[[float, Callable[[], bool]], float | None], share: float) -> None:
        """Make a table for a share of the time limit; a small one tells whether, and how many products fit in."""
        limit = self._effort.clock.time_limit
        if limit is None:
            make(_UNTIMED, lambda: False)
            return
        clock, began = Clock(share * limit), Clock.now()
        pilot = min(_PILOT, _SPEED * share * limit / 4)
        bound = make(pilot, lambda: clock.over)
        used = Clock.now() - began
        if clock.left is None or clock.left < 2 * used:
            return
        if bound is None:  # the small one was too small
            make(_SPEED * clock.left / 2, lambda: clock.over)
        elif self._is_promising(bound):
            make(0.8 * pilot * clock.left / max(used, 1e-6), lambda: clock.over)

    def _note(self, tables: RemainingBudgets, is_informed: bool, work: float, over: Callable[[], bool]) -> float | None:
        bound = tables.bound(is_informed, work, over)
        if bound is not None:
            self.upper = min(self.upper, bound)
        return bound

    def _note_both(self, grid: BeliefGrid, work: float, over: Callable[[], bool]) -> float | None:
        found = grid.bounds(np.array(self._model.budget), np.array(self._model.spending_limit), work, over)
        if found is None:
            return None
        self.lower, self.upper = max(self.lower, found.lower), min(self.upper, found.upper)
        return found.upper


class ExpectationEngine(Relaxation):
    """Column generation, a share of the time limit at a time; each call goes on where the last one stopped."""

    name = "budgets in expectation"

    def __init__(self, model: CPOMDP, effort: Effort) -> None:
        super().__init__(model, effort)
        self.multipliers: FloatArray | None = None  # [K] at which the bound is the least
        self._generation: ColumnGeneration | None = None

    def advance(self) -> str | None:
        """Generate columns."""
        limit = self._effort.clock.time_limit
        share = _EXPECTATION if self._generation is None else _MORE_EXPECTATION
        with self._effort.clock.stopped():
            unconstrained.load_kernels()
        try:
            check_totals(self._model, LARGEST_OF_PROGRAMS)
            with within():
                return self._generate(Clock(None if limit is None else share * limit).watch())
        except (InputError, TimeUpError):  # numbers too large for linear programs, or no time for them
            return STALLED

    def _generate(self, clock: Clock) -> str | None:
        if self._generation is None:
            model = self._model.with_cost_discount(None)
            search = BeliefGraphSearch(
                model, Objective(1.0, np.zeros(model.n_costs)), None, self._effort.memory_limit / 4
            )
            self._generation = ColumnGeneration(search, model.budget, model.spending_limit, self._effort.epsilon, clock)
            clock.ready()
        generation = self._generation
        generation.go_on(clock)
        status = generation.run(_ITERATIONS if clock.time_limit is not None else _UNTIMED_ITERATIONS)
        self.work, self.memory = generation.graph_search.work, generation.graph_search.memory
        if status == INTERRUPTED:
            raise KeyboardInterrupt
        if status == INFEASIBLE:
            return STALLED
        self.upper, self.multipliers = generation.pricing.upper, generation.pricing.best_multipliers
        return None if status == TIME_LIMIT else status


class MultiplierEngine(Relaxation):
    """A point-based search for ``R − λ·C`` without a budget; its informed bound waits only where λ = 0."""

    name = "multipliers"

    def __init__(self, model: CPOMDP, effort: Effort, multipliers: FloatArray) -> None:
        super().__init__(model, effort)
        clock, limit = effort.clock, effort.clock.time_limit
        with clock.stopped():
            load_point_based_kernels()
        share = _PRICED_SET_UP if multipliers.any() else _SET_UP
        set_up = Clock(None if limit is None else share * limit)
        self.multipliers = multipliers
        self.search = PointBasedSearch(
            model,
            Objective(1.0, multipliers),
            memory_limit=effort.memory_limit,
            over=lambda: set_up.over,
            delay_seconds=0.0 if multipliers.any() else np.inf if limit is None else _SET_UP * limit,
        )
        self._slices = Slices(clock)
        used = multipliers > 0
        self._allowed = float(multipliers[used] @ np.asarray(model.spending_limit)[used])
        self._note()

    def limit_memory(self, limit: float) -> None:
        """Take no more than so many bytes from now on."""
        self.search.memory_limit = limit

    def advance(self) -> str | None:
        """Trials for a slice of time."""
        search = self.search
        if search.out_of_memory:
            return MEMORY_LIMIT
        with self._slices() as work:
            search.search(search.slack, work)
        self._note()
        return STALLED if search.still or search.gap <= search.slack else None

    def _note(self) -> None:
        self.work, self.memory = self.search.work, self.search.memory
        self.upper = self._allowed + self.search.upper + self.search.slack


@loads_kernels
def _load_table_kernels() -> None:
    """Compile the kernels, or load them from the cache, before any clock runs."""
    for model in (smallest_ending_model(), smallest_model()):
        BeliefGrid(model).bounds(np.ones(1), np.ones(1), 1e6, lambda: False)
        for is_informed in (False, True):
            RemainingBudgets(model, np.ones(1)).bound(is_informed, 1e6, lambda: False)
