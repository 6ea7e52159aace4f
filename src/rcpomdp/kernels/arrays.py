"""The flat form of a model that every kernel reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class ModelArrays(NamedTuple):
    """Sparse rows of all actions laid end to end; row ``a * S + s`` is state s under action a.

    Index dtypes are fixed (pointers int64, columns int32) so that each kernel is compiled once.
    """

    t_ptr: NDArray[np.int64]  # [A*S + 1] where row a*S + s of the transitions starts
    t_next: NDArray[np.int32]  # [nnz] successor state s'
    t_prob: NDArray[np.float64]  # [nnz] T(s, a, s') > 0
    z_ptr: NDArray[np.int64]  # [A*S + 1] where row a*S + s' of the observations starts
    z_obs: NDArray[np.int32]  # [nnz] observation o
    z_prob: NDArray[np.float64]  # [nnz] Z(s', a, o) > 0
    reward: NDArray[np.float64]  # [S, A]
    cost: NDArray[np.float64]  # [K, S, A]
    n_observations: int
