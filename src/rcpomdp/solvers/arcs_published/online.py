"""A policy that goes on searching its tree while it runs (Ho et al. 2024, App. F: 0.05 s before each step).

After each observation that leads to a sampled node, heuristic trials from that node improve what follows it; the node's
action is then taken. All runs share the tree, so that later ones profit from what earlier ones found. Once a leaf is
reached its plan of least cost is followed, without a search. What was proven stays proven: a node's proven policy is
given up for none but a better proven one.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ...kernels.arcs_published.tree import NONE, ROOT
from ...views import notebook
from .leaf_policy import followers
from .tree import PaperSearch


class ActingState(NamedTuple):
    """The node of the tree that a run is at, or the plan that it follows beyond the tree; and the action it takes."""

    node: int  # NONE beyond the tree
    plan: int
    action: int


class ActingPolicy:
    """Follows the tree, and searches below where it is for `act_time` seconds before each step but the first."""

    def __init__(self, search: PaperSearch, act_time: float, epsilon: float) -> None:
        self._search, self._column, self._epsilon = search, search.followed, epsilon
        self.act_time = act_time

    def initial(self, rng: np.random.Generator) -> ActingState:
        """The root of the tree."""
        return self._at(ROOT)

    def action(self, state: ActingState) -> int:
        """The action of the node or of the plan."""
        return state.action

    def update(self, state: ActingState, observation: int) -> ActingState:
        """Go on after an observation, and look for something better."""
        search = self._search
        if state.node == NONE:
            following = dict(followers(search.graph_search, state.plan))
            return self._by_plan(following.get(observation, state.plan))
        info = search.tree.info
        children = search.children(state.node, state.action)
        node = next((child for child in children if info["obs"][child] == observation), NONE)
        if node == NONE:  # what cannot be observed
            return state
        if info["row"][node] != NONE:
            deadline = time.perf_counter() + self.act_time
            while time.perf_counter() < deadline and search.advance_at(node, self._epsilon):
                pass
        return self._at(node)

    def _at(self, node: int) -> ActingState:
        info = self._search.tree.info
        action = int(info[self._column][node])
        if action == NONE:
            return self._by_plan(int(self._search.plans[info["plan"][node]]))
        return ActingState(node, NONE, action)

    def _by_plan(self, plan: int) -> ActingState:
        return ActingState(NONE, plan, int(self._search.graph_search.plans.info["action"][plan]))

    def __repr__(self) -> str:
        return f"ActingPolicy({self.act_time:g} s before each step)"

    def _repr_html_(self) -> str:
        return notebook.policy(self, [("searches", f"{self.act_time:g} s before each step")])
