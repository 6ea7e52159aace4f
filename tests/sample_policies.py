"""Policies of every kind for a model."""

from __future__ import annotations

from typing import Any

import numpy as np

import rcpomdp as rc
from rcpomdp.policies import (
    AlphaPolicy,
    ControllerPolicy,
    MixturePolicy,
    PlanSetPolicy,
    Policy,
    RandomPolicy,
    StochasticControllerPolicy,
    blind,
    fib,
    qmdp,
)


class Unbatched:
    """Any policy, stripped of its array form."""

    def __init__(self, policy: Policy[Any]) -> None:
        self.initial, self.action, self.update = policy.initial, policy.action, policy.update


def every_kind(model: rc.CPOMDP, seed: int = 0) -> dict[str, Policy[Any]]:
    rng = np.random.default_rng(seed)
    n = 5
    controller = ControllerPolicy(
        model,
        rng.integers(model.n_actions, size=n),
        rng.integers(n, size=(n, model.n_observations)),
        start=2,
    )
    alpha = AlphaPolicy(model, rng.normal(size=(n, model.n_states)), rng.integers(model.n_actions, size=n))
    kinds: dict[str, Policy[Any]] = {
        "blind": blind(model, model.actions[0]),
        "controller": controller,
        "random": RandomPolicy(model),
        "alpha": alpha,
        "qmdp": qmdp(model),
        "fib": fib(model),
    }
    kinds["plan set"] = any_plan_set(model, rng)
    kinds["stochastic controller"] = any_stochastic_controller(model, rng)
    kinds["mixture"] = MixturePolicy([alpha, RandomPolicy(model), Unbatched(controller)], [0.3, 0.3, 0.4])
    kinds["nested"] = MixturePolicy([kinds["mixture"], controller], [0.5, 0.5])
    return kinds


def any_stochastic_controller(model: rc.CPOMDP, rng: np.random.Generator, n: int = 4) -> StochasticControllerPolicy:
    """Nodes of which the last two draw nothing any more, and three lots, one of them without a choice."""
    successors = rng.integers(n + 3, size=(n, model.n_observations))
    successors[2:] = rng.integers(2, n, size=(n - 2, model.n_observations))
    weights = [0.25, 0.75, 1.0, *rng.dirichlet(np.ones(3))]
    return StochasticControllerPolicy(
        model,
        rng.integers(model.n_actions, size=n),
        successors,
        [0, 2, 3, 6],
        rng.integers(n, size=6),
        weights,
        start=int(rng.integers(n + 3)),
    )


def any_plan_set(model: rc.CPOMDP, rng: np.random.Generator, n: int = 9) -> PlanSetPolicy:
    """Nodes whose numbers mean nothing, but can be run: plans over all states or some of them, and belief nodes."""
    some = np.flatnonzero(rng.random(model.n_states) < 0.7)
    domains = [np.arange(model.n_states), *([some] if some.size else [])]
    domain = rng.integers(-1, len(domains), size=n)
    size = np.array([*map(len, domains), 1])[domain]
    return PlanSetPolicy(
        model,
        actions=rng.integers(model.n_actions, size=n),
        successors=rng.integers(n, size=(n, model.n_observations)),
        sure_cost=rng.choice([0.0, 1.0, 3.0], size=(n, model.n_costs)) * rng.random((n, model.n_costs)),
        domain=domain,
        domain_start=np.cumsum([0, *map(len, domains)]),
        domain_states=np.concatenate(domains),
        values_start=np.cumsum([0, *size]),
        values=rng.normal(size=size.sum()),
        start=int(rng.integers(n)),
    )
