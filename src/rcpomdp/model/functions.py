"""Tabulate a model that is written as functions over labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from reprlib import repr as short
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from ..errors import ModelError
from . import validation as check
from .labels import Labels

_CALLED_STATE, _CALLED_ACTION = ("s", "state"), ("a", "action")  # names that leave no doubt what a parameter is for
VALUE_FORMS = ("(s, a)", "(s, a, s')", "(s, a, s', o)")  # what a reward or a cost may be a function of


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
    arity(transition, "transition", ("(s, a)",))
    arity(observation, "observation", ("(a, s')",))

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
        takes = arity(function, what, VALUE_FORMS)
        tables: FloatArray | None = None
        for s in sorted(set(range(len(s_labels))) - ended):
            for a in range(len(a_labels)):
                where = f"{what} of state {s_labels[s]!r} under action {a_labels[a]!r}"
                outcomes = _outcomes(function, where, takes, s, a, t_tables, z_tables, labels)
                for _, values in outcomes:
                    if tables is None:
                        tables = np.zeros((len(s_labels), len(a_labels), values.size))
                    if values.size != tables.shape[2]:
                        found = check.count(values.size, "value")
                        raise ModelError(f"{where} has {found}, elsewhere {tables.shape[2]}")
                if tables is not None and outcomes:
                    tables[s, a] = _average(outcomes)
        return np.zeros((len(s_labels), len(a_labels), 1)) if tables is None else tables

    reward_table = expected(reward, "reward")
    if reward_table.shape[2] != 1:
        raise ModelError(f"reward gives {reward_table.shape[2]} values; it must be one number")
    functions = _cost_functions(cost)
    cost_tables = [np.moveaxis(expected(f, "cost"), 2, 0) for f in functions]

    if initial is None:
        start = [s for s in range(len(s_labels)) if s not in ended]
        if not start:
            raise ModelError("every state is terminal, so an initial belief must be given")
        initial = {s_labels[s]: 1 / len(start) for s in start}
    elif isinstance(initial, str) or (isinstance(initial, Hashable) and initial in s_labels):
        raise ModelError(f"initial is {initial!r}, not a mapping from labels to probabilities: {{label: 1.0}} is one")
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
                column = check.label_index(columns, label, where)
                p = check.real_number(probability, f"{where} gives {label!r} probability")
                row[column] = row.get(column, 0.0) + p
            table.append(row)
        tables.append(table)
    return tables


def _matrix(table: list[_Row], width: int) -> sp.csr_array[np.float64]:
    pointer = np.cumsum([0, *(len(row) for row in table)])
    column = np.array([c for row in table for c in row], dtype=np.int64)
    probability = np.array([p for row in table for p in row.values()], dtype=np.float64)
    return sp.csr_array((probability, column, pointer), shape=(len(table), width))


def _outcomes(
    function: Callable[..., Any],
    where: str,
    takes: int,
    s: int,
    a: int,
    t_tables: list[list[_Row]],
    z_tables: list[list[_Row]],
    labels: tuple[Labels, Labels, Labels],
) -> list[tuple[float, FloatArray]]:
    """``(T(s, a, s') Z(s', a, o), f(s, a, s', o))`` for all s' and o that may follow, if f takes them."""
    states, actions, observations = labels
    here = (states[s], actions[a])
    if takes == 2:
        return [(1.0, _numbers(function(*here), where))]
    outcomes = []
    for s_next, p in t_tables[a][s].items():
        for o, q in z_tables[a][s_next].items() if takes == 4 else ((0, 1.0),):
            if p * q > 0:
                there = (states[s_next], observations[o])[: takes - 2]
                outcomes.append((p * q, _numbers(function(*here, *there), where)))
    return outcomes


def _average(outcomes: list[tuple[float, FloatArray]]) -> FloatArray:
    """The weighted mean: rows within rounding of 1 are rescaled.

    Rows that are no distribution, and values that are not finite, are refused when the model is made.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        total: FloatArray = sum((weight * values for weight, values in outcomes), start=np.zeros(1))
        return total / sum(weight for weight, _ in outcomes)


def _numbers(value: Any, where: str) -> FloatArray:
    try:
        array = np.atleast_1d(check.real_array(value, where))
    except ModelError:
        array = np.empty((0, 0))
    if array.ndim > 1:
        raise ModelError(f"{where} is {short(value)}, not a number")
    return array


def _call(function: Callable[..., Any], what: str, *args: Hashable, or_none: bool = False) -> Any:
    given = ", ".join(map(repr, args))
    try:
        result = function(*args)
    except Exception as error:
        error.add_note(f"in {what}({given})")
        raise
    if isinstance(result, Mapping) or (or_none and result is None):
        return result
    raise ModelError(f"{what}({given}) returned {short(result)}, not a mapping from labels to probabilities")


def arity(function: Any, what: str, forms: tuple[str, ...]) -> int:
    """Number of labels that a function is called with: the fewest, from 2 on, that it takes."""
    wanted = " or ".join((", ".join(forms[:-1]), forms[-1])) if len(forms) > 1 else forms[0]
    if not callable(function):
        raise ModelError(f"{what} has type {type(function).__name__}; it must be a function of {wanted}")
    try:
        signature = inspect.signature(function)
    except ValueError:
        return 2  # a builtin without a signature
    for count in range(2, 2 + len(forms)):
        try:
            signature.bind(*range(count))
        except TypeError:
            continue
        _check_order(signature, what, forms[0])
        return count
    raise ModelError(f"{what} takes {signature}; it must be a function of {wanted}")


def _check_order(signature: inspect.Signature, what: str, form: str) -> None:
    """Refuse a function whose parameters are named as those of `form` are, the other way round."""
    names, order = tuple(signature.parameters)[:2], (_CALLED_STATE, _CALLED_ACTION)
    first, second = order if form.startswith("(s") else order[::-1]
    if len(names) == 2 and names[0] in second and names[1] in first:
        raise ModelError(f"{what} takes {signature}, the wrong way round: it is called with {form}")


def _cost_functions(cost: Any) -> list[Any]:
    if cost is None:
        return []
    return [cost] if callable(cost) or not isinstance(cost, Iterable) else list(cost)


def _terminal_states(terminal: Iterable[Hashable] | Callable[[Any], bool], states: Labels) -> set[int]:
    if callable(terminal):
        return {s for s, label in enumerate(states) if terminal(label)}
    return set(check.state_indices(terminal, states, "terminal"))
