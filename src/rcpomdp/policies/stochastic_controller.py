"""Controllers that draw lots: what follows an observation is a node, or a lot that draws one of several nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._types import BoolArray, FloatArray, IntArray
from ..errors import PolicyError
from ..model import CPOMDP
from ..model.validation import real_array
from ..views import notebook
from .base import observed, whole_numbers
from .controller import ControllerPolicy

_KEYS = 2**63  # of the draws of a run


class StochasticState(NamedTuple):
    """The node of a run; step and key decide the lots to come, and are 0 where none can come."""

    node: int
    step: int
    key: int


class Draws(NamedTuple):
    """The nodes that may follow, after lots are drawn."""

    owner: IntArray  # [m] place in what was asked for
    node: IntArray  # [m]
    weight: FloatArray  # [m] probability of that node


class StochasticControllerPolicy:
    """A graph whose nodes hold an action and, for each observation, the node or the lot that follows.

    Parameters
    ----------
    action : [n] action of each node
    successor : [n, O] node that follows each observation; ``n + i`` is lot i
    lot_start : [L + 1] where the choices of each lot begin in the next two
    lot_node : node of each choice
    lot_weight : its probability
    start : node or lot of the first step
    """

    def __init__(
        self, model: CPOMDP, action: Any, successor: Any, lot_start: Any, lot_node: Any, lot_weight: Any, start: int = 0
    ) -> None:
        self.actions = whole_numbers(action, "actions of a controller")
        self.successors = whole_numbers(successor, "successors of a controller")
        self.lot_start = whole_numbers(lot_start, "starts of lots")
        self.lot_node = whole_numbers(lot_node, "nodes of lots")
        self.lot_weight: FloatArray = real_array(lot_weight, "weights of lots").copy()
        self.start = int(start)
        self._check_lots()
        n, n_lots = self.actions.size, self.lot_start.size - 1
        # All else is what a controller is held to in which a lot stands for its first node.
        first = np.concatenate([np.arange(n), self.lot_node[self.lot_start[:-1]]])
        ids = np.arange(n + n_lots)
        if not 0 <= self.start < n + n_lots:
            raise PolicyError(f"the controller starts at {self.start}, which is neither a node nor a lot")
        for node, o in np.argwhere(~np.isin(self.successors, ids)):
            raise PolicyError(
                f"node {node} goes to {self.successors[node, o]} after observation "
                f"{model.observations[int(o)]!r}, which is neither a node nor a lot"
            )
        ControllerPolicy(model, self.actions, first[self.successors], int(first[self.start]))
        for array in (self.actions, self.successors, self.lot_start, self.lot_node, self.lot_weight):
            array.setflags(write=False)
        self._draws_on = self._still_draws()

    def _check_lots(self) -> None:
        n, lots = self.actions.size, self.lot_start
        if self.actions.ndim != 1 or lots.ndim != 1 or self.lot_node.ndim != 1:
            raise PolicyError("actions, and starts and nodes of lots, must be lists")
        if not lots.size or lots[0] != 0 or lots[-1] != self.lot_node.size or (np.diff(lots) <= 0).any():
            raise PolicyError("each lot must have at least one choice, and all choices must belong to one")
        if self.lot_weight.shape != self.lot_node.shape:
            raise PolicyError(f"{self.lot_node.size} choices need as many weights, not {self.lot_weight.size}")
        for i in np.flatnonzero((self.lot_node < 0) | (self.lot_node >= n)):
            raise PolicyError(f"choice {i} is node {self.lot_node[i]}, which does not exist")
        for i in np.flatnonzero(~(self.lot_weight >= 0)):
            raise PolicyError(f"choice {i} has weight {self.lot_weight[i]:.12g}, which is no probability")
        totals = np.add.reduceat(self.lot_weight, lots[:-1]) if lots.size > 1 else np.ones(0)
        for i in np.flatnonzero(~(np.abs(totals - 1) <= 1e-6)):
            raise PolicyError(f"the weights of lot {i} sum to {totals[i]:.12g}, not 1")
        self.lot_weight /= np.repeat(totals, np.diff(lots))

    @property
    def n_lots(self) -> int:
        """Number of lots."""
        return self.lot_start.size - 1

    def drawn(self, successors: Any) -> Draws:
        """All nodes that may follow, for successors that may be lots; choices without weight are left out."""
        given: IntArray = np.asarray(successors, dtype=np.int64).reshape(-1)
        lot = given - self.actions.size
        is_lot = lot >= 0
        length = np.ones(given.size, dtype=np.int64)
        length[is_lot] = np.diff(self.lot_start)[lot[is_lot]]
        owner = np.repeat(np.arange(given.size), length)
        within = np.arange(owner.size) - np.repeat(np.cumsum(length) - length, length)
        node, weight = given[owner], np.ones(owner.size)
        choice = is_lot[owner]
        place = self.lot_start[lot[owner[choice]]] + within[choice]
        node[choice], weight[choice] = self.lot_node[place], self.lot_weight[place]
        kept = weight > 0
        return Draws(owner[kept], node[kept], weight[kept])

    def _still_draws(self) -> BoolArray:
        """Whether a lot can come after each node or lot, itself included, [n + L]."""
        n = self.actions.size
        draws = np.concatenate([np.zeros(n, dtype=np.bool_), np.ones(self.n_lots, dtype=np.bool_)])
        while True:
            more = draws[:n] | draws[self.successors].any(axis=1)
            if (more == draws[:n]).all():
                return draws
            draws[:n] = more

    def _at(self, successor: int, step: int, key: int) -> StochasticState:
        node, n = successor, self.actions.size
        if successor >= n:
            choices = slice(*self.lot_start[successor - n : successor - n + 2])
            u = np.random.default_rng((key, step)).random()
            place = int(np.searchsorted(np.cumsum(self.lot_weight[choices]), u, side="right"))
            place = min(place, int(np.flatnonzero(self.lot_weight[choices])[-1]))
            node = int(self.lot_node[choices][place])
        return StochasticState(node, step, key) if self._draws_on[node] else StochasticState(node, 0, 0)

    def initial(self, rng: np.random.Generator) -> StochasticState:
        """The first node; if lots can come, what decides them is drawn now."""
        key = int(rng.integers(_KEYS)) if self._draws_on[self.start] else 0
        return self._at(self.start, 0, key)

    def action(self, state: StochasticState) -> int:
        """The node's action."""
        return int(self.actions[state.node])

    def update(self, state: StochasticState, observation: int) -> StochasticState:
        """The node that follows, drawn if it is random."""
        follower = self.successors[state.node, observed(observation, self.successors.shape[1])]
        return self._at(int(follower), state.step + 1, state.key)

    def __repr__(self) -> str:
        return f"StochasticControllerPolicy({self.actions.size} nodes, {self.n_lots} lots)"

    def _repr_html_(self) -> str:
        return notebook.policy(self, [("nodes", self.actions.size), ("lots", self.n_lots), ("starts at", self.start)])
