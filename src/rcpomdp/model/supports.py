"""Supports of the beliefs that histories lead to, where these are few.

The support after a history follows from the supports before it, by actions and observations alone. Where costs depend
on what is hidden, a plan over supports may surely cost less than one over observability classes, which are larger.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import deadline
from .._types import BoolArray, IntArray
from . import CPOMDP

_SLICE = 20_000_000  # (s, a, s', o) between two looks at the deadline, about 0.05 s
_FEWEST = 64  # supports that there is room for at first


class SupportGraph(NamedTuple):
    """The supports that can be reached, the initial one first, and what follows each."""

    members: BoolArray  # [n, S]
    after: IntArray  # [n, A, O] the support that follows; -1 where the observation is impossible


def reachable_supports(model: CPOMDP, most: int) -> SupportGraph | None:
    """Return the supports of all beliefs that can be reached; None if there are more than `most`.

    >>> import rcpomdp as rc
    >>> len(reachable_supports(rc.problems.make("ce"), 100).members)
    3
    """
    from ..kernels.supports import FULL, NONE, Supports, enter_first, enumerate_supports

    n, words = model.n_states, -(-model.n_states // 64)
    initial = np.zeros((words, 8), dtype=np.uint8)
    packed = np.packbits(model.initial_belief > 0, bitorder="little")
    initial.ravel()[: packed.size] = packed
    stride = max(1, _SLICE // max(1, len(model.arrays.t_next) * int(np.diff(model.arrays.z_ptr).max())))
    room = min(most, _FEWEST)
    while True:
        found = Supports(
            np.zeros((room, words), dtype=np.uint64),
            np.empty((room, model.n_actions, model.n_observations), dtype=np.int64),
            np.full(1 << (4 * room).bit_length(), NONE, dtype=np.int64),
        )
        enter_first(found, initial.view(np.uint64).ravel())
        count, done = 1, 0
        while count != FULL and done < count:
            deadline.check()
            last = min(done + stride, count)
            count, done = enumerate_supports(model.arrays, found, done, count, last), last
        if count != FULL:
            bits = np.unpackbits(found.bits[:count].view(np.uint8), axis=1, bitorder="little")[:, :n]
            return SupportGraph(bits.astype(np.bool_), found.after[:count])
        if room == most:
            return None
        room = min(most, 8 * room)
