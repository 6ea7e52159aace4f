"""Nodes of a controller that do the same in every history are one.

Two nodes are equal if they take the same action, and equal nodes follow each observation (Moore 1956). An observation
that cannot be made at a node may be followed by anything: two nodes agree if some choice makes them equal, and are
then folded into one that has the observations of both. What a controller does in a history that is possible stays
what it was, so reward, costs and sure costs do, too.
"""

from __future__ import annotations

import numpy as np

from .._types import IntArray
from ..deadline import hurry

_MOST_REFINED = 2_000_000  # nodes that are looked at, those of all rounds together; beyond that nothing is merged
_MOST_FOLDED = 600  # nodes of which every two are compared
_LARGEST = 2**62  # number that rows are told apart by
NOWHERE = -1  # what follows an observation that cannot be made


def merge_equal(actions: IntArray, successors: IntArray, start: int = 0) -> tuple[IntArray, IntArray]:
    """Actions [m] and successors [m, O] of a controller that does the same from node 0 on, with fewer nodes.

    Parameters
    ----------
    successors : [n, O] node that follows each observation, `NOWHERE` after one that cannot be made; so in the result
    """
    actions, successors = reached(actions, successors, start)
    actions, successors = reached(*_refined(actions, successors), 0)
    if actions.size <= _MOST_FOLDED and (successors == NOWHERE).any():
        actions, successors = reached(*_folded(actions, successors), 0)
    return actions, successors


def reached(actions: IntArray, successors: IntArray, start: int) -> tuple[IntArray, IntArray]:
    """The nodes that can be reached, in the order in which they are met from the start."""
    place = {start: 0}
    for i in (order := [start]):
        for j in successors[i].tolist():
            if j != NOWHERE and j not in place:
                place[j] = len(order)
                order.append(j)
    number = np.full(actions.size + 1, NOWHERE)
    number[order] = np.arange(len(order))
    return actions[order], number[successors[order]]


def closed(successors: IntArray) -> IntArray:
    """Successors in which a node stays where it is after what cannot be observed."""
    return np.where(successors == NOWHERE, np.arange(len(successors))[:, None], successors)


def _refined(actions: IntArray, successors: IntArray) -> tuple[IntArray, IntArray]:
    """Partition refinement: blocks of nodes that cannot be told apart, what cannot be observed being a block itself."""
    block, count, looked = np.unique(actions, return_inverse=True)[1].reshape(-1), 0, 0
    while (found := int(block.max()) + 1) > count:
        count, looked = found, looked + block.size
        if looked > _MOST_REFINED:  # long chains need as many rounds as they have nodes
            return actions, successors
        block = _rank(block, np.append(block, NOWHERE)[successors])
    return _joined(actions, successors, block)


def _rank(block: IntArray, after: IntArray) -> IntArray:
    """Number the rows (block, after) in their order; equal ones have one number.

    Columns are read as the digits of a number as long as it fits, which is several times as fast as to sort rows.
    """
    width = int(block.max()) + 2
    rank, size = block, width
    for column in after.T:
        if size > _LARGEST // width:
            rank = np.unique(rank, return_inverse=True)[1].reshape(-1)
            size = int(rank.max()) + 1
        rank = rank * width + (column + 1)
        size *= width
    return np.unique(rank, return_inverse=True)[1].reshape(-1)


def _joined(actions: IntArray, successors: IntArray, block: IntArray) -> tuple[IntArray, IntArray]:
    """One node for each block, that of node 0 first."""
    _, first, number = np.unique(block, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # blocks by their first member
    number = np.append(rank[number.reshape(-1)], NOWHERE)
    after = np.full((first.size, successors.shape[1]), NOWHERE)
    np.maximum.at(after, number[:-1], number[successors])
    return actions[np.sort(first)], after


def _folded(actions: IntArray, successors: IntArray) -> tuple[IntArray, IntArray]:
    """Fold every two nodes that agree, one pair after the other."""
    block = np.arange(actions.size)
    after = successors.copy()  # of each block at its first member
    for i in range(actions.size):
        if hurry():
            break  # what is folded is enough
        for j in range(i):
            if block[i] == i and block[j] == j and actions[i] == actions[j]:
                fold = _fold(actions, after, block, j, i)
                if fold is not None:
                    block, after = fold
    return _joined(actions, after[block], block)


def _fold(actions: IntArray, after: IntArray, block: IntArray, i: int, j: int) -> tuple[IntArray, IntArray] | None:
    """Blocks and what follows them once two blocks are one, with all that this asks for; None if they do not agree."""
    common = (after[i] != NOWHERE) & (after[j] != NOWHERE)
    if (actions[block[after[i][common]]] != actions[block[after[j][common]]]).any():
        return None  # told at once, as of most
    block, after = block.copy(), after.copy()
    for pair in (pairs := [(i, j)]):
        one, other = sorted(block[list(pair)].tolist())
        if one == other:
            continue
        if actions[one] != actions[other]:
            return None
        both = (after[one] != NOWHERE) & (after[other] != NOWHERE)
        pairs += zip(after[one][both].tolist(), after[other][both].tolist(), strict=True)
        after[one] = np.where(after[one] == NOWHERE, after[other], after[one])
        block[block == other] = one
    return block, after
