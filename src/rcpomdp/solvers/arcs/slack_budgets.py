"""Slack budgets: those that no policy can exceed, and that therefore change nothing.

A budget is slack if it is infinite, or at least the most that any policy can spend from the start. Its cost is taken
out of the model before anything else, so that the search, its levels and its plans know nothing of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..._types import BoolArray, FloatArray, IntArray
from ...bounds.blind import largest_sure_costs
from ...bounds.class_plan import followers
from ...model import CPOMDP
from ...model.classes import Classes, observability_classes
from ...model.labels import Labels
from ...policies import ControllerPolicy, PlanSetPolicy
from ..clock import Clock
from ..policy_value import worth
from ..result import Result
from .certain_ends import Ends, Follow

_UNBOUNDED = 1e300  # stands for an infinite sure cost, which in a plan set only guides have


class SlackBudgets(NamedTuple):
    """The costs that were taken out."""

    kept: IntArray  # costs that are left
    classes: Classes
    most: FloatArray  # [n_classes, K] the most that any policy spends from a class


def slack_costs(model: CPOMDP) -> BoolArray:
    """[K] True at costs whose budget no policy can exceed."""
    return np.asarray(np.asarray(model.spending_limit) >= most_from_start(model))


def most_from_start(model: CPOMDP) -> FloatArray:
    """The most that any policy can spend from the start, [K]."""
    classes = observability_classes(model)
    most: FloatArray = _most_spent(model, classes)[_first_class(model, classes)]
    return most


def _most_spent(model: CPOMDP, classes: Classes) -> FloatArray:
    """The most that any policy can spend from each class, [n_classes, K]."""
    peak = np.maximum.reduceat(model.cost[:, classes.order], classes.start[:-1], axis=1).transpose(1, 2, 0)
    return largest_sure_costs(np.ascontiguousarray(peak), *followers(model, classes), np.array(model.cost_discount))


def _first_class(model: CPOMDP, classes: Classes) -> int:
    return int(classes.class_of[np.flatnonzero(model.initial_belief)[0]])


def without_slack_budgets(model: CPOMDP) -> tuple[CPOMDP, SlackBudgets | None]:
    """The model without costs whose budgets are slack; None if there is none, or no other.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("delivery").with_budget([1e6, 1.0])
    >>> list(without_slack_budgets(model)[0].costs)
    ['noise']
    """
    if model.n_costs < 2 or model.has_step_limits:
        return model, None
    classes = observability_classes(model)
    most = _most_spent(model, classes)
    slack = np.asarray(model.spending_limit) >= most[_first_class(model, classes)]
    if not slack.any() or slack.all():
        return model, None
    kept, m = np.flatnonzero(~slack), model.arrays
    rest = model._changed(
        arrays=m._replace(cost=m.cost[kept], cost_discount=m.cost_discount[kept], step_limit=m.step_limit[kept]),
        budget=model.budget[kept],
        step_limit=model.step_limit[kept],
        costs=Labels([model.costs[int(k)] for k in kept], "cost"),
        base=None,
    )
    return rest, SlackBudgets(kept, classes, most)


def with_slack_budgets(result: Result, model: CPOMDP, slack: SlackBudgets | None, clock: Clock) -> Result:
    """A result for the model without slack budgets, told of the model itself."""
    if slack is None:
        return result
    policy = result.policy
    # A plan set may change plans as long as its budget allows it, so that less is proven of it.
    is_plan_set = isinstance(policy, PlanSetPolicy)
    most = np.minimum(model.budget, model.most_spent)
    from_start = most if is_plan_set else slack.most[_first_class(model, slack.classes)]

    def told(known: FloatArray, others: FloatArray) -> FloatArray:
        every = others.copy()
        every[..., slack.kept] = known
        return every

    if isinstance(policy, PlanSetPolicy):
        sure = told(policy.sure_cost, np.minimum(_most_of_nodes(policy, model, slack), _UNBOUNDED))
        sure[policy.is_guide] = np.inf
        policy = policy.with_costs(model, sure)
    else:
        assert isinstance(policy, ControllerPolicy)  # other policies come of acting alone
        policy = ControllerPolicy(model, policy.actions, policy.successors, start=policy.start)
    value = worth(model, policy, clock.afterwards(), result.seed or 0)
    error = value.error if value.error is not None else np.zeros(1 + model.n_costs)
    if result.standard_error is not None:
        error = np.concatenate([result.standard_error[:1], told(result.standard_error[1:], error[1:])])
    elif value.error is not None:
        error = np.concatenate([[0.0], told(np.zeros(slack.kept.size), error[1:])])
    return replace(
        result,
        policy=policy,
        cost=told(result.cost, value.cost),
        sure_cost=told(result.sure_cost, from_start),
        suffices=None if result.suffices is None else told(result.suffices, from_start),
        needed=None if result.needed is None else told(result.needed, np.zeros(model.n_costs)),
        standard_error=error if error.any() else None,
        runs=result.runs if result.runs is not None else value.runs,
    )


def _most_of_nodes(policy: PlanSetPolicy, model: CPOMDP, slack: SlackBudgets) -> FloatArray:
    """The most [n, K] that is spent from each node; a belief node counts at the one belief at which it is met."""
    class_of, n_classes = slack.classes.class_of, slack.classes.n_classes
    of_state = np.where(model.terminal[:, None], 0.0, slack.most[class_of])
    of_domain = np.maximum.reduceat(of_state[policy.domain_states], policy.domain_start[:-1])
    first_state = np.append(policy.domain_states[policy.domain_start[:-1]], -1)[policy.domain]  # -1 is the last
    known = np.where(first_state < 0, -1, class_of[first_state])
    ends = Ends(np.append(class_of, n_classes), np.zeros((n_classes + 1, model.n_actions), dtype=bool))
    follow, queue = Follow(model, ends), [policy.start]
    known[policy.start] = _first_class(model, slack.classes)
    while queue:
        node = queue.pop()
        for o, after in follow(int(known[node]), int(policy.actions[node])):
            successor = int(policy.successors[node, o])
            if successor >= 0 and known[successor] < 0:
                known[successor] = after
                queue.append(successor)
    return np.where(policy.domain[:, None] < 0, slack.most[known], of_domain[policy.domain])
