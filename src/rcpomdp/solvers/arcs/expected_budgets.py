"""Bounds for budgets that need be kept in expectation alone, where beliefs are few: ``V*(b, d) ≤ min_λ V_λ(b) + λ·d``.

V_λ is the optimum for ``R − λ·C`` without a budget, by policy iteration over beliefs. What rounding leaves open is
added: ``V_λ ≤ x + max (Tx − x)⁺ / (1 − γ)`` for any x. The multipliers are those that are best at the first belief.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ... import deadline
from ..._types import FloatArray
from ...kernels.arcs.few_beliefs import SNAP, BeliefMDP, Grid

_OCTAVES = tuple(map(float, range(-6, 7)))  # powers of 2 to try first, in units of what a budget is worth on average
_HALVINGS = 10  # of the step by which the best of them is varied
_ITERATIONS = 50  # of a policy; any will do
_NOTHING = 1e-9  # relative: a better action by less is none


class ExpectedBudgets(NamedTuple):
    """Values at each belief under some multipliers."""

    multiplier: FloatArray  # [L, K]
    value: FloatArray  # [L, N] V_λ

    def at(self, grid: Grid) -> FloatArray:
        """The least bound at each belief and level of a grid, [N, levels]."""
        levels = np.meshgrid(*(row[:n] for row, n in zip(grid.value, grid.counts, strict=True)), indexing="ij")
        least = np.full((self.value.shape[1], levels[0].size), np.inf)
        for multiplier, value in zip(self.multiplier, self.value, strict=True):
            allowance = sum(m * d.ravel() for m, d in zip(multiplier, levels, strict=True)) * (1 + 2 * SNAP)
            np.minimum(least, value[:, None] + allowance, out=least)
        return least


def expected_budgets(mdp: BeliefMDP, budget: FloatArray) -> ExpectedBudgets | None:
    """Bounds for budgets [K] of the first belief; None where costs are not discounted as the reward is."""
    if (mdp.cost_discount != mdp.discount).any() or not (budget > 0).any():
        return None
    priced = _Priced(mdp, budget)
    priced.value_at(np.zeros(len(budget)))
    worth = float(priced.values[0][0] - mdp.value[0].min())
    if worth <= 0:
        return None
    some = np.flatnonzero(budget > 0)
    for direction in [np.eye(len(budget))[some], np.eye(len(budget))[some].sum(axis=0)[None]][: len(some)]:
        for unit in worth * direction / np.where(budget > 0, budget, 1.0):
            best = min(_OCTAVES, key=lambda power: priced.value_at(2.0**power * unit))
            for halving in range(1, _HALVINGS + 1):
                near = (best, best - 0.5**halving, best + 0.5**halving)
                best = min(near, key=lambda power: priced.value_at(2.0**power * unit))
                if deadline.hurry():
                    break
    return ExpectedBudgets(np.array(priced.multipliers), np.array(priced.values))


class _Priced:
    """Values under the multipliers that were asked for."""

    def __init__(self, mdp: BeliefMDP, budget: FloatArray) -> None:
        self.mdp, self.budget = mdp, budget
        self.n, self.n_actions = mdp.reward.shape
        self.step = sp.csr_array((mdp.chance, mdp.child, mdp.first), shape=(self.n * self.n_actions, self.n))
        self.actions = mdp.reward.argmax(axis=1)  # of the policy that was best last
        self.multipliers: list[FloatArray] = []
        self.values: list[FloatArray] = []
        self._known: dict[bytes, float] = {}

    def value_at(self, multiplier: FloatArray) -> float:
        """The bound at the first belief with the whole budget."""
        key = multiplier.tobytes()
        if key not in self._known:
            value = self._optimum(self.mdp.reward - self.mdp.cost @ multiplier)
            self.multipliers.append(multiplier)
            self.values.append(value)
            self._known[key] = float(value[0] + multiplier @ self.budget)
        return self._known[key]

    def _optimum(self, gain: FloatArray) -> FloatArray:
        """Values of the best policy for a gain [N, A], from above."""
        gamma, every = self.mdp.discount, np.arange(self.n)
        for _ in range(_ITERATIONS):
            chosen = self.step[every * self.n_actions + self.actions]
            system = sp.csc_array(sp.identity(self.n, format="csc") - gamma * chosen)
            value: FloatArray = splu(system).solve(gain[every, self.actions])
            better = gain + gamma * (self.step @ value).reshape(gain.shape)
            excess = better.max(axis=1) - value
            if excess.max() <= _NOTHING * (1 - gamma) * max(1.0, float(np.abs(value).max())):
                break
            self.actions = np.where(excess > 0, better.argmax(axis=1), self.actions)
        return value + max(float(excess.max()), 0.0) / (1 - gamma)
