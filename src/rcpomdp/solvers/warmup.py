"""The smallest models that take a search through its kernels, so that they are compiled before any clock runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps

from ..deadline import unhurried
from ..model import CPOMDP, beliefs
from ..model.classes import observability_classes
from ..model.supports import reachable_supports


def smallest_model() -> CPOMDP:
    """One state, and two actions of which one earns and costs something."""
    return CPOMDP(
        transition=[[[1.0]]] * 2,
        observation=[[[1.0]]] * 2,
        reward=[[0.0, 1.0]],
        cost=[[0.0, 1.0]],
        initial_belief=[1.0],
        discount=0.5,
        budget=1.0,
    )


def smallest_ending_model() -> CPOMDP:
    """The same for two steps: sweeps of what may end are others."""
    return smallest_model().with_horizon(2)._changed(discount=0.5)


_loaders: list[Callable[[], None]] = []


def loads_kernels(load: Callable[[], None]) -> Callable[[], None]:
    """Decorate a function that loads kernels: it does so once in a process, and its work does not count."""

    @cache
    @wraps(load)
    def loaded() -> None:
        with unhurried():
            load()

    _loaders.append(loaded)
    return loaded


def load_all_kernels() -> None:
    """Load the kernels of all solvers that are imported."""
    for load in _loaders:
        load()


@loads_kernels
def load_model_kernels() -> None:
    """Classes of states and beliefs, which set-ups begin with; whatever kernel is the first takes numba a second."""
    model = smallest_model()
    observability_classes(model)
    reachable_supports(model, 1)
    beliefs.observation_probabilities(model, model.initial_belief, 0)
    for branch in beliefs.branches(model, model.initial_belief, 0):
        beliefs.update(model, branch.belief, 0, branch.observation)
