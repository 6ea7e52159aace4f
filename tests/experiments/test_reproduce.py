"""The coordinator: what it runs, whatever happens to it or to its workers."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

from rich.console import Console

from coordinators import CELLS, COMMAND, Pretended, end, finished, is_gone, outcomes, start, until
from made_records import cell, outcome, record
from rcpomdp._processes import host
from rcpomdp.experiments import suites
from rcpomdp.experiments.reproduce import reproduce
from rcpomdp.experiments.run.cell import run_cell
from rcpomdp.experiments.run.pool import LocalPool, Report
from rcpomdp.experiments.run.progress import Lines, Screen
from rcpomdp.experiments.run.record import Record
from rcpomdp.experiments.run.store import Asked, RunStore

# Whatever happens


def test_a_coordinator_killed_three_times_loses_nothing_and_repeats_nothing(
    tmp_path: Path, undisturbed: list[dict[str, object]]
) -> None:
    store, were_done = tmp_path / "runs.db", []
    for least in (1, 2, 4):
        process = start(store, "--workers", "1")
        until(lambda least=least: finished(store) >= least)
        process.send_signal(signal.SIGKILL)  # cells are quick: the last time all may be done by then
        end(process)
        before = outcomes(store)
        assert least <= len(before)
        were_done.append(len(before))
    assert were_done[0] < CELLS
    process = start(store, "--workers", "2")
    said = end(process)
    assert process.returncode == 0
    some, all_of_them = f"{CELLS} cells, {len(before)} of them done before", f"all {CELLS} cells were done before"
    assert (some if len(before) < CELLS else all_of_them) in said
    assert said.count("optimum in") + said.count("converged") == CELLS - len(before)
    assert outcomes(store) == undisturbed
    assert finished(store) == CELLS


def test_two_coordinators_share_the_cells(tmp_path: Path, undisturbed: list[dict[str, object]]) -> None:
    store = tmp_path / "runs.db"
    processes = [start(store, "--workers", "1") for _ in range(2)]
    said = [end(process) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert sum(text.count("optimum in") + text.count("converged") for text in said) == CELLS
    assert finished(store) == CELLS
    assert sorted(map(str, outcomes(store))) == sorted(map(str, undisturbed))


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    process = start(store, "--workers", "1")
    until(lambda: finished(store) >= 1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all processes
    said = end(process)
    assert process.returncode == 4
    done = finished(store)
    assert f"stopped with {done} of {CELLS} cells done; the same command goes on" in said
    assert "Traceback" not in said
    with RunStore(store) as kept:
        assert kept.claimed() == []
    until(lambda: is_gone(process.pid))


def test_an_interrupt_of_workers_that_just_begin_is_one_sentence(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    process = start(store, "--workers", "2")
    until(lambda: held(store) >= 1)  # the first worker is being started
    said = ""
    assert process.stderr is not None
    os.killpg(process.pid, signal.SIGINT)
    while "stopped with" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)  # once more, while it ends
    said += end(process)
    assert process.returncode == 4, said
    assert "Traceback" not in said
    assert "stopped before anything was done" not in said


def held(store: Path) -> int:
    if not store.exists():
        return 0
    with closing(sqlite3.connect(store, timeout=60)) as db, suppress(sqlite3.OperationalError):  # no tables yet
        return int(db.execute("SELECT count(*) FROM claims").fetchone()[0])
    return 0


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
from rcpomdp.__main__ import main
main()
"""


def test_a_full_disk_stops_it_and_the_store_stays_whole(tmp_path: Path, undisturbed: list[dict[str, object]]) -> None:
    store = tmp_path / "runs.db"
    words = [sys.executable, "-c", FULL, *COMMAND[3:], "--store", str(store), "--workers", "1"]
    full = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert full.returncode == 1
    assert "cannot be written: " in full.stderr
    assert "what was done before is kept" in full.stderr
    before = outcomes(store)
    assert 0 < len(before) < CELLS
    process = start(store, "--workers", "1")
    end(process)
    assert process.returncode == 0
    assert outcomes(store) == undisturbed


# Workers


def reports(pool: LocalPool) -> list[Report]:
    """All reports up to the first record."""
    said: list[Report] = []
    while not said or said[-1].record is None:
        said += pool.reports(60)
    return said


def test_the_cell_of_a_worker_that_dies_is_given_to_another() -> None:
    pool = LocalPool(1)
    try:
        pool.start("key", cell())
        pool._workers[0].process.kill()
        said = reports(pool)
        assert said[0] == Report("key", line="begun anew: its process died")
        assert outcome(said[-1].record) == outcome(run_cell(cell()))
        assert pool.room == 1
        pool._workers[0].process.kill()  # idle: nobody's cell
        pool.start("other", cell(seed=1))
        assert outcome(reports(pool)[-1].record) == outcome(run_cell(cell(seed=1)))
    finally:
        pool.close()


