"""Options of the solvers that are built in, for type checkers: what a misspelt one is caught by before it is run.

What each means is told where the solver is; `rc.solve` refuses those that a solver does not have. Those of other
packages' solvers are not known here: ``rc.solve(model, "theirs", **{"depth": 3})`` gives one unchecked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from .result import TracePoint


class Options(TypedDict, total=False):
    """Every option of some solver; not all have all of them."""

    # of all
    epsilon: float
    time_limit: float | None
    work_limit: float | None
    memory_limit: float
    seed: int
    progress: Callable[[TracePoint], None] | bool | None

    # of some
    act_time: float | None
    beliefs: int
    blind_plans: bool
    bound: float | None
    heuristic_share: float
    iterations: int | None
    k: float | None
    objective: str | float | Sequence[float]
    overspent: str
    planned_budget: float | Sequence[float] | None
    proof: bool
    pruning: bool
    step_time: float
    switches: Mapping[str, Any] | Any
    ties: str
    variant: str
    warm_start: Any
