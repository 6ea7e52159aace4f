"""A plan that goes by the observability class alone, and what it surely costs: the least budget from above.

The class of a belief is known to the agent, so that an action for each class is a policy. Its sure cost from class c is
``w(c) = peak(c, π(c)) + β max w(c')`` over the classes c' that may follow, where ``peak(c, a)`` is the largest cost of
action a in a state of c. π is the best one for ``w(c) = min_a peak(c, a) + β max w(c')``, with several costs for their
sum in shares of the budgets; whichever it is, its sure costs bound the least budget from above.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray
from ..model import CPOMDP
from ..model.classes import Classes, observability_classes
from .blind import sure_costs

_SWEEPS = 2_000
_TRIFLE = 1e-9  # of the largest cost of a step


class ClassPlan(NamedTuple):
    """An action for each class, and what following them surely costs."""

    class_of: IntArray  # [S]
    action: IntArray  # [n_classes]
    sure_cost: FloatArray  # [n_classes, K] from any belief of a class


def class_plan(model: CPOMDP) -> ClassPlan:
    """The plan of least sure cost among those that go by the class alone.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("tunnels")
    >>> plan = class_plan(model)
    >>> plan.sure_cost[plan.class_of[model.initial_belief > 0]].tolist()[0]  # into tunnel 3, which has no rocks
    [0.0]
    """
    classes = observability_classes(model)
    peak = np.maximum.reduceat(model.cost[:, classes.order], classes.start[:-1], axis=1).transpose(1, 2, 0)  # [n, A, K]
    action, sure_cost = thriftiest_plan(model, peak, *followers(model, classes))
    return ClassPlan(classes.class_of, action, sure_cost)


def thriftiest_plan(
    model: CPOMDP, peak: FloatArray, start: IntArray, follower: IntArray
) -> tuple[IntArray, FloatArray]:
    """Return the plan of least sure cost over nodes: the action [n] of each, and its sure cost [n, K] from there.

    Parameters
    ----------
    peak : [n, A, K] the largest cost of an action at a node
    start, follower : the nodes that follow node i and action a: ``follower[start[i*A + a] : start[i*A + a + 1]]``
    """
    n, n_actions, _ = peak.shape
    peak = np.where((peak > model.arrays.step_limit).any(axis=2, keepdims=True), np.inf, peak)  # a step too costly
    slowest = float(model.cost_discount.max(initial=0.0))
    share = np.where(
        np.isinf(peak).any(axis=2), np.inf, (np.where(np.isinf(peak), 0.0, peak) / share_of(model)).sum(axis=2)
    )
    least = np.zeros(n)
    for _ in range(_SWEEPS):
        worst = np.maximum.reduceat(least[follower], start[:-1]).reshape(n, n_actions)
        needs = share + slowest * worst
        before, least = least, needs.min(axis=1)
        if (least <= before * (1 + 1e-12)).all():
            break
    action = needs.argmin(axis=1)
    pairs = np.arange(n) * n_actions + action
    degree = np.diff(start)[pairs]
    first = np.concatenate([[0], np.cumsum(degree)])
    edges = np.repeat(start[pairs] - first[:-1], degree) + np.arange(first[-1])
    chosen = np.ascontiguousarray(peak[np.arange(n), action])[:, None]  # [n, 1, K]
    return action, sure_costs(chosen, first, follower[edges], model.cost_discount)[:, 0]


def share_of(model: CPOMDP) -> FloatArray:
    """The budgets [K] that costs are told in shares of; those of nothing are a trifle, so that shares are finite."""
    largest = model.cost.max(axis=(1, 2), initial=0.0)
    return np.maximum(model.budget, np.where(largest > 0, _TRIFLE * largest, 1.0))


def followers(model: CPOMDP, classes: Classes) -> tuple[IntArray, IntArray]:
    """The classes that may follow class c and action a: ``follower[start[c*A + a] : start[c*A + a + 1]]``."""
    n, states = classes.n_classes, np.arange(model.n_states)
    one = np.ones(model.n_states)
    member = sp.csr_array((one, (classes.class_of, states)), (n, model.n_states))
    keys = []
    for a, moves in enumerate(model.transition):
        source, target = (member @ moves @ member.T).nonzero()
        keys.append((source.astype(np.int64) * model.n_actions + a) * n + target)
    pair, follower = np.divmod(np.sort(np.concatenate(keys)), n)
    return np.searchsorted(pair, np.arange(n * model.n_actions + 1)), follower
