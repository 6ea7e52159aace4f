"""The minimum-cost policy that leaves of the published ARCS follow: SARSOP's plans, their vectors, and C_max."""

from __future__ import annotations

import numpy as np

from ..._types import BoolArray, FloatArray, IntArray
from ...bounds.fib import cost_fib_vectors, fib_vectors
from ...bounds.maximin import maximin
from ...errors import InputError
from ...kernels.arcs_published.leaf_policy import Setting, mark_costly
from ...kernels.arcs_published.tree import BINS, NONE
from ...model import CPOMDP
from ..belief_graph.search import BeliefGraphSearch, Objective
from ..clock import Clock

_EPSILON = 1e-3  # gap of the least cost, relative to it or to the largest cost of a step
_WORK = 10**8  # steps of the search for it at most
_TIE_BREAK = 1e-6  # most that breaking ties by reward may cost, relative to the largest cost of a step
_ROUNDING = 1e-12  # share of a budget that is left to the rounding of what is spent, step by step


def least_cost_search(model: CPOMDP, memory_limit: float) -> BeliefGraphSearch:
    """SARSOP's search for the least cost, with ties broken by reward; its plans are the policy."""
    most_reward, most_cost = (float(np.abs(gain).max()) / model.fade for gain in (model.reward, model.cost))
    if not np.isfinite(1e6 * (most_reward + most_cost)):
        raise InputError("rewards or costs are too large: their discounted totals cannot be computed")
    weight = _TIE_BREAK * _largest_cost(model) / (most_reward or 1.0)
    return BeliefGraphSearch(model, Objective(weight, np.ones(1)), memory_limit=memory_limit)


def _largest_cost(model: CPOMDP) -> float:
    """The largest cost of a step; 1 if nothing costs anything."""
    return float(model.cost.max(initial=0.0)) or 1.0


def minimise(graph_search: BeliefGraphSearch, seconds: float | None) -> bool:
    """Search until the gap is small, for so much work at most, or for some time; False if interrupted."""
    clock = Clock(seconds)
    try:
        while graph_search.work < _WORK and not graph_search.out_of_memory and not clock.over:
            epsilon = max(
                _EPSILON * max(_largest_cost(graph_search.model), -graph_search.upper), 4 * graph_search.slack
            )
            if graph_search.gap <= epsilon:
                break
            graph_search.search(epsilon, _WORK // 100)
    except KeyboardInterrupt:
        return False
    return True


def listed_plans(graph_search: BeliefGraphSearch) -> IntArray:
    """Γ: the plans on the lists of the search, class by class."""
    graph_search.forget()
    listed: list[int] = []
    for newest in graph_search.plans.newest:
        plan = int(newest)
        while plan != NONE:
            listed.append(plan)
            plan = int(graph_search.plans.info["older"][plan])
    return np.array(listed, dtype=np.int64)


def followers(graph_search: BeliefGraphSearch, plan: int) -> list[tuple[int, int]]:
    """The plan that follows each observation that a plan can meet: (observation, plan)."""
    x, g = graph_search.space, graph_search.plans
    pair = g.info["cls"][plan] * graph_search.model.n_actions + g.info["action"][plan]
    first, last = int(x.seen_ptr[pair]), int(x.seen_ptr[pair + 1])
    links = g.link[g.info["links"][plan] : g.info["links"][plan] + last - first]
    return [(int(o), int(follower)) for o, follower in zip(x.seen_obs[first:last], links, strict=True)]


def _largest_steps(graph_search: BeliefGraphSearch) -> FloatArray:
    """The largest expected cost that any step of each plan can have, from whatever belief of its class."""
    x, g, n = graph_search.space, graph_search.plans, graph_search.sizes[1]
    info = g.info[:n]
    step: FloatArray = x.peak[info["cls"], info["action"], 0]
    pair = info["cls"] * graph_search.model.n_actions + info["action"]
    count = np.diff(x.seen_ptr)[pair]
    first = np.cumsum(count) - count
    link = g.link[_ragged(info["links"], count)]
    while True:
        following = np.maximum(step, np.maximum.reduceat(step[link], first))
        if (following == step).all():
            return step
        step = following


def _costly(graph_search: BeliefGraphSearch, plans: IntArray) -> BoolArray:
    """The states of its class from which each of the plans may ever cost anything, pooled."""
    x, g, n = graph_search.space, graph_search.plans, graph_search.sizes[1]
    length = np.diff(x.start)[g.info["cls"][:n]]
    at = np.cumsum(length) - length
    costly = np.zeros(length.sum(), dtype=np.bool_)
    by_obs = np.zeros(graph_search.model.n_observations, dtype=np.int64)
    n_blind = len(x.peak) * graph_search.model.n_actions
    while mark_costly(x, g, at, 0, n_blind, by_obs, costly):  # blind plans follow one another in circles
        pass
    mark_costly(x, g, at, n_blind, n, by_obs, costly)  # every other plan follows older ones
    return costly[_ragged(at[plans], length[plans])]


def build_setting(
    graph_search: BeliefGraphSearch, plans: IntArray, pruning: bool = True, first_tie: bool = False
) -> Setting:
    """The arrays that the kernels read: model, starting bounds, vectors of the plans, and C_max (Eq. maximinLP)."""
    x, g, model = graph_search.space, graph_search.plans, graph_search.ordered
    sizes = np.diff(x.start)
    cls = g.info["cls"][plans]
    length = sizes[cls]
    at = np.cumsum(length) - length
    place = _ragged(g.info["values"][plans], length)
    rows = np.repeat(length, length)  # rows of a plan: objective, reward, cost
    reward, cost = g.value[place + rows], g.value[place + 2 * rows]
    costly = _costly(graph_search, plans)
    cost = np.where(costly, np.maximum(cost, np.finfo(np.float64).tiny), 0.0)
    ptr = np.searchsorted(cls, np.arange(len(sizes) + 1))
    c_max = max(
        maximin(cost[at[ptr[c]] : at[ptr[c]] + (ptr[c + 1] - ptr[c]) * sizes[c]].reshape(-1, sizes[c]))
        for c in np.flatnonzero(graph_search.classes.reachable)
    )
    reward_fib = np.ascontiguousarray(fib_vectors(model).T)
    highest = reward_fib.max(axis=1)
    low, high = float(highest.min()), float(highest.max())
    return Setting(
        model=model.arrays,
        discount=model.discount,
        budget=float(model.budget[0]),
        limit=float(model.spending_limit[0]) * (1 - _ROUNDING),
        terminal=model.terminal,
        class_of=x.class_of,
        start=x.start,
        widest=int(sizes.max()),
        reward_fib=reward_fib,
        cost_fib=np.ascontiguousarray(cost_fib_vectors(model).T),
        plan_ptr=ptr.astype(np.int64),
        plan_at=at,
        plan_reward=reward,
        plan_cost=cost,
        plan_step=np.maximum(_largest_steps(graph_search)[plans], c_max),
        bin_low=low,
        bin_width=(high - low) / BINS[0] or 1.0,
        pruning=bool(pruning),
        first_tie=bool(first_tie),
    )


def _ragged(first: IntArray, length: IntArray) -> IntArray:
    """The numbers ``first[i], first[i] + 1, ...``, `length[i]` of them, one run after the other."""
    place: IntArray = np.repeat(first - np.cumsum(length) + length, length) + np.arange(length.sum())
    return place
