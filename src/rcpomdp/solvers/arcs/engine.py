"""The belief-graph search under a budget as an engine: trials, with multipliers and finer levels in between."""

from __future__ import annotations

import numpy as np

from ...model import CPOMDP
from ...policies import ControllerPolicy
from .. import sarsop as unconstrained
from ..belief_graph.search import BeliefGraphSearch, Objective
from ..clock import Slices
from ..effort import Effort
from ..result import INFEASIBLE, MEMORY_LIMIT, STALLED, TIME_LIMIT, Result, TracePoint
from ..warmup import loads_kernels, smallest_ending_model, smallest_model
from .online import OnlinePolicy
from .outcome import outcome
from .search import NEARLY_UNCONSTRAINED, ArcsSwitches, BudgetSearch

_PROBE = 1_000_000  # elementary steps of a search without a budget that comes first
_NEXT_LAYOUT = 4  # times as long as the last time it may take to lay out finer levels
_FIRST_MULTIPLIER = 8  # trials before the first look at multipliers,
_NEXT_MULTIPLIER = 3  # and how many times as many until the next


class BeliefGraphEngine:
    """A belief-graph search within the model's budget; `known_infeasible`: only the least budget is asked for."""

    name = "belief-graph search"

    def __init__(
        self,
        model: CPOMDP,
        effort: Effort,
        switches: ArcsSwitches | None = None,
        known_infeasible: bool = False,
    ) -> None:
        self._effort, self._clock = effort, effort.clock
        with self._clock.stopped():
            load_kernels()
            if (model.spending_limit >= NEARLY_UNCONSTRAINED * model.most_spent).all():
                unconstrained.load_kernels()  # it may be needed too
        switches = switches or ArcsSwitches()
        graph_search = BeliefGraphSearch(
            model, Objective(1.0, np.zeros(model.n_costs)), switches.belief_graph, effort.memory_limit
        )
        self.search = BudgetSearch(graph_search, switches, known_infeasible)
        self._slices = Slices(self._clock)
        self._epsilon = max(effort.epsilon - 2 * self.search.slack, self.search.slack)
        self._next_multiplier = _FIRST_MULTIPLIER
        self._is_probed = False

    @property
    def lower(self) -> float:
        """Lower bound on the optimum."""
        return self.search.lower - self.search.slack

    @property
    def upper(self) -> float:
        """Upper bound on the optimum."""
        return self.search.upper + self.search.slack

    @property
    def counts(self) -> tuple[int, int, int]:
        """Trials, beliefs and plans."""
        return self.search.trials, *self.search.sizes

    @property
    def work(self) -> int:
        """Work done, in elementary steps."""
        return self.search.graph_search.work

    @property
    def memory(self) -> int:
        """Bytes that beliefs, bounds and plans take."""
        return self.search.memory

    def limit_memory(self, limit: float) -> None:
        """Take no more than so many bytes from now on."""
        self.search.memory_limit = self.search.graph_search.memory_limit = limit

    def advance(self) -> str | None:
        """Trials for a slice of time, with a look at multipliers now and then and more levels when they hold it up."""
        search, clock, epsilon = self.search, self._clock, self._epsilon
        if not self._is_probed:
            self._is_probed = True
            search.probe(self._effort.epsilon, _PROBE)
        if search.out_of_memory:
            return MEMORY_LIMIT
        with self._slices(lambda: search.graph_search.work) as work:
            search.search(epsilon, work, self._next_multiplier)
        has_time = clock.left is None or _NEXT_LAYOUT * search.layout_seconds <= clock.left
        if search.still and search.gap > epsilon and not (has_time and search.refine()):
            return STALLED if has_time else TIME_LIMIT
        if search.trials >= self._next_multiplier:
            self._next_multiplier *= _NEXT_MULTIPLIER
            if has_time:
                search.update_multiplier()
        return STALLED if search.gap <= epsilon and not search.infeasible else None

    def result(self, status: str, trace: list[TracePoint]) -> Result:
        """The best belief plan as a controller, or the thriftiest while none is known to keep the budget."""
        search, clock = self.search, self._clock
        if status == INFEASIBLE:
            search.bracket(lambda: clock.over)
        best = search.best_belief_plan
        belief_plan = best if best >= 0 else search.thriftiest_belief_plan
        total, sure = search.belief_plans.total[belief_plan], search.belief_plans.sure[belief_plan]
        return outcome(
            status,
            trace,
            clock.setup_seconds,
            self._effort.seed,
            policy=ControllerPolicy(search.model, *search.graph(belief_plan)),
            reward=float(total[0]),
            cost=total[1:].copy(),
            sure_cost=sure.copy(),
            admissible=best >= 0,
            horizon=0 if best >= 0 else search.horizon(belief_plan),
            needed=search.needed,
            visits=search.visits,
        )

    def acting(self, act_time: float) -> OnlinePolicy:
        """The best belief plan as a policy that searches on while it acts."""
        with self._clock.stopped():
            load_acting_kernels()
        return OnlinePolicy(self.search, self.search.best_belief_plan, act_time, self._effort.epsilon)


@loads_kernels
def load_kernels() -> None:
    """Compile the kernels, or load them from the cache, before any clock runs: a few steps on the smallest model."""
    for model in (smallest_ending_model(), smallest_model()):
        search = _search_of(model)
        search.search(0.0, 10, 2)
        search.refine()
    search.graph_search.best_totals()


@loads_kernels
def load_acting_kernels() -> None:
    """The same for what only acting needs."""
    search = _search_of(smallest_model())
    policy = OnlinePolicy(search, search.thriftiest_belief_plan, 0.0, 1.0)
    policy.update(policy.initial(np.random.default_rng(0)), 0)


def _search_of(model: CPOMDP) -> BudgetSearch:
    return BudgetSearch(BeliefGraphSearch(model, Objective(1.0, np.zeros(1))))
