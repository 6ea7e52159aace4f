"""Known supports: a model in which beliefs of different supports belong to different classes.

The support of a belief follows from the history. Plans belong to observability classes, and a step of a plan counts the
largest cost of its class. Where a class is much larger than the supports in it, a plan over supports surely costs less.
So each state is split by the support that it is met in, where supports are few. The same policies are possible, with
the same rewards and costs.

An observation says which support follows. A state of the new model is (state, support, what may have been observed on
the way to it): observations that lead from one support to the same next one are kept together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ... import deadline
from ..._types import BoolArray, IntArray
from ...bounds.class_plan import class_plan, share_of, thriftiest_plan
from ...model import CPOMDP
from ...model.supports import SupportGraph, reachable_supports
from ...policies import ControllerPolicy, PlanSetPolicy
from ..result import Result

_MOST_SUPPORTS = 2000
_MOST_STATES, _TIMES = 10_000, 4  # of the new model: so many in any case, or so many times those of the model
_LESS = 0.99  # of the sure cost by classes: less than this is worth it


class KnownSupports(NamedTuple):
    """The states of the new model."""

    state: IntArray  # [n] the state of the model that each one is, increasing within a place


class _Places(NamedTuple):
    """Supports with what may have been observed on the way to them, the initial one first."""

    support: IntArray  # [n]
    seen: BoolArray  # [n, O]
    after: IntArray  # [n, A, O] the place that follows; -1 where the observation is impossible


def with_known_supports(model: CPOMDP) -> tuple[CPOMDP, KnownSupports | None]:
    """The model with known supports; None if nothing is gained by that, or it would be too large.

    >>> import rcpomdp as rc
    >>> tiger = rc.problems.make("tiger")
    >>> with_known_supports(tiger)[0] is tiger
    True
    """
    endless = model.discount == 1 and model.horizon is None  # whether it surely ends is known of the model as it is
    if endless or model.has_step_limits or model.n_states > _MOST_STATES:
        return model, None
    graph = reachable_supports(model, _MOST_SUPPORTS)
    if graph is None or not _is_thriftier(model, graph):
        return model, None
    places = _places(graph, max(_MOST_STATES, _TIMES * model.n_states))
    return (model, None) if places is None else _split(model, graph, places)


def without_known_supports(result: Result, model: CPOMDP, known: KnownSupports | None) -> Result:
    """A result for the model with known supports, told of the model itself."""
    if known is None:
        return result
    policy = result.policy
    if isinstance(policy, PlanSetPolicy):
        return replace(result, policy=told_of_states(policy, model, known))
    assert isinstance(policy, ControllerPolicy)  # other policies come of acting alone
    return replace(result, policy=ControllerPolicy(model, policy.actions, policy.successors, start=policy.start))


def told_of_states(policy: PlanSetPolicy, model: CPOMDP, known: KnownSupports | None) -> PlanSetPolicy:
    """A plan set for the model with known supports, as one for the model itself."""
    return policy if known is None else policy.with_states(model, known.state)


def _is_thriftier(model: CPOMDP, graph: SupportGraph) -> bool:
    """True if the thriftiest plan over supports surely costs less than the one over classes."""
    n, n_actions, _ = graph.after.shape
    peak = np.array([model.cost[:, members].max(axis=1) for members in graph.members]).transpose(0, 2, 1)  # [n, A, K]
    pair, _ = np.nonzero(graph.after.reshape(n * n_actions, -1) >= 0)
    start = np.searchsorted(pair, np.arange(n * n_actions + 1))
    _, sure = thriftiest_plan(model, peak, start, graph.after[graph.after >= 0])
    plan = class_plan(model)
    by_class = plan.sure_cost[plan.class_of[np.flatnonzero(model.initial_belief)[0]]]
    share = share_of(model)
    return bool((sure[0] / share).max(initial=0.0) < _LESS * (by_class / share).max(initial=0.0))


def _places(graph: SupportGraph, most: int) -> _Places | None:
    """Every place that is met; None if they have more than so many states together."""
    _, n_actions, n_observations = graph.after.shape
    size = graph.members.sum(axis=1)
    states = int(size[0])
    everything = np.ones(n_observations, dtype=np.bool_)
    number = {(0, everything.tobytes()): 0}
    support, seen, after = [0], [everything], []
    for here in support:  # which grows
        deadline.check()
        row = np.full((n_actions, n_observations), -1)
        for a, follows in enumerate(graph.after[here]):
            for to in np.unique(follows[follows >= 0]).tolist():
                by = follows == to
                key = to, by.tobytes()
                if key not in number:
                    number[key] = len(support)
                    support.append(to)
                    seen.append(by)
                    states += int(size[to])
                    if states > most:
                        return None
                row[a, by] = number[key]
        after.append(row)
    return _Places(np.array(support), np.array(seen), np.array(after))


def _split(model: CPOMDP, graph: SupportGraph, places: _Places) -> tuple[CPOMDP, KnownSupports]:
    """The new model."""
    of_place, state = np.nonzero(graph.members[places.support])
    size, first = state.size, np.searchsorted(of_place, np.arange(places.support.size))
    rank = np.cumsum(graph.members, axis=1) - 1  # [supports, S] place of a state in a support
    transition, observation = [], []
    for a, (moves, told) in enumerate(zip(model.transition, model.observation, strict=True)):
        deadline.check()
        row, entry = _entries(moves, state)
        lands, chance = moves.indices[entry], moves.data[entry]
        at, entry = _entries(told, lands.astype(np.int64))
        row, lands, chance, seen = row[at], lands[at], chance[at] * told.data[entry], told.indices[entry]
        to = places.after[of_place[row], a, seen]
        column = first[to] + rank[places.support[to], lands]
        transition.append(sp.csr_array((chance, (row, column)), (size, size)))
        row, entry = _entries(told, state)
        seen, chance = told.indices[entry], told.data[entry]
        fits = places.seen[of_place[row], seen]
        total = np.bincount(row[fits], chance[fits], size)
        missing = np.flatnonzero(total == 0)  # this action never leads there
        rows = np.concatenate([row[fits], missing])
        columns = np.concatenate([seen[fits], places.seen[of_place[missing]].argmax(axis=1)])
        values = np.concatenate([chance[fits] / total[row[fits]], np.ones(missing.size)])
        observation.append(sp.csr_array((values, (rows, columns)), (size, model.n_observations)))
    made = CPOMDP(
        transition=transition,
        observation=observation,
        reward=model.reward[state],
        cost=model.cost[:, state],
        initial_belief=np.where(of_place == 0, model.initial_belief[state], 0.0),
        discount=model.discount,
        budget=model.budget,
        cost_discount=model.cost_discount,
        costs=model.costs,
        name=model.name,
    )
    return made._changed(horizon=model.horizon), KnownSupports(state)


def _entries(matrix: sp.csr_array[np.float64], rows: IntArray) -> tuple[IntArray, IntArray]:
    """The entries of some rows of a matrix: which of the rows each is of, and where it stands."""
    count = np.diff(matrix.indptr)[rows].astype(np.int64)
    which = np.repeat(np.arange(rows.size), count)
    entry = np.arange(which.size) - np.repeat(np.cumsum(count) - count, count) + np.repeat(matrix.indptr[rows], count)
    return which, entry
