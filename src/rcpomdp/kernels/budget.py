"""One step of a budget, ``d' = (d − C) / γ``: the rest after a step that costs C, in the units of the next step."""

from __future__ import annotations

from .jit import inner


@inner
def left_after(d: float, cost: float, discount: float) -> float:
    """The rest of a budget, below 0 if it is overspent; without a future (γ = 0) the units stay as they are."""
    return (d - cost) / discount if discount > 0.0 else d - cost
