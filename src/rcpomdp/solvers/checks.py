"""Checks of what callers ask of a solver."""

from __future__ import annotations

import sys
from reprlib import repr as short
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..model import CPOMDP

if TYPE_CHECKING:
    from .registry import Solver

_LARGEST_K = 10**9
_LARGEST = 1e302  # of a total: some are multiplied by a million
LARGEST_OF_PROGRAMS = 1e100  # the same for linear programs
_LEAST = 1e-305  # below are numbers with fewer digits


def check_common(epsilon: Any, time_limit: Any, memory_limit: Any, seed: Any, progress: Any) -> None:
    """Refuse values that make no sense, of the options that all solvers have."""
    if not is_number(epsilon) or not epsilon >= 0:
        raise InputError(f"epsilon must be at least 0, not {short(epsilon)}")
    if time_limit is not None and (not is_number(time_limit) or not time_limit > 0):
        raise InputError(f"the time limit must be above 0, not {short(time_limit)}")
    if not is_number(memory_limit) or not memory_limit > 0:
        raise InputError(f"the memory limit must be above 0, not {short(memory_limit)}")
    check_whole(seed, "seed", 0)
    if progress is not None and not callable(progress):
        raise InputError(f"progress must be a function, not {progress!r}")


def check_work_limit(work_limit: Any, options: dict[str, Any], solver: Solver) -> None:
    """Refuse a work limit that is no number of steps, stands beside times, or that the solver cannot keep."""
    if not is_number(work_limit) or not 0 < work_limit < np.inf:
        raise InputError(f"the work limit must be a number of steps above 0, not {short(work_limit)}")
    if options.get("time_limit") is not None:
        raise InputError("give a time limit or a work limit, not both")
    if options.get("act_time") is not None:
        raise InputError("a policy with act_time goes by the clock; give a time limit, not a work limit")
    if not solver.counts_work:
        raise InputError(f"solver {solver.name!r} does not count its work; give a time limit")


def check_k(k: Any) -> None:
    """Refuse a k that is neither a whole number of at least 1 nor unlimited."""
    if k is None or (is_number(k) and k == np.inf):
        return
    if not is_number(k) or k != k // 1 or k < 1:
        raise InputError(f"k must be a whole number of at least 1, or inf for every history, not {short(k)}")
    if k > _LARGEST_K:
        raise InputError(f"k must be at most {_LARGEST_K:,}, or inf for every history, not {short(k)}")


def check_totals(model: CPOMDP, most: float = _LARGEST) -> None:
    """Refuse rewards and costs whose discounted totals are beyond what can be added up and compared."""
    largest = np.array([np.abs(model.reward).max(), *model.cost.max(axis=(1, 2))])  # [1 + K]
    with np.errstate(over="ignore"):
        if not (largest / model.fade < most).all():
            raise InputError("rewards or costs are too large: their discounted totals cannot be computed")
    if ((largest > 0) & (largest < _LEAST)).any():
        raise InputError("rewards or costs are too small: count them in another unit, in which the largest is near 1")


def check_budgets(model: CPOMDP) -> None:
    """Refuse budgets that are so much less than what can be spent that the quotient of both is beyond all numbers."""
    budget = model.budget[model.budget > 0]
    with np.errstate(over="ignore"):
        most = model.cost.max(axis=(1, 2))[model.budget > 0] / model.fade
        too_small = (budget < _LEAST) | (most / budget > _LARGEST)
    for value in budget[too_small].tolist():
        raise InputError(f"a budget of {value:.3g} is too small to compute with: give 0, or count in another unit")


def is_number(value: Any) -> bool:
    """True if a value is a real number that a float holds; a truth value is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    return not isinstance(value, int) or abs(value) <= sys.float_info.max


def check_whole(value: Any, what: str, least: int) -> None:
    """Refuse what is no whole number of at least some size."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{what} must be a whole number of at least {least}, not {value!r}")
