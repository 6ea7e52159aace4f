"""How small policies get: nodes before and after compression, what is lost, and how long it takes.

python benchmarks/small.py                   # all, some minutes
python benchmarks/small.py tiger-3           # one of them
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import rcpomdp as rc


class Case(NamedTuple):
    """A problem, and the loss that is allowed."""

    problem: str
    budget: float | None = None  # None is the problem's own
    parameters: tuple[tuple[str, Any], ...] = ()
    losses: tuple[float, ...] = (0.0, 0.001)
    time_limit: float | None = None


CASES = {
    "tiger-3": Case("tiger", 3.0, losses=(0.0, 0.001, 0.005, 0.01)),
    "tiger-1.5": Case("tiger", 1.5),
    "tunnels-0.8": Case("tunnels", parameters=(("p_correct", 0.8),)),
    "tunnels-0.95": Case("tunnels", parameters=(("p_correct", 0.95),)),
    "crs-4-4": Case("crs-4-4"),
    "crs-5-7": Case("crs-5-7"),
    "crs-7-8": Case("crs-7-8"),
    "hallway": Case("hallway", losses=(0.0,), time_limit=30.0),
    "tiger-grid": Case("tiger-grid", losses=(0.0, 0.1), time_limit=30.0),
}
TITLES = ("problem", "solver's nodes", "loss allowed", "nodes", "loss", "seconds", "verified")


def rows(name: str, case: Case) -> list[tuple[str, ...]]:
    """One row for each loss."""
    model = rc.problems.make(case.problem, **dict(case.parameters))
    model = model if case.budget is None else model.with_budget(case.budget)
    policy = rc.solve(model, time_limit=case.time_limit).policy
    found = []
    for loss in case.losses:
        small = rc.compress(model, policy, loss, time_limit=120.0)
        kind = "plans" if isinstance(policy, rc.policies.PlanSetPolicy) else "nodes"
        sizes = f"{small.nodes:,} {kind}", f"{loss:g}", f"{small.policy.actions.size:,}"
        found.append((name, *sizes, f"{small.loss:.2g}", f"{small.seconds:.1f}", str(small.after.verified).lower()))
    return found


def main(names: list[str]) -> None:
    print(f"| {' | '.join(TITLES)} |\n|{'---|' * len(TITLES)}", flush=True)
    for name in names or CASES:
        for row in rows(name, CASES[name]):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
