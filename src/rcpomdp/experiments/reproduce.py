"""Run the cells of a suite: claim, start, collect. Only this process writes to the store.

Processes that share a store share the work: each claims a cell when it has room for it, and when there is nothing left
to claim it waits for what the others have, or takes it over when they are gone.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from .run.pool import Pool
from .run.record import Cell, Record
from .run.store import Asked, RunStore, canonical

_TURN = 0.5  # seconds between looks at the others' work
_HEARTBEAT = 5.0  # seconds between signs of life


class Watch(Protocol):
    """Is told how it goes."""

    def begin(self, cells: Sequence[Cell], done: Sequence[Cell]) -> None:
        """Announce the cells to be run, and those that were run before."""

    def running(self, cell: Cell, line: str) -> None:
        """A cell is being run."""

    def finished(self, record: Record, kept: bool) -> None:
        """A cell was run; not `kept` if another process had finished it meanwhile."""

    def elsewhere(self, cells: Sequence[Cell]) -> None:
        """Cells were finished by another process."""

    def waits(self, hosts: Sequence[str]) -> None:
        """There is nothing to do but to wait for others: where each cell that they have is run."""

    def tick(self, workers: int) -> None:
        """Time goes by."""


def reproduce(asked: Sequence[Asked], store: RunStore, pool: Pool, watch: Watch) -> None:
    """Run what is not finished yet; each cell that fails is tried once."""
    store.ask(asked)
    cells = {canonical(cell): cell for _, cell in asked}
    waiting, running = dict(cells), set[str]()
    done = store.finished(cells.values())
    watch.begin(list(cells.values()), done)
    for cell in done:
        del waiting[canonical(cell)]
    heard = looked = -float("inf")
    try:
        while waiting or running:
            if waiting and time.monotonic() - looked >= _TURN:
                looked = time.monotonic()
                elsewhere = store.finished(waiting.values())
                for cell in elsewhere:
                    del waiting[canonical(cell)]
                watch.elsewhere(elsewhere)
                for _ in range(pool.room):
                    claimed = store.claim(list(waiting.values()))
                    if claimed is None:
                        break
                    key = canonical(claimed)
                    pool.start(key, waiting.pop(key))
                    running.add(key)
                    watch.running(claimed, "starting")
                if not running:
                    watch.waits(store.holders(waiting.values()))
            if time.monotonic() - heard >= _HEARTBEAT:
                heard = time.monotonic()
                store.keep_claims()
            for report in pool.reports(_TURN) if running else _wait():
                if report.record is None:
                    watch.running(cells[report.key], report.line)
                    continue
                kept = store.add(report.record)
                running.remove(report.key)
                looked = -float("inf")  # there is room for another
                watch.finished(report.record, kept)
            watch.tick(pool.size)
    finally:
        with suppress(sqlite3.OperationalError):  # of a full disk: they end with this process
            store.give_up_claims()


def _wait() -> tuple[()]:
    """Nothing to do but to look at the others again."""
    time.sleep(_TURN)
    return ()
