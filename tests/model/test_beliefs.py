"""Belief kernels against plain NumPy, and the identities that hold for every model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from rcpomdp.kernels import belief as kernels
from rcpomdp.model import beliefs
from strategies import Dense, cpomdps, random_belief

SETTINGS = settings(derandomize=True, deadline=None, max_examples=80)


def drawn(case: Dense, seed: int) -> tuple[np.ndarray, int]:
    """A random belief and action."""
    rng = np.random.default_rng(seed)
    return random_belief(rng, case.model.n_states), int(rng.integers(case.model.n_actions))


def joint(case: Dense, b: np.ndarray, a: int) -> np.ndarray:
    """p(s', o | b, a), the reference: [S, O]."""
    return (b @ case.T[a])[:, None] * case.Z[a]


@SETTINGS
@given(cpomdps(), st.integers(0, 2**32 - 1))
def test_observation_probabilities_are_those_of_numpy_and_sum_to_one(case: Dense, seed: int) -> None:
    b, a = drawn(case, seed)
    p = beliefs.observation_probabilities(case.model, b, a)
    np.testing.assert_allclose(p, joint(case, b, a).sum(axis=0), atol=1e-14)
    assert p.sum() == pytest.approx(1, abs=1e-12)


@SETTINGS
@given(cpomdps(), st.integers(0, 2**32 - 1))
def test_branches_are_bayes_rule(case: Dense, seed: int) -> None:
    b, a = drawn(case, seed)
    reference = joint(case, b, a)
    found = beliefs.branches(case.model, b, a)
    assert [branch.observation for branch in found] == np.flatnonzero(reference.sum(axis=0) > 0).tolist()
    for o, p, posterior in found:
        assert p == pytest.approx(reference[:, o].sum(), abs=1e-14)
        dense = posterior.dense(case.model.n_states)
        np.testing.assert_allclose(dense, reference[:, o] / reference[:, o].sum(), atol=1e-12)
        assert (np.diff(posterior.states) > 0).all()
        assert (posterior.probabilities > 0).all()
        assert posterior.probabilities.sum() == pytest.approx(1, abs=1e-12)
        alone = beliefs.update(case.model, b, a, o)
        np.testing.assert_array_equal(alone.states, posterior.states)
        np.testing.assert_allclose(alone.probabilities, posterior.probabilities, atol=1e-15)


@SETTINGS
@given(cpomdps(), st.integers(0, 2**32 - 1))
def test_posteriors_average_to_the_prediction(case: Dense, seed: int) -> None:
    b, a = drawn(case, seed)
    mean = sum(p * posterior.dense(case.model.n_states) for _, p, posterior in beliefs.branches(case.model, b, a))
    np.testing.assert_allclose(mean, b @ case.T[a], atol=1e-14)


@SETTINGS
@given(cpomdps(), st.integers(0, 2**32 - 1))
def test_expected_reward_and_cost(case: Dense, seed: int) -> None:
    b, a = drawn(case, seed)
    assert beliefs.expected_reward(case.model, b, a) == pytest.approx(b @ case.R[:, a], abs=1e-12)
    np.testing.assert_allclose(beliefs.expected_cost(case.model, b, a), case.C[:, :, a] @ b, atol=1e-12)


@SETTINGS
@given(cpomdps(), st.integers(0, 2**32 - 1))
def test_beliefs_stay_normalised_over_a_hundred_steps(case: Dense, seed: int) -> None:
    rng = np.random.default_rng(seed)
    b = beliefs.initial(case.model)
    for _ in range(100):
        a = int(rng.integers(case.model.n_actions))
        found = beliefs.branches(case.model, b, a)
        b = found[int(rng.integers(len(found)))].belief
        assert b.probabilities.sum() == pytest.approx(1, abs=1e-12)


@SETTINGS
@given(cpomdps(), st.integers(0, 2**32 - 1))
def test_kernels_give_their_scratch_back_clean(case: Dense, seed: int) -> None:
    dense, a = drawn(case, seed)
    b, m = beliefs.from_dense(dense), case.model
    acc, touched = np.zeros(m.n_states), np.empty(m.n_states, dtype=np.int32)
    n = kernels.predict(m.arrays, *b, a, acc, touched)
    np.testing.assert_allclose(acc, dense @ case.T[a], atol=1e-14)
    np.testing.assert_array_equal(touched[:n], np.flatnonzero(acc))
    kernels.clear(acc, touched, n)
    states, probs = np.empty(m.n_states, dtype=np.int32), np.empty(m.n_states)
    for o in range(m.n_observations):
        kernels.update(m.arrays, *b, a, o, acc, touched, states, probs)
        assert not acc.any()


def test_a_probability_that_underflows_leaves_the_support() -> None:
    model = rc.CPOMDP(
        transition=[[[1 - 1e-200, 1e-200], [0, 1]]],
        observation=[[[1], [1]]],
        reward=[[0], [0]],
        initial_belief=[1, 0],
        discount=0.9,
    )
    b = beliefs.Belief(np.array([0], dtype=np.int32), np.array([1.0]))
    b = beliefs.branches(model, b, 0)[0].belief
    assert b.states.tolist() == [0, 1]
    acc, touched = np.zeros(2), np.empty(2, dtype=np.int32)
    assert kernels.predict(model.arrays, np.array([0], dtype=np.int32), np.array([1e-200]), 0, acc, touched) == 1


@pytest.mark.parametrize(
    ("states", "probabilities", "sentence"),
    [
        ([10**9], [1.0], "the states of a belief must increase from 0 at least to 1 at most"),
        ([-1], [1.0], "the states of a belief must increase from 0 at least to 1 at most"),
        ([0, 0], [0.5, 0.5], "the states of a belief must increase from 0 at least to 1 at most"),
        ([], [], "the states of a belief must increase from 0 at least to 1 at most"),
        ([0, 1], [5.0, 5.0], "the probabilities of a belief must be above 0 and sum to 1, not to 10"),
        ([0, 1], [0.5, np.nan], "the probabilities of a belief must be above 0 and sum to 1, not to nan"),
        ([0], [0.5, 0.5], "a belief is a vector of states and one of probabilities, of the same length"),
        ([0.0], [1.0], "a belief is a vector of states and one of probabilities, of the same length"),
    ],
)
def test_what_is_no_belief_is_refused(states: list[float], probabilities: list[float], sentence: str) -> None:
    numbers = np.array(states, dtype=np.int64 if all(isinstance(s, int) for s in states) else np.float64)
    belief = beliefs.Belief(numbers, np.array(probabilities, dtype=np.float64))
    with pytest.raises(rc.ModelError) as caught:
        beliefs.expected_cost(rc.problems.make("tiger"), belief, 0)
    assert str(caught.value) == sentence


def test_an_impossible_observation_is_refused_by_name() -> None:
    model = rc.problems.make("crs-4-4")
    with pytest.raises(rc.InputError, match="^observation 'good' is impossible after action 'north' in this belief$"):
        beliefs.update(model, model.initial_belief, list(model.actions).index("north"), 0)


def test_indices_out_of_range_are_refused() -> None:
    model = rc.problems.make("tiger")
    with pytest.raises(rc.InputError, match="^action 3 is not between 0 and 2$"):
        beliefs.update(model, model.initial_belief, 3, 0)
    with pytest.raises(rc.InputError, match="^observation -1 is not between 0 and 1$"):
        beliefs.update(model, model.initial_belief, 0, -1)
    with pytest.raises(rc.InputError, match="^action 9 is not between 0 and 2$"):
        beliefs.expected_cost(model, model.initial_belief, 9)


def test_a_belief_comes_in_three_forms() -> None:
    model = rc.problems.make("tiger")
    by_label = beliefs.update(model, {"tiger-left": 0.25, "tiger-right": 0.75}, 0, 0)
    by_vector = beliefs.update(model, [0.25, 0.75], 0, 0)
    by_support = beliefs.update(model, beliefs.from_dense(np.array([0.25, 0.75])), 0, 0)
    np.testing.assert_array_equal(by_label.probabilities, by_vector.probabilities)
    np.testing.assert_array_equal(by_label.probabilities, by_support.probabilities)
    with pytest.raises(rc.ModelError, match="sums to 0.5, not 1"):
        beliefs.update(model, [0.25, 0.25], 0, 0)
