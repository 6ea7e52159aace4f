"""One run of a policy, moment by moment.

It is the first run of ``simulate(model, policy, steps=steps, seed=seed)``, to the last bit: the same luck
(`rcpomdp.simulation.random_streams`), the same steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._types import FloatArray
from ...kernels.simulation import rollout
from ...model import CPOMDP, beliefs
from ...model.beliefs import Belief
from ...policies.base import Policy
from ...simulation import random_streams as luck
from ...simulation.simulate import checked_action


class Moment(NamedTuple):
    """What the agent knows before a step, and what it does then."""

    step: int
    state: int  # which the agent does not see
    belief: Belief
    observation: int | None  # that led here; None at the start
    action: int | None  # taken now; None after the last step
    reward: float  # earned before this step, discounted
    spent: FloatArray  # [K] before this step, W(h_t)
    price: FloatArray  # [K] what this step adds to it


def tell(model: CPOMDP, policy: Policy[Any], steps: int = 20, seed: int = 0) -> list[Moment]:
    """The moments of a run, the last of them without an action.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce")
    >>> story = tell(model, rc.policies.blind(model, "tunnel-B"))
    >>> [(m.action, m.reward, m.spent.tolist()) for m in story]
    [(1, 0.0, [0.0]), (None, 10.0, [5.0])]
    """
    world, mind = luck.generators(seed, 0)
    size = luck.block_runs(steps)
    start = float(world.random(size)[0])
    uniforms: FloatArray = world.random((steps, size, 2))[:, 0]
    memory = policy.initial(mind)
    b = beliefs.initial(model)
    s = int(b.states[rollout.draw(0, b.states.size, b.probabilities, start)])
    reward, spent, weight = 0.0, np.zeros(model.n_costs), 1.0
    observation: int | None = None
    story: list[Moment] = []
    for t in range(steps):
        if model.terminal[b.states].all():
            break
        a = checked_action(policy.action(memory), model, t)
        price = weight * beliefs.expected_cost(model, b, a)
        story.append(Moment(t, s, b, observation, a, reward, spent, price))
        reward, spent = reward + weight * float(model.reward[s, a]), spent + price
        s, observation = (int(x) for x in rollout.step(model.arrays, s, a, *uniforms[t]))
        b, memory = beliefs.posterior(model, b, a, observation), policy.update(memory, observation)
        weight *= model.discount
    story.append(Moment(len(story), s, b, observation, None, reward, spent, np.zeros(model.n_costs)))
    return story
