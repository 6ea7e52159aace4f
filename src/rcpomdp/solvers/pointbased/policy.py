"""The policy that a search has found: the plans that its best candidate rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._types import AnyArray, FloatArray, IntArray
from ...kernels.pointbased.arrays import NONE
from ...kernels.pointbased.plans import product
from ...policies import ControllerPolicy, PlanSetPolicy

if TYPE_CHECKING:
    from .search import PointBasedSearch


class _Node(NamedTuple):
    """A belief plan, or a plan from the states of a support, where some costs are never met."""

    candidate: int = NONE
    plan: int = NONE
    support: tuple[int, ...] = ()
    free: tuple[bool, ...] = ()  # [K] costs that are never met


class _Rows(NamedTuple):
    """Nodes of a plan set."""

    action: IntArray  # [n]
    after: IntArray  # [n, O] what follows, by `_Builder.refer`
    sure: FloatArray  # [n, K]
    domain: IntArray  # [n]
    size: IntArray  # [n] of its values
    values: FloatArray  # one after another


def plan_set(search: PointBasedSearch, candidate: int, everywhere: bool = False) -> PlanSetPolicy:
    """The plans and belief plans that a candidate of the root leads to, as a policy that changes among them.

    With the cheapest plan of each class, if there is to be one everywhere.
    """
    builder = _Builder(search)
    builder.start_at(candidate)
    if everywhere:
        for plan in search.parts.plans.default[search.classes.reachable].tolist():
            if np.isfinite(search.parts.plans.sure[plan]).all():
                builder.refer_to_plan(plan)
    return builder.policy()


def candidate_controller(search: PointBasedSearch, candidate: int) -> ControllerPolicy:
    """The plans and belief plans that a candidate of the root leads to, as a graph: it follows them to the letter."""
    builder = _Builder(search)
    builder.start_at(candidate)
    _, rows, successors = builder.nodes()
    actions = np.concatenate([part.action for part in rows])
    return ControllerPolicy(search.model, actions, np.maximum(successors, 0))


class _Builder:
    """Gathers nodes: belief plans and plans of supports one by one, then the plans of classes all at once."""

    def __init__(self, search: PointBasedSearch) -> None:
        self.search, self.parts = search, search.parts
        self._order: list[_Node] = []
        self._number: dict[_Node, int] = {}
        self._plans: dict[int, None] = {}  # plans of classes that nodes refer to
        self._domain: dict[tuple[int, ...], int] = {}

    def start_at(self, candidate: int) -> None:
        """Make a candidate of the root the first node."""
        plan = int(self.parts.candidates.info["plan"][candidate])
        if plan == NONE:
            self._refer(_Node(candidate=candidate))
        else:
            self._refer_from(plan, self.search.root)

    def _refer(self, node: _Node) -> int:
        """Return the number of a node, the next one if it is new."""
        if node not in self._number:
            self._number[node] = len(self._order)
            self._order.append(node)
        return self._number[node]

    def refer_to_plan(self, plan: int) -> int:
        """Return what stands for a plan of a class until all nodes are numbered: −2 − plan."""
        self._plans[plan] = None
        return -2 - plan

    def _refer_from(self, plan: int, belief: int) -> int:
        """Refer to a plan that is followed from a belief: what is never expected there is never spent."""
        s, n_costs = self.parts, self.search.model.n_costs
        first = len(s.space.gain) - n_costs
        expected = [product(s.space, s.beliefs, s.plans, belief, plan, first + k) for k in range(n_costs)]
        free = tuple(bool(e <= 0 < w) for e, w in zip(expected, s.plans.sure[plan], strict=True))
        if not any(free):
            return self.refer_to_plan(plan)
        at, size = int(s.beliefs.info["offset"][belief]), int(s.beliefs.info["size"][belief])
        return self._refer(_Node(plan=plan, support=tuple(s.beliefs.state[at : at + size].tolist()), free=free))

    def _row(self, node: _Node) -> tuple[int, AnyArray, FloatArray, int, FloatArray]:
        """Return the action, what follows, the sure cost, the domain and the values of a node."""
        return self._belief_plan(node.candidate) if node.candidate != NONE else self._plan_of_support(node)

    def _belief_plan(self, candidate: int) -> tuple[int, AnyArray, FloatArray, int, FloatArray]:
        s, c, b = self.parts, self.parts.candidates, self.parts.beliefs
        after = np.full(s.space.model.n_observations, NONE)
        i, a = int(c.info["belief"][candidate]), int(c.info["action"][candidate])
        first, row = int(c.info["links"][candidate]), b.info["row"][i]
        for e in range(int(b.degree[row, a])):
            edge, link = int(b.edge[row, a]) + e, int(c.link[first + e])
            if link >= 0:
                after[b.edge_obs[edge]] = self._refer(_Node(candidate=link))
            else:
                after[b.edge_obs[edge]] = self._refer_from(-2 - link, int(b.edge_child[edge]))
        return a, after, c.sure[candidate], NONE, c.total[candidate, :1]

    def _plan_of_support(self, node: _Node) -> tuple[int, AnyArray, FloatArray, int, FloatArray]:
        x, g = self.parts.space, self.parts.plans
        cls, a, at, links, _ = g.info[node.plan].tolist()
        first, last, pair = int(x.start[cls]), int(x.start[cls + 1]), cls * x.gain.shape[2] + a
        seen = x.seen_obs[x.seen_ptr[pair] : x.seen_ptr[pair + 1]]
        after = np.full(x.model.n_observations, NONE)
        lands = self._seen(node.support, a)
        for o, plan in zip(seen.tolist(), g.link[links : links + seen.size].tolist(), strict=True):
            if o in lands:
                after[o] = self._refer(_Node(plan=plan, support=tuple(sorted(lands[o])), free=node.free))
        at += self._reward_row * (last - first)
        states = np.array(node.support)[np.argsort(self.search.classes.order[list(node.support)])]
        domain = self._domain.setdefault(node.support, len(self._domain))
        return a, after, np.where(node.free, 0.0, g.sure[node.plan]), domain, g.value[at + states - first]

    @property
    def _reward_row(self) -> int:
        """The row of the reward in a plan's vectors."""
        return len(self.parts.space.gain) - 1 - self.search.model.n_costs

    def _seen(self, support: tuple[int, ...], a: int) -> dict[int, set[int]]:
        """The states that may follow a support under an action, by observation."""
        m = self.parts.space.model
        n, found = m.reward.shape[0], dict[int, set[int]]()
        for s in support:
            for lands in m.t_next[m.t_ptr[a * n + s] : m.t_ptr[a * n + s + 1]].tolist():
                for o in m.z_obs[m.z_ptr[a * n + lands] : m.z_ptr[a * n + lands + 1]].tolist():
                    found.setdefault(o, set()).add(lands)
        return found

    def _special(self) -> _Rows:
        """Belief plans and plans of supports; more of them may turn up on the way."""
        k = self.search.model.n_costs
        rows = [self._row(node) for node in self._order]
        action, after, sure, domain, values = zip(*rows, strict=True) if rows else ((), (), (), (), ())
        return _Rows(
            np.array(action, dtype=np.int64),
            np.array(after, dtype=np.int64).reshape(len(rows), self.search.model.n_observations),
            np.array(sure, dtype=np.float64).reshape(len(rows), k),
            np.array(domain, dtype=np.int64),
            np.array([len(v) for v in values], dtype=np.int64),
            np.concatenate([np.zeros(0), *values]),
        )

    def _all_plans(self) -> IntArray:
        """The plans of classes that nodes refer to, those first, with all that follow them."""
        known = np.zeros(int(self.parts.counts["plans"][0]), dtype=np.bool_)
        found = [np.array(list(self._plans), dtype=np.int64)]
        known[found[0]] = True
        while found[-1].size:
            followers = self._followers(found[-1])[2]
            new = np.unique(followers[~known[followers]]).astype(np.int64)
            known[new] = True
            found.append(new)
        return np.concatenate(found)

    def _followers(self, plans: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Which of the plans, after which observation, is followed by which plan."""
        x, info = self.parts.space, self.parts.plans.info[plans]
        pair = info["cls"].astype(np.int64) * x.gain.shape[2] + info["action"]
        row, k = _ragged(x.seen_ptr[pair + 1] - x.seen_ptr[pair])
        return row, x.seen_obs[x.seen_ptr[pair][row] + k], self.parts.plans.link[info["links"][row] + k]

    def _plans_of_classes(self, plans: IntArray) -> _Rows:
        x, g, order = self.parts.space, self.parts.plans, self.search.classes.order
        info = g.info[plans]
        row, seen, follower = self._followers(plans)
        after = np.full((plans.size, x.model.n_observations), NONE)
        after[row, seen] = -2 - follower
        classes, cls = np.unique(info["cls"], return_inverse=True)
        domains, place = np.empty(classes.size, dtype=np.int64), np.empty(order.size, dtype=np.int64)
        for i, c in enumerate(classes.tolist()):
            first, last = int(x.start[c]), int(x.start[c + 1])
            domains[i] = self._domain.setdefault(tuple(range(first, last)), len(self._domain))
            place[first:last] = np.argsort(order[first:last])
        start, size = x.start[info["cls"]], np.diff(x.start)[info["cls"]]
        row, k = _ragged(size)
        values = g.value[(info["values"] + self._reward_row * size)[row] + place[start[row] + k]]
        return _Rows(info["action"].astype(np.int64), after, g.sure[plans], domains[cls.reshape(-1)], size, values)

    def nodes(self) -> tuple[list[AnyArray], tuple[_Rows, _Rows], IntArray]:
        """Return the domains, the nodes, and what follows each of them, [n, O]."""
        order, special = self.search.classes.order, self._special()
        plans = self._all_plans()
        parts = special, self._plans_of_classes(plans)
        number = np.full(int(self.parts.counts["plans"][0]), NONE)
        number[plans] = len(self._order) + np.arange(plans.size)
        after = np.concatenate([part.after for part in parts])
        to_plan = after <= -2
        after[to_plan] = number[-2 - after[to_plan]]
        return [np.sort(order[list(states)]) for states in self._domain], parts, after

    def policy(self) -> PlanSetPolicy:
        """Return all nodes as a policy of the model, in its own numbering of states."""
        states, parts, after = self.nodes()
        return PlanSetPolicy(
            self.search.model,
            actions=np.concatenate([part.action for part in parts]),
            successors=after,
            sure_cost=np.concatenate([part.sure for part in parts]),
            domain=np.concatenate([part.domain for part in parts]),
            domain_start=np.cumsum([0, *(len(states_of) for states_of in states)]),
            domain_states=np.concatenate([np.zeros(0, dtype=np.int64), *states]),
            values_start=np.concatenate([[0], np.cumsum(np.concatenate([part.size for part in parts]))]),
            values=np.concatenate([part.values for part in parts]),
        )


def _ragged(count: IntArray) -> tuple[IntArray, IntArray]:
    """The row of each entry of rows that have so many of them, and its place in the row."""
    row = np.repeat(np.arange(count.size), count)
    return row, np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)


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
