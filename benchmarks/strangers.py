"""Compare `rc.solve` with simple peers on models that a new user writes. Prints a table and the rows that are beaten.

    python benchmarks/strangers.py [--seconds 30] [--runs 1000] [--workers 2] [--only NAME] [--peers FILE] [--json FILE]

Each of the models in `stranger_models.py` has three budgets, and each budget is a row. A row is solved in a process of
its own with one thread; the kernels are loaded before its clock starts. The peers of a model run in another process.
They depend on `rc.solve` only through SARSOP and CGCP. `--peers FILE` keeps their numbers and reads them in the next
run. `--json FILE` is written after every row. `--only` takes a model's name, or a row's such as "rescue:tight".

Peers that bound the optimum from above, in `guards.py` unless said otherwise:
  mdp     MDP over states and budget levels
  fib     fast informed bound over states and budget levels; left out where it takes too long
  cgcp    upper bound of `rc.solve(model, "cgcp")` after 10 s; left out where CGCP refuses the model
  sarsop  upper bound of `rc.solve(model, "sarsop")` after 10 s

Peers that act: guards around SARSOP's policies of R − λ·C for five λ, and around FIB vectors for nine λ. "*" marks a
guard that takes the best affordable action in place of the way out. 100 runs each choose three guards, which run 1,000
times with other random numbers.

A row passes if all of these hold. Otherwise the last column names each that fails.
  upper       the upper bound is at most the best peer's, plus 1 % of the range
  reward      the simulated reward is at least the best guard's, minus two standard errors of the difference
  admissible  the result is admissible, where a guard has a policy
  verified    `rc.verify` confirms the policy and its claims
  violations  no simulated run is in violation
  limit       the solve takes at most 1.15 times its time limit plus 1 s
  unsound     the lower bound is at most the best peer's upper bound, and the upper bound at least the best guard's
              reward minus four standard errors
  gap         for the two-state machine only: the gap is at most 0.02 after 10 s
The range is SARSOP's upper bound minus the reward of the best simple plan within the budget: one action for ever, or
the way out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

Row = dict[str, Any]

PEER_SECONDS = 10.0  # of SARSOP and CGCP
MULTIPLIER_SECONDS = 2.0  # of SARSOP for each multiplier
TABLE_WORK = {"mdp": 3e9, "fib": 6e9}  # multiplications
SARSOP_MULTIPLES = (0.0, 0.5, 1.0, 1.5, 2.0)
FIB_MULTIPLES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5)
PILOT_RUNS, FINALISTS = 100, 3
UPPER_SHARE = 0.01  # of the range
BUDGETS = ("tight", "middle", "loose")
SMALL_NAME = "run-or-fix"


class Case(NamedTuple):
    """A model under one of its budgets."""

    model: str
    budget: str  # "tight", "middle" or "loose"

    @property
    def label(self) -> str:
        """For example "rescue:tight"."""
        return f"{self.model}:{self.budget}"


def build(case: Case) -> Any:
    """Return the model of a case."""
    from stranger_models import MODELS, SMALL

    stranger = SMALL if case.model == SMALL_NAME else MODELS[case.model]
    return stranger.build().with_budget(list(getattr(stranger, case.budget)))


# In a process of its own


def ours(name: str, budget: str, seconds: float, runs: int) -> Row:
    """Return the result of `rc.solve`, and what its policy earns."""
    import rcpomdp as rc
    from guards import arrays_of

    model = build(Case(name, budget))
    for small in ("ce", "tiger", "hallway"):
        rc.solve(rc.problems.make(small), time_limit=0.5, progress=False)
    rc.solve(model, time_limit=0.5, seed=0, progress=False)
    wall, processor = time.perf_counter(), time.process_time()
    r = rc.solve(model, time_limit=seconds, seed=0, progress=False)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    row: Row = {
        "states": model.n_states,
        "limit": seconds,
        "lower": r.lower,
        "upper": r.upper,
        "status": r.status,
        "admissible": r.admissible,
        "route": getattr(r, "route", None),
        "candidates": [list(each) for each in getattr(r, "candidates", ())],
        "wall": wall,
        "processor": processor,
    }
    try:
        checked = rc.verify(model, r.policy, r.summary())
        row["verified"] = "yes" if checked.verified else f"no: {checked.problem}"
    except rc.PolicyError as error:
        row["verified"] = f"not checked: {error}"
    done = rc.simulate(model, r.policy, runs=runs, steps=arrays_of(model).steps, seed=0)
    row |= {"reward": done.reward.mean, "se": done.reward.se, "violation_rate": done.violation_rate.mean}
    return row | {"spent": [c.mean for c in done.spent], "runs": runs}


def peers(name: str, runs: int) -> dict[str, Row]:
    """Return the peers' numbers for each budget of a model."""
    import rcpomdp as rc
    from guards import arrays_of, nodes_of

    free = build(Case(name, BUDGETS[0]))
    rc.solve(rc.problems.make("ce"), "sarsop", time_limit=1, progress=False)
    sarsop = rc.solve(scalar(free), "sarsop", time_limit=PEER_SECONDS, progress=False)
    nodes = nodes_of(arrays_of(free))
    return {budget: peers_of(build(Case(name, budget)), nodes, sarsop, runs) for budget in BUDGETS}


