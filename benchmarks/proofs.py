"""Proofs of upper bounds: sizes, seconds to write and to check, and what becomes of damaged ones. Prints them.

    python benchmarks/proofs.py [table] [infeasible] [attack] [--seconds 60] [--damages 1000] [--only NAME]

"write" is what `proof=True` adds to solving; "check" is `rc.check_proof` on the proof as loaded from its file, which
has the bytes that are told. The attack damages proofs at random and has them claim less than a policy attains
(`tests/proof_damages.py`); none may be believed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import rcpomdp as rc

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from proof_damages import DAMAGES, attack

PROBLEMS: list[tuple[str, str, dict[str, Any], float]] = [  # title, name, parameters, gap
    ("CE", "ce", {}, 1e-3),
    ("C-Tiger, 3", "tiger", {}, 4e-3),
    ("C-Tiger, 1.5", "tiger", {"budget": 1.5}, 1e-3),
    ("Tunnels 0.8", "tunnels", {}, 1e-3),
    ("Tunnels 0.95", "tunnels", {"p_correct": 0.95}, 1e-3),
    ("CRS(4,4)", "crs-4-4", {}, 0.02),
    ("CRS(5,7)", "crs-5-7", {}, 0.01),
    ("CRS(7,8)", "crs-7-8", {}, 0.02),
    ("hallway", "hallway", {}, 1e-3),
]
LATE: tuple[str, str, dict[str, Any], float] = ("maze20", "maze20", {}, 0.01)
OTHERS = [
    ("C-Tiger", "tiger", "sarsop", 1e-3),
    ("C-Tiger", "tiger", "cgcp", 1e-3),
    ("CRS(4,4)", "crs-4-4", "sarsop", 0.02),
    ("CRS(4,4)", "crs-4-4", "cgcp", 0.02),
    ("Tunnels 0.8", "tunnels", "cgcp", 1e-3),
]


def solved(model: rc.CPOMDP, solver: str, epsilon: float, seconds: float) -> tuple[rc.Result, list[str]]:
    """A result with its proof, and what is told of it."""
    plain = rc.solve(model, solver, epsilon=epsilon, time_limit=seconds)
    began = time.perf_counter()
    result = rc.solve(model, solver, epsilon=epsilon, time_limit=seconds, proof=True)
    writing = time.perf_counter() - began - result.seconds - result.setup_seconds
    assert result.proof is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bound.rcproof"
        rc.save_proof(path, result.proof, model)
        size, proof = path.stat().st_size, rc.load_proof(path, model)
    began = time.perf_counter()
    found = rc.check_proof(model, proof)
    checking = time.perf_counter() - began
    said = "infeasible" if found.upper == float("-inf") else f"{found.upper:.4f}"
    solver_said = "infeasible" if plain.status == "infeasible" else f"[{plain.lower:.4f}, {plain.upper:.4f}]"
    return result, [
        solver_said,
        said,
        f"{found.points:,}",
        f"{found.entries:,}",
        f"{size:,}",
        f"{result.seconds + result.setup_seconds:.2f}",
        f"{max(writing, 0.0):.2f}",
        f"{checking:.2f}",
        "yes" if found.confirmed else f"NO: {found.problem}",
    ]


HEADER = [
    "problem",
    "solver says",
    "proven",
    "beliefs",
    "bounds",
    "bytes",
    "solve s",
    "write s",
    "check s",
    "confirmed",
]


def line(cells: list[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def head(cells: list[str]) -> None:
    line(cells)
    line(["---"] * len(cells))


def table(seconds: float, only: str | None) -> None:
    """The paper's problems and a noisy one, under their budgets; then other solvers."""
    head(HEADER)
    for title, name, parameters, epsilon in PROBLEMS:
        if only in (None, name):
            line([title, *solved(rc.problems.make(name, **parameters), "arcs", epsilon, seconds)[1]])
    if only not in (None, "others"):
        return
    print("\nOther solvers:\n")
    head(HEADER)
    for title, name, solver, epsilon in OTHERS:
        line([f"{title}, {solver}", *solved(rc.problems.make(name), solver, epsilon, seconds)[1]])


