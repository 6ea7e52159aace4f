"""Drone from its prose; without the time its states are cells times where the hiker is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rcpomdp as rc
from rcpomdp.errors import ModelError
from rcpomdp.problems.drone import drone

CELLS = [(x, y) for x in range(1, 5) for y in range(1, 4)]
HIKERS = [(1, 3), (3, 3), (3, 1), (4, 3), "found"]
STATES = [(cell, hiker) for cell in CELLS for hiker in HIKERS]
WAYS = [(0, 1), (0, -1), (1, 0), (-1, 0)]  # north, south, east, west


def named(cell):
    return f"({cell[0]},{cell[1]})"


@pytest.fixture(scope="module")
def model():
    return drone().base


def test_sizes_labels_and_start(model):
    assert (model.n_states, model.n_actions, model.n_observations, model.n_costs) == (61, 6, 25, 1)
    hikers = {hiker: hiker if hiker == "found" else named(hiker) for hiker in HIKERS}
    assert list(model.states) == [f"{named(cell)} {hikers[hiker]}" for cell, hiker in STATES] + ["landed"]
    assert list(model.actions) == ["north", "south", "east", "west", "look", "land"]
    assert list(model.costs) == ["battery"]
    assert (model.discount, model.budget.tolist(), model.cost_discount.tolist()) == (0.95, [12.0], [1.0])
    assert_array_equal(model.terminal, np.arange(61) == 60)
    start = {STATES[s]: p for s, p in enumerate(model.initial_belief) if p > 0}
    assert start == {((1, 1), (1, 3)): 0.1, ((1, 1), (3, 3)): 0.2, ((1, 1), (3, 1)): 0.3, ((1, 1), (4, 3)): 0.4}


def test_flights(model):
    for a, (dx, dy) in enumerate(WAYS):
        expected = np.zeros((60, 61))
        for s, ((x, y), hiker) in enumerate(STATES):
            there = min(max(x + dx, 1), 4), min(max(y + dy, 1), 3)
            expected[s, STATES.index((there, hiker))] = 1
        assert_array_equal(model.transition[a].toarray()[:60], expected)
        assert_array_equal(model.reward[:, a], 0)
        assert_array_equal(model.cost[0, :, a], [1.0] * 60 + [0.0])


def test_looks_and_landings(model):
    look, land = model.transition[4].toarray(), model.transition[5].toarray()
    assert_array_equal(land[:, 60], 1)
    for s, (cell, hiker) in enumerate(STATES):
        here = cell == hiker
        assert look[s, s] == pytest.approx(0.2 if here else 1)
        assert look[s, STATES.index((cell, "found"))] == pytest.approx(0.8 if here else float(hiker == "found"))
        assert model.reward[s, 5] == 10 * (hiker == "found") + 5 * (cell == (1, 1))
    assert_array_equal(model.reward[:, 4], 0)
    assert_array_equal(model.cost[0, :, 4], [1.0] * 60 + [0.0])
    assert_array_equal(model.cost[0, :, 5], 0)


def test_the_drone_knows_its_cell_and_whether_the_hiker_is_found(model):
    expected = np.zeros((61, 25))
    for s, (cell, hiker) in enumerate(STATES):
        expected[s, CELLS.index(cell) + 12 * (hiker == "found")] = 1
    expected[60, 24] = 1
    for Z in model.observation:
        assert_array_equal(Z.toarray(), expected)


def test_it_is_dark_in_the_end():
    short = drone(horizon=3)
    assert short.horizon == 3
    # Who can be met after 0, 1 and 2 steps, and the end; the hiker is in one of four fields.
    assert short.n_states == 4 * (1 + 3 + 6) + 2 + 1
    assert_allclose(short.initial_belief[:4], [0.1, 0.2, 0.3, 0.4])


def test_a_discounted_battery_is_drained_beyond_what_it_holds():
    most = {}
    for model in (drone(), drone().with_cost_discount(0.95)):
        result = rc.solve(model, "arcs", epsilon=0.01)
        assert result.status == "optimal"
        assert rc.verify(model, result.policy, result.summary()).verified
        runs = rc.simulate(model, result.policy, 1000, 20)
        assert runs.violation_rate.mean == 0
        most[float(model.cost_discount[0])] = runs.undiscounted[0].most
    assert most[1.0] <= 12 < most[0.95]


def test_parameters_are_checked():
    with pytest.raises(ModelError, match="^p_see is 1.5, but a probability is at least 0 and at most 1$"):
        drone(p_see=1.5)
    with pytest.raises(ModelError, match="^look_cost is -1.0, but a cost is a number of at least 0$"):
        drone(look_cost=-1.0)
