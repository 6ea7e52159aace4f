"""Whether the beliefs of a model repeat, or its noise makes a new one of every history."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ...kernels.pointbased.trials import ENOUGH
from ...model import CPOMDP
from ..engine import Objective
from .options import SearchOptions
from .search import PointBasedSearch

_LARGE = 20_000  # states from which on a look would take too long
_LOOK = SearchOptions(informed="mdp", informed_levels=False, rays=False)
_TRIALS, _WORK = 300, 20_000_000  # trials and elementary steps of a look
_MEMORY = 1e9


def is_noisy(model: CPOMDP, budget: FloatArray | None = None) -> bool:
    """Look at the first thousand beliefs that a search reaches: whether most of them are new.

    >>> import rcpomdp as rc
    >>> [is_noisy(rc.problems.make(name)) for name in ("tiger", "crs-4-4", "hallway")]
    [False, False, True]
    """
    if model.n_states > _LARGE or model.discount == 0:
        return False
    objective = Objective(1.0, np.zeros(model.n_costs))
    search = PointBasedSearch(model, objective, budget, _LOOK, memory_limit=_MEMORY)
    counts = search.parts.counts
    while counts["reached"][0] <= ENOUGH and search.work < _WORK and search.trials < _TRIALS:
        before = search.work
        search.search(0.0, _WORK // 100, most_trials=search.trials + 1)
        if search.work == before:  # solved, infeasible, still or full
            return False
    return bool(counts["reached"][0] > ENOUGH and 2 * counts["fresh"][0] > counts["reached"][0])