def test_a_cell_that_kills_its_workers_fails() -> None:
    pool = LocalPool(2)
    try:
        pool.start("key", cell())
        said: list[Report] = []
        for _ in range(3):
            pool._workers[0].process.kill()
            while not (news := pool.reports(60)):
                pass
            said += news
        assert [report.line for report in said[:2]] == ["begun anew: its process died"] * 2
        found = said[2].record
        assert found is not None
        assert found.status == "failed"
        assert found.error == "its process died 3 times, the last time with exit code -9"
        assert pool.room == 2
    finally:
        pool.close()


NEW = """
import re, signal
from pathlib import Path
from rcpomdp.experiments.run.pool import LocalPool
pool = LocalPool(2)
for _ in range(2):
    status = Path(f"/proc/{pool._new().process.pid}/status").read_text()
    print(int(re.search(r"SigBlk:\\s*(\\w+)", status)[1], 16) >> signal.SIGINT - 1 & 1)
pool.close()
"""


def test_no_worker_ever_sees_an_interrupt() -> None:
    ran = subprocess.run([sys.executable, "-c", NEW], capture_output=True, text=True, timeout=120, check=False)
    assert (ran.stdout, ran.stderr) == ("1\n1\n", "")


# The loop, with a pool that needs no processes


def test_what_fails_is_kept_and_tried_again_the_next_time(tmp_path: Path) -> None:
    asked = [Asked(i, cell(seed=i)) for i in range(5)]
    said: list[str] = []
    with RunStore(tmp_path / "runs.db", create=True) as store:
        pool = Pretended(fails=[1, 3])
        reproduce(asked, store, pool, Lines(said.append))
        assert pool.ran == [0, 1, 2, 3, 4]
        assert [found.status == "failed" for found in store.records()] == [False, True, False, True, False]
        again = Pretended()
        reproduce(asked, store, again, Lines(said.append))
        assert again.ran == [1, 3]
        assert all(found.status == "optimal" for found in store.records())
        assert len(store.records(every=True)) == 7
    assert said[0] == "5 cells, 0 of them done before"
    assert said[2].startswith("2 of 5: CE, ĉ = 5, ARCS, seed 1: failed: no luck; about ")
    assert said[6] == "5 cells, 3 of them done before"


def test_what_another_has_is_waited_for_and_taken_over(tmp_path: Path) -> None:
    asked = [Asked(i, cell(seed=i)) for i in range(3)]
    with RunStore(tmp_path / "runs.db", create=True) as store, RunStore(tmp_path / "runs.db") as other:
        other.claim([cell(seed=1)])
        other.claim([cell(seed=2)])

        class Watching(Lines):
            looks = 0

            def tick(self, workers: int) -> None:
                self.looks += 1
                if self.looks == 2:
                    other.add(record(cell(seed=1)))
                    other.give_up_claims()

        said: list[str] = []
        pool, watch = Pretended(), Watching(said.append)
        reproduce(asked, store, pool, watch)
        assert pool.ran == [0, 2]
        assert watch.looks > 2
        [line] = [line for line in said if "waiting" in line]
        where = host().partition(" ")[0]
        assert line == f"waiting for 2 cells that another process on {where} is at work on"
        assert [found.cell.seed for found in store.records()] == [0, 1, 2]


def test_the_live_table_shows_what_goes_on(tmp_path: Path) -> None:
    console = Console(width=140, height=9, force_terminal=False)
    screen = Screen(console)
    cells = [cell(seed=seed) for seed in range(20)]
    screen.begin(cells, cells[:10])
    screen.running(cells[15], "12 s, [1, 2], gap 1")
    found: Record = record(cells[14])
    screen.finished(found, kept=True)
    screen.tick(1)
    with console.capture() as shown:
        console.print(screen)
    text = shown.get()
    assert "11 of 20 cells done, about " in text
    [line] = [line for line in text.splitlines() if "seed 15" in line]
    assert line.strip().split("ARCS, ")[1].split(None, 5) == ["seed", "15", "60", "s", "running", "12 s, [1, 2], gap 1"]
    assert len(text.splitlines()) <= 9
    assert screen.settled == 11


def test_a_narrow_terminal_still_shows_name_and_state() -> None:
    console = Console(width=80, height=20, force_terminal=False)
    screen = Screen(console)
    cells = [of for _, of in suites.cells("ablation", only="tiger")]
    screen.begin(cells, [])
    screen.running(cells[0], "12 s, optimum in [1, 2], gap 1, and so on and so on and so on")
    with console.capture() as shown:
        console.print(screen)
    lines = shown.get().splitlines()[2:]
    assert len(lines) == len(cells)
    assert all(line.startswith(" C-Tiger, ĉ = 3, ARCS") and len(line) <= 80 for line in lines)
    assert [("running" in line, "waiting" in line) for line in lines] == [(True, False)] + [(False, True)] * len(
        lines[1:]
    )
