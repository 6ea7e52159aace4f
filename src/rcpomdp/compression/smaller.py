"""Compression of a policy: the steps, and what came of them."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from .._json_values import finite
from .._types import FloatArray
from ..errors import InputError, PolicyError
from ..model import CPOMDP
from ..policies import ControllerPolicy, PlanSetPolicy, Policy
from ..policies.equal_nodes import merge_equal, reached
from ..verification import Verification, verify
from .measure import Measure, Moves
from .plans import with_used_plans
from .stand_ins import Goal, thin_out

_MOST_VALUES = 40_000_000  # numbers of an array over edges and nodes, or edges and states
_MOST_WALKED = 60  # nodes beyond which histories are not walked for every node that might go
_ROUNDING = 1e-12  # of the reward: no loss


class Step(NamedTuple):
    """What a step of compression left."""

    name: str
    nodes: int
    reward: float


class Compression(NamedTuple):
    """A smaller policy, verified, and what it lost."""

    policy: ControllerPolicy | PlanSetPolicy
    before: Verification  # of the given policy
    after: Verification  # of this one
    nodes: int  # of the given policy, or plans
    steps: tuple[Step, ...]
    seconds: float

    @property
    def loss(self) -> float:
        """Reward that was lost, of plan sets what is proven of it; below 0 what was gained."""
        return self.before.reward - self.after.reward

    def summary(self) -> dict[str, Any]:
        """Plain numbers, ready for JSON."""
        return {
            "nodes_before": self.nodes,
            "nodes": self.policy.actions.size,
            "reward_before": finite(self.before.reward),
            "reward": finite(self.after.reward),
            "loss": finite(self.loss),
            "cost": [finite(c) for c in self.after.cost],
            "sure_cost_before": [finite(c) for c in self.before.sure_cost],
            "sure_cost": [finite(c) for c in self.after.sure_cost],
            "verified": self.after.verified,
            "reason": self.after.problem,
            "steps": [step._asdict() for step in self.steps],
            "seconds": self.seconds,
        }


def compress(
    model: CPOMDP,
    policy: Policy[Any],
    loss: float = 0.0,
    time_limit: float = 60.0,
    runs: int = 200,
    seed: int = 0,
) -> Compression:
    """A policy with fewer nodes that earns as much but for `loss`, and keeps the budget.

    Parameters
    ----------
    policy : a controller, or a plan set without belief nodes
    loss : reward that may be lost, in all; without any, no history spends more than before either
    time_limit : seconds after which no more nodes are tried
    runs : of a plan set, the plans that so many simulated runs use are kept, or four times as many if that loses too
        much; if it still does, the plan set stays what it is
    seed : of these runs

    Examples
    --------
    >>> import rcpomdp as rc
    >>> model = rc.problems.make("tiger").with_budget(1.5)
    >>> listens = [[1, 2], [3, 3], [4, 4], [3, 3], [4, 4]]  # once, then opens the other door for ever
    >>> small = compress(model, rc.policies.ControllerPolicy(model, [0, 2, 1, 2, 1], listens))
    >>> small.nodes, small.policy.actions.size, small.after.verified
    (5, 3, True)
    """
    if not (isinstance(loss, int | float) and loss >= 0):
        raise InputError(f"the loss is {loss!r}, not a number of at least 0")
    if isinstance(policy, PlanSetPolicy) and (policy.domain >= 0).all():
        return _smaller_plan_set(model, policy, loss, time_limit, runs, seed)
    if isinstance(policy, ControllerPolicy):
        return _smaller_controller(model, policy, loss, time_limit)
    kind = "a plan set with belief nodes" if isinstance(policy, PlanSetPolicy) else type(policy).__name__
    raise PolicyError(f"only controllers and sets of plans can be compressed, not {kind}")


def _smaller_plan_set(
    model: CPOMDP, policy: PlanSetPolicy, loss: float, time_limit: float, runs: int, seed: int
) -> Compression:
    started = time.perf_counter()
    before = verify(model, policy)
    kept, after, steps = policy, before, [Step("given", policy.actions.size, before.reward)]
    for number in (runs, 4 * runs) if before.verified else ():
        smaller = with_used_plans(model, policy, number, seed)
        if smaller is not None and smaller.actions.size < policy.actions.size:
            found = verify(model, smaller)
            steps.append(Step(f"used in {number} runs", smaller.actions.size, found.reward))
            if found.verified and found.reward >= before.reward - loss - before.error - found.error:
                kept, after = smaller, found
                break
        if time.perf_counter() > started + time_limit:
            break
    return Compression(kept, before, after, policy.actions.size, tuple(steps), time.perf_counter() - started)


def _smaller_controller(model: CPOMDP, policy: ControllerPolicy, loss: float, time_limit: float) -> Compression:
    started = time.perf_counter()
    before = verify(model, policy)
    moves = [Moves.of(model, a) for a in range(model.n_actions)]
    whole = Measure(model, moves, *reached(policy.actions, policy.successors, policy.start))
    kept = Measure(model, moves, *merge_equal(whole.actions, whole.successors))
    after = verify(model, kept.policy())
    steps = [Step("equal nodes", kept.actions.size, after.reward)]
    rounding = _ROUNDING * max(before.size, abs(before.reward))
    goals = [("stand-ins", before.reward - rounding, np.minimum(before.sure_cost, model.spending_limit))]
    if loss > 0:
        goals.append(("with a loss", before.reward - loss, model.spending_limit))
    equal = kept
    for name, reward, limit in goals if before.verified and _can_be_measured(kept) else []:
        goal = Goal(reward, limit, _keeps, started + time_limit)
        starts = [kept] if kept is equal else [kept, equal]  # what was thinned out already, and what was not
        smaller = min((thin_out(start, goal) for start in starts), key=lambda found: found.actions.size)
        smaller = Measure(model, moves, *merge_equal(smaller.actions, smaller.successors))
        found = verify(model, smaller.policy())
        if not found.verified or found.reward < reward - found.error - before.error - rounding:
            break
        kept, after = smaller, found
        steps.append(Step(name, kept.actions.size, after.reward))
    return Compression(kept.policy(), before, after, policy.actions.size, tuple(steps), time.perf_counter() - started)


def _can_be_measured(measure: Measure) -> bool:
    edges, n = measure.successors.size, measure.actions.size
    return edges * max(n, measure.model.n_states) <= _MOST_VALUES


def _keeps(measure: Measure, limit: FloatArray) -> bool:
    """True if walking the histories of a controller that is not too large shows that none spends more."""
    if measure.actions.size > _MOST_WALKED:
        return False
    claims = {"sure_cost": [finite(most) for most in limit]}
    return verify(measure.model, measure.policy(), claims).verified
