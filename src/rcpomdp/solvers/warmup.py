"""The smallest model that takes a search through its kernels, so that they are compiled before any clock runs."""

from __future__ import annotations

from ..model import CPOMDP


def smallest_model() -> CPOMDP:
    """One state, and two actions of which one earns and costs something."""
    return CPOMDP(
        transition=[[[1.0]]] * 2,
        observation=[[[1.0]]] * 2,
        reward=[[0.0, 1.0]],
        cost=[[0.0, 1.0]],
        initial_belief=[1.0],
        discount=0.5,
        budget=1.0,
    )
