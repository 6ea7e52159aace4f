"""What all tests share: one thread, since more only cost time on small matrices; and the command line."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported, which comes later
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job in the background, which hands that on to commands
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Compile the kernels once, before there are workers, so that each of them loads them from the cache."""
    if not hasattr(config, "workerinput") and getattr(config.option, "numprocesses", None):
        warm = "from rcpomdp.experiments.run.warm import compile_kernels; compile_kernels()"
        subprocess.run([sys.executable, "-c", warm], check=True)


class Ran(NamedTuple):
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command in this process."""
    from rcpomdp import cli

    def call(*words: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["rcpomdp", *words])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        return Ran(int(exit_.value.code or 0), *capsys.readouterr())

    return call
