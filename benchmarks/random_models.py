"""Random small models: model and budget are functions of a seed.

With `kinds` costs have discounts of their own, from γ to 1, steps have limits, and the process may be over after one to
six steps, then also with γ = 1. Or the budget must hold at histories shorter than k = 1, 2, 3 alone; then steps have no
limits, processes end after one to four steps if they do, and costs are discounted as the reward is if they do not.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from brute_force import Array, Model, least_budgets

DISCOUNTS = (0.5, 0.75, 0.9, 0.95, 0.99)
BUDGETS = ("zero", "least", "below", "share", "unlimited")
BUDGET_CHANCES = (0.15, 0.2, 0.1, 0.5, 0.05)
FINITE = (1, 2, 3)  # k
FINITE_CHANCE = 0.4


def draw(seed: int, kinds: bool = False) -> Model:
    """The model of a seed; with `kinds` one whose costs count in ways of their own."""
    rng = np.random.default_rng(seed)
    limit = _limit_of_histories(seed) if kinds else 0
    most = 4 if limit else 5  # fewer actions and observations where every tree of them is gone through
    n, m, o = int(rng.integers(2, 7)), int(rng.integers(2, most)), int(rng.integers(1, most))
    k = int(rng.choice([1, 2, 3], p=[0.6, 0.25, 0.15]))
    place = np.zeros(n, dtype=np.int64)  # what is seen of a state without error
    if rng.random() < 0.3 and n >= 4 and o >= 2:
        place = np.arange(n) % 2
    T, Z = np.zeros((m, n, n)), np.zeros((m, n, o))
    density, sure = float(rng.choice([1.0, 0.6, 0.3])), float(rng.choice([0.0, 0.3, 1.0], p=[0.5, 0.4, 0.1]))
    for a, s in product(range(m), range(n)):
        T[a, s] = _row(rng, n, density, sure)
        seen = np.flatnonzero(np.arange(o) % 2 == place[s]) if place.any() else np.arange(o)
        Z[a, s, seen] = _row(rng, len(seen), density, sure)
        if rng.random() < 0.2:
            Z[a, s] = Z[a, np.flatnonzero(place == place[s])[0]]
    R = rng.integers(-5, 6, (n, m)) * rng.choice([1.0, 0.37], (n, m))
    varying = rng.random() < 0.6
    nothing = float(rng.choice([0.0, 0.2, 0.5]))
    C = rng.choice([1.0, 2.0, 0.31], (k, n if varying else 2, m))
    C[rng.random(C.shape) < nothing] = 0.0
    if not varying:
        C = C[:, place]
    free = rng.random() < 0.5
    if free:
        C[:, :, rng.integers(m)] = 0.0
    if rng.random() < 0.25:
        end = int(rng.integers(n))
        T[:, end], R[end], C[:, end] = np.eye(n)[end], 0.0, 0.0
        place[end] = -1  # costs vary where it is not seen
    start = np.zeros(n)
    support = rng.permutation(n)[: rng.integers(1, n + 1)]
    start[support] = _simplex(rng, len(support))
    if rng.random() < 0.3:  # costs that are the same but for rounding
        C = C * (1 + rng.integers(-1, 2, C.shape) * 2.0**-52)
    gamma = float(rng.choice(DISCOUNTS))
    none = np.full(k, np.inf)
    model = Model(T, Z, R, C, start, gamma, none, np.full(k, gamma), none, 0, limit, "")
    if limit:
        model = _until_k(rng, model)
    elif kinds:
        model = _of_a_kind(rng, model)
    chosen = str(rng.choice(BUDGETS, p=BUDGET_CHANCES))
    kind = ", ".join([f"{chosen} budget", "varying" if varying else "class-wide", "free" if free else "no free action"])
    budget = _expected_budget(rng, model, chosen) if limit else _budget(rng, model, chosen)
    return model._replace(budget=budget, kind=kind)


def _limit_of_histories(seed: int) -> int:
    """The k of a seed; 0 is every history."""
    rng = np.random.default_rng([seed, 1])  # so that models of every history are what they are without others
    return int(rng.choice(FINITE)) if rng.random() < FINITE_CHANCE else 0


def _until_k(rng: np.random.Generator, model: Model) -> Model:
    """The model with a horizon and discounts of costs, or without."""
    horizon = int(rng.integers(1, 5)) if rng.random() < 0.6 else 0
    if not horizon:
        return model
    gamma = 1.0 if rng.random() < 0.4 else model.discount
    return model._replace(discount=gamma, beta=_cost_discounts(rng, gamma, len(model.C)), horizon=horizon)


def _of_a_kind(rng: np.random.Generator, model: Model) -> Model:
    """The model with a horizon, discounts of costs, limits of steps, or several of these."""
    gamma, k = model.discount, len(model.C)
    horizon = int(rng.integers(1, 7)) if rng.random() < 0.5 else 0
    if horizon and rng.random() < 0.4:
        gamma = 1.0
    beta = _cost_discounts(rng, gamma, k)
    limit = np.full(k, np.inf)
    if rng.random() < 0.3:
        limited = rng.random(k) < 0.7
        limit = np.where(limited, rng.choice([0.0, 0.31, 1.0, 1.3, 2.0, float(rng.uniform(0, 2))], k), np.inf)
    return model._replace(discount=gamma, beta=beta, step_limit=limit, horizon=horizon)


def _cost_discounts(rng: np.random.Generator, gamma: float, k: int) -> Array:
    """The reward's, one between, or 1, for each cost."""
    return np.array([float(rng.choice([gamma, rng.uniform(gamma, 1), 1.0])) for _ in range(k)])


