"""From the factored model of a PomdpX file to a flat one.

``T(s' | s, a) = Π_i P(x_i' | parents)`` with parents among the actions, the variables before and, in an order without
cycles, the other variables after. The joint distribution is made variable by variable, and only what is possible is
ever held. An observation is what the fully observed variables have become together with the observation variables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray
from ..labels import Labels
from .pomdpx_tables import MOST_CELLS, Table, Variable, refuse


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
    """Records of a joint distribution: which row each belongs to, the variables' values, the probability."""

    owner: IntArray
    value: dict[str, IntArray]
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
        stride, size = self._place[name]
        return packed // stride % size

    def pack(self, value: Mapping[str, IntArray], n: int) -> IntArray:
        packed = np.zeros(n, dtype=np.int64)
        for v in self.variables:
            packed = packed * v.size + value[v.name]
        return packed


def flatten(factored: Factored) -> dict[str, Any]:
    """The parts of ``CPOMDP(...)`` but the discount and the costs."""
    before = _Radix(v.before for v in factored.states)
    after = _Radix(v.after for v in factored.states)
    actions, seen = _Radix(factored.actions), _Radix(factored.seen)
    n, m = before.size, actions.size
    start = _join(1, _Radix(()), _in_order(factored.initial))
    belief = np.zeros(n)
    belief[before.pack(start.value, start.owner.size)] = start.probability

    rows = _Radix([*factored.actions, *before.variables])  # number a*S + s
    moved = _join(n * m, rows, _in_order(factored.transition))
    landed = after.pack(moved.value, moved.owner.size)

    arrivals = _Radix([*factored.actions, *after.variables])
    told = _join(n * m, arrivals, list(factored.observation.values()))
    shown = {v.after.name: arrivals.value(v.after.name, told.owner) for v in factored.states if v.observed}
    heard = seen.pack({**shown, **told.value}, told.owner.size)

    reward: FloatArray | None = None
    for table in factored.reward.values():
        part = _expected(table, rows, after, moved._replace(value={}), landed, told, m * n)
        reward = part if reward is None else reward + part  # never 0 + part, which would lose a -0.0
    assert reward is not None  # the reader has asked for one
    return {
        "transition": _matrices(moved.owner, landed, moved.probability, m, (n, n)),
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
            name, table = next(iter(left.items()))
            raise refuse(
                table.line, f"the variables {', '.join(map(repr, left))} are parents of each other in a circle"
            )
        for name in ready:
            done[name] = left.pop(name)
    return list(done.values())


def _join(n_rows: int, rows: _Radix, tables: Sequence[Table]) -> _Joint:
    """The product of conditional distributions, for every row."""
    owner = np.arange(n_rows, dtype=np.int64)
    value: dict[str, IntArray] = {}
    probability = np.ones(n_rows)
    for table in tables:
        parent = {p.name: rows.value(p.name, owner) if p.name in rows else value[p.name] for p in table.parents}
        key = _Radix(table.parents).pack(parent, owner.size)
        given = table.rows()
        place = table.look_up(given, parent, key)
        length = given.start[place + 1] - given.start[place]
        if length.sum() > MOST_CELLS:
            raise refuse(table.line, f"with {table.name!r} the joint distribution has more than {MOST_CELLS:,} cells")
        record = np.repeat(np.arange(owner.size), length)
        within = np.arange(record.size) - np.repeat(np.cumsum(length) - length, length)
        cell = given.start[place][record] + within
        owner, value = owner[record], {name: part[record] for name, part in value.items()}
        value[table.name] = given.value[cell]
        probability = probability[record] * given.probability[cell]
    return _Joint(owner, value, probability)


def _expected(
    table: Table, rows: _Radix, after: _Radix, moved: _Joint, landed: IntArray, told: _Joint, n_rows: int
) -> FloatArray:
    """A reward by row, its expectation over what follows if it depends on that."""
    names = {p.name for p in table.parents}
    if all(p.name in rows for p in table.parents):
        here = np.arange(n_rows)
        key = _Radix(table.parents).pack({name: rows.value(name, here) for name in names}, n_rows)
        return table.values_at(key)
    owner, weight = moved.owner, moved.probability
    value: dict[str, IntArray] = {}
    arrival = owner // after.size * after.size + landed
    if names & told.value.keys():
        start = np.searchsorted(told.owner, np.arange(n_rows + 1))
        length = np.diff(start)[arrival]
        if length.sum() > MOST_CELLS:
            raise refuse(table.line, f"{table.name!r} depends on more than {MOST_CELLS:,} different outcomes")
        record = np.repeat(np.arange(owner.size), length)
        within = np.arange(record.size) - np.repeat(np.cumsum(length) - length, length)
        cell = start[arrival][record] + within
        owner, landed, weight = owner[record], landed[record], weight[record] * told.probability[cell]
        value = {name: part[cell] for name, part in told.value.items()}
    for name in names - value.keys():
        value[name] = rows.value(name, owner) if name in rows else after.value(name, landed)
    key = _Radix(table.parents).pack(value, owner.size)
    return np.bincount(owner, weight * table.values_at(key), minlength=n_rows).astype(np.float64)


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
