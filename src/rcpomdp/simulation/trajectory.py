"""One run of a policy, step by step: what the policy protocol asks for, and what the simulator counts.

`trajectory` gives run i of ``simulate(model, policy, ...)`` with the same steps and seed, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._types import FloatArray
from ..deadline import hurry
from ..kernels.simulation import rollout
from ..model import CPOMDP, beliefs
from ..model.beliefs import Belief
from ..policies.base import Policy, checked_action
from . import random_streams


class Step(NamedTuple):
    """A step of a run: what the agent knows before it, and what it does then."""

    time: int  # t
    state: int  # which the agent does not see
    belief: Belief
    observation: int | None  # that led here; None at the start
    action: int | None  # taken now; None after the last step
    weight: float  # γ^t
    cost_weight: FloatArray  # [K] β^t
    reward: float  # earned before this step, discounted
    spent: FloatArray  # [K] before this step, W(h_t)
    cost: FloatArray  # [K] what this step adds to it, β^t C(b_t, a_t)
    paid: FloatArray  # [K] the cost of this step alone, C(b_t, a_t)


def trajectory(model: CPOMDP, policy: Policy[Any], steps: int = 20, seed: int = 0, run: int = 0) -> list[Step]:
    """The steps of a run, the last of them without an action.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce")
    >>> run = trajectory(model, rc.policies.blind(model, "tunnel-B"))
    >>> [(step.action, step.reward, step.spent.tolist()) for step in run]
    [(1, 0.0, [0.0]), (None, 10.0, [5.0])]
    """
    block, place = divmod(run, random_streams.block_runs(steps))
    u_start, u, policy_rng = random_streams.block(seed, block, steps)
    memories = [policy.initial(policy_rng) for _ in range(place + 1)]  # those of the runs before are drawn first
    return list(follow(model, policy, memories[-1], float(u_start[place]), u[:, place]))


def follow(model: CPOMDP, policy: Policy[Any], memory: Any, u_start: float, u: FloatArray) -> Iterator[Step]:
    """The steps of one run with uniforms ``u [steps, 2]``, as the compiled `run_batch` takes them.

    The run goes on until the *belief* is sure that the process has ended, or there is a hurry (`deadline`).
    """
    m, n = model.arrays, model.n_states
    states, probs = np.empty(n, dtype=np.int32), np.empty(n)
    acc, touched = np.zeros(n), np.empty(n, dtype=np.int32)
    b = beliefs.initial(model)
    s = int(b.states[rollout.draw(0, b.states.size, b.probabilities, u_start)])
    weight, reward, spent, observation = 1.0, 0.0, np.zeros(model.n_costs), None
    cost_weight = np.ones(model.n_costs)
    for t, (u_state, u_observation) in enumerate(u.tolist()):
        if model.terminal[b.states].all() or (t and hurry()):
            break
        a = checked_action(policy.action(memory), model, f"at step {t}")
        paid = np.empty(model.n_costs)
        s_next, o, size = rollout.single_step(m, s, a, u_state, u_observation, *b, acc, touched, states, probs, paid)
        cost = cost_weight * paid
        yield Step(t, s, b, observation, a, weight, cost_weight, reward, spent, cost, paid)
        reward, spent, weight = reward + weight * float(model.reward[s, a]), spent + cost, weight * model.discount
        cost_weight = cost_weight * model.cost_discount
        s, observation, b = s_next, o, Belief(states[:size].copy(), probs[:size].copy())
        memory = policy.update(memory, o)
    else:
        t = len(u)
    yield Step(t, s, b, observation, None, weight, cost_weight, reward, spent, *np.zeros((2, model.n_costs)))
