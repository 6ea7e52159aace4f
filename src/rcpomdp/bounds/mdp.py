"""Upper bounds from the underlying MDP, in which the state is known.

``V(s) = max_a Q(s, a)``, ``Q(s, a) = R(s, a) + γ Σ_s' T(s, a, s') V(s')``. Whatever V value iteration leaves,
``V* ≤ V + max_s (TV − V)(s) / (1−γ)``: the bound that is returned holds, however early the iteration stops.

Where the process can end, sweeps run in place, to and fro, which settles most problems in a few of them. Where it
cannot, what the residual has in common everywhere is added at once (MacQueen 1966): a problem that mixes settles
soon, even if γ is so near to 1 that the values themselves never would. If neither helps, policy iteration with
direct solves is tried on models that are small enough for it.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from .._types import FloatArray
from ..deadline import PRODUCT, charge, hurry
from ..kernels.bounds import values as kernels
from ..model import CPOMDP
from ..model.endings import before_the_end

_SWEEPS = 500
_POLICIES = 100
_AT_ONCE = 20_000_000  # products that are done before there is any hurry, about 0.03 s
_SOLVABLE = 3000  # states; the factors of a larger sparse system may fill up
_SOLVE = 20  # elementary steps for each entry of a system of equations, about
_RELATIVE = 1e-9  # settled when the bound is loose by no more than this share of the values
_EPS = float(np.finfo(np.float64).eps)


def mdp_q_values(model: CPOMDP) -> FloatArray:
    """Q[s, a] of the underlying MDP, from above: for every belief, ``V(b) ≤ max_a Σ_s b(s) Q(s, a)`` (QMDP).

    >>> import rcpomdp as rc
    >>> q = mdp_q_values(rc.problems.make("tiger"))
    >>> q.max(axis=1).round(6).tolist()  # 10 at every step: 10 / (1 - 0.75)
    [40.0, 40.0]
    """
    m, gamma = model.arrays, model.discount
    ends = bool(model.terminal.any())
    scale = float(np.abs(m.reward).max())
    value = np.zeros(model.n_states)
    q = np.empty((model.n_states, model.n_actions))

    def residual() -> FloatArray:
        kernels.mdp_q(m, gamma, value, q)
        return np.asarray(q.max(axis=1) - value)

    for sweep in range(_SWEEPS):
        if ends:
            loose = kernels.mdp_sweep(m, gamma, value, model.terminal, sweep % 2 == 1)
        else:
            r = residual()
            loose = float(r.max() - r.min())
            value += r + gamma / model.fade * (r.max() + r.min()) / 2
        charge(PRODUCT * m.t_next.size)
        in_hurry = sweep * m.t_next.size > _AT_ONCE and hurry()
        if loose <= _RELATIVE * model.fade * max(scale, float(np.abs(value).max())) or in_hurry:
            break
    else:
        if model.n_states <= _SOLVABLE:
            value = _policy_iteration(model, value)
    left = float(residual().max()) + _rounding(model, value)
    # A terminal state's value is 0 whatever is added elsewhere, so with one nothing can be taken off.
    value += np.where(model.terminal, 0.0, (max(left, 0.0) if ends else left) / model.fade)
    kernels.mdp_q(m, gamma, value, q)
    return q + np.where(model.terminal[:, None], 0.0, _rounding(model, value))


def _rounding(model: CPOMDP, value: FloatArray) -> float:
    """At most what rounding can take off one backup of `value`."""
    terms = int(np.diff(model.arrays.t_ptr).max()) + 4
    return _EPS * terms * (float(np.abs(value).max()) + float(np.abs(model.reward).max()))


def _policy_iteration(model: CPOMDP, value: FloatArray) -> FloatArray:
    """V by Howard's policy iteration, started from the policy greedy in `value`."""
    m, n, gamma = model.arrays, model.n_states, model.discount
    every_row = sp.vstack([before_the_end(model, moves) for moves in model.transition], format="csr")
    q = np.empty((n, model.n_actions))
    kernels.mdp_q(m, gamma, value, q)
    policy = q.argmax(axis=1)
    every = np.arange(n)
    for _ in range(_POLICIES):
        system = sp.csc_array(sp.identity(n, format="csc") - gamma * every_row[policy * n + every])
        value = splu(system).solve(m.reward[every, policy])
        charge(_SOLVE * system.nnz)
        kernels.mdp_q(m, gamma, value, q)
        better = q.argmax(axis=1)
        gain = q[every, better] - q[every, policy]
        if (gain <= 8 * _rounding(model, value)).all() or hurry():
            break
        policy = np.where(gain > 0, better, policy)
    return np.where(model.terminal, 0.0, value)
