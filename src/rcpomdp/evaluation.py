"""Exact evaluation of a policy: expected reward and costs with a proven error, no sampling.

A controller is followed on the chain of (node, state) pairs it can reach: ``x = g + γPx``, by a direct solve or by
iteration. A policy over beliefs is expanded belief by belief, equal beliefs together; what lies beyond the last step
adds at most ``γ^t · mass · max|g| / (1−γ)``, where mass is the probability that the process has not surely ended.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from . import deadline as time_limits
from ._types import AnyArray, BoolArray, FloatArray, IntArray
from .errors import PolicyError
from .model import CPOMDP, beliefs
from .model.endings import before_the_end
from .policies import (
    AlphaPolicy,
    BudgetedAlphaPolicy,
    ControllerPolicy,
    MixturePolicy,
    PlanSetPolicy,
    Policy,
    RandomPolicy,
    StochasticControllerPolicy,
)
from .policies.base import TO_TABULATE, check_policy
from .policies.plan_set import PlanSetState
from .views import notebook

_SOLVABLE = 20_000  # pairs; larger chains are iterated, unless the discount is too near to 1
_ITERABLE = 0.9999
_DIGITS = 14  # to which beliefs agree that are followed together


class Evaluation(NamedTuple):
    """Expected discounted reward and costs of a policy."""

    reward: float
    cost: FloatArray  # [K]
    error: float  # the reward and each cost are off by no more than this

    def _repr_html_(self) -> str:
        return notebook.evaluation(self)


def evaluate(
    model: CPOMDP,
    policy: Policy[Any],
    tolerance: float = 1e-9,
    most_beliefs: int = 20_000,
    time_limit: float | None = None,
    most_work: float = np.inf,
) -> Evaluation:
    """Reward and costs of a policy from the initial belief.

    Controllers (and so what most solvers return), also those that draw lots, blind and random policies and mixtures of
    them are evaluated to rounding. α-vector policies and plan sets are expanded until the error is at most `tolerance`,
    one step has more than `most_beliefs` beliefs, `most_work` of them were followed in all, or `time_limit` seconds are
    over: look at `error` to see how far it got.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce", discount=0.5)
    >>> rc.evaluate(model, rc.policies.blind(model, "tunnel-A"))
    Evaluation(reward=6.0, cost=array([2.5]), error=...)
    """
    check_policy(policy)
    model.fade  # noqa: B018 - it refuses a discount of 1 where the process may go on for ever
    gain = np.concatenate([model.reward[None], model.cost])  # [1 + K, S, A]
    deadline = np.inf if time_limit is None else time_limits.now() + time_limit
    totals, error = _totals(model, policy, gain, _Limits(tolerance, most_beliefs, most_work, deadline))
    return Evaluation(float(totals[0]), totals[1:], float(error))


class ControllerValues(NamedTuple):
    """Reward and costs to come at the (node, state) pairs that a controller can reach before the end."""

    n_states: int
    pairs: IntArray  # [pairs] ``node · S + state``, increasing
    values: FloatArray  # [pairs, 1 + K]
    error: float  # each is off by no more than this

    def at(self, node: int, belief: beliefs.Belief) -> FloatArray:
        """Reward and costs to come at a node, [1 + K]; nothing comes from states where the process has ended."""
        wanted = node * self.n_states + belief.states.astype(np.int64)
        place = np.minimum(np.searchsorted(self.pairs, wanted), max(self.pairs.size - 1, 0))
        known = self.pairs[place] == wanted if self.pairs.size else np.zeros(wanted.size, dtype=np.bool_)
        return np.asarray(belief.probabilities[known] @ self.values[place[known]])


def controller_values(
    model: CPOMDP, policy: ControllerPolicy | StochasticControllerPolicy, tolerance: float = 1e-9
) -> ControllerValues:
    """Reward and costs to come at each node and state that a controller can reach from the initial belief."""
    if isinstance(policy, ControllerPolicy):
        policy.batches([], model)  # refuses a controller of another model
    elif policy.successors.shape[1] != model.n_observations or policy.actions.max() >= model.n_actions:
        raise PolicyError("the controller was made for a model with other actions or observations")
    gain = np.concatenate([model.reward[None], model.cost])
    chain, node, state = _chain(model, policy)
    values, error = _solve(chain, gain[:, state, policy.actions[node]].T, model, tolerance)
    return ControllerValues(model.n_states, node * model.n_states + state, values, error)


class _Limits(NamedTuple):
    """Limits at which an expansion stops."""

    tolerance: float
    beliefs: int  # of one step
    work: float  # beliefs of all steps
    deadline: float


def _totals(model: CPOMDP, policy: Policy[Any], gain: FloatArray, limits: _Limits) -> tuple[FloatArray, float]:
    if isinstance(policy, MixturePolicy):
        drawn = [(w, p) for w, p in zip(policy.weights, policy.policies, strict=True) if w > 0]
        parts = [_totals(model, p, gain, limits) for _, p in drawn]
        total = np.sum([w * t for (w, _), (t, _) in zip(drawn, parts, strict=True)], axis=0)
        return total, max(error for _, error in parts)
    if isinstance(policy, RandomPolicy):
        mean: Any = sum(model.transition[1:], start=model.transition[0]) / model.n_actions
        mean = before_the_end(model, mean)
        values, error = _solve(mean, gain.mean(axis=2).T, model, limits.tolerance)
        return model.initial_belief @ values, error
    if isinstance(policy, ControllerPolicy | StochasticControllerPolicy):
        found, b = controller_values(model, policy, limits.tolerance), beliefs.initial(model)
        first = _first_nodes(policy)
        return sum((w * found.at(node, b) for node, w in first), start=np.zeros(len(gain))), found.error
    if isinstance(policy, AlphaPolicy):
        return _expand(model, _AlphaSteps(policy), gain, limits)
    if isinstance(policy, BudgetedAlphaPolicy):
        return _expand(model, _BudgetedSteps(policy), gain, limits)
    if isinstance(policy, PlanSetPolicy):
        return _expand(model, _PlanSetSteps(policy), gain, limits)
    raise PolicyError(
        f"a policy of type {type(policy).__name__} has no exact evaluation; simulate it, or {TO_TABULATE}"
    )


def _first_nodes(policy: ControllerPolicy | StochasticControllerPolicy) -> list[tuple[int, float]]:
    """The nodes of the first step, and their probabilities."""
    if isinstance(policy, ControllerPolicy):
        return [(policy.start, 1.0)]
    _, node, weight = policy.drawn(policy.start)
    return list(zip(node.tolist(), weight.tolist(), strict=True))


def _chain(
    model: CPOMDP, policy: ControllerPolicy | StochasticControllerPolicy
) -> tuple[sp.csr_array[np.float64], IntArray, IntArray]:
    """The chain over (node, state) pairs that the controller can reach: matrix, node and state of each pair."""
    m, n = model.arrays, model.n_states
    support = np.flatnonzero((model.initial_belief > 0) & ~model.terminal)
    lots = policy if isinstance(policy, StochasticControllerPolicy) else None
    starts = np.unique([node for node, _ in _first_nodes(policy)])
    pairs = (starts[:, None] * n + support).ravel()
    met = [
        pairs
    ]  # sorted, each more than twice as long as the next, so that a deep chain takes no square of its length
    edges: list[tuple[IntArray, IntArray, FloatArray]] = []
    while pairs.size:
        time_limits.check()
        node, state = np.divmod(pairs, n)
        action = policy.actions[node]
        row, entry = _ragged(m.t_ptr, action * n + state)
        landed = m.t_next[entry]
        seen_row, seen = _ragged(m.z_ptr, action[row] * n + landed)
        source, lands = pairs[row][seen_row], landed[seen_row]
        after, chance = policy.successors[source // n, m.z_obs[seen]], m.t_prob[entry][seen_row] * m.z_prob[seen]
        if lots is not None:
            owner, after, weight = lots.drawn(after)
            source, lands, chance = source[owner], lands[owner], chance[owner] * weight
        target = after * n + lands
        live = ~model.terminal[lands]  # nothing follows a terminal state
        edges.append((source[live], target[live], chance[live]))
        pairs = np.unique(target[live])
        for part in met:
            pairs = pairs[part[np.minimum(np.searchsorted(part, pairs), part.size - 1)] != pairs]
        met.append(pairs)
        while len(met) > 1 and met[-2].size <= 2 * met[-1].size:
            met[-2:] = [np.union1d(met[-2], met[-1])]
    known = np.unique(np.concatenate(met))
    place = [np.searchsorted(known, np.concatenate([known[:0], *(edge[end] for edge in edges)])) for end in (0, 1)]
    prob = np.concatenate([np.empty(0), *(edge[2] for edge in edges)])
    chain: Any = sp.csr_array((prob, (place[0], place[1])), shape=(known.size, known.size))
    return chain, known // n, known % n


def _ragged(pointer: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """For sparse rows: the place in `rows` of each entry, and the entry's own place."""
    length = pointer[rows + 1] - pointer[rows]
    owner = np.repeat(np.arange(len(rows)), length)
    within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    return owner, pointer[rows][owner] + within


