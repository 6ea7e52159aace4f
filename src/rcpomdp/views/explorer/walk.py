"""The histories of a policy as a graph: what it does, believes and expects at each.

Two histories are one node if the policy's own state and the belief are the same, since all that follows is then the
same, whatever was spent before. What is left of the budget belongs to the way that led there,
``d' = (d − C(b, a)) / γ``, and is kept by whoever walks. Likely histories come first; beyond a limit, edges lead to
`NOT_EXPLORED`.

The reward and costs to come are exact for controllers. For any other policy they lie between solutions of
``V = g + γPV`` over the graph, with bounds that hold for every policy where it was not explored.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._types import AnyArray, FloatArray
from ...bounds import cost_fib_vectors, fib_vectors
from ...evaluation import controller_values, solved, undiscounted
from ...model import CPOMDP, beliefs
from ...model.beliefs import Belief
from ...policies import ControllerPolicy, MixturePolicy, Policy
from ...policies.base import check_policy, checked_action

ENDED = -1  # in place of an action: the process has surely ended
NOT_EXPLORED = -1  # in place of a node
_ENDLESS, _HUGE = 1e300, 1e250  # in place of infinity while equations are solved; above this it is that
_SWEEPS = 100  # for bounds on the worst policy, which settle slowly and matter little
_DIGITS = 10  # to which the probabilities of beliefs agree that are one


class Start(NamedTuple):
    """The beginning of a walk: a policy that draws nothing any more, its state and the belief."""

    policy: Policy[Any]
    state: Any
    belief: Belief
    weight: float = 1.0  # probability to begin here
    one_draw: bool = False  # the state decides lots yet to come: it is one draw of a randomised policy


class Edge(NamedTuple):
    """An observation that is possible at a node, and the node that it leads to."""

    observation: int
    probability: float  # p(o | b, a)
    node: int  # or NOT_EXPLORED


@dataclass(frozen=True, eq=False)
class HistoryGraph:
    """A policy's histories, those that go on alike being one."""

    model: CPOMDP
    roots: list[int]  # the node of each start
    beliefs: list[Belief]
    belief: list[int]  # [N] index of a node's belief
    action: list[int]  # [N] or ENDED
    states: list[Any]  # [N] the policy's own
    edges: list[list[Edge]]  # [N]
    values: FloatArray  # [N, 1 + K, 2] reward and costs to come, from below and from above
    complete: bool  # nothing was left unexplored

    def __len__(self) -> int:
        return len(self.action)


def components(policy: Policy[Any]) -> list[tuple[float, Policy[Any]]]:
    """The policies that a mixture draws from, with their probabilities; any other policy is the only one."""
    if not isinstance(policy, MixturePolicy):
        return [(1.0, policy)]
    total = float(policy.weights.sum())
    parts = [(float(w) / total, part) for w, part in zip(policy.weights, policy.policies, strict=True) if w > 0]
    return [(w * share, leaf) for w, part in parts for share, leaf in components(part)]


def starts(model: CPOMDP, policy: Policy[Any], seed: int = 0) -> list[Start]:
    """The beginnings of a policy's runs, one for each policy that it may draw.

    A policy that asks the generator for numbers is randomised: all its lots follow from them.
    """
    check_policy(policy)
    b = beliefs.initial(model)
    begin = []
    for w, part in components(policy):
        rng = np.random.default_rng(seed)
        untouched = rng.bit_generator.state
        state = part.initial(rng)
        begin.append(Start(part, state, b, w, one_draw=rng.bit_generator.state != untouched))
    return begin


def walk(model: CPOMDP, begin: Sequence[Start], most_nodes: int = 5_000, most_steps: int | None = None) -> HistoryGraph:
    """Follow policies from where they begin, the likeliest histories first.

    Parameters
    ----------
    most_nodes : nodes to explore; the beginnings are always explored
    most_steps : steps to follow
    """
    walker = _Walker(model, begin)
    walker.explore(most_nodes, most_steps)
    return walker.graph()


