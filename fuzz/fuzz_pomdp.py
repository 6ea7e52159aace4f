"""Coverage-guided fuzzing of the `.pomdp` reader.

Whatever the bytes: a model, or an InputError of one sentence. The compiled and the interpreted reader, and pieces of
any size, must come to the same (but bytes that are no text are found before the rest of their piece is read); and a
model that was read must survive being written and read again.
"""

from __future__ import annotations

import io

import numpy as np

import common
from rcpomdp.errors import InputError
from rcpomdp.io.pomdp import body as pomdp_body
from rcpomdp.io.pomdp import pragmas as pomdp_pragmas
from rcpomdp.io.pomdp import tables as pomdp_tables
from rcpomdp.io.pomdp.reader import read_stream
from rcpomdp.io.pomdp.writer import lines
from rcpomdp.model import CPOMDP

# A small machine runs many fuzzers: what is refused for its size is refused earlier.
pomdp_body.MOST_ROWS = pomdp_pragmas.MOST_ROWS = 1 << 8
pomdp_tables.MOST_ENTRIES = 1 << 21


def outcome(data: bytes, *, compiled: bool, piece: int = 1 << 16) -> CPOMDP | str:
    """The model, or the sentence that refuses it."""
    try:
        return read_stream(io.BytesIO(data), "file", compiled=compiled, piece=piece)
    except InputError as error:
        return str(error)


def same(one: CPOMDP, other: CPOMDP) -> bool:
    """Whether two models agree to the last bit."""
    arrays = zip(one.arrays, other.arrays, strict=True)
    return (
        all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in arrays)
        and one.fingerprint == other.fingerprint
        and one.budget.tobytes() == other.budget.tobytes()
        and all(list(a) == list(b) for a, b in zip(_labels(one), _labels(other), strict=True))
        and one.name == other.name
    )


def _labels(model: CPOMDP) -> tuple[object, ...]:
    return model.states, model.actions, model.observations, model.costs


def one_input(data: bytes) -> None:
    """One file."""
    plain = outcome(data, compiled=False)
    for other in (outcome(data, compiled=True), outcome(data, compiled=False, piece=7)):
        if isinstance(plain, str) and isinstance(other, str):
            assert plain == other or plain.endswith(("not text", "not UTF-8")), (plain, other)
        else:
            assert isinstance(plain, CPOMDP), (plain, other)
            assert isinstance(other, CPOMDP), (plain, other)
            assert same(plain, other), "two ways to read a file differ"
    if isinstance(plain, str):
        raise InputError(plain)
    text = "".join(f"{line}\n" for line in lines(plain)).encode()
    again = outcome(text, compiled=False)
    assert isinstance(again, CPOMDP), again
    assert same(plain, again), "a model that is written and read again differs"


if __name__ == "__main__":
    common.run(one_input)
