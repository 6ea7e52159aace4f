"""Problems with noise and with several costs: what ARCS proves, earns and takes, beside where it started. Prints it.

    python benchmarks/noisy.py [table] [reward] [guard] [unlimited] [ideas] [--seconds 60] [--runs 1000] [--only NAME]

Every problem is solved in a process of its own on one core, with the solver's defaults; the process's peak memory is
thus the problem's. Kernels are loaded before any clock runs. Numbers from before, and what was aimed at, are in
`before.json`; all else is measured. The naive guard follows SARSOP's policy, made without a budget in 20 s, until its
next step does not fit, and then takes the cheapest action for ever; a second one takes it only until a step fits again,
which happens as ``d' = (d − C) / γ`` grows. Simulations have seed 0. `ideas` solves with one idea switched off at a
time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Row = dict[str, Any]

BEFORE = json.loads((Path(__file__).parent / "before.json").read_text())
GUARD_SECONDS = 20.0
TAIL = 1e-3  # simulations go on until a step weighs less
MOST_STEPS = 1000
SWEEPS = 5000  # at most, for a sure cost
MOST_ENTRIES = 20_000_000  # of vectors of the guard that resumes


class Case(NamedTuple):
    """A problem under a budget; None is the problem's own."""

    name: str
    budget: float | None = None

    @property
    def label(self) -> str:
        """For example "crs-5-7, 2"."""
        return self.name if self.budget is None else f"{self.name}, {self.budget:g}"


CASES = [
    *map(Case, ("hallway", "hallway2", "tiger-grid", "tag", "maze20", "query-s3", "mini-hall", "cheese-maze")),
    *map(Case, ("bridge-repair", "tiger", "tunnels", "crs-4-4", "crs-5-7", "crs-7-8")),
    Case("crs-5-7", 2.0),
    *map(Case, ("warehouse", "patrol", "assembly-line", "delivery", "sample-return", "clinic")),
]
IDEAS: dict[str, dict[str, Any]] = {  # what is told to `PointBasedSwitches`
    "all": {},
    "state known one step late, never later": {"delay": 1},
    "FIB, not TIB": {"informed": "fib"},
    "no informed bounds over levels": {"informed_levels": False},
    "no sampled trials": {"sampled": 0},
    "one sampled trial for each by bounds": {"sampled": 1},
    "16 plans tested at a belief, not 128": {"most_tests": 16},
    "no classes": {"classes": False},
    "all actions expanded": {"lazy_actions": False},
}
TRIED = [
    Case(name) for name in ("hallway", "tiger-grid", "maze20", "query-s3", "patrol", "crs-4-4")
]  # the last one is quiet
NOISY = [Case(name) for name in ("hallway", "hallway2", "tag", "tiger-grid")]


# In a process of its own


def solved(case: Case, seconds: float, runs: int) -> Row:
    """Bounds of ARCS, and what its policy turns out to be."""
    import rcpomdp as rc
    from rcpomdp.errors import PolicyError

    model = _model(case)
    rc.solve(rc.problems.make("ce"), "arcs", time_limit=1)
    at_first = _peak()
    r = rc.solve(model, "arcs", time_limit=seconds)
    row = _bounds(r, at_first)
    try:
        checked = rc.verify(model, r.policy, r.summary())
        row["verified"] = "yes" if checked.verified else f"no: {checked.problem}"
    except PolicyError as error:
        row["verified"] = f"not checked: {error}"
    return row | _earned(model, r.policy, runs)


def guarded(case: Case, seconds: float, runs: int) -> Row:
    """What the naive guards earn."""
    import rcpomdp as rc

    model = _model(case)
    r = rc.solve(model, "sarsop", time_limit=GUARD_SECONDS)
    stops = Guard(model, r.policy)
    free = rc.simulate(model, r.policy, runs=runs, steps=_steps(model), seed=0)
    row: Row = {"unlimited": free.reward.mean, "unlimited_spent": [c.mean for c in free.spent]}
    row |= {"then": str(model.actions[stops.cheapest]), "stops": _earned(model, stops, runs), "resumes": None}
    plans: Any = r.policy
    if plans.actions.size * model.n_states <= MOST_ENTRIES:
        greedy = rc.policies.node_vectors(plans, model)
        row["resumes"] = _earned(model, Guard(model, greedy, resumes=True), runs)
    return row


def unconstrained(case: Case, seconds: float, runs: int) -> Row:
    """Bounds of SARSOP without a budget."""
    import rcpomdp as rc

    model = _model(case)
    rc.solve(rc.problems.make("ce"), "sarsop", time_limit=1)
    at_first = _peak()
    return _bounds(rc.solve(model, "sarsop", time_limit=seconds), at_first)


