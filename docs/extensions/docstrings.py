"""A Sphinx extension that reads docstrings as this project writes them.

Parameters are lines ``name : what it is``, without types, which the signature tells. Fields of dataclasses and named
tuples are documented by the comments behind them. Both become lists.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from sphinx.application import Sphinx

_FIELD = re.compile(r"^    (\w+): (.+?)(?: = .+?)?(?:  # (.*))?$")
_PARAMETER = re.compile(r"^([\w*][\w, *]*?) : (.*)$")


def fields(cls: type) -> list[tuple[str, str]]:
    """Names of a class's fields and the comments behind them, in order."""
    found = []
    for line in inspect.getsource(cls).splitlines()[1:]:
        if line.startswith(("    def ", "    @")):
            break
        if match := _FIELD.match(line):
            found.append((match[1], match[3] or ""))
    own = getattr(cls, "__annotations__", {})
    return [(name, comment) for name, comment in found if name in own]


def parameters(lines: list[str]) -> list[str]:
    """A docstring whose section of parameters is a list; what follows the section is as it was."""
    try:
        start = next(i for i, line in enumerate(lines) if line == "Parameters" and set(lines[i + 1]) == {"-"})
    except StopIteration:
        return lines
    listed, i = [".. rubric:: Parameters", ""], start + 2
    while i < len(lines) and (match := _PARAMETER.match(lines[i])):
        listed.append(f"- ``{match[1]}``: {match[2]}")
        i += 1
        while i < len(lines) and lines[i].startswith(" "):
            listed.append(f"  {lines[i].strip()}")
            i += 1
    return [*lines[:start], *listed, "", *lines[i:]]


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = parameters(lines)
    if what == "class" and (hasattr(obj, "_fields") or hasattr(obj, "__dataclass_fields__")):
        listed = [f"- ``{field}``" + (f": {_plain(comment)}" if comment else "") for field, comment in fields(obj)]
        lines += ["", ".. rubric:: Fields", "", *listed, ""] if listed else []


def _plain(comment: str) -> str:
    """A comment is plain text: nothing in it is markup."""
    return re.sub(r"([\\*`|_])", r"\\\1", comment)


def _skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Fields of named tuples are listed with their class."""
    text = getattr(obj, "__doc__", None) or ""
    return True if text.startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Hook into autodoc, before napoleon reads what is left."""
    app.connect("autodoc-process-docstring", _process, priority=400)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}
