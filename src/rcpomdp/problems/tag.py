"""Tag (Pineau, Gordon and Thrun, 2003), the hunt for an opponent: 870 states, 5 actions, 30 observations."""

from __future__ import annotations

import numpy as np

from .._types import BoolArray, FloatArray, IntArray
from ..errors import ModelError
from ..model import CPOMDP

MAP = (
    "     ...  ",
    "     ...  ",
    "     ...  ",
    "..........",
    "..........",
)
CELLS = tuple(  # (x, y), x east and y north from 1, line by line from the south
    (x + 1, y + 1) for y, line in enumerate(reversed(MAP)) for x, mark in enumerate(line) if mark == "."
)
ROOM = tuple(y >= 3 for _, y in CELLS)  # whether a cell belongs to the room in the north
STEPS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
TAG = len(STEPS)  # the last action
TAGGED = len(CELLS)  # where the opponent is when the game is over


def tag(
    *,
    discount: float = 0.95,
    flight: float = 0.8,
    room_cost: float = 1.0,
    budget: float | None = 2.5,
    move_reward: float = -1.0,
    tag_reward: float = 10.0,
    miss_reward: float = -10.0,
) -> CPOMDP:
    """A robot hunts an opponent that flees and that it sees only when it stands on it.

    Robot and opponent start anywhere, independently, on a map of 29 cells::

                  . . .
                  . . .
                  . . .
        . . . . . . . . . .
        . . . . . . . . . .

    The robot always knows its own cell, and a move never fails; walls stop it. While it moves, the opponent
    flees from where it was: with probability 0.4 to the east or west and with 0.4 to the north or south, in
    either case away from the robot, or either way if that makes no difference. It stays with the remaining 0.2, and
    when a wall is in its way. After a move the robot sees whether the two share a cell. To tag the opponent
    there pays 10 and ends the game; to tag in vain pays -10, and neither moves. A move pays -1.

    The published file follows this rule but for a few rows with both in the room, which look like slips and
    are not kept here. In the file moves pay -1 even after the end, where nothing pays here; the
    optimum is the same, as the robot knows whether it shares the opponent's cell once it has moved.

    The classic problem has no cost. Here each action that the robot takes in the room, the nine cells in the
    north, costs 1. Without a budget, point-based value iteration finds policies worth -6.00 that cost about
    3.9, and a patrol that tags on sight is worth -6.10 and costs 3.0. To go south always costs least, 0.60. A
    budget that holds all along the way must be at least 2.16, for the robot that finds itself in the middle
    of the room after one step.

    Parameters
    ----------
    discount : the classic problem takes 0.95
    flight : probability that the opponent tries to flee while the robot moves
    room_cost : cost of an action taken in the room
    budget : bound on the expected total cost; None is unlimited
    move_reward : reward of a move
    tag_reward : reward of tagging the opponent
    miss_reward : reward of tagging in vain

    Examples
    --------
    >>> tag()
    CPOMDP 'tag': 870 states, 5 actions, 30 observations, 1 cost, discount 0.95, budget 2.5
    """
    if not 0 <= flight <= 1:
        raise ModelError(f"flight is {flight}, but a probability is at least 0 and at most 1")
    k = len(CELLS)
    robot, opponent = np.divmod(np.arange(k * (k + 1)), k + 1)  # state (k + 1) * robot + opponent
    over, meet = opponent == TAGGED, robot == opponent
    ahead = _ahead()
    fled = _flight(ahead, flight)

    reward = np.where(np.arange(TAG + 1) < TAG, move_reward, np.where(meet, tag_reward, miss_reward)[:, None])
    reward[over] = 0.0
    cost = np.where(np.array(ROOM)[robot] & ~over, room_cost, 0.0)
    seen = np.eye(k + 1)
    return CPOMDP(
        states=[f"{_name(r)} {_name(o)}" for r, o in zip(robot, opponent, strict=True)],
        actions=[*STEPS, "tag"],
        observations=[*map(_name, range(k)), "opponent"],
        transition=[*(_moved(ahead[:, move], fled) for move in range(TAG)), _tagged(meet)],
        observation=[seen[np.where(meet, k, robot)]] * TAG + [seen[robot]],
        reward=reward,
        cost=np.tile(cost[:, None], TAG + 1),
        initial_belief=np.where(over, 0.0, 1 / k**2),
        discount=discount,
        budget=budget,
        terminal=over,
        name="tag",
    )


def _name(cell: int) -> str:
    return "tagged" if cell == TAGGED else "({},{})".format(*CELLS[cell])


def _ahead() -> IntArray:
    """The cell where a step ends, [cell, direction]; one into a wall ends where it began."""
    number = {place: cell for cell, place in enumerate(CELLS)}
    return np.array([[number.get((x + dx, y + dy), number[x, y]) for dx, dy in STEPS.values()] for x, y in CELLS])


def _flight(ahead: IntArray, flight: float) -> FloatArray:
    """P(opponent' | robot, opponent), [robot, opponent, opponent'], of the cells before and after a move."""
    k = len(CELLS)
    moved = np.zeros((k, k, k))
    for robot, opponent in np.ndindex(k, k):
        moved[robot, opponent, opponent] += 1 - flight
        for axis in (0, 1):  # east and west, then north and south
            lead = CELLS[opponent][axis] - CELLS[robot][axis]
            away = [i for i, step in enumerate(STEPS.values()) if step[axis] and step[axis] * lead >= 0]
            for direction in away:
                moved[robot, opponent, ahead[opponent, direction]] += flight / 2 / len(away)
    return moved


def _moved(ahead: IntArray, fled: FloatArray) -> FloatArray:
    """T[s, s'] of a move that takes the robot from each cell to the one ahead."""
    k = len(CELLS)
    cell = np.arange(k)
    moved = np.zeros((k, k + 1, k, k + 1))
    moved[cell, :k, ahead, :k] = fled
    moved[cell, TAGGED, cell, TAGGED] = 1.0
    return moved.reshape(k * (k + 1), -1)


def _tagged(meet: BoolArray) -> FloatArray:
    """T[s, s'] of tagging."""
    state = np.arange(meet.size)
    return np.eye(meet.size)[np.where(meet, state - state % (TAGGED + 1) + TAGGED, state)]