def without(case: Case, seconds: float, idea: int) -> Row:
    """Bounds of the point-based search alone with one idea switched off."""
    from rcpomdp.solvers.clock import Clock
    from rcpomdp.solvers.driver import Driver
    from rcpomdp.solvers.effort import Effort
    from rcpomdp.solvers.pointbased.engine import PointBasedEngine
    from rcpomdp.solvers.pointbased.switches import PointBasedSwitches

    switches = PointBasedSwitches(**list(IDEAS.values())[idea])
    effort = Effort(1e-3, Clock(seconds))
    driver = Driver([lambda: PointBasedEngine(_model(case), effort, switches)], effort, [])
    driver.run()
    last = driver.trace[-1]
    return {"lower": last.lower, "upper": last.upper, "gap": last.upper - last.lower}


TASKS: dict[str, Callable[[Case, float, int], Row]] = {
    task.__name__: task for task in (solved, guarded, unconstrained, without)
}


def _model(case: Case) -> Any:
    from rcpomdp import problems

    model = problems.make(case.name)
    return model if case.budget is None else model.with_budget([case.budget])


def _bounds(r: Any, at_first: int) -> Row:
    peak, beliefs = _peak(), r.trace[-1].beliefs
    return {
        "lower": r.lower,
        "upper": r.upper,
        "gap": r.gap,
        "status": r.status,
        "seconds": r.seconds + r.setup_seconds,
        "beliefs": beliefs,
        "peak_bytes": peak,
        "belief_bytes": (peak - at_first) / max(beliefs, 1),
    }


def _earned(model: Any, policy: Any, runs: int) -> Row:
    import rcpomdp as rc

    done = rc.simulate(model, policy, runs=runs, steps=_steps(model), seed=0)
    return {
        "reward": done.reward.mean,
        "se": done.reward.se,
        "spent": [c.mean for c in done.spent],
        "violations": round(done.violation_rate.mean * runs),
    }


def _steps(model: Any) -> int:
    return min(MOST_STEPS, math.ceil(math.log(TAIL) / math.log(model.discount)))


def _peak() -> int:
    """Bytes of memory that this process has held at most; Linux counts in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# The naive guard


class GuardState(NamedTuple):
    """Where a guarded run is."""

    inner: Any  # state of the policy that is guarded
    belief: Any
    spent: Array  # [K] in the root's units, γ^t C(b, a) each step
    weight: float  # γ^t
    action: int
    stopped: bool


class Guard:
    """A policy without a budget until its next step does not fit, then the cheapest action.

    A step fits if it can be paid, and if the rest still pays for the cheapest action for ever, whatever is observed.
    The guard takes that for ever, or until a step fits again if it resumes; the policy must then be one over beliefs,
    which can be told that another action was taken.
    """

    def __init__(self, model: Any, policy: Any, resumes: bool = False) -> None:
        from rcpomdp.model import beliefs

        self.model, self.policy, self.beliefs, self.resumes = model, policy, beliefs, resumes
        self.limit: Array = model.budget * (1 + 1e-12)  # rounding
        start = beliefs.initial(model)
        unit = np.where(model.budget > 0, model.budget, 1e-9)
        sure = [SureCost(model, a) for a in range(model.n_actions)]
        sure = [s for s in sure if s.free] or sure
        price = {s: float((self._needed(start, s.action, s) / unit).max(initial=0.0)) for s in sure}
        self.sure = min(sure, key=lambda s: (round(price[s], 9), -_blind_value(model, s.action)))
        self.cheapest = self.sure.action

    def _needed(self, belief: Any, action: int, sure: SureCost) -> Array:
        """Spent on an action and, at most, on what `sure` is of from then on, [K]."""
        cost: Array = self.model.cost[:, belief.states, action] @ belief.probabilities
        if sure.free:
            return cost
        support = np.zeros(self.model.n_states, dtype=bool)
        support[belief.states] = True
        after = [sure(s) for s in _followers(self.model, support, action)]
        needed: Array = cost + self.model.discount * np.max(after, axis=0)
        return needed

    def _at(self, inner: Any, belief: Any, spent: Array, weight: float) -> GuardState:
        action = int(self.policy.action(inner))
        fits = (spent + weight * self._needed(belief, action, self.sure) <= self.limit).all()
        return GuardState(inner, belief, spent, weight, action if fits else self.cheapest, not fits)

    def initial(self, rng: np.random.Generator) -> GuardState:
        """The initial belief with the whole budget."""
        start = self.beliefs.initial(self.model)
        return self._at(self.policy.initial(rng), start, np.zeros(self.model.n_costs), 1.0)

    def action(self, state: GuardState) -> int:
        """The policy's action, or the cheapest."""
        return state.action

    def update(self, state: GuardState, observation: int) -> GuardState:
        """Bayes' rule and what was spent; nothing once the policy was stopped for ever."""
        if state.stopped and not self.resumes:
            return state
        b, inner = state.belief, state.inner
        if self.resumes:
            inner = inner._replace(action=state.action)
        spent = state.spent + state.weight * (self.model.cost[:, b.states, state.action] @ b.probabilities)
        after = self.beliefs.posterior(self.model, b, state.action, observation)
        return self._at(self.policy.update(inner, observation), after, spent, state.weight * self.model.discount)


