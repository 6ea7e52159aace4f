"""The result of ARCS, by whichever search it was found."""

from __future__ import annotations

from typing import Any

from ..._types import FloatArray
from ...policies import Policy
from ..result import CandidateValue, Result, TracePoint


def outcome(
    status: str,
    trace: list[TracePoint],
    setup_seconds: float,
    seed: int,
    *,
    policy: Policy[Any],
    reward: float,
    cost: FloatArray,
    sure_cost: FloatArray,
    admissible: bool,
    needed: FloatArray,
    visits: int,
    horizon: int = 0,
    standard_error: FloatArray | None = None,
    runs: int | None = None,
    candidates: tuple[CandidateValue, ...] = (),
    evidence: Any = None,
) -> Result:
    """The result of the variant "levels"; horizon and budgets are told of a policy that is not proven to keep its own.

    Parameters
    ----------
    needed : [K] the least budget of each cost that is not ruled out
    horizon : steps for which the budget is proven to hold
    evidence : the search, of which a proof may be written
    """
    return Result.of_search(
        "arcs",
        status,
        trace,
        setup_seconds,
        variant="levels",
        policy=policy,
        reward=reward,
        cost=cost,
        sure_cost=sure_cost,
        admissible=admissible,
        horizon=None if admissible else horizon,
        visits=visits,
        seed=seed,
        suffices=None if admissible else sure_cost.copy(),
        needed=None if admissible else needed,
        standard_error=standard_error,
        runs=runs,
        candidates=candidates,
        evidence=evidence,
    )
