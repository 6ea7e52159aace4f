"""What the README shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
SESSIONS = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS)
def test_every_python_block_runs(code: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize("session", SESSIONS)
def test_every_session_prints_what_is_shown(session: str, tmp_path: Path) -> None:
    steps = re.findall(r"^\$ \.venv/bin/rcpomdp (.*)\n((?:[^$].*\n)*)", session, flags=re.MULTILINE)
    assert len(steps) == session.count("$ ")
    for words, shown in steps:  # one folder: later commands read what earlier ones wrote
        command = [sys.executable, "-m", "rcpomdp", *words.split()]
        # A command that fails prints nothing; one that finds fault shows what it found.
        done = subprocess.run(command, cwd=tmp_path, check=not shown, capture_output=True, text=True)
        printed = [line.split() for line in done.stdout.splitlines()]
        wanted = [line.split() for line in shown.splitlines()]
        if ["..."] in wanted:  # the rest is not shown
            wanted = wanted[: wanted.index(["..."])]
            printed = printed[: len(wanted)]
        assert not shown or printed == wanted