class _Walker:
    """A walk under way: nodes are numbered as they are found, and explored by probability."""

    def __init__(self, model: CPOMDP, begin: Sequence[Start]) -> None:
        self.model, self.begin = model, begin
        self.beliefs: list[Belief] = []
        self.belief_index: dict[bytes, int] = {}
        self.node_index: dict[Hashable, int] = {}
        self.nodes: list[tuple[Policy[Any], Any, int, int]] = []  # policy, its state, belief, action
        self.edges: dict[int, list[Edge]] = {}  # of explored nodes
        self.queue: list[tuple[float, int, int]] = []  # −probability, node, steps
        self.roots = [self._node(start.policy, start.state, start.belief, start.weight, 0) for start in begin]

    def _node(self, policy: Policy[Any], state: Any, belief: Belief, mass: float, steps: int) -> int:
        b = self._belief(belief)
        key = (id(policy), frozen(state), b)
        n = self.node_index.setdefault(key, len(self.nodes))
        if n == len(self.nodes):
            ended = bool(self.model.terminal[belief.states].all())
            self.nodes.append(
                (policy, state, b, ENDED if ended else checked_action(policy.action(state), self.model, "in a state"))
            )
            heapq.heappush(self.queue, (-mass, n, steps))
        return n

    def _belief(self, belief: Belief) -> int:
        key = belief_key(belief)
        i = self.belief_index.setdefault(key, len(self.beliefs))
        if i == len(self.beliefs):
            self.beliefs.append(belief)
        return i

    def explore(self, most_nodes: int, most_steps: int | None) -> None:
        for root in dict.fromkeys(self.roots):
            self._expand(root, self.begin[self.roots.index(root)].weight, 0)
        while self.queue and len(self.edges) < most_nodes:
            mass, n, steps = heapq.heappop(self.queue)
            if n not in self.edges and (most_steps is None or steps <= most_steps):
                self._expand(n, -mass, steps)

    def _expand(self, n: int, mass: float, steps: int) -> None:
        policy, state, b, action = self.nodes[n]
        self.edges[n] = []
        if action == ENDED:
            return
        for o, p, after in beliefs.branches(self.model, self.beliefs[b], action):
            child = self._node(policy, policy.update(state, o), after, mass * p * self.model.discount, steps + 1)
            self.edges[n].append(Edge(o, p, child))

    def graph(self) -> HistoryGraph:
        """The graph of what was explored, its nodes numbered in that order."""
        number = {n: i for i, n in enumerate(self.edges)}
        kept: dict[int, int] = {}  # beliefs of explored nodes
        for n in self.edges:
            kept.setdefault(self.nodes[n][2], len(kept))
        values = self._values()
        edges = [[e._replace(node=number.get(e.node, NOT_EXPLORED)) for e in row] for row in self.edges.values()]
        return HistoryGraph(
            self.model,
            [number[n] for n in self.roots],
            [self.beliefs[b] for b in kept],
            [kept[self.nodes[n][2]] for n in self.edges],
            [self.nodes[n][3] for n in self.edges],
            [self.nodes[n][1] for n in self.edges],
            edges,
            values,
            all(e.node != NOT_EXPLORED for row in edges for e in row),
        )

    def _values(self) -> FloatArray:
        """Reward and costs to come, [explored, 1 + K, 2]."""
        values = np.empty((len(self.edges), 1 + self.model.n_costs, 2))
        exact: dict[int, Any] = {}
        for start in self.begin:
            if isinstance(start.policy, ControllerPolicy) and id(start.policy) not in exact:
                exact[id(start.policy)] = controller_values(self.model, start.policy)
        others = []
        for i, n in enumerate(self.edges):
            policy, state, b, _ = self.nodes[n]
            if id(policy) in exact:
                values[i] = exact[id(policy)].at(state, self.beliefs[b])[:, None]
            else:
                others.append((i, n))
        if others:
            values[[i for i, _ in others]] = self._enclosed([n for _, n in others])
        return values

    def _enclosed(self, explored: list[int]) -> FloatArray:
        """``V = g + γPV`` from both sides over nodes of policies that have no exact values, [nodes, 1 + K, 2].

        Each row has its own discount.
        """
        model, place = self.model, {n: i for i, n in enumerate(explored)}
        gain = np.concatenate([model.reward[None], model.cost])
        right = np.zeros((len(explored), len(gain), 2))
        discounts = np.append(model.discount, model.cost_discount)
        rows, columns, data = [], [], []
        beyond = {e.node for n in explored for e in self.edges[n] if e.node not in place}
        bound = _AnyPolicy(model) if any(self.nodes[n][3] != ENDED for n in beyond) else None
        for i, n in enumerate(explored):
            _, _, b, action = self.nodes[n]
            if action == ENDED:
                continue
            belief = self.beliefs[b]
            right[i] += (gain[:, belief.states, action] @ belief.probabilities)[:, None]
            for e in self.edges[n]:
                if e.node in place:
                    rows.append(i)
                    columns.append(place[e.node])
                    data.append(e.probability)
                elif self.nodes[e.node][3] != ENDED and bound is not None:
                    right[i] += discounts[:, None] * e.probability * bound.at(self.beliefs[self.nodes[e.node][2]])
        moves = sp.csc_array((data, (rows, columns)), shape=(len(explored), len(explored)))
        for discount in np.unique(discounts).tolist():
            of_it = discounts == discount
            part = right[:, of_it].reshape(len(explored), -1)
            found = solved(discount * moves, part) if discount < 1 else undiscounted(sp.csr_array(moves), part)[0]
            right[:, of_it] = found.reshape(len(explored), -1, 2)
        return np.where(right > _HUGE, np.inf, right)


