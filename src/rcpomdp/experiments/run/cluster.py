"""Cells run by the workers of a dask.distributed scheduler that is there already.

Each cell is one task. The scheduler gives the task of a worker that dies to another, as often as its setting
"allowed-failures" says (3 times). How cells go is told by events under a topic of this run. Cells travel as Python
objects: a scheduler is trusted as far as the machine it runs on.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from ...errors import InputError
from .cell import failure, run_cell
from .pool import PoolLostError, Report
from .record import Cell, Record
from .warm import load_kernels

_GONE = "the scheduler has gone"
_PATIENCE = 10  # seconds in which a scheduler must answer
_one_at_a_time = threading.Lock()  # a worker's threads would share the seconds of their cells


class ClusterPool:
    """The workers of a scheduler."""

    def __init__(self, address: str) -> None:
        try:
            distributed: Any = import_module("distributed")  # it has few types
        except ImportError:
            raise InputError("a scheduler needs dask.distributed: pip install 'rcpomdp[cluster]'") from None
        for name in ("distributed", "distributed.client"):  # what goes wrong is told in a sentence
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            _check(address)
            self._client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
        except Exception as error:  # what listens there may send anything, and what reads it may fail in any way
            told = isinstance(error, OSError | ValueError | TypeError)
            reason = " ".join(str(error).split()) if told else "what listens there does not speak as dask does"
            reason = reason or f"nothing was heard within {_PATIENCE} s"
            raise InputError(f"no scheduler answers at {address!r}: {reason}") from None
        self._topic = f"rcpomdp-{uuid4().hex}"
        self._running: dict[str, tuple[Cell, Any]] = {}
        self._news: SimpleQueue[tuple[str, str | None]] = SimpleQueue()  # a cell's key, and a line or None when done
        self._client.subscribe_topic(self._topic, self._hear)

    @property
    def size(self) -> int:
        """Number of workers at present."""
        try:
            return len(self._client.nthreads())
        except OSError:
            raise PoolLostError(_GONE) from None

    @property
    def room(self) -> int:
        """Number of workers without a cell."""
        return max(0, self.size - len(self._running))

    def start(self, key: str, cell: Cell) -> None:
        """Submit a cell."""
        future = self._client.submit(_task, key, cell, self._topic, key=f"{self._topic}-{uuid4().hex}", pure=False)
        self._running[key] = cell, future
        future.add_done_callback(lambda _: self._news.put((key, None)))

    def reports(self, timeout: float) -> list[Report]:
        """News of the workers, and finished cells."""
        try:
            news = [self._news.get(timeout=timeout)]
        except Empty:
            if self._client.status not in ("running", "connecting"):
                raise PoolLostError(_GONE) from None
            return []
        while not self._news.empty():
            news.append(self._news.get())
        return [report for report in (self._report(*one) for one in news) if report is not None]

    def close(self) -> None:
        """Cancel what is not finished, and leave the scheduler."""
        if self._client.status == "running":
            self._client.cancel([future for _, future in self._running.values()], force=True)
        self._running.clear()
        self._client.close()

    def _report(self, key: str, line: str | None) -> Report | None:
        if key not in self._running:
            return None  # a late word on what is finished
        if line is not None:
            return Report(key, line=line)
        return Report(key, record=self._outcome(*self._running.pop(key)))

    def _outcome(self, cell: Cell, future: Any) -> Record:
        if future.status in ("cancelled", "lost"):
            raise PoolLostError(_GONE)
        error = future.exception()
        if error is not None:  # a worker that cannot run the task at all, or too many that died of it
            return failure(cell, f"{type(error).__name__}: {error}")
        record: Record = future.result()
        return record

    def _hear(self, event: Any) -> None:
        _, message = event
        self._news.put((message["key"], message["line"]))


def _check(address: str) -> None:
    """That a scheduler answers in time: a client made in vain may wait without end, and complains when it goes."""
    core: Any = import_module("distributed.core")
    security: Any = import_module("distributed").Security()

    async def ask() -> Any:
        async with core.rpc(address, connection_args=security.get_connection_args("client")) as peer:
            return await peer.identity()

    async def in_time() -> Any:
        return await asyncio.wait_for(ask(), _PATIENCE)

    kind = asyncio.run(in_time())["type"]
    if kind != "Scheduler":
        raise ValueError(f"there is a {kind}")


def _task(key: str, cell: Cell, topic: str) -> Record:
    worker = import_module("distributed").get_worker()
    with _one_at_a_time:
        load_kernels()
        return run_cell(cell, lambda line: worker.log_event(topic, {"key": key, "line": line}))
