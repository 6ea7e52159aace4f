"""Budgets that are numbers of things, not discounted, beside the same discounted as the reward is. Prints them.

    python benchmarks/budgets.py [--seconds 60] [--runs 1000] [--only NAME]

RockSample with "at most two checks": with a cost discount of 1 the budget is a number of checks; discounted by γ, later
checks count for less, so that the same budget may pay for a third. `remission` allows 4 scans and 3 doses in a
lifetime. How many there were is counted in simulated runs, seed 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import rcpomdp as rc

PROBLEMS: dict[str, dict[str, Any]] = {
    "crs-4-4": {"budget": 2.0},
    "crs-5-7": {"budget": 2.0},
    "crs-7-8": {"budget": 2.0},
    "remission": {},
}
STEPS = 100
EPSILON = 1e-3


def rows(name: str, discounted: bool, seconds: float, runs: int) -> Iterator[list[str]]:
    """What is proven of one problem, and how often its policy pays each cost."""
    model = rc.problems.make(name, **PROBLEMS[name])
    model = model.with_cost_discount([model.discount if discounted else 1.0] * model.n_costs)
    result = rc.solve(model, "arcs", time_limit=seconds, epsilon=EPSILON)
    checked: Any = rc.verify(model, result.policy, result.claims(model))
    counts = rc.simulate(model, result.policy, runs, STEPS).outcome.undiscounted
    for cost, budget, count in zip(model.costs, model.budget, counts.T, strict=True):
        yield [
            name,
            "γ" if discounted else "1",
            f"{result.lower:.4f}",
            f"{result.upper:.4f}",
            result.status,
            f"{result.seconds:.1f}",
            "yes" if checked.verified else f"NO: {checked.problem}",
            str(cost),
            f"{budget:g}",
            f"{count.mean():.3f}",
            f"{count.max():g}",
            f"{(count > budget + 1e-9).mean():.1%}",
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", choices=[*PROBLEMS])
    given = parser.parse_args()
    rc.solve(rc.problems.make("tiger", cost_discount=1, budget=2.0), "arcs", time_limit=1.0)  # kernels are loaded
    print("| problem | β | lower | upper | status | s | verified | cost | budget | mean | most | runs with more |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name in [given.only] if given.only else PROBLEMS:
        for discounted in (False, True):
            for row in rows(name, discounted, given.seconds, given.runs):
                print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
