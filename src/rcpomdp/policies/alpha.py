"""Policies over beliefs: act by the α-vector with the largest value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._types import FloatArray
from ..errors import PolicyError
from ..kernels.simulation.rollout import ALPHA, best_vector
from ..model import CPOMDP, beliefs
from ..model.beliefs import Belief
from ..model.validation import real_array
from ..views import notebook
from .base import Batch, observed, program, whole_numbers


class AlphaState(NamedTuple):
    """A belief and the action taken there."""

    belief: Belief
    action: int


class AlphaPolicy:
    """``π(b) = action of argmax_i α_i·b``, the first of equals.

    Parameters
    ----------
    vectors : [n, S]
    actions : [n] action of each vector
    """

    def __init__(self, model: CPOMDP, vectors: Any, actions: Any) -> None:
        self.model = model
        self.vectors: FloatArray = real_array(vectors, "vectors").copy()
        self.actions = whole_numbers(actions, "actions of the vectors")
        n = self.actions.size
        if n == 0 or self.actions.ndim != 1 or self.vectors.shape != (n, model.n_states):
            raise PolicyError(f"{n} actions need vectors of shape ({n}, {model.n_states}), not {self.vectors.shape}")
        for i in np.flatnonzero((self.actions < 0) | (self.actions >= model.n_actions)):
            raise PolicyError(f"vector {i} takes action {self.actions[i]}, which the model does not have")
        for i, s in np.argwhere(~np.isfinite(self.vectors)):
            raise PolicyError(f"vector {i} is not finite at state {model.states[int(s)]!r}")
        for array in (self.vectors, self.actions):
            array.setflags(write=False)
        states = np.arange(model.n_states)
        self._program = program(
            ALPHA,
            action=self.actions,
            values=np.ascontiguousarray(self.vectors.T).ravel(),
            start=states * n,
            size=np.full_like(states, n),
            first=np.zeros_like(states),
        )

    def value(self, belief: Any) -> float:
        """``max_i α_i·b``."""
        b = beliefs.as_belief(self.model, belief)
        return float((self.vectors[:, b.states] @ b.probabilities).max())

    def at(self, belief: Any) -> AlphaState:
        """The state of the policy at a belief."""
        return self._at(beliefs.as_belief(self.model, belief))

    def _at(self, b: Belief) -> AlphaState:
        i = best_vector(self._program, b.states, b.probabilities, np.empty(self.actions.size))
        return AlphaState(b, int(self.actions[i]))

    def initial(self, rng: np.random.Generator) -> AlphaState:
        """The initial belief."""
        return self._at(beliefs.initial(self.model))

    def action(self, state: AlphaState) -> int:
        """The action of the best vector."""
        return state.action

    def update(self, state: AlphaState, observation: int) -> AlphaState:
        """Bayes' rule."""
        o = observed(observation, self.model.n_observations)
        return self._at(beliefs.posterior(self.model, state.belief, state.action, o))

    def batches(self, states: Sequence[AlphaState], model: CPOMDP) -> list[Batch]:
        """One batch of all runs.

        It follows the beliefs of the model that is simulated; the policy follows those of its own. If that is
        another model, the runs go through the protocol.
        """
        n = len(states)
        same = model.arrays is self.model.arrays or model.fingerprint == self.model.fingerprint
        return [Batch(np.arange(n), self._program if same else None, np.zeros(n, dtype=np.int64))]

    def __repr__(self) -> str:
        return f"AlphaPolicy({self.actions.size} vectors)"

    def _repr_html_(self) -> str:
        return notebook.policy(self, [("vectors", self.actions.size)])


def qmdp(model: CPOMDP) -> AlphaPolicy:
    """Greedy in the value that knowing the state from the next step on would have (QMDP).

    It never acts to learn: where waiting costs little it may wait for ever, as it does on RockSample.
    """
    from ..bounds import mdp_q_values

    return AlphaPolicy(model, mdp_q_values(model).T, np.arange(model.n_actions))


def fib(model: CPOMDP) -> AlphaPolicy:
    """Greedy in the fast informed bound; like QMDP where transitions are deterministic."""
    from ..bounds import fib_vectors

    return AlphaPolicy(model, fib_vectors(model), np.arange(model.n_actions))
