"""The variables of a PomdpX file and its tables, kept sparse.

A table has a column for each parent and, but for rewards, one more for the variable itself. An entry names a value for
each column, or ``-`` (the numbers run over its values, the last column fastest) or ``*`` (the numbers hold for each of
its values), and so sets every cell of a box. A later entry takes the place of an earlier one; a cell of no entry is 0.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._types import BoolArray, FloatArray, IntArray
from ...errors import ModelError
from ...model.labels import nearest
from ...model.validation import ROW_TOLERANCE, count
from ..numbers_in_text import number, whole
from ..safe_xml import at_line, brief

MOST_CELLS = 20_000_000  # that the entries of a table may set, and that a joint distribution may have
_FULL_TABLES = 4  # that a file may have: initial belief, transition, observation and reward of a large flat model
_MOST_COLUMNS = 64
_MOST_WORK = 1_000_000_000  # cells, times forms of entries, times columns: to find what later entries replace
_LARGEST_KEY = 2**62
_EXACT = 1e-12  # as for a model: sums this near to 1 are left as they are
_EACH, _ALL = "-", "*"


def refuse(line: int, sentence: str) -> ModelError:
    """A complaint about a line of the file."""
    return ModelError(at_line(line, sentence))


class Variable(NamedTuple):
    """A name and its values, listed or numbered."""

    name: str
    size: int
    values: tuple[str, ...] | None  # None: the letter and a number
    letter: str
    places: dict[str, int]  # of the values, if they are listed

    @classmethod
    def numbered(cls, name: str, size: int, letter: str) -> Variable:
        """With the values s0, s1, ... for the letter s."""
        return cls(name, size, None, letter, {})

    @classmethod
    def listed(cls, name: str, values: Sequence[str], letter: str) -> Variable:
        """With values of any name."""
        return cls(name, len(values), tuple(values), letter, {value: i for i, value in enumerate(values)})

    def value(self, i: int) -> str:
        """The name of a value."""
        return f"{self.letter}{i}" if self.values is None else self.values[i]

    def find(self, word: str, line: int) -> int:
        """The place of a value; an unknown one is refused."""
        if self.values is not None and word in self.places:
            return self.places[word]
        if self.values is None and word.startswith(self.letter):
            i = whole(word[len(self.letter) :])
            if i is not None and i < self.size and word == self.value(i):
                return i
        if self.values is None:
            hint = f", which are {self.value(0)} to {self.value(self.size - 1)}"
        else:
            hint = nearest(word, self.values)
        raise refuse(line, f"value {brief(word)} is not one of variable {self.name!r}{hint}")


class Room:
    """The number of cells that the entries of a file may still set."""

    def __init__(self) -> None:
        self._left = _FULL_TABLES * MOST_CELLS

    def take(self, cells: int, name: str, line: int) -> None:
        """Refuse what does not fit, before there is an array of it."""
        self._left -= cells
        if self._left < 0:
            most = f"{_FULL_TABLES * MOST_CELLS:,}"
            raise refuse(line, f"with this entry of {name!r} the file sets more than {most} cells")


class Rows(NamedTuple):
    """A conditional distribution by the key of its parents' values, in increasing order."""

    keys: IntArray  # [n]
    start: IntArray  # [n + 1]
    value: IntArray  # [cells] of the variable
    probability: FloatArray  # [cells]
    total: FloatArray  # [n] what was given, before it was rescaled


