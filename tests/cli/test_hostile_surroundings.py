"""A full disk, a closed stream, too little memory, a killed process: what was found is told, and files stay whole."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from made_records import cell, record
from rcpomdp.errors import InputError
from rcpomdp.experiments.run.store import RunStore
from rcpomdp.io import atomic
from rcpomdp.kernels import jit

COMMAND = [sys.executable, "-m", "rcpomdp"]
FULL = Path("/dev/full")
KILLS = int(os.environ.get("RCPOMDP_KILLS", "5"))  # 100 by hand


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_a_full_disk_loses_nothing_but_the_file(run: Callable[..., Any]) -> None:
    done = run("solve", "ce", "--out", str(FULL))
    assert done.code == 1
    assert "9.99999885" in done.out
    assert "No space left on device" in done.err


def test_policies_are_saved_under_names_that_can_be_read(run: Callable[..., Any], tmp_path: Path) -> None:
    done = run("solve", "ce", "--out", str(tmp_path / "x.txt"))
    assert done.code == 2
    assert "save the policy as .rcp" in done.err
    assert not list(tmp_path.iterdir())


def test_a_memory_limit_is_told_as_it_was_given(run: Callable[..., Any]) -> None:
    done = run("solve", "ce", "--memory-limit", "-1")
    assert (done.code, done.err) == (2, "rcpomdp: the memory limit must be above 0 GB, not -1\n")


def test_nothing_is_listed_where_there_is_nothing(run: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "m.pomdp"
    file.write_text(
        "discount: 0.5\nvalues: reward\nstates: 1\nactions: 1\nobservations: 1\nT: * identity\nO: * uniform\n"
    )
    assert "unseen observations" not in run("check", str(file)).out


@pytest.mark.parametrize("closing", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_do_no_harm(closing: str) -> None:
    words = f"{sys.executable} -m rcpomdp problems {closing}"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "AttributeError" not in done.stderr


def test_a_few_bytes_of_a_model_do_not_take_all_memory(run: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "m.pomdp"
    file.write_text(
        "discount: 0.5\nvalues: reward\nstates: 20000000\nactions: 1\nobservations: 1\nT: * identity\nO: * uniform\n"
    )
    done = run("check", str(file))
    assert done.code == 2
    assert "are too many" in done.err


def test_too_little_memory_ends_a_solve_with_bounds() -> None:
    def poor() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1_200_000_000, 1_200_000_000))

    words = [*COMMAND, "solve", "crs-7-8", "--time-limit", "60", "--json"]
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=poor, env=env)
    assert "MemoryError" not in done.stderr
    assert done.returncode in (0, 4)
    assert '"upper": ' in done.stdout


# Files


def test_parts_of_killed_writers_go_away_and_those_of_others_stay(tmp_path: Path) -> None:
    target = tmp_path / "a.rcp"
    left, fresh, other = (tmp_path / name for name in (".a.rcp.12345678.part", ".a.rcp.fresh.part", ".b.rcp.x.part"))
    for part in (left, fresh, other):
        part.write_bytes(b"half")
        if part is not fresh:
            os.utime(part, (time.time() - 3600,) * 2)
    with atomic.whole_file(target) as file:
        file.write(b"whole")
    assert target.read_bytes() == b"whole"
    assert [path.exists() for path in (left, fresh, other)] == [False, True, True]


def test_a_part_that_is_being_written_stays(tmp_path: Path) -> None:
    target = tmp_path / "a.rcp"
    with atomic.whole_file(target) as slow:
        (part,) = tmp_path.glob(".a.rcp.*")
        os.utime(part, (time.time() - 3600,) * 2)
        with atomic.whole_file(target) as quick:
            quick.write(b"quick")
        assert part.exists()
        slow.write(b"slow")
    assert target.read_bytes() == b"slow"


WRITER = """
import sys, numpy as np
from rcpomdp.io.atomic import whole_file
block = bytes(200_000)
print("on", flush=True)
while True:
    with whole_file(sys.argv[1]) as file:
        for _ in range(20):
            file.write(block)
"""
STORER = """
import sys
sys.path.insert(0, sys.argv[2])
from made_records import cell, record
from rcpomdp.experiments.run.store import RunStore
with RunStore(sys.argv[1], create=True) as store:
    seed = max([r.cell.seed for r in store.records()], default=-1)
    print("on", flush=True)
    while True:
        seed += 1
        store.add(record(cell(seed=seed)))
