"""Reading courses: what they do first, what follows, and the controller that they are."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray, IntArray
from ...kernels.arcs.courses import Courses
from ...kernels.belief_graph.store import NONE
from ..belief_graph.search import Engine


def is_leaf(c: Courses, course: int) -> bool:
    """Whether a course is a plan that is followed for ever."""
    return bool(c.info["plan"][course] != NONE)


def first_action(engine: Engine, c: Courses, course: int) -> int:
    """The action that a course begins with."""
    if is_leaf(c, course):
        return int(engine.plans.info["action"][c.info["plan"][course]])
    return int(c.info["action"][course])


def followers(engine: Engine, c: Courses, course: int) -> list[int]:
    """The courses that follow a course, none if it is a leaf."""
    if is_leaf(c, course):
        return []
    i, a, first = (int(n) for n in c.info[["belief", "action", "links"]][course])
    return [int(n) for n in c.link[first : first + engine.store.degree[i, a]]]


def guaranteed_horizon(engine: Engine, c: Courses, cost: FloatArray, course: int, budget: FloatArray) -> int:
    """Steps k for which ``W(h_t) + γ^t V_C(b_t) ≤ ĉ`` is known to hold at all t < k, as far as courses go.

    ``cost [N, K, A]`` is what actions cost at beliefs.
    """
    front, weight, k = {course: np.zeros(len(budget))}, 1.0, 0
    while True:
        following: dict[int, FloatArray] = {}
        for i, spent in front.items():
            if (spent + weight * c.total[i, 1:] > budget).any():
                return k
            here = spent + weight * cost[c.info["belief"][i], :, first_action(engine, c, i)]
            for follower in followers(engine, c, i):
                following[follower] = np.maximum(following.get(follower, here), here)
        if not following or any(is_leaf(c, i) for i in front):
            return k + 1
        front, weight, k = following, weight * engine.model.discount, k + 1


def controller_graph(engine: Engine, c: Courses, start: int) -> tuple[IntArray, IntArray]:
    """A course as the actions [n] and successors [n, O] of a controller that starts at node 0.

    Its nodes are courses, and from the leaves on plans.
    """
    store, plans, x = engine.store, engine.plans, engine.space
    number: dict[tuple[int, int], int] = {}
    order: list[tuple[int, int]] = []  # (course, NONE) or (NONE, plan)

    def node(course: int, plan: int) -> int:
        if course != NONE and is_leaf(c, course):
            course, plan = NONE, int(c.info["plan"][course])
        if (course, plan) not in number:
            number[course, plan] = len(order)
            order.append((course, plan))
        return number[course, plan]

    node(start, NONE)
    actions, successors = [], []
    for course, plan in order:
        row = np.zeros(engine.model.n_observations, dtype=np.int64)
        if course != NONE:
            a, i = int(c.info["action"][course]), int(c.info["belief"][course])
            for n, follower in enumerate(followers(engine, c, course)):
                row[store.edge_obs[store.edge[i, a] + n]] = node(follower, NONE)
        else:
            a = int(plans.info["action"][plan])
            pair = int(plans.info["cls"][plan] * engine.model.n_actions + a)
            for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
                follower = int(plans.link[plans.info["links"][plan] + f - x.seen_ptr[pair]])
                row[x.seen_obs[f]] = node(NONE, follower)
        actions.append(a)
        successors.append(row)
    return np.array(actions, dtype=np.int64), np.array(successors, dtype=np.int64)
