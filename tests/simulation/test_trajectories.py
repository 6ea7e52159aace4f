"""Runs state by state: each step is one the model can take, and shares are those of the model."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.simulation.trajectories import ENDED, trajectories


@pytest.mark.parametrize("name", ["ce", "tunnels", "crs-4-4"])
def test_every_step_is_possible_and_nothing_follows_the_end(name: str) -> None:
    model = rc.problems.make(name)
    paths = trajectories(model, rc.policies.RandomPolicy(model), runs=50, steps=30, seed=4)
    assert paths.shape == (50, 31)
    for path in paths:
        walked = path[path != ENDED]
        assert (path[: len(walked)] == walked).all()
        assert model.initial_belief[walked[0]] > 0
        assert not model.terminal[walked[:-1]].any()
        assert len(walked) == 31 or model.terminal[walked[-1]]
        for s, t in pairwise(walked):
            assert any(model.transition[a][s, t] > 0 for a in range(model.n_actions))


def test_the_same_seed_gives_the_same_paths() -> None:
    model = rc.problems.make("tunnels")
    policy = rc.policies.RandomPolicy(model)
    first, again, other = (trajectories(model, policy, 20, 10, seed) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_shares_are_those_of_the_model() -> None:
    """Tunnel 1 is rocky with 0.8; 5 standard errors of 2000 runs are 0.045."""
    model = rc.problems.make("tunnels")
    paths = trajectories(model, rc.policies.blind(model, "forward"), 2000, 6)
    labels = np.array([str(model.states[s]).split()[1] for s in paths[:, 0]])
    assert abs((labels == "rocky").mean() - 0.8) < 0.045
    ends = {str(model.states[path[path != ENDED][-1]]) for path in paths}
    assert ends == {"out"}
    assert {str(model.states[s]).split()[0] for s in paths[:, 4]} == {"tunnel-2-cell-4"}
