"""Exact evaluation against dense linear algebra, enumeration and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from rcpomdp.model import beliefs
from rcpomdp.policies import AlphaPolicy, ControllerPolicy, MixturePolicy, RandomPolicy, blind, fib
from strategies import Dense, cpomdps

SETTINGS = settings(derandomize=True, deadline=None, max_examples=50)


def dense_controller_value(case: Dense, policy: ControllerPolicy) -> np.ndarray:
    """Reward and costs of a controller, by one dense solve over all (node, state) pairs."""
    model, n, nodes = case.model, case.model.n_states, policy.actions.size
    P = np.zeros((nodes * n, nodes * n))
    g = np.zeros((nodes * n, 1 + model.n_costs))
    for node in range(nodes):
        a = policy.actions[node]
        rows = slice(node * n, (node + 1) * n)
        g[rows] = np.concatenate([case.R[None, :, a], case.C[:, :, a]]).T
        for o in range(model.n_observations):
            after = policy.successors[node, o]
            P[rows, after * n : (after + 1) * n] += case.T[a] * case.Z[a][:, o]
    x = np.linalg.solve(np.eye(nodes * n) - model.discount * P, g)
    return model.initial_belief @ x[policy.start * n : (policy.start + 1) * n]


def random_controller(case: Dense, seed: int) -> ControllerPolicy:
    rng, n = np.random.default_rng(seed), 4
    successors = rng.integers(n, size=(n, case.model.n_observations))
    return ControllerPolicy(case.model, rng.integers(case.model.n_actions, size=n), successors, start=1)


@SETTINGS
@given(cpomdps(), st.integers(0, 2**32 - 1))
def test_a_controller_is_evaluated_as_by_a_dense_solve(case: Dense, seed: int) -> None:
    policy = random_controller(case, seed)
    found = rc.evaluate(case.model, policy)
    expected = dense_controller_value(case, policy)
    scale = max(1.0, float(np.abs(expected).max()))
    allowed = found.error + 1e-7 * scale if case.model.discount > 0.99 else 1e-9 * scale
    np.testing.assert_allclose([found.reward, *found.cost], expected, atol=allowed)
    assert found.error <= 1e-6 * scale


@SETTINGS
@given(cpomdps(discounts=(0.0, 0.5, 0.95)), st.integers(0, 2**32 - 1))
def test_mixtures_and_random_actions(case: Dense, seed: int) -> None:
    policy = random_controller(case, seed)
    one, two = (np.array([e.reward, *e.cost]) for e in (rc.evaluate(case.model, policy), _random(case)))
    mixed = rc.evaluate(case.model, MixturePolicy([policy, RandomPolicy(case.model)], [0.25, 0.75]))
    np.testing.assert_allclose([mixed.reward, *mixed.cost], 0.25 * one + 0.75 * two, atol=1e-8)
    mean = np.linalg.solve(np.eye(case.model.n_states) - case.model.discount * case.T.mean(axis=0), case.R.mean(axis=1))
    assert two[0] == pytest.approx(case.model.initial_belief @ mean, abs=1e-8)


def _random(case: Dense) -> rc.Evaluation:
    return rc.evaluate(case.model, RandomPolicy(case.model))


@SETTINGS
@given(cpomdps(max_states=4, max_observations=2, discounts=(0.0, 0.5)), st.integers(0, 2**32 - 1))
def test_an_alpha_policy_is_within_its_error_of_enumeration(case: Dense, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(3, case.model.n_states))
    policy = AlphaPolicy(case.model, vectors, rng.integers(case.model.n_actions, size=3))

    def expand(b: beliefs.Belief, horizon: int) -> float:
        if horizon == 0:
            return 0.0
        a = policy.at(b).action
        after = sum(p * expand(nxt, horizon - 1) for _, p, nxt in beliefs.branches(case.model, b, a))
        return beliefs.expected_reward(case.model, b, a) + case.model.discount * after

    horizon = 8
    tail = case.model.discount**horizon * float(np.abs(case.R).max()) / (1 - case.model.discount)
    found = rc.evaluate(case.model, policy, tolerance=1e-6)
    assert abs(found.reward - expand(beliefs.initial(case.model), horizon)) <= tail + found.error + 1e-9
    rough = rc.evaluate(case.model, policy, tolerance=0.5)
    assert abs(rough.reward - found.reward) <= rough.error + found.error + 1e-9


@pytest.mark.parametrize("name", ["ce", "tiger", "tunnels", "crs-4-4"])
def test_evaluation_agrees_with_simulation(name: str) -> None:
    model = rc.problems.make(name)
    for policy in (fib(model), RandomPolicy(model), blind(model, 0)):
        exact = rc.evaluate(model, policy, tolerance=1e-4)
        runs = rc.simulate(model, policy, runs=4000, steps=150, seed=9)
        for estimate, value, tail in (
            (runs.reward, exact.reward, runs.truncation[0]),
            (runs.cost[0], exact.cost[0], runs.truncation[1][0]),
        ):
            assert abs(estimate.mean - value) <= 4.5 * estimate.se + tail + exact.error + 1e-9


def test_known_values() -> None:
    model = rc.problems.make("crs-7-8")
    assert rc.evaluate(model, blind(model, "east")).reward == pytest.approx(10 * 0.95**6)
    ce = rc.problems.make("ce")
    both = rc.evaluate(ce, blind(ce, "tunnel-A"))
    assert (both.reward, both.cost[0]) == (pytest.approx(12, abs=1e-4), pytest.approx(5, abs=1e-4))


def test_what_cannot_be_evaluated_says_so() -> None:
    class Own:
        def initial(self, rng: np.random.Generator) -> int:
            return 0

        def action(self, state: int) -> int:
            return 0

        def update(self, state: int, observation: int) -> int:
            return 0

    model = rc.problems.make("tiger")
    with pytest.raises(rc.PolicyError, match="^a policy of type Own has no exact evaluation; simulate it$"):
        rc.evaluate(model, Own())
    with pytest.raises(rc.PolicyError, match="was made for a model with other actions"):
        rc.evaluate(model, blind(rc.problems.make("crs-4-4"), 7))
