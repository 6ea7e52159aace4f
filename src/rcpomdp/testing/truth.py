"""Truth of a result: its bounds, the value of its policy, the costs that its policy never exceeds.

Policies are evaluated and verified where `evaluate` and `verify` can do it, and simulated where they cannot. A mean of
n simulated runs may be off by 5 standard errors, by what longer runs could add, and by what no run has shown: that has
a chance below ``7 / n`` with confidence 0.999, and is worth no more than totals can differ.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np

from .._types import FloatArray
from ..errors import PolicyError
from ..evaluation import Evaluation, evaluate
from ..kernels.simulation.rollout import Outcome
from ..model import CPOMDP
from ..solvers.result import INFEASIBLE, OPTIMAL, Result
from ..tolerance import spending_limit
from ..verification import MOST_PAIRS, Verification, verify
from .broken import FAULTS, RuleError, told
from .conduct import ran
from .enclosure import Enclosure, margin, margins, totals

_ERRORS = 5  # standard errors within which an estimate should lie
_UNSEEN = 7.0  # -ln 0.001
_COARSE = 1e-3  # share of the totals: an evaluation further off says little, and simulated runs may be cut there
_EVALUATION = 2.0  # seconds
_SIMULATION = 1.0  # seconds after which no more runs are begun
_RUNS = 1000
_MOST_STEPS = 500
_FEW_PAIRS = 2_000  # walked to find a history that spends much


def has_true_bounds(model: CPOMDP, result: Result, epsilon: float, optimum: Enclosure) -> None:
    """The bounds against each other, the policy and what is known of the optimum."""
    low, high = result.lower, result.upper
    known, most = optimum
    room = margin(model)
    if low > high + room:
        raise RuleError(f"the lower bound {low:.9g} is not above the upper bound {high:.9g}")
    if result.status == OPTIMAL and not high - low <= epsilon + room:
        raise RuleError(f"a result is optimal if its bounds are within epsilon, not {high - low:.3g} apart")
    if result.status == INFEASIBLE and known > -math.inf:
        raise RuleError("a problem is infeasible if no policy keeps its budgets, but one that does is known")
    if high < known - room:
        raise RuleError(f"the upper bound {high:.9g} is not below {known:.9g}, which a verified policy is worth")
    if low > most + room:
        if most == -math.inf:
            raise RuleError(f"where no policy keeps the budget the lower bound is -inf, not {low:.9g}")
        raise RuleError(f"the lower bound {low:.9g} is not above {most:.9g}, which no policy exceeds")
    if low > result.reward + _ERRORS * _standard_errors(model, result)[0] + room:
        raise RuleError(f"the policy attains the lower bound {low:.9g}, not only {result.reward:.9g}")


def is_possible(model: CPOMDP, result: Result) -> None:
    """Reward and costs lie where some policy's may."""
    least, most = totals(model)
    rows = zip(_names(model), _said(result), least, most, margins(model), strict=True)
    for what, said, low, high, room in rows:
        if not low - room <= said <= high + room:
            raise RuleError(f"the {what} of any policy lies in [{low:.9g}, {high:.9g}], where {said:.9g} does not")


class Runs(NamedTuple):
    """Findings of simulated runs of a policy."""

    number: int
    mean: FloatArray  # [1 + K] of reward and costs
    error: FloatArray  # [1 + K] standard errors of the means
    beyond: FloatArray  # [1 + K] at most what longer runs could add
    spent: FloatArray  # [K] the most that the agent expected to spend in a run, W(h)


def sampled(model: CPOMDP, policy: Any) -> Runs:
    """Runs until there are enough of them, or time is up."""
    discount = model.discount
    steps = math.ceil(min(_MOST_STEPS, model.steps_until(_COARSE)))
    parts: list[Outcome] = []
    started, count = time.perf_counter(), 0
    while count < _RUNS and time.perf_counter() - started < _SIMULATION:
        parts.append(ran(model, policy, min(max(count, 1), _RUNS - count), steps, len(parts)))
        count += len(parts[-1].reward)
    gained = np.concatenate([np.column_stack([part.reward, part.cost]) for part in parts])
    least, most = totals(model)
    going_on = 1.0 - float(np.concatenate([part.ended for part in parts]).mean())
    return Runs(
        count,
        gained.mean(axis=0),
        gained.std(axis=0, ddof=1) / math.sqrt(count) if count > 1 else most - least,
        going_on * discount**steps * np.maximum(most, -least),
        np.concatenate([part.spent for part in parts]).max(axis=0),
    )


