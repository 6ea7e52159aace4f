"""Slow and plain NumPy references for budgets that hold in every history.

They share no code with the package. A node is a belief and what was spent on the way to it, in the root's units:
``W' = W + γ^t C(b, a)``; equal nodes are one. `optimum_interval` expands them to some depth and brackets the best
reward of a policy whose W never exceeds the budget; `least_budget_interval` brackets ``M(b) = min_a C(b, a) + γ max_o
M(b')`` for each cost. Whatever costs the budget but for rounding must be allowed, and whatever costs 2e-9 more must
not: the model's own tolerance lies between.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcpomdp.policies import ControllerPolicy
from reference import blind_vectors, branches, solve_mdp
from strategies import Dense

_SAME = 1e-12  # probabilities and spendings that differ by less are one


Reached = dict[tuple[int, bytes], tuple[np.ndarray, np.ndarray]]  # (node, belief) → belief, the most spent there [K]


class Layer(NamedTuple):
    """Nodes of one depth, and what follows them in the next."""

    belief: np.ndarray  # [n, S]
    spent: np.ndarray  # [n, K]
    after: np.ndarray  # [n, A, K] spent after an action
    child: np.ndarray  # [n, A, O] in the next layer
    probability: np.ndarray  # [n, A, O]; 0 where nothing follows or the action is not allowed


def budget_range(case: Dense) -> tuple[np.ndarray, np.ndarray]:
    """What must be allowed and what must not, [K] each: the budget, and the budget with twice its tolerance."""
    budget = case.model.budget
    return budget * (1 + 0.5e-9), budget * (1 + 2e-9)


def expand(case: Dense, limit: np.ndarray, most: int, depth: int = 60) -> tuple[list[Layer], np.ndarray, np.ndarray]:
    """Layers while there is room for them, and the beliefs and spendings of the leaves; no action exceeds the limit."""
    gamma, n_costs = case.model.discount, len(limit)
    counted = np.flatnonzero(np.isfinite(limit))
    belief, spent = case.model.initial_belief[None], np.zeros((1, n_costs))
    layers: list[Layer] = []
    total = 1
    for t in range(depth):
        cost = np.einsum("ns,ksa->nak", belief, case.C)
        after = spent[:, None] + gamma**t * cost
        allowed = (after <= limit).all(axis=2)
        joint = np.einsum("ns,ast,ato->naot", belief, case.T, case.Z) * allowed[:, :, None, None]
        probability = joint.sum(axis=3)
        at = np.nonzero(probability)
        posterior = joint[at] / probability[at][:, None]
        paid = after[at[0], at[1]]
        scale = np.maximum(limit[counted], 1e-3)
        keys = np.concatenate([posterior, paid[:, counted] / scale], axis=1)
        _, first, number = np.unique(np.round(keys / _SAME * 0.1), axis=0, return_index=True, return_inverse=True)
        total += len(first)
        if layers and total > most:
            break
        child = np.zeros(probability.shape, dtype=np.int64)
        child[at] = number.ravel()
        layers.append(Layer(belief, spent, after, child, probability))
        belief, spent = posterior[first], paid[first]
        if gamma == 0 or not len(first):
            break
    return layers, belief, spent


def sure_costs(case: Dense) -> np.ndarray:
    """What no history of an action taken for ever exceeds, from any belief with a support: [2^S, A, K] by bit mask."""
    gamma = case.model.discount
    n_actions, n, _ = case.T.shape
    masks = 1 << n
    inside = (np.arange(masks)[:, None] >> np.arange(n)) & 1 == 1  # [2^S, S]
    here = np.where(inside[:, None, :, None], case.C.transpose(2, 1, 0)[None], 0.0).max(axis=2)  # [2^S, A, K]
    reached = np.einsum("ms,ast->amt", inside, case.T) > 0
    follows = (reached[..., None] & (case.Z[:, None] > 0)).transpose(1, 0, 3, 2)  # [2^S, A, O, S]
    after = follows @ (1 << np.arange(n))  # [2^S, A, O]
    some = after > 0
    # From above, and zero where no cost can follow.
    costly = here > 0
    for _ in range(masks + 1):
        costly = costly | (costly[after, np.arange(n_actions)[:, None]] & some[..., None]).any(axis=2)
    sure = costly * case.C.max(axis=(1, 2), initial=0.0) / (1 - gamma)
    for _ in range(3000):
        lower = here + gamma * np.where(some[..., None], sure[after, np.arange(n_actions)[:, None]], 0.0).max(axis=2)
        done = (sure - lower <= 1e-13 * sure).all()
        sure = np.where(costly, np.minimum(sure, lower), 0.0)
        if done:
            break
    return sure


def support_of(belief: np.ndarray) -> np.ndarray:
    """Bit masks of the supports of beliefs [n, S]."""
    return (belief > 0) @ (1 << np.arange(belief.shape[1]))


def least_costs(case: Dense) -> np.ndarray:
    """What must be expected of each cost from each state at least, [K, S]: the state is known."""
    return np.array([-solve_mdp(case.T, -c.T, case.model.discount)[1] for c in case.C]).reshape(case.C.shape[:2])


def optimum_interval(case: Dense, most: int = 4000, depth: int = 60) -> tuple[float, float]:
    """Bounds on the optimum under the budget; (−inf, −inf) if no policy keeps it.

    Beyond the layers the state's MDP is what can be had at most, if what must be expected of each cost is left; and the
    best action for ever that is sure to keep the budget is what can be had at least.
    """
    gamma = case.model.discount
    allowed, forbidden = budget_range(case)
    layers, belief, spent = expand(case, forbidden, most, depth)
    if gamma == 0:
        low = high = np.zeros(len(belief))
    else:
        weight = gamma ** len(layers)
        above = belief @ solve_mdp(case.T, case.R.T, gamma)[1]
        least = belief @ least_costs(case).T
        high = np.where((spent + weight * least <= forbidden).all(axis=1), above, -np.inf)
        below = belief @ blind_vectors(case, case.R).T
        sure = sure_costs(case)[support_of(belief)]  # [n, A, K]
        fits = (spent[:, None] + weight * sure <= allowed).all(axis=2)
        low = np.where(fits, below, -np.inf).max(axis=1, initial=-np.inf)
    for layer in layers[::-1]:
        low = _backed_up(case, layer, low, allowed)
        high = _backed_up(case, layer, high, forbidden)
    return float(low[0]), float(high[0])


def _backed_up(case: Dense, layer: Layer, value: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """``max_a R + γ Σ_o p V`` over the actions that keep the limit."""
    after = np.append(value, 0.0)[np.where(layer.probability > 0, layer.child, len(value))]
    weight = case.model.discount * layer.probability
    total = np.where(weight > 0, weight, 1.0) * np.where(weight > 0, after, 0.0)
    q = layer.belief @ case.R + total.sum(axis=2)
    return np.where((layer.after <= limit).all(axis=2), q, -np.inf).max(axis=1)


def least_budget_interval(case: Dense, most: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the least budget that suffices of each cost alone, [K] each."""
    gamma, n_costs = case.model.discount, len(case.C)
    layers, belief, _ = expand(case, np.full(n_costs, np.inf), most)
    low = belief @ least_costs(case).T
    high = sure_costs(case)[support_of(belief)].min(axis=1)
    for layer in layers[::-1]:
        cost = np.einsum("ns,ksa->nak", layer.belief, case.C)
        possible = (layer.probability > 0)[..., None]
        low = (cost + gamma * np.where(possible, low[layer.child], 0.0).max(axis=2)).min(axis=1)
        high = (cost + gamma * np.where(possible, high[layer.child], 0.0).max(axis=2)).min(axis=1)
    return low[0], high[0]


def histories(case: Dense, policy: ControllerPolicy, depth: int) -> list[Reached]:
    """For each step t ≤ depth the pairs of node and belief that a controller reaches: (belief, the most spent, [K])."""
    gamma = case.model.discount
    start = case.model.initial_belief
    found = [{(int(policy.start), np.round(start, 12).tobytes()): (start, np.zeros(len(case.C)))}]
    for t in range(depth):
        following: Reached = {}
        for (node, _), (b, spent) in found[-1].items():
            a = int(policy.actions[node])
            paid = spent + gamma**t * case.C[:, :, a] @ b
            for o, _, after in branches(case, b, a):
                key = (int(policy.successors[node, o]), np.round(after, 12).tobytes())
                known = following.get(key, (after, paid))[1]
                following[key] = (after, np.maximum(known, paid))
        found.append(following)
    return found
