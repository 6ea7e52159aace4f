"""Noisy models: those whose histories lead to ever new beliefs.

Where moves are certain, or the beliefs are few, beliefs repeat, and rays between them bound values
(`solvers.belief_graph.search`). Where a move may end in several ways, histories lead to beliefs that were not met
before, and bounds must not rest on meeting them again.
"""

from __future__ import annotations

import numpy as np

from ... import deadline
from ..._types import FloatArray
from ...model import CPOMDP
from ..belief_graph.search import Objective
from .search import PointBasedSearch
from .switches import PointBasedSwitches

_SMALL = 8  # states up to which beliefs are so near to each other that rays between them do
_LARGE = 20_000  # states from which on a look would take too long
_CHANCE = 0.1  # share of states and actions whose move may end in several ways
_FRESH = 0.3  # share of beliefs that were not met before
_FEWEST, _ENOUGH = 300, 1000  # beliefs that tell, if work runs out before there are as many as one would like
_LOOK = PointBasedSwitches(informed="mdp", informed_levels=False)
_TRIALS, _WORK = 300, 20_000_000  # trials, which run out first where beliefs repeat, and elementary steps of a look
_MEMORY = 1e9


def may_be_noisy(model: CPOMDP) -> bool:
    """True if enough moves are uncertain that a look at the beliefs is worth it."""
    if not _SMALL < model.n_states <= _LARGE or model.discount == 0 or model.has_step_limits:
        return False
    ways = np.diff(model.arrays.t_ptr).reshape(model.n_actions, model.n_states)[:, ~model.terminal]
    return bool((ways > 1).mean() >= _CHANCE)


def is_noisy(model: CPOMDP, budget: FloatArray | None = None) -> bool:
    """Look at the moves, and at the first thousand beliefs that a search reaches: whether many of them are new.

    >>> import rcpomdp as rc
    >>> [is_noisy(rc.problems.make(name)) for name in ("tiger", "crs-4-4", "hallway")]
    [False, False, True]
    """
    if not may_be_noisy(model):
        return False
    objective = Objective(1.0, np.zeros(model.n_costs))
    search = PointBasedSearch(model, objective, budget, _LOOK, memory_limit=_MEMORY)
    counts = search.parts.counts
    while counts["reached"][0] <= _ENOUGH and search.work < _WORK and search.trials < _TRIALS:
        deadline.check()
        before = search.work
        search.search(0.0, _WORK // 100, most_trials=search.trials + 1)
        if search.work == before:  # solved, infeasible, still or full
            return False
    reached, fresh = counts["reached"][0], counts["fresh"][0]
    return bool(search.trials < _TRIALS and reached > _FEWEST and fresh > _FRESH * reached)
