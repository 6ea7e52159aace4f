"""Names are text: whatever somebody put into them, they steer no terminal, log, page or picture."""

from __future__ import annotations

from html import escape
from typing import Any


def printable(value: Any) -> Any:
    r"""Names from a file, in lists and dictionaries too, with all escaped that would steer a terminal.

    >>> printable({"name": "tiger\x07", "labels": ["é", 1]})["name"] == "tiger" + chr(92) + "x07"
    True
    """
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in value)
    if isinstance(value, dict):
        return {printable(key): printable(item) for key, item in value.items()}
    return type(value)(map(printable, value)) if isinstance(value, list | tuple) else value


def printable_lines(text: str) -> str:
    r"""A text of several lines, each of them as `printable` has it.

    >>> printable_lines("one\ntwo\x07\n") == "one\ntwo" + chr(92) + "x07\n"
    True
    """
    return "\n".join(map(printable, text.split("\n")))


def in_html(text: str) -> str:
    r"""A text within a page.

    >>> in_html("<b>\x07") == "&lt;b&gt;" + chr(92) + "x07"
    True
    """
    return escape(printable_lines(text))
