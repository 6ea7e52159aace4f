"""Blind policies: one action for ever, the plans that a search starts from.

``α_a = g_a + γ T_a α_a`` for whatever is accumulated (reward, costs), by a direct solve. The sure cost of a blind
plan from a class is ``w(c) = max_{s in c} C(s, a) + β max_{c' follows c} w(c')``, with the cost's own discount β.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu

from .. import deadline
from .._types import BoolArray, FloatArray, IntArray
from ..model import CPOMDP
from ..model.classes import observability_classes
from ..model.endings import adding_up, before_the_end

_SWEEPS = 1000
_ABOVE_ZERO = 1e-100  # less than any cost that matters, and no underflow when weighed
_SHARE = 1e-8  # of the largest cost, where that is hardly more
_EPS = float(np.finfo(np.float64).eps)
_SOLVE = 20  # elementary steps for each entry of a system of equations, about
_DENSE = 0.1  # share of entries from which on a matrix is not sparse


class BlindPlan(NamedTuple):
    """One action for ever: its reward from below, its costs from above, and its sure cost."""

    action: int
    reward: FloatArray  # [S] from below
    cost: FloatArray  # [K, S] from above
    sure_cost: FloatArray  # [K] from the initial belief


def blind_vectors(model: CPOMDP, gain: FloatArray) -> FloatArray:
    """Totals ``[A, rows, S]`` of each blind policy for ``gain [rows, S, A]``.

    Row 0 is a lower bound on the policy's total, whatever rounding did: with ``δ = max(α − Tα)`` found afterwards,
    ``α − δ/(1−γ)`` is below its own backup, hence below the fixed point. Where a gain is nowhere negative, as a
    cost is, its total is 0 exactly where none of it can ever be reached, and above 0 elsewhere, whatever rounding did.
    """
    vectors = np.empty((model.n_actions, len(gain), model.n_states))
    for a, moves in enumerate(model.transition):
        deadline.check()
        deadline.charge(_SOLVE * moves.nnz)
        vectors[a] = totals(model, before_the_end(model, moves), gain[:, :, a])
    return vectors


def class_policy_vectors(model: CPOMDP, action: IntArray, gain: FloatArray) -> FloatArray:
    """The same totals ``[rows, S]`` of the policy that takes ``action [S]``, alike within each class."""
    n, every = model.n_states, np.arange(model.n_states)
    rows = sp.vstack(model.transition, format="csr")[action * n + every]
    return totals(model, before_the_end(model, rows), gain[:, every, action])


def totals(model: CPOMDP, transition: sp.csr_array[np.float64], gain: FloatArray) -> FloatArray:
    """Totals ``[rows, S]`` of ``gain [rows, S]`` under one transition matrix, rounded as `blind_vectors` says."""
    gamma = model.discount
    vectors = _solved(transition, gamma, gain.T).T.copy()
    vectors[:, model.terminal] = 0.0  # pivoting leaves rounding there
    for row in range(1, len(gain)):
        if gain[row].min() >= 0:
            paid = gain[row] > 0
            reached = _reaches(transition, paid) if gamma > 0 else paid  # without a future only this step counts
            above_zero = min(_ABOVE_ZERO, _SHARE * float(gain[row].max()))
            vectors[row] = np.where(reached, np.maximum(vectors[row], above_zero), 0.0)
    excess = vectors[0] - (gain[0] + gamma * (transition @ vectors[0]))
    terms = int(np.diff(transition.indptr).max()) + 4
    rounding = _EPS * terms * (np.abs(vectors[0]).max() + np.abs(gain[0]).max())  # of this very check
    vectors[0] -= np.where(model.terminal, 0.0, max(0.0, float(excess.max()) + rounding) / model.fade)
    return vectors


def _solved(transition: sp.csr_array[np.float64], gamma: float, gain: FloatArray) -> FloatArray:
    """``x = gain + γ T x``; sparse factors of a matrix that is not sparse take many times as long as dense ones."""
    n = len(gain)
    if transition.nnz > _DENSE * n * n:
        return np.asarray(np.linalg.solve(np.eye(n) - gamma * transition.toarray(), gain))
    system = sp.csc_array(sp.identity(n, format="csc") - gamma * transition)
    return np.asarray(splu(system).solve(np.ascontiguousarray(gain)))


def blind_plans(model: CPOMDP) -> list[BlindPlan]:
    """The plan of each action, taken for ever, with its exact totals.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("tiger")
    >>> listen = blind_plans(model)[0]
    >>> listen.reward.round(9).tolist(), listen.cost.round(9).tolist(), listen.sure_cost.round(9).tolist()
    ([-4.0, -4.0], [[4.0, 4.0]], [4.0])
    """
    vectors = blind_vectors(model, np.concatenate([model.reward[None], model.cost]))
    reachable = _reachable(model)
    plans = []
    for a, rows in enumerate(vectors):
        expected = rows[1:] @ model.initial_belief
        most = adding_up(model.cost[:, reachable, a].max(axis=1, initial=0.0), model.cost_fade)
        # What is never expected is never spent; else no step costs more than the worst state that can be reached.
        plans.append(BlindPlan(a, rows[0], rows[1:], np.where(expected <= 0, 0.0, most)))
    return plans


def _reaches(transition: sp.csr_array[np.float64], goal: BoolArray) -> BoolArray:
    """States from which one of the goals can be reached, they themselves included."""
    n = len(goal)
    backward: Any = sp.csr_array(transition).T.tocsr()
    start: Any = sp.csr_array(
        (np.ones(int(goal.sum())), (np.zeros(int(goal.sum()), dtype=np.int64), np.flatnonzero(goal))), (1, n)
    )
    corner: Any = sp.csr_array((n + 1, 1))
    graph = sp.hstack([sp.vstack([backward, start]), corner], format="csr")
    reached = np.zeros(n + 1, dtype=bool)
    reached[breadth_first_order(graph, n, return_predecessors=False)] = True
    return reached[:n]


def blind_sure_costs(peak: FloatArray, seen_ptr: IntArray, seen_class: IntArray, discount: FloatArray) -> FloatArray:
    """Sure costs ``[n_classes, A, K]`` from above, given the largest costs ``peak [n_classes, A, K]``.

    ``seen_class[seen_ptr[c*A + a] : ...]`` are the classes that follow class c under action a.
    """
    n_classes, n_actions, _ = peak.shape
    action = np.tile(np.arange(n_actions), n_classes)
    follower = seen_class * n_actions + np.repeat(action, np.diff(seen_ptr))  # pair (class', a)
    return sure_costs(peak, seen_ptr, follower, discount)


def largest_sure_costs(peak: FloatArray, seen_ptr: IntArray, seen_class: IntArray, discount: FloatArray) -> FloatArray:
    """Largest sure cost from a class, ``[n_classes, K]``: ``w(c) = max_a peak(c, a) + β max_{c'} w(c')``."""
    n_actions = peak.shape[1]
    return sure_costs(peak.max(axis=1)[:, None], seen_ptr[::n_actions], seen_class, discount)[:, 0]


def sure_costs(peak: FloatArray, start: IntArray, follower: IntArray, discount: FloatArray) -> FloatArray:
    """``w = peak + β max w(follower)`` from above, for ``peak [., ., K]``; entry i is followed from ``start[i]`` on.

    With β = 1 it is infinite where a cost can recur for ever, and the exact sum elsewhere.
    """
    n_costs = peak.shape[2]
    if n_costs == 0:
        return peak

    def worst_follower(values: FloatArray) -> FloatArray:
        flat = values.reshape(-1, n_costs)
        worst: FloatArray = np.maximum.reduceat(flat[follower], start[:-1], axis=0)
        return worst.reshape(values.shape)

    # Where no cost can ever follow, the sure cost is 0 exactly; iteration from above would only come near.
    costly = (peak > 0).astype(np.float64)
    for _ in range(_SWEEPS):
        deadline.check()
        reached = np.maximum(costly, worst_follower(costly))
        if (reached == costly).all():
            break
        costly = reached
    else:
        costly[:] = 1.0
    # What leads to a step that is out of the question is so itself; nothing else may start from infinity.
    lost = np.isinf(peak).astype(np.float64)
    while not np.array_equal(reached := np.maximum(lost, worst_follower(lost)), lost):
        lost = reached
    peak = np.where(np.isinf(peak), 0.0, peak)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = peak.max(axis=(0, 1), initial=0.0) / (1 - discount)
        sure: FloatArray = np.where(costly > 0, most, 0.0)
    for _ in range(_SWEEPS):
        deadline.check()
        lower = np.minimum(sure, peak + discount * worst_follower(sure))
        settled = (sure == lower) | (lower >= (1 - 1e-12) * np.where(np.isfinite(sure), sure, np.inf))
        if settled.all():
            break
        sure = lower
    return np.where(lost > 0, np.inf, sure)


def _reachable(model: CPOMDP) -> BoolArray:
    classes = observability_classes(model)
    return np.asarray(classes.reachable[classes.class_of])
