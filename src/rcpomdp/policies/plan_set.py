"""Plan sets: what α-vectors are to a POMDP, under a budget.

A plan is an action, a successor for every observation, a vector and a sure cost over a set of states, its domain:

``α(s) ≤ R(s, a) + γ Σ_{s',o} T(s, a, s') Z(s', a, o) α_o(s')``, ``w ≥ max_{s in domain} C(s, a) + γ max_o w_o``.

It may be followed from every belief b over its domain with ``w ≤ d`` left, and earns at least ``α·b`` (docs/theory.md,
Theorem 4). A *belief node* is met from the start at one belief b alone, and may use the cost that is expected there:
``v ≤ R(b, a) + γ Σ_o p(o) v_o``, ``w ≥ C(b, a) + γ max_o w_o``. Belief nodes form no cycle, and plans lead to plans.

A *guide* is a vector and an action without a promise: its sure cost is infinite, and nothing follows it. The policy
takes the action of the best guide after which, whatever is observed, some plan can still be paid for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from .._types import AnyArray, BoolArray, FloatArray, IntArray
from ..errors import PolicyError
from ..kernels.simulation import plan_set as kernels
from ..kernels.simulation.rollout import PLAN_SET
from ..model import CPOMDP, beliefs
from ..model.beliefs import Belief
from ..model.validation import real_array
from ..views import notebook
from .base import STEP_WORK, Batch, observed, program, whole_numbers


class PlanSetState(NamedTuple):
    """The place of a run."""

    belief: Belief
    left: tuple[float, ...]  # [K] d; inf is unlimited
    node: int


class Guide(NamedTuple):
    """A vector that is compared with others at a belief, and the action that it stands for."""

    action: int
    states: IntArray  # increasing, that it covers
    vector: FloatArray  # one value for each


class PlanSetPolicy:
    """Follow a plan, and change to a better one whenever the budget that is left allows it.

    At (b, d) and node i the action is a_i. After observation o the node is i_o, with ``d' = (d − C(b, a_i)) / γ`` left.
    If some plan with ``w ≤ d'`` promises more at the new belief, the best of them takes its place. The policy keeps the
    budget in every history, because ``w ≤ d`` always: ``w_o ≤ (w − C(b, a)) / γ ≤ d'`` where a plan is followed, and
    wherever it is changed (Theorem 6). It earns at least what the start promises. All this holds if the numbers
    are what they should be, which `verify` checks and the policy itself does not.

    With guides, the action at (b, d) is that of the guide with the largest α·b among those after which some plan has
    ``w ≤ d'``, whatever is observed. If there is none, it is that of the best plan with ``w ≤ d``. The budget is kept
    all the same, as there always is a plan to change to (Theorem 26). The start promises what the plans alone earn.

    The budget is that of `model`. From a start that costs more than that, the best plan within it is taken at once.

    Parameters
    ----------
    actions : [n] action of each node
    successors : [n, O] node that follows each observation; -1 where it cannot be made, and of guides
    sure_cost : [n, K] w: no history from this node on spends more; inf makes it a guide
    domain : [n] number of the node's domain; -1 makes it a belief node
    domain_start : [m + 1] domain i is ``domain_states[domain_start[i]:domain_start[i + 1]]``
    domain_states : states of the domains one after another, increasing in each
    values_start : [n + 1] the values of node i are ``values[values_start[i]:values_start[i + 1]]``
    values : of a plan or guide its vector over the domain's states, of a belief node the reward from its belief
    start : first node, no guide

    Examples
    --------
    >>> import rcpomdp as rc
    >>> model = rc.problems.make("tiger").with_budget(5)  # to listen for ever costs 4, to open a door nothing
    >>> policy = PlanSetPolicy(
    ...     model, actions=[0, 1], successors=[[0, 0], [1, 1]], sure_cost=[[4.0], [0.0]], domain=[0, 0],
    ...     domain_start=[0, 2], domain_states=[0, 1], values_start=[0, 2, 4], values=[-4, -4, -235, -125],
    ... )
    >>> rc.verify(model, policy)
    Verification: verified; reward at least -4, no history spends more than 4
    """

    def __init__(
        self,
        model: CPOMDP,
        actions: Any,
        successors: Any,
        sure_cost: Any,
        domain: Any,
        domain_start: Any,
        domain_states: Any,
        values_start: Any,
        values: Any,
        start: int = 0,
    ) -> None:
        self.model = model
        self.actions = whole_numbers(actions, "actions of a plan set")
        self.successors = whole_numbers(successors, "successors of a plan set")
        self.sure_cost: FloatArray = real_array(sure_cost, "sure costs").copy()
        self.domain = whole_numbers(domain, "domains of the nodes")
        self.domain_start = whole_numbers(domain_start, "beginnings of the domains")
        self.domain_states = whole_numbers(domain_states, "states of the domains")
        self.values_start = whole_numbers(values_start, "beginnings of the values")
        self.values: FloatArray = real_array(values, "values").copy()
        self.start = int(start)
        self._check_nodes()
        self._check_domains()
        self._check_values()
        for array in self.arrays:
            array.setflags(write=False)

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """The arrays that the policy was made from, in the order of the constructor."""
        return (
            self.actions,
            self.successors,
            self.sure_cost,
            self.domain,
            self.domain_start,
            self.domain_states,
            self.values_start,
            self.values,
        )

    def with_costs(self, model: CPOMDP, sure_cost: Any) -> PlanSetPolicy:
        """The same plans for a model with other costs."""
        return PlanSetPolicy(
            model,
            self.actions,
            self.successors,
            sure_cost,
            self.domain,
            self.domain_start,
            self.domain_states,
            self.values_start,
            self.values,
            self.start,
        )

    def with_states(self, model: CPOMDP, state: IntArray, actions: IntArray | None = None) -> PlanSetPolicy:
        """The same plans for a model whose state ``state[i]`` is state i; it increases within each domain.

        ``actions [n]`` are what the nodes' actions are there, if that is something else.
        """
        return PlanSetPolicy(
            model,
            self.actions if actions is None else actions,
            self.successors,
            self.sure_cost,
            self.domain,
            self.domain_start,
            state[self.domain_states],
            self.values_start,
            self.values,
            self.start,
        )

    def with_guides(self, guides: Sequence[Guide]) -> PlanSetPolicy:
        """The same plans with guides; where nothing costs anything there are none."""
        if not self.model.n_costs:
            return self
        parts, n = np.split(self.domain_states, self.domain_start[1:-1]), len(guides)
        known = {part.tobytes(): i for i, part in enumerate(parts)}
        for guide in guides:
            if guide.states.tobytes() not in known:
                known[guide.states.tobytes()] = len(parts)
                parts.append(guide.states)
        domain = np.array([known[guide.states.tobytes()] for guide in guides], dtype=np.int64)
        sizes = [*np.diff(self.values_start), *(guide.vector.size for guide in guides)]
        return PlanSetPolicy(
            self.model,
            np.append(self.actions, np.array([guide.action for guide in guides], dtype=np.int64)),
            np.vstack([self.successors, np.full((n, self.model.n_observations), -1)]),
            np.vstack([self.sure_cost, np.full((n, self.model.n_costs), np.inf)]),
            np.append(self.domain, domain),
            np.cumsum([0, *map(len, parts)]),
            np.concatenate(parts),
            np.cumsum([0, *sizes]),
            np.concatenate([self.values, *(guide.vector for guide in guides)]),
            self.start,
        )

    def _check_nodes(self) -> None:
        model, n = self.model, self.actions.size
        if n == 0:
            raise PolicyError("a plan set needs at least one node")
        for array, name, shape in (
            (self.actions, "actions", (n,)),
            (self.successors, "successors", (n, model.n_observations)),
            (self.sure_cost, "sure costs", (n, model.n_costs)),
            (self.domain, "domains", (n,)),
            (self.values_start, "beginnings of values", (n + 1,)),
        ):
            if array.shape != shape:
                raise PolicyError(f"a plan set of {n} nodes needs {name} of shape {shape}, not {array.shape}")
        for i in np.flatnonzero((self.actions < 0) | (self.actions >= model.n_actions)):
            raise PolicyError(f"node {i} takes action {self.actions[i]}, which the model does not have")
        for i, o in np.argwhere((self.successors < -1) | (self.successors >= n)):
            raise PolicyError(
                f"node {i} goes to node {self.successors[i, o]} after observation "
                f"{model.observations[int(o)]!r}, which does not exist"
            )
        for i, k in np.argwhere(~(self.sure_cost >= 0)):
            raise PolicyError(f"the sure cost of node {i} is {self.sure_cost[i, k]:.12g}, not at least 0")
        guides = self.is_guide
        for i in np.flatnonzero(guides & (np.isfinite(self.sure_cost).any(axis=1) | (self.domain < 0))):
            raise PolicyError(f"node {i} has an infinite sure cost, but is no guide: those have no other, and a domain")
        for i, o in np.argwhere(guides[:, None] & (self.successors >= 0)):
            raise PolicyError(f"guide {i} has a successor after observation {model.observations[int(o)]!r}")
        if not 0 <= self.start < n:
            raise PolicyError(f"the plan set starts at node {self.start}, which does not exist")
        if guides[self.start]:
            raise PolicyError(f"the plan set starts at node {self.start}, which is a guide")

    def _check_domains(self) -> None:
        first, states = self.domain_start, self.domain_states
        if not _divides(first, states) or (np.diff(first) < 1).any():
            raise PolicyError(f"the beginnings of the domains do not divide {states.size} states")
        for i in np.flatnonzero((self.domain < -1) | (self.domain >= first.size - 1)):
            raise PolicyError(f"node {i} has domain {self.domain[i]}, which does not exist")
        for place in np.flatnonzero((states < 0) | (states >= self.model.n_states)):
            raise PolicyError(f"domain {_owner(first, place)} has state {states[place]}, which the model does not have")
        falls = np.diff(states) <= 0
        falls[first[1:-1] - 1] = False
        for place in np.flatnonzero(falls):
            raise PolicyError(f"the states of domain {_owner(first, place)} do not increase")

    def _check_values(self) -> None:
        size = np.append(np.diff(self.domain_start), 1)[self.domain]  # -1 is the last
        if not _divides(self.values_start, self.values):
            raise PolicyError(f"the beginnings of the values do not divide {self.values.size} numbers")
        for i in np.flatnonzero(np.diff(self.values_start) != size):
            raise PolicyError(f"node {i} has {np.diff(self.values_start)[i]} values, not {size[i]}")
        for place in np.flatnonzero(~np.isfinite(self.values)):
            raise PolicyError(f"a value of node {_owner(self.values_start, place)} is not finite")

    @cached_property
    def is_guide(self) -> BoolArray:
        """[n] True at nodes of which it is not known what they spend."""
        return np.asarray(np.isinf(self.sure_cost).any(axis=1))

    @property
    def step_work(self) -> int:
        """Elementary steps that a simulated step takes, about: a quarter of a domain's values is looked at."""
        return STEP_WORK + self.values.size // (4 * max(self.domain_start.size - 1, 1))

    @property
    def budget(self) -> FloatArray:
        """The budget at the start, [K]; inf is unlimited."""
        return self.model.budget

    @cached_property
    def _order(self) -> IntArray:
        """[n] the nodes as `PlanArrays` has them."""
        domain = np.where(self.domain < 0, self.domain_start.size, self.domain)
        keys = [*self.sure_cost.T[:1], domain]
        return np.lexsort(keys)

    @cached_property
    def _place(self) -> IntArray:
        """[n + 1] where each node stands in that order; -1 stays what it is."""
        place = np.full(self.actions.size + 1, -1)
        place[self._order] = np.arange(self.actions.size)
        return place

    def by_node(self, marks: BoolArray) -> BoolArray:
        """[n] marks of a program's nodes, in the order of the policy's own."""
        return marks[self._place[:-1]]

    @cached_property
    def _plans(self) -> kernels.PlanArrays:
        m, domain = self.domain_start.size - 1, self.domain[self._order]
        group = np.searchsorted(np.where(domain < 0, m, domain), np.arange(m + 1))
        guides = group[1:] - np.bincount(domain[self.is_guide[self._order]], minlength=m)
        size = np.diff(self.domain_start)
        values_start = np.concatenate([[0], np.cumsum(np.diff(group) * size)])
        values = np.empty(self.values.size)
        n_plans = guides - group[:-1]
        tops_start = np.concatenate([[0], np.cumsum(-(-n_plans // kernels.BLOCK) * size)])
        tops = np.empty(tops_start[-1])
        for i in np.flatnonzero(np.diff(group)).tolist():
            rows = self.values_start[self._order[group[i] : group[i + 1]], None] + np.arange(size[i])
            table = self.values[rows].T  # [states, plans and guides]
            values[values_start[i] : values_start[i + 1]] = table.ravel()
            if n_plans[i]:
                blocks = np.maximum.reduceat(table[:, : n_plans[i]], np.arange(0, n_plans[i], kernels.BLOCK), axis=1)
                tops[tops_start[i] : tops_start[i + 1]] = blocks.ravel()
        values[values_start[-1] :] = self.values[self.values_start[self._order[group[-1] :]]]
        holds = np.argsort(self.domain_states, kind="stable")
        held = np.bincount(self.domain_states, minlength=self.model.n_states)
        return kernels.PlanArrays(
            budget=self.budget.copy(),
            sure_cost=self.sure_cost[self._order],
            domain=domain,
            group=group,
            guides=guides,
            domain_start=self.domain_start.copy(),
            domain_states=self.domain_states.copy(),
            holder_start=np.concatenate([[0], np.cumsum(held)]),
            holder=np.repeat(np.arange(m), size)[holds],
            values_start=values_start,
            tops_start=tops_start,
            values=values,
            tops=tops,
        )

    @cached_property
    def _scratch(self) -> kernels.PlanScratch:
        model = self.model
        return kernels.plan_scratch(
            self.actions.size, model.n_states, model.n_actions, model.n_observations, model.n_costs
        )

    @cached_property
    def _initial(self) -> PlanSetState:
        b, start, left = beliefs.initial(self.model), int(self._place[self.start]), tuple(self.budget.tolist())
        value = -np.inf
        if (self.sure_cost[self.start] <= self.model.spending_limit).all():
            value = kernels.node_value(self._plans, start, *b, self._scratch.place)
        node = kernels.best_node(self._plans, start, value, self._plans.budget, *b, self._scratch)
        return PlanSetState(b, left, self._follow(node, left, b))

    def _follow(self, place: int, left: tuple[float, ...], belief: Belief) -> int:
        """The node to go on with, where that at a place is at hand."""
        program = self._program
        after = kernels.follow(
            self.model.arrays, program.plans, program.action, place, np.array(left), *belief, self._scratch
        )
        if after < 0:
            raise PolicyError("no plan of the set fits what is left of the budget")
        return int(self._order[after])

    def initial(self, rng: np.random.Generator) -> PlanSetState:
        """The initial belief with the whole budget, at the start or at a plan that promises more."""
        return self._initial

    def action(self, state: PlanSetState) -> int:
        """The node's action."""
        return int(self.actions[state.node])

    def update(self, state: PlanSetState, observation: int) -> PlanSetState:
        """Bayes' rule, what is left, and the node's successor or a plan within the budget that promises more."""
        o = observed(observation, self.model.n_observations)
        belief = beliefs.posterior(self.model, state.belief, self.action(state), o)
        left = self.left_after(state)
        return PlanSetState(belief, left, self.node_after(state.node, o, left, belief))

    def left_after(self, state: PlanSetState) -> tuple[float, ...]:
        """``d' = (d − C(b, a)) / γ``."""
        left = np.array(state.left)
        kernels.spend(self.model.arrays, self.action(state), *state.belief, left, left)
        return tuple(left.tolist())

    def node_after(self, node: int, observation: int, left: tuple[float, ...], belief: Belief) -> int:
        """The node that follows at the belief that an observation led to, with so much left."""
        successor = int(self.successors[node, observation])
        if successor < 0 and not self.is_guide[node]:
            seen = self.model.observations[observation]
            raise PolicyError(f"{self.name(node)} has no successor after observation {seen!r}")
        return self._follow(int(self._place[successor]), left, belief)

    def promise(self, state: PlanSetState) -> float:
        """The least that a state's node earns, if its plan is followed from there on; −inf of a guide."""
        if self.is_guide[state.node]:
            return -np.inf
        return kernels.node_value(self._plans, int(self._place[state.node]), *state.belief, self._scratch.place)

    def name(self, node: int) -> str:
        """A node in words."""
        kind = "guide" if self.is_guide[node] else "plan" if self.domain[node] >= 0 else "belief node"
        return f"{kind} {node}"

    def compressed(self, model: CPOMDP, loss: float = 0.0, time_limit: float = 60.0) -> PlanSetPolicy:
        """A set of fewer plans of which no less is proven but for `loss`, verified; `rc.compress` tells more of it."""
        from ..compression import compress  # it stands on policies and on their verification

        return cast(PlanSetPolicy, compress(model, self, loss, time_limit).policy)

    def batches(self, states: Sequence[PlanSetState], model: CPOMDP) -> list[Batch]:
        """One batch of all runs, which have not begun; through the protocol if it is another model's, as elsewhere."""
        memory = self._place[np.array([state.node for state in states], dtype=np.int64)]
        same = model.arrays is self.model.arrays or model.fingerprint == self.model.fingerprint
        return [Batch(np.arange(len(states)), self._program if same else None, memory)]

    @cached_property
    def _program(self) -> Any:
        action, successor = self.actions[self._order], self._place[self.successors[self._order]]
        for array in (action, successor):
            array.setflags(write=False)  # as a controller's are, so that one compiled kernel runs both
        return program(PLAN_SET, action=action, successor=successor, plans=self._plans)

    def _sizes(self) -> dict[str, int]:
        """The numbers of plans, of belief nodes and of guides."""
        guides, nodes = int(self.is_guide.sum()), int((self.domain < 0).sum())
        return {"plans": self.actions.size - guides - nodes, "belief nodes": nodes, "guides": guides}

    def __repr__(self) -> str:
        sizes = ", ".join(f"{count} {what}" for what, count in self._sizes().items() if count or what == "plans")
        return f"PlanSetPolicy({sizes})"

    def _repr_html_(self) -> str:
        facts = [*self._sizes().items(), ("domains", self.domain_start.size - 1)]
        return notebook.policy(self, [*facts, ("starts at", self.name(self.start))])


def _divides(first: IntArray, parts: AnyArray) -> bool:
    """True if ``first`` begins at 0, ends with all parts and never falls."""
    if first.ndim != 1 or parts.ndim != 1 or not first.size:
        return False
    return bool(first[0] == 0 and first[-1] == parts.size and (np.diff(first) >= 0).all())


def _owner(first: IntArray, place: Any) -> int:
    return int(np.searchsorted(first, place, side="right")) - 1
