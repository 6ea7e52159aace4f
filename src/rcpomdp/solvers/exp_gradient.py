"""Exponentiated gradient: a no-regret player sets the multipliers of the costs, and policies answer them.

``max_π min_{0 ≤ λ ≤ B} R − λ·(C − ĉ)`` is a game (Kalagarla, Jain and Nuzzo, A No-Regret Learning Algorithm for
Constrained POMDPs, 2022). In each of K rounds a POMDP without budgets answers the multipliers,
``max_π R − λ·C`` (`solvers.cgcp.pricing`), and each multiplier goes up or down with what the answer spends,

    λ ← B λ e^z / (B + λ (e^z − 1)),    z = η (c − ĉ),    η = √(log 2 / (2 K B²)),    λ_1 = B / 2.

The policy is the uniform mixture of the K answers. Its reward is near the optimum, and its cost near the budget, as far
as regret goes: of the order of B times the largest ``|c − ĉ|`` divided by √K. That is no certificate. `upper` is one
nevertheless, the least ``λ·ĉ + V_λ`` of all rounds; `lower` is the reward of the mixture if that keeps the budget, and
−inf if it does not. It stops after K rounds.

Choices that are ours:

- In the log-odds ``θ = log(λ / (B − λ))`` the update reads ``θ ← θ + z``: it cannot overflow, and no λ gets stuck.
- The rate η is made for gradients of at most B. So costs are counted in units in which the largest ``|c − ĉ|`` is B:
  that of the best policy without budgets, for no λ makes one spend more, or of one that spends little.
- Each of several costs has its own multiplier in its own interval, and is updated by itself.
- B is twice what any optimal λ can be: ``λ*_k ≤ (V* − r) / (ĉ_k − c_k)`` for every policy with reward r and costs
  c below the budgets (Slater's condition). That policy is looked for first; without one, a hundredth of the budget
  stands for the denominator. V* is bounded by ``λ·ĉ + V_λ``, at zero and then at B / 4 as long as B gets smaller.
- Where time is short, K is what there is time for, and is doubled as long as some is left.

`variant="paper"` is the program that Ho et al. 2024 measured, with its constants in place of these: B = 10 and K = 100
whatever the problem, costs in their own units, and a rate that grows, ``η_i = √(log 2 / 2 · i B²)`` after round i = 0,
1, 2, ... (``√(log 2 / (2 i B²))`` was meant, it seems). So the multiplier stays at B / 2 for two rounds and then jumps
about in its interval, unless an answer spends just the budget; where the optimal λ is above B, the mixture spends too
much. The update is computed as it is printed: near B its denominator is a small difference of large numbers, and λ may
come out of [0, B]. Such a λ is answered, and bounds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import expit

from .._types import FloatArray
from ..errors import InputError, did_you_mean
from ..model import CPOMDP
from . import sarsop as unconstrained
from .belief_graph.search import BeliefGraphSearch, Objective
from .cgcp.master import Master, Mixture
from .cgcp.pricing import ENOUGH, SHARE_USED, Pricing, mixture_policy
from .checks import LARGEST_OF_PROGRAMS, check_budgets, check_common, check_totals, check_whole, is_number
from .clock import Clock
from .early import answers_early, finishing
from .result import INFEASIBLE, INTERRUPTED, ITERATION_LIMIT, MEMORY_LIMIT, OPTIMAL, STALLED, Result, TracePoint
from .route import OBJECTIVE_MOVES, choose_route

VARIANTS = ("derived", "paper")
_ROUNDS_OF = {"derived": 1000, "paper": 100}
_PUBLISHED_BOUND = 10.0
_SHARE = 0.1  # of the time limit, for each of the searches that set the scale
_FEWEST = 50  # rounds to begin with, unless fewer are asked for
_NARROWINGS = 5  # of the bound on multipliers
_ROUNDS = 20  # of the search for a policy that leaves some of the budgets
_LEAST_SLACK = 0.01  # share of a budget that counts as left when nothing is
_PRECISION = 1e-6  # to which the least weighted cost is found, beside the budgets


@answers_early("exp-gradient")
def exp_gradient(
    model: CPOMDP,
    *,
    epsilon: float = 1e-3,
    time_limit: float | None = None,
    memory_limit: float = 8e9,
    seed: int = 0,
    progress: Callable[[TracePoint], None] | None = None,
    iterations: int | None = None,
    bound: float | None = None,
    variant: str = "derived",
) -> Result:
    """Solve the C-POMDP approximately: the budgets hold in expectation, up to the regret.

    Parameters
    ----------
    epsilon : gap to which each λ is answered; the mixture's own bounds may end further apart
    time_limit : seconds of set-up and search, shared out evenly over the rounds; None is unlimited
    memory_limit : bytes that beliefs and plans may take
    seed : of nothing, for there are no random choices; the policy draws when it runs
    progress : called with the bounds now and then
    iterations : rounds K, 1000 unless given. If the time limit leaves little for each there are fewer to begin with,
        and then as many again, with the rate of their number in all, as long as time lasts
    bound : B, the largest multiplier of each cost; found from the problem unless given
    variant : "derived" has constants that suit the problem; "paper" those of Ho et al. 2024, B = 10 and K = 100
        unless given, which do not

    An interrupt (Ctrl-C) returns the mixture of the rounds done by then.

    >>> import rcpomdp as rc
    >>> result = rc.solve(rc.problems.make("tunnels"), "exp-gradient")
    >>> bool(1.4 < result.reward < 1.601 < result.upper), bool(result.cost[0] < 1)
    (True, True)
    """
    check_common(epsilon, time_limit, memory_limit, seed, progress)
    if variant not in VARIANTS:
        raise InputError(f"unknown variant {variant!r}{did_you_mean(variant, VARIANTS)} (known: {', '.join(VARIANTS)})")
    rounds = _ROUNDS_OF[variant] if iterations is None else iterations
    check_whole(rounds, "iterations", 1)
    if bound is not None and not (is_number(bound) and 0 < bound < np.inf):
        raise InputError(f"the bound on the multipliers must be above 0, not {bound!r}")
    check_totals(model, LARGEST_OF_PROGRAMS)
    check_budgets(model)
    unconstrained.load_kernels()
    clock = Clock(time_limit).watch()
    graph_search = BeliefGraphSearch(model, Objective(1.0, np.zeros(model.n_costs)), None, memory_limit)
    clock.ready()
    game = Game(graph_search, epsilon, clock, progress)
    try:
        status = game.play_as_published(int(rounds), bound) if variant == "paper" else game.play(int(rounds), bound)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except MemoryError:
        status = MEMORY_LIMIT
    with finishing(clock):
        return replace(game.result(status), variant=variant)


def multipliers(log_odds: FloatArray, bound: FloatArray) -> FloatArray:
    """``λ = B / (1 + e^{−θ})`` for log-odds θ of any size, infinite ones too.

    >>> multipliers(np.array([0.0, 1e6, -1e6]), np.full(3, 2.0)).tolist()
    [1.0, 2.0, 0.0]
    """
    return np.asarray(bound * expit(log_odds))


def published_update(at: FloatArray, z: FloatArray, bound: FloatArray) -> FloatArray:
    """``B λ e^z / (B + λ (e^z − 1))``, computed as it stands; B where that is no number.

    >>> published_update(np.array([1.0, 1.0]), np.array([0.0, np.log(3)]), np.full(2, 2.0)).round(6).tolist()
    [1.0, 1.5]
    """
    with np.errstate(all="ignore"):
        growth = np.exp(z)
        after = bound * at * growth / (bound + at * (growth - 1))
    return np.where(np.isfinite(after), after, bound)


class Game:
    """Rounds of multipliers and answers."""

    def __init__(
        self,
        graph_search: BeliefGraphSearch,
        epsilon: float,
        clock: Clock,
        progress: Callable[[TracePoint], None] | None = None,
    ) -> None:
        self.graph_search, self.model, self.epsilon, self.clock = graph_search, graph_search.model, epsilon, clock
        self.pricing = Pricing(graph_search, self.model.spending_limit, clock, progress)
        self.answers: list[int] = []  # a plan for each round
        self.thrifty = [graph_search.best_plan]  # plans of a mixture that spends little
        self.spare = Mixture(np.ones(1), *graph_search.best_totals()[:2])  # that mixture
        self.needed = np.zeros(self.model.n_costs)
        self._limited = self.pricing.limited
        self._budget = np.where(self._limited, self.model.budget, 0.0)

    def play(self, iterations: int, bound: float | None) -> str:
        """Set the scale, then play the rounds; return what ended it."""
        free, ended = self._answer(np.zeros(self.model.n_costs), self._share(_SHARE))
        rounds = self._affordable(iterations)
        most = self.graph_search.totals(free)[1]
        if self._within(most):  # no budget binds
            plan, ended = self._answer(np.zeros(self.model.n_costs), np.inf)
            most = self.graph_search.totals(plan)[1]
            if self._within(most):
                self.answers = [plan]
                return self._judge(ended)
        if not self._find_slack():
            return INFEASIBLE
        bounds = self._narrowed_bounds() if bound is None else np.where(self._limited, float(bound), 0.0)
        far = np.maximum(np.abs(most - self._budget), np.abs(self.spare.cost - self._budget))  # the largest |c − ĉ|
        unit = np.maximum(far, _LEAST_SLACK * self.pricing.scale[1])
        unit[unit <= 0] = 1.0
        log_odds = np.zeros(self.model.n_costs)
        while rounds:
            rate = np.sqrt(np.log(2) / (2 * (len(self.answers) + rounds)))  # η B
            for k in range(rounds):
                plan, ended = self._answer(multipliers(log_odds, bounds), self._share(0.5 / (rounds - k)))
                self.answers.append(plan)
                if ended not in (ENOUGH, SHARE_USED, STALLED):
                    return ended
                log_odds += rate * (self.graph_search.totals(plan)[1] - self._budget) / unit
            rounds = min(len(self.answers), iterations - len(self.answers))  # as many again, if time was short
        return self._judge(ITERATION_LIMIT)

    def play_as_published(self, iterations: int, bound: float | None) -> str:
        """Play with the constants of Ho et al. 2024, without a look at the problem first; return what ended it."""
        bounds = np.where(self._limited, _PUBLISHED_BOUND if bound is None else float(bound), 0.0)
        at = bounds / 2
        for i in range(iterations):
            plan, ended = self._answer(at, self._share(1 / (iterations - i)))
            self.answers.append(plan)
            if ended not in (ENOUGH, SHARE_USED, STALLED):
                return ended
            z = np.sqrt(np.log(2) / 2 * i) * bounds * (self.graph_search.totals(plan)[1] - self._budget)
            at = published_update(at, z, bounds)
        return self._judge(ITERATION_LIMIT)

    def _answer(self, at: FloatArray, seconds: float) -> tuple[int, str]:
        """The best policy found at some multipliers, and what ended the search for it."""
        self.pricing.aim(at)
        self.pricing.tell()
        goal = max(self.epsilon - 2 * (self.graph_search.slack + self.pricing.slack), self.graph_search.slack)
        ended = self.pricing.search(lambda: goal, seconds=seconds)
        return self.graph_search.best_plan, ended

    def _share(self, share: float) -> float:
        return np.inf if self.clock.left is None else share * self.clock.left

    def _affordable(self, iterations: int) -> int:
        """Rounds to begin with: all, or as many as half of the time is enough for if each takes as long as this did."""
        if self.clock.left is None:
            return iterations
        return min(iterations, max(_FEWEST, int(self.clock.left / (2 * self.clock.seconds + 1e-9))))

    def _within(self, cost: FloatArray) -> bool:
        return bool((cost <= self.model.spending_limit).all())

    def _find_slack(self) -> bool:
        """Look for a mixture that leaves half of each budget, or as much as can be; False if none keeps them.

        With budgets of zero in units of the true ones, the first phase of the master program minimises the largest
        share of a budget that is spent.
        """
        graph_search, pricing = self.graph_search, self.pricing
        plans = graph_search.blind_plans
        none = np.where(self._limited, 0.0, np.inf)
        unit = np.where(self._budget > 0, self._budget, pricing.scale[1])
        master = Master(none, none, 1.0, np.where(unit > 0, unit, 1.0))
        for plan in plans:
            master.add(*graph_search.totals(plan)[:2])
        for _ in range(_ROUNDS):
            master.solve()
            self.thrifty, self.spare = plans.copy(), master.mixture
            if master.excess <= 0.5:
                break
            pricing.aim(master.multipliers, least_cost=True)
            pricing.search(lambda: self._slack_goal(master.threshold), seconds=self._share(_SHARE))
            if pricing.least_weighted_cost > pricing.allowed:
                for least, plan in pricing.least_costs(seconds=self._share(_SHARE)):
                    self.needed = least
                    master.add(*graph_search.totals(plan)[:2])
                    plans.append(plan)
                master.solve()
                self.thrifty, self.spare = plans, master.mixture
                return False
            if graph_search.best_plan in plans:
                break
            plans.append(graph_search.best_plan)
            master.add(*graph_search.best_totals()[:2])
        return True

    def _slack_goal(self, threshold: float) -> float:
        """Enough is known of the least weighted cost when half of it fits, or half of what the best policy promises."""
        graph_search, allowed = self.graph_search, self.pricing.allowed
        if graph_search.lower > -allowed / 2 or self.pricing.least_weighted_cost > allowed:
            return np.inf
        return max((graph_search.lower - threshold) / 2, _PRECISION * allowed)

    def _narrowed_bounds(self) -> FloatArray:
        """B of each cost, [K]: an answer at B / 4 bounds the optimum, and so B, until that changes little.

        If it is the policy of the slack again, that halves what is open above its reward.
        """
        bounds = self._bounds()
        for _ in range(_NARROWINGS):
            self._answer(bounds / 4, self._share(_SHARE / 2))
            before, bounds = bounds, self._bounds()
            if (bounds >= 0.8 * before).all():
                break
        return bounds

    def _bounds(self) -> FloatArray:
        """B of each cost, [K]; 0 where there is no budget."""
        unit = np.where(self._budget > 0, self._budget, self.pricing.scale[1])
        left = np.maximum(self._budget - self.spare.cost, _LEAST_SLACK * unit)
        gain = max(self.pricing.upper - self.spare.reward, min(self.epsilon, self.pricing.scale[0]))
        return np.where(self._limited, 2 * gain / np.where(left > 0, left, 1.0), 0.0)

    def _judge(self, ended: str) -> str:
        """Optimal if the mixture proves to be."""
        mixture = self._mixture()
        if self._within(mixture.cost) and self.pricing.upper - mixture.reward + self.pricing.slack <= self.epsilon:
            return OPTIMAL
        return STALLED if ended == ENOUGH else ended

    def _mixture(self) -> Mixture:
        """Each answer as often as it was given."""
        rewards, costs = zip(*(self.graph_search.totals(plan)[:2] for plan in self.answers), strict=True)
        weights = np.full(len(rewards), 1 / len(rewards))
        return Mixture(weights, float(weights @ np.array(rewards)), weights @ np.array(costs))

    def result(self, status: str) -> Result:
        """The bounds and the mixture that were found."""
        graph_search, pricing = self.graph_search, self.pricing
        plans, mixture = (self.answers, self._mixture()) if self.answers else (self.thrifty, self.spare)
        weights = np.zeros(max(plans) + 1)
        np.add.at(weights, plans, mixture.weights)  # many an answer is given again
        used = np.flatnonzero(weights)
        pricing.lower = mixture.reward - pricing.slack if self._within(mixture.cost) else -np.inf
        if status == INFEASIBLE:
            pricing.upper = -np.inf
        pricing.trace.append(pricing.point())
        return Result.of_search(
            "exp-gradient",
            status,
            pricing.trace,
            self.clock.setup_seconds,
            policy=mixture_policy(graph_search, used.tolist(), weights[used]),
            reward=mixture.reward,
            cost=mixture.cost,
            sure_cost=np.max([graph_search.totals(int(plan))[2] for plan in used], axis=0),
            suffices=mixture.cost if status == INFEASIBLE else None,
            needed=self.needed if status == INFEASIBLE else None,
            route=str(choose_route(graph_search.model, needs=OBJECTIVE_MOVES)),
        )
