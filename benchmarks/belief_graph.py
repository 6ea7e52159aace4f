"""The belief-graph search: values, speed, what each idea is worth, compilation, limits.

    python benchmarks/belief_graph.py [values] [speed] [ideas] [jit] [profile] [limits] [--seconds 60] [--problems a,b]

Every figure is measured when it is printed: one core, compilation apart.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

import rcpomdp as rc
from rcpomdp.solvers.belief_graph.search import BeliefGraphSearch, BeliefGraphSwitches, Objective
from rcpomdp.solvers.sarsop import sarsop

IDEAS = {
    "all": {},
    "no rays": {"rays": False},
    "no sawtooth": {"sawtooth": False},
    "no classes": {"classes": False},
    "no FIB": {"fib": False},
    "all actions": {"lazy_actions": False},
    "fixed target": {"share": 0.0, "wide_share": 0.0},
    "deep only": {"wide_share": 0.5},
    "no forgetting": {"forget": False},
}
NOISY = ["hallway", "hallway2", "tiger-grid", "tag"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["values", "speed", "jit", "profile", "limits"])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--problems", default=",".join(NOISY))
    given = parser.parse_args()
    sarsop(rc.problems.make("tiger", discount=0.95), epsilon=1e-3)  # compiles
    for part in given.parts:
        print(f"\n{part}")
        if part == "ideas":
            ideas(given.problems.split(","), given.seconds)
        else:
            {"values": values, "speed": speed, "jit": jit, "profile": profile, "limits": limits}[part](given.seconds)


def values(seconds: float) -> None:
    free = {"costs": False, "budget": None}
    for name, parameters, options in (
        ("tiger", {"discount": 0.95}, {"epsilon": 5e-4}),
        ("tiger", {"discount": 0.75}, {"epsilon": 5e-4}),
        ("crs-4-4", free, {"epsilon": 1e-3}),
        ("crs-4-4", {}, {"epsilon": 0.02, "objective": 4.15}),
    ):
        result = sarsop(rc.problems.make(name, **parameters), time_limit=seconds, **options)
        print(f"  {name} {parameters} {result.objective}: [{result.lower:.5f}, {result.upper:.5f}], {_took(result)}")


def speed(seconds: float) -> None:
    corner = {"start": (1, 1)}
    result = sarsop(rc.problems.make("crs-4-4", costs=False, budget=None), epsilon=0.01)
    print(f"  crs-4-4 without costs to gap 0.01: {_took(result)}")
    for name, parameters in (("rs-5-7", corner), ("rs-7-8", corner), ("rs-11-11", {})):
        started = time.perf_counter()
        model = rc.problems.make(name, **parameters)
        built = time.perf_counter() - started
        result = sarsop(model, epsilon=1e-3, time_limit=seconds)
        print(f"  {name} {parameters}: built in {built:.1f} s, set up in {result.setup_seconds:.1f} s")
        _print_trace(result)


def ideas(problems: list[str], seconds: float) -> None:
    """Bounds after the same time of one processor, with one idea switched at a time."""
    for name in problems:
        model = rc.problems.make(name, **({"start": (1, 1)} if name in {"rs-5-7", "rs-7-8"} else {}))
        for idea, switches in IDEAS.items():
            graph_search = BeliefGraphSearch(
                model, Objective(1.0, 0.0 * model.budget), BeliefGraphSwitches(**switches), memory_limit=6e9
            )
            started = time.process_time()
            while (
                time.process_time() - started < seconds and not graph_search.out_of_memory and graph_search.gap > 1e-3
            ):
                graph_search.search(1e-3, 3_000_000)
            beliefs, plans = graph_search.sizes
            print(
                f"| {name} | {idea} | {graph_search.lower:.4f} | {graph_search.upper:.4f} | {graph_search.gap:.4f} | "
                f"{beliefs:,} | {plans:,} | {time.process_time() - started:.0f} |",
                flush=True,
            )


def jit(seconds: float) -> None:
    code = (
        "import time, rcpomdp as rc; m = rc.problems.make('tiger'); import rcpomdp.solvers.sarsop; "
        "t = time.perf_counter(); rc.solve(m, 'sarsop'); print(time.perf_counter() - t)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        for start in ("cold", "cached"):
            done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
            print(f"  tiger, {start}: {float(done.stdout):.2f} s")


def profile(seconds: float) -> None:
    """Where the work goes, in elementary steps, at the same bounds: all ideas, and without the two best."""
    model = rc.problems.make("rs-5-7", start=(1, 1))
    for idea in ("all", "no classes", "no rays"):
        graph_search = BeliefGraphSearch(model, Objective(1.0, 0.0 * model.budget), BeliefGraphSwitches(**IDEAS[idea]))
        started = time.perf_counter()
        while time.perf_counter() - started < seconds and graph_search.gap > 1.0:
            graph_search.search(1.0, 3_000_000)
        took = time.perf_counter() - started
        shares = ", ".join(
            f"{name} {100 * done / graph_search.work:.0f} %" for name, done in graph_search.profile.items()
        )
        print(
            f"  rs-5-7, {idea}: gap {graph_search.gap:.2f} after {took:.2f} s, {graph_search.work:.2g} steps: {shares}"
        )


def limits(seconds: float) -> None:
    model = rc.problems.make("crs-7-8")
    for limit in (1.0, 2.0):
        started = time.perf_counter()
        result = sarsop(model, time_limit=limit)
        print(f"  crs-7-8 with a limit of {limit} s: {time.perf_counter() - started:.3f} s, {result.status}")


def _took(result: rc.Result) -> str:
    return f"{result.seconds:.3f} s and {result.setup_seconds:.3f} s of set-up, {result.status}"


def _print_trace(result: rc.Result) -> None:
    marks = [1, 3, 10, 20, 30, 60, 120, 180, 300]
    for mark in [m for m in marks if m < result.trace[-1].seconds] + [result.trace[-1].seconds]:
        p = [point for point in result.trace if point.seconds <= mark][-1]
        print(
            f"    {p.seconds:6.1f} s: [{p.lower:.4f}, {p.upper:.4f}] gap {p.upper - p.lower:.4f}, "
            f"{p.beliefs:,} beliefs, {p.plans:,} plans"
        )


if __name__ == "__main__":
    main()
