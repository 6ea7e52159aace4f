"""A process that is over after H steps, as a model whose states are pairs (state, steps taken).

The time follows from the history: no belief holds two times, and each time has observability classes of its own. So
the product is an ordinary model, to which all that is known of those applies. States that cannot be met at a time are
left out. After the last step the process is in one state, its end; whatever is observed then tells nothing.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from .._types import BoolArray, FloatArray, IndexArray, IntArray
from ..errors import ModelError
from ..kernels.arrays import ModelArrays
from .cpomdp import CPOMDP
from .labels import Labels

END = "end"  # with the horizon, the label of the state after the last step
_MOST_STATES, _MOST_STEPS = 50_000_000, 1_000_000


class _Timed:
    """The label of a state at its time."""

    def __init__(self, states: Labels, state: IntArray, time: IntArray, horizon: int) -> None:
        self._states, self._state, self._time, self._horizon = states, state, time, horizon

    def __call__(self, i: int) -> Hashable:
        if i == len(self._state):
            return END, self._horizon
        return self._states[int(self._state[i])], int(self._time[i])


def over_horizon(model: CPOMDP, horizon: int) -> CPOMDP:
    """The product of a model with the time, up to the horizon."""
    m, n, n_actions = model.arrays, model.n_states, model.n_actions
    if horizon > _MOST_STEPS:
        raise ModelError(f"horizon is {horizon}, too many steps; the most is {_MOST_STEPS:,}")
    layers = _layers(model, horizon)
    first = np.concatenate([[0], np.cumsum([layer.size for layer in layers])])
    end = int(first[-1])
    state = np.concatenate(layers)
    time = np.repeat(np.arange(horizon), np.diff(first))
    rows: list[list[tuple[IntArray, IndexArray, FloatArray]]] = [[] for _ in range(n_actions)]
    place = np.empty(n, dtype=np.int32)  # of a state in the next layer
    for t, layer in enumerate(layers[:-1]):
        place[layers[t + 1]] = first[t + 1] + np.arange(layers[t + 1].size)
        for a in range(n_actions):
            length, column, value = _rows(m.t_ptr, m.t_next, m.t_prob, a * n + layer)
            rows[a].append((length, place[column], value))
    last = layers[-1].size + 1  # the last layer and the end itself lead to the end
    to_end = np.ones(last, dtype=np.int64), np.full(last, end, dtype=np.int32), np.ones(last)
    t_rows = _laid_end_to_end([[*rows[a], to_end] for a in range(n_actions)])
    blank = _blank(m.n_observations)
    z_rows = _laid_end_to_end([[_rows(m.z_ptr, m.z_obs, m.z_prob, a * n + state), blank] for a in range(n_actions)])
    over = np.zeros((1, n_actions))
    belief = np.zeros(end + 1)
    belief[: layers[0].size] = model.initial_belief[layers[0]]
    terminal: BoolArray = np.append(model.terminal[state], True)
    return model._changed(
        arrays=ModelArrays(
            *t_rows,
            *z_rows,
            np.concatenate([m.reward[state], over]),
            np.ascontiguousarray(np.concatenate([m.cost[:, state], np.zeros((model.n_costs, 1, n_actions))], axis=1)),
            m.cost_discount,
            m.step_limit,
            m.n_observations,
        ),
        initial_belief=belief,
        terminal=terminal,
        states=Labels.computed(end + 1, _Timed(model.states, state, time, horizon), "state"),
        horizon=horizon,
        base=model,
    )


def _layers(model: CPOMDP, horizon: int) -> list[IntArray]:
    """The states that can be met after 0, 1, 2, ... steps, before the horizon."""
    m, n = model.arrays, model.n_states
    layers = [np.flatnonzero(model.initial_belief)]
    total = 0
    for _ in range(horizon - 1):
        total += layers[-1].size
        if total >= _MOST_STATES:
            many = f"horizon {horizon} makes more than {_MOST_STATES:,} states"
            raise ModelError(f"{many} of {n:,}, too many: each is met at many times")
        met = np.zeros(n, dtype=bool)
        for a in range(model.n_actions):
            met[_rows(m.t_ptr, m.t_next, m.t_prob, a * n + layers[-1])[1]] = True
        layers.append(np.flatnonzero(met))
    return layers


def _rows(
    pointer: IntArray, column: IndexArray, value: FloatArray, rows: IntArray
) -> tuple[IntArray, IndexArray, FloatArray]:
    """Lengths, columns and values of some rows, one after the other."""
    length = np.diff(pointer)[rows]
    start = np.concatenate([[0], np.cumsum(length)])
    entry = np.arange(start[-1]) + np.repeat(pointer[:-1][rows] - start[:-1], length)
    return length, column[entry], value[entry]


def _blank(n_observations: int) -> tuple[IntArray, IndexArray, FloatArray]:
    """The row of the end: anything may be observed, and it tells nothing."""
    every = np.arange(n_observations, dtype=np.int32)
    return np.array([n_observations]), every, np.full(n_observations, 1.0 / n_observations)


def _laid_end_to_end(
    by_action: list[list[tuple[IntArray, IndexArray, FloatArray]]],
) -> tuple[IntArray, IndexArray, FloatArray]:
    """Pointers, columns and values of all rows."""
    parts = [part for rows in by_action for part in rows]
    pointer = np.concatenate([[0], np.cumsum(np.concatenate([length for length, _, _ in parts]))]).astype(np.int64)
    column = np.concatenate([column for _, column, _ in parts]).astype(np.int32)
    return pointer, column, np.concatenate([value for _, _, value in parts])
