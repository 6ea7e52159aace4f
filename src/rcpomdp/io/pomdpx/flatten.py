"""From the factored model of a PomdpX file to a flat one.

``T(s' | s, a) = Π_i P(x_i' | parents)`` with parents among the actions, the variables before and, in an order without
cycles, the other variables after. The joint distribution is made variable by variable, and only what is possible is
ever held. An observation is what the fully observed variables have become together with the observation variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._types import FloatArray, IntArray
from ...model.labels import Labels
from .tables import MOST_CELLS, Table, Variable, refuse


class StateVariable(NamedTuple):
    """A state variable under its two names."""

    before: Variable
    after: Variable
    observed: bool


@dataclass
class Factored:
    """All that a PomdpX file says."""

    states: list[StateVariable] = field(default_factory=list)
    actions: list[Variable] = field(default_factory=list)
    observations: list[Variable] = field(default_factory=list)
    rewards: list[str] = field(default_factory=list)
    initial: dict[str, Table] = field(default_factory=dict)
    transition: dict[str, Table] = field(default_factory=dict)
    observation: dict[str, Table] = field(default_factory=dict)
    reward: dict[str, Table] = field(default_factory=dict)

    @property
    def seen(self) -> list[Variable]:
        """The variables that make up an observation."""
        return [variable.after for variable in self.states if variable.observed] + self.observations


class _Joint(NamedTuple):
    """Records of a joint distribution, by increasing rows."""

    owner: IntArray  # row of each
    packed: IntArray  # values of the variables that were joined
    probability: FloatArray


class _Radix:
    """Variables packed into one number, the last fastest."""

    def __init__(self, variables: Iterable[Variable]) -> None:
        self.variables = tuple(variables)
        self.size = math.prod(v.size for v in self.variables)
        self._place: dict[str, tuple[int, int]] = {}
        stride = self.size
        for v in self.variables:
            stride //= v.size
            self._place[v.name] = stride, v.size

    def __contains__(self, name: str) -> bool:
        return name in self._place

    def value(self, name: str, packed: IntArray) -> IntArray:
        """The value of one variable."""
        stride, size = self._place[name]
        return packed // stride % size

    def weighted(self, name: str, value: IntArray) -> IntArray:
        """The part that a variable's value adds to the packed number."""
        return value * self._place[name][0]

    def pack(self, value: Callable[[str], IntArray], n: int) -> IntArray:
        """The packed number for the values of each variable."""
        packed = np.zeros(n, dtype=np.int64)
        for v in self.variables:
            packed = packed * v.size + value(v.name)
        return packed


def flatten(factored: Factored) -> dict[str, Any]:
    """The parts of ``CPOMDP(...)`` but the discount and the costs."""
    before = _Radix(v.before for v in factored.states)
    after = _Radix(v.after for v in factored.states)
    words, seen = _Radix(factored.observations), _Radix(factored.seen)
    n, m = before.size, math.prod(v.size for v in factored.actions)
    start = _join(1, _Radix(()), _in_order(factored.initial), before)
    belief = np.zeros(n)
    belief[start.packed] = start.probability
    rows = _Radix([*factored.actions, *before.variables])  # number a*S + s
    moved = _join(n * m, rows, _in_order(factored.transition), after)
    arrivals = _Radix([*factored.actions, *after.variables])
    told = _join(n * m, arrivals, list(factored.observation.values()), words)
    heard = seen.pack(
        lambda name: words.value(name, told.packed) if name in words else after.value(name, told.owner),
        told.owner.size,
    )
    reward: FloatArray | None = None
    for table in factored.reward.values():
        part = _expected(table, rows, after, words, moved, told)
        with np.errstate(over="ignore", invalid="ignore"):  # the model refuses what is not finite
            reward = part if reward is None else reward + part  # never 0 + part, which would lose a -0.0
    assert reward is not None  # the reader has asked for one
    return {
        "transition": _matrices(moved.owner, moved.packed, moved.probability, m, (n, n)),
        "observation": _matrices(told.owner, heard, told.probability, m, (n, seen.size)),
        "reward": np.ascontiguousarray(reward.reshape(m, n).T),
        "initial_belief": belief,
        "states": _labels(before.variables, "state"),
        "actions": _labels(factored.actions, "action"),
        "observations": _labels(factored.seen, "observation"),
    }


