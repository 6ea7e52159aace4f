"""Patrol from its prose: the two walks as matrices, then pair by pair."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rcpomdp import observability_classes
from rcpomdp.errors import ModelError
from rcpomdp.problems.patrol import patrol

POSTS = [(x, y) for x in range(1, 7) for y in range(1, 5)]
PLACE = np.array(POSTS)
DISTANCE = np.abs(PLACE[:, None] - PLACE[None]).sum(axis=2)  # [post, post] in steps
NAMES = [f"({x},{y})" for x, y in POSTS]
EAST, NORTH = np.array([1, 0]), np.array([0, 1])


def step(vector):
    """[post, post'] of a step that stays where it would leave the grid."""
    there = PLACE + vector
    inside = ((there >= 1) & (there <= [6, 4])).all(axis=1)
    return np.eye(24)[[POSTS.index(tuple(t)) if ok else i for i, (t, ok) in enumerate(zip(there, inside, strict=True))]]


def walk(restless):
    near = DISTANCE == 1
    return (1 - restless) * np.eye(24) + restless * near / near.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def model():
    return patrol()


def test_sizes_labels_and_start(model):
    assert (model.n_states, model.n_actions, model.n_observations, model.n_costs) == (576, 6, 48, 1)
    assert list(model.states) == [f"{drone} {intruder}" for drone in NAMES for intruder in NAMES]
    assert list(model.actions) == ["north", "south", "east", "west", "photo", "hide"]
    assert list(model.observations) == [f"{drone} {heard}" for drone in NAMES for heard in ("alarm", "quiet")]
    assert list(model.costs) == ["exposure"]
    assert (model.discount, model.budget.tolist()) == (0.95, [2.5])
    assert not model.terminal.any()
    assert_allclose(model.initial_belief.reshape(24, 24), np.outer(np.eye(24)[0], np.full(24, 1 / 24)))


@pytest.mark.parametrize(("wind", "restless"), [(0.2, 0.3), (0.0, 1.0), (1.0, 0.0)])
def test_drone_and_intruder_move_independently(wind, restless):
    model = patrol(wind=wind, restless=restless)
    along = [NORTH, -NORTH, EAST, -EAST]
    across = [EAST, EAST, NORTH, NORTH]
    for a, (ahead, side) in enumerate(zip(along, across, strict=True)):
        flight = (1 - wind) * step(ahead) + wind / 2 * (step(side) + step(-side))
        assert_allclose(model.transition[a].toarray(), np.kron(flight, walk(restless)), atol=1e-15)
    assert_allclose(model.transition[5].toarray(), np.kron(np.eye(24), walk(restless)), atol=1e-15)


def test_a_photo_brings_the_next_intruder(model):
    T = model.transition[4].toarray().reshape(24, 24, 24, 24)
    for drone in range(24):
        for intruder in range(24):
            goes = np.full(24, 1 / 24) if drone == intruder else walk(0.3)[intruder]
            assert_allclose(T[drone, intruder], np.outer(np.eye(24)[drone], goes), atol=1e-15)
    assert_array_equal(model.reward[:, 4].reshape(24, 24), np.where(np.eye(24), 10.0, -1.0))
    assert_array_equal(model.reward[:, [0, 1, 2, 3, 5]], 0)


def test_the_alarm(model):
    alarm = np.select([DISTANCE == 0, DISTANCE == 1], [0.9, 0.5], 0.05)
    for a, Z in enumerate(model.observation):
        heard = alarm if a < 5 else np.zeros((24, 24))
        seen = Z.toarray().reshape(24, 24, 24, 2)
        for drone in range(24):
            assert_allclose(seen[drone, :, drone, 0], heard[drone], atol=1e-15)
            assert_allclose(seen[drone, :, drone, 1], 1 - heard[drone], atol=1e-15)


def test_exposure(model):
    exposed = (DISTANCE <= 1).astype(float).ravel()
    for a in range(5):
        assert_array_equal(model.cost[0, :, a], exposed)
    assert_array_equal(model.cost[0, :, 5], 0)


def test_the_drone_knows_its_post_alone(model):
    assert observability_classes(model).sizes.tolist() == [24] * 24


@pytest.mark.parametrize("given", [{"wind": 1.2}, {"restless": -1.0}, {"p_near": float("nan")}])
def test_probabilities_are_checked(given):
    with pytest.raises(ModelError, match=r"^\w+ is .*, but a probability is at least 0 and at most 1$"):
        patrol(**given)


def test_costs_are_checked():
    with pytest.raises(ModelError, match="^exposure_cost is -1.0, but a cost is a number of at least 0$"):
        patrol(exposure_cost=-1.0)
