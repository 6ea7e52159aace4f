"""What docs/gymnasium.md shows runs, and so does the example."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "gymnasium.md").read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS)
def test_every_python_block_runs(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    for printed in re.findall(r"print\(.*?\)  # (.*)", code):
        assert printed in done.stdout


def test_the_example_shows_that_the_environment_is_the_simulator() -> None:
    script = ROOT / "examples" / "gymnasium_loop.py"
    done = subprocess.run([sys.executable, "-W", "error", script], check=True, capture_output=True, text=True)
    assert (
        "random policy: 8,192 steps, 384 episodes over" in done.stdout
    )  # 64 environments, 6 whole episodes of 20 steps
    earned = re.search(r"ARCS: reward (\S+) a run, by rc.simulate (\S+)", done.stdout)
    assert earned
    assert earned[1] == earned[2]
    assert "0 of 200 episodes over budget" in done.stdout
