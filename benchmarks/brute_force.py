"""Bounds on the optimum of a small model by brute force, which shares no code with the package.

A node is a belief and what was spent on the way to it, in the root's units: ``W' = W + β^t C(b, a)``; equal nodes of
one depth are one. Those that matter most to the bounds at the root are expanded first. At a leaf at most the fast
informed bound of ``R − λC`` and λ times what is left can be had, for the best of some λ, and nothing if the least
expected cost exceeds the budget; at least what the best of some policies over supports earns that surely keeps it.
Whatever spends the budget but for rounding (1e-12 of it) must be allowed, and whatever spends 1e-8 of it more must not:
a budget of 0 allows free actions alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

ALLOWED, FORBIDDEN = 1 + 1e-12, 1 + 1e-8  # factors on the budget
PRICES = (0.03, 0.1, 0.3, 1.0, 3.0)  # λ in units of the spread of rewards by the largest cost
SAME = 1e-11  # probabilities and shares of the budget that differ by less are one
SWEEPS = 3000
ROUNDS = 400
FEW, AT_ONCE = 4, 50  # nodes whose successors are expanded without a backup, and for how many steps


class Model(NamedTuple):
    """Dense arrays, a start, a discount and a budget."""

    T: Array  # [A, S, S]
    Z: Array  # [A, S, O]
    R: Array  # [S, A]
    C: Array  # [K, S, A]
    start: Array  # [S]
    discount: float
    budget: Array  # [K]
    beta: Array  # [K] discount of each cost
    step_limit: Array  # [K] the most that a step may cost
    horizon: int  # steps until it is over; 0: it never is
    k: int  # the budget must hold at histories shorter than this; 0: at every history
    kind: str  # how the budget and the costs were drawn

    @property
    def sizes(self) -> str:
        """States, actions, observations and costs."""
        return f"{self.R.shape[0]}/{self.R.shape[1]}/{self.Z.shape[2]}/{len(self.C)}"


# Starting bounds


class Leaves(NamedTuple):
    """What bounds a node that is not expanded."""

    prices: Array  # [L, K], the first of them 0
    informed: Array  # [L, A, S] fast informed bound of R − λC
    least: Array  # [K, S] the least expected cost if the state is known
    sure: Array  # [P, 2^S, K] what no history of a policy over supports exceeds
    vector: Array  # [P, 2^S, S] and what it earns


def leaves(model: Model) -> Leaves:
    """All that is needed to bound a node."""
    n, m = model.R.shape
    gamma, k = model.discount, len(model.C)
    joint = np.einsum("ast,ato->aost", model.T, model.Z)  # [A, O, S, S']
    counted = np.isfinite(model.budget)
    spread = max(float(np.ptp(model.R)), 1e-9)
    unit = np.where(counted, spread / np.maximum(model.C.max(axis=(1, 2)), 1e-9), 0.0)
    directions = [*np.eye(k), np.ones(k)] if k > 1 else [np.ones(1)]
    prices = np.unique([np.zeros(k), *(p * d * unit for p in PRICES for d in directions)], axis=0)
    gain = model.R[None] - np.einsum("lk,ksa->lsa", prices, model.C)  # [L, S, A]
    most = gain.max(axis=(1, 2))
    most = np.maximum(most, 0.0) * model.horizon if model.horizon else most / (1 - gamma)
    informed = np.repeat(most[:, None], m * n, axis=1).reshape(-1, m, n)
    rows = joint.reshape(-1, n)
    for _ in range(0 if model.horizon else SWEEPS):
        ahead = (rows @ informed.reshape(-1, n).T).reshape(m, -1, n, len(prices), m).max(axis=4).sum(axis=1)
        after = np.minimum(informed, gain.transpose(0, 2, 1) + gamma * ahead.transpose(2, 0, 1))
        done = np.abs(after - informed).max() <= 1e-9 * spread
        informed = after
        if done:
            break
    least = np.zeros((k, n))
    for _ in range(0 if model.horizon else SWEEPS):
        more = (model.C + gamma * np.einsum("ast,kt->ksa", model.T, least)).min(axis=2)
        done = (more <= least * (1 + 1e-15)).all()
        least = more
        if done:
            break
    if model.horizon:  # its leaves are expanded until it is over
        return Leaves(prices, informed, least, np.full((1, 1 << n, k), np.inf), np.zeros((1, 1 << n, n)))
    sure, vector = _support_policies(model, joint)
    return Leaves(prices, informed, least, sure, vector)


def _support_policies(model: Model, joint: Array) -> tuple[Array, Array]:
    """One action for ever, and the policies over supports that surely spend the least of each cost and of all."""
    n, m = model.R.shape
    gamma, k, masks = model.discount, len(model.C), 1 << n
    inside = (np.arange(masks)[:, None] >> np.arange(n)) & 1 == 1  # [2^S, S]
    here = np.where(inside[:, None, :, None], model.C.transpose(2, 1, 0)[None], 0.0).max(axis=2)  # [2^S, A, K]
    here[(here > model.step_limit).any(axis=2)] = np.inf
    moves = np.einsum("ms,aost->maot", inside.astype(float), joint) > 0
    after = moves @ (1 << np.arange(n))  # [2^S, A, O]; 0 where nothing is observed
    scale = np.where((model.budget > 0) & np.isfinite(model.budget), model.budget, 1.0)
    policies = [np.full(masks, a) for a in range(m)]
    for weights in [*np.eye(k), 1 / scale]:
        cost = np.where(np.isinf(here).any(axis=2), 1e6, np.where(np.isinf(here), 0.0, here) @ weights)
        value = np.zeros(masks)
        for _ in range(SWEEPS):
            q = cost + gamma * value[after].max(axis=2)
            grown = q.min(axis=1)
            done = np.abs(grown - value).max() <= 1e-13 * max(1.0, grown.max())
            value = grown
            if done:
                break
        policies.append(q.argmin(axis=1))
    every = np.arange(masks)
    sure, vector = np.zeros((len(policies), masks, k)), np.zeros((len(policies), masks, n))
    for i, action in enumerate(policies):
        sure[i] = _sure_cost(here[every, action], after[every, action], model.beta)
        chain = np.zeros((masks, n, masks, n))
        for o in range(model.Z.shape[2]):
            for mask in range(1, masks):
                chain[mask, :, after[mask, action[mask], o]] += joint[action[mask], o]
        size = masks * n
        earned = np.linalg.solve(np.eye(size) - gamma * chain.reshape(size, size), model.R.T[action].ravel())
        vector[i] = earned.reshape(masks, n)
    return sure, vector


def _sure_cost(here: Array, after: Ints, beta: Array) -> Array:
    """``w = here + β max_o w``, [2^S, K], from above and zero where no cost can follow."""
    costly = here > 0
    for _ in range(len(here) + 1):
        costly = costly | costly[after].any(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        value: Array = np.where(costly, here.max() / (1 - beta), 0.0)
    for _ in range(SWEEPS):
        lower = np.where(costly, np.minimum(value, here + beta * value[after].max(axis=1)), 0.0)
        done = ((value == lower) | (lower >= (1 - 1e-15) * np.where(np.isinf(value), np.inf, value))).all()
        value = lower
        if done:
            break
    return value


def _masks(belief: Array) -> Ints:
    return np.asarray((belief > 0) @ (1 << np.arange(belief.shape[1])), dtype=np.int64)


# Brute force


class Search:
    """Nodes, best first, and bounds on the optimum at the root."""

    def __init__(self, model: Model, most: int, known: Leaves | None = None) -> None:
        self.model, self.leaves, self.most = model, known or leaves(model), most
        self.allowed, self.forbidden = model.budget * ALLOWED, model.budget * FORBIDDEN
        self.worst = min(float(model.R.min()), 0.0) * (model.horizon or 1 / (1 - model.discount))
        self.joint = np.einsum("ast,ato->aost", model.T, model.Z)
        (n, m), o, k = model.R.shape, model.Z.shape[2], len(model.C)
        room = most + 1
        self.belief, self.spent = np.zeros((room, n)), np.zeros((room, k))
        self.low, self.high = np.zeros(room), np.zeros(room)
        self.expanded = np.zeros(room, dtype=bool)
        self.child, self.chance = np.zeros((room, m, o), dtype=np.int64), np.zeros((room, m, o))
        self.after = np.zeros((room, m, k))
        self.q_high = np.zeros((room, m))
        self.used = 0
        self.layers: list[dict[bytes, int]] = []
        self._add(0, model.start[None], np.zeros((1, k)))

    @property
    def gap(self) -> float:
        """Of the root; 0 if no policy keeps the budget."""
        return float(self.high[0] - self.low[0]) if self.high[0] > -np.inf else 0.0

    def run(self, epsilon: float) -> tuple[float, float]:
        """Bounds that are closer than epsilon, or all that there is room for."""
        for _ in range(ROUNDS):
            if self.gap <= epsilon or not self._grow(self._leaves_that_matter()):
                break
            self._back_up()
        self._back_up()
        return float(self.low[0]), float(self.high[0])

    def _grow(self, chosen: dict[int, Ints]) -> bool:
        """Whether there were leaves by depth to expand, and room; what follows a few alone is expanded at once."""
        for depth, nodes in chosen.items():
            for part in np.array_split(nodes, max(1, len(nodes) // 500)):
                following, at = part, depth
                for _ in range(AT_ONCE):
                    children = self._expand(at, following)
                    if children is None:
                        return False
                    following, at = children[self.high[children] > self.low[children]], at + 1
                    if not 0 < len(following) <= len(part) or len(part) > FEW:
                        break
        return bool(chosen)

    def _leaves_that_matter(self) -> dict[int, Ints]:
        """Leaves by depth that share most in the gap at the root, through actions that may still be best."""
        gamma, reach = self.model.discount, np.zeros(self.used)
        reach[0] = 1.0
        for layer in self.layers:
            nodes = np.fromiter(layer.values(), dtype=np.int64)
            nodes = nodes[self.expanded[nodes] & (reach[nodes] > 0)]
            alive = (self.q_high[nodes] >= self.low[nodes][:, None]) & (self.q_high[nodes] > -np.inf)
            share = gamma * reach[nodes][:, None, None] * self.chance[nodes] * alive[:, :, None]
            np.maximum.at(reach, self.child[nodes][share > 0], share[share > 0])
        worst = self.worst - 1
        gap = np.where(self.high[: self.used] > -np.inf, self.high[: self.used], worst)
        gap = gap - np.maximum(self.low[: self.used], worst)
        score = np.where(self.expanded[: self.used], 0.0, reach * gap)
        count = max(20, self.used // 4)
        best = np.argsort(-score)[:count]
        best = best[score[best] > 0]
        depth = np.zeros(self.used, dtype=np.int64)
        for t, layer in enumerate(self.layers):
            depth[np.fromiter(layer.values(), dtype=np.int64)] = t
        return {int(t): best[depth[best] == t] for t in np.unique(depth[best])}

    def _expand(self, depth: int, nodes: Ints) -> Ints | None:
        """The leaves that follow these nodes of one depth; None if there is no room for them."""
        model, b = self.model, self.belief[nodes]
        cost = np.einsum("ns,ksa->nak", b, model.C)
        after = self.spent[nodes][:, None] + model.beta**depth * cost
        after = np.where(
            cost <= model.step_limit * ALLOWED, after, np.maximum(after, self.allowed * (1 + 1e-10) + 1e-300)
        )
        after = np.where(cost <= model.step_limit * FORBIDDEN, after, np.inf)
        fits = (after <= self.forbidden).all(axis=2) & np.isfinite(after).all(axis=2)
        joint = np.einsum("ns,aost->naot", b, self.joint) * fits[:, :, None, None]
        chance = joint.sum(axis=3)
        at = np.nonzero(chance)
        if self.used + len(at[0]) > self.most:
            return None
        self.after[nodes], self.chance[nodes], self.expanded[nodes] = after, chance, True
        following = self._add(depth + 1, joint[at] / chance[at][:, None], after[at[0], at[1]])
        self.child[nodes[at[0]], at[1], at[2]] = following
        return np.unique(following[~self.expanded[following]])

    def _add(self, depth: int, belief: Array, spent: Array) -> Ints:
        """The nodes of these beliefs and spendings; new ones get their bounds as leaves."""
        if depth == len(self.layers):
            self.layers.append({})
        layer = self.layers[depth]
        counted = np.isfinite(self.model.budget)
        share = spent[:, counted] / np.where(self.model.budget > 0, self.model.budget, 1.0)[counted]
        keys = np.round(np.concatenate([belief, share], axis=1) / SAME)
        keys = np.concatenate([keys, _masks(belief)[:, None]], axis=1)
        places = np.empty(len(belief), dtype=np.int64)
        for i, key in enumerate(keys):
            place = layer.setdefault(key.tobytes(), self.used)
            if place == self.used:
                self.belief[place], self.spent[place] = belief[i], spent[i]
                self.used += 1
            places[i] = place
        self._bound(depth, np.unique(places))
        return places

    def _bound(self, depth: int, nodes: Ints) -> None:
        """Bounds of leaves."""
        nodes = nodes[~self.expanded[nodes]]
        b, spent, weight, found = self.belief[nodes], self.spent[nodes], self.model.beta**depth, self.leaves
        if self.model.horizon and depth == self.model.horizon:
            self.low[nodes], self.high[nodes] = 0.0, 0.0
            self.expanded[nodes] = True
            return
        counted = np.isfinite(self.model.budget)
        left = np.maximum(self.forbidden - spent, 0.0)[:, counted] / weight[counted]
        high = np.einsum("ns,las->nla", b, found.informed).max(axis=2) + left @ found.prices[:, counted].T
        needed = spent + weight * (b @ found.least.T) * (1 - 1e-12)
        # A bound below what every policy earns says that none keeps the budget.
        possible = (needed <= self.forbidden).all(axis=1) & (high.min(axis=1) >= self.worst - 1e-6)
        self.high[nodes] = np.where(possible, high.min(axis=1), -np.inf)
        mask = _masks(b)
        with np.errstate(invalid="ignore"):  # a weight that has faded away times what is endless
            sure = spent + weight * found.sure[:, mask]  # [P, n, K]
        earned = np.einsum("ns,pns->pn", b, found.vector[:, mask])
        self.low[nodes] = np.where(((sure <= self.allowed) & np.isfinite(sure)).all(axis=2), earned, -np.inf).max(
            axis=0
        )

    def _back_up(self) -> None:
        """``max_a R + γ Σ_o p V`` of all expanded nodes, from the deepest on."""
        gamma = self.model.discount
        for depth, layer in reversed(list(enumerate(self.layers))):
            nodes = np.fromiter(layer.values(), dtype=np.int64)
            nodes = nodes[self.expanded[nodes]]
            if self.model.horizon and depth == self.model.horizon:
                continue  # it is over
            if not len(nodes):
                continue
            child, chance, here = self.child[nodes], self.chance[nodes], self.belief[nodes] @ self.model.R

            def ahead(value: Array, limit: Array, nodes: Ints, child: Ints, chance: Array, here: Array) -> Array:
                after = np.where(chance > 0, chance, 1.0) * np.where(chance > 0, value[child], 0.0)
                fits = ((self.after[nodes] <= limit) & np.isfinite(self.after[nodes])).all(axis=2)
                return np.where(fits, here + gamma * after.sum(axis=2), -np.inf)

            low = ahead(self.low, self.allowed, nodes, child, chance, here)
            self.q_high[nodes] = ahead(self.high, self.forbidden, nodes, child, chance, here)
            self.low[nodes] = np.maximum(self.low[nodes], low.max(axis=1))
            self.high[nodes] = np.minimum(self.high[nodes], self.q_high[nodes].max(axis=1))


def least_budgets(model: Model, most: int = 2000) -> tuple[Array, Array]:
    """Bounds on the least budget that suffices of each cost alone, [K] each, by layers of beliefs."""
    k = len(model.C)
    known = leaves(model)
    joint = np.einsum("ast,ato->aost", model.T, model.Z)
    layers: list[tuple[Array, Ints, NDArray[np.bool_]]] = []
    belief, total = model.start[None], 1
    while len(layers) < 200:
        reached = np.einsum("ns,aost->naot", belief, joint)
        chance = reached.sum(axis=3)
        at = np.nonzero(chance)
        after = reached[at] / chance[at][:, None]
        keys = np.concatenate([np.round(after / SAME), _masks(after)[:, None]], axis=1)
        _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        total += len(first)
        if total > most:
            break
        child = np.zeros(chance.shape, dtype=np.int64)
        child[at] = number.ravel()
        layers.append((np.einsum("ns,ksa->nak", belief, model.C), child, chance > 0))
        belief = after[first]
    low = belief @ known.least.T * (1 - 1e-12)
    high = known.sure[:, _masks(belief)].min(axis=0)
    for cost, child, possible in layers[::-1]:
        low, high = (
            (cost + model.beta * np.where(possible[..., None], value[child], 0.0).max(axis=2)).min(axis=1)
            for value in (low, high)
        )
    return low.reshape(-1, k)[0], high.reshape(-1, k)[0]
