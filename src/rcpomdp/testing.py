"""A conformance test for solvers: what every solver owes to those who call it.

>>> from rcpomdp.testing import check_solver
>>> check_solver("sarsop", problems=["tiger"])

`docs/solvers.md` lists the rules. Optima are not known to the check; it encloses them instead. A policy that `verify`
finds to keep its budget in every history is worth no more than any of the optima (with budgets in every history, with
budgets in expectation, without budgets), and SARSOP's upper bound is no less than any of them.
"""

from __future__ import annotations

import inspect
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from . import problems as registry_of_problems
from .errors import PolicyError
from .evaluation import evaluate
from .model import CPOMDP
from .policies import blind
from .simulation import simulate
from .solvers import registry
from .solvers.result import INFEASIBLE, INTERRUPTED, OPTIMAL, STATUSES, TIME_LIMIT, Result
from .verification import verify

__all__ = ["check_solver"]

PROBLEMS = ("ce", "tiger")
HARD = "hallway"  # what takes longer than `time_limit`
_EPSILON = 1e-2  # gap that is asked for
_LIMIT = 20.0  # seconds for each solve of a small problem
_TOLERANCE = 1e-6  # relative: reward and costs, bounds
_ERRORS = 6  # standard errors within which an estimate should lie
_EVALUATION = 2.0  # seconds


def check_solver(
    solver: str | Callable[..., Result],
    problems: Sequence[str | CPOMDP] = PROBLEMS,
    *,
    hard: str | CPOMDP = HARD,
    time_limit: float = 1.0,
    slack: float = 5.0,
    online: bool | None = None,
    **options: Any,
) -> None:
    """Check that a solver keeps the rules; the first that it breaks is an AssertionError of one sentence.

    Parameters
    ----------
    solver : its name, or the function
    problems : small ones that it should solve within seconds
    hard : one on which it is stopped after `time_limit` seconds, and interrupted
    slack : seconds by which it may be late
    online : whether its policies search on while they run: then the clock may decide what they do on the hard problem,
        and repeating is asked of them on the small ones only; unless given, as `rcpomdp.solvers.ONLINE` has it
    options : of the solver, in each of its runs
    """
    run, name = (registry.get(solver), solver) if isinstance(solver, str) else (solver, _name(solver))
    check = _Check(run, name, options, name in registry.ONLINE if online is None else online)
    check.takes_its_options()
    check.hurries(_made(hard), time_limit, slack)  # the first run may compile, and is not timed
    check.stops_when_interrupted(_made(hard))
    for problem in problems:
        model = _made(problem)
        result = check.solves(model)
        check.repeats(model, result)
        check.heeds_other_budgets(model, result)
    for model in (_infeasible(), _two_costs(), _no_costs()):
        check.solves(model)


