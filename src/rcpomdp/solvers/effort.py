"""How far a solve goes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from .clock import Clock
from .result import TracePoint


class Effort(NamedTuple):
    """What one solve may take, and who is told on the way."""

    epsilon: float  # gap to stop at
    clock: Clock
    memory_limit: float = 8e9  # bytes
    seed: int = 0
    progress: Callable[[TracePoint], None] | None = None
    ceiling: float = math.inf  # what is known to be an upper bound before
    proves: bool = False  # whether the upper bound is to rest on what a proof can hold

    def first(self, point: TracePoint) -> TracePoint:
        """The first point of a trace, with the upper bound that is known before."""
        return point._replace(upper=min(point.upper, self.ceiling))
