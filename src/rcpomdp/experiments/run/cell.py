"""Run one cell: solve, simulate, and write down what came of it and on what."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from ... import __version__, problems
from ..._json_values import finite
from ...model import CPOMDP
from ...simulation.simulate import simulate
from ...solvers import Result, TracePoint, registry, solve
from ...solvers.result import INTERRUPTED
from ..suites import WITH_PATHS
from .record import Cell, Record
from .store import FAILED

_TELL = 0.5  # seconds between words on how it goes
_LIBRARIES = ("numpy", "scipy", "numba", "highspy")
_LONGEST = 500  # characters of an error that are kept


def run_cell(cell: Cell, tell: Callable[[str], None] = lambda line: None) -> Record:
    """Solve and simulate; what goes wrong becomes a record too. `tell` is told how it goes, now and then."""
    began = now()
    try:
        tell("setting up")
        model = problems.make(cell.problem, **cell.parameters).with_budget(cell.budget)
        result = _solve(cell, model, tell)
        if result.status == INTERRUPTED:  # by Ctrl-C: it is no result of this cell
            raise KeyboardInterrupt
        return _record(cell, model, result, began, tell)
    except Exception as error:
        return failure(cell, f"{type(error).__name__}: {error}", began)


def failure(cell: Cell, error: str, began: str | None = None) -> Record:
    """The record of a cell that failed."""
    return Record(
        cell=cell,
        status=FAILED,
        error=" ".join(error.split())[:_LONGEST],
        lower=None,
        upper=None,
        reward=None,
        cost=[],
        admissible=None,
        seconds=0.0,
        setup_seconds=0.0,
        simulation_seconds=0.0,
        trace=np.zeros((0, 3)),
        **_no_runs(cell),
        model_hash="",
        versions=versions(),
        machine=machine(),
        started=began or now(),
        finished=now(),
    )


def _solve(cell: Cell, model: CPOMDP, tell: Callable[[str], None]) -> Result:
    known = registry.get(cell.solver).options
    options = dict(cell.options)
    if "seed" in known:
        options["seed"] = cell.seed
    options["progress"] = _now_and_then(tell) if "progress" in known else False
    return solve(model, cell.solver, time_limit=cell.time_limit, **options)


def _record(cell: Cell, model: CPOMDP, result: Result, began: str, tell: Callable[[str], None]) -> Record:
    before = time.perf_counter()
    runs = _no_runs(cell)
    online = registry.get(cell.solver).online
    if cell.runs:
        tell("simulating")
        paths = cell.problem in WITH_PATHS and not online
        counted = simulate(
            model,
            result.policy,
            cell.runs,
            cell.steps,
            cell.seed,
            progress=lambda done: tell(f"simulated {done:,} of {cell.runs:,} runs"),
            paths=paths,
        )
        if counted.runs < cell.runs:
            raise KeyboardInterrupt
        runs = {name: getattr(counted.outcome, name.removeprefix("run_")) for name in runs}
        if paths:
            runs["paths"] = counted.outcome.path
    return Record(
        cell=cell,
        status=result.status,
        error=None,
        lower=finite(result.lower),
        upper=finite(result.upper),
        reward=finite(result.reward),
        cost=[float(c) for c in result.cost],
        admissible=None if result.admissible is None else bool(result.admissible),
        seconds=result.seconds,
        setup_seconds=result.setup_seconds,
        simulation_seconds=time.perf_counter() - before if cell.runs else 0.0,
        trace=np.array([point[:3] for point in result.trace], dtype=np.float64).reshape(-1, 3),
        **runs,
        model_hash=model.fingerprint,
        versions=versions(),
        machine=machine(),
        started=began,
        finished=now(),
        exact=result.standard_error is None and not online and cell.options.get("act_time") is None,
    )


def _no_runs(cell: Cell) -> dict[str, Any]:
    costs = len(cell.budget)
    return {
        "run_reward": np.zeros(0),
        "run_cost": np.zeros((0, costs)),
        "run_spent": np.zeros((0, costs)),
        "run_violation": np.zeros(0, dtype=np.int64),
        "run_length": np.zeros(0, dtype=np.int64),
    }


def _now_and_then(tell: Callable[[str], None]) -> Callable[[TracePoint], None]:
    last = [-np.inf]

    def progress(point: TracePoint) -> None:
        seconds = time.perf_counter()
        if seconds - last[0] >= _TELL:
            last[0] = seconds
            tell(point.in_words())

    return progress


def now() -> str:
    """The time of day, UTC, in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def versions() -> dict[str, str]:
    """Versions of what computes."""
    found = {"rcpomdp": __version__, "python": platform.python_version()}
    return found | {library: version(library) for library in _LIBRARIES}


@cache
def machine() -> dict[str, Any]:
    """The machine that computes."""
    processor = platform.processor() or platform.machine()
    memory = None
    with suppress(OSError, ValueError, StopIteration):
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            processor = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"processor": processor, "cores": os.cpu_count(), "memory": memory, "system": platform.platform()}
