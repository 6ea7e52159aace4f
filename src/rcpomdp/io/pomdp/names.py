"""Names and indices that a `.pomdp` file declares, and the rules for both."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...model.labels import nearest
from .tokens import LONGEST_WORD, text

if TYPE_CHECKING:
    from ...kernels.text.pomdp import Names

MOST_ROWS = 1 << 23  # states x actions, twice those of the largest benchmark: a row takes 200 to 400 bytes

# Words that would mean something else where a name may stand.
RESERVED = frozenset((b"uniform", b"identity", b"reset", b"include", b"exclude"))
# Names that every program takes: letters, digits, "_" and "-", no word of the format.
_STRICT = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_KEYWORDS = "discount values states actions observations start include exclude reset reward cost uniform identity T O R"
_NUMERIC = re.compile(rb"[+-]?\.?[0-9]")


class Declared:
    """States, actions or observations as a file declares them: by names, or by their number alone."""

    def __init__(self, kind: str, names: list[bytes] | None, size: int) -> None:
        self.kind, self.names, self.size = kind, names, size
        self._index = {name: i for i, name in enumerate(names or ())}

    def find(self, word: bytes) -> int | str:
        """Index of a word, or a sentence that says why it has none."""
        if word in self._index:
            return self._index[word]
        if word.isdigit():
            index = int(word)
            return index if index < self.size else f"{self.kind} {index} is not between 0 and {self.size - 1}"
        if self.names is None:
            numbers = f"0 to {self.size - 1}" if self.size > 1 else "0 alone"
            return f"{self.kind} {text(word)!r} is not declared; the file numbers its {self.kind}s, {numbers}"
        return f"{self.kind} {text(word)!r} is not declared{nearest(text(word), map(text, self.names))}"

    def label(self, i: int) -> str:
        """An index as errors show it."""
        return repr(text(self.names[i])) if self.names is not None else str(i)

    @property
    def labels(self) -> list[str] | None:
        """Labels for the model; None are those it makes itself."""
        return None if self.names is None else [name.decode() for name in self.names]

    @cached_property
    def hashed(self) -> Names:
        """The form that kernels read."""
        from ...kernels.text.pomdp import Names, fill_table

        names = self.names or []
        joined = np.frombuffer(b"".join(names) or b" ", np.uint8)
        begin = np.cumsum([0, *map(len, names)], dtype=np.int64)
        table = np.full(1 << (2 * len(names) + 1).bit_length(), -1, np.int32)
        if names:
            fill_table(joined, begin, table)
        return Names(joined, begin, table, self.size)


def fault_of_name(word: bytes) -> str:
    """A clause that says why a word is no name; empty if it is one."""
    if word in RESERVED:
        return "is a word of the format, not a name"
    if word in b":*":
        return "is not a name"
    return "is not a name: names do not begin like numbers" if _NUMERIC.match(word) else ""


def is_plain(label: object) -> bool:
    """Return whether a label can stand in a file as it is, for every program to read.

    >>> [is_plain(label) for label in ("tiger-left", "hall rocky", "T", "0", 0)]
    [True, False, False, False, False]
    """
    return is_word(label) and label not in _KEYWORDS.split()


def is_word(label: object) -> bool:
    """Return whether a label is made of letters, digits, "_" and "-", begins with a letter and is not too long."""
    return isinstance(label, str) and len(label) <= LONGEST_WORD and bool(_STRICT.fullmatch(label))
