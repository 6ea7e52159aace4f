"""Assembly line, machines whose wear is hidden and spoils parts: 625 states, 10 actions, 8 observations."""

from __future__ import annotations

from itertools import product
from math import prod

from ..model import CPOMDP
from . import checks

MACHINES = 4
QUALITY = (0.98, 0.94, 0.86, 0.70, 0.50)  # probability that a machine does not spoil a part, by its wear
START = (0.5, 0.3, 0.2)  # probability of each wear of a machine at the start
WORN = len(QUALITY) - 1  # the most that a machine can be worn

Wear = tuple[int, ...]  # of each machine


def assembly_line(
    *,
    discount: float = 0.95,
    wear_rate: float = 0.15,
    p_reading: float = 0.7,
    p_service: float = 0.9,
    part_reward: float = 10.0,
    inspection_reward: float = -1.0,
    service_reward: float = -8.0,
    scrap_cost: float = 1.0,
    energy_cost: float = 0.05,
    budget: float | None = 6.5,
) -> CPOMDP:
    """Four machines wear out unseen, a part that one of them spoils is scrap, and scrap and energy are metered.

    Each machine has a wear between 0 and 4; at the start it is 0, 1 or 2 with probability 0.5, 0.3 and 0.2. To run
    the line makes one part: first the wear of each machine grows by one with probability 0.15, then each of them
    spoils the part with probability 0.02, 0.06, 0.14, 0.30 or 0.50, by its wear. A good part pays 10. Whether it is
    good is seen. To inspect a machine pays -1 and reads its wear: right with probability 0.7, else one more or
    one less, as likely as not, or right again where there is no such wear. To service a machine pays -8 and sets
    its wear to 0 with probability 0.9. To idle changes nothing.

    Only running costs: 1 for a part that is scrap and, as energy, 0.05 for each step of wear of each machine
    before it ran. So what a step is expected to cost depends on the wear, which is hidden. Without a
    budget the optimum is at most 88.6; policies worth 75.2 spend about 12.9.

    Parameters
    ----------
    discount : in [0, 1)
    wear_rate : probability that a machine wears by one step while the line runs
    p_reading : probability that an inspection reads the right wear
    p_service : probability that a service succeeds
    part_reward : reward of a good part
    inspection_reward : reward of an inspection
    service_reward : reward of a service
    scrap_cost : cost of a part that is scrap
    energy_cost : cost of running, for each step of wear
    budget : bound on the expected total cost; None is unlimited

    Examples
    --------
    >>> assembly_line()
    CPOMDP 'assembly-line': 625 states, 10 actions, 8 observations, 1 cost, discount 0.95, budget 6.5
    """
    checks.probabilities(wear_rate=wear_rate, p_reading=p_reading, p_service=p_service)
    checks.costs(scrap_cost=scrap_cost, energy_cost=energy_cost)
    wears: dict[str, Wear] = {_name(wear): wear for wear in product(range(WORN + 1), repeat=MACHINES)}
    inspected = {f"inspect-{i + 1}": i for i in range(MACHINES)}
    serviced = {f"service-{i + 1}": i for i in range(MACHINES)}

    def transition(state: str, action: str) -> dict[str, float]:
        wear = wears[state]
        if action == "run":
            row: dict[str, float] = {}
            for grows in product((False, True), repeat=MACHINES):
                after = _name(tuple(min(w + g, WORN) for w, g in zip(wear, grows, strict=True)))
                p = prod(wear_rate if g else 1 - wear_rate for g in grows)
                row[after] = row.get(after, 0.0) + p
            return row
        if action in serviced:
            i = serviced[action]
            if wear[i]:
                return {_name((*wear[:i], 0, *wear[i + 1 :])): p_service, state: 1 - p_service}
        return {state: 1.0}

    def observation(action: str, state: str) -> dict[str, float]:
        wear = wears[state]
        if action == "run":
            good = prod(QUALITY[w] for w in wear)
            return {"good": good, "scrap": 1 - good}
        if action not in inspected:
            return {"nothing": 1.0}
        w = wear[inspected[action]]
        row = {f"wear-{w}": p_reading}
        for beside in (w - 1, w + 1):
            read = f"wear-{beside if 0 <= beside <= WORN else w}"
            row[read] = row.get(read, 0.0) + (1 - p_reading) / 2
        return row

    def reward(state: str, action: str, after: str, seen: str) -> float:
        if action == "run":
            return part_reward if seen == "good" else 0.0
        return inspection_reward if action in inspected else service_reward if action in serviced else 0.0

    def cost(state: str, action: str, after: str, seen: str) -> float:
        return scrap_cost * (seen == "scrap") + energy_cost * sum(wears[state]) if action == "run" else 0.0

    return CPOMDP.from_functions(
        states=wears,
        actions=["run", *inspected, *serviced, "idle"],
        observations=["good", "scrap", *(f"wear-{w}" for w in range(WORN + 1)), "nothing"],
        transition=transition,
        observation=observation,
        reward=reward,
        cost=cost,
        initial={_name(wear): prod(START[w] for w in wear) for wear in product(range(len(START)), repeat=MACHINES)},
        discount=discount,
        budget=budget,
        costs=["waste"],
        name="assembly-line",
    )


def _name(wear: Wear) -> str:
    """For example "0-2-1-4": the wear of each machine."""
    return "-".join(map(str, wear))
