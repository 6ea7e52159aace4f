"""The informed bounds that a search starts from, as tight as the model's size and the time allow.

Without budgets these are the bounds of a plain POMDP. For each budget there is one bound over levels of that budget
alone, ``V*(b, d) ≤ V̄_λ(b, ⌈d⌉) + λ·d``, with a multiplier λ that is chosen by cheap bounds first; every one of them
holds, and the least counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._types import FloatArray
from ...bounds.informed import (
    Effort,
    Levels,
    budget_levels,
    fib_over_levels,
    mdp_over_levels,
    mdp_q_over_levels,
    no_levels,
    tib_over_levels,
    tib_size,
)
from ...bounds.one_step import OneStep, one_step_beliefs, one_step_size
from ...kernels.pointbased.arrays import Informed, Space
from ...model import CPOMDP
from .levels import undiscounted_levels

BOUNDS = ("mdp", "fib", "tib")
_DELAYED = 20_000_000  # (s, a, s', o) up to which one-step beliefs are worth it
_WORK = 1.0e11  # products of all sweeps that bounds over levels may take
_SWEEPS = 60  # that a bound over levels takes, more or less
_RELATIVE = 1e-4  # least fall of a bound over levels that counts
_NUMBERS = 200_000_000  # in a table
_SHARE = 0.1  # of the memory limit that a table may take, for it is made from others
_SHARES = (0.0, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8)  # multipliers to try, in units of what a budget is worth on average
_NOTHING = 1e-6  # of what can be spent at all
_FINER = 1.4  # factor by which the best of them is varied
_MOST_LEVELS = 4000
_UNDISCOUNTED = 64  # levels of a budget that is not discounted, for each step to a free action
_DEPTH = 3.0  # levels go down to the budget's e^-3-th part


def no_deadline() -> bool:
    """Time is never up."""
    return False


class Table(NamedTuple):
    """An informed bound over the levels of one budget."""

    cost: int
    multiplier: FloatArray  # [K]
    values: FloatArray  # [T] levels, the last inf
    corner: FloatArray  # [T, S, A] vectors over states
    delayed: FloatArray | None  # [T, n, A] values of one-step beliefs


class InformedBounds:
    """Makes informed bounds for a model in class order."""

    def __init__(
        self,
        model: CPOMDP,
        space: Space,
        kind: str,
        over: Callable[[], bool] = no_deadline,
        memory_limit: float = np.inf,
    ) -> None:
        self.model, self.space, self.over = model, space, over
        self.kind, self._numbers = kind, min(_NUMBERS, _SHARE * memory_limit / 8)
        self._one_step: OneStep | None = None
        if kind == "tib":
            size = one_step_size(model)
            if size.support <= _DELAYED:
                self._one_step = one_step_beliefs(model, space.class_of, over)
            if self._one_step is not None and not self._fits(kind, no_levels(model), 1.0):
                self._one_step = None
            self.kind = "fib" if self._one_step is None else "tib"

    def plain(self, gain: FloatArray) -> Table:
        """The bound without budgets."""
        levels = no_levels(self.model)
        found = self._bound(gain, levels, self.kind, Effort(deadline=self.over))
        return Table(0, np.zeros(self.model.n_costs), levels.values, *found)

    def _bound(
        self, gain: FloatArray, levels: Levels, kind: str, effort: Effort
    ) -> tuple[FloatArray, FloatArray | None]:
        model = self.model
        if kind == "mdp":
            return mdp_q_over_levels(model, gain, levels, mdp_over_levels(model, gain, levels, effort)), None
        if kind == "fib" or self._one_step is None:
            return fib_over_levels(model, gain, levels, effort), None
        found = tib_over_levels(model, gain, levels, self._one_step, effort)
        return found.corner, found.q

    def over_budgets(self, gain: FloatArray, budget: FloatArray, allowance: float) -> list[Table]:
        """Bounds over the levels of each limited cost; budgets are worth no more than `allowance` at the root."""
        limited = np.flatnonzero(self.space.limited).tolist()
        return [self._over_budget(gain, float(budget[k]), k, allowance, 1.0 / len(limited)) for k in limited]

    def _over_budget(self, gain: FloatArray, budget: float, k: int, allowance: float, share: float) -> Table:
        """A bound over the levels of one budget, with the multiplier for which it is least at the root."""
        cost, cap = self.model.cost[k], float(self.space.cap[k])
        coarse = self._levels(budget, k, 1.0)
        effort = Effort(deadline=self.over, relative=1e-3, max_sweeps=200)
        quick = next((kind for kind in ("tib", "fib") if self._fits(kind, coarse, share / 50)), "mdp")
        b0 = self.model.initial_belief
        support, at = np.flatnonzero(b0), int(np.searchsorted(coarse.values, budget * (1 - 1e-12)))
        tried: dict[float, float] = {}

        def value(multiplier: float) -> float:
            if multiplier not in tried:
                vectors, _ = self._bound(gain - multiplier * cost, coarse, quick, effort)
                tried[multiplier] = float((b0[support] @ vectors[at][support]).max()) + multiplier * budget
            return tried[multiplier]

        shares = (
            _SHARES if budget > _NOTHING * cap and allowance > 0 else (0.0,)
        )  # a multiplier of next to nothing is huge
        best = min((part * allowance / max(budget, 1e-300) for part in shares), key=value)
        best = min((best, best / _FINER, best * _FINER), key=value)
        kind, fine = self._affordable(share, budget, k)
        corner, delayed = self._bound(gain - best * cost, fine, kind, Effort(deadline=self.over, relative=_RELATIVE))
        multiplier = np.zeros(self.model.n_costs)
        multiplier[k] = best
        return Table(k, multiplier, fine.values, corner, delayed)

    def _affordable(self, share: float, budget: float, k: int) -> tuple[str, Levels]:
        """The kind of bound, and the resolution of its levels, that the size allows."""
        for kind, steps in (("tib", 4.0), ("tib", 2.0), ("tib", 1.0), ("fib", 4.0), ("fib", 1.0), ("mdp", 1.0)):
            levels = self._levels(budget, k, steps)
            if self._fits(kind, levels, share):
                return kind, levels
        return self.kind, no_levels(self.model)

    def _fits(self, kind: str, levels: Levels, share: float) -> bool:
        """True if a bound over levels takes no more than a share of what is allowed."""
        if BOUNDS.index(kind) > BOUNDS.index(self.kind):
            return False
        n, one = len(levels.values), self._one_step
        rows = one.n_beliefs if kind == "tib" and one is not None else self.model.n_states
        return self._work(kind) * n <= share * _WORK and rows * n * self.model.n_actions <= self._numbers

    def _work(self, kind: str) -> float:
        """Products of all sweeps of a bound at one level."""
        model, n_actions = self.model, self.model.n_actions
        if kind == "tib" and self._one_step is not None:
            return float(_SWEEPS * tib_size(model, self._one_step) * n_actions * n_actions)
        if kind == "fib":
            return float(_SWEEPS * one_step_size(model).support * n_actions)
        return float(_SWEEPS * len(model.arrays.t_next))

    def _levels(self, budget: float, k: int, steps: float) -> Levels:
        """Levels ĉ·β^(−i/m), m steps to a free action, from next to nothing to what is as good as unlimited.

        A budget that is not discounted never grows: levels are those that costs lead to, or if these are many a grid.
        """
        x, beta = self.space, float(self.model.cost_discount[k])
        values = [0.0, np.inf]
        if budget > 0 and beta == 1:
            known = undiscounted_levels(budget, np.unique(x.floor[..., k]), int(_UNDISCOUNTED * steps))
            values = [0.0, *known]
        elif budget > 0:
            step = -np.log(beta) / steps
            most = max(int(np.ceil(np.log(x.unlimited[k] / budget) / step)), 0)
            if most + _DEPTH / step > _MOST_LEVELS:  # next to no discount: levels that a step climbs are too many
                return no_levels(self.model)
            values = [0.0, *(budget * np.exp(step * np.arange(-int(_DEPTH / step), most))), np.inf]
        return budget_levels(np.unique(values), x.floor[..., k], x.class_of, beta)

    def pack(self, tables: list[Table]) -> Informed:
        """Bounds as the search reads them."""
        n_costs, n_actions, one = max(self.model.n_costs, 1), self.model.n_actions, self._one_step
        most, n = max(len(table.values) for table in tables), one.n_beliefs if one is not None else 0
        value = np.full((n_costs, most), np.inf)
        corner = np.empty((len(tables), most, self.model.n_states, n_actions))
        delayed = np.empty((len(tables), most, n, n_actions))
        for j, table in enumerate(tables):
            last = len(table.values)
            if last > 1:
                value[table.cost, :last] = table.values
            corner[j, :last], corner[j, last:] = table.corner, table.corner[-1]
            if one is not None:
                later = self._products(table.corner) if table.delayed is None else table.delayed
                delayed[j, :last], delayed[j, last:] = later, later[-1]
        none = np.zeros(0, dtype=np.int32)
        return Informed(
            multiplier=np.array([table.multiplier for table in tables]).reshape(len(tables), self.model.n_costs),
            cost=np.array([table.cost for table in tables], dtype=np.int64),
            value=value,
            corner=corner,
            delayed=delayed,
            ptr=one.ptr if one is not None else np.zeros(1, dtype=np.int64),
            obs=one.obs if one is not None else none,
            prob=one.prob if one is not None else np.zeros(0),
            belief=one.belief if one is not None else none,
            root=one.root if one is not None else 0,
        )

    def _products(self, vectors: FloatArray) -> FloatArray:
        """Products of vectors [T, S, A] with the one-step beliefs, [T, n, A]."""
        one = self._one_step
        assert one is not None
        terms = np.where(np.isfinite(vectors[:, one.state]), one.weight[:, None] * vectors[:, one.state], -np.inf)
        return np.add.reduceat(terms, one.start[:-1], axis=1)
