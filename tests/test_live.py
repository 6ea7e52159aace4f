"""A person who looks on is told what goes on, a pipe is not, and programs have the log."""

from __future__ import annotations

import logging
import os
import pty
import subprocess
import sys
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

import rcpomdp as rc
from rcpomdp import _live
from rcpomdp.solvers import TracePoint

SCRIPT = "import rcpomdp as rc; rc.solve(rc.problems.make('ce'){})"
POINT = TracePoint(2.0, 1.0, 1.5, 3, 4, 5)


def on_terminal(code: str) -> str:
    """What a script writes to stderr, which is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], stderr=theirs)
    os.close(theirs)
    written = b""
    with suppress(OSError):  # raised when the other end is closed
        while part := os.read(ours, 4096):  # while it runs: a terminal that nobody reads blocks who writes
            written += part
    os.close(ours)
    assert process.wait() == 0
    return written.decode()


class Notebook:
    """As much of IPython as a line of output needs."""

    def __init__(self, kernel: object) -> None:
        self.shown: list[str] = []
        self.display = SimpleNamespace(display=self._display)
        self._kernel = kernel

    def get_ipython(self) -> object:
        return SimpleNamespace(kernel=self._kernel)

    def _display(self, data: dict[str, str], **_: Any) -> object:
        self.shown.append(data["text/plain"])
        return SimpleNamespace(update=lambda data, raw: self.shown.append(data["text/plain"]))


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    made = Notebook(object())
    monkeypatch.setitem(sys.modules, "IPython", made)  # type: ignore[arg-type]  # a stand-in
    return made


def test_a_script_on_a_terminal_shows_a_live_line() -> None:
    assert "arcs: setting up" in on_terminal(SCRIPT.format(""))


def test_no_line_where_it_is_not_wanted() -> None:
    assert on_terminal(SCRIPT.format(", progress=False")) == ""


def test_no_line_in_a_pipe_unless_asked_for() -> None:
    def told(options: str) -> str:
        run = subprocess.run([sys.executable, "-c", SCRIPT.format(options)], capture_output=True, text=True, check=True)
        return run.stdout + run.stderr

    assert told("") == ""
    assert "[" not in told(", progress=True")  # a line that moves needs a terminal


def test_a_notebook_shows_a_line_that_goes_away(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_live, "_QUIET", 0.0)
    with _live.live_bounds("arcs") as show:
        assert show is not None
        show(POINT)
        show(POINT._replace(seconds=3.0))
    assert [line.partition(",")[0] for line in notebook.shown] == ["arcs: 2 s", "arcs: 3 s", ""]


def test_a_short_search_leaves_nothing_in_a_notebook(notebook: Notebook) -> None:
    with _live.live_bounds("arcs") as show:
        assert show is not None
        show(POINT)
    assert notebook.shown == []


def test_ipython_on_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", Notebook(None))  # type: ignore[arg-type]  # a stand-in
    assert not _live.in_notebook()


@pytest.mark.parametrize("always", [True, False])
def test_compilation_is_told_once(
    always: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(_live, "_announced", False)
    monkeypatch.setattr("rcpomdp.kernels.jit.when_compiling", told.append)
    with caplog.at_level(logging.INFO, "rcpomdp"):
        _live.announce_compilation(always)
        _live.announce_compilation(always)
        (say,) = told
        say()
    assert ("compiling" in capsys.readouterr().err) is always
    assert [record.levelname for record in caplog.records] == ["INFO"]


def test_compilation_is_told_in_a_notebook(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(_live, "_announced", False)
    monkeypatch.setattr("rcpomdp.kernels.jit.when_compiling", told.append)
    _live.announce_compilation()
    told[0]()
    assert "compiling" in capsys.readouterr().out


def test_programs_read_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "rcpomdp"):
        rc.solve(rc.problems.make("tiger"), "sarsop")
    levels = {record.levelname for record in caplog.records}
    assert levels == {"INFO", "DEBUG"}
    assert "Result of sarsop: optimal" in caplog.text


def test_a_function_is_called_and_anything_else_refused() -> None:
    seen: list[TracePoint] = []
    rc.solve(rc.problems.make("tiger"), "sarsop", progress=seen.append)
    assert seen
    with pytest.raises(rc.InputError, match="progress must be a function"):
        rc.solve(rc.problems.make("ce"), progress="yes")
