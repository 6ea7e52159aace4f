"""A drone inspects wind turbines, and must come home on its battery.

Four turbines stand in a row; each may have a cracked blade. The drone can glance at the one beside it, or circle it
slowly, which shows more and takes more energy; it can call the repair crew, or fly on, and it can fly home. There may
be a head wind aloft: then flying takes twice the energy, and only the flight itself tells. Whatever it meets, the
drone must not run out of energy.

    python examples/inspection.py
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import rcpomdp as rc
from compare import Comparison, compare

TURBINES = 4
CRACKED = 0.3  # how likely a turbine needs repair
HEAD_WIND = 0.4
ENERGY = {"fly": 1.0, "glance": 0.3, "circle": 1.0, "call": 0.0, "home": 0.0}
SHOWS = {"glance": 0.7, "circle": 0.95}  # how often an inspection is right


class Flight(NamedTuple):
    """Where the drone is, which turbines are cracked, and whether there is a head wind."""

    at: int
    cracked: tuple[bool, ...]
    wind: bool


HOME = "home"


def states() -> Iterator[Flight | str]:
    for at, cracked, wind in product(range(TURBINES), product((False, True), repeat=TURBINES), (False, True)):
        yield Flight(at, cracked, wind)
    yield HOME


def transition(s: Flight, a: str) -> dict[Flight | str, float]:
    if a == "home" or (a == "fly" and s.at + 1 == TURBINES):
        return {HOME: 1.0}
    if a == "fly":
        return {s._replace(at=s.at + 1): 1.0}
    if a == "call":  # the crew repairs it
        return {s._replace(cracked=tuple(c and i != s.at for i, c in enumerate(s.cracked))): 1.0}
    return {s: 1.0}


def observation(a: str, s: Flight | str) -> dict[str, float] | None:
    if s == HOME:
        return None  # nothing is observed any more
    if a in SHOWS:
        seen, other = ("crack", "no crack") if s.cracked[s.at] else ("no crack", "crack")
        return {seen: SHOWS[a], other: 1 - SHOWS[a]}
    if a == "fly":
        felt, other = ("gusts", "calm") if s.wind else ("calm", "gusts")
        return {felt: 0.8, other: 0.2}
    return {"calm": 1.0}


def reward(s: Flight, a: str) -> float:
    if a == "call":
        return 10.0 if s.cracked[s.at] else -8.0  # the crew comes a long way
    return 0.0


def energy(s: Flight, a: str) -> float:
    return ENERGY[a] * (2.0 if a == "fly" and s.wind else 1.0)


def build() -> rc.CPOMDP:
    """The model: energy is what the budget limits."""
    start = {}
    for cracked, wind in product(product((False, True), repeat=TURBINES), (False, True)):
        p = HEAD_WIND if wind else 1 - HEAD_WIND
        for bad in cracked:
            p *= CRACKED if bad else 1 - CRACKED
        start[Flight(0, cracked, wind)] = p
    return rc.CPOMDP.from_functions(
        states=states(),
        actions=list(ENERGY),
        observations=["crack", "no crack", "gusts", "calm"],
        transition=transition,
        observation=observation,
        reward=reward,
        cost=energy,
        initial=start,
        discount=0.97,
        budget=4.0,
        terminal=[HOME],
        costs=["energy"],
        name="inspection",
    )


def main() -> Comparison:
    return compare(build(), epsilon=0.01)


if __name__ == "__main__":
    main()
