"""The α-vectors of a controller: the value of each of its nodes in every state.

``α_n(s) = R(s, a_n) + γ Σ_s' T(s, a_n, s') Σ_o Z(s', a_n, o) α_{n_o}(s')``. The policy that is greedy in them has
at least the controller's value at every belief, but it may spend otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from ..errors import PolicyError
from ..model import CPOMDP
from ..model.endings import before_the_end
from .alpha import AlphaPolicy
from .controller import ControllerPolicy

_SOLVABLE = 20_000  # pairs of node and state; more are iterated
_MOST_PAIRS = 50_000_000
_MOST_SWEEPS = 100_000
_ACCURACY = 1e-13  # of iterated vectors, relative to the largest that they could be


def node_vectors(controller: ControllerPolicy, model: CPOMDP) -> AlphaPolicy:
    """The policy that is greedy in the values of a controller's nodes.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("tiger")
    >>> rc.policies.node_vectors(rc.policies.blind(model, "listen"), model).vectors
    array([[-4., -4.]])
    """
    controller.batches([], model)  # refuses a controller of another model
    n, states = controller.actions.size, model.n_states
    if n * states > _MOST_PAIRS:
        raise PolicyError(f"the vectors of {n:,} nodes over {states:,} states are too many to be held")
    gain = np.ascontiguousarray(model.reward[:, controller.actions].T)
    vectors = _solved(controller, model, gain) if n * states <= _SOLVABLE else _iterated(controller, model, gain)
    return AlphaPolicy(model, vectors, controller.actions)


def _after(controller: ControllerPolicy, model: CPOMDP, values: FloatArray) -> FloatArray:
    """The expected values after one step, undiscounted: [n, S] from [n, S]."""
    result = np.empty_like(values)
    for a in range(model.n_actions):
        nodes = np.flatnonzero(controller.actions == a)
        if nodes.size:
            told = model.observation[a].tocsc()
            landed = np.zeros((nodes.size, model.n_states))
            for o in range(model.n_observations):
                entries = slice(told.indptr[o], told.indptr[o + 1])
                state = told.indices[entries]
                landed[:, state] += told.data[entries] * values[controller.successors[nodes, o]][:, state]
            move: Any = model.transition[a]  # the stubs know no product with a dense matrix
            result[nodes] = (move @ landed.T).T
    return result


def _solved(controller: ControllerPolicy, model: CPOMDP, gain: FloatArray) -> FloatArray:
    from scipy.sparse.linalg import splu

    n, states = gain.shape
    blocks: list[list[Any]] = [[None] * n for _ in range(n)]
    for i, a in enumerate(controller.actions.tolist()):
        told = model.observation[a].tocsc()
        for j in np.unique(controller.successors[i]).tolist():
            to_j: FloatArray = told @ (controller.successors[i] == j).astype(np.float64)
            blocks[i][j] = before_the_end(model, model.transition[a]).multiply(to_j[None])
        if blocks[i][i] is None:
            blocks[i][i] = sp.csr_array((states, states))
    chain = sp.block_array(blocks, format="csc")
    system: Any = sp.csc_array(sp.identity(n * states, format="csc") - model.discount * chain)
    solved: FloatArray = splu(system).solve(gain.ravel()).reshape(gain.shape)
    return solved


def _iterated(controller: ControllerPolicy, model: CPOMDP, gain: FloatArray) -> FloatArray:
    """Sweeps until they change the vectors by no more than rounding."""
    values = np.zeros_like(gain)
    enough = _ACCURACY * float(np.abs(gain).max()) / model.fade
    for _ in range(_MOST_SWEEPS):
        new = gain + model.discount * _after(controller, model, values)
        change = float(np.abs(new - values).max())
        values = new
        if change <= enough:
            return values
    raise PolicyError(f"the vectors of {len(gain):,} nodes are not found: the discount is too near to 1")