def trap(budget: float) -> rc.CPOMDP:
    """A budget that is kept on average, whatever is done, and exceeded by what one observation tells."""
    return rc.CPOMDP.from_functions(
        states=["s1", "s2", "s1 seen", "s2 seen", "end"],
        actions=["go"],
        observations=["s1", "s2"],
        transition=lambda s, a: {"end": 1.0} if "seen" in s else {f"{s} seen": 1.0},
        observation=lambda a, s: {"s1": 1.0} if s.startswith("s1") else {"s2": 1.0},
        reward=lambda s, a: 0.0,
        cost=lambda s, a: {"s1": 2.0, "s2": 0.0, "s1 seen": 0.0, "s2 seen": 2.0}[s],
        initial={"s1": 0.5, "s2": 0.5},
        discount=0.9,
        budget=budget,
        terminal=["end"],
    )


def two_ends(budget: float) -> rc.CPOMDP:
    """Two actions that end the process, each at the cost of one of two budgets."""
    return rc.CPOMDP.from_functions(
        states=["start", "end"],
        actions=["left", "right"],
        observations=["nothing"],
        transition=lambda s, a: {"end": 1.0},
        observation=lambda a, s: {"nothing": 1.0},
        reward=lambda s, a: 1.0,
        cost=lambda s, a: (1.0, 0.0) if a == "left" else (0.0, 1.0),
        costs=["left", "right"],
        initial={"start": 1.0},
        discount=0.9,
        budget=[budget, budget],
        terminal=["end"],
    )


def infeasible(seconds: float) -> None:
    """Models in which no policy keeps the budget."""
    head(HEADER)
    models = {
        "CE, 4": rc.problems.make("ce", budget=4.0),
        "cheese maze, 0.1": rc.problems.make("cheese-maze", budget=0.1),
        "seen too late, 2.7": trap(2.7),
        "two ends, 0.4 each": two_ends(0.4),
        "CE, 4.99": rc.problems.make("ce", budget=4.99),
    }
    for title, model in models.items():
        line([title, *solved(model, "arcs", 1e-3, seconds)[1]])


def attacks(damages: int) -> None:
    """Damaged proofs of seven problems, one with one-step beliefs, and what became of them."""
    proven = []
    for _, name, parameters, epsilon in [*PROBLEMS[:6], LATE]:
        model = rc.problems.make(name, **parameters)
        result = rc.solve(model, epsilon=max(epsilon, 0.01), time_limit=2 if name == LATE[1] else None, proof=True)
        assert result.proof is not None
        proven.append((model, result.proof, result.lower))
    found: Counter[tuple[str, str]] = Counter()
    for n in range(damages):
        kind = n % len(DAMAGES)
        outcome = attack(*proven[n // len(DAMAGES) % len(proven)], seed=n, kind=kind)
        found[DAMAGES[kind].__name__.strip("_").replace("_", " "), outcome] += 1
    head(["damage", "no proof at all", "proves no such bound", "BELIEVED"])
    for name in dict.fromkeys(name for name, _ in found):
        line([name, *(str(found[name, outcome]) for outcome in ("no proof", "refused", "BELIEVED"))])
    totals = [sum(count for (_, o), count in found.items() if o == out) for out in ("no proof", "refused", "BELIEVED")]
    line(["all", *map(str, totals)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["table", "infeasible", "attack"], default="table")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--damages", type=int, default=1000)
    parser.add_argument("--only")
    given = parser.parse_args()
    wanted = [given.what] if isinstance(given.what, str) else given.what
    rc.solve(rc.problems.make("ce"), proof=True)  # kernels are loaded before anything is measured
    if "table" in wanted:
        table(given.seconds, given.only)
    if "infeasible" in wanted:
        infeasible(given.seconds)
    if "attack" in wanted:
        attacks(given.damages)


if __name__ == "__main__":
    main()
