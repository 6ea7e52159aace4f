"""RockSample with "at most two checks", not discounted, beside a discounted budget of two. Prints it.

    python benchmarks/budgets.py [--seconds 60] [--runs 1000] [--only NAME]

A check costs 1. With a cost discount of 1 the budget is a number of checks; discounted by γ, later checks count for
less, so that the same budget may pay for a third. The undiscounted number of checks is that of simulated runs, seed 0.
"""

from __future__ import annotations

import argparse
from typing import Any

import rcpomdp as rc

PROBLEMS = ("crs-4-4", "crs-5-7", "crs-7-8")
BUDGET = 2.0
STEPS = 100


def row(name: str, discounted: bool, seconds: float, runs: int) -> list[str]:
    """What is proven of one problem, and how many checks its policy makes."""
    model = rc.problems.make(name, budget=BUDGET, **({} if discounted else {"cost_discount": 1}))
    result = rc.solve(model, "arcs", time_limit=seconds)
    checked: Any = rc.verify(model, result.policy, result.claims(model))
    checks = rc.simulate(model, result.policy, runs, STEPS).outcome.undiscounted[:, 0]
    beyond = (checks > BUDGET + 1e-9).mean()
    return [
        name,
        "γ" if discounted else "1",
        f"{result.lower:.4f}",
        f"{result.upper:.4f}",
        f"{result.gap:.4f}",
        result.status,
        f"{result.seconds:.1f}",
        "yes" if checked.verified else f"NO: {checked.problem}",
        f"{checks.mean():.3f}",
        f"{checks.max():g}",
        f"{beyond:.1%}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", choices=PROBLEMS)
    given = parser.parse_args()
    rc.solve(rc.problems.make("tiger", cost_discount=1, budget=2.0), "arcs", time_limit=1.0)  # kernels are loaded
    print("| problem | β | lower | upper | gap | status | s | verified | checks, mean | most | runs with more than 2 |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in [given.only] if given.only else PROBLEMS:
        for discounted in (False, True):
            print("| " + " | ".join(row(name, discounted, given.seconds, given.runs)) + " |", flush=True)


if __name__ == "__main__":
    main()
