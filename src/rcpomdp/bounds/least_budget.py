"""The least budget M(b) at any belief, from below and from above, found where it is asked for.

``M(b) = min_a [C(b, a) + β max_o M(b_o)]`` is the least sure cost of all policies from b (theory, Theorem 3), over the
actions whose step does not cost more than a step may. From
below it starts at the least expected cost (`cost_fib_vectors`), which no sure cost falls short of; from above at what a
plan by classes surely costs (`class_plan`). The recursion keeps either side where it is a bound. Trials improve them:
each descends by the action that seems to need the least and the observation that is known the worst, looks one step
further at the first belief that it has not looked at, and backs up on the way back. Bounds hold whenever that ends.

With several costs the bound from below is of each cost apart, and the one from above is of one and the same policy,
that which needs the least share of the budgets. Whether others can be kept together is then asked of each action.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .._types import FloatArray
from ..model import CPOMDP, beliefs
from ..model.beliefs import Belief
from .class_plan import class_plan, share_of
from .fib import cost_fib_vectors

_ROUNDING = 1e-12  # relative: bounds are rounded outward by so much
_DEEPEST = 60  # steps of a trial
_AT_ONCE = 100  # trials for one question


class Bracket(NamedTuple):
    """Bounds on a least budget."""

    lo: FloatArray  # [K] no policy surely spends less
    hi: FloatArray  # [K] some policy surely spends no more

    def suffices(self, budget: FloatArray) -> bool | None:
        """Whether some policy surely keeps a budget [K]; None if the bounds do not tell."""
        if (self.hi <= budget).all():
            return True
        return False if (self.lo > budget).any() else None


@dataclass(eq=False)
class _Node:
    """A belief that was met."""

    belief: Belief
    lo: FloatArray  # [K]
    hi: FloatArray  # [K]
    after: dict[int, list[_Node]] = field(default_factory=dict)  # beliefs that may follow the actions looked at
    looked_at: bool = False  # whether all actions were


class BaseBounds:
    """Bounds on the least budget that need no search: those that a store of beliefs starts from."""

    def __init__(self, model: CPOMDP) -> None:
        self.model = model
        self._plan = class_plan(model)
        self._below = [cost_fib_vectors(model, k) for k in range(model.n_costs)]  # [K][A, S]

    def at(self, b: Belief) -> Bracket:
        """The bounds at a belief; nothing is spent any more where the process has surely ended."""
        if self.model.terminal[b.states].all():
            return Bracket(np.zeros(self.model.n_costs), np.zeros(self.model.n_costs))
        hi = self._plan.sure_cost[self._plan.class_of[b.states[0]]] * (1 + _ROUNDING)
        lo = np.array([(vectors[:, b.states] @ b.probabilities).min() for vectors in self._below])
        return Bracket(np.minimum(lo * (1 - _ROUNDING), hi), hi)


class LeastBudget:
    """Bounds on the least budget at the beliefs that were asked about, and those that follow them."""

    def __init__(self, base: BaseBounds, most_trials: int = 2_000) -> None:
        self.base, self.model = base, base.model
        self.trials_left = most_trials
        self._scale = share_of(self.model)
        self._nodes: dict[bytes, _Node] = {}

    def at(self, b: Belief) -> Bracket:
        """The bounds at a belief, as far as they are known."""
        node = self._node(b)
        return Bracket(node.lo, node.hi)

    def of_action(self, b: Belief, a: int) -> Bracket:
        """The bounds on what is needed to take an action and surely keep the budget afterwards."""
        return self._needs(self._node(b), a)

    def decide(self, b: Belief, budget: FloatArray, a: int | None = None) -> bool | None:
        """Whether some policy, one that begins with action a if that is given, surely keeps a budget [K] from b.

        None if the bounds do not tell, and cannot be tightened any more.
        """
        node = self._node(b)
        for _ in range(_AT_ONCE):
            found = (Bracket(node.lo, node.hi) if a is None else self._needs(node, a)).suffices(budget)
            if found is not None or self.trials_left <= 0 or not self._trial(node, a):
                break
        if found is None and a is None and self.model.n_costs > 1:
            by_action = [self._needs(node, action).suffices(budget) for action in range(self.model.n_actions)]
            found = True if True in by_action else None if None in by_action else False
        return found

    def _node(self, b: Belief) -> _Node:
        key = b.states.tobytes() + b.probabilities.tobytes()
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = _Node(b, *self.base.at(b))
        return node

    def _needs(self, node: _Node, a: int) -> Bracket:
        """``C(b, a) + β max_o M(b_o)``; infinite if the step costs more than a step may."""
        b, after = node.belief, node.after.get(a)
        if after is None:
            found = [] if self.model.terminal[b.states].all() else beliefs.branches(self.model, b, a)
            after = node.after[a] = [self._node(branch.belief) for branch in found]
        now: FloatArray = self.model.cost[:, b.states, a] @ b.probabilities
        if (now > self.model.arrays.step_limit).any():
            return Bracket(np.full_like(now, np.inf), np.full_like(now, np.inf))
        beta = self.model.cost_discount
        lo = now + beta * np.max([np.zeros_like(now), *(child.lo for child in after)], axis=0)
        hi = now + beta * np.max([np.zeros_like(now), *(child.hi for child in after)], axis=0)
        return Bracket(lo * (1 - _ROUNDING), hi * (1 + _ROUNDING))

    def _back_up(self, node: _Node) -> bool:
        """The recursion at a belief; return whether it tightened a bound."""
        needs = [self._needs(node, a) for a in range(self.model.n_actions)]
        lo = np.maximum(node.lo, np.min([q.lo for q in needs], axis=0))
        hi = min([node.hi, *(q.hi for q in needs)], key=self._share)  # the vector of one policy
        changed = bool((lo > node.lo).any() or self._share(hi) < self._share(node.hi))
        node.lo, node.hi = np.minimum(lo, hi), hi
        return changed

    def _share(self, spent: FloatArray) -> float:
        """The largest share that totals [K] have of their budgets."""
        if np.isinf(spent).any():
            return np.inf
        return float((spent / self._scale).max(initial=0.0))

    def _trial(self, start: _Node, first: int | None) -> bool:
        """Descend to a belief that was not looked at and back up; False if nothing changed on the way."""
        path, node, action = [start], start, first
        changed = False
        self.trials_left -= 1
        for _ in range(_DEEPEST):
            if not node.looked_at:  # its actions are looked at when it is backed up
                node.looked_at = changed = True
                break
            if action is None:
                needs = [self._share(self._needs(node, a).lo) for a in range(self.model.n_actions)]
                action = int(np.argmin(needs))
            gaps = [self._share(child.hi) - self._share(child.lo) for child in node.after[action]]
            if not gaps or max(gaps) <= 0:
                break
            node, action = node.after[action][int(np.argmax(gaps))], None
            path.append(node)
        for visited in reversed(path):
            changed = self._back_up(visited) or changed
        return changed
