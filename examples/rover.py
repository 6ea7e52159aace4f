"""A rover must not ruin its wheels.

Three lanes lead across a plain to three sites that are worth visiting, the best one behind the lane that is most
often strewn with sharp stones. The rover cannot see the stones for sure: its camera looks down the lane in front, the
better the nearer the stones are, and each metre driven shakes the chassis a little differently. Driving over stones
wears the wheels. The wheels must last for the mission whatever is met on the way: an average over many rovers is no
comfort to this one.

    python examples/rover.py
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import rcpomdp as rc
from compare import Comparison, compare

LENGTH = 4  # cells of a lane
SITES = (10.0, 7.0, 4.0)  # what each site is worth
STONY = (0.7, 0.4, 0.1)  # how likely each lane is stony
WEAR = 1.0  # a cell with stones, on average


class Rover(NamedTuple):
    """Where it is, and which lanes are stony."""

    x: int
    lane: int
    stony: tuple[bool, ...]


DONE = "done"


def states() -> Iterator[Rover | str]:
    for x, lane, stony in product(range(LENGTH), range(len(SITES)), product((False, True), repeat=len(SITES))):
        yield Rover(x, lane, stony)
    yield DONE


def transition(s: Rover, a: str) -> dict[Rover | str, float]:
    if a == "drive":
        return {DONE if s.x + 1 == LENGTH else s._replace(x=s.x + 1): 1.0}
    if a in ("left", "right"):  # between the lanes lies soft sand: a wheel may spin, and the rover stays
        lane = min(max(s.lane + (1 if a == "right" else -1), 0), len(SITES) - 1)
        return {s: 1.0} if lane == s.lane else {s._replace(lane=lane): 0.9, s: 0.1}
    return {s: 1.0}


def observation(a: str, s: Rover | str) -> dict[str, float] | None:
    if s == DONE:
        return None  # nothing is observed any more
    if a == "look":
        right = 0.75 + 0.05 * s.x
    elif a == "drive":
        right = 0.9  # shaken or not
    else:
        return {f"lane {s.lane}": 1.0}
    seen, other = ("stones", "sand") if s.stony[s.lane] else ("sand", "stones")
    return {seen: right, other: 1 - right}


def reward(s: Rover, a: str) -> float:
    return SITES[s.lane] if a == "drive" and s.x + 1 == LENGTH else 0.0


def wear(s: Rover, a: str) -> float:
    return WEAR if a == "drive" and s.stony[s.lane] else 0.0


def build() -> rc.CPOMDP:
    """The model: wear is what the budget limits."""
    start = {}
    for stony in product((False, True), repeat=len(SITES)):
        p = 1.0
        for lane, bad in enumerate(stony):
            p *= STONY[lane] if bad else 1 - STONY[lane]
        start[Rover(0, 1, stony)] = p
    return rc.CPOMDP.from_functions(
        states=states(),
        actions=["drive", "look", "left", "right"],
        observations=["stones", "sand", *(f"lane {lane}" for lane in range(len(SITES)))],
        transition=transition,
        observation=observation,
        reward=reward,
        cost=wear,
        initial=start,
        discount=0.95,
        budget=1.5,
        terminal=[DONE],
        costs=["wear"],
        name="rover",
    )


def main() -> Comparison:
    return compare(build(), epsilon=0.01)


if __name__ == "__main__":
    main()
