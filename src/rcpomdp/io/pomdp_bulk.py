"""Statements and numbers of a large `.pomdp` file read by compiled code, as far as they are regular."""

from __future__ import annotations

import numpy as np

from .._types import FloatArray, IndexArray
from ..kernels.pomdp_text import Batch, Names, read_numbers, read_statements
from .pomdp_names import Declared
from .pomdp_tokens import Words

_ROOM = 1 << 17


class Bulk:
    """Reads ahead in a stream of words. What it does not take is still the next word."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._batch = Batch(np.empty((_ROOM, 4), np.int32), np.empty(_ROOM), np.empty((_ROOM, 3), np.int64))

    def statements(
        self,
        keyword: bytes,
        kinds: tuple[Declared, ...],
        limits: tuple[float, float],
        *,
        wild_last: bool,
    ) -> tuple[IndexArray, FloatArray] | None:
        """The words and values of the next statements with this keyword; None if they are not regular.

        A row of numbers is the statement that all of it is 0 (a last index of -1), and one for each number that is not.
        """
        names: tuple[Names, ...] = tuple(kind.hashed for kind in kinds)
        start = self._words.next_offset()
        piece = np.frombuffer(self._words.piece, np.uint8)
        end, count, hard = read_statements(
            piece, start, np.frombuffer(keyword, np.uint8), len(kinds), wild_last,
            names[0], names[1], names[-1], *limits, self._batch,
        )  # fmt: skip
        if not count:
            return None
        self._exact(hard)
        self._words.position = end
        return self._batch.words[:count].copy(), self._batch.value[:count].copy()

    def numbers(self, count: int, limits: tuple[float, float]) -> FloatArray:
        """Up to `count` of the next numbers; none if the next word is not a regular one."""
        start = self._words.next_offset()
        piece = np.frombuffer(self._words.piece, np.uint8)
        end, found, hard = read_numbers(piece, start, min(count, _ROOM), *limits, self._batch)
        self._exact(hard)
        if found:
            self._words.position = end
        return self._batch.value[:found].copy()

    def _exact(self, hard: int) -> None:
        """Numbers that are no product of two floats, digit by digit."""
        piece = self._words.piece
        which, begins, ends = self._batch.hard[:hard].T
        texts = [piece[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        self._batch.value[which] = [*map(float, texts)]
