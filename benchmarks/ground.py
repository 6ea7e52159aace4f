"""Build time and memory of CRS(11,11), simulated steps per second, start-up times.

    python benchmarks/ground.py

Every figure is measured when it is printed. Compilation is timed apart from what it serves.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

import rcpomdp as rc
from rcpomdp.policies import AlphaPolicy

BUILD = """
import resource, time
import rcpomdp as rc, rcpomdp.model
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
model = rc.problems.make("crs-11-11")
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(f"{model.n_states:,} states, {model.n_actions} actions: built in {seconds:.2f} s, "
      f"peak memory {peak / 1024:.0f} MiB ({before / 1024:.0f} MiB before)")
"""


def main() -> None:
    print("CRS(11,11)")
    print("  " + _python(BUILD).strip())
    model = rc.problems.make("crs-11-11")
    _seconds(lambda: rc.observability_classes(rc.problems.make("crs-4-4")))
    print(f"  observability classes in {_seconds(lambda: rc.observability_classes(model)):.2f} s")

    print("Simulated steps per second, one core, compilation excluded")
    tiger = rc.problems.make("tiger", discount=0.95)
    _steps_per_second("tiger", tiger, tiger_policy(tiger), runs=100_000)
    rocks = rc.problems.make("crs-7-8")
    _steps_per_second("crs-7-8", rocks, rc.policies.fib(rocks), runs=10_000)

    print("Start-up")
    print(f"  import rcpomdp: {_best(lambda: _python('import rcpomdp')) - _best(lambda: _python('')):.3f} s")
    command = [
        sys.executable,
        "-m",
        "rcpomdp",
        "simulate",
        "--problem",
        "tiger",
        "--policy",
        "fib",
        "--runs",
        "1",
    ]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}

        def run() -> None:
            subprocess.run(command, env=environment, check=True, capture_output=True)

        print(f"  rcpomdp simulate, first start (compiles): {_seconds(run):.1f} s")
        print(f"  rcpomdp simulate, second start: {_best(run):.2f} s")


def tiger_policy(model: rc.CPOMDP, beliefs: int = 41, sweeps: int = 60) -> AlphaPolicy:
    """An α-vector policy by point-based value iteration over an even grid of beliefs."""
    grid = np.stack([np.linspace(0, 1, beliefs), np.linspace(1, 0, beliefs)], axis=1)
    T = np.stack([t.toarray() for t in model.transition])
    Z = np.stack([z.toarray() for z in model.observation])
    vectors = np.full((1, model.n_states), model.reward.min() / (1 - model.discount))
    for _ in range(sweeps):
        # g[a, o, i, s] = Σ_s' T(s, a, s') Z(s', a, o) α_i(s')
        g = np.einsum("ast,ato,it->aois", T, Z, vectors)
        best = np.einsum("aois,bs->aoib", g, grid).argmax(axis=2)  # [a, o, b]
        chosen = np.take_along_axis(g, best.transpose(0, 1, 2)[:, :, :, None], axis=2).sum(axis=1)  # [a, b, s]
        q = model.reward.T[:, None, :] + model.discount * chosen
        actions = np.einsum("abs,bs->ab", q, grid).argmax(axis=0)
        found = q[actions, np.arange(beliefs)]
        vectors, first = np.unique(found.round(9), axis=0, return_index=True)
    return AlphaPolicy(model, vectors, actions[first])


def _steps_per_second(name: str, model: rc.CPOMDP, policy: AlphaPolicy, runs: int) -> None:
    rc.simulate(model, policy, runs=1)  # compiles
    start = time.perf_counter()
    result = rc.simulate(model, policy, runs=runs, steps=20, seed=0)
    seconds = time.perf_counter() - start
    steps = int(result.outcome.length.sum())
    support = int((model.initial_belief > 0).sum())
    print(
        f"  {name}, {len(policy.actions)} vectors, belief support {support}: "
        f"{steps / seconds / 1e6:.2f} million ({steps:,} steps in {seconds:.2f} s)"
    )


def _python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _best(call: Callable[[], object], times: int = 5) -> float:
    return min(_seconds(call) for _ in range(times))


if __name__ == "__main__":
    main()