@dataclass(frozen=True)
class _Check:
    run: Callable[..., Result]
    name: str
    options: dict[str, Any]
    online: bool

    def takes_its_options(self) -> None:
        known = inspect.signature(self.run).parameters
        anything = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
        for option in ("time_limit", "progress"):
            if option not in known and not anything:
                self.fail(None, f"a solver takes the option {option!r}")

    def call(self, model: CPOMDP, **more: Any) -> Result:
        """Run the solver; `epsilon` and `seed` are given to those that take them."""
        known = inspect.signature(self.run).parameters
        usual = {"epsilon": _EPSILON, "seed": 0, "time_limit": _LIMIT}
        options = {key: value for key, value in usual.items() if key in known} | self.options | more
        try:
            result: Any = self.run(model, **options)
        except KeyboardInterrupt:
            self.fail(model, "an interrupt during the search returns what was found; KeyboardInterrupt came through")
        except Exception as error:
            self.fail(model, f"a solver returns a Result, and does not raise {type(error).__name__}: {error}")
        if not isinstance(result, Result):
            self.fail(model, f"a solver returns a Result, not {result!r}")
        return result

    # The rules

    def solves(self, model: CPOMDP) -> Result:
        """Solve a problem, and look at all that comes back."""
        result = self.call(model)
        self.is_well_formed(model, result)
        self.acts(model, result)
        self.has_true_bounds(model, result)
        self.is_worth_what_it_says(model, result)
        self.keeps_what_it_says(model, result)
        return result

    def is_well_formed(self, model: CPOMDP, result: Result) -> None:
        if result.status not in STATUSES:
            self.fail(model, f"the status is one of {', '.join(STATUSES)}, not {result.status!r}")
        if any(math.isnan(value) for value in (result.lower, result.upper, result.reward)):
            self.fail(model, "lower, upper and reward are numbers, not nan; a bound that is not known is infinite")
        for what, value in (("cost", result.cost), ("sure_cost", result.sure_cost)):
            if np.shape(value) != (model.n_costs,):
                self.fail(model, f"{what} has one number per cost, {model.n_costs}, not the shape {np.shape(value)}")
        if not result.trace:
            self.fail(model, "the trace has a point at least")
        try:
            json.dumps(result.summary(), allow_nan=False)
        except (TypeError, ValueError) as error:
            self.fail(model, f"summary() is plain JSON: {error}")

    def acts(self, model: CPOMDP, result: Result, repeats: bool = True) -> None:
        """The policy protocol: three methods, states that are values, all randomness through `initial`."""
        policy = result.policy
        for method in ("initial", "action", "update"):
            if not callable(getattr(policy, method, None)):
                self.fail(model, f"a policy has the method {method!r}")
        state = policy.initial(np.random.default_rng(1))
        first = self.action(model, policy, state)
        if self.action(model, policy, policy.initial(np.random.default_rng(1))) != first:
            self.fail(model, "all randomness enters through initial(rng): the same seed takes the same first action")
        chance = np.asarray(model.observation[first].T @ (model.transition[first].T @ model.initial_belief))
        seen = [int(o) for o in np.flatnonzero(chance > 1e-12)[:4]]
        actions = [self.action(model, policy, policy.update(state, o)) for o in seen]
        if self.action(model, policy, state) != first:
            self.fail(model, "a policy's state is a value: an update leaves the state it starts from as it was")
        again = [self.action(model, policy, policy.update(state, o)) for o in seen[::-1]]
        if repeats and again != actions[::-1]:
            self.fail(model, "a policy's state is a value: updates of one state do not depend on each other")
        try:
            runs = [simulate(model, policy, runs=4, steps=4, seed=3).outcome.reward for _ in range(1 + repeats)]
        except Exception as error:
            self.fail(model, f"a policy runs in rc.simulate, without {type(error).__name__}: {error}")
        if not np.array_equal(runs[0], runs[-1]):
            self.fail(model, "all randomness enters through initial(rng): the same seed gives the same runs")

    def action(self, model: CPOMDP, policy: Any, state: Any) -> int:
        action = policy.action(state)
        if isinstance(action, bool) or not isinstance(action, int | np.integer) or not 0 <= action < model.n_actions:
            self.fail(model, f"an action is an index below {model.n_actions}, not {action!r}")
        return int(action)

    def has_true_bounds(self, model: CPOMDP, result: Result) -> None:
        low, high = result.lower, result.upper
        margin = _margin(model)
        if low > high + margin:
            self.fail(model, f"the lower bound {low:.9g} is not above the upper bound {high:.9g}")
        if result.status == OPTIMAL and not high - low <= self.options.get("epsilon", _EPSILON) + margin:
            self.fail(model, f"a result is optimal if its bounds are within epsilon, not {high - low:.3g} apart")
        if result.objective != "reward":
            return
        known, most = _enclosed(model)
        if result.status == INFEASIBLE and known > -math.inf:
            self.fail(model, "a problem is infeasible if no policy keeps its budgets, but one that does is known")
        if high < known - margin and result.status != INFEASIBLE:
            self.fail(model, f"the upper bound {high:.9g} is not below {known:.9g}, which a verified policy is worth")
        if low > most + margin:
            self.fail(model, f"the lower bound {low:.9g} is not above {most:.9g}, which no policy exceeds")
        if low > result.reward + margin:
            self.fail(model, f"the policy attains the lower bound {low:.9g}, not only {result.reward:.9g}")

    def is_worth_what_it_says(self, model: CPOMDP, result: Result) -> None:
        try:
            exact = evaluate(model, result.policy, 1e-9, time_limit=_EVALUATION)
        except PolicyError:
            return  # of a kind that only simulation can tell
        errors = np.zeros(1 + model.n_costs)
        if result.standard_error is not None:
            errors = _ERRORS * np.asarray(result.standard_error) + 1e-3 * _largest(model)  # runs may be cut
        far = exact.error + _margin(model) + errors
        if abs(exact.reward - result.reward) > far[0]:
            self.fail(model, f"the policy's reward is {exact.reward:.9g}, not {result.reward:.9g} as the result says")
        for value, said, most in zip(exact.cost, result.cost, far[1:], strict=True):
            if abs(value - said) > most:
                self.fail(model, f"the policy's cost is {value:.9g}, not {said:.9g} as the result says")

    def keeps_what_it_says(self, model: CPOMDP, result: Result) -> None:
        if result.admissible is not True:
            return
        try:
            found = verify(model, result.policy, result.summary())
        except PolicyError:
            return  # of a kind that cannot be verified
        if not found.verified:
            self.fail(model, f"an admissible policy is one that rc.verify confirms, but {found.problem}")

    def repeats(self, model: CPOMDP, first: Result) -> None:
        again = self.call(model)
        if TIME_LIMIT in (first.status, again.status):
            return  # then the clock decides
        for what in ("status", "lower", "upper", "reward"):
            if getattr(first, what) != getattr(again, what):
                told = f"{getattr(first, what)!r}, then {getattr(again, what)!r}"
                self.fail(model, f"the same seed gives the same result, but {what} is {told}")
        if not np.array_equal(first.cost, again.cost):
            self.fail(model, "the same seed gives the same result, but the cost differs")

    def heeds_other_budgets(self, model: CPOMDP, result: Result) -> None:
        """Half, twice and no budget: more of it is worth no less."""
        if not model.n_costs:
            return
        wide = [self.call(model.with_budget(budget)) for budget in (model.budget / 2, model.budget * 2, None)]
        ordered = [wide[0], result, *wide[1:]]
        for budget, found in zip((model.budget / 2, model.budget * 2, None), wide, strict=True):
            other = model.with_budget(budget)
            self.is_well_formed(other, found)
            self.has_true_bounds(other, found)
            self.keeps_what_it_says(other, found)
        for tight, loose in pairwise(ordered):
            if loose.upper < tight.lower - _margin(model):
                told = f"{tight.lower:.9g} is reached under the tighter one, and {loose.upper:.9g} bounds the looser"
                self.fail(model, f"a solver heeds the budget of the model it is given, but {told}")

    def hurries(self, model: CPOMDP, seconds: float, slack: float) -> None:
        self.call(model, time_limit=seconds)
        started = time.perf_counter()
        result = self.call(model, time_limit=seconds)
        late = time.perf_counter() - started - seconds
        if late > slack:
            self.fail(model, f"a solver stops at its time limit of {seconds:g} s, not {late:.1f} s later")
        self.is_well_formed(model, result)
        if result.lower > result.upper + _margin(model):
            self.fail(model, "the bounds hold whenever a solver stops, but at its time limit lower is above upper")

    def stops_when_interrupted(self, model: CPOMDP) -> None:
        calls = []

        def interrupt(point: Any) -> NoReturn:
            calls.append(point)
            raise KeyboardInterrupt

        result = self.call(model, time_limit=_LIMIT, progress=interrupt)
        if not calls:
            self.fail(model, "a solver calls progress now and then")
        if result.status != INTERRUPTED:
            self.fail(model, f"an interrupt ends the search with the status 'interrupted', not {result.status!r}")
        self.is_well_formed(model, result)
        self.acts(model, result, repeats=not self.online)

    def fail(self, model: CPOMDP | None, sentence: str) -> NoReturn:
        where = "" if model is None else f" on {model.name or 'a model'!r}"
        raise AssertionError(f"solver {self.name!r}{where} breaks a rule: {sentence}")


