"""Stochastic self-destruction, measured: every solver on the paper's small problems. Prints two tables, and can draw.

    python benchmarks/self_destruction.py [table] [replanning] [plot FILE]

One process. 1000 runs of 20 steps, seed 0; CGCP-CL, which solves at each step, has 100 runs. What is counted as
deliberate, and what as undecided, is told in docs/self_destruction.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import rcpomdp as rc
from rcpomdp.solvers.replanning import replan

PROBLEMS: list[tuple[str, str, dict[str, Any]]] = [
    ("CE, ĉ = 5", "ce", {}),
    ("C-Tiger, ĉ = 3", "tiger", {}),
    ("C-Tiger, ĉ = 1.5", "tiger", {"budget": 1.5}),
    ("Tunnels 0.8, ĉ = 1", "tunnels", {}),
    ("Tunnels 0.95, ĉ = 1", "tunnels", {"p_correct": 0.95}),
    ("CRS(4,4), ĉ = 1", "crs-4-4", {}),
]
SOLVERS: list[tuple[str, str, dict[str, Any]]] = [
    ("arcs", "arcs", {}),
    ("arcs, as published", "arcs", {"variant": "paper"}),
    ("cgcp", "cgcp", {}),
    ("cgcp-cl", "cgcp-cl", {"step_time": 1.0}),
    ("exp-gradient", "exp-gradient", {}),
    ("cpbvi", "cpbvi", {}),
    ("cpbvi-d", "cpbvi-d", {}),
    ("sarsop", "sarsop", {}),
]
SECONDS = 20.0  # of a solve
REPLAN_SECONDS = 2.0
STEPS = 20


class Measured(NamedTuple):
    """A policy and its runs."""

    problem: str
    solver: str
    policy: Any
    runs: rc.Simulation


def measured(solvers: list[tuple[str, str, dict[str, Any]]]) -> Iterator[Measured]:
    """Solve and simulate each pair of problem and solver."""
    for title, name, parameters in PROBLEMS:
        model = rc.problems.make(name, **parameters)
        for label, solver, options in solvers:
            policy = rc.solve(model, solver, time_limit=SECONDS, **options).policy
            count = 100 if solver == "cgcp-cl" else 1000
            yield Measured(title, label, policy, rc.simulate(model, policy, count, STEPS, deliberate=True))


def row(*cells: str) -> None:
    """A row of a table in Markdown."""
    print(f"| {' | '.join(cells)} |".replace(" -", " −").replace("−--", "---"), flush=True)


def head(*titles: str) -> None:
    """The head of a table in Markdown."""
    row(*titles)
    row(*["---"] * len(titles))


def table() -> None:
    """Violations, deliberate steps, and amounts."""
    print(f"{SECONDS:g} s a solve; overspent is by beliefs, in units of the root, over all runs")
    head(
        *("problem", "solver", "reward", "violation rate", "deliberate", "undecided", "first step: mean, earliest"),
        *("overspent: mean", "worst", "overrun: worst", "undiscounted cost: mean", "most"),
    )
    for title, solver, _, s in measured(SOLVERS):
        rate, undecided = s.deliberate_rate, s.undecided_rate
        assert rate is not None
        assert undecided is not None
        assert s.deliberate is not None
        steps = s.deliberate.step[s.deliberate.step >= 0]
        row(
            *(title, solver, f"{s.reward.mean:.3f} ± {s.reward.se:.3f}"),
            *(f"{share.mean:.3f} ± {share.se:.3f}" for share in (s.violation_rate, rate)),
            *(f"{undecided.mean:.3f}", f"{steps.mean():.1f}, {steps.min()}" if steps.size else "–"),
            *(f"{s.overspent[0].mean:.3f}", f"{s.overspent[0].most:.3f}", f"{s.overrun[0].most:.3f}"),
            *(f"{s.undiscounted[0].mean:.3f}", f"{s.undiscounted[0].most:g}"),
        )


def replanning() -> None:
    """The reward that a policy still collects where it overspends, and what is left for one that does not."""
    print(f"first 50 runs that overspend deliberately; {REPLAN_SECONDS:g} s of ARCS for each belief and budget left")
    head("problem", "solver", "runs", "earned before", "still collects", "admissible plan: at least", "at most", "arcs")
    best = {title: rc.solve(rc.problems.make(name, **p), time_limit=SECONDS).lower for title, name, p in PROBLEMS}
    chosen = [entry for entry in SOLVERS if entry[0] in ("cgcp", "cgcp-cl", "sarsop")]
    for title, solver, policy, s in measured(chosen):
        found = replan(s, policy, REPLAN_SECONDS)
        if found is not None:
            estimates = (found.before, found.collected, found.lower, found.upper)
            shown = (f"{e.mean:.3f} ± {e.se:.3f}" for e in estimates)
            row(title, solver, f"{found.runs}", *shown, f"{best[title]:.3f}")


def plot(path: str) -> None:
    """The share of runs that spend more than x, by beliefs: where a table has one number, the whole tail."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(11, 6), constrained_layout=True)
    places = dict(zip([title for title, _, _ in PROBLEMS], axes.flat, strict=True))
    shown = [entry for entry in SOLVERS if entry[0] in ("arcs", "cgcp", "exp-gradient", "cpbvi", "sarsop")]
    for title, solver, _, s in measured(shown):
        ax = places[title]
        spent = np.sort(s.outcome.spent[:, 0])
        share = 1 - np.arange(len(spent)) / len(spent)
        ax.step([0, *spent, spent[-1]], [1, *share, 0], where="post", label=solver, linewidth=1.6)
        ax.set_title(title, fontsize=10)
    for title, ax in places.items():
        ax.axvline(float(title.rpartition("= ")[2]), color="black", linewidth=0.8, linestyle=":")
        ax.set_xlabel("x, by beliefs")
        ax.set_ylabel("share of runs that spend x or more")
    axes[0, 0].legend(fontsize=8)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    asked = sys.argv[1:] or ["table", "replanning"]
    if "table" in asked:
        table()
    if "replanning" in asked:
        replanning()
    if "plot" in asked:
        plot(asked[asked.index("plot") + 1])
