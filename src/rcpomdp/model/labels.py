"""Names of states, actions, observations and costs: a sequence that also finds a name's index."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from reprlib import repr as short
from typing import Any, overload

import numpy as np

from ..errors import ModelError, did_you_mean

_MOST_COMPARED = 5_000_000  # letters of a misspelt name times those of all known ones: about half a second


class Labels(Sequence[Hashable]):
    """Distinct labels in index order.

    >>> names = Labels(["left", "right"], "action")
    >>> names[1], names.index("right"), len(names)
    ('right', 1, 2)
    >>> names.index("rihgt")
    Traceback (most recent call last):
    rcpomdp.errors.ModelError: action 'rihgt' is not declared; did you mean 'right'?
    """

    def __init__(self, items: Iterable[Hashable], kind: str) -> None:
        self._kind = kind
        self._items: tuple[Hashable, ...] | None = listed(items, f"{kind} labels are")
        self._make: Callable[[int], Hashable] | None = None
        self._size = len(self._items)
        for i, item in enumerate(self._items):
            try:
                hash(item)
            except TypeError:
                shown = short(item)
                raise ModelError(f"{kind} {i} has the label {shown}, which cannot be hashed") from None
        if len(set(self._items)) < self._size:
            raise ModelError(f"{kind} {_first_repeated(self._items)!r} is declared twice")

    @classmethod
    def computed(cls, size: int, make: Callable[[int], Hashable], kind: str) -> Labels:
        """Labels made on demand by ``make(index)``, which must give distinct ones."""
        labels = cls((), kind)
        labels._items, labels._make, labels._size = None, make, size
        return labels

    @cached_property
    def _index(self) -> dict[Hashable, int]:
        return {label: i for i, label in enumerate(self)}

    @cached_property
    def _index_by_text(self) -> dict[str, int]:
        return {str(label): i for label, i in self._index.items()}

    def index(self, value: Hashable, start: int = 0, stop: int | None = None) -> int:
        """Index of a label, given itself or as text; an unknown one raises a ModelError."""
        try:
            if value in self._index:
                return self._index[value]
        except TypeError:
            pass  # not hashable, so no label; it may still be one's text
        by_text = self._index_by_text
        if str(value) in by_text:
            return by_text[str(value)]
        raise ModelError(f"{self._kind} {value!r} is not declared{nearest(str(value), by_text)}")

    def resolve(self, value: Any) -> int:
        """Index of a label, or of an index itself; what is neither raises a ModelError.

        >>> names = Labels(["left", "right"], "action")
        >>> names.resolve("right"), names.resolve(0)
        (1, 0)
        >>> names.resolve(2)
        Traceback (most recent call last):
        rcpomdp.errors.ModelError: action 2 is not between 0 and 1
        """
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value in self:
            return self.index(value)
        if not 0 <= value < self._size:
            raise ModelError(f"{self._kind} {value} is not between 0 and {self._size - 1}")
        return int(value)

    def __contains__(self, value: object) -> bool:
        try:
            return value in self._index
        except TypeError:
            return False

    @overload
    def __getitem__(self, i: int) -> Hashable: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Hashable, ...]: ...
    def __getitem__(self, i: int | slice) -> Hashable | tuple[Hashable, ...]:
        if self._items is not None:
            return self._items[i]
        assert self._make is not None
        if isinstance(i, slice):
            return tuple(map(self._make, range(*i.indices(self._size))))
        if not -self._size <= i < self._size:
            raise IndexError(i)
        return self._make(i % self._size)

    def __iter__(self) -> Iterator[Hashable]:
        return (self[i] for i in range(self._size))

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        shown = ", ".join(repr(label) for label in self[:4])
        return f"Labels({shown}{', ...' if self._size > 4 else ''})"


def nearest(word: str, known: Iterable[str]) -> str:
    """`did_you_mean`, or nothing where so many names, or such long ones, would take long to compare.

    >>> nearest("rihgt", ["left", "right"]), nearest("rihgt", ["right", "x" * 10**6])
    ("; did you mean 'right'?", '')
    """
    names, letters = [], 0
    for name in known:
        letters += len(name)
        if letters * len(word) > _MOST_COMPARED:
            return ""
        names.append(name)
    return did_you_mean(word, names)


def listed(items: Any, what: str) -> tuple[Any, ...]:
    """The items of an iterable; anything else is refused with a sentence that starts with `what`."""
    try:
        iterator = iter(items)
    except TypeError:
        raise ModelError(f"{what} {short(items)}, not a list") from None
    return tuple(iterator)


def _first_repeated(items: Iterable[Hashable]) -> Hashable:
    seen: set[Hashable] = set()
    for item in items:
        if item in seen:
            return item
        seen.add(item)
    raise AssertionError("no item is repeated")
