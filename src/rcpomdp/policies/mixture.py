"""A mixture of policies: one is drawn at the start of a run and followed throughout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._types import FloatArray
from ..errors import PolicyError
from ..model import CPOMDP
from ..views import notebook
from .base import Batch, Policy, batches


class MixtureState(NamedTuple):
    """The policy that was drawn, and its own state."""

    drawn: int
    state: Any


class MixturePolicy:
    """Follow policy i with probability ``weights[i]``, drawn once per run."""

    def __init__(self, policies: Sequence[Policy[Any]], weights: Any) -> None:
        self.policies = tuple(policies)
        self.weights: FloatArray = np.array(weights, dtype=np.float64)
        if self.weights.shape != (len(self.policies),) or not self.policies:
            raise PolicyError(f"{len(self.policies)} policies need as many weights, not {self.weights.size}")
        for i in np.flatnonzero(~(self.weights >= 0)):
            raise PolicyError(f"weight {i} of the mixture is {self.weights[i]:.12g}, which is no probability")
        total = float(self.weights.sum())
        if not abs(total - 1) <= 1e-6:
            raise PolicyError(f"the weights of the mixture sum to {total:.12g}, not 1")
        self._cumulative = np.cumsum(self.weights / total)

    def initial(self, rng: np.random.Generator) -> MixtureState:
        """Draw a policy, and its first state."""
        i = int(np.searchsorted(self._cumulative, rng.random(), side="right"))
        i = min(i, int(np.flatnonzero(self.weights)[-1]))
        return MixtureState(i, self.policies[i].initial(rng))

    def action(self, state: MixtureState) -> int:
        """The drawn policy's action."""
        return self.policies[state.drawn].action(state.state)

    def update(self, state: MixtureState, observation: int) -> MixtureState:
        """The drawn policy's update."""
        return MixtureState(state.drawn, self.policies[state.drawn].update(state.state, observation))

    def batches(self, states: Sequence[MixtureState], model: CPOMDP) -> list[Batch]:
        """The batches of each policy that was drawn."""
        drawn = np.array([state.drawn for state in states], dtype=np.int64)
        found = []
        for i in sorted(set(drawn.tolist())):
            runs = np.flatnonzero(drawn == i)
            for batch in batches(self.policies[i], [states[run].state for run in runs.tolist()], model):
                found.append(batch._replace(runs=runs[batch.runs]))
        return found

    def __repr__(self) -> str:
        return f"MixturePolicy({len(self.policies)} policies)"

    def _repr_html_(self) -> str:
        return notebook.policy(self, [(f"{w:.6g}", p) for w, p in zip(self.weights, self.policies, strict=True)])
