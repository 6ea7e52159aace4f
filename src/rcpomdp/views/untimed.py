"""Under a horizon a process is drawn as without it: the time of a state, which labels then have, is not on the map."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, cast, overload

import numpy as np

from ..model.beliefs import Belief
from .drawing import Drawing, Shape

if TYPE_CHECKING:
    from ..model import CPOMDP


class _Untimed:
    """A drawing of the process without the time; nothing is on it once the last step is taken."""

    def __init__(self, drawing: Drawing, model: CPOMDP, base: CPOMDP) -> None:
        self.width, self.height = drawing.width, drawing.height
        self._drawing, self._model, self._base = drawing, model, base

    def scene(self) -> Sequence[Shape]:
        return self._drawing.scene()

    def overlay(self, belief: Belief) -> Sequence[Shape]:
        if belief.states[-1] == self._model.n_states - 1:  # a belief is of one time
            return []
        timed = (cast("tuple[Hashable, int]", self._model.states[s]) for s in belief.states.tolist())
        states = np.array([self._base.states.index(label) for label, _ in timed], dtype=belief.states.dtype)
        return self._drawing.overlay(Belief(states, belief.probabilities))


@overload
def drawn(model: CPOMDP, draw: Callable[[CPOMDP], Drawing]) -> Drawing: ...
@overload
def drawn(model: CPOMDP, draw: Callable[[CPOMDP], Drawing | None]) -> Drawing | None: ...
def drawn(model: CPOMDP, draw: Callable[[CPOMDP], Drawing | None]) -> Drawing | None:
    """What `draw` makes of a model, or, under a horizon, of the process without the time."""
    if model.base is None:
        return draw(model)
    drawing = draw(model.base)
    return None if drawing is None else _Untimed(drawing, model, model.base)
