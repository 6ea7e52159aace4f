"""Advice on a result whose gap is larger than was asked for: what can be done about it, and what that would cost.

How the gap fell in the last half of the search tells whether more time helps: bounds that halve it go on to do so.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from . import registry
from .result import CONVERGED, INFEASIBLE, ITERATION_LIMIT, MEMORY_LIMIT, OPTIMAL, STALLED, Result

_MOVES = 0.9  # a gap that falls to this share of itself or below in half of the time is worth more time
_CLOSE = 0.1  # a gap of at most this share of the value may be close enough


class _Words(NamedTuple):
    """How options are written."""

    memory: str
    iterations: str
    epsilon: str
    act_time: str
    on_average: str


_PYTHON = _Words("memory_limit", "iterations=", "epsilon={:g}", "act_time=0.1", 'rc.solve(model, "cgcp")')
_SHELL = _Words("--memory-limit", "-o iterations=", "--epsilon {:g}", "-o act_time=0.1 --runs 1000", "--solver cgcp")


def advice(result: Result, shell: bool = False) -> list[str]:
    """Sentences on what to do about a gap that is still open, for Python or for the command line (`shell`)."""
    if result.status in (OPTIMAL, CONVERGED, INFEASIBLE) or result.upper == math.inf:
        return []
    words = _SHELL if shell else _PYTHON
    told = [_more(result, words)]
    if math.isfinite(result.gap):
        share = result.gap / max(abs(result.lower), abs(result.upper), 1e-300)
        if share <= _CLOSE:
            enough = words.epsilon.format(_rounded_up(result.gap))
            told.append(f"{enough} would have been enough: the gap is {share:.2g} of the value")
    every_history = registry.criterion(result.solver) is registry.Criterion.EVERY_HISTORY and len(result.cost) > 0
    if every_history and result.k is None:
        if result.variant == "levels" and result.admissible and "act_time" not in result.options:
            told.append(f"{words.act_time} searches on while the policy acts, from where it is and with what is left")
        if _has_costs_like_rewards(result):
            told.append(
                f"{words.on_average} is often quicker, for the weaker promise: the budget is kept on average alone"
            )
    return told


def _has_costs_like_rewards(result: Result) -> bool:
    """True if solvers of budgets in expectation take the model, as far as that is known."""
    model = result.model
    if model is None:
        return True
    alike = model.horizon is not None or bool((model.cost_discount == model.discount).all())
    return alike and not model.has_step_limits


def _more(result: Result, words: _Words) -> str:
    """Whether more of what the search ran out of would help."""
    if result.status == STALLED:
        return "more time will not help: nothing is left to improve"
    if result.status == MEMORY_LIMIT:
        return f"a larger {words.memory} lets the search go on"
    if result.status == ITERATION_LIMIT:
        return f"{words.iterations} with a larger number lets it go on"
    if result.lower == -math.inf and result.admissible is False:
        return "more time may find a policy that keeps the budget"
    return _more_time(result)


def _more_time(result: Result) -> str:
    last = result.trace[-1]
    if last.seconds == 0:
        return "the search had not begun yet: more time lets it"
    half = next((point for point in reversed(result.trace) if point.seconds <= last.seconds / 2), None)
    before = math.inf if half is None else half.upper - half.lower
    if not math.isfinite(before):
        return "more time lets the search go on"
    fell = f"in the last half of {last.seconds:.3g} s the gap fell from {before:.3g} to {result.gap:.3g}"
    return f"more time helps: {fell}" if result.gap <= _MOVES * before else f"more time alone helps little: {fell}"


def _rounded_up(gap: float) -> float:
    """The next number above with two digits."""
    unit = 10.0 ** (math.floor(math.log10(gap)) - 1) if gap > 0 else 1.0
    return math.ceil(gap / unit) * unit
