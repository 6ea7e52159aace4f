"""The riskiest branch: where a policy's histories promise to spend the most.

At history h a policy has spent W(h) and expects V_C(h) more, so that it promises ``W(h) + β^t V_C(h)`` in all; the
budget holds all along the way iff no history promises more. Seen from a node, the largest promise is the fixed point of
``M(n) = max(V_C(n), C(n) + β max_o M(n_o))``, in which no budget enters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._types import BoolArray, FloatArray, IntArray
from ...model import CPOMDP
from ...policies import ControllerPolicy, PlanSetPolicy, Policy
from ...policies.plan_set import PlanSetState
from ...tolerance import slack
from ...verification import verify
from .walk import ENDED, NOT_EXPLORED, HistoryGraph, components

NO_WAY = -1
_SWEEPS = 2_000
_MOST_PAIRS = 50_000  # of node and belief that a verification may walk: a second or two


class Risk(NamedTuple):
    """The largest promise seen from each node, and the way to it."""

    most: FloatArray  # [N, K] M(n), among the histories that were explored
    way: IntArray  # [N, K] the edge that leads there; NO_WAY where no more than V_C(n) is ever promised
    whole: BoolArray  # [N] all that follows was explored


def risks(graph: HistoryGraph) -> Risk:
    """The riskiest branch of each node; of equal edges the likeliest is taken."""
    beta = graph.model.cost_discount
    expected = graph.values[:, 1:, 0]
    most, way = expected.copy(), np.full(expected.shape, NO_WAY, dtype=np.int64)
    whole = _whole(graph)
    known = [(n, i, e.node, e.probability) for n, row in enumerate(graph.edges) for i, e in enumerate(row)]
    known = [edge for edge in known if edge[2] != NOT_EXPLORED]
    if not known or not graph.model.n_costs:
        return Risk(most, way, whole)
    owner, place, child = np.array([edge[:3] for edge in known]).T
    now = _costs_now(graph)

    def ahead() -> FloatArray:
        largest = np.zeros(most.shape)
        np.maximum.at(largest, owner, most[child])
        return now + beta * largest

    for _ in range(_SWEEPS):
        before, most = most, np.maximum(expected, ahead())
        if (most <= before + (1 - beta) * slack(most)).all():
            break
    rounding = slack(most)
    leads = now[owner] + beta * most[child] >= (ahead() - rounding)[owner]
    leads &= (ahead() > expected + rounding)[owner]
    for e in np.argsort([edge[3] for edge in known], kind="stable"):  # the likeliest is written last
        way[owner[e], leads[e]] = place[e]
    return Risk(most, way, whole)


def verified_reward(model: CPOMDP, policy: Policy[Any]) -> float | None:
    """What a policy earns at least from the start, if it is verified; else None.

    No history of it then spends more than what is left, however few of them are explored. A controller that takes long
    to verify is not verified; a mixture keeps the budget if all its policies do.
    """
    earned = 0.0
    for weight, part in components(policy):
        if not isinstance(part, ControllerPolicy | PlanSetPolicy):
            return None
        found = verify(model, part, most_pairs=_MOST_PAIRS)
        if not found.verified:
            return None
        earned += weight * (found.reward - found.error)
    return earned


def within_account(graph: HistoryGraph) -> FloatArray:
    """Reward and costs to come at most, [N, 1 + K]: of a verified plan set no cost is above its own account."""
    most = graph.values[:, :, 1].copy()
    for n, state in enumerate(graph.states):
        if isinstance(state, PlanSetState):
            most[n, 1:] = np.minimum(most[n, 1:], state.left)
    return most


def _whole(graph: HistoryGraph) -> BoolArray:
    """Mask of the nodes from which no edge leads on to what was not explored, [N]."""
    before: list[list[int]] = [[] for _ in graph.edges]
    cut = []
    for n, row in enumerate(graph.edges):
        for e in row:
            if e.node == NOT_EXPLORED:
                cut.append(n)
            else:
                before[e.node].append(n)
    whole = np.ones(len(graph), dtype=np.bool_)
    while cut:
        n = cut.pop()
        if whole[n]:
            whole[n] = False
            cut += before[n]
    return whole


def _costs_now(graph: HistoryGraph) -> FloatArray:
    """C(b, a) at each node, [N, K]."""
    now = np.zeros((len(graph), graph.model.n_costs))
    for n, action in enumerate(graph.action):
        if action != ENDED:
            b = graph.beliefs[graph.belief[n]]
            now[n] = graph.model.cost[:, b.states, action] @ b.probabilities
    return now
