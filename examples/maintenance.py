"""A press must be kept going to the end of the season, with a limit on the risk to the people beside it.

Each week the press runs hard, runs gently, or stands still to be overhauled. Running wears it, unseen; how it sounds
afterwards tells a little. A worn press may burst a seal, the likelier the harder it runs. The law limits the risk of
that, added up over the weeks as it must be expected at the time. Who has heard the press rattle may not run on because
other seasons went well.

    python examples/maintenance.py
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import rcpomdp as rc
from compare import Comparison, compare

WEEKS = 5
BURST = (0.0, 0.002, 0.01, 0.03, 0.1)  # risk of a week of hard running, by wear from 0 (as new) to 4
RATTLES = (0.05, 0.1, 0.3, 0.6, 0.9)  # how likely the press rattles, by wear
WORST = len(BURST) - 1
YIELD = {"run hard": 10.0, "run gently": 6.0, "overhaul": -2.0}
WEARS = {"run hard": 0.6, "run gently": 0.3}  # how likely a week wears the press by one level
OVERHAULS = 0.8  # how likely an overhaul succeeds
STRAIN = {"run hard": 1.0, "run gently": 0.4, "overhaul": 0.0}  # share of the risk


class Press(NamedTuple):
    """The week, and how worn the press is."""

    week: int
    wear: int


OVER = "season over"


def transition(s: Press, a: str) -> dict[Press | str, float]:
    if s.week + 1 == WEEKS:
        return {OVER: 1.0}
    p = OVERHAULS if a == "overhaul" else WEARS[a]
    wear = 0 if a == "overhaul" else min(s.wear + 1, WORST)
    if wear == s.wear:
        return {Press(s.week + 1, wear): 1.0}
    return {Press(s.week + 1, wear): p, Press(s.week + 1, s.wear): 1 - p}


def observation(a: str, s: Press | str) -> dict[str, float] | None:
    if s == OVER:
        return None  # nothing is observed any more
    return {"rattles": RATTLES[s.wear], "purrs": 1 - RATTLES[s.wear]}


def reward(s: Press, a: str) -> float:
    return YIELD[a]


def risk(s: Press, a: str) -> float:
    return 100 * STRAIN[a] * BURST[s.wear]


def build() -> rc.CPOMDP:
    """The model: risk, in percent, is what the budget limits."""
    return rc.CPOMDP.from_functions(
        states=[*(Press(*s) for s in product(range(WEEKS), range(WORST + 1))), OVER],
        actions=list(YIELD),
        observations=["purrs", "rattles"],
        transition=transition,
        observation=observation,
        reward=reward,
        cost=risk,
        initial={Press(0, 0): 0.3, Press(0, 1): 0.4, Press(0, 2): 0.3},
        discount=0.98,
        budget=2.0,
        terminal=[OVER],
        costs=["risk in percent"],
        name="maintenance",
    )


def main() -> Comparison:
    return compare(build(), epsilon=0.01)


if __name__ == "__main__":
    main()
