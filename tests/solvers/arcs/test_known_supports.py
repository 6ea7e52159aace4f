"""States split by the supports of beliefs: the same policies, and a way out that classes do not have."""

from __future__ import annotations

import numpy as np
import pytest

import rcpomdp as rc
from random_cases import random_case
from rcpomdp.deadline import TimeUpError, within
from rcpomdp.model.classes import observability_classes
from rcpomdp.model.supports import reachable_supports
from rcpomdp.policies import ControllerPolicy
from rcpomdp.solvers.arcs import known_supports
from rcpomdp.solvers.arcs.known_supports import _places, with_known_supports


def upkeep() -> rc.CPOMDP:
    """A part wears out. To run it costs 4 once it is worn, an overhaul costs 2 and makes it as new.

    Nothing is free, and whether the part is worn is told only now and then, so that all states are of one class.
    """
    wear = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    return rc.CPOMDP(
        transition=[wear, np.tile([1.0, 0.0, 0.0], (3, 1))],
        observation=[np.array([[1.0, 0.0], [0.9, 0.1], [0.9, 0.1]]), np.tile([0.0, 1.0], (3, 1))],
        reward=np.array([[3.0, 1.0], [3.0, 1.0], [0.0, 1.0]]),
        cost=np.array([[[0.5, 2.0], [0.5, 2.0], [4.0, 2.0]]]),
        initial_belief=[1.0, 0.0, 0.0],
        discount=0.9,
        budget=16.0,
        actions=["run", "overhaul"],
    )


def test_a_way_out_by_supports_is_found_and_verified() -> None:
    """By classes the part may always be worn, and overhauls for ever cost 20. After one it may run twice at .5 each."""
    model = upkeep()
    assert observability_classes(model).n_classes == 1
    result = rc.solve(model, epsilon=0.05, time_limit=20)
    assert result.admissible
    assert result.route is not None
    assert "supports" in result.route
    assert rc.verify(model, result.policy, result.summary()).verified
    assert rc.simulate(model, result.policy, 200, 100).violation_rate.mean == 0


def test_what_suffices_is_what_the_plan_over_supports_costs() -> None:
    result = rc.solve(upkeep().with_budget(5.0), epsilon=0.05, time_limit=5)
    assert result.admissible is False
    assert result.suffices is not None
    assert 5.0 < result.suffices[0] < 16.0


@pytest.mark.parametrize("seed", range(40))
def test_policies_are_worth_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_supports, "_is_thriftier", lambda *_: True)
    model = random_case(seed).model
    split, known = with_known_supports(model)
    assert known is not None
    rng = np.random.default_rng(seed)
    n = 6
    actions = rng.integers(model.n_actions, size=n)
    successors = rng.integers(n, size=(n, model.n_observations))
    before = rc.evaluate(model, ControllerPolicy(model, actions, successors))
    after = rc.evaluate(split, ControllerPolicy(split, actions, successors))
    scale = 1 + np.abs(model.reward).max() + model.cost.max(initial=0.0)
    assert after.reward == pytest.approx(before.reward, abs=1e-6 * scale / max(1 - model.discount, 1e-9))
    graph, classes = reachable_supports(model, 2000), observability_classes(split)
    assert graph is not None
    sizes = {int(members.sum()) for members in graph.members}
    assert set(classes.sizes[classes.reachable].tolist()) <= sizes


def test_states_are_not_split_where_time_is_short() -> None:
    with pytest.raises(TimeUpError), within(over=lambda: True):
        with_known_supports(upkeep())


def test_states_are_split_into_so_many_at_most() -> None:
    graph = reachable_supports(upkeep(), 2000)
    assert graph is not None
    places = _places(graph, 1000)
    assert places is not None
    size = int(graph.members.sum(axis=1)[places.support].sum())
    assert _places(graph, size) is not None
    assert _places(graph, size - 1) is None


def test_nothing_is_split_where_nothing_is_gained() -> None:
    for name in ("tiger", "tunnels", "hallway"):
        model = rc.problems.make(name)
        assert with_known_supports(model) == (model, None)
