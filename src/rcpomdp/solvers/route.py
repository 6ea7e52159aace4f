"""The route: which search solves a model, and why. Every solver that searches asks here.

The rules go from what is known for sure to what is a guess; the first that applies decides. A guess names two searches:
they take turns (`solvers.driver`), and the better bound of each side counts.

| rule | search |
|---|---|
| step limits, or a search whose root or objective moves | belief graph: no other can do that |
| every move is certain, and the model is large | belief graph: beliefs repeat, and rays between them bound values |
| every move is certain | belief graph and point-based, in turn |
| beliefs have few dimensions | point-based and belief graph, in turn |
| anything else | point-based: histories lead to ever new beliefs |

Before any of these, `arcs` asks for facts that make a search unnecessary: the beliefs are few, no budget binds, or
nothing may be spent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model import CPOMDP
from ..model.classes import observability_classes

POINT_BASED, BELIEF_GRAPH = "point-based search", "belief-graph search"
OBJECTIVE_MOVES = "the objective moves from one multiplier to the next"
_LARGE = 5000  # states from which on a second search would take too long to set up
_FEW_DIMENSIONS = 16  # states of a class up to which rays between beliefs may do


class Route(NamedTuple):
    """The searches of a solve, the first one first, and the reason for them."""

    engines: tuple[str, ...]
    why: str
    has_pilot: bool = False  # a point-based search with a short set-up goes ahead of one with a long set-up

    def __str__(self) -> str:
        in_turn = ", in turn" if len(self.engines) > 1 else ""
        return f"{' and '.join(self.engines)}{in_turn}: {self.why}"


def choose_route(model: CPOMDP, *, needs: str | None = None) -> Route:
    """The searches for a model; `needs` names what is asked of them that the belief-graph search alone can do.

    >>> import rcpomdp as rc
    >>> [choose_route(rc.problems.make(name)).engines[0] for name in ("crs-4-4", "hallway")]
    ['belief-graph search', 'point-based search']
    """
    if needs is not None:
        return Route((BELIEF_GRAPH,), needs)
    if model.has_step_limits:
        return Route((BELIEF_GRAPH,), "the model has step limits")
    classes = observability_classes(model)
    is_met = classes.reachable[classes.class_of] & ~model.terminal
    ways = np.diff(model.arrays.t_ptr).reshape(model.n_actions, model.n_states)[:, is_met]
    if (ways <= 1).all():
        if model.n_states > _LARGE:
            return Route((BELIEF_GRAPH,), "every move is certain")
        return Route((BELIEF_GRAPH, POINT_BASED), "every move is certain")
    has_pilot, largest = model.n_states <= _LARGE, int(classes.sizes[classes.reachable].max())
    if largest <= _FEW_DIMENSIONS:
        return Route((POINT_BASED, BELIEF_GRAPH), f"beliefs have at most {largest} states", has_pilot)
    return Route((POINT_BASED,), "moves are uncertain, and beliefs have many states", has_pilot)
