"""Uniformly random actions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import PolicyError
from ..kernels.simulation.rollout import RANDOM, next_memory, random_action
from ..model import CPOMDP
from ..views import notebook
from .base import Batch, program


class RandomPolicy:
    """Each action with the same probability at every step.

    The state is a counter, drawn once per run, from which every action is mixed: no generator is carried
    along, so a run can be branched and repeated.
    """

    def __init__(self, model: CPOMDP) -> None:
        self.n_actions = model.n_actions
        self._program = program(RANDOM)

    def initial(self, rng: np.random.Generator) -> int:
        """A fresh counter."""
        return int(rng.integers(0, 2**63))

    def action(self, state: int) -> int:
        """The action that the counter stands for."""
        return int(random_action(state, self.n_actions))

    def update(self, state: int, observation: int) -> int:
        """The next counter."""
        return int(next_memory(self._program, state, observation))

    def batches(self, states: Sequence[int], model: CPOMDP) -> list[Batch]:
        """One batch of all runs."""
        if self.n_actions != model.n_actions:
            raise PolicyError("the random policy was made for a model with other actions")
        return [Batch(np.arange(len(states)), self._program, np.array(states, dtype=np.int64))]

    def __repr__(self) -> str:
        return "RandomPolicy()"

    def _repr_html_(self) -> str:
        return notebook.policy(self, [("any of", f"{self.n_actions} actions")])
