"""The statements of a `.pomdp` file but its pragmas: the header, then T, O and R."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray, IntArray
from ...errors import ModelFileError
from .names import MOST_ROWS, Declared, fault_of_name
from .statements import PROBABILITY, REAL, Statements, shown, unknown
from .tables import ANY, Probabilities, Values
from .tokens import Words, number, text

LISTS = ("states", "actions", "observations")
_KEYWORDS = ("discount", "values", *LISTS, "start", "T", "O", "R")


class Body(Statements):
    """All but the pragmas: the header, then T, O and R."""

    def __init__(self, words: Words, *, compiled: bool) -> None:
        super().__init__(words, compiled=compiled)
        self.declared: dict[str, Declared] = {}
        self.discount: float | None = None
        self.negated: bool | None = None  # whether values are costs
        self.start: FloatArray | None = None  # None is uniform
        self._was_reset = self._is_complete = False

    def read(self) -> None:
        """Read to the end of the file."""
        while word := self.words.peek():
            keyword = text(word)
            if keyword not in _KEYWORDS:
                self.words.error(unknown(word, _KEYWORDS), self.words.ahead())
            if keyword in ("T", "O", "R"):
                self._complete()
                if self._read_ahead():
                    continue
            getattr(self, f"_read_{'list' if keyword in LISTS else keyword}")()
        if self.discount is None:
            self.words.error("the file states no discount", self.words.ahead())
        self._complete()

    def _read_ahead(self) -> bool:
        """Have compiled code take what it can of T, O and R; False if that is nothing."""
        if self.bulk is None:
            return False
        states, actions, observations = (self.declared[kind] for kind in LISTS)
        read = self.bulk.tables(actions, states, observations, PROBABILITY[1], REAL[1])
        if read is None:
            return False
        transition, observation, reward = read
        self.transition.put_batch(*transition)
        self.observation.put_batch(*observation)
        self.reward.put_batch(*reward)
        return True

    def _complete(self) -> None:
        """Make the tables once states, actions and observations are declared; refuse a file that does not."""
        if self._is_complete:
            return
        for kind in LISTS:
            if kind not in self.declared:
                where = f" before its first {text(self.words.peek())!r}" if self.words.peek() else ""
                self.words.error(f"the file declares no {kind}{where}", self.words.ahead())
        states, actions, observations = (self.declared[kind] for kind in LISTS)
        self.transition = Probabilities(actions.size, states.size, states.size, "T")
        self.observation = Probabilities(actions.size, states.size, observations.size, "O")
        self.reward = Values(actions.size, states.size, observations.size, "R")
        self._is_complete = True

    def check_whole(self) -> None:
        """Refuse a file that leaves rows out, before anything is made for all of them."""
        for name, table in (("T", self.transition), ("O", self.observation)):
            if (row := table.first_empty()) is not None:
                a, s = divmod(row, table.shape[1])
                state, action = self.declared["states"].label(s), self.declared["actions"].label(a)
                raise ModelFileError(f"{name} of state {state} under action {action} is missing, or 0 throughout")

    # The header

    def _begin(self, is_new: bool) -> str:
        keyword = text(self.words.take())
        if not is_new:
            self.words.error(f"{keyword!r} is stated twice")
        self.colon(repr(keyword))
        return keyword

    def _read_discount(self) -> None:
        self._begin(self.discount is None)
        self.discount = self.number(REAL, "discount")
        if not 0 <= self.discount <= 1:
            self.words.error(f"discount {self.discount!r} is outside [0, 1]")

    def _read_values(self) -> None:
        self._begin(self.negated is None)
        if self.words.peek() not in (b"reward", b"cost"):
            self.fail_ahead("expected 'reward' or 'cost'")
        self.negated = self.words.take() == b"cost"

    def _read_list(self) -> None:
        kind = self._begin(text(self.words.peek()) not in self.declared)
        place = self.words.ahead()
        one = kind[:-1]
        if self.words.peek().isdigit():
            names, size = None, int(self.words.take())
            if size == 0:
                self.words.error(f"a model needs at least one {one}")
        else:
            names = self._names(one)
            size = len(names)
            if not names:
                self.fail_ahead(f"expected the number of {kind}, or their names")
        others = {other: declared.size for other, declared in self.declared.items()}
        rows = size * (others.get("actions", 1) if kind == "states" else others.get("states", 1))
        if size > MOST_ROWS or (kind != "observations" and rows > MOST_ROWS):
            what = kind if kind == "observations" else "states times actions"
            self.words.error(f"{size:,} {kind} are too many: at most {MOST_ROWS:,} {what} can be held", place)
        self.declared[kind] = Declared(one, names, size)

    def _names(self, kind: str) -> list[bytes]:
        """Words up to the next statement."""
        names: dict[bytes, None] = {}
        while word := self.words.peek():
            if text(word) in _KEYWORDS and self.words.peek_second() in (b":", b"include", b"exclude"):
                break
            self.words.take()
            if fault := fault_of_name(word):
                self.words.error(f"{text(word)!r} {fault}")
            if word in names:
                self.words.error(f"{kind} {text(word)!r} is declared twice")
            names[word] = None
        return list(names)

    def _read_start(self) -> None:
        second = self.words.peek_second()
        if "states" not in self.declared:
            self.words.error("'start' comes before 'states'", self.words.ahead())
        if self._was_reset:
            self.words.error("'start' comes after the first 'reset', which needs it", self.words.ahead())
        states = self.declared["states"]
        is_new = self.start is None
        if second in (b"include", b"exclude"):
            self.words.take()
            if not is_new:
                self.words.error("'start' is stated twice")
            self.words.take()
            self.colon(f"'start {text(second)}'")
            self.start = self._start_list(states, second == b"include")
            return
        self._begin(is_new)
        word = self.words.peek()
        if word == b"uniform":
            self.words.take()
            self.start = uniform(states.size)
        elif number(word) is None:
            self.start = _certain(states.size, self.index(states, wild=False))
        else:
            self.start = self._start_numbers(states, word)

    def _start_list(self, states: Declared, included: bool) -> FloatArray:
        chosen = np.full(states.size, not included)
        place = self.words.ahead()
        count = 0
        while word := self.words.peek():
            if text(word) in _KEYWORDS and self.words.peek_second() in (b":", b"include", b"exclude"):
                break
            chosen[self.index(states, wild=False)] = included
            count += 1
        if not count:
            self.fail_ahead("expected a state")
        if not chosen.any():
            self.words.error("'start exclude' leaves no state to start in", place)
        return chosen * (1.0 / int(chosen.sum()))

    def _start_numbers(self, states: Declared, first: bytes) -> FloatArray:
        """A vector; or an index, if it is the only number and a vector needs more."""
        second = self.words.peek_second()
        is_alone = states.size > 1 and number(second) is None
        if first.isdigit() and (is_alone or (states.size == 1 and int(first) == 0)):
            return _certain(states.size, self.index(states, wild=False))
        at, values = self.numbers(states.size, PROBABILITY, "probability", "'start'")
        vector = np.zeros(states.size)
        vector[at] = values
        return vector

    # Probabilities

    def _read_T(self) -> None:  # noqa: N802 - named by its keyword
        self._probabilities(self.transition, self.declared["states"])

    def _read_O(self) -> None:  # noqa: N802 - named by its keyword
        self._probabilities(self.observation, self.declared["observations"])

    def _probabilities(self, table: Probabilities, columns: Declared) -> None:
        actions, states = self.declared["actions"], self.declared["states"]
        name = text(self.words.take())
        self.colon(repr(name))
        a = self.index(actions)
        if self.words.peek() != b":":
            self._matrix(table, a, name, shown(actions, a))
            return
        self.words.take()
        s = self.index(states)
        if self.words.peek() != b":":
            whose = f"{name} of state {shown(states, s)} under action {shown(actions, a)}"
            rows = self._rows(table, a, s)
            self._put_rows(table, rows, *self._row(table, rows, name, whose))
            return
        self.words.take()
        column = self.index(columns)
        value = self.number(PROBABILITY, "probability")
        rows = self._rows(table, a, s)
        if column == ANY:
            self._put_rows(table, rows, *self._full(table, rows, value))
        else:
            count = _length(rows, table)
            table.check_room(count)
            table.put(_as_array(rows, table), np.full(count, column), np.full(count, value))

    def _matrix(self, table: Probabilities, a: int, name: str, action: str) -> None:
        _, n_states, width = table.shape
        word = self.words.peek()
        if word == b"identity":
            self.words.take()
            if n_states != width:
                self.words.error(f"'identity' needs as many observations as states, not {width:,} and {n_states:,}")
            at, values = np.arange(n_states) * (width + 1), np.ones(n_states)
        elif word in (b"uniform", b"reset"):
            rows = self._rows(table, a, ANY)
            self._put_rows(table, rows, *self._row(table, rows, name, ""))
            return
        else:
            at, values = self.numbers(n_states * width, PROBABILITY, "probability", f"{name} of action {action}")
        for own in range(table.shape[0]) if a == ANY else (a,):
            first = own * n_states
            table.clear(slice(first, first + n_states))
            table.put(first + at // width, at % width, values)

    def _row(self, table: Probabilities, rows: IntArray | slice, name: str, whose: str) -> tuple[IntArray, FloatArray]:
        """One distribution for some rows: the columns where it is not 0, and its values there."""
        word, width = self.words.peek(), table.shape[2]
        if word == b"uniform":
            self.words.take()
            return self._full(table, rows, 1.0 / width)
        if word == b"reset":
            self.words.take()
            if name != "T":
                self.words.error("'reset' is for T alone")
            self._was_reset = True
            start = uniform(width) if self.start is None else self.start
            at = np.flatnonzero(start)
            return at, start[at]
        return self.numbers(width, PROBABILITY, "probability", whose)

    def _rows(self, table: Probabilities, a: int, s: int) -> IntArray | slice:
        n_actions, n_states, _ = table.shape
        if s == ANY:
            return slice(None) if a == ANY else slice(a * n_states, (a + 1) * n_states)
        return np.arange(n_actions) * n_states + s if a == ANY else np.array([a * n_states + s])

    def _full(self, table: Probabilities, rows: IntArray | slice, value: float) -> tuple[IntArray, FloatArray]:
        """One value in all columns of some rows, in the form of `_row`."""
        if value == 0:
            return np.empty(0, np.int64), np.empty(0)
        width = table.shape[2]
        table.check_room(_length(rows, table) * width)
        return np.arange(width), np.full(width, value)

    def _put_rows(self, table: Probabilities, rows: IntArray | slice, at: IntArray, values: FloatArray) -> None:
        """Set whole rows to one distribution."""
        count = _length(rows, table)
        table.check_room(count * len(at))
        table.clear(rows)
        if len(at):
            table.put(np.repeat(_as_array(rows, table), len(at)), np.tile(at, count), np.tile(values, count))

    def _read_R(self) -> None:  # noqa: N802 - named by its keyword
        states, actions, observations = (self.declared[kind] for kind in LISTS)
        kinds = (actions, states, states, observations)
        self.values(self.reward, kinds, REAL, "cost" if self.negated else "reward")


def uniform(n: int) -> FloatArray:
    """The uniform distribution over n states."""
    return np.full(n, 1.0 / n)


def _certain(n: int, i: int) -> FloatArray:
    vector = np.zeros(n)
    vector[i] = 1.0
    return vector


def _length(rows: IntArray | slice, table: Probabilities) -> int:
    return len(range(*rows.indices(table.shape[0] * table.shape[1]))) if isinstance(rows, slice) else len(rows)


def _as_array(rows: IntArray | slice, table: Probabilities) -> IntArray:
    return np.arange(*rows.indices(table.shape[0] * table.shape[1])) if isinstance(rows, slice) else rows
