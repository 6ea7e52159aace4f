"""Beliefs over a model: Bayes' rule, observation probabilities, expected reward and cost.

A belief is sparse. Functions take a `Belief`, a vector over all states, or ``{label: probability}``; actions
and observations by index or label.

>>> import rcpomdp as rc
>>> model = rc.problems.make("tiger")
>>> b = rc.beliefs.initial(model)
>>> b = rc.beliefs.update(model, b, "listen", "hear-left")
>>> b.probabilities.round(3).tolist()
[0.85, 0.15]
>>> rc.beliefs.expected_reward(model, b, "listen")
-1.0
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._types import FloatArray, IndexArray
from ..errors import InputError, ModelError
from ..kernels import belief as kernels
from . import CPOMDP
from .validation import ROW_TOLERANCE


class Belief(NamedTuple):
    """A probability distribution over states, by its support."""

    states: IndexArray  # [m] increasing
    probabilities: FloatArray  # [m] positive, summing to 1

    def dense(self, n_states: int) -> FloatArray:
        """The belief as a vector over all states."""
        vector = np.zeros(n_states)
        vector[self.states] = self.probabilities
        return vector


class Branch(NamedTuple):
    """An observation that may follow an action: its probability, and the belief after it."""

    observation: int
    probability: float  # p(o | b, a) > 0
    belief: Belief


def from_dense(vector: FloatArray) -> Belief:
    """The sparse form of a probability vector."""
    support = np.flatnonzero(vector).astype(np.int32)
    return Belief(support, np.ascontiguousarray(vector[support], dtype=np.float64))


def initial(model: CPOMDP) -> Belief:
    """b_0."""
    return from_dense(model.initial_belief)


def as_belief(model: CPOMDP, belief: Belief | Mapping[Any, float] | Any) -> Belief:
    """A `Belief` from any of its forms; one that is no distribution over the states raises a ModelError."""
    if not isinstance(belief, Belief):
        return initial(model.with_initial_belief(belief))
    states, p = np.asarray(belief.states), np.asarray(belief.probabilities)
    if states.dtype.kind not in "iu" or p.dtype.kind != "f" or states.ndim != 1 or states.shape != p.shape:
        raise ModelError("a belief is a vector of states and one of probabilities, of the same length")
    if not states.size or states[0] < 0 or states[-1] >= model.n_states or (np.diff(states) <= 0).any():
        raise ModelError(f"the states of a belief must increase from 0 at least to {model.n_states - 1} at most")
    if not (p > 0).all() or not abs(p.sum() - 1) <= ROW_TOLERANCE:
        raise ModelError(f"the probabilities of a belief must be above 0 and sum to 1, not to {p.sum():.12g}")
    return Belief(states.astype(np.int32, copy=False), p.astype(np.float64, copy=False))


def update(model: CPOMDP, belief: Any, action: Any, observation: Any) -> Belief:
    """``b'(s') ∝ Z(s', a, o) Σ_s T(s, a, s') b(s)`` (Eq. 1)."""
    a, o = model.actions.resolve(action), model.observations.resolve(observation)
    return posterior(model, as_belief(model, belief), a, o)


def posterior(model: CPOMDP, belief: Belief, a: int, o: int) -> Belief:
    """`update` for arguments that are known to be good."""
    states = np.empty(model.n_states, dtype=np.int32)
    probs = np.empty(model.n_states)
    size, p = kernels.update(model.arrays, *belief, a, o, *_scratch(model), states, probs)
    if p == 0:
        raise InputError(
            f"observation {model.observations[o]!r} is impossible after action {model.actions[a]!r} in this belief"
        )
    return Belief(states[:size].copy(), probs[:size].copy())


def observation_probabilities(model: CPOMDP, belief: Any, action: Any) -> FloatArray:
    """p(o | b, a) for every observation, [O]."""
    a = model.actions.resolve(action)
    p = np.empty(model.n_observations)
    kernels.observation_probabilities(model.arrays, *as_belief(model, belief), a, *_scratch(model), p)
    return p


def branches(model: CPOMDP, belief: Any, action: Any) -> list[Branch]:
    """Every observation that can follow, its probability and the belief it leads to."""
    a = model.actions.resolve(action)
    p = np.empty(model.n_observations)
    start = np.empty(model.n_observations + 1, dtype=np.int64)
    states, probs = kernels.branch(model.arrays, *as_belief(model, belief), a, *_scratch(model), p, start)
    return [
        Branch(int(o), float(p[o]), Belief(states[start[o] : start[o + 1]], probs[start[o] : start[o + 1]]))
        for o in np.flatnonzero(p)
    ]


def expected_reward(model: CPOMDP, belief: Any, action: Any) -> float:
    """``R(b, a) = Σ_s b(s) R(s, a)``."""
    a = model.actions.resolve(action)
    b = as_belief(model, belief)
    return float(kernels.expectation(model.reward, a, *b))


def expected_cost(model: CPOMDP, belief: Any, action: Any) -> FloatArray:
    """``C_k(b, a) = Σ_s b(s) C_k(s, a)``, [K]."""
    a = model.actions.resolve(action)
    b = as_belief(model, belief)
    return np.array([kernels.expectation(c, a, *b) for c in model.cost])


def _scratch(model: CPOMDP) -> tuple[FloatArray, IndexArray]:
    return np.zeros(model.n_states), np.empty(model.n_states, dtype=np.int32)
