"""What is proven of every action at a belief, by which the one that was taken can be judged.

With F above the reward (the fast informed bound), G_k below cost k (the same of −C_k) and B below the reward (one
action for ever), an action a at belief b, whatever is done afterwards, is worth

    at least  ``R(b, a) + γ Σ_o p(o) max_a' B_a'·b_o``                           by some policy, its budget aside
    at most   ``R(b, a) + γ Σ_o p(o) max_a' F_a'·b_o``                           by any
    at most   ``R(b, a) + γ Σ_o p(o) max {F_a'·b_o : C(b, a) + γ G_a'·b_o ≤ d}`` by any that keeps what is left, d

and costs at least ``C(b, a) + γ Σ_o p(o) min_a' G_a'·b_o``. The third line holds because an action a' that must be
expected to cost more than ``d' = (d − C(b, a)) / γ`` breaks the budget there; where every a' does so after some
observation, a itself cannot keep it. As a function of d it is a staircase, which is found once per belief. With
several costs each has its own staircase, and the lowest counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import beliefs
from .._types import FloatArray
from ..beliefs import Belief
from ..bounds import cost_fib_vectors, fib_vectors
from ..bounds.blind import blind_vectors
from ..model import CPOMDP

TAKEN, BREAKS, WORSE, OPEN = "taken", "breaks the budget", "worse", "not proven worse"
_RELATIVE = 1e-7  # by which a reward must be lower to count as worse: far above rounding


class Stair(NamedTuple):
    """With at least `need` left, and less than the next stair needs, no more than `reward` can be earned."""

    need: float
    reward: float


class Alternative(NamedTuple):
    """What is proven of taking an action at a belief, whatever is done afterwards."""

    action: int
    reward_lo: float  # some policy earns this much, its budget aside
    reward_hi: float  # none earns more
    cost: FloatArray  # [K] C(b, a)
    cost_lo: FloatArray  # [K] none spends less
    stairs: tuple[tuple[Stair, ...], ...]  # [K] by what is left for each cost, both increasing

    def within(self, left: FloatArray, slack: FloatArray) -> float | None:
        """What no policy exceeds that keeps what is left, [K], up to a slack for rounding; None if none keeps it."""
        most = self.reward_hi
        for stairs, d in zip(self.stairs, (left + slack).tolist(), strict=True):
            reached = [stair.reward for stair in stairs if stair.need <= d]
            if not reached:
                return None
            most = min(most, reached[-1])
        return most


class Verdict(NamedTuple):
    """Why an action was not taken, as far as that is proven."""

    word: str  # TAKEN, BREAKS, WORSE or OPEN
    reward_hi: float | None  # what no policy exceeds that begins so and keeps what is left; None if none keeps it


def judge(option: Alternative, taken: int, attained: float, left: FloatArray, slack: FloatArray) -> Verdict:
    """An action beside the one taken, which earns `attained` at least, with what is left for each cost, [K]."""
    most = option.within(left, slack)
    if option.action == taken:
        return Verdict(TAKEN, most)
    if most is None:
        return Verdict(BREAKS, None)
    return Verdict(WORSE if most < attained - _RELATIVE * max(1.0, abs(attained)) else OPEN, most)


class Bounds:
    """The bounds of a model, of which alternatives at any belief are made."""

    def __init__(self, model: CPOMDP) -> None:
        self.model = model
        above = fib_vectors(model)
        below = blind_vectors(model, model.reward[None])[:, 0]
        costs = [cost_fib_vectors(model, k) for k in range(model.n_costs)]
        # One row per state, so that a belief gathers whole rows: [S, (2 + K) · A].
        self._vectors = np.ascontiguousarray(np.concatenate([above, below, *costs]).T)
        self._gain = np.concatenate([model.reward[None], model.cost])  # [1 + K, S, A]

    def at(self, belief: Belief) -> list[Alternative]:
        """All actions at a belief, in their order."""
        now = np.tensordot(self._gain[:, belief.states], belief.probabilities, (1, 0))  # [1 + K, A]
        return [self._alternative(belief, a, now[:, a]) for a in range(self.model.n_actions)]

    def _alternative(self, belief: Belief, a: int, now: FloatArray) -> Alternative:
        model, gamma = self.model, self.model.discount
        followed = beliefs.branches(model, belief, a)
        p = np.array([branch.probability for branch in followed])
        bounds = np.array([b.probabilities @ self._vectors[b.states] for _, _, b in followed])
        bounds = bounds.reshape(len(followed), 2 + model.n_costs, model.n_actions)
        above, below, costs = bounds[:, 0], bounds[:, 1], bounds[:, 2:]
        return Alternative(
            a,
            float(now[0] + gamma * (p @ below.max(axis=1))),
            float(now[0] + gamma * (p @ above.max(axis=1))),
            now[1:],
            now[1:] + gamma * (p @ costs.min(axis=2)),
            tuple(_staircase(now[0], now[1 + k], gamma, p, above, costs[:, k]) for k in range(model.n_costs)),
        )


def _staircase(
    reward: float, cost: float, gamma: float, p: FloatArray, above: FloatArray, needs: FloatArray
) -> tuple[Stair, ...]:
    """The most that can be earned by what is left, from bounds on what follows each observation, [O, A]."""
    order = np.argsort(needs, axis=1, kind="stable")
    need = cost + gamma * np.take_along_axis(needs, order, axis=1)
    best = np.maximum.accumulate(np.take_along_axis(above, order, axis=1), axis=1)
    first = float(need[:, 0].max())  # below this some observation leaves nothing that keeps the budget
    here = (need <= first).sum(axis=1) - 1  # the last action that this allows
    total = reward + gamma * float(p @ best[np.arange(len(p)), here])
    rise: Any = gamma * p[:, None] * np.diff(best, axis=1)
    later = (need[:, 1:] > first) & (rise > 0)
    stairs = [Stair(first, total)]
    for step in np.argsort(need[:, 1:][later], kind="stable"):
        at, total = float(need[:, 1:][later][step]), total + float(rise[later][step])
        if at <= stairs[-1].need:
            stairs[-1] = Stair(stairs[-1].need, total)
        else:
            stairs.append(Stair(at, total))
    return tuple(stairs)
