"""Checks before a file is read: that it is there, and the most that is read of it."""

from __future__ import annotations

import os

from ..errors import InputError

MOST_VALUES = 100_000_000  # of all vectors of a policy file together, or successors of a graph


def check_readable(path: str | os.PathLike[str], kind: str, complaint: type[InputError]) -> None:
    """Refuse a path where no file is; `kind` is what it should be, as in "policy file"."""
    shown = repr(os.fsdecode(path))
    if not os.path.exists(path):
        raise complaint(f"{kind} {shown} does not exist")
    if not os.path.isfile(path):
        raise complaint(f"{shown} is not a file")
