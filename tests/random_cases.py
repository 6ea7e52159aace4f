"""Small models under a budget that is next to what decides."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import budget_reference
import reference
from strategies import Dense, random_model

DISCOUNTS = (0.0, 0.3, 0.5, 0.7, 0.9, 0.95, 1 - np.exp(-14))
CHANCES = (0.04, 0.1, 0.2, 0.22, 0.22, 0.18, 0.04)


@cache
def random_case(seed: int) -> Dense:
    """A small model whose budgets are next to what decides: zero, the least that suffices, what an action costs."""
    rng = np.random.default_rng(seed)
    gamma = float(rng.choice(DISCOUNTS, p=CHANCES))
    n_costs = int(rng.choice(4, p=(0.03, 0.65, 0.26, 0.06)))
    n, m, o = int(rng.integers(2, 5)), int(rng.integers(2, 4)), int(rng.integers(1, 4))
    case = random_model(
        rng,
        n,
        m,
        o,
        n_costs,
        density=float(rng.choice([1.0, 0.6, 0.3])),
        deterministic=float(rng.choice([0.0, 0.3, 1.0])),
        blind=float(rng.choice([0.0, 0.5])),
        n_terminal=int(rng.random() < 0.3),
        n_free_actions=int(rng.random() < 0.4),
        cost_density=float(rng.choice([0.4, 0.7, 1.0])),
        discount=gamma,
        budget=np.full(n_costs, np.inf),
    )
    low, high = budget_reference.least_budget_interval(case, 800)
    most = case.C.max(axis=(1, 2), initial=0.0) / (1 - gamma)
    budget = np.empty(n_costs)
    for k in range(n_costs):
        blind = case.model.initial_belief @ reference.blind_vectors(case, case.C[k])[rng.integers(m)]
        kinds = [
            0.0,
            1e-6,
            high[k],
            low[k] * (1 - 1e-6),
            high[k] * 1.05,
            blind,
            rng.uniform() * most[k],
            low[k] + rng.uniform() * 0.3 * (most[k] - low[k]),
            high[k] + rng.choice([1.0, 0.31, 2.0]) * gamma ** rng.integers(3),  # what a step or two cost, and then M
            np.inf,
        ]
        budget[k] = max(0.0, rng.choice(kinds))
    return with_budget(case, budget)


def with_budget(case: Dense, budget: Any) -> Dense:
    return case._replace(model=case.model.with_budget(budget))
