"""Write a model in Cassandra's `.pomdp` format, so that reading it gives the same model to the last bit.

What the format has no word for stands in lines that begin with ``#!`` (docs/formats.md). Numbers are the shortest
decimals that mean them.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._types import FloatArray
from ...errors import ModelError
from ...model import CPOMDP
from ...model.labels import Labels
from ..atomic import whole_file
from .names import MOST_ROWS, fault_of_name, is_plain, is_word
from .pragmas import DEEPEST, VERSION
from .tables import MOST_ENTRIES

_BLOCK = 1 << 16  # entries turned into text at a time
_DENSE = 0.5  # share of entries from which a matrix is written as one
_LINE = 100  # characters of a line of names or labels


def write_pomdp(path: str | os.PathLike[str], model: CPOMDP) -> None:
    """Write a model; the file appears whole or not at all."""
    _check_size(model.base or model)
    with whole_file(path) as file:
        for text in lines(model):
            file.write(text.encode())
            file.write(b"\n")


def _check_size(model: CPOMDP) -> None:
    """Refuse a model that `read_pomdp` would find too large, before anything is written."""
    rows = model.n_states * model.n_actions
    for size, most, what in (
        (rows, MOST_ROWS, "pairs of state and action"),
        (model.n_costs * rows, MOST_ROWS, "costs of states and actions"),
        (sum(matrix.nnz for matrix in model.transition), MOST_ENTRIES, "entries of T"),
        (sum(matrix.nnz for matrix in model.observation), MOST_ENTRIES, "entries of O"),
    ):
        if size > most:
            raise ModelError(f"the model has {size:,} {what}, more than the {most:,} that a .pomdp file may have")


def lines(model: CPOMDP) -> Iterator[str]:
    """The lines of the file, several at a time where they are alike; the process without the time, and the horizon."""
    horizon, model = model.horizon, model.without_time()
    states, actions, observations = (_Shown(labels, letter) for labels, letter in _kinds(model))
    yield f"#! rcpomdp: {VERSION}"
    if model.name:
        plain = model.name.isascii() and model.name.isprintable() and model.name.strip(' "') == model.name
        yield f"#! name: {model.name if plain else json.dumps(model.name)}"
    yield f"discount: {model.discount!r}"
    yield "values: reward"
    for keyword, shown in (("states", states), ("actions", actions), ("observations", observations)):
        yield from shown.declaration(keyword)
    if model.terminal.any():
        yield from _wrapped("#! terminal:", (states.words[s] for s in np.flatnonzero(model.terminal).tolist()))
    if model.n_costs:
        yield f"#! costs: {model.n_costs} {_cost_names(model.costs)}"
        yield f"#! budget: {' '.join(map(_number, model.budget.tolist()))}"
        if (model.cost_discount != model.discount).any():
            yield f"#! cost_discount: {' '.join(map(_number, model.cost_discount.tolist()))}"
        if model.has_step_limits:
            yield f"#! step_limit: {' '.join(map(_number, model.step_limit.tolist()))}"
    if horizon is not None:
        yield f"#! horizon: {horizon}"
    yield ""
    yield from _start(model.initial_belief, states)
    for keyword, matrices, columns in (("T", model.transition, states), ("O", model.observation, observations)):
        for a, matrix in enumerate(matrices):
            yield from _matrix(f"{keyword}: {actions.words[a]}", matrix, states, columns, keyword == "T")
    yield from _values("R", model.reward, actions, states)
    for k in range(model.n_costs):
        yield from _values(f"#! C[{k}]", model.cost[k], actions, states)
    yield "#! end: rcpomdp"


def _kinds(model: CPOMDP) -> tuple[tuple[Labels, str], ...]:
    return (model.states, "s"), (model.actions, "a"), (model.observations, "o")


class _Shown:
    """Labels as a file writes them: as names, or as numbers with the labels in a pragma."""

    def __init__(self, labels: Labels, letter: str) -> None:
        self._labels = labels
        self._is_default = all(label == f"{letter}{i}" for i, label in enumerate(labels))
        self._is_named = not self._is_default and all(map(is_plain, labels))
        self.words = list(map(str, labels if self._is_named else range(len(labels))))  # [n] each as it is written

    def declaration(self, keyword: str) -> Iterator[str]:
        if self._is_named:
            yield from _wrapped(f"{keyword}:", self.words, indent="  ")
            return
        yield f"{keyword}: {len(self._labels)}"
        if not self._is_default:
            items = (_json(label, keyword[:-1]) for label in self._labels)
            yield from _wrapped(f"#! {keyword}: [", items, joint=", ", close="]")


def _cost_names(costs: Labels) -> str:
    if all(is_word(name) and not fault_of_name(str(name).encode()) for name in costs):
        return " ".join(map(str, costs))
    return f"[ {', '.join(_json(label, 'cost') for label in costs)}]"  # "[" alone, as words have a greatest length


def _json(label: Hashable, kind: str) -> str:
    try:
        return json.dumps(_plain(label, kind), allow_nan=False)
    except ModelError:
        raise
    except ValueError:  # Python's own limit for turning numbers into text
        raise ModelError(f"a {kind} label has too many digits to stand in a file") from None


def _plain(label: Any, kind: str, depth: int = 0) -> Any:
    """A label as JSON has it; tuples are lists."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, tuple):
        if depth == DEEPEST:
            raise ModelError(f"a {kind} label has more than {DEEPEST} tuples in tuples, too many to stand in a file")
        return [_plain(item, kind, depth + 1) for item in label]
    if label is None or type(label) in (bool, int, str) or (type(label) is float and math.isfinite(label)):
        return label
    raise ModelError(f"{kind} {label!r} cannot stand in a file: only text, numbers and tuples of them can")


