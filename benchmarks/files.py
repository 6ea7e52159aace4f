"""How fast model files are read, and in how much memory; the largest benchmark problem written and read back.

    python benchmarks/files.py [entries] [named] [matrix] [rows] [rewards] [problem] [--megabytes 120]

Every figure is measured when it is printed. Each file is made in a temporary folder and read in a process of its own,
whose peak memory is told beside that of one that reads a tiny file. Compilation comes first and is not counted. Speed
is by processor time, which other programs on the machine do not change much; seconds by the clock stand beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import rcpomdp as rc

READ = """
import json, os, resource, sys, time
import rcpomdp as rc
from rcpomdp.io.pomdp.reader import read_stream
with open(sys.argv[1], "rb") as file:
    read_stream(file, "a file", compiled=True)  # loads and compiles
before = time.perf_counter(), time.process_time()
model = rc.load_model(sys.argv[2])
seconds, processor = time.perf_counter() - before[0], time.process_time() - before[1]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
entries = model.arrays.t_prob.size + model.arrays.z_prob.size
print(json.dumps([seconds, processor, peak, int(entries), model.fingerprint]))
"""
TINY = (
    "discount: 0.9 states: a b actions: 2 observations: 2 O: * uniform T: 0 : * : 0 1\nT: 1 : a : a 1\nT: 1 : b 0 1\n"
    "R: 0 : a : b : 0 1\n"
)


def main() -> None:
    parts: dict[str, Callable[[float], Iterator[str]]] = {
        "entries": entries,
        "named": named,
        "matrix": matrix,
        "rows": rows,
        "rewards": rewards,
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=[*parts, "problem"])
    parser.add_argument("--megabytes", type=float, default=120.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tiny = Path(folder) / "tiny.pomdp"
        tiny.write_text(TINY)
        _, _, floor, _, _ = measured(tiny, tiny)
        print(f"a process that reads {len(TINY)} bytes takes {floor:.0f} MB")
        print("file            MB  entries held  clock s  cpu s  MB per cpu s  peak MB  above a tiny file's")
        for part in given.parts:
            path = Path(folder) / f"{part}.pomdp"
            if part == "problem":
                problem(path, tiny, floor)
                continue
            with path.open("w") as file:
                file.writelines(parts[part](given.megabytes * 1e6))
            show(part, path, tiny, floor)
            path.unlink()


def measured(tiny: Path, path: Path) -> tuple[float, float, float, int, str]:
    """A file read in a process of its own: seconds by clock and processor, peak megabytes, entries, fingerprint."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", READ, str(tiny), str(path)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    seconds, processor, peak, held, fingerprint = json.loads(done.stdout)
    return seconds, processor, peak, held, fingerprint


def show(name: str, path: Path, tiny: Path, floor: float) -> str:
    """Print a row of the table; return the model's fingerprint."""
    size = path.stat().st_size / 1e6
    seconds, processor, peak, held, fingerprint = measured(tiny, path)
    clock = f"{seconds:>8.2f} {processor:>6.2f} {size / processor:>13.1f}"
    print(f"{name:<11} {size:>6.0f} {held:>13,} {clock} {peak:>8.0f} {peak - floor:>20.0f}", flush=True)
    return fingerprint


# Files of about a given size


def entries(size: float) -> Iterator[str]:
    """Single entries by index: `T: 3 : 12345 : 12377 0.0625`."""
    yield from _single(size, "T: {} : {} : {} {!r}\n", "", "")


def named(size: float) -> Iterator[str]:
    """Single entries by name."""
    yield from _single(size, "T: act-{} : state-{} : state-{} {!r}\n", "state-", "act-")


def _single(size: float, form: str, state: str, action: str) -> Iterator[str]:
    per_row, n_actions = 16, 4
    n = int(size / (len(form.format(1, 10000, 10000, 1 / 17)) * per_row * n_actions))
    states = " ".join(f"{state}{s}" for s in range(n)) if state else n
    actions = " ".join(f"{action}{a}" for a in range(n_actions)) if action else n_actions
    yield f"discount: 0.95\nstates: {states}\nactions: {actions}\nobservations: 2\nO: * uniform\n"
    rng = np.random.default_rng(0)
    for a in range(n_actions):
        for s in range(n):
            weight = rng.random(per_row)
            steps = np.arange(per_row) * (n // per_row)
            chances = (weight / weight.sum()).tolist()
            yield "".join([form.format(a, s, (s + d) % n, p) for d, p in zip(steps.tolist(), chances, strict=True)])


def matrix(size: float) -> Iterator[str]:
    """Whole matrices, half of whose numbers are 0, the others of 17 digits."""
    yield from _dense(size, "T: {}\n", "")


def rows(size: float) -> Iterator[str]:
    """The same row by row."""
    yield from _dense(size, "", "T: {} : {}\n")


def _dense(size: float, head: str, row_head: str) -> Iterator[str]:
    n = 1000
    n_actions = max(1, round(size / (n * n * 12)))
    yield f"discount: 0.95\nstates: {n}\nactions: {n_actions}\nobservations: 2\nO: * uniform\n"
    rng = np.random.default_rng(0)
    for a in range(n_actions):
        yield head.format(a)
        for s in range(n):
            weight = rng.random(n) * (rng.random(n) < 0.5)
            row = (weight / weight.sum()).tolist()
            yield row_head.format(a, s) + " ".join(["0" if p == 0 else repr(p) for p in row]) + "\n"


def rewards(size: float) -> Iterator[str]:
    """Rewards that depend on where an action leads: `R: 3 : 12345 : 12377 : * -1.5`."""
    per_row, n_actions = 8, 4
    n = int(size / (70 * per_row * n_actions))
    yield f"discount: 0.95\nstates: {n}\nactions: {n_actions}\nobservations: 2\nO: * uniform\n"
    rng = np.random.default_rng(0)
    for a in range(n_actions):
        for s in range(n):
            targets = [(s + d * (n // per_row)) % n for d in range(per_row)]
            yield "".join([f"T: {a} : {s} : {t} 0.125\n" for t in targets])
            values = rng.random(per_row).tolist()
            yield "".join([f"R: {a} : {s} : {t} : * {v!r}\n" for t, v in zip(targets, values, strict=True)])


def problem(path: Path, tiny: Path, floor: float) -> None:
    """CRS(11,11) to a file and back."""
    model = rc.problems.make("crs-11-11")
    before = time.process_time()
    rc.save_model(path, model)
    seconds = time.process_time() - before
    print(f"crs-11-11: written in {seconds:.1f} cpu s, {path.stat().st_size / 1e6 / seconds:.1f} MB per cpu s")
    same = show("crs-11-11", path, tiny, floor) == model.fingerprint
    print(f"read back {'identical' if same else 'DIFFERENT'}")


if __name__ == "__main__":
    main()
