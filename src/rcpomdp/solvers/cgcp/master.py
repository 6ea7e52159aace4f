"""The master program of column generation: mix policies that are known.

Over policies with rewards v_i and expected costs c_i, two phases of the mixing program (`rcpomdp.lp`),

    1.  min t            s.t.  Σ x_i c_ik − s_k t ≤ ĉ_k,  Σ x_i = 1,  x, t ≥ 0
    2.  max Σ x_i v_i    s.t.  Σ x_i c_ik ≤ ĉ_k,          Σ x_i = 1,  x ≥ 0

The first asks for a mixture within the budgets and ends once t is zero. The duals λ ≥ 0 of the budget rows say which
policy is next: one with ``v − λ·c`` (in phase 1: ``−λ·c``) above the *threshold*, the dual of ``Σ x_i = 1``, improves
the mixture.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import FloatArray
from ...lp import MOST_UNITS, MixingProgram

_TOLERANCE = 1e-10  # of the LP, after scaling
_POOR_TOLERANCE = 1e-8  # where that cannot be met
_MOST_LOSS = 1e-6  # of reward, for a cost that is above its budget by rounding
_LEAST_WEIGHT = 1e-11  # a smaller one is rounding of none
_LEAST_UNITS = 1e-3  # a cost below so many units becomes the unit where the budget is 0


class Mixture(NamedTuple):
    """Weights over the columns, and what they come to."""

    weights: FloatArray  # [n]
    reward: float
    cost: FloatArray  # [K]


class Master:
    """The linear program over the columns added so far.

    Parameters
    ----------
    budget : ĉ [K]; those that are infinite have no row
    limit : [K] the budget and a tolerance for rounding: what is within it is feasible
    reward_scale : size of rewards, which sets the LP's unit for them
    units : [K] in which costs are counted. Unless given, the budgets, where the LP's tolerance is below that of
        `limit`; and where the budget is 0, the least cost of a column, which is too much
    """

    def __init__(
        self, budget: FloatArray, limit: FloatArray, reward_scale: float, units: FloatArray | None = None
    ) -> None:
        self.budget, self.limit = budget, limit
        self.limited = np.flatnonzero(np.isfinite(budget))
        self.columns: list[tuple[float, FloatArray]] = []  # reward and costs [K]
        self.feasible = self.limited.size == 0  # whether phase 2 has begun
        self.multipliers = np.zeros(len(limit))  # [K] λ, 0 where there is no row
        self.threshold = np.inf  # dual of Σ x_i = 1: what a new column must exceed
        self.excess = np.inf  # t of phase 1
        self.weights = np.zeros(0)
        self.pivots = 0  # simplex iterations of the last solve
        self._reward_unit = reward_scale or 1.0
        self._refines = units is None  # the unit where the budget is 0, as columns come
        self._units = (np.where(budget > 0, budget, np.inf) if units is None else units)[self.limited]
        self._program = self._build()

    def add(self, reward: float, cost: FloatArray) -> None:
        """A column: one more policy to mix."""
        self.columns.append((reward, cost))
        paid = cost[self.limited]
        small = (self.budget[self.limited] == 0) & (paid > 0) & (paid < _LEAST_UNITS * self._units)
        if not self._refines or not small.any():
            self._enter(reward, cost)
            return
        self._units[small] = paid[small]
        self._program = self._build()
        for column in self.columns:
            self._enter(*column)

    def _enter(self, reward: float, cost: FloatArray) -> None:
        """Put a column into the LP."""
        self._program.add(np.array([reward]), cost[None, self.limited])

    def solve(self) -> None:
        """Solve from where the last solve ended; on to phase 2 as soon as a mixture within the budgets is known."""
        self.pivots = 0
        self._run()
        if not self.feasible and self.is_within(self.mixture.cost):
            self.feasible = True
            self._program.maximise(np.array([reward for reward, _ in self.columns]), max(self.excess, 0.0))
            self._run()

    def solved_anew(self) -> Master:
        """The same columns in an LP without a history."""
        units = np.ones(len(self.budget))
        units[self.limited] = self._units
        other = Master(self.budget, self.limit, self._reward_unit, units)
        for column in self.columns:
            other.add(*column)
        other.solve()
        return other

    def is_within(self, cost: FloatArray) -> bool:
        """True if costs [K] keep the budgets, but for the rounding that limits allow."""
        return bool((cost <= self.limit).all())

    @property
    def mixture(self) -> Mixture:
        """The optimal mixture without rounding in its weights, moved towards a cheaper column where it is above ĉ."""
        rewards, costs = (np.array(part) for part in zip(*self.columns, strict=True))
        dear = (costs[:, self.limited] / MOST_UNITS > self._units).any(axis=1)
        weights = np.where((self.weights > _LEAST_WEIGHT) & ~(dear & ~dear.all()), self.weights, 0.0)
        weights = self._free(weights, costs)
        weights /= weights.sum()
        if self.feasible:
            weights = _within(weights, rewards, costs, self.budget, _MOST_LOSS * self._reward_unit)
        return Mixture(weights, float(weights @ rewards), weights @ costs)

    def _free(self, weights: FloatArray, costs: FloatArray) -> FloatArray:
        """The weights without those by which the LP's tolerance exceeds a budget of 0, if others keep all budgets."""
        free = np.where((costs[:, self.budget == 0] == 0).all(axis=1), weights, 0.0)
        return free if free.any() and self.is_within(free @ costs / free.sum()) else weights

    def _build(self) -> MixingProgram:
        most = 0.0 if self.feasible else np.inf
        return MixingProgram(self.budget[self.limited], self._units, self._reward_unit, _TOLERANCE, most)

    def _run(self) -> None:
        # Numbers may be too poor for the tolerance, or the basis for the numbers: begin again, without them.
        found = self._program.solve() or self._program.solve_anew(_POOR_TOLERANCE)
        if found is None:
            raise ArithmeticError(f"the program over {len(self.columns)} policies failed: {self._program.status}")
        self.pivots += found.pivots
        self.multipliers[self.limited] = found.multipliers
        self.threshold, self.excess = found.threshold, found.excess
        self.weights = np.maximum(found.weights, 0.0)


def _within(weights: FloatArray, rewards: FloatArray, costs: FloatArray, budget: FloatArray, most: float) -> FloatArray:
    """Weights moved towards the one column that brings all costs within the budget, if that loses `most` at most."""
    cost = weights @ costs
    over = cost > budget
    if not over.any():
        return weights
    surplus = (cost - budget)[over] + 8 * np.finfo(np.float64).eps * budget[over]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.minimum((surplus / (cost - costs)[:, over]).max(axis=1) * (1 + 1e-9), 1.0)  # [n]
    helps = (costs < cost)[:, over].all(axis=1)
    helps &= (cost + shares[:, None] * (costs - cost) <= budget).all(axis=1)
    losses = np.where(helps, shares * (weights @ rewards - rewards), np.inf)
    best = int(losses.argmin())
    if losses[best] > most:
        return weights
    moved: FloatArray = weights * (1 - shares[best])
    moved[best] += shares[best]
    return moved
