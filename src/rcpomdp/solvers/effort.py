"""How far a solve goes."""

from __future__ import annotations

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
