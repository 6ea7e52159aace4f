import math

import numpy as np
import pytest

from rcpomdp.problems.tiger import tiger


def test_labels():
    model = tiger()
    assert model.name == "tiger"
    assert list(model.states) == ["tiger-left", "tiger-right"]
    assert list(model.actions) == ["listen", "open-left", "open-right"]
    assert list(model.observations) == ["hear-left", "hear-right"]


def test_every_entry_is_the_defined_one():
    model = tiger()
    for s, side in enumerate(["left", "right"]):
        assert model.transition[0].toarray()[s].tolist() == [float(side == "left"), float(side == "right")]
        heard = {"left": [0.85, 0.15], "right": [0.15, 0.85]}[side]
        assert model.observation[0].toarray()[s] == pytest.approx(heard, abs=1e-15)
        assert (model.reward[s, 0], model.cost[0, s, 0]) == (-1, 1)
        for a, door in ((1, "left"), (2, "right")):
            assert model.transition[a].toarray()[s].tolist() == [0.5, 0.5]
            assert model.observation[a].toarray()[s].tolist() == [0.5, 0.5]
            assert model.reward[s, a] == (-100 if door == side else 10)
            assert model.cost[0, s, a] == 0
    assert model.initial_belief.tolist() == [0.5, 0.5]
    assert model.discount == 0.75
    assert model.budget.tolist() == [3]
    assert not model.terminal.any()


def test_every_parameter_reaches_the_model():
    model = tiger(
        discount=0.95,
        accuracy=0.7,
        listen_cost=2.0,
        budget=None,
        listen_reward=-2.0,
        treasure_reward=7.0,
        tiger_reward=-50.0,
    )
    assert model.discount == 0.95
    assert model.observation[0].toarray()[0] == pytest.approx([0.7, 0.3])
    assert model.cost[0].tolist() == [[2, 0, 0], [2, 0, 0]]
    assert model.budget.tolist() == [math.inf]
    assert model.reward.tolist() == [[-2, -50, 7], [-2, 7, -50]]


@pytest.mark.parametrize(
    ("discount", "optimum"),
    # bounds of an independent SARSOP: [1.93301, 1.9339] and [19.3711, 19.3721]
    [(0.75, 1.9334), (0.95, 19.3716)],
)
def test_unconstrained_optimum(discount, optimum):
    """Beliefs are the count of left minus right heard since the last reset: a chain, solved by iteration."""
    model = tiger(discount=discount)
    listen, z = model.transition[0].toarray(), model.observation[0].toarray()
    beliefs = {0: model.initial_belief}
    for i in range(1, 31):
        for side, o in ((1, 0), (-1, 1)):
            joint = beliefs[side * (i - 1)] @ listen * z[:, o]
            beliefs[side * i] = joint / joint.sum()
    value = dict.fromkeys(beliefs, 0.0)
    for _ in range(600):  # 0.95^600 < 1e-13
        for i, b in beliefs.items():
            p_left = b @ listen @ z[:, 0]
            heard = p_left * value.get(i + 1, value[i]) + (1 - p_left) * value.get(i - 1, value[i])
            opened = (b @ model.reward)[1:] + discount * value[0]
            value[i] = max(b @ model.reward[:, 0] + discount * heard, *opened)
    assert value[0] == pytest.approx(optimum, abs=6e-4)
    assert np.all(np.isfinite(list(value.values())))
