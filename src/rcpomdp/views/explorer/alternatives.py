"""Proven bounds on every action at a belief, by which the one that was taken can be judged.

With F above the reward (the fast informed bound), G_k below cost k (the same of −C_k) and B below the reward (one
action for ever), an action a at belief b, whatever is done afterwards, earns

    at least  ``R(b, a) + γ Σ_o p(o) max_a' B_a'·b_o``                           by some policy, whatever it spends
    at most   ``R(b, a) + γ Σ_o p(o) max_a' F_a'·b_o``                           by any
    at most   ``R(b, a) + γ Σ_o p(o) max {F_a'·b_o : C(b, a) + γ G_a'·b_o ≤ d}`` by any that keeps what is left, d

and costs at least ``C(b, a) + γ Σ_o p(o) min_a' G_a'·b_o``. The third line holds because an action a' that must be
expected to cost more than ``d' = (d − C(b, a)) / γ`` breaks the budget there; where every a' does so after some
observation, a itself cannot keep it. As a function of d it is a staircase, which is found once per belief. With
several costs each has its own staircase, and the lowest counts.

These are bounds that a solver starts from. Its own are lower: from a proof that it has written (`proven`), the second
line and, with one cost, the stairs are lowered to what that proves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._types import FloatArray
from ...bounds import cost_fib_vectors, fib_vectors
from ...bounds.blind import blind_vectors
from ...model import CPOMDP
from ...model.beliefs import Belief
from ...verification.proof import Proof
from .proven import ProvenBounds

TAKEN, BREAKS, WORSE, OPEN = "taken", "breaks the budget", "worse", "not proven worse"
LESS = "earns less within the budget"  # than the policy, which is not known to stay within it
_TOGETHER = 256  # beliefs
_RELATIVE = 1e-7  # by which a reward must be lower to count as worse: far above rounding
_ABOVE = 1 + 1e-12  # times a budget is above it, also in a page; the slack on budgets is larger


class Stair(NamedTuple):
    """With at least `need` left, and less than the next stair needs, no more than `reward` can be earned."""

    need: float
    reward: float


class Alternative(NamedTuple):
    """Proven bounds on taking an action at a belief, whatever is done afterwards."""

    action: int
    reward_lo: float  # some policy earns this much, whatever it spends
    reward_hi: float  # none earns more
    cost: FloatArray  # [K] C(b, a)
    cost_lo: FloatArray  # [K] none spends less
    stairs: tuple[tuple[Stair, ...], ...]  # [K] by what is left for each cost, both increasing

    def within(self, left: FloatArray, slack: FloatArray) -> float | None:
        """The most that a policy can earn that keeps what is left, [K], up to a slack; None if no policy keeps it."""
        most = self.reward_hi
        for stairs, d in zip(self.stairs, (left + slack).tolist(), strict=True):
            reached = [stair.reward for stair in stairs if stair.need <= d]
            if not reached:
                return None
            most = min(most, reached[-1])
        return most


class Verdict(NamedTuple):
    """The reason why an action was not taken, as far as one is proven."""

    word: str  # TAKEN, BREAKS, WORSE, LESS or OPEN
    reward_hi: float | None  # what no policy exceeds that begins so and keeps what is left; None if none keeps it


def judge(
    alternative: Alternative, taken: int, attained: float, left: FloatArray, slack: FloatArray, keeps: bool = True
) -> Verdict:
    """The verdict on an action beside the one taken, which earns `attained` at least, with [K] left for each cost.

    An action that earns less within the budget is worse only if the policy itself surely `keeps` what is left.
    """
    most = alternative.within(left, slack)
    if alternative.action == taken:
        return Verdict(TAKEN, most)
    if most is None:
        return Verdict(BREAKS, None)
    if most >= attained - _RELATIVE * max(1.0, abs(attained)):
        return Verdict(OPEN, most)
    return Verdict(WORSE if keeps else LESS, most)


class Bounds:
    """The bounds of a model, of which alternatives at any belief are made; lower ones if a solver's proof is there."""

    def __init__(self, model: CPOMDP, proof: Proof | None = None) -> None:
        self.model = model
        self._proven = None if proof is None else ProvenBounds(model, proof)
        self.source = "informed bounds of the model" if proof is None else "the solver's proof"
        above = fib_vectors(model)
        below = blind_vectors(model, model.reward[None])[:, 0]
        costs = [cost_fib_vectors(model, k) for k in range(model.n_costs)]
        ones = np.ones((1, model.n_states))  # sums up to the probability of an observation
        self._vectors = np.ascontiguousarray(np.concatenate([above, below, *costs, ones]).T)  # [S, (2 + K) A + 1]
        self._gain = np.concatenate([model.reward[None], model.cost])  # [1 + K, S, A]
        self._seen = [sp.csc_array(z) for z in model.observation]  # by observation

    def at(self, belief: Belief, left: FloatArray | None = None) -> list[Alternative]:
        """All actions at a belief, in their order; what is proven with [K] left is among their stairs."""
        found = next(iter(self.at_all([belief])))
        return found if left is None else self._lowered(belief, found, left)

    def at_all(self, given: Sequence[Belief]) -> Iterator[list[Alternative]]:
        """The same for many beliefs, which are worked on together."""
        for first in range(0, len(given), _TOGETHER):
            part = given[first : first + _TOGETHER]
            pointer = np.cumsum([0, *(b.states.size for b in part)])
            states, p = (np.concatenate(rows) for rows in zip(*part, strict=True))
            rows: Any = sp.csr_array((p, states, pointer), shape=(len(part), self.model.n_states))
            by_action = [self._alternatives(rows, a) for a in range(self.model.n_actions)]
            for belief, found in zip(part, zip(*by_action, strict=True), strict=True):
                yield self._lowered(belief, list(found))

    def _lowered(self, belief: Belief, found: list[Alternative], left: FloatArray | None = None) -> list[Alternative]:
        """The same with what is proven; with one cost by budgets, which for several have no order."""
        if self._proven is None:
            return found
        n_costs = self.model.n_costs
        unlimited = self._proven.at(belief, np.full((1, n_costs), np.inf))[0]
        found = [option._replace(reward_hi=min(option.reward_hi, float(unlimited[option.action]))) for option in found]
        if n_costs != 1:
            return found
        levels = np.union1d(self._proven.levels(belief), [] if left is None else left)
        most = np.minimum.accumulate(self._proven.at(belief, levels[:, None])[::-1])[::-1]  # [levels, A]
        return [option._replace(stairs=(_lower(option.stairs[0], levels, most[:, option.action]),)) for option in found]

    def _alternatives(self, rows: Any, a: int) -> list[Alternative]:
        """One action at the beliefs in `rows`, [B, S]."""
        model, gamma, n_costs = self.model, self.model.discount, self.model.n_costs
        now = (rows @ self._gain[:, :, a].T).T  # [1 + K, B]
        after = rows @ model.transition[a]
        met = np.unique(after.indices)
        after, seen, vectors = after[:, met], self._seen[a][met], self._vectors[met]
        # All values are weighed with p(o), as Bayes' rule would divide by it only to have it multiplied again.
        weighed = np.stack(
            [after @ (seen[:, [o]].toarray() * vectors) for o in np.flatnonzero(np.diff(seen.indptr))], axis=1
        )  # [B, O, (2 + K) A + 1]
        p = weighed[:, :, -1]
        split = weighed[:, :, :-1].reshape(*p.shape, 2 + n_costs, model.n_actions)
        above, below, costs = split[:, :, 0], split[:, :, 1], split[:, :, 2:]
        reward_lo = now[0] + gamma * below.max(axis=2).sum(axis=1)
        reward_hi = now[0] + gamma * above.max(axis=2).sum(axis=1)
        cost_lo = now[1:].T + gamma * costs.min(axis=3).sum(axis=1)  # [B, K]
        certain = np.where(p > 0, p, 1.0)[:, :, None]
        stairs = [_staircases(now[0], now[1 + k], gamma, above, costs[:, :, k] / certain) for k in range(n_costs)]
        return [
            Alternative(a, float(lo), float(hi), now[1:, i], cost_lo[i], tuple(s[i] for s in stairs))
            for i, (lo, hi) in enumerate(zip(reward_lo, reward_hi, strict=True))
        ]


