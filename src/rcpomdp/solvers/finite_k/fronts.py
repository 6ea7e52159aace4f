"""What is known of the C-POMDP from one belief, for every budget d at once.

From above, each multiplier λ that was tried gives a cut, ``V(b, d) ≤ V_λ(b) + λ·d``, and each weighted cost that was
minimised a floor: below ``λ·d ≥ min_π λ·V_C`` nothing is feasible. From below, every plan of the belief's class is a
column with a reward and costs here, and mixtures of columns within d are policies of the C-POMDP. Under one limited
cost the best mixture is read off the upper hull of the columns; under several it is a linear program
(`solvers.cgcp.master`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import FloatArray, IntArray
from ...model.beliefs import Belief
from ..belief_graph.search import BeliefGraphSearch
from ..cgcp.master import Master

_LEAST_WEIGHT = 1e-12  # of a column in a mixture; a smaller one is rounding of none


class Columns:
    """Plans of one class, whose vectors give their rewards and costs at every belief of it.

    Parameters
    ----------
    cls, first, size : number of the class, its first state and how many it has
    """

    def __init__(self, cls: int, first: int, size: int, n_costs: int) -> None:
        self.cls, self.first = cls, first
        self.plans: list[tuple[BeliefGraphSearch, int]] = []
        self._known: set[tuple[int, int]] = set()  # graph search and plan
        self._vectors = np.empty((8, 1 + n_costs, size))
        self._sure = np.empty((8, n_costs))

    def add(self, graph_search: BeliefGraphSearch, plan: int) -> None:
        """One more plan, unless it is known."""
        if plan < 0 or (id(graph_search), plan) in self._known:
            return
        self._known.add((id(graph_search), plan))
        n = len(self.plans)
        if n == len(self._vectors):
            self._vectors = np.concatenate([self._vectors, np.empty_like(self._vectors)])
            self._sure = np.concatenate([self._sure, np.empty_like(self._sure)])
        self._vectors[n], self._sure[n] = graph_search.vectors(plan), graph_search.sure_cost(plan)
        self.plans.append((graph_search, plan))

    def at(self, belief: Belief, known: int) -> tuple[FloatArray, FloatArray]:
        """Reward and costs [n, 1 + K] at a belief, and sure costs [n, K], of the plans beyond those that are known."""
        new = slice(known, len(self.plans))
        values = self._vectors[new][:, :, belief.states.astype(np.int64) - self.first] @ belief.probabilities
        # What is never expected is never spent, whatever other states of the class would cost.
        return values, np.where(values[:, 1:] <= 0, 0.0, self._sure[new])


class Mix(NamedTuple):
    """The best known mixture of columns within a budget, or the one that exceeds it least."""

    columns: tuple[int, ...]
    weights: tuple[float, ...]
    value: float  # −inf if it is not within the budget
    multipliers: FloatArray  # [K] of the next plan to look for
    threshold: float  # a plan whose R − λ·C (or −λ·C, if nothing is within the budget) is above would improve it


class Front:
    """The C-POMDPs from one belief.

    Parameters
    ----------
    belief : of the model in class order
    columns : of its class; those that come later are taken up by `take_up`
    limited : [K] which costs have a budget
    """

    def __init__(self, belief: Belief, columns: Columns, limited: IntArray, n_costs: int) -> None:
        self.belief, self.columns, self.limited, self.n_costs = belief, columns, limited, n_costs
        self.values = np.empty((0, 1 + n_costs))  # [n, 1 + K] reward and costs of each column here
        self.sure = np.empty((0, n_costs))  # [n, K]
        self._hull: list[int] = []  # columns on the upper hull, costs increasing
        self._cuts: dict[bytes, tuple[FloatArray, float]] = {}
        self._floors: dict[bytes, tuple[FloatArray, float]] = {}
        self.visits = 0  # steps of column generation here
        self.read: dict[int, int] = {}  # what each graph search had done when it was last asked

    # From above

    def cut(self, multipliers: FloatArray, value: float) -> None:
        """``V(b, d) ≤ value + λ·d``."""
        _keep_least(self._cuts, multipliers, value)

    def floor(self, multipliers: FloatArray, least: float) -> None:
        """No policy has ``λ·V_C`` below `least` here."""
        _keep_least(self._floors, multipliers, -least)

    def upper(self, left: FloatArray) -> float:
        """Bound on the value with budgets [K] left; −inf if it is proven that no policy keeps them."""
        at = self.limited
        if (left[at] < 0).any() or any(lam[at] @ left[at] < -low for lam, low in self._floors.values()):
            return -np.inf
        return min((value + float(lam[at] @ left[at]) for lam, value in self._cuts.values()), default=np.inf)

    def least(self, k: int) -> float:
        """Bound from below on the expected cost k of any policy."""
        floors = [float(-low / lam[k]) for lam, low in self._floors.values() if lam[k] > 0 and lam[k] == lam.sum()]
        return max([0.0, *floors])

    # From below

    def take_up(self) -> None:
        """Evaluate the columns that came since the last look."""
        known = len(self.values)
        if known == len(self.columns.plans):
            return
        values, sure = self.columns.at(self.belief, known)
        self.values, self.sure = np.concatenate([self.values, values]), np.concatenate([self.sure, sure])
        if self.limited.size == 1:
            cost, reward = self.values[:, 1 + self.limited[0]], self.values[:, 0]
            new = np.arange(known, len(self.values))
            if self._hull:
                below = np.interp(cost[new], cost[self._hull], reward[self._hull], left=-np.inf)
                new = new[reward[new] > below]
            self._hull = _upper_hull(cost, reward, [*self._hull, *new.tolist()])

    def best_sure(self, left: FloatArray) -> tuple[float, int]:
        """The best column that spends no more than what is left in any history, and its value; −inf if none does."""
        within = (self.sure[:, self.limited] <= left[self.limited]).all(axis=1)
        if not within.any():
            return -np.inf, -1
        best = int(np.where(within, self.values[:, 0], -np.inf).argmax())
        return float(self.values[best, 0]), best

    def mix(self, left: FloatArray, most: FloatArray, scale: float) -> Mix:
        """The best mixture within what is left, [K].

        Between `left` and `most`, which is left with all tolerance, half of the way is for the rounding of a linear
        program; `scale` is the size of rewards.
        """
        if self.limited.size == 1:
            return self._on_hull(float(left[self.limited[0]]))
        if (left[self.limited] < 0).any():
            return self._nothing()
        limit = left.copy()
        limit[self.limited] += (most[self.limited] - left[self.limited]) / 2
        master = Master(left, limit, scale)
        for reward, *cost in self.values:
            master.add(float(reward), np.array(cost))
        master.solve()
        found = master.mixture
        used = np.flatnonzero(found.weights)
        value = found.reward if master.is_within(found.cost) else -np.inf
        weights = found.weights[used] / found.weights[used].sum()
        return Mix(tuple(used.tolist()), tuple(weights.tolist()), value, master.multipliers, master.threshold)

    def _on_hull(self, left: float) -> Mix:
        hull, k = self._hull, int(self.limited[0])
        unit = np.eye(self.n_costs)[k]
        cost, reward = self.values[hull, 1 + k], self.values[hull, 0]
        i = int(np.searchsorted(cost, left, side="right")) - 1
        if i < 0:
            return Mix((hull[0],), (1.0,), -np.inf, unit, -float(cost[0]))
        if i == len(hull) - 1:
            return Mix((hull[i],), (1.0,), float(reward[i]), 0 * unit, float(reward[i]))
        slope = (reward[i + 1] - reward[i]) / (cost[i + 1] - cost[i])
        share = (left - cost[i]) / (cost[i + 1] - cost[i])
        threshold = float(reward[i] - slope * cost[i])
        if share < _LEAST_WEIGHT:
            return Mix((hull[i],), (1.0,), float(reward[i]), slope * unit, threshold)
        value = float((1 - share) * reward[i] + share * reward[i + 1])
        return Mix((hull[i], hull[i + 1]), (1 - float(share), float(share)), value, slope * unit, threshold)

    def _nothing(self) -> Mix:
        return Mix((0,), (1.0,), -np.inf, np.zeros(self.n_costs), -np.inf)


def _keep_least(known: dict[bytes, tuple[FloatArray, float]], multipliers: FloatArray, value: float) -> None:
    key = multipliers.tobytes()
    if key not in known or value < known[key][1]:
        known[key] = (multipliers.copy(), value)


def _upper_hull(cost: FloatArray, reward: FloatArray, points: list[int]) -> list[int]:
    """The points on the upper hull up to the largest reward, costs increasing."""
    hull: list[int] = []
    for i in sorted(points, key=lambda i: (cost[i], -reward[i])):
        if hull and reward[i] <= reward[hull[-1]]:
            continue
        if hull and cost[i] == cost[hull[-1]]:
            continue
        while len(hull) > 1 and (reward[hull[-1]] - reward[hull[-2]]) * (cost[i] - cost[hull[-1]]) <= (
            reward[i] - reward[hull[-1]]
        ) * (cost[hull[-1]] - cost[hull[-2]]):
            hull.pop()
        hull.append(i)
    return hull
