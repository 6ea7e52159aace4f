"""Broken rules, each told in one sentence on one line."""

from __future__ import annotations

from typing import Any

FAULTS = (Exception, SystemExit)  # what a stranger's code may raise; an interrupt is the user's
_LONGEST = 100  # characters of a value that are shown


class RuleError(Exception):
    """A rule is broken; the text is the sentence that says so."""


def told(error: BaseException) -> str:
    """An exception on one line."""
    return one_line(f"{type(error).__name__}: {error}")


def shown(value: Any) -> str:
    """A value on one line, cut if it is long."""
    try:
        text = one_line(repr(value))
    except FAULTS as error:
        return f"a {type(value).__name__} whose repr raises {type(error).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def one_line(text: str) -> str:
    """The words of a text with single spaces between them."""
    return " ".join(text.split())
