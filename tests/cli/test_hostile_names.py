"""Names are text: whatever somebody put into a label, no command lets it steer a terminal, a page or a picture."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_group

import rcpomdp as rc
from made_records import cell, record
from rcpomdp import cli
from rcpomdp.experiments.run.store import RunStore

ESCAPE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"
NAME = f"red{ESCAPE}<b>VERIFIED"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
COMMANDS = {
    "check": ("check", "MODEL"),
    "info": ("info", "MODEL"),
    "info of a policy": ("info", "POLICY"),
    "solve": ("solve", "MODEL", "--runs", "3"),
    "solve in vain": ("solve", "MODEL", "--budget", "0"),
    "simulate": ("simulate", "--policy", "POLICY", "--problem", "MODEL", "--runs", "3"),
    "verify": ("verify", "POLICY", "--problem", "MODEL"),
    "verify in vain": ("verify", "POLICY", "--problem", "MODEL", "--budget", "0.5"),
    "explain": ("explain", "POLICY", "--problem", "MODEL"),
    "explore": ("explore", "POLICY", "--problem", "MODEL", "--out", "page.html", "--no-open"),
    "graph": ("graph", "POLICY", "--problem", "MODEL"),
    "render": ("render", "MODEL", "--policy", "POLICY", "--steps", "2", "--out", "film.svg"),
    "convert": ("convert", "MODEL", "other.pomdpx"),
    "solve with a proof": ("solve", "MODEL", "--proof", "bound.rcproof"),
    "solve with a further cost": ("solve", "MODEL", "--cost", f"{NAME}: 1"),
    "solve for a cost": ("solve", "MODEL", "--solver", "sarsop", "--objective", f"cost:{NAME}"),
    "solve with a horizon": ("solve", "MODEL", "--horizon", "2", "--k", "1"),
    "verify a proof": ("verify", "--proof", "PROOF", "--problem", "MODEL"),
    "compress": ("compress", "POLICY", "--problem", "MODEL", "--out", "small.rcp"),
    **{
        f"export as {form}": ("export", "POLICY", "--problem", "MODEL", "--format", form)
        for form in ("c", "json", "dot")
    },
    "export to a file": ("export", "POLICY", "--problem", "MODEL", "--out", "policy.h"),
    **{f"paper as {form}": ("paper", "--store", "STORE", "--format", form) for form in ("rich", "markdown", "latex")},
    "paper as html": ("paper", "--store", "STORE", "--format", "html", "--out", "paper.html"),
    "reproduce": ("reproduce", NAME, "--store", "runs.db"),
    "reproduce some": ("reproduce", "smoke", "--only", NAME, "--store", "runs.db"),
    "problems": ("problems",),
    "solvers": ("solvers",),
    "runs": ("runs", "--store", "STORE"),
    "runs as csv": ("runs", "--store", "STORE", "--export", "csv"),
    **{
        f"table as {form}": ("table", NAME, "--store", "STORE", "--format", form)
        for form in ("rich", "markdown", "html")
    },
    "plot": ("plot", NAME, "--store", "STORE", "--out", "plots"),
    "report": ("report", "--store", "STORE", "--out", "report.html"),
    "an unknown problem": ("info", NAME),
    "an unknown file": ("check", f"{NAME}.pomdp"),
    "an unknown solver": ("solve", "ce", "--solver", NAME),
    "an unknown action": ("simulate", "--policy", f"blind:{NAME}", "--problem", "ce"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A model, a policy and a store, with such names wherever there can be one."""
    folder = tmp_path_factory.mktemp("hostile")
    model = rc.CPOMDP(
        transition=[[[0.5, 0.5], [0.0, 1.0]]] * 2,
        observation=[[[0.5, 0.5], [0.5, 0.5]]] * 2,
        reward=[[1.0, 0.0], [2.0, 0.0]],
        cost=[[1.0, 0.0], [1.0, 0.0]],
        initial_belief=[1.0, 0.0],
        discount=0.5,
        budget=2.0,
        states=[f"s{NAME}", "s1"],
        actions=[f"a{NAME}", "a1"],
        observations=[f"o{NAME}", "o1"],
        costs=[f"c{NAME}"],
        name=NAME,
    )
    names = {"MODEL": "m.pomdp", "POLICY": "p.rcp", "STORE": "runs.db", "PROOF": "p.rcproof"}
    paths = {word: str(folder / name) for word, name in names.items()}
    rc.save_model(paths["MODEL"], model)
    read = rc.load_model(paths["MODEL"])
    rc.save_policy(paths["POLICY"], rc.policies.blind(read, 0), read, {"solver": NAME, "status": NAME})
    result = rc.solve(read, proof=True, time_limit=20)
    assert result.proof is not None
    rc.save_proof(paths["PROOF"], result.proof, read)
    with RunStore(paths["STORE"], create=True) as store:
        asked = cell(suite=NAME, title=NAME, algorithm=NAME, problem=NAME)
        store.add(record(asked))
        store.add(record(cell(suite=NAME, title=NAME, algorithm="x", seed=1), status="failed"))
    return paths


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_no_command_lets_a_name_steer_anything(
    words: tuple[str, ...],
    files: dict[str, str],
    run: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = run(*(files.get(word, word) for word in words))
    assert shown.code in (0, 1, 2, 3, 4)
    assert "Traceback" not in shown.err
    assert "failed:" not in shown.err
    for stream in (shown.out, shown.err):
        assert not STEERING.search(stream), repr(stream)
    for made in tmp_path.rglob("*"):
        if made.suffix in (".html", ".svg", ".h"):
            text = made.read_text()
            assert not STEERING.search(text), made
            assert made.suffix == ".h" or "<b>VERIFIED" not in text, made
        if made.suffix == ".svg":
            ET.parse(made)


def test_every_command_is_asked() -> None:
    assert {words[0] for words in COMMANDS.values()} == set(get_group(cli.app).commands)


def test_on_a_terminal_styles_are_ours_alone(files: dict[str, str]) -> None:
    mine, theirs = pty.openpty()
    words = [sys.executable, "-m", "rcpomdp", "verify", files["POLICY"], "--problem", files["MODEL"]]
    done = subprocess.run(words, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"}, check=False)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(mine, 65536)
        except OSError:  # how the end of a terminal is told
            break
        if not part:
            break
        shown += part
    os.close(mine)
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).replace("\r\n", "\n")  # bold, and the like
    assert done.returncode in (0, 1)
    assert "VERIFIED" in text
    assert not STEERING.search(text), repr(text)