class SureCost:
    """What no history of one action taken for ever exceeds, [K], by the belief's support.

    ``w(S) = max_{s in S} C(s, a) + γ max_o w(S_o)``, from above, over the supports that can follow.
    """

    def __init__(self, model: Any, action: int) -> None:
        self.model, self.action = model, action
        self.cost: Array = model.cost[:, :, action]
        self.free = not self.cost.any()
        self.known: dict[bytes, Array] = {}

    def __call__(self, support: NDArray[np.bool_]) -> Array:
        """The sure cost from a support given as a mask."""
        if self.free:
            return np.zeros(len(self.cost))
        if support.tobytes() not in self.known:
            self._explore(support)
        return self.known[support.tobytes()]

    def _explore(self, support: NDArray[np.bool_]) -> None:
        here: dict[bytes, Array] = {}
        follows: dict[bytes, list[bytes]] = {}
        todo = [support]
        while todo:
            s = todo.pop()
            key = s.tobytes()
            if key in here or key in self.known:
                continue
            after = _followers(self.model, s, self.action)
            here[key] = self.cost[:, s].max(axis=1)
            follows[key] = [t.tobytes() for t in after]
            todo += after
        # Zero where no cost can follow, and from above elsewhere.
        costly = {key: value > 0 for key, value in (self.known | here).items()}
        changed = True
        while changed:
            changed = False
            for key, keys in follows.items():
                found = np.logical_or.reduce([costly[key], *(costly[t] for t in keys)])
                changed |= bool((found != costly[key]).any())
                costly[key] = found
        most = self.cost.max(axis=1) / (1 - self.model.discount)
        self.known |= {key: np.where(costly[key], most, 0.0) for key in here}
        for _ in range(SWEEPS):
            fall = 0.0
            for key, keys in follows.items():
                value = here[key] + self.model.discount * np.max([self.known[t] for t in keys], axis=0)
                fall = max(fall, float((self.known[key] - value).max()))
                self.known[key] = np.minimum(self.known[key], value)
            if fall <= 1e-12 * most.max():
                break


def _followers(model: Any, support: NDArray[np.bool_], action: int) -> list[NDArray[np.bool_]]:
    """The supports that may follow a support under an action."""
    reached = np.asarray(support @ model.transition[action]) > 0
    rows = np.flatnonzero(reached)
    seen = model.observation[action][rows].tocoo()
    found = []
    for o in np.unique(seen.coords[1][seen.data > 0]):
        after = np.zeros(model.n_states, dtype=bool)
        after[rows[seen.coords[0][(seen.coords[1] == o) & (seen.data > 0)]]] = True
        found.append(after)
    return found


def _blind_value(model: Any, action: int) -> float:
    """What one action for ever earns, to three digits."""
    value = np.zeros(model.n_states)
    for _ in range(_steps(model)):
        value = model.reward[:, action] + model.discount * (model.transition[action] @ value)
    return float(model.initial_belief @ value)


# What is printed


