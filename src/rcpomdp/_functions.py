"""Tabulate a model that is written as functions over labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._types import FloatArray
from .errors import ModelError
from .labels import Labels


def tabulate(
    states: Iterable[Hashable],
    actions: Iterable[Hashable],
    observations: Iterable[Hashable],
    transition: Callable[..., Mapping[Any, float]],
    observation: Callable[..., Mapping[Any, float]],
    reward: Callable[..., float],
    cost: Callable[..., Any] | Sequence[Callable[..., float]] | None,
    initial: Mapping[Any, float] | None,
    terminal: Iterable[Hashable] | Callable[[Any], bool],
) -> dict[str, Any]:
    """The array parts of ``CPOMDP(...)`` for a model given by functions."""
    s_labels, a_labels = Labels(states, "state"), Labels(actions, "action")
    o_labels = Labels(observations, "observation")
    for names, what in ((s_labels, "states"), (a_labels, "actions"), (o_labels, "observations")):
        if not len(names):
            raise ModelError(f"the model has no {what}")
    labels = (s_labels, a_labels, o_labels)
    ended = _terminal_states(terminal, s_labels)

    def successors(s: int, a: int) -> Mapping[Any, float]:
        if s in ended:
            return {s_labels[s]: 1.0}
        row: Mapping[Any, float] = _call(transition, "transition", s_labels[s], a_labels[a])
        return row

    def arrivals(s: int, a: int) -> Mapping[Any, float]:
        seen = _call(observation, "observation", a_labels[a], s_labels[s], or_none=s in ended)
        return {o_labels[0]: 1.0} if seen is None else seen

    t_tables = _tables(successors, "transition", s_labels, a_labels, s_labels)
    z_tables = _tables(arrivals, "observation", s_labels, a_labels, o_labels)

    def expected(function: Callable[..., Any], what: str) -> FloatArray:
        """X[s, a, i] of a function that returns one value (i = 0) or several."""
        arity = _arity(function, what)
        tables: FloatArray | None = None
        for s in sorted(set(range(len(s_labels))) - ended):
            for a in range(len(a_labels)):
                where = f"{what} of state {s_labels[s]!r} under action {a_labels[a]!r}"
                values = _average(function, where, arity, s, a, t_tables, z_tables, labels)
                if tables is None:
                    tables = np.zeros((len(s_labels), len(a_labels), values.size))
                if values.size != tables.shape[2]:
                    raise ModelError(f"{where} has {values.size} values, elsewhere {tables.shape[2]}")
                tables[s, a] = values
        return np.zeros((len(s_labels), len(a_labels), 1)) if tables is None else tables

    reward_table = expected(reward, "reward")
    if reward_table.shape[2] != 1:
        raise ModelError(f"reward gives {reward_table.shape[2]} values; it must be one number")
    functions = [] if cost is None else [cost] if callable(cost) else list(cost)
    cost_tables = [np.moveaxis(expected(f, "cost"), 2, 0) for f in functions]

    if initial is None:
        start = [s for s in range(len(s_labels)) if s not in ended]
        if not start:
            raise ModelError("every state is terminal, so an initial belief must be given")
        initial = {s_labels[s]: 1 / len(start) for s in start}
    return {
        "transition": [_matrix(table, len(s_labels)) for table in t_tables],
        "observation": [_matrix(table, len(o_labels)) for table in z_tables],
        "reward": reward_table[:, :, 0],
        "cost": np.concatenate(cost_tables) if cost_tables else None,
        "initial_belief": initial,
        "states": s_labels,
        "actions": a_labels,
        "observations": o_labels,
        "terminal": [s_labels[s] for s in sorted(ended)],
    }


_Row = dict[int, float]  # column index -> probability


def _tables(
    rows: Callable[[int, int], Mapping[Any, float]],
    what: str,
    states: Labels,
    actions: Labels,
    columns: Labels,
) -> list[list[_Row]]:
    """tables[a][s] = {column index: probability}."""
    tables = []
    for a in range(len(actions)):
        table = []
        for s in range(len(states)):
            row: _Row = {}
            where = f"{what} of state {states[s]!r} under action {actions[a]!r}"
            for label, probability in rows(s, a).items():
                try:
                    column = columns.index(label)
                except ModelError as error:
                    raise ModelError(f"{where}: {error}") from None
                row[column] = _probability(probability, f"{where} gives {label!r} probability")
            table.append(row)
        tables.append(table)
    return tables


def _matrix(table: list[_Row], width: int) -> sp.csr_array[np.float64]:
    pointer = np.cumsum([0, *(len(row) for row in table)])
    column = np.array([c for row in table for c in row], dtype=np.int64)
    probability = np.array([p for row in table for p in row.values()], dtype=np.float64)
    return sp.csr_array((probability, column, pointer), shape=(len(table), width))


def _average(
    function: Callable[..., Any],
    where: str,
    arity: int,
    s: int,
    a: int,
    t_tables: list[list[_Row]],
    z_tables: list[list[_Row]],
    labels: tuple[Labels, Labels, Labels],
) -> FloatArray:
    """``Σ_{s', o} T(s, a, s') Z(s', a, o) f(s, a, s', o)``, as far as f has arguments."""
    states, actions, observations = labels
    here = (states[s], actions[a])
    if arity == 2:
        return _numbers(function(*here), where)
    total: Any = 0.0
    weight = 0.0
    for s_next, p in t_tables[a][s].items():
        for o, q in z_tables[a][s_next].items() if arity == 4 else ((0, 1.0),):
            if p * q > 0:
                there = (states[s_next], observations[o])[: arity - 2]
                total = total + p * q * _numbers(function(*here, *there), where)
                weight += p * q
    # Rows within rounding of 1 are rescaled; what does not sum to 1 at all is refused with the rows.
    return np.atleast_1d(np.asarray(total, dtype=np.float64) / (weight or 1.0))


def _numbers(value: Any, where: str) -> FloatArray:
    try:
        array = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    if array.ndim > 1:
        raise ModelError(f"{where} is {value!r}, not a number")
    return array


def _probability(value: Any, where: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ModelError(f"{where} {value!r}, not a number") from None


def _call(function: Callable[..., Any], what: str, *args: Hashable, or_none: bool = False) -> Any:
    result = function(*args)
    if isinstance(result, Mapping) or (or_none and result is None):
        return result
    given = ", ".join(map(repr, args))
    raise ModelError(f"{what}({given}) returned {result!r}, not a mapping from labels to probabilities")


def _arity(function: Callable[..., Any], what: str) -> int:
    """How many of (s, a, s', o) a reward or cost function takes."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return 2  # a builtin without a signature
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(p.kind in positional and p.default is p.empty for p in parameters)
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters) and count < 2:
        return 2
    if not 2 <= count <= 4:
        raise ModelError(
            f"{what} takes {count} arguments; it may depend on (s, a), (s, a, s') or (s, a, s', o)"
        )
    return count


def _terminal_states(terminal: Iterable[Hashable] | Callable[[Any], bool], states: Labels) -> set[int]:
    if callable(terminal):
        return {s for s, label in enumerate(states) if terminal(label)}
    return {states.index(label) for label in terminal}