"""


def killed(script: str, *words: str, after: float) -> None:
    """Run a script, and kill it some time after it says that it is on."""
    process = subprocess.Popen([sys.executable, "-c", script, *words], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def test_a_file_is_whole_whenever_its_writer_is_killed(tmp_path: Path) -> None:
    target, rng = tmp_path / "a.rcp", np.random.default_rng(0)
    for _ in range(KILLS):
        killed(WRITER, str(target), after=float(rng.uniform(0, 0.2)))
        assert not target.exists() or target.stat().st_size == 4_000_000
    for part in tmp_path.glob(".*"):
        os.utime(part, (time.time() - 3600,) * 2)
    with atomic.whole_file(target) as file:
        file.write(b"last")
    assert [path.name for path in tmp_path.iterdir()] == ["a.rcp"]


def test_rows_are_whole_whenever_their_writer_is_killed(tmp_path: Path) -> None:
    path, rng, before = str(tmp_path / "runs.db"), np.random.default_rng(0), 0
    for _ in range(KILLS):
        killed(STORER, path, str(Path(__file__).parents[1]), after=float(rng.uniform(0, 0.2)))
        with RunStore(path) as store:
            rows = store.records()
        assert [row.cell.seed for row in rows] == list(range(len(rows)))
        assert len(rows) >= before
        before = len(rows)


def test_a_store_with_numbers_that_are_none_is_shown_or_refused(run: Callable[..., Any], tmp_path: Path) -> None:
    import json
    import sqlite3

    path = str(tmp_path / "runs.db")
    with RunStore(path, create=True) as store:
        store.add(record(cell()))
    db = sqlite3.connect(path)
    db.execute("DROP TRIGGER IF EXISTS runs_stay")
    for (trigger,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {trigger}")
    facts = json.loads(db.execute("SELECT facts FROM runs").fetchone()[0])
    facts.update(seconds=float("nan"), upper=float("nan"), cost=[float("nan")], reward=float("nan"))
    db.execute("UPDATE runs SET facts = ?", (json.dumps(facts),))
    db.commit()
    db.close()
    for words in (("runs",), ("runs", "--json"), ("table", "made-up"), ("report", "--out", str(tmp_path / "r.html"))):
        done = run(*words, "--store", path)
        assert "failed:" not in done.err, words
        assert done.code in (0, 2)


# Interrupts


def test_whoever_interrupts_three_times_is_answered() -> None:
    words = [*COMMAND, "solve", "crs-7-8", "--time-limit", "60"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(4)
    for _ in range(3):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
    process.communicate(timeout=120)
    assert process.returncode >= 0


# The cache of kernels


def test_kernels_are_cached_in_a_folder_of_our_own(tmp_path: Path) -> None:
    assert jit._is_private(tmp_path / "new")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert not jit._is_private(tmp_path / "open")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    assert not jit._is_private(tmp_path / "link")
    assert not jit._is_private(tmp_path / "no" / "such")


def test_without_a_home_what_others_own_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError

    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert jit.cache_folder() is not None
    (tmp_path / f"cache-{os.getuid()}").chmod(0o777)
    assert jit.cache_folder() is None


# Observations


@pytest.mark.parametrize("observation", [None, -1, 2, 0.0, "hear-left", True])
def test_a_policy_takes_no_observation_for_another(observation: Any) -> None:
    model = rc.problems.make("tiger")
    rng = np.random.default_rng(0)
    for policy in (rc.policies.blind(model, 0), rc.solve(model, epsilon=1.0).policy, rc.policies.qmdp(model)):
        with pytest.raises(InputError, match="an observation is an index below 2"):
            policy.update(policy.initial(rng), observation)


# What belongs to what


def test_a_policy_that_breaks_the_budget_is_not_told_as_the_optimum() -> None:
    model = rc.problems.make("crs-4-4")
    result = rc.solve(model, "cgcp", time_limit=1.0)
    beside = rc.solvers.Result if hasattr(rc, "solvers") else type(result)
    from dataclasses import replace

    other = replace(result, lower=-np.inf, upper=-200.0, reward=499.0, status="time limit")
    assert isinstance(other, beside)
    assert "no policy within the budget yet, at most -200" in repr(other)
    assert "another policy, not known to keep it, with reward 499" in repr(other)


@pytest.mark.parametrize(
    "words",
    [
        ("export", "POLICY", "--out", "POLICY"),
        ("export", "POLICY", "--problem", "MODEL", "--out", "MODEL"),
        ("graph", "POLICY", "--problem", "MODEL", "--out", "POLICY"),
        ("simulate", "--policy", "POLICY", "--problem", "MODEL", "--rows", "MODEL"),
        ("table", "smoke", "--store", "STORE", "--format", "csv", "--out", "STORE"),
        ("paper", "--store", "STORE", "--format", "markdown", "--out", "STORE"),
        ("runs", "--store", "STORE", "--export", "csv", "--out", "STORE"),
        ("report", "--store", "STORE", "--out", "STORE"),
    ],
    ids=lambda words: words[0],
)
def test_what_is_read_is_not_written_over(words: tuple[str, ...], run: Callable[..., Any], tmp_path: Path) -> None:
    model = rc.problems.make("ce")
    names = {"POLICY": "p.rcp", "MODEL": "m.pomdp", "STORE": "s.db"}
    paths = {word: str(tmp_path / name) for word, name in names.items()}
    rc.save_model(paths["MODEL"], model)
    rc.save_policy(paths["POLICY"], rc.policies.blind(rc.load_model(paths["MODEL"]), 0), model, problem=paths["MODEL"])
    with RunStore(paths["STORE"], create=True) as store:
        store.add(record(cell(suite="smoke")))
    before = {path: Path(path).read_bytes() for path in paths.values()}
    shown = run(*(paths.get(word, word) for word in words))
    assert shown.code == 2
    assert "it would take the place of what it is made from" in shown.err
    assert {path: Path(path).read_bytes() for path in paths.values()} == before


def test_a_proof_does_not_take_the_place_of_the_policy(run: Callable[..., Any], tmp_path: Path) -> None:
    path = str(tmp_path / "both.rcp")
    done = run("solve", "ce", "--out", path, "--proof", path)
    assert (done.code, Path(path).exists()) == (2, False)
    assert "is no name of a proof file; save the proof as .rcproof" in done.err


def test_a_proof_that_is_not_written_is_told(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rcpomdp.solvers.clock._GRACE", 0.0)  # nothing is set up in no time
    proof = tmp_path / "bound.rcproof"
    done = run("solve", "tiger", "--time-limit", "1e-9", "--proof", str(proof))
    assert done.code == 4
    assert "no proof is written: the solve ended (time limit) before there was a bound to prove" in done.err
    assert not proof.exists()


def test_a_k_beyond_all_numbers_is_refused(run: Callable[..., Any]) -> None:
    done = run("solve", "ce", "--k", "9" * 20)
    assert done.code == 2
    assert "k must be at most 1,000,000,000, or inf for every history" in done.err
