"""The longest that a process can go on before it has surely ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from .._types import BoolArray, FloatArray

if TYPE_CHECKING:
    from .cpomdp import CPOMDP


def most_steps(model: CPOMDP, from_anywhere: bool = False) -> float:
    """The longest path from the initial belief to terminal states, over all actions; inf if it can run in circles.

    Or from any state at all: what is computed state by state must end there, too.

    >>> import rcpomdp as rc
    >>> most_steps(rc.problems.make("tiger")), most_steps(rc.problems.make("tiger").with_horizon(3))
    (inf, 3.0)
    """
    moves = sp.csr_array(sum((matrix for matrix in model.transition[1:]), start=model.transition[0]))
    start: BoolArray = np.asarray(from_anywhere | (model.initial_belief > 0))
    alive = _reachable(moves, start) & ~model.terminal
    inner = moves[alive][:, alive].tocsr()
    back = sp.csr_array(inner.T)
    ahead, steps = np.diff(inner.indptr), 0  # successors that have not ended
    ended = np.flatnonzero(ahead == 0)
    left = int(alive.sum()) - ended.size
    while ended.size:
        steps += 1
        entries = np.concatenate([np.arange(back.indptr[s], back.indptr[s + 1]) for s in ended])
        before = back.indices[entries]
        np.subtract.at(ahead, before, 1)
        ended = np.unique(before[ahead[before] == 0])
        left -= ended.size
    return np.inf if left else float(steps)


def _reachable(moves: sp.csr_array[np.float64], start: BoolArray) -> BoolArray:
    """States that can be met from some of `start`."""
    met, front = start.copy(), np.flatnonzero(start)
    while front.size:
        entries = np.concatenate([np.arange(moves.indptr[s], moves.indptr[s + 1]) for s in front])
        after = np.unique(moves.indices[entries])
        front = after[~met[after]]
        met[front] = True
    return met


def adding_up(each: FloatArray, fade: FloatArray) -> FloatArray:
    """Totals of what each step may add, ``each / fade``; infinite where nothing fades, 0 where nothing is added."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(each > 0, each / fade, 0.0)


def before_the_end(model: CPOMDP, moves: sp.csr_array[np.float64]) -> sp.csr_array[np.float64]:
    """Transitions without those of terminal states, if γ = 1: ``I − γT`` is then still invertible."""
    if model.discount < 1:
        return moves
    return sp.csr_array(sp.diags_array((~model.terminal).astype(np.float64)) @ moves)
