"""Warehouse from the drawing and the prose, cell by cell."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rcpomdp import observability_classes
from rcpomdp.errors import ModelError
from rcpomdp.problems.warehouse import warehouse

OPEN, SHELF = "." * 24, "...#" * 5 + "...."
PLAN = [OPEN] * 2 + [SHELF] * 4 + [OPEN] * 4 + [SHELF] * 4 + [OPEN] * 2  # from the north
FREE = np.pad(np.array([[mark == "." for mark in line] for line in PLAN])[::-1], 1)  # [y, x] from 1, walls around
CELLS = [(x, y) for y in range(1, 17) for x in range(1, 25) if FREE[y, x]]
DOCK = (24, 1)
COMPASS = [("north", 0, 1), ("east", 1, 0), ("south", 0, -1), ("west", -1, 0)]  # clockwise


@pytest.fixture(scope="module")
def model():
    return warehouse()


def test_sizes_labels_and_start(model):
    assert (model.n_states, model.n_actions, model.n_observations, model.n_costs) == (344, 5, 25, 1)
    assert list(model.states) == [f"({x},{y})" for x, y in CELLS]
    assert list(model.actions) == ["north", "south", "east", "west", "wait"]
    assert list(model.observations) == [f"column-{x}" for x in range(1, 25)] + ["dock"]
    assert (model.discount, model.budget.tolist()) == (0.97, [10.0])
    dock = np.array([cell == DOCK for cell in CELLS])
    assert_array_equal(model.terminal, dock)
    assert_allclose(model.initial_belief, np.where(dock, 0, 1 / 343))


@pytest.mark.parametrize("slip", [0.2, 0.0, 1.0])
def test_moves_slip_and_bumps_cost_more(slip):
    model = warehouse(slip=slip, move_cost=2.0, bump_cost=5.0)
    actions = list(model.actions)
    for s, (x, y) in enumerate(CELLS):
        if (x, y) == DOCK:
            continue
        for i, (name, _, _) in enumerate(COMPASS):
            a = actions.index(name)
            expected, cost = np.zeros(344), 0.0
            for turn, p in ((0, 1 - slip), (1, slip / 2), (3, slip / 2)):
                _, dx, dy = COMPASS[(i + turn) % 4]
                free = FREE[y + dy, x + dx]
                expected[CELLS.index((x + dx, y + dy)) if free else s] += p
                cost += p * (2.0 if free else 5.0)
            assert_allclose(model.transition[a][[s]].toarray()[0], expected, atol=1e-15)
            assert model.cost[0, s, a] == pytest.approx(cost)
            assert model.reward[s, a] == pytest.approx(100 * expected[CELLS.index(DOCK)])


def test_waiting_is_free(model):
    wait = list(model.actions).index("wait")
    assert_array_equal(model.transition[wait].toarray(), np.eye(344))
    assert_array_equal(model.cost[0, :, wait], 0)
    assert_array_equal(model.reward[:, wait], 0)


def test_the_sensor_tells_the_column(model):
    x = np.array([cell[0] for cell in CELLS])
    read = np.zeros((344, 25))
    s = np.arange(344)
    np.add.at(read, (s, x - 1), 0.7)
    np.add.at(read, (s, np.maximum(x - 2, 0)), 0.15)
    np.add.at(read, (s, np.minimum(x, 23)), 0.15)
    read[CELLS.index(DOCK)] = np.eye(25)[24]
    for Z in model.observation:
        assert_allclose(Z.toarray(), read, atol=1e-15)


def test_costs_vary_within_the_class_of_lost_robots(model):
    classes = observability_classes(model)
    assert sorted(classes.sizes.tolist()) == [1, 343]
    assert {round(c, 9) for c in model.cost[0, ~model.terminal, 0]} == {1.0, 1.05, 1.4, 1.45}


@pytest.mark.parametrize("given", [{"slip": -0.1}, {"p_column": 1.1}, {"slip": float("nan")}])
def test_probabilities_are_checked(given):
    with pytest.raises(ModelError, match=r"^\w+ is .*, but a probability is at least 0 and at most 1$"):
        warehouse(**given)


@pytest.mark.parametrize("given", [{"move_cost": -1.0}, {"bump_cost": float("nan")}])
def test_costs_are_checked(given):
    with pytest.raises(ModelError, match=r"^\w+ is .*, but a cost is a number of at least 0$"):
        warehouse(**given)
