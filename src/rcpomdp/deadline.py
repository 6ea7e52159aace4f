"""The deadline of the work at hand.

A caller with little time says so once, and whatever is called in it asks between strides: `hurry`, where an iteration
may stop wherever it is, and `check`, where nothing of use is left without the rest, and `TimeUpError` is the way out. A
stride is one pass over a model's arrays, or one system of equations. Without a deadline nobody is in a hurry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class TimeUpError(Exception):
    """Time is up, and there is nothing to show for it yet."""


class _Deadline(NamedTuple):
    hurry: Callable[[], bool]
    over: Callable[[], bool]


def _never() -> bool:
    return False


_NONE = _Deadline(_never, _never)
_deadline: ContextVar[_Deadline] = ContextVar("deadline", default=_NONE)


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
    token = _deadline.set(_NONE)
    try:
        yield
    finally:
        _deadline.reset(token)


def hurry() -> bool:
    """True if an iteration that may stop wherever it is should do so now."""
    return _deadline.get().hurry()


def check() -> None:
    """Go on, if there is time; else there is a `TimeUpError`."""
    if _deadline.get().over():
        raise TimeUpError