def _solve(
    chain: sp.csr_array[np.float64], gain: FloatArray, model: CPOMDP, tolerance: float
) -> tuple[FloatArray, float]:
    """``x = gain + γ chain x`` for ``gain [n, 1 + K]``, each column with its own discount, and a bound on the error."""
    if chain.shape[0] == 0:
        return gain, 0.0
    discounts = np.append(model.discount, model.cost_discount)
    x, error = np.empty_like(gain), 0.0
    for discount in np.unique(discounts).tolist():
        of_it = discounts == discount
        if discount < 1:
            x[:, of_it], off = _discounted(chain, gain[:, of_it], discount, tolerance)
        else:
            x[:, of_it], off = undiscounted(chain, gain[:, of_it])
        error = max(error, off)
    return x, error


def _discounted(
    chain: sp.csr_array[np.float64], gain: FloatArray, discount: float, tolerance: float
) -> tuple[FloatArray, float]:
    """``x = gain + γ chain x``, and a bound on its error from the residual: ``max|r| / (1−γ)``."""
    n = chain.shape[0]
    x = np.zeros_like(gain)
    if n <= _SOLVABLE or discount > _ITERABLE:
        x = solved(discount * chain, gain)
    terms = int(np.diff(chain.indptr).max()) + 4
    while True:
        time_limits.check()
        following = gain + discount * (chain @ x)
        largest = float(np.abs(following).max()) + float(np.abs(gain).max())
        rounding = np.finfo(np.float64).eps * terms * largest / (1 - discount)
        left = float(np.abs(following - x).max()) * discount / (1 - discount)
        x = following
        if left <= max(tolerance, rounding) or n <= _SOLVABLE or discount > _ITERABLE:
            return x, left + rounding


