"""Check of a plan set, plan by plan: no history is walked but through its belief nodes.

If ``α ≤ R + γ Σ TZ α_o`` fails by at most e everywhere, the policy earns at least ``α·b − e/(1−γ)`` from wherever it
follows a plan: a change of plan never lowers what is promised. If ``c̄ + β max_o w_o ≤ (1 + η) w`` everywhere, and who
changes asks for ``w ≤ d``, a history spends more than its budget ĉ by at most ``Σ_t η β^t w_t``, where β^t w_t is at
most ĉ and ``β^t w_max``: by ``η ĉ (1 + ln(w_max/ĉ)) / (1−β)``. Where β = 1, w never rises while a plan is followed,
steps that are free are exact, and there are at most ``ĉ / min c̄`` others, c̄ being of plans, after those through belief
nodes, which never repeat and may cost next to nothing; who changes begins anew. So a rounding e or η is told apart from
a fault, and allowed for.

Guides promise nothing, and nothing is checked of them: no plan leads to one, and the policy itself looks before it
follows one whether some plan fits afterwards. With guides, what is proven of the reward is what the plans alone earn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._types import AnyArray, FloatArray, IntArray
from ..model import CPOMDP
from ..policies import PlanSetPolicy
from .chain import entries
from .worst import EPS

_VALUE_ROUNDING = 1e-9  # of values, relative to the largest value or reward
_COST_ROUNDING = 1e-12  # of sure costs, relative to each; also what a change of plan allows itself
_ONE_BELIEF = 1e-9  # relative difference of beliefs that are one
_ENTRIES = 4_000_000  # of plans and states that are held at a time


class Fault(Exception):  # noqa: N818 - it is what is wrong with a plan set, not with the program
    """A fault of a plan set, in one sentence."""


class Proven(NamedTuple):
    """Bounds that are proven for a plan set."""

    reward: float  # that it earns at least
    lowered: float  # by how much this is below what it promises, for rounding
    sure_cost: FloatArray  # [K] no history spends more
    beliefs: int  # nodes that were walked


def prove(model: CPOMDP, policy: PlanSetPolicy) -> Proven:
    """Prove bounds for a plan set; one that breaks its promises raises a `Fault`."""
    return _Check(model, policy).proof()


class _Check:
    """A check in progress, with the largest e and η that it met."""

    def __init__(self, model: CPOMDP, policy: PlanSetPolicy) -> None:
        self.model, self.policy, self.gamma = model, policy, model.discount
        self.beta = model.cost_discount
        self.promised = np.repeat(~policy.is_guide, np.diff(policy.values_start))  # values that are promises
        largest = float(np.abs(policy.values[self.promised]).max())
        self.largest = max(largest, float(np.abs(model.reward).max()))
        self.limited = np.flatnonzero(np.isfinite(policy.budget))  # costs whose sure costs matter
        self.e = 0.0
        self.eta = np.zeros(model.n_costs)
        self.free_eta = np.zeros(model.n_costs)  # of steps that cost nothing
        self.cheapest = np.full(model.n_costs, np.inf)  # of steps of plans that cost something
        self.depth = 0  # of the belief nodes: the most of them in a history
        self.blurred = 0.0  # relative error of the beliefs of belief nodes
        self.walked = 0

    def proof(self) -> Proven:
        """Make all checks, one after another."""
        policy, start = self.policy, self.policy.start
        self._check_size()
        for members in self._groups():
            self._check_plans(members)
        promised = self._check_start()
        dearest = np.zeros(self.model.n_costs)  # a step can cost, whatever is done
        for a in np.unique(policy.actions).tolist():
            dearest = np.maximum(dearest, self.model.cost[:, :, a].max(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(dearest > 0, dearest / self.model.cost_fade, 0.0)
        for k in self.limited.tolist():
            left = max(float(policy.budget[k]) * (1 + _COST_ROUNDING), float(policy.sure_cost[start, k]))
            most[k] = min(most[k], left * (1 + self.blurred + self._rounding(k, left)))
        for k in np.flatnonzero(most > self.model.spending_limit).tolist():
            which = f" of {self.model.costs[k]}" if self.model.n_costs > 1 else ""
            raise Fault(f"the policy may spend {most[k]:.9g}{which}, and {self.model.budget[k]:.9g} is the budget")
        lowered = self.e / self.model.fade
        return Proven(promised - lowered, lowered, most, self.walked)

    def _check_size(self) -> None:
        """Refuse values beyond what any policy earns or loses: their rounding would hide all other faults."""
        beyond = float(np.abs(self.model.reward).max()) / self.model.fade * (1 + _VALUE_ROUNDING)
        for place in np.flatnonzero(self.promised & (np.abs(self.policy.values) > beyond)).tolist():
            i = int(np.searchsorted(self.policy.values_start, place, side="right")) - 1
            value = self.policy.values[place]
            raise Fault(f"{self._name(i)} promises {value:.9g}{self._where(i, place)}, as no policy can earn")

    def _groups(self) -> Iterator[IntArray]:
        """The plans of each domain and action."""
        policy = self.policy
        plans = np.flatnonzero((policy.domain >= 0) & ~policy.is_guide)
        key = policy.domain[plans] * self.model.n_actions + policy.actions[plans]
        order = np.argsort(key, kind="stable")
        ends = np.flatnonzero(np.diff(key[order])) + 1
        yield from (part for part in np.split(plans[order], ends) if part.size)

    def _states(self, domain: int) -> IntArray:
        first = self.policy.domain_start
        return self.policy.domain_states[first[domain] : first[domain + 1]]

    def _check_plans(self, members: IntArray) -> None:
        """Check plans of one domain and action: every observation is covered, and vectors and sure costs hold."""
        model, policy = self.model, self.policy
        states, a = self._states(int(policy.domain[members[0]])), int(policy.actions[members[0]])
        move = model.transition[a][states]
        lands = np.unique(move.indices)
        move, told = move[:, lands], model.observation[a][lands].tocsc()
        dearest = model.cost[:, states, a].max(axis=1)
        self.cheapest = np.where(dearest > 0, np.minimum(self.cheapest, dearest), self.cheapest)
        # of a sum of rewards, and of the products with beliefs by which the policy compares plans
        terms = int(np.diff(move.indptr).max()) + int(np.bincount(told.indices).max()) + states.size + 4
        size = max(1, _ENTRIES // lands.size)
        for part in (members[i : i + size] for i in range(0, members.size, size)):
            after = np.zeros((part.size, lands.size))
            worst = np.zeros((part.size, model.n_costs))
            dear = np.zeros(worst.shape, dtype=np.int64)  # the observation that this follows
            for o in np.flatnonzero(np.diff(told.indptr)).tolist():
                entry = slice(told.indptr[o], told.indptr[o + 1])
                rows, chance = told.indices[entry], told.data[entry]
                follower = policy.successors[part, o]
                for i in np.flatnonzero(follower < 0).tolist():
                    source = states[move.tocsc()[:, rows[:1]].indices[0]]
                    raise Fault(self._no_successor(int(part[i]), o, int(source)))
                for domain in np.unique(policy.domain[follower]).tolist():
                    these = np.flatnonzero(policy.domain[follower] == domain)
                    place = self._inside(int(part[these[0]]), o, int(follower[these[0]]), lands[rows])
                    vectors = policy.values[policy.values_start[follower[these], None] + place]
                    after[np.ix_(these, rows) if these.size < part.size else (slice(None), rows)] += chance * vectors
                dear[policy.sure_cost[follower] > worst] = o
                worst = np.maximum(worst, policy.sure_cost[follower])
            product: Any = move  # the stubs know no product with a dense matrix
            earned = model.reward[states, a] + self.gamma * (product @ after.T).T
            promised = policy.values[policy.values_start[part, None] + np.arange(states.size)]
            self._check_values(part, promised, earned, terms)
            self._check_costs(part, np.broadcast_to(dearest, worst.shape), worst, dear)

    def _inside(self, i: int, o: int, follower: int, states: AnyArray) -> IntArray:
        """Places of the states after node i and observation o in the domain of the plan that follows."""
        domain = int(self.policy.domain[follower])
        seen = self.model.observations[o]
        if domain < 0 or self.policy.is_guide[follower]:
            raise Fault(f"{self._name(i)} goes to {self._name(follower)} after observation {seen!r}, not to a plan")
        known = self._states(domain)
        place = np.searchsorted(known, states)
        for missing in states[known[np.minimum(place, known.size - 1)] != states].tolist():
            raise Fault(
                f"{self._name(i)} goes to {self._name(follower)} after observation {seen!r}, "
                f"which does not cover state {self.model.states[missing]!r}"
            )
        return place

    def _no_successor(self, i: int, o: int, source: int) -> str:
        """A complaint that names the node, the observation and a state it comes from."""
        return (
            f"{self._name(i)} has no successor after observation {self.model.observations[o]!r}, "
            f"which can follow state {self.model.states[source]!r}"
        )

    def _check_values(self, nodes: IntArray, promised: FloatArray, earned: FloatArray, terms: int) -> None:
        excess = promised - earned
        rounding = 2 * EPS * terms * self.largest
        for i, s in np.argwhere(~(excess <= _VALUE_ROUNDING * self.largest)).tolist():
            node = int(nodes[i])
            where = self._where(node, int(self.policy.values_start[node]) + s)
            raise Fault(
                f"{self._name(node)} promises {promised[i, s]:.9g}{where}, and its step earns {earned[i, s]:.9g}"
            )
        self.e = max(self.e, max(0.0, float(excess.max())) + rounding)

    def _check_costs(self, nodes: IntArray, step: FloatArray, worst: FloatArray, dear: IntArray) -> None:
        """Check what is spent: ``step [nodes, K]``, then ``worst [nodes, K]`` after observation ``dear``."""
        for i, k in np.argwhere(step > self.model.arrays.step_limit).tolist():
            limit = f"its limit is {self.model.step_limit[k]:.9g}"
            raise Fault(f"the step of {self._name(int(nodes[i]))} may cost {step[i, k]:.9g}; {limit}")
        spent = step + self.beta * worst
        for k in self.limited.tolist():
            promised = self.policy.sure_cost[nodes, k]
            for i in np.flatnonzero(spent[:, k] > promised * (1 + _COST_ROUNDING)).tolist():
                raise Fault(self._too_dear(int(nodes[i]), k, float(spent[i, k]), int(dear[i, k])))
            is_free = step[:, k] == 0
            for eta, rounding, these in ((self.eta, EPS, ~is_free), (self.free_eta, 0.0, is_free)):
                paid = these & (promised > 0)
                if paid.any():
                    eta[k] = max(eta[k], float((spent[paid, k] / promised[paid]).max()) - 1 + rounding)

    def _rounding(self, k: int, left: float) -> float:
        """Share of a budget by which a history may exceed it, for rounding of sure costs."""
        eta, beta = max(self.eta[k], self.free_eta[k]), float(self.beta[k])
        if beta < 1:
            dear = float(self.policy.sure_cost[~self.policy.is_guide, k].max())
            spread = 1 + np.log(dear / left) if dear > left > 0 else 1.0
            return float((eta + EPS) * spread / (1 - beta))
        steps = min(self.model.most_steps, self.depth + left / self.cheapest[k] + 1)
        endless = self.free_eta[k] * self.model.most_steps if self.free_eta[k] > 0 else 0.0
        return float(_COST_ROUNDING + self.eta[k] * steps + endless)

    def _too_dear(self, i: int, k: int, spent: float, o: int) -> str:
        """A complaint that names the costliest successor."""
        follower = int(self.policy.successors[i, o])
        rest = float(self.policy.sure_cost[follower, k])
        which = f" of {self.model.costs[k]}" if self.model.n_costs > 1 else ""
        told = f"{self._name(i)} promises to spend at most {self.policy.sure_cost[i, k]:.9g}{which}"
        if follower < 0 or not rest:
            return f"{told}, and its step costs up to {spent:.9g}"
        seen = self.model.observations[o]
        return (
            f"{told}, and may spend {spent:.9g}: after observation {seen!r} "
            f"{self._name(follower)} spends up to {rest:.9g}"
        )

    def _check_start(self) -> float:
        """Check that the start keeps the budget; return the reward that it promises at the initial belief."""
        policy, model, start = self.policy, self.model, self.policy.start
        # beyond its own budget the policy would not start there
        limit = np.minimum(policy.model.spending_limit, model.spending_limit)
        for k in np.flatnonzero(policy.sure_cost[start] > limit).tolist():
            if k in self.limited:
                spent, budget = policy.sure_cost[start, k], min(policy.budget[k], model.budget[k])
                raise Fault(f"the start, {self._name(start)}, may spend {spent:.9g} > {budget:.9g}")
        support = np.flatnonzero(model.initial_belief)
        if policy.domain[start] < 0:
            self._walk(support, model.initial_belief[support])
            return float(policy.values[policy.values_start[start]])
        known = self._states(int(policy.domain[start]))
        place = np.searchsorted(known, support)
        for missing in support[known[np.minimum(place, known.size - 1)] != support].tolist():
            raise Fault(f"the start, {self._name(start)}, does not cover state {model.states[missing]!r}")
        return float(policy.values[policy.values_start[start] + place] @ model.initial_belief[support])

    def _walk(self, support: IntArray, probability: FloatArray) -> None:
        """Check every belief node that can be reached, at its belief."""
        held: dict[int, tuple[AnyArray, FloatArray]] = {self.policy.start: (support, probability)}
        order, self.depth = self._in_order()
        widest, apart = support.size, 0.0
        for i in order:
            if i not in held:
                continue  # no history leads there
            self.walked += 1
            states, chance = held.pop(i)
            widest = max(widest, states.size)
            for j, follows, after in self._check_belief_node(i, states, chance):
                if j in held:
                    apart = max(apart, self._apart(j, held[j], (follows, after)))
                else:
                    held[j] = (follows, after)
        self.blurred = self.depth * (EPS * (widest + 4) + apart)
        self.e += 2 * self.blurred * self.largest

    def _in_order(self) -> tuple[list[int], int]:
        """The belief nodes from the start on, each after all that lead to it, and the most steps to one."""
        policy = self.policy
        nodes = np.flatnonzero(policy.domain < 0)
        follower = policy.successors[nodes]
        leads = (follower >= 0) & (policy.domain[follower] < 0)
        after = {int(i): np.unique(row[here]).tolist() for i, row, here in zip(nodes, follower, leads, strict=True)}
        reached = {policy.start: None}
        for i in (met := [policy.start]):
            fresh = [j for j in after[i] if j not in reached]
            reached.update(dict.fromkeys(fresh))
            met += fresh
        waiting = dict.fromkeys(reached, 0)
        for i in reached:
            for j in after[i]:
                waiting[j] += 1
        order: list[int] = []
        depth, level = 0, [i for i in reached if not waiting[i]]
        while level:
            depth += 1
            order += level
            following = []
            for i in level:
                for j in after[i]:
                    waiting[j] -= 1
                    if not waiting[j]:
                        following.append(j)
            level = following
        for i in sorted(reached.keys() - order):  # those of a cycle, and those that it leads to
            closing = np.flatnonzero([j >= 0 and waiting.get(int(j), 0) > 0 for j in policy.successors[i]])
            if closing.size:
                seen, j = self.model.observations[closing[0]], int(policy.successors[i, closing[0]])
                raise Fault(f"{self._name(i)} goes to {self._name(j)} after observation {seen!r}, which closes a cycle")
        return order, depth

    def _check_belief_node(
        self, i: int, states: AnyArray, probability: FloatArray
    ) -> Iterator[tuple[int, AnyArray, FloatArray]]:
        """Check a node at its belief; yield the belief nodes that follow, with theirs."""
        model, policy, a = self.model, self.policy, int(self.policy.actions[i])
        t, z = model.transition[a], model.observation[a]
        moved, entry = entries(t.indptr, states)
        lands, place = np.unique(t.indices[entry], return_inverse=True)
        arrives = np.bincount(place, probability[moved] * t.data[entry])
        seen, z_entry = entries(z.indptr, lands)
        joint = arrives[seen] * z.data[z_entry]
        kept = np.flatnonzero(joint > 0)
        kept = kept[np.argsort(z.indices[z_entry][kept], kind="stable")]
        observation, joint, follows = z.indices[z_entry][kept], joint[kept], lands[seen][kept]
        earned = float(model.reward[states, a] @ probability)
        worst, dear = np.zeros(model.n_costs), np.zeros(model.n_costs, dtype=np.int64)
        first = 0
        for last in (np.flatnonzero(np.diff(observation, append=-1)) + 1).tolist():
            part, o = slice(first, last), int(observation[first])
            first = last
            j, total = int(policy.successors[i, o]), float(joint[part].sum())
            if j < 0:
                source = states[moved[np.flatnonzero(t.indices[entry] == follows[part][0])[0]]]
                raise Fault(self._no_successor(i, o, int(source)))
            dear[policy.sure_cost[j] > worst] = o
            worst = np.maximum(worst, policy.sure_cost[j])
            if policy.domain[j] < 0:
                earned += self.gamma * total * float(policy.values[policy.values_start[j]])
                yield j, follows[part], joint[part] / total
            else:
                vector = policy.values[policy.values_start[j] + self._inside(i, o, j, follows[part])]
                earned += self.gamma * float(vector @ joint[part])
        node = np.array([i])
        promised = policy.values[policy.values_start[node]]
        self._check_values(node, promised[:, None], np.array([[earned]]), joint.size + 4)
        self._check_costs(node, (model.cost[:, states, a] @ probability)[None], worst[None], dear[None])

    def _apart(self, i: int, one: tuple[AnyArray, FloatArray], other: tuple[AnyArray, FloatArray]) -> float:
        """The relative difference of two beliefs at which a node is reached."""
        if np.array_equal(one[0], other[0]):
            difference = float(np.abs(one[1] / other[1] - 1).max())
            if difference <= _ONE_BELIEF:
                return difference
        raise Fault(f"{self._name(i)} is reached at more than one belief")

    def _name(self, i: int) -> str:
        return self.policy.name(i)

    def _where(self, i: int, place: int) -> str:
        """The state of a plan's value."""
        if self.policy.domain[i] < 0:
            return ""
        state = self._states(int(self.policy.domain[i]))[place - self.policy.values_start[i]]
        return f" at state {self.model.states[int(state)]!r}"
