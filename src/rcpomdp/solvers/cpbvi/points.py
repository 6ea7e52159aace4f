"""The points of CPBVI: reachable beliefs, each with the cost that is still admissible there.

From b_0 with the budget ĉ the set grows towards uniform density (Pineau, Gordon and Thrun, Anytime Point-Based
Approximations for Large POMDPs, JAIR 2006): each belief in turn is followed by one simulated step under each action,
and of the beliefs reached the one that is farthest from all that are there (in the 1-norm) is added. It is reached with
``d' = (d − C(b, a)) / γ``, which may be below 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ..._types import FloatArray, IntArray
from ...model import CPOMDP, beliefs
from ...model.beliefs import Belief
from ...model.remaining_budget import left_after

_ROOM = 32  # beliefs to have room for at first
_SAME = 1e-9  # beliefs that are nearer to each other are one


class Points:
    """Beliefs with admissible costs, and all that follows them in one step."""

    def __init__(
        self,
        model: CPOMDP,
        n: int,
        rng: np.random.Generator,
        over: Callable[[], bool],
        budget: FloatArray | None = None,
    ) -> None:
        self.model = model
        self.beliefs = [beliefs.initial(model)]
        self.left = [np.array(model.budget if budget is None else budget)]  # [K] each: d
        self._dense = np.zeros((min(n, _ROOM), model.n_states))
        self._dense[0] = model.initial_belief
        self._grow(n, rng, over)
        del self._dense
        self._branch()

    def _grow(self, n: int, rng: np.random.Generator, over: Callable[[], bool]) -> None:
        """Add beliefs until there are n, or none is new."""
        while len(self.beliefs) < n:
            before = len(self.beliefs)
            for i in range(before):
                if len(self.beliefs) == n or over():
                    return
                self._expand(i, rng)
            if len(self.beliefs) == before:
                return

    def _expand(self, i: int, rng: np.random.Generator) -> None:
        """One simulated step under each action; the farthest belief stays."""
        farthest, chosen = _SAME, None
        for a in range(self.model.n_actions):
            p = beliefs.observation_probabilities(self.model, self.beliefs[i], a)
            after = beliefs.posterior(self.model, self.beliefs[i], a, int(rng.choice(p.size, p=p / p.sum())))
            common = np.minimum(self._dense[: len(self.beliefs), after.states], after.probabilities).sum(axis=1)
            distance = 2 - 2 * float(common.max())  # ‖b − b'‖ = 2 − 2 Σ min(b, b')
            if distance > farthest:
                farthest, chosen = distance, (after, a)
        if chosen is not None:
            after, a = chosen
            if len(self.beliefs) == len(self._dense):
                self._dense = np.concatenate([self._dense, np.zeros_like(self._dense)])
            self._dense[len(self.beliefs), after.states] = after.probabilities
            self.beliefs.append(after)
            self.left.append(self.left_after(i, a))

    def left_after(self, i: int, a: int) -> FloatArray:
        """Admissible cost one step after point i, [K]."""
        b = self.beliefs[i]
        spent = self.model.cost[:, b.states, a] @ b.probabilities
        return left_after(self.left[i], spent, self.model.cost_discount)

    def _branch(self) -> None:
        """Lay out all beliefs that follow; those of point i under action a stand from ``start[i * A + a]`` on."""
        n, n_actions = len(self.beliefs), self.model.n_actions
        found: list[Belief] = []
        seen: list[int] = []
        chance: list[float] = []
        start = np.zeros(n * n_actions + 1, dtype=np.int64)
        for i, b in enumerate(self.beliefs):
            for a in range(n_actions):
                for o, p, after in beliefs.branches(self.model, b, a):
                    found.append(after)
                    seen.append(o)
                    chance.append(p)
                start[i * n_actions + a + 1] = len(found)
        self.start: IntArray = start  # [n * A + 1]
        self.observation: IntArray = np.array(seen, dtype=np.int64)  # [m] of each belief that follows
        self.probability: FloatArray = np.array(chance)  # [m] p(o | b, a)
        self.following = _matrix(found, self.model.n_states)  # [m, S]
        self.at = _matrix(self.beliefs, self.model.n_states)  # [n, S]


def _matrix(rows: list[Belief], n_states: int) -> sp.csr_array[np.float64]:
    """Beliefs as the rows of one sparse matrix."""
    pointer = np.concatenate([[0], np.cumsum([b.states.size for b in rows])])
    states = np.concatenate([b.states for b in rows])
    probabilities = np.concatenate([b.probabilities for b in rows])
    return sp.csr_array((probabilities, states, pointer), shape=(len(rows), n_states))
