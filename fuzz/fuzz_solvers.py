"""Random small models, solved by every solver and by a brute force that shares no code with the package.

    python fuzz/fuzz_solvers.py [--models 1000] [--from SEED] [--seconds 0.1] [--nodes 2000] [--workers 1] [--each 3]

Models and the brute force are those of `benchmarks/`; everything is a function of the seed but for the clock.
ARCS solves each model, and of the others as many as `--each` says, in turn. What is a fault:

- a lower bound above what brute force proves: with the budget in every history for ARCS, without any for SARSOP, and
  with λ times the budget and what costs λ each is worth at most for those whose budgets hold in expectation;
- an upper bound below what some policy earns that brute force knows to keep the budget in every history, or, without
  a budget, below what any earns; or below an exactly evaluated mixture of another solver that keeps it in expectation;
- "infeasible" where such a policy is known, and a policy where there can be none;
- a controller, or a mixture of some, whose reward or costs are not those of the linear equations ``x = g + γPx``;
- a mean of simulated runs that is above what any policy earns, by more than chance explains once in 10⁹ times:
  ``P(mean ≥ x) ≤ exp(−n KL(x ‖ μ))`` of n runs with values in [0, 1] and the expectation μ (Hoeffding 1963);
- a policy of ARCS that `verify` does not confirm; an error; a warning; a solve that takes five seconds too long.

Large controllers are neither evaluated nor, but for every tenth seed, verified: that takes longer than all the rest.

Statuses are counted by solver, number of costs, discount, and whether some action is free.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, os.fspath(Path(__file__).parents[1] / "benchmarks"))

import numpy as np

from brute_force import Array, Model, Search
from random_models import draw
from rcpomdp.experiments.run.warm import load_kernels

SOLVERS: dict[str, dict[str, Any]] = {
    "arcs": {},
    "arcs paper": {"variant": "paper"},
    "arcs k=1": {"k": 1},
    "arcs k=3": {"k": 3},
    "sarsop": {},
    "cgcp": {},
    "cgcp-cl": {"step_time": 0.05},
    "exp-gradient": {},
    "cpbvi": {"beliefs": 20, "iterations": 20},
    "cpbvi-d": {"beliefs": 20, "iterations": 20},
}
CLOSED = 1e-3  # a gap that counts as none: the solver's own default
LATE = 5.0  # seconds
DIGITS = 1e-6  # relative, of exact evaluations
CHANCE = 1e-9  # of an estimate that counts as wrong and is not
CUT = 1e-3  # share of the largest total that simulated runs may leave out
MANY = 100  # nodes of a controller that is not verified every time
MOST_EQUATIONS = 1000


class Finding(NamedTuple):
    """What came of one solver on one seed."""

    seed: int
    solver: str
    costs: int
    discount: float
    free: bool
    status: str
    closed: bool
    faults: tuple[str, ...]


class Truth(NamedTuple):
    """Bounds by brute force."""

    low: float  # with the budget in every history
    high: float
    low_free: float  # without a budget
    high_free: float
    high_expected: float  # with the budget in expectation


def truth(model: Model, nodes: int) -> Truth:
    """By brute force, once with and once without the budget."""
    search = Search(model, nodes)
    high_expected = float(search.high[0])
    low, high = search.run(0.1 * CLOSED)
    free = model._replace(budget=np.full(len(model.C), np.inf))
    of_rewards = search.leaves._replace(prices=search.leaves.prices[:1], informed=search.leaves.informed[:1])
    return Truth(low, high, *Search(free, nodes // 4, of_rewards).run(0.1 * CLOSED), high_expected)


def chosen(seed: int, each: int) -> list[str]:
    """ARCS, and others in turn."""
    others = list(SOLVERS)[1:]
    return ["arcs", *(others[(seed * (each - 1) + i) % len(others)] for i in range(min(each - 1, len(others))))]


def examine(seed: int, seconds: float, nodes: int, each: int) -> list[Finding]:
    """Solve the model of a seed, and compare."""
    import rcpomdp as rc

    model = draw(seed)
    known = truth(model, nodes)
    given = rc.CPOMDP(
        transition=model.T,
        observation=model.Z,
        reward=model.R,
        cost=model.C,
        initial_belief=model.start,
        discount=model.discount,
        budget=model.budget,
    )
    room = 1e-8 * (1 + float(np.abs(model.R).max()) / given.fade)
    found, expected = [], -np.inf  # the best mixture that keeps the budget in expectation
    for solver in chosen(seed, each):
        if solver == "arcs paper" and len(model.C) != 1:
            continue
        name, options = solver.split()[0], SOLVERS[solver]
        began, faults = time.perf_counter(), []
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                r = rc.solve(given, name, time_limit=seconds, **options)
            except Exception as error:  # whatever goes wrong is what is looked for
                fault = f"error: {type(error).__name__}: {error}"
                found.append(Finding(seed, solver, *_kind(model), "error", False, (fault,)))
                continue
        faults += sorted({f"warning: {w.message}" for w in warned})
        if time.perf_counter() - began > seconds + options.get("step_time", 0.0) + LATE:
            faults.append(f"late: {time.perf_counter() - began:.1f} s")
        worth = None if solver == "cgcp-cl" else evaluated(model, r.policy)
        faults += contradictions(solver, r, known, room)
        faults += _too_good(model, r, known, room)
        if worth is not None:
            faults += _told_wrongly(r, worth, room)
            if (worth[1:] <= model.budget * (1 + 1e-9)).all():
                expected = max(expected, float(worth[0]))
        is_large = len(getattr(r.policy, "actions", ())) > MANY
        if solver == "arcs" and r.lower > -np.inf and (not is_large or seed % 10 == 0):
            checked = rc.verify(given, r.policy, r.summary())
            faults += [] if checked.verified else [f"not verified: {checked.problem}"]
        if name in ("cgcp", "cgcp-cl", "exp-gradient") or solver == "arcs k=1":
            faults += [f"wrong upper bound: {r.upper} below {expected}"] if r.upper < expected - room else []
        closed = r.status == "infeasible" or bool(r.upper - r.lower <= CLOSED * (1 + 1e-9))
        found.append(Finding(seed, solver, *_kind(model), r.status, closed, tuple(faults)))
    return found


def _kind(model: Model) -> tuple[int, float, bool]:
    return len(model.C), model.discount, bool((model.C == 0).all(axis=(0, 1)).any())


def contradictions(solver: str, r: Any, known: Truth, room: float) -> Iterator[str]:
    """Bounds of a solver that brute force refutes."""
    if solver in ("arcs", "arcs paper"):
        low, high = known.low, known.high
    elif solver == "sarsop":
        low, high = known.low_free, known.high_free
    else:  # whatever keeps the budget in every history keeps it in expectation
        low, high = known.low, min(known.high_expected, known.high_free)
    if r.status == "infeasible":
        if low > -np.inf:
            yield "wrong infeasible: a policy keeps the budget"
    elif high == -np.inf and r.lower > -np.inf:
        yield "wrong policy: none keeps the budget"
    elif high > -np.inf:
        if r.lower > high + room:
            yield f"wrong lower bound: {r.lower} above {high}"
        if r.upper < low - room:
            yield f"wrong upper bound: {r.upper} below {low}"


def _too_good(model: Model, r: Any, known: Truth, room: float) -> Iterator[str]:
    """A reward above what any policy earns, of runs by more than chance."""
    most, excess = known.high_free + room + DIGITS * abs(r.reward), ""
    low, high = (float(x) / (1 - model.discount) for x in (min(model.R.min(), 0), max(model.R.max(), 0)))
    if r.runs is not None and high > low:
        most += CUT * max(-low, high)
        chance = math.exp(-r.runs * divergence((r.reward - low) / (high - low), (most - low) / (high - low)))
        if chance > CHANCE:
            return
        excess = f", in {r.runs} runs by a chance of {chance:.1g}"
    if r.reward > most:
        yield f"wrong reward: {r.reward} above {most}{excess}"


def divergence(p: float, q: float) -> float:
    """``KL(p ‖ q)`` of two Bernoulli distributions; 0 where p is not the larger one."""
    if p <= q:
        return 0.0
    if q <= 0:
        return math.inf
    rest = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return p * math.log(p / q) + rest


def evaluated(model: Model, policy: Any) -> Array | None:
    """Reward and costs [1 + K] of a controller or a mixture of some, by linear equations; None of anything else."""
    if hasattr(policy, "weights") and hasattr(policy, "policies"):
        parts = [evaluated(model, part) for part in policy.policies]
        return None if any(p is None for p in parts) else np.asarray(policy.weights @ np.array(parts))
    if type(policy).__name__ != "ControllerPolicy" or len(policy.actions) * len(model.start) > MOST_EQUATIONS:
        return None
    n, size = len(model.start), len(policy.actions)
    chain, gain = np.zeros((size, n, size, n)), np.zeros((size, n, 1 + len(model.C)))
    for node, (a, after) in enumerate(zip(policy.actions, policy.successors, strict=True)):
        gain[node] = np.concatenate([model.R[None], model.C])[:, :, a].T
        for o, to in enumerate(after):
            chain[node, :, to] += model.T[a] * model.Z[a][:, o]
    system = np.eye(size * n) - model.discount * chain.reshape(size * n, size * n)
    totals = np.linalg.solve(system, gain.reshape(size * n, -1)).reshape(size, n, -1)
    return np.asarray(model.start @ totals[policy.start])


def _told_wrongly(r: Any, worth: Array, room: float) -> Iterator[str]:
    if r.standard_error is not None:
        return
    if abs(r.reward - worth[0]) > room + DIGITS * abs(worth[0]):
        yield f"wrong reward: {r.reward} is told, {worth[0]} is earned"
    for told, paid in zip(r.cost, worth[1:], strict=True):
        if abs(told - paid) > 1e-9 + DIGITS * paid:
            yield f"wrong cost: {told} is told, {paid} is paid"
    if r.lower > worth[0] + room + DIGITS * abs(worth[0]):
        yield f"wrong lower bound: {r.lower} above {worth[0]}, which its policy earns"


def main() -> None:
    """Compare, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="SEED", help="the first seed")
    parser.add_argument("--seconds", type=float, default=0.1, help="of each solver for each model")
    parser.add_argument("--nodes", type=int, default=2000, help="of the brute force")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--each", type=int, default=3, help="solvers of a model; 10 are all")
    parser.add_argument("--keep", metavar="FILE", help="add findings here, one a line, and count those of before too")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.models)
    findings: list[Finding] = []
    n = len(seeds)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.workers, context, initializer=load_kernels) as pool:
        for found in pool.map(examine, seeds, [given.seconds] * n, [given.nodes] * n, [given.each] * n):
            findings += found
            for finding in found:
                for fault in finding.faults:
                    print(f"seed {finding.seed}, {finding.solver}: {fault}", file=sys.stderr, flush=True)
                if given.keep:
                    with open(given.keep, "a") as file:
                        print(json.dumps(finding), file=file)
    if given.keep:
        findings = [Finding(*json.loads(line)) for line in Path(given.keep).read_text().splitlines()]
    report(findings)
    sys.exit(any(finding.faults for finding in findings))


