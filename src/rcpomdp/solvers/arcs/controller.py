"""Reading belief plans: what they do first, what follows, and the controller that they are."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray, IntArray
from ...kernels.arcs.belief_plans import BeliefPlans
from ...kernels.belief_graph.store import NONE
from ...policies.equal_nodes import NOWHERE, closed, merge_equal
from ..belief_graph.search import BeliefGraphSearch


def is_leaf(c: BeliefPlans, belief_plan: int) -> bool:
    """True if a belief plan is a plan that is followed for ever."""
    return bool(c.info["plan"][belief_plan] != NONE)


def first_action(graph_search: BeliefGraphSearch, c: BeliefPlans, belief_plan: int) -> int:
    """The action that a belief plan begins with."""
    if is_leaf(c, belief_plan):
        return int(graph_search.plans.info["action"][c.info["plan"][belief_plan]])
    return int(c.info["action"][belief_plan])


def followers(graph_search: BeliefGraphSearch, c: BeliefPlans, belief_plan: int) -> list[int]:
    """The belief plans that follow a belief plan, none if it is a leaf."""
    if is_leaf(c, belief_plan):
        return []
    i, a, first = (int(n) for n in c.info[["belief", "action", "links"]][belief_plan])
    return [int(n) for n in c.link[first : first + graph_search.store.degree[i, a]]]


def guaranteed_horizon(
    graph_search: BeliefGraphSearch, c: BeliefPlans, cost: FloatArray, belief_plan: int, budget: FloatArray
) -> int:
    """Steps k for which ``W(h_t) + γ^t V_C(b_t) ≤ ĉ`` is known to hold at all t < k, as far as belief plans go.

    ``cost [N, K, A]`` is what actions cost at beliefs.
    """
    front, weight, k = {belief_plan: np.zeros(len(budget))}, 1.0, 0
    while True:
        following: dict[int, FloatArray] = {}
        for i, spent in front.items():
            if (spent + weight * c.total[i, 1:] > budget).any():
                return k
            here = spent + weight * cost[c.info["belief"][i], :, first_action(graph_search, c, i)]
            for follower in followers(graph_search, c, i):
                following[follower] = np.maximum(following.get(follower, here), here)
        if not following or any(is_leaf(c, i) for i in front):
            return k + 1
        front, weight, k = following, weight * graph_search.model.discount, k + 1


def controller_graph(graph_search: BeliefGraphSearch, c: BeliefPlans, start: int) -> tuple[IntArray, IntArray]:
    """A belief plan as the actions [n] and successors [n, O] of a controller that starts at node 0.

    Its nodes are belief plans, and from the leaves on plans; those that do the same are one.
    """
    store, plans, x = graph_search.store, graph_search.plans, graph_search.space
    number: dict[tuple[int, int], int] = {}
    order: list[tuple[int, int]] = []  # (belief plan, NONE) or (NONE, plan)

    def node(belief_plan: int, plan: int) -> int:
        if belief_plan != NONE and is_leaf(c, belief_plan):
            belief_plan, plan = NONE, int(c.info["plan"][belief_plan])
        if (belief_plan, plan) not in number:
            number[belief_plan, plan] = len(order)
            order.append((belief_plan, plan))
        return number[belief_plan, plan]

    node(start, NONE)
    actions, successors = [], []
    for belief_plan, plan in order:
        row = np.full(graph_search.model.n_observations, NOWHERE)
        if belief_plan != NONE:
            a, i = int(c.info["action"][belief_plan]), int(c.info["belief"][belief_plan])
            for n, follower in enumerate(followers(graph_search, c, belief_plan)):
                row[store.edge_obs[store.edge[i, a] + n]] = node(follower, NONE)
        else:
            a = int(plans.info["action"][plan])
            pair = int(plans.info["cls"][plan] * graph_search.model.n_actions + a)
            for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
                follower = int(plans.link[plans.info["links"][plan] + f - x.seen_ptr[pair]])
                row[x.seen_obs[f]] = node(NONE, follower)
        actions.append(a)
        successors.append(row)
    merged, after = merge_equal(np.array(actions), np.array(successors))
    return merged, closed(after)
