"""Stopping a search after some work, so that what a test expects of it does not depend on the clock."""

from __future__ import annotations

from collections.abc import Callable

from rcpomdp.solvers import TracePoint

AMPLE = 60.0  # seconds for a search that ends by itself long before: it should not hang, and may be slow


def stop_after(trials: int) -> Callable[[TracePoint], None]:
    """A function to call with progress that interrupts a search after so many trials or sweeps."""

    def stop(point: TracePoint) -> None:
        if point.trials >= trials:
            raise KeyboardInterrupt

    return stop
