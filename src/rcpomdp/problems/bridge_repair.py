"""Bridge repair (Ellis, Jiang and Corotis, 1995; Cassandra's file): 5 states, 12 actions, 5 observations.

A bridge corrodes from year to year and may fail. Its state is how far it is corroded, in percent. Each year
one of four repairs is made, which sets how the state goes on, and then one of three inspections, which shows
something of the new state, with errors.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from ..model import CPOMDP

STATES = ("below-5", "5-to-15", "15-to-25", "above-25", "failed")
_NEW = (0.80, 0.13, 0.02, 0.00, 0.05)  # how a bridge goes on that is hardly corroded or has been rebuilt
_LOST = (0.00, 0.00, 0.00, 0.00, 1.00)
DECAY = {  # repair -> probability of the next state, by state
    "no-repair": (_NEW, (0, 0.70, 0.17, 0.05, 0.08), (0, 0, 0.75, 0.15, 0.10), (0, 0, 0, 0.60, 0.40), _LOST),
    "paint": (_NEW, (0, 0.80, 0.10, 0.02, 0.08), (0, 0, 0.80, 0.10, 0.10), (0, 0, 0, 0.60, 0.40), _LOST),
    "strengthen": (
        _NEW,
        (0.19, 0.65, 0.08, 0.02, 0.06),
        (0.10, 0.20, 0.56, 0.08, 0.06),
        (0.00, 0.10, 0.25, 0.55, 0.10),
        _LOST,
    ),
    "rebuild": (_NEW,) * 5,
}
PRICE = {  # repair -> what the year costs, by state, as published
    "no-repair": (0, 0, 0, 300, 2000),
    "paint": (5, 8, 15, 320, 2050),
    "strengthen": (25, 80, 100, 450, 2500),
    "rebuild": (40, 120, 550, 800, 4000),
}
READING = {  # inspection -> probability of each observation, by state
    "no-inspection": ((1, 0, 0, 0, 0),) * 5,
    "visual": (
        (0.80, 0.20, 0.00, 0, 0),
        (0.20, 0.60, 0.20, 0, 0),
        (0.05, 0.70, 0.25, 0, 0),
        (0.00, 0.30, 0.70, 0, 0),
        (0.00, 0.00, 1.00, 0, 0),
    ),
    "ultrasonic": (
        (0.90, 0.10, 0.00, 0.00, 0.00),
        (0.05, 0.90, 0.05, 0.00, 0.00),
        (0.00, 0.05, 0.90, 0.05, 0.00),
        (0.00, 0.00, 0.05, 0.90, 0.05),
        (0.00, 0.00, 0.00, 0.00, 1.00),
    ),
}
FEE = {"no-inspection": 0.0, "visual": 4.0, "ultrasonic": 18.0}


def bridge_repair(
    *,
    discount: float = 0.95,
    visual_cost: float = 4.0,
    ultrasonic_cost: float = 18.0,
    budget: float | None = 40.0,
) -> CPOMDP:
    """A bridge is kept up by repairs and inspections, and what inspections cost is bounded.

    An action is a repair and an inspection, such as "paint+visual". Paint slows the decay, strengthening may
    undo some of it, and only rebuilding mends a failed bridge. The reward is minus the price of the repair
    and the fee of the inspection. A visual inspection tells three grades apart, an ultrasonic one five;
    without an inspection the first reading comes up, which says nothing.

    The published file minimises the total without a discount and names no start. The discount is ours; the
    start is uniform, which is what the format means then. The cost is ours as well: the fees of inspections,
    4 and 18, count once more against the budget. Without a budget the optimum lies in [-5705.4, -5691.8],
    and the policy worth the former makes a visual inspection every year, which costs 80, and rebuilds unless
    it shows the best grade. To rebuild every year without a look costs nothing and is worth -6015.4.

    Parameters
    ----------
    discount : in [0, 1)
    visual_cost, ultrasonic_cost : costs of an inspection; the fees in the reward do not change with them
    budget : bound on the expected total cost; None is unlimited

    Examples
    --------
    >>> bridge_repair()
    CPOMDP 'bridge-repair': 5 states, 12 actions, 5 observations, 1 cost, discount 0.95, budget 40
    """
    actions = list(product(DECAY, READING))
    cost = {"no-inspection": 0.0, "visual": visual_cost, "ultrasonic": ultrasonic_cost}
    return CPOMDP(
        states=STATES,
        actions=[f"{repair}+{inspection}" for repair, inspection in actions],
        observations=[f"reading-{grade}" for grade in range(1, 6)],
        transition=[DECAY[repair] for repair, _ in actions],
        observation=[READING[inspection] for _, inspection in actions],
        reward=-np.array([np.add(PRICE[repair], FEE[inspection]) for repair, inspection in actions]).T,
        cost=np.tile([cost[inspection] for _, inspection in actions], (len(STATES), 1)),
        initial_belief=[0.2] * 5,
        discount=discount,
        budget=budget,
        name="bridge-repair",
    )
