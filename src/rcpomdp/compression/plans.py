"""Smaller plan sets: the plans that runs use, each followed by the best of those that are kept.

A plan set holds every plan that might follow its start, and its runs use few of them. Kept are those that simulated
runs use, and for each domain the plan of least sure cost. Where a plan's successor is not kept, the one takes its place
that is worth most at the belief that is expected there, ``max_j α_j·b`` over the kept plans of the same domain with
``w_j ≤ w``: so sure costs still hold. Then all vectors are evaluated anew, ``α = R + γ Σ TZ α_o``, and successors are
chosen by the new ones, as long as that raises what the start promises.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray
from ..model import CPOMDP
from ..policies import PlanSetPolicy

_STEPS = 100  # of a run
_ROUNDS = 3  # of choosing successors
_SWEEPS = 20_000
_COARSE, _FINE = 1e-5, 1e-11  # change of a last sweep, relative to rewards: to choose by vectors, and to keep them
_NONE = -1


def used_plans(model: CPOMDP, policy: PlanSetPolicy, runs: int, seed: int) -> dict[int, FloatArray]:
    """The plans that simulated runs use, each with the beliefs at which it was used, summed up, discounted, [S]."""
    rng, m, n = np.random.default_rng(seed), model.arrays, model.n_states
    used: dict[int, FloatArray] = {}

    def draw(pointer: IntArray, place: Any, chance: FloatArray, row: int) -> int:
        part = slice(pointer[row], pointer[row + 1])
        return int(place[part][min(np.searchsorted(np.cumsum(chance[part]), rng.random()), part.stop - part.start - 1)])

    for _ in range(runs):
        at, weight = policy.initial(rng), 1.0
        s = int(rng.choice(n, p=model.initial_belief))
        for _ in range(_STEPS):
            if model.terminal[s]:
                break
            where = used.setdefault(at.node, np.zeros(n))
            where[at.belief.states] += weight * at.belief.probabilities
            a = policy.action(at)
            s = draw(m.t_ptr, m.t_next, m.t_prob, a * n + s)
            at = policy.update(at, draw(m.z_ptr, m.z_obs, m.z_prob, a * n + s))
            weight *= model.discount
    return used


class _Kept:
    """The plans that are kept, over all states."""

    def __init__(self, model: CPOMDP, policy: PlanSetPolicy, used: dict[int, FloatArray]) -> None:
        self.model, self.policy = model, policy
        self.plans: IntArray = np.array(sorted({*used, policy.start, *_thriftiest(policy)}))
        n, s = self.plans.size, model.n_states
        self.actions, self.domain = policy.actions[self.plans], policy.domain[self.plans]
        self.sure_cost, self.before = policy.sure_cost[self.plans], policy.successors[self.plans]
        self.inside = np.zeros((policy.domain_start.size - 1, s), dtype=np.bool_)
        self.inside[np.repeat(np.arange(len(self.inside)), np.diff(policy.domain_start)), policy.domain_states] = True
        self.values = np.zeros((n, s))
        for row, plan in zip(self.values, self.plans.tolist(), strict=True):
            row[self.inside[policy.domain[plan]]] = policy.values[slice(*policy.values_start[plan : plan + 2])]
        share = self.inside / self.inside.sum(axis=1, keepdims=True)
        self.belief = np.array([used.get(i, share[policy.domain[i]]) for i in self.plans.tolist()])
        self._moves = [self._of_action(a) for a in range(model.n_actions)]
        self.successors = np.full(self.before.shape, _NONE)

    def _of_action(self, a: int) -> Any:
        """[S, O · S] ``T(s, a, s') Z(s', a, o)``."""
        told = sp.csc_array(self.model.observation[a])
        return sp.hstack(
            [self.model.transition[a].multiply(told[:, [o]].toarray().ravel()) for o in range(told.shape[1])], "csr"
        )

    def choose(self) -> bool:
        """Choose the successors; False if some plan finds none."""
        n_states, found = self.model.n_states, True
        for a in np.unique(self.actions).tolist():
            nodes = np.flatnonzero(self.actions == a)
            arrives = (self._moves[a].T @ self.belief[nodes].T).T.reshape(nodes.size, -1, n_states)
            for o in range(arrives.shape[1]):
                before = self.before[nodes, o]
                value = arrives[:, o] @ self.values.T
                fits = self.policy.domain[before][:, None] == self.domain
                limit = self.policy.sure_cost[before]
                fits &= (self.sure_cost <= limit[:, None]).all(axis=2)
                best = np.where(fits, value, -np.inf).argmax(axis=1)
                missing = before == _NONE
                found &= bool(fits[~missing].any(axis=1).all())
                self.successors[nodes, o] = np.where(missing, _NONE, best)
        return found

    def evaluate(self, accuracy: float) -> None:
        """Sweep over the vectors of all plans until they change no more."""
        model, gamma = self.model, self.model.discount
        gain = np.where(self.inside[self.domain], model.reward[:, self.actions].T, 0.0)
        enough = accuracy * float(np.abs(gain).max())
        groups = [(a, np.flatnonzero(self.actions == a)) for a in np.unique(self.actions).tolist()]
        for _ in range(_SWEEPS):
            padded = np.concatenate([self.values, np.zeros((1, model.n_states))])
            new = gain.copy()
            for a, nodes in groups:
                after = padded[self.successors[nodes]].reshape(nodes.size, -1)
                new[nodes] += gamma * (self._moves[a] @ after.T).T
            new = np.where(self.inside[self.domain], new, 0.0)
            change, self.values = float(np.abs(new - self.values).max()), new
            if change <= enough:
                return

    @property
    def start(self) -> int:
        """The plan that promises most within the budget at the initial belief."""
        support = self.model.initial_belief > 0
        fits = (self.sure_cost <= self.model.spending_limit).all(axis=1) & self.inside[self.domain][:, support].all(1)
        return int(np.where(fits, self.values @ self.model.initial_belief, -np.inf).argmax())

    @property
    def promise(self) -> float:
        """What the start promises."""
        return float(self.values[self.start] @ self.model.initial_belief)

    def as_policy(self) -> PlanSetPolicy:
        """The plans that can be reached or changed to, as a plan set."""
        flat = [row[self.inside[domain]] for row, domain in zip(self.values, self.domain.tolist(), strict=True)]
        return PlanSetPolicy(
            self.model,
            self.actions,
            self.successors,
            self.sure_cost,
            self.domain,
            self.policy.domain_start,
            self.policy.domain_states,
            np.concatenate([[0], np.cumsum([row.size for row in flat])]),
            np.concatenate(flat),
            self.start,
        )


def _thriftiest(policy: PlanSetPolicy) -> set[int]:
    """For each domain the plan of least sure cost, by each cost, and whatever follows it."""
    found: set[int] = set()
    for plans in (np.flatnonzero(policy.domain == i) for i in np.unique(policy.domain)):
        found |= set(plans[policy.sure_cost[plans].argmin(axis=0)].tolist())
    for i in (queue := list(found)):
        fresh = set(policy.successors[i].tolist()) - found - {_NONE}
        found |= fresh
        queue += fresh
    return found


def with_used_plans(model: CPOMDP, policy: PlanSetPolicy, runs: int, seed: int) -> PlanSetPolicy | None:
    """A plan set of the plans that runs use; None if some plan would be left without a successor."""
    kept = _Kept(model, policy, used_plans(model, policy, runs, seed))
    best, promise = kept.successors.copy(), -np.inf
    for _ in range(_ROUNDS):
        if not kept.choose():
            return None
        kept.evaluate(_COARSE)
        if kept.promise <= promise:
            break
        best, promise = kept.successors.copy(), kept.promise
    kept.successors = best
    kept.evaluate(_FINE)
    return kept.as_policy()
