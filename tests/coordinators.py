"""Processes that run a small suite, and a pool that needs none."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from made_records import outcome, record
from rcpomdp.experiments.run.cell import failure
from rcpomdp.experiments.run.pool import Report
from rcpomdp.experiments.run.record import Cell
from rcpomdp.experiments.run.store import RunStore

COMMAND = [sys.executable, "-m", "rcpomdp", "reproduce", "smoke", "--only", "CE,"]
CELLS = 8


def start(store: Path, *more: str) -> subprocess.Popen[str]:
    words = [*COMMAND, "--store", str(store), *more]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def end(process: subprocess.Popen[str]) -> str:
    """What it says on stderr."""
    _, said = process.communicate(timeout=300)
    return said


def outcomes(store: Path) -> list[dict[str, object]]:
    with RunStore(store) as kept:
        return [outcome(found) for found in kept.records()]


def finished(store: Path) -> int:
    """How many cells are done, seen from outside while others write."""
    if not store.exists():
        return 0
    db = sqlite3.connect(store, timeout=60)
    try:
        return int(db.execute("SELECT count(*) FROM runs").fetchone()[0])
    except sqlite3.OperationalError:  # there are no tables yet
        return 0
    finally:
        db.close()


def until(condition: Callable[[], object], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


class Pretended:
    """A pool that finishes each cell at once; some fail."""

    def __init__(self, fails: Sequence[int] = ()) -> None:
        self.size, self.fails, self.ran = 2, fails, list[int]()
        self._news: list[Report] = []

    @property
    def room(self) -> int:
        return self.size - len(self._news)

    def start(self, key: str, of: Cell) -> None:
        self.ran.append(of.seed)
        self._news.append(Report(key, record=failure(of, "no luck") if of.seed in self.fails else record(of)))

    def reports(self, timeout: float) -> list[Report]:
        news, self._news = self._news, []
        return [Report(news[0].key, line="half-way"), *news]

    def close(self) -> None:
        """Nothing to close."""
