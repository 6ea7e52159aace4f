"""Exact evaluation against dense linear algebra, enumeration and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from budget_kinds import of_a_kind, uses
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
    with pytest.raises(
        rc.PolicyError, match="^a policy of type Own has no exact evaluation; simulate it, or make a controller"
    ):
        rc.evaluate(model, Own())
    with pytest.raises(rc.PolicyError, match="was made for a model with other actions"):
        rc.evaluate(model, blind(rc.problems.make("crs-4-4"), 7))


# Costs with discounts of their own


@SETTINGS
@given(cpomdps(max_states=4, n_costs=2, discounts=(0.5, 0.9)), st.integers(0, 2**32 - 1))
def test_each_cost_is_discounted_by_its_own(case: Dense, seed: int) -> None:
    """Against the same model discounted by β throughout."""
    policy = random_controller(case, seed)
    found = rc.evaluate(of_a_kind(case, cost_discount=[0.9, 0.95]), policy)
    for k, beta in enumerate((0.9, 0.95)):
        other = rc.evaluate(of_a_kind(case, discount=beta), policy)
        assert found.cost[k] == pytest.approx(other.cost[k], abs=1e-8)
    assert found.reward == pytest.approx(rc.evaluate(case.model, policy).reward, abs=1e-8)


@SETTINGS
@given(cpomdps(max_states=4, n_costs=1, discounts=(0.5,)), st.integers(0, 2**32 - 1))
def test_without_a_discount_costs_are_those_of_many_steps(case: Dense, seed: int) -> None:
    """Σ_t C of 4096 steps, by squaring: infinite if half of that is spent in the second half."""
    policy = random_controller(case, seed)
    n, nodes = case.model.n_states, policy.actions.size
    P, c = np.zeros((nodes * n, nodes * n)), np.zeros(nodes * n)
    for node, a in enumerate(policy.actions):
        c[node * n : (node + 1) * n] = case.C[0, :, a]
        for o in range(case.model.n_observations):
            after = policy.successors[node, o]
            P[node * n : (node + 1) * n, after * n : (after + 1) * n] += case.T[a] * case.Z[a][:, o]
    start = slice(policy.start * n, (policy.start + 1) * n)
    for _ in range(12):
        before = case.model.initial_belief @ c[start]
        c, P = c + P @ c, P @ P
    total = case.model.initial_belief @ c[start]
    model = of_a_kind(case, cost_discount=1.0, budget=None)
    for found in (rc.evaluate(model, policy), rc.verify(model, policy)):
        if total > 1.9 * before and total > 1e-3:
            assert found.cost[0] == np.inf
        elif total - before < 1e-9:
            assert found.cost[0] == pytest.approx(total, abs=1e-7)


def test_costs_that_add_up_for_ever_and_those_that_do_not() -> None:
    model = uses(cost_discount=1.0)
    rest, use = blind(model, "rest"), blind(model, "use")
    assert rc.evaluate(model, rest).cost.tolist() == [0]
    assert rc.evaluate(model, use).cost.tolist() == [np.inf]
    assert rc.evaluate(model, RandomPolicy(model)).cost.tolist() == [np.inf]
    assert rc.evaluate(model, MixturePolicy([rest, use], [1.0, 0.0])).cost.tolist() == [0]
    assert rc.evaluate(model, MixturePolicy([rest, use], [0.5, 0.5])).cost.tolist() == [np.inf]
    twice = ControllerPolicy(model, [0, 0, 1], [[1], [2], [2]])
    assert rc.evaluate(model, twice).cost == pytest.approx([2])
    short = uses(discount=1.0, horizon=7)
    assert (rc.evaluate(short, blind(short, "use")).reward, rc.evaluate(short, use).cost[0]) == (
        pytest.approx(7),
        pytest.approx(7),
    )
    for policy in (AlphaPolicy(short, np.ones((1, short.n_states)), [0]), RandomPolicy(short)):
        expected = 7 if isinstance(policy, AlphaPolicy) else 3.5
        found = rc.evaluate(short, policy)
        assert (found.reward, found.cost[0]) == (pytest.approx(expected), pytest.approx(expected))


def test_evaluation_without_a_discount_agrees_with_simulation() -> None:
    model = rc.problems.make("tunnels")
    given_parts = {"transition": model.transition, "observation": model.observation, "reward": model.reward}
    model = rc.CPOMDP(
        **given_parts, cost=model.cost, initial_belief=model.initial_belief, discount=model.discount, cost_discount=1.0
    )
    exact = rc.evaluate(model, RandomPolicy(model))
    runs = rc.simulate(model, RandomPolicy(model), runs=2000, steps=4000, seed=3)
    assert runs.outcome.ended.all()
    assert abs(runs.cost[0].mean - exact.cost[0]) <= 4.5 * runs.cost[0].se
    np.testing.assert_allclose(runs.outcome.cost, runs.outcome.undiscounted)
