"""``rcpomdp table``, ``paper``, ``plot`` and ``report``: what they write where, and one sentence for bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rcpomdp.experiments.report import formats
from rcpomdp.experiments.run.store import RunStore
from record_json import real

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store of some real records."""
    path = str(tmp_path / "runs.db")
    with RunStore(path, create=True) as runs:
        for record in [*real("paper-extended", "CE"), *real("paper-figure")]:
            runs.add(record)
    return path


@pytest.mark.parametrize("form", formats.FORMATS)
def test_a_table_in_every_format(run: Run, store: str, tmp_path: Path, form: str) -> None:
    code, shown, _ = run("table", "paper-extended", "--store", store, "--format", form)
    assert code == 0
    assert shown == formats.render(real("paper-extended", "CE"), form)
    out = tmp_path / "table"
    assert run("table", "paper-extended", "--store", store, "--format", form, "--out", str(out)) == (
        *(0, ""),
        f"rcpomdp: table of paper-extended written to {out}\n",
    )
    assert out.read_text(encoding="utf-8") == shown


def test_a_table_as_json_and_in_another_layout(run: Run, store: str) -> None:
    rows = json.loads(run("table", "paper-extended", "--store", store, "--json")[1])
    assert [row["algorithm"] for row in rows][-1] == "ARCS"
    assert rows[-1]["best"] == ["best", "keeping"]
    short = run("table", "paper-extended", "--store", store, "--layout", "short")[1]
    assert "S / A / O" not in short


@pytest.mark.parametrize("form", ["rich", "markdown", "latex", "html"])
def test_verdicts_on_the_papers_numbers(run: Run, store: str, tmp_path: Path, form: str) -> None:
    code, shown, _ = run("paper", "--store", store, "--format", form)
    assert code == 0
    assert "reproduced" in shown
    out = tmp_path / "numbers"
    assert run("paper", "--store", store, "--format", form, "--out", str(out))[:2] == (0, "")
    assert out.read_text(encoding="utf-8") == shown
    data = json.loads(run("paper", "--store", store, "--json")[1])
    assert sum(data["counts"].values()) == len(data["numbers"])


def test_verdicts_in_no_known_format_are_refused(run: Run, store: str) -> None:
    code, _, complaint = run("paper", "--store", store, "--format", "csv")
    assert (code, complaint) == (2, "rcpomdp: unknown format 'csv' (known: rich, markdown, latex, html)\n")


@pytest.mark.parametrize("form", ["svg", "png"])
def test_plots_of_a_suite(run: Run, store: str, tmp_path: Path, form: str) -> None:
    out = tmp_path / "new" / "plots"
    code, shown, _ = run("plot", "paper-figure", "--store", store, "--out", str(out), "--format", form, "--json")
    assert code == 0
    files = [Path(row["file"]) for row in json.loads(shown)]
    assert out / f"tunnels.{form}" in files
    assert sorted(out.iterdir()) == sorted(files)
    assert all(file.stat().st_size > 1000 for file in files)


def test_a_report(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    small = str(tmp_path / "small.db")
    with RunStore(small, create=True) as runs:
        for record in real("budget-sweep"):
            runs.add(record)
    code, shown, said = run("report", "--store", small, "--out", str(out))
    assert (code, shown) == (0, "")
    assert "10 cells of budget-sweep written" in said
    assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    told = json.loads(run("report", "--store", small, "--out", str(out), "--json")[1])
    assert (told["suites"], told["bytes"]) == (["budget-sweep"], out.stat().st_size)


def test_bad_input_is_one_sentence(run: Run, store: str, tmp_path: Path) -> None:
    empty, text = str(tmp_path / "empty.db"), tmp_path / "text.db"
    RunStore(empty, create=True).close()
    text.write_text("no store of runs, but long enough to be read as one " * 20)
    gone, out = str(tmp_path / "gone.db"), str(tmp_path / "out")
    nowhere = str(tmp_path / "no" / "where" / "x")
    inside = str(text / "folder")
    cases = {
        ("table", "paper-extendd", "--store", store): "did you mean 'paper-extended'?",
        ("table", "paper-extended", "--store", empty): "holds no records",
        ("table", "paper-extended", "--store", gone): "there is no store of runs",
        ("table", "paper-extended", "--store", str(text)): "is no store of runs",
        ("table", "paper-extended", "--store", store, "--format", "word"): "unknown format 'word'",
        ("table", "paper-extended", "--store", store, "--layout", "wide"): "unknown layout 'wide'",
        ("table", "paper-extended", "--store", store, "--out", nowhere): "cannot write",
        ("plot", "tiger", "--store", store, "--out", out): "has no records of suite 'tiger'",
        ("plot", "paper-figure", "--store", store, "--out", out, "--format", "gif"): "unknown format 'gif'",
        ("plot", "paper-figure", "--store", store, "--out", inside): "cannot make the folder",
        ("plot", "paper-figure", "--store", gone, "--out", out): "there is no store of runs",
        ("report", "--store", empty, "--out", out): "holds no records",
        ("report", "--store", store, "--out", nowhere): "cannot write",
        ("report", "--store", store, "--out", str(tmp_path)): "Is a directory",
    }
    before = sorted(tmp_path.iterdir())
    for words, sentence in cases.items():
        code, shown, said = run(*words)
        assert (code, shown) == (2, ""), words
        assert sentence in said, words
        assert len(said.splitlines()) == 1, words
    assert sorted(tmp_path.iterdir()) == before
