"""CGCP-CL: column generation in closed loop, solved anew at each step.

A C-POMDP's optimal mixture is optimal from b_0 only. Here it is followed for one step: at belief b with what is left of
the budget d, solve the C-POMDP from (b, d), draw one policy of its mixture, take that policy's first action a, and go
on with the posterior belief and

    d' = max(0, (d − C(b, a)) / γ).

Each solve runs column generation (`solvers.cgcp.solve`) until its bounds are within epsilon or `step_time` is over.
Where no policy keeps what is left, the one of least weighted cost is followed, of equals the one of most reward.
`overspent="least-cost"` is what the program of Ho et al. 2024 does: once more was spent than the budget, d is below 0
and nothing is feasible, and a policy of least cost is followed whatever it earns. As each step plans on another budget
than the one before had planned for it, what the first plan promises need not come true: neither its reward nor its
cost. That is the inconsistency which recursive constraints remove (Ho et al. 2024, Sec. 2 and App. F.1).

All steps share one search: beliefs, plans and bounds found at one serve the next, and each begins with the multipliers
at which the last ended. A step that was solved to the end is remembered, and its next visit takes no time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..._types import FloatArray
from ...errors import InputError
from ...kernels import belief as belief_kernels
from ...model import CPOMDP, beliefs
from ...model.beliefs import Belief
from ...model.remaining_budget import left_after
from ...tolerance import RELATIVE, spending_limit
from ...views import notebook
from .. import sarsop as unconstrained
from ..belief_graph.search import BeliefGraphSearch, Objective
from ..checks import LARGEST_OF_PROGRAMS, check_budgets, check_common, check_totals, is_number
from ..clock import Clock
from ..early import answers_early, finishing
from ..result import INFEASIBLE, INTERRUPTED, OPTIMAL, Result, TracePoint
from .pricing import LEAST_COST_PRECISION, Pricing
from .solve import ColumnGeneration

OVERSPENT = ("nothing-left", "least-cost")
_ITERATIONS = 100  # multipliers that one step tries at most
_DIGITS = 10  # of a budget left, by which steps are told apart


@answers_early("cgcp-cl")
def cgcp_cl(
    model: CPOMDP,
    *,
    epsilon: float = 1e-3,
    time_limit: float | None = None,
    memory_limit: float = 8e9,
    seed: int = 0,
    progress: Callable[[TracePoint], None] | None = None,
    step_time: float = 1.0,
    overspent: str = "nothing-left",
) -> Result:
    """Solve the C-POMDP again at every step of a run.

    Parameters
    ----------
    epsilon : gap to stop at, at each step
    time_limit : seconds of set-up and search before the first step; `step_time` unless given
    memory_limit : bytes that beliefs and plans may take; when they are used up, a step starts from nothing
    seed : of the draws; a run draws by it and by the generator that `initial` is given
    progress : called with the bounds of the first step now and then
    step_time : seconds of search before each step but the first
    overspent : what to do once more was spent than the budget: "nothing-left" plans on with d = 0; "least-cost" follows
        a policy of least cost without a look at rewards, as Ho et al. 2024 do

    The result is that of the first step: its bounds, and the totals of the mixture it would follow to the end. Its
    policy is another one, which is bound to this process and takes its time at each step; simulate it to see what
    it earns.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce")
    >>> result = rc.solve(model, "cgcp-cl", step_time=0.5)
    >>> rc.simulate(model, result.policy, runs=20)
    Simulation of ce: 20 runs, ...
    """
    check_common(epsilon, time_limit, memory_limit, seed, progress)
    if not is_number(step_time) or not step_time > 0:
        raise InputError(f"the time for a step must be above 0, not {step_time!r}")
    if overspent not in OVERSPENT:
        raise InputError(
            f"what to do once too much was spent is one of {', '.join(map(repr, OVERSPENT))}, not {overspent!r}"
        )
    check_totals(model, LARGEST_OF_PROGRAMS)
    check_budgets(model)
    unconstrained.load_kernels()
    clock = Clock(step_time if time_limit is None else time_limit).watch()
    graph_search = _graph_search(model, memory_limit)
    generation = ColumnGeneration(graph_search, model.budget, model.spending_limit, epsilon, clock, progress)
    clock.ready()
    status = generation.run(_ITERATIONS)
    careless = overspent == "least-cost"
    with finishing(clock):
        policy = ClosedLoopPolicy(graph_search, _first_actions(generation), step_time, epsilon, int(seed), careless)
        return replace(generation.result(status, "cgcp-cl"), policy=policy, seed=int(seed))


class ClosedLoopState(NamedTuple):
    """The place of a run, and the action it takes there."""

    belief: Belief  # of the model in class order
    left: tuple[float, ...]  # [K] budget left
    action: int
    step: int
    key: int  # of the run's draws


class ClosedLoopPolicy:
    """Solves the C-POMDP from where it is for `step_time` seconds before each step.

    Parameters
    ----------
    graph_search : shared by all steps and runs, and changed by them
    first : probability of each action at the first step [A]
    careless : whether rewards do not count once more was spent than the budget
    """

    def __init__(
        self,
        graph_search: BeliefGraphSearch,
        first: FloatArray,
        step_time: float,
        epsilon: float,
        seed: int,
        careless: bool = False,
    ) -> None:
        self.step_time, self.epsilon, self.seed, self.careless = step_time, epsilon, seed, careless
        self._graph_search, self._first = graph_search, first
        self._solved: dict[tuple[int, tuple[float, ...]], FloatArray] = {}

    def initial(self, rng: np.random.Generator) -> ClosedLoopState:
        """The first step, drawn from the mixture that was found before the run."""
        model, key = self._graph_search.ordered, int(rng.integers(0, 2**63))
        action = self._draw(self._first, 0, key)
        return ClosedLoopState(beliefs.initial(model), tuple(model.budget.tolist()), action, 0, key)

    def action(self, state: ClosedLoopState) -> int:
        """The action drawn."""
        return state.action

    def update(self, state: ClosedLoopState, observation: int) -> ClosedLoopState:
        """Bayes' rule, what is left of the budget, and a solve from there."""
        model = self._graph_search.ordered
        b = beliefs.posterior(model, state.belief, state.action, observation)
        spent = np.array([belief_kernels.expectation(c, state.action, *state.belief) for c in model.cost])
        left = left_after(state.left, spent, model.cost_discount)
        if not self.careless or not self._is_overspent(left):
            left = np.maximum(left, 0.0)
        ended = model.terminal[b.states].all()
        action = state.action if ended else self._draw(self._distribution(b, left), state.step + 1, state.key)
        return ClosedLoopState(b, tuple(left.tolist()), action, state.step + 1, state.key)

    def _is_overspent(self, left: FloatArray) -> bool:
        """True if some budget was exceeded, by more than rounding."""
        return bool((left < -RELATIVE * self._graph_search.model.budget).any())

    def _distribution(self, b: Belief, left: FloatArray) -> FloatArray:
        """Probability of each action at a belief with a budget, [A]."""
        graph_search = self._graph_search
        if graph_search.out_of_memory or not graph_search.move_root(b):
            self._graph_search = graph_search = _graph_search(graph_search.model, graph_search.memory_limit)
            self._solved.clear()
            graph_search.move_root(b)
        here = graph_search.root, tuple(float(f"{d:.{_DIGITS}g}") for d in left)
        if here in self._solved:
            return self._solved[here]
        if self._is_overspent(left):
            self._solved[here] = self._least_cost()
            return self._solved[here]
        clock = Clock(self.step_time)
        start = graph_search.objective.costs if graph_search.objective.reward == 1.0 else None
        generation = ColumnGeneration(graph_search, left, spending_limit(left), self.epsilon, clock, start=start)
        status = generation.run(_ITERATIONS)
        if status == INTERRUPTED:
            raise KeyboardInterrupt
        found = _first_actions(generation)
        if status in (OPTIMAL, INFEASIBLE):
            self._solved[here] = found
        return found

    def _least_cost(self) -> FloatArray:
        """The first action of a plan of least cost, whatever it earns, [A].

        Of equals it is the plan that costs the least all over the class, for SARSOP drops those that are dominated, and
        then the first.
        """
        graph_search = self._graph_search
        pricing = Pricing(graph_search, graph_search.model.spending_limit, Clock(self.step_time))
        pricing.aim(np.where(pricing.limited, 1.0, 0.0), least_cost=True)
        pricing.search(lambda: LEAST_COST_PRECISION * pricing.allowed)
        plans = [*graph_search.blind_plans, graph_search.best_plan]
        costs = np.array([graph_search.totals(plan)[1][pricing.limited].sum() for plan in plans])
        least = [plan for plan, cost in zip(plans, costs, strict=True) if cost <= costs.min() * (1 + RELATIVE)]
        chosen = min(least, key=lambda plan: (graph_search.vectors(plan)[1:][pricing.limited].sum(), plan))
        chance = np.zeros(graph_search.model.n_actions)
        chance[graph_search.first_action(chosen)] = 1.0
        return chance

    def _draw(self, distribution: FloatArray, step: int, key: int) -> int:
        rng = np.random.default_rng([self.seed, step, key])
        return int(rng.choice(distribution.size, p=distribution))

    def __repr__(self) -> str:
        return f"ClosedLoopPolicy({self.step_time:g} s before each step)"

    def _repr_html_(self) -> str:
        return notebook.policy(self, [("searches", f"{self.step_time:g} s before each step")])


def _graph_search(model: CPOMDP, memory_limit: float) -> BeliefGraphSearch:
    return BeliefGraphSearch(model, Objective(1.0, np.zeros(model.n_costs)), None, memory_limit)


def _first_actions(generation: ColumnGeneration) -> FloatArray:
    """Probability of each action at the first step of a mixture, [A]."""
    graph_search, weights = generation.graph_search, generation.mixture.weights
    chance = np.zeros(graph_search.model.n_actions)
    for i in np.flatnonzero(weights):
        chance[graph_search.first_action(generation.plans[i])] += weights[i]
    return np.asarray(chance / chance.sum())
