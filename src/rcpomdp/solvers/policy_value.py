"""The value of a policy: exact if that is quick, or else by simulated runs.

Runs are cut when what may follow is a thousandth of the largest total, or after 500 steps; what is cut off is no part
of the standard error.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from .._types import FloatArray
from ..evaluation import evaluate
from ..model import CPOMDP
from ..policies import ControllerPolicy, Policy
from ..simulation.simulate import simulate
from .clock import Clock
from .result import Result

_PRECISION = 1e-6  # relative to the largest gain, for an evaluation that counts as exact
_BELIEFS = 4000  # to follow in all; counts decide rather than the clock, so that the outcome repeats
_STEPS = 20_000  # of all runs together, or of the fewest runs
_FEWEST, _MOST, _BATCH = 40, 500, 20  # runs
_TAIL = 1e-3
_MOST_STEPS = 500
_HURRY = 0.5  # seconds for each, when the user waits


def worth(
    model: CPOMDP, policy: Policy[Any], clock: Clock, seed: int, hurry: bool = False
) -> tuple[float, FloatArray, FloatArray | None]:
    """Reward and costs [K] of a policy, and their standard errors [1 + K]; None if they are exact."""
    left = np.inf if clock.left is None else clock.left
    tolerance = _PRECISION * (max(float(np.abs(model.reward).max()), float(model.cost.max(initial=0.0))) or 1.0)
    exact = evaluate(
        model, policy, tolerance, _BELIEFS, time_limit=min(left / 2, _HURRY if hurry else np.inf), most_work=_BELIEFS
    )
    if exact.error <= 2 * tolerance:
        return exact.reward, exact.cost, None
    deadline = Clock(_HURRY if hurry else clock.left)
    return simulated_worth(model, policy, deadline, seed)


def with_expected_costs(result: Result, model: CPOMDP, seed: int) -> Result:
    """The result with expected costs by the costs' own discounts; searches keep them discounted as the reward."""
    if (model.cost_discount == model.discount).all() or result.standard_error is not None:
        return result
    if isinstance(result.policy, ControllerPolicy):  # to rounding, as `verify` has it
        return replace(result, cost=evaluate(model, result.policy, tolerance=0.0).cost)
    _, cost, error = worth(model, result.policy, Clock(None), seed)
    return replace(result, cost=cost, standard_error=error)


def simulated_worth(
    model: CPOMDP, policy: Policy[Any], clock: Clock, seed: int, most_runs: int = _MOST, all_steps: float = _STEPS
) -> tuple[float, FloatArray, FloatArray]:
    """Means over runs, and their standard errors; one batch at least."""
    steps = max(1, math.ceil(min(_MOST_STEPS, model.steps_until(_TAIL))))
    runs = int(min(max(all_steps / steps, _FEWEST), most_runs))
    rows: list[FloatArray] = []
    for batch in range(math.ceil(runs / _BATCH)):
        outcome = simulate(model, policy, _BATCH, steps, seed=seed * _MOST + batch).outcome
        rows.append(np.concatenate([outcome.reward[:, None], outcome.cost], axis=1))
        if clock.over:
            break
    totals = np.concatenate(rows)
    mean, error = totals.mean(axis=0), totals.std(axis=0, ddof=1) / math.sqrt(len(totals))
    return float(mean[0]), mean[1:], error
