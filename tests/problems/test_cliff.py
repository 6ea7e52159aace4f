"""Cliff from its prose, place by place."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rcpomdp as rc
from rcpomdp.errors import ModelError
from rcpomdp.problems.cliff import cliff

PLACES = [(x, lane) for x in range(1, 7) for lane in (1, 2, 3) if (x, lane) != (6, 1)]
STATES = [(place, ground) for place in PLACES for ground in ("firm", "loose")]
HOME, FALLEN = 34, 35


def index(place, ground):
    if place[1] < 1:
        return FALLEN
    return HOME if place == (6, 1) else STATES.index((place, ground))


@pytest.fixture(scope="module")
def model():
    return cliff()


def test_sizes_labels_and_start(model):
    assert list(model.states) == [f"({x},{lane}) {ground}" for (x, lane), ground in STATES] + ["home", "fallen"]
    assert list(model.observations) == [f"({x},{lane})" for x, lane in PLACES] + ["firm", "loose", "home", "fallen"]
    assert list(model.actions) == ["east", "inland", "seaward", "probe"]
    assert list(model.costs) == ["risk"]
    assert (model.discount, model.budget.tolist(), model.cost_discount.tolist()) == (0.9, [0.05], [1.0])
    assert_array_equal(model.terminal, np.arange(36) >= 34)
    assert_allclose(model.initial_belief[:2], [0.6, 0.4])


def test_drives_and_slips(model):
    for s, ((x, lane), ground) in enumerate(STATES):
        on = min(x + 1, 6)
        east = np.zeros(36)
        for slip, p in enumerate([0.99, 0.01, 0] if ground == "firm" else [0.85, 0.1, 0.05]):
            east[index((on, lane - slip), ground)] += p
        assert_allclose(model.transition[0][[s]].toarray()[0], east, atol=1e-15)
        for a, to in ((1, (x, min(lane + 1, 3))), (2, (x, max(lane - 1, 1))), (3, (x, lane))):
            assert_array_equal(model.transition[a][[s]].toarray()[0], np.eye(36)[index(to, ground)])
        assert model.reward[s, 0] == pytest.approx(10 * east[HOME])
        assert model.cost[0, s, 0] == pytest.approx(east[FALLEN])
    assert_array_equal(model.cost[0, :, 1:], 0)
    assert_array_equal(model.cost[0, HOME:], 0)


def test_the_rover_knows_its_place_and_probes_the_ground(model):
    places = np.zeros((36, 21))
    places[np.arange(34), np.arange(34) // 2] = 1
    places[HOME, 19] = places[FALLEN, 20] = 1
    for a in range(3):
        assert_array_equal(model.observation[a].toarray(), places)
    probe = model.observation[3].toarray()
    assert_allclose(probe[:34, 17:19], [[0.9, 0.1], [0.1, 0.9]] * 17, atol=1e-15)
    assert_array_equal(probe[HOME:], places[HOME:])


def test_fewer_fall_than_the_budget_allows(model):
    result = rc.solve(model, "arcs", epsilon=0.01)
    assert result.status == "optimal"
    check = rc.verify(model, result.policy, result.summary())
    assert check.verified
    assert check.sure_cost[0] <= 0.05 + 1e-9
    falls = rc.evaluate(model, result.policy).cost[0]
    assert falls <= check.sure_cost[0] + 1e-9
    without = rc.solve(cliff(budget=None), "arcs", epsilon=0.01)
    assert without.reward > result.upper
    assert rc.evaluate(cliff(budget=None), without.policy).cost[0] > 0.2


@pytest.mark.parametrize("given", [{"p_loose": 1.2}, {"firm_slip": -1.0}, {"loose_slide": float("nan")}])
def test_probabilities_are_checked(given):
    with pytest.raises(ModelError, match=r"^\w+ is .*, but a probability is at least 0 and at most 1$"):
        cliff(**given)


def test_slips_are_no_more_than_certain():
    with pytest.raises(ModelError, match="^loose_slip and loose_slide add up to 1.25, more than 1$"):
        cliff(loose_slip=0.75, loose_slide=0.5)
