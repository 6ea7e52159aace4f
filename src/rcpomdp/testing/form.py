"""Form of a result: names that are known, numbers that are numbers, arrays of the right length."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .._types import FloatArray
from ..model import CPOMDP
from ..solvers.result import INFEASIBLE, STATUSES, Result, TracePoint
from .broken import FAULTS, RuleError, shown, told
from .enclosure import cost_margins, margin, margins, totals


def is_well_formed(model: CPOMDP, result: Result) -> None:
    """Every field by itself."""
    _check_names(result)
    for what in ("lower", "upper", "reward"):
        number(getattr(result, what), what)
    for what in ("reward", "seconds", "setup_seconds"):
        if not math.isfinite(number(getattr(result, what), what)):
            raise RuleError(f"{what} is finite, not {shown(getattr(result, what))}")
    for what in ("seconds", "setup_seconds"):
        if getattr(result, what) < 0:
            raise RuleError(f"{what} is never negative, but it is {shown(getattr(result, what))}")
    _check_costs(model, result)
    _check_standard_error(model, result)
    _check_infeasible(model, result)
    _check_trace(model, result.trace)
    try:
        json.dumps(result.summary(), allow_nan=False)
    except FAULTS as error:
        raise RuleError(f"summary() is plain JSON: {told(error)}") from error


def is_a_point(model: CPOMDP, point: Any) -> None:
    """A moment of the search, as `progress` is told and `trace` holds."""
    if not isinstance(point, TracePoint):
        raise RuleError(f"progress is called with a TracePoint, and a trace is made of them, not of {shown(point)}")
    low, high = number(point.lower, "lower in the trace"), number(point.upper, "upper in the trace")
    if low > high + margin(model):
        raise RuleError(f"the trace holds bounds, and lower {low:.9g} is not above upper {high:.9g}")
    if not 0 <= number(point.seconds, "seconds in the trace") < math.inf:
        raise RuleError(f"seconds in the trace are finite and never negative, but they are {shown(point.seconds)}")


def number(value: Any, what: str) -> float:
    """A value that should be a number, which neither a truth value nor nan is; infinite ones are."""
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    try:
        found = float(value) if real else math.nan
    except OverflowError:
        found = math.nan
    if math.isnan(found):
        raise RuleError(f"{what} is a number, not {shown(value)}")
    return found


def numbers(value: Any, what: str, size: int, each: str = "one number per cost") -> FloatArray:
    """A value that should be an array of numbers."""
    try:
        array: Any = np.asarray(value)
    except FAULTS as error:
        raise RuleError(f"{what} has {each}, and is not {shown(value)}") from error
    if array.shape != (size,):
        raise RuleError(f"{what} has {each}, {size}, not the shape {array.shape}")
    if array.dtype.kind not in "iuf" or np.isnan(array).any():
        raise RuleError(f"{what} is made of numbers, not {shown(value)}")
    found: FloatArray = array.astype(np.float64)
    return found


def _check_names(result: Result) -> None:
    if not isinstance(result.status, str) or result.status not in STATUSES:
        raise RuleError(f"the status is one of {', '.join(STATUSES)}, not {shown(result.status)}")
    if not isinstance(result.objective, str) or result.objective != "reward":
        raise RuleError(f"the objective is 'reward', the one that is checked, not {shown(result.objective)}")
    if not any(result.admissible is known for known in (True, False, None)):
        raise RuleError(f"admissible is True, False or None, not {shown(result.admissible)}")


def _check_costs(model: CPOMDP, result: Result) -> None:
    for what in ("cost", "sure_cost", "suffices", "needed"):
        value = getattr(result, what)
        if value is None and what in ("suffices", "needed"):
            continue
        array = numbers(value, what, model.n_costs)
        if (array < -cost_margins(model)).any():
            raise RuleError(f"{what} is never negative, as no cost of the model is, but it is {shown(value)}")
        if what == "cost" and not np.isfinite(array).all():
            raise RuleError(f"cost is finite, not {shown(value)}")
    if result.needed is not None and result.suffices is not None:
        least, enough = np.asarray(result.needed), np.asarray(result.suffices)
        if (least > enough + cost_margins(model)).any():
            raise RuleError(f"what is needed, {shown(least)}, is not more than what suffices, {shown(enough)}")


def _check_standard_error(model: CPOMDP, result: Result) -> None:
    if result.standard_error is None:
        return
    each = "one number for the reward and one per cost"
    errors = numbers(result.standard_error, "standard_error", 1 + model.n_costs, each)
    if not np.isfinite(errors).all() or (errors < 0).any():
        raise RuleError(f"a standard error is finite and never negative, but it is {shown(errors)}")
    least, most = totals(model)
    if (errors > most - least + margins(model)).any():
        raise RuleError(
            f"a standard error is at most what totals differ by, {shown(most - least)}, not {shown(errors)}"
        )


def _check_infeasible(model: CPOMDP, result: Result) -> None:
    if result.status == INFEASIBLE and not result.lower == result.upper == -math.inf:
        bounds = f"[{result.lower:.9g}, {result.upper:.9g}]"
        raise RuleError(f"where no policy keeps the budget both bounds are -inf, but 'infeasible' comes with {bounds}")


def _check_trace(model: CPOMDP, trace: Sequence[TracePoint]) -> None:
    if not isinstance(trace, list | tuple):
        raise RuleError(f"the trace is a list of TracePoints, not {shown(trace)}")
    if not trace:
        raise RuleError("the trace has a point at least")
    for point in trace:
        is_a_point(model, point)
    for before, after in pairwise(trace):
        if after.seconds < before.seconds:
            raise RuleError(f"time goes on in the trace, not from {before.seconds:.9g} s to {after.seconds:.9g} s")
