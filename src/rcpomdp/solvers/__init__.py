"""Solvers, one algorithm per file; by name in `registry`."""

from __future__ import annotations

from typing import Any

from ..errors import InputError, did_you_mean
from ..model import CPOMDP
from . import registry
from .registry import ONLINE, SOLVERS, register
from .result import Result, TracePoint

__all__ = ["ONLINE", "SOLVERS", "Result", "TracePoint", "register", "solve"]


def solve(model: CPOMDP, solver: str = "arcs", **options: Any) -> Result:
    """Run a solver by name; `rcpomdp solvers` lists them.

    Options are the solver's own. Of all: ``time_limit`` in seconds; ``progress``, a function called with the bounds now
    and then. Of most: ``epsilon=1e-3``, the absolute gap to stop at; ``memory_limit`` in bytes. "arcs" (see
    `rcpomdp.solvers.arcs.arcs`) has ``variant="levels"`` or ``"paper"`` and ``seed``; "sarsop" (see
    `rcpomdp.solvers.sarsop.sarsop`) has ``objective="reward"``, ``"cost"``, ``"cost:NAME"`` or weights λ; "cgcp" and
    "exp-gradient" have ``iterations``; "cgcp-cl" has ``step_time`` and ``seed``; "cpbvi" and "cpbvi-d" have
    ``beliefs``, ``iterations`` and ``seed``.
    """
    if not isinstance(model, CPOMDP):
        raise InputError(f"{model!r} is no model; rc.problems.make(name) makes one")
    run, known = registry.get(solver), registry.options(solver)
    for option in options:
        if option not in known:
            raise InputError(f"solver {solver!r} has no option {option!r}{did_you_mean(option, known)}")
    result = run(model, **options)
    if not isinstance(result, Result):
        raise InputError(f"solver {solver!r} returned {result!r}, which is no Result")
    return result
