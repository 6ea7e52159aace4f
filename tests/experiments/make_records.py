"""Make real records to test tables, plots and the report with.

    PYTHONPATH=tests python tests/experiments/make_records.py FILE RUNS

The numbers of a record depend on the machine where a time limit ends a search, so what tests compare with is kept in
`records.json`, which this wrote with 60 runs a cell.
"""

from __future__ import annotations

import math
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

import rcpomdp as rc
from rcpomdp.experiments.run.record import Cell, Record
from record_json import dump

ALGORITHMS = {
    "CGCP": "cgcp",
    "CGCP-CL": "cgcp-cl",
    "Exp-Gradient": "exp-gradient",
    "CPBVI": "cpbvi",
    "CPBVI-D": "cpbvi-d",
    "ARCS": "arcs",
    "SARSOP": "sarsop",
}
PAPER = {
    "CE": ("ce", {}, 5.0),
    "C-Tiger": ("tiger", {}, 3.0),
    "CRS(4,4)": ("crs-4-4", {}, 1.0),
    "Tunnels": ("tunnels", {"p_correct": 0.8}, 1.0),
}


def cells(runs: int) -> list[Cell]:  # noqa: PLR0912 - one loop a suite
    """A little of each suite."""
    found = []

    def add(suite: str, title: str, algorithm: str, budget: float, seed: int = 0, n: int = 0, **options: Any) -> None:
        problem, parameters, _ = PAPER[title]
        limit, steps = options.pop("limit", 3.0), options.pop("steps", 40)
        found.append(
            Cell(
                suite=suite,
                title=title,
                problem=problem,
                parameters=parameters,
                budget=[budget],
                algorithm=algorithm,
                solver=ALGORITHMS[algorithm.partition(",")[0]],
                options=options,
                time_limit=limit,
                runs=n,
                steps=steps,
                seed=seed,
            )
        )

    for title, (_, _, budget) in PAPER.items():
        for algorithm in list(ALGORITHMS)[:-1]:
            if algorithm == "CGCP-CL":
                if title in {"CE", "Tunnels"}:
                    add("paper-extended", title, algorithm, budget, n=max(10, runs // 10), step_time=0.05)
                continue
            for seed in (0, 1) if title == "C-Tiger" and algorithm.startswith("CPBVI") else (0,):
                add("paper-extended", title, algorithm, budget, seed, n=runs)
    for title in ("CE", "C-Tiger", "Tunnels"):
        for algorithm in ("SARSOP", "CGCP", "ARCS"):
            add("paper-unconstrained", title, algorithm, 1000.0)
    for algorithm in ("CGCP", "ARCS"):
        add("paper-figure", "Tunnels", algorithm, 1.0, n=runs, steps=12)
    for title in ("C-Tiger", "Tunnels"):
        add("ablation", title, "ARCS", PAPER[title][2])
        add("ablation", title, "ARCS, as published", PAPER[title][2], variant="paper")
    for budget in (0.25, 0.5, 1.0, 1.5, 2.0):
        for algorithm in ("CGCP", "ARCS"):
            add("budget-sweep", "Tunnels", algorithm, budget, limit=1.0)
    for title in ("CE", "Tunnels", "CRS(4,4)"):
        for algorithm in ("CGCP", "ARCS"):
            add("scaling", title, algorithm, PAPER[title][2])
    return found


def run(cell: Cell) -> Record:
    """Solve and simulate a cell."""
    model = rc.problems.make(cell.problem, **cell.parameters).with_budget(cell.budget)
    started = datetime.now(UTC)
    result = rc.solve(model, cell.solver, time_limit=cell.time_limit, **cell.options)
    empty = np.zeros(0)
    out: dict[str, Any] = {
        "run_reward": empty,
        "run_cost": np.zeros((0, 1)),
        "run_spent": np.zeros((0, 1)),
        "run_violation": np.zeros(0, dtype=np.int64),
        "run_length": np.zeros(0, dtype=np.int64),
    }
    seconds = 0.0
    if cell.runs:
        begun = datetime.now(UTC)
        o = rc.simulate(model, result.policy, cell.runs, cell.steps, cell.seed, paths=True).outcome
        seconds = (datetime.now(UTC) - begun).total_seconds()
        out = {
            "run_reward": o.reward,
            "run_cost": o.cost,
            "run_spent": o.spent,
            "run_violation": o.violation,
            "run_length": o.length,
        }
        if cell.suite == "paper-figure":
            out["paths"] = o.path

    def known(x: float) -> float | None:
        return float(x) if math.isfinite(x) else None

    return Record(
        cell=cell,
        status=result.status,
        error=None,
        lower=known(result.lower),
        upper=known(result.upper),
        reward=known(result.reward),
        cost=[float(c) for c in result.cost],
        admissible=result.admissible,
        seconds=result.seconds,
        setup_seconds=result.setup_seconds,
        simulation_seconds=seconds,
        trace=np.array([[p.seconds, p.lower, p.upper] for p in result.trace]),
        model_hash=model.fingerprint,
        versions={name: version(name) for name in ("rcpomdp", "numpy", "scipy", "numba", "highspy")}
        | {"python": platform.python_version()},
        machine={"processor": "test machine", "cores": 2, "memory": 2**34, "system": "Linux"},
        started=started.isoformat(timespec="seconds"),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        **out,
    )


def main() -> None:
    """Run all cells and write their records."""
    path, runs = sys.argv[1], int(sys.argv[2])
    records = []
    for cell in cells(runs):
        records.append(run(cell))
        r = records[-1]
        print(cell.suite, cell.title, cell.algorithm, r.status, r.lower, r.upper, r.seconds, flush=True)
    dump(records, path)


if __name__ == "__main__":
    main()
