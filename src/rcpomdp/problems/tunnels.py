"""Tunnels, the paper's rover that may back out of a rocky tunnel: 53 states, 3 actions, 5 observations."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from ..model import CPOMDP

ROCKY = {1: 0.8, 2: 0.4}  # tunnel -> probability of rocks; tunnel 3 has none
PRIZE = {1: 2.0, 2: 1.5, 3: 0.5}  # tunnel -> reward at its end
ENTERS = {"left": 1, "forward": 2, "right": 3}  # action -> the tunnel that it enters from the hall
LAST_CELL = 4
OUT = "out"


class Spot(NamedTuple):
    """A state before the end: where the rover is and which tunnels are rocky."""

    tunnel: int  # 0 in the hall
    cell: int  # 1 is next to the hall; 0 in the hall
    rocky: tuple[bool, ...]  # of tunnels 1, 2 and 3

    @property
    def on_rocks(self) -> bool:
        """Return whether the rover stands on rocks."""
        return self.cell in {2, 3} and self.rocky[self.tunnel - 1]

    @property
    def label(self) -> str:
        """For example "tunnel-1-cell-3 rocky clear": the place, then tunnels 1 and 2."""
        place = f"tunnel-{self.tunnel}-cell-{self.cell}" if self.tunnel else "hall"
        return " ".join([place, *(_terrain(rocky) for rocky in self.rocky[:2])])


def tunnels(
    *,
    p_correct: float = 0.8,
    back_cost: float = 0.5,
    budget: float | None = 1.0,
    discount: float = 0.99,
) -> CPOMDP:
    """A rover chooses among three tunnels, the richest of which is most likely rocky.

    A hall opens into three tunnels of four cells. Tunnel 1 is rocky with probability 0.8, tunnel 2 with 0.4,
    tunnel 3 never. In the hall left, forward and right enter tunnels 1, 2 and 3. In a tunnel forward
    advances; left and right both step back one cell, from cell 1 into the hall, at `back_cost`. Any action in
    cell 4 pays 2, 1.5 or 0.5 and ends the run. Rocks fill cells 2 and 3 of a rocky tunnel: any action taken
    there costs 1, on top of the step back if it is one. Arrival in cell 1 or 2 of tunnel 1 or 2 shows whether
    that tunnel is rocky, with errors; nothing is seen elsewhere.

    The paper publishes no map. This one has its sizes, its behaviour and its values: the unconstrained
    optimum is 2 · 0.99⁴ = 1.921. The paper gives the cost of stepping back as 0.5 in one place and as 1 in
    another; here it is 0.5. The C-POMDP optimum is 1.601, or 1.679 for `p_correct` 0.95; the RC-POMDP optimum
    is about 1.0: enter tunnel 2, and back out into tunnel 3 if it looks rocky.

    Parameters
    ----------
    p_correct : probability that a tunnel's terrain is seen as it is
    back_cost : cost of stepping back one cell
    budget : bound on the expected total cost; None is unlimited
    discount : the paper's unconstrained value takes 0.99

    Examples
    --------
    >>> tunnels()
    CPOMDP 'tunnels': 53 states, 3 actions, 5 observations, 1 cost, discount 0.99, budget 1
    """
    places = [(0, 0), *product(PRIZE, range(1, LAST_CELL + 1))]
    terrains = [(one, two, False) for one, two in product((True, False), repeat=2)]
    spots = {spot.label: spot for spot in (Spot(*place, rocky) for place in places for rocky in terrains)}

    def transition(state: str, action: str) -> dict[str, float]:
        spot = spots[state]
        if spot.cell == LAST_CELL:
            return {OUT: 1.0}
        if spot.tunnel == 0:
            after = Spot(ENTERS[action], 1, spot.rocky)
        elif action == "forward":
            after = spot._replace(cell=spot.cell + 1)
        elif spot.cell > 1:
            after = spot._replace(cell=spot.cell - 1)
        else:
            after = Spot(0, 0, spot.rocky)
        return {after.label: 1.0}

    def observation(action: str, state: str) -> dict[str, float]:
        spot = spots.get(state)
        if spot is None or spot.tunnel not in ROCKY or spot.cell not in {1, 2}:
            return {"none": 1.0}
        rocky = spot.rocky[spot.tunnel - 1]
        return {
            f"{_terrain(rocky)}-{spot.tunnel}": p_correct,
            f"{_terrain(not rocky)}-{spot.tunnel}": 1 - p_correct,
        }

    def reward(state: str, action: str) -> float:
        spot = spots[state]
        return PRIZE[spot.tunnel] if spot.cell == LAST_CELL else 0.0

    def cost(state: str, action: str) -> float:
        spot = spots[state]
        steps_back = 1 <= spot.cell < LAST_CELL and action != "forward"
        return 1.0 * spot.on_rocks + back_cost * steps_back

    def probability(rocky: tuple[bool, ...]) -> float:
        one, two = (ROCKY[t] if rocky[t - 1] else 1 - ROCKY[t] for t in ROCKY)
        return one * two

    return CPOMDP.from_functions(
        states=[*spots, OUT],
        actions=ENTERS,
        observations=["none", *(f"{terrain}-{t}" for t in ROCKY for terrain in ("rocky", "clear"))],
        transition=transition,
        observation=observation,
        reward=reward,
        cost=cost,
        initial={Spot(0, 0, rocky).label: probability(rocky) for rocky in terrains},
        discount=discount,
        budget=budget,
        terminal=[OUT],
        name="tunnels",
    )


def _terrain(rocky: bool) -> str:
    return "rocky" if rocky else "clear"
