"""Write a model as PomdpX (``.pomdpx``), with one variable each for state, action, observation and reward.

Numbers are written so that they come back bit by bit. Labels are written as they are if they are words of the format
(no space in them), else the values are numbered and the labels stand beside costs and budgets in instructions that
other readers pass over (`io/pomdpx/pragma.py`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from xml.sax.saxutils import escape

import numpy as np
import scipy.sparse as sp

from ..._types import FloatArray
from ...errors import ModelError
from ...model import CPOMDP
from ...model.labels import Labels
from ..atomic import whole_file
from ..safe_xml import LONGEST_TOKEN, in_xml
from . import pragma as pomdpx_pragma
from .pragma import MOST_NUMBERS, label_texts
from .reader import LONGEST_NAME, MOST_ROWS, MOST_STATES
from .tables import MOST_CELLS

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
{ours}
<pomdpx version="1.0" id="{name}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:noNamespaceSchemaLocation="pomdpx.xsd">
<Discount>{discount!r}</Discount>
<Variable>
<StateVar vnamePrev="state_0" vnameCurr="state_1">{states}</StateVar>
<ObsVar vname="observation">{observations}</ObsVar>
<ActionVar vname="action">{actions}</ActionVar>
<RewardVar vname="reward"/>
</Variable>"""
_KINDS = {"s": "state", "a": "action", "o": "observation"}
_DENSE = 4  # rows with more than one in so many entries are written out


def write_pomdpx(path: str | os.PathLike[str], model: CPOMDP) -> None:
    """Write a model; the file appears whole or not at all.

    `read_pomdpx` gives back the same arrays, budget and name, and the labels as texts.
    """
    _check_size(model.base or model)
    with whole_file(path) as file:
        for line in _lines(model):
            file.write(line.encode())
            file.write(b"\n")


def _check_size(model: CPOMDP) -> None:
    """Refuse a model that `read_pomdpx` would find too large, before anything is written."""
    rows = model.n_states * model.n_actions
    cells = [sum(map(_cells, matrices)) for matrices in (model.transition, model.observation)]
    for size, most, what in (
        (model.n_states, MOST_STATES, "states"),
        (model.n_observations, MOST_STATES, "observations"),
        (rows, MOST_ROWS, "pairs of state and action"),
        (model.n_costs * rows, MOST_NUMBERS, "costs of states and actions"),
        (cells[0], MOST_CELLS, "entries of the transition table"),
        (cells[1], MOST_CELLS, "entries of the observation table"),
    ):
        if size > most:
            raise ModelError(f"the model has {size:,} {what}, more than the {most:,} that a .pomdpx file may have")


def _cells(matrix: sp.csr_array[np.float64]) -> int:
    """Number of cells that the entries of a matrix set, counting all cells of the rows that are written out."""
    width = matrix.shape[1]
    length = np.diff(matrix.indptr).astype(np.int64)
    return int(np.where(_DENSE * length > width, width, length).sum())


class _Values:
    """The names of a variable's values in the file."""

    def __init__(self, labels: Labels, letter: str) -> None:
        texts = label_texts(labels, _KINDS[letter])
        plain = all(_is_word(text) for text in texts) and len(set(texts)) == len(texts)
        numbered = [f"{letter}{i}" for i in range(len(texts))]
        self.lost = texts if not plain and texts != numbered else None  # what the file has no words for
        if plain and texts != numbered:
            self.names = [escape(text) for text in texts]
            self.declared = f"<ValueEnum>{' '.join(self.names)}</ValueEnum>"
        else:
            self.names = numbered
            self.declared = f"<NumValues>{len(texts)}</NumValues>"


def _is_word(text: str) -> bool:
    return text.split() == [text] and text not in ("-", "*") and in_xml(text) and len(text) <= LONGEST_NAME


