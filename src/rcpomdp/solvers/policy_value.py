"""The value of a policy: exact if that is quick, or else by simulated runs.

Runs are cut when what may follow is a thousandth of the largest total, or after 500 steps; what is cut off is no part
of the standard error. Where steps take so long that time is up before there are two runs, what was seen until then is
the estimate, and the standard error all that totals can differ by.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

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


class Worth(NamedTuple):
    """Reward and costs of a policy, and how they are known."""

    reward: float
    cost: FloatArray  # [K]
    error: FloatArray | None = None  # [1 + K] standard errors; None if both are exact
    runs: int | None = None  # that both are means of


def worth(model: CPOMDP, policy: Policy[Any], clock: Clock, seed: int, hurry: bool = False) -> Worth:
    """The value of a policy, exactly if that is quick."""
    left = np.inf if clock.left is None else clock.left
    exact = exact_worth(model, policy, min(left / 2, _HURRY if hurry else np.inf))
    return exact or simulated_worth(model, policy, Clock(_HURRY if hurry else clock.left), seed)


def exact_worth(model: CPOMDP, policy: Policy[Any], seconds: float) -> Worth | None:
    """The exact value of a policy; None if that takes too long."""
    tolerance = _PRECISION * (max(float(np.abs(model.reward).max()), float(model.cost.max(initial=0.0))) or 1.0)
    time_left = Clock(seconds)
    with suppress(TimeUpError), within(over=lambda: time_left.over):
        exact = evaluate(model, policy, tolerance, _BELIEFS, time_limit=seconds, most_work=_BELIEFS)
        if exact.error <= 2 * tolerance:
            return Worth(exact.reward, exact.cost)
    return None


def with_expected_costs(result: Result, model: CPOMDP, clock: Clock, seed: int) -> Result:
    """The result with expected costs by the costs' own discounts; searches keep them discounted as the reward."""
    if (model.cost_discount == model.discount).all() or result.standard_error is not None:
        return result
    time_left = clock.afterwards()
    if isinstance(result.policy, ControllerPolicy):
        with suppress(TimeUpError), within(over=lambda: time_left.over):
            return replace(result, cost=evaluate(model, result.policy, tolerance=0.0).cost)  # as `verify` has it
    found = worth(model, result.policy, time_left, seed)
    error = found.error
    if error is not None:  # of costs alone: the reward is as exact as it was
        error = np.concatenate([[0.0], error[1:]])
    return replace(result, cost=found.cost, standard_error=error, runs=found.runs)


def simulated_worth(
    model: CPOMDP, policy: Policy[Any], clock: Clock, seed: int, most_runs: int = _MOST, all_steps: float = _STEPS
) -> Worth:
    """Means over runs, and their standard errors; whatever the clock says, one run is begun."""
    steps = max(1, math.ceil(min(_MOST_STEPS, model.steps_until(_TAIL))))
    runs = int(min(max(all_steps / steps, _FEWEST), most_runs))
    totals, whole = np.empty((0, 1 + model.n_costs)), np.empty(0, dtype=np.bool_)
    batch, batches, began = _FIRST, 0, clock.now()
    while len(totals) < runs and whole.all() and not (batches and clock.over):
        with within(hurry=lambda: clock.over):  # a run that is under way then is cut
            outcome = simulate(model, policy, batch, steps, seed=seed * _MOST + batches).outcome
        totals = np.concatenate([totals, np.column_stack([outcome.reward, outcome.cost])])
        whole = np.concatenate([whole, outcome.ended | (outcome.length == steps)])
        batch, batches = min(2 * batch, _BATCH), batches + 1
        if clock.left is not None:  # a batch is not cut where runs are compiled
            each = (clock.now() - began) / len(totals)
            batch = max(1, min(batch, int(clock.left / max(each, 1e-9))))
    if whole.sum() < 2:
        gain = np.concatenate([model.reward[None], model.cost])
        span = np.maximum(gain.max(axis=(1, 2)), 0) - np.minimum(gain.min(axis=(1, 2)), 0)
        best_seen = totals[whole.argmax()]
        return Worth(float(best_seen[0]), best_seen[1:], span / model.fade, 1)
    totals = totals[whole]
    mean, error = totals.mean(axis=0), totals.std(axis=0, ddof=1) / math.sqrt(len(totals))
    return Worth(float(mean[0]), mean[1:], error, len(totals))
