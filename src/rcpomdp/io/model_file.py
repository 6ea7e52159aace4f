"""Models in files, by the ending of the file's name: ``.pomdp`` (Cassandra's format) or ``.pomdpx``."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ..errors import ModelFileError

if TYPE_CHECKING:
    from ..model import CPOMDP

# Reader and writer of ".x" are `read_x` of the module `x_reader` and `write_x` of `x_writer`.
_ENDINGS = (".pomdp", ".pomdpx")


def is_model_file(word: str | os.PathLike[str]) -> bool:
    """Return whether a word means a model file rather than a problem's name.

    >>> is_model_file("tiger.pomdp"), is_model_file("tiger")
    (True, False)
    """
    return Path(os.fsdecode(word)).suffix.lower() in _ENDINGS


def load_model(path: str | os.PathLike[str]) -> CPOMDP:
    """The model in a file; a file that makes no sense is refused with a sentence that says where."""
    kind = check_ending(path)
    model = cast("CPOMDP", getattr(import_module(f".{kind}.reader", __package__), f"read_{kind}")(path))
    return model.from_source(os.fsdecode(path), {})


def save_model(path: str | os.PathLike[str], model: CPOMDP) -> None:
    """Write a model to a file, whole or not at all; reading it gives the same model."""
    kind = check_ending(path)
    getattr(import_module(f".{kind}.writer", __package__), f"write_{kind}")(path, model)


def check_ending(path: str | os.PathLike[str]) -> str:
    """The format that a file's name asks for; one that asks for none is refused."""
    if not is_model_file(path):
        raise ModelFileError(f"{os.fsdecode(path)!r} is no model file: its name ends neither in .pomdp nor in .pomdpx")
    return Path(os.fsdecode(path)).suffix.lower()[1:]
