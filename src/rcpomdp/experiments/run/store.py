"""The run store: one SQLite file with every run of every cell, and who is at work on which.

    cells    what was asked for, as canonical JSON: the same thing asked for twice is one cell
    entries  where a suite has it: position, title, algorithm
    runs     what came of it, once per attempt: facts as JSON, arrays as little-endian blobs
    claims   which process is at work on a cell, and when it was last heard of

Runs, cells and entries are only ever added; the file itself refuses to change, replace or drop one, or to hold a
second finished run of a cell.

Each change is one transaction under a rollback journal, so that a process killed at any moment leaves a file that is
whole, and that file systems without shared memory serve too. A claim ends with its process: at once if that is seen to
be gone, and otherwise when nothing was heard of it for `LEASE` seconds.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from ..._processes import host, is_gone, started
from ..._types import AnyArray
from ...errors import InputError
from . import schema
from .record import Cell, Record

FAILED = "failed"
LEASE = 60.0  # seconds without a word after which a claim is void

_APPLICATION = 0x52435053  # marks the file as ours, in its header
_VERSION = 1
_PATIENCE = 60.0  # seconds to wait for another process's transaction
_LABELS = ("suite", "title", "algorithm")  # what a cell is called; the rest is what is asked
_ARRAYS = ("trace", "run_reward", "run_cost", "run_spent", "run_violation", "run_length", "paths")
_FACTS = tuple(f.name for f in fields(Record) if f.name not in (*_ARRAYS, "cell", "status"))


class StoreError(InputError):
    """A file that is no store of runs, or one that cannot be used."""


class Asked(NamedTuple):
    """A cell and its place in its suite."""

    position: int
    cell: Cell


class RunStore:
    """A store of runs in a file; `create` makes the file if it is not there.

    >>> RunStore("nowhere.db")
    Traceback (most recent call last):
    rcpomdp.experiments.run.store.StoreError: there is no store of runs 'nowhere.db'; `rcpomdp reproduce` makes one
    """

    def __init__(self, path: str | os.PathLike[str], create: bool = False) -> None:
        self.path = os.fsdecode(path)
        self._owner = uuid4().hex
        if not self.path or self.path == ":memory:" or self.path.startswith("file:"):
            raise StoreError(f"{self.path!r} is no name of a file to keep runs in; give a path, as in runs.db")
        if not create and not Path(self.path).exists():
            raise StoreError(f"there is no store of runs {self.path!r}; `rcpomdp reproduce` makes one")
        with self._sentences():
            # Transactions begin and end where this file says so, and nowhere else.
            self._db = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
        try:
            with self._sentences():
                self._db.execute("PRAGMA synchronous = FULL")
                self._db.execute("PRAGMA foreign_keys = ON")
                self._check(create)
        except BaseException:
            self._db.close()
            raise

    # Reading

    def records(
        self,
        suite: str | None = None,
        solver: str | None = None,
        problem: str | None = None,
        status: str | None = None,
        every: bool = False,
    ) -> list[Record]:
        """Records of the cells, in the order of their suites; of each cell the run that counts, or `every` one.

        That is the finished one, or else the last that failed. A cell that is in two suites is in the answer twice.
        """
        query = (
            "SELECT e.suite, e.title, e.algorithm, e.position, c.asked, r.* FROM entries e "
            "JOIN cells c ON c.id = e.cell JOIN runs r ON r.cell = c.id "
            "WHERE ? OR r.id = (SELECT id FROM runs WHERE cell = c.id "
            "ORDER BY status = 'failed', id DESC LIMIT 1) ORDER BY e.id, r.id"
        )
        suites: dict[str, int] = {}
        found: list[tuple[Any, Record]] = []
        with self._sentences():
            for row in self._rows(query, (every,)):
                rank = suites.setdefault(row["suite"], len(suites))
                if suite not in (None, row["suite"]):
                    continue
                record = self._record(row)
                cell = record.cell
                wanted = ((solver, cell.solver), (problem, cell.problem), (status, record.status))
                if all(asked in (None, is_) for asked, is_ in wanted):
                    found.append(((rank, row["position"], cell.time_limit, cell.seed), record))
        found.sort(key=lambda pair: pair[0])  # stable: attempts at one cell stay in order
        return [record for _, record in found]

    def suites(self) -> list[str]:
        """The suites something was asked of, in the order in which that was first so."""
        with self._sentences():
            return [row[0] for row in self._db.execute("SELECT suite FROM entries GROUP BY suite ORDER BY min(id)")]

    def finished(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those of the cells that are done and did not fail."""
        with self._sentences():
            done = {
                row[0]
                for row in self._db.execute(
                    "SELECT c.asked FROM cells c JOIN runs r ON r.cell = c.id WHERE r.status <> 'failed'"
                )
            }
        return [cell for cell in cells if canonical(cell) in done]

    # Writing

    def ask(self, cells: Iterable[Asked]) -> None:
        """Note down what is to be done, and where its suite has it."""
        with self._transaction():
            for position, cell in cells:
                self._entry(cell, position)

    def add(self, record: Record) -> bool:
        """Keep a run, and give up the claim to its cell; False if the cell was finished already by another."""
        cell = record.cell
        blobs = [np.asarray(getattr(record, name), dtype=_kind(name)).tobytes() for name in _ARRAYS]
        facts = json.dumps({name: getattr(record, name) for name in _FACTS}, allow_nan=False)
        with self._transaction():
            number = self._entry(cell, None)
            self._db.execute("DELETE FROM claims WHERE cell = ? AND owner = ?", (number, self._owner))
            if self._is_finished(number):
                return False
            self._db.execute(
                f"INSERT INTO runs (cell, status, facts, {', '.join(_ARRAYS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (number, record.status, facts, *blobs),
            )
        return True

    # Claims

    def claim(self, cells: Sequence[Cell]) -> Cell | None:
        """Take the first of the cells that is neither finished nor in another's hands; None if there is none."""
        with self._transaction():
            for cell in cells:
                number = self._entry(cell, None)
                if self._is_finished(number):
                    continue
                held = self._rows("SELECT * FROM claims WHERE cell = ?", (number,))
                if any(self._stands(claim) for claim in held):
                    continue
                mine = (number, self._owner, host(), os.getpid(), started(os.getpid()), time.time())
                self._db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)", mine)
                return cell
        return None

    def keep_claims(self) -> None:
        """Let the others know that this process is still at work."""
        with self._transaction():
            self._db.execute("UPDATE claims SET heard = ? WHERE owner = ?", (time.time(), self._owner))

    def give_up_claims(self) -> None:
        """Leave to others what this process has begun and not finished."""
        with self._transaction():
            self._db.execute("DELETE FROM claims WHERE owner = ?", (self._owner,))

    def claimed(self) -> list[Cell]:
        """Claims of others who are at work."""
        query = "SELECT c.asked, l.* FROM claims l JOIN cells c ON c.id = l.cell WHERE l.owner <> ?"
        labels: dict[str, Any] = dict.fromkeys(_LABELS, "")
        with self._sentences():
            held = [row for row in self._rows(query, (self._owner,)) if self._stands(row)]
        return [_cell(labels, row["asked"]) for row in held]

    def holders(self, cells: Iterable[Cell]) -> list[str]:
        """On which machine another is at work on a cell, for each of these that another has."""
        asked = set(map(canonical, cells))
        query = "SELECT c.asked, l.* FROM claims l JOIN cells c ON c.id = l.cell WHERE l.owner <> ?"
        with self._sentences():
            held = [row for row in self._rows(query, (self._owner,)) if row["asked"] in asked and self._stands(row)]
        return [row["host"].partition(" ")[0] for row in held]

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> RunStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Within

    def _check(self, create: bool) -> None:
        """That the file is a whole store of this version; an empty one is made a store if it may be."""
        mark, version = self._marks()
        if mark == 0 and version == 0 and create:
            with self._transaction():  # another process may be at the same
                empty = self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0
                if empty:
                    for statement in schema.statements(schema.TABLES + schema.TRIGGERS):
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
                    self._db.execute(f"PRAGMA user_version = {_VERSION}")
            mark, version = self._marks()
        if mark != _APPLICATION:
            raise StoreError(f"{self.path!r} is no store of runs")
        if version > _VERSION:
            raise StoreError(f"store {self.path!r} has format {version} of a newer rcpomdp; this one reads {_VERSION}")
        fault = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if fault != "ok":
            raise StoreError(f"store {self.path!r} is damaged: {' '.join(fault.split())}")
        if create and self._db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'runs_are_added'").fetchone() is None:
            with self._transaction():  # of a store that was made before there was this trigger
                for statement in schema.statements(schema.TRIGGERS):
                    self._db.execute(statement)

    def _marks(self) -> list[int]:
        return [int(self._db.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("application_id", "user_version")]

    def _entry(self, cell: Cell, position: int | None) -> int:
        """Number of a cell; it is noted down if it was not, at the end of its suite unless its position is known."""
        asked = canonical(cell)
        self._db.execute("INSERT OR IGNORE INTO cells (asked) VALUES (?)", (asked,))
        number = int(self._db.execute("SELECT id FROM cells WHERE asked = ?", (asked,)).fetchone()[0])
        if position is None:
            end = "SELECT coalesce(max(position) + 1, 0) FROM entries WHERE suite = ?"
            position = self._db.execute(end, (cell.suite,)).fetchone()[0]
        self._db.execute(
            "INSERT OR IGNORE INTO entries (suite, position, title, algorithm, cell) VALUES (?, ?, ?, ?, ?)",
            (cell.suite, position, cell.title, cell.algorithm, number),
        )
        return number

    def _is_finished(self, number: int) -> bool:
        query = "SELECT 1 FROM runs WHERE cell = ? AND status <> 'failed'"
        return self._db.execute(query, (number,)).fetchone() is not None

    def _stands(self, claim: dict[str, Any]) -> bool:
        """True if a claim is another's, who is still there as far as can be known."""
        if claim["owner"] == self._owner:
            return False
        gone = claim["host"] == host() and is_gone(claim["pid"], claim["started"])
        return not gone and abs(time.time() - claim["heard"]) < LEASE  # one of the future is of a wrong clock

    def _record(self, row: dict[str, Any]) -> Record:
        try:
            facts = json.loads(row["facts"], parse_constant=_no_number)
            cell = _cell({name: row[name] for name in _LABELS}, row["asked"])
            costs = len(cell.budget)
            shapes: dict[str, tuple[int, ...]] = {"trace": (-1, 3), "run_cost": (-1, costs), "run_spent": (-1, costs)}
            shapes["paths"] = (-1, cell.steps + 1)
            arrays: dict[str, Any] = {
                name: _array(row[name], _kind(name)).reshape(
                    shapes.get(name, (-1,)) if row[name] else (0, *shapes.get(name, (-1,))[1:])
                )
                for name in _ARRAYS
            }
            if len({len(arrays[name]) for name in _ARRAYS[1:-1]}) > 1 and costs:
                raise ValueError("arrays of one run have different lengths")
            known = {"exact": None} | facts  # older records do not say
            return Record(cell=cell, status=row["status"], **{name: known[name] for name in _FACTS}, **arrays)
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"store {self.path!r} is damaged: run {row['id']} cannot be read: {error}") from None

    def _rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[dict[str, Any]]:
        cursor = self._db.execute(query, values)
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of the block is written, or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk has ended it already
                self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """Fault that SQLite finds with a file, as a sentence."""
        try:
            yield
        except (UnicodeDecodeError, RecursionError) as error:  # of texts that were overwritten
            raise StoreError(f"store {self.path!r} is damaged: {error}") from None
        except sqlite3.Error as error:
            reason = str(error)
            if reason == "file is not a database":
                raise StoreError(f"{self.path!r} is no store of runs") from None
            if isinstance(error, sqlite3.OperationalError):
                raise StoreError(f"store {self.path!r} cannot be used: {reason}") from None
            raise StoreError(f"store {self.path!r} is damaged: {reason}") from None


def canonical(cell: Cell) -> str:
    """Request of a cell as JSON, the same for the same thing; its name does not count."""
    asked = {key: _plain(value) for key, value in asdict(cell).items() if key not in _LABELS}
    asked["budget"] = [None if limit == np.inf else float(limit) for limit in cell.budget]
    asked["time_limit"] = float(cell.time_limit)
    return json.dumps(asked, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _cell(labels: dict[str, Any], asked: str) -> Cell:
    known = json.loads(asked)
    known["budget"] = [np.inf if limit is None else limit for limit in known["budget"]]
    return Cell(**labels, **known)


def _plain(value: Any) -> Any:
    """Tuples as JSON has them."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _kind(name: str) -> str:
    return "<i8" if name in ("run_violation", "run_length", "paths") else "<f8"


def _array(blob: Any, kind: str) -> AnyArray:
    if not isinstance(blob, bytes):
        raise ValueError("an array is no blob")
    native = np.dtype(kind).newbyteorder("=")
    array: AnyArray = np.frombuffer(blob, kind).astype(native)
    if np.isnan(array).any():
        raise ValueError("an array holds what is no number")
    return array


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of a record")
