"""The smallest models on which a solver can go wrong, and a look at whether it left a model as it was."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from .. import problems
from ..model import CPOMDP


def made(problem: str | CPOMDP) -> CPOMDP:
    """A problem by its name, or a model as it is."""
    return problems.make(problem) if isinstance(problem, str) else problem


def infeasible() -> CPOMDP:
    """Two actions that cost 1 or 2 at each step, for ever, where 1 in all is allowed."""
    return _one_state("no policy keeps the budget", [[1.0, 2.0]], 1.0)


def two_costs() -> CPOMDP:
    """Each action has a cost of its own."""
    return _one_state("two costs", [[1.0, 0.0], [0.0, 1.0]], [1.0, 1.5])


def no_costs() -> CPOMDP:
    """A plain POMDP."""
    return _one_state("no costs", [], None)


def content(model: CPOMDP) -> bytes:
    """A digest of all numbers of a model as they are now: `fingerprint` is computed once, and leaves out the budget."""
    digest = hashlib.sha256()
    numbers = (model.initial_belief, model.discount, model.budget, model.spending_limit, model.terminal)
    for part in (*model.arrays, *numbers):
        array: Any = np.ascontiguousarray(part)
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.digest()


def _one_state(name: str, costs: list[list[float]], budget: Any) -> CPOMDP:
    return CPOMDP(
        transition=[[[1.0]]] * 2,
        observation=[[[1.0]]] * 2,
        reward=[[2.0, 1.0]],
        cost=[[row] for row in costs] or None,
        initial_belief=[1.0],
        discount=0.5,
        budget=budget,
        name=name,
    )
