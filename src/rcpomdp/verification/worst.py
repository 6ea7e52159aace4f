"""The worst way through a graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from .._types import BoolArray, FloatArray, IntArray

EPS = float(np.finfo(np.float64).eps)


class Worst(NamedTuple):
    """The worst way through a graph: ``x_i = here_i + β max_j x_j`` over the successors j of i."""

    value: FloatArray  # [n] of the moves
    above: FloatArray  # [n] a bound from above
    move: IntArray  # [n] successor; n where there is none

    def end_of_path(self) -> int:
        """The point where the worst moves from 0 end, or any point of the cycle that they enter."""
        i = 0
        for _ in range(len(self.value)):
            if self.move[i] == len(self.value):
                break
            i = int(self.move[i])
        return i


def worst(here: FloatArray, parent: IntArray, child: IntArray, discount: float) -> Worst:
    """The worst way on edges that are sorted by parent."""
    return _discounted(here, parent, child, discount) if discount < 1 else _undiscounted(here, parent, child)


def _discounted(here: FloatArray, parent: IntArray, child: IntArray, gamma: float) -> Worst:
    """Policy iteration; moves are followed to the end by doubling their length."""
    n = here.size
    move = np.full(n + 1, n)
    gain = np.append(here, 0.0)
    x = gain.copy()
    rise = np.zeros(0)
    if child.size:
        first = np.flatnonzero(np.diff(parent, prepend=-1))
        owner, length = parent[first], np.diff(first, append=child.size)
        for _ in range(1000):
            value = x[child]
            best = np.maximum.reduceat(value, first)
            rise = best - x[move[owner]]
            better = (rise > 4 * EPS * best) | (move[owner] == n)
            if not better.any():
                break
            edge = np.flatnonzero((value == np.repeat(best, length)) & np.repeat(better, length))[::-1]
            move[parent[edge]] = child[edge]  # of equal ones the first, which is written last
            x, jump, weight = gain.copy(), move.copy(), gamma
            while weight > 0 and (jump != n).any():
                x = x + weight * x[jump]
                jump, weight = jump[jump], weight * weight
    slack = max(0.0, float(rise.max(initial=0.0))) * gamma / (1 - gamma)
    return Worst(x[:n], x[:n] + slack if slack else x[:n], move[:n])


def _undiscounted(here: FloatArray, parent: IntArray, child: IntArray) -> Worst:
    """Circles that cost something are worth infinitely much, others nothing; without them the longest way is found.

    Points that lead to each other are one circle. It is left at the exit that is worth most.
    """
    n = here.size
    graph = sp.csr_array((np.ones(child.size), (parent, child)), shape=(n, n))
    n_circles, circle = connected_components(graph, connection="strong")
    inside = circle[parent] == circle[child]
    is_circle = np.zeros(n_circles, dtype=np.bool_)
    is_circle[circle[parent[inside]]] = True
    cost = np.zeros(n_circles)
    np.maximum.at(cost, circle, here)
    cost[is_circle & (cost > 0)] = np.inf
    value = _longest(cost, circle[parent[~inside]], circle[child[~inside]])
    x = value[circle]
    move = np.full(n, n)
    best = np.full(n, -np.inf)
    np.maximum.at(best, parent, x[child])
    # Those of no circle go to the best of their successors; of equal ones the first, which is written last.
    edges = np.flatnonzero(~is_circle[circle[parent]] & (x[child] == best[parent]))[::-1]
    move[parent[edges]] = child[edges]
    points, edges_by_circle = np.argsort(circle, kind="stable"), np.argsort(circle[parent], kind="stable")
    every = np.arange(n_circles + 1)
    first, first_edge = np.searchsorted(circle[points], every), np.searchsorted(circle[parent][edges_by_circle], every)
    for c in np.flatnonzero(is_circle).tolist():
        members = points[first[c] : first[c + 1]]
        edges = edges_by_circle[first_edge[c] : first_edge[c + 1]]
        _go_round(members, edges, inside[edges], bool(np.isinf(cost[c])), here, x, parent, child, move)
    return Worst(x, x, move)


def _longest(cost: FloatArray, parent: IntArray, child: IntArray) -> FloatArray:
    """``x_i = cost_i + max_j x_j`` on a graph without circles, from its ends on."""
    n = cost.size
    x, after = cost.copy(), np.zeros(n)
    order = np.argsort(child, kind="stable")
    start = np.searchsorted(child[order], np.arange(n + 1))
    ahead = np.bincount(parent, minlength=n)
    done = np.flatnonzero(ahead == 0)
    while done.size:
        edges = np.concatenate([order[start[i] : start[i + 1]] for i in done.tolist()])
        np.maximum.at(after, parent[edges], x[child[edges]])
        np.subtract.at(ahead, parent[edges], 1)
        done = np.unique(parent[edges][ahead[parent[edges]] == 0])
        x[done] = cost[done] + after[done]
    return x


def _go_round(
    members: IntArray,
    edges: IntArray,
    stays: BoolArray,
    is_costly: bool,
    here: FloatArray,
    x: FloatArray,
    parent: IntArray,
    child: IntArray,
    move: IntArray,
) -> None:
    """Write the moves of a circle: to the point that costs most and round again, or if none costs to the best exit."""
    inside, exits = edges[stays], edges[~stays]
    if is_costly or not exits.size:
        goal = int(members[here[members].argmax()])
    else:
        leave = exits[x[child[exits]].argmax()]
        goal = int(parent[leave])
    distance = {goal: 0}
    into: dict[int, list[int]] = {}
    for e in inside.tolist():
        into.setdefault(int(child[e]), []).append(int(parent[e]))
    for point in (queue := [goal]):
        for before in into.get(point, []):
            if before not in distance:
                distance[before] = distance[point] + 1
                move[before] = point
                queue.append(before)
    if is_costly or not exits.size:
        follow = [int(child[e]) for e in inside.tolist() if parent[e] == goal]
        move[goal] = min(follow, key=lambda point: distance[point])
    else:
        move[goal] = child[leave]
