"""The mixing program, a linear program over choices that have a value and costs, solved by HiGHS.

    max Σ_i x_i v_i    subject to    Σ_i x_i c_i ≤ d,    Σ_i x_i = 1,    x ≥ 0.

Its duals are the multipliers λ ≥ 0 of the budget rows and the *threshold*, the dual of ``Σ x_i = 1``: a choice with
``v − λ·c`` above the threshold would improve the mixture. Where it is not known whether any mixture keeps the budgets,
a first phase minimises the excess t of ``Σ_i x_i c_i − t u ≤ d`` in the units u of the costs.

The program stays in the solver: a new choice is a new column, and the next solve starts from the last basis.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import highspy
import numpy as np

from ._types import FloatArray
from .deadline import charge

MOST_UNITS = 1e9  # a choice that costs more units than this has no part in a mixture
MOST_MULTIPLIER = 1e100  # any λ ≥ 0 bounds the optimum; one that is no number does not
_CALL, _ENTRY = 10_000, 10  # elementary steps of a solve, and of an entry in each pivot, about
_NO_ENTRIES = np.zeros(0, dtype=np.int32), np.zeros(0)


class Mix(NamedTuple):
    """An optimum of the mixing program, and its duals."""

    weights: FloatArray  # [n] x; rounding may make one slightly negative
    multipliers: FloatArray  # [K] λ
    threshold: float  # dual of Σ x_i = 1
    excess: float  # t of the first phase; 0 where there is none
    pivots: int  # simplex iterations that it took


class MixingProgram:
    """A mixing program in HiGHS.

    Parameters
    ----------
    budget : [K] d, all of them finite
    units : [K] in which costs and budgets are counted; HiGHS takes a cost below 1e-9 of them for zero
    value_unit : in which values are counted
    tolerance : to which constraints hold, primal and dual, after scaling; HiGHS's own unless given
    most_excess : bound on t. inf begins with the first phase, in which values do not count; 0 and None begin with the
        second, with and without a column for t
    most_weight : bound on each weight; 1 changes no optimum, but which of several HiGHS finds
    """

    def __init__(
        self,
        budget: FloatArray,
        units: FloatArray,
        value_unit: float = 1.0,
        tolerance: float | None = None,
        most_excess: float | None = None,
        most_weight: float = np.inf,
    ) -> None:
        self._units, self._value_unit, self._tolerance = units.copy(), value_unit, tolerance
        self._most_weight = most_weight
        self._first = 0 if most_excess is None else 1  # column of the first choice
        self._values_count = not most_excess
        make: Any = highspy.Highs  # its stubs are partial
        self._solver = make()
        self._solver.silent()
        if tolerance is not None:
            self._tolerate(tolerance)
        self._solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        self._solver.addRow(1.0, 1.0, 0, *_NO_ENTRIES)
        for limit in budget / units:
            self._solver.addRow(-highspy.kHighsInf, limit, 0, *_NO_ENTRIES)
        if most_excess is not None:
            rows = np.arange(1, 1 + budget.size, dtype=np.int32)
            self._solver.addCol(-1.0, 0.0, most_excess, rows.size, rows, np.full(rows.size, -1.0))

    def add(self, values: FloatArray, costs: FloatArray) -> None:
        """Options with ``values [n]`` and ``costs [n, K]``."""
        n, n_rows = len(values), 1 + self._units.size
        entries = np.concatenate([np.ones((n, 1)), np.minimum(costs / self._units, MOST_UNITS)], axis=1)
        objective = values / self._value_unit if self._values_count else np.zeros(n)
        starts = np.arange(n, dtype=np.int32) * n_rows
        rows = np.tile(np.arange(n_rows, dtype=np.int32), n)
        least, most = np.zeros(n), np.full(n, self._most_weight)
        self._solver.addCols(n, objective, least, most, entries.size, starts, rows, entries.ravel())

    def maximise(self, values: FloatArray, most_excess: float) -> None:
        """Go on to the second phase, with the values [n] of all choices and what is left of the excess."""
        self._values_count = True
        self._solver.changeColBounds(0, 0.0, most_excess)
        self._solver.changeColCost(0, 0.0)
        for i, value in enumerate(values):
            self._solver.changeColCost(1 + i, value / self._value_unit)

    def solve(self) -> Mix | None:
        """The optimum, from where the last solve ended; None if HiGHS finds none."""
        self._solver.run()
        pivots = max(0, self._solver.getInfo().simplex_iteration_count)  # presolve may leave none
        charge(_CALL + _ENTRY * self._solver.getNumNz() * (1 + pivots))
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        found = self._solver.getSolution()
        duals = np.array(found.row_dual) * (self._value_unit if self._values_count else 1.0)
        columns = np.array(found.col_value)
        with np.errstate(over="ignore"):
            multipliers = np.minimum(np.maximum(duals[1:], 0.0) / self._units, MOST_MULTIPLIER)
        return Mix(
            weights=columns[self._first :],
            multipliers=multipliers,
            threshold=float(duals[0]),
            excess=float(columns[0]) if self._first else 0.0,
            pivots=pivots,
        )

    def solve_anew(self, tolerance: float) -> Mix | None:
        """The optimum without the last basis, to another tolerance."""
        self._solver.clearSolver()
        self._tolerate(tolerance)
        found = self.solve()
        if self._tolerance is not None:
            self._tolerate(self._tolerance)
        return found

    @property
    def status(self) -> str:
        """The outcome of the last solve, as HiGHS names it."""
        return str(self._solver.getModelStatus())

    def _tolerate(self, tolerance: float) -> None:
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._solver.setOptionValue(name, tolerance)
