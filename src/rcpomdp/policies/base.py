"""The protocol that every policy meets.

It is functional: a state is a value, so a run can be branched by updating the same state with two
observations. All randomness enters through ``initial``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from .._types import AnyArray, FloatArray, IntArray
from ..errors import PolicyError
from ..kernels.simulation.plan_set import PlanArrays
from ..kernels.simulation.rollout import Program
from ..model import CPOMDP

State = TypeVar("State")

STEP_WORK = 5000  # elementary steps that a simulated step takes unless a policy says so as `step_work`, about
TO_TABULATE = "make a controller of it by rc.policies.tabulate, if it has finitely many states"


class Policy(Protocol[State]):
    """Something that acts on what it has observed."""

    def initial(self, rng: np.random.Generator) -> State:
        """The state before the first action."""
        ...

    def action(self, state: State) -> int:
        """The action taken in a state."""
        ...

    def update(self, state: State, observation: int) -> State:
        """The state after ``action(state)`` was taken and an observation was made."""
        ...


def check_policy(policy: object) -> None:
    """Refuse what does not act: a result in place of its policy, a class in place of an object of it."""
    if isinstance(policy, type):
        raise PolicyError(f"{policy.__name__} is a class; a policy is an object of it, {policy.__name__}(...)")
    if not all(callable(getattr(policy, name, None)) for name in ("initial", "action", "update")):
        hint = "; its policy is .policy" if hasattr(policy, "policy") else ""
        raise PolicyError(f"{policy!r} is no policy: it lacks initial, action or update{hint}")


def checked_action(action: Any, model: CPOMDP, where: str) -> int:
    """A policy's action as an index of the model; anything else is a PolicyError."""
    if not isinstance(action, int | np.integer) or isinstance(action, bool):
        label = isinstance(action, str) and action in model.actions
        hint = f"; model.actions.index({action!r}) is one" if label else ""
        raise PolicyError(f"the policy's action {where} is {action!r}, not an index{hint}")
    if not 0 <= action < model.n_actions:
        raise PolicyError(f"the policy's action {where} is {action}, not between 0 and {model.n_actions - 1}")
    return int(action)


class Batch(NamedTuple):
    """Runs that one program covers."""

    runs: IntArray  # [n] places in the list of states that were asked for
    program: Program | None  # None: no array form, so these runs go through the protocol
    memory: IntArray  # [n] where each run's program starts


@runtime_checkable
class BatchPolicy(Policy[Any], Protocol):
    """A policy that can also be run as arrays by the simulator's kernel, with the same outcome."""

    def batches(self, states: Sequence[Any], model: CPOMDP) -> list[Batch]:
        """Programs for runs of `model` from these initial states, each run in exactly one batch."""
        ...


def batches(policy: Policy[Any], states: Sequence[Any], model: CPOMDP) -> list[Batch]:
    """The batches of any policy."""
    if isinstance(policy, BatchPolicy):
        return policy.batches(states, model)
    return [Batch(np.arange(len(states)), None, np.zeros(len(states), dtype=np.int64))]


def observed(observation: Any, n: int) -> int:
    """An observation as the index that it should be, below n; anything else is refused."""
    is_index = isinstance(observation, int | np.integer) and not isinstance(observation, bool)
    if not is_index or not 0 <= observation < n:
        raise PolicyError(f"an observation is an index below {n}, not {observation!r}")
    return int(observation)


def whole_numbers(values: Any, what: str) -> IntArray:
    """Values as an integer array, refused with a sentence if they are none."""
    array: AnyArray = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise PolicyError(f"{what} must be indices, not {array.dtype} values")
    return np.array(array, dtype=np.int64, order="C")


def program(
    kind: int,
    action: IntArray | None = None,
    successor: IntArray | None = None,
    values: FloatArray | None = None,
    start: IntArray | None = None,
    size: IntArray | None = None,
    first: IntArray | None = None,
    plans: PlanArrays | None = None,
) -> Program:
    """A `Program` with empty arrays for what its kind does not use."""
    none = np.zeros(0, dtype=np.int64)
    return Program(
        kind,
        none if action is None else action,
        np.zeros((0, 0), dtype=np.int64) if successor is None else successor,
        np.zeros(0) if values is None else values,
        none if start is None else start,
        none if size is None else size,
        none if first is None else first,
        _NO_PLANS if plans is None else plans,
    )


_NO_PLANS = PlanArrays(
    budget=np.zeros(0),
    sure_cost=np.zeros((0, 0)),
    **{name: np.zeros(0, dtype=np.int64) for name in PlanArrays._fields[2:-2]},
    values=np.zeros(0),
    tops=np.zeros(0),
)
