"""Compiled code for worker processes: compiled once, by one process, and only loaded by the others.

Who compiles holds a lock on a file beside the cache, and leaves a mark in it when done; whoever finds the mark loads
without a lock.
"""

from __future__ import annotations

import fcntl
import hashlib
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ...kernels import jit
from ...kernels.jit import cache_folder

_LIMIT = 60.0  # seconds that no solver needs for the smallest problem
_GAP = 1.0


def compile_kernels() -> None:
    """See to it that there is a cache of what all solvers and the simulator run."""
    folder = cache_folder()
    if folder is not None and not _mark(folder).exists():
        load_kernels()


@cache
def load_kernels() -> None:
    """Load what all solvers and the simulator run, once per process; what is not in the cache is compiled into it."""
    folder = cache_folder()
    if folder is None or (mark := _mark(folder)).exists():
        _run_all()
        return
    with _alone(folder.with_suffix(".lock")):
        _run_all()
        with suppress(OSError):  # nowhere to keep a cache
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()


def _run_all() -> None:
    from ... import problems
    from ...kernels.belief_graph.interning import rehash
    from ...kernels.belief_graph.store import NONE
    from ...simulation.simulate import simulate
    from ...solvers import SOLVERS, solve
    from ...solvers.belief_graph.search import BeliefGraphSearch, Objective
    from ...solvers.warmup import load_all_kernels, smallest_model

    model = problems.make("ce")
    quiet: dict[str, Any] = {"time_limit": _LIMIT, "progress": False}
    for name, solver in SOLVERS.items():
        variants: list[dict[str, Any]] = [{"variant": variant} for variant in solver.variants]
        for options in variants or [{}]:
            result = solve(model, name, **quiet, **options)
            simulate(model, result.policy, runs=2)
    solve(problems.make("tiger"), "cgcp", **quiet, epsilon=_GAP, iterations=3)  # several multipliers in turn
    solve(model.with_budget([0.0]), "arcs", variant="paper", **quiet)  # infeasible
    load_all_kernels()
    store = BeliefGraphSearch(smallest_model(), Objective(1.0, np.zeros(1))).store
    rehash(store._replace(table=np.full_like(store.table, NONE)))  # as where a search outgrows its table


def _mark(folder: Path) -> Path:
    """The file that says that the cache is complete; its name tells all that compiled kernels depend on.

    Besides their text, which names the folder, that is where they are and when they were written: numba compiles them
    anew for another copy of the same text. This file is one of them: it says which there are to compile.
    """
    sources = [*sorted(Path(jit.__file__).parent.rglob("*.py")), Path(__file__)]
    files = [(str(path), path.stat().st_mtime_ns) for path in sources]
    processor = import_module("llvmlite.binding").get_host_cpu_name()
    parts = (import_module("numba").__version__, platform.python_version(), processor, files)
    return folder / f"complete-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold a lock on a file, after whoever holds it now; without one where no file can be made."""
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("a")
    except OSError:
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
