"""The arrays of a search under a budget: levels, bounds over them, and room for belief plans."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ... import deadline
from ..._types import BoolArray, FloatArray, IntArray
from ...bounds.blind import blind_sure_costs, largest_sure_costs
from ...bounds.fib import cost_fib_vectors
from ...kernels.arcs.belief_plans import BELIEF_PLAN, COUNTS, BeliefPlans
from ...kernels.arcs.levels import Bounds, Levels, LevelScratch, list_maps
from ...kernels.arcs.rows import LENT
from ...kernels.belief_graph.store import NONE
from ..belief_graph.search import BeliefGraphSearch
from ..belief_graph.storage import value_places
from .levels import level_values

_BELIEF_PLANS = 4096  # room to begin with
_STEP_COSTS = 8  # different costs of a step that levels are made for


def most_spent(graph_search: BeliefGraphSearch, discount: float | None = None) -> FloatArray:
    """The most that any policy can spend from any belief, [K]: a budget of at least this is unlimited.

    By the costs' own discounts, unless another is given.
    """
    x = graph_search.space
    peak = np.moveaxis(np.maximum.reduceat(x.model.cost, x.start[:-1], axis=1), 0, 2)
    each = graph_search.model.cost_discount if discount is None else np.full(graph_search.model.n_costs, discount)
    most = largest_sure_costs(peak, x.seen_ptr, x.seen_class, each)
    largest: FloatArray = most[graph_search.classes.reachable].max(axis=0)
    return largest


def least_costs(graph_search: BeliefGraphSearch) -> FloatArray:
    """Vectors [K, S, A] below the least expected costs, or [K, 0, 0] if they are all zero."""
    n_costs = graph_search.model.n_costs
    vectors = np.stack([cost_fib_vectors(graph_search.ordered, k).T for k in range(n_costs)])
    return np.ascontiguousarray(vectors) if vectors.min(axis=2).any() else np.zeros((n_costs, 0, 0))


class Layout(NamedTuple):
    """Ingredients of budget levels."""

    budget: FloatArray  # [K]
    cap: FloatArray  # [K] the most that any policy spends, discounted by γ
    unlimited: FloatArray  # [K] the same discounted by β: as good as unlimited
    limited: BoolArray  # [K]
    floor: FloatArray  # [K, n_classes, A] least cost over a class
    least_cost: FloatArray  # as `least_costs`
    relaxed: bool
    monotone: bool


def build_levels(
    graph_search: BeliefGraphSearch,
    layout: Layout,
    n: int,
    extra: list[FloatArray],
    multipliers: FloatArray,
    informed_vectors: list[FloatArray],
) -> Levels:
    """About n levels, or somewhat more if there are several costs, with their maps; ``multipliers [J, K]``."""
    n_costs, n_limited, beta = len(layout.budget), int(layout.limited.sum()), graph_search.model.cost_discount
    per_cost = n if n_limited <= 1 else max(4, round((4 * n) ** (1 / n_limited)))
    values = [
        level_values(
            layout.budget[k], _step_costs(graph_search, layout, k), beta[k], layout.unlimited[k], per_cost, extra[k]
        )
        if layout.limited[k]
        else np.array([np.inf])
        for k in range(n_costs)
    ]
    count = np.array([len(v) for v in values], dtype=np.int64)
    stride = np.concatenate([[1], np.cumprod(count[:-1])]).astype(np.int64)
    n_levels, most = int(count.prod()), int(count.max())
    value = np.full((n_costs, most), np.inf)
    for k, v in enumerate(values):
        value[k, : len(v)] = v
    part_of = np.arange(n_levels) // stride[:, None] % count[:, None]  # [K, L]
    budgets = np.take_along_axis(value, part_of, axis=1)  # [K, L]
    allowance = multipliers @ np.minimum(budgets, layout.cap[:, None])
    # (cap − C)/γ is no less than the cap, as (cap − C)/β may well be.
    is_capped = (budgets > layout.cap[:, None]).any(axis=0)
    growth = np.where(is_capped, 1 / graph_search.model.discount, 1 / beta.min(initial=1.0))
    floor = np.ascontiguousarray(np.moveaxis(layout.floor, 0, 2).reshape(-1, n_costs))
    forbidden = (floor > graph_search.model.arrays.step_limit).any(axis=1, keepdims=True)
    spending, which = np.unique(np.where(forbidden, np.inf, floor), axis=0, return_inverse=True)
    levels = Levels(
        value=value,
        n=count,
        stride=stride,
        part_of=part_of,
        multiplier=multipliers,
        cap=layout.cap,
        allowance=allowance,
        growth=growth,
        floor=floor,
        which=np.ascontiguousarray(which.ravel(), dtype=np.int64),
        after=np.empty((len(spending), n_levels), dtype=np.int64),
        informed=np.stack(informed_vectors),
        least_cost=layout.least_cost,
        worst=float(graph_search.space.gain[0].min() / graph_search.model.fade) - 1.0,
        relaxed=layout.relaxed,
        monotone=layout.monotone,
    )
    part = np.empty((n_costs, most), dtype=np.int64)
    list_maps(levels, np.ascontiguousarray(spending), np.array(beta), part, levels.after)
    return levels


def _step_costs(graph_search: BeliefGraphSearch, layout: Layout, k: int) -> FloatArray:
    """A few costs that steps have: of states, or if these are many of whole classes."""
    of_states = np.unique(graph_search.ordered.cost[k])
    return of_states if of_states.size <= _STEP_COSTS else np.unique(layout.floor[k])[:_STEP_COSTS]


def build_level_scratch(v: Levels) -> LevelScratch:
    """Working memory of backups over levels."""
    n_costs, n_levels = v.part_of.shape
    return LevelScratch(
        row=np.empty((5, n_levels)),
        map=np.empty(n_levels, dtype=np.int64),
        part=np.empty(v.value.shape, dtype=np.int64),
        need=np.empty(n_costs),
        rest=np.empty(n_costs),
        sure=np.empty(n_costs),
        allowance=np.empty(len(v.multiplier)),
    )


def build_bounds(v: Levels, n: int, rows: int, n_actions: int) -> Bounds:
    """Room for the bounds of n beliefs, of which some have rows."""
    n_multipliers, (n_costs, n_levels) = len(v.multiplier), v.part_of.shape
    return Bounds(
        row=np.empty(n, dtype=np.int32),
        cost=np.empty((n, n_costs, n_actions)),
        informed=np.empty((n, n_multipliers - 1, n_actions)),
        least=np.empty((n, n_costs)),
        hi=np.empty((rows, n_multipliers, n_levels)),
        lo=np.empty((rows, n_multipliers, n_levels)),
        upper=np.full((rows, n_levels), np.inf),
    )


def carry_over(used: int, rows: int, old_levels: Levels, old: Bounds, levels: Levels, bounds: Bounds) -> int:
    """Take over what was known at other levels: a level is bounded by the next one that is no lower.

    There are `used` beliefs, of which some have `rows`.

    Return how many relaxations were taken over: all if the multipliers are those of before, else only the first.
    """
    place = np.zeros(levels.part_of.shape[1], dtype=np.int64)
    for k, part in enumerate(levels.part_of):
        theirs = old_levels.value[k, : old_levels.n[k]]
        place += np.searchsorted(theirs, levels.value[k, part]) * old_levels.stride[k]
    for name in ("row", "cost", "least"):
        getattr(bounds, name)[:used] = getattr(old, name)[:used]
    np.take(old.upper[:rows], place, axis=1, out=bounds.upper[:rows], mode="clip")
    n_multipliers = len(levels.multiplier)
    kept = n_multipliers if np.array_equal(old_levels.multiplier[:n_multipliers], levels.multiplier) else 1
    bounds.informed[:used, : kept - 1] = old.informed[:used, : kept - 1]
    for j in range(kept):
        bounds.hi[:rows, j] = np.take(old.hi[:rows, j], place, axis=1, mode="clip")
    bounds.hi[:rows, kept:] = np.inf  # rows are started one after the other, and rays read the others
    return kept


def build_belief_plans(graph_search: BeliefGraphSearch, layout: Layout, all_leaves: bool) -> BeliefPlans:
    """Room for belief plans, and the plans that beliefs may follow from the start."""
    leaf_ptr, leaf_plan, leaf_floor = _leaves(graph_search, layout, all_leaves)
    n, n_costs = len(graph_search.store.info), len(layout.budget)
    room = _BELIEF_PLANS + int(np.diff(leaf_ptr).max()) * n
    counts = np.zeros(1, dtype=COUNTS)
    counts["rows"] = LENT
    return BeliefPlans(
        info=np.empty(room, dtype=BELIEF_PLAN),
        total=np.empty((room, 1 + n_costs)),
        sure=np.empty((room, n_costs)),
        link=np.empty(4 * _BELIEF_PLANS, dtype=np.int64),
        head=np.full(n, NONE),
        leaf_ptr=leaf_ptr,
        leaf_plan=leaf_plan,
        leaf_floor=leaf_floor,
        limited=layout.limited.astype(np.int64),
        unconstrained_from=layout.unlimited.copy(),
        counts=counts,
    )


def _leaves(graph_search: BeliefGraphSearch, layout: Layout, all_leaves: bool) -> tuple[IntArray, IntArray, FloatArray]:
    """Blind plans that no other blind plan of their class beats in reward, cost and sure cost at once."""
    x, plans, k = graph_search.space, graph_search.plans, len(layout.budget)
    n_classes, n_actions = len(x.start) - 1, graph_search.model.n_actions
    n_plans, rows = n_classes * n_actions, len(x.gain)
    vectors = np.empty((n_actions, 1 + k, len(x.class_of)))  # reward, then costs with their sign turned
    vectors[:] = plans.value[value_places(x.start, n_actions, rows)][:, rows - 1 - k :]
    vectors[:, 1:] *= -1.0
    sure = plans.sure[:n_plans].reshape(n_classes, n_actions, k)
    floor = blind_sure_costs(
        np.moveaxis(layout.floor, 0, 2), x.seen_ptr, x.seen_class, graph_search.model.cost_discount
    )
    kept = np.ones((n_classes, n_actions), dtype=bool)
    for a in range(n_actions):
        deadline.check()
        beats = np.logical_and.reduceat((vectors >= vectors[a]).all(axis=1), x.start[:-1], axis=1).T
        beats &= (sure <= sure[:, a, None]).all(axis=2) & kept
        beats[:, a] = False
        kept[:, a] = ~beats.any(axis=1)
    if not all_leaves:
        kept[:] = False
    kept[np.arange(n_classes), plans.default % n_actions] = True
    pairs = np.flatnonzero(kept)
    leaf_ptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
    return leaf_ptr, pairs.astype(np.int64), np.ascontiguousarray(floor.reshape(-1, k)[pairs])
