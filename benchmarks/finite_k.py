"""The optimum against k, from the C-POMDP's (k = 1) to the RC-POMDP's (every history). Prints what it measures.

    python benchmarks/finite_k.py [--out finite-k.png] [--seconds 60] [problem ...]

One process; kernels are loaded before any clock runs. Each policy is verified for its k.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import rcpomdp as rc
from rcpomdp.solvers.arcs.engine import load_kernels

PROBLEMS = {
    "ce": (5.0, (1, 2, 3, 4)),
    "tiger": (3.0, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30)),
    "tunnels": (1.0, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12)),
    "crs-4-4": (1.0, (1, 2, 3, 5, 8)),
}


class Row(NamedTuple):
    """One solve; k is None for every history."""

    problem: str
    k: int | None
    lower: float
    upper: float
    seconds: float
    nodes: int | None
    lots: int
    verified: bool
    status: str

    @property
    def name(self) -> str:
        """What is printed for k."""
        return "∞" if self.k is None else str(self.k)


def measure(problem: str, budget: float, k: int | None, seconds: float) -> Row:
    model = rc.problems.make(problem).with_budget(budget)
    r = rc.solve(model, "arcs", k=k, time_limit=seconds)
    verified = rc.verify(model, r.policy, r.claims(model), k=k).verified
    lots = getattr(r.policy, "n_lots", 1 if len(getattr(r.policy, "weights", ())) > 1 else 0)
    took = r.seconds + r.setup_seconds
    return Row(problem, k, r.lower, r.upper, took, r.tree_nodes, lots, verified, r.status)


def table(problems: list[str], seconds: float) -> list[Row]:
    print("problem        k      lower      upper      gap  seconds  tree nodes  lots  verified  status")
    rows = []
    for problem in problems:
        budget, ks = PROBLEMS[problem]
        for k in (*ks, None):
            row = measure(problem, budget, k, seconds)
            rows.append(row)
            print(
                f"{problem:10s} {row.name:>5s} {row.lower:10.5f} {row.upper:10.5f} {row.upper - row.lower:8.1e}"
                f" {row.seconds:8.2f} {row.nodes if row.nodes is not None else '':>11} {row.lots:5d}"
                f"  {'yes' if row.verified else 'NO':8s}  {row.status}",
                flush=True,
            )
    return rows


def plot(rows: list[Row], path: str) -> None:
    """The bounds against k for each problem, with the RC-POMDP's optimum as a line."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    problems = list(dict.fromkeys(row.problem for row in rows))
    figure, axes = plt.subplots(1, len(problems), figsize=(3.2 * len(problems), 2.6), layout="constrained")
    for axis, problem in zip([axes] if len(problems) == 1 else axes, problems, strict=True):
        mine = [row for row in rows if row.problem == problem]
        finite = [row for row in mine if row.k is not None]
        for row in mine:
            if row.k is None:
                axis.axhline(row.lower, color="0.5", linestyle="--", linewidth=1, label="every history")
        middle = [(row.lower + row.upper) / 2 for row in finite]
        half = [(row.upper - row.lower) / 2 for row in finite]
        axis.errorbar(
            [row.k for row in finite],
            middle,
            half,
            marker="o",
            markersize=3,
            capsize=2,
            label="histories shorter than k",
        )
        low, high = axis.get_ylim()
        if high - low < 0.1:
            axis.set_ylim((low + high) / 2 - 0.5, (low + high) / 2 + 0.5)
        axis.set_title(problem)
        axis.set_xlabel("k")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    first = axes if len(problems) == 1 else axes[0]
    first.set_ylabel("reward")
    first.legend()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of each solve")
    parser.add_argument("--out", help="file of the figure; none unless given")
    given = parser.parse_args()
    load_kernels()
    rows = table(given.problems, given.seconds)
    if given.out:
        plot(rows, given.out)


if __name__ == "__main__":
    main()