class Table:
    """The entries of one ``<CondProb>`` or ``<Func>``."""

    def __init__(self, name: str, columns: Sequence[Variable], line: int, room: Room, of_numbers: bool = False) -> None:
        self.name = name
        self._room = room
        self.columns = tuple(columns)
        self.line = line
        self.of_numbers = of_numbers  # values of any size, and no column for the variable itself
        self.parents = self.columns if of_numbers else self.columns[:-1]
        sizes = [column.size for column in columns]
        if len(columns) > _MOST_COLUMNS or math.prod(sizes) > _LARGEST_KEY:
            raise refuse(line, f"the table of {name!r} has too many parents to be held")
        self._strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
        self._index, self._value, self._entry = array("q"), array("d"), array("q")
        self._boxes: dict[int, tuple[array[int], array[int]]] = {}  # by fixed columns: corners and entries
        self._n_entries = 0
        self._recent: tuple[list[int], IntArray] = ([], np.zeros(1, dtype=np.int64))

    def add(self, instance: Sequence[str], numbers: Sequence[str], instance_line: int, line: int) -> None:
        """Take in one entry; a complaint about it names the line of its instance or of its numbers."""
        if len(instance) != len(self.columns):
            names = ", ".join(column.name for column in self.columns) or "none"
            found = count(len(instance), "value")
            raise refuse(instance_line, f"the instance has {found}, but {len(self.columns)} are needed: {names}")
        corner, fixed = 0, 0
        each: list[int] = []
        every: list[int] = []
        for i, (word, column) in enumerate(zip(instance, self.columns, strict=True)):
            if word == _EACH:
                each.append(i)
            elif word == _ALL:
                every.append(i)
            else:
                corner += column.find(word, instance_line) * self._strides[i]
                fixed |= 1 << i
        corners, entries = self._boxes.setdefault(fixed, (array("q"), array("q")))
        corners.append(corner)
        entries.append(self._n_entries)
        if not each and not every and len(numbers) == 1:  # most entries, and the rest would be slow for them
            self._take_room(1, line)
            self._index.append(corner)
            self._value.append(self._number(numbers[0], line))
            self._entry.append(self._n_entries)
        else:
            repeats = math.prod(self.columns[i].size for i in every)
            cells, values = self._block(numbers, each, line, repeats)
            if every:
                cells = (self._offsets(every)[:, None] + cells).ravel()
                values = np.tile(values, repeats)
            cells = cells + corner
            self._index.frombytes(cells.tobytes())
            self._value.frombytes(values.tobytes())
            self._entry.frombytes(np.full(cells.size, self._n_entries, dtype=np.int64).tobytes())
        self._n_entries += 1

    def _block(self, numbers: Sequence[str], each: list[int], line: int, repeats: int) -> tuple[IntArray, FloatArray]:
        """Offsets and values of the cells that the numbers, or the word in their place, stand for."""
        size = math.prod(self.columns[i].size for i in each)
        word = numbers[0] if len(numbers) == 1 else ""
        if self.of_numbers and word in ("identity", "uniform"):
            raise refuse(line, f"{word!r} stands for probabilities, and this is a table of numbers")
        if word == "identity":
            if len(each) != 2 or self.columns[each[0]].size != self.columns[each[1]].size:
                raise refuse(line, "'identity' needs an instance with two '-', for variables with as many values")
            n = self.columns[each[0]].size
            self._take_room(n * repeats, line)
            return np.arange(n) * (self._strides[each[0]] + self._strides[each[1]]), np.ones(n)
        if word == "uniform":
            if len(self.columns) - 1 not in each:
                raise refuse(line, f"'uniform' needs an instance with '-' for {self.name!r}")
            self._take_room(size * repeats, line)
            return self._offsets(each), np.full(size, 1.0 / self.columns[-1].size)
        if len(numbers) != size:
            raise refuse(line, f"the table has {count(len(numbers), 'number')}, but its instance asks for {size}")
        self._take_room(size * repeats, line)
        return self._offsets(each), np.array([self._number(word, line) for word in numbers])

    def _take_room(self, cells: int, line: int) -> None:
        if cells > MOST_CELLS - len(self._index):
            raise refuse(line, f"with this entry the table of {self.name!r} sets more than {MOST_CELLS:,} cells")
        self._room.take(cells, self.name, line)

    def _offsets(self, columns: list[int]) -> IntArray:
        """Of all combinations of values of some columns, the last fastest."""
        if self._recent[0] != columns:  # mostly the same as for the last entry
            offsets = np.zeros(1, dtype=np.int64)
            for i in columns:
                offsets = (offsets[:, None] + np.arange(self.columns[i].size) * self._strides[i]).ravel()
            self._recent = columns, offsets
        return self._recent[1]

    def _number(self, word: str, line: int) -> float:
        value = number(word)
        if value is None:
            raise refuse(line, f"{brief(word)} is not a finite number")
        if not self.of_numbers and not 0 <= value <= 1 + ROW_TOLERANCE:
            raise refuse(line, f"probability {value:.12g} of {self.name!r} is {'below 0' if value < 0 else 'above 1'}")
        return value

    def cells(self) -> tuple[IntArray, FloatArray]:
        """Index and value of every cell that is set, in increasing order; zeros are left out."""
        index, entry = (np.frombuffer(part, dtype=np.int64) for part in (self._index, self._entry))
        value = np.frombuffer(self._value, dtype=np.float64)
        if len(self._boxes) * index.size * len(self.columns) > _MOST_WORK:
            raise refuse(self.line, f"the entries of {self.name!r} have too many different forms")
        kept = np.ones(index.size, dtype=bool)
        for fixed, (corners, entries) in self._boxes.items():
            key, last = _last_of_each(np.frombuffer(corners, dtype=np.int64), np.frombuffer(entries, dtype=np.int64))
            place, found = _find(key, self._corner(index, fixed))
            kept &= ~(found & (last[place] > entry))
        kept &= (value != 0) | np.signbit(value)  # a model's numbers may be -0.0
        index, value = index[kept], value[kept]
        order = np.argsort(index)
        return index[order], value[order]

    def _corner(self, index: IntArray, fixed: int) -> IntArray:
        """The index with the columns that are not fixed set to their first value."""
        corner = index.copy()
        for i, column in enumerate(self.columns):
            if not fixed >> i & 1 and column.size > 1:
                corner -= index // self._strides[i] % column.size * self._strides[i]
        return corner

    def rows(self) -> Rows:
        """The distributions, each rescaled to sum to 1 if it is off by rounding."""
        index, probability = self.cells()
        parent, value = np.divmod(index, self.columns[-1].size)
        keys, start = np.unique(parent, return_index=True)
        total = np.add.reduceat(probability, start) if keys.size else np.zeros(0)
        length = np.diff(np.append(start, index.size))
        off = np.abs(total - 1)
        scale = np.where((off > _EXACT) & (off <= ROW_TOLERANCE), total, 1.0)
        return Rows(keys, np.append(start, index.size), value, probability / np.repeat(scale, length), total)

    def look_up(self, rows: Rows, parent: Mapping[str, IntArray], key: IntArray) -> IntArray:
        """The place of each key, made of the parents' values, among the rows.

        A row that is missing or no distribution is refused, and named by its parents' values.
        """
        place, found = _find(rows.keys, key)
        wrong = ~found
        if rows.keys.size:
            wrong |= np.abs(rows.total[place] - 1) > ROW_TOLERANCE
        if wrong.any():
            i = int(np.argmax(wrong))
            total = float(rows.total[place[i]]) if found[i] else 0.0
            given = ", ".join(f"{p.name} {p.value(int(parent[p.name][i]))}" for p in self.parents)
            where = f" given {given}" if given else ""
            raise refuse(self.line, f"the probabilities of {self.name!r}{where} sum to {total:.12g}, not 1")
        return place

    def values_at(self, key: IntArray) -> FloatArray:
        """The number in each cell of a table of numbers."""
        index, value = self.cells()
        place, found = _find(index, key)
        found_values: FloatArray = np.where(found, value[place], 0.0) if value.size else np.zeros(key.size)
        return found_values


def _last_of_each(corners: IntArray, entries: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct corners in increasing order, and the last entry of each."""
    order = np.argsort(corners, kind="stable")
    ordered = corners[order]
    is_last = np.append(ordered[1:] != ordered[:-1], True)
    return ordered[is_last], entries[order][is_last]


def _find(known: Any, key: IntArray) -> tuple[IntArray, BoolArray]:
    """The place of each key among increasing known ones, and whether it is there."""
    if not known.size:
        return np.zeros(key.size, dtype=np.int64), np.zeros(key.size, dtype=bool)
    place = np.minimum(np.searchsorted(known, key), known.size - 1)
    return place, known[place] == key
