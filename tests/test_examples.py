"""The example scripts: each solves its problem to a proven gap, keeps its budgets, and shows what else happens."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES = ["dialogue.py", "inspection.py", "maintenance.py", "rover.py", "search.py"]


def test_all_that_compare_are_here() -> None:
    assert sorted(p.name for p in FOLDER.glob("*.py") if "from compare import" in p.read_text()) == EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    done = runpy.run_path(str(FOLDER / name), run_name="example")["main"]()
    model = done.kept_runs.model
    assert 20 <= model.n_states <= 500
    assert done.kept.status == "optimal"
    assert done.kept.gap <= 0.01
    assert done.check.verified
    assert done.kept_runs.violation_rate.mean == 0
    # On average all is well, and yet many runs go over the budget.
    assert (done.average.cost <= model.spending_limit).all()
    assert done.average.reward > done.kept.upper
    assert done.average_runs.violation_rate.mean > 0.1
    assert done.average_runs.outcome.ended.mean() > 0.9
    printed = capsys.readouterr().out
    assert "verified; 0.0% of 2000 runs" in printed
    assert len(printed.splitlines()) < 15
    if name == "rover.py":
        assert printed in (FOLDER.parent / "docs" / "examples.md").read_text()
