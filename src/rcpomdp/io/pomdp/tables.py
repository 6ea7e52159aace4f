"""Tables that the statements of a `.pomdp` file fill, where later ones win.

`Probabilities` hold T or O: a log of cells and, per row, since when the log counts for it. `Values` hold R or a cost: a
log of statements over (action, state, next state, observation), any of which may be ``*``. The model's
``R(s, a) = Σ T(s, a, s') Z(s', a, o) R(a, s, s', o)`` looks up the last statement about each outcome that can happen.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..._types import BoolArray, FloatArray, IndexArray, IntArray
from ...errors import ModelFileError

ANY = -1  # index of a "*"
MOST_ENTRIES = 1 << 28  # held at once
_MOST_WRITTEN = 1 << 31  # written in all, so that no small file keeps a reader busy for ever
_COMPACT_FROM = 1 << 23  # entries below which a log is not looked through for what later ones have replaced
_CELLS = 1 << 20  # outcomes looked up at a time

Matrices = tuple[sp.csr_array[np.float64], ...]


class Probabilities:
    """Rows ``a * S + s`` of `width` probabilities, cell by cell as a file states them."""

    def __init__(self, n_actions: int, n_states: int, width: int, keyword: str) -> None:
        self.shape = (n_actions, n_states, width)
        self._keyword = keyword
        self._keys: list[IntArray] = []  # row * width + column
        self._values: list[FloatArray] = []
        self._length = self._compact = self._written = 0
        self._since: IntArray | None = None  # [A*S] length of the log when the row was last begun anew

    def put(self, rows: IntArray, columns: IntArray | IndexArray, values: FloatArray) -> None:
        """Write single cells."""
        self.check_room(len(rows))
        self._written += len(rows)
        self._keys.append(rows.astype(np.int64) * self.shape[2] + columns)
        self._values.append(values)
        self._length += len(rows)
        if self._length > max(_COMPACT_FROM, 2 * self._compact):
            self._resolve()

    def check_room(self, count: int) -> None:
        """Refuse what no memory holds, before it is made."""
        if self._compact + count > MOST_ENTRIES:
            raise ModelFileError(f"{self._keyword} has more than {MOST_ENTRIES:,} entries")
        if self._written + count > _MOST_WRITTEN:
            raise ModelFileError(f"{self._keyword} is stated again and again, {_MOST_WRITTEN:,} entries in all")

    def clear(self, rows: IntArray | slice) -> None:
        """Set whole rows to 0."""
        if isinstance(rows, slice) and rows == slice(None):
            self._keys, self._values, self._length, self._compact, self._since = [], [], 0, 0, None
            return
        if self._length:
            self._sinces()[rows] = self._length

    def put_batch(self, index: IndexArray, values: FloatArray) -> None:
        """Write cells (a, s, column), where a and s may be `ANY`; a column `ANY` sets the row to 0."""
        if not len(index):
            return
        spans = np.where(index[:, 0] == ANY, self.shape[0], 1) * np.where(index[:, 1] == ANY, self.shape[1], 1)
        upto = np.cumsum(spans)
        first = 0
        while first < len(index):
            before = upto[first - 1] if first else 0
            after = max(int(np.searchsorted(upto, before + _CELLS, side="right")), first + 1)
            self.check_room(int(upto[after - 1] - before))
            self._put_expanded(index[first:after], values[first:after], spans[first:after])
            first = after

    def _put_expanded(self, index: IndexArray, values: FloatArray, spans: IntArray) -> None:
        if (index[:, :2] == ANY).any():
            which = np.repeat(np.arange(len(index)), spans)
            turn = np.arange(len(which)) - np.repeat(np.cumsum(spans) - spans, spans)
            index, values = index[which], values[which]
            any_action, any_state = index[:, 0] == ANY, index[:, 1] == ANY
            index[any_action, 0] = np.where(any_state, turn // self.shape[1], turn)[any_action]
            index[any_state, 1] = (turn % self.shape[1])[any_state]
        rows = index[:, 0].astype(np.int64) * self.shape[1] + index[:, 1]
        is_clear = index[:, 2] == ANY
        if is_clear.any():
            cells = ~is_clear
            # Of several values for one row the last is the one that stays.
            self._sinces()[rows[is_clear]] = self._length + np.cumsum(cells)[is_clear]
            self.put(rows[cells], index[cells, 2], values[cells])
        else:
            self.put(rows, index[:, 2], values)

    def first_empty(self) -> int | None:
        """The first row without an entry that is not 0."""
        self._resolve()
        count = self.shape[0] * self.shape[1]
        if not self._length:
            return 0
        rows = self._keys[0] // self.shape[2]
        begins = rows[np.append(True, rows[1:] != rows[:-1])]
        gaps = np.flatnonzero(begins != np.arange(len(begins)))
        if gaps.size:
            return int(gaps[0])
        return None if len(begins) == count else len(begins)

    def matrices(self) -> list[sp.csr_array[np.float64]]:
        """One matrix [S, width] per action."""
        n_actions, n_states, width = self.shape
        self._resolve()
        keys = self._keys[0] if self._keys else np.empty(0, np.int64)
        values = self._values[0] if self._values else np.empty(0)
        self._keys, self._values = [], []
        pointer = np.searchsorted(keys, np.arange(n_actions * n_states + 1) * width)
        column = (keys % width).astype(np.int32)
        split = []
        for a in range(n_actions):
            own = pointer[a * n_states : (a + 1) * n_states + 1]
            cells = slice(own[0], own[-1])
            split.append(sp.csr_array((values[cells], column[cells], own - own[0]), shape=(n_states, width)))
        return split

    def _sinces(self) -> IntArray:
        if self._since is None:
            self._since = np.zeros(self.shape[0] * self.shape[1], np.int64)
        return self._since

    def _resolve(self) -> None:
        """Make the log one chunk, sorted by key, of the cells that count and are not 0."""
        if self._length == 0:
            return
        keys, values = np.concatenate(self._keys), np.concatenate(self._values)
        if self._since is not None:
            counts = np.arange(len(keys)) >= self._since[keys // self.shape[2]]
            keys, values = keys[counts], values[counts]
        if not (np.diff(keys) > 0).all():
            order = np.argsort(keys, kind="stable")
            keys, values = keys[order], values[order]
            last = np.append(keys[1:] != keys[:-1], True)
            keys, values = keys[last], values[last]
        present = values != 0
        if not present.all():
            keys, values = keys[present], values[present]
        self._keys, self._values, self._since = [keys], [values], None
        self._length = self._compact = len(keys)


class Values:
    """Statements about (action, state, next state, observation), each index or `ANY`, in their order."""

    def __init__(self, n_actions: int, n_states: int, n_observations: int, keyword: str) -> None:
        self.shape = (n_actions, n_states, n_states, n_observations)
        self._keyword = keyword
        self._index: list[IndexArray] = []  # each [n, 4]
        self._values: list[FloatArray] = []
        self._length = 0

    def put_batch(self, index: IndexArray, values: FloatArray) -> None:
        """Append statements."""
        if not len(values):
            return
        if self._length + len(values) > MOST_ENTRIES:
            raise ModelFileError(f"{self._keyword} has more than {MOST_ENTRIES:,} entries")
        self._index.append(index)
        self._values.append(values)
        self._length += len(values)

    def put(self, a: int, s: int, s_next: int, o: int, value: float) -> None:
        """Append one statement."""
        self.put_batch(np.array([[a, s, s_next, o]], np.int32), np.array([value]))

    @property
    def by_outcome(self) -> bool:
        """Return whether any statement names a next state or an observation."""
        return any(bool((index[:, 2:] != ANY).any()) for index in self._index)

    def expectation(self, transition: Matrices, observation: Matrices) -> FloatArray:
        """X[s, a] under the model's transitions and observations."""
        n_actions, n_states = self.shape[:2]
        laid = _Layers(self.shape, self._keyword)
        if self._length:
            laid.enter(np.concatenate(self._index), np.concatenate(self._values))
        self._index, self._values = [], []
        result = np.empty((n_states, n_actions))
        for a in range(n_actions):
            serial, value = laid.base(a)
            result[:, a] = value
            rows = laid.detailed_rows(a, transition[a])
            if rows.size:
                z = observation[a] if laid.by_observation else None
                _average(laid, a, rows, transition[a], z, serial, value, result)
        return result


