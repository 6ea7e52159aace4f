"""What ARCS proves, how fast, and what each idea is worth. Prints what it measures.

    python benchmarks/arcs.py [table] [unlimited] [paper] [ideas] [speed]

One process; kernels are loaded before any clock runs. "levels" makes no random choice; "paper" has seed 0.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import rcpomdp as rc
from rcpomdp.experiments import suites
from rcpomdp.solvers.arcs.engine import load_kernels
from rcpomdp.solvers.arcs.search import ArcsSwitches


class Row(NamedTuple):
    """One line of the table: a problem, what to reach and within how many seconds."""

    name: str
    budget: float
    lower: float  # to be reached
    gap: float  # to be reached
    seconds: float
    epsilon: float  # asked for
    memory: float = 8e9
    parameters: dict[str, Any] = {}  # noqa: RUF012 - never changed


TABLE = [
    Row("ce", 5, 10.0, 0.001, 1, 0.0005),
    Row("tiger", 3, -2.780, 0.01, 5, 0.004),
    Row("tiger", 1.5, -70.688, 0.01, 5, 0.0004),
    Row("tunnels", 1, 1.014, 0.0001, 2, 0.0001),
    Row("tunnels", 1, 1.043, 0.0001, 2, 0.0001, parameters={"p_correct": 0.95}),
    Row("crs-4-4", 1, 12.294, 0.02, 10, 0.02),
    Row("crs-5-7", 1, 11.679, 0.01, 20, 0.01),
    Row("crs-7-8", 1, 10.576, 0.02, 60, 0.02),
    Row("crs-5-7", 2, 14.8, 99, 120, 0.01, memory=13e9),
    Row("crs-11-11", 1, 9.22, 0.7, 300, 0.7, memory=13e9),
]
SMALL = TABLE[:6]


def model_of(row: Row, budget: float | None = None) -> rc.CPOMDP:
    return rc.problems.make(row.name, **row.parameters).with_budget([row.budget if budget is None else budget])


def label(row: Row) -> str:
    return " ".join([row.name, *(str(value) for value in row.parameters.values())])


def table() -> None:
    print("problem              budget      lower      upper      gap  setup s  search s  visits    beliefs  "
          "verified  violations 20/200 steps  mean - value in s.e.  reached")  # fmt: skip
    for row in TABLE:
        model = model_of(row)
        r = rc.solve(model, "arcs", epsilon=row.epsilon, time_limit=row.seconds, memory_limit=row.memory)
        checked = rc.verify(model, r.policy, r.summary())
        runs = [rc.simulate(model, r.policy, runs=1000, steps=steps, seed=0) for steps in (20, 200)]
        error = max(runs[1].reward.se, 1e-12)
        away = (runs[1].reward.mean - r.reward) / error
        rates = "/".join(f"{run.violation_rate.mean:g}" for run in runs)
        reached = r.lower >= row.lower - 5e-4 and r.gap <= row.gap and r.seconds + r.setup_seconds <= row.seconds * 1.01
        print(
            f"{label(row):20s} {row.budget:6g} {r.lower:10.4f} {r.upper:10.4f} {r.gap:8.5f} {r.setup_seconds:8.2f} "
            f"{r.seconds:9.2f}  {r.visits or 0:<9,} {r.trace[-1].beliefs:<8,} {checked.verified!s:9s} {rates:24s} "
            f"{away:+.2f}                 {reached}",
            flush=True,
        )


def unlimited() -> None:
    print(
        "problem              sarsop: lower   upper     gap       s | arcs, budget 1000: lower   upper     gap       s"
    )
    for row in TABLE:
        if row.budget != TABLE[0].budget and row.name == "tiger" and row.budget == 1.5:
            continue
        model, goal = model_of(row, 1000.0), {"epsilon": max(row.epsilon, 0.001), "time_limit": min(row.seconds, 60)}
        a = rc.solve(model, "sarsop", memory_limit=row.memory, **goal)
        b = rc.solve(model, "arcs", memory_limit=row.memory, **goal)
        times = [r.seconds + r.setup_seconds for r in (a, b)]
        print(
            f"{label(row):20s} {a.lower:13.4f} {a.upper:9.4f} {a.gap:8.5f} {times[0]:7.2f} |"
            f" {b.lower:25.4f} {b.upper:9.4f} {b.gap:8.5f} {times[1]:7.2f}",
            flush=True,
        )


def paper(seconds: float = 300) -> None:
    print(f"as published, {seconds:g} s, seed 0")
    print("problem              budget      lower      upper      gap  s        tree nodes")
    for row in SMALL:
        model = model_of(row)
        r = rc.solve(model, "arcs", variant="paper", epsilon=row.epsilon, time_limit=seconds, memory_limit=13e9, seed=0)
        print(
            f"{label(row):20s} {row.budget:6g} {r.lower:10.4f} {r.upper:10.4f} {r.gap:8.4f}  {r.seconds:<8.2f} "
            f"{r.tree_nodes:<12,} {r.status}, horizon {'all' if r.admissible else r.horizon}",
            flush=True,
        )


IDEAS: dict[str, ArcsSwitches] = {"all": ArcsSwitches()} | {
    name: ArcsSwitches.of(off) for name, off in suites.IDEAS.items()
}


def ideas(seconds: float = 10) -> None:
    cases = [TABLE[i] for i in (1, 3, 5, 6, 7)]
    print(f"gap (lower, seconds) with each idea switched off, {seconds:g} s at most")
    print(f"{'':16s}" + "".join(f"{label(row) + f' {row.budget:g}':>28s}" for row in cases))
    for name, switches in IDEAS.items():
        cells = []
        for row in cases:
            r = rc.solve(model_of(row), "arcs", epsilon=row.gap, time_limit=seconds, switches=switches)
            cells.append(f"{r.gap:10.4f} ({r.lower:8.3f}, {r.seconds:5.2f})")
        print(f"{name:16s}" + "".join(cells), flush=True)


def speed() -> None:
    for row in (TABLE[1], TABLE[7]):
        model = model_of(row)
        from rcpomdp.solvers.arcs.search import BudgetSearch
        from rcpomdp.solvers.belief_graph.search import BeliefGraphSearch, Objective

        graph_search = BeliefGraphSearch(model, Objective(1.0, 0 * model.budget))
        search = BudgetSearch(graph_search)
        before = time.perf_counter()
        while time.perf_counter() - before < 5 and search.gap > row.gap:
            search.search(row.gap, 2_000_000, 10**9)
            if search.still:
                search.refine()
        seconds = time.perf_counter() - before
        total = sum(graph_search.profile.values())
        shares = ", ".join(f"{name} {100 * work / total:.0f} %" for name, work in graph_search.profile.items())
        print(f"{label(row)}: {search.visits / seconds:,.0f} nodes/s of descent and backup, gap {search.gap:.4f}")
        print(f"  where the work goes: {shares}")


PARTS: dict[str, Callable[[], None]] = {
    "table": table,
    "unlimited": unlimited,
    "paper": paper,
    "ideas": ideas,
    "speed": speed,
}


def main() -> None:
    load_kernels()
    rc.solve(rc.problems.make("ce"), "arcs", variant="paper", time_limit=1)
    for part in sys.argv[1:] or list(PARTS):
        print(f"--- {part}")
        PARTS[part]()


if __name__ == "__main__":
    main()
