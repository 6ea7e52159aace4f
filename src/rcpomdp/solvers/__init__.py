"""Solvers, one algorithm per file."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from typing import Any

from ..errors import InputError, did_you_mean
from ..model import CPOMDP
from .result import Result, TracePoint

__all__ = ["ONLINE", "SOLVERS", "Result", "TracePoint", "solve"]

# What each solver is, and the function that runs it.
SOLVERS = {
    "arcs": ("optimum under budgets that hold in every history, with bounds and a proof", ".arcs:arcs"),
    "cgcp": ("optimum under budgets that hold in expectation, with bounds", ".cgcp:cgcp"),
    "cgcp-cl": ("the same solved anew at each step of a run, with bounds on the first", ".cgcp_cl:cgcp_cl"),
    "exp-gradient": ("a mixture near that optimum, and an upper bound on it", ".exp_gradient:exp_gradient"),
    "sarsop": ("optimum of the POMDP without budgets, with bounds", ".sarsop:sarsop"),
}
ONLINE = ("cgcp-cl",)  # solvers whose policies solve while they run


def solve(model: CPOMDP, solver: str = "arcs", **options: Any) -> Result:
    """Run a solver by name.

    Options are the solver's own. Of all: ``epsilon=1e-3``, the absolute gap to stop at; ``time_limit`` in seconds;
    ``memory_limit`` in bytes; ``progress``, a function called with the bounds now and then. "arcs" (see
    `rcpomdp.solvers.arcs.arcs`) has ``variant="levels"`` or ``"paper"`` and ``seed``; "sarsop" (see
    `rcpomdp.solvers.sarsop.sarsop`) has ``objective="reward"``, ``"cost"``, ``"cost:NAME"`` or weights λ; "cgcp" and
    "exp-gradient" have ``iterations``; "cgcp-cl" has ``step_time`` and ``seed``.
    """
    if not isinstance(model, CPOMDP):
        raise InputError(f"{model!r} is no model; rc.problems.make(name) makes one")
    if solver not in SOLVERS:
        raise InputError(f"unknown solver {solver!r}{did_you_mean(solver, SOLVERS)} (known: {', '.join(SOLVERS)})")
    module, _, name = SOLVERS[solver][1].partition(":")
    run: Callable[..., Result] = getattr(import_module(module, __name__), name)
    known = list(signature(run).parameters)[1:]
    for option in options:
        if option not in known:
            raise InputError(f"solver {solver!r} has no option {option!r}{did_you_mean(option, known)}")
    return run(model, **options)