class _Layers:
    """Statements grouped by which of their words are not ``*``; a group is sorted by these, the last of equals kept."""

    def __init__(self, shape: tuple[int, int, int, int], keyword: str) -> None:
        self._shape, self._keyword = shape, keyword
        # kind, a mask over the four words -> (keys, serial numbers, values)
        self._kinds: dict[tuple[bool, ...], tuple[IntArray, IntArray, FloatArray]] = {}

    @property
    def by_observation(self) -> bool:
        """Return whether any statement names an observation."""
        return any(kind[3] for kind in self._kinds)

    def enter(self, index: IndexArray, values: FloatArray) -> None:
        codes = (index != ANY) @ np.array([8, 4, 2, 1])
        for code in np.unique(codes):
            kind = tuple(bool(code & bit) for bit in (8, 4, 2, 1))
            serials = np.flatnonzero(codes == code)
            keys = self._keys(kind, *(index[serials, i] for i in range(4)))
            if not (np.diff(keys) > 0).all():
                order = np.argsort(keys, kind="stable")
                keys, serials = keys[order], serials[order]
                last = np.append(keys[1:] != keys[:-1], True)
                keys, serials = keys[last], serials[last]
            self._kinds[kind] = (keys, serials, values[serials])

    def base(self, a: int) -> tuple[IntArray, FloatArray]:
        """The last statement about all outcomes of each state under an action: serial number and value, [S] each."""
        states = np.arange(self._shape[1])
        serial, value = np.full(len(states), -1), np.zeros(len(states))
        for kind in self._kinds:
            if not (kind[2] or kind[3]):
                self._look_up(kind, (a, states, 0, 0), serial, value)
        return serial, value

    def detailed_rows(self, a: int, transition: sp.csr_array[np.float64]) -> IntArray:
        """States with statements about single outcomes, which `base` leaves out."""
        mask: BoolArray = np.zeros(self._shape[1], dtype=np.bool_)
        for kind, (keys, _, _) in self._kinds.items():
            if not (kind[2] or kind[3]):
                continue
            named = self._of_action(kind, a, keys)
            if not named.size:
                continue
            if kind[1]:
                mask[self._word(kind, 1, named)] = True
            elif kind[2]:
                target = np.zeros(self._shape[2], dtype=np.bool_)
                target[self._word(kind, 2, named)] = True
                mask |= np.bincount(
                    np.repeat(np.arange(self._shape[1]), np.diff(transition.indptr)),
                    target[transition.indices],
                    minlength=self._shape[1],
                ).astype(np.bool_)
            else:
                mask[:] = True
        return np.flatnonzero(mask)

    def details(
        self, a: int, s: IntArray, s_next: IntArray, o: IntArray | int, serial: IntArray, value: FloatArray
    ) -> None:
        """Replace serial number and value for each outcome by those of later statements about it alone."""
        for kind in self._kinds:
            if kind[2] or kind[3]:
                self._look_up(kind, (a, s, s_next, o), serial, value)

    def _look_up(
        self, kind: tuple[bool, ...], words: tuple[IntArray | int, ...], serial: IntArray, value: FloatArray
    ) -> None:
        keys, serials, values = self._kinds[kind]
        wanted = np.broadcast_to(self._keys(kind, *words), serial.shape)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        later = (keys[at] == wanted) & (serials[at] > serial)
        serial[later], value[later] = serials[at[later]], values[at[later]]

    def _keys(self, kind: tuple[bool, ...], *words: IntArray | IndexArray | int) -> IntArray:
        key: IntArray = np.zeros(1, np.int64)
        span = 1
        for is_named, word, size in zip(kind, words, self._shape, strict=True):
            if is_named:
                key = key * size + np.asarray(word, dtype=np.int64)
                span *= size
        if span >= 1 << 62:
            raise ModelFileError(f"{self._keyword} names more outcomes than can be told apart")
        return np.broadcast_to(key, np.broadcast_shapes(*(np.shape(word) for word in words), (1,)))

    def _of_action(self, kind: tuple[bool, ...], a: int, keys: IntArray) -> IntArray:
        """The keys that concern an action."""
        if not kind[0]:
            return keys
        span = self._span(kind, 0)
        first, after = np.searchsorted(keys, [a * span, (a + 1) * span])
        return keys[first:after]

    def _word(self, kind: tuple[bool, ...], i: int, keys: IntArray) -> IntArray:
        return keys // self._span(kind, i) % self._shape[i]

    def _span(self, kind: tuple[bool, ...], i: int) -> int:
        """Number of keys that share the words up to the i-th."""
        return int(np.prod([n for k, n in zip(kind[i + 1 :], self._shape[i + 1 :], strict=True) if k], dtype=np.int64))


