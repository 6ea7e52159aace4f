"""The value of a policy: exact if that is quick, or else by simulated runs.

Runs are cut when what may follow is a thousandth of the largest total, or after 500 steps; what is cut off is no part
of the standard error.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from .._types import FloatArray
from ..deadline import TimeUpError, within
from ..evaluation import evaluate
from ..model import CPOMDP
from ..policies import ControllerPolicy, Policy
from ..simulation.simulate import simulate
from .clock import Clock
from .result import Result

_PRECISION = 1e-6  # relative to the largest gain, for an evaluation that counts as exact
_BELIEFS = 4000  # to follow in all; counts decide rather than the clock, so that the outcome repeats
_STEPS = 20_000  # of all runs together, or of the fewest runs
_FEWEST, _MOST = 40, 500  # runs
_FIRST, _BATCH = 2, 20  # runs between looks at the clock: at first, for steps may take long, and later
_TAIL = 1e-3
_MOST_STEPS = 500
_HURRY = 0.5  # seconds for each, when the user waits


def worth(
    model: CPOMDP, policy: Policy[Any], clock: Clock, seed: int, hurry: bool = False
) -> tuple[float, FloatArray, FloatArray | None]:
    """Reward and costs [K] of a policy, and their standard errors [1 + K]; None if they are exact."""
    left = np.inf if clock.left is None else clock.left
    tolerance = _PRECISION * (max(float(np.abs(model.reward).max()), float(model.cost.max(initial=0.0))) or 1.0)
    seconds = min(left / 2, _HURRY if hurry else np.inf)
    time_left = Clock(seconds)
    with suppress(TimeUpError), within(over=lambda: time_left.over):
        exact = evaluate(model, policy, tolerance, _BELIEFS, time_limit=seconds, most_work=_BELIEFS)
        if exact.error <= 2 * tolerance:
            return exact.reward, exact.cost, None
    return simulated_worth(model, policy, Clock(_HURRY if hurry else clock.left), seed)


def with_expected_costs(result: Result, model: CPOMDP, clock: Clock, seed: int) -> Result:
    """The result with expected costs by the costs' own discounts; searches keep them discounted as the reward."""
    if (model.cost_discount == model.discount).all() or result.standard_error is not None:
        return result
    time_left = clock.afterwards()
    if isinstance(result.policy, ControllerPolicy):
        with suppress(TimeUpError), within(over=lambda: time_left.over):
            return replace(result, cost=evaluate(model, result.policy, tolerance=0.0).cost)  # as `verify` has it
    _, cost, error = worth(model, result.policy, time_left, seed)
    return replace(result, cost=cost, standard_error=error)


def simulated_worth(
    model: CPOMDP, policy: Policy[Any], clock: Clock, seed: int, most_runs: int = _MOST, all_steps: float = _STEPS
) -> tuple[float, FloatArray, FloatArray]:
    """Means over runs, and their standard errors; one batch at least."""
    steps = max(1, math.ceil(min(_MOST_STEPS, model.steps_until(_TAIL))))
    runs = int(min(max(all_steps / steps, _FEWEST), most_runs))
    rows: list[FloatArray] = []
    batch = _FIRST
    while sum(map(len, rows)) < runs:
        outcome = simulate(model, policy, batch, steps, seed=seed * _MOST + len(rows)).outcome
        rows.append(np.concatenate([outcome.reward[:, None], outcome.cost], axis=1))
        batch = min(2 * batch, _BATCH)
        if clock.over:
            break
    totals = np.concatenate(rows)
    mean, error = totals.mean(axis=0), totals.std(axis=0, ddof=1) / math.sqrt(len(totals))
    return float(mean[0]), mean[1:], error
