"""Limits of single steps where no cost has a budget.

A step that costs more than a step may is one that no budget pays for; so there must be a budget. One that is always
kept will do: of a cost that is always 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...model import CPOMDP
from ...model.labels import Labels
from ...policies import ControllerPolicy
from ..result import Result

_NOTHING = "nothing"  # the name of a cost that is always 0


def with_some_budget(model: CPOMDP) -> CPOMDP:
    """The model, if it has step limits and no budget with a cost that is always 0 and a budget of 0.

    >>> import rcpomdp as rc
    >>> tiger = rc.problems.make("tiger")
    >>> with_some_budget(tiger) is tiger
    True
    """
    if not model.has_step_limits or np.isfinite(model.budget).any():
        return model
    m = model.arrays
    arrays = m._replace(
        cost=np.concatenate([m.cost, np.zeros((1, *m.reward.shape))]),
        cost_discount=np.append(m.cost_discount, model.discount),
        step_limit=np.append(m.step_limit, np.inf),
    )
    return model._changed(
        arrays=arrays,
        budget=np.append(model.budget, 0.0),
        step_limit=np.append(model.step_limit, np.inf),
        costs=Labels([*model.costs, (_NOTHING, model.n_costs)], "cost"),
    )


def without_that_budget(result: Result, model: CPOMDP) -> Result:
    """A result told of the model itself."""
    n, policy = model.n_costs, result.policy
    if len(result.sure_cost) == n:
        return result
    assert isinstance(policy, ControllerPolicy)  # searches for noisy models keep no step limits
    return replace(
        result,
        policy=ControllerPolicy(model, policy.actions, policy.successors, start=policy.start),
        cost=result.cost[:n],
        sure_cost=result.sure_cost[:n],
        suffices=None if result.suffices is None else result.suffices[:n],
        needed=None if result.needed is None else result.needed[:n],
    )
