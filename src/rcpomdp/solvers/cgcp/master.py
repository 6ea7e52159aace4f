"""The master program of column generation: mix policies that are known.

Over policies with rewards v_i and expected costs c_i, two phases of one linear program,

    1.  min t            s.t.  Σ x_i c_ik − s_k t ≤ ĉ_k,  Σ x_i = 1,  x, t ≥ 0
    2.  max Σ x_i v_i    s.t.  Σ x_i c_ik ≤ ĉ_k,          Σ x_i = 1,  x ≥ 0

The first asks for a mixture within the budgets and ends once t is zero. The duals λ ≥ 0 of the budget rows price the
next policy: one with ``v − λ·c`` (in phase 1: ``−λ·c``) above the *threshold*, the dual of ``Σ x_i = 1``, improves the
mixture. The model stays in the LP solver: a new policy is a new column, and the basis is kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import highspy
import numpy as np

from ..._types import FloatArray

_TOLERANCE = 1e-10  # of the LP, after scaling
_POOR_TOLERANCE = 1e-8  # where that cannot be met
_MOST_LOSS = 1e-6  # of reward, for a cost that is above its budget by rounding
_LEAST_WEIGHT = 1e-11  # a smaller one is rounding of none
_MOST_BUDGETS = 1e9  # a policy that costs more budgets than this has no part in a mixture
_LEAST_UNITS = 1e-3  # a cost below so many units becomes the unit where the budget is 0
_ROWS = np.zeros(0, dtype=np.int32), np.zeros(0)


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
        self.prices = np.zeros(len(limit))  # [K] λ, 0 where there is no row
        self.threshold = np.inf  # dual of Σ x_i = 1: what a new column must exceed
        self.excess = np.inf  # t of phase 1
        self.weights = np.zeros(0)
        self.pivots = 0  # simplex iterations of the last solve
        self._reward_unit = reward_scale or 1.0
        self._refines = units is None  # the unit where the budget is 0, as columns come
        self._units = (np.where(budget > 0, budget, np.inf) if units is None else units)[self.limited]
        self._solver = self._build()

    def add(self, reward: float, cost: FloatArray) -> None:
        """A column: one more policy to mix."""
        self.columns.append((reward, cost))
        paid = cost[self.limited]
        small = (self.budget[self.limited] == 0) & (paid > 0) & (paid < _LEAST_UNITS * self._units)
        if not self._refines or not small.any():
            self._enter(reward, cost)
            return
        self._units[small] = paid[small]
        self._solver = self._build()
        for column in self.columns:
            self._enter(*column)

    def _enter(self, reward: float, cost: FloatArray) -> None:
        """Put a column into the LP."""
        values = np.concatenate([[1.0], np.minimum(cost[self.limited] / self._units, _MOST_BUDGETS)])
        rows = np.arange(values.size, dtype=np.int32)
        worth = reward / self._reward_unit if self.feasible else 0.0
        self._solver.addCol(worth, 0.0, highspy.kHighsInf, rows.size, rows, values)

    def solve(self) -> None:
        """Solve from where the last solve ended; on to phase 2 as soon as a mixture within the budgets is known."""
        self.pivots = 0
        self._run()
        if not self.feasible and self.is_within(self.mixture.cost):
            self.feasible = True
            self._solver.changeColBounds(0, 0.0, max(self.excess, 0.0))
            self._solver.changeColCost(0, 0.0)
            for i, (reward, _) in enumerate(self.columns):
                self._solver.changeColCost(1 + i, reward / self._reward_unit)
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
        """Whether costs [K] keep the budgets, but for the rounding that limits allow."""
        return bool((cost <= self.limit).all())

    @property
    def mixture(self) -> Mixture:
        """The optimal mixture without rounding in its weights, moved towards a cheaper column where it is above ĉ."""
        rewards, costs = (np.array(part) for part in zip(*self.columns, strict=True))
        dear = (costs[:, self.limited] > _MOST_BUDGETS * self._units).any(axis=1)
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

    def _build(self) -> Any:
        make: Any = highspy.Highs  # its stubs are partial
        solver = make()
        solver.silent()
        _tolerate(solver, _TOLERANCE)
        solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        solver.addRow(1.0, 1.0, 0, *_ROWS)
        for k, unit in zip(self.limited, self._units, strict=True):
            solver.addRow(-highspy.kHighsInf, self.budget[k] / unit, 0, *_ROWS)
        rows = np.arange(1, 1 + self.limited.size, dtype=np.int32)
        most = 0.0 if self.feasible else highspy.kHighsInf
        solver.addCol(-1.0, 0.0, most, rows.size, rows, np.full(rows.size, -1.0))
        return solver

    def _run(self) -> None:
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            # Numbers may be too poor for the tolerance, or the basis for the numbers: begin again, without them.
            self._solver.clearSolver()
            _tolerate(self._solver, _POOR_TOLERANCE)
            self._solver.run()
            _tolerate(self._solver, _TOLERANCE)
        status = self._solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise ArithmeticError(f"the linear program over {len(self.columns)} policies failed: {status}")
        self.pivots += max(0, self._solver.getInfo().simplex_iteration_count)  # presolve may leave none
        found = self._solver.getSolution()
        unit = self._reward_unit if self.feasible else 1.0
        duals = np.array(found.row_dual) * unit
        self.prices[self.limited] = np.maximum(duals[1:], 0.0) / self._units
        self.threshold = float(duals[0])
        self.excess = float(found.col_value[0])
        self.weights = np.maximum(found.col_value[1:], 0.0)


def _tolerate(solver: Any, tolerance: float) -> None:
    for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        solver.setOptionValue(name, tolerance)


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
