"""scikit-decide at work; run.py starts this in an environment that has scikit-decide and not rcpomdp.

It reads a POMDP as arrays in JSON from stdin, solves it by SARSOP and by HSVI, and prints bounds and seconds as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from skdecide import DiscreteDistribution, EnumerableSpace, POMDPDomain, Value
from skdecide.builders.domain import UnrestrictedActions
from skdecide.hub.solver.hsvi import HSVI
from skdecide.hub.solver.sarsop import SARSOP


class Numbers(EnumerableSpace):
    """The numbers below n; the spaces that scikit-decide brings along need Gymnasium."""

    def __init__(self, n: int) -> None:
        self.n = n

    def get_elements(self) -> list[int]:
        """All of them."""
        return list(range(self.n))

    def _contains(self, x: int) -> bool:
        return 0 <= x < self.n


class Domain(POMDPDomain, UnrestrictedActions):
    """A POMDP by its arrays; states, actions and observations are numbers."""

    T_state = T_observation = T_event = int
    T_value = float
    T_predicate = bool
    T_info = None

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given

    def _get_next_state_distribution(self, memory: int, action: int) -> Any:
        return DiscreteDistribution([tuple(pair) for pair in self.given["transition"][action][memory]])

    def _get_transition_value(self, memory: int, action: int, next_state: int | None = None) -> Any:
        return Value(reward=self.given["reward"][memory][action])

    def _is_transition_value_dependent_on_next_state_(self) -> bool:
        return False

    def _is_terminal(self, state: int) -> bool:
        return bool(self.given["terminal"][state])

    def _get_action_space_(self) -> Any:
        return Numbers(len(self.given["transition"]))

    def _get_initial_state_distribution_(self) -> Any:
        return DiscreteDistribution([tuple(pair) for pair in self.given["initial"]])

    def _get_observation_space_(self) -> Any:
        return Numbers(self.given["observations"])

    def _get_observation_distribution(self, state: int, action: int | None = None) -> Any:
        if action is None:
            return DiscreteDistribution([(0, 1.0)])  # nothing is seen before the first action
        return DiscreteDistribution([tuple(pair) for pair in self.given["observation"][action][state]])


def main() -> None:
    given = json.load(sys.stdin)
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # its solvers print; stdout is for the answer
    rows = []
    for name, kind in (("SARSOP", SARSOP), ("HSVI", HSVI)):
        options = {"epsilon": given["epsilon"], "discount": given["discount"], "time_budget": 1000 * given["seconds"]}
        begin = time.process_time()
        solver = kind(domain_factory=lambda: Domain(given), **options)
        solver.solve()
        seconds = time.process_time() - begin
        start = DiscreteDistribution([tuple(pair) for pair in given["initial"]])
        lower = float(solver.get_utility_from_belief(start).reward)
        rows.append({"solver": name, "lower": lower, "upper": lower + float(solver.get_gap()), "seconds": seconds})
    with answer:
        json.dump(rows, answer)


main()
