"""The policy that a search has found: the plans that its best candidate rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._types import AnyArray, FloatArray
from ...kernels.pointbased.arrays import NONE
from ...kernels.pointbased.plans import product
from ...policies import ControllerPolicy, PlanSetPolicy

if TYPE_CHECKING:
    from .search import PointBasedSearch


class _Node(NamedTuple):
    """A belief plan, a plan of a class, or a plan from the states of a support, where some costs are never met."""

    candidate: int = NONE
    plan: int = NONE
    support: tuple[int, ...] = ()
    free: tuple[bool, ...] = ()  # [K] costs that are never met


def plan_set(search: PointBasedSearch, candidate: int, everywhere: bool = False) -> PlanSetPolicy:
    """The plans and belief plans that a candidate of the root leads to, as a policy that changes among them.

    With the cheapest plan of each class, if there is to be one everywhere.
    """
    builder = _Builder(search)
    builder.number(builder.of_candidate(candidate))
    if everywhere:
        for plan in search.parts.plans.default[search.classes.reachable].tolist():
            builder.number(_Node(plan=plan))
    for node in builder.order:
        builder.add(node)
    return builder.policy()


def candidate_controller(search: PointBasedSearch, candidate: int) -> ControllerPolicy:
    """The plans and belief plans that a candidate of the root leads to, as a graph: it follows them to the letter."""
    plans = plan_set(search, candidate)
    return ControllerPolicy(search.model, plans.actions, np.maximum(plans.successors, 0))


class _Builder:
    """Nodes in the order they are met, and their arrays."""

    def __init__(self, search: PointBasedSearch) -> None:
        self.search, self.parts = search, search.parts
        self.order: list[_Node] = []
        self._number: dict[_Node, int] = {}
        self._domain: dict[tuple[int, ...], int] = {}
        self._class_domain: dict[int, int] = {}  # the same of whole classes
        self.rows: list[tuple[int, AnyArray, FloatArray, int, FloatArray]] = []

    def number(self, node: _Node) -> int:
        """The place of a node, the next one if it is new."""
        if node not in self._number:
            self._number[node] = len(self.order)
            self.order.append(node)
        return self._number[node]

    def of_candidate(self, candidate: int) -> _Node:
        """The node of a candidate of the root."""
        plan = int(self.parts.candidates.info["plan"][candidate])
        return _Node(candidate=candidate) if plan == NONE else self._at(plan, self.search.root)

    def _at(self, plan: int, belief: int) -> _Node:
        """The node of a plan that is followed from a belief: what is never expected there is never spent."""
        s, n_costs = self.parts, self.search.model.n_costs
        first = len(s.space.gain) - n_costs
        expected = [product(s.space, s.beliefs, s.plans, belief, plan, first + k) for k in range(n_costs)]
        free = tuple(bool(e <= 0 < w) for e, w in zip(expected, s.plans.sure[plan], strict=True))
        if not any(free):
            return _Node(plan=plan)
        at, size = int(s.beliefs.info["offset"][belief]), int(s.beliefs.info["size"][belief])
        return _Node(plan=plan, support=tuple(s.beliefs.state[at : at + size].tolist()), free=free)

    def add(self, node: _Node) -> None:
        """Write a node's row: action, successors, sure cost, domain and values."""
        self.rows.append(self._belief_plan(node.candidate) if node.candidate != NONE else self._plan(node))

    def _belief_plan(self, candidate: int) -> tuple[int, AnyArray, FloatArray, int, FloatArray]:
        s, c, b = self.parts, self.parts.candidates, self.parts.beliefs
        after = np.full(s.space.model.n_observations, NONE)
        i, a = int(c.info["belief"][candidate]), int(c.info["action"][candidate])
        first, row = int(c.info["links"][candidate]), b.info["row"][i]
        for e in range(int(b.degree[row, a])):
            edge, link = int(b.edge[row, a]) + e, int(c.link[first + e])
            node = _Node(candidate=link) if link >= 0 else self._at(-2 - link, int(b.edge_child[edge]))
            after[b.edge_obs[edge]] = self.number(node)
        return a, after, c.sure[candidate], NONE, c.total[candidate, :1]

    def _plan(self, node: _Node) -> tuple[int, AnyArray, FloatArray, int, FloatArray]:
        x, g = self.parts.space, self.parts.plans
        cls, a, at, links, _ = g.info[node.plan].tolist()
        first, last, pair = int(x.start[cls]), int(x.start[cls + 1]), cls * x.gain.shape[2] + a
        seen = x.seen_obs[x.seen_ptr[pair] : x.seen_ptr[pair + 1]]
        followers = g.link[links : links + seen.size].tolist()
        after = np.full(x.model.n_observations, NONE)
        at += (len(x.gain) - 1 - self.search.model.n_costs) * (last - first)  # the vector of the reward
        values, sure = g.value[at : at + last - first], g.sure[node.plan]
        if not node.support:
            after[seen] = [self.number(_Node(plan=plan)) for plan in followers]
            return a, after, sure, self._domain_of_class(cls, first, last), values
        lands = self._seen(node.support, a)
        for o, plan in zip(seen.tolist(), followers, strict=True):
            if o in lands:
                after[o] = self.number(_Node(plan=plan, support=tuple(sorted(lands[o])), free=node.free))
        domain = self._domain.setdefault(node.support, len(self._domain))
        return a, after, np.where(node.free, 0.0, sure), domain, values[np.array(node.support) - first]

    def _domain_of_class(self, cls: int, first: int, last: int) -> int:
        if cls not in self._class_domain:
            self._class_domain[cls] = self._domain.setdefault(tuple(range(first, last)), len(self._domain))
        return self._class_domain[cls]

    def _seen(self, support: tuple[int, ...], a: int) -> dict[int, set[int]]:
        """The states that may follow a support under an action, by observation."""
        m = self.parts.space.model
        n, found = m.reward.shape[0], dict[int, set[int]]()
        for s in support:
            for lands in m.t_next[m.t_ptr[a * n + s] : m.t_ptr[a * n + s + 1]].tolist():
                for o in m.z_obs[m.z_ptr[a * n + lands] : m.z_ptr[a * n + lands + 1]].tolist():
                    found.setdefault(o, set()).add(lands)
        return found

    def policy(self) -> PlanSetPolicy:
        """All nodes as a policy of the model, in its own numbering of states."""
        actions, successors, sure, domain, values = zip(*self.rows, strict=True)
        order = self.search.classes.order
        # Values go with the states of their domain, which are in increasing order there.
        places = {n: np.argsort(order[list(states)]) for states, n in self._domain.items()}
        states = [np.sort(order[list(states)]) for states in self._domain]
        values = tuple(v if n == NONE else v[places[n]] for v, n in zip(values, domain, strict=True))
        return PlanSetPolicy(
            self.search.model,
            actions=np.array(actions, dtype=np.int64),
            successors=np.array(successors, dtype=np.int64),
            sure_cost=np.array(sure).reshape(len(actions), self.search.model.n_costs),
            domain=np.array(domain, dtype=np.int64),
            domain_start=np.cumsum([0, *(len(states_of) for states_of in states)]),
            domain_states=np.concatenate([np.zeros(0, dtype=np.int64), *states]),
            values_start=np.cumsum([0, *(len(v) for v in values)]),
            values=np.concatenate(values),
        )


def controller(search: PointBasedSearch, plan: int) -> ControllerPolicy:
    """A plan as a graph: what follows each observation is a plan of its own."""
    x, g = search.parts.space, search.parts.plans
    number, order = {plan: 0}, [plan]
    successors = []
    for node in order:
        pair = int(g.info["cls"][node]) * x.gain.shape[2] + int(g.info["action"][node])
        row = np.zeros(x.model.n_observations, dtype=np.int64)
        for f in range(int(x.seen_ptr[pair]), int(x.seen_ptr[pair + 1])):
            after = int(g.link[g.info["links"][node] + f - x.seen_ptr[pair]])
            if after not in number:
                number[after] = len(order)
                order.append(after)
            row[x.seen_obs[f]] = number[after]
        successors.append(row)
    return ControllerPolicy(search.model, g.info["action"][order].astype(np.int64), np.array(successors))