def is_worth_what_it_says(model: CPOMDP, result: Result, runs: Runs, exactly: bool) -> None:
    """Reward and costs against an evaluation, if it is asked for and can be had, or else against simulated runs."""
    said, errors = _said(result), _standard_errors(model, result)
    exact = _evaluated(model, result.policy) if exactly else None
    least, most = totals(model)
    if exact is not None:
        found = np.array([exact.reward, *exact.cost])
        _compare(model, said, found, exact.error + _ERRORS * errors + margins(model))
        if exact.error <= _COARSE * float((most - least).max()):
            return
    unseen = _UNSEEN * (most - least) / runs.number
    room = _ERRORS * np.hypot(errors, runs.error) + runs.beyond + unseen + margins(model)
    _compare(model, said, runs.mean, room, f" in {runs.number} simulated runs")


def keeps_what_it_says(model: CPOMDP, result: Result, runs: Runs, exactly: bool, plan: bool = False) -> None:
    """No run spends more than `sure_cost`, nor than the budget if the policy is admissible; `verify` agrees.

    `plan` is whether the figures are those of a plan that the policy improves on while it runs.
    """
    promised = result.admissible is True
    if promised and exactly:
        claims = {} if plan else result.summary()
        found = _verified(model, result.policy, claims, MOST_PAIRS)
        if found is not None and not found.verified:
            raise RuleError(f"an admissible policy is one that rc.verify confirms, but {found.problem}")
    if promised:
        _spends_within(runs.spent, model.budget, "the budget of an admissible policy is", "a simulated run")
    if plan:
        return
    sure, what = np.asarray(result.sure_cost), "no history exceeds sure_cost,"
    _spends_within(runs.spent, sure, what, "a simulated run")
    if exactly and np.isfinite(sure).any():
        found = _verified(model, result.policy, {}, _FEW_PAIRS)
        if found is not None:
            _spends_within(found.spent, sure, what, "one")


def _spends_within(spent: FloatArray, budget: FloatArray, what: str, who: str) -> None:
    for most, allowed in zip(spent, budget, strict=True):
        if most > spending_limit(allowed):
            raise RuleError(f"{what} {allowed:.9g}, but {who} spends {most:.9g}")


def _compare(model: CPOMDP, said: FloatArray, found: FloatArray, room: FloatArray, how: str = "") -> None:
    for what, claimed, value, most in zip(_names(model), said, found, room, strict=True):
        if abs(value - claimed) > most:
            raise RuleError(f"the policy's {what} is {value:.9g}{how}, not {claimed:.9g} as the result says")


def _evaluated(model: CPOMDP, policy: Any) -> Evaluation | None:
    """None of a kind that only simulation can tell."""
    try:
        return evaluate(model, policy, 1e-9, time_limit=_EVALUATION)
    except PolicyError:
        return None
    except FAULTS as error:
        raise RuleError(f"rc.evaluate evaluates the policy, without {told(error)}") from error


def _verified(model: CPOMDP, policy: Any, claims: dict[str, Any], most_pairs: int) -> Verification | None:
    """None of a kind that cannot be verified."""
    try:
        return verify(model, policy, claims, most_pairs)
    except PolicyError:
        return None
    except FAULTS as error:
        raise RuleError(f"rc.verify verifies the policy, without {told(error)}") from error


def _standard_errors(model: CPOMDP, result: Result) -> FloatArray:
    """Those of reward and costs [1 + K], 0 if they are exact; means may also be of runs that were cut, or too few."""
    if result.standard_error is None:
        return np.zeros(1 + model.n_costs)
    least, most = totals(model)
    unseen = 0.0 if result.runs is None else _UNSEEN / result.runs * (most - least)
    return np.asarray(result.standard_error + (_COARSE * np.maximum(most, -least) + unseen) / _ERRORS)


def _said(result: Result) -> FloatArray:
    return np.array([result.reward, *result.cost], dtype=np.float64)


def _names(model: CPOMDP) -> list[str]:
    return ["reward"] + ["cost"] * model.n_costs
