"""Plug-ins of other packages, by entry point: found by group, and refused with one sentence if loading fails."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from .errors import InputError


def plug_ins(group: str) -> dict[str, list[EntryPoint]]:
    """All entry points of a group, by name."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, []).append(entry)
    return found


def origin(entry: EntryPoint) -> str:
    """The package that an entry point comes from."""
    return entry.dist.name if entry.dist else entry.value


def load(kind: str, name: str, entries: list[EntryPoint], complaint: type[InputError]) -> Any:
    """Load the one entry point under a name; a `complaint` if there are several, or if it fails."""
    if len(entries) > 1:
        origins = " and ".join(repr(origin(entry)) for entry in entries)
        raise complaint(f"{kind} {name!r} is offered by more than one plug-in: {origins}")
    try:
        with redirect_stdout(sys.stderr):  # stdout is for data
            return entries[0].load()
    except (Exception, SystemExit) as error:  # whatever a stranger's module does when it is imported
        detail = " ".join(f"{type(error).__name__}: {error}".split())
        raise complaint(f"{kind} {name!r} cannot be loaded from plug-in {origin(entries[0])!r}: {detail}") from error
