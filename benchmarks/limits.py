"""By how much each solver oversteps its time limit. Prints what it measures.

python benchmarks/limits.py [SECONDS]
"""

from __future__ import annotations

import sys
import time

import rcpomdp as rc

CASES = [
    ("arcs", "crs-7-8", {}),
    ("arcs", "crs-4-4", {"variant": "paper"}),
    ("sarsop", "crs-7-8", {}),
    ("cgcp", "crs-7-8", {}),
    ("exp-gradient", "crs-5-7", {}),
    ("cpbvi", "hallway", {}),
]


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(f"a limit of {seconds:g} s\nsolver        problem    set-up  search   in all  status")
    for solver, problem, options in CASES:
        model = rc.problems.make(problem)
        rc.solve(model, solver, time_limit=seconds, **options)  # compiles
        before = time.perf_counter()
        r = rc.solve(model, solver, time_limit=seconds, **options)
        took = time.perf_counter() - before
        print(f"{solver:13s} {problem:10s} {r.setup_seconds:6.2f} {r.seconds:7.2f} {took:8.2f}  {r.status}", flush=True)


if __name__ == "__main__":
    main()
