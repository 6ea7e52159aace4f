"""From records to the rows of a table: cells that differ by seed alone are pooled.

The runs of one seed share a policy, so pooled runs are no independent sample. With k seeds of n_i runs, N in all, the
model ``y_ij = μ + s_i + e_ij`` of one-way analysis of variance gives the mean of all runs the variance
``σ_s² Σ (n_i / N)² + σ_e² / N``. σ_e² is the variance within seeds, and σ_s² is estimated by moments,
``max(0, (B − W) / n₀)`` with the mean squares B between and W within seeds and ``n₀ = (N − Σ n_i² / N) / (k − 1)``.
One seed leaves the usual standard error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ... import problems
from ..._types import FloatArray
from ...errors import InputError, ProblemError
from ...simulation.estimates import Estimate, Spread
from ...simulation.overspending import beyond
from ..run.record import Cell, Record
from .paper import PaperRow, row_of

FAILED = "failed"

# As the paper's tables have them, its own last; others come between.
_BEFORE = ("SARSOP", "CGCP", "CGCP-CL", "Exp-Gradient", "CPBVI", "CPBVI-D")
_LAST = "ARCS"


@dataclass(frozen=True)
class Row:
    """The outcome of one cell over all its seeds; None is what is not known."""

    cell: Cell  # of the first seed
    records: tuple[Record, ...]
    violation: Estimate | None  # rate, of simulated runs
    reward: Estimate | None  # of simulated runs, or the policy's own without a standard error
    cost: tuple[Estimate, ...]
    overspent: tuple[Spread, ...]  # by how much simulated runs spend beyond each budget, by beliefs
    lower: float | None  # the least of the seeds
    upper: float | None  # the largest
    paper: PaperRow | None
    lost: tuple[Record, ...] = ()  # seeds that failed, where others did not

    @property
    def error(self) -> str | None:
        """The error, if every seed failed."""
        return next((record.error or FAILED for record in self.records if failed(record)), None)

    @property
    def runs(self) -> int:
        """Simulated runs of all seeds."""
        return sum(len(record.run_reward) for record in self.records)

    @property
    def status(self) -> str:
        """The statuses with which the searches ended."""
        return ", ".join(dict.fromkeys(record.status for record in self.records))

    @property
    def own_reward(self) -> float | None:
        """The reward of the policies themselves, without sampling where that is known."""
        values = [record.reward for record in self.records if record.reward is not None]
        return float(np.mean(values)) if values else self.reward.mean if self.reward else None

    @property
    def own_cost(self) -> float | None:
        """The cost of the policies themselves, where there is one cost."""
        values = [record.cost[0] for record in self.records if len(record.cost) == 1]
        return float(np.mean(values)) if values else None

    @property
    def exact_reward(self) -> float | None:
        """The reward of the policies as they run, without sampling, where that is known."""
        return self.own_reward if self._exact else None

    @property
    def exact_cost(self) -> tuple[float, ...]:
        """Their costs, likewise."""
        return tuple(float(c) for c in np.mean([record.cost for record in self.records], axis=0)) if self._exact else ()

    @property
    def _exact(self) -> bool:
        return all(record.exact and record.reward is not None for record in self.records)

    @property
    def seconds(self) -> float:
        """Mean time of set-up and search."""
        return float(np.mean([record.setup_seconds + record.seconds for record in self.records]))


@dataclass(frozen=True)
class Group:
    """The rows of one problem under one budget."""

    title: str
    setting: str  # parameters that a reader must know: "p_correct = 0.8", or ""
    budget: tuple[float, ...]
    sizes: tuple[int, int, int] | None
    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        """Problem, budget and setting in one line."""
        return f"{self.title} ({', '.join(filter(None, (f'ĉ = {budget_text(self.budget)}', self.setting)))})"


def groups(records: Sequence[Record]) -> list[Group]:
    """Records by problem and budget, in the order in which they come; within, by algorithm."""
    by_problem = _collect(records, lambda r: _key(r.cell, "title", "problem", "parameters", "budget"))
    cells = [same[0].cell for same in by_problem]
    return [_group(same, [c for c in cells if c.title == same[0].cell.title]) for same in by_problem]


def summarise(records: Sequence[Record]) -> Row:
    """One row from the records of a cell, which differ by seed alone."""
    good = [record for record in records if not failed(record)]
    runs = [record for record in good if len(record.run_reward)]
    n_costs = len(records[0].cell.budget)
    reward: Estimate | None
    if runs:
        reward = pooled([record.run_reward for record in runs])
        cost = tuple(pooled([record.run_cost[:, k] for record in runs]) for k in range(n_costs))
    else:
        reward = _known([record.reward for record in good])
        columns = zip(*(record.cost for record in good), strict=True)
        cost = tuple(c for c in (_known(column) for column in columns) if c is not None)
    return Row(
        cell=records[0].cell,
        records=tuple(good or records),
        violation=pooled_rate([record.run_violation >= 0 for record in runs]) if runs and n_costs else None,
        reward=reward,
        cost=cost,
        overspent=tuple(_overspent(runs, k) for k in range(n_costs)) if runs else (),
        lower=min((record.lower for record in good if record.lower is not None), default=None),
        upper=max((record.upper for record in good if record.upper is not None), default=None),
        paper=row_of(records[0].cell),
        lost=tuple(record for record in records if failed(record)) if good else (),
    )


def _overspent(runs: Sequence[Record], k: int) -> Spread:
    excess = [beyond(record.run_spent, record.cell.budget)[:, k] for record in runs]
    return Spread(*pooled(excess), max(float(values.max()) for values in excess))


def failed(record: Record) -> bool:
    """Return whether a cell failed."""
    return record.error is not None or record.status == FAILED


def pooled(samples: Sequence[FloatArray]) -> Estimate:
    """Mean and standard error over runs of several seeds, one array each."""
    everything = np.concatenate(samples)
    if everything.min() == everything.max():
        return Estimate(float(everything[0]), 0.0)  # without the rounding of a mean
    within = sum(float(((x - x.mean()) ** 2).sum()) for x in samples)
    return _estimate(samples, within / max(1, len(everything) - len(samples)))


def pooled_rate(samples: Sequence[Any]) -> Estimate:
    """Share of runs in which something happened, with the variance p (1 − p) of each seed."""
    samples = [np.asarray(x, dtype=np.float64) for x in samples]
    n = sum(map(len, samples))
    return _estimate(samples, sum(len(x) * float(x.mean() * (1 - x.mean())) for x in samples) / n, rate=True)


def _estimate(samples: Sequence[FloatArray], within: float, rate: bool = False) -> Estimate:
    sizes = np.array([len(x) for x in samples], dtype=np.float64)
    means = np.array([float(x.mean()) for x in samples])
    n, k = float(sizes.sum()), len(samples)
    mean = float(sizes @ means / n)
    if n == 1 and not rate:
        return Estimate(mean, math.nan)
    if k == 1:
        return Estimate(mean, math.sqrt(within / n))
    between = float(sizes @ (means - mean) ** 2) / (k - 1)
    if n == k:
        return Estimate(mean, math.sqrt(between / n))  # one run a seed: nothing is known within
    per_seed = (n - float((sizes**2).sum()) / n) / (k - 1)
    of_seeds = max(0.0, (between - within) / per_seed)
    return Estimate(mean, math.sqrt(of_seeds * float((sizes**2).sum()) / n**2 + within / n))


def _known(values: Iterable[float | None]) -> Estimate | None:
    """The mean of exact values, which have no standard error."""
    found = [value for value in values if value is not None]
    return Estimate(float(np.mean(found)), math.nan) if found else None


def label(row: Row, beside: Iterable[Row]) -> str:
    """A row's algorithm, with what sets it apart from rows beside it that have the same name."""
    others = [other.cell for other in beside if other is not row and other.cell.algorithm == row.cell.algorithm]
    cell, apart = row.cell, []
    for name in sorted({name for other in (cell, *others) for name in other.options}):
        if any(other.options.get(name) != cell.options.get(name) for other in others):
            apart.append(f"{name} = {cell.options.get(name, 'default')}")
    if any(other.time_limit != cell.time_limit for other in others):
        apart.append(f"{cell.time_limit:g} s")
    return ", ".join([cell.algorithm, *apart])


