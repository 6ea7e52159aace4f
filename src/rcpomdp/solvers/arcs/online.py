"""A policy that goes on searching while it runs.

After each observation it searches from where it is, with what is left of the budget, and changes to a better belief
plan if one is found that surely keeps that. What it follows always keeps the budget, so nothing is lost by stopping
early. When memory is used up it searches no more, and follows the plan it has to the end.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ...model.remaining_budget import left_after
from ...policies import ControllerPolicy
from ...policies.base import observed
from ...views import notebook
from .search import BudgetSearch

_WORK = 20_000  # elementary steps between looks at the clock


class OnlineState(NamedTuple):
    """The belief plan that is followed, and the budget that is left."""

    belief_plan: int  # or the node of a controller
    left: tuple[float, ...]  # [K] of the budget, as long as there is a search
    controller: ControllerPolicy | None = None  # that is followed when memory is used up


class OnlinePolicy:
    """Follows the best belief plan known, and searches for a better one for `act_time` seconds before each step."""

    def __init__(self, search: BudgetSearch, belief_plan: int, act_time: float, epsilon: float) -> None:
        self._search = search
        self._start = OnlineState(belief_plan, tuple(search.budget))
        self._epsilon = epsilon
        self.act_time = act_time

    def initial(self, rng: np.random.Generator) -> OnlineState:
        """The belief, budget and plan at which the search left off."""
        return self._start

    def action(self, state: OnlineState) -> int:
        """The belief plan's first action."""
        if state.controller is not None:
            return state.controller.action(state.belief_plan)
        return self._search.first_action(state.belief_plan)

    def update(self, state: OnlineState, observation: int) -> OnlineState:
        """Go on after an observation, and look for something better."""
        search = self._search
        if state.controller is not None:
            return state._replace(belief_plan=state.controller.update(state.belief_plan, observation))
        left = left_after(state.left, search.first_cost(state.belief_plan), search.model.cost_discount)
        left = np.where(np.isfinite(left), np.maximum(left, 0.0), np.inf)
        belief_plan = search.follow(state.belief_plan, observed(observation, search.model.n_observations))
        if belief_plan is None:
            whole = ControllerPolicy(search.model, *search.graph(state.belief_plan))
            return OnlineState(whole.update(whole.start, observation), tuple(left), whole)
        belief = int(search.belief_plans.info["belief"][belief_plan])
        deadline = time.perf_counter() + self.act_time
        while time.perf_counter() < deadline and search.search_at(belief, left, self._epsilon, _WORK):
            pass
        return OnlineState(search.better(belief_plan, left), tuple(left))

    def __repr__(self) -> str:
        return f"OnlinePolicy({self.act_time:g} s before each step)"

    def _repr_html_(self) -> str:
        return notebook.policy(self, [("searches", f"{self.act_time:g} s before each step")])
