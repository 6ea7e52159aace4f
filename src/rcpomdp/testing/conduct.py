"""The policy protocol: three methods, states that are values, all randomness through `initial`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.simulation.rollout import Outcome
from ..model import CPOMDP
from ..simulation.simulate import simulate
from .broken import FAULTS, RuleError, shown, told

_SEEN = 4  # observations that are tried after the first action
_CALLS = {"initial": "initial(rng)", "action": "action(state)", "update": "update(state, observation)"}


def acts(model: CPOMDP, policy: Any, repeats: bool = True) -> None:
    """Ask a policy for its first actions, and run it; `repeats` is whether it must do the same again."""
    for method in _CALLS:
        if not callable(getattr(policy, method, None)):
            raise RuleError(f"a policy has the method {method!r}")
    state = _ask(policy, "initial", np.random.default_rng(1))
    first = _action(model, policy, state)
    if _action(model, policy, _ask(policy, "initial", np.random.default_rng(1))) != first:
        raise RuleError("all randomness enters through initial(rng): the same seed takes the same first action")
    chance = np.asarray(model.observation[first].T @ (model.transition[first].T @ model.initial_belief))
    seen = [int(o) for o in np.flatnonzero(chance > 1e-12)[:_SEEN]]
    actions = [_action(model, policy, _ask(policy, "update", state, o)) for o in seen]
    if _action(model, policy, state) != first:
        raise RuleError("a policy's state is a value: an update leaves the state it starts from as it was")
    again = [_action(model, policy, _ask(policy, "update", state, o)) for o in seen[::-1]]
    if repeats and again != actions[::-1]:
        raise RuleError("a policy's state is a value: updates of one state do not depend on each other")
    runs = [a_few_runs(model, policy) for _ in range(1 + repeats)]
    if not same(runs[0], runs[-1]):
        raise RuleError("all randomness enters through initial(rng): the same seed gives the same runs")


def a_few_runs(model: CPOMDP, policy: Any, steps: int = 4) -> Outcome:
    """Short runs from a seed that is always the same."""
    return ran(model, policy, 4, steps, 3)


def same(one: Outcome, other: Outcome) -> bool:
    """True if all runs went the same way."""
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def ran(model: CPOMDP, policy: Any, runs: int, steps: int, seed: int) -> Outcome:
    """Simulated runs."""
    try:
        return simulate(model, policy, runs, steps, seed).outcome
    except FAULTS as error:
        raise RuleError(f"a policy runs in rc.simulate, without {told(error)}") from error


def _ask(policy: Any, method: str, *arguments: Any) -> Any:
    try:
        return getattr(policy, method)(*arguments)
    except FAULTS as error:
        raise RuleError(f"a policy answers {_CALLS[method]}, and does not raise {told(error)}") from error


def _action(model: CPOMDP, policy: Any, state: Any) -> int:
    action = _ask(policy, "action", state)
    if isinstance(action, bool) or not isinstance(action, int | np.integer) or not 0 <= action < model.n_actions:
        raise RuleError(f"an action is an index below {model.n_actions}, not {shown(action)}")
    return int(action)
