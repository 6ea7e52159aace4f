"""Remission, a patient with so many scans and doses left for life: 4 states, 3 actions, 4 observations, 2 costs."""

from __future__ import annotations

from ..model import CPOMDP
from . import checks

QUALITY = {"clear": 1.0, "early": 0.9, "late": 0.4}  # stage -> reward of a quarter
DEAD = "dead"
DOSE_BURDEN = 0.5  # what a quarter under drugs is worth less


def remission(
    *,
    discount: float = 0.9,
    p_relapse: float = 0.15,
    p_grow: float = 0.4,
    p_die: float = 0.4,
    p_scan: float = 0.9,
    p_cure: float = 0.7,
    budget: tuple[float, float] | None = (4.0, 3.0),
) -> CPOMDP:
    """A tumour may come back unseen, and a patient bears so many scans and doses in a lifetime.

    The patient is clear at the start. In a quarter of a year a tumour comes back with probability 0.15, an early one
    becomes a late one with 0.4, and a late one ends in death with 0.4; in a quarter with a dose none of this happens. A
    dose clears an early tumour with probability 0.7, and sets a late one back to an early one with 0.35. Only death is
    seen. A scan tells whether there is a tumour, right with probability 0.9.

    A quarter pays 1, 0.9 or 0.4 by stage, clear, early or late, and 0.5 less with a dose. There are two costs, the
    number of scans and the number of doses, at most 4 and 3. They are not discounted: a dose is a dose, early or late.

    Parameters
    ----------
    discount : in [0, 1)
    p_relapse, p_grow, p_die : probability in a quarter that a tumour comes back, that an early one becomes a late one,
        and that a late one ends in death
    p_scan : probability that a scan tells right
    p_cure : probability that a dose clears an early tumour; half of it is that of setting back a late one
    budget : the most scans and doses; None is unlimited

    Examples
    --------
    >>> remission()
    CPOMDP 'remission': 4 states, 3 actions, 4 observations, 2 costs, discount 0.9, budget 4, 3, cost discount 1, 1
    """
    checks.probabilities(p_relapse=p_relapse, p_grow=p_grow, p_die=p_die, p_scan=p_scan, p_cure=p_cure)
    left_alone = {"clear": ("early", p_relapse), "early": ("late", p_grow), "late": (DEAD, p_die)}
    under_drugs = {"clear": ("clear", 0.0), "early": ("clear", p_cure), "late": ("early", p_cure / 2)}

    def transition(stage: str, action: str) -> dict[str, float]:
        after, p = (under_drugs if action == "dose" else left_alone)[stage]
        return {after: p, stage: 1 - p}

    def observation(action: str, stage: str) -> dict[str, float]:
        if stage == DEAD:
            return {DEAD: 1.0}
        if action != "scan":
            return {"nothing": 1.0}
        tumour = 1 - p_scan if stage == "clear" else p_scan
        return {"tumour": tumour, "no-tumour": 1 - tumour}

    def reward(stage: str, action: str) -> float:
        return QUALITY[stage] - DOSE_BURDEN * (action == "dose")

    def costs(stage: str, action: str) -> tuple[float, float]:
        return float(action == "scan"), float(action == "dose")

    return CPOMDP.from_functions(
        states=[*QUALITY, DEAD],
        actions=["wait", "scan", "dose"],
        observations=["nothing", "tumour", "no-tumour", DEAD],
        transition=transition,
        observation=observation,
        reward=reward,
        cost=costs,
        initial={"clear": 1.0},
        discount=discount,
        budget=budget,
        cost_discount=(1.0, 1.0),
        terminal=[DEAD],
        costs=["scans", "doses"],
        name="remission",
    )
