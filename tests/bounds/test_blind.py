"""Blind plans: their vectors against dense solves, their sure costs against enumeration."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from rcpomdp.bounds.blind import blind_sure_costs, blind_vectors
from rcpomdp.solvers.belief_graph.search import BeliefGraphSearch, Objective
from strategies import Dense, cpomdps, random_belief, random_model, rngs

SETTINGS = settings(derandomize=True, deadline=None, max_examples=60)


def class_graph(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random largest costs [classes, A, K], and who follows each (class, action)."""
    n_classes, n_actions, n_costs = rng.integers(1, 7), rng.integers(1, 4), rng.integers(1, 4)
    peak = rng.exponential(size=(n_classes, n_actions, n_costs)) * (rng.random((n_classes, n_actions, n_costs)) < 0.3)
    followers = [rng.integers(0, n_classes, rng.integers(1, 4)) for _ in range(n_classes * n_actions)]
    pointer = np.concatenate([[0], np.cumsum([len(f) for f in followers])])
    return peak, pointer, np.concatenate(followers)


def one_step_more(
    peak: np.ndarray, pointer: np.ndarray, follower: np.ndarray, gamma: float, w: np.ndarray
) -> np.ndarray:
    """``w(c) = peak(c) + γ max w(c')``, action by action."""
    n_classes, n_actions, _ = peak.shape
    result = peak.copy()
    for c in range(n_classes):
        for a in range(n_actions):
            pair = c * n_actions + a
            result[c, a] += gamma * w[follower[pointer[pair] : pointer[pair + 1]], a].max(axis=0)
    return result


@SETTINGS
@given(cpomdps(), rngs())
def test_vectors_are_those_of_a_dense_solve(case: Dense, rng: np.random.Generator) -> None:
    n, n_actions = case.R.shape
    gain = np.concatenate([case.R[None], rng.normal(size=(2, n, n_actions)) * ~case.model.terminal[:, None], case.C])
    vectors = blind_vectors(case.model, gain)
    assert vectors.shape == (n_actions, len(gain), n)
    for row, g in enumerate(gain):
        expected, loose = reference.blind_vectors(case, g), reference.tolerance(case, g)
        np.testing.assert_allclose(vectors[:, row], expected, rtol=0, atol=loose)
    assert (vectors[:, :, case.model.terminal] == 0).all()


@pytest.mark.parametrize("discount", [0.5, 0.95, 1 - np.exp(-14)])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_first_vector_is_below_the_exact_total(discount: float, scale: float) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        case = random_model(rng, n_states=4, n_actions=2, discount=discount, n_terminal=seed % 2)
        gain = case.R * scale
        claimed = blind_vectors(case.model, gain[None])[:, 0]
        for a in range(2):
            exact = reference.exact_totals(case.T[a], gain[:, a], discount)
            loose = 1e-8 * float(max(map(abs, exact)))
            for s in range(4):
                assert exact[s] - Fraction(loose) <= Fraction(claimed[a, s]) <= exact[s]


@SETTINGS
@given(rngs(), st.sampled_from((0.0, 0.5, 0.95)))
def test_sure_costs_are_the_fixed_point(rng: np.random.Generator, gamma: float) -> None:
    graph = class_graph(rng)
    sure = blind_sure_costs(*graph, gamma)
    expected = np.zeros_like(sure)
    for _ in range(800 if gamma else 2):
        expected = one_step_more(*graph, gamma, expected)
    np.testing.assert_allclose(sure, expected, rtol=0, atol=1e-9)
    assert (one_step_more(*graph, gamma, sure) <= sure + 1e-12).all()  # so it is a bound, wherever it stopped


@SETTINGS
@given(rngs(), st.sampled_from((0.0, 0.95, 1 - np.exp(-14))))
def test_sure_costs_are_zero_exactly_where_no_cost_can_follow(rng: np.random.Generator, gamma: float) -> None:
    peak, pointer, follower = class_graph(rng)
    sure = blind_sure_costs(peak, pointer, follower, gamma)
    reached = peak > 0
    for _ in range(len(peak)):
        reached |= one_step_more(np.zeros_like(peak), pointer, follower, 1.0, reached.astype(float)) > 0
    assert (sure[~reached] == 0).all()
    assert (sure[peak > 0] > 0).all()
    assert (sure >= peak).all()
    assert (one_step_more(peak, pointer, follower, gamma, sure) <= sure * (1 + 1e-12)).all()


def test_sure_costs_of_no_cost_are_none() -> None:
    assert blind_sure_costs(np.empty((3, 2, 0)), np.arange(7), np.zeros(6, dtype=int), 0.9).shape == (3, 2, 0)


@pytest.mark.parametrize("gamma", [0.5, 1 - np.exp(-14)])
def test_sure_costs_hold_along_a_chain_that_sweeps_do_not_cross(gamma: float) -> None:
    """Only the last of many classes costs anything: stopping early must not lose it."""
    n = 3000
    peak = np.zeros((n, 1, 1))
    peak[-1] = 1.0
    sure = blind_sure_costs(peak, np.arange(n + 1), np.minimum(np.arange(n) + 1, n - 1), gamma)[:, 0, 0]
    true = gamma ** (n - 1.0 - np.arange(n)) / (1 - gamma)
    assert (sure >= true * (1 - 1e-9)).all()


@SETTINGS
@given(cpomdps(max_states=4, max_actions=2, max_observations=3, n_costs=2, discounts=(0.0, 0.5, 0.95)), rngs())
def test_no_history_of_a_blind_plan_exceeds_its_sure_cost(case: Dense, rng: np.random.Generator) -> None:
    graph_search = BeliefGraphSearch(case.model, Objective(1.0, np.zeros(2)))
    classes, gamma, n_actions = graph_search.classes, case.model.discount, case.model.n_actions
    for c in range(classes.n_classes):
        members = classes.order[classes.start[c] : classes.start[c + 1]]
        if not classes.reachable[c]:
            continue
        for a in range(n_actions):
            sure = graph_search.plans.sure[c * n_actions + a]
            start = np.zeros(case.model.n_states)
            start[members] = random_belief(rng, len(members))
            front = [(start, np.zeros(2))]
            for t in range(6):
                front = [
                    (after, spent + gamma**t * (b @ case.C[:, :, a].T))
                    for b, spent in front
                    for _, _, after in reference.branches(case, b, a)
                ][:200]
                assert all((spent <= sure + 1e-9).all() for _, spent in front)


def test_known_sure_costs() -> None:
    """Free where nothing is metered, and everything for ever where it is."""
    case = random_model(np.random.default_rng(0), n_states=3, n_actions=3, n_costs=1, n_free_actions=1, cost_density=1)
    graph_search = BeliefGraphSearch(case.model, Objective(1.0, np.zeros(1)))
    free = (case.C[0] == 0).all(axis=0)
    assert free.sum() == 1
    sure = graph_search.plans.sure[: graph_search.classes.n_classes * 3, 0].reshape(-1, 3)
    assert (sure[:, free] == 0).all()
    assert (sure[:, ~free] > 0).all()
    assert (sure <= case.C.max() / (1 - case.model.discount) * (1 + 1e-9)).all()
