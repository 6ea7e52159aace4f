"""The probability of failure as a cost.

Let F be states of failure that are never left. With ``C(s, a) = Σ_{s' ∈ F} T(s, a, s')`` for s outside F, 0 inside, and
discount β = 1 the expected total cost is the probability that a run ever fails: failing happens once, at one step, and
C is the probability that it is the next. So a budget on it bounds the probability of failing. Held in every history,
``Σ_τ C(b_τ, a_τ) ≤ ĉ``, it also bounds the risk that the agent knowingly takes, whatever it gets to know on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from .. import tolerance
from .._types import BoolArray, FloatArray
from ..errors import ModelError
from . import validation as check
from .cpomdp import CPOMDP
from .horizon import over_horizon
from .labels import Labels

Failures = Iterable[Hashable] | BoolArray | Callable[[Any], bool]


def risk_cost(model: CPOMDP, failures: Failures) -> FloatArray:
    """The probability that a step is the one at which a run fails, C[s, a].

    Parameters
    ----------
    failures : labels of states, a mask over them, or a predicate of labels; no action may lead out of them

    See Also
    --------
    CPOMDP.with_risk : the model with this cost, under a budget

    Examples
    --------
    >>> import rcpomdp as rc
    >>> model = rc.CPOMDP.from_functions(
    ...     states=["firm", "loose", "over", "fallen"], actions=["drive", "wait"], observations=["nothing"],
    ...     transition=lambda s, a: {"fallen": 0.5, "over": 0.5} if (s, a) == ("loose", "drive")
    ...         else {"over": 1.0} if a == "drive" else {s: 1.0},
    ...     observation=lambda a, s: {"nothing": 1.0},
    ...     reward=lambda s, a: 1.0 if a == "drive" else 0.0,
    ...     initial={"firm": 0.8, "loose": 0.2}, discount=0.9, terminal=["over", "fallen"],
    ... )
    >>> risk_cost(model, ["fallen"]).tolist()
    [[0.0, 0.0], [0.5, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> model.with_risk(["fallen"], budget=0.1)
    CPOMDP: 4 states, 2 actions, 1 observation, 1 cost, discount 0.9, budget 0.1, cost discount 1
    >>> risk_cost(model, ["loose"])
    Traceback (most recent call last):
    rcpomdp.errors.ModelError: failure state 'loose' can be left: action 'drive' leads from it to 'over'
    """
    failed = _mask(model, failures)
    risk = np.empty((model.n_states, model.n_actions))
    for a, moves in enumerate(model.transition):
        entry = moves[failed].tocoo()
        if (left := np.flatnonzero(~failed[entry.col])).size:
            s, after = np.flatnonzero(failed)[entry.row[left[0]]], entry.col[left[0]]
            raise ModelError(
                f"failure state {model.states[int(s)]!r} can be left: action {model.actions[a]!r} leads from it "
                f"to {model.states[int(after)]!r}"
            )
        risk[:, a] = moves @ failed.astype(np.float64)
    risk[failed] = 0.0
    return np.minimum(risk, 1.0)


def with_risk(
    model: CPOMDP, failures: Failures, budget: float | None, name: Hashable, step_limit: float | None
) -> CPOMDP:
    """The model with the risk as its last cost (`CPOMDP.with_risk`)."""
    if model.horizon is not None:  # a failure at the last step counts, too: where it leads is seen without the time
        timeless = with_risk(model.without_time(), failures, budget, name, step_limit)
        return over_horizon(timeless, model.horizon)
    own = Labels([name], "cost")
    limits = {"budget": check.budget_vector(budget, own), "step limit": check.step_limits(step_limit, own)}
    for what, limit in limits.items():
        if 1 < limit[0] < np.inf:
            raise ModelError(f"{what} of {name!r} is {limit[0]:.12g}, above 1, and a risk is a probability")
    risk = risk_cost(model, failures)
    failed = _mask(model, failures)
    if (started := np.flatnonzero(failed & (model.initial_belief > 0))).size:
        s = int(started[0])
        raise ModelError(
            f"the initial belief gives failure state {model.states[s]!r} probability {model.initial_belief[s]:.12g}, "
            "a failure that no budget can bound"
        )
    beta = check.cost_discounts(1.0, own, model.discount)
    limit = np.append(model.step_limit, limits["step limit"])
    arrays = model.arrays._replace(
        cost=np.concatenate([model.cost, risk[None]]),
        cost_discount=np.append(model.cost_discount, beta),
        step_limit=tolerance.spending_limit(limit),
    )
    return model._changed(
        arrays=arrays,
        budget=np.append(model.budget, limits["budget"]),
        step_limit=limit,
        costs=Labels([*model.costs, name], "cost"),
    )


def _mask(model: CPOMDP, failures: Failures) -> BoolArray:
    """Which states are failures, [S]."""
    given = [s for s in model.states if failures(s)] if callable(failures) else failures
    failed = np.zeros(model.n_states, dtype=bool)
    failed[check.state_indices(given, model.states, "failures")] = True
    if not failed.any():
        raise ModelError("failures: no state is one, so that there is no risk to bound")
    return failed
