"""The base cost: the part of each cost that every step has, whatever is done, taken out of costs and budget alike.

If no step costs less than c, every history of a policy spends ``c / (1 − β)`` for that alone. With costs ``C − c`` and
the budget ``ĉ − c / (1 − β)`` the same policies keep the budget, with the same rewards. A budget of just what is needed
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
_SAME = 1e-10  # share of the base cost that is rounding of it, far below the tolerance
_INSIDE = 0.999  # share of the tolerance that the search may use: the rest is for rounding


def without_base_cost(model: CPOMDP) -> tuple[CPOMDP, FloatArray]:
    """The model without what every step costs, and the totals [K] that were taken out.

    >>> import rcpomdp as rc
    >>> tiger = rc.problems.make("tiger")
    >>> without_base_cost(tiger)[0] is tiger  # to open a door costs nothing
    True
    """
    least = model.cost.min(axis=(1, 2), initial=np.inf)
    counts = np.isfinite(least) & (model.cost_discount < 1)  # else it would add up for ever
    base = np.where(counts, least, 0.0)
    total: FloatArray = base / np.where(counts, 1 - model.cost_discount, 1.0)
    if not total.any():
        return model, total
    budget = np.asarray(model.budget)
    # The limit stays what it is, with the tolerance of the whole budget; just what every step costs is left nothing.
    limit = budget + _INSIDE * tolerance.slack(budget) - total
    is_nothing = np.abs(np.where(np.isfinite(budget), budget, np.inf) - total) <= _ROUNDING * total
    rest = np.where(is_nothing, 0.0, limit / (1 + tolerance.RELATIVE))
    if (rest < 0).any() or (model.arrays.step_limit < base).any():  # nothing keeps them, as is seen at once
        return model, np.zeros(model.n_costs)
    beyond = model.cost - base[:, None, None]
    beyond[beyond <= _SAME * base[:, None, None]] = 0.0
    arrays = model.arrays._replace(cost=beyond, step_limit=model.arrays.step_limit - base)
    return model._changed(arrays=arrays, budget=rest, step_limit=model.step_limit - base), total


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
