"""What docs/formats.md shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import rcpomdp as rc

TEXT = (Path(__file__).parent.parent / "docs" / "formats.md").read_text()
SESSIONS = re.findall(r"```console\n(.*?)```", TEXT, flags=re.DOTALL)
(EXAMPLE,) = re.findall(r"```pomdp\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.mark.parametrize("session", SESSIONS)
def test_the_session_runs(session: str, tmp_path: Path) -> None:
    steps = re.findall(r"^\$ \.venv/bin/rcpomdp (.*)\n((?:[^$].*\n)*)", session, flags=re.MULTILINE)
    assert len(steps) == session.count("$ ")
    for words, shown in steps:
        command = [sys.executable, "-m", "rcpomdp", *words.split()]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        wanted = shown.partition("...")[0]
        assert done.stdout.startswith(wanted)


def test_the_example_is_the_tiger(tmp_path: Path) -> None:
    (tmp_path / "tiger.pomdp").write_text(EXAMPLE)
    model, known = rc.load_model(tmp_path / "tiger.pomdp"), rc.problems.make("tiger")
    assert model.reward.tolist() == known.reward.tolist()
    assert model.cost.tolist() == known.cost.tolist()
    assert (list(model.costs), model.budget.tolist()) == (["listening"], [3.0])
    for a in range(3):
        assert model.transition[a].toarray().tolist() == known.transition[a].toarray().tolist()
        assert model.observation[a].toarray() == pytest.approx(known.observation[a].toarray(), abs=1e-15)


def test_the_error_that_is_shown_is_the_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "T: listen : tiger-lft : tiger-left 1"
    lines = EXAMPLE.split("\n")
    lines[0:1] = [""] * (14 - 1 - lines.index("start: uniform"))
    lines.insert(13, wrong)
    (tmp_path / "my.pomdp").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rc.ModelFileError) as error:
        rc.load_model("my.pomdp")
    shown = re.search(r"`('my.pomdp'.*?)`", TEXT, flags=re.DOTALL)
    assert shown is not None
    assert str(error.value) == " ".join(shown[1].split())


def test_the_limits_are_those_of_the_code() -> None:
    from rcpomdp.io.pomdp.names import MOST_ROWS
    from rcpomdp.io.pomdp.tables import MOST_ENTRIES

    assert f"{MOST_ROWS:,} states times actions, and {MOST_ENTRIES:,} entries" in TEXT
