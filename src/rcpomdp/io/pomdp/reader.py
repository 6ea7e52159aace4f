"""Models in Cassandra's `.pomdp` format.

A header (``discount``, ``values``, ``states``, ``actions``, ``observations``, ``start``), then statements ``T``, ``O``
and ``R`` about single entries, rows or whole matrices, of which later ones win. Lines that begin with ``#!`` add costs
and budgets. The format is A. Cassandra's, of the program pomdp-solve; docs/formats.md has all of it.

The file is read once, and once more if it has ``#!`` lines, a piece at a time; what is held is the sparse result. Large
files are read by compiled code as far as they are regular. No size is believed before it is checked.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import numpy as np

from ...errors import ModelError, ModelFileError
from ...model import CPOMDP
from .body import LISTS, Body, uniform
from .pragmas import Pragmas
from .tokens import PIECE, Words

_COMPILED_FROM = 1 << 18  # bytes from which it pays to load compiled code


def read_pomdp(path: str | os.PathLike[str]) -> CPOMDP:
    """The model in a `.pomdp` file; one that makes no sense raises a ModelFileError that says where."""
    name = repr(os.fsdecode(path))
    if not os.path.exists(path):
        raise ModelFileError(f"model file {name} does not exist")
    if not os.path.isfile(path):
        raise ModelFileError(f"{name} is not a file")
    try:
        with open(path, "rb") as file:
            return read_stream(file, name, compiled=os.path.getsize(path) >= _COMPILED_FROM)
    except OSError as error:
        raise ModelFileError(f"model file {name} cannot be read: {error.strerror}") from None


def read_stream(file: BinaryIO, name: str, *, compiled: bool, piece: int = PIECE) -> CPOMDP:
    """The model in an open file that can be rewound; `compiled` and `piece` change speed and memory alone."""
    try:
        words = Words(file, name, piece=piece)
        body = Body(words, compiled=compiled)
        body.read()
        pragmas = Pragmas(body.declared)
        if words.has_pragmas:
            file.seek(0)
            pragmas.read(Words(file, name, pragmas=True, piece=piece), compiled=compiled)
        return _model(body, pragmas)
    except ModelError as error:
        if str(error).startswith(name):
            raise
        raise ModelFileError(f"{name}: {error}") from None
    except MemoryError:
        raise ModelFileError(f"{name} needs more memory than there is") from None


def _model(body: Body, pragmas: Pragmas) -> CPOMDP:
    body.check_whole()
    transition, observation = body.transition.matrices(), body.observation.matrices()
    labels = {kind: pragmas.labels.get(kind, body.declared[kind].labels) for kind in LISTS}
    fixed: dict[str, Any] = {
        "initial_belief": uniform(body.declared["states"].size) if body.start is None else body.start,
        "discount": body.discount,
        **labels,
        "name": pragmas.name,
    }
    tables = [body.reward, *pragmas.costs]
    if any(table.by_outcome for table in tables):
        # What follows is averaged by probabilities that are known to be such.
        nothing = np.zeros((body.declared["states"].size, body.declared["actions"].size))
        plain = CPOMDP(transition=transition, observation=observation, reward=nothing, **fixed)
        transition, observation = list(plain.transition), list(plain.observation)
    reward, *costs = (table.expectation(tuple(transition), tuple(observation)) for table in tables)
    return CPOMDP(
        transition=transition,
        observation=observation,
        reward=0.0 - reward if body.negated else reward,
        cost=np.stack(costs) if costs else None,
        costs=pragmas.cost_labels if costs else None,
        budget=pragmas.budget,
        cost_discount=pragmas.cost_discount,
        step_limit=pragmas.step_limit,
        horizon=pragmas.horizon,
        terminal=pragmas.terminal,
        **fixed,
    )
