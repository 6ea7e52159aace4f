"""The run store: what goes in comes out, nothing is changed, and others' claims are honoured as long as they live."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_records import cell, outcome, record
from rcpomdp._processes import host
from rcpomdp.experiments.run import store as module
from rcpomdp.experiments.run.store import LEASE, Asked, RunStore, StoreError, canonical


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


# What goes in comes out


@settings(derandomize=True, deadline=None, max_examples=30)
@given(runs=st.integers(0, 5), costs=st.integers(1, 3), seed=st.integers(0, 9), unlimited=st.booleans())
def test_records_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, runs: int, costs: int, seed: int, unlimited: bool
) -> None:
    of = cell(runs=runs, budget=[np.inf if unlimited else 1.5] * costs, options={"a": {"b": [1, 2]}}, seed=seed)
    given_ = record(of, seed=seed)
    with RunStore(tmp_path_factory.mktemp("store") / "runs.db", create=True) as store:
        assert store.add(given_)
        [back] = store.records()
    assert outcome(back) == outcome(given_)
    assert np.array_equal(back.trace, given_.trace)
    assert (back.versions, back.machine, back.started) == (given_.versions, given_.machine, given_.started)
    assert (back.seconds, back.setup_seconds, back.simulation_seconds) == (1.5, 0.25, 0.125)


def test_records_come_in_the_order_of_their_suites(path: Path) -> None:
    cells = [cell(seed=seed, title=title, time_limit=60.0 + len(title)) for title in ("A", "BB") for seed in (0, 1)]
    with RunStore(path, create=True) as store:
        store.ask([Asked(position, of) for position, of in enumerate(cells)])
        for of in reversed(cells):
            store.add(record(of))
        store.add(record(cell(suite="another")))
        assert [found.cell for found in store.records()] == [*cells, cell(suite="another")]
        assert store.suites() == ["made-up", "another"]
        assert [found.cell.seed for found in store.records(suite="made-up")] == [0, 1, 0, 1]
        assert store.records(solver="cgcp") == store.records(problem="tiger") == store.records(status="failed") == []


def test_what_a_cell_is_called_does_not_tell_cells_apart(path: Path) -> None:
    one, other = cell(), cell(suite="another", title="The counterexample")
    assert canonical(one) == canonical(other)
    with RunStore(path, create=True) as store:
        store.add(record(one))
        store.ask([Asked(0, other)])
        assert store.finished([other]) == [other]
        assert [found.cell for found in store.records(suite="another")] == [other]


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"time_limit": 61.0}, {"budget": [6.0]}, {"options": {"epsilon": 0.1}}, {"parameters": {"p": 1}}],
)
def test_what_is_asked_tells_cells_apart(change: dict[str, object]) -> None:
    assert canonical(cell()) != canonical(replace(cell(), **change))


def test_the_order_of_options_and_the_kind_of_a_number_do_not_count() -> None:
    assert canonical(cell(options={"a": 1, "b": (1, 2)})) == canonical(cell(options={"b": [1, 2], "a": 1}))
    assert canonical(cell(time_limit=60, budget=[5])) == canonical(cell(time_limit=60.0, budget=[5.0]))


# Nothing is changed


def test_a_finished_cell_is_kept_once_and_failures_beside_it(path: Path) -> None:
    with RunStore(path, create=True) as store:
        assert store.add(record(cell(), "failed"))
        assert store.finished([cell()]) == []
        assert store.add(record(cell(), seed=1))
        assert not store.add(record(cell(), seed=2))
        assert not store.add(record(cell(), "failed"))
        [kept] = store.records()
        assert outcome(kept) == outcome(record(cell(), seed=1))
        assert [found.status for found in store.records(every=True)] == ["failed", "optimal"]


COPY = "SELECT {}, cell, status, 'other', " + ", ".join(module._ARRAYS) + " FROM runs"


@pytest.mark.parametrize("made_before", [False, True])
@pytest.mark.parametrize(
    "statement",
    [
        *("UPDATE runs SET status = 'x'", "DELETE FROM runs"),
        *("UPDATE cells SET asked = 'x'", "DELETE FROM cells", "UPDATE entries SET title = 'x'", "DELETE FROM entries"),
        *("INSERT OR REPLACE INTO runs " + COPY.format(number) for number in ("id", "NULL")),
    ],
)
def test_the_file_itself_refuses_changes(path: Path, statement: str, made_before: bool) -> None:
    with RunStore(path, create=True) as store:
        store.add(record(cell()))
        if made_before:  # when only runs were guarded, and not against being replaced
            names = [row[0] for row in store._db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")]
            for name in set(names) - {"runs_stay", "runs_are_kept"}:
                store._db.execute(f"DROP TRIGGER {name}")
    RunStore(path, create=True).close()
    db = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="never"):
        db.execute(statement)
    db.close()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT OR REPLACE INTO cells SELECT id, 'x' FROM cells",
        "INSERT OR REPLACE INTO entries SELECT id, suite, 7, 'x', algorithm, cell FROM entries",
        "INSERT OR REPLACE INTO entries SELECT id + 1, suite, 7, title, algorithm, cell FROM entries",
    ],
)
def test_what_was_asked_is_not_replaced(path: Path, statement: str) -> None:
    with RunStore(path, create=True) as store:
        store.add(record(cell()))
        before = outcome(store.records()[0])
        store._db.execute(statement)
        assert [outcome(found) for found in store.records()] == [before]


def test_a_full_disk_loses_the_run_at_hand_and_nothing_else(path: Path) -> None:
    with RunStore(path, create=True) as store:
        store.add(record(cell(seed=0)))
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(sqlite3.OperationalError, match="full"):
            store.add(record(cell(seed=1, runs=10_000)))
        assert [found.cell.seed for found in store.records()] == [0]
    with RunStore(path) as store:
        assert store.add(record(cell(seed=1, runs=10_000)))
        assert [found.cell.seed for found in store.records()] == [0, 1]


# Files that are no stores


def test_a_file_that_is_not_there_is_not_made_by_reading(path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store of runs"):
        RunStore(path)
    assert not path.exists()
    with pytest.raises(StoreError, match="cannot be used: unable to open database file"):
        RunStore(path.parent / "missing" / "runs.db", create=True)


@pytest.mark.parametrize("create", [True, False])
def test_other_files_are_refused_and_left_alone(path: Path, create: bool) -> None:
    path.write_text("no database at all, but long enough to have a header " * 10)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"runs\.db' is no store of runs"):
        RunStore(path, create)
    assert path.read_bytes() == before
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE recipes (cake TEXT)")
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="is no store of runs"):
        RunStore(path, create)


def test_an_empty_file_becomes_a_store_only_if_one_is_to_be_made(path: Path) -> None:
    path.touch()  # as a process killed early leaves it
    with pytest.raises(StoreError, match="is no store of runs"):
        RunStore(path)
    with RunStore(path, create=True) as store:
        assert store.add(record(cell()))


def test_a_newer_store_is_refused(path: Path) -> None:
    RunStore(path, create=True).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="has format 99 of a newer rcpomdp; this one reads 1"):
        RunStore(path)


def test_damage_is_found(path: Path) -> None:
    with RunStore(path, create=True) as store:
        for seed in range(20):
            store.add(record(cell(seed=seed, runs=200)))
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:4096] + bytes(len(whole) - 4096)):
        path.write_bytes(damaged)
        with pytest.raises(StoreError, match="is damaged"):
            RunStore(path)


def test_a_run_that_cannot_be_read_is_named(path: Path) -> None:
    with RunStore(path, create=True) as store:
        store.add(record(cell()))
        store._db.execute("DROP TRIGGER runs_stay")
        store._db.execute("UPDATE runs SET run_reward = x'0102'")
        with pytest.raises(StoreError, match="is damaged: run 1 cannot be read"):
            store.records()


# Claims


def test_two_processes_never_hold_one_cell(path: Path) -> None:
    cells = [cell(seed=seed) for seed in range(3)]
    with RunStore(path, create=True) as one, RunStore(path) as other:
        assert one.claim(cells) == cells[0]
        assert other.claim(cells) == cells[1]
        assert [of.seed for of in other.claimed()] == [0]
        one.add(record(cells[0]))
        assert one.claim(cells) == cells[2]
        assert other.claim(cells[2:]) is None
        one.give_up_claims()
        assert other.claim(cells[2:]) == cells[2]


def test_a_claim_ends_when_nothing_is_heard(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(module.time, "time", lambda: now[0])
    with RunStore(path, create=True) as one, RunStore(path) as other:
        one.claim([cell()])
        now[0] += LEASE - 1
        assert other.claim([cell()]) is None
        one.keep_claims()
        now[0] += LEASE - 1
        assert other.claim([cell()]) is None
        now[0] += 2
        assert other.claim([cell()]) == cell()
        assert one.add(record(cell()))  # what it found is as good as the other's
        assert not other.add(record(cell()))


CLAIM = """
import sys, time
sys.path[:0] = sys.argv[2:]
from made_records import cell
from rcpomdp.experiments.run.store import RunStore
RunStore(sys.argv[1]).claim([cell()])
print("claimed", flush=True)
time.sleep(600)
"""


def test_a_claim_ends_with_its_process(path: Path) -> None:
    with RunStore(path, create=True) as store:
        words = [sys.executable, "-c", CLAIM, str(path), str(Path(__file__).parents[2])]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        assert store.claim([cell()]) is None
        os.kill(process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and not yet buried
        assert store.claim([cell()]) == cell()
        process.communicate()


def test_a_number_that_another_process_has_by_now_keeps_no_claim(path: Path) -> None:
    with RunStore(path, create=True) as store:
        store.claim([cell()])
        store._db.execute("UPDATE claims SET owner = 'somebody', started = '1'")  # the number is this process's
        assert store.claim([cell()]) == cell()


def test_claims_of_another_machine_are_not_judged_by_numbers(path: Path) -> None:
    with RunStore(path, create=True) as store:
        store.claim([cell()])
        store._db.execute("UPDATE claims SET owner = 'somebody', host = 'elsewhere', pid = 999999999")
        assert store.claim([cell()]) is None


# Names that are no files, clocks that are wrong


@pytest.mark.parametrize("name", ["", ":memory:", "file:runs.db?mode=memory"])
def test_a_name_that_keeps_nothing_is_refused(name: str) -> None:
    with pytest.raises(StoreError, match="is no name of a file to keep runs in"):
        RunStore(name, create=True)


def test_a_claim_of_the_future_is_void(path: Path) -> None:
    with RunStore(path, create=True) as store, RunStore(path) as other:
        other.claim([cell()])
        assert store.holders([cell(), cell(seed=1)]) == [host().partition(" ")[0]]
        assert store.holders([cell(seed=1)]) == []
        store._db.execute("UPDATE claims SET heard = heard + ?", (2 * LEASE,))
        assert store.holders([cell()]) == []
        assert store.claim([cell()]) == cell()
