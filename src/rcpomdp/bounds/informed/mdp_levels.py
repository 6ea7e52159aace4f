"""The MDP's bound over budget levels: the state is known at once."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ...deadline import PRODUCT, charge
from ...kernels.arrays import ModelArrays
from ...kernels.bounds import level_sweeps
from ...kernels.bounds.level_sweeps import Points
from ...model import CPOMDP
from ..mdp import mdp_q_values
from ..one_step import OneStep
from .effort import FULL_EFFORT, Effort
from .levels import Levels, leads_to, monotone, peak
from .sweeps import SLICE

STATE_SLACK = 4.0


def mdp_over_levels(model: CPOMDP, gain: FloatArray, levels: Levels, effort: Effort = FULL_EFFORT) -> FloatArray:
    """V[l, s] of the relaxation's MDP, from above: for every belief, ``V̄(b, l) ≤ Σ_s b(s) V(l, s)``.

    The model is in class order, ``gain [S, A]``. The unlimited level is `mdp_q_values`; each level starts from the one
    above it, sweeps run from the top down, and every value is rounded up: a bound wherever it stops.

    >>> import rcpomdp as rc
    >>> from rcpomdp.bounds.informed import no_levels
    >>> model = rc.problems.make("tiger")  # opening the right door pays 10 and costs nothing
    >>> mdp_over_levels(model, model.reward, no_levels(model)).round(6).tolist()
    [[40.0, 40.0]]
    """
    m, gamma = model.arrays._replace(reward=gain), model.discount
    n_levels, n = len(levels.values), model.n_states
    value = np.tile(mdp_q_values(model._changed(arrays=m)).max(axis=1), (n_levels, 1))
    largest = np.abs(value).max(axis=1)
    settled, fall = effort.tolerance(model, gain), np.full(n_levels, np.inf)
    successors = leads_to(levels)
    chunk = max(1, SLICE * n // max(1, len(m.t_next)))
    for sweep in range(effort.max_sweeps):
        due = successors @ (fall > settled) | (sweep == 0)  # no step at all may lead from a level
        due[-1] = False
        if not due.any():
            break
        for level in np.flatnonzero(due)[::-1]:
            fall[level] = 0.0
            for first in range(0, n, chunk):
                charge(PRODUCT * len(m.t_next) * min(chunk, n) / n)
                if effort.over():
                    return monotone(value)
                level_sweeps.mdp_levels(
                    m,
                    levels.class_of,
                    model.terminal,
                    levels.steps,
                    gamma,
                    value,
                    largest,
                    STATE_SLACK,
                    fall,
                    level,
                    first,
                    min(first + chunk, n),
                    sweep % 2 == 1,
                )
        fall[~due] = 0.0
    return monotone(value)


def mdp_q_over_levels(model: CPOMDP, gain: FloatArray, levels: Levels, value: FloatArray) -> FloatArray:
    """Q[l, s, a] of the relaxation's MDP from `mdp_over_levels`; −inf where an action is not allowed."""
    return _values(points_of(model, gain, levels), model.arrays._replace(reward=gain), levels, model.discount, value)


def points_of(model: CPOMDP, gain: FloatArray, levels: Levels) -> Points:
    """The states as points."""
    return Points(levels.class_of, gain, model.terminal, STATE_SLACK)


def point_values(
    model: CPOMDP, points: Points, levels: Levels, step: OneStep, value: FloatArray, slack: float
) -> FloatArray:
    """Q[l, e, a] of points from ``value [L, n]`` of the beliefs that one step leads to; −inf where not allowed."""
    m = model.arrays._replace(t_ptr=step.ptr, t_next=step.belief, t_prob=step.prob, reward=points.gain)
    return _values(points._replace(slack=slack), m, levels, model.discount, value)


def _values(points: Points, m: ModelArrays, levels: Levels, discount: float, value: FloatArray) -> FloatArray:
    """Q[l, e, a] from ``value [L, n]`` of the successors that `m` names."""
    q = np.empty((len(levels.values), *points.gain.shape))
    largest = np.array([peak(level) for level in value])
    level_sweeps.mdp_q_levels(m, points.cls, points.ended, levels.steps, discount, value, largest, points.slack, q)
    return q
