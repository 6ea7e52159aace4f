"""Pools, which run cells; and one of processes on this machine.

Each process has a pipe of its own: one that is killed in the middle of a word breaks nobody else's. A cell whose
process dies is given to another one, `TRIES` times in all.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, Protocol

from ... import _processes
from .cell import failure, run_cell
from .record import Cell, Record
from .warm import load_kernels

TRIES = 3
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class PoolLostError(RuntimeError):
    """There is nowhere to run cells any more."""


class Report(NamedTuple):
    """News of a cell: how far it is, or its record."""

    key: str
    line: str = ""
    record: Record | None = None


class Pool(Protocol):
    """Runs cells somewhere."""

    @property
    def size(self) -> int:
        """Number of cells that can be run at once, at present."""

    @property
    def room(self) -> int:
        """Number of further cells that can be started."""

    def start(self, key: str, cell: Cell) -> None:
        """Begin a cell; `key` tells it from the others."""

    def reports(self, timeout: float) -> list[Report]:
        """News; waits for some for at most so many seconds."""

    def close(self) -> None:
        """Drop what is not finished."""


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    key: str | None = None  # of the cell it is at work on
    cell: Cell | None = None


class LocalPool:
    """Processes on this machine."""

    def __init__(self, workers: int) -> None:
        self.size = workers
        self._context = multiprocessing.get_context("spawn")  # forks of a process with threads can hang
        self._workers: list[_Worker] = []
        self._tries: Counter[str] = Counter()

    @property
    def room(self) -> int:
        """Number of further cells that can be started."""
        return self.size - sum(worker.key is not None for worker in self._workers)

    def start(self, key: str, cell: Cell) -> None:
        """Give a cell to an idle process, or to a new one."""
        worker = next((worker for worker in self._workers if worker.key is None), None) or self._new()
        worker.key, worker.cell = key, cell
        self._tries[key] += 1
        with suppress(OSError):  # it has died meanwhile, which is noticed where reports are read
            worker.pipe.send(cell)

    def reports(self, timeout: float) -> list[Report]:
        """News of the processes; the cell of one that has died is begun anew."""
        found: list[Report] = []
        by_pipe = {worker.pipe: worker for worker in self._workers}
        for pipe in wait(list(by_pipe), timeout):
            worker = by_pipe[pipe]  # type: ignore[index]  # only pipes are waited for
            try:
                said = worker.pipe.recv()
            except (EOFError, OSError):
                found += self._bury(worker)
                continue
            assert worker.key is not None
            if isinstance(said, Record):
                found.append(Report(worker.key, record=said))
                worker.key = worker.cell = None
            else:
                found.append(Report(worker.key, line=said))
        return found

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
            worker.pipe.close()
        self._workers.clear()

    def _new(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, os.getpid()), daemon=True)
        resource_tracker.ensure_running()  # by now: it would let Ctrl-C through again before the process is started
        with _single_threaded(), _uninterrupted():
            process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        self._workers.append(_Worker(process, ours))
        return self._workers[-1]

    def _bury(self, worker: _Worker) -> list[Report]:
        self._workers.remove(worker)
        worker.process.join()
        worker.pipe.close()
        key, cell = worker.key, worker.cell
        if key is None or cell is None:
            return []
        how = f"its process died {TRIES} times, the last time with exit code {worker.process.exitcode}"
        worker.process.close()
        if self._tries[key] >= TRIES:
            return [Report(key, record=failure(cell, how))]
        self.start(key, cell)
        return [Report(key, line="begun anew: its process died")]


def _serve(pipe: Connection, parent: int) -> None:
    """Run cell after cell in a process of the pool, until the pipe ends."""
    _processes.serve(parent)
    load_kernels()
    with suppress(EOFError, OSError):
        while True:
            pipe.send(run_cell(pipe.recv(), pipe.send))


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Processes started here do their linear algebra in one thread: cells share the cores, and rows stay the same."""
    added = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Processes started here never see Ctrl-C, not even before they can say so; for this one it waits."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
