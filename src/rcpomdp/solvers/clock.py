"""The clock of a solve, and the detector of searches that stall."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from .. import deadline

_SLICE = 0.05  # seconds between looks at the clock
_FIRST_WORK = 200_000  # elementary steps of the first slice
_LEAST_WORK, _MOST_WORK = 1000, 1e9  # of any slice
_MOST_IDLE = 50  # slices without any change before the target is sharpened,
_IDLE_TRIALS = 5000  # or trials
_SHARPEST = 1e-3
_AFTERWARDS = 0.1  # share of a time limit for telling what a policy is worth
_AFTER_ALL = 0.2  # part of it that is there for that even if it is late
_GRACE = 0.25  # seconds that a set-up may take in any case: there are bounds then
SETUP = 0.35  # share of a time limit after which iterations of the set-up make do with what they have
PILOT_SETUP = 0.01  # the same for a search that goes ahead to see whether the model is easy


class Clock:
    """The time of a solve.

    Parameters
    ----------
    time_limit : seconds of set-up and search; None is unlimited
    first, least : work of the first slice, and of any slice at least
    growth : how many times the work of the last slice the next may have at most
    """

    def __init__(
        self, time_limit: float | None, first: int | None = None, least: int = _LEAST_WORK, growth: float = np.inf
    ) -> None:
        self.time_limit = None if time_limit is None or np.isinf(time_limit) else float(time_limit)
        self.started = self._ready = self.now()
        self._deadline = np.inf if self.time_limit is None else self.started + self.time_limit
        self._sets_up, self._finishes = True, False
        self._setup_share = SETUP  # of the time limit, after which the set-up at hand hurries
        self.slice = Slices(self, first, least, growth)

    @staticmethod
    def now() -> float:
        """The time of day, as it were."""
        return deadline.now()

    def watch(self) -> Clock:
        """From now on, whatever is called in this solve keeps the time; return the clock.

        The set-up hurries after a share of it, and ends by `TimeUpError` when time is up; a search makes do with what
        it has by then.
        """
        deadline.watch(
            lambda: self.share_used(self._setup_share if self._sets_up else 1.0 + _AFTERWARDS * self._finishes),
            lambda: self._sets_up and self.over and self.elapsed > _GRACE,
        )
        return self

    def ready(self) -> None:
        """The set-up is over."""
        self._ready, self._sets_up = self.now(), False

    @contextmanager
    def setting_up_again(self) -> Iterator[None]:
        """Treat the block as the set-up of another search, which hurries after the same share of the time left."""
        before = self._sets_up, self._finishes, self._setup_share
        used = 0.0 if self.time_limit is None else min(self.elapsed / max(self.time_limit, 1e-9), 1.0)
        self._sets_up, self._finishes, self._setup_share = True, False, used + SETUP * (1.0 - used)
        try:
            yield
        finally:
            self._sets_up, self._finishes, self._setup_share = before

    def finish(self) -> None:
        """The search is over; what it found is put together."""
        self._finishes = True

    def share_used(self, share: float) -> bool:
        """True if so much of the time limit is used."""
        return self.time_limit is not None and self.elapsed > share * self.time_limit

    def share_left(self, share: float) -> float:
        """Seconds until so much of the time limit is used; inf if there is no limit."""
        return np.inf if self.time_limit is None else share * self.time_limit - self.elapsed

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Let the clock stand still for what is not to be counted: kernels that are compiled."""
        began = self.now()
        with deadline.unhurried():
            yield
        away = self.now() - began
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
        return self.now() - self._ready

    @property
    def elapsed(self) -> float:
        """Seconds of set-up and search."""
        return self.now() - self.started

    @property
    def over(self) -> bool:
        """True if time is up."""
        return self.now() >= self._deadline

    @property
    def left(self) -> float | None:
        """Seconds that are left, a thousandth at least; None if there is no limit."""
        return None if np.isinf(self._deadline) else max(self._deadline - self.now(), 1e-3)

    def afterwards(self) -> Clock:
        """The time for what comes after a search: what is left, with a tenth of the time limit on top."""
        if self.time_limit is None or self.left is None:
            return Clock(None)
        more = _AFTERWARDS * self.time_limit
        return Clock(max(self.left, self._deadline + more - self.now(), _AFTER_ALL * more))


class Slices:
    """Work for one search in slices of about a twentieth of a second; how long a slice takes decides about the next."""

    def __init__(
        self, clock: Clock, first: int | None = None, least: int = _LEAST_WORK, growth: float = np.inf
    ) -> None:
        self._clock = clock
        self._work, self._least, self._growth = first or _FIRST_WORK, least, growth

    @contextmanager
    def __call__(self, done: Callable[[], int] | None = None) -> Iterator[int]:
        """The work of the next slice.

        `done` counts the work that is done, where a slice may end before its work is.
        """
        before, first = self._clock.now(), done() if done else 0
        yield self._work
        now = self._clock.now()
        used = done() - first if done else self._work
        wanted = min(_SLICE, self._clock.left or _SLICE)
        most = max(min(_MOST_WORK, self._growth * self._work), self._least)
        self._work = int(np.clip(used * wanted / (now - before + 1e-9), self._least, most))


class StallDetector:
    """Sharpens the target of a search in which nothing changes any more, until there is nothing left to sharpen."""

    def __init__(self) -> None:
        self.share: float | None = None  # target of the trials, as a share of the gap; None: the search's own
        self._idle = 0
        self._changed = 0  # trials when something changed, or the target did
        self._before: tuple[float, ...] = ()

    def found(self, *progress: float, trials: int = 0) -> bool:
        """Look at what a slice may have changed; True if sharper targets change nothing either: a stall."""
        self._idle += 1
        if progress != self._before:
            self._idle, self._changed, self._before = 0, trials, progress
        if self._idle == _MOST_IDLE or trials - self._changed >= _IDLE_TRIALS:
            self._idle, self._changed, self.share = 0, trials, (self.share or 1.0) / 4
        return self.share is not None and self.share < _SHARPEST
