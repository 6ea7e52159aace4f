"""Leaves of the published ARCS: each follows a plan of the minimum-cost policy, for as long as that is safe."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import BoolArray, FloatArray, IndexArray, IntArray
from ..arrays import ModelArrays
from ..belief_graph.store import NONE, Space
from ..jit import inner, kernel
from ..plans import Plans

FOREVER = 2**30  # k = ∞; a finite k is at most one less
_TIE = 1e-12  # relative difference below which two plans cost the same


class Setting(NamedTuple):
    """The model in class order, starting bounds, and the minimum-cost policy's plans."""

    model: ModelArrays
    discount: float
    budget: float  # ĉ
    limit: float  # what may be spent: the budget and its tolerance
    terminal: BoolArray  # [S]
    class_of: IndexArray  # [S]
    start: IntArray  # [n_classes + 1] first state of a class
    widest: int  # states of the largest class
    reward_fib: FloatArray  # [S, A] upper bound on the reward: the largest product with a belief
    cost_fib: FloatArray  # [S, A] lower bound on the cost: the least product
    plan_ptr: IntArray  # [n_classes + 1] where the plans of a class start
    plan_at: IntArray  # [P] where a plan's vectors over its class start
    plan_reward: FloatArray  # α_r, pooled
    plan_cost: FloatArray  # α_c, pooled; 0 exactly where no cost can follow
    plan_step: FloatArray  # [P] C_max of a plan: no step costs more
    bin_low: float  # least initial upper bound
    bin_width: float  # of a bin
    pruning: bool  # whether what no admissible policy goes through is left out
    first_tie: bool  # whether the first action that spends exactly what is left stays chosen


@kernel
def mark_costly(
    space: Space, plans: Plans, at: IntArray, first: int, last: int, by_obs: IntArray, costly: BoolArray
) -> bool:
    """Mark the states from which plans ``first:last`` may ever cost anything; return whether a mark was added.

    The mark of plan p in the i-th state of its class is ``costly[at[p] + i]``; ``by_obs [O]`` is scratch. A cost bound
    of 0 decides that a leaf is admissible, and vectors are rounded, so zeros are found from what can be reached.
    """
    model = space.model
    n_states, n_actions = model.reward.shape
    changed = False
    for p in range(first, last):
        cls, a = plans.info[p].cls, plans.info[p].action
        pair = cls * n_actions + a
        for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
            by_obs[space.seen_obs[f]] = plans.link[plans.info[p].links + f - space.seen_ptr[pair]]
        for s in range(space.start[cls], space.start[cls + 1]):
            here = at[p] + s - space.start[cls]
            if costly[here]:
                continue
            found = model.cost[0, s, a] > 0.0
            for e in range(model.t_ptr[a * n_states + s], model.t_ptr[a * n_states + s + 1]):
                after = model.t_next[e]
                place = after - space.start[space.class_of[after]]
                for f in range(model.z_ptr[a * n_states + after], model.z_ptr[a * n_states + after + 1]):
                    found = found or costly[at[by_obs[model.z_obs[f]]] + place]
            costly[here] = found
            changed = changed or found
    return changed


@kernel
def admissible_horizon(left: float, weight: float, discount: float, c_max: float) -> int:
    """Lemma 1, in root units: the largest k with ``γ^t Σ_{τ<k} γ^τ C_max ≤ left``, where ``left = ĉ − W``."""
    if left < 0.0:
        return 0
    if weight * c_max <= left * (1.0 - discount):  # C_max = 0 included; here d(1−γ)/C_max ≥ 1 has no logarithm
        return FOREVER
    if discount == 0.0:
        return 0
    k = min(FOREVER - 1, int(np.log1p(-left * (1.0 - discount) / (weight * c_max)) / np.log(discount)))
    while k > 0 and weight * c_max * (1.0 - discount**k) > left * (1.0 - discount):  # the quotient was rounded up
        k -= 1
    return k


@inner
def choose_plan(setting: Setting, states: IndexArray, probs: FloatArray) -> tuple[int, float, float]:
    """The plan of least cost, ties by most reward, and its reward and cost (Alg. 1 line 2, Alg. 3 lines 5-7)."""
    cls = setting.class_of[states[0]]
    shift = setting.start[cls]
    first, last = setting.plan_ptr[cls], setting.plan_ptr[cls + 1]
    least = np.inf
    for p in range(first, last):
        least = min(least, _dot(setting.plan_cost, setting.plan_at[p] - shift, states, probs))
    chosen, reward, cost = NONE, -np.inf, np.inf
    for p in range(first, last):
        c = _dot(setting.plan_cost, setting.plan_at[p] - shift, states, probs)
        if c <= least * (1.0 + _TIE):
            r = _dot(setting.plan_reward, setting.plan_at[p] - shift, states, probs)
            if chosen == NONE or r > reward:
                chosen, reward, cost = p, r, c
    return chosen, reward, cost


@inner
def _dot(pool: FloatArray, at: int, states: IndexArray, probs: FloatArray) -> float:
    total = 0.0
    for j in range(states.size):
        total += probs[j] * pool[at + states[j]]
    return total
