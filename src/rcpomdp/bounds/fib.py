"""The fast informed bound (Hauskrecht 2000): one vector per action, tighter than QMDP.

``F_a(s) = R(s, a) + γ Σ_o max_a' Σ_s' T(s, a, s') Z(s', a, o) F_a'(s')``, or ``F = HF``. The iteration starts from
the MDP's Q, an upper bound, and falls from there, so that stopping it early is sound. Where the process cannot end, H
moves with a constant, ``H(F + c) = HF + γc``, so that ``F* ≤ HF + γ max(HF − F) / (1−γ)``: what falls everywhere is
taken off at once.
"""

from __future__ import annotations

import numpy as np

from .._types import FloatArray
from ..deadline import PRODUCT, charge, hurry
from ..kernels.bounds import values as kernels
from ..model import CPOMDP
from .mdp import mdp_q_values
from .one_step import one_step_size

_RELATIVE = 1e-6
_STRIDE = 20_000_000  # (s, a, s', o, a') between two looks at the deadline, about 0.05 s


def fib_vectors(model: CPOMDP, max_sweeps: int = 1000) -> FloatArray:
    """F[a, s]: for every belief, ``V(b) ≤ max_a Σ_s b(s) F_a(s)``."""
    q = mdp_q_values(model)
    m, gamma = model.arrays, model.discount
    acc = np.zeros((model.n_observations, model.n_actions))
    scale = float(np.abs(model.reward).max())
    ends = bool(model.terminal.any())
    settled = _RELATIVE * scale * min(1.0, 10 * model.fade)
    per_state = model.n_actions * one_step_size(model).support / model.n_states
    stride = max(1, int(_STRIDE / per_state))
    for _ in range(max_sweeps):
        before, fall = (q if ends else q.copy()), 0.0
        for first in range(0, model.n_states, stride):
            last = min(first + stride, model.n_states)
            fall = max(fall, kernels.fib_sweep(m, gamma, before, q, model.terminal, acc, first, last))
            charge(PRODUCT * per_state * (last - first))
            if hurry():
                return np.ascontiguousarray(q.T)
        if not ends:
            change = q - before
            fall = float(change.max() - change.min())
            q += gamma / model.fade * min(0.0, float(change.max()))
        if fall <= settled:
            break
    return np.ascontiguousarray(q.T)


def cost_fib_vectors(model: CPOMDP, k: int = 0) -> FloatArray:
    """G[a, s]: for every belief, the least expected cost k is at least ``min_a Σ_s b(s) G_a(s)``.

    The fast informed bound of the reward ``−C_k``, with its sign turned: a lower bound wherever it stops.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce", discount=0.5)
    >>> bool((cost_fib_vectors(model) @ model.initial_belief).min() <= 2.5)  # always going into tunnel A costs that
    True
    """
    target = model._changed(arrays=model.arrays._replace(reward=-model.cost[k]))
    return np.maximum(0.0, -fib_vectors(target))
