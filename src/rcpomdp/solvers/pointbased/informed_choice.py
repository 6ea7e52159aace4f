"""The informed bounds that a search starts from, as tight as the model's size and the time allow.

Without budgets these are the bounds of a plain POMDP. For each budget there is one bound over levels of that budget
alone, ``V*(b, d) ≤ V̄_λ(b, ⌈d⌉) + λ·d``, with a multiplier λ that is chosen by cheap bounds first; every one of them
holds, and the least counts.

With time for it the state becomes known later than after one step: each step more takes several times as long as the
one before, and is taken if that, too, fits into the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
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
)
from ...bounds.one_step import OneStep, later_beliefs, one_step_beliefs, one_step_size
from ...deadline import now
from ...kernels.pointbased.arrays import NONE, Informed, Space
from ...model import CPOMDP
from .levels import undiscounted_levels
from .switches import PointBasedSwitches

BOUNDS = ("mdp", "fib", "tib")
_DELAYED = 20_000_000  # (s, a, s', o) up to which one-step beliefs are worth it, and later ones
_LATER_WORK, _UNTIMED_WORK = 5e9, 2e8  # products of a sweep up to which a step of delay is taken; without a time limit
_RESOLUTIONS = (1.0, 2.0, 4.0)  # levels for each step to a free action
_PAYS = 1e-3  # of what budgets are worth: by this much finer levels must bring the bound down
_WORK = 1.0e11  # products of all sweeps that bounds over levels may take
_SWEEPS = 60  # that a bound over levels takes, more or less
_RELATIVE = 1e-4  # least fall of a bound over levels that counts
_NUMBERS = 200_000_000  # in a table
_SHARE = 0.1  # of the memory limit that a table may take, for it is made from others
_STEPS_SHARE, _BRANCH = 0.5, 64  # of the memory limit that steps of delay may take, and bytes of one of their branches
_SHARES = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8)  # multipliers to try, in units of what a budget is worth on average
_NOTHING = 1e-6  # of what can be spent at all
_FINER = 1.4  # factor by which the best of them is varied
_MOST_LEVELS = 4000
_UNDISCOUNTED = 64  # levels of a budget that is not discounted, for each step to a free action
_DEPTH = 3.0  # levels go down to the budget's e^-3-th part


def no_deadline() -> bool:
    """Time is never up."""
    return False


class Table(NamedTuple):
    """An informed bound on ``R − λ·C`` over the levels of one budget."""

    cost: int
    multiplier: float  # λ of that cost
    levels: Levels  # T of them
    corner: FloatArray  # [T, S, A] vectors over states
    late: FloatArray | None  # [T, n, A] values of the beliefs that `delay` steps from a known state lead to
    delay: int  # or 0


class InformedBounds:
    """Makes informed bounds for a model in class order.

    `seconds` is the time for bounds that wait for more than one step; without any there are none.
    """

    def __init__(
        self,
        model: CPOMDP,
        space: Space,
        switches: PointBasedSwitches,
        over: Callable[[], bool] = no_deadline,
        memory_limit: float = np.inf,
        seconds: float = 0.0,
    ) -> None:
        self.model, self.space, self.over = model, space, over
        self.kind, self._delay = switches.informed, switches.delay
        self._numbers = min(_NUMBERS, _SHARE * memory_limit / 8)
        self._branches = _STEPS_SHARE * memory_limit / _BRANCH
        self._until = now() + seconds
        self._later_work = _LATER_WORK if np.isfinite(seconds) else _UNTIMED_WORK
        self._steps: list[OneStep] = []  # of delay, as far as they were asked for
        if self.kind == "tib":
            first = one_step_beliefs(model, space.class_of, over) if one_step_size(model).support <= _DELAYED else None
            self._steps = [first] if first is not None else []
            if self._steps and not self._fits("tib", no_levels(model), 1.0):
                self._steps = []
            self.kind = "tib" if self._steps else "fib"

    def plain(self, gain: FloatArray, is_all: bool = True) -> Table:
        """The bound without budgets; it is as tight as can be if it is all there is."""
        return self._table(0, 0.0, gain, no_levels(self.model), self.kind, Effort(deadline=self.over), later=is_all)

    def _table(
        self,
        k: int,
        multiplier: float,
        gain: FloatArray,
        levels: Levels,
        kind: str,
        effort: Effort,
        known: Table | None = None,
        later: bool = False,
    ) -> Table:
        """A bound of some kind over levels of budget k.

        `known` is one over coarser levels, to start from; `later`: the state becomes known as late as time allows.
        """
        model = self.model
        if multiplier:
            gain = gain - multiplier * model.cost[k]
        if kind == "mdp":
            vectors = mdp_q_over_levels(model, gain, levels, mdp_over_levels(model, gain, levels, effort))
            return Table(k, multiplier, levels, vectors, None, 0)
        if kind == "fib" or not self._steps:
            return Table(k, multiplier, levels, fib_over_levels(model, gain, levels, effort), None, 0)
        steps = self._affordable_steps(len(levels.values)) if later else self._steps[:1]
        start = known.corner[np.searchsorted(known.levels.values, levels.values)] if known is not None else None
        found = tib_over_levels(model, gain, levels, steps, effort, start)
        return Table(k, multiplier, levels, found.corner, found.q, found.delay)

    def _affordable_steps(self, n_levels: int) -> Iterator[OneStep]:
        """Steps of delay as long as the next one is expected to end in time; between two of them bounds are made."""
        n_actions, seconds, branches = self.model.n_actions, np.inf, 0
        for k in range(self._delay):
            step = self._step(k)
            if step is None or step.n_beliefs * n_levels * n_actions > self._numbers:
                return
            more = step.branches(n_actions)
            began = now()
            is_late = k > 0 and began + seconds * more / branches > self._until
            if is_late or (k > 0 and (more * n_actions * n_levels > self._later_work or more > self._branches)):
                return
            yield step
            seconds, branches = now() - began, more

    @property
    def _effort(self) -> Effort:
        """What goes into a bound over levels."""
        return Effort(deadline=self.over, relative=_RELATIVE)

    @property
    def _has_time(self) -> bool:
        """True if there is time for bounds that wait for more than one step."""
        return self.kind == "tib" and now() < self._until

    def _step(self, k: int) -> OneStep | None:
        """Step k of delay, made from the one before; None if there would be too many beliefs, or time is up."""
        if k == len(self._steps):
            if self._steps[-1].branches(self.model.n_actions) > min(_DELAYED, self._branches):
                return None
            step = later_beliefs(self._steps[-1], self.model.n_actions, lambda: self.over() or not self._has_time)
            if step is None:
                return None
            self._steps.append(step)
        return self._steps[k]

    def over_budgets(self, gain: FloatArray, budget: FloatArray, allowance: float) -> list[Table]:
        """Bounds over the levels of each limited cost; budgets are worth no more than `allowance` at the root."""
        limited = np.flatnonzero(self.space.limited).tolist()
        tables = [self._over_budget(gain, float(budget[k]), k, allowance, 1.0 / len(limited)) for k in limited]
        # What waits longer comes last, since it takes all the time there is.
        return [self._later(gain, table) if self._has_time and table.delay else table for table in tables]

    def _over_budget(self, gain: FloatArray, budget: float, k: int, allowance: float, share: float) -> Table:
        """A bound over levels of one budget that are as fine as size allows and as it pays."""
        multiplier = self._best_multiplier(gain, budget, k, allowance, share)
        found, least = None, np.inf
        for kind, levels in self._affordable(share, budget, k):
            finer = self._table(k, multiplier, gain, levels, kind, self._effort, found)
            at_root = _at_root(self.model, finer, budget)
            if found is not None and at_root > least - _PAYS * allowance:
                break
            found, least = finer, at_root
        assert found is not None
        return found

    def _later(self, gain: FloatArray, table: Table) -> Table:
        """The same bound with the state known as late as time allows."""
        found = self._table(table.cost, table.multiplier, gain, table.levels, "tib", self._effort, table, later=True)
        return found if found.delay > table.delay else table

    def _best_multiplier(self, gain: FloatArray, budget: float, k: int, allowance: float, share: float) -> float:
        """The multiplier of one cost for which a cheap bound is least at the root."""
        if allowance <= 0 or budget <= _NOTHING * float(self.space.cap[k]):  # the price of next to nothing is huge
            return 0.0
        coarse = self._levels(budget, k, 1.0)
        effort = Effort(deadline=self.over, relative=1e-3, max_sweeps=200)
        quick = next((kind for kind in ("tib", "fib") if self._fits(kind, coarse, share / 50)), "mdp")

        @cache
        def value(multiplier: float) -> float:
            found = self._table(k, multiplier, gain, coarse, quick, effort)
            return _at_root(self.model, found, budget) + multiplier * budget

        best = 0.0
        for part in _SHARES:
            if value(part * allowance / budget) > value(best):  # it is convex: what is best lies before this
                break
            best = part * allowance / budget
        return min((best, best / _FINER, best * _FINER), key=value)

    def _affordable(self, share: float, budget: float, k: int) -> list[tuple[str, Levels]]:
        """The kind of bound that the size allows, with ever finer levels."""
        for kind in ("tib", "fib", "mdp"):
            resolutions = (self._levels(budget, k, steps) for steps in (_RESOLUTIONS if kind != "mdp" else (1.0,)))
            found = [(kind, levels) for levels in resolutions if self._fits(kind, levels, share)]
            if found:
                return found
        return [(self.kind, no_levels(self.model))]

    def _fits(self, kind: str, levels: Levels, share: float) -> bool:
        """True if a bound over levels takes no more than a share of what is allowed."""
        if BOUNDS.index(kind) > BOUNDS.index(self.kind):
            return False
        n = len(levels.values)
        rows = self._steps[0].n_beliefs if kind == "tib" and self._steps else self.model.n_states
        return self._work(kind) * n <= share * _WORK and rows * n * self.model.n_actions <= self._numbers

    def _work(self, kind: str) -> float:
        """Products of all sweeps of a bound at one level."""
        model, n_actions = self.model, self.model.n_actions
        if kind == "tib" and self._steps:
            return float(_SWEEPS * self._steps[0].branches(n_actions) * n_actions * n_actions)
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
        n_costs, n_actions = max(self.model.n_costs, 1), self.model.n_actions
        most = max(len(table.levels.values) for table in tables)
        multiplier, value = np.zeros((len(tables), self.model.n_costs)), np.full((n_costs, most), np.inf)
        corner = np.empty((len(tables), most, self.model.n_states, n_actions))
        for j, table in enumerate(tables):
            last = len(table.levels.values)
            if last > 1:
                value[table.cost, :last] = table.levels.values
            corner[j, :last], corner[j, last:] = table.corner, table.corner[-1]
            multiplier[j, table.cost : table.cost + 1] = table.multiplier
        late = [np.zeros(0) if table.late is None else table.late.ravel() for table in tables]
        steps = self._steps[: max(table.delay for table in tables)]
        rows = [len(step.ptr) - 1 for step in steps]
        entries = np.cumsum([0, *(len(step.obs) for step in steps)])
        none = [np.zeros(0, dtype=np.int32)]
        return Informed(
            multiplier=multiplier,
            cost=np.array([table.cost for table in tables], dtype=np.int64),
            value=value,
            corner=corner,
            delay=np.array([table.delay for table in tables], dtype=np.int64),
            at=np.cumsum([0, *(len(values) for values in late)]),
            late=late[0] if len(late) == 1 else np.concatenate(late),
            row=np.cumsum([0, *rows]),
            size=np.array([self.model.n_states, *(step.n_beliefs for step in steps)], dtype=np.int64),
            root=np.array([NONE, *(step.root for step in steps)], dtype=np.int64),
            ptr=np.concatenate([step.ptr[:-1] + at for step, at in zip(steps, entries, strict=False)] + [entries[-1:]]),
            obs=np.concatenate([step.obs for step in steps] or none),
            prob=np.concatenate([step.prob for step in steps] or [np.zeros(0)]),
            belief=np.concatenate([step.belief for step in steps] or none),
        )


def _at_root(model: CPOMDP, table: Table, budget: float) -> float:
    """An informed bound at the initial belief with a budget, without λ·d."""
    b0, at = model.initial_belief, int(np.searchsorted(table.levels.values, budget * (1 - 1e-12)))
    support = np.flatnonzero(b0)
    return float((b0[support] @ table.corner[at][support]).max())
