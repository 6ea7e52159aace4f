"""Hallway, Hallway2 (Littman, Cassandra and Kaelbling, 1995) and Tiger-grid: a robot with poor sensors.

The robot is in a cell of a map, facing north, east, south or west. Its five actions are to stay, to go
forward, and to turn right, around or left on the spot. All but the first may fail:

=============  ===============================================================================
forward        0.8 ahead; 0.05 each to the right, to the left and back; 0.05 not at all
turn-right     0.7 right; 0.1 each around, left and not at all
turn-around    0.6 around; 0.15 each right and left; 0.1 not at all
turn-left      0.7 left; 0.1 each around, right and not at all
=============  ===============================================================================

A robot that slips to a side faces the way that it went; one that slips back faces either way along it, as
likely as not. A wall leaves it as it was. Afterwards each of four sensors, one for each side of the robot,
tells whether there is a wall: it sees a wall with probability 0.9, and one that is not there with 0.05. At
the goal the robot sees that it is there, whichever way it faces; whatever it does there puts it back to the
start. Arriving at the goal pays 1.

These are the numbers of Cassandra's files for Hallway and Tiger-grid, where those of the sensors are rounded
to six digits; Hallway2, whose map alone is at hand, is taken to have the same ones. The classic problems have
no costs. Here a forward move costs 1, wherever it leads, and all else is free, so the least cost is 0. Each
default budget is about half of what good policies spend without one. The values given below are from
point-based value iteration and simulation, the bounds from the fast informed bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from .._types import BoolArray, FloatArray, IntArray
from ..errors import ModelError
from ..model import CPOMDP

HEADINGS = ("north", "east", "south", "west")
STEPS = ((0, -1), (1, 0), (0, 1), (-1, 0))  # column and line of the map, by heading
SIDES = ("front", "right", "back", "left")  # clockwise from the heading
FRONT, RIGHT, BACK, LEFT = range(4)  # sides of the robot, and quarter turns to the right
MAX_NOISE = 2.5  # turning around fails with probability 0.4 times the noise


class Slip(NamedTuple):
    """One way in which an action goes wrong."""

    probability: float
    step: int | None  # side to which the robot moves, if it does
    turn: int  # quarter turns to the right


class Motion(NamedTuple):
    """An action: what it should do, and how else it may end."""

    step: int | None
    turn: int
    slips: tuple[Slip, ...]


MOTIONS = {
    "stay": Motion(None, FRONT, ()),
    "forward": Motion(
        FRONT,
        FRONT,
        (
            Slip(0.05, RIGHT, RIGHT),
            Slip(0.05, LEFT, LEFT),
            Slip(0.025, BACK, FRONT),
            Slip(0.025, BACK, BACK),
            Slip(0.05, None, FRONT),
        ),
    ),
    "turn-right": Motion(None, RIGHT, tuple(Slip(0.1, None, turn) for turn in (FRONT, BACK, LEFT))),
    "turn-around": Motion(None, BACK, (Slip(0.1, None, FRONT), Slip(0.15, None, RIGHT), Slip(0.15, None, LEFT))),
    "turn-left": Motion(None, LEFT, tuple(Slip(0.1, None, turn) for turn in (FRONT, RIGHT, BACK))),
}


def hallway(
    *,
    discount: float = 0.95,
    motion_noise: float = 1.0,
    p_wall: float = 0.9,
    p_false_wall: float = 0.05,
    forward_cost: float = 1.0,
    budget: float | None = 5.0,
) -> CPOMDP:
    """A robot looks for one of four rooms off a long hall, and forward moves are metered.

    The map has 15 cells, ``*`` being the goal, and all but the goal are equally likely at the start, with
    all headings::

        . . . . . . . . . . .
            .   .   .   *

    Facing south from the hall into a room, the robot sees a landmark that tells which room it is, without
    error. The sensors are taken to work in the rooms as elsewhere, and the goal to look the same from all four
    headings, which makes up the published number of observations. Without a budget the optimum is at most
    1.29; policies worth 1.01 spend about 9.9.

    Parameters
    ----------
    discount : the classic problem takes 0.95
    motion_noise : factor on the probability of every failure; 1 is the classic problem, 0 never fails
    p_wall : probability that a sensor sees a wall that is there
    p_false_wall : probability that a sensor sees a wall that is not there
    forward_cost : cost of going forward once
    budget : bound on the expected total cost; None is unlimited

    Examples
    --------
    >>> hallway()
    CPOMDP 'hallway': 60 states, 5 actions, 21 observations, 1 cost, discount 0.95, budget 5
    """
    grid = Grid.parse(["...........", "  . . . *  "])
    landmarks = [grid.state((x, 2), "south") for x in (3, 5, 7, 9)]
    return _robot(
        grid,
        start=grid.all_but_goal(),
        landmarks=landmarks,
        motion_noise=motion_noise,
        sensors=(p_wall, p_false_wall),
        forward_cost=forward_cost,
        discount=discount,
        budget=budget,
        name="hallway",
    )


def hallway2(
    *,
    discount: float = 0.95,
    motion_noise: float = 1.0,
    p_wall: float = 0.9,
    p_false_wall: float = 0.05,
    forward_cost: float = 1.0,
    budget: float | None = 5.0,
) -> CPOMDP:
    """A robot looks for the goal in a hall without landmarks, and forward moves are metered.

    The map has 23 cells, ``*`` being the goal, and all but the goal are equally likely at the start, with
    all headings::

          . . . . .
        . .   .   . .
          .   .   .
        . .   .   . *
          . . . . .

    There are no landmarks. Without a budget the optimum is at most 0.99; policies worth 0.53 spend 11.4.

    Parameters
    ----------
    discount : the classic problem takes 0.95
    motion_noise : factor on the probability of every failure; 1 is the classic problem, 0 never fails
    p_wall : probability that a sensor sees a wall that is there
    p_false_wall : probability that a sensor sees a wall that is not there
    forward_cost : cost of going forward once
    budget : bound on the expected total cost; None is unlimited

    Examples
    --------
    >>> hallway2()
    CPOMDP 'hallway2': 92 states, 5 actions, 17 observations, 1 cost, discount 0.95, budget 5
    """
    grid = Grid.parse([" ..... ", ".. . ..", " . . . ", ".. . .*", " ..... "])
    return _robot(
        grid,
        start=grid.all_but_goal(),
        motion_noise=motion_noise,
        sensors=(p_wall, p_false_wall),
        forward_cost=forward_cost,
        discount=discount,
        budget=budget,
        name="hallway2",
    )


def tiger_grid(
    *,
    discount: float = 0.95,
    motion_noise: float = 1.0,
    p_wall: float = 0.9,
    p_false_wall: float = 0.05,
    forward_cost: float = 1.0,
    budget: float | None = 4.0,
) -> CPOMDP:
    """A robot does not know on which side the goal is and on which a tiger, and forward moves are metered.

    The map has 9 cells. The robot starts in one of the two cells ``s``, facing north; the goal ``*`` is two
    steps away, and a tiger ``t`` waits on the other side::

        t . * . t
        . s   s .

    Every step that ends in a tiger's cell pays -1, and the game goes on there; a tiger shows itself to no
    sensor. Without a budget the optimum is at most 2.74; policies worth 2.30 spend about 8.5.

    Parameters
    ----------
    discount : the classic problem takes 0.95
    motion_noise : factor on the probability of every failure; 1 is the classic problem, 0 never fails
    p_wall : probability that a sensor sees a wall that is there
    p_false_wall : probability that a sensor sees a wall that is not there
    forward_cost : cost of going forward once
    budget : bound on the expected total cost; None is unlimited

    Examples
    --------
    >>> tiger_grid()
    CPOMDP 'tiger-grid': 36 states, 5 actions, 17 observations, 1 cost, discount 0.95, budget 4
    """
    grid = Grid.parse(["..*..", ".. .."])
    return _robot(
        grid,
        start=[grid.state((2, 1), "north"), grid.state((4, 1), "north")],
        tigers=[(1, 2), (5, 2)],
        motion_noise=motion_noise,
        sensors=(p_wall, p_false_wall),
        forward_cost=forward_cost,
        discount=discount,
        budget=budget,
        name="tiger-grid",
    )


@dataclass(frozen=True)
class Grid:
    """A map; state ``4 * cell + heading`` is the robot in a cell, facing one way."""

    cells: tuple[tuple[int, int], ...]  # (x, y) of each cell, x east and y north, from 1; line by line
    ahead: IntArray  # [cell, heading] the cell that lies there, or -1 for a wall
    goal: int  # a cell

    @classmethod
    def parse(cls, lines: Sequence[str]) -> Grid:
        """The map drawn with ``.`` for a cell, ``*`` for the goal and blanks elsewhere."""
        drawn = [(x, y) for y, line in enumerate(lines) for x, mark in enumerate(line) if mark != " "]
        number = {place: cell for cell, place in enumerate(drawn)}
        ahead = [[number.get((x + dx, y + dy), -1) for dx, dy in STEPS] for x, y in drawn]
        (goal,) = (cell for cell, (x, y) in enumerate(drawn) if lines[y][x] == "*")
        return cls(tuple((x + 1, len(lines) - y) for x, y in drawn), np.array(ahead), goal)

    def state(self, cell: tuple[int, int], heading: str) -> int:
        """The index of a state."""
        return 4 * self.cells.index(cell) + HEADINGS.index(heading)

    def all_but_goal(self) -> list[int]:
        """The states in all cells but the goal."""
        return [4 * cell + heading for cell, heading in np.ndindex(self.ahead.shape) if cell != self.goal]

    @property
    def labels(self) -> list[str]:
        """For example "(2,1) north", or "goal north"."""
        names = ["goal" if cell == self.goal else f"({x},{y})" for cell, (x, y) in enumerate(self.cells)]
        return [f"{name} {heading}" for name, heading in product(names, HEADINGS)]

    @property
    def walls(self) -> BoolArray:
        """Return whether there is a wall, [state, side of the robot]."""
        side = (np.arange(4)[:, None] + np.arange(4)) % 4  # [heading, side] as a heading
        blocked: BoolArray = self.ahead[:, side].reshape(-1, 4) < 0
        return blocked

    def after(self, step: int | None, turn: int) -> IntArray:
        """The state in which a movement ends, [state]; one into a wall changes nothing, not even the heading."""
        cell, heading = np.divmod(np.arange(self.ahead.size), 4)
        there = cell if step is None else self.ahead[cell, (heading + step) % 4]
        ends: IntArray = np.where(there < 0, 4 * cell + heading, 4 * there + (heading + turn) % 4)
        return ends


def _robot(
    grid: Grid,
    *,
    start: Sequence[int],
    landmarks: Sequence[int] = (),
    tigers: Iterable[tuple[int, int]] = (),
    motion_noise: float,
    sensors: tuple[float, float],
    forward_cost: float,
    discount: float,
    budget: float | None,
    name: str,
) -> CPOMDP:
    if not 0 <= motion_noise <= MAX_NOISE:
        raise ModelError(f"motion_noise is {motion_noise}, but it must be at least 0 and at most {MAX_NOISE}")
    n = grid.ahead.size
    at_goal = np.arange(n) // 4 == grid.goal
    belief = np.zeros(n)
    belief[start] = 1 / len(start)
    transition = np.array([_moved(grid, motion, motion_noise) for motion in MOTIONS.values()])
    transition[:, at_goal] = belief

    arrival = np.where(at_goal, 1.0, 0.0)
    for tiger in tigers:
        arrival[4 * grid.cells.index(tiger) + np.arange(4)] = -1.0
    cost = np.zeros((n, len(MOTIONS)))
    cost[:, list(MOTIONS).index("forward")] = forward_cost
    seen, readings = _seen(grid, landmarks, at_goal, *sensors)
    return CPOMDP(
        states=grid.labels,
        actions=MOTIONS,
        observations=readings,
        transition=transition,
        observation=[seen] * len(MOTIONS),
        reward=(transition @ arrival).T,
        cost=cost,
        initial_belief=belief,
        discount=discount,
        budget=budget,
        name=name,
    )


def _moved(grid: Grid, motion: Motion, noise: float) -> FloatArray:
    """T[s, s'] of an action away from the goal."""
    state = np.arange(grid.ahead.size)
    moved = np.zeros((state.size, state.size))
    moved[state, grid.after(motion.step, motion.turn)] = 1 - noise * sum(s.probability for s in motion.slips)
    for slip in motion.slips:
        moved[state, grid.after(slip.step, slip.turn)] += noise * slip.probability
    return moved


def _seen(
    grid: Grid, landmarks: Sequence[int], at_goal: BoolArray, p_wall: float, p_false_wall: float
) -> tuple[FloatArray, list[str]]:
    """Z[s', o] of every action, and what the observations are called."""
    for what, p in (("p_wall", p_wall), ("p_false_wall", p_false_wall)):
        if not 0 <= p <= 1:
            raise ModelError(f"{what} is {p}, but a probability is at least 0 and at most 1")
    reported = np.array(list(product((False, True), repeat=4)))  # [reading, side]
    p_report = np.where(grid.walls, p_wall, p_false_wall)[:, None]  # [s', 1, side]
    by_walls = np.where(reported, p_report, 1 - p_report).prod(axis=2)  # sensors err independently

    special = [np.arange(at_goal.size) == s for s in landmarks] + [at_goal]
    seen = np.column_stack([by_walls, *np.zeros_like(special, dtype=float)])
    for o, where in enumerate(special, start=len(reported)):
        seen[where] = np.arange(seen.shape[1]) == o
    names = ["-".join(["walls", *(side for side, wall in zip(SIDES, row, strict=True) if wall)]) for row in reported]
    names[0] = "no-walls"
    return seen, [*names, *(f"landmark-{i}" for i in range(1, len(landmarks) + 1)), "goal"]
