"""Mini-hall (Littman, Cassandra and Kaelbling, 1995; Cassandra's mini-hall2) with a cost for moving forward.

A robot is in one of three cells of a hall, facing one of four ways::

    top
    corner  door
            goal

All twelve are equally likely at first. The robot moves forward, or turns right or left on the spot; nothing
ever fails. Afterwards it sees which sides of its cell are open, as seen from its heading, so the corner
looks like the door turned by half a circle. Reaching the goal pays 1 and is seen; whatever the robot does
there puts it back into one of the twelve at random. A wall stops the robot, with one exception that the
published file has and that is kept here: forward from the corner, facing south, leads to the top, facing
north.

The classic problem has no cost. Here moving forward costs 1, wherever it leads, and turning is free, so the
least cost is 0. Without a budget the optimum is 2.714 and costs at least 8.78 (exact, as only 18 beliefs
can be reached). The default budget is about half of that cost.
"""

from __future__ import annotations

from ..model import CPOMDP

HEADINGS = ("north", "east", "south", "west")
SIDES = ("front", "right", "back", "left")  # clockwise from the heading
PASSAGES = {
    ("top", "south"): "corner",
    ("corner", "north"): "top",
    ("corner", "east"): "door",
    ("door", "west"): "corner",
    ("door", "south"): "goal",
}
START = {f"{cell}-{heading}": 1 / 12 for cell in ("top", "corner", "door") for heading in HEADINGS}
GOAL = "goal"


def mini_hall(
    *,
    discount: float = 0.95,
    forward_cost: float = 1.0,
    budget: float | None = 4.0,
) -> CPOMDP:
    """A robot finds its way through a small hall, turning at will but moving forward at a cost.

    Parameters
    ----------
    discount : the classic problem takes 0.95
    forward_cost : cost of moving forward once
    budget : bound on the expected total cost; None is unlimited

    Examples
    --------
    >>> mini_hall()
    CPOMDP 'mini-hall': 13 states, 3 actions, 9 observations, 1 cost, discount 0.95, budget 4
    """
    states = [*START, GOAL]
    return CPOMDP.from_functions(
        states=states,
        actions=["forward", "turn-right", "turn-left"],
        observations=dict.fromkeys(map(_seen, states)),
        transition=lambda s, a: START if s == GOAL else {_after(s, a): 1.0},
        observation=lambda a, s_next: {_seen(s_next): 1.0},
        reward=lambda s, a, s_next: float(s_next == GOAL),
        cost=lambda s, a: forward_cost if a == "forward" else 0.0,
        initial=START,
        discount=discount,
        budget=budget,
        name="mini-hall",
    )


def _after(state: str, action: str) -> str:
    cell, heading = state.split("-")
    if action == "forward":
        if state == "corner-south":
            return "top-north"  # the published exception: a wall should stop the robot
        ahead = PASSAGES.get((cell, heading), cell)
        return GOAL if ahead == GOAL else f"{ahead}-{heading}"
    return f"{cell}-{_turned(heading, 1 if action == 'turn-right' else -1)}"


def _seen(state: str) -> str:
    if state == GOAL:
        return GOAL
    cell, heading = state.split("-")
    sides = [side for i, side in enumerate(SIDES) if (cell, _turned(heading, i)) in PASSAGES]
    return "-".join(["open", *sides])


def _turned(heading: str, quarters: int) -> str:
    """The heading after so many quarter turns to the right."""
    return HEADINGS[(HEADINGS.index(heading) + quarters) % 4]
