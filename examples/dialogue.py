"""A booking desk on the telephone may not ask for ever.

A caller wants one of four towns on one of three days. Speech recognition is often wrong. The desk may ask again for
the town or the day, book, or pass the caller on to a person. Some callers are in a hurry, and mind a question twice
as much; the desk hears that only in how they answer. No caller, however the talk goes, should have to bear more than
so many questions: it is no excuse that other callers were asked few.

    python examples/dialogue.py
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import rcpomdp as rc
from compare import Comparison, compare

TOWNS = ("Bern", "Genoa", "Lyon", "Ulm")
DAYS = ("Friday", "Saturday", "Sunday")
HEARD = 0.8  # how often an answer is understood
HURRIED = 0.3  # how many callers are in a hurry


class Caller(NamedTuple):
    """What is wanted, and by whom."""

    town: str
    day: str
    hurried: bool


DONE = "done"
BOOK = {f"book {town} {day}": (town, day) for town, day in product(TOWNS, DAYS)}


def states() -> Iterator[Caller | str]:
    yield from (Caller(*wish) for wish in product(TOWNS, DAYS, (False, True)))
    yield DONE


def transition(s: Caller, a: str) -> dict[Caller | str, float]:
    return {s: 1.0} if a.startswith("ask") else {DONE: 1.0}


def observation(a: str, s: Caller | str) -> dict[str, float] | None:
    if s == DONE:
        return None  # nothing is heard any more
    answers, truth = (TOWNS, s.town) if a == "ask town" else (DAYS, s.day) if a == "ask day" else ((), "")
    if not answers:
        return {"goodbye": 1.0}
    heard = {}
    for answer in answers:
        p = HEARD if answer == truth else (1 - HEARD) / (len(answers) - 1)
        sighs = 0.6 if s.hurried else 0.1
        heard |= {answer: p * (1 - sighs), f"{answer} (sighs)": p * sighs}
    return heard


def reward(s: Caller, a: str) -> float:
    if a in BOOK:
        return 10.0 if BOOK[a] == (s.town, s.day) else -15.0
    return 2.0 if a == "pass on" else 0.0


def patience(s: Caller, a: str) -> float:
    return (2.0 if s.hurried else 1.0) if a.startswith("ask") else 0.0


def build() -> rc.CPOMDP:
    """The model: patience is what the budget limits."""
    each = 1 / (len(TOWNS) * len(DAYS))
    heard = [*TOWNS, *DAYS]
    return rc.CPOMDP.from_functions(
        states=states(),
        actions=["ask town", "ask day", *BOOK, "pass on"],
        observations=[*heard, *(f"{word} (sighs)" for word in heard), "goodbye"],
        transition=transition,
        observation=observation,
        reward=reward,
        cost=patience,
        initial={
            Caller(t, d, h): each * (HURRIED if h else 1 - HURRIED) for t, d, h in product(TOWNS, DAYS, (False, True))
        },
        discount=0.98,
        budget=4.0,
        terminal=[DONE],
        costs=["patience"],
        name="dialogue",
    )


def main() -> Comparison:
    return compare(build(), epsilon=0.01)


if __name__ == "__main__":
    main()
