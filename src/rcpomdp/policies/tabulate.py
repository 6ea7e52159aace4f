"""A policy of one's own as a controller: what it does in every state that it can reach, in a table.

Reachable are the pairs (q, s) of a state q of the policy and a state s of the model: from (q, s) the action a = π(q)
leads to (update(q, o), s') for all o and s' with T(s, a, s') Z(a, s', o) > 0. So the policy is asked only about
observations that can be made, and what is written down is the policy itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from .._types import BoolArray
from ..errors import PolicyError
from ..model import CPOMDP
from .base import Policy, check_policy, checked_action
from .controller import ControllerPolicy

_LOOKED_AT = 8  # states with one key
_KEY = "it draws at random, or its key leaves something out"
_DRAWS = 8  # starts that are compared, to find a policy that draws at random


def tabulate(
    policy: Policy[Any], model: CPOMDP, max_states: int = 10_000, key: Callable[[Any], Hashable] | None = None
) -> ControllerPolicy:
    """The controller that does what a policy does, so that it can be verified, evaluated and saved.

    Parameters
    ----------
    policy : takes the same action whenever it is in the same state, and draws nothing at random
    max_states : how many states of it may be reachable; more are refused
    key : from a state to what tells it from others; the state itself unless given, which must be hashable then. States
        with one key must take the same actions now and later: that is looked at for the first few of them

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("tiger")
    >>> class Turns:  # listens, opens left, listens, opens right, and so on
    ...     def initial(self, rng): return 0
    ...     def action(self, state): return (0, 1, 0, 2)[state]
    ...     def update(self, state, observation): return (state + 1) % 4
    >>> table = rc.policies.tabulate(Turns(), model)
    >>> table, round(float(rc.verify(model, table).cost[0]), 3)
    (ControllerPolicy(4 nodes), 2.286)
    """
    check_policy(policy)
    return _Walk(policy, model, max_states, key or _itself).table()


def _itself(state: Any) -> Hashable:
    try:
        hash(state)
    except TypeError:
        raise PolicyError(
            f"a state of the policy is a {type(state).__name__}, which cannot be told from others; "
            "give key=, a function from states to hashable values such as tuples"
        ) from None
    return state  # type: ignore[no-any-return]  # it has a hash


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except ValueError:  # arrays
        return bool(np.array_equal(one, other))


class _Walk:
    """States in the order found, each with the model's states that it can meet."""

    def __init__(self, policy: Policy[Any], model: CPOMDP, max_states: int, key: Callable[[Any], Hashable]) -> None:
        self.policy, self.model, self.max_states, self.key = policy, model, max_states, key
        self.number: dict[Hashable, int] = {}
        self.states: list[list[Any]] = []  # the first few that have each key
        self.actions: list[int] = []
        self.successors: list[list[int]] = []
        self.met: list[BoolArray] = []  # [S] each
        self.goes_on = ~model.terminal
        self.open: list[int] = []

    def table(self) -> ControllerPolicy:
        """Go through all pairs."""
        starts = [self.policy.initial(np.random.default_rng(seed)) for seed in range(_DRAWS)]
        if len({self.key(state) for state in starts}) > 1:
            raise PolicyError("the policy draws its first state at random, and a controller does not draw")
        self._meet(starts[0], self.model.initial_belief > 0)
        while self.open:
            self._follow(self.open.pop())
        return ControllerPolicy(self.model, self.actions, self.successors)

    def _follow(self, node: int) -> None:
        """Go to whatever can follow a state, as it meets the model's states now."""
        action, states = self.actions[node], self.states[node]
        here = self.met[node] & self.goes_on
        arrives = (self.model.transition[action].T @ here.astype(np.float64)) > 0
        seen = self.model.observation[action][np.flatnonzero(arrives)].tocsc()
        places = np.flatnonzero(arrives)
        for o in np.flatnonzero(np.diff(seen.indptr)).tolist():
            met = np.zeros(self.model.n_states, dtype=np.bool_)
            rows = slice(seen.indptr[o], seen.indptr[o + 1])
            met[places[seen.indices[rows][seen.data[rows] > 0]]] = True
            if (met & self.goes_on).any():  # else the run is over, and whichever state follows is never asked
                after = {self._meet(self.policy.update(state, o), met) for state in list(states)}
                if len(after) > 1:
                    raise PolicyError(f"states with one key are followed by others after observation {o}: {_KEY}")
                self.successors[node][o] = after.pop()

    def _meet(self, state: Any, met: BoolArray) -> int:
        """The number of a state, which can meet these states of the model, too."""
        node = self.number.setdefault(self.key(state), len(self.states))
        if node == len(self.states):
            if node == self.max_states:
                raise PolicyError(
                    f"the policy has more than {self.max_states:,} reachable states; max_states= allows more, if they "
                    "are finitely many"
                )
            self.states.append([state])
            self.actions.append(self._action(state))
            self.successors.append([node] * self.model.n_observations)
            self.met.append(met)
            self.open.append(node)
            return node
        if self._action(state) != self.actions[node]:
            raise PolicyError(f"the policy takes other actions in states with one key, such as {state!r}: {_KEY}")
        is_other = len(self.states[node]) < _LOOKED_AT and not any(_same(state, one) for one in self.states[node])
        if is_other:
            self.states[node].append(state)
        if is_other or (met & ~self.met[node]).any():
            self.met[node] = self.met[node] | met
            self.open.append(node)
        return node

    def _action(self, state: Any) -> int:
        return checked_action(self.policy.action(state), self.model, f"in state {state!r}")
