"""RockSample and its constrained form: n · n · 2^k + 1 states, 5 + k actions, 3 observations.

Every action takes a state to one successor, so a model is a few arrays over all states at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray
from ..errors import ModelError
from ..model import CPOMDP
from ..model.labels import Labels

MAX_ROWS = 2**26  # state-action pairs; a model takes up to 150 bytes for each while it is built

SAMPLE, NORTH, EAST, SOUTH, WEST = range(5)
ACTIONS = ("sample", "north", "east", "south", "west")
GOOD, BAD, NONE = range(3)
OBSERVATIONS = ("good", "bad", "none")

Cell = tuple[int, int]


def rocksample(
    *,
    n: int = 5,
    rocks: tuple[tuple[int, int], ...] = ((1, 1), (3, 3), (4, 4)),
    start: tuple[int, int] = (1, 1),
    costs: bool = True,
    separate: bool = False,
    budget: float | tuple[float, float] | None = 1.0,
    discount: float = 0.95,
    half_distance: float = 20.0,
    good_reward: float = 10.0,
    bad_reward: float = -10.0,
    exit_reward: float = 10.0,
    check_cost: float = 1.0,
    bad_sample_cost: float = 1.0,
    name: str = "rocksample",
) -> CPOMDP:
    """A rover checks rocks from afar, samples the good ones and leaves in the east.

    The map (Smith and Simmons 2004; with costs, Lee et al. 2018) has n x n cells, x east and y north, both
    from 1. Each of k rocks is good with probability 0.5. Sampling pays 10 on a good rock, which turns bad,
    -10 on a bad one and 0 off the rocks. Leaving the map in the east pays 10 and ends the run; at the other
    edges the rover stays put. Checking a rock shows good or bad, correct with probability
    ½ (1 + 2^(−distance / 20)); all else shows "none". A check costs 1, and so does a bad sample.

    The defaults are the paper's CRS(4,4), which has a 5 x 5 map and 3 rocks. Its optimum is 16.93 without a
    budget, and the RC-POMDP optimum lies in [12.294, 12.310]: check the rock under the rover, sample it if it
    is good, leave.

    Parameters
    ----------
    n : side of the map
    rocks : cells (x, y) of the rocks
    start : cell (x, y) of the rover
    costs : whether checks and bad samples cost; without costs the budget must be None
    separate : whether checks and bad samples are two costs, each with a budget of its own
    budget : bound on the expected total cost, or on both if they are separate; None is unlimited
    discount : in [0, 1)
    half_distance : how far a check's advantage over guessing reaches before it is halved
    good_reward, bad_reward : rewards of sampling a good and a bad rock
    exit_reward : reward of leaving in the east
    check_cost, bad_sample_cost : costs of a check and of sampling a bad rock
    name : what the model calls itself

    Examples
    --------
    >>> rocksample()
    CPOMDP 'rocksample': 201 states, 8 actions, 3 observations, 1 cost, discount 0.95, budget 1
    """
    n, rocks, start = _checked(n, rocks, start)
    if not half_distance > 0:
        raise ModelError(f"half_distance is {half_distance!r}; it must be above 0")
    if not costs and budget is not None:
        raise ModelError(f"budget is {budget!r}, but without costs it must be None")
    k, n_configs = len(rocks), 2 ** len(rocks)
    end = n * n * n_configs  # the terminal state
    n_actions = len(ACTIONS) + k

    state = np.arange(end)
    cell, config = np.divmod(state, n_configs)  # bit i of config: rock i is good
    y, x = np.divmod(cell, n)  # from 0 here
    rock_of_cell = np.full(n * n, -1)
    for i, rock in enumerate(rocks):
        rock_of_cell[_cell_index(rock, n)] = i
    here = rock_of_cell[cell]
    on_good = (here >= 0) & (config >> np.maximum(here, 0) & 1 == 1)
    on_bad = (here >= 0) & ~on_good

    still = _transition(state, end)
    transition = [
        _transition(np.where(on_good, state - (1 << np.maximum(here, 0)), state), end),
        _transition(np.where(y < n - 1, state + n * n_configs, state), end),
        _transition(np.where(x < n - 1, state + n_configs, end), end),
        _transition(np.where(y > 0, state - n * n_configs, state), end),
        _transition(np.where(x > 0, state - n_configs, state), end),
        *[still] * k,
    ]

    blind = sp.csr_array((np.ones(end + 1), np.full(end + 1, NONE), np.arange(end + 2)), shape=(end + 1, 3))
    observation = [blind] * len(ACTIONS)
    for i, (rock_x, rock_y) in enumerate(rocks):
        distance = np.hypot(x + 1 - rock_x, y + 1 - rock_y)
        accuracy = 0.5 * (1 + np.exp2(-distance / half_distance))
        observation.append(_check(config >> i & 1 == 1, accuracy))

    reward = np.zeros((end + 1, n_actions))
    reward[:-1, SAMPLE] = np.select([on_good, on_bad], [good_reward, bad_reward])
    reward[:-1, EAST] = np.where(x == n - 1, exit_reward, 0)
    cost, cost_names = None, None
    if costs:
        checks, samples = np.zeros((2, end + 1, n_actions))
        checks[:-1, len(ACTIONS) :] = check_cost
        samples[:-1, SAMPLE] = np.where(on_bad, bad_sample_cost, 0)
        cost = np.stack([checks, samples]) if separate else checks + samples
        cost_names = ["checks", "bad samples"] if separate else None

    first = _cell_index(start, n) * n_configs
    initial_belief = np.zeros(end + 1)
    initial_belief[first : first + n_configs] = 1 / n_configs
    return CPOMDP(
        states=Labels.computed(end + 1, StateLabel(n, k), "state"),
        actions=[*ACTIONS, *(f"check-{i + 1}" for i in range(k))],
        observations=OBSERVATIONS,
        transition=transition,
        observation=observation,
        reward=reward,
        cost=cost,
        costs=cost_names,
        initial_belief=initial_belief,
        discount=discount,
        budget=budget,
        terminal=np.arange(end + 1) == end,
        name=name,
    )


@dataclass(frozen=True)
class StateLabel:
    """The label of a state, made from its index.

    >>> StateLabel(n=5, k=3)(13), StateLabel(n=5, k=3)(200)
    ('(2,1) good bad good', 'terminal')
    """

    n: int
    k: int

    def __call__(self, s: int) -> str:
        """The cell and the quality of each rock, or "terminal" for the last state."""
        cell, config = divmod(s, 2**self.k)
        if cell == self.n * self.n:
            return "terminal"
        y, x = divmod(cell, self.n)
        return " ".join([f"({x + 1},{y + 1})", *(OBSERVATIONS[1 - (config >> i & 1)] for i in range(self.k))])


def _transition(successor: IntArray, end: int) -> sp.csr_array[np.float64]:
    """T[s, s'] of an action that moves state s to ``successor[s]``; the terminal state stays."""
    column = np.append(successor, end).astype(np.int32)
    pointer = np.arange(end + 2, dtype=np.int32)
    return sp.csr_array((np.ones(end + 1), column, pointer), shape=(end + 1, end + 1))


def _check(good: Any, accuracy: FloatArray) -> sp.csr_array[np.float64]:
    """Z[s', o] of checking a rock that is good where `good` is; the terminal state shows nothing."""
    seen = np.zeros((len(good) + 1, 3))
    seen[:-1, GOOD] = np.where(good, accuracy, 1 - accuracy)
    seen[:-1, BAD] = np.where(good, 1 - accuracy, accuracy)
    seen[-1, NONE] = 1
    return sp.csr_array(seen)


def _cell_index(cell: Cell, n: int) -> int:
    """Cells row by row from the south-west."""
    return (cell[1] - 1) * n + cell[0] - 1


def _checked(n: Any, rocks: Iterable[Any], start: Any) -> tuple[int, tuple[Cell, ...], Cell]:
    """The map as whole numbers, refused with a sentence if it is not one."""
    try:
        n = index(n)
    except TypeError:
        raise ModelError(f"n is {n!r}, not a whole number") from None
    if n < 1:
        raise ModelError(f"n is {n}; a map has at least one cell")
    cells = tuple(_inside(rock, n, f"rock {i}") for i, rock in enumerate(rocks, 1))
    first: dict[Cell, int] = {}
    for i, cell in enumerate(cells, 1):
        if first.setdefault(cell, i) != i:
            raise ModelError(f"rock {i} is at {cell}, where rock {first[cell]} is already")
    k = len(cells)
    if n * n * 2**k * (len(ACTIONS) + k) > MAX_ROWS:
        raise ModelError(
            f"a {n}x{n} map with {k} rocks has {n * n} * 2^{k} + 1 states and {len(ACTIONS) + k} actions; "
            f"their product may not exceed {MAX_ROWS:,}"
        )
    return n, cells, _inside(start, n, "start")


def _inside(cell: Any, n: int, what: str) -> Cell:
    try:
        x, y = cell
        x, y = index(x), index(y)
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {cell!r}, not a pair of whole numbers") from None
    if not (1 <= x <= n and 1 <= y <= n):
        raise ModelError(f"{what} is at {(x, y)}, outside the {n}x{n} map")
    return x, y
