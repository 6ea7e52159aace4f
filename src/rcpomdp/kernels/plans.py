"""Plans: conditional plans with the vectors of what they accumulate over the states of one class.

A plan is an action and a plan for *every* observation that is possible from some state of its class, with
``α(s) = g(s, a) + γ Σ_{s'} T(s, a, s') Σ_o Z(s', a, o) α_o(s')`` for each kept row g and the sure cost
``w = max_{s in class} C(s, a) + β max_o w_o``: no history that starts in the class spends more. The maximum over
states is taken at each step apart. A plan serves every belief of its class with a budget of at least w.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._types import AnyArray, FloatArray, IntArray
from .jit import inner

if TYPE_CHECKING:
    from .belief_graph.store import Space as GraphSpace
    from .pointbased.arrays import Space as PointBasedSpace

PLAN = np.dtype(
    [
        ("cls", np.int32),
        ("action", np.int32),
        ("values", np.int64),  # first of its vectors: row by row, each over the class
        ("links", np.int64),  # first of its successors, one for each entry of Space.seen_obs of (class, action)
        ("older", np.int32),  # next plan of the list of its class
    ],
    align=True,
)


class Plans(NamedTuple):
    """Plans by capacity; the counts of a search say what is filled."""

    info: AnyArray  # [N] PLAN
    sure: FloatArray  # [N, K] sure cost
    value: FloatArray  # vectors
    link: AnyArray  # successors
    newest: IntArray  # [n_classes] head of the list of a class's plans
    default: IntArray  # [n_classes] plan that follows an observation nobody foresaw


@inner
def plan_has_room(space: GraphSpace | PointBasedSpace, plans: Plans, counts: AnyArray, cls: int, a: int) -> bool:
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
def add_plan(
    space: GraphSpace | PointBasedSpace,
    plans: Plans,
    counts: AnyArray,
    by_obs: IntArray,
    discount: float,
    cls: int,
    a: int,
) -> int:
    """Make the plan of a class that takes action a and then follows `by_obs`. There must be room."""
    model = space.model
    n_states, n_actions = model.reward.shape
    pair = cls * n_actions + a
    plan, at, links = counts[0].plans, counts[0].plan_values, counts[0].plan_links
    for k in range(plans.sure.shape[1]):
        worst = 0.0
        for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
            worst = max(worst, plans.sure[by_obs[space.seen_obs[f]], k])
        plans.sure[plan, k] = space.peak[cls, a, k] + model.cost_discount[k] * worst
    n_links = space.seen_ptr[pair + 1] - space.seen_ptr[pair]
    for f in range(n_links):
        plans.link[links + f] = by_obs[space.seen_obs[space.seen_ptr[pair] + f]]
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
                    follow = by_obs[model.z_obs[f]]
                    part += model.z_prob[f] * plans.value[plans.info[follow].values + row * width + place]
                total += model.t_prob[e] * part
            plans.value[at + row * size + s - first] = space.gain[row, s, a] + discount * total
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
