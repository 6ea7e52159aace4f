"""Measure ARCS under a budget on the classic .pomdp files. Print one row per file.

    python benchmarks/classic.py FOLDER [--seconds 6] [--workers 1] [--only NAME] [--json FILE] [--against FILE]

Every action but the first costs 1. The budget is half of the expected cost of SARSOP's policy, or 1 if that policy
spends nothing. The benchmark then solves the model under this budget with the defaults and the same time limit.

Each solve has a process of its own with one thread. A solve of 0.3 s loads the kernels before any clock starts.

`--against` takes the budgets from an earlier run, so that both runs solve the same models, and compares the gaps. Gaps
up to 0.001 count as equal. A row is *wider* if its gap grew by more than 10 %, or if the solve now fails. A row is
*above* if its gap is open and its upper bound exceeds SARSOP's, which ignores the budget and therefore holds under any.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import rcpomdp as rc

Row = dict[str, Any]

WARM_UP = 0.3  # seconds
EPSILON = 1e-3  # the solver's default: gaps up to this count as equal
WIDER = 1.1  # ratio of gaps above which a row is marked
ROUNDING = 1e-6  # relative to the bound, and absolute for bounds below 1
SPENDS_NOTHING = 1e-9  # expected cost up to which SARSOP's policy counts as free
SMALL_BUDGET = 1.0
PATIENCE = 600.0  # seconds beyond the time limit for compiling, loading and verifying
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


# In a process of its own


def unconstrained(path: str, seconds: float, budget: float | None) -> Row:
    """Return SARSOP's bounds and the expected cost of its policy."""
    model = _model(path, budget)
    result, row = _timed(model, "sarsop", seconds)
    return row | {"cost": float(result.cost[0])}


def constrained(path: str, seconds: float, budget: float | None) -> Row:
    """Return the bounds of ARCS and the verdict of the checker on its policy."""
    import rcpomdp as rc

    model = _model(path, budget)
    result, row = _timed(model, "arcs", seconds)
    row |= {"reward": result.summary()["reward"], "admissible": result.admissible}
    row |= {"route": getattr(result, "route", None), "package": str(Path(rc.__file__).parent)}
    try:
        found = rc.verify(model, result.policy, result.summary())
    except rc.PolicyError as error:
        return row | {"verified": None, "problem": str(error)}
    return row | {"verified": found.verified, "problem": None if found.verified else found.problem}


def _model(path: str, budget: float | None) -> rc.CPOMDP:
    """Load a model and charge 1 for every action but the first. No budget means unlimited."""
    import rcpomdp as rc

    model = rc.load_model(path)
    free = model.actions[0]
    return model.with_costs({"effort": lambda s, a: float(a != free)}, budget=budget)


def _timed(model: rc.CPOMDP, solver: str, seconds: float) -> tuple[rc.Result, Row]:
    """Load the kernels, then solve. Return the result, its bounds and the seconds."""
    import rcpomdp as rc

    rc.solve(model, solver, time_limit=WARM_UP, progress=False)
    wall, processor = time.perf_counter(), time.process_time()
    result = rc.solve(model, solver, time_limit=seconds, progress=False)
    row = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
    told = result.summary()  # JSON has no infinity: an infinite bound is None
    return result, {key: told[key] for key in ("lower", "upper", "gap", "status")} | row


TASKS: dict[str, Callable[[str, float, float | None], Row]] = {f.__name__: f for f in (unconstrained, constrained)}


# Rows


def run(task: str, path: Path, seconds: float, budget: float | None) -> Row:
    """Run a task in a process of its own. Return its row, or the error in one line."""
    command = [sys.executable, __file__, "--task", json.dumps([task, str(path), seconds, budget])]
    limit, env = seconds + PATIENCE, {**os.environ, **THREADS}
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"error": f"{task}: no answer after {limit:g} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
        return {"error": f"{task}: {last}"}
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def measured(path: Path, seconds: float, before: dict[str, Row]) -> Row:
    """Solve one model without and with a budget. An earlier row provides the budget."""
    row: Row = {"name": path.stem, "seconds": seconds, "budget": before.get(path.stem, {}).get("budget")}
    free = run("unconstrained", path, seconds, None)
    row["sarsop"] = free
    if row["budget"] is None:
        if "error" in free:
            return row | free
        row["budget"] = free["cost"] / 2 if free["cost"] > SPENDS_NOTHING else SMALL_BUDGET
    return row | run("constrained", path, seconds, row["budget"])


