"""Plans: conditional plans with the vectors of what they accumulate over the states of one class.

A plan is an action and a successor plan for *every* observation that is possible from some state of its class.
``α(s) = g(s, a) + γ Σ_{s'} T(s, a, s') Σ_o Z(s', a, o) α_o(s')`` for each kept row g, so a plan's reward and costs come
with its value. Its sure cost, ``w = max_{s in class} C(s, a) + γ max_o w_o``, is never exceeded by any history that
starts in the class; the maximum over states is taken at each step apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import AnyArray, FloatArray, IntArray
from ..jit import inner, kernel
from .store import NONE, Scratch, Space, Store

PLAN = np.dtype(
    [
        ("cls", np.int64),
        ("action", np.int64),
        ("values", np.int64),  # first of its vectors
        ("links", np.int64),  # first of its successors
        ("older", np.int64),  # next plan of the list of its class
    ]
)


class Plans(NamedTuple):
    """Plans by capacity; ``Store.counts`` says what is filled."""

    info: AnyArray  # [N] PLAN
    sure: FloatArray  # [N, K] sure cost
    value: FloatArray  # vectors of a plan: row by row, each over the class
    link: IntArray  # successor for each entry of Space.seen_obs of (class, action)
    newest: IntArray  # [n_classes] head of the list of a class's plans
    default: IntArray  # [n_classes] plan that follows an observation nobody foresaw


@kernel
def product(space: Space, store: Store, plans: Plans, i: int, plan: int, row: int) -> float:
    """``α·b`` of one row."""
    cls = store.info[i].cls
    first = space.start[cls]
    states, probs, size = store.info[i].states, store.info[i].probs, store.info[i].size
    vector = plans.value[plans.info[plan].values + row * (space.start[cls + 1] - first) :]
    state, prob = store.state[states : states + size], store.prob[probs : probs + size]
    total = 0.0
    for j in range(size):
        total += prob[j] * vector[state[j] - first]
    return total


@kernel
def refresh_lower(space: Space, store: Store, plans: Plans, i: int) -> None:
    """Test the plans that are newer than the last look; keep the best."""
    newest = plans.newest[store.info[i].cls]
    plan = newest
    while plan > store.info[i].tested:
        value = product(space, store, plans, i, plan, 0)
        store.counts[0].testing_plans += store.info[i].size
        if value > store.info[i].lower:
            store.info[i].lower = value
            store.info[i].plan = plan
        plan = plans.info[plan].older
    store.info[i].tested = newest


@inner
def plan_has_room(space: Space, store: Store, plans: Plans, cls: int, a: int) -> bool:
    """True if one more plan for (class, action) fits."""
    pair = cls * space.informed.shape[1] + a
    size = (space.start[cls + 1] - space.start[cls]) * space.gain.shape[0]
    links = space.seen_ptr[pair + 1] - space.seen_ptr[pair]
    return bool(
        store.counts[0].plans < plans.info.shape[0]
        and store.counts[0].plan_values + size <= plans.value.size
        and store.counts[0].plan_links + links <= plans.link.size
    )


@inner
def add_plan(space: Space, store: Store, plans: Plans, scratch: Scratch, discount: float, i: int, a: int) -> int:
    """Make the plan that takes action a at belief i and then follows the best plan of each successor.

    There must be room. The plan is not yet known to any belief.
    """
    model = space.model
    n_states, n_actions = model.reward.shape
    cls = store.info[i].cls
    pair = cls * n_actions + a
    plan, at, links = store.counts[0].plans, store.counts[0].plan_values, store.counts[0].plan_links
    for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
        scratch.by_obs[space.seen_obs[f]] = plans.default[space.seen_class[f]]
    for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
        scratch.by_obs[store.edge_obs[e]] = store.info[store.edge_child[e]].plan
    for k in range(plans.sure.shape[1]):
        worst = 0.0
        for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
            worst = max(worst, plans.sure[scratch.by_obs[space.seen_obs[f]], k])
        plans.sure[plan, k] = space.peak[cls, a, k] + model.cost_discount[k] * worst
    n_links = space.seen_ptr[pair + 1] - space.seen_ptr[pair]
    for f in range(n_links):
        plans.link[links + f] = scratch.by_obs[space.seen_obs[space.seen_ptr[pair] + f]]
    first, last = space.start[cls], space.start[cls + 1]
    size = last - first
    for row in range(space.gain.shape[0]):
        for s in range(first, last):
            total = 0.0
            for e in range(model.t_ptr[a * n_states + s], model.t_ptr[a * n_states + s + 1]):
                s_next = model.t_next[e]
                c = space.class_of[s_next]
                width, place = space.start[c + 1] - space.start[c], s_next - space.start[c]
                part = 0.0
                for f in range(model.z_ptr[a * n_states + s_next], model.z_ptr[a * n_states + s_next + 1]):
                    follow = scratch.by_obs[model.z_obs[f]]
                    part += model.z_prob[f] * plans.value[plans.info[follow].values + row * width + place]
                total += model.t_prob[e] * part
            plans.value[at + row * size + s - first] = space.gain[row, s, a] + discount * total
    store.counts[0].making_plans += 4 * size * space.gain.shape[0]
    plans.info[plan].cls = cls
    plans.info[plan].action = a
    plans.info[plan].values = at
    plans.info[plan].links = links
    plans.info[plan].older = plans.newest[cls]
    plans.newest[cls] = plan
    store.counts[0].plans = plan + 1
    store.counts[0].plan_values = at + size * space.gain.shape[0]
    store.counts[0].plan_links = links + n_links
    return int(plan)


@kernel
def forget_idle(store: Store, plans: Plans, n_beliefs: int) -> int:
    """Take plans that are best at no belief off their class's list; return how many stay.

    Nothing is freed: other plans may follow them. Bounds of the beliefs there are do not change.
    """
    busy = np.zeros(plans.info.shape[0], dtype=np.bool_)
    for i in range(n_beliefs):
        if store.info[i].plan != NONE:
            busy[store.info[i].plan] = True
    kept = 0
    for c in range(plans.newest.size):
        busy[plans.newest[c]] = True  # the head marks what has been tested
        busy[plans.default[c]] = True
        plan = plans.newest[c]
        while plan != NONE:
            kept += 1
            older = plans.info[plan].older
            while older != NONE and not busy[older]:
                older = plans.info[older].older
            plans.info[plan].older = older
            plan = older
    return kept
