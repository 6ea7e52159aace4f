"""Delivery from its map and prose, cell by cell."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rcpomdp import observability_classes
from rcpomdp.errors import ModelError
from rcpomdp.problems.delivery import delivery

CELLS = [(x, y) for x in range(1, 6) for y in range(1, 4)]
WARD = (5, 2)
SLEEPERS = ["south", "middle", "north"]  # by row
STATES = [(cell, row) for cell in CELLS if cell != WARD for row in (1, 2, 3)]
COMPASS = [("go-north", 0, 1), ("go-east", 1, 0), ("go-south", 0, -1), ("go-west", -1, 0)]  # clockwise
DOORS = {  # cells that are open to one another
    frozenset(pair)
    for pair in [((x, y), (x + 1, y)) for x in range(1, 5) for y in range(1, 4)]
    + [((x, y), (x, y + 1)) for x in (1, 5) for y in (1, 2)]
}


@pytest.fixture(scope="module")
def model():
    return delivery()


def test_sizes_labels_and_start(model):
    assert (model.n_states, model.n_actions, model.n_observations, model.n_costs) == (43, 5, 43, 2)
    named = [f"({x},{y}) {SLEEPERS[row - 1]}" for (x, y), row in STATES]
    assert list(model.states) == list(model.observations) == [*named, "delivered"]
    assert list(model.actions) == ["go-north", "go-south", "go-east", "go-west", "listen"]
    assert list(model.costs) == ["battery", "noise"]
    assert (model.discount, model.budget.tolist()) == (0.95, [4.0, 0.75])
    assert_array_equal(model.terminal, [False] * 42 + [True])
    start = {s: p for s, p in enumerate(model.initial_belief) if p > 0}
    assert start == {STATES.index(((1, 2), row)): p for row, p in ((1, 0.25), (2, 0.5), (3, 0.25))}


@pytest.mark.parametrize("slip", [0.2, 0.0, 1.0])
def test_moves(slip):
    model = delivery(slip=slip, move_cost=2.0, bump_cost=3.0, noise_cost=7.0)
    for s, ((x, y), row) in enumerate(STATES):
        for i, (name, _, _) in enumerate(COMPASS):
            a = list(model.actions).index(name)
            expected, battery = np.zeros(43), 0.0
            for turn, p in ((0, 1 - slip), (1, slip / 2), (3, slip / 2)):
                _, dx, dy = COMPASS[(i + turn) % 4]
                there = (x + dx, y + dy)
                is_open = frozenset([(x, y), there]) in DOORS
                battery += p * (2.0 if is_open else 3.0)
                expected[42 if there == WARD and is_open else STATES.index((there if is_open else (x, y), row))] += p
            assert_allclose(model.transition[a][[s]].toarray()[0], expected, atol=1e-15)
            assert model.reward[s, a] == pytest.approx(10 * expected[42])
            assert model.cost[0, s, a] == pytest.approx(battery)
            assert model.cost[1, s, a] == (7.0 if y == row and x in {2, 3, 4} else 0.0)


def test_listening(model):
    assert_array_equal(model.transition[4].toarray(), np.eye(43))
    assert_array_equal(model.cost[:, :, 4], 0)
    assert_array_equal(model.reward[:, 4], 0)


def test_the_robot_knows_its_cell_and_hears_breathing(model):
    for a, Z in enumerate(model.observation):
        p = 0.8 if a == 4 else 0.5
        heard = np.full((3, 3), (1 - p) / 2) + (p - (1 - p) / 2) * np.eye(3)
        assert_allclose(Z.toarray()[:42, :42], np.kron(np.eye(14), heard), atol=1e-15)
        assert_array_equal(Z.toarray()[42], np.eye(43)[42])
    assert sorted(observability_classes(model).sizes.tolist()) == [1] + [3] * 14


@pytest.mark.parametrize("given", [{"slip": 1.2}, {"p_hear": -1.0}, {"p_listen": float("nan")}])
def test_probabilities_are_checked(given):
    with pytest.raises(ModelError, match=r"^\w+ is .*, but a probability is at least 0 and at most 1$"):
        delivery(**given)


def test_costs_are_checked():
    with pytest.raises(ModelError, match="^noise_cost is -1.0, but a cost is a number of at least 0$"):
        delivery(noise_cost=-1.0)