def scalar(model: Any) -> Any:
    """Return the model with costs discounted as rewards are, so that R − λ·C is a plain POMDP."""
    return model if model.horizon is not None else model.with_cost_discount(None)


def peers_of(model: Any, nodes: Any, sarsop: Any, runs: int) -> Row:
    """Return the peers' numbers for one budget."""
    import numpy as np

    from guards import Base, arrays_of, blind_values, level_bound, simulate, sure_costs_of_blind, way_out

    m = arrays_of(model)
    seconds: dict[str, float] = {}
    clock = time.perf_counter()

    def lap(what: str) -> None:
        nonlocal clock
        seconds[what], clock = time.perf_counter() - clock, time.perf_counter()

    bounds: dict[str, float | None] = {"sarsop": sarsop.upper}
    for kind, work in TABLE_WORK.items():
        bounds[kind] = level_bound(m, kind == "fib", work)
        lap(kind)
    bounds["cgcp"] = cgcp_bound(model)
    lap("cgcp")
    out = way_out(m, nodes)
    blind = blind_values(m)
    row: Row = {
        "bounds": {kind: b for kind, b in bounds.items() if b is not None and math.isfinite(b)},
        "infeasible": any(b == -math.inf for b in bounds.values()),
        "way_out": nodes.by,
        "nodes": len(nodes.members),
        "sure": out.from_start.tolist(),
        "guards": [],
        "pilots": [],
        "seconds": seconds,
        "least_reward": float(blind.min()),
        "simple": None,
    }
    if not (out.from_start <= m.budget).all():
        return row
    kept = (sure_costs_of_blind(m, out) <= m.budget[:, None]).all(axis=0)
    lap("way out")
    bases = [Base("way out"), *bases_of(model, m, sarsop)]
    lap("bases")
    pilots = sorted(simulate(m, out, bases, PILOT_RUNS, seed=1), key=lambda e: -e.reward)
    lap("pilots")
    best = {e.name for e in pilots[:FINALISTS]}
    final = simulate(m, out, [b for b in bases if b.name in best], runs, seed=2)
    lap("guards")
    row["guards"] = [e._asdict() for e in sorted(final, key=lambda e: -e.reward)]
    row["pilots"] = [e._asdict() for e in pilots]
    bare = next(e.reward for e in pilots if e.name == "way out")
    row["simple"] = max(bare, float(np.where(kept, blind, -math.inf).max()))
    return row


def cgcp_bound(model: Any) -> float | None:
    """Return CGCP's upper bound; None if it refuses the model."""
    import rcpomdp as rc

    try:
        return float(rc.solve(model, "cgcp", time_limit=PEER_SECONDS, progress=False).upper)
    except (rc.InputError, rc.ModelError):
        return None


def bases_of(model: Any, m: Any, sarsop: Any) -> list[Any]:
    """Return the policies for guards to follow."""
    import numpy as np

    import rcpomdp as rc
    from guards import Base, fib_vectors, multipliers

    lam = multipliers(m)
    vectors = {x: fib_vectors(m, m.reward - np.tensordot(x * lam, m.cost, axes=1)) for x in FIB_MULTIPLES}
    bases = [Base(f"fib {x:g}{'*' * choosy}", v, None, choosy) for x, v in vectors.items() for choosy in (False, True)]
    for x in SARSOP_MULTIPLES:
        if x:
            objective = (x * lam).tolist()
            sarsop = rc.solve(
                scalar(model), "sarsop", objective=objective, time_limit=MULTIPLIER_SECONDS, progress=False
            )
        controller = controller_of(sarsop.policy)
        if controller is not None:
            bases += [Base(f"sarsop {x:g}{'*' * c}", vectors[x], controller, c) for c in (False, True)]
    return bases


