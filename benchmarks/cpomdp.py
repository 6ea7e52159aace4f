"""What C-POMDP solvers reach, what becomes of the budget, and what a live LP saves. Prints what it measures.

    python benchmarks/cpomdp.py [optima] [pathology] [rocks] [closed] [lp]

One process; kernels are loaded before any clock runs. Solvers with random choices have seed 0.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import rcpomdp as rc
from rcpomdp.solvers.arcs.engine import load_kernels
from rcpomdp.solvers.cgcp.master import Master

SMALL = [
    ("ce", 5.0, {}),
    ("tiger", 3.0, {}),
    ("tiger", 1.5, {}),
    ("tunnels", 1.0, {}),
    ("tunnels", 1.0, {"p_correct": 0.95}),
]


def label(name: str, budget: float, parameters: dict[str, float]) -> str:
    return " ".join([name, *map(str, parameters.values()), f"({budget:g})"])


def optima() -> None:
    print(
        "CGCP: the C-POMDP optimum, epsilon 0.001\nproblem                  lower      upper    seconds  cost - budget"
    )
    for name, budget, parameters in SMALL:
        model = rc.problems.make(name, **parameters).with_budget([budget])
        r = rc.solve(model, "cgcp")
        over = float(r.cost[0]) - budget
        took = r.seconds + r.setup_seconds
        print(f"{label(name, budget, parameters):20s} {r.lower:10.4f} {r.upper:10.4f} {took:10.2f} {over:14.1e}")


def pathology() -> None:
    print("1000 runs of 20 steps, seed 0; a violation is a remaining budget below 0")
    print("problem              solver        promised  cost      simulated reward     cost             violation rate")
    for name, budget, parameters in SMALL:
        model = rc.problems.make(name, **parameters).with_budget([budget])
        for solver in ("cgcp", "exp-gradient", "cpbvi", "cpbvi-d", "arcs"):
            r = rc.solve(model, solver, time_limit=30)
            s = rc.simulate(model, r.policy)
            # CPBVI's promise is what its vectors say at the root; the others' promises are exact.
            promised = r.policy.promise() if hasattr(r.policy, "promise") else (r.reward, r.cost)
            print(
                f"{label(name, budget, parameters):20s} {solver:12s} {promised[0]:9.3f} {promised[1][0]:7.3f}"
                f" {s.reward.mean:12.3f} ± {s.reward.se:.3f} {s.cost[0].mean:10.3f} ± {s.cost[0].se:.3f}"
                f" {s.violation_rate.mean:12.3f} ± {s.violation_rate.se:.3f}",
                flush=True,
            )


def rocks(seconds: float = 300) -> None:
    print(f"CGCP on rock samples, {seconds:g} s, 8 GB")
    print("problem          lower      upper   set-up  seconds   mixed    cost    violation rate    peak GB  status")
    for name in ("crs-4-4", "crs-5-7", "crs-7-8", "crs-11-11"):
        model = rc.problems.make(name)
        r = rc.solve(model, "cgcp", time_limit=seconds, memory_limit=8e9)
        s = rc.simulate(model, r.policy)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        print(
            f"{name:12s} {r.lower:9.4f} {r.upper:10.4f} {r.setup_seconds:8.2f} {r.seconds:8.2f}"
            f" {len(r.policy.weights):7d} {r.cost[0]:8.4f} {s.violation_rate.mean:10.3f} ± {s.violation_rate.se:.3f}"
            f" {peak:8.2f}  {r.status}",
            flush=True,
        )


def closed(runs: int = 100, step_time: float = 1.0) -> None:
    print(f"CGCP-CL, {runs} runs of 20 steps, {step_time:g} s a step; the first plan's promise, and what came of it")
    print("problem              promised  cost     simulated reward      cost             violation rate    seconds")
    for name, budget, parameters in SMALL:
        model = rc.problems.make(name, **parameters).with_budget([budget])
        r = rc.solve(model, "cgcp-cl", step_time=step_time, seed=0)
        before = time.perf_counter()
        s = rc.simulate(model, r.policy, runs=runs)
        took = time.perf_counter() - before
        print(
            f"{label(name, budget, parameters):20s} {r.reward:9.3f} {r.cost[0]:7.3f} {s.reward.mean:12.3f} ±"
            f" {s.reward.se:.3f} {s.cost[0].mean:10.3f} ± {s.cost[0].se:.3f} {s.violation_rate.mean:12.3f} ±"
            f" {s.violation_rate.se:.3f} {took:9.1f}",
            flush=True,
        )


def lp() -> None:
    """Columns come one by one, as column generation adds them: each LP from the last basis, or from nothing."""
    print("re-solve after one more column, median microseconds (simplex iterations in all)")
    print("columns  costs   warm            cold            cold / warm")
    rng = np.random.default_rng(0)
    for n_costs in (1, 2, 5):
        for n in (20, 100, 500):
            costs = rng.random((n, n_costs))
            rewards = np.sqrt(costs).sum(axis=1) - 0.1 * rng.random(n)  # dear policies are worth more, less and less so
            budget = np.full(n_costs, 0.3)
            costs[0] = 0.0
            warm, cold = _live(rewards, costs, budget), _anew(rewards, costs, budget)
            print(
                f"{n:7d} {n_costs:6d} {warm[0] * 1e6:8.0f} ({warm[1]:5d}) {cold[0] * 1e6:8.0f} ({cold[1]:5d})"
                f" {cold[0] / warm[0]:12.1f}"
            )


def _live(rewards: np.ndarray, costs: np.ndarray, budget: np.ndarray) -> tuple[float, int]:
    """Median seconds of a re-solve in one live model, and its simplex iterations in all."""
    master, times, pivots = Master(budget, budget, 1.0), [], 0
    for reward, cost in zip(rewards, costs, strict=True):
        master.add(float(reward), cost)
        before = time.perf_counter()
        master.solve()
        times.append(time.perf_counter() - before)
        pivots += master.pivots
    return statistics.median(times[len(times) // 2 :]), pivots


def _anew(rewards: np.ndarray, costs: np.ndarray, budget: np.ndarray) -> tuple[float, int]:
    """The same where each LP is built and solved from nothing."""
    times, pivots = [], 0
    for n in range(1, len(rewards) + 1):
        before = time.perf_counter()
        master = Master(budget, budget, 1.0)
        for reward, cost in zip(rewards[:n], costs[:n], strict=True):
            master.add(float(reward), cost)
        master.solve()
        times.append(time.perf_counter() - before)
        pivots += master.pivots
    return statistics.median(times[len(times) // 2 :]), pivots


PARTS: dict[str, Callable[[], None]] = {
    "optima": optima,
    "pathology": pathology,
    "rocks": rocks,
    "closed": closed,
    "lp": lp,
}


def main() -> None:
    load_kernels()
    for part in sys.argv[1:] or list(PARTS):
        print(f"--- {part}")
        PARTS[part]()


if __name__ == "__main__":
    main()
