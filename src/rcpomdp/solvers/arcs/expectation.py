"""The optimum for budgets that hold in expectation as an engine: it bounds the optimum for every history from above.

A policy that keeps its budgets in every history keeps them in expectation (docs/theory.md, Theorem 7). Costs count as
discounted by γ here, as rewards are, whatever their own discounts: with ``β ≥ γ`` that is no more than they come to.
Column generation also finds the multipliers at which the budgets are worth their price.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from ..._types import FloatArray
from ...deadline import TimeUpError, within
from ...errors import InputError
from ...model import CPOMDP
from .. import sarsop as unconstrained
from ..belief_graph.search import BeliefGraphSearch, Objective
from ..cgcp.solve import ColumnGeneration
from ..checks import LARGEST_OF_PROGRAMS, check_totals
from ..clock import Clock
from ..effort import Effort
from ..result import INFEASIBLE, INTERRUPTED, STALLED

_SHARE = 0.08  # of the time limit
_ITERATIONS = 100


class ExpectationEngine:
    """Column generation for a share of the time limit, in one go."""

    name = "budgets in expectation"
    lower = -np.inf

    def __init__(self, model: CPOMDP, effort: Effort) -> None:
        self.upper = np.inf
        self.multipliers: FloatArray | None = None  # [K] at which the bound is the least
        self.work = self.memory = 0
        self._model, self._effort = model, effort

    @property
    def counts(self) -> tuple[int, int, int]:
        """Trials, beliefs and plans, of which this search tells nothing: they are not of the policy."""
        return 0, 0, 0

    def limit_memory(self, limit: float) -> None:
        """Take no more than so many bytes from now on."""

    def advance(self) -> str | None:
        """Generate columns for all of the engine's time; there is nothing to do afterwards."""
        limit = self._effort.clock.time_limit
        assert limit is not None
        with self._effort.clock.stopped():
            unconstrained.load_kernels()
        model = self._model.with_cost_discount(None)
        try:
            check_totals(model, LARGEST_OF_PROGRAMS)
        except InputError:  # numbers too large for linear programs
            return STALLED
        with suppress(TimeUpError), within():
            self._generate(model, Clock(_SHARE * limit).watch())
        return STALLED

    def _generate(self, model: CPOMDP, clock: Clock) -> None:
        graph_search = BeliefGraphSearch(
            model, Objective(1.0, np.zeros(model.n_costs)), None, self._effort.memory_limit / 2
        )
        generation = ColumnGeneration(graph_search, model.budget, model.spending_limit, self._effort.epsilon, clock)
        clock.ready()
        status = generation.run(_ITERATIONS)
        self.work = graph_search.work
        if status == INTERRUPTED:
            raise KeyboardInterrupt
        if status != INFEASIBLE:
            self.upper, self.multipliers = generation.pricing.upper, generation.pricing.best_multipliers