def gap(row: Row) -> float:
    """Return the gap for a ratio: at least epsilon, and infinite if there is none."""
    found = row.get("gap")
    return math.inf if found is None else max(found, EPSILON)


def ratio(row: Row, old: Row) -> float:
    """Return the gap of a row divided by the earlier one."""
    return 1.0 if gap(row) == gap(old) else gap(row) / gap(old)


def is_above(row: Row) -> bool:
    """Return True if the upper bound exceeds SARSOP's by more than rounding, though the gap is open."""
    bound = row["sarsop"].get("upper")
    if bound is None or "error" in row or gap(row) <= EPSILON:
        return False
    return row["upper"] is None or row["upper"] > bound + ROUNDING * max(1.0, abs(bound))


# Output

COLUMNS = [
    *("model", "budget", "lower", "upper", "gap", "status", "reward", "admissible", "verified", "route"),
    *("wall s", "processor s", "SARSOP lower", "upper", "gap before", "gap after", "ratio", "marks"),
]


def number(value: float | None) -> str:
    return "–" if value is None or math.isinf(value) else f"{value:.6g}"


def line(row: Row, old: Row | None) -> str:
    """Return a row of the markdown table."""
    marks = ["WIDER"] if old and ratio(row, old) > WIDER else []
    marks += ["ABOVE"] if is_above(row) else []
    compared = [number(old.get("gap")), number(row.get("gap")), f"{ratio(row, old):.3g}"] if old else ["–"] * 3
    if "error" in row:
        return f"| {row['name']} | {' '.join([*marks, row['error']])} |"
    cells = [row["name"], *(number(row[key]) for key in ("budget", "lower", "upper", "gap")), row["status"]]
    cells += [number(row["reward"]), *(str(row[key]) for key in ("admissible", "verified", "route"))]
    cells += [f"{row[key]:.2f}" for key in ("wall", "processor")]
    cells += [number(row["sarsop"].get(key)) for key in ("lower", "upper")]
    return f"| {' | '.join([*cells, *compared, ' '.join(marks)])} |"


def earlier(file: Path | None) -> dict[str, Row]:
    """Return the rows of an earlier run by name."""
    return {} if file is None else {row["name"]: row for row in json.loads(file.read_text())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="folder with the .pomdp files")
    parser.add_argument("--seconds", type=float, default=6.0, help="time limit of each solve")
    parser.add_argument("--workers", type=int, default=1, help="number of models to solve at the same time")
    parser.add_argument("--only", action="append", metavar="NAME", help="solve this model; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this file, after each row")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with the rows of an earlier run")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        task, path, seconds, budget = json.loads(given.task)
        print(json.dumps(TASKS[task](path, seconds, budget)))
        return
    files = {path.stem: path for path in sorted(given.folder.glob("*.pomdp"))} if given.folder else {}
    if not files:
        parser.error("give a folder with .pomdp files")
    for name in given.only or ():
        if name not in files:
            parser.error(f"no model {name!r} in {given.folder}; choose from {', '.join(files)}")
    before = earlier(given.against)
    rows: list[Row] = []
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    with ThreadPoolExecutor(given.workers) as pool:
        chosen = [files[name] for name in given.only or files]
        found: Iterator[Row] = pool.map(partial(measured, seconds=given.seconds, before=before), chosen)
        for row in found:
            rows.append(row)
            print(line(row, before.get(row["name"])), flush=True)
            if given.json:
                given.json.write_text(json.dumps(rows, indent=1))
    wider = sum(row["name"] in before and ratio(row, before[row["name"]]) > WIDER for row in rows)
    print(f"{len(rows)} rows, {wider} wider by more than 10 %, {sum(map(is_above, rows))} above sarsop's bound")


if __name__ == "__main__":
    main()
