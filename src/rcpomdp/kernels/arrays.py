"""The flat form of a model that every kernel reads."""

from __future__ import annotations

from typing import NamedTuple

from .._types import FloatArray, IndexArray, IntArray


class ModelArrays(NamedTuple):
    """Sparse rows of all actions laid end to end; row ``a * S + s`` is state s under action a.

    Index dtypes are fixed (pointers int64, columns int32) so that each kernel is compiled once.
    """

    t_ptr: IntArray  # [A*S + 1] where row a*S + s of the transitions starts
    t_next: IndexArray  # [nnz] successor state s'
    t_prob: FloatArray  # [nnz] T(s, a, s') > 0
    z_ptr: IntArray  # [A*S + 1] where row a*S + s' of the observations starts
    z_obs: IndexArray  # [nnz] observation o
    z_prob: FloatArray  # [nnz] Z(s', a, o) > 0
    reward: FloatArray  # [S, A]
    cost: FloatArray  # [K, S, A]
    cost_discount: FloatArray  # [K] β of each cost, γ ≤ β ≤ 1
    step_limit: FloatArray  # [K] the most that a single step may cost, tolerance included; inf is no limit
    n_observations: int
