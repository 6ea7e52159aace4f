"""One step of a budget, ``d' = (d − C) / β``: the rest after a step that costs C, in the units of the next step."""

from __future__ import annotations

from typing import NamedTuple

from .._types import FloatArray
from .jit import inner


class CostRules(NamedTuple):
    """How costs count."""

    discount: FloatArray  # [K] β of each cost
    step_limit: FloatArray  # [K] the most that a step may cost; inf is no limit


@inner
def left_after(d: float, cost: float, discount: float) -> float:
    """The rest of a budget, below 0 if it is overspent; without a future (β = 0) the units stay as they are."""
    return (d - cost) / discount if discount > 0.0 else d - cost
