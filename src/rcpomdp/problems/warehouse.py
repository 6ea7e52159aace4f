"""Warehouse, a robot that is lost between shelves and pays for bumps: 344 states, 5 actions, 25 observations."""

from __future__ import annotations

from ..model import CPOMDP
from . import checks

WIDTH, HEIGHT = 24, 16
SHELVES = frozenset((x, y) for x in (4, 8, 12, 16, 20) for y in (3, 4, 5, 6, 11, 12, 13, 14))
DOCK = (WIDTH, 1)
STEPS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
SIDES = {"north": ("west", "east"), "south": ("east", "west"), "east": ("north", "south"), "west": ("south", "north")}

Cell = tuple[int, int]  # (x, y), x east and y north from 1


def warehouse(
    *,
    discount: float = 0.97,
    slip: float = 0.2,
    p_column: float = 0.7,
    move_cost: float = 1.0,
    bump_cost: float = 1.5,
    dock_reward: float = 100.0,
    budget: float | None = 10.0,
) -> CPOMDP:
    """A robot that is lost in a warehouse looks for its dock, and the battery pays for moves and more for bumps.

    The hall has 24 columns and 16 rows, with ten shelves ``#`` of four cells. The dock ``*`` is the south-east
    corner, and the robot starts in any other free cell::

        . . . . . . . . . . . . . . . . . . . . . . . .
        . . . . . . . . . . . . . . . . . . . . . . . .
        . . . # . . . # . . . # . . . # . . . # . . . .
        . . . # . . . # . . . # . . . # . . . # . . . .
        . . . # . . . # . . . # . . . # . . . # . . . .
        . . . # . . . # . . . # . . . # . . . # . . . .
        . . . . . . . . . . . . . . . . . . . . . . . .
        . . . . . . . . . . . . . . . . . . . . . . . .
        . . . . . . . . . . . . . . . . . . . . . . . .
        . . . . . . . . . . . . . . . . . . . . . . . .
        . . . # . . . # . . . # . . . # . . . # . . . .
        . . . # . . . # . . . # . . . # . . . # . . . .
        . . . # . . . # . . . # . . . # . . . # . . . .
        . . . # . . . # . . . # . . . # . . . # . . . .
        . . . . . . . . . . . . . . . . . . . . . . . .
        . . . . . . . . . . . . . . . . . . . . . . . *

    A move goes astray to either side with probability 0.1 each; a wall or a shelf stops it, which is a bump.
    After every action a sensor tells the column: the right one with probability 0.7, else one of its two
    neighbours, as likely as not, or the right one again where there is no such neighbour. Arriving at the dock
    pays 100, is seen, and ends the run. To wait is free; a move costs 1, and 1.5 if it bumps, so that what a
    move is expected to cost depends on where the robot is, which it does not know. Without a budget the optimum is at
    most 51.0; policies worth 47.6 spend about 19.

    Parameters
    ----------
    discount : in [0, 1)
    slip : probability that a move goes astray, half of it to either side
    p_column : probability that the sensor tells the right column
    move_cost : cost of a move that does not bump
    bump_cost : cost of a move that bumps
    dock_reward : reward of arriving at the dock
    budget : bound on the expected total cost; None is unlimited

    Examples
    --------
    >>> warehouse()
    CPOMDP 'warehouse': 344 states, 5 actions, 25 observations, 1 cost, discount 0.97, budget 10
    """
    checks.probabilities(slip=slip, p_column=p_column)
    checks.costs(move_cost=move_cost, bump_cost=bump_cost)
    cells = {_name(cell): cell for cell in _free_cells()}
    end = _name(DOCK)

    def outcomes(cell: Cell, action: str) -> list[tuple[Cell, float]]:
        """The cells in which a move may end, and how likely each is."""
        left, right = SIDES[action]
        ways = ((action, 1 - slip), (left, slip / 2), (right, slip / 2))
        return [(_after(cell, way), p) for way, p in ways]

    def transition(state: str, action: str) -> dict[str, float]:
        if action == "wait":
            return {state: 1.0}
        row: dict[str, float] = {}
        for there, p in outcomes(cells[state], action):
            row[_name(there)] = row.get(_name(there), 0.0) + p
        return row

    def observation(action: str, state: str) -> dict[str, float]:
        if state == end:
            return {"dock": 1.0}
        x = cells[state][0]
        row = {f"column-{x}": p_column}
        for beside in (x - 1, x + 1):
            read = f"column-{beside if 1 <= beside <= WIDTH else x}"
            row[read] = row.get(read, 0.0) + (1 - p_column) / 2
        return row

    def reward(state: str, action: str, after: str) -> float:
        return dock_reward if after == end else 0.0

    def cost(state: str, action: str) -> float:
        if action == "wait":
            return 0.0
        here = cells[state]
        return sum(p * (bump_cost if there == here else move_cost) for there, p in outcomes(here, action))

    return CPOMDP.from_functions(
        states=cells,
        actions=[*STEPS, "wait"],
        observations=[*(f"column-{x}" for x in range(1, WIDTH + 1)), "dock"],
        transition=transition,
        observation=observation,
        reward=reward,
        cost=cost,
        discount=discount,
        budget=budget,
        terminal=[end],
        name="warehouse",
    )


def _free_cells() -> list[Cell]:
    every = [(x, y) for y in range(1, HEIGHT + 1) for x in range(1, WIDTH + 1)]
    return [cell for cell in every if cell not in SHELVES]


def _name(cell: Cell) -> str:
    return "({},{})".format(*cell)


def _after(cell: Cell, way: str) -> Cell:
    """The cell in which a step ends; one into a wall or a shelf ends where it began."""
    x, y = cell[0] + STEPS[way][0], cell[1] + STEPS[way][1]
    return (x, y) if 1 <= x <= WIDTH and 1 <= y <= HEIGHT and (x, y) not in SHELVES else cell
