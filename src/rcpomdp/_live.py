"""Words for a person who looks on while kernels compile and solvers search; programs get them by `logging`.

A person looks on where stderr is a terminal, or in a notebook. The logger is "rcpomdp": INFO tells of compilation,
results and routes, DEBUG of bounds.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .solvers.result import TracePoint

logger = logging.getLogger("rcpomdp")
_COMPILING = "compiling kernels that are not cached yet: up to two minutes ..."
_QUIET = 1.0  # seconds before a notebook shows a line, so that a loop of short solves leaves none behind
_announced = False


def in_notebook() -> bool:
    """True if output goes to the cells of a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def is_watched() -> bool:
    """True if a person looks on."""
    return in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def announce_compilation(always: bool = False) -> None:
    """Say when kernels are compiled, once in a process: to a person who looks on, or `always`, and to the log."""
    global _announced  # noqa: PLW0603 - numba's events are those of the process, too
    if _announced:
        return
    _announced = True
    from .kernels.jit import when_compiling

    def say() -> None:
        logger.info(_COMPILING)
        if always or is_watched():
            print(f"rcpomdp: {_COMPILING}", file=sys.stdout if in_notebook() else sys.stderr, flush=True)

    when_compiling(say)


@contextmanager
def live_bounds(what: str, wanted: bool | None = None) -> Iterator[Callable[[TracePoint], None] | None]:
    """A live line with the bounds of a search, gone when it is over; yields what moves it on, None if nobody looks.

    `wanted` is None where that depends on whether a person looks on.
    """
    if not (is_watched() if wanted is None else wanted):
        yield _log if logger.isEnabledFor(logging.DEBUG) else None
        return
    if in_notebook():
        cell = _Cell(what)
        try:
            yield cell.show
        finally:
            cell.clear()
        return
    from ._console import PlainConsole

    with PlainConsole(stderr=True).status(f"{what}: setting up") as status:

        def show(point: TracePoint) -> None:
            _log(point)
            status.update(f"{what}: {point.in_words()}")

        yield show


def _log(point: TracePoint) -> None:
    logger.debug("%s", point.in_words())


class _Cell:
    """A line of a notebook's output that changes in place."""

    def __init__(self, what: str) -> None:
        self._what, self._began = what, time.perf_counter()
        self._line: Any = None

    def show(self, point: TracePoint) -> None:
        """Show the bounds, once the search has lasted a moment."""
        _log(point)
        if self._line is not None:
            self._line.update(_plain(f"{self._what}: {point.in_words()}"), raw=True)
        elif time.perf_counter() - self._began >= _QUIET:
            display = sys.modules["IPython"].display.display
            self._line = display(_plain(f"{self._what}: {point.in_words()}"), raw=True, display_id=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._line is not None:
            self._line.update(_plain(""), raw=True)


def _plain(words: str) -> dict[str, str]:
    return {"text/plain": words}