def _in_order(tables: Mapping[str, Table]) -> list[Table]:
    """Tables so that each comes after those of its parents."""
    done: dict[str, Table] = {}
    left = dict(tables)
    while left:
        ready = [name for name, t in left.items() if not any(p.name in left and p.name != name for p in t.parents)]
        if not ready:
            circle = ", ".join(map(repr, left))
            raise refuse(next(iter(left.values())).line, f"the parents of {circle} go round in a circle")
        for name in ready:
            done[name] = left.pop(name)
    return list(done.values())


def _join(n_rows: int, rows: _Radix, tables: Sequence[Table], joined: _Radix) -> _Joint:
    """The product of conditional distributions of the `joined` variables, for every row."""
    owner, packed = np.arange(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)
    probability = np.ones(n_rows)
    for table in tables:
        parent = {
            p.name: rows.value(p.name, owner) if p.name in rows else joined.value(p.name, packed) for p in table.parents
        }
        given = table.rows()
        place = table.look_up(given, parent, _Radix(table.parents).pack(parent.__getitem__, owner.size))
        record, cell = _ragged(given.start, place, table)
        owner, probability = owner[record], probability[record] * given.probability[cell]
        packed = packed[record] + joined.weighted(table.name, given.value[cell])
    return _Joint(owner, packed, probability)


def _ragged(start: IntArray, place: IntArray, table: Table) -> tuple[IntArray, IntArray]:
    """For rows of cells: whose row each cell is, and its own place; too many are refused."""
    first, length = start[place], start[place + 1] - start[place]
    if length.sum() > MOST_CELLS:
        raise refuse(table.line, f"with {table.name!r} there are more than {MOST_CELLS:,} possible outcomes")
    record = np.repeat(np.arange(place.size), length)
    within = np.arange(record.size) - np.repeat(np.cumsum(length) - length, length)
    return record, first[record] + within


def _expected(table: Table, rows: _Radix, after: _Radix, words: _Radix, moved: _Joint, told: _Joint) -> FloatArray:
    """A reward by row, its expectation over what follows if it depends on that."""
    key = _Radix(table.parents)
    if all(p.name in rows for p in table.parents):
        here = np.arange(rows.size)
        return table.values_at(key.pack(lambda name: rows.value(name, here), rows.size))
    owner, landed, weight = moved
    heard = landed  # not looked at unless it is said what was
    if any(p.name in words for p in table.parents):
        arrival = owner // after.size * after.size + landed
        record, cell = _ragged(np.searchsorted(told.owner, np.arange(rows.size + 1)), arrival, table)
        owner, landed, weight = owner[record], landed[record], weight[record] * told.probability[cell]
        heard = told.packed[cell]

    def value(name: str) -> IntArray:
        if name in rows:
            return rows.value(name, owner)
        return after.value(name, landed) if name in after else words.value(name, heard)

    return np.bincount(owner, weight * table.values_at(key.pack(value, owner.size)), minlength=rows.size).astype(
        np.float64
    )


def _matrices(
    row: IntArray, column: IntArray, probability: FloatArray, n_actions: int, shape: tuple[int, int]
) -> list[sp.csr_array[np.float64]]:
    """One matrix per action of records in increasing order of their rows."""
    starts = np.searchsorted(row, np.arange(n_actions + 1) * shape[0])
    return [
        sp.csr_array((probability[i:j], (row[i:j] - a * shape[0], column[i:j])), shape=shape)
        for a, (i, j) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True))
    ]


class _Name:
    """The name of a combination of values; a class, so that labels can be sent to other processes."""

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.variables = tuple(variables)
        with_comma = any("," in value for v in variables for value in v.values or ())
        self.between = " " if with_comma else ","  # no value has a space in it

    def __call__(self, i: int) -> str:
        parts = []
        for v in reversed(self.variables):
            i, value = divmod(i, v.size)
            parts.append(v.value(value))
        return self.between.join(reversed(parts))


def _labels(variables: Sequence[Variable], kind: str) -> Labels:
    if not variables:
        return Labels(["none"], kind)  # nothing is ever observed
    return Labels.computed(math.prod(v.size for v in variables), _Name(variables), kind)
