"""Plan sets for tests: of a controller, grown by backups under budgets, and with belief nodes in front.

    policy = of_controller(model, controller)  # one plan per node
    policy = grown(model, 40, seed)            # rounds of backups at random beliefs and budgets
    policy = with_course(grown(model, 40, seed), steps=2)

Everything is computed here by NumPy from the model's matrices, and shares no code with what is tested.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import rcpomdp as rc
from rcpomdp.policies import ControllerPolicy, PlanSetPolicy

Belief = np.ndarray  # [S]


class Plan(NamedTuple):
    """A node before it has a number; `states` is None at a belief node."""

    action: int
    successors: list[int]
    w: np.ndarray
    states: tuple[int, ...] | None
    values: np.ndarray


def assembled(model: rc.CPOMDP, plans: list[Plan], start: int) -> PlanSetPolicy:
    domains = sorted({plan.states for plan in plans if plan.states is not None})
    return PlanSetPolicy(
        model,
        actions=np.array([plan.action for plan in plans]),
        successors=np.array([plan.successors for plan in plans]),
        sure_cost=np.array([plan.w for plan in plans]).reshape(len(plans), model.n_costs),
        domain=np.array([-1 if plan.states is None else domains.index(plan.states) for plan in plans]),
        domain_start=np.cumsum([0, *(len(d) for d in domains)]),
        domain_states=np.array([s for d in domains for s in d], dtype=np.int64),
        values_start=np.cumsum([0, *(len(plan.values) for plan in plans)]),
        values=np.concatenate([plan.values for plan in plans]),
        start=start,
    )


def taken_apart(policy: PlanSetPolicy) -> list[Plan]:
    found = []
    for i, domain in enumerate(policy.domain.tolist()):
        first = policy.domain_start
        states = None if domain < 0 else tuple(policy.domain_states[first[domain] : first[domain + 1]].tolist())
        values = policy.values[policy.values_start[i] : policy.values_start[i + 1]].copy()
        found.append(
            Plan(int(policy.actions[i]), policy.successors[i].tolist(), policy.sure_cost[i].copy(), states, values)
        )
    return found


class Matrices:
    """A model as dense matrices."""

    def __init__(self, model: rc.CPOMDP) -> None:
        self.model = model
        self.T = np.array([t.toarray() for t in model.transition])
        self.Z = np.array([z.toarray() for z in model.observation])

    def after(self, b: Belief, a: int) -> dict[int, np.ndarray]:
        """The unnormalised beliefs that follow, by observation."""
        joint = (b @ self.T[a])[:, None] * self.Z[a]
        return {int(o): joint[:, o] for o in np.flatnonzero(joint.sum(axis=0) > 0)}

    def may_follow(self, states: tuple[int, ...], a: int) -> dict[int, tuple[int, ...]]:
        """The states that may follow, by observation."""
        lands = (self.T[a][list(states)] > 0).any(axis=0)
        there = (self.Z[a] > 0) & lands[:, None]
        return {int(o): tuple(np.flatnonzero(there[:, o]).tolist()) for o in np.flatnonzero(there.any(axis=0))}


def sure_costs(model: rc.CPOMDP, here: np.ndarray, after: list[list[int]]) -> np.ndarray:
    """``w_i = here_i + γ max_j w_j`` over the successors j of i, [n, K]: the fixed point, or too much."""
    largest = model.cost.max(axis=(1, 2), initial=0.0) / (1 - model.discount)
    for first in (0.0, largest):
        w = np.zeros_like(here) + first
        for _ in range(1000):
            before, w = w, here + model.discount * np.array([w[row].max(axis=0) for row in after])
            if (w == before).all():
                return w
    return w  # from above, so that it never is too small


def of_controller(model: rc.CPOMDP, controller: ControllerPolicy) -> PlanSetPolicy:
    """The pairs of node and support that can be reached, each a plan with the support as its domain."""
    full = Matrices(model)
    first = controller.start, tuple(np.flatnonzero(model.initial_belief).tolist())
    number, pairs = {first: 0}, [first]
    follow: list[dict[int, int]] = []
    for i, states in pairs:
        row = {}
        for o, lands in full.may_follow(states, int(controller.actions[i])).items():
            pair = int(controller.successors[i, o]), lands
            row[o] = number.setdefault(pair, len(pairs))
            if row[o] == len(pairs):
                pairs.append(pair)
        follow.append(row)
    vectors = rc.policies.node_vectors(controller, model).vectors
    here = np.array([model.cost[:, list(states), controller.actions[i]].max(axis=1) for i, states in pairs])
    w = sure_costs(model, here, [list(row.values()) for row in follow])
    plans = [
        Plan(
            int(controller.actions[i]),
            [row.get(o, -1) for o in range(model.n_observations)],
            sure,
            states,
            vectors[i, list(states)],
        )
        for (i, states), row, sure in zip(pairs, follow, w, strict=True)
    ]
    return assembled(model, plans, 0)


def grown(model: rc.CPOMDP, rounds: int, seed: int = 0) -> PlanSetPolicy:
    """Blind plans for every class and action, then rounds of backups; it starts at the best within the budget."""
    made, rng = _Growth(model), np.random.default_rng(seed)
    for a in range(model.n_actions):
        made.add_blind(a)
    for _ in range(rounds):
        made.add_round(rng)
    return assembled(model, made.plans, max(made.best(model.initial_belief, model.budget), 0))


class _Growth:
    """Plans over observability classes, which a backup at a belief and a budget adds to."""

    def __init__(self, model: rc.CPOMDP) -> None:
        self.model, self.full = model, Matrices(model)
        classes = rc.observability_classes(model)
        parts = np.split(classes.order, classes.start[1:-1])
        reached = [part for part, here in zip(parts, classes.reachable, strict=True) if here]
        self.domains = [tuple(np.sort(part).tolist()) for part in reached]
        self.of_state = {s: c for c, d in enumerate(self.domains) for s in d}
        self.plans: list[Plan] = []
        self.by_class: list[list[int]] = [[] for _ in self.domains]
        largest = model.cost.max(axis=(1, 2), initial=0.0) / (1 - model.discount)
        self.budget = np.where(np.isfinite(model.budget), model.budget, largest)

    def add(self, plan: Plan, c: int) -> None:
        self.by_class[c].append(len(self.plans))
        self.plans.append(plan)

    def add_blind(self, a: int) -> None:
        model, full = self.model, self.full
        follow = [{o: self.of_state[s[0]] for o, s in full.may_follow(d, a).items()} for d in self.domains]
        dearest = np.array([model.cost[:, list(d), a].max(axis=1) for d in self.domains])
        alpha = np.linalg.solve(np.eye(model.n_states) - model.discount * full.T[a], model.reward[:, a])
        w = sure_costs(model, dearest, [list(f.values()) for f in follow])
        first = len(self.plans)
        for c, d in enumerate(self.domains):
            row = [first + follow[c][o] if o in follow[c] else -1 for o in range(model.n_observations)]
            self.add(Plan(a, row, w[c], d, alpha[list(d)]), c)

    def best(self, b: np.ndarray, d: np.ndarray) -> int:
        """The best plan at a belief, normalised or not, within a budget; -1 if there is none."""
        c = self.of_state[int(np.flatnonzero(b)[0])]
        within = [i for i in self.by_class[c] if (self.plans[i].w <= d).all()]
        there = b[list(self.domains[c])]
        return max(within, key=lambda i: float(self.plans[i].values @ there), default=-1)

    def backup(self, b: Belief, d: np.ndarray, a: int) -> Plan | None:
        """The action, and after every observation the best plan that its cost leaves something for."""
        model, full = self.model, self.full
        domain = self.domains[self.of_state[int(np.flatnonzero(b)[0])]]
        states = list(domain)
        dearest = model.cost[:, states, a].max(axis=1)
        if (dearest > d).any():
            return None
        left, after = (d - dearest) / (model.discount or 1.0), full.after(b, a)
        row, vector, w = [-1] * model.n_observations, model.reward[states, a].copy(), np.zeros(model.n_costs)
        for o, lands in full.may_follow(domain, a).items():
            row[o] = self.best(after.get(o, np.eye(model.n_states)[lands[0]]), left)
            if row[o] < 0:
                return None
            follower = self.plans[row[o]]
            spread = np.zeros(model.n_states)
            spread[list(follower.states or ())] = follower.values
            vector += model.discount * full.T[a][states] @ (full.Z[a][:, o] * spread)
            w = np.maximum(w, follower.w)
        return Plan(a, row, dearest + model.discount * w, domain, vector)

    def add_round(self, rng: np.random.Generator) -> None:
        """Walk a few random steps from the start with some part of the budget; back up on the way back."""
        model = self.model
        b, d = model.initial_belief, self.budget * rng.choice([1.0, rng.random()])
        steps = []
        for _ in range(int(rng.integers(1, 6))):
            steps.append((b, d))
            a = int(rng.integers(model.n_actions))
            after = self.full.after(b, a)
            o = int(rng.choice(list(after), p=np.array([j.sum() for j in after.values()]) / b.sum()))
            d = np.maximum(0.0, d - model.cost[:, :, a] @ b) / (model.discount or 1.0)
            b = after[o] / after[o].sum()
        for b, d in reversed(steps):
            c = self.of_state[int(np.flatnonzero(b)[0])]
            found = [plan for a in range(model.n_actions) if (plan := self.backup(b, d, a)) is not None]
            if found:
                self.add(max(found, key=lambda plan: float(plan.values @ b[list(self.domains[c])])), c)


def with_course(policy: PlanSetPolicy, steps: int) -> PlanSetPolicy:
    """So many steps of the plan at the start as belief nodes, which count what is expected to be spent there."""
    model, full = policy.model, Matrices(policy.model)
    plans = taken_apart(policy)

    def unfold(i: int, b: Belief, left: int) -> int:
        if not left:
            return i
        plan, spent, w = plans[i], model.cost[:, :, plans[i].action] @ b, np.zeros(model.n_costs)
        value, row = float(model.reward[:, plan.action] @ b), [-1] * model.n_observations
        for o, joint in full.after(b, plan.action).items():
            total = joint.sum()
            row[o] = unfold(plan.successors[o], joint / total, left - 1)
            follower = plans[row[o]]
            promised = follower.values[0] if follower.states is None else follower.values @ joint[list(follower.states)]
            value += model.discount * float(promised) * (total if follower.states is None else 1.0)
            w = np.maximum(w, follower.w)
        plans.append(Plan(plan.action, row, spent + model.discount * w, None, np.array([value])))
        return len(plans) - 1

    return assembled(model, plans, unfold(policy.start, model.initial_belief, steps))


def changed(policy: PlanSetPolicy, i: int | None = None, **parts: Any) -> PlanSetPolicy:
    """The policy with parts of one node changed, or with another start."""
    plans = taken_apart(policy)
    start = parts.pop("start", policy.start)
    if i is not None:
        plans[i] = plans[i]._replace(**parts)
    return assembled(policy.model, plans, start)
