"""The base cost: the part of each cost that every step has, whatever is done, taken out of costs and budget alike.

If no step costs less than c, every history of a policy spends ``c / (1 − γ)`` for that alone. With costs ``C − c`` and
the budget ``ĉ − c / (1 − γ)`` the same policies keep the budget, with the same rewards. A budget of just what is needed
is then a budget of nothing, and free actions are seen to be free.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ... import tolerance
from ..._types import FloatArray
from ...model import CPOMDP
from ...policies import PlanSetPolicy
from ..result import Result

_ROUNDING = 1e-12  # share of a budget that is rounding of nothing


def without_base_cost(model: CPOMDP) -> tuple[CPOMDP, FloatArray]:
    """The model without what every step costs, and the totals [K] that were taken out.

    >>> import rcpomdp as rc
    >>> tiger = rc.problems.make("tiger")
    >>> without_base_cost(tiger)[0] is tiger  # to open a door costs nothing
    True
    """
    least = model.cost.min(axis=(1, 2), initial=np.inf)
    base = np.where(np.isfinite(least), least, 0.0)
    total: FloatArray = base / (1 - model.discount)
    budget = np.asarray(model.budget)
    rest = budget - total
    if not total.any() or (rest < -tolerance.slack(budget)).any():
        return model, np.zeros(model.n_costs)
    rest = np.where(rest <= _ROUNDING * np.where(np.isfinite(budget), budget, 0.0), 0.0, rest)
    arrays = model.arrays._replace(cost=model.cost - base[:, None, None])
    return model._changed(arrays=arrays, budget=rest), total


def with_base_cost(result: Result, model: CPOMDP, total: FloatArray) -> Result:
    """A result for the model without what every step costs, told of the model itself."""
    if not total.any():
        return result
    policy = result.policy
    if isinstance(policy, PlanSetPolicy):
        policy = policy.with_costs(model, policy.sure_cost + total)
    return replace(
        result,
        policy=policy,
        cost=result.cost + total,
        sure_cost=result.sure_cost + total,
        suffices=None if result.suffices is None else result.suffices + total,
        needed=None if result.needed is None else result.needed + total,
    )
