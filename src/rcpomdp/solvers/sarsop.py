"""SARSOP: two-sided bounds on the optimum of a POMDP, and a policy that attains the lower one.

Point-based search from b_0 after Kurniawati, Hsu and Lee (2008): sample, backup, prune, until the bounds meet.
What departs from the published algorithm, and why:

- Beliefs, vectors and bounds live per observability class, found from the flat model (`classes.py`).
- The upper bound comes from the fast informed bound, backups and rays (`kernels/belief_graph/rays.py`). The sawtooth
  over points is there too, but each look tests only the newest few points: rays do most of its work.
- Sampling is selective by a target that is a share of the current gap at the root, in place of predicted values.
- A backup adds one vector, as a plan: action and successors, reward, costs and sure cost. The policy follows the plans
  themselves, so that its value is the lower bound.
- Plans that are best at no stored belief leave the lists, in place of δ-dominance; they can still be followed.

The search has no random choices. It can be stopped at any time, and its bounds hold whenever it is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..kernels.belief_graph.interning import rehash
from ..model import CPOMDP
from ..verification.proof import NO_BUDGET
from .belief_graph.search import BeliefGraphSearch, BeliefGraphSwitches, Objective
from .checks import check_common, check_totals
from .clock import PILOT_SETUP, SETUP, Clock, Slices, StallDetector
from .driver import Driver, Engine
from .early import Aim, answers_early, finishing
from .effort import Effort
from .pointbased import PointBasedSearch
from .pointbased import engine as point_based
from .policy_value import with_expected_costs
from .proofs.write import check_provable, with_proof
from .result import MEMORY_LIMIT, STALLED, Result, TracePoint
from .route import BELIEF_GRAPH, POINT_BASED, choose_route
from .warmup import loads_kernels, smallest_ending_model, smallest_model

_TIE_BREAK = 1e-3  # what breaking ties by reward may cost, as a share of epsilon


def _aim(model: CPOMDP, *, objective: Any = "reward", epsilon: float = 1e-3, **_: Any) -> Aim:
    goal = _goal(model, objective, epsilon)
    gain = goal.objective.reward * model.reward - np.tensordot(goal.objective.costs, model.cost, axes=1)
    if goal.cost is not None:
        gain = -model.cost[goal.cost]
    return Aim(goal.name, gain, goal.cost is not None, budgets=False)


@answers_early("sarsop", _aim)
def sarsop(
    model: CPOMDP,
    *,
    objective: str | float | Sequence[float] = "reward",
    epsilon: float = 1e-3,
    time_limit: float | None = None,
    memory_limit: float = 8e9,
    seed: int = 0,
    progress: Callable[[TracePoint], None] | None = None,
    switches: BeliefGraphSwitches | None = None,
    warm_start: BeliefGraphSearch | None = None,
    proof: bool = False,
) -> Result:
    """Solve the POMDP; budgets play no part.

    Parameters
    ----------
    objective : "reward"; "cost" or "cost:NAME" for the least expected cost, ties broken by reward; or λ, a number
        or one per cost, for ``R − λ·C``. Bounds are on the objective's optimal value.
    epsilon : gap to stop at
    time_limit : seconds of set-up and search, looked at once the starting bounds are there; None is unlimited
    memory_limit : bytes that beliefs and plans may take
    seed : of nothing, for there are no random choices
    progress : called with the bounds now and then
    switches : ideas of the search that can be switched off
    warm_start : a `BeliefGraphSearch` of the same model (make one: the `Result` of an earlier call keeps none), whose
        beliefs and plans are used again for this objective
    proof : also write what the bound on the objective rests on, for `rc.check_proof`

    An interrupt (Ctrl-C) returns the bounds and the policy found by then.

    >>> import rcpomdp as rc
    >>> result = rc.solve(rc.problems.make("tiger"), "sarsop", epsilon=0.001)
    >>> result.status, bool(1.932 < result.lower <= result.upper < 1.935)
    ('optimal', True)
    """
    check_common(epsilon, time_limit, memory_limit, seed, progress)
    check_totals(model)
    goal = _goal(model, objective, epsilon)
    if proof:
        check_provable(model)
    effort = Effort(epsilon, Clock(time_limit).watch(), memory_limit, seed, progress, proves=proof)
    found = _by_search(model, goal, effort, switches, warm_start)
    if proof:
        with finishing(effort.clock):
            return with_proof(model, found, NO_BUDGET, epsilon)
    return found if warm_start is not None else replace(found, evidence=None)


def best_reward(model: CPOMDP, effort: Effort) -> Result:
    """Solve for the reward; the result keeps its evidence, so that a proof can be of another criterion."""
    return _by_search(model, _goal(model, "reward", effort.epsilon), effort)


def _by_search(
    model: CPOMDP,
    goal: _Goal,
    effort: Effort,
    switches: BeliefGraphSwitches | None = None,
    warm_start: BeliefGraphSearch | None = None,
) -> Result:
    """Search by the engines of a route."""
    needs = "the caller gave a search or its switches" if warm_start is not None or switches is not None else None
    route = choose_route(model, needs=needs)
    makers: dict[str, Callable[[], Engine]] = {
        POINT_BASED: lambda: _Engine(_point_based(model, goal.objective, effort, SETUP), goal, effort),
        BELIEF_GRAPH: lambda: _Engine(_belief_graph(model, goal.objective, switches, warm_start, effort), goal, effort),
    }
    driver = Driver(
        [makers[name] for name in route.engines],
        effort,
        [],
        pilot=(lambda: _Engine(_point_based(model, goal.objective, effort, PILOT_SETUP), goal, effort))
        if route.has_pilot and not effort.proves
        else None,
    )
    status = driver.run()
    with finishing(effort.clock):
        searches = [engine.search for engine in driver.engines if isinstance(engine, _Engine)]
        best = max(searches, key=lambda search: search.lower)
        reward, cost, sure = best.best_totals()
        driver.trace.append(driver.trace[-1]._replace(seconds=effort.clock.seconds))
        found = Result.of_search(
            "sarsop",
            status,
            driver.trace,
            effort.clock.setup_seconds,
            objective=goal.name,
            policy=best.policy(),
            reward=reward,
            cost=cost,
            sure_cost=sure,
            route=str(route),
            evidence=min(searches, key=lambda search: search.upper),
        )
        return with_expected_costs(found, model, effort.clock, effort.seed)


def _point_based(model: CPOMDP, objective: Objective, effort: Effort, setup: float) -> PointBasedSearch:
    """Make a search; `setup` is the share of the time for its informed bounds."""
    clock = effort.clock
    with clock.stopped():
        point_based.load_kernels()
    return PointBasedSearch(
        model,
        objective,
        memory_limit=effort.memory_limit,
        over=lambda: clock.share_used(setup),
        delay_seconds=0.0 if effort.proves else clock.share_left(setup),
    )


def _belief_graph(
    model: CPOMDP,
    objective: Objective,
    switches: BeliefGraphSwitches | None,
    warm_start: BeliefGraphSearch | None,
    effort: Effort,
) -> BeliefGraphSearch:
    """A new search, or the one to start from."""
    with effort.clock.stopped():
        load_kernels()
    if warm_start is None:
        return BeliefGraphSearch(model, objective, switches, effort.memory_limit)
    if warm_start.model is not model and warm_start.model.fingerprint != model.fingerprint:
        raise InputError("the search to start from was made for another model")
    warm_start.memory_limit, warm_start.out_of_memory = effort.memory_limit, False
    if not warm_start.aims_at(objective):
        warm_start.retarget(objective)
    return warm_start


class _Engine:
    """A search without a budget as an engine."""

    def __init__(self, search: BeliefGraphSearch | PointBasedSearch, goal: _Goal, effort: Effort) -> None:
        self.search, self._goal = search, goal
        self._slices, self._stalls = Slices(effort.clock), StallDetector()
        # The gap that is reported allows for rounding, and must be the one that meets epsilon.
        inner = effort.epsilon - 2 * (goal.tie + search.slack)
        self._epsilon = inner if inner > 0 else search.slack  # below it there is only rounding to be gained

    @property
    def name(self) -> str:
        """The search in words."""
        return POINT_BASED if isinstance(self.search, PointBasedSearch) else BELIEF_GRAPH

    @property
    def lower(self) -> float:
        """Lower bound on the objective; that of a cost is −C + δR with |δR| ≤ tie, and a cost is never below 0."""
        search = self.search
        if self._goal.cost is None:
            return search.lower - search.slack
        return max(0.0, -search.upper - self._goal.tie - search.slack)

    @property
    def upper(self) -> float:
        """Upper bound on the objective."""
        if self._goal.cost is None:
            return self.search.upper + self.search.slack
        return -self.search.lower + self._goal.tie + self.search.slack

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
        """Trials for a slice of time, with sharper targets where nothing changes any more."""
        search = self.search
        if search.gap <= self._epsilon:
            return STALLED
        if search.out_of_memory:
            return MEMORY_LIMIT
        with self._slices() as work:
            search.search(self._epsilon, work, self._stalls.share)
        stalled = self._stalls.found(search.lower, search.upper, search.sizes[0], trials=search.trials)
        return STALLED if stalled else None


@dataclass(frozen=True)
class _Goal:
    """The objective, and the sign with which its bounds are reported."""

    name: str
    objective: Objective
    cost: int | None = None  # the cost that is minimised
    tie: float = 0.0  # least and largest thing that breaking ties can add to the objective


def _goal(model: CPOMDP, objective: Any, epsilon: float) -> _Goal:
    if isinstance(objective, str) and objective == "reward":
        return _checked(model, _Goal("reward", Objective(1.0, np.zeros(model.n_costs))))
    if isinstance(objective, str):
        kind, _, name = objective.partition(":")
        if kind != "cost":
            raise InputError(f"the objective is 'reward', 'cost', 'cost:NAME' or weights λ, not {objective!r}")
        return _least_cost(model, name, epsilon)
    try:
        weights = np.atleast_1d(np.asarray(objective, dtype=np.float64))
    except (TypeError, ValueError):
        weights = np.array([np.nan])
    if weights.shape != (model.n_costs,) or not np.isfinite(weights).all():
        raise InputError(f"the weights λ must be {model.n_costs} finite numbers, one per cost, not {objective!r}")
    shown = ", ".join(f"{w:.6g}" for w in weights)
    return _checked(model, _Goal(f"reward - ({shown})·cost", Objective(1.0, weights)))


def _least_cost(model: CPOMDP, name: Hashable, epsilon: float) -> _Goal:
    if not model.n_costs:
        raise InputError("the model has no cost to minimise")
    if not name and model.n_costs > 1:
        raise InputError(f"the model has {model.n_costs} costs; name one, as in 'cost:{model.costs[0]}'")
    k = model.costs.index(name) if name else 0
    if model.cost_discount[k] != model.discount:
        raise InputError(
            f"cost {model.costs[k]!r} is discounted by {model.cost_discount[k]:.12g}, and the least cost is known for "
            f"those that are discounted as the reward is, by {model.discount:.12g}"
        )
    largest = float(np.abs(model.reward).max()) / model.fade
    weight = _TIE_BREAK * min(max(epsilon, 1e-9), 1.0) / (largest or 1.0)
    weights = np.zeros(model.n_costs)
    weights[k] = 1.0
    return _checked(model, _Goal(f"cost {model.costs[k]!r}", Objective(weight, weights), k, weight * largest))


def _checked(model: CPOMDP, goal: _Goal) -> _Goal:
    """Refuse an objective whose totals are beyond what doubles hold."""
    with np.errstate(over="ignore", invalid="ignore"):
        step = goal.objective.reward * np.abs(model.reward).max()
        step += np.abs(goal.objective.costs) @ model.cost.max(axis=(1, 2))
        total = 1e6 * step / model.fade
    if not np.isfinite(total) or not np.isfinite(goal.tie):
        raise InputError("rewards or costs are too large: their discounted totals cannot be computed")
    return goal


@loads_kernels
def load_kernels() -> None:
    """Compile the kernels, or load them from the cache, before any clock runs: a few steps on the smallest model."""
    for model in (smallest_ending_model(), smallest_model()):
        graph_search = BeliefGraphSearch(model, Objective(1.0, np.zeros(1)))
        graph_search.search(0.0, 10)
    graph_search.forget()
    graph_search.best_totals()
    graph_search.retarget(Objective(1.0, np.ones(1)))
    rehash(graph_search.store)
