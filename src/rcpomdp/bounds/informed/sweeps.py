"""Sweeps that bring a bound over budget levels down to its fixed point, in slices between looks at the deadline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from ..._types import FloatArray, IntArray
from ...deadline import PRODUCT, charge
from ...kernels.bounds import level_sweeps
from ...kernels.bounds.branching import GROUPS, MIXED, SINGLES, Branching
from ...kernels.bounds.level_sweeps import NEVER, Points, Steps, Table
from ...model import CPOMDP
from .effort import Effort
from .levels import Levels, peak

SLICE = 30_000_000  # products between two looks at the deadline, about 0.05 s
_FILL = 30  # products that take as long as filling in one entry
_EPS = float(np.finfo(np.float64).eps)


class Sweeps:
    """Sweeps over the table of one bound until nothing is due."""

    def __init__(
        self, model: CPOMDP, points: Points, levels: Levels, x: Branching, q: FloatArray, effort: Effort
    ) -> None:
        self.fade = model.fade
        self.discount, self.points, self.steps, self.x, self.effort = model.discount, points, levels.steps, x, effort
        self.ends = bool(model.terminal.any())
        self.settled = effort.tolerance(model, points.gain)
        self.table = _table(q)
        self.sweeps = 0
        n_actions = q.shape[2]
        entries = (
            np.diff(x.single_ptr.astype(np.int64)) + n_actions * np.diff(x.mixed_ptr[x.group_ptr].astype(np.int64)) + 1
        )
        self.work = np.concatenate([[0], np.cumsum(entries.reshape(-1, n_actions).sum(axis=1))])

    def settle(self, every: bool) -> None:
        """Settle the unlimited level, on which the others stand, then all of them."""
        top = len(self.table.q) - 1
        for whole in (False, True) if every else (False,):
            self.table.wanted[...] |= whole
            if (self.ends or self._settle_shifted()) and self._settle(top, top):
                # Each level starts from the one above it; what is not allowed there stays -inf.
                np.minimum(self.table.q, self.table.q[top], out=self.table.q)
                self.table.v[...] = self.table.q.max(axis=2)
                self._settle(top - 1, 0)

    def _settle(self, top: int, bottom: int) -> bool:
        """Sweep levels top, ..., bottom until nothing is due; False if the effort is over."""
        while self.sweeps < self.effort.max_sweeps:
            self.sweeps += 1
            backups = 0
            for part in self._slices(top, bottom):
                if self.effort.over():
                    return False
                backups += self._sweep(self.steps, self.table, self.points, part)
            if not backups:
                return True
        return False

    def _sweep(self, steps: Steps, table: Table, points: Points, part: tuple[int, int, int, int]) -> int:
        done = int(level_sweeps.sweep(self.x, points, steps, self.discount, table, self.settled, self.sweeps, *part))
        charge(PRODUCT * done * float(self.work[-1]) / (len(self.work) - 1) / table.q.shape[2])
        return done

    def _settle_shifted(self) -> bool:
        """Settle the unlimited level of a process that cannot end; False if the effort is over.

        The operator moves with a constant, ``H(Q + c) = HQ + γc``, so that ``Q* ≤ HQ + γ max(HQ − Q) / (1−γ)``: what
        falls everywhere is taken off at once. H is applied from level 1 to level 0 of a table of two.
        """
        gamma = self.discount
        steps = Steps(np.zeros_like(self.steps.kind), np.ones((1, 2), dtype=np.int32))
        two = _table(np.repeat(self.table.q[-1:], 2, axis=0))
        two.wanted[...] = True
        while self.sweeps < self.effort.max_sweeps:
            self.sweeps += 1
            two.done[...] = NEVER
            for part in self._slices(0, 0):
                if self.effort.over():
                    return False
                self._sweep(steps, two, self.points, part)
            change = two.q[0] - two.q[1]
            shift = gamma / self.fade * min(0.0, float(change.max()))
            two.q[0] += shift + 4 * _EPS * (abs(shift) + two.peak.max())
            np.minimum(two.q[0], two.q[1], out=two.q[1])
            two.q[0] = two.q[1]
            two.v[...] = two.q.max(axis=2)
            two.peak[...] = peak(two.q)
            self.table.q[-1], self.table.v[-1] = two.q[1], two.v[1]
            if change.max() - change.min() <= self.settled:
                return True
        return False

    def _slices(self, top: int, bottom: int) -> Iterator[tuple[int, int, int, int]]:
        """Parts of a sweep that take about 0.05 s: (top, bottom, first, last), levels and points."""
        n, level_work = len(self.work) - 1, int(self.work[-1])
        together = max(1, SLICE // max(1, level_work))
        parts = min(n, -(-level_work // SLICE))
        cuts = np.searchsorted(self.work, np.linspace(0, level_work, max(1, parts) + 1)[1:-1])
        bounds = [0, *(int(cut) for cut in cuts), n]
        for high in range(top, bottom - 1, -together):
            low = max(bottom, high - together + 1)
            yield from ((high, low, first, last) for first, last in pairwise(bounds))


def _table(q: FloatArray) -> Table:
    """A table over ``q [L, n, A]`` of which nothing is up to date."""
    n_levels, n, _ = q.shape
    return Table(
        q=q,
        v=q.max(axis=2),
        wanted=np.zeros(q.shape, dtype=np.bool_),
        done=np.full(q.shape, NEVER, dtype=np.int32),
        changed=np.zeros((n_levels, n), dtype=np.int32),
        owed=np.zeros((n_levels, n)),
        latest=np.zeros(n_levels, dtype=np.int32),
        peak=np.array([peak(level) for level in q]),
    )


def branching_of(
    n: int, n_actions: int, entries: int, fill: Callable[[Branching, IntArray, int, int], None], effort: Effort
) -> Branching | None:
    """Successors of n points, with room for so many entries; None if the deadline is reached before it is filled."""
    x = Branching(
        single_ptr=np.zeros(n * n_actions + 1, dtype=np.uint64),
        single=np.empty(entries, dtype=np.uint32),
        single_weight=np.empty(entries),
        group_ptr=np.zeros(n * n_actions + 1, dtype=np.uint64),
        mixed_ptr=np.zeros(entries // 2 + 1, dtype=np.uint64),
        mixed=np.empty(entries + 1, dtype=np.uint32),  # a single point is written here first
        mixed_weight=np.empty(entries + 1),
        terms=np.empty(n * n_actions, dtype=np.int64),
    )
    used = np.zeros(3, dtype=np.int64)
    chunk = max(1, SLICE // _FILL * n // max(1, entries))
    for first in range(0, n, chunk):
        last = min(first + chunk, n)
        charge(PRODUCT * _FILL * entries * (last - first) / n)
        if effort.over():
            return None
        fill(x, used, first, last)
    return x._replace(
        single=x.single[: used[SINGLES]].copy(),
        single_weight=x.single_weight[: used[SINGLES]].copy(),
        mixed_ptr=x.mixed_ptr[: used[GROUPS] + 1].copy(),
        mixed=x.mixed[: used[MIXED]].copy(),
        mixed_weight=x.mixed_weight[: used[MIXED]].copy(),
    )
