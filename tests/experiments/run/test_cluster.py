"""A scheduler and workers on the loopback: the same rows as processes give, though workers die."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from coordinators import CELLS, COMMAND, end, finished, outcomes, start, until
from rcpomdp import cli

WAIT = """
import sys
from distributed import Client
with Client(sys.argv[1], timeout=60) as client:
    client.wait_for_workers(2, timeout=60)
"""


IMPATIENT = """
from rcpomdp.experiments.run import cluster
cluster._PATIENCE = 1
from rcpomdp.__main__ import main
main()
"""

LISTEN = """
import sys
from rcpomdp.experiments.run.cluster import ClusterPool
from rcpomdp.experiments.suites import cells
pool = ClusterPool(sys.argv[1])
[(_, cell)] = cells("smoke", only="CE,*CPBVI-D")
pool.start("key", cell)
lines, record = [], None
while record is None:
    for report in pool.reports(1):
        assert report.key == "key"
        lines, record = [*lines, report.line], report.record
assert pool.size == pool.room == 2
pool.close()
print(lines[0], lines[-2], record.status, sep=", ")
"""


@contextmanager
def dask(*words: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of dask that ends with the block, with all it has started."""
    with log.open("wb") as file:
        command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
        process = subprocess.Popen(command, stdout=file, stderr=file, cwd=log.parent, start_new_session=True)
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Address of a scheduler; it and its two workers, which nobody starts again."""
    where = tmp_path / "address.json"
    with ExitStack() as running:
        scheduler = ("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(where))
        leader = running.enter_context(dask(*scheduler, log=tmp_path / "scheduler.log"))
        until(lambda: where.exists() and "tcp://" in where.read_text())
        address = next(word for word in where.read_text().split('"') if word.startswith("tcp://"))
        options = ("--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path))
        workers = [
            running.enter_context(dask("worker", address, *options, log=tmp_path / f"worker-{i}.log")) for i in range(2)
        ]
        subprocess.run([sys.executable, "-c", WAIT, address], check=True, timeout=120)
        yield address, [leader, *workers]


def test_a_cluster_gives_the_same_rows_though_a_worker_is_killed(
    cluster: tuple[str, list[subprocess.Popen[bytes]]],
    undisturbed: list[dict[str, object]],
    tmp_path: Path,
) -> None:
    address, (scheduler, *workers) = cluster
    heard = subprocess.run([sys.executable, "-c", LISTEN, address], check=True, timeout=120, capture_output=True)
    assert heard.stdout.decode() == "setting up, simulated 200 of 200 runs, converged\n"
    store = tmp_path / "runs.db"
    workers[0].send_signal(signal.SIGSTOP)  # it is given a cell and does not get on with it
    process = start(store, "--scheduler", address)
    until(lambda: finished(store) >= 2)
    workers[0].kill()
    said = end(process)
    assert process.returncode == 0, said
    assert outcomes(store) == undisturbed
    assert finished(store) == CELLS
    assert workers[0].poll() is not None
    assert workers[1].poll() is None

    workers[1].send_signal(signal.SIGSTOP)
    process = start(tmp_path / "other.db", "--scheduler", address)
    until(lambda: claims(tmp_path / "other.db") == 1)
    scheduler.kill()
    said = end(process)
    assert process.returncode == 1
    assert said.splitlines()[1:] == [
        f"rcpomdp: the scheduler has gone, with 0 of {CELLS} cells done; the same command goes on"
    ]
    assert claims(tmp_path / "other.db") == 0


def claims(store: Path) -> int:
    if not store.exists():
        return 0
    with closing(sqlite3.connect(store, timeout=60)) as db, suppress(sqlite3.OperationalError):  # no tables yet
        return int(db.execute("SELECT count(*) FROM claims").fetchone()[0])
    return 0


def test_a_scheduler_that_does_not_answer_is_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*COMMAND[3:], "--store", str(tmp_path / "runs.db"), "--scheduler", "tcp://127.0.0.1:1"]
    ran = subprocess.run([sys.executable, "-c", IMPATIENT, *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.startswith("rcpomdp: no scheduler answers at 'tcp://127.0.0.1:1': ")
    assert len(ran.stderr.splitlines()) == 1
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setattr(
        sys, "argv", ["rcpomdp", "reproduce", "smoke", "--store", str(tmp_path / "a.db"), "--scheduler", "x"]
    )
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == 2
    assert "pip install 'rcpomdp[cluster]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "nothing was heard within 1 s"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "what listens there does not speak as dask does"),
        (bytes(1000), "what listens there does not speak as dask does"),
    ],
)
def test_what_listens_there_may_be_no_scheduler(tmp_path: Path, answer: bytes, reason: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        words = [*COMMAND[3:], "--store", str(tmp_path / "runs.db"), "--scheduler", address]
        process = subprocess.Popen([sys.executable, "-c", IMPATIENT, *words], stderr=subprocess.PIPE, text=True)
        server.settimeout(120)
        with server.accept()[0] as connection:
            connection.sendall(answer)
            _, said = process.communicate(timeout=120)
    assert process.returncode == 2
    assert said == f"rcpomdp: no scheduler answers at {address!r}: {reason}\n"
