"""Maze20 (Hauskrecht, 1997 and 2000; Cassandra's milos-aaai97) with a cost for moving.

A robot with poor sensors is in a maze of 20 cells, with columns a to e from west to east and rows 1 to 4
from south to north. It starts in one of three corners, ``s``, e4 with probability 0.4, a1 and e1 with 0.3
each, and the goal, ``g``, is c2::

    +---+---+---+---+---+
    |                 s |
    +   +---+   +   +---+
    |       |   |       |
    +   +   +   +---+   +
    |       | g |       |
    +   +---+---+   +---+
    | s               s |
    +---+---+---+---+---+

A move goes where it should with probability 0.7 and to either side of that with 0.15; walls stop it. It
pays 4 if the robot leaves its cell, else nothing, and shows nothing. At the goal every move pays 150 and
puts the robot back to a start. Two more actions, which pay 2, sense the walls to the north and south or to
the east and west, with errors, and leave the robot where it is.

The published file numbers cells, actions and observations. The names are ours, and so is the compass: a map
that is turned or mirrored together with its actions is the same problem.

The classic problem has no cost. Here each move costs 1, wherever it leads, and sensing is free, so the
least cost is 0. Without a budget, point-based value iteration finds policies worth 50.2 that cost about
6.3; never to move is worth 20. The default budget is about half of that cost.
"""

from __future__ import annotations

from ..errors import ModelError
from ..model import CPOMDP

MAP = """\
+---+---+---+---+---+
|                   |
+   +---+   +   +---+
|       |   |       |
+   +   +   +---+   +
|       |   |       |
+   +---+---+   +---+
|                   |
+---+---+---+---+---+
""".splitlines()
STEP = {"north": (0, -1), "south": (0, 1), "east": (1, 0), "west": (-1, 0)}
SENSED = {"sense-north-south": ("north", "south"), "sense-east-west": ("east", "west")}
READING = {  # walls on (first side, second side) -> probability to see none, the first, the second, both
    (False, False): (0.89, 0.05, 0.05, 0.01),
    (True, False): (0.14, 0.80, 0.01, 0.05),
    (False, True): (0.14, 0.01, 0.80, 0.05),
    (True, True): (0.05, 0.10, 0.10, 0.75),
}
START = {"a1": 0.3, "e1": 0.3, "e4": 0.4}
GOAL = "c2"


def maze20(
    *,
    discount: float = 0.9,
    slip: float = 0.3,
    move_cost: float = 1.0,
    budget: float | None = 3.0,
) -> CPOMDP:
    """A robot with poor sensors in a maze, where moves cost something and sensing is free.

    Parameters
    ----------
    discount : the classic problem takes 0.9
    slip : probability that a move goes to a side instead, either side being as likely
    move_cost : cost of a move, whether or not a wall stops it
    budget : bound on the expected total cost; None is unlimited

    Examples
    --------
    >>> maze20()
    CPOMDP 'maze20': 20 states, 6 actions, 8 observations, 1 cost, discount 0.9, budget 3
    """
    if not 0 <= slip <= 1:
        raise ModelError(f"slip is {slip}, but a probability is at least 0 and at most 1")
    after = _moves()
    cells = sorted({cell for cell, _ in after}, key=lambda cell: (cell[1], cell[0]))

    def transition(state: str, action: str) -> dict[str, float]:
        if action in SENSED:
            return {state: 1.0}
        if state == GOAL:
            return START
        row = {after[state, action]: 1 - slip}
        for aside in next(sides for sides in SENSED.values() if action not in sides):
            row[after[state, aside]] = row.get(after[state, aside], 0.0) + slip / 2
        return row

    def observation(action: str, state: str) -> dict[str, float]:
        if action not in SENSED:
            return {"nothing": 1.0}
        first, second = (after[state, side] == state for side in SENSED[action])
        return dict(zip(_readings(action), READING[first, second], strict=True))

    def reward(state: str, action: str, then: str) -> float:
        if action in SENSED:
            return 2.0
        return 150.0 if state == GOAL else 4.0 * (then != state)

    return CPOMDP.from_functions(
        states=cells,
        actions=[*STEP, *SENSED],
        observations=dict.fromkeys(["nothing", *(seen for action in SENSED for seen in _readings(action))]),
        transition=transition,
        observation=observation,
        reward=reward,
        cost=lambda s, a: move_cost if a in STEP else 0.0,
        initial=START,
        discount=discount,
        budget=budget,
        name="maze20",
    )


def _readings(action: str) -> tuple[str, str, str, str]:
    first, second = SENSED[action]
    return "no-wall", f"wall-{first}", f"wall-{second}", f"wall-{first}-{second}"


def _moves() -> dict[tuple[str, str], str]:
    """The cell that each move leads to when it does not slip: (cell, move) -> cell."""
    after = {}
    for y in range(1, len(MAP), 2):
        for x in range(2, len(MAP[y]), 4):
            for move, (dx, dy) in STEP.items():
                is_open = MAP[y + dy][x + 2 * dx] == " "
                after[_cell(x, y), move] = _cell(x + 4 * dx, y + 2 * dy) if is_open else _cell(x, y)
    return after


def _cell(x: int, y: int) -> str:
    """The cell whose middle is at column x and line y of the map."""
    return f"{'abcde'[x // 4]}{4 - y // 2}"