def _wrapped(
    head: str, items: Iterable[str], joint: str = " ", close: str = "", indent: str | None = None
) -> Iterator[str]:
    """Items on lines of moderate length; each begins with `head`, or all but the first with `indent`."""
    begin, length = head, len(head)
    line: list[str] = []
    for item in items:
        if line and length + len(item) > _LINE:
            yield begin + ("" if joint == ", " else " ") + joint.join(line) + close
            begin, line, length = head if indent is None else indent, [], len(head)
        line.append(item)
        length += len(item) + len(joint)
    yield begin + ("" if joint == ", " else " ") + joint.join(line) + close


def _start(belief: FloatArray, states: _Shown) -> Iterator[str]:
    support = np.flatnonzero(belief)
    if len(support) == 1 and belief[support[0]] == 1:
        yield f"start: {states.words[int(support[0])]}" if len(belief) > 1 else "start: 1"
    elif (belief == 1.0 / len(belief)).all():
        yield "start: uniform"
    else:
        yield from _wrapped("start:", map(_number, belief.tolist()), indent=" ")


def _matrix(
    head: str, matrix: sp.csr_array[np.float64], states: _Shown, columns: _Shown, is_transition: bool
) -> Iterator[str]:
    n, width = matrix.shape
    full = matrix.nnz == n * width
    if full and (matrix.data == 1.0 / width).all():
        yield f"{head} uniform"
    elif is_transition and matrix.nnz == n and (matrix.indices == np.arange(n)).all() and (matrix.data == 1).all():
        yield f"{head} identity"
    elif matrix.nnz >= _DENSE * n * width and n * width > 1:
        yield head
        height = max(1, _BLOCK // width)
        for first in range(0, n, height):
            rows = matrix[first : first + height].toarray().tolist()
            yield "\n".join([" ".join(map(_number, row)) for row in rows])
    else:
        row = np.repeat(np.arange(n), np.diff(matrix.indptr))
        for first in range(0, matrix.nnz, _BLOCK):
            cells = slice(first, first + _BLOCK)
            entries = zip(row[cells].tolist(), matrix.indices[cells].tolist(), matrix.data[cells].tolist(), strict=True)
            yield "\n".join([f"{head} : {states.words[s]} : {columns.words[c]} {_number(p)}" for s, c, p in entries])


def _values(head: str, table: FloatArray, actions: _Shown, states: _Shown) -> Iterator[str]:
    """Per action the commonest value for all states, then those that have another."""
    for a in range(table.shape[1]):
        column = table[:, a]
        bits = column.view(np.int64) if column.flags.c_contiguous else np.ascontiguousarray(column).view(np.int64)
        known, counts = np.unique(bits, return_counts=True)
        common = known[counts.argmax()]
        value = float(np.int64(common).view(np.float64))
        begin = f"{head}: {actions.words[a]} :"
        if common:  # what is not stated is +0
            yield f"{begin} * : * : * {_number(value)}"
        others = np.flatnonzero(bits != common)
        for first in range(0, len(others), _BLOCK):
            part = others[first : first + _BLOCK].tolist()
            yield "\n".join([f"{begin} {states.words[s]} : * : * {_number(float(column[s]))}" for s in part])


def _number(value: float) -> str:
    """The shortest decimal that means the number; 1 and not 1.0."""
    return (
        str(int(value))
        if value.is_integer() and abs(value) < 1e15 and (value or math.copysign(1, value) > 0)
        else repr(value)
    )
