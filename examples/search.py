"""A drone searches for a hiker under two budgets: fuel, and risk in bad weather.

The hiker is in one of nine fields, more likely near the path. The drone flies from field to field and looks; it may
miss the hiker. A storm stands over the north or over the south of the area, nobody knows which: being under it is a
risk to the drone, and gusts hint at it. Every step takes fuel. Both budgets must hold in every history;
the drone may break off at any time.

    python examples/search.py
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import rcpomdp as rc
from compare import Comparison, compare

SIDE = 3
FIELDS = tuple(product(range(SIDE), repeat=2))  # (x, y), y from south to north
LIKELY = {(0, 2): 3, (1, 2): 3, (2, 2): 2, (1, 1): 2}  # weights; 1 elsewhere
MOVES = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
SEES = 0.8  # how often a look finds a hiker who is there
STORM_RISK = 0.3  # of a step under the storm


class Search(NamedTuple):
    """Where the drone and the hiker are, and over which side the storm stands."""

    drone: tuple[int, int]
    hiker: tuple[int, int]
    storm: str


OVER = "over"


def states() -> Iterator[Search | str]:
    yield from (Search(*s) for s in product(FIELDS, FIELDS, ("north", "south")))
    yield OVER


def under_storm(s: Search) -> bool:
    return s.drone[1] == (SIDE - 1 if s.storm == "north" else 0)


def transition(s: Search, a: str) -> dict[Search | str, float]:
    if a == "break off":
        return {OVER: 1.0}
    if a == "look":
        return {OVER: SEES, s: 1 - SEES} if s.drone == s.hiker else {s: 1.0}
    x, y = (min(max(at + by, 0), SIDE - 1) for at, by in zip(s.drone, MOVES[a], strict=True))
    return {s._replace(drone=(x, y)): 1.0}


def observation(a: str, s: Search | str) -> dict[str, float]:
    if s == OVER:
        return {"over": 1.0}
    gusts = 0.7 if under_storm(s) else 0.2
    return {"gusts": gusts, "calm": 1 - gusts}


def reward(s: Search, a: str, then: Search | str) -> float:
    return 20.0 if a == "look" and then == OVER else 0.0


def fuel(s: Search, a: str) -> float:
    return 0.0 if a == "break off" else 1.0


def risk(s: Search, a: str) -> float:
    return STORM_RISK if under_storm(s) and a != "break off" else 0.0


def build() -> rc.CPOMDP:
    """The model, with a budget for fuel and one for risk."""
    weights = {field: LIKELY.get(field, 1) for field in FIELDS}
    total = 2 * sum(weights.values())
    return rc.CPOMDP.from_functions(
        states=states(),
        actions=[*MOVES, "look", "break off"],
        observations=["calm", "gusts", "over"],
        transition=transition,
        observation=observation,
        reward=reward,
        cost=[fuel, risk],
        initial={Search((1, 1), h, storm): w / total for h, w in weights.items() for storm in ("north", "south")},
        discount=0.95,
        budget={"fuel": 4.0, "risk": 0.3},
        terminal=[OVER],
        costs=["fuel", "risk"],
        name="search",
    )


def main() -> Comparison:
    return compare(build(), epsilon=0.01)


if __name__ == "__main__":
    main()