def controller_of(policy: Any) -> tuple[Any, Any, int] | None:
    """Return the actions, the next nodes and the first node of a controller; None for any other policy."""
    parts = [getattr(policy, name, None) for name in ("actions", "successors", "start")]
    return None if any(part is None for part in parts) else (parts[0], parts[1], int(parts[2]))


TASKS: dict[str, Callable[..., Any]] = {"ours": ours, "peers": peers}


def in_a_process(task: str, *given: Any) -> Any:
    """Return the outcome of a task that runs in a process of its own, with one thread."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--task", json.dumps([task, *given])]
    done = subprocess.run(command, env={**os.environ, **threads}, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
        return {"error": last}
    return json.loads(done.stdout.splitlines()[-1])


# Criteria


def best_bound(peer: Row) -> tuple[str, float]:
    """Return the peer with the least upper bound, and the bound."""
    return min(peer["bounds"].items(), key=lambda item: item[1])


def value_range(peer: Row) -> float:
    """Return SARSOP's upper bound minus the best simple reward within the budget."""
    lower = peer["least_reward"] if peer["simple"] is None else peer["simple"]
    return max(float(peer["bounds"]["sarsop"] - lower), 1e-6)


def failures(row: Row) -> list[str]:
    """Return the criteria that a row fails, each with the shortfall."""
    if "error" in row:
        return [f"error: {row['error']}"]
    found = []
    if row["model"] == SMALL_NAME:
        from stranger_models import SMALL_GAP

        gap = row["upper"] - row["lower"]
        if not gap <= SMALL_GAP:
            found.append(f"gap {gap:.3g}")
    else:
        found += beaten_by(row, row["peers"])
    if row["verified"] != "yes":
        found.append("verified " + row["verified"].partition(":")[0])
    if row["violation_rate"] > 0:
        found.append(f"violations {row['violation_rate']:.1%}")
    if row["wall"] > 1.15 * row["limit"] + 1:
        found.append(f"limit +{row['wall'] - row['limit']:.1f} s")
    return found


def beaten_by(row: Row, peer: Row) -> list[str]:
    """Return the criteria that a row fails beside its peers."""
    if "error" in peer:
        return [f"peers' error: {peer['error']}"]
    found = []
    scale = value_range(peer)
    name, bound = best_bound(peer)
    short = row["upper"] - bound - UPPER_SHARE * scale
    if short > 0 and not (peer["infeasible"] and row["status"] == "infeasible"):
        found.append(f"upper +{(row['upper'] - bound) / scale:.1%} ({name})")
    if row["lower"] > bound + 1e-6 * scale:
        found.append(f"unsound: lower exceeds {name} by {row['lower'] - bound:.3g}")
    for guard in peer["guards"][:1]:
        error = math.hypot(row["se"], guard["se"])
        if row["reward"] < guard["reward"] - 2 * error:
            found.append(f"reward −{(guard['reward'] - row['reward']) / scale:.1%} ({guard['name']})")
        if row["upper"] < guard["reward"] - 4 * guard["se"] - 1e-6 * scale:
            found.append(f"unsound: upper is below {guard['name']} by {guard['reward'] - row['upper']:.3g}")
        if not row["admissible"]:
            found.append("admissible no")
    return found


# Printing


COLUMNS = (
    *("row", "states", "budget", "lower", "upper", "reward", "± s.e.", "cpu s", "wall s", "status", "route"),
    *("bound", "by", "guard", "± s.e.", "by", "beaten"),
)
WIDTHS = (23, 6, 10, 9, 9, 9, 7, 6, 6, 11, 12, 9, 7, 9, 7, 11, 0)


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}" if abs(value) >= 1000 else f"{value:.3f}"


