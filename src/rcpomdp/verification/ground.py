"""What a checker of proofs knows of the model: classes, least costs, corners, and what follows beliefs.

All of it is computed from the model; of the proof it takes which states are said to share a class, and which one-step
beliefs are said to be one, and tests both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import BoolArray, FloatArray, IntArray
from ..errors import ProofError
from ..model import CPOMDP
from ..model.endings import most_steps
from .chain import entries
from .proof import EVERY_HISTORY, Proof

UNIT = 2.0**-53
_NEGLIGIBLE = 37.0  # γ^n ≤ exp(−n(1 − γ)) is below 2^-53 from n = 37/(1 − γ) on
TWIN = 1e-13  # relative difference below which two beliefs are rounding of one


class Ground:
    """The model, as the inequalities of a proof see it."""

    def __init__(self, model: CPOMDP, proof: Proof) -> None:
        if model.discount == 0:
            raise ProofError("proofs are for discounts above 0: without one the first step is all there is")
        self.model, self.proof = model, proof
        self.moves = [sp.csr_array(t) for t in model.transition]
        self.seen = [sp.csr_array(z) for z in model.observation]
        self.n_classes = int(proof.class_of.max()) + 1
        self._follow_classes()
        self._least_costs()
        self._find_corners()

    def _follow_classes(self) -> None:
        """Find the classes that can be reached; each must be followed by one class after an action and observation."""
        class_of, n, found = self.proof.class_of, self.n_classes, []
        for t, z in zip(self.moves, self.seen, strict=True):
            move = t.tocoo()
            pair = np.unique(class_of[move.coords[0][move.data > 0]] * t.shape[0] + move.coords[1][move.data > 0])
            owner, at = entries(z.indptr, pair % t.shape[0])
            owner, at = owner[z.data[at] > 0], at[z.data[at] > 0]
            before, after = pair[owner] // t.shape[0], class_of[pair[owner] % t.shape[0]]
            found.append(np.unique((before * z.shape[1] + z.indices[at]) * n + after))
        initial = np.unique(class_of[self.model.initial_belief > 0])
        self.reached = np.zeros(n, dtype=np.bool_)
        self.reached[initial] = True
        while True:
            before = self.reached.sum()
            for triple in found:
                self.reached[triple[self.reached[triple // n // self.model.n_observations]] % n] = True
            if self.reached.sum() == before:
                break
        alone = [(np.diff(t[self.reached[t // n // self.model.n_observations]] // n) > 0).all() for t in found]
        if len(initial) > 1 or not all(alone):
            raise ProofError("this is no proof for the model: some belief lies in two classes")

    def _find_corners(self) -> None:
        """States and the beliefs one step after them, as rows over states; those that are said to be one must be."""
        n, late_of = self.model.n_states, self.proof.late_of
        self.corners: Any = sp.eye_array(n, format="csr")
        self.corner_class, self.corner_reached = self.proof.class_of, self.reached[self.proof.class_of]
        self.n_corners = n
        if not late_of.size:
            return
        known = [self.successors(self.corners, a) for a in range(self.model.n_actions)]
        row, obs, state, value = (np.concatenate(part) for part in zip(*known, strict=True))
        action = np.repeat(np.arange(len(known)), [len(part[0]) for part in known])
        start = np.flatnonzero(np.diff((action * n + row) * self.model.n_observations + obs, prepend=-1))
        ptr, size = np.append(start, len(row)), np.diff(start, append=len(row))
        once, first = np.unique(late_of[: len(start)], return_index=True)
        if len(late_of) != len(start) or len(once) != self.proof.table.shape[1] - n:
            raise ProofError("this is no proof for the model: late_of does not fit")
        prob = np.add.reduceat(value, start)
        share = value / np.repeat(prob, size)
        _, other = entries(ptr, first[late_of])
        same = (size[first[late_of]] == size).all() and (state[other] == state).all()
        if not same or (np.abs(share[other] - share) > TWIN * share).any():
            raise ProofError("this is no proof for the model: beliefs that differ are said to be one")
        _, at = entries(ptr, first)
        late: Any = sp.csr_array((share[at], state[at], np.append(0, np.cumsum(size[first]))), shape=(len(first), n))
        self.corners = sp.vstack([self.corners, late], format="csr")
        self.n_corners = n + len(first)
        self.corner_class = np.append(self.corner_class, self.proof.class_of[state[start[first]]])
        reached = np.zeros(len(first), dtype=np.bool_)
        reached[late_of[self.reached[self.proof.class_of[row[start]]]]] = True
        self.corner_reached = np.append(self.corner_reached, reached)
        self._late_ptr = np.searchsorted(action[start] * n + row[start], np.arange(len(known) * n + 1))
        self._late_obs, self._late_prob = obs[start], prob

    def _least_costs(self) -> None:
        """Find the least cost of each action over a class, [K, classes, A]; inf where no step may cost that much."""
        self.floor = least_costs(self.model, self.proof.class_of)
        if self.proof.criterion == EVERY_HISTORY:
            self.floor[self.floor > self.model.arrays.step_limit[:, None, None]] = np.inf

    def left_of(self, budget: FloatArray, cost: FloatArray) -> FloatArray:
        """What is left of budgets [n, K] after costs [n, K], rounded up."""
        beta = self.model.cost_discount
        with np.errstate(invalid="ignore"):
            left = np.where(np.isinf(budget), np.inf, np.maximum(budget - cost, 0.0) / beta * (1 + 8 * UNIT))
        return np.where((cost == 0) & (beta == 1), budget, left)

    def allowed(self, cls: IntArray, budget: FloatArray) -> BoolArray:
        """Actions that some belief of a class may pay for, [n, A]."""
        able: BoolArray = np.ones((len(cls), self.model.n_actions), dtype=np.bool_)
        for k, floor in enumerate(self.floor):
            able &= (floor[cls] <= budget[:, k, None]) & np.isfinite(floor[cls])
        return able

    def spread(self, points: Any, a: int) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """(point, observation, corner, weight): all that follows points under an action as a mixture of corners."""
        if not self.proof.late_of.size:
            return self.successors(points, a)
        n, o, at = self.model.n_states, self.model.n_observations, points.tocoo()
        owner, late = entries(self._late_ptr, a * n + at.coords[1].astype(np.int64))
        key = (at.coords[0].astype(np.int64)[owner] * o + self._late_obs[late]) * self.n_corners
        key, value = key + n + self.proof.late_of[late], at.data[owner] * self._late_prob[late]
        order = np.argsort(key, kind="stable")
        key, value = key[order], value[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        key, value = key[first], np.add.reduceat(value, first) if len(first) else value
        return key // self.n_corners // o, key // self.n_corners % o, key % self.n_corners, value

    def successors(self, points: Any, a: int) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """(point, observation, state, probability) of all that follows points under an action, in this order."""
        moved: Any = sp.csr_array(points @ self.moves[a]).tocoo()
        z, n, o = self.seen[a], self.model.n_states, self.model.n_observations
        owner, at = entries(z.indptr, moved.coords[1])
        value = moved.data[owner] * z.data[at]
        key = (moved.coords[0].astype(np.int64)[owner] * o + z.indices[at]) * n + moved.coords[1][owner]
        key, value = key[value > 0], value[value > 0]
        order = np.argsort(key)
        key = key[order]
        return key // n // o, key // n % o, key % n, value[order]


def lasting(model: CPOMDP) -> float:
    """What 1 in each step adds up to: ``1/(1−γ)``, or N if the process is over after N steps from anywhere."""
    most = most_steps(model, from_anywhere=True)
    steps = min(most, 1 / (1 - model.discount)) if model.discount < 1 else most
    if not np.isfinite(steps):
        raise ProofError("with discount 1, proofs are for processes that end")
    return max(float(steps), 1.0)


def rounding_of_costs(model: CPOMDP) -> float:
    """More than rounding does to a probability or a cost of a belief, relative."""
    return 4 * (model.n_states + 8) * UNIT


def least_costs(model: CPOMDP, class_of: IntArray) -> FloatArray:
    """The least cost of each action over a class, [K, classes, A]."""
    least = np.full((model.n_costs, int(class_of.max()) + 1, model.n_actions), np.inf)
    for k in range(model.n_costs):
        np.minimum.at(least[k], class_of, model.cost[k])
    return least


def reserve(model: CPOMDP, chain: int) -> float:
    """By what the budget of the first exact entry must exceed what may be spent, relative.

    At each step one belief may stand for its twin, from which a policy may spend more by a little. After `steps` none
    of it matters, and what is impossible rests on no more than `chain` steps.
    """
    steps = lasting(model) if model.discount == 1 else min(lasting(model) * _NEGLIGIBLE, most_steps(model, True))
    return float(np.exp((steps + chain + 2) * np.log1p(4 * (TWIN + rounding_of_costs(model)))))
