"""The deadline of the work at hand, and the time that it is measured in.

A caller with little time says so once, and whatever is called in it asks between strides: `hurry`, where an iteration
may stop wherever it is, and `check`, where nothing of use is left without the rest, and `TimeUpError` is the way out. A
stride is one pass over a model's arrays, or one system of equations. Without a deadline nobody is in a hurry.

Time is seconds, or work. In a block of `counting_work` the clock stands still except for `charge`: whoever works says
how many elementary steps that takes, and so many steps count as a second. Every decision that depends on the time then
depends on the work alone, and repeats on any machine. Each look at the time is charged, too, so that no loop that waits
for a deadline is endless.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

STEPS_PER_SECOND = 100_000_000  # elementary steps that count as a second, about what a core does
PRODUCT = 0.2  # steps that a product in a sweep over arrays takes
_LOOK = 2000  # steps that a look at the time is charged


class TimeUpError(Exception):
    """Time is up, and there is nothing to show for it yet."""


class _Deadline(NamedTuple):
    hurry: Callable[[], bool]
    over: Callable[[], bool]


def _never() -> bool:
    return False


_NONE = _Deadline(_never, _never)
_deadline: ContextVar[_Deadline] = ContextVar("deadline", default=_NONE)


class _Steps:
    """Elementary steps so far."""

    def __init__(self) -> None:
        self.done = 0


_steps: ContextVar[_Steps | None] = ContextVar("steps", default=None)


@contextmanager
def counting_work() -> Iterator[None]:
    """In the block time is work: it passes by what is charged.

    >>> with counting_work():
    ...     charge(3 * STEPS_PER_SECOND)
    ...     now()
    3.0
    """
    token = _steps.set(_Steps())
    try:
        yield
    finally:
        _steps.reset(token)


def now() -> float:
    """Return the time in seconds, from an arbitrary start."""
    steps = _steps.get()
    if steps is None:
        return time.perf_counter()
    done = steps.done
    steps.done += _LOOK
    return done / STEPS_PER_SECOND


def charge(steps: float) -> None:
    """Count elementary steps of work; this matters in a block of `counting_work` alone."""
    counted = _steps.get()
    if counted is not None:
        counted.done += int(steps)


@contextmanager
def within(hurry: Callable[[], bool] = _never, over: Callable[[], bool] = _never) -> Iterator[None]:
    """In the block iterations end when `hurry` says so, and everything when `over` does; what held before still does.

    >>> with within(lambda: True):
    ...     hurry()
    True
    """
    token = _deadline.set(_deadline.get())
    try:
        watch(hurry, over)
        yield
    finally:
        _deadline.reset(token)


def watch(hurry: Callable[[], bool], over: Callable[[], bool]) -> None:
    """The same for the rest of the block that is at hand."""
    before = _deadline.get()
    _deadline.set(_Deadline(lambda: hurry() or before.hurry(), lambda: over() or before.over()))


@contextmanager
def unhurried() -> Iterator[None]:
    """In the block there is no deadline, whatever held before: for what is not counted, or asked for on top."""
    token, steps = _deadline.set(_NONE), _steps.get()
    before = steps.done if steps is not None else 0
    try:
        yield
    finally:
        _deadline.reset(token)
        if steps is not None:
            steps.done = before


def hurry() -> bool:
    """True if an iteration that may stop wherever it is should do so now."""
    return _deadline.get().hurry()


def check() -> None:
    """Go on, if there is time; else there is a `TimeUpError`."""
    if _deadline.get().over():
        raise TimeUpError
