"""The nodes that can be reached through one node alone (Cooper, Harvey and Kennedy 2001)."""

from __future__ import annotations

import numpy as np

from .._types import IntArray


def dominated(successors: list[list[int]]) -> tuple[IntArray, IntArray]:
    """First and last place of each node in an order in which all that it dominates follows it, itself first.

    Node i dominates those nodes that cannot be reached from node 0 without it: ``first[i] <= first[j] < last[i]``.

    >>> first, last = dominated([[1, 2], [3], [3], [3]])
    >>> [int(n) for n in last - first]  # nodes that each of them dominates
    [4, 1, 1, 1]
    """
    order = _reverse_postorder(successors)
    rank = {node: i for i, node in enumerate(order)}
    before: list[list[int]] = [[] for _ in order]
    for node in order:
        for after in successors[node]:
            before[rank[after]].append(rank[node])
    parent = [0] + [-1] * (len(order) - 1)  # by rank: the nearest node that dominates
    changed = True
    while changed:
        changed = False
        for i in range(1, len(order)):
            common = -1
            for known in (j for j in before[i] if parent[j] >= 0):
                common = known if common < 0 else _meet(parent, common, known)
            changed |= parent[i] != common
            parent[i] = common
    size = np.ones(len(order), dtype=np.int64)
    for i in range(len(order) - 1, 0, -1):
        size[parent[i]] += size[i]
    first, room = np.zeros(len(order), dtype=np.int64), np.ones(len(order), dtype=np.int64)
    for i in range(1, len(order)):
        first[i] = first[parent[i]] + room[parent[i]]
        room[parent[i]] += size[i]
    by_node = np.empty((2, len(order)), dtype=np.int64)
    by_node[:, order] = first, first + size
    return by_node[0], by_node[1]


def _meet(parent: list[int], i: int, j: int) -> int:
    """The nearest node that dominates two others."""
    while i != j:
        i, j = (parent[i], j) if i > j else (i, parent[j])
    return i


def _reverse_postorder(successors: list[list[int]]) -> list[int]:
    met, order = {0}, []
    path = [(0, iter(successors[0]))]
    while path:
        node, ahead = path[-1]
        after = next((j for j in ahead if j not in met), None)
        if after is None:
            order.append(node)
            path.pop()
        else:
            met.add(after)
            path.append((after, iter(successors[after])))
    return order[::-1]