@cache
def measured(task: str, case: Case, seconds: float, runs: int) -> Row:
    """The row of a task that runs in a process of its own, with one thread."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    told = json.dumps([task, case, seconds, runs])
    command = [sys.executable, __file__, "--task", told]
    done = subprocess.run(command, env={**os.environ, **threads}, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
        return {"error": last}
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def print_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """A markdown table, each row as soon as it is there."""
    columns = list(columns)
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}" if abs(value) < 100 else f"{value:.1f}"


def size(value: float | None) -> str:
    if value is None:
        return "–"
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= unit:
            return f"{value / unit:.2f} {name}"
    return f"{value:.0f} B"


def before(case: Case, solver: str) -> Row:
    """What was measured before; empty if nothing was."""
    for row in BEFORE["rows"]:
        if (row["problem"], row["solver"], row["budget"]) == (case.name, solver, case.budget):
            return dict(row)
    return {}


def bounds_table(task: str, solver: str, cases: Iterable[Case], seconds: float, runs: int) -> None:
    def rows() -> Iterable[list[str]]:
        for case in cases:
            row, old = measured(task, case, seconds, runs), before(case, solver)
            if "error" in row:
                yield [case.label, row["error"]]
                continue
            yield [
                case.label,
                *(number(row[key]) for key in ("lower", "upper", "gap")),
                row["status"],
                f"{row['seconds']:.1f}",
                size(row["peak_bytes"]),
                f"{row['beliefs']:,}",
                size(row["belief_bytes"]),
                row.get("verified", "–"),
                *(number(old.get(key)) for key in ("lower", "upper", "gap")),
                size(old.get("peak_bytes")),
                size(old.get("belief_bytes")),
                old.get("aim", "–"),
            ]

    print(f"before: {BEFORE['date']}, commit {BEFORE['commit']}, {BEFORE['seconds']:g} s\n")
    now = ["lower", "upper", "gap", "status", "s", "peak", "beliefs", "per belief", "verified"]
    print_table(
        ["problem", *now, "before: lower", "upper", "gap", "peak", "per belief", "aim"],
        rows(),
    )


def table(cases: list[Case], seconds: float, runs: int) -> None:
    bounds_table("solved", "arcs", cases, seconds, runs)


def unlimited(cases: list[Case], seconds: float, runs: int) -> None:
    bounds_table("unconstrained", "sarsop", [case for case in NOISY if case in cases], seconds, runs)


def earned(row: Row | None) -> str:
    """Mean, standard error and violations of simulated runs."""
    if row is None:
        return "–"
    violations = f", {row['violations']} violations" if row["violations"] else ""
    return f"{number(row['reward'])} ± {number(row['se'])}{violations}"


def reward(cases: list[Case], seconds: float, runs: int) -> None:
    def rows() -> Iterable[list[str]]:
        for case in cases:
            row, other = (measured(task, case, seconds, runs) for task in ("solved", "guarded"))
            if "error" in row or "error" in other:
                yield [case.label, row.get("error", ""), other.get("error", "")]
                continue
            guards = [other[kind] for kind in ("stops", "resumes") if other[kind] and not other[kind]["violations"]]
            behind = [g for g in guards if row["reward"] < g["reward"] - 2 * math.hypot(row["se"], g["se"])]
            yield [
                case.label,
                number(row["lower"]),
                earned(row),
                str(row["violations"]),
                row["verified"],
                *(earned(other[kind]) for kind in ("stops", "resumes")),
                "–" if not guards else "no" if behind else "yes",
            ]

    columns = ["problem", "proven", "earned", "violations", "verified", "guard that stops", "guard that resumes"]
    print_table([*columns, "as good as the guards"], rows())


def guard(cases: list[Case], seconds: float, runs: int) -> None:
    def rows() -> Iterable[list[str]]:
        for case in cases:
            row = measured("guarded", case, seconds, runs)
            if "error" in row:
                yield [case.label, row["error"]]
                continue
            yield [
                case.label,
                earned(row["stops"]),
                ", ".join(number(c) for c in row["stops"]["spent"]),
                earned(row["resumes"]),
                row["then"],
                number(row["unlimited"]),
                ", ".join(number(c) for c in row["unlimited_spent"]),
            ]

    columns = ["problem", "guard that stops", "spent", "guard that resumes", "cheapest action"]
    print_table([*columns, "without a budget", "spent"], rows())


def ideas(cases: list[Case], seconds: float, runs: int) -> None:
    tried = [case for case in TRIED if case in cases]

    def rows() -> Iterable[list[str]]:
        for number_of, name in enumerate(IDEAS):
            found = [measured("without", case, seconds, number_of) for case in tried]
            yield [
                name,
                *(
                    f"{number(row.get('gap'))} [{number(row.get('lower'))}, {number(row.get('upper'))}]"
                    for row in found
                ),
            ]

    print_table(["", *(case.label for case in tried)], rows())


PARTS: dict[str, Callable[[list[Case], float, int], None]] = {
    "table": table,
    "reward": reward,
    "guard": guard,
    "unlimited": unlimited,
    "ideas": ideas,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], metavar="part", help=", ".join(PARTS))
    parser.add_argument("--seconds", type=float, default=60.0, help="for each problem")
    parser.add_argument("--runs", type=int, default=1000, help="of each simulation")
    parser.add_argument("--only", action="append", metavar="NAME", help="of a problem; may be given again")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        task, case, seconds, runs = json.loads(given.task)
        print(json.dumps(TASKS[task](Case(*case), seconds, runs)))
        return
    names = {case.name for case in CASES}
    for name in given.only or ():
        if name not in names:
            parser.error(f"no problem {name!r} here; there are {', '.join(sorted(names))}")
    cases = [case for case in CASES if not given.only or case.name in given.only]
    for part in given.parts or PARTS:
        print(f"--- {part}")
        PARTS[part](cases, given.seconds, given.runs)


if __name__ == "__main__":
    main()
