"""Clinic, a patient whose illness and kidneys are guessed at: 17 states, 5 actions, 7 observations, 3 costs."""

from __future__ import annotations

from itertools import product

from ..model import CPOMDP
from . import checks

ILLNESSES = ("viral", "bacterial")
KIDNEYS = ("strong", "weak")
CURES = {"antiviral": "viral", "antibiotic": "bacterial"}  # drug -> the illness that it cures
GRAVEST = 4  # of the four grades of severity
FEVER = (0.1, 0.4, 0.7, 0.9)  # probability of fever, by severity from 1
WELL = "well"


def clinic(
    *,
    discount: float = 0.95,
    p_viral: float = 0.5,
    p_weak: float = 0.3,
    p_blood: float = 0.85,
    p_scan: float = 0.9,
    weak_toxicity: float = 3.0,
    budget: tuple[float, float, float] | None = (4.5, 1.0, 1.0),
) -> CPOMDP:
    """A patient is to be cured, bound in the drugs' toxicity, in radiation and in blood taken.

    The illness is viral or bacterial, the kidneys are strong or weak, with probability 0.7 and 0.3, and the
    severity is between 1 and 4; it starts at 3. At every step it falls by one with probability 0.2 and rises by one
    with 0.3, but under the drug that cures the illness with probability 0.6 and 0.1. It does not rise beyond
    4, and the patient is well, which is seen and ends the run, when it falls from 1. A step pays minus the severity.

    Nothing of this is seen otherwise. After a drug, and after waiting, the patient has fever with probability 0.1,
    0.4, 0.7 or 0.9, by severity. A blood test tells the illness, right with probability 0.85, and a scan the
    kidneys, right with 0.9.

    There are three costs. A drug's toxicity is 1, but 3 if the kidneys are weak, which is hidden; a scan is 1
    of radiation; a blood test takes 1 of blood. To wait costs nothing. Without a budget the optimum
    is at most -15.7; policies worth -17.2 spend 8.8 of toxicity, take 1.2 of blood and make no scan.

    Parameters
    ----------
    discount : in [0, 1)
    p_viral : probability that the illness is viral
    p_weak : probability that the kidneys are weak
    p_blood : probability that a blood test tells the right illness
    p_scan : probability that a scan tells the kidneys right
    weak_toxicity : toxicity of a drug if the kidneys are weak
    budget : bounds on the expected total toxicity, radiation and blood; None is unlimited

    Examples
    --------
    >>> clinic()
    CPOMDP 'clinic': 17 states, 5 actions, 7 observations, 3 costs, discount 0.95, budget 4.5, 1, 1
    """
    checks.probabilities(p_viral=p_viral, p_weak=p_weak, p_blood=p_blood, p_scan=p_scan)
    checks.costs(weak_toxicity=weak_toxicity)
    patients = {
        f"{illness} {kidneys} {severity}": (illness, kidneys, severity)
        for illness, kidneys, severity in product(ILLNESSES, KIDNEYS, range(1, GRAVEST + 1))
    }

    def transition(state: str, action: str) -> dict[str, float]:
        illness, kidneys, severity = patients[state]
        falls, rises = (0.6, 0.1) if CURES.get(action) == illness else (0.2, 0.3)
        better = f"{illness} {kidneys} {severity - 1}" if severity > 1 else WELL
        worse = f"{illness} {kidneys} {min(severity + 1, GRAVEST)}"
        row = {better: falls, state: 1 - falls - rises}
        row[worse] = row.get(worse, 0.0) + rises
        return row

    def observation(action: str, state: str) -> dict[str, float]:
        if state == WELL:
            return {WELL: 1.0}
        illness, kidneys, severity = patients[state]
        if action == "blood-test":
            return {told: p_blood if told == illness else 1 - p_blood for told in ILLNESSES}
        if action == "scan":
            return {told: p_scan if told == kidneys else 1 - p_scan for told in KIDNEYS}
        return {"fever": FEVER[severity - 1], "no-fever": 1 - FEVER[severity - 1]}

    def reward(state: str, action: str) -> float:
        return -float(patients[state][2])

    def costs(state: str, action: str) -> tuple[float, float, float]:
        toxicity = weak_toxicity if patients[state][1] == "weak" else 1.0
        return toxicity * (action in CURES), 1.0 * (action == "scan"), 1.0 * (action == "blood-test")

    chance = {"viral": p_viral, "bacterial": 1 - p_viral, "strong": 1 - p_weak, "weak": p_weak}
    return CPOMDP.from_functions(
        states=[*patients, WELL],
        actions=[*CURES, "blood-test", "scan", "wait"],
        observations=["fever", "no-fever", *ILLNESSES, *KIDNEYS, WELL],
        transition=transition,
        observation=observation,
        reward=reward,
        cost=costs,
        initial={f"{i} {k} {GRAVEST - 1}": chance[i] * chance[k] for i, k in product(ILLNESSES, KIDNEYS)},
        discount=discount,
        budget=budget,
        terminal=[WELL],
        costs=["toxicity", "radiation", "blood"],
        name="clinic",
    )
