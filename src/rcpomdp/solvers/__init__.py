"""Solvers, one algorithm per file."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..errors import InputError, did_you_mean
from ..model import CPOMDP
from .result import Result, TracePoint

__all__ = ["SOLVERS", "Result", "TracePoint", "solve"]

# What each solver is, and the function that runs it.
SOLVERS = {
    "sarsop": ("optimum of the POMDP without budgets, with bounds", ".sarsop:sarsop"),
}


def solve(model: CPOMDP, solver: str = "sarsop", **options: Any) -> Result:
    """Run a solver by name; `options` are its own, such as ``epsilon`` and ``time_limit``."""
    if solver not in SOLVERS:
        raise InputError(f"unknown solver {solver!r}{did_you_mean(solver, SOLVERS)}")
    module, _, name = SOLVERS[solver][1].partition(":")
    run: Callable[..., Result] = getattr(import_module(module, __name__), name)
    return run(model, **options)
