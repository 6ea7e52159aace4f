"""Plans: conditional plans with the vectors of what they accumulate over the states of one class.

A plan is an action and a successor plan for *every* observation that is possible from some state of its class.
``α(s) = g(s, a) + γ Σ_{s'} T(s, a, s') Σ_o Z(s', a, o) α_o(s')`` for each kept row g, so a plan's reward and costs come
with its value. Its sure cost, ``w = max_{s in class} C(s, a) + γ max_o w_o``, is never exceeded by any history that
starts in the class; the maximum over states is taken at each step apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import FloatArray, IntArray
from ..jit import inner, kernel
from .store import (
    CLASS,
    LO,
    MAKING_PLANS,
    NONE,
    PLAN,
    PLAN_LINKS,
    PLAN_VALUES,
    PLANS,
    PROBS,
    SIZE,
    STATES,
    TESTED,
    TESTING_PLANS,
    Scratch,
    Space,
    Store,
)

# Columns of Plans.info
ACTION, VALUES, LINKS, OLDER = range(1, 5)  # CLASS is column 0, as in Store.info


class Plans(NamedTuple):
    """Plans by capacity; ``Store.used`` counts what is filled."""

    info: IntArray  # [N, 5] CLASS, ACTION, first of VALUES, first of LINKS, next OLDER plan of the class
    sure: FloatArray  # [N, K] sure cost
    value: FloatArray  # vectors of a plan: row by row, each over the class
    link: IntArray  # successor for each entry of Space.seen_obs of (class, action)
    newest: IntArray  # [n_classes] head of the list of a class's plans
    default: IntArray  # [n_classes] plan that follows an observation nobody foresaw


@kernel
def product(x: Space, b: Store, g: Plans, i: int, plan: int, row: int) -> float:
    """``α·b`` of one row."""
    cls = b.info[i, CLASS]
    first = x.start[cls]
    states, probs, size = b.info[i, STATES], b.info[i, PROBS], b.info[i, SIZE]
    vector = g.value[g.info[plan, VALUES] + row * (x.start[cls + 1] - first) :]
    state, prob = b.state[states : states + size], b.prob[probs : probs + size]
    total = 0.0
    for j in range(size):
        total += prob[j] * vector[state[j] - first]
    return total


@kernel
def refresh_lower(x: Space, b: Store, g: Plans, i: int) -> None:
    """Test the plans that are newer than the last look; keep the best."""
    newest = g.newest[b.info[i, CLASS]]
    plan = newest
    while plan > b.info[i, TESTED]:
        value = product(x, b, g, i, plan, 0)
        b.used[TESTING_PLANS] += b.info[i, SIZE]
        if value > b.value[i, LO]:
            b.value[i, LO] = value
            b.info[i, PLAN] = plan
        plan = g.info[plan, OLDER]
    b.info[i, TESTED] = newest


@inner
def plan_has_room(x: Space, b: Store, g: Plans, cls: int, a: int) -> bool:
    """Whether one more plan for (class, action) fits."""
    pair = cls * x.hint.shape[1] + a
    size = (x.start[cls + 1] - x.start[cls]) * x.gain.shape[0]
    links = x.seen_ptr[pair + 1] - x.seen_ptr[pair]
    return bool(
        b.used[PLANS] < g.info.shape[0]
        and b.used[PLAN_VALUES] + size <= g.value.size
        and b.used[PLAN_LINKS] + links <= g.link.size
    )


@inner
def add_plan(x: Space, b: Store, g: Plans, w: Scratch, discount: float, i: int, a: int) -> int:
    """Make the plan that takes action a at belief i and then follows the best plan of each successor.

    There must be room. The plan is not yet known to any belief.
    """
    m = x.model
    n_states, n_actions = m.reward.shape
    cls = b.info[i, CLASS]
    pair = cls * n_actions + a
    plan, at, links = b.used[PLANS], b.used[PLAN_VALUES], b.used[PLAN_LINKS]
    for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
        w.by_obs[x.seen_obs[f]] = g.default[x.seen_class[f]]
    for e in range(b.edge[i, a], b.edge[i, a] + b.degree[i, a]):
        w.by_obs[b.edge_obs[e]] = b.info[b.edge_child[e], PLAN]
    for k in range(g.sure.shape[1]):
        worst = 0.0
        for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
            worst = max(worst, g.sure[w.by_obs[x.seen_obs[f]], k])
        g.sure[plan, k] = x.peak[cls, a, k] + discount * worst
    n_links = x.seen_ptr[pair + 1] - x.seen_ptr[pair]
    for f in range(n_links):
        g.link[links + f] = w.by_obs[x.seen_obs[x.seen_ptr[pair] + f]]
    first, last = x.start[cls], x.start[cls + 1]
    size = last - first
    for row in range(x.gain.shape[0]):
        for s in range(first, last):
            total = 0.0
            for e in range(m.t_ptr[a * n_states + s], m.t_ptr[a * n_states + s + 1]):
                s_next = m.t_next[e]
                c = x.class_of[s_next]
                width, place = x.start[c + 1] - x.start[c], s_next - x.start[c]
                part = 0.0
                for f in range(m.z_ptr[a * n_states + s_next], m.z_ptr[a * n_states + s_next + 1]):
                    follow = w.by_obs[m.z_obs[f]]
                    part += m.z_prob[f] * g.value[g.info[follow, VALUES] + row * width + place]
                total += m.t_prob[e] * part
            g.value[at + row * size + s - first] = x.gain[row, s, a] + discount * total
    b.used[MAKING_PLANS] += 4 * size * x.gain.shape[0]
    g.info[plan, CLASS] = cls
    g.info[plan, ACTION] = a
    g.info[plan, VALUES] = at
    g.info[plan, LINKS] = links
    g.info[plan, OLDER] = g.newest[cls]
    g.newest[cls] = plan
    b.used[PLANS] = plan + 1
    b.used[PLAN_VALUES] = at + size * x.gain.shape[0]
    b.used[PLAN_LINKS] = links + n_links
    return int(plan)


@kernel
def forget_idle(b: Store, g: Plans, n_beliefs: int) -> int:
    """Take plans that are best at no belief off their class's list; return how many stay.

    Nothing is freed: other plans may follow them. Bounds of the beliefs there are do not change.
    """
    busy = np.zeros(g.info.shape[0], dtype=np.bool_)
    for i in range(n_beliefs):
        if b.info[i, PLAN] != NONE:
            busy[b.info[i, PLAN]] = True
    kept = 0
    for c in range(g.newest.size):
        busy[g.newest[c]] = True  # the head marks what has been tested
        busy[g.default[c]] = True
        plan = g.newest[c]
        while plan != NONE:
            kept += 1
            older = g.info[plan, OLDER]
            while older != NONE and not busy[older]:
                older = g.info[older, OLDER]
            g.info[plan, OLDER] = older
            plan = older
    return kept
