"""Solve, save, verify and simulate four problems, and set the outcome beside the paper's.

    python examples/demo.py

Policies are written to the folder `demo`. The paper's figures are those of ARCS in its table of extended results
(Ho et al., Recursively-Constrained POMDPs, UAI 2024): means and standard errors of 1000 runs of at most 20 steps, after
at most 300 seconds of solving. It publishes no map of its tunnels; ours has their sizes and values.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

import rcpomdp as rc
from rcpomdp.kernels.jit import when_compiling

FOLDER = Path("demo")
RUNS, STEPS, SEED = 1000, 20, 0


class Case(NamedTuple):
    """A problem, and what the paper reports for it."""

    title: str
    problem: str
    parameters: dict[str, Any]
    reward: tuple[float, float]  # the paper's mean and standard error
    cost: tuple[float, float]
    violation_rate: float


CASES = [
    Case("C-Tiger\nĉ = 3", "tiger", {"budget": 3.0}, (-5.75, 0.522), (2.982, 0.001), 0.0),
    Case("C-Tiger\nĉ = 1.5", "tiger", {"budget": 1.5}, (-75.075, 1.511), (1.422, 0.0), 0.0),
    Case("Tunnels\np_correct 0.8", "tunnels", {"p_correct": 0.8}, (1.028, 0.018), (0.440, 0.020), 0.0),
    Case("Tunnels\np_correct 0.95", "tunnels", {"p_correct": 0.95}, (1.010, 0.017), (0.273, 0.013), 0.0),
]


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    when_compiling(lambda: print("compiling the solvers' kernels, this first time: one to two minutes ...", flush=True))
    columns = [outcome(case) for case in CASES]
    table = Table(box=None, header_style="bold")
    table.add_column("\nmean ± s.e.", no_wrap=True)
    for case in CASES:
        table.add_column(case.title, justify="right", no_wrap=True)
    for rows in zip(*columns, strict=True):
        table.add_row(rows[0][0], *(ours for _, ours, _ in rows))
        if rows[0][2]:
            table.add_row("  the paper", *(paper for _, _, paper in rows), style="dim")
    console = Console()
    console.print(table)
    console.print(
        f"\nPolicies are in {FOLDER}/. Check one again: .venv/bin/rcpomdp verify {FOLDER}/tiger-3.rcp", highlight=False
    )


def outcome(case: Case) -> list[tuple[str, str, str]]:
    """Solve a problem and look at the policy from all sides: (quantity, ours, the paper's or nothing)."""
    model = rc.problems.make(case.problem, **case.parameters)
    result = rc.solve(model)  # ARCS, to a gap of 0.001

    # The file keeps what is claimed and how to build the model again: `rcpomdp verify FILE` needs nothing else.
    path = FOLDER / f"{case.problem}-{next(iter(case.parameters.values())):g}.rcp"
    result.save(path, model, {"name": case.problem, "parameters": case.parameters})

    policy = rc.load_policy(path, model)
    check = rc.verify(model, policy, rc.policy_info(path)["claims"])
    runs = rc.simulate(model, policy, RUNS, STEPS, SEED)
    return [
        ("reward", estimate(*runs.reward), estimate(*case.reward)),
        ("cost", estimate(*runs.cost[0]), estimate(*case.cost)),
        ("violation rate", f"{runs.violation_rate.mean:g}", f"{case.violation_rate:g}"),
        ("solved in", f"{result.setup_seconds + result.seconds:.2f} s", "≤ 300 s"),
        ("optimum ≥", f"{result.lower:.4f}", ""),
        ("optimum ≤", f"{result.upper:.4f}", ""),
        ("sure cost", f"{check.sure_cost[0]:.4f}", ""),
        ("verified", "yes" if check.verified else "NO", ""),
    ]


def estimate(mean: float, error: float) -> str:
    """A mean and its standard error."""
    digits = 3 if abs(mean) < 5 else 2
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


if __name__ == "__main__":
    main()
