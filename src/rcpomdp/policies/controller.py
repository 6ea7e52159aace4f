"""Finite-state controllers, of which a blind policy is the smallest."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, cast

import numpy as np

from ..errors import PolicyError
from ..kernels.simulation.rollout import CONTROLLER
from ..model import CPOMDP
from ..views import notebook
from .base import Batch, observed, program, whole_numbers


class ControllerPolicy:
    """A graph whose nodes hold an action and a successor for each observation.

    Parameters
    ----------
    action : [n] action of each node
    successor : [n, O] node that follows each observation
    start : node of the first step
    """

    def __init__(self, model: CPOMDP, action: Any, successor: Any, start: int = 0) -> None:
        self.actions = whole_numbers(action, "actions of a controller")
        self.successors = whole_numbers(successor, "successors of a controller")
        self.start = int(start)
        for array in (self.actions, self.successors):
            array.setflags(write=False)
        n = self.actions.size
        if n == 0 or self.actions.ndim != 1 or self.successors.shape != (n, model.n_observations):
            raise PolicyError(
                f"a controller of {n} nodes needs successors of shape ({n}, {model.n_observations}), "
                f"not {self.successors.shape}"
            )
        for node in np.flatnonzero((self.actions < 0) | (self.actions >= model.n_actions)):
            raise PolicyError(f"node {node} takes action {self.actions[node]}, which the model does not have")
        for node, o in np.argwhere((self.successors < 0) | (self.successors >= n)):
            raise PolicyError(
                f"node {node} goes to node {self.successors[node, o]} after observation "
                f"{model.observations[int(o)]!r}, which does not exist"
            )
        if not 0 <= self.start < n:
            raise PolicyError(f"the controller starts at node {self.start}, which does not exist")

    def initial(self, rng: np.random.Generator) -> int:
        """The starting node."""
        return self.start

    def action(self, state: int) -> int:
        """The node's action."""
        return int(self.actions[state])

    def update(self, state: int, observation: int) -> int:
        """The node's successor."""
        return int(self.successors[state, observed(observation, self.successors.shape[1])])

    def batches(self, states: Sequence[int], model: CPOMDP) -> list[Batch]:
        """One batch of all runs."""
        if self.successors.shape[1] != model.n_observations or self.actions.max() >= model.n_actions:
            raise PolicyError("the controller was made for a model with other actions or observations")
        run = program(CONTROLLER, action=self.actions, successor=self.successors)
        return [Batch(np.arange(len(states)), run, np.array(states, dtype=np.int64))]

    def compressed(self, model: CPOMDP, loss: float = 0.0, time_limit: float = 60.0) -> ControllerPolicy:
        """A controller with fewer nodes that earns as much but for `loss`, verified; `rc.compress` tells more of it."""
        from ..compression import compress  # it stands on policies and on their verification

        return cast(ControllerPolicy, compress(model, self, loss, time_limit).policy)

    def __repr__(self) -> str:
        return f"ControllerPolicy({self.actions.size} nodes)"

    def _repr_html_(self) -> str:
        return notebook.policy(self, [("nodes", self.actions.size), ("starts at node", self.start)])


def blind(model: CPOMDP, action: Hashable) -> ControllerPolicy:
    """The policy that takes one action for ever, given by its label or index.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("tiger")
    >>> rc.policies.blind(model, "listen").action(0)
    0
    """
    successors = np.zeros((1, model.n_observations), dtype=np.int64)
    return ControllerPolicy(model, [model.actions.resolve(action)], successors)
