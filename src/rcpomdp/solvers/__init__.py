"""Solvers, one algorithm per file; by name in `registry`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from types import NoneType
from typing import Any, Unpack

import numpy as np

from .._live import announce_compilation, live_bounds, logger
from .._plain_text import printable
from ..deadline import STEPS_PER_SECOND, counting_work
from ..errors import InputError, did_you_mean
from ..model import CPOMDP
from . import registry
from .checks import check_work_limit
from .folding import folded, unfolded
from .options import Options
from .registry import DEFAULT, SOLVERS, Criterion, Solver, declare, register
from .result import TIME_LIMIT, WORK_LIMIT, Result, TracePoint

__all__ = ["SOLVERS", "Criterion", "Options", "Result", "Solver", "TracePoint", "declare", "register", "solve"]

_HELD = (NoneType, bool, int, float, str, list, tuple, Mapping, np.ndarray, np.generic)  # by a policy file


def solve(model: CPOMDP, solver: str = DEFAULT, **options: Unpack[Options]) -> Result:
    """Run a solver by name; `rcpomdp solvers` lists them.

    Options are the solver's own. Of all that are built in: ``epsilon=1e-3``, the absolute gap to stop at;
    ``time_limit`` in seconds, or ``work_limit`` in elementary steps; ``memory_limit`` in bytes; ``seed``;
    ``progress``, a function called with the bounds now
    and then, True for a live line of them, False for none; unless given, there is one on a terminal and in a notebook.
    The logger "rcpomdp" tells of results and routes (INFO) and of bounds (DEBUG). Besides, "arcs" (see
    `rcpomdp.solvers.arcs.solve.arcs`) has ``variant="levels"`` or ``"paper"``; "sarsop" (see
    `rcpomdp.solvers.sarsop.sarsop`) has ``objective="reward"``, ``"cost"``, ``"cost:NAME"`` or weights λ; "cgcp" and
    "exp-gradient" have ``iterations``, and the latter ``variant="derived"`` or ``"paper"``; "cgcp-cl" has ``step_time``
    and ``overspent``; "cpbvi" and "cpbvi-d" have ``beliefs``, ``iterations``, ``blind_plans`` and ``planned_budget``.

    A work limit makes a result repeatable: the same model, seed and work limit give the same bounds and policy, however
    fast and busy the machine is. Steps are counted in the set-up as well as in the search; 100 million of them count as
    a second of the result. A time limit gives what the machine has time for.
    """
    if not isinstance(model, CPOMDP):
        raise InputError(f"{model!r} is no model; rc.problems.make(name) makes one")
    chosen = registry.get(solver)
    known = chosen.options
    given: dict[str, Any] = dict(options)
    work_limit = given.pop("work_limit", None)
    if work_limit is not None:
        check_work_limit(work_limit, given, chosen)
        given["time_limit"] = work_limit / STEPS_PER_SECOND
    progress = given.pop("progress", None)
    is_live = progress if isinstance(progress, bool) else None
    if progress is not None and is_live is None:
        given["progress"] = progress
    for option in given:
        if option not in known:
            raise InputError(f"solver {solver!r} has no option {option!r}{did_you_mean(option, known)}")
    known_kind = _of_known_kind(model, chosen)
    if is_live is not False:
        announce_compilation()
    with live_bounds(solver, False if "progress" in given else is_live) as shown:
        told = given if shown is None or "progress" not in known else {"progress": shown} | given
        with nullcontext() if work_limit is None else counting_work():
            result = chosen.run(known_kind, **told)
    if not isinstance(result, Result):
        raise InputError(f"solver {solver!r} returned {result!r}, which is no Result")
    if known_kind is not model:
        result = unfolded(result, model)
    if work_limit is not None:
        given |= {"time_limit": None, "work_limit": work_limit}
        result = replace(result, status=WORK_LIMIT if result.status == TIME_LIMIT else result.status)
    logger.info("%s", printable(repr(result)))
    if result.route is not None:
        logger.info("route: %s", printable(result.route))
    held = {key: value for key, value in given.items() if key != "progress" and isinstance(value, _HELD)}
    return replace(result, epsilon=given.get("epsilon", chosen.default("epsilon")), options=held, model=model)


def _of_known_kind(model: CPOMDP, solver: Solver) -> CPOMDP:
    """The model, with costs that the solver knows; one of a kind that it does not know is refused."""
    model.fade  # noqa: B018 - it refuses a discount of 1 where the process may go on for ever
    if not solver.step_limits:
        for k in np.flatnonzero(np.isfinite(model.step_limit)).tolist():
            raise InputError(
                f"solver {solver.name!r} keeps no limits for single steps, and cost {model.costs[k]!r} has the step "
                f"limit {model.step_limit[k]:.12g}; 'arcs' keeps them"
            )
    return model if solver.cost_discounts else folded(model, f"solver {solver.name!r}", "; 'arcs' knows such costs")