def _lower(stairs: tuple[Stair, ...], levels: FloatArray, most: FloatArray) -> tuple[Stair, ...]:
    """Stairs where no more than `most` can be earned with up to each of some budgets, both increasing, the last inf.

    >>> _lower((Stair(0.0, 5.0), Stair(2.0, 9.0)), np.array([1.0, np.inf]), np.array([-np.inf, 7.0]))
    (Stair(need=1.000000000001, reward=5.0), Stair(need=2.0, reward=7.0))
    """
    needs = np.array([stair.need for stair in stairs])
    rewards = np.array([stair.reward for stair in stairs])
    at = np.union1d(needs, levels[:-1] * _ABOVE)
    at = at[at >= needs[0]]
    within = np.searchsorted(levels * _ABOVE, at, side="right")
    reached = np.minimum(rewards[np.searchsorted(needs, at, side="right") - 1], most[within])
    rises = reached > np.concatenate([[-np.inf], reached[:-1]])
    return tuple(Stair(*stair) for stair in zip(at[rises].tolist(), reached[rises].tolist(), strict=True))


def _staircases(
    reward: FloatArray, cost: FloatArray, gamma: float, above: FloatArray, needs: FloatArray
) -> list[tuple[Stair, ...]]:
    """The most that can be earned by what is left, for B beliefs.

    Parameters
    ----------
    reward, cost : [B] of this step
    above : [B, O, A] bounds on the reward after each observation, weighed with its probability
    needs : [B, O, A] what each action costs there at least
    """
    order = np.argsort(needs, axis=2, kind="stable")
    need = cost[:, None, None] + gamma * np.take_along_axis(needs, order, axis=2)
    best = np.maximum.accumulate(np.take_along_axis(above, order, axis=2), axis=2)
    first = need[:, :, 0].max(axis=1)  # below this some observation leaves nothing that keeps the budget
    allowed = need <= first[:, None, None]
    total = reward + gamma * np.where(allowed, best, -np.inf).max(axis=2).sum(axis=1)
    rise = gamma * np.diff(best, axis=2)
    later = ~allowed[:, :, 1:] & (rise > 0)
    found = []
    for i, more in enumerate(later.any(axis=(1, 2)).tolist()):
        stairs = [Stair(float(first[i]), float(total[i]))]
        if more:
            steps = zip(need[i, :, 1:][later[i]].tolist(), rise[i][later[i]].tolist(), strict=True)
            for at, gain in sorted(steps):
                reached = stairs[-1].reward + gain
                if at <= stairs[-1].need:
                    stairs[-1] = Stair(at, reached)
                else:
                    stairs.append(Stair(at, reached))
        found.append(tuple(stairs))
    return found
