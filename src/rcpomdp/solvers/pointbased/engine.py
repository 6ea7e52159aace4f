"""The point-based search under a budget as an engine."""

from __future__ import annotations

import numpy as np

from ...kernels.pointbased.arrays import NONE
from ...kernels.pointbased.plans import forget_idle
from ...model import CPOMDP
from ...simulation.simulate import simulate
from ..belief_graph.search import Objective
from ..clock import SETUP, Slices
from ..effort import Effort
from ..result import MEMORY_LIMIT, STALLED
from ..warmup import loads_kernels, smallest_model
from . import storage
from .policy import plan_set
from .search import PointBasedSearch
from .switches import PointBasedSwitches

_LEVELS = 2000
_DELAYS = 1.0  # seconds for delays of the smallest model, which takes less


class PointBasedEngine:
    """A point-based search within the model's budget; `setup` is the share of the time for its informed bounds."""

    name = "point-based search"

    def __init__(
        self, model: CPOMDP, effort: Effort, switches: PointBasedSwitches | None = None, setup: float = SETUP
    ) -> None:
        clock = effort.clock
        with clock.stopped():
            load_kernels()
        self.search = PointBasedSearch(
            model,
            Objective(1.0, np.zeros(model.n_costs)),
            np.array(model.spending_limit),
            switches,
            effort.memory_limit,
            _LEVELS,
            effort.seed,
            over=lambda: clock.share_used(setup),
            delay_seconds=0.0 if effort.proves else clock.share_left(setup),
        )
        self._slices = Slices(clock)
        self._epsilon = max(effort.epsilon - 2 * self.search.slack - self.search.late, self.search.slack)

    @property
    def lower(self) -> float:
        """Lower bound on the optimum."""
        return self.search.lower - self.search.slack

    @property
    def upper(self) -> float:
        """Upper bound on the optimum."""
        return self.search.upper + self.search.slack + self.search.late

    @property
    def is_admissible(self) -> bool:
        """True if some candidate is known to keep the budget."""
        return self.search.best_candidate != NONE

    @property
    def counts(self) -> tuple[int, int, int]:
        """Trials, beliefs and plans."""
        return self.search.trials, *self.search.sizes

    @property
    def work(self) -> int:
        """Work done, in elementary steps."""
        return self.search.work

    @property
    def memory(self) -> int:
        """Bytes that beliefs, bounds and plans take."""
        return self.search.memory

    def limit_memory(self, limit: float) -> None:
        """Take no more than so many bytes from now on."""
        self.search.memory_limit = limit

    def advance(self) -> str | None:
        """Trials for a slice of time, and finer levels when they hold it up."""
        search = self.search
        if search.out_of_memory:
            return MEMORY_LIMIT
        with self._slices() as work:
            search.search(self._epsilon, work)
        if search.still and search.gap > self._epsilon and not search.refine():
            return STALLED
        return STALLED if search.gap <= self._epsilon and not search.infeasible else None


@loads_kernels
def load_kernels() -> None:
    """Compile the kernels, or load them from the cache, before any clock runs: a few steps on the smallest model."""
    for switches in (PointBasedSwitches(informed="mdp"), PointBasedSwitches()):
        search = PointBasedSearch(
            smallest_model(), Objective(1.0, np.zeros(1)), np.ones(1), switches, delay_seconds=_DELAYS
        )
    search.search(0.0, 10)
    search.forget()
    search.refine()
    storage.rehash(search.parts)
    forget_idle(search.parts)
    simulate(search.model, plan_set(search, search.thriftiest_candidate), 1, 1)
