import math

import numpy as np
import pytest

from rcpomdp.errors import ModelError
from rcpomdp.problems.ce import ce

STATES = ["start-rocky", "start-clear", "entrance-rocky", "entrance-clear", "out"]

# (state, action): successor, reward, cost, written down from the definition one by one
STEPS = {
    ("start-rocky", "tunnel-A"): ("entrance-rocky", 0, 0),
    ("start-clear", "tunnel-A"): ("entrance-clear", 0, 0),
    ("start-rocky", "tunnel-B"): ("out", 10, 5),
    ("start-clear", "tunnel-B"): ("out", 10, 5),
    ("entrance-rocky", "tunnel-A"): ("out", 12, 10),
    ("entrance-clear", "tunnel-A"): ("out", 12, 0),
    ("entrance-rocky", "tunnel-B"): ("out", 0, 5),
    ("entrance-clear", "tunnel-B"): ("out", 0, 5),
    ("out", "tunnel-A"): ("out", 0, 0),
    ("out", "tunnel-B"): ("out", 0, 0),
}


def test_every_step_is_the_defined_one():
    model = ce()
    assert list(model.states) == STATES
    assert len(STEPS) == model.n_states * model.n_actions == 10
    for (state, action), (successor, reward, cost) in STEPS.items():
        s, a = model.states.index(state), model.actions.index(action)
        expected = [float(label == successor) for label in STATES]
        assert model.transition[a].toarray()[s].tolist() == expected
        assert model.reward[s, a] == reward
        assert model.cost[0, s, a] == cost


@pytest.mark.parametrize("accuracy", [0.8, 0.85, 1.0])
def test_the_entrance_shows_the_terrain(accuracy):
    model = ce(accuracy=accuracy)
    assert list(model.observations) == ["looks-rocky", "looks-clear"]
    for a in range(2):
        seen = model.observation[a].toarray()
        assert seen[2] == pytest.approx([accuracy, 1 - accuracy], abs=1e-15)
        assert seen[3] == pytest.approx([1 - accuracy, accuracy], abs=1e-15)
        # The other states are never arrived at, or are the end.
        assert seen.sum(axis=1) == pytest.approx(np.ones(5))


def test_start_discount_and_budget():
    model = ce()
    assert model.name == "ce"
    assert model.initial_belief.tolist() == [0.5, 0.5, 0, 0, 0]
    assert model.discount == 1 - math.exp(-14)
    assert model.budget.tolist() == [5]
    assert ce(budget=None).budget.tolist() == [math.inf]
    assert model.terminal.tolist() == [False, False, False, False, True]


def test_expected_costs_at_the_entrance_are_those_of_the_figure():
    model = ce()
    ahead = model.initial_belief @ model.transition[0].toarray()
    for o, expected_cost in ((0, 8), (1, 2)):
        joint = ahead * model.observation[0].toarray()[:, o]
        assert joint.sum() == pytest.approx(0.5)
        belief = joint / joint.sum()
        assert belief @ model.cost[0, :, 0] == pytest.approx(expected_cost)
        assert belief @ model.cost[0, :, 1] == pytest.approx(5)
        assert belief @ model.reward[:, 0] == pytest.approx(12)


def test_an_impossible_accuracy_is_refused():
    with pytest.raises(ModelError, match="looks-rocky"):
        ce(accuracy=1.2)
