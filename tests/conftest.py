"""What all tests share: one thread, since more only cost time on small matrices; and the command line."""

import os
import sys
from collections.abc import Callable

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported, which comes later


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process: exit code, stdout, stderr."""
    from rcpomdp import cli

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rcpomdp", *words])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        return int(exit_.value.code or 0), *capsys.readouterr()

    return call
