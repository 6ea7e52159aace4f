"""A solver's own bounds on every action, from the proof that it has written.

At a belief b with d left, relaxation j of a proof bounds what is earned by action a and a policy that keeps d: with
μ_j = 1 it is at most ``Q_j,a(b, d) + λ_j·d``, by the table of j and, where b is one of the proof's points, by entries.
An exact entry bounds it outright, and a relaxation with μ_j = 0 rules an action out if ``Q_j,a(b, d) + λ_j·d < 0``.
Each is raised by what the inequalities of the proof fail by, so that none of its numbers needs to be trusted.
"""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ...model import CPOMDP
from ...model.beliefs import Belief
from ...verification.inequalities import Inequalities
from ...verification.proof import EVERY_HISTORY, EXACT, Proof
from ...verification.proof_check import doubts
from .walk import belief_key


class ProvenBounds:
    """Upper bounds on what every action earns within a budget, for any belief that can be met."""

    def __init__(self, model: CPOMDP, proof: Proof) -> None:
        self._q = Inequalities(model, proof)
        self._doubt = doubts(self._q)
        plain = np.array_equal(proof.objective, np.eye(1, 1 + model.n_costs)[0])
        self._by_entries = proof.criterion == EVERY_HISTORY and plain and np.isfinite(self._doubt[1])
        self._points = {belief_key(self._point(i)): i for i in range(len(proof.point_ptr) - 1)}
        self._usable = [j for j, weights in enumerate(proof.weights) if (weights[1:] >= 0).all()]
        self._order = np.argsort(proof.entry_point, kind="stable")
        self._first = np.searchsorted(proof.entry_point[self._order], np.arange(len(proof.point_ptr)))

    def levels(self, belief: Belief) -> FloatArray:
        """Budgets of the first cost that the proof knows of at a belief, increasing, the last inf."""
        point = self._points.get(belief_key(belief))
        own = self._order[:0] if point is None else self._order[self._first[point] : self._first[point + 1]]
        return np.unique(np.append(self._q.budget[own, 0], np.inf))

    def at(self, belief: Belief, budgets: FloatArray) -> FloatArray:
        """The most that each action earns with so much left, [n, K] to [n, A]; −inf if no policy keeps it."""
        q, proof = self._q, self._q.proof
        point = self._points.get(belief_key(belief))
        points = np.full(len(budgets), -1 if point is None else point)
        most = np.full((len(budgets), q.model.n_actions), np.inf)
        for j in self._usable:
            found = self._by_table(j, belief, budgets) if point is None else q.at_points(j, points, budgets)
            found = found + q.allowance(j, budgets)[:, None] + self._doubt[0]
            if proof.weights[j, 0] == 1:
                np.minimum(most, found, out=most)
            elif proof.weights[j, 0] == 0:
                most[found < 0] = -np.inf
        if point is not None and self._by_entries:
            entry = q.find(points, EXACT, budgets * q.reserve)
            known = entry >= 0
            most[known] = np.minimum(most[known], proof.entry_value[entry[known]] + self._doubt[1])
        return most

    def _by_table(self, j: int, belief: Belief, budgets: FloatArray) -> FloatArray:
        tables = self._q.proof.table[self._q.coarse(j, budgets)][:, belief.states]  # [n, states, A]
        return np.asarray(np.tensordot(belief.probabilities, tables, axes=(0, 1)))

    def _point(self, i: int) -> Belief:
        proof = self._q.proof
        row = slice(proof.point_ptr[i], proof.point_ptr[i + 1])
        p = proof.point_prob[row]
        return Belief(proof.point_state[row].astype(np.int32), p / p.sum())