# Models


def _made(problem: str | CPOMDP) -> CPOMDP:
    return registry_of_problems.make(problem) if isinstance(problem, str) else problem


def _infeasible() -> CPOMDP:
    """Two actions that cost 1 or 2 at each step, for ever, where 1 in all is allowed."""
    return _one_state("no policy keeps the budget", [[1.0, 2.0]], 1.0)


def _two_costs() -> CPOMDP:
    return _one_state("two costs", [[1.0, 0.0], [0.0, 1.0]], [1.0, 1.5])


def _no_costs() -> CPOMDP:
    return _one_state("no costs", [], None)


def _one_state(name: str, costs: list[list[float]], budget: Any) -> CPOMDP:
    return CPOMDP(
        transition=[[[1.0]]] * 2,
        observation=[[[1.0]]] * 2,
        reward=[[2.0, 1.0]],
        cost=[[row] for row in costs] or None,
        initial_belief=[1.0],
        discount=0.5,
        budget=budget,
        name=name,
    )


# What is known of the optimum


def _enclosed(model: CPOMDP) -> tuple[float, float]:
    """What some policy that keeps the budget in every history is worth, −inf if none is known; what none exceeds."""
    return _enclosed_once(_Key(model.fingerprint, tuple(model.budget.tolist()), model))


@dataclass(frozen=True)
class _Key:
    """A model by its numbers."""

    fingerprint: str
    budget: tuple[float, ...]
    model: Any

    def __hash__(self) -> int:
        return hash((self.fingerprint, self.budget))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and (self.fingerprint, self.budget) == (other.fingerprint, other.budget)


@cache
def _enclosed_once(key: _Key) -> tuple[float, float]:
    from .solvers import arcs, sarsop

    model: CPOMDP = key.model
    known = -math.inf
    candidates = [arcs.arcs(model, epsilon=_EPSILON, time_limit=_LIMIT).policy]
    candidates += [blind(model, a) for a in range(model.n_actions)]
    for policy in candidates:
        found = verify(model, policy)
        if found.verified:
            known = max(known, found.reward - found.error)
    return known, sarsop.sarsop(model, epsilon=_EPSILON, time_limit=_LIMIT).upper


def _largest(model: CPOMDP) -> float:
    """The largest total of reward or cost that there can be."""
    step = max(float(np.abs(model.reward).max()), float(model.cost.max(initial=0.0)))
    return step / (1 - model.discount)


def _margin(model: CPOMDP) -> float:
    """Rounding, and what a budget's own tolerance is worth."""
    return _TOLERANCE * max(1.0, float(np.abs(model.reward).max()), float(model.cost.max(initial=0.0)))


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", repr(function))
