"""The marks of a table's rows, by the paper's rule.

Of each problem: the best violation rates, the highest reward of those that violate the budget in some run, and the
highest reward of those that never do. Numbers that look the same share a mark.
"""

from __future__ import annotations

import math

from .summaries import Group

BEST, VIOLATING, KEEPING = "best", "violating", "keeping"  # the paper has them bold, blue and green
DECIMALS = 3  # that tables show


def marks(group: Group) -> list[set[str]]:
    """The marks of each row of a problem, by the paper's rule."""
    found: list[set[str]] = [set() for _ in group.rows]
    measured = [i for i, row in enumerate(group.rows) if row.violation is not None]

    def rate(i: int) -> float:
        violation = group.rows[i].violation
        return violation.mean if violation is not None else math.nan

    def mean(i: int) -> float:
        reward = group.rows[i].reward
        return reward.mean if reward is not None else math.nan

    lowest = min((round(rate(i), DECIMALS) for i in measured), default=0.0)
    for i in measured:
        if round(rate(i), DECIMALS) == lowest:
            found[i].add(BEST)
    for mark, among in (
        (VIOLATING, [i for i in measured if rate(i) > 0]),
        (KEEPING, [i for i in measured if rate(i) == 0]),
    ):
        highest = max((round(mean(i), DECIMALS) for i in among), default=0.0)
        for i in among:
            if round(mean(i), DECIMALS) == highest:
                found[i].add(mark)
    return found


def best_rewards(group: Group) -> list[set[str]]:
    """The best reward of each problem, as Table 2 has it: to the digits shown."""
    rewards = [row.own_reward for row in group.rows]
    highest = max((round(value, DECIMALS) for value in rewards if value is not None), default=0.0)
    return [{BEST} if v is not None and round(v, DECIMALS) == highest else set() for v in rewards]
