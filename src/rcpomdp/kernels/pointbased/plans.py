"""Plans: conditional plans with the vectors of what they accumulate over the states of one class.

A plan is an action and a plan for *every* observation that is possible from some state of its class, with
``α(s) = g(s, a) + γ Σ_{s'} T(s, a, s') Σ_o Z(s', a, o) α_o(s')`` for each kept row g and the sure cost
``w = max_{s in class} C(s, a) + β max_o w_o``: no history that starts in the class spends more. The maximum over
states is taken at each step apart. A plan serves every belief of its class with a budget of at least w.
"""

from __future__ import annotations

import numpy as np

from ..._types import AnyArray, FloatArray
from ..budget import left_after
from ..jit import inner, kernel
from .arrays import NONE, Beliefs, Plans, Scratch, Search, Space


@kernel
def product(space: Space, beliefs: Beliefs, plans: Plans, i: int, plan: int, row: int) -> float:
    """``α·b`` of one row."""
    cls = beliefs.info[i].cls
    first = space.start[cls]
    at, size = beliefs.info[i].offset, beliefs.info[i].size
    vector = plans.value[plans.info[plan].values + row * (space.start[cls + 1] - first) :]
    prob = beliefs.prob[at : at + size]
    total = 0.0
    if beliefs.state[at + size - 1] - beliefs.state[at] == size - 1:  # no gaps: four sums at a time
        vector = vector[beliefs.state[at] - first :]
        one, two, three = 0.0, 0.0, 0.0
        whole = size - size % 4
        for j in range(0, whole, 4):
            total += prob[j] * vector[j]
            one += prob[j + 1] * vector[j + 1]
            two += prob[j + 2] * vector[j + 2]
            three += prob[j + 3] * vector[j + 3]
        for j in range(whole, size):
            total += prob[j] * vector[j]
        return (total + one) + (two + three)
    state = beliefs.state[at : at + size]
    for j in range(size):
        total += prob[j] * vector[state[j] - first]
    return total


@inner
def plan_has_room(space: Space, plans: Plans, counts: AnyArray, cls: int, a: int) -> bool:
    """True if one more plan for (class, action) fits."""
    pair = cls * space.gain.shape[2] + a
    size = (space.start[cls + 1] - space.start[cls]) * space.gain.shape[0]
    links = space.seen_ptr[pair + 1] - space.seen_ptr[pair]
    return bool(
        counts[0].plans < plans.info.shape[0]
        and counts[0].plan_values + size <= plans.value.size
        and counts[0].plan_links + links <= plans.link.size
    )


@inner
def add_plan(space: Space, plans: Plans, scratch: Scratch, counts: AnyArray, cls: int, a: int) -> int:
    """Make the plan of a class that takes action a and then follows `by_obs` of the scratch. There must be room."""
    model = space.model
    n_states, n_actions = model.reward.shape
    pair = cls * n_actions + a
    plan, at, links = counts[0].plans, counts[0].plan_values, counts[0].plan_links
    for k in range(plans.sure.shape[1]):
        worst = 0.0
        for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
            worst = max(worst, plans.sure[scratch.by_obs[space.seen_obs[f]], k])
        plans.sure[plan, k] = space.peak[cls, a, k] + space.model.cost_discount[k] * worst
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
            plans.value[at + row * size + s - first] = space.gain[row, s, a] + space.discount * total
    counts[0].making_plans += 4 * size * space.gain.shape[0]
    made = plans.info[plan]
    made.cls = cls
    made.action = a
    made.values = at
    made.links = links
    made.older = plans.newest[cls]
    plans.newest[cls] = plan
    counts[0].plans = plan + 1
    counts[0].plan_values = at + size * space.gain.shape[0]
    counts[0].plan_links = links + n_links
    return int(plan)


@inner
def rest_for_plan(space: Space, cls: int, a: int, d: FloatArray, rest: FloatArray) -> bool:
    """Write what a plan of (class, action) leaves of a budget; False if that is overspent."""
    for k in range(d.size):
        rest[k] = left_after(d[k], space.peak[cls, a, k], space.model.cost_discount[k])
        if space.limited[k] and rest[k] < 0.0:
            return False
    return True


@kernel
def forget_idle(search: Search) -> int:
    """Take plans that are a candidate of no belief off their class's list; return how many stay.

    Nothing is freed: other plans may follow them.
    """
    beliefs, plans, candidates = search.beliefs, search.plans, search.candidates
    busy = np.zeros(plans.info.shape[0], dtype=np.bool_)
    for i in range(search.counts[0].beliefs):
        candidate = beliefs.info[i].candidate
        while candidate != NONE:
            if candidates.info[candidate].plan != NONE:
                busy[candidates.info[candidate].plan] = True
            candidate = candidates.info[candidate].next
    kept = 0
    for cls in range(plans.newest.size):
        busy[plans.newest[cls]] = True  # the head marks what has been tested
        busy[plans.default[cls]] = True
        plan = plans.newest[cls]
        while plan != NONE:
            kept += 1
            older = plans.info[plan].older
            while older != NONE and not busy[older]:
                older = plans.info[older].older
            plans.info[plan].older = older
            plan = older
    return kept
