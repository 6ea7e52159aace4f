"""Cliff, a rover that goes along an edge whose ground may be loose: 36 states, 4 actions, 21 observations."""

from __future__ import annotations

from itertools import product

from ..errors import ModelError
from ..model import CPOMDP
from . import checks

LENGTH, LANES = 6, 3  # lane 1 is along the edge, lane 3 inland
GROUNDS = ("firm", "loose")
HOME, FALLEN = "home", "fallen"
STEPS = {"east": (1, 0), "inland": (0, 1), "seaward": (0, -1)}
START, GOAL = (1, 1), (LENGTH, 1)

Place = tuple[int, int]  # (column, lane), column east from 1


def cliff(
    *,
    discount: float = 0.9,
    p_loose: float = 0.4,
    p_probe: float = 0.9,
    firm_slip: float = 0.01,
    loose_slip: float = 0.1,
    loose_slide: float = 0.05,
    home_reward: float = 10.0,
    budget: float | None = 0.05,
) -> CPOMDP:
    """A rover goes home along a cliff whose ground may be loose, and the risk of falling is metered.

    Six columns of three lanes make the map; lane 1 is along the edge, lane 3 inland. The rover starts at the western
    end of lane 1, its home is the eastern end, and it always knows where it is. The ground is loose everywhere with
    probability 0.4, else firm. On firm ground a drive to the east slips by one lane towards the sea with probability
    0.01; on loose ground it slips by one lane with 0.1 and by two with 0.05. From beyond lane 1 the rover falls. Drives
    inland and seaward do not slip. A probe takes a step and tells the ground, right with probability 0.9.

    To arrive at home pays 10 and ends the run; so does a fall, which pays nothing. The cost is the risk, the
    probability that the next step is a fall: it depends on the ground, which is hidden. It is not discounted, so that
    its expected total is the probability of ever falling. Without a budget the optimum is 4.91, and a quarter of the
    runs fall.

    Parameters
    ----------
    discount : in [0, 1)
    p_loose : probability that the ground is loose
    p_probe : probability that a probe tells the ground right
    firm_slip, loose_slip : probability that a drive to the east slips by one lane, by ground
    loose_slide : probability that it slips by two, on loose ground
    home_reward : reward of arriving at home
    budget : bound on the risk that is taken along a history; None is unlimited

    Examples
    --------
    >>> cliff()
    CPOMDP 'cliff': 36 states, 4 actions, 21 observations, 1 cost, discount 0.9, budget 0.05, cost discount 1
    """
    chances = {"firm_slip": firm_slip, "loose_slip": loose_slip, "loose_slide": loose_slide}
    checks.probabilities(p_loose=p_loose, p_probe=p_probe, **chances)
    if not loose_slip + loose_slide <= 1:
        raise ModelError(f"loose_slip and loose_slide add up to {loose_slip + loose_slide:g}, more than 1")
    places = [place for place in product(range(1, LENGTH + 1), range(1, LANES + 1)) if place != GOAL]
    states = {f"{place_name(place)} {ground}": (place, ground) for place, ground in product(places, GROUNDS)}
    slips = {"firm": (firm_slip, 0.0), "loose": (loose_slip, loose_slide)}  # by one lane, by two

    def transition(state: str, action: str) -> dict[str, float]:
        (x, lane), ground = states[state]
        if action == "probe":
            return {state: 1.0}
        dx, dy = STEPS[action]
        there = min(x + dx, LENGTH), min(max(lane + dy, 1), LANES)
        row = {_label(there, ground): 1.0}
        for lanes, p in enumerate(slips[ground] if action == "east" else (), 1):
            astray = _label((there[0], lane - lanes), ground) if lane > lanes else FALLEN
            row[_label(there, ground)] -= p
            row[astray] = row.get(astray, 0.0) + p
        return row

    def observation(action: str, state: str) -> dict[str, float]:
        if state in {HOME, FALLEN}:
            return {state: 1.0}
        place, ground = states[state]
        if action == "probe":
            return {felt: p_probe if felt == ground else 1 - p_probe for felt in GROUNDS}
        return {place_name(place): 1.0}

    def reward(state: str, action: str, after: str) -> float:
        return home_reward if after == HOME else 0.0

    return CPOMDP.from_functions(
        states=[*states, HOME, FALLEN],
        actions=[*STEPS, "probe"],
        observations=[*map(place_name, places), *GROUNDS, HOME, FALLEN],
        transition=transition,
        observation=observation,
        reward=reward,
        initial={f"{place_name(START)} firm": 1 - p_loose, f"{place_name(START)} loose": p_loose},
        discount=discount,
        terminal=[HOME, FALLEN],
        name="cliff",
    ).with_risk([FALLEN], budget)


def place_name(place: Place) -> str:
    """A place, as states and observations name it."""
    return "({},{})".format(*place)


def _label(place: Place, ground: str) -> str:
    return HOME if place == GOAL else f"{place_name(place)} {ground}"
