"""k-admissibility of controllers that draw lots: ``W(h_t) + β^t V_C(h_t) ≤ ĉ`` at every history with t < k.

A history is what was done and seen, not which way a lot fell: after it the policy may be at several nodes. Their
probabilities follow from the lots, given the actions that were taken, and what is expected is the average over them.
The belief follows from the history alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._types import AnyArray, FloatArray
from ..model import CPOMDP
from ..policies import ControllerPolicy, MixturePolicy, StochasticControllerPolicy
from .chain import Chain, entries
from .pairs import apart, tell, unwound


class _Place(NamedTuple):
    """What a policy may be at after a history."""

    nodes: tuple[int, ...]
    weights: tuple[float, ...]  # their probabilities, given the history
    states: AnyArray
    belief: FloatArray


def as_one(model: CPOMDP, mixture: MixturePolicy) -> StochasticControllerPolicy | None:
    """A mixture of controllers as one controller that begins with a lot; None if it mixes anything else."""
    parts = list(_parts(mixture, 1.0))
    if not all(isinstance(part, ControllerPolicy) for part, _ in parts):
        return None
    sizes = [part.actions.size for part, _ in parts]
    first = np.cumsum([0, *sizes[:-1]])
    return StochasticControllerPolicy(
        model,
        np.concatenate([part.actions for part, _ in parts]),
        np.concatenate([part.successors + at for (part, _), at in zip(parts, first, strict=True)]),
        [0, len(parts)],
        [part.start + at for (part, _), at in zip(parts, first, strict=True)],
        [weight for _, weight in parts],
        start=sum(sizes),
    )


def _parts(policy: Any, weight: float) -> Iterator[tuple[Any, float]]:
    if not isinstance(policy, MixturePolicy):
        yield policy, weight
        return
    total = float(policy.weights.sum())
    for part, share in zip(policy.policies, policy.weights.tolist(), strict=True):
        if share > 0:
            yield from _parts(part, weight * share / total)


def keeps_for(
    chain: Chain, policy: StochasticControllerPolicy, length: int, most: int
) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """None if the policy is k-admissible, else a sentence that says where it is not, and that history."""
    model, future = chain.model, chain.expected_costs()
    states = np.flatnonzero(model.initial_belief)
    nodes, weights = _gathered(*policy.drawn(policy.start)[1:])
    root = _Place(nodes, weights, states, model.initial_belief[states])
    walked = 0
    for k in np.flatnonzero(np.isfinite(model.spending_limit)).tolist():
        limit, layer = float(model.spending_limit[k]), {b"": (root, 0.0, None)}
        for t in range(length):
            following: dict[bytes, Any] = {}
            weight = float(model.cost_discount[k]) ** t
            for place, spent, past in layer.values():
                if spent + weight * _most(chain, place, k) <= limit:
                    continue  # what is expected is no more than what is surely enough
                if (total := spent + weight * _expected(chain, future, place, k)) > limit:
                    steps = unwound(past)
                    when = f"after {tell(steps)}" if steps else "at the start"
                    return f"{when} the policy expects to spend {apart(total, model.budget[k])} in all", tuple(steps)
                if t + 1 == length:
                    continue
                if (walked := walked + 1) > most:
                    return f"{walked:,} histories do not decide it", ()
                for a, o, cost, after in _steps(chain, policy, place, k):
                    now = spent + weight * cost
                    key = repr(after[:2]).encode() + after.states.tobytes() + after.belief.tobytes()
                    if key not in following or following[key][1] < now:
                        step = str(model.actions[a]), str(model.observations[o])
                        following[key] = (after, now, (step, past))
            if not (layer := following):
                break
    return None, ()


def _gathered(nodes: Any, weights: Any) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Nodes with their weights, each once."""
    once, place = np.unique(nodes, return_inverse=True)
    return tuple(once.tolist()), tuple(np.bincount(place.reshape(-1), weights).tolist())


def _live(chain: Chain, place: _Place) -> tuple[AnyArray, FloatArray]:
    goes_on = ~chain.model.terminal[place.states]
    return place.states[goes_on], place.belief[goes_on]


def _expected(chain: Chain, future: tuple[FloatArray, FloatArray], place: _Place, k: int) -> float:
    """Expected cost k to come, with what it may be off by."""
    states, belief = _live(chain, place)
    costs, error = future
    n = chain.model.n_states
    parts = [float(costs[k, chain.find(node * n + states.astype(np.int64))] @ belief) for node in place.nodes]
    return float(np.dot(place.weights, parts)) + float(error[k])


def _most(chain: Chain, place: _Place, k: int) -> float:
    """What no history can spend more than from here."""
    states, _ = _live(chain, place)
    return max(float(chain.bound(node, states)[k]) for node in place.nodes) if states.size else 0.0


def _steps(
    chain: Chain, policy: StochasticControllerPolicy, place: _Place, k: int
) -> Iterator[tuple[int, int, float, _Place]]:
    """(action, observation, expected cost of the step, what follows), one for each that has a probability."""
    model, actions = chain.model, policy.actions[list(place.nodes)]
    for a in np.unique(actions).tolist():
        nodes, weights = np.array(place.nodes)[actions == a], np.array(place.weights)[actions == a]
        weights = weights / weights.sum()
        cost = float(model.cost[k, place.states, a] @ place.belief)
        t, z = model.transition[a], model.observation[a]
        moved, entry = entries(t.indptr, place.states)
        lands, where = np.unique(t.indices[entry], return_inverse=True)
        arrives = np.bincount(where.reshape(-1), place.belief[moved] * t.data[entry])
        seen, z_entry = entries(z.indptr, lands)
        for o in np.unique(z.indices[z_entry]).tolist():
            here = z.indices[z_entry] == o
            joint = arrives[seen[here]] * z.data[z_entry][here]
            there = joint > 0
            states = lands[seen[here]][there]
            if not there.any() or model.terminal[states].all():
                continue
            draws = policy.drawn(policy.successors[nodes, o])
            after = _gathered(draws.node, weights[draws.owner] * draws.weight)
            yield a, o, cost, _Place(*after, states, joint[there] / joint.sum())
