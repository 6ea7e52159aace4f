"""Upper bounds from the underlying MDP, in which the state is known.

``V(s) = max_a Q(s, a)``, ``Q(s, a) = R(s, a) + γ Σ_s' T(s, a, s') V(s')``. Value iteration runs in place, to and fro,
which settles a problem with an end in a few sweeps. Where the discount is so near to 1 that it would never
settle, policy iteration with direct solves finishes the work. Whatever V is left, ``V* ≤ V + δ/(1−γ)`` with
``δ = max(0, max_s (TV − V)(s))``: the bound that is returned holds, however early the iteration stops.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from .._types import FloatArray
from ..kernels import values as kernels
from ..model import CPOMDP

_SWEEPS = 500
_POLICIES = 100
_RELATIVE = 1e-9  # settled when what is added at the end is no more than this share of the largest reward


def mdp_q_values(model: CPOMDP) -> FloatArray:
    """Q[s, a] of the underlying MDP, from above: for every belief, ``V(b) ≤ max_a Σ_s b(s) Q(s, a)`` (QMDP).

    >>> import rcpomdp as rc
    >>> q = mdp_q_values(rc.problems.make("tiger"))
    >>> q.max(axis=1).round(6).tolist()  # 10 at every step: 10 / (1 - 0.75)
    [40.0, 40.0]
    """
    m, gamma, terminal = model.arrays, model.discount, model.terminal
    scale = float(np.abs(m.reward).max()) or 1.0
    value = np.zeros(model.n_states)
    q = np.empty((model.n_states, model.n_actions))
    for sweep in range(_SWEEPS):
        if kernels.mdp_sweep(m, gamma, value, terminal, sweep % 2 == 1) <= _RELATIVE * scale * (1 - gamma):
            break
    else:
        value = _policy_iteration(model, value)
    kernels.mdp_q(m, gamma, value, q)
    residual = max(0.0, float((q.max(axis=1) - value).max()))
    if residual > 0:
        value = np.where(terminal, 0.0, value + residual / (1 - gamma))
        kernels.mdp_q(m, gamma, value, q)
    return q


def _policy_iteration(model: CPOMDP, value: FloatArray) -> FloatArray:
    """V by Howard's policy iteration, started from the policy greedy in `value`."""
    m, n, gamma = model.arrays, model.n_states, model.discount
    every_row = sp.vstack(model.transition, format="csr")
    q = np.empty((n, model.n_actions))
    kernels.mdp_q(m, gamma, value, q)
    policy = q.argmax(axis=1)
    every = np.arange(n)
    for _ in range(_POLICIES):
        system = sp.csc_array(sp.identity(n, format="csc") - gamma * every_row[policy * n + every])
        value = splu(system).solve(m.reward[every, policy])
        kernels.mdp_q(m, gamma, value, q)
        better = q.argmax(axis=1)
        gain = q[every, better] - q[every, policy]
        if (gain <= 1e-12 * np.maximum(1.0, np.abs(value))).all():
            break
        policy = np.where(gain > 0, better, policy)
    return np.where(model.terminal, 0.0, value)
