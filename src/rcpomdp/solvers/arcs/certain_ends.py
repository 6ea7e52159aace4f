"""Certain ends: actions after which a run is over, whatever was the case before.

Plans and their sure costs belong to observability classes. Where a terminal state looks like a live one, both are in
one class, and an action that ends the run for sure seems to go on costing for ever. Nothing is learned from being told
of an end that is certain: the action may as well lead to an end of its own, with an observation of its own. The same
policies are possible, with the same rewards and costs, and after that action nothing costs anything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._types import BoolArray, IntArray
from ...model import CPOMDP
from ...model.classes import observability_classes
from ...policies import ControllerPolicy, PlanSetPolicy
from ..result import Result


class Ends(NamedTuple):
    """Actions that end a run for sure."""

    class_of: IntArray  # [S + 1] class of a state; the last one is the end
    certain: BoolArray  # [classes, A]


def with_certain_ends(model: CPOMDP) -> tuple[CPOMDP, Ends | None]:
    """The model with an end of its own for actions that surely end a run; None if nothing is gained by that.

    >>> import rcpomdp as rc
    >>> tunnels = rc.problems.make("tunnels")
    >>> with_certain_ends(tunnels)[0] is tunnels
    True
    """
    classes = observability_classes(model)
    n, n_classes = model.n_states, classes.n_classes
    if not _are_mixed(model, classes.class_of):
        return model, None
    certain = np.ones((n_classes, model.n_actions), dtype=bool)
    for a, moves in enumerate(model.transition):
        goes_on = moves @ (~model.terminal).astype(np.float64) > 0
        certain[classes.class_of[goes_on], a] = False
    certain[~np.isin(np.arange(n_classes), classes.class_of[~model.terminal])] = False  # those that are over already
    if not certain.any():
        return model, None
    ends = Ends(np.append(classes.class_of, n_classes), np.vstack([certain, np.zeros(model.n_actions, dtype=bool)]))
    transition, observation = [], []
    for a, (moves, seen) in enumerate(zip(model.transition, model.observation, strict=True)):
        ended = certain[classes.class_of, a]
        rows, columns = moves.tocoo().coords
        kept = ~ended[rows]
        rows = np.concatenate([rows[kept], np.flatnonzero(ended), [n]])
        columns = np.concatenate([columns[kept], np.full(int(ended.sum()) + 1, n)])
        chance = np.concatenate([moves.tocoo().data[kept], np.ones(int(ended.sum()) + 1)])
        transition.append(sp.csr_array((chance, (rows, columns)), (n + 1, n + 1)))
        observation.append(sp.csr_array(sp.block_diag([seen, np.ones((1, 1))])))
    changed = CPOMDP(
        transition=transition,
        observation=observation,
        reward=np.vstack([model.reward, np.zeros((1, model.n_actions))]),
        cost=np.concatenate([model.cost, np.zeros((model.n_costs, 1, model.n_actions))], axis=1),
        initial_belief=np.append(model.initial_belief, 0.0),
        discount=model.discount,
        budget=model.budget,
        cost_discount=model.cost_discount,
        step_limit=model.step_limit,
    )
    # Whether the process is noisy is asked without the time, and without ends of their own.
    return changed._changed(horizon=model.horizon, base=model.base), ends


def _are_mixed(model: CPOMDP, class_of: IntArray) -> bool:
    """True if some class has terminal states and others."""
    return bool(np.intersect1d(class_of[model.terminal], class_of[~model.terminal]).size)


def without_certain_ends(result: Result, model: CPOMDP, ends: Ends | None) -> Result:
    """A result for the model with ends of their own, told of the model itself."""
    if ends is None:
        return result
    if isinstance(result.policy, PlanSetPolicy):
        return replace(result, policy=_plan_set(result.policy, model))
    assert isinstance(result.policy, ControllerPolicy)  # other policies come of acting alone
    return replace(result, policy=_controller(result.policy, model, ends))


def _plan_set(policy: PlanSetPolicy, model: CPOMDP) -> PlanSetPolicy:
    """Plans that follow a certain end whatever is observed; those of the end are of all terminal states."""
    n, over = model.n_states, np.flatnonzero(model.terminal)
    after_end = policy.successors[:, -1]  # -1 where the end is not certain
    successors = np.where(after_end[:, None] >= 0, after_end[:, None], policy.successors[:, :-1])
    parts = np.split(policy.domain_states, policy.domain_start[1:-1])
    domains = [over if part[0] == n else part for part in parts]
    is_over = np.array([part[0] == n for part in parts])
    values = [
        np.zeros(over.size) if policy.domain[i] >= 0 and is_over[policy.domain[i]] else part
        for i, part in enumerate(np.split(policy.values, policy.values_start[1:-1]))
    ]
    return PlanSetPolicy(
        model,
        policy.actions,
        successors,
        policy.sure_cost,
        policy.domain,
        np.cumsum([0, *map(len, domains)]),
        np.concatenate(domains),
        np.cumsum([0, *map(len, values)]),
        np.concatenate(values),
        policy.start,
    )


def _controller(policy: ControllerPolicy, model: CPOMDP, ends: Ends) -> ControllerPolicy:
    """A controller over nodes and classes: after a certain end it stays where it is, whatever is observed."""
    follow = Follow(model, ends)
    start = (policy.start, int(ends.class_of[np.flatnonzero(model.initial_belief)[0]]))
    number, queue = {start: 1}, [start]  # node 0 is the end
    actions, successors = [0], [np.zeros(model.n_observations, dtype=np.int64)]
    for node, cls in queue:
        a, row = int(policy.actions[node]), np.zeros(model.n_observations, dtype=np.int64)
        for o, after in follow(cls, a):
            key = (int(policy.successors[node, o]), after)
            if key not in number:
                number[key] = len(number) + 1
                queue.append(key)
            row[o] = number[key]
        actions.append(a)
        successors.append(row)
    return ControllerPolicy(model, np.array(actions), np.array(successors), start=1)


class Follow:
    """Observations that may follow a class and an action, each with the class that they lead to."""

    def __init__(self, model: CPOMDP, ends: Ends) -> None:
        self.model, self.ends = model, ends
        self.known: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def __call__(self, cls: int, a: int) -> list[tuple[int, int]]:
        """Pairs (observation, class); none if the action is a certain end."""
        if self.ends.certain[cls, a]:
            return []
        if (cls, a) not in self.known:
            members = (self.ends.class_of[:-1] == cls).astype(np.float64)
            reached = np.flatnonzero(members @ self.model.transition[a])
            seen = self.model.observation[a][reached].tocoo()
            rows, columns = seen.coords
            class_of = dict(zip(columns.tolist(), self.ends.class_of[reached[rows]].tolist(), strict=True))
            self.known[cls, a] = sorted(class_of.items())
        return self.known[cls, a]
