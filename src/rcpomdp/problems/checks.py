"""Checks of the parameters of builders: a bad one is refused with one sentence."""

from __future__ import annotations

import math

from ..errors import ModelError


def probabilities(**given: float) -> None:
    """Refuse what does not lie in [0, 1]."""
    for what, p in given.items():
        if not 0 <= p <= 1:
            raise ModelError(f"{what} is {p}, but a probability is at least 0 and at most 1")


def costs(**given: float) -> None:
    """Refuse what is not a finite number of at least 0."""
    for what, cost in given.items():
        if not 0 <= cost < math.inf:
            raise ModelError(f"{what} is {cost}, but a cost is a number of at least 0")
