"""Bounds that any search may start from, over the states of a model.

Above the reward and below a cost: vectors with ``V(b) ≤ max_a F_a·b`` and ``V_C(b) ≥ min_a G_a·b``. Below the reward
and above a cost: plans that can be followed for ever, as (action, reward, costs, sure costs).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import BoolArray, FloatArray
from ..model import CPOMDP
from ..model.endings import adding_up
from ..model.classes import observability_classes
from .blind import blind_vectors
from .fib import fib_vectors


class StartingPlan(NamedTuple):
    """One action for ever: its reward from below, its costs from above, and its sure cost."""

    action: int
    reward: FloatArray  # [S] from below
    cost: FloatArray  # [K, S] from above
    sure_cost: FloatArray  # [K] from the initial belief


def cost_fib_vectors(model: CPOMDP, k: int = 0) -> FloatArray:
    """G[a, s]: for every belief, the least expected cost k is at least ``min_a Σ_s b(s) G_a(s)``.

    The fast informed bound of the reward ``−C_k``, with its sign turned: a lower bound wherever it stops.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce", discount=0.5)
    >>> bool((cost_fib_vectors(model) @ model.initial_belief).min() <= 2.5)  # always going into tunnel A costs that
    True
    """
    target = model._changed(arrays=model.arrays._replace(reward=-model.cost[k]))
    return np.maximum(0.0, -fib_vectors(target))


def blind_plans(model: CPOMDP) -> list[StartingPlan]:
    """The plan of each action, taken for ever, with its exact totals.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("tiger")
    >>> listen = blind_plans(model)[0]
    >>> listen.reward.round(9).tolist(), listen.cost.round(9).tolist(), listen.sure_cost.round(9).tolist()
    ([-4.0, -4.0], [[4.0, 4.0]], [4.0])
    """
    totals = blind_vectors(model, np.concatenate([model.reward[None], model.cost]))
    reachable = _reachable(model)
    plans = []
    for a, rows in enumerate(totals):
        expected = rows[1:] @ model.initial_belief
        most = adding_up(model.cost[:, reachable, a].max(axis=1, initial=0.0), model.cost_fade)
        # What is never expected is never spent; else no step costs more than the worst state that can be reached.
        plans.append(StartingPlan(a, rows[0], rows[1:], np.where(expected <= 0, 0.0, most)))
    return plans


def _reachable(model: CPOMDP) -> BoolArray:
    classes = observability_classes(model)
    return np.asarray(classes.reachable[classes.class_of])
