"""The plans of a belief graph: which is best at a belief, and which are idle."""

from __future__ import annotations

import numpy as np

from ..jit import inner, kernel
from ..plans import Plans, add_plan
from .store import NONE, Scratch, Space, Store


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
def follow_best(space: Space, store: Store, plans: Plans, scratch: Scratch, discount: float, i: int, a: int) -> int:
    """Make the plan that takes action a at belief i and then follows the best plan of each successor.

    There must be room. The plan is not yet known to any belief.
    """
    cls = store.info[i].cls
    pair = cls * space.gain.shape[2] + a
    for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
        scratch.by_obs[space.seen_obs[f]] = plans.default[space.seen_class[f]]
    for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
        scratch.by_obs[store.edge_obs[e]] = store.info[store.edge_child[e]].plan
    return add_plan(space, plans, store.counts, scratch.by_obs, discount, cls, a)


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
