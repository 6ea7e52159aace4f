"""What the README and the pages of the documentation show is what happens.

Python blocks are run: those of the README each by itself, those of another page as one script. A ``text`` block right
after a Python block is what that prints. A console session is run command by command in one folder, where the page's
script has run before. Output is compared up to a line ``...``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_MARK = "--- end of block ---"


class Block(NamedTuple):
    code: str
    shown: str | None  # what it prints


def blocks(page: str) -> list[Block]:
    """The Python blocks of a page."""
    found: list[Block] = []
    end = -1  # of the last Python block
    for fence in _FENCE.finditer(page):
        if fence[1] == "python":
            found.append(Block(fence[2], None))
            end = fence.end()
        elif fence[1] == "text" and not page[end : fence.start()].strip() and found:
            found[-1] = found[-1]._replace(shown=fence[2])
    return found


def scripts() -> list[tuple[str, list[Block]]]:
    """Blocks that are run together, and a name for them."""
    found = [(f"README block {i}", [block]) for i, block in enumerate(blocks(README.read_text()))]
    for page in PAGES[1:]:
        if here := blocks(page.read_text()):
            found.append((str(page.relative_to(ROOT)), here))
    return found


SCRIPTS = dict(scripts())
SESSIONS = [
    (str(page.relative_to(ROOT)), fence[2])
    for page in PAGES
    for fence in _FENCE.finditer(page.read_text())
    if fence[1] == "console"
]


def same(printed: str, shown: str) -> bool:
    """Whether output is what is shown, up to spaces and a line of dots."""
    lines = [line.split() for line in printed.splitlines() if line.strip()]
    wanted = [line.split() for line in shown.splitlines() if line.strip()]
    if ["..."] in wanted:  # the rest is not shown
        wanted = wanted[: wanted.index(["..."])]
        lines = lines[: len(wanted)]
    return lines == wanted


Runner = Callable[[str], tuple[Path, subprocess.CompletedProcess[str]]]


@pytest.fixture(scope="module")
def run_script(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """Run the blocks of a name, once; return the folder they ran in, and what came of it."""

    @cache
    def run(name: str) -> tuple[Path, subprocess.CompletedProcess[str]]:
        folder = tmp_path_factory.mktemp("page")
        code = "".join(f"{block.code}\nprint({_MARK!r})\n" for block in SCRIPTS[name])
        command = [sys.executable, "-W", "error", "-c", code]
        return folder, subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)

    return run


@pytest.mark.parametrize("name", SCRIPTS)
def test_python_blocks_run_and_print_what_is_shown(name: str, run_script: Runner) -> None:
    _, done = run_script(name)
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split(f"{_MARK}\n")
    for block, output in zip(SCRIPTS[name], printed, strict=False):
        assert block.shown is None or same(output, block.shown), output


@pytest.mark.parametrize(("name", "session"), SESSIONS, ids=[name for name, _ in SESSIONS])
def test_every_session_prints_what_is_shown(name: str, session: str, run_script: Runner, tmp_path: Path) -> None:
    folder = run_script(name)[0] if name in SCRIPTS else tmp_path
    steps = re.findall(r"^\$ (?:\.venv/bin/)?rcpomdp (.*)\n((?:[^$].*\n)*)", session, flags=re.MULTILINE)
    assert len(steps) == session.count("$ ")
    for words, shown in steps:  # one folder: later commands read what earlier ones wrote
        command = [sys.executable, "-m", "rcpomdp", *words.split()]
        # A command that fails prints nothing; one that finds fault shows what it found.
        done = subprocess.run(command, cwd=folder, check=not shown, capture_output=True, text=True)
        assert not shown or same(done.stdout, shown), done.stdout


def test_nothing_is_overlooked() -> None:
    assert len(SCRIPTS) > 5
    assert len(SESSIONS) > 1
    page = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n```sh\nrm\n```\n\n```text\nno output\n```\n"
    assert blocks(page) == [Block("print(1)\n", "1\n")]
    assert same("a  b\nc\n", "a b\n...\n")
    assert not same("a\nc\n", "a\n")
