"""Statements and numbers of a large `.pomdp` file read by compiled code, as far as they are regular."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray, IndexArray
from ...kernels.text.pomdp import Batch, Names, read_numbers, read_statements, read_tables
from .names import Declared
from .tokens import Words

_ROOM = 1 << 17

Found = tuple[IndexArray, FloatArray]  # [n, 4] words of statements as indices, and [n] their values


class Bulk:
    """Reads ahead in a stream of words. What it does not take is still the next word.

    A row of numbers comes as the statement that all of it is 0 (a last index of -1), and one for each that is not.
    """

    def __init__(self, words: Words) -> None:
        self._words = words
        self._batch = _batch()
        self._tables: tuple[Batch, Batch, Batch] | None = None  # of T, O and R

    def tables(
        self, actions: Declared, states: Declared, observations: Declared, highest: float, largest: float
    ) -> list[Found] | None:
        """The next statements of T, of O and of R; None if they are not regular."""
        if self._tables is None:
            self._tables = _batch(), _batch(), _batch()
        counts = np.zeros((3, 2), np.int64)
        start, piece = self._words.next_offset(), np.frombuffer(self._words.piece, np.uint8)
        names = actions.hashed, states.hashed, observations.hashed
        end = read_tables(piece, start, *names, highest, largest, *self._tables, counts)
        if not counts.any():
            return None
        found = [self._found(batch, n, hard) for batch, (n, hard) in zip(self._tables, counts.tolist(), strict=True)]
        self._words.position = end
        return found

    def statements(self, keyword: bytes, kinds: tuple[Declared, ...], limits: tuple[float, float]) -> Found | None:
        """The next statements with this keyword, in which any word may be ``*``; None if they are not regular."""
        names: tuple[Names, ...] = tuple(kind.hashed for kind in kinds)
        start, piece = self._words.next_offset(), np.frombuffer(self._words.piece, np.uint8)
        word = np.frombuffer(keyword, np.uint8)
        ends = names[0], names[1], names[-1]
        end, count, hard = read_statements(piece, start, word, len(kinds), True, *ends, *limits, self._batch)
        if not count:
            return None
        found = self._found(self._batch, count, hard)
        self._words.position = end
        return found

    def numbers(self, count: int, limits: tuple[float, float]) -> FloatArray:
        """Up to `count` of the next numbers; none if the next word is not a regular one."""
        start, piece = self._words.next_offset(), np.frombuffer(self._words.piece, np.uint8)
        end, count, hard = read_numbers(piece, start, min(count, _ROOM), *limits, self._batch)
        _, values = self._found(self._batch, count, hard)
        if count:
            self._words.position = end
        return values

    def _found(self, batch: Batch, count: int, hard: int) -> Found:
        """The statements of a batch; numbers that the kernel only estimated are read again, digit by digit."""
        piece = self._words.piece
        which, begins, ends = batch.hard[:hard].T
        texts = [piece[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        batch.value[which] = [*map(float, texts)]
        return batch.words[:count].copy(), batch.value[:count].copy()


def _batch() -> Batch:
    return Batch(np.empty((_ROOM, 4), np.int32), np.empty(_ROOM), np.empty((_ROOM, 3), np.int64))
