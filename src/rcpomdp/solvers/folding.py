"""Costs with discounts of their own, under a horizon, for solvers that know one discount alone.

With a horizon the time is part of the state, and what a cost counts for at step t can be part of the cost: with
``C'((s, t), a) = (β/γ)^t C(s, a)``, discounted by γ, ``Σ_t γ^t C' = Σ_t β^t C`` in every history. Budgets, expected and
sure costs, counted at the root, stay what they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from .._types import FloatArray
from ..errors import InputError
from ..model import CPOMDP
from ..policies import BudgetedAlphaPolicy, MixturePolicy, Policy
from .result import Result

_MOST = 1e6  # that a cost may count for at the end, beside the reward; rounding of what is priced by λ grows with it


def folded(model: CPOMDP, what: str, else_use: str = "") -> CPOMDP:
    """The model with costs that are discounted as the reward is; `what` is told of one that has none such.

    >>> import rcpomdp as rc
    >>> short = rc.problems.make("tiger", cost_discount=1, horizon=3)
    >>> folded(short, "this").cost[0, :, 0].round(3).tolist()  # to listen, at each of its states, and at the end
    [1.0, 1.0, 1.333, 1.333, 1.778, 1.778, 0.0]
    """
    own = np.flatnonzero(model.cost_discount != model.discount)
    if not own.size:
        return model
    k, gamma = int(own[0]), model.discount
    factor = _factors(model)
    if factor is None:
        raise InputError(
            f"{what} needs a horizon, or costs discounted as the reward is, by {gamma:.12g}: cost {model.costs[k]!r} "
            f"is discounted by {model.cost_discount[k]:.12g}{else_use}"
        )
    if not (most := float(factor.max())) <= _MOST:
        raise InputError(
            f"{what} knows costs that count for up to {_MOST:g} times as much as the reward at the horizon, and cost "
            f"{model.costs[int(factor.max(axis=1).argmax())]!r} counts for {most:.3g} times as much{else_use}"
        )
    arrays = model.arrays._replace(
        cost=model.cost * factor[:, :, None], cost_discount=np.full(model.n_costs, model.discount)
    )
    return model._changed(arrays=arrays, base=None)


def unfolded(result: Result, model: CPOMDP) -> Result:
    """A result for the folded model, told of the model itself."""
    if (model.cost_discount == model.discount).all():
        return result
    return replace(result, policy=_unfolded(result.policy, model))


def _unfolded(policy: Policy[Any], model: CPOMDP) -> Policy[Any]:
    """A controller knows no costs; one that minds what is left counts it by the costs' own discounts."""
    if isinstance(policy, MixturePolicy):
        return MixturePolicy([_unfolded(part, model) for part in policy.policies], policy.weights)
    if isinstance(policy, BudgetedAlphaPolicy):
        factor = _factors(model)
        assert factor is not None  # or it would not have been folded
        vectors = policy.vectors / np.concatenate([np.ones((1, model.n_states)), factor])
        return BudgetedAlphaPolicy(model, vectors, policy.actions, policy.budget, policy.mixed)
    return policy


def _factors(model: CPOMDP) -> FloatArray | None:
    """``(β/γ)^t`` of each cost and state, [K, S]; None where states do not tell how many steps were taken."""
    if model.horizon is None or model.discount == 0:
        return None
    time = np.array([time for _, time in cast("Iterable[tuple[Hashable, int]]", model.states)])
    begun = np.unique(time[model.initial_belief > 0])
    if begun.size != 1:
        return None
    with np.errstate(over="ignore"):
        factor: FloatArray = (model.cost_discount / model.discount)[:, None] ** np.maximum(time - begun, 0)
    return factor
