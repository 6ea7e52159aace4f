"""Delivery at night, with a battery and sleepers to spare: 43 states, 5 actions, 43 observations, 2 costs."""

from __future__ import annotations

from itertools import product

from ..model import CPOMDP
from . import checks

LENGTH = 5  # columns, from west to east
CORRIDORS = ("south", "middle", "north")  # rows
ASLEEP = {"south": 0.25, "middle": 0.5, "north": 0.25}  # corridor -> probability that people sleep along it
START, WARD = (1, 2), (LENGTH, 2)
STEPS = {"go-north": (0, 1), "go-south": (0, -1), "go-east": (1, 0), "go-west": (-1, 0)}
SIDES = {
    "go-north": ("go-west", "go-east"),
    "go-south": ("go-east", "go-west"),
    "go-east": ("go-north", "go-south"),
    "go-west": ("go-south", "go-north"),
}
OVER = "delivered"

Cell = tuple[int, int]  # column and row, from 1 in the south-west


def delivery(
    *,
    discount: float = 0.95,
    slip: float = 0.2,
    p_hear: float = 0.5,
    p_listen: float = 0.8,
    move_cost: float = 1.0,
    bump_cost: float = 1.5,
    noise_cost: float = 1.0,
    ward_reward: float = 10.0,
    budget: tuple[float, float] | None = (4.0, 0.75),
) -> CPOMDP:
    """A robot brings medicine through one of three corridors, bound both in its battery and in how many it wakes.

    A hospital's floor has five columns and three rows. The rows are corridors: in the middle three columns walls
    part them, and only the first and the last column lead from one to another. The robot starts at the west end of
    the middle corridor; the ward ``*`` is at its east end. Arriving there pays 10 and ends the run::

        . - - - .
        s - - - *
        . - - - .

    People sleep along one of the corridors, the middle one with probability 0.5 and either other with 0.25.
    The robot knows where it is. A move goes astray to either side with probability 0.1 each; a wall stops it,
    which is a bump. After a move the robot hears from which corridor the breathing comes: the right one with
    probability 0.5, else either other, as likely as not. To listen is not to move, and hears right with 0.8.

    There are two costs. The battery pays 1 for a move, and 1.5 for one that bumps. Noise is 1 for a move begun in the
    middle three columns of the corridor where people sleep, which is hidden. To listen costs nothing.
    Without a budget the optimum is 8.06, and the policy that attains it spends 5.0 of battery and 1.5 of noise.

    Parameters
    ----------
    discount : in [0, 1)
    slip : probability that a move goes astray, half of it to either side
    p_hear : probability to hear right after a move
    p_listen : probability to hear right after listening
    move_cost : battery for a move that does not bump
    bump_cost : battery for a move that bumps
    noise_cost : noise of a move where people sleep
    ward_reward : reward of arriving at the ward
    budget : bounds on the expected total battery and noise; None is unlimited

    Examples
    --------
    >>> delivery()
    CPOMDP 'delivery': 43 states, 5 actions, 43 observations, 2 costs, discount 0.95, budget 4, 0.75
    """
    checks.probabilities(slip=slip, p_hear=p_hear, p_listen=p_listen)
    checks.costs(move_cost=move_cost, bump_cost=bump_cost, noise_cost=noise_cost)
    cells = [cell for cell in product(range(1, LENGTH + 1), range(1, len(CORRIDORS) + 1)) if cell != WARD]
    states = {f"{_name(cell)} {asleep}": (cell, asleep) for cell, asleep in product(cells, CORRIDORS)}

    def outcomes(cell: Cell, action: str) -> list[tuple[Cell, float]]:
        """The cells in which a move may end, and how likely each is."""
        left, right = SIDES[action]
        return [(_after(cell, way), p) for way, p in ((action, 1 - slip), (left, slip / 2), (right, slip / 2))]

    def transition(state: str, action: str) -> dict[str, float]:
        cell, asleep = states[state]
        if action == "listen":
            return {state: 1.0}
        row: dict[str, float] = {}
        for there, p in outcomes(cell, action):
            after = OVER if there == WARD else f"{_name(there)} {asleep}"
            row[after] = row.get(after, 0.0) + p
        return row

    def observation(action: str, state: str) -> dict[str, float]:
        if state == OVER:
            return {OVER: 1.0}
        cell, asleep = states[state]
        right = p_listen if action == "listen" else p_hear
        return {f"{_name(cell)} {heard}": right if heard == asleep else (1 - right) / 2 for heard in CORRIDORS}

    def reward(state: str, action: str, after: str) -> float:
        return ward_reward if after == OVER else 0.0

    def battery(state: str, action: str) -> float:
        if action == "listen":
            return 0.0
        here, _ = states[state]
        return sum(p * (bump_cost if there == here else move_cost) for there, p in outcomes(here, action))

    def noise(state: str, action: str) -> float:
        (column, row), asleep = states[state]
        disturbs = 1 < column < LENGTH and CORRIDORS[row - 1] == asleep
        return noise_cost if disturbs and action != "listen" else 0.0

    return CPOMDP.from_functions(
        states=[*states, OVER],
        actions=[*STEPS, "listen"],
        observations=[*(f"{_name(cell)} {heard}" for cell, heard in product(cells, CORRIDORS)), OVER],
        transition=transition,
        observation=observation,
        reward=reward,
        cost=[battery, noise],
        initial={f"{_name(START)} {asleep}": p for asleep, p in ASLEEP.items()},
        discount=discount,
        budget=budget,
        terminal=[OVER],
        costs=["battery", "noise"],
        name="delivery",
    )


def _name(cell: Cell) -> str:
    return "({},{})".format(*cell)


def _after(cell: Cell, way: str) -> Cell:
    """The cell in which a step ends; one into a wall ends where it began."""
    dx, dy = STEPS[way]
    x, y = cell[0] + dx, cell[1] + dy
    walled = dy != 0 and 1 < x < LENGTH
    return (x, y) if 1 <= x <= LENGTH and 1 <= y <= len(CORRIDORS) and not walled else cell
