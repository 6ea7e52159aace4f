"""CGCP: column generation for constrained POMDPs, whose budgets hold in expectation.

``max_π V_R`` subject to ``V_C ≤ ĉ`` is a linear program over the mixtures of all deterministic policies. Column
generation (Walraven and Spaan, Column Generation Algorithms for Constrained POMDPs, JAIR 2018, Alg. 5) keeps a few of
them: the master program (`solvers.cgcp.master`) mixes those, its duals are multipliers λ ≥ 0 of the costs, and a
POMDP without budgets, ``max_π R − λ·C`` (`solvers.cgcp.pricing`), finds the policy that would improve the mixture
most. The master's value is a lower bound, ``λ·ĉ + V_λ`` an upper bound for each λ that was tried. It stops when the
best two are within epsilon.

What departs from the published algorithm, and why:

- The horizon is infinite, and the policies are plans of our SARSOP: their rewards and costs are known exactly.
- At one λ the search goes on until what is left open is half of what the policy found promises, or a share of the time
  is used; the share is doubled whenever λ stays the same after it was used up.
- Before any mixture keeps the budgets, the master minimises the excess, and its duals weigh the costs of the next
  policy. If even the least weighted cost exceeds the weighted budgets, ``min_π λ·C > λ·ĉ``, no policy keeps them: that
  is a proof.
- One action for ever, for each action, is a column from the start.

The policy found is a mixture: one of its controllers is drawn at the start of a run. It may spend far more than the
budget in one history and make up for it in another; `solvers.arcs` rules that out.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ... import deadline
from ..._types import FloatArray
from ...kernels.belief_graph.store import NONE
from ...model import CPOMDP
from ...verification.proof import EXPECTATION
from .. import sarsop as unconstrained
from ..belief_graph.search import BeliefGraphSearch, Objective
from ..checks import LARGEST_OF_PROGRAMS, check_budgets, check_common, check_totals, check_whole
from ..clock import Clock
from ..early import answers_early, finishing
from ..proofs.write import check_provable, with_proof
from ..result import INFEASIBLE, INTERRUPTED, ITERATION_LIMIT, MEMORY_LIMIT, OPTIMAL, STALLED, Result, TracePoint
from ..route import OBJECTIVE_MOVES, choose_route
from .master import Master, Mixture
from .pricing import ENOUGH, SHARE_USED, Pricing, mixture_policy

_SHARE = 0.05  # of the time limit, for the first search at one λ
_SECONDS = 1.0  # the same without a time limit
_SPEED = 50_000_000  # elementary steps that count as a second: a share is counted in steps, so that the outcome repeats
_PRECISION = 1e-9  # to which the least weighted cost is found, beside the budgets
_SAME = 1e-9  # relative difference of multipliers that counts as none


@answers_early("cgcp")
def cgcp(
    model: CPOMDP,
    *,
    epsilon: float = 1e-3,
    time_limit: float | None = None,
    memory_limit: float = 8e9,
    seed: int = 0,
    progress: Callable[[TracePoint], None] | None = None,
    iterations: int = 100,
    proof: bool = False,
) -> Result:
    """Solve the C-POMDP: the budgets hold in expectation, not in every history.

    Parameters
    ----------
    epsilon : gap to stop at
    time_limit : seconds of set-up and search; None is unlimited
    memory_limit : bytes that beliefs and plans may take
    seed : of nothing, for there are no random choices; the policy draws when it runs
    progress : called with the bounds now and then
    iterations : multipliers to try at most
    proof : also write what the upper bound rests on, for `rc.check_proof`: the best multiplier, and a bound at it

    An interrupt (Ctrl-C) returns the bounds and the mixture found by then. While no mixture is known to keep the
    budgets, the lower bound is −inf, and the one returned exceeds them the least.

    >>> import rcpomdp as rc
    >>> result = rc.solve(rc.problems.make("ce"), "cgcp")
    >>> result.status, round(result.lower, 3), round(result.upper, 3)
    ('optimal', 12.0, 12.0)
    """
    check_common(epsilon, time_limit, memory_limit, seed, progress)
    check_whole(iterations, "iterations", 1)
    check_totals(model, LARGEST_OF_PROGRAMS)
    check_budgets(model)
    if proof:
        check_provable(model)
    unconstrained.load_kernels()
    clock = Clock(time_limit).watch()
    graph_search = BeliefGraphSearch(model, Objective(1.0, np.zeros(model.n_costs)), None, memory_limit)
    generation = ColumnGeneration(graph_search, model.budget, model.spending_limit, epsilon, clock, progress)
    clock.ready()
    status = generation.run(iterations)
    with finishing(clock):
        found = generation.result(status, "cgcp")
        if not proof:
            return found
        generation.pricing.aim_at_best()
        return with_proof(model, replace(found, evidence=graph_search), EXPECTATION, epsilon)


class ColumnGeneration:
    """Column generation from the root of a belief-graph search.

    Parameters
    ----------
    budget, limit : [K] budgets, and the same with a tolerance for rounding
    start : multipliers to begin with, zero unless given [K]
    """

    def __init__(
        self,
        graph_search: BeliefGraphSearch,
        budget: FloatArray,
        limit: FloatArray,
        epsilon: float,
        clock: Clock,
        progress: Callable[[TracePoint], None] | None = None,
        start: FloatArray | None = None,
    ) -> None:
        self.graph_search, self.epsilon, self.clock = graph_search, epsilon, clock
        self.pricing = Pricing(graph_search, limit, clock, progress)
        self.plans = graph_search.blind_plans  # of the columns
        self.master = Master(budget, limit, self.pricing.scale[0])
        for plan in self.plans:
            deadline.check()
            self.master.add(*graph_search.totals(plan)[:2])
        self._start = np.zeros(len(limit)) if start is None else start
        self._work = int(_SPEED * (_SECONDS if clock.time_limit is None else _SHARE * clock.time_limit))
        self.needed = np.zeros(len(limit))  # [K] least budget of each cost that is not ruled out
        self.mixture: Mixture
        self._remix()

    @property
    def gap(self) -> float:
        """Upper minus lower bound on the optimum."""
        return self.pricing.upper - self.pricing.lower

    def go_on(self, clock: Clock) -> None:
        """Run on another clock from now on, and from the best multipliers that are known."""
        self.clock = self.pricing.clock = clock
        if self.pricing.best_multipliers is not None:
            self._start = self.pricing.best_multipliers

    def run(self, iterations: int) -> str:
        """Generate columns; return what ended it."""
        try:
            status = self._generate(iterations)
        except KeyboardInterrupt:
            status = INTERRUPTED
            if self.graph_search.best_plan != NONE:
                self._add(self.graph_search.best_plan)
        except MemoryError:
            status = MEMORY_LIMIT
        if status == INFEASIBLE:
            self.pricing.clash = self.graph_search.objective._replace(reward=0.0)
            with suppress(KeyboardInterrupt):
                for least, plan in self.pricing.least_costs(work=self._work):
                    self.needed = least
                    self._add(plan)
        self._remix()
        return status

    def _generate(self, iterations: int) -> str:
        """Find the best policy at λ, add it, mix again."""
        pricing = self.pricing
        pricing.aim(self._start)
        pricing.tell()
        for _ in range(iterations):
            ended = pricing.search(self._goal, work=self._work)
            if self._infeasible:
                return INFEASIBLE
            new = self._add(self.graph_search.best_plan)
            self._remix()
            pricing.tell()
            if self.gap <= self.epsilon:
                return OPTIMAL
            if ended not in (ENOUGH, SHARE_USED, STALLED):
                return ended
            if self._take_up():
                continue
            if ended == SHARE_USED:
                self._work *= 2
            elif not new:
                return STALLED
        return ITERATION_LIMIT

    def _goal(self) -> float:
        """The gap at which a search at one λ has done enough: half of what its best policy promises."""
        graph_search, pricing, master = self.graph_search, self.pricing, self.master
        promise = graph_search.lower - master.threshold
        if graph_search.objective.reward != 1.0:  # in search of a mixture within the budgets
            within = pricing.multipliers @ graph_search.best_totals()[1] <= pricing.allowed
            return np.inf if within or self._infeasible else max(promise / 2, _PRECISION * pricing.allowed)
        if not master.feasible:
            promise = 0.0  # nothing to compare with
        inner_epsilon = (self.epsilon - 2 * (graph_search.slack + pricing.slack)) / 2
        return max(promise / 2, inner_epsilon, graph_search.slack)

    @property
    def _infeasible(self) -> bool:
        """True if it is proven that no policy keeps the budgets."""
        pricing = self.pricing
        return self.graph_search.objective.reward != 1.0 and pricing.least_weighted_cost > pricing.allowed

    def _add(self, plan: int) -> bool:
        """Make a plan a column; False if it is one."""
        if plan in self.plans:
            return False
        reward, cost, _ = self.graph_search.totals(plan)
        self.plans.append(plan)
        self.master.add(reward, cost)
        return True

    def _remix(self) -> None:
        """Solve the master program; its mixture is the best that is known, but for rounding."""
        self.master.solve()
        self._take(self.master.mixture)

    def _take(self, found: Mixture) -> None:
        """Keep a mixture if it is the best within the budgets, or while none is known to be."""
        within = self.master.is_within(found.cost)
        if within and found.reward - self.pricing.slack > self.pricing.lower:
            self.pricing.lower = found.reward - self.pricing.slack
            self.mixture = found
        elif self.pricing.lower == -np.inf:
            self.mixture = found

    def _take_up(self) -> bool:
        """Take up the master's multipliers; False if they are those that were searched."""
        pricing, multipliers = self.pricing, self.master.multipliers
        least_cost = not self.master.feasible
        if least_cost == (self.graph_search.objective.reward != 1.0):
            change = np.abs(multipliers - pricing.multipliers).max(initial=0.0)
            if change <= _SAME * np.abs(multipliers).max(initial=0.0):
                return False
        pricing.aim(multipliers, least_cost=least_cost)
        return True

    def result(self, status: str, solver: str) -> Result:
        """The bounds and the mixture that were found."""
        pricing, graph_search = self.pricing, self.graph_search
        if self.master.feasible:
            self._take(self.master.solved_anew().mixture)  # the LP without a history may do better
        feasible, mixture = pricing.lower > -np.inf, self.mixture
        if status == INFEASIBLE:
            pricing.upper = -np.inf
        pricing.trace.append(pricing.point())
        used = np.flatnonzero(mixture.weights)
        return Result.of_search(
            solver,
            status,
            pricing.trace,
            self.clock.setup_seconds,
            policy=mixture_policy(graph_search, self.plans, mixture.weights),
            reward=mixture.reward,
            cost=mixture.cost,
            sure_cost=np.max([graph_search.totals(self.plans[i])[2] for i in used], axis=0),
            suffices=None if feasible else mixture.cost,
            needed=None if feasible else self.needed,
            route=str(choose_route(graph_search.model, needs=OBJECTIVE_MOVES)),
        )
