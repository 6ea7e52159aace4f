"""Controllers that draw lots: what they draw, what they are worth, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from rcpomdp.policies import MixturePolicy, StochasticControllerPolicy, blind
from sample_policies import any_stochastic_controller
from strategies import Dense, cpomdps

SETTINGS = settings(derandomize=True, deadline=None, max_examples=40)
TIGER = rc.problems.make("tiger")


def dense_totals(case: Dense, policy: StochasticControllerPolicy) -> np.ndarray:
    """Reward and costs by one dense solve over all (node, state) pairs, lots spread over their nodes."""
    model, n, nodes = case.model, case.model.n_states, policy.actions.size
    lots = np.zeros((nodes + policy.n_lots, nodes))
    lots[:nodes] = np.eye(nodes)
    for i in range(policy.n_lots):
        for j in range(policy.lot_start[i], policy.lot_start[i + 1]):
            lots[nodes + i, policy.lot_node[j]] += policy.lot_weight[j]
    P = np.zeros((nodes, n, nodes, n))
    g = np.zeros((nodes, n, 1 + model.n_costs))
    for node, a in enumerate(policy.actions):
        g[node] = np.concatenate([case.R[None, :, a], case.C[:, :, a]]).T
        for o in range(model.n_observations):
            step = case.T[a] * case.Z[a][:, o]
            P[node] += np.einsum("st,m->smt", step, lots[policy.successors[node, o]])
    P = P.reshape(nodes * n, nodes * n)
    x = np.linalg.solve(np.eye(nodes * n) - model.discount * P, g.reshape(nodes * n, -1)).reshape(nodes, n, -1)
    return np.einsum("m,s,msk->k", lots[policy.start], model.initial_belief, x)


@SETTINGS
@given(cpomdps(max_states=4, discounts=(0.0, 0.5, 0.95)), st.integers(0, 2**32 - 1))
def test_it_is_evaluated_and_verified_as_by_a_dense_solve(case: Dense, seed: int) -> None:
    policy = any_stochastic_controller(case.model, np.random.default_rng(seed))
    expected = dense_totals(case, policy)
    found = rc.evaluate(case.model, policy)
    np.testing.assert_allclose([found.reward, *found.cost], expected, atol=1e-8)
    again = rc.verify(case.model, policy)
    np.testing.assert_allclose([again.reward, *again.cost], expected, atol=1e-8)
    assert (again.cost <= again.sure_cost + 1e-8).all()
    assert rc.verify(case.model, policy, k=1).verified == bool((expected[1:] <= case.model.spending_limit).all())


@SETTINGS
@given(cpomdps(max_states=3, max_observations=2, discounts=(0.5, 0.9)), st.integers(0, 2**32 - 1))
def test_a_horizon_is_checked_history_by_history(case: Dense, seed: int) -> None:
    """By the joint probabilities of node and state after each history of actions and observations."""
    model = case.model
    policy = any_stochastic_controller(model, np.random.default_rng(seed))
    k, nodes, gamma = 3, policy.actions.size, model.discount

    def spread(weights: np.ndarray) -> np.ndarray:  # [n + L] -> [n]
        total = weights[:nodes].copy()
        for i in range(policy.n_lots):
            part = slice(policy.lot_start[i], policy.lot_start[i + 1])
            np.add.at(total, policy.lot_node[part], weights[nodes + i] * policy.lot_weight[part])
        return total

    cost_of = []  # expected cost from each node and state
    for node in range(nodes):
        parts = []
        for s in range(model.n_states):
            start = model.with_initial_belief(np.eye(model.n_states)[s])
            one = StochasticControllerPolicy(
                start, policy.actions, policy.successors, policy.lot_start, policy.lot_node, policy.lot_weight, node
            )
            parts.append(rc.evaluate(start, one).cost)
        cost_of.append(parts)
    V = np.array(cost_of)  # [n, S, K]
    worst = np.full(model.n_costs, -np.inf)

    def walk(joint: np.ndarray, b: np.ndarray, spent: np.ndarray, t: int) -> None:
        """`joint` are the probabilities [n] of the nodes, given the history."""
        nonlocal worst
        worst = np.maximum(worst, spent + gamma**t * np.einsum("n,s,nsk->k", joint, b, V))
        if t + 1 == k:
            return
        for a in range(model.n_actions):
            taken = np.where(policy.actions == a, joint, 0.0)
            if taken.sum() <= 0:
                continue
            taken /= taken.sum()
            now = spent + gamma**t * (case.C[:, :, a] @ b)
            for o in range(model.n_observations):
                after = (b @ case.T[a]) * case.Z[a][:, o]
                if after.sum() <= 0:
                    continue
                weights = np.zeros(nodes + policy.n_lots)
                np.add.at(weights, policy.successors[:, o], taken)
                walk(spread(weights), after / after.sum(), now, t + 1)

    first = np.zeros(nodes + policy.n_lots)
    first[policy.start] = 1.0
    walk(spread(first), model.initial_belief, np.zeros(model.n_costs), 0)
    for factor in (1 - 1e-6, 1 + 1e-6):
        other = model.with_budget(worst * factor)
        assert rc.verify(other, policy, k=k).verified == (factor > 1 or not worst.any())


def test_a_mixture_keeps_its_average_at_the_start() -> None:
    """One of its policies spends more than the budget, which only k = 1 forgives."""
    model = TIGER.with_budget(3)
    both = MixturePolicy([blind(model, "listen"), blind(model, "open-left")], [0.7, 0.3])
    assert rc.verify(model, both, k=1).verified  # 0.7 · 4
    found = rc.verify(model, both, k=2)
    assert found.problem == "after listen:hear-left the policy expects to spend 4 > 3 in all"
    assert not rc.verify(model, both).verified
    nested = MixturePolicy([both, blind(model, "open-left")], [0.5, 0.5])
    assert rc.verify(model.with_budget(1.4), nested, k=1).verified
    assert not rc.verify(model.with_budget(1.39), nested, k=1).verified


def lot(weights: Any = (0.25, 0.75), nodes: Any = (0, 1), start: int = 2) -> StochasticControllerPolicy:
    return StochasticControllerPolicy(TIGER, [0, 1], [[0, 0], [1, 1]], [0, len(nodes)], nodes, weights, start)


def test_lots_fall_by_their_weights_and_repeat() -> None:
    policy = lot()
    first = [policy.initial(np.random.default_rng(seed)).node for seed in range(400)]
    assert 0.65 < np.mean(first) < 0.85
    assert first == [policy.initial(np.random.default_rng(seed)).node for seed in range(400)]
    assert policy.initial(np.random.default_rng(0)).key == 0  # nothing is drawn any more
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    lot(start=0).initial(rng)
    assert rng.bit_generator.state == before
    assert {lot((0.0, 1.0)).initial(np.random.default_rng(seed)).node for seed in range(50)} == {1}
    assert repr(policy) == "StochasticControllerPolicy(2 nodes, 1 lots)"
    assert "lots" in policy._repr_html_()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"weights": (0.5, 0.6)}, "the weights of lot 0 sum to 1.1, not 1"),
        ({"weights": (1.5, -0.5)}, "choice 1 has weight -0.5, which is no probability"),
        ({"weights": (1.0,)}, "2 choices need as many weights, not 1"),
        ({"nodes": (0, 2)}, "choice 1 is node 2, which does not exist"),
        ({"start": 3}, "the controller starts at 3, which is neither a node nor a lot"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(rc.PolicyError) as error:
        lot(**change)
    assert str(error.value) == sentence


def test_successors_and_lots_that_do_not_exist_are_refused() -> None:
    with pytest.raises(rc.PolicyError, match="^node 1 goes to 3 after observation 'hear-right', which is neither"):
        StochasticControllerPolicy(TIGER, [0, 1], [[0, 2], [1, 3]], [0, 1], [0], [1.0])
    with pytest.raises(rc.PolicyError, match="^each lot must have at least one choice"):
        StochasticControllerPolicy(TIGER, [0], [[0, 1]], [0, 0, 1], [0], [1.0])
    with pytest.raises(rc.PolicyError, match="^node 0 takes action 7"):
        StochasticControllerPolicy(TIGER, [7], [[0, 1]], [0, 1], [0], [1.0])
    for call in (rc.evaluate, rc.verify):
        with pytest.raises(rc.PolicyError, match="other actions or observations"):
            call(rc.problems.make("tunnels"), lot())
