"""Models whose costs have discounts of their own, whose steps have limits, or which end after some steps.

`uses()` is one state and two actions, with closed forms. `of_a_kind` gives a random model costs of a kind, and
`best_within` is the best reward of a process with a horizon by plain backward induction over beliefs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import rcpomdp as rc
from reference import branches
from strategies import Dense


def uses(cost: Any = 1.0, **changes: Any) -> rc.CPOMDP:
    """One state: to use something earns 1 and costs something, to rest earns and costs nothing."""
    given = {
        "transition": [[[1.0]]] * 2,
        "observation": [[[1.0]]] * 2,
        "reward": [[1.0, 0.0]],
        "cost": cost if np.ndim(cost) else [[cost, 0.0]],
        "initial_belief": [1.0],
        "discount": 0.9,
        "actions": ["use", "rest"],
    }
    return rc.CPOMDP(**given | changes)


def of_a_kind(case: Dense, **changes: Any) -> rc.CPOMDP:
    """The model of a case, made anew with other costs."""
    model = case.model
    given = {
        "transition": case.T,
        "observation": case.Z,
        "reward": case.R,
        "cost": case.C if len(case.C) else None,
        "initial_belief": model.initial_belief,
        "discount": model.discount,
        "budget": model.budget,
    }
    return rc.CPOMDP(**given | changes)


def best_within(case: Dense, model: rc.CPOMDP, horizon: int) -> float:
    """The best reward of so many steps that keep the model's budgets and step limits; −inf if nothing does."""
    beta, limit, step_limit = model.cost_discount, model.budget * (1 + 1e-9), model.step_limit * (1 + 1e-9)

    def best(b: np.ndarray, spent: np.ndarray, t: int) -> float:
        if t == horizon:
            return 0.0
        values = [-np.inf]
        for a in range(model.n_actions):
            cost = case.C[:, :, a] @ b
            after = spent + beta**t * cost
            if (after <= limit).all() and (cost <= step_limit).all():
                ahead = sum(p * best(b_o, after, t + 1) for _, p, b_o in branches(case, b, a))
                values.append(float(case.R[:, a] @ b) + model.discount * ahead)
        return max(values)

    return best(case.model.initial_belief, np.zeros(len(case.C)), 0)
