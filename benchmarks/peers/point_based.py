"""Point-based solvers of others beside ours, on the same POMDPs without budgets: bounds on the optimum, and seconds.

scikit-decide takes the arrays of a model, as it reads no files. The C++ program of SARSOP's authors, `pomdpsol`, is on
no package index; where a user has its binary it is given the model as a .pomdp file.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rcpomdp as rc

HERE = Path(__file__).parent
EPSILON = 0.01
PROBLEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "Tiger, γ = 0.75": ("tiger", {"budget": None}),
    "RockSample, 5 x 5, 3 rocks": ("rocksample", {"costs": False, "budget": None}),
    "Hallway": ("hallway", {"budget": None}),
    "Tiger-grid": ("tiger-grid", {"budget": None}),
}
# Time |#Trial |#Backup |LBound |UBound |Precision |#Alphas |#Beliefs
_NUMBER = r"[-+]?[\d.]+(?:e[-+]?\d+)?"
_LINE = re.compile(rf"^\s*{_NUMBER}\s+\d+\s+\d+\s+({_NUMBER})\s+({_NUMBER})\s+{_NUMBER}\s+\d+\s+\d+\s*$", re.MULTILINE)


class Bounds(NamedTuple):
    """What a program says of the optimum, or why it says nothing."""

    program: str
    lower: float = -np.inf
    upper: float = np.inf
    seconds: float = 0.0
    failure: str | None = None


def point_based(
    python: Path, failure: str | None, pomdpsol: str | None, seconds: int, say: Callable[..., None]
) -> None:
    """The table; `python` is that of scikit-decide's environment."""
    say("## Point-based solvers, without a budget\n")
    say(f"Until the gap is {EPSILON} or {seconds} s have passed.\n")
    say("| problem | program | lower | upper | gap | seconds |")
    say("|---|---|---|---|---|---|")
    for title, (name, parameters) in PROBLEMS.items():
        model = rc.problems.make(name, **parameters)
        found = [ours(model, seconds), *scikit_decide(python, failure, model, seconds)]
        found += [cpp_sarsop(pomdpsol, model, seconds)] if pomdpsol else []
        for program, lower, upper, took, reason in found:
            if reason:
                say(f"| {title} | {program} | none: {reason} | | | |")
            else:
                say(f"| {title} | {program} | {lower:.4f} | {upper:.4f} | {upper - lower:.4f} | {took:.1f} |")
    if not pomdpsol:
        say("\nThe C++ SARSOP was not at hand; `--sarsop PATH` of its `pomdpsol` adds it.")
    say()


def ours(model: rc.CPOMDP, seconds: int) -> Bounds:
    begin = time.process_time()
    result = rc.solve(model, "sarsop", epsilon=EPSILON, time_limit=seconds)
    return Bounds("rcpomdp, sarsop", result.lower, result.upper, time.process_time() - begin)


def scikit_decide(python: Path, failure: str | None, model: rc.CPOMDP, seconds: int) -> list[Bounds]:
    if failure is None:
        task = json.dumps(arrays(model) | {"epsilon": EPSILON, "seconds": seconds})
        command = [python, HERE / "with_scikit_decide.py"]
        done = subprocess.run(command, input=task, capture_output=True, text=True, check=False)
        if not done.returncode:
            return [
                Bounds(f"scikit-decide, {row['solver']}", row["lower"], row["upper"], row["seconds"])
                for row in json.loads(done.stdout)
            ]
        failure = (done.stderr.strip().splitlines() or ["it failed"])[-1]
    return [Bounds("scikit-decide", failure=failure)]


def cpp_sarsop(pomdpsol: str, model: rc.CPOMDP, seconds: int) -> Bounds:
    """The last line of its table."""
    program = "SARSOP in C++"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pomdp"
        rc.save_model(path, model)
        command = [pomdpsol, "--precision", str(EPSILON), "--timeout", str(seconds)]
        begin = os.times()
        try:
            done = subprocess.run(
                [*command, "--output", f"{folder}/out.policy", path], capture_output=True, text=True, check=False
            )
        except OSError as error:
            return Bounds(program, failure=f"{pomdpsol} cannot be run: {error.strerror}")
        end = os.times()
    lines = _LINE.findall(done.stdout)
    if done.returncode or not lines:
        said = (done.stderr or done.stdout).strip().splitlines() or ["it printed nothing"]
        return Bounds(program, failure=said[-1])
    took = end.children_user + end.children_system - begin.children_user - begin.children_system
    return Bounds(program, float(lines[-1][0]), float(lines[-1][1]), took)


def arrays(model: rc.CPOMDP) -> dict[str, Any]:
    """A model as lists of numbers."""
    return {
        "transition": [rows(matrix) for matrix in model.transition],
        "observation": [rows(matrix) for matrix in model.observation],
        "reward": model.reward.tolist(),
        "terminal": model.terminal.tolist(),
        "initial": [(int(s), float(model.initial_belief[s])) for s in np.flatnonzero(model.initial_belief)],
        "observations": model.n_observations,
        "discount": model.discount,
    }


def rows(matrix: Any) -> list[list[tuple[int, float]]]:
    """The entries of each row of a sparse matrix: column and value."""
    pairs = list(zip(matrix.indices.tolist(), matrix.data.tolist(), strict=True))
    return [pairs[a:b] for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)]