def _lines(model: CPOMDP) -> Iterator[str]:
    horizon, model = model.horizon, model.without_time()
    states, actions = _Values(model.states, "s"), _Values(model.actions, "a")
    observations = _Values(model.observations, "o")
    kinds = {"states": states, "actions": actions, "observations": observations}
    lost = {key: values.lost for key, values in kinds.items() if values.lost is not None}
    ours = pomdpx_pragma.in_front(model, lost, horizon)
    if len(ours) > LONGEST_TOKEN:
        raise ModelError(f"the labels take more than the {LONGEST_TOKEN:,} letters that a .pomdpx file may have")
    yield _HEAD.format(
        ours=ours,
        name=re.sub(r"[^A-Za-z0-9_.-]", "_", model.name) or "model",
        discount=model.discount,
        states=states.declared,
        observations=observations.declared,
        actions=actions.declared,
    )
    yield "<InitialStateBelief>"
    yield from _function("state_0", "null", "CondProb", _belief(model.initial_belief))
    yield "</InitialStateBelief>\n<StateTransitionFunction>"
    yield from _function("state_1", "action state_0", "CondProb", _transitions(model, actions, states))
    yield "</StateTransitionFunction>\n<ObsFunction>"
    told = _rows(model.observation, actions, states, observations)
    yield from _function("observation", "action state_1", "CondProb", told)
    yield "</ObsFunction>\n<RewardFunction>"
    yield from _function("reward", "action state_0", "Func", _rewards(model.reward, actions, states))
    yield "</RewardFunction>\n</pomdpx>"
    yield from pomdpx_pragma.behind(model)


def _function(name: str, parents: str, element: str, entries: Iterator[str]) -> Iterator[str]:
    yield f'<{element}><Var>{name}</Var><Parent>{parents}</Parent><Parameter type="TBL">'
    yield from entries
    yield f"</Parameter></{element}>"


def _entry(instance: str, numbers: str, element: str = "ProbTable") -> str:
    return f"<Entry><Instance>{instance}</Instance><{element}>{numbers}</{element}></Entry>"


def _numbers(values: FloatArray) -> str:
    return " ".join(map(repr, values.tolist()))


def _belief(belief: FloatArray) -> Iterator[str]:
    uniform = bool((belief == 1.0 / belief.size).all())
    yield _entry("-", "uniform" if uniform else _numbers(belief))


def _transitions(model: CPOMDP, actions: _Values, states: _Values) -> Iterator[str]:
    n = model.n_states
    for a, matrix in enumerate(model.transition):
        if matrix.nnz == n and (matrix.indices == np.arange(n)).all() and (matrix.data == 1).all():
            yield _entry(f"{actions.names[a]} - -", "identity")
        else:
            yield from _matrix(matrix, actions.names[a], states.names, states.names)


def _rows(
    matrices: tuple[sp.csr_array[np.float64], ...], actions: _Values, rows: _Values, columns: _Values
) -> Iterator[str]:
    for a, matrix in enumerate(matrices):
        length = np.diff(matrix.indptr)
        same = (length == length[0]).all() and all(
            (part.reshape(-1, length[0]) == part[: length[0]]).all() for part in (matrix.indices, matrix.data)
        )
        if same:
            yield from _matrix(matrix[:1], actions.names[a], ["*"], columns.names)
        else:
            yield from _matrix(matrix, actions.names[a], rows.names, columns.names)


def _matrix(matrix: sp.csr_array[np.float64], action: str, rows: list[str], columns: list[str]) -> Iterator[str]:
    for i, row in enumerate(rows):
        entries = slice(matrix.indptr[i], matrix.indptr[i + 1])
        column, value = matrix.indices[entries], matrix.data[entries]
        if _DENSE * column.size > len(columns):
            dense = np.zeros(len(columns))
            dense[column] = value
            yield _entry(f"{action} {row} -", _numbers(dense))
        else:
            for j, p in zip(column.tolist(), value.tolist(), strict=True):
                yield _entry(f"{action} {row} {columns[j]}", repr(p))


def _rewards(reward: FloatArray, actions: _Values, states: _Values) -> Iterator[str]:
    """One number for all states, all numbers in a row, or each that is not 0 (a -0.0 comes back too)."""
    signed = reward.view(np.int64)
    for a, action in enumerate(actions.names):
        column = reward[:, a]
        given = np.flatnonzero(signed[:, a])
        if (signed[:, a] == signed[0, a]).all():
            yield _entry(f"{action} *", repr(column[0].item()), "ValueTable")
        elif _DENSE * given.size > column.size:
            yield _entry(f"{action} -", _numbers(column), "ValueTable")
        else:
            for s in given.tolist():
                yield _entry(f"{action} {states.names[s]}", repr(column[s].item()), "ValueTable")