def _average(
    laid: _Layers,
    a: int,
    rows: IntArray,
    transition: sp.csr_array[np.float64],
    observation: sp.csr_array[np.float64] | None,
    serial: IntArray,
    value: FloatArray,
    result: FloatArray,
) -> None:
    """Write the mean over outcomes of each row to result[:, a]; where all agree it is their value, to the bit."""
    branches = np.diff(transition.indptr)[rows].astype(np.int64)
    if observation is not None:
        # Outcomes per row: of each successor, its observations.
        seen = np.diff(observation.indptr).astype(np.float64)
        total = np.concatenate(([0.0], np.cumsum(seen[transition.indices])))
        branches = np.diff(total[transition.indptr])[rows].astype(np.int64)
    upto = np.cumsum(branches)
    first = 0
    while first < len(rows):
        before = upto[first - 1] if first else 0
        after = max(int(np.searchsorted(upto, before + _CELLS, side="right")), first + 1)
        part = rows[first:after]
        position, s_next, weight = _entries(transition, part)
        o: IntArray | int = 0
        if observation is not None:
            which, o, q = _entries(observation, s_next)
            position, s_next, weight = position[which], s_next[which], weight[which] * q
        cell_serial, cell_value = serial[part][position], value[part][position]
        laid.details(a, part[position], s_next, o, cell_serial, cell_value)
        low, high = np.full(len(part), np.inf), np.full(len(part), -np.inf)
        np.minimum.at(low, position, cell_value)
        np.maximum.at(high, position, cell_value)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused when the model is made
            mean = np.bincount(position, weight * cell_value, minlength=len(part))
        known = np.isfinite(low)  # a row without outcomes is refused when the model is made
        result[part[known], a] = np.where(low == high, low, mean)[known]
        first = after


def _entries(matrix: sp.csr_array[np.float64], rows: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """The entries of some rows: which of the rows, column, value."""
    begin = matrix.indptr[rows].astype(np.int64)
    count = matrix.indptr[rows + 1] - begin
    position = np.repeat(np.arange(len(rows)), count)
    at = np.arange(len(position)) - np.repeat(np.cumsum(count) - count, count) + begin[position]
    return position, matrix.indices[at].astype(np.int64), matrix.data[at]
