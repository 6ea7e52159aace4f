"""CPBVI: point-based value iteration for constrained POMDPs, with admissible costs as a heuristic.

Kim, Lee, Kim and Poupart, Point-Based Value Iteration for Constrained POMDPs, IJCAI 2011, in the form of Ho et al.
2024, App. F.1. A set of reachable beliefs b, each with the cost d that is still admissible there
(`solvers.cpbvi.points`), is backed up over pairs of vectors (α_r, α_c): under action a and observation o the lottery
over known vectors that is best at b' within ``d' = (d − C(b, a)) / γ``, then the lottery over actions that is best at b
within d,

    max Σ x_i v_i   subject to   Σ x_i c_i ≤ d,   Σ x_i = 1,   x ≥ 0        (`policies.lottery`).

The vectors of the actions it draws make up the next set. It starts from one action for ever, for each action, and stops
when no value at a point changes by more than epsilon. CPBVI-D takes the best single vector and action instead.

The policy solves the same program at each step with what is left. It gives no bounds and keeps no promise: what is
admissible at a point depends on the way to it, one vector serves many beliefs, and later steps choose anew.

What departs from the publications, or is not told there:

- Observations that cannot follow at b go on as the likeliest one does, so that a vector is a plan from every state.
- Plans of one action for ever stay in the set: there may be nothing else that costs little. Point-based value
  iteration has each set replace the last, which `blind_plans=False` does.
- Where no lottery keeps d, the option that exceeds it the least is taken (Ho et al.).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._types import FloatArray, IntArray
from ...bounds.blind import blind_vectors
from ...deadline import charge
from ...model import CPOMDP
from ...policies.lottery import best_lottery
from ...policies.lottery_over_vectors import BudgetedAlphaPolicy
from ...simulation.simulate import simulate
from ..checks import LARGEST_OF_PROGRAMS, check_budgets, check_common, check_totals, check_whole
from ..clock import Clock
from ..early import answers_early, finishing
from ..policy_value import worth
from ..result import CONVERGED, INTERRUPTED, ITERATION_LIMIT, MEMORY_LIMIT, TIME_LIMIT, Result, TracePoint
from ..warmup import load_model_kernels, loads_kernels, smallest_model
from .points import Points

_STEP = 0.1  # elementary steps for each product of a sweep, about
_SHARE = 0.8  # of the time limit that backups may use; the rest is for telling what the policy is worth


@answers_early("cpbvi")
def cpbvi(
    model: CPOMDP,
    *,
    epsilon: float = 1e-3,
    time_limit: float | None = None,
    memory_limit: float = 8e9,
    seed: int = 0,
    progress: Callable[[TracePoint], None] | None = None,
    beliefs: int = 30,
    iterations: int = 100,
    blind_plans: bool = True,
    planned_budget: float | Sequence[float] | None = None,
) -> Result:
    """Solve the C-POMDP approximately by CPBVI; the policy randomises.

    Parameters
    ----------
    epsilon : change of reward and costs at the points below which it has converged, for there is no gap
    time_limit : seconds of set-up, backups and evaluation; None is unlimited
    memory_limit : bytes that points and vectors may take
    seed : of the belief set, and of simulated runs
    progress : called after each sweep
    beliefs : points to back up, at most
    iterations : sweeps over the points, at most
    blind_plans : whether plans of one action for ever stay in the set from sweep to sweep
    planned_budget : budgets to plan and act with in place of the model's, by which nothing but the policy changes

    There are no bounds: `lower` is −inf and `upper` inf, no sure cost is known, and budgets that no policy keeps are
    not noticed. Reward and costs are exact, or else means of simulated runs with their `standard_error`. An interrupt
    (Ctrl-C) returns the policy of the last sweep.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce")
    >>> result = rc.solve(model, "cpbvi")
    >>> result.status, result.lower, result.upper
    ('converged', -inf, inf)
    >>> float(rc.simulate(model, result.policy).violation_rate.mean)
    0.0
    """
    check_common(epsilon, time_limit, memory_limit, seed, progress)
    options = _Options(True, beliefs, iterations, blind_plans, planned_budget)
    return _run("cpbvi", model, options, epsilon, time_limit, memory_limit, seed, progress)


@answers_early("cpbvi-d")
def cpbvi_d(
    model: CPOMDP,
    *,
    epsilon: float = 1e-3,
    time_limit: float | None = None,
    memory_limit: float = 8e9,
    seed: int = 0,
    progress: Callable[[TracePoint], None] | None = None,
    beliefs: int = 30,
    iterations: int = 100,
    blind_plans: bool = True,
    planned_budget: float | Sequence[float] | None = None,
) -> Result:
    """Solve the C-POMDP approximately by CPBVI without lotteries; parameters and result are those of `cpbvi`.

    >>> import rcpomdp as rc
    >>> rc.solve(rc.problems.make("ce"), "cpbvi-d")  # goes to look, and takes the other tunnel if there are rocks
    Result of cpbvi-d: converged, reward in [-inf, inf], policy with reward 6 and cost 3.5
    """
    check_common(epsilon, time_limit, memory_limit, seed, progress)
    options = _Options(False, beliefs, iterations, blind_plans, planned_budget)
    return _run("cpbvi-d", model, options, epsilon, time_limit, memory_limit, seed, progress)


class _Options(NamedTuple):
    """Options of both, as they were given."""

    mixed: bool  # lotteries are drawn
    beliefs: Any
    iterations: Any
    blind_plans: Any
    planned_budget: Any

    def budget(self, model: CPOMDP) -> FloatArray:
        """Budgets to plan with, [K]."""
        if self.planned_budget is None:
            return np.array(model.budget)
        return np.array(model.with_budget(self.planned_budget).budget)


def _run(
    name: str,
    model: CPOMDP,
    options: _Options,
    epsilon: float,
    time_limit: float | None,
    memory_limit: float,
    seed: int,
    progress: Callable[[TracePoint], None] | None,
) -> Result:
    check_whole(options.beliefs, "beliefs", 1)
    check_whole(options.iterations, "iterations", 1)
    check_totals(model, LARGEST_OF_PROGRAMS)
    check_budgets(model)
    budget = options.budget(model)
    gain = np.concatenate([model.reward[None], model.cost])  # [1 + K, S, A]
    _load_kernels()
    clock = Clock(time_limit).watch()
    seconds = _SHARE * time_limit if time_limit is not None else np.inf
    search = _Search(model, gain, options.mixed, bool(options.blind_plans), clock, seconds, memory_limit)
    search.start(int(options.beliefs), budget, int(seed))
    clock.ready()
    trace = [search.point()]
    try:
        status = search.iterate(int(options.iterations), epsilon, trace, progress)
    except KeyboardInterrupt:
        status = INTERRUPTED
    policy = BudgetedAlphaPolicy(model, search.vectors, search.actions, budget, options.mixed)
    with finishing(clock):
        found = worth(model, policy, clock, int(seed), hurry=status == INTERRUPTED)
    trace.append(search.point())
    return Result.of_search(
        name,
        status,
        trace,
        clock.setup_seconds,
        policy=policy,
        reward=found.reward,
        cost=found.cost,
        sure_cost=np.full(model.n_costs, np.inf),
        seed=int(seed),
        standard_error=found.error,
        runs=found.runs,
    )


class _Search:
    """Points, vectors and the backups that lead from one set of vectors to the next."""

    def __init__(
        self,
        model: CPOMDP,
        gain: FloatArray,
        mixed: bool,
        keeps_blind: bool,
        clock: Clock,
        seconds: float,
        memory_limit: float,
    ) -> None:
        self.model, self.gain, self.mixed, self.keeps_blind, self.clock = model, gain, mixed, keeps_blind, clock
        self._seconds, self._memory_limit = seconds, memory_limit
        self.sweeps = 0
        self._observed = [  # Z by entries: state, observation, probability
            (np.repeat(np.arange(model.n_states), np.diff(z.indptr)), z.indices, z.data) for z in model.observation
        ]

    def start(self, n_beliefs: int, budget: FloatArray, seed: int) -> None:
        """One action for ever, for each action; and the points."""
        self.blind = blind_vectors(self.model, self.gain)  # [A, 1 + K, S]
        self.vectors, self.actions = self.blind, np.arange(self.model.n_actions)
        room = max(1, int(min(n_beliefs, self._memory_limit / (8 * self.model.n_states))))  # beliefs as dense rows
        self.points = Points(self.model, room, np.random.default_rng(seed), lambda: self.over, budget)
        self._cut = len(self.points.beliefs) == room < n_beliefs

    @property
    def over(self) -> bool:
        """True if the time for backups is up."""
        return self.clock.elapsed >= self._seconds

    @property
    def out_of_memory(self) -> bool:
        """True if the points, or the vectors and their values at all that follows the points, exceed the limit."""
        n, rows, n_states = self.vectors.shape
        return self._cut or 8 * n * rows * (n_states + self.points.following.shape[0]) > self._memory_limit

    def iterate(
        self, iterations: int, epsilon: float, trace: list[TracePoint], progress: Callable[[TracePoint], None] | None
    ) -> str:
        """Sweep until nothing changes; return what ended it."""
        before = np.full((len(self.points.beliefs), self.gain.shape[0]), np.inf)
        for _ in range(iterations):
            if self.out_of_memory:
                return MEMORY_LIMIT
            swept = self._sweep()
            if swept is None:
                return TIME_LIMIT
            self.vectors, self.actions, values = swept
            self.sweeps += 1
            trace.append(self.point())
            if progress is not None:
                progress(trace[-1])
            if np.abs(values - before).max() <= epsilon:
                return CONVERGED
            before = values
        return ITERATION_LIMIT

    def _sweep(self) -> tuple[FloatArray, IntArray, FloatArray] | None:
        """The next vectors, their actions, and reward and costs at the points; None if time is up."""
        n, rows, _ = self.vectors.shape
        charge(_STEP * n * rows * (self.points.following.shape[0] + self.model.n_actions * self.model.n_states))
        following = np.asarray(self.points.following @ self.vectors.reshape(n * rows, -1).T).reshape(-1, n, rows)
        kept = self.blind if self.keeps_blind else self.blind[:0]
        new = {vector.tobytes(): (vector, a) for a, vector in enumerate(kept)}  # equal ones once
        values = []
        for i in range(len(self.points.beliefs)):
            if self.over:
                return None
            drawn, value = self._backup(i, following)
            values.append(value)
            for a, lotteries in drawn:
                vector = self._vector(a, lotteries)
                new.setdefault(vector.tobytes(), (vector, a))
        vectors, actions = zip(*new.values(), strict=True)
        return np.array(vectors), np.array(actions), np.array(values)

    def _backup(self, i: int, following: FloatArray) -> tuple[list[tuple[int, list[Any]]], FloatArray]:
        """The actions drawn at point i, each with its lottery by observation; and what they promise there."""
        points, gamma = self.points, self.model.discount
        b = points.beliefs[i]
        promised = self.gain[:, b.states].transpose(2, 0, 1) @ b.probabilities  # [A, 1 + K]
        lotteries: list[list[Any]] = []
        for a in range(self.model.n_actions):
            left = points.left_after(i, a)
            first, last = points.start[i * self.model.n_actions + a : i * self.model.n_actions + a + 2]
            likeliest = first + int(points.probability[first:last].argmax())
            by_observation: list[Any] = [None] * self.model.n_observations
            for j in range(first, last):
                drawn, weights = best_lottery(following[j], left, self.mixed)
                promised[a] += gamma * points.probability[j] * (weights @ following[j, drawn])
                by_observation[points.observation[j]] = drawn, weights
            usual = by_observation[points.observation[likeliest]]
            lotteries.append([usual if lottery is None else lottery for lottery in by_observation])
        chosen, weights = best_lottery(promised, points.left[i], self.mixed)
        return [(int(a), lotteries[a]) for a in chosen], weights @ promised[chosen]

    def _vector(self, a: int, lotteries: list[Any]) -> FloatArray:
        """``α(s) = g(s, a) + γ Σ_s' T(s, a, s') Σ_o Z(s', a, o) Σ_i x_o,i α_i(s')`` of reward and costs [1 + K, S]."""
        state, observation, probability = self._observed[a]
        mixed = np.array([np.tensordot(weights, self.vectors[drawn], axes=1) for drawn, weights in lotteries])
        after = np.array(
            [
                np.bincount(state, probability * mixed[observation, row, state], minlength=self.model.n_states)
                for row in range(len(self.gain))
            ]
        )
        return np.asarray(self.gain[:, :, a] + self.model.discount * (self.model.transition[a] @ after.T).T)

    def point(self) -> TracePoint:
        """The state of the search, which has no bounds."""
        return TracePoint(self.clock.seconds, -np.inf, np.inf, self.sweeps, len(self.points.beliefs), len(self.actions))


@loads_kernels
def _load_kernels() -> None:
    """Compile the kernels, or load them from the cache, before any clock runs."""
    load_model_kernels()
    model = smallest_model()
    vectors = blind_vectors(model, np.concatenate([model.reward[None], model.cost]))
    simulate(model, BudgetedAlphaPolicy(model, vectors, np.arange(model.n_actions), np.array(model.budget)), 1, 1)
