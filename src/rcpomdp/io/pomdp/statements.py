"""The parts that all statements of a `.pomdp` file are made of: words, indices, numbers, runs of numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from ..._types import FloatArray, IndexArray, IntArray
from ...model.labels import nearest
from ...model.validation import ROW_TOLERANCE
from ...model.validation import count as plural
from .names import Declared
from .tables import ANY, Values
from .tokens import Place, Words, number, text

if TYPE_CHECKING:
    from .bulk import Bulk

Limits = tuple[float, float]
PROBABILITY: Limits = (0.0, 1.0 + ROW_TOLERANCE)
REAL: Limits = (-np.finfo(np.float64).max, np.finfo(np.float64).max)
COST: Limits = (0.0, REAL[1])
_BULK_RUN = 64  # numbers from which it pays to call compiled code


class Statements:
    """A stream of words read as statements; `bulk` reads ahead where they are regular."""

    def __init__(self, words: Words, *, compiled: bool) -> None:
        self.words = words
        self.bulk: Bulk | None = None
        if compiled:
            from .bulk import Bulk

            self.bulk = Bulk(words)

    def colon(self, after: str) -> None:
        """Take a colon."""
        if self.words.peek() != b":":
            self.fail_ahead(f"expected ':' after {after}")
        self.words.take()

    def fail_ahead(self, expectation: str) -> NoReturn:
        """Refuse the next word: it is not what is expected there."""
        word = self.words.peek()
        found = f"found {text(word)!r}" if word else "but the file ends"
        self.words.error(f"{expectation}, {found}", self.words.ahead())

    def index(self, declared: Declared, *, wild: bool = True) -> int:
        """Take a name, an index, or ``*`` for all."""
        word = self.words.peek()
        if wild and word == b"*":
            self.words.take()
            return ANY
        if not word or word in b":*":
            self.fail_ahead(f"expected {'an' if declared.kind[0] in 'ao' else 'a'} {declared.kind}")
        self.words.take()
        found = declared.find(word)
        if isinstance(found, str):
            self.words.error(found)
        return found

    def number(self, limits: Limits, what: str) -> float:
        """Take a number within limits."""
        word = self.words.peek()
        value = number(word)
        if value is None:
            self.fail_ahead(f"expected a {what}")
        self.words.take()
        self._check(value, limits, what, self.words.here())
        return value

    def is_number(self) -> bool:
        """Return whether the next word is a number."""
        return number(self.words.peek()) is not None

    def numbers(self, count: int, limits: Limits, what: str, whose: str) -> tuple[IntArray, FloatArray]:
        """Take `count` numbers; return where they are not 0, and which they are there."""
        places: list[IntArray] = []
        values: list[FloatArray] = []
        done = 0
        while done < count:
            block = self._block(count - done, limits, what)
            if not len(block):
                word = self.words.peek()
                found = f"{text(word)!r} comes" if word else "the file ends"
                self.words.error(
                    f"{whose} needs {plural(count, 'number')}, but {found} after {done:,}", self.words.ahead()
                )
            at = np.flatnonzero((block != 0) | np.signbit(block))
            places.append(at + done)
            values.append(block[at])
            done += len(block)
        return np.concatenate(places), np.concatenate(values)

    def values(self, table: Values, kinds: tuple[Declared, ...], limits: Limits, what: str) -> None:
        """Take a statement ``R: a : s : s' : o value``, or with a row or a matrix of values; what is said last wins."""
        name = text(self.words.take())
        actions, states, _, observations = kinds
        self.colon(repr(name))
        a = self.index(actions)
        self.colon(f"the action of {name!r}")
        s = self.index(states)
        whose = f"{name} of state {shown(states, s)} under action {shown(actions, a)}"
        if self.words.peek() != b":":
            at, found = self.numbers(states.size * observations.size, limits, what, whose)
            table.put(a, s, ANY, ANY, 0.0)
            table.put_batch(_box(a, s, at // observations.size, at % observations.size), found)
            return
        self.words.take()
        s_next = self.index(states)
        if self.words.peek() != b":":
            at, found = self.numbers(observations.size, limits, what, f"{whose} to {shown(states, s_next)}")
            table.put(a, s, s_next, ANY, 0.0)
            table.put_batch(_box(a, s, s_next, at), found)
            return
        self.words.take()
        o = self.index(observations)
        table.put(a, s, s_next, o, self.number(limits, what))

    def _block(self, count: int, limits: Limits, what: str) -> FloatArray:
        """Some of the next numbers, none if the next word is not one."""
        if self.bulk is not None and count >= _BULK_RUN:
            block = self.bulk.numbers(count, limits)
            if len(block):
                return block
        return np.array([self.number(limits, what)] if self.is_number() else [])

    def _check(self, value: float, limits: Limits, what: str, place: Place) -> None:
        if math.isinf(value):
            self.words.error(f"{what} is larger than any number that can be held", place)
        if value < limits[0]:
            self.words.error(f"{what} {value:.12g} is below 0", place)
        if value > limits[1]:
            self.words.error(f"{what} {value:.12g} is above 1", place)


def shown(declared: Declared, index: int) -> str:
    """An index as errors show it."""
    return "'*'" if index == ANY else declared.label(index)


def unknown(word: bytes, known: tuple[str, ...]) -> str:
    """A complaint about a word that stands where a statement should begin."""
    if number(word) is not None:
        return f"a statement should begin here, found the number {text(word)!r}; are there too many before it?"
    return f"a statement should begin here, found {text(word)!r}{nearest(text(word), known)}"


def _box(a: int, s: int, s_next: IntArray | int, o: IntArray) -> IndexArray:
    index = np.empty((len(o), 4), np.int32)
    index[:, 0], index[:, 1], index[:, 2], index[:, 3] = a, s, s_next, o
    return index