class _AnyPolicy:
    """Bounds on reward and costs to come that hold whatever is done."""

    def __init__(self, model: CPOMDP) -> None:
        def most(gain: FloatArray) -> FloatArray:
            return fib_vectors(model._changed(arrays=model.arrays._replace(reward=gain)), _SWEEPS)

        self._above = [fib_vectors(model), *(most(c) for c in model.cost)]
        for k in np.flatnonzero(model.cost_discount != model.discount).tolist():  # theirs is the discount of rewards
            self._above[1 + k] = np.full((1, model.n_states), min(float(model.most_spent[k]), _ENDLESS))
        self._below = [-most(-model.reward), *(cost_fib_vectors(model, k) for k in range(model.n_costs))]

    def at(self, belief: Belief) -> FloatArray:
        """Least and most reward and costs from a belief, [1 + K, 2]."""
        states, p = belief.states, belief.probabilities
        below = [(vectors[:, states] @ p).min() for vectors in self._below]
        above = [(vectors[:, states] @ p).max() for vectors in self._above]
        return np.array([below, above]).T


def belief_key(belief: Belief) -> bytes:
    """A key that beliefs share if they are taken for one; Bayes' rule keeps ratios, so that what follows is as near."""
    return belief.states.tobytes() + _rounded(belief.probabilities).tobytes()


def _rounded(values: AnyArray) -> AnyArray:
    """Numbers rounded relative to their size."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(mantissa.round(_DIGITS), exponent)


def frozen(state: Any) -> Hashable:
    """A hashable form of a policy's state; a state that has none equals no other."""
    if isinstance(state, np.ndarray):
        return state.dtype.str, state.shape, (_rounded(state) if state.dtype.kind == "f" else state).tobytes()
    if isinstance(state, tuple | list):
        return type(state), tuple(map(frozen, state))
    if isinstance(state, dict):
        return dict, tuple((key, frozen(value)) for key, value in state.items())
    try:
        hash(state)
    except TypeError:
        return object()
    return type(state), state
