"""The tree of depth k − 1 over beliefs and what is left of the budget, with bounds from both sides.

A node is a belief b at depth t with what was spent on the way, W, counted in the units of the root so that rounding
does not grow. At depth k − 1 its value is that of the C-POMDP from b with what is left; above,

    V_t(b, d) = max_a R(b, a) + γ Σ_o p(o | b, a) V_{t+1}(b_ao, (d − C(b, a)) / γ).

Before it is expanded a node is bounded from above by the C-POMDP too, whose constraint is weaker, and from below by
plans whose sure cost is within what is left, whose promise is stronger. Histories that lead to the same belief with the
same spending are one node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import FloatArray
from ...model import CPOMDP, beliefs
from ...tolerance import RELATIVE
from .fronts import Front, Mix
from .prices import Prices

_UNIT = 1e-12  # of the budget: spending that differs by less is taken for the same,
_UNITS = 1e-10  # unless there are so many steps that it would add up to more than this
_MOSTLY = 0.5  # of a node's gap
_LEAST = 1e-300  # weight: depths at which nothing counts any more
_NODE_BYTES = 4_000  # that a node and its edges take, about

PLAN, LOT, ACTION = "plan", "lot", "action"  # how a node attains its lower bound


class Edge(NamedTuple):
    """An observation and the node that follows it."""

    observation: int
    probability: float
    node: Node


class Branch(NamedTuple):
    """An action of a node: what it earns and costs at once, and what may follow."""

    action: int
    reward: float
    cost: FloatArray  # [K]
    edges: list[Edge]


class Node:
    """A belief at some depth with what was spent on the way."""

    __slots__ = ("branches", "choice", "depth", "front", "lower", "spent", "stuck_at", "tight_at", "upper")

    def __init__(self, depth: int, front: Front | None, spent: FloatArray) -> None:
        self.depth = depth
        self.front = front  # None: the process has ended
        self.spent = spent  # [K] W, in the units of the root
        self.lower, self.upper = -np.inf, np.inf
        self.choice: tuple[str, int | Mix | Branch | None] = (PLAN, None)  # attains the lower bound
        self.branches: list[Branch] | None = None  # None until it is expanded
        self.tight_at = np.inf  # target at which its own C-POMDP did not improve any more
        self.stuck_at = np.inf  # target at which nothing below it improved any more

    @property
    def gap(self) -> float:
        """Upper minus lower bound; 0 where nothing is feasible."""
        return 0.0 if self.upper == -np.inf else self.upper - self.lower


class Tree:
    """The tree, and trials that tighten it.

    Parameters
    ----------
    k : the budget must hold at every history shorter than this
    """

    def __init__(self, model: CPOMDP, k: int, prices: Prices) -> None:
        self.model, self.k, self.prices = prices.ordered, k, prices
        self.discount = model.discount
        self.cost_discount = model.cost_discount  # [K], those of the reward
        self.budget = np.asarray(model.budget)
        limited = np.isfinite(self.budget) & (self.budget > 0)
        self._unit = min(_UNIT, _UNITS / k) * np.where(limited, self.budget, 1.0)
        self.merged = k * self._unit * limited  # [K] what taking nearly equal spendings for one may hide
        share = RELATIVE * np.where(np.isfinite(self.budget), self.budget, 0.0)
        # Lower bounds use half of the tolerance, so that rounding stays within it; upper bounds use all of it.
        self._surely = self.budget + share / 2
        self._at_most = self.budget + share + self.merged
        self.scale = float(np.abs(model.reward).max()) or 1.0
        self._nodes: dict[tuple[int, int, bytes], Node] = {}
        self.trials = 0
        self.root = self._node(0, prices.initial, np.zeros(model.n_costs))

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self._nodes)

    @property
    def memory(self) -> int:
        """Bytes that nodes take, about."""
        return _NODE_BYTES * self.size

    def left(self, node: Node) -> FloatArray:
        """What may be spent from a node on, in its own units, [K]."""
        return (self._surely - node.spent) / self.cost_weight(node.depth)

    def left_at_most(self, node: Node) -> FloatArray:
        """The same with all tolerance, [K]."""
        return (self._at_most - node.spent) / self.cost_weight(node.depth)

    def cost_weight(self, depth: int) -> FloatArray:
        """What a cost at some depth counts at the root, [K]."""
        return np.maximum(self.cost_discount**depth, _LEAST)

    def _wanted(self, target: float, depth: int) -> float:
        """The gap at some depth that a target at the root leaves open."""
        return target / max(self.discount**depth, _LEAST)

    def is_leaf(self, node: Node) -> bool:
        """True if what follows is a C-POMDP."""
        return node.depth == self.k - 1

    def _node(self, depth: int, b: beliefs.Belief, spent: FloatArray) -> Node:
        ended = bool(self.model.terminal[b.states].all())
        front = None if ended else self.prices.front(b)
        at = self.prices.limited
        key = depth, id(front), np.round(spent[at] / self._unit[at]).tobytes()
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = Node(depth, front, spent)
            self.look(node)
        return node

    # Bounds

    def look(self, node: Node) -> None:
        """Bound a node by what its front knows now, and by what follows it."""
        if node.front is None:
            node.lower = node.upper = 0.0
            return
        self.prices.refresh(node.front)
        node.upper = min(node.upper, node.front.upper(self.left_at_most(node)))
        if node.upper == -np.inf:
            return
        left = self.left(node)
        if self.is_leaf(node):
            mix = node.front.mix(left, self.left_at_most(node), self.scale)
            if mix.value > node.lower:
                node.choice, node.lower = (LOT, mix), mix.value
        value, plan = node.front.best_sure(left)
        if value > node.lower:
            node.choice, node.lower = (PLAN, plan), value
        if node.branches is not None:
            self._back_up(node, node.branches)

    def _back_up(self, node: Node, branches: list[Branch]) -> None:
        node.upper = min(node.upper, max((self.upper_of(branch) for branch in branches), default=-np.inf))
        for branch in branches:
            value = branch.reward + self.discount * sum(p * after.lower for _, p, after in branch.edges)
            if value > node.lower:  # the choice comes first, so that an interrupt leaves what can be followed
                node.choice, node.lower = (ACTION, branch), value

    def upper_of(self, branch: Branch) -> float:
        """Bound on what an action is worth."""
        total = 0.0
        for _, p, after in branch.edges:
            if after.upper == -np.inf:
                return -np.inf
            total += p * after.upper
        return branch.reward + self.discount * total

    # Trials

    def trial(self, target: float, work: int) -> bool:
        """Walk to the node whose gap counts most, refine it, and back up; False if nothing is left to refine.

        `target` is the gap at the root below which nothing needs to be refined: γ^−t as much at depth t.
        """
        self.trials += 1
        path, node = [self.root], self.root
        while not self.is_leaf(node) and not self.prices.clock.over and not self._is_loose(node, target):
            if node.branches is None:
                node.branches = self._expand(node)
                self.look(node)
            following = self._most_open(node, target)
            if following is None:
                self.look(node)
                if node.gap > self._wanted(target, node.depth):
                    node.stuck_at = target
                break
            node = following
            path.append(node)
        if self.is_leaf(node) or self._is_loose(node, target):
            self._refine(node, target, work)
        for node in reversed(path):
            self.look(node)
        return not self._is_closed(self.root, target)

    def _is_loose(self, node: Node, target: float) -> bool:
        """True if most of a node's gap is that of its own C-POMDP, which is nearer to the root than any leaf's."""
        if node.front is None or node.tight_at <= target:
            return False
        left, most = self.left(node), self.left_at_most(node)
        gap = node.front.upper(most) - node.front.mix(left, most, self.scale).value
        return bool(gap > max(self._wanted(target, node.depth), _MOSTLY * node.gap))

    def _most_open(self, node: Node, target: float) -> Node | None:
        """The successor under the action that promises most whose gap counts most; None if none is open."""
        assert node.branches is not None
        wanted = self._wanted(target, node.depth + 1)
        for branch in sorted(node.branches, key=self.upper_of, reverse=True):
            if self.upper_of(branch) <= node.lower:
                break
            open_edges = [e for e in branch.edges if not self._is_closed(e.node, target) and e.node.gap > wanted]
            if open_edges:
                return max(open_edges, key=lambda e: e.probability * min(e.node.gap - wanted, 1e300)).node
        return None

    def _is_closed(self, node: Node, target: float) -> bool:
        return node.upper == -np.inf or node.stuck_at <= target

    def _expand(self, node: Node) -> list[Branch]:
        """The actions that what is left pays for, and what may follow them."""
        assert node.front is not None
        b, weight = node.front.belief, self.cost_weight(node.depth)
        states, p = b.states, b.probabilities
        branches = []
        for a in range(self.model.n_actions):
            cost = self.model.cost[:, states, a] @ p
            spent = node.spent + weight * cost
            if (spent > self._at_most).any():
                continue
            edges = [
                Edge(o, chance, self._node(node.depth + 1, after, spent))
                for o, chance, after in beliefs.branches(self.model, b, a)
            ]
            branches.append(Branch(a, float(self.model.reward[states, a] @ p), cost, edges))
        return branches

    def _refine(self, node: Node, target: float, work: int) -> None:
        """One step of column generation at a node."""
        front, most = node.front, self.left_at_most(node)
        assert front is not None
        before = node.lower, front.upper(most), len(front.values)
        goal = self._wanted(target, node.depth)
        done = self.prices.improve(front, self.left(node), most, goal, self.scale, work)
        self.look(node)
        if done and before == (node.lower, front.upper(most), len(front.values)):  # a new column may only change λ
            node.tight_at = target
            if self.is_leaf(node):
                node.stuck_at = target

    # The least budget

    def needed(self, node: Node, k: int) -> float:
        """Bound from below on the least budget of cost k that suffices from a node, in its units."""
        known: dict[int, float] = {}
        return self._needed(node, k, known)

    def _needed(self, node: Node, k: int, known: dict[int, float]) -> float:
        if node.front is None:
            return 0.0
        if id(node) in known:
            return known[id(node)]
        least = known[id(node)] = node.front.least(k)
        if node.branches is None:
            return least
        gamma = float(self.cost_discount[k])
        spendings = [
            float(branch.cost[k]) + gamma * max((self._needed(e.node, k, known) for e in branch.edges), default=0.0)
            for branch in node.branches
        ]
        affordable = {branch.action for branch in node.branches}
        b = node.front.belief
        beyond = [
            float(self.model.cost[k, b.states, a] @ b.probabilities)
            for a in range(self.model.n_actions)
            if a not in affordable
        ]
        known[id(node)] = max(least, min([*spendings, *beyond]))
        return known[id(node)]
