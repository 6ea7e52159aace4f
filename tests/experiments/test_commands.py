"""``rcpomdp reproduce`` and ``rcpomdp runs``: what they print where, and exit codes."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import sys
from pathlib import Path

import pytest

from coordinators import Pretended
from made_records import cell, record
from rcpomdp.experiments import suites
from rcpomdp.experiments.run import pool, warm
from rcpomdp.experiments.run.store import RunStore


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> list[Pretended]:
    """Cells are not run; each pool that is made fails at the seeds that the last one names."""
    pools: list[Pretended] = [Pretended()]

    def make(workers: int) -> Pretended:
        pools.append(Pretended(pools[-1].fails))
        return pools[-1]

    monkeypatch.setattr(pool, "LocalPool", make)
    monkeypatch.setattr(warm, "compile_kernels", lambda: None)
    return pools


# reproduce


def test_without_a_suite_they_are_listed(run) -> None:
    code, out, _ = run("reproduce", "--json")
    assert code == 0
    assert {row["suite"]: row["cells"] for row in json.loads(out)} == {
        **{"paper-main": 94, "paper-extended": 143, "paper-unconstrained": 24, "paper-figure": 8},
        **{"ablation": 75, "scaling": 18, "budget-sweep": 58, "smoke": 20},
    }
    assert [line.partition(":")[0] for line in run("reproduce")[1].splitlines()] == suites.names()


def test_the_papers_figures_stand_beside_ours(run, tmp_path: Path, pretended: list[Pretended]) -> None:
    words = (
        "reproduce",
        "paper-main",
        "--only",
        "CE,*Exp",
        "--skip",
        "published",
        "--store",
        str(tmp_path / "runs.db"),
        "--time-limit",
        "7",
    )
    code, out, err = run(*words)
    assert code == 0
    assert err.splitlines()[-1].startswith("rcpomdp: 1 of 1: CE, ĉ = 5, Exp-Gradient: optimal")
    assert "0.485 ± 0.016" in out  # the paper's violation rate
    assert "Δ in s.e." in out
    assert " 7 s" in out  # the limit that was used
    assert "The paper's time limit is 300 s" in out
    code, out, err = run(*words, "--json")
    assert code == 0
    assert err == "rcpomdp: the one cell was done before\n"
    [row] = json.loads(out)
    assert (row["algorithm"], row["time_limit"]) == ("Exp-Gradient", 7.0)
    assert len(pretended) == 2


def test_another_limit_is_another_cell(run, tmp_path: Path, pretended: list[Pretended]) -> None:
    words = ("reproduce", "paper-figure", "--skip", "rising", "--skip", "0.95", "--store", str(tmp_path / "runs.db"))
    assert run(*words, "--time-limit", "1")[0] == 0
    assert run(*words, "--time-limit", "2")[0] == 0
    assert [pool.ran for pool in pretended[1:]] == [[0, 0], [0, 0]]
    with RunStore(tmp_path / "runs.db") as store:
        assert sorted(found.cell.time_limit for found in store.records()) == [1, 1, 2, 2]


def test_what_one_suite_has_done_another_need_not_do(run, tmp_path: Path, pretended: list[Pretended]) -> None:
    store = str(tmp_path / "runs.db")
    run("reproduce", "paper-extended", "--only", "tunnels", "--store", store)
    code, out, err = run("reproduce", "paper-figure", "--store", store, "--json")
    assert code == 0
    assert "all 8 cells were done before" in err
    assert {row["algorithm"] for row in json.loads(out)} == {"CGCP", "ARCS"}


def test_a_cell_that_fails_is_exit_code_1_until_it_goes_well(run, tmp_path: Path, pretended: list[Pretended]) -> None:
    store = str(tmp_path / "runs.db")
    words = ("reproduce", "paper-figure", "--skip", "rising", "--skip", "0.95", "--seeds", "2", "--store", store)
    pretended[0].fails = [1]
    code, out, err = run(*words)
    assert code == 1
    assert "rcpomdp: 2 of 4 cells failed; the same command runs them again" in err
    assert "Tunnels" in out
    assert "failed" in run("runs", "--store", store)[1]
    assert len(json.loads(run("runs", "--store", store, "--status", "failed", "--json")[1])) == 2
    pretended[-1].fails = []
    code, _, err = run(*words)
    assert code == 0
    assert pretended[-1].ran == [1, 1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("no-such",), "unknown suite 'no-such'"),
        (("smoke", "--workers", "0"), "workers must be at least 1, not 0"),
        (("smoke", "--workers", "2", "--scheduler", "tcp://x:1"), "give --workers or --scheduler, not both"),
        (("smoke", "--time-limit", "-1"), "the time limit must be above 0 and finite, not -1.0"),
        (("smoke", "--time-limit", "1e308"), "the time limit must be at most 1e+09 seconds, not 1e+308"),
        (("smoke", "--only", "nothing like it"), "suite 'smoke' has no cell like 'nothing like it'"),
    ],
)
def test_bad_input_is_one_sentence_and_makes_no_store(run, tmp_path: Path, words, sentence: str) -> None:
    code, out, err = run("reproduce", *words, "--store", str(tmp_path / "runs.db"))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert sentence in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", ":memory:"])
def test_a_store_that_would_keep_nothing_is_bad_input(run, pretended: list[Pretended], name: str) -> None:
    code, out, err = run("reproduce", "smoke", "--store", name)
    assert (code, out) == (2, "")
    assert err == f"rcpomdp: {name!r} is no name of a file to keep runs in; give a path, as in runs.db\n"


def test_a_store_that_cannot_be_written_is_bad_input(
    run, tmp_path: Path, pretended: list[Pretended], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = str(tmp_path / "runs.db")
    run("reproduce", "paper-figure", "--store", store)

    def refuse(self: RunStore, asked: object) -> None:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr(RunStore, "ask", refuse)  # whoever runs the tests may be allowed to write everywhere
    code, out, err = run("reproduce", "paper-figure", "--store", store)
    assert (code, out) == (2, "")
    assert err == f"rcpomdp: store {store!r} cannot be written: attempt to write a readonly database\n"


@pytest.mark.parametrize("command", [("reproduce", "smoke"), ("runs",)])
def test_a_file_that_is_no_store_is_bad_input(run, tmp_path: Path, command: tuple[str, ...]) -> None:
    path = tmp_path / "runs.db"
    path.write_text("nonsense" * 100)
    code, out, err = run(*command, "--store", str(path))
    assert (code, out) == (2, "")
    assert err == f"rcpomdp: {str(path)!r} is no store of runs\n"
    assert path.read_text() == "nonsense" * 100


# runs


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = tmp_path / "kept.db"
    with RunStore(path, create=True) as kept:
        kept.add(record(cell(), "failed"))
        kept.add(record(cell()))
        kept.add(record(cell(solver="cgcp", algorithm="CGCP", budget=[1.0, float("inf")], suite="another")))
    return str(path)


def test_runs_are_listed_and_chosen(run, store: str) -> None:
    code, out, _ = run("runs", "--store", store)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["suite", "made-up", "another"]
    for words, count in (
        ((), 2),
        (("--every",), 3),
        (("--suite", "another"), 1),
        (("--solver", "arcs"), 1),
        (("--problem", "tiger"), 0),
        (("--every", "--status", "failed"), 1),
    ):
        assert len(json.loads(run("runs", "--store", store, "--json", *words)[1])) == count


def test_rows_are_exported_in_full(run, store: str, tmp_path: Path) -> None:
    with RunStore(store) as kept:
        records = kept.records()
    code, out, _ = run("runs", "--store", store, "--export", "json", "--rows")
    assert code == 0
    rows = json.loads(out)
    assert [row["run_reward"] for row in rows] == [float(r) for found in records for r in found.run_reward]
    assert [row["run_cost"] for row in rows] == [c.tolist() for found in records for c in found.run_cost]
    assert rows[-1]["budget"] == [1.0, None]
    _, out, _ = run("runs", "--store", store, "--export", "csv", "--rows", "--suite", "made-up")
    lines = list(csv.DictReader(io.StringIO(out)))
    assert [float(line["run_spent"]) for line in lines] == records[0].run_spent[:, 0].tolist()
    assert [line["violation_step"] for line in lines] == ["" if v < 0 else str(v) for v in records[0].run_violation]
    target = tmp_path / "cells.csv"
    said = f"rcpomdp: 2 runs written to {target}\n"
    assert run("runs", "--store", store, "--export", "csv", "--out", str(target)) == (0, "", said)
    lines = list(csv.DictReader(io.StringIO(target.read_text())))
    assert [line["status"] for line in lines] == ["optimal", "optimal"]
    assert [json.loads(line["budget"]) for line in lines] == [[5.0], [1.0, None]]


def test_parquet_holds_the_same_rows(run, store: str, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    target = tmp_path / "rows.parquet"
    assert run("runs", "--store", store, "--export", "parquet", "--rows", "--out", str(target))[0] == 0
    rows = json.loads(run("runs", "--store", store, "--export", "json", "--rows")[1])
    table = parquet.read_table(target).to_pylist()
    assert [row["run_reward"] for row in table] == [row["run_reward"] for row in rows]
    assert [json.loads(row["budget"]) for row in table] == [[5.0]] * 3 + [[1.0, None]] * 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--export", "xml"), "unknown format 'xml' (known: csv, json, parquet)"),
        (("--rows",), "--out and --rows belong to --export"),
        (("--suite", "nosuch"), "store {store!r} has nothing of suite 'nosuch' (it has: made-up, another)"),
        (("--export", "parquet"), "parquet is no text; say with --out where to write it"),
    ],
)
def test_what_cannot_be_exported_is_said(run, store: str, words, sentence: str) -> None:
    assert run("runs", "--store", store, *words) == (2, "", f"rcpomdp: {sentence.format(store=store)}\n")


def test_parquet_without_pyarrow_says_what_is_missing(run, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    code, _, err = run("runs", "--store", store, "--export", "parquet", "--out", "x")
    assert (code, err) == (2, "rcpomdp: parquet needs pyarrow: pip install 'rcpomdp[parquet]'\n")


def test_a_newer_and_a_damaged_store_are_bad_input(run, store: str) -> None:
    whole = Path(store).read_bytes()
    db = sqlite3.connect(store)
    db.execute("PRAGMA user_version = 2")
    db.close()
    code, _, err = run("runs", "--store", store)
    assert code == 2
    assert "newer rcpomdp" in err
    Path(store).write_bytes(whole[: len(whole) // 2])
    code, _, err = run("runs", "--store", store)
    assert code == 2
    assert "is damaged" in err
    assert len(err.splitlines()) == 1


def test_an_empty_answer_is_no_error(run, tmp_path: Path) -> None:
    RunStore(tmp_path / "empty.db", create=True).close()
    assert run("runs", "--store", str(tmp_path / "empty.db"), "--json") == (0, "[]\n", "")
    assert run("runs", "--store", str(tmp_path / "empty.db"), "--export", "csv")[0] == 0


def test_paper_means_all_of_its_suites_and_how_long_it_takes_is_foretold(
    run, tmp_path: Path, pretended: list[Pretended]
) -> None:
    words = ("reproduce", "paper", "--only", "tunnels*CGCP", "--store", str(tmp_path / "runs.db"), "--workers", "2")
    code, out, err = run(*words, "--time-limit", "60", "--step-time", "1", "--json")
    assert code == 0
    told = json.loads(out)
    assert set(told) == {name for name in suites.members("paper") if told.get(name)} > {"paper-extended"}
    first = err.splitlines()[0]
    assert " to run, at most " in first
    assert first.endswith(" of 2 processes; --time-limit and --step-time make it less")
    assert "were done before" in err  # the figure's are those of the table
    assert run("reproduce", "paper", "--only", "nothing", "--store", str(tmp_path / "runs.db"))[0] == 2


def test_the_longest_that_cells_take_counts_what_policies_think() -> None:
    plain, thinking = cell(), cell(options={"step_time": 2.0})
    assert suites.longest([plain]) == plain.time_limit
    assert suites.longest([thinking]) == thinking.time_limit + 2.0 * thinking.runs * thinking.steps