def budget_text(budget: Sequence[float]) -> str:
    """A budget as a reader has it: "5", "(1, 2)", "∞"; "none" without costs."""
    numbers = ["∞" if b == math.inf else f"{b:g}" for b in budget]
    return "none" if not numbers else numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"


@cache
def _sizes(problem: str, parameters: str) -> tuple[int, int, int] | None:
    """States, actions and observations; a model is built where parameters may have changed them."""
    try:
        found = problems.get(problem)
        if not json.loads(parameters) and found.sizes is not None:
            return found.sizes
        model = found.make(**_tuples(json.loads(parameters)))
    except InputError:
        return None  # of a plug-in that is not installed here
    return model.n_states, model.n_actions, model.n_observations


def sizes(cell: Cell) -> tuple[int, int, int] | None:
    """States, actions and observations of a cell's problem, if it can be built here."""
    return _sizes(cell.problem, json.dumps(cell.parameters))


def _tuples(value: Any) -> Any:
    """Parameters from JSON as builders take them: lists are tuples."""
    if isinstance(value, dict):
        return {name: _tuples(item) for name, item in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _group(records: Sequence[Record], beside: Sequence[Cell]) -> Group:
    cell = records[0].cell
    by_cell = _collect(records, lambda r: _key(r.cell, "algorithm", "solver", "options", "time_limit"))
    rows = [summarise(_latest(same)) for same in by_cell]
    return Group(
        cell.title,
        _setting(cell, beside),
        tuple(cell.budget),
        sizes(cell),
        tuple(sorted(rows, key=lambda row: _rank(row.cell.algorithm))),
    )


def _setting(cell: Cell, beside: Sequence[Cell]) -> str:
    """Parameters that are plain values, those that only cells beside it name among them."""
    names = dict.fromkeys(name for other in (cell, *beside) for name in other.parameters if name != "budget")
    values = {name: cell.parameters[name] if name in cell.parameters else _default(cell, name) for name in names}
    return ", ".join(f"{name} = {value}" for name, value in values.items() if isinstance(value, int | float | str))


def _default(cell: Cell, name: str) -> Any:
    try:
        return problems.get(cell.problem).parameters[name].default
    except (ProblemError, KeyError):
        return None  # of a plug-in that is not installed here


def _rank(algorithm: str) -> int:
    name = algorithm.partition(",")[0]
    return _BEFORE.index(name) if name in _BEFORE else len(_BEFORE) + (name == _LAST)


def _latest(records: Sequence[Record]) -> list[Record]:
    """One record a seed: the one finished last that did not fail, if there is one."""
    by_seed = {record.cell.seed: record for record in sorted(records, key=lambda r: (not failed(r), r.finished))}
    return [by_seed[seed] for seed in sorted(by_seed)]


def _collect(records: Iterable[Record], key: Callable[[Record], str]) -> list[list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(key(record), []).append(record)
    return list(found.values())


def _key(cell: Cell, *names: str) -> str:
    return json.dumps([getattr(cell, name) for name in names], sort_keys=True)
