"""The clock of a solve, and the detector of searches that stall."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

_SLICE = 0.05  # seconds between looks at the clock
_FIRST_WORK = 200_000  # elementary steps of the first slice
_LEAST_WORK, _MOST_WORK = 1000, 1e9  # of any slice
_MOST_IDLE = 50  # slices without any change before the target is sharpened
_SHARPEST = 1e-3


class Clock:
    """The time of a solve, cut into slices of work of about a twentieth of a second.

    Parameters
    ----------
    time_limit : seconds of set-up and search; None is unlimited
    first, least : work of the first slice, and of any slice at least
    growth : how many times the work of the last slice the next may have at most
    """

    def __init__(
        self, time_limit: float | None, first: int | None = None, least: int = _LEAST_WORK, growth: float = np.inf
    ) -> None:
        self.time_limit = time_limit
        self.started = self._ready = time.perf_counter()
        self._deadline = self.started + (time_limit if time_limit is not None else np.inf)
        self._work, self._least, self._growth = first or _FIRST_WORK, least, growth

    def ready(self) -> None:
        """The set-up is over."""
        self._ready = time.perf_counter()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Let the clock stand still for what is not to be counted: kernels that are compiled."""
        began = time.perf_counter()
        yield
        away = time.perf_counter() - began
        self.started += away
        self._ready += away
        self._deadline += away

    @property
    def setup_seconds(self) -> float:
        """Seconds of set-up."""
        return self._ready - self.started

    @property
    def seconds(self) -> float:
        """Seconds of search."""
        return time.perf_counter() - self._ready

    @property
    def elapsed(self) -> float:
        """Seconds of set-up and search."""
        return time.perf_counter() - self.started

    @property
    def over(self) -> bool:
        """True if time is up."""
        return time.perf_counter() >= self._deadline

    def past(self, share: float) -> bool:
        """True if a share of the time limit is up."""
        return self.time_limit is not None and self.elapsed >= share * self.time_limit

    @property
    def left(self) -> float | None:
        """Seconds that are left, a thousandth at least; None if there is no limit."""
        return None if np.isinf(self._deadline) else max(self._deadline - time.perf_counter(), 1e-3)

    @contextmanager
    def slice(self, done: Callable[[], int] | None = None) -> Iterator[int]:
        """Work for one slice; how long it takes decides about the next.

        `done` counts the work that is done, where a slice may end before its work is.
        """
        before, first = time.perf_counter(), done() if done else 0
        yield self._work
        now = time.perf_counter()
        used = done() - first if done else self._work
        wanted = min(_SLICE, max(self._deadline - now, 1e-3))
        most = max(min(_MOST_WORK, self._growth * self._work), self._least)
        self._work = int(np.clip(used * wanted / (now - before + 1e-9), self._least, most))


class StallDetector:
    """Sharpens the target of a search in which nothing changes any more, until there is nothing left to sharpen."""

    def __init__(self) -> None:
        self.share: float | None = None  # target of the trials, as a share of the gap; None: the search's own
        self._idle = 0
        self._before: tuple[float, ...] = ()

    def found(self, *progress: float) -> bool:
        """Look at what a slice may have changed; True if sharper targets change nothing either: a stall."""
        self._idle = self._idle + 1 if progress == self._before else 0
        self._before = progress
        if self._idle == _MOST_IDLE:
            self._idle, self.share = 0, (self.share or 1.0) / 4
        return self.share is not None and self.share < _SHARPEST
