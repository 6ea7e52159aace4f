"""Dense references of the informed bounds over budget levels: one application of each operator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcpomdp.bounds.informed import Levels, budget_levels
from rcpomdp.bounds.one_step import OneStep, one_step_beliefs
from rcpomdp.model.classes import in_class_order, observability_classes
from reference import dense
from strategies import Dense

NOT_ALLOWED = -1


class Case(NamedTuple):
    """A model in class order with levels."""

    dense: Dense
    gain: np.ndarray  # [S, A]
    floor: np.ndarray  # [n_classes, A]
    levels: Levels
    one_step: OneStep


def ordered(case: Dense, values: np.ndarray, price: float) -> Case:
    """A model in class order, the objective R − price·C, and levels of its first cost."""
    classes = observability_classes(case.model)
    model = in_class_order(case.model, classes)
    cost = model.cost[0] if model.n_costs else np.zeros_like(model.reward)
    floor = np.minimum.reduceat(cost, classes.start[:-1], axis=0)
    levels = budget_levels(values, floor, classes.class_of[classes.order], model.discount)
    one_step = one_step_beliefs(model, levels.class_of)
    assert one_step is not None
    return Case(dense(model), model.reward - price * cost, floor, levels, one_step)


def step(case: Case, cls: int, a: int, level: int) -> int:
    """The level that an action leads to, by the definition, or NOT_ALLOWED."""
    d, c, gamma = case.levels.values[level], case.floor[cls, a], case.dense.model.discount
    if d < c * (1 - 1e-12):
        return NOT_ALLOWED
    left = max(0.0, d - c) / gamma if gamma else np.inf
    return next(i for i, value in enumerate(case.levels.values) if value >= left * (1 - 1e-13))


def backup(case: Case, q: np.ndarray, level: int, cls: int, gain: np.ndarray, follows: list[np.ndarray]) -> np.ndarray:
    """``g_a + γ Σ_o max_a' Σ_j w_oj q[l', j, a']`` for all actions; ``follows[a] [O, n]`` are the weights."""
    out = np.full(len(gain), -np.inf)
    for a, weights in enumerate(follows):
        up = step(case, cls, a, level)
        if up != NOT_ALLOWED:
            rows = [w[w > 0] @ q[up][w > 0] for w in weights if w.any()]
            out[a] = gain[a] + case.dense.model.discount * sum(row.max() for row in rows)
    return out


def mdp_step(case: Case, v: np.ndarray) -> np.ndarray:
    """One application to V [L, S]."""
    T, n = case.dense.T, v.shape[1]
    out = np.empty_like(v)
    for level in range(len(v)):
        for s in range(n):
            follows = [np.diag(t[s]) for t in T]
            q = np.repeat(v[:, :, None], len(T), axis=2)
            out[level, s] = backup(case, q, level, case.levels.class_of[s], case.gain[s], follows).max()
    out[:, case.dense.model.terminal] = 0.0
    return out


def fib_step(case: Case, f: np.ndarray) -> np.ndarray:
    """One application to F [L, S, A]."""
    T, Z = case.dense.T, case.dense.Z
    out = np.empty_like(f)
    for level in range(len(f)):
        for s in range(f.shape[1]):
            follows = [(t[s][:, None] * z).T for t, z in zip(T, Z, strict=True)]
            out[level, s] = backup(case, f, level, case.levels.class_of[s], case.gain[s], follows)
    out[:, case.dense.model.terminal] = 0.0
    return out


def dense_beliefs(case: Case) -> np.ndarray:
    """The one-step beliefs [n, S]."""
    x = case.one_step
    out = np.zeros((x.n_beliefs, len(case.gain)))
    out[np.repeat(np.arange(x.n_beliefs), np.diff(x.start)), x.state] = x.weight
    return out


def tib_follows(case: Case, b: np.ndarray) -> list[np.ndarray]:
    """``w[a][o, j] = Σ {b(s) P(o | s, a) : b_sao = j}`` of a dense belief."""
    x, n = case.one_step, len(case.gain)
    found = []
    for a, z in enumerate(case.dense.Z):
        weights = np.zeros((z.shape[1], x.n_beliefs))
        for s in np.flatnonzero(b):
            for e in range(x.ptr[a * n + s], x.ptr[a * n + s + 1]):
                weights[x.obs[e], x.belief[e]] += b[s] * x.prob[e]
        found.append(weights)
    return found


def tib_step(case: Case, q: np.ndarray) -> np.ndarray:
    """One application to Q [L, n, A]."""
    points = dense_beliefs(case)
    out = np.empty_like(q)
    for i, b in enumerate(points):
        cls = case.levels.class_of[np.flatnonzero(b)[0]]
        for level in range(len(q)):
            out[level, i] = backup(case, q, level, cls, b @ case.gain, tib_follows(case, b))
    out[:, points @ case.dense.model.terminal >= 1 - 1e-12] = 0.0
    return out


def corner_step(case: Case, q: np.ndarray) -> np.ndarray:
    """``g(s, a) + γ Σ_o max_a' P(o | s, a) Q(b_sao, l', a')`` [L, S, A]."""
    eye = np.eye(len(case.gain))
    out = np.empty((len(q), *case.gain.shape))
    for s, b in enumerate(eye):
        for level in range(len(q)):
            cls = case.levels.class_of[s]
            out[level, s] = backup(case, q, level, cls, case.gain[s], tib_follows(case, b))
    out[:, case.dense.model.terminal] = 0.0
    return out


def fixed_point(operator: object, case: Case, start: np.ndarray, sweeps: int = 400) -> np.ndarray:
    """What an operator's iteration leads to."""
    assert callable(operator)
    for _ in range(sweeps):
        new = operator(case, start)
        if np.array_equal(new, start):
            break
        start = new
    return start
