"""Policies over beliefs and what is left of the budget: draw from the best lottery over α-vectors.

At belief b with d left the policy draws a vector from the lottery that maximises ``Σ x_i α_r,i·b`` subject to
``Σ x_i α_c,i·b ≤ d`` (`policies.lottery`), takes its action a, and goes on with ``d' = (d − C(b, a)) / γ`` (Kim et al.,
Point-Based Value Iteration for Constrained POMDPs, IJCAI 2011). The next step draws anew, so that the vectors' own
promises need not come true.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._types import FloatArray
from ..errors import PolicyError
from ..model import CPOMDP, beliefs
from ..model.beliefs import Belief
from ..model.remaining_budget import left_after
from ..model.validation import real_array
from ..views import notebook
from .base import observed, whole_numbers
from .lottery import best_lottery

_KEYS = 2**63  # of the draws of a run


class BudgetedState(NamedTuple):
    """The place of a run, and the action it takes there."""

    belief: Belief
    left: tuple[float, ...]  # [K] budget left; below 0 if more was spent
    action: int
    step: int
    key: int  # of the run's draws


class BudgetedAlphaPolicy:
    """Act by the best lottery over α-vectors that keeps what is left of the budget.

    Parameters
    ----------
    vectors : [n, 1 + K, S] reward and costs to come, of each vector
    actions : [n] action of each vector
    budget : [K] to start with; inf is unlimited
    mixed : False takes the best single vector within the budget instead of a lottery
    """

    def __init__(self, model: CPOMDP, vectors: Any, actions: Any, budget: Any, mixed: bool = True) -> None:
        self.model = model
        self.vectors: FloatArray = real_array(vectors, "vectors").copy()
        self.actions = whole_numbers(actions, "actions of the vectors")
        self.budget: FloatArray = np.array(budget, dtype=np.float64).reshape(-1)
        self.mixed = bool(mixed)
        n, shape = self.actions.size, (self.actions.size, 1 + model.n_costs, model.n_states)
        if n == 0 or self.actions.ndim != 1 or self.vectors.shape != shape:
            raise PolicyError(f"{n} actions need vectors of shape {shape}, not {self.vectors.shape}")
        for i in np.flatnonzero((self.actions < 0) | (self.actions >= model.n_actions)):
            raise PolicyError(f"vector {i} takes action {self.actions[i]}, which the model does not have")
        for i, _, s in np.argwhere(~np.isfinite(self.vectors)):
            raise PolicyError(f"vector {i} is not finite at state {model.states[int(s)]!r}")
        if self.budget.shape != (model.n_costs,) or np.isnan(self.budget).any():
            raise PolicyError(f"the budget is {self.budget.tolist()}, not one number per cost")
        for array in (self.vectors, self.actions, self.budget):
            array.setflags(write=False)

    def promise(self) -> tuple[float, FloatArray]:
        """Reward and costs [K] that the vectors promise at the start; later steps choose anew and need not keep it."""
        b = beliefs.initial(self.model)
        values = self.vectors[:, :, b.states] @ b.probabilities
        drawn, weights = best_lottery(values, self.budget, self.mixed)
        reward, *cost = weights @ values[drawn]
        return float(reward), np.array(cost)

    def choices(self, belief: Belief, left: tuple[float, ...]) -> list[tuple[int, float]]:
        """Every action that may be taken with what is left, and its probability."""
        values = self.vectors[:, :, belief.states] @ belief.probabilities
        drawn, weights = best_lottery(values, np.array(left), self.mixed)
        chance: dict[int, float] = {}
        for action, weight in zip(self.actions[drawn].tolist(), weights.tolist(), strict=True):
            chance[action] = chance.get(action, 0.0) + weight
        return list(chance.items())

    def left_after(self, belief: Belief, left: tuple[float, ...], action: int) -> tuple[float, ...]:
        """``d' = (d − C(b, a)) / γ``."""
        spent = self.model.cost[:, belief.states, action] @ belief.probabilities
        return tuple(left_after(left, spent, self.model.cost_discount).tolist())

    def _at(self, belief: Belief, left: tuple[float, ...], step: int, key: int) -> BudgetedState:
        choices = self.choices(belief, left)
        action = choices[-1][0]
        if len(choices) > 1:
            u = np.random.default_rng((key, step)).random()
            for choice, weight in choices:
                u -= weight
                if u < 0:
                    action = choice
                    break
        return BudgetedState(belief, left, action, step, key)

    def initial(self, rng: np.random.Generator) -> BudgetedState:
        """The initial belief with the whole budget."""
        key = int(rng.integers(_KEYS)) if self.mixed else 0
        return self._at(beliefs.initial(self.model), tuple(self.budget.tolist()), 0, key)

    def action(self, state: BudgetedState) -> int:
        """The action that was drawn."""
        return state.action

    def update(self, state: BudgetedState, observation: int) -> BudgetedState:
        """Bayes' rule, and what is left."""
        o = observed(observation, self.model.n_observations)
        belief = beliefs.posterior(self.model, state.belief, state.action, o)
        left = self.left_after(state.belief, state.left, state.action)
        return self._at(belief, left, state.step + 1, state.key)

    def __repr__(self) -> str:
        return f"BudgetedAlphaPolicy({self.actions.size} vectors)"

    def _repr_html_(self) -> str:
        return notebook.policy(self, [("vectors", self.actions.size)])
