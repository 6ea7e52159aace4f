"""Simulated runs of a policy state by state, for figures that show where it goes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import IntArray
from ..kernels.simulation import rollout
from ..model import CPOMDP
from ..policies.base import Policy

ENDED = -1  # in place of a state after the end of a run


def trajectories(model: CPOMDP, policy: Policy[Any], runs: int, steps: int, seed: int = 0) -> IntArray:
    """The states of each run, [runs, steps + 1]: before the first step, after each, ``ENDED`` after the end.

    The terminal state that ends a run is part of it.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce")
    >>> paths = trajectories(model, rc.policies.blind(model, "tunnel-B"), runs=2, steps=2)
    >>> [[str(model.states[s]) for s in path if s != ENDED] for path in paths]
    [['start-clear', 'out'], ['start-rocky', 'out']]
    """
    world, mind = np.random.SeedSequence(seed).spawn(2)
    rng, policy_rng = np.random.default_rng(world), np.random.default_rng(mind)
    start = np.flatnonzero(model.initial_belief)
    paths = np.full((runs, steps + 1), ENDED, dtype=np.int64)
    for path in paths:
        memory = policy.initial(policy_rng)
        s = int(rng.choice(start, p=model.initial_belief[start]))
        path[0] = s
        for t in range(steps):
            if model.terminal[s]:
                break
            s, o = rollout.step(model.arrays, s, int(policy.action(memory)), *rng.random(2))
            memory = policy.update(memory, o)
            path[t + 1] = s
    return paths
