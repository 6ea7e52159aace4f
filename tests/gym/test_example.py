"""The example of environments runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


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