def cells(row: Row) -> list[str]:
    """Return a row of the table."""
    fails = "; ".join(row["failures"]) or "ok"
    if "error" in row:
        return [row["label"], *[""] * (len(COLUMNS) - 2), fails]
    peer = row.get("peers") or {}
    guard = (peer.get("guards") or [None])[0]
    name, bound = best_bound(peer) if peer.get("bounds") else ("", None)
    return [
        row["label"],
        str(row["states"]),
        ", ".join(f"{b:g}" for b in row["budget"]),
        *(number(row[key]) for key in ("lower", "upper", "reward", "se")),
        *(f"{row[key]:.1f}" for key in ("processor", "wall")),
        row["status"],
        str(row["route"] or "–")[:12],
        number(bound),
        name,
        *((number(guard["reward"]), number(guard["se"]), guard["name"]) if guard else ("–", "–", "–")),
        fails,
    ]


def show(values: Iterable[str]) -> None:
    """Print one aligned line."""
    line = "  ".join(v.ljust(w) if i == 0 else v.rjust(w) for i, (v, w) in enumerate(zip(values, WIDTHS, strict=True)))
    print(line.rstrip(), flush=True)


def saved(path: Path | None, value: Any) -> None:
    """Write JSON, if there is a file to write."""
    if path is not None:
        path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


# All rows


class Bench:
    """Runs peers and rows, and keeps the files up to date."""

    def __init__(self, given: argparse.Namespace, cases: list[Case]) -> None:
        self.given, self.cases = given, cases
        self.known: dict[str, Row] = {}  # peers by label
        if given.peers and given.peers.exists():
            self.known = json.loads(given.peers.read_text())
        self.rows: list[Row] = []

    def run(self) -> None:
        """Print all rows."""
        show(COLUMNS)
        with ThreadPoolExecutor(self.given.workers) as pool:
            others: dict[str, Future[Any]] = {}
            waiting: list[tuple[Case, Future[Any]]] = []
            for case in self.cases:
                if case.model != SMALL_NAME and case.label not in self.known and case.model not in others:
                    others[case.model] = pool.submit(in_a_process, "peers", case.model, self.given.runs)
                waiting.append((case, pool.submit(in_a_process, "ours", *case, self.limit(case), self.given.runs)))
            for case, ahead in waiting:
                if case.model in others:
                    self.learn(case.model, others.pop(case.model).result())
                self.finish(case, ahead.result())
        beaten = sum(bool(row["failures"]) for row in self.rows)
        print(f"{beaten} of {len(self.rows)} rows beaten")

    def limit(self, case: Case) -> float:
        """Return the seconds that a row may take."""
        from stranger_models import SMALL_SECONDS

        return SMALL_SECONDS if case.model == SMALL_NAME else float(self.given.seconds)

    def learn(self, model: str, found: dict[str, Row]) -> None:
        """Keep the peers of a model. Errors are not saved, so that the next run tries again."""
        if "error" in found:
            self.known |= {Case(model, b).label: {"error": found["error"]} for b in BUDGETS}
            return
        self.known |= {Case(model, b).label: found[b] for b in BUDGETS}
        saved(self.given.peers, {label: peer for label, peer in self.known.items() if "error" not in peer})

    def finish(self, case: Case, found: Row) -> None:
        """Judge a row, print it and write it."""
        row: Row = {"label": case.label, "model": case.model, "budget": build(case).budget.tolist(), **found}
        if case.model != SMALL_NAME:
            row["peers"] = self.known[case.label]
        row["failures"] = failures(row)
        self.rows.append(row)
        show(cells(row))
        saved(self.given.json, self.rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="time limit of each row")
    parser.add_argument("--runs", type=int, default=1000, help="of each simulation")
    parser.add_argument("--workers", type=int, default=2, help="processes at a time")
    parser.add_argument("--only", action="append", metavar="NAME", help="a model or a row; may be given again")
    parser.add_argument("--peers", type=Path, metavar="FILE", help="read the peers' numbers, or compute and write them")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        task, *rest = json.loads(given.task)
        print(json.dumps(TASKS[task](*rest)))
        return
    from stranger_models import MODELS

    cases = [Case(name, budget) for name in (*MODELS, SMALL_NAME) for budget in BUDGETS]
    names = {case.model for case in cases} | {case.label for case in cases}
    for name in given.only or ():
        if name not in names:
            parser.error(f"no model or row {name!r}; models are {', '.join((*MODELS, SMALL_NAME))}")
    only = set(given.only or names)
    Bench(given, [case for case in cases if {case.model, case.label} & only]).run()


if __name__ == "__main__":
    main()
