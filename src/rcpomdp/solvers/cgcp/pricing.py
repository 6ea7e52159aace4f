"""Policies that are best at given multipliers λ of the costs, from one belief-graph search that goes from λ to λ.

``V_λ = max_π R − λ·C`` is a POMDP without budgets. The search keeps its beliefs and plans from one λ to the next. What
it finds serves twice: its best plan is a policy to mix, and as no policy has more value than V_λ,

    V* ≤ λ·ĉ + V_λ    for every λ ≥ 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..._types import FloatArray
from ...policies import MixturePolicy
from ..belief_graph.search import BeliefGraphSearch, Objective
from ..clock import Clock, StallDetector
from ..result import MEMORY_LIMIT, STALLED, TIME_LIMIT, TracePoint

ENOUGH, SHARE_USED = "enough", "share used"  # what else ends a search at one λ
_STRIDE = 500_000  # elementary steps between looks at goal and clock; no matter how long they take, so that runs repeat
_TELL = 0.05  # seconds between points of the trace
_TIE_BREAK = 1e-9  # what breaking ties of least cost by reward may add, as a share of λ·ĉ
LEAST_COST_PRECISION = 1e-9  # to which least costs are found, beside the budgets


class Pricing:
    """Searches at one λ after the other, and the bounds that come of it.

    Parameters
    ----------
    limit : [K] the budgets, with a tolerance for rounding
    progress : called with the bounds after each slice of time
    """

    def __init__(
        self,
        graph_search: BeliefGraphSearch,
        limit: FloatArray,
        clock: Clock,
        progress: Callable[[TracePoint], None] | None = None,
    ) -> None:
        self.graph_search, self.limit, self.clock = graph_search, limit, clock
        self.limited = np.isfinite(limit)
        self.lower, self.upper = -np.inf, np.inf  # bounds on the optimum; whoever mixes raises the lower one
        self.slack = graph_search.slack  # of the reward of a plan
        self._progress = progress
        self._stalls = StallDetector()
        self.clash: Objective | None = None  # the weighted cost that no policy keeps
        self._best: Objective | None = None  # the objective that the upper bound, or that there is no policy, rests on
        self._largest = float(np.abs(graph_search.model.reward).max()) / graph_search.model.fade
        self.trace: list[TracePoint] = []

    def aim(self, multipliers: FloatArray, *, least_cost: bool = False) -> None:
        """Take up multipliers: maximise ``R − λ·C``, or minimise ``λ·C`` with ties broken by reward."""
        weight = 1.0
        if least_cost:
            weight = _TIE_BREAK * float(multipliers[self.limited] @ self.limit[self.limited]) / (self._largest or 1.0)
        objective = Objective(weight, multipliers.copy())
        if not self.graph_search.aims_at(objective):
            self.graph_search.retarget(objective)
            self._stalls = StallDetector()
        self.note_upper()

    @property
    def scale(self) -> tuple[float, FloatArray]:
        """Size of rewards and of costs [K]: what a step, or one action for ever, comes to."""
        model, blind = (
            self.graph_search.model,
            [self.graph_search.totals(plan) for plan in self.graph_search.blind_plans],
        )
        reward = max(float(np.abs(model.reward).max()), *(abs(totals[0]) for totals in blind))
        return reward, np.maximum(model.cost.max(axis=(1, 2), initial=0.0), np.max([t[1] for t in blind], axis=0))

    @property
    def multipliers(self) -> FloatArray:
        """λ of the search at hand, [K]."""
        return self.graph_search.objective.costs

    @property
    def allowed(self) -> float:
        """``λ·ĉ``."""
        return float(self.multipliers[self.limited] @ self.limit[self.limited])

    @property
    def least_weighted_cost(self) -> float:
        """No policy has ``λ·C`` below this, if that is minimised."""
        graph_search = self.graph_search
        return -graph_search.upper - graph_search.objective.reward * self._largest - graph_search.slack

    def note_upper(self) -> None:
        """Lower the upper bound by what the search at hand proves; a multiplier below 0 proves nothing."""
        objective = self.graph_search.objective
        if objective.reward == 1.0 and (self.multipliers >= 0).all():
            upper = self.allowed + self.graph_search.upper + self.graph_search.slack
            if upper < self.upper:
                self.upper, self._best = upper, objective

    @property
    def best_multipliers(self) -> FloatArray | None:
        """λ [K] that the upper bound rests on; None while there is no bound."""
        return None if self._best is None else self._best.costs.copy()

    def aim_at_best(self) -> None:
        """Take up again what the upper bound rests on, or if it is −inf the weighted costs that no policy keeps."""
        best = self.clash if self.upper == -np.inf else self._best
        if best is not None and not self.graph_search.aims_at(best):
            self.graph_search.retarget(best)

    def point(self) -> TracePoint:
        """The bounds now."""
        return TracePoint(
            self.clock.seconds, self.lower, self.upper, self.graph_search.trials, *self.graph_search.sizes
        )

    def search(self, goal: Callable[[], float], *, seconds: float = np.inf, work: float = np.inf) -> str:
        """Search at the multipliers taken up until the gap is at most `goal`, or a share is used; return what ended it.

        A share is of seconds, or of elementary steps.
        """
        graph_search, until, stop = self.graph_search, self.clock.seconds + seconds, self.graph_search.work + work
        while graph_search.gap > goal():
            if self.clock.over:
                return TIME_LIMIT
            if self.clock.seconds >= until or graph_search.work >= stop:
                return SHARE_USED
            if graph_search.out_of_memory:
                return MEMORY_LIMIT
            if graph_search.gap <= graph_search.slack or self._stalls.found(
                graph_search.lower, graph_search.upper, graph_search.sizes[0], trials=graph_search.trials
            ):
                return STALLED
            graph_search.search(
                max(goal(), graph_search.slack), int(min(_STRIDE, stop - graph_search.work)), self._stalls.share
            )
            self.note_upper()
            if not self.trace or self.clock.seconds >= self.trace[-1].seconds + _TELL:
                self.tell()
        return ENOUGH

    def least_costs(self, *, seconds: float = np.inf, work: float = np.inf) -> Iterator[tuple[FloatArray, int]]:
        """For each cost that has a budget: what is known of the least expected costs [K] by then, and a policy for it.

        It begins with what the search at hand, for the least weighted cost, says about a cost that alone has a weight.
        """
        least = np.zeros(len(self.limit))
        weighted = np.flatnonzero(self.multipliers)
        if weighted.size == 1:
            least[weighted[0]] = self.least_weighted_cost / self.multipliers[weighted[0]]
        for k in np.flatnonzero(self.limited):
            self.aim(np.eye(len(least))[k], least_cost=True)
            self.search(lambda: LEAST_COST_PRECISION * self.allowed, seconds=seconds, work=work)
            least[k] = max(least[k], self.least_weighted_cost)
            yield least, self.graph_search.best_plan

    def tell(self) -> None:
        """Put the bounds on record."""
        self.trace.append(self.point())
        if self._progress is not None:
            self._progress(self.trace[-1])


def mixture_policy(graph_search: BeliefGraphSearch, plans: list[int], weights: FloatArray) -> MixturePolicy:
    """The plans with weight as controllers, mixed."""
    used = np.flatnonzero(weights)
    return MixturePolicy([graph_search.policy(plans[i]) for i in used], weights[used] / weights[used].sum())
