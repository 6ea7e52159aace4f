"""From what a caller gives to the flat arrays of a model, or a sentence that says what is wrong with it.

Rows are probability distributions: entries in [0, 1] that sum to 1. A sum off by no more than
``ROW_TOLERANCE`` is taken for rounding (published model files carry six digits) and the row is rescaled.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from reprlib import repr as short
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import AnyArray, FloatArray, IndexArray, IntArray
from ..errors import ModelError
from .labels import Labels, listed

ROW_TOLERANCE = 1e-5
_EXACT = 1e-12  # a sum this near to 1 is left as it is, so that files round-trip bit by bit

_REAL = (Real, Decimal, np.bool_)

Rows = tuple[IntArray, IndexArray, FloatArray]  # (pointer, column, probability), as in ModelArrays


def real_array(values: Any, what: str) -> FloatArray:
    """Values as float64, refused with a sentence if they are not an array of real numbers.

    A lone item that is no number, such as None, becomes NaN: the check that follows names its place.
    """
    if sp.issparse(values):
        raise ModelError(f"{what} is a sparse matrix; give a dense array")
    if np.ma.is_masked(values):
        raise ModelError(f"{what} has masked entries")
    try:
        array: AnyArray = np.asarray(values)
    except ValueError:
        raise ModelError(f"{what} is ragged: its rows have different lengths") from None
    if array.dtype == np.object_ and (array.ndim or isinstance(values, _REAL)):
        array = np.array([_float(item) for item in array.flat], dtype=np.float64).reshape(array.shape)
    if array.dtype.kind not in "buif":
        raise ModelError(f"{what} is not an array of real numbers (its dtype is {array.dtype})")
    return np.asarray(array, dtype=np.float64, order="C")


def _float(item: Any) -> float:
    try:
        return float(item) if isinstance(item, _REAL) else np.nan
    except OverflowError:
        return np.inf if item > 0 else -np.inf
    except ValueError:  # a signalling NaN
        return np.nan


def real_number(value: Any, what: str) -> float:
    """A value as a float, refused with a sentence that starts with `what` if it is not a real number."""
    try:
        number = real_array(value, what)
    except ModelError:
        raise ModelError(f"{what} {short(value)}, not a number") from None
    if number.ndim:
        raise ModelError(f"{what} {short(value)}, not a number")
    return float(number)


def label_index(labels: Labels, label: Hashable, where: str) -> int:
    """Index of a label; the error for an unknown one says where it stood."""
    try:
        return labels.index(label)
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from None


def state_indices(given: Any, states: Labels, what: str) -> list[int]:
    """Indices of some states, given by their labels or by a mask."""
    if isinstance(given, str):  # it would be read as a list of letters
        raise ModelError(f"{what} is {given!r}, not a list")
    items = listed(given, f"{what} is")
    if items and all(isinstance(i, bool | np.bool_) for i in items) and not isinstance(states[0], bool):
        if len(items) != len(states):
            n = count(len(states), "state")
            raise ModelError(f"{what} mask has length {len(items)}, but the model has {n}")
        return [s for s, is_in in enumerate(items) if is_in]
    return [label_index(states, label, what) for label in items]


def split_by_action(given: Any, what: str) -> list[sp.csr_array[np.float64]]:
    """One canonical CSR matrix per action, from a dense [a, ., .] array or a sequence of matrices."""
    if sp.issparse(given):
        raise ModelError(f"{what} is one sparse matrix; give a list of them, one per action")
    if isinstance(given, Sequence) and not isinstance(given, str):
        matrices = list(given)
    else:
        array = real_array(given, what)
        if array.ndim != 3:
            raise ModelError(f"{what} has {count(array.ndim, 'dimension')}, not the 3 of [action, from, to]")
        matrices = list(array)
    if not matrices:
        raise ModelError(f"{what} has no action")
    return [_canonical(m, f"{what} of action {a}") for a, m in enumerate(matrices)]


def _canonical(matrix: Any, what: str) -> sp.csr_array[np.float64]:
    if not sp.issparse(matrix):
        matrix = real_array(matrix, what)
    elif (dtype := np.dtype(getattr(matrix, "dtype", None))).kind not in "buif":
        raise ModelError(f"{what} is not an array of real numbers (its dtype is {dtype})")
    elif hasattr(matrix, "check_format"):
        _check_indices(matrix, what)
    if matrix.ndim != 2:
        raise ModelError(f"{what} has {count(matrix.ndim, 'dimension')}, not the 2 of [from, to]")
    csr = sp.csr_array(matrix, dtype=np.float64)
    if not csr.has_canonical_format or (csr.data == 0).any():
        csr = csr.copy()  # the caller's matrix is never changed
        csr.sum_duplicates()
        csr.eliminate_zeros()
    return csr


def _check_indices(matrix: Any, what: str) -> None:
    """Refuse indices out of range: kernels trust them, and scipy does not check them when a matrix is made."""
    alias = type(matrix)(matrix)  # shares the entries; the check may tidy its attributes
    try:
        alias.check_format(full_check=True)
    except ValueError as error:
        raise ModelError(f"{what} is not a well-formed sparse matrix: {error}") from None


def check_shapes(matrices: Sequence[sp.csr_array[np.float64]], shape: tuple[int, int], what: str) -> None:
    """Refuse matrices that do not all have this shape."""
    for a, matrix in enumerate(matrices):
        if matrix.shape != shape:
            raise ModelError(f"{what} of action {a} has shape {matrix.shape}, not {shape}")


def stochastic_rows(
    matrices: Sequence[sp.csr_array[np.float64]], what: str, states: Labels, actions: Labels, columns: Labels
) -> Rows:
    """Lay the matrices end to end, having checked that each row is a distribution.

    `what` is "transition" or "observation"; the labels name the offender in an error.
    """
    n = len(states)
    pointer = np.zeros(len(matrices) * n + 1, dtype=np.int64)
    for a, matrix in enumerate(matrices):
        _check_entries(matrix, what, states, actions[a], columns)
        pointer[a * n + 1 : (a + 1) * n + 1] = pointer[a * n] + matrix.indptr[1:]
    column = np.concatenate([m.indices.astype(np.int32, copy=False) for m in matrices])
    probability = np.concatenate([m.data for m in matrices])
    row_sum = _row_sums(pointer, probability)
    off = np.abs(row_sum - 1.0)
    if (wrong := np.flatnonzero(off > ROW_TOLERANCE)).size:
        a, s = divmod(int(wrong[0]), n)
        total = f"{row_sum[wrong[0]]:.12g}"
        raise ModelError(f"{what} of state {states[s]!r} under action {actions[a]!r} sums to {total}, not 1")
    if (off > _EXACT).any():
        scale = np.where(off > _EXACT, row_sum, 1.0)
        probability /= np.repeat(scale, np.diff(pointer))
    return pointer, column, probability


def check_products(moves: Rows, seen: Rows) -> None:
    """Refuse probabilities whose product is no number with all its digits: such histories would be overlooked."""
    least = float(moves[2].min(initial=1.0)), float(seen[2].min(initial=1.0))
    if least[0] * least[1] < np.finfo(np.float64).tiny:
        raise ModelError(
            f"transition probability {least[0]:.3g} times observation probability {least[1]:.3g} is too small "
            "to compute with; leave out what never happens"
        )


def _row_sums(pointer: IntArray, values: FloatArray) -> FloatArray:
    sums = np.zeros(len(pointer) - 1)
    filled = np.flatnonzero(np.diff(pointer))
    if filled.size:
        sums[filled] = np.add.reduceat(values, pointer[filled])
    return sums


def _check_entries(
    matrix: sp.csr_array[np.float64], what: str, states: Labels, action: object, columns: Labels
) -> None:
    bad = np.flatnonzero(~((matrix.data >= 0) & (matrix.data <= 1 + ROW_TOLERANCE)))
    if not bad.size:
        return
    i = int(bad[0])
    s = int(np.searchsorted(matrix.indptr, i, side="right")) - 1
    value = matrix.data[i]
    fault = "is not a number" if np.isnan(value) else "is below 0" if value < 0 else "is above 1"
    raise ModelError(
        f"{what} of state {states[s]!r} under action {action!r} gives {columns[int(matrix.indices[i])]!r} "
        f"probability {value:.12g}, which {fault}"
    )


def distribution(values: Any, size: int, what: str, labels: Labels) -> FloatArray:
    """A probability vector over `labels`."""
    p = real_array(values, what)
    if p.shape != (size,):
        raise ModelError(f"{what} has shape {p.shape}, not ({size},)")
    bad = np.flatnonzero(~((p >= 0) & (p <= 1 + ROW_TOLERANCE)))
    if bad.size:
        i = int(bad[0])
        fault = "is not a number" if np.isnan(p[i]) else "is below 0" if p[i] < 0 else "is above 1"
        raise ModelError(f"{what} gives {labels[i]!r} probability {p[i]:.12g}, which {fault}")
    total = float(p.sum())
    if abs(total - 1.0) > ROW_TOLERANCE:
        raise ModelError(f"{what} sums to {total:.12g}, not 1")
    return p / total if abs(total - 1.0) > _EXACT else p.copy()


def matrices(rows: Rows, shape: tuple[int, int]) -> tuple[sp.csr_array[np.float64], ...]:
    """One CSR matrix per action of rows laid end to end; the entries are shared, not copied."""
    pointer, column, probability = rows
    n = shape[0]
    split = []
    for first in range(0, len(pointer) - 1, n):
        p = pointer[first : first + n + 1]
        entries = slice(p[0], p[-1])
        # int32 where it fits: scipy would copy the columns to match a wider pointer
        width = np.int32 if p[-1] - p[0] <= np.iinfo(np.int32).max else np.int64
        own_pointer = (p - p[0]).astype(width)
        own_pointer.setflags(write=False)
        split.append(sp.csr_array((probability[entries], column[entries], own_pointer), shape=shape))
    return tuple(split)


def expectation(
    values: FloatArray,
    what: str,
    t_rows: Rows,
    z_rows: Rows,
    states: Labels,
    actions: Labels,
    n_observations: int,
) -> FloatArray:
    """Reduce X[s, a], X[s, a, s'] or X[s, a, s', o], all finite, to the expectation X(s, a)."""
    n, m = len(states), len(actions)
    full = (n, m, n, n_observations)
    if not 2 <= values.ndim <= 4 or values.shape != full[: values.ndim]:
        raise ModelError(
            f"{what} has shape {values.shape}; by [s, a], [s, a, s'] or [s, a, s', o] it should be "
            f"{full[:2]}, {full[:3]} or {full}"
        )
    if (bad := np.argwhere(~np.isfinite(values))).size:
        s, a = (int(i) for i in bad[0][:2])
        fault = "is not a number" if np.isnan(values[tuple(bad[0])]) else "is infinite"
        raise ModelError(f"{what} of state {states[s]!r} under action {actions[a]!r} {fault}")
    if values.ndim == 2:
        return values.copy()
    reduced = np.empty((n, m))
    t, z = matrices(t_rows, (n, n)), matrices(z_rows, (n, n_observations))
    for a in range(m):
        arrival = values[:, a]
        if values.ndim == 4:
            arrival = np.einsum("ijo,jo->ij", arrival, z[a].toarray())
        entry = t[a].tocoo()
        reduced[:, a] = np.bincount(entry.row, entry.data * arrival[entry.row, entry.col], minlength=n)
    return reduced


def check_not_negative(cost: FloatArray, what: str, states: Labels, actions: Labels) -> None:
    """Refuse costs below 0 (Def. 2), with which a remaining budget could grow back."""
    if (bad := np.argwhere(cost < 0)).size:
        s, a = (int(i) for i in bad[0][:2])
        value = cost[tuple(bad[0])]
        where = f"state {states[s]!r} under action {actions[a]!r}"
        raise ModelError(f"{what} of {where} is {value:.12g}, below 0")


def budget_vector(budget: Any, costs: Labels) -> FloatArray:
    """A budget for each cost, as `per_cost`; None means unlimited."""
    vector = per_cost(budget, costs, "budget", np.inf)
    for name, value in zip(costs, vector, strict=True):
        if value < 0:
            raise ModelError(f"budget of {name!r} is {value:.12g}, below 0")
    return vector


def per_cost(given: Any, costs: Labels, what: str, default: float) -> FloatArray:
    """A number for each cost, in their order or by name; a scalar serves one cost, None means the default."""
    k = len(costs)
    if given is None:
        return np.full(k, default)
    if isinstance(given, Mapping):
        named = {label_index(costs, name, what): value for name, value in given.items()}
        given = [named.get(i) for i in range(k)]
    if isinstance(given, list | tuple):
        given = [default if value is None else value for value in given]
    for value in given if isinstance(given, list) else [given]:
        if isinstance(value, str):
            raise ModelError(f"{what} is {value!r}, a text and not a number")
    vector = real_array(given, what).reshape(-1)
    if vector.shape != (k,):
        raise ModelError(f"{what} has length {len(vector)}, but the model has {count(k, 'cost')}")
    for name, value in zip(costs, vector, strict=True):
        if np.isnan(value):
            raise ModelError(f"{what} of {name!r} is not a number")
    return vector.copy()


def cost_list(cost: Any) -> list[FloatArray]:
    """The costs one by one, each as C[s, a], C[s, a, s'] or C[s, a, s', o]."""
    if cost is None:
        return []
    array = real_array(cost, "cost")
    if array.ndim not in {2, 3, 4, 5}:
        dimensions = count(array.ndim, "dimension")
        raise ModelError(f"cost has {dimensions}; give C[s, a] or C[k, s, a]")
    return [array] if array.ndim == 2 else list(array)


def belief_vector(belief: Mapping[Any, float], states: Labels) -> FloatArray:
    """The vector of an initial belief that is given as ``{label: probability}``."""
    vector = np.zeros(len(states))
    for label, probability in belief.items():
        s = label_index(states, label, "initial belief")
        vector[s] += real_number(probability, f"initial belief gives {label!r} probability")
    return vector


def check_discount(discount: Any) -> float:
    """A discount as a float, refused unless it lies in [0, 1]."""
    gamma = real_number(discount, "discount is")
    if not 0 <= gamma <= 1:
        raise ModelError(f"discount is {gamma!r}, outside [0, 1]")
    return gamma


def cost_discounts(given: Any, costs: Labels, discount: float) -> FloatArray:
    """A discount for each cost, as `per_cost`: γ unless given, and refused unless ``γ ≤ β ≤ 1``."""
    beta = per_cost(given, costs, "cost discount", discount)
    for name, value in zip(costs, beta.tolist(), strict=True):
        if not discount <= value <= 1:
            raise ModelError(
                f"cost discount of {name!r} is {value!r}, outside [{discount!r}, 1], from the discount to 1"
            )
        if discount == 0 < value:
            raise ModelError(f"cost discount of {name!r} is {value!r}, but with discount 0 nothing after a step counts")
    return beta


def step_limits(given: Any, costs: Labels) -> FloatArray:
    """The most that a step may cost, as `per_cost`: unlimited unless given."""
    limit = per_cost(given, costs, "step limit", np.inf)
    for name, value in zip(costs, limit.tolist(), strict=True):
        if not value >= 0:
            raise ModelError(f"step limit of {name!r} is {value:.12g}, below 0")
    return limit


def check_horizon(horizon: Any) -> int:
    """A number of steps, at least 1."""
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
        raise ModelError(f"horizon is {horizon!r}, not a number of steps, 1 or more")
    return int(horizon)


def count(n: int, noun: str) -> str:
    """A number and its noun, as in "1 state" and "2 states"."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
