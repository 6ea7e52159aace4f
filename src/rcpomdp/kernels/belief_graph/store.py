"""The store of beliefs: each distinct belief once, with its bounds and what follows from it.

States are numbered so that an observability class is contiguous; a belief lies inside one class. Its support and its
probabilities stand in two common pools, and what several beliefs share stands there once: where a robot moves and what
it does not see stays as it is, beliefs at many places have the same probabilities. Actions are expanded one at a time:
an expanded action has edges, one for each observation that can follow.

Here are its arrays; `interning` adds beliefs, `expansion` what follows from them, `rays` and `points` what bounds them
by convexity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import AnyArray, FloatArray, IndexArray, IntArray
from ..arrays import ModelArrays
from ..jit import inner

NONE = -1

BELIEF = np.dtype(
    [
        ("cls", np.int64),
        ("states", np.int64),  # where its support begins in the pool of states,
        ("probs", np.int64),  # and its probabilities in theirs
        ("size", np.int64),  # of its support
        ("plan", np.int64),  # that attains its lower bound
        ("tested", np.int64),  # newest plan of its class that was tested here
        ("base", np.int64),  # ends of its ray, or NONE
        ("tip", np.int64),
        ("weight", np.float64),  # of the base
        ("upper", np.float64),  # bounds on its value
        ("lower", np.float64),
        ("point", np.int64),  # its number among the points of the sawtooth, or NONE
        ("seen_point", np.int64),  # newest point of its class that was tested here
        ("hash", np.int64),
        ("states_hash", np.int64),
        ("probs_hash", np.int64),
    ]
)

# What is filled, and the work done so far by what it was done for
WORK = ("making_beliefs", "testing_plans", "making_plans", "upper_backups", "testing_points")
COUNTS = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("beliefs", "state_pool", "prob_pool", "edges", "plans", "plan_values", "plan_links", "points"),
            *WORK,
        )
    ]
)

# Rows of Store.table
BY_BELIEF, BY_STATES, BY_PROBS = range(3)

SAME = 1e-14  # relative difference below which two probabilities are rounding of one


class Space(NamedTuple):
    """The model in class order, and what its classes look like."""

    model: ModelArrays
    class_of: IndexArray  # [S]
    start: IntArray  # [n_classes + 1] first state of a class
    seen_ptr: IntArray  # [n_classes*A + 1] where the observations possible from (class, action) start
    seen_obs: IntArray  # observation
    seen_class: IntArray  # class that follows it
    informed: FloatArray  # [S, A] vectors whose largest product with a belief bounds its value from above (FIB)
    gain: FloatArray  # [rows, S, A] what a plan accumulates: row 0 the objective, then whatever else is kept
    peak: FloatArray  # [n_classes, A, K] largest cost over a class
    merge: bool  # whether equal beliefs are one


class Store(NamedTuple):
    """Beliefs and their edges, by capacity; `counts` says what is filled."""

    info: AnyArray  # [N] BELIEF
    q_hi: FloatArray  # [N, A] upper bound on each action's value
    informed: FloatArray  # [N, A] products with the vectors of Space.informed bound
    gain: FloatArray  # [N, A] objective R(b, a)
    edge: IntArray  # [N, A] first edge of an expanded action, or NONE
    degree: IntArray  # [N, A] number of edges
    state: IndexArray  # [P] supports, each once
    prob: FloatArray  # [Q] probabilities, each list once
    edge_child: IntArray  # [E]
    edge_obs: IntArray  # [E]
    edge_prob: FloatArray  # [E]
    table: IntArray  # [3, H] beliefs by hash, and the first belief with a support, or probabilities, by hash of that
    point: IntArray  # [N] beliefs that serve as points of the sawtooth, in the order they became so
    older: IntArray  # [N] the point of the same class before this one
    newest: IntArray  # [n_classes] the last point of a class
    counts: AnyArray  # [1] COUNTS


class Scratch(NamedTuple):
    """Working memory; ``acc`` is zero between calls."""

    acc: FloatArray  # [S]
    touched: IndexArray  # [S]
    state: IndexArray  # [S]
    prob: FloatArray  # [S]
    mass: FloatArray  # [n_classes] probability of ending in a class
    by_obs: IntArray  # [O]
    path: IntArray  # [depth]
    stack: IntArray  # [nesting of rays]


@inner
def best_action(q: FloatArray) -> int:
    """The first of the largest entries."""
    best = 0
    for a in range(1, q.size):
        if q[a] > q[best]:
            best = a
    return best
