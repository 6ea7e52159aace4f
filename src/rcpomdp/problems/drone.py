"""Drone, a search by daylight on one battery: 61 states, 1,048 with the time, 6 actions, 25 observations."""

from __future__ import annotations

from itertools import product

from ..model import CPOMDP
from . import checks

WIDTH, HEIGHT = 4, 3
BASE = (1, 1)
FIELDS = {(1, 3): 0.1, (3, 3): 0.2, (3, 1): 0.3, (4, 3): 0.4}  # where the hiker may be, and how likely
STEPS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
OVER = "landed"
FOUND = "found"

Cell = tuple[int, int]  # (x, y), x east and y north from 1


def drone(
    *,
    discount: float = 0.95,
    horizon: int = 20,
    p_see: float = 0.8,
    move_cost: float = 1.0,
    look_cost: float = 1.0,
    found_reward: float = 10.0,
    home_reward: float = 5.0,
    budget: float | None = 12.0,
) -> CPOMDP:
    """A drone looks for a hiker by daylight, and has one battery to search and to fly home.

    Twelve cells make a grid of four columns and three rows, with the base in the south-west. A hiker is lost in one of
    four fields, with probability 0.1 in (1,3), 0.2 in (3,3), 0.3 in (3,1) and 0.4 in (4,3). The drone flies from cell
    to cell, and always knows where it is. A look sees a hiker who is in the drone's cell with probability 0.8 and
    nobody who is not there. The drone may land anywhere, which ends the run and pays 10 if the hiker is found and 5 at
    the base, or both. After 20 steps it is dark, and all is over.

    A flight to the next cell and a look drain 1 of the battery each, and to land costs nothing. The battery is not
    discounted: one that holds 12 is good for 12 flights and looks, early or late.

    Parameters
    ----------
    discount : in [0, 1]
    horizon : steps until it is dark
    p_see : probability that a look finds a hiker who is there
    move_cost, look_cost : what a flight to the next cell and a look drain
    found_reward : reward of landing with the hiker found
    home_reward : reward of landing at the base
    budget : what the battery holds; None is unlimited

    Examples
    --------
    >>> drone()
    CPOMDP 'drone': 1,048 states, 6 actions, 25 observations, 1 cost, discount 0.95, budget 12, cost discount 1,
    horizon 20
    """
    checks.probabilities(p_see=p_see)
    checks.costs(move_cost=move_cost, look_cost=look_cost)
    cells = list(product(range(1, WIDTH + 1), range(1, HEIGHT + 1)))
    states = {
        f"{place_name(cell)} {hiker}": (cell, hiker) for cell in cells for hiker in (*map(place_name, FIELDS), FOUND)
    }

    def transition(state: str, action: str) -> dict[str, float]:
        cell, hiker = states[state]
        if action == "land":
            return {OVER: 1.0}
        if action == "look":
            seen = p_see if hiker == place_name(cell) else 0.0
            return {f"{place_name(cell)} {FOUND}": seen, state: 1 - seen} if seen else {state: 1.0}
        return {f"{place_name(_after(cell, action))} {hiker}": 1.0}

    def observation(action: str, state: str) -> dict[str, float]:
        if state == OVER:
            return {OVER: 1.0}
        cell, hiker = states[state]
        return {f"{place_name(cell)} {FOUND}" if hiker == FOUND else place_name(cell): 1.0}

    def reward(state: str, action: str) -> float:
        cell, hiker = states[state]
        return found_reward * (hiker == FOUND) + home_reward * (cell == BASE) if action == "land" else 0.0

    def battery(state: str, action: str) -> float:
        return 0.0 if action == "land" else look_cost if action == "look" else move_cost

    return CPOMDP.from_functions(
        states=[*states, OVER],
        actions=[*STEPS, "look", "land"],
        observations=[*map(place_name, cells), *(f"{place_name(cell)} {FOUND}" for cell in cells), OVER],
        transition=transition,
        observation=observation,
        reward=reward,
        cost=battery,
        initial={f"{place_name(BASE)} {place_name(field)}": p for field, p in FIELDS.items()},
        discount=discount,
        budget=budget,
        cost_discount=1.0,
        horizon=horizon,
        terminal=[OVER],
        costs=["battery"],
        name="drone",
    )


def place_name(cell: Cell) -> str:
    """A cell, as states and observations name it."""
    return "({},{})".format(*cell)


def _after(cell: Cell, way: str) -> Cell:
    """The cell where a flight ends; one off the grid ends where it began."""
    x, y = cell[0] + STEPS[way][0], cell[1] + STEPS[way][1]
    return (x, y) if 1 <= x <= WIDTH and 1 <= y <= HEIGHT else cell