def undiscounted(chain: sp.csr_array[np.float64], gain: FloatArray) -> tuple[FloatArray, float]:
    """``x = gain + chain x``: 0 where nothing is ever gained, infinite where something is gained again and again."""
    x, error = np.zeros_like(gain), 0.0
    for column in range(gain.shape[1]):
        gains = gain[:, column] != 0
        recurrent = _closed(chain) & gains
        endless = _leading_to(chain, _same_component(chain, recurrent))
        some = np.flatnonzero(_leading_to(chain, gains) & ~endless)
        x[endless, column] = np.inf
        inner = sp.csr_array(chain[some][:, some])
        found = solved(inner, np.column_stack([gain[some, column], np.ones(some.size)]))
        x[some, column] = found[:, 0]
        left = np.abs(gain[some, column] + inner @ found[:, 0] - found[:, 0]).max(initial=0.0)
        error = max(error, float(left * found[:, 1].max(initial=0.0)))
    return x, error


def _closed(chain: sp.csr_array[np.float64]) -> BoolArray:
    """Points that are never left for good: their component leads nowhere else, and does not end."""
    n, component = connected_components(chain, connection="strong")
    goes_on = np.asarray(chain.sum(axis=1)).ravel() > 1 - 1e-9
    moves = chain.tocoo()
    leaves = component[moves.coords[0]] != component[moves.coords[1]]
    closed = np.ones(n, dtype=np.bool_)
    closed[component[moves.coords[0][leaves]]] = False
    closed[component[~goes_on]] = False
    return np.asarray(closed[component])


def _same_component(chain: sp.csr_array[np.float64], points: BoolArray) -> BoolArray:
    """The points, and those of the same components."""
    _, component = connected_components(chain, connection="strong")
    return np.isin(component, component[points])


def _leading_to(chain: sp.csr_array[np.float64], points: BoolArray) -> BoolArray:
    """Points from which some of those can be reached, themselves included."""
    reached = points.copy()
    back = sp.csr_array(chain.T)
    front: AnyArray = np.flatnonzero(reached)
    while front.size:
        before = np.unique(back.indices[_ragged(back.indptr.astype(np.int64), front)[1]])
        front = before[~reached[before]]
        reached[front] = True
    return reached


def solved(moves: Any, gain: FloatArray) -> FloatArray:
    """``x = gain + moves x`` for moves that are nowhere negative and whose rows sum up to less than 1.

    Pivots are taken on the diagonal. Then nothing cancels, and x is exactly 0 where no gain can be reached; with other
    pivots rounding is left there, which a budget of 0 would not cover.
    """
    system = sp.csc_array(sp.identity(len(gain), format="csc") - moves)
    return np.asarray(splu(system, diag_pivot_thresh=0.0).solve(np.ascontiguousarray(gain)))


