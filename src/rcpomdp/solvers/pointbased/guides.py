"""Guides for a plan set: vectors of the POMDP without a budget, which look further ahead than plans.

Where costs vary within a class, a plan pays for the worst of it at every step, and the budget seems to last for a few
steps only. The policy really spends less, and one that never thinks of the end does better as long as it can go on. So
plans say what can be paid, and guides where to go: vectors for ``R − λ·C``, by the fast informed bound at multipliers
from nothing to a multiple of the dual's, and by the searches at multipliers that bound the optimum
(`solvers.arcs.relaxations`). Nothing is proven of their reward: simulated runs choose.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..._types import FloatArray
from ...bounds.fib import fib_vectors
from ...kernels.pointbased.arrays import NONE
from ...kernels.pointbased.plans import forget_idle
from ...model import CPOMDP
from ...model.classes import Classes, in_class_order, observability_classes
from ...policies.plan_set import Guide, PlanSetPolicy
from ...simulation.visits import nodes_met
from ..clock import Clock

if TYPE_CHECKING:
    from .search import PointBasedSearch

_MOST_STEPS, _TAIL = 500, 1e-2  # of simulated runs: until what may follow is a hundredth
_FIB, _NEEDED = 0.15, 0.2  # shares of the time: for the fast informed bounds, and to see which vectors are needed
_FACTORS = (0.0, 1.0, 0.5, 2.0, 0.75, 1.5, 0.25, 1.25, 2.5)  # times the multipliers


def guided_plan_sets(
    plans: PlanSetPolicy,
    searches: Sequence[PointBasedSearch],
    multipliers: FloatArray,
    seconds: float | None,
    seed: int,
) -> Iterator[tuple[str, PlanSetPolicy]]:
    """Yield the plan set with guides of each kind, by name."""
    clock, whole = (Clock(None if seconds is None else share * seconds) for share in (_FIB, _FIB + _NEEDED))
    classes = observability_classes(plans.model)
    ordered = in_class_order(plans.model, classes)
    for factor in _FACTORS if multipliers.any() else (0.0,):
        if clock.over:
            break
        at = factor * multipliers
        yield f"FIB, {_in_words(at)}", plans.with_guides(_fib_guides(ordered, classes, at))
    for search in searches:
        if whole.over:
            break
        each = Clock(None if seconds is None else _NEEDED * seconds / len(searches))
        yield f"SARSOP, {_in_words(search.objective.costs)}", _with_guides(plans, search, each, seed)


def _in_words(multipliers: FloatArray) -> str:
    """For example "λ = 1.61", or "λ = 1.61, 0.2" for two costs."""
    return "λ = " + ", ".join(f"{each:.3g}" for each in multipliers) if multipliers.any() else "λ = 0"


def _with_guides(policy: PlanSetPolicy, search: PointBasedSearch, clock: Clock, seed: int) -> PlanSetPolicy:
    """The plan set with the vectors of a search that simulated runs were guided by."""
    guides, steps = _guides(search), min(_MOST_STEPS, math.ceil(search.model.steps_until(_TAIL)))
    met = nodes_met(search.model, policy.with_guides(guides), steps, seed, lambda: clock.over)
    return policy.with_guides([guide for guide, used in zip(guides, met[policy.actions.size :], strict=True) if used])


def _fib_guides(ordered: CPOMDP, classes: Classes, multipliers: FloatArray) -> list[Guide]:
    """The fast informed bound of ``R − λ·C``: a vector for each class and action, of a model in class order."""
    gain = np.asarray(ordered.reward - np.tensordot(multipliers, ordered.cost, axes=1))
    vectors = fib_vectors(ordered._changed(arrays=ordered.arrays._replace(reward=gain)))  # [A, S]
    found, start, order = [], classes.start, classes.order
    for cls in np.flatnonzero(classes.reachable).tolist():
        states = order[start[cls] : start[cls + 1]]
        increasing = np.argsort(states)
        for a, vector in enumerate(vectors):
            found.append(Guide(a, states[increasing], vector[start[cls] : start[cls + 1]][increasing]))
    return found


def _guides(search: PointBasedSearch) -> list[Guide]:
    """The vectors of a search's objective that are best somewhere."""
    x, g, order = search.parts.space, search.parts.plans, search.classes.order
    forget_idle(search.parts)
    found = []
    for cls in np.flatnonzero(search.classes.reachable).tolist():
        states = order[x.start[cls] : x.start[cls + 1]]
        increasing = np.argsort(states)
        domain, plan = states[increasing], int(g.newest[cls])
        while plan != NONE:
            info = g.info[plan]
            vector = g.value[info["values"] : info["values"] + domain.size]
            found.append(Guide(int(info["action"]), domain, vector[increasing]))
            plan = int(info["older"])
    return found
