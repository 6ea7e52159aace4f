"""Seconds and memory that each solver takes on models made to hold it up, beside what it was allowed. Prints a table.

    python benchmarks/hostile.py [--seconds 1] [--gigabytes 1] [--solvers arcs cgcp] [--models chain dense]

Each solve has a process of its own, whose peak memory is that above the interpreter's with the model in it. Kernels
are compiled before. A process that takes sixty times its limit is ended.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import rcpomdp as rc

SOLVERS: dict[str, dict[str, Any]] = {
    "arcs": {},
    "arcs paper": {"variant": "paper"},
    "arcs k=3": {"k": 3},
    "arcs acting": {"act_time": 0.1},
    "sarsop": {},
    "cgcp": {},
    "cgcp-cl": {},
    "exp-gradient": {},
    "cpbvi": {},
    "cpbvi-d": {},
}
PATIENCE = 60  # times the limit


def chain(n: int = 100_000) -> rc.CPOMDP:
    """Wait for nothing, or go one on for a little and some cost; what is earned is at the end."""
    wait, go = sp.identity(n, format="csr"), sp.csr_array(np.eye(1)) if n == 1 else _next(n)
    reward, cost = np.zeros((n, 2)), np.zeros((n, 2))
    reward[-1], cost[:, 1] = 1.0, 0.1
    return rc.CPOMDP(
        transition=[wait, go],
        observation=[sp.csr_array(np.ones((n, 1)))] * 2,
        reward=reward,
        cost=cost,
        initial_belief=np.eye(1, n)[0],
        discount=0.999,
        budget=50.0,
        name="chain",
    )


def _next(n: int) -> Any:
    return sp.csr_array((np.ones(n), (np.arange(n), np.minimum(np.arange(n) + 1, n - 1))), (n, n))


def noise(n: int, m: int, o: int, seed: int = 0, density: float = 1.0, discount: float = 0.95) -> rc.CPOMDP:
    """Everything at random; from a state only a share of the others can be reached."""
    rng = np.random.default_rng(seed)

    def rows(width: int, share: float) -> Any:
        table = rng.random((n, width)) * (rng.random((n, width)) < share)
        table[np.arange(n), rng.integers(0, width, n)] += 0.1
        return sp.csr_array(table / table.sum(axis=1, keepdims=True))

    return rc.CPOMDP(
        transition=[rows(n, density) for _ in range(m)],
        observation=[rows(o, 1.0) for _ in range(m)],
        reward=rng.normal(size=(n, m)),
        cost=rng.random((n, m)) * (rng.random((n, m)) < 0.5),
        initial_belief=np.full(n, 1 / n),
        discount=discount,
        budget=1.5,
        name="noise",
    )


def grid(side: int = 30) -> rc.CPOMDP:
    """A grid that is fully observed; some cells cost something, others earn something."""
    n, rng = side * side, np.random.default_rng(1)
    row, column = np.divmod(np.arange(n), side)
    moves = []
    for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        to = np.clip(row + down, 0, side - 1) * side + np.clip(column + right, 0, side - 1)
        step = sp.csr_array((np.ones(n), (np.arange(n), to)), (n, n))
        moves.append(0.9 * step + 0.1 * sp.identity(n, format="csr"))
    return rc.CPOMDP(
        transition=moves,
        observation=[sp.identity(n, format="csr")] * 4,
        reward=np.repeat(rng.random((n, 1)), 4, axis=1),
        cost=np.repeat(rng.random((n, 1)) * (rng.random((n, 1)) < 0.3), 4, axis=1),
        initial_belief=np.eye(1, n)[0],
        discount=0.95,
        budget=1.0,
        name="grid",
    )


MODELS: dict[str, Callable[[], rc.CPOMDP]] = {
    "chain, 100,000 states": chain,
    "dense, 2,000 states": lambda: noise(2000, 3, 4),
    "1,000 actions": lambda: noise(20, 1000, 4),
    "900 observed states": grid,
    "321 states": lambda: noise(321, 4, 8, density=0.02, discount=0.99),
    "3 states": lambda: noise(3, 3, 2, discount=0.99),
    "crs-11-11": lambda: rc.problems.make("crs-11-11"),
}


def solve(model: str, solver: str, seconds: float, memory: float) -> dict[str, Any]:
    """One solve, in this process."""
    made, name, options = MODELS[model](), solver.split(maxsplit=1)[0], SOLVERS[solver]
    rc.solve(noise(3, 2, 2), name, **{**options, "time_limit": 1.0})  # kernels are compiled, or loaded
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    before = time.perf_counter()
    try:
        found = rc.solve(made, name, **options, time_limit=seconds, memory_limit=memory)
        told = {"status": found.status, "said": found.setup_seconds + found.seconds}
    except rc.InputError as error:
        told = {"status": str(error)[:40], "said": 0.0}
    except Exception as error:  # what a solver should not raise is what is looked for
        told = {"status": type(error).__name__, "said": 0.0}
    took = time.perf_counter() - before
    return {**told, "took": took, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--solvers", nargs="*", default=list(SOLVERS))
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(solve(*given.one, given.seconds, 1e9 * given.gigabytes)))
        return
    print(f"Limits: {given.seconds:g} s and {given.gigabytes:g} GB.\n")
    print("| model | solver | s taken | s told | MB taken | ended |\n|---|---|---|---|---|---|", flush=True)
    for model in (name for name in MODELS if any(word in name for word in given.models)):
        for solver in given.solvers:
            words = [sys.executable, __file__, "--seconds", f"{given.seconds}", "--gigabytes", f"{given.gigabytes}"]
            try:
                done = subprocess.run(
                    [*words, "--one", model, solver],
                    check=False,
                    capture_output=True,
                    text=True,
                    timeout=PATIENCE * given.seconds + 60,
                )
                said = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
            except subprocess.TimeoutExpired:
                said, done = None, None
            if said is None:
                why = "not in time" if done is None else f"died: {done.stderr.strip()[-60:]}"
                print(f"| {model} | {solver} | | | | {why} |", flush=True)
                continue
            figures = f"{said['took']:.2f} | {said['said']:.2f} | {said['memory'] / 1e3:.0f}"
            print(f"| {model} | {solver} | {figures} | {said['status']} |", flush=True)


if __name__ == "__main__":
    main()