class _AlphaSteps:
    """The steps of a policy over beliefs: its first memory, the actions it may take, and its memory afterwards."""

    start: tuple[float, ...] = ()

    def __init__(self, policy: AlphaPolicy) -> None:
        self._policy = policy

    def choices(self, belief: beliefs.Belief, memory: tuple[float, ...]) -> list[tuple[int, float]]:
        return [(self._policy.at(belief).action, 1.0)]

    def after(self, belief: beliefs.Belief, memory: tuple[float, ...], action: int) -> tuple[float, ...]:
        return memory

    def then(self, memory: tuple[float, ...], observation: int, belief: beliefs.Belief) -> tuple[float, ...]:
        return memory


class _BudgetedSteps(_AlphaSteps):
    """The steps of a policy that also depends on what is left of the budget."""

    def __init__(self, policy: BudgetedAlphaPolicy) -> None:
        self._budgeted = policy
        self.start = tuple(policy.budget.tolist())

    def choices(self, belief: beliefs.Belief, memory: tuple[float, ...]) -> list[tuple[int, float]]:
        return self._budgeted.choices(belief, memory)

    def after(self, belief: beliefs.Belief, memory: tuple[float, ...], action: int) -> tuple[float, ...]:
        return self._budgeted.left_after(belief, memory, action)


class _PlanSetSteps(_AlphaSteps):
    """The steps of a plan set, whose memory is its node and what is left of the budget."""

    def __init__(self, policy: PlanSetPolicy) -> None:
        self._plans = policy
        first = policy.initial(np.random.default_rng(0))
        self.start = (first.node, *first.left)

    def choices(self, belief: beliefs.Belief, memory: tuple[float, ...]) -> list[tuple[int, float]]:
        return [(int(self._plans.actions[int(memory[0])]), 1.0)]

    def after(self, belief: beliefs.Belief, memory: tuple[float, ...], action: int) -> tuple[float, ...]:
        node, *left = memory
        return (node, *self._plans.left_after(PlanSetState(belief, tuple(left), int(node))))

    def then(self, memory: tuple[float, ...], observation: int, belief: beliefs.Belief) -> tuple[float, ...]:
        node, *left = memory
        return (self._plans.node_after(int(node), observation, tuple(left), belief), *left)


def _expand(
    model: CPOMDP,
    steps: _AlphaSteps,
    gain: FloatArray,
    limits: _Limits,
) -> tuple[FloatArray, float]:
    """Follow the policy's beliefs step by step, those that agree to 14 digits together if its memory is the same."""
    discounts = np.append(model.discount, model.cost_discount)
    fade = np.append(model.fade, model.cost_fade)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(gain.any(axis=(1, 2)), np.abs(gain).max(axis=(1, 2)) / fade, 0.0)  # what a row may add up to
    # Beliefs taken for one differ by this much in sum, at every step; none are, as long as equal ones are equal.
    apart = 2 * model.n_states * 10.0**-_DIGITS * float((each / np.maximum(fade, 1e-300)).max())
    merged, followed = 0.0, 0
    total, weight = np.zeros(len(gain)), np.ones(len(gain))
    front = {b"": (1.0, beliefs.initial(model), steps.start)}
    while True:
        going_on = sum(p for p, _, _ in front.values())
        error = float((weight * each).max()) * going_on + merged if going_on else merged
        followed += len(front)
        if error - merged <= limits.tolerance or len(front) > limits.beliefs or followed > limits.work:
            return total, error
        gained = np.zeros(len(gain))
        following: dict[bytes, tuple[float, beliefs.Belief, tuple[float, ...]]] = {}
        for p, b, memory in front.values():
            if time_limits.now() > limits.deadline:
                return total, error
            for a, chance in steps.choices(b, memory):
                gained += p * chance * (gain[:, b.states, a] @ b.probabilities)
                spent = steps.after(b, memory, a)
                for o, q, after in beliefs.branches(model, b, a):
                    if model.terminal[after.states].all():
                        continue
                    kept = steps.then(spent, o, after)
                    key = after.states.tobytes() + after.probabilities.round(_DIGITS).tobytes() + repr(kept).encode()
                    mass = p * chance * q
                    if key in following:
                        mass += following[key][0]
                        if not np.array_equal(following[key][1].probabilities, after.probabilities):
                            merged = apart
                    following[key] = (mass, after, kept)
        total += weight * gained
        front, weight = following, weight * discounts
