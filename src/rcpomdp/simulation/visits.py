"""The nodes of a plan set that simulated runs come by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._types import BoolArray
from ..deadline import charge
from ..kernels.simulation import rollout
from ..model import CPOMDP, beliefs
from ..policies import PlanSetPolicy
from . import random_streams
from .simulate import empty_outcome

_FIRST, _BATCH = (1, 2, 4), 8  # runs after which there is a look at the clock: at first, and from then on always


def nodes_met(model: CPOMDP, policy: PlanSetPolicy, steps: int, seed: int, over: Callable[[], bool]) -> BoolArray:
    """[n] True at nodes that some run of a block acts from, or one of the first of them if time is up before."""
    u_start, u, rng = random_streams.block(seed, 0, steps)
    met = np.zeros(policy.actions.size, dtype=np.bool_)
    (batch,) = policy.batches([policy.initial(rng)] * u_start.size, model)
    assert batch.program is not None  # it is the policy's own model
    for runs in np.split(batch.runs, [*_FIRST, *range(_BATCH, u_start.size, _BATCH)]):
        outcome = empty_outcome(u_start.size, model.n_costs, 0)
        rollout.run_batch(
            model.arrays,
            model.discount,
            model.spending_limit,
            model.terminal,
            *beliefs.initial(model),
            batch.program,
            batch.memory[runs],
            runs,
            u_start,
            u,
            outcome,
            met,
        )
        charge(policy.step_work * int(outcome.length[runs].sum()))
        if over():
            break
    return policy.by_node(met)
