"""Statements of a `.pomdp` file, straight from its bytes.

Kernels read what is regular and stop, before the statement or number, at the first thing that is not: a reader that can
say what is wrong takes over there. They never refuse anything, and take only what that reader would take too.
Numbers that are "hard" (`decimals.py`) are estimated, and the caller is told where they stand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import AnyArray, FloatArray, IndexArray, IntArray
from ..jit import inner, kernel
from .decimals import blank, digit, number

_NEWLINE, _HASH, _STAR, _COLON, _T, _O, _R = b"\n#*:TOR"
_HASH_START, _HASH_FACTOR = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a

ANY = -1  # index of a "*"
_UNKNOWN = -2


class Names(NamedTuple):
    """Names declared in a file, and a hash table of them."""

    text: AnyArray  # [.] uint8, all names end to end
    begin: IntArray  # [n + 1] where each starts; n is 0 if there are none, only indices
    table: IndexArray  # [2^i] index of a name, or -1
    size: int  # how many indices there are


class Batch(NamedTuple):
    """Room for what a kernel reads."""

    words: IndexArray  # [n, 4] the words of each statement as indices
    value: FloatArray  # [n]
    hard: IntArray  # [n, 3] which value is left to the caller, and where its text begins and ends


@kernel
def fill_table(text: AnyArray, begin: IntArray, table: IndexArray) -> None:
    """Enter names, no two alike, into an empty table."""
    mask = np.uint64(len(table) - 1)
    for n in range(len(begin) - 1):
        slot = _hash(text, begin[n], begin[n + 1]) & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = n


@kernel
def read_numbers(
    text: AnyArray, start: int, count: int, lowest: float, highest: float, batch: Batch
) -> tuple[int, int, int]:
    """Read up to `count` numbers between the limits; return the position after them, how many, how many are hard."""
    i, n, hard = start, 0, 0
    while n < count:
        after, _, hard = _take(text, _skip(text, i), lowest, highest, batch, n, hard)
        if after < 0:
            break
        n += 1
        i = after
    return i, n, hard


@kernel
def read_statements(
    text: AnyArray,
    start: int,
    keyword: AnyArray,
    words: int,
    wild_last: bool,
    actions: Names,
    states: Names,
    last: Names,
    lowest: float,
    highest: float,
    batch: Batch,
) -> tuple[int, int, int]:
    """Read statements ``keyword: a : s : ... number``, or with a row of numbers in place of the last word.

    Of `words` words the first is an action, the last one of `last`, all others are states. Each may be ``*``, the last
    if `wild_last`. A row is the statement that its cells are 0, and one for each that is not. Returns the position
    after the statements, their number, and how many values are hard.
    """
    i, n, hard = start, 0, 0
    while True:
        j = _after_keyword(text, _skip(text, i), keyword)
        if j < 0:
            break
        j, n, hard = _statement(text, j, words, wild_last, actions, states, last, lowest, highest, batch, n, hard)
        if j < 0:
            break
        i = j
    return i, n, hard


@kernel
def read_tables(
    text: AnyArray,
    start: int,
    actions: Names,
    states: Names,
    observations: Names,
    highest: float,
    largest: float,
    t: Batch,
    o: Batch,
    r: Batch,
    counts: IntArray,
) -> int:
    """Read statements of T, O and R as they come; return the position after them.

    counts[i] says of the i-th batch how many statements it holds, and how many values are hard. Probabilities go up to
    `highest`, rewards up to `largest` either way.
    """
    i = start
    while True:
        begin = _skip(text, i)
        if begin >= len(text):
            break
        j = _skip(text, begin + 1)
        k = 0 if text[begin] == _T else 1 if text[begin] == _O else 2
        n, hard = counts[k]
        if text[begin] == _T:
            j, n, hard = _statement(text, j, 3, False, actions, states, states, 0.0, highest, t, n, hard)
        elif text[begin] == _O:
            j, n, hard = _statement(text, j, 3, False, actions, states, observations, 0.0, highest, o, n, hard)
        elif text[begin] == _R:
            j, n, hard = _statement(text, j, 4, True, actions, states, observations, -largest, largest, r, n, hard)
        else:
            j = -1
        if j < 0:
            break
        counts[k, 0], counts[k, 1] = n, hard
        i = j
    return i


@inner
def _statement(
    text: AnyArray,
    i: int,
    words: int,
    wild_last: bool,
    actions: Names,
    states: Names,
    last: Names,
    lowest: float,
    highest: float,
    batch: Batch,
    n: int,
    hard: int,
) -> tuple[int, int, int]:
    """Read a statement from its first colon on; return the position after it, or -1, and the counts."""
    if n >= len(batch.value):
        return -1, n, hard
    i, found = _words(text, i, words, wild_last, actions, states, last, batch.words, n)
    if found == words:
        i, _, hard = _take(text, i, lowest, highest, batch, n, hard)
        return i, n + (i >= 0), hard
    is_colon = i < len(text) and text[i] == _COLON
    if found == words - 1 and not is_colon and n + last.size < len(batch.value):
        return _row(text, i, found, last.size, lowest, highest, batch, n, hard)
    return -1, n, hard


@inner
def _after_keyword(text: AnyArray, i: int, keyword: AnyArray) -> int:
    """Position where the word after the keyword begins, or -1."""
    if i + len(keyword) >= len(text):
        return -1
    for k in range(len(keyword)):
        if text[i + k] != keyword[k]:
            return -1
    return _skip(text, i + len(keyword))


@inner
def _words(
    text: AnyArray,
    i: int,
    words: int,
    wild_last: bool,
    actions: Names,
    states: Names,
    last: Names,
    out: IndexArray,
    n: int,
) -> tuple[int, int]:
    """Write words, a colon before each, to out[n]; return the position after them and how many are known."""
    end, found = len(text), 0
    while found < words and i < end and text[i] == _COLON:
        begin = _skip(text, i + 1)
        j = begin
        while j < end and _in_word(text[j]):
            j += 1
        if begin < end and text[begin] == _STAR:
            j += 1
            index = ANY if wild_last or found < words - 1 else _UNKNOWN
        elif found == 0:
            index = _index(text, begin, j, actions)
        elif found == words - 1:
            index = _index(text, begin, j, last)
        else:
            index = _index(text, begin, j, states)
        if index == _UNKNOWN:
            return i, found
        out[n, found] = index
        found += 1
        i = _skip(text, j)
    return i, found


@inner
def _row(
    text: AnyArray, i: int, found: int, width: int, lowest: float, highest: float, batch: Batch, n: int, hard: int
) -> tuple[int, int, int]:
    """Read a row whose words are in batch.words[n]; return the position after it, or -1, and the counts."""
    batch.words[n, found], batch.value[n] = ANY, 0.0
    at, at_hard = n + 1, hard
    for column in range(width):
        i, matters, at_hard = _take(text, _skip(text, i), lowest, highest, batch, at, at_hard)
        if i < 0:
            return -1, n, hard
        if matters:
            for k in range(found):
                batch.words[at, k] = batch.words[n, k]
            batch.words[at, found] = column
            at += 1
    return i, at, at_hard


@inner
def _take(
    text: AnyArray, begin: int, lowest: float, highest: float, batch: Batch, n: int, hard: int
) -> tuple[int, bool, int]:
    """Read a number into batch.value[n]; return the position after it or -1, whether it is not 0, the hard ones."""
    after, value, is_hard = number(text, begin)
    if after < 0 or not lowest <= value <= highest:
        return -1, False, hard
    batch.value[n] = value
    if is_hard:
        batch.hard[hard, 0], batch.hard[hard, 1], batch.hard[hard, 2] = n, begin, after
    return after, value != 0 or np.signbit(value), hard + is_hard


@inner
def _in_word(byte: int) -> bool:
    return not (blank(byte) or byte in (_COLON, _STAR, _HASH))


@inner
def _skip(text: AnyArray, i: int) -> int:
    """Position where the next word begins, after blanks and comments."""
    end = len(text)
    while i < end:
        if text[i] == _HASH:
            while i < end and text[i] != _NEWLINE:
                i += 1
        elif not blank(text[i]):
            break
        else:
            i += 1
    return i


@inner
def _index(text: AnyArray, begin: int, end: int, names: Names) -> int:
    """Index of a word: one that is all digits, or a declared name."""
    if begin == end:
        return _UNKNOWN
    if digit(text, begin):
        index = 0
        for i in range(begin, end):
            if not digit(text, i):
                return _UNKNOWN
            index = min(10 * index + (text[i] - 48), names.size)
        return index if index < names.size else _UNKNOWN
    if len(names.begin) < 2:
        return _UNKNOWN
    mask = np.uint64(len(names.table) - 1)
    slot = _hash(text, begin, end) & mask
    while names.table[slot] >= 0:
        n = names.table[slot]
        first = names.begin[n]
        if names.begin[n + 1] - first == end - begin:
            same = True
            for k in range(end - begin):
                same = same and names.text[first + k] == text[begin + k]
            if same:
                return int(n)
        slot = (slot + np.uint64(1)) & mask
    return _UNKNOWN


@inner
def _hash(text: AnyArray, begin: int, end: int) -> np.uint64:
    code = _HASH_START
    for i in range(begin, end):
        code = (code ^ np.uint64(text[i])) * _HASH_FACTOR
    return code
