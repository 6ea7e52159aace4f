"""Cheese maze (McCallum, 1993; numbers of Littman, Cassandra and Kaelbling, 1995) with a cost for walking.

A mouse looks for the cheese, ``$``, in a maze of eleven cells::

    0 1 2 3 4
    5   6   7
    8   $   9

It starts in any of the ten other cells with equal probability. Moves never fail, but walls stop them. After
each move the mouse sees on which sides its cell has walls, or the cheese. Reaching the cheese pays 1;
whatever the mouse does there puts it back into one of the ten cells at random.

The classic problem has no cost. Here each step from one cell to another costs 1, while bumping into a wall
and being put back are free: a mouse that has seen its walls can rest. The least cost, 0.4, is that of the
first action, which is taken blindly. Without a budget the optimum is 3.486 and costs at least 16.19 (exact,
as only 16 beliefs can be reached). The default budget is about half of that cost.
"""

from __future__ import annotations

from ..model import CPOMDP

MAP = (".....", ". . .", ". $ .")
STEP = {"north": (0, -1), "south": (0, 1), "east": (1, 0), "west": (-1, 0)}
CHEESE = "cheese"


def cheese_maze(
    *,
    discount: float = 0.95,
    step_cost: float = 1.0,
    budget: float | None = 8.0,
) -> CPOMDP:
    """A mouse that sees only walls looks for the cheese, and may not walk too much.

    Parameters
    ----------
    discount : the classic problem takes 0.95
    step_cost : cost of walking from one cell to another
    budget : bound on the expected total cost; None is unlimited

    Examples
    --------
    >>> cheese_maze()
    CPOMDP 'cheese-maze': 11 states, 4 actions, 7 observations, 1 cost, discount 0.95, budget 8
    """
    empty = [(x, y) for y, row in enumerate(MAP) for x, char in enumerate(row) if char == "."]
    cell = {xy: str(i) for i, xy in enumerate(empty)}
    start = {state: 1 / len(cell) for state in cell.values()}
    cell |= {(row.index("$"), y): CHEESE for y, row in enumerate(MAP) if "$" in row}
    after = {
        (state, action): cell.get((x + dx, y + dy), state)
        for (x, y), state in cell.items()
        for action, (dx, dy) in STEP.items()
    }

    def seen(state: str) -> str:
        walls = [action for action in STEP if after[state, action] == state]
        return CHEESE if state == CHEESE else "-".join(["wall", *walls])

    return CPOMDP.from_functions(
        states=cell.values(),
        actions=STEP,
        observations=dict.fromkeys(map(seen, cell.values())),
        transition=lambda s, a: start if s == CHEESE else {after[s, a]: 1.0},
        observation=lambda a, s_next: {seen(s_next): 1.0},
        reward=lambda s, a, s_next: float(s_next == CHEESE),
        cost=lambda s, a, s_next: 0.0 if s in {CHEESE, s_next} else step_cost,
        initial=start,
        discount=discount,
        budget=budget,
        name="cheese-maze",
    )