def report(findings: list[Finding]) -> None:
    """Counts, as tables."""
    print(f"{len({f.seed for f in findings}):,} models, {len(findings):,} solves")
    faults = Counter(f"{f.solver}: {fault.partition(':')[0]}" for f in findings for fault in f.faults)
    for what, count in sorted(faults.items()):
        print(f"  {count} x {what}")
    statuses = sorted({f.status for f in findings})
    for title, of in (
        ("solver", lambda f: f.solver),
        ("costs, by ARCS", lambda f: f.costs if f.solver == "arcs" else None),
        ("discount, by ARCS", lambda f: f.discount if f.solver == "arcs" else None),
        ("free action, by ARCS", lambda f: {True: "yes", False: "no"}[f.free] if f.solver == "arcs" else None),
    ):
        print(f"\n| {title} | {' | '.join(statuses)} | closed |\n|---{'|---' * (len(statuses) + 1)}|")
        for group in sorted({of(f) for f in findings} - {None}, key=str):
            members = [f for f in findings if of(f) == group]
            counted = Counter(f.status for f in members)
            closed = sum(f.closed for f in members)
            print(f"| {group} | {' | '.join(str(counted[s]) for s in statuses)} | {closed / len(members):.1%} |")


if __name__ == "__main__":
    main()
