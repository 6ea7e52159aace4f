"""Budgets of nothing: a model over what can be the case, in which all that may be done is free.

Under ĉ_k = 0 an action may be taken at a belief iff no state of its support makes it cost anything, and something may
be taken after whatever is observed. That depends on the support alone, and supports follow from the history. So the
states of a new model are (state, support, last observation), and an action that may not be taken at a support does what
one of those that may does. A policy of the new model is one that keeps these budgets, with the same reward and costs,
and there is no other: the budgets of nothing are gone.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..._types import BoolArray, FloatArray, IntArray
from ...model import CPOMDP
from ...policies import ControllerPolicy, PlanSetPolicy
from ..result import Result

NONE = -1
_MOST_STATES = 200
_MOST_SUPPORTS, _MOST_PAIRS = 1000, 5000  # supports, and states of the new model

_Follow = dict[bytes, dict[int, dict[int, bytes]]]  # by support, action and observation: the support that follows


def over_supports(model: CPOMDP) -> OverSupports | None:
    """What budgets of nothing allow; None if there is no such budget, or too much that can be the case.

    >>> import rcpomdp as rc
    >>> tiger = rc.problems.make("tiger")
    >>> over_supports(tiger) is None, over_supports(tiger.with_budget(0)).model().cost.max()
    (True, np.float64(0.0))
    """
    nothing = (np.asarray(model.budget) == 0) & model.cost.any(axis=(1, 2))
    endless = model.discount == 1 and model.horizon is None  # whether it surely ends is known of the model as it is
    if not nothing.any() or model.n_states > _MOST_STATES or endless:
        return None
    free: BoolArray = (model.cost[nothing] == 0).all(axis=0)  # [S, A]
    follow = _reachable(model, free)
    if follow is None:
        return None
    found = OverSupports(model, nothing, follow, _for_ever(follow))
    return found if found.size <= _MOST_PAIRS else None


def _reachable(model: CPOMDP, free: BoolArray) -> _Follow | None:
    """The supports that free actions lead to, and what follows each; None if they are too many."""
    moves = [matrix.toarray() > 0 for matrix in model.transition]
    sees = [matrix.toarray() > 0 for matrix in model.observation]
    found: _Follow = {}
    todo = [model.initial_belief > 0]
    while todo:
        support = todo.pop()
        if support.tobytes() in found:
            continue
        if len(found) == _MOST_SUPPORTS:
            return None
        found[support.tobytes()] = after = {}
        for a in np.flatnonzero(free[support].all(axis=0)).tolist():
            landed = moves[a][support].any(axis=0)
            branches = {o: landed & sees[a][:, o] for o in np.flatnonzero(sees[a][landed].any(axis=0)).tolist()}
            after[a] = {o: branch.tobytes() for o, branch in branches.items()}
            todo += branches.values()
    return found


def _for_ever(follow: _Follow) -> dict[bytes, list[int]]:
    """The actions of each support after which something is free for ever, whatever is observed."""
    allowed = {support: list(after) for support, after in follow.items()}
    changed = True
    while changed:
        changed = False
        for support, actions in allowed.items():
            kept = [a for a in actions if all(allowed[after] for after in follow[support][a].values())]
            changed = changed or len(kept) < len(actions)
            allowed[support] = kept
    return allowed


class OverSupports:
    """The model over supports; its places are pairs (support, last observation).

    Parameters
    ----------
    nothing : [K] which costs have a budget of nothing
    follow : supports that free actions lead to
    allowed : the actions that may be taken at each of them
    """

    def __init__(self, model: CPOMDP, nothing: BoolArray, follow: _Follow, allowed: dict[bytes, list[int]]) -> None:
        self._original, self._nothing = model, nothing
        self._actions: list[IntArray] = []  # [A] of each place: what an action does there
        self._next: list[dict[int, dict[int, int]]] = []  # of each place, by action and observation
        self._states: list[IntArray] = []
        self._seen: list[int] = []  # last observation of each place
        self.possible = bool(allowed[(model.initial_belief > 0).tobytes()])  # whether any policy keeps these budgets
        if self.possible:
            self._enter(follow, allowed)
        self.size = sum(states.size for states in self._states)

    def _enter(self, follow: _Follow, allowed: dict[bytes, list[int]]) -> None:
        """Every place that is met."""
        model = self._original
        start = (model.initial_belief > 0).tobytes(), 0
        place, queue = {start: 0}, deque([start])
        while queue:
            support, seen = queue.popleft()
            states, may = np.flatnonzero(np.frombuffer(support, dtype=bool)), allowed[support]
            here = place[support, seen]
            self._states.append(states)
            self._seen.append(seen)
            self._actions.append(np.array([a if a in may else may[0] for a in range(model.n_actions)]))
            if model.terminal[states].all():  # what is over stays over
                self._next.append({a: {seen: here} for a in may})
                continue
            self._next.append({a: {} for a in may})
            for a in may:
                for o, after in follow[support][a].items():
                    if (after, o) not in place:
                        place[after, o] = len(place)
                        queue.append((after, o))
                    self._next[here][a][o] = place[after, o]

    def model(self) -> CPOMDP:
        """The new model."""
        old, places = self._original, range(len(self._states))
        first = np.cumsum([0, *(states.size for states in self._states)])
        state = np.concatenate(self._states)
        does = np.concatenate([np.tile(self._actions[i], (self._states[i].size, 1)) for i in places])  # [S, A]
        moves = [matrix.toarray() for matrix in old.transition]
        sees = [matrix.toarray() for matrix in old.observation]
        transition = []
        for a in range(old.n_actions):
            blocks = [
                (first[i], first[j], self._block(moves[b], sees[b], i, j, o))
                for i in places
                for b in [int(self._actions[i][a])]
                for o, j in self._next[i][b].items()
            ]
            transition.append(_assembled(blocks, self.size))
        seen = np.repeat(self._seen, np.diff(first))
        look = sp.csr_array((np.ones(self.size), (np.arange(self.size), seen)), shape=(self.size, old.n_observations))
        free = self._nothing & (not old.has_step_limits)  # limits of steps need a budget beside them
        made = CPOMDP(
            transition=transition,
            observation=[look] * old.n_actions,
            reward=old.reward[state[:, None], does],
            cost=old.cost[:, state[:, None], does],
            initial_belief=np.append(old.initial_belief[self._states[0]], np.zeros(self.size - self._states[0].size)),
            discount=old.discount,
            budget=np.where(free, np.inf, old.budget),
            cost_discount=old.cost_discount,
            costs=old.costs,
            name=old.name,
        )
        arrays = made.arrays._replace(step_limit=old.arrays.step_limit)
        return made._changed(arrays=arrays, step_limit=old.step_limit, horizon=old.horizon)

    def _block(self, move: FloatArray, see: FloatArray, i: int, j: int, o: int) -> FloatArray:
        """Probabilities of going from the states of one place to those of another."""
        if i == j and self._original.terminal[self._states[i]].all():
            return np.eye(self._states[i].size)
        after = self._states[j]
        return np.asarray(move[np.ix_(self._states[i], after)] * see[after, o])

    def told(self, result: Result) -> Result:
        """A result for the new model, told of the original: its policy minds what may be done at each support.

        What is needed of a cost beside budgets of nothing may be more than what is needed of it alone.
        """
        policy = result.policy
        needed = None if result.needed is None else np.zeros_like(result.needed)
        if isinstance(policy, PlanSetPolicy):
            return replace(result, policy=self._plan_set(policy), needed=needed)
        assert isinstance(policy, ControllerPolicy)  # other policies come of acting alone
        return replace(result, policy=self._controller(policy), needed=needed)

    def _controller(self, policy: ControllerPolicy) -> ControllerPolicy:
        number, queue = {(policy.start, 0): 0}, deque([(policy.start, 0)])
        actions: list[int] = []
        successors: list[IntArray] = []
        while queue:
            node, place = queue.popleft()
            action = int(self._actions[place][policy.actions[node]])
            actions.append(action)
            row = np.full(self._original.n_observations, len(successors))  # of what is never observed
            for o, after in self._next[place][action].items():
                pair = int(policy.successors[node, o]), after
                if pair not in number:
                    number[pair] = len(number)
                    queue.append(pair)
                row[o] = number[pair]
            successors.append(row)
        return ControllerPolicy(self._original, actions, np.array(successors))

    def _plan_set(self, policy: PlanSetPolicy) -> PlanSetPolicy:
        """The same plans; a domain lies within one place, and a belief node is met at one place alone."""
        place_of = np.repeat(np.arange(len(self._states)), [states.size for states in self._states])
        of_domain = place_of[policy.domain_states[policy.domain_start[:-1]]]
        place = np.append(of_domain, NONE)[policy.domain]  # a belief node's domain is -1, the last
        place[policy.start], queue = 0, deque([policy.start])
        while queue:
            node = queue.popleft()
            here = int(place[node])
            for o, after in self._next[here][int(self._actions[here][policy.actions[node]])].items():
                follower = int(policy.successors[node, o])
                if follower >= 0 and place[follower] == NONE:
                    place[follower] = after
                    queue.append(follower)
        actions = np.array(self._actions)[np.maximum(place, 0), policy.actions]
        return policy.with_states(self._original, np.concatenate(self._states), actions)


def _assembled(blocks: list[tuple[int, int, FloatArray]], size: int) -> sp.csr_array[np.float64]:
    """A square matrix of blocks, given with the places of their first rows and columns."""
    rows, columns, values = [], [], []
    for row, column, block in blocks:
        at = np.nonzero(block)
        rows.append(row + at[0])
        columns.append(column + at[1])
        values.append(block[at])
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return sp.csr_array(entries, shape=(size, size))
