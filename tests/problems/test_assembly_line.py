"""Assembly line from its prose: one machine as a small matrix, the line as a Kronecker product."""

from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rcpomdp import observability_classes
from rcpomdp.errors import ModelError
from rcpomdp.problems.assembly_line import assembly_line

SPOILS = np.array([0.02, 0.06, 0.14, 0.30, 0.50])
WEAR = np.stack(np.unravel_index(np.arange(625), (5, 5, 5, 5)), axis=1)  # [s, machine]
ACTIONS = ["run", *(f"inspect-{i}" for i in range(1, 5)), *(f"service-{i}" for i in range(1, 5)), "idle"]
READING = (
    np.diag([0.7] * 5)
    + np.diag([0.15] * 4, 1)
    + np.diag([0.15] * 4, -1)
    + np.diag([0.15, 0, 0, 0, 0.15])  # no such neighbour
)


def line(*machines):
    return reduce(np.kron, machines)


@pytest.fixture(scope="module")
def model():
    return assembly_line()


def test_sizes_labels_and_start(model):
    assert (model.n_states, model.n_actions, model.n_observations, model.n_costs) == (625, 10, 8, 1)
    assert list(model.states) == ["-".join(map(str, wear)) for wear in WEAR]
    assert list(model.actions) == ACTIONS
    assert list(model.observations) == ["good", "scrap", *(f"wear-{w}" for w in range(5)), "nothing"]
    assert list(model.costs) == ["waste"]
    assert (model.discount, model.budget.tolist()) == (0.95, [6.5])
    assert_allclose(model.initial_belief, line(*[np.array([0.5, 0.3, 0.2, 0, 0])] * 4))


@pytest.mark.parametrize("rate", [0.15, 0.0, 1.0])
def test_running_wears(rate):
    one = (1 - rate) * np.eye(5) + rate * np.eye(5)[[1, 2, 3, 4, 4]]
    T = assembly_line(wear_rate=rate).transition[0].toarray()
    assert_allclose(T, line(one, one, one, one), atol=1e-15)


def test_a_service_renews_one_machine(model):
    renewed = 0.1 * np.eye(5) + 0.9 * np.eye(5)[[0] * 5]
    for i in range(4):
        expected = line(*(renewed if j == i else np.eye(5) for j in range(4)))
        assert_allclose(model.transition[5 + i].toarray(), expected, atol=1e-15)


def test_nothing_else_changes_the_wear(model):
    for a in (1, 2, 3, 4, 9):
        assert_array_equal(model.transition[a].toarray(), np.eye(625))


def test_what_is_seen(model):
    good = (1 - SPOILS)[WEAR].prod(axis=1)
    Z = [matrix.toarray() for matrix in model.observation]
    assert_allclose(Z[0], np.column_stack([good, 1 - good, np.zeros((625, 6))]), atol=1e-15)
    for i in range(4):
        assert_allclose(Z[1 + i][:, 2:7], READING[WEAR[:, i]], atol=1e-15)
    for a in range(5, 10):
        assert_array_equal(Z[a], np.tile(np.eye(8)[7], (625, 1)))


def test_rewards_and_costs():
    model = assembly_line(scrap_cost=2.0, energy_cost=0.25)
    good = model.transition[0] @ (1 - SPOILS)[WEAR].prod(axis=1)  # the wear comes first
    assert_allclose(model.reward[:, 0], 10 * good)
    assert_allclose(model.cost[0, :, 0], 2 * (1 - good) + 0.25 * WEAR.sum(axis=1))
    assert_array_equal(model.reward[:, 1:], np.tile([-1.0] * 4 + [-8.0] * 4 + [0.0], (625, 1)))
    assert_array_equal(model.cost[0, :, 1:], 0)


def test_nothing_is_ever_known(model):
    assert observability_classes(model).n_classes == 1


@pytest.mark.parametrize("given", [{"wear_rate": 1.2}, {"p_reading": -1.0}, {"p_service": float("nan")}])
def test_probabilities_are_checked(given):
    with pytest.raises(ModelError, match=r"^\w+ is .*, but a probability is at least 0 and at most 1$"):
        assembly_line(**given)


def test_costs_are_checked():
    with pytest.raises(ModelError, match="^energy_cost is inf, but a cost is a number of at least 0$"):
        assembly_line(energy_cost=float("inf"))
