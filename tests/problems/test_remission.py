"""Remission from its prose."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rcpomdp as rc
from rcpomdp.errors import ModelError
from rcpomdp.problems.remission import remission

LEFT_ALONE = [[0.85, 0.15, 0, 0], [0, 0.6, 0.4, 0], [0, 0, 0.6, 0.4], [0, 0, 0, 1]]
UNDER_DRUGS = [[1, 0, 0, 0], [0.7, 0.3, 0, 0], [0, 0.35, 0.65, 0], [0, 0, 0, 1]]


@pytest.fixture(scope="module")
def model():
    return remission()


def test_sizes_labels_and_start(model):
    assert list(model.states) == ["clear", "early", "late", "dead"]
    assert list(model.actions) == ["wait", "scan", "dose"]
    assert list(model.observations) == ["nothing", "tumour", "no-tumour", "dead"]
    assert list(model.costs) == ["scans", "doses"]
    assert (model.discount, model.budget.tolist(), model.cost_discount.tolist()) == (0.9, [4, 3], [1, 1])
    assert_array_equal(model.initial_belief, [1, 0, 0, 0])
    assert_array_equal(model.terminal, [False, False, False, True])


def test_stages_rewards_and_costs(model):
    for a, expected in enumerate([LEFT_ALONE, LEFT_ALONE, UNDER_DRUGS]):
        assert_allclose(model.transition[a].toarray(), expected, atol=1e-15)
        assert_allclose(model.reward[:, a], np.array([1, 0.9, 0.4, 0]) - 0.5 * (a == 2) * np.array([1, 1, 1, 0]))
        assert_array_equal(model.cost[0, :, a], [a == 1] * 3 + [0])
        assert_array_equal(model.cost[1, :, a], [a == 2] * 3 + [0])


def test_what_is_seen(model):
    wait, scan, dose = (Z.toarray() for Z in model.observation)
    assert_array_equal(wait, dose)
    assert_array_equal(wait, np.eye(4)[[0, 0, 0, 3]])
    assert_allclose(scan, [[0, 0.1, 0.9, 0], [0, 0.9, 0.1, 0], [0, 0.9, 0.1, 0], [0, 0, 0, 1]], atol=1e-15)


def test_no_history_has_more_scans_or_doses_than_allowed():
    model = remission(budget=(2, 1))
    result = rc.solve(model, "arcs", epsilon=0.05, time_limit=60)
    check = rc.verify(model, result.policy, result.summary())
    assert check.verified
    assert_allclose(check.sure_cost, [2, 1])
    runs = rc.simulate(model, result.policy, 500, 100)
    assert [cost.most for cost in runs.undiscounted] == [2, 1]


def test_parameters_are_checked():
    with pytest.raises(ModelError, match="^p_die is -0.1, but a probability is at least 0 and at most 1$"):
        remission(p_die=-0.1)
