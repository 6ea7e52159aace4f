"""The tables of a store of runs, and the triggers by which the file itself keeps what is in them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

TABLES = """
CREATE TABLE cells (id INTEGER PRIMARY KEY, asked TEXT NOT NULL UNIQUE);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, suite TEXT NOT NULL, position INTEGER NOT NULL, title TEXT NOT NULL,
    algorithm TEXT NOT NULL, cell INTEGER NOT NULL REFERENCES cells, UNIQUE (suite, title, algorithm, cell)
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, cell INTEGER NOT NULL REFERENCES cells, status TEXT NOT NULL, facts TEXT NOT NULL,
    trace BLOB NOT NULL, run_reward BLOB NOT NULL, run_cost BLOB NOT NULL, run_spent BLOB NOT NULL,
    run_violation BLOB NOT NULL, run_length BLOB NOT NULL, paths BLOB NOT NULL
);
CREATE UNIQUE INDEX finished_once ON runs (cell) WHERE status <> 'failed';
CREATE TABLE claims (
    cell INTEGER PRIMARY KEY REFERENCES cells, owner TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL,
    started TEXT NOT NULL, heard REAL NOT NULL
);
"""

# "IF NOT EXISTS": stores that were made with fewer of them get the rest. INSERT OR REPLACE drops a row without asking
# the triggers on DELETE, hence those on INSERT. RAISE(IGNORE) leaves INSERT OR IGNORE what it was.
TRIGGERS = """
CREATE TRIGGER IF NOT EXISTS runs_stay BEFORE UPDATE ON runs
    BEGIN SELECT RAISE(ABORT, 'runs are never changed'); END;
CREATE TRIGGER IF NOT EXISTS runs_are_kept BEFORE DELETE ON runs
    BEGIN SELECT RAISE(ABORT, 'runs are never dropped'); END;
CREATE TRIGGER IF NOT EXISTS runs_are_added BEFORE INSERT ON runs
    WHEN EXISTS (SELECT 1 FROM runs WHERE id = new.id)
    OR new.status <> 'failed' AND EXISTS (SELECT 1 FROM runs WHERE cell = new.cell AND status <> 'failed')
    BEGIN SELECT RAISE(ABORT, 'runs are never replaced'); END;
CREATE TRIGGER IF NOT EXISTS cells_stay BEFORE UPDATE ON cells
    BEGIN SELECT RAISE(ABORT, 'cells are never changed'); END;
CREATE TRIGGER IF NOT EXISTS cells_are_kept BEFORE DELETE ON cells
    BEGIN SELECT RAISE(ABORT, 'cells are never dropped'); END;
CREATE TRIGGER IF NOT EXISTS cells_are_added BEFORE INSERT ON cells
    WHEN EXISTS (SELECT 1 FROM cells WHERE id = new.id OR asked = new.asked) BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER IF NOT EXISTS entries_stay BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER IF NOT EXISTS entries_are_kept BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries are never dropped'); END;
CREATE TRIGGER IF NOT EXISTS entries_are_added BEFORE INSERT ON entries
    WHEN EXISTS (
        SELECT 1 FROM entries WHERE id = new.id
        OR suite = new.suite AND title = new.title AND algorithm = new.algorithm AND cell = new.cell
    ) BEGIN SELECT RAISE(IGNORE); END;
"""


def statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one: `executescript` would end the transaction."""
    statement = ""
    for line in script.strip().splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