def _row(rng: np.random.Generator, width: int, density: float, sure: float) -> Array:
    row = np.zeros(width)
    positive = np.flatnonzero(rng.random(width) < density)
    if rng.random() < sure or not positive.size:
        positive = rng.integers(0, width, 1)
    row[positive] = _simplex(rng, positive.size)
    return row


def _simplex(rng: np.random.Generator, size: int) -> Array:
    weights = np.ones(size) if rng.random() < 0.2 else rng.exponential(size=size) + 1e-2
    simplex: Array = weights / weights.sum()
    return simplex


def _budget(rng: np.random.Generator, model: Model, chosen: str) -> Array:
    """A budget for each cost; "least" is what some policy surely keeps and, where bounds meet, nothing less."""
    k = len(model.C)
    if chosen == "zero":
        return np.where((np.arange(k) == 0) | (rng.random(k) < 0.5), 0.0, rng.uniform(0, 5, k))
    if chosen == "unlimited":
        return np.full(k, np.inf)
    most = model.C.max(axis=(1, 2)) * min(1 / (1 - model.discount) if model.discount < 1 else 10, 10)
    most = np.where(model.beta > model.discount, 3 * most, most)  # beyond what rewards' discount would let be spent
    if model.horizon or not np.isfinite(model.step_limit).all() or (model.beta == 1).any():
        budget: Array = most * rng.uniform(0, 1, k) * (0.5 if chosen == "below" else 1.0)
        return np.where(rng.random(k) < 0.5, np.ceil(budget), budget)
    low, high = least_budgets(model)
    if chosen == "least":
        # Budgets of costs that are kept apart need not be kept together.
        return np.append(high[:1], high[1:] * rng.choice([1.0, 1.5, 4.0], k - 1))
    if chosen == "below":
        return np.where(np.arange(k) == 0, low * (1 - 1e-6), high * 2 + 1)
    budget = high + rng.uniform(0, 1, k) * np.maximum(most - high, 0.1)
    return budget


def _expected_budget(rng: np.random.Generator, model: Model, chosen: str) -> Array:
    """A budget for each cost, from what is expected at least if the state is known to the most of one action."""
    k, m = len(model.C), model.R.shape[1]
    if chosen in ("zero", "unlimited"):
        return _budget(rng, model, chosen)
    least, one, beta = np.zeros((k, model.R.shape[0])), np.zeros((m, k, model.R.shape[0])), model.beta[:, None]
    for _ in range(model.horizon or 2000):
        least = (model.C + beta[..., None] * np.einsum("ast,kt->ksa", model.T, least)).min(axis=2)
        one = model.C.transpose(2, 0, 1) + beta * np.einsum("ast,akt->aks", model.T, one)
    low, high = least @ model.start, (one @ model.start).max(axis=0)
    if chosen == "below":
        return np.where(np.arange(k) == 0, low * (1 - 1e-6), high + 1)
    share = rng.uniform(0, 0.3 if chosen == "least" else 1.0, k)
    budget: Array = low + share * (high - low)
    return np.where(rng.random(k) < 0.3, np.ceil(budget), budget)
