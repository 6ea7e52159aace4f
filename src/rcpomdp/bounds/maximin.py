"""The largest value that the cheapest of several vectors can have: a maximin linear program.

``max_b min_i α_i·b`` over the simplex is ``max z`` subject to ``α_i·b ≥ z`` for all i (paper, Eq. maximinLP). By
duality it equals ``min_λ max_s Σ_i λ_i α_i(s)`` over mixtures λ, so *any* mixture bounds it from above. What is
returned is the bound of the mixture that HiGHS finds: it holds whatever the solver's tolerances leave.
"""

from __future__ import annotations

import numpy as np

from .._types import FloatArray


def maximin(vectors: FloatArray, seconds: float = 10.0) -> float:
    """An upper bound on ``max_b min_i Σ_s b(s) vectors[i, s]``, tight to the solver's tolerance.

    If the program takes longer than `seconds`, the bound is that of the best single vector.

    >>> round(maximin(np.array([[0.0, 2.0], [1.0, 0.0]])), 9)  # equal at b = (2/3, 1/3)
    0.666666667
    """
    one = vectors[vectors.max(axis=1).argmin()]  # the best mixture of a single vector
    best = float(one.max())
    if best <= float(vectors.min(axis=0).max()):  # a single state attains it
        return best
    mixture = _mixture(vectors, seconds)
    return best if mixture is None else min(best, float((mixture @ vectors).max()))


def _mixture(vectors: FloatArray, seconds: float) -> FloatArray | None:
    """The multipliers of the vectors in the linear program, or None if it was not solved."""
    import highspy

    n, size = vectors.shape
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = size + 1, n + 1  # b and z; one row per vector, and Σ b = 1
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = np.append(np.zeros(size), 1.0)
    lp.col_lower_ = np.append(np.zeros(size), -highspy.kHighsInf)
    lp.col_upper_ = np.full(size + 1, highspy.kHighsInf)
    lp.row_lower_ = np.append(np.zeros(n), 1.0)
    lp.row_upper_ = np.append(np.full(n, highspy.kHighsInf), 1.0)
    rows = np.block([[vectors, np.full((n, 1), -1.0)], [np.ones(size), 0.0]])
    kept = rows != 0
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.append(0, np.cumsum(kept.sum(axis=1)))
    lp.a_matrix_.index_ = np.nonzero(kept)[1]
    lp.a_matrix_.value_ = rows[kept]
    highs = highspy.Highs()  # type: ignore[no-untyped-call]  # its constructor has no annotations
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("time_limit", seconds)
    highs.passModel(lp)
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    weights = np.abs(np.array(highs.getSolution().row_dual[:n]))
    total = weights.sum()
    return weights / total if total > 0 else None
