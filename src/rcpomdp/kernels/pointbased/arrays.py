"""Arrays of the search: records with named fields and flat arrays, all by capacity; `Counts` says what is filled.

A *belief* is stored once, with its support and probabilities in a common pool. A *strip* is a belief with some
levels of the first budget and one level of each other budget: upper bounds belong to the levels of strips. A
*candidate* is something known to be possible from a belief, with its reward and its sure cost: a plan of its class, or
a belief plan (an action and a candidate for each observation). Lower bounds are candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import AnyArray, BoolArray, FloatArray, IndexArray, IntArray
from ..arrays import ModelArrays
from ..plans import Plans

NONE = -1
NO_ROOM = -2  # in place of an index: arrays must grow first
EXACT = (
    0  # mode of bounds in which an action spends C(b, a); mode j > 0 is a relaxation, which spends the class's least
)

BELIEF = np.dtype(
    [
        ("cls", np.int32),
        ("size", np.int32),  # of its support
        ("offset", np.int64),  # of its support in the pool
        ("hash", np.int64),
        ("parent", np.int32),  # belief, action and observation it was first reached by; NONE for the root
        ("action", np.int32),
        ("obs", np.int32),
        ("row", np.int32),  # of what only opened beliefs have, or NONE
        ("strip", np.int32),  # first of its strips
        ("candidate", np.int32),  # first of its candidates
        ("tested", np.int32),  # newest plan of its class that was tested here
    ],
    align=True,
)

STRIP = np.dtype(
    [
        ("others", np.int64),  # levels of the budgets after the first
        ("at", np.int64),  # of its first level in the pool of bounds
        ("q", np.int64),  # the same for the bounds of actions, which only opened strips have, or NONE
        ("belief", np.int32),
        ("next", np.int32),  # strip of the same belief
        ("size", np.int32),  # how many levels it has,
        ("room", np.int32),  # and for how many there is room
    ],
    align=True,
)

CANDIDATE = np.dtype(
    [
        ("belief", np.int32),
        ("next", np.int32),  # candidate of the same belief, or the next free one
        ("plan", np.int32),  # or NONE: a belief plan
        ("action", np.int32),
        ("links", np.int64),  # first of its successors, one for each edge: a candidate, or `as_link(plan)`
    ],
    align=True,
)

COUNTS = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("beliefs", "pool", "edges", "belief_rows", "strips", "cells", "opened"),
            *("plans", "plan_values", "plan_links", "candidates", "candidate_links", "free_candidate"),
            *("reached", "fresh", "visits", "moved", "wanted"),
            *("making_beliefs", "testing_plans", "making_plans", "upper_backups"),
        )
    ]
)
WORK = ("making_beliefs", "testing_plans", "making_plans", "upper_backups")


class Space(NamedTuple):
    """The model in class order, and what its classes look like."""

    model: ModelArrays
    discount: float
    class_of: IndexArray  # [S]
    start: IntArray  # [n_classes + 1] first state of a class
    seen_ptr: IntArray  # [n_classes*A + 1] where the observations possible from (class, action) start
    seen_obs: IntArray  # observation
    seen_class: IntArray  # class that follows it
    gain: FloatArray  # [rows, S, A] what a plan accumulates: the objective first, reward and costs last
    peak: FloatArray  # [n_classes, A, K] largest cost over a class
    floor: FloatArray  # [n_classes, A, K] least cost over a class
    least_cost: FloatArray  # [K, S, A] vectors whose least product bounds the expected cost from below; [K, 0, 0]: zero
    limited: IntArray  # [K] 1 where there is a budget
    cap: FloatArray  # [K] the most that any policy spends, discounted by γ as rewards are
    unlimited: FloatArray  # [K] the same discounted by β: a budget of this much is as good as none
    worst: float  # what no value is below
    varies: bool  # whether some cost differs within a class that can be reached
    merge: bool  # whether equal beliefs are one


class Informed(NamedTuple):
    """Informed bounds of the relaxation over coarse budget levels, for J multipliers.

    Each knows one budget. ``corner[j, t]`` are vectors over states. Bound j also has values at the beliefs that
    ``delay[j]`` steps from a known state lead to, if that is not 0: what a belief has become in so many steps is the
    mixture of what its states have become. Layer k holds the elements that k steps lead to, layer 0 the states; what
    follows element e under action a is row ``row[k] + a*size[k] + e``.
    """

    multiplier: FloatArray  # [J, K]
    cost: IntArray  # [J] the cost whose budget it knows
    value: FloatArray  # [K, T] coarse levels, increasing, then inf
    corner: FloatArray  # [J, T, S, A]
    delay: IntArray  # [J]
    at: IntArray  # [J + 1] where the values of bound j start in `late`
    late: FloatArray  # values of bound j, [T, n, A] or [1, n, A] of the elements of layer delay[j], one after another
    row: IntArray  # [layers] first row of a layer
    size: IntArray  # [layers] elements of a layer
    root: IntArray  # [layers] the element that is b_0; NONE in layer 0
    ptr: IntArray  # [rows + 1] where a row starts
    obs: IndexArray  # observation, increasing in a row
    prob: FloatArray  # P(o | e, a)
    belief: IndexArray  # the element of the next layer that follows


class Levels(NamedTuple):
    """Budget levels of each cost, in increasing order; what is left after a step is rounded up to one.

    A level of all costs is the places of theirs, `bits` of them for each cost, the first cost last.
    """

    value: FloatArray  # [K, most] increasing, the last inf
    counts: IntArray  # [K] how many there are
    tiny: FloatArray  # [K] the level at which only trifles can be paid; NaN: none
    trifle: FloatArray  # [K]
    bits: int
    after: IntArray  # [., levels of the first cost] where spending the least cost of a class leads, or NONE
    which: IntArray  # [n_classes, A] row of `after`


class Beliefs(NamedTuple):
    """Beliefs and their edges."""

    info: AnyArray  # [N] BELIEF
    least: FloatArray  # [N, K] no policy has a sure cost below this
    low: FloatArray  # [N, K] least and
    high: FloatArray  # [N, K] largest budget that candidates were asked for
    state: IndexArray  # pool of supports
    prob: FloatArray
    reward: FloatArray  # [rows, A] of opened beliefs: objective R(b, a)
    cost: FloatArray  # [rows, K, A]
    edge: IndexArray  # [rows, A] first edge of an expanded action, or NONE
    degree: IndexArray  # [rows, A]
    edge_child: IndexArray
    edge_obs: IndexArray
    edge_prob: FloatArray
    table: IndexArray  # hash table; its size is a power of 2


class Strips(NamedTuple):
    """Upper bounds at beliefs with budget levels; mode 0 is exact, mode j > 0 the j-th relaxation."""

    info: AnyArray  # [N] STRIP
    level: IndexArray  # [cells] of the first cost, increasing in a strip
    hi: FloatArray  # [cells, 1 + J] where a strip is not opened from the informed bound
    lo: FloatArray  # [cells] what was known from below at the last look; it only guides the search
    q: FloatArray  # of opened strips: bounds of actions, (1 + J)*A times `room`


class Candidates(NamedTuple):
    """Candidates: what is known to be possible from beliefs."""

    info: AnyArray  # [N] CANDIDATE
    total: FloatArray  # [N, 1 + K] reward and expected costs
    sure: FloatArray  # [N, K] sure cost
    link: IndexArray  # successors of belief plans


class Scratch(NamedTuple):
    """Working memory; ``acc`` is zero between calls."""

    acc: FloatArray  # [S]
    touched: IndexArray  # [S]
    state: IndexArray  # [S]
    prob: FloatArray  # [S]
    by_obs: IntArray  # [O]
    hint: FloatArray  # [1 + J, A] informed bounds of actions at a level
    informed: FloatArray  # [J, A] informed bounds of actions at coarse levels,
    coarse: IntArray  # [J] and which
    mixed: IntArray  # [J] how many elements of its layer a belief is a mixture of in bound j,
    element: IntArray  # [J, S] which,
    weight: FloatArray  # [J, S] and how much of each
    came_by: IntArray  # [., 2] actions and observations by which a belief was reached, the last first
    done: BoolArray  # [A]
    need: FloatArray  # [K]
    rest: FloatArray  # [K]
    spare: FloatArray  # [K]
    unlimited: FloatArray  # [K] inf
    sums: FloatArray  # [4, levels of the first cost] of a backup
    allowance: FloatArray  # [J, levels of the first cost] λ·d of what is left
    to: IntArray  # [levels of the first cost] where a backup leads
    path: IntArray  # [depth] strips of a trial
    level: IntArray  # [depth]
    mode: IntArray  # [depth]
    action: IntArray  # [depth]
    left: FloatArray  # [depth, K] budget
    wanted: FloatArray  # [., K] budgets at which a level would have helped


class Search(NamedTuple):
    """All that a search works on."""

    space: Space
    informed: Informed
    levels: Levels
    beliefs: Beliefs
    strips: Strips
    plans: Plans
    candidates: Candidates
    scratch: Scratch
    counts: AnyArray  # [1] COUNTS
    most_tests: int  # plans that one look at a belief tests, the newest first
