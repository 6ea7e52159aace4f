"""Plans: conditional plans with the vectors of what they accumulate over the states of one class.

A plan is an action and a plan for *every* observation that is possible from some state of its class, with
``α(s) = g(s, a) + γ Σ_{s'} T(s, a, s') Σ_o Z(s', a, o) α_o(s')`` for each kept row g and the sure cost
``w = max_{s in class} C(s, a) + γ max_o w_o``: no history that starts in the class spends more. The maximum over
states is taken at each step apart. A plan serves every belief of its class with a budget of at least w.
"""

from __future__ import annotations

import numpy as np

from ..._types import AnyArray, FloatArray
from ..jit import inner, kernel
from .arrays import NONE, Beliefs, Plans, Scratch, Search, Space


@kernel
def product(x: Space, b: Beliefs, g: Plans, i: int, plan: int, row: int) -> float:
    """``α·b`` of one row."""
    cls = b.info[i].cls
    first = x.start[cls]
    at, size = b.info[i].offset, b.info[i].size
    vector = g.value[g.info[plan].values + row * (x.start[cls + 1] - first) :]
    prob = b.prob[at : at + size]
    total = 0.0
    if b.state[at + size - 1] - b.state[at] == size - 1:  # no gaps: four sums at a time
        vector = vector[b.state[at] - first :]
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
    state = b.state[at : at + size]
    for j in range(size):
        total += prob[j] * vector[state[j] - first]
    return total


@inner
def plan_has_room(x: Space, g: Plans, counts: AnyArray, cls: int, a: int) -> bool:
    """Whether one more plan for (class, action) fits."""
    pair = cls * x.gain.shape[2] + a
    size = (x.start[cls + 1] - x.start[cls]) * x.gain.shape[0]
    links = x.seen_ptr[pair + 1] - x.seen_ptr[pair]
    return bool(
        counts[0].plans < g.info.shape[0]
        and counts[0].plan_values + size <= g.value.size
        and counts[0].plan_links + links <= g.link.size
    )


@inner
def add_plan(x: Space, g: Plans, w: Scratch, counts: AnyArray, cls: int, a: int) -> int:
    """Make the plan of a class that takes action a and then follows ``w.by_obs``. There must be room."""
    m = x.model
    n_states, n_actions = m.reward.shape
    pair = cls * n_actions + a
    plan, at, links = counts[0].plans, counts[0].plan_values, counts[0].plan_links
    for k in range(g.sure.shape[1]):
        worst = 0.0
        for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
            worst = max(worst, g.sure[w.by_obs[x.seen_obs[f]], k])
        g.sure[plan, k] = x.peak[cls, a, k] + x.discount * worst
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
                    part += m.z_prob[f] * g.value[g.info[follow].values + row * width + place]
                total += m.t_prob[e] * part
            g.value[at + row * size + s - first] = x.gain[row, s, a] + x.discount * total
    counts[0].making_plans = counts[0].making_plans + 4 * size * x.gain.shape[0]
    made = g.info[plan]
    made.cls = cls
    made.action = a
    made.values = at
    made.links = links
    made.older = g.newest[cls]
    g.newest[cls] = plan
    counts[0].plans = plan + 1
    counts[0].plan_values = at + size * x.gain.shape[0]
    counts[0].plan_links = links + n_links
    return int(plan)


@inner
def rest_for_plan(x: Space, cls: int, a: int, d: FloatArray, rest: FloatArray) -> bool:
    """Write what a plan of (class, action) leaves of a budget; False if that is overspent."""
    for k in range(d.size):
        rest[k] = (d[k] - x.peak[cls, a, k]) / x.discount
        if x.limited[k] and rest[k] < 0.0:
            return False
    return True


@kernel
def forget_idle(s: Search) -> int:
    """Take plans that are an option of no belief off their class's list; return how many stay.

    Nothing is freed: other plans may follow them.
    """
    b, g, c = s.beliefs, s.plans, s.options
    busy = np.zeros(g.info.shape[0], dtype=np.bool_)
    for i in range(s.counts[0].beliefs):
        option = b.info[i].option
        while option != NONE:
            if c.info[option].plan != NONE:
                busy[c.info[option].plan] = True
            option = c.info[option].next
    kept = 0
    for cls in range(g.newest.size):
        busy[g.newest[cls]] = True  # the head marks what has been tested
        busy[g.default[cls]] = True
        plan = g.newest[cls]
        while plan != NONE:
            kept += 1
            older = g.info[plan].older
            while older != NONE and not busy[older]:
                older = g.info[older].older
            g.info[plan].older = older
            plan = older
    return kept
