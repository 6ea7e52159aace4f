"""Pragmas: lines that begin with ``#!``, comments to other programs, with what `.pomdp` has no statement for.

Costs (``costs``, ``budget``, ``cost_discount``, ``step_limit``, ``C[k]``), the ``horizon``, labels of any kind
(``states``, ``actions``, ``observations``), terminal states (``terminal``), the model's ``name``, and marks of the
first and the last line, by which a file that was cut short is told (docs/formats.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from typing import Any

import numpy as np

from ..._types import BoolArray
from ...model.validation import count as plural
from .names import MOST_ROWS, Declared, fault_of_name
from .statements import COST, Statements, unknown
from .tables import Values
from .tokens import Words, number, text

VERSION = 1
_LISTS = ("states", "actions", "observations")
_KEYWORDS = (
    "rcpomdp",
    "name",
    *_LISTS,
    "terminal",
    "costs",
    "budget",
    "cost_discount",
    "step_limit",
    "horizon",
    "C[0]",
    "end",
)
_COST = re.compile(rb"C\[([^\[\]]+)\]")
DEEPEST = 8  # tuples in tuples
_LONGEST_HORIZON = 9  # digits


class Pragmas:
    """The facts of all pragmas of a file; those of an empty one unless `read`."""

    def __init__(self, declared: dict[str, Declared]) -> None:
        self._declared = declared
        self.name = ""
        self.labels: dict[str, list[Hashable]] = {}
        self.terminal: BoolArray | None = None
        self.cost_labels: list[Hashable] | None = None
        self.costs: list[Values] = []
        self.budget: list[float] | None = None
        self.cost_discount: list[float] | None = None
        self.step_limit: list[float] | None = None
        self.horizon: int | None = None
        self._costs: Declared | None = None
        self._seen: set[str] = set()

    def read(self, words: Words, *, compiled: bool) -> None:
        """Read to the end of the file."""
        self._words, self._from = words, Statements(words, compiled=compiled)
        while word := words.peek():
            keyword = text(word)
            if _COST.fullmatch(word):
                self._read_cost(word)
            elif keyword in _KEYWORDS:
                words.take()
                if keyword in self._seen and keyword not in (*_LISTS, "terminal"):
                    words.error(f"pragma {keyword!r} is stated twice")
                self._seen.add(keyword)
                self._from.colon(f"the pragma {keyword!r}")
                if keyword in _LISTS:
                    self.labels.setdefault(keyword, []).extend(self._json_list(f"labels of {keyword}"))
                else:
                    getattr(self, f"_read_{keyword}")()
            else:
                words.error(f"in a line that begins with '#!', {unknown(word, _KEYWORDS)}", words.ahead())
        if "rcpomdp" in self._seen and "end" not in self._seen:
            words.error("the file was cut short: its last line, '#! end: rcpomdp', is missing", words.ahead())

    def _read_rcpomdp(self) -> None:
        version = self._words.take()
        if not version.isdigit() or int(version) < 1:
            self._words.error(f"{text(version)!r} is no version of this format")
        if int(version) > VERSION:
            self._words.error("the file was written by a newer version of rcpomdp")

    def _read_end(self) -> None:
        if self._words.take() != b"rcpomdp":
            self._words.error("the last line should be '#! end: rcpomdp'")

    def _read_name(self) -> None:
        rest = self._words.rest_of_line()
        name = self._json(rest, "a name") if rest.startswith(b'"') else rest.decode()
        if not isinstance(name, str):
            self._words.error("a name must be text")
        self.name = name

    def _read_terminal(self) -> None:
        states = self._declared["states"]
        if self.terminal is None:
            self.terminal = np.zeros(states.size, dtype=np.bool_)
        while not self._words.at_line_end():
            self.terminal[self._from.index(states, wild=False)] = True

    def _read_costs(self) -> None:
        word = self._words.take()
        if not word.isdigit():
            self._words.error(f"expected the number of costs, found {text(word)!r}")
        count = int(word)
        rows = self._declared["states"].size * self._declared["actions"].size
        if count * rows > MOST_ROWS:
            self._words.error(f"{count:,} costs are too many for this model")
        names: list[bytes] | None = None
        if not self._words.at_line_end() and self._words.peek().startswith(b"["):
            self.cost_labels = self._json_list("labels of costs")
            given = len(self.cost_labels)
        else:
            names = []
            while not self._words.at_line_end():
                name = self._words.take()
                if fault := fault_of_name(name):
                    self._words.error(f"{text(name)!r} {fault}")
                if name in names:
                    self._words.error(f"cost {text(name)!r} is declared twice")
                names.append(name)
            given = len(names)
            names = names or None
            self.cost_labels = None if names is None else [name.decode() for name in names]
        if self.cost_labels is not None and given != count:
            self._words.error(f"{plural(given, 'name')} given for {plural(count, 'cost')}")
        self._costs = Declared("cost", names, count)
        sizes = [self._declared[kind].size for kind in ("actions", "states", "observations")]
        self.costs = [Values(sizes[0], sizes[1], sizes[2], f"C[{k}]") for k in range(count)]

    def _read_budget(self) -> None:
        self.budget = self._per_cost("budget", "budget")

    def _read_cost_discount(self) -> None:
        self.cost_discount = self._per_cost("cost_discount", "cost discount")
        for value in self.cost_discount:
            if value > 1:
                self._words.error(f"cost discount {value:.12g} is above 1")

    def _read_step_limit(self) -> None:
        self.step_limit = self._per_cost("step_limit", "step limit")

    def _read_horizon(self) -> None:
        word = self._words.take()
        if not word.isdigit() or len(word) > _LONGEST_HORIZON or int(word) < 1:
            self._words.error(f"the horizon is {text(word)!r}, not a number of steps")
        self.horizon = int(word)

    def _per_cost(self, keyword: str, what: str) -> list[float]:
        """A number of at least 0 for each cost."""
        if self._costs is None:
            self._words.error(f"{keyword!r} comes before 'costs'")
        values: list[float] = []
        for k in range(self._costs.size):
            word = self._words.peek()
            value = float("inf") if word == b"inf" else number(word)
            if value is None:
                self._from.fail_ahead(f"expected {what} {k + 1} of {self._costs.size}, a number or 'inf'")
            self._words.take()
            if value < 0:
                self._words.error(f"{what} {value:.12g} is below 0")
            if word != b"inf" and value == float("inf"):
                self._words.error(f"{what} {text(word)!r} is too large; write 'inf' for unlimited")
            values.append(value)
        return values

    def _read_cost(self, word: bytes) -> None:
        if self._costs is None:
            self._words.error(f"{text(word)!r} comes before 'costs'", self._words.ahead())
        k = self._costs.find(word[2:-1])
        if isinstance(k, str):
            self._words.error(k, self._words.ahead())
        states, actions, observations = (self._declared[kind] for kind in _LISTS)
        kinds = (actions, states, states, observations)
        read = self._from.bulk.statements(word, kinds, COST) if self._from.bulk is not None else None
        if read is not None:
            self.costs[k].put_batch(*read)
        else:
            self._from.values(self.costs[k], kinds, COST, "cost")

    # Values that are JSON

    def _json_list(self, what: str) -> list[Hashable]:
        value = self._json(self._words.rest_of_line(), what)
        if not isinstance(value, list):
            self._words.error(f"{what} must be a JSON list on one line")
        return [_label(item) for item in value]

    def _json(self, source: bytes, what: str) -> Any:
        try:
            value = json.loads(source, parse_constant=_no_number)
            if _depth(value, DEEPEST + 2) > DEEPEST + 1:  # the list of labels is one
                raise RecursionError
        except RecursionError:
            self._words.error(f"{what} are nested too deeply")
        except ValueError as error:
            reason = getattr(error, "msg", None) or str(error)
            reason = "a number has too many digits" if "digits" in reason else reason
            self._words.error(f"{what} must be JSON: {reason}")
        return value


def _no_number(word: str) -> float:
    """NaN and Infinity are no JSON, and no label."""
    raise ValueError(f"{word} is no label")


def _depth(value: Any, most: int) -> int:
    if isinstance(value, dict):
        raise ValueError("an object is no label")
    if not isinstance(value, list) or not most:
        return 0
    return 1 + max((_depth(item, most - 1) for item in value), default=0)


def _label(value: Any) -> Hashable:
    """Lists are tuples, which can be labels."""
    return tuple(map(_label, value)) if isinstance(value, list) else value
