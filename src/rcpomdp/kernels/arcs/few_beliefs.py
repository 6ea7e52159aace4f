"""Value iteration over (belief, budget level) where beliefs are few: bounds from above and from below at once.

``U(b, d_l) = max_a R(b, a) + γ Σ_o p(o) U(b', ⌈(d_l − C(b, a))/γ⌉)`` is at least V*, as what is left is rounded up;
``L(b, d_l) = max_a R(b, a) + γ Σ_o p(o) L(b', ⌊(d_l − C(b, a))/γ⌋)``, or what a policy that knows no budget earns where
it is sure to stay within d_l, is at most V*. Whenever it is stopped, U started above stays above, and L started below
stays below.

A level of several costs is one number; that of the last cost runs fastest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import FloatArray, IndexArray, IntArray
from ..budget import left_after
from ..jit import inner, kernel

NONE = -1
SNAP = 1e-13  # relative difference below which a budget is rounding of a level, from above


class BeliefMDP(NamedTuple):
    """Beliefs, closed under all that can follow, by number."""

    discount: float
    cost_discount: FloatArray  # [K]
    snap: float  # the same as `SNAP` from below: all differences of a history together are far below the tolerance
    reward: FloatArray  # [N, A]
    cost: FloatArray  # [N, A, K]
    first: IntArray  # [N*A + 1] edges of (belief, action)
    child: IndexArray
    chance: FloatArray
    need: FloatArray  # [N, A, K] no policy that starts with the action has a sure cost below this
    steady: IntArray  # [N, P] actions of policies that know no budget
    value: FloatArray  # [N, P] what they earn
    sure: FloatArray  # [N, P, K] their sure costs


class Grid(NamedTuple):
    """Levels of each cost; at the last one a budget is as good as none."""

    value: FloatArray  # [K, most] increasing, from 0
    counts: IntArray  # [K]
    stride: IntArray  # [K]


class Bounds(NamedTuple):
    """Bounds at each belief and level."""

    upper: FloatArray  # [N, L]
    lower: FloatArray  # [N, L]


class Room(NamedTuple):
    """Working memory."""

    total: FloatArray  # [2, L]
    best: FloatArray  # [2, L]
    to: IntArray  # [2, L] where a level leads, rounded up and down
    part: IntArray  # [2, K, most] the same for each cost


@inner
def _fill_parts(mdp: BeliefMDP, grid: Grid, room: Room, i: int, a: int) -> None:
    """Write where the levels of each cost lead, rounded up and down; NONE if they are below what is needed."""
    for k in range(grid.counts.size):
        n, above = grid.counts[k], 0
        for at in range(n):
            d = grid.value[k, at]
            room.part[0, k, at] = NONE
            room.part[1, k, at] = NONE
            if d < mdp.need[i, a, k] * (1.0 - SNAP):
                continue
            rest = max(left_after(d, mdp.cost[i, a, k], mdp.cost_discount[k]), 0.0)
            while above < n - 1 and (at == n - 1 or grid.value[k, above] < rest * (1.0 - SNAP)):
                above += 1
            room.part[0, k, at] = above * grid.stride[k]
            if d * (1.0 + mdp.snap) >= mdp.cost[i, a, k]:
                within = at == n - 1 or grid.value[k, above] <= rest * (1.0 + mdp.snap)
                room.part[1, k, at] = (above if within else above - 1) * grid.stride[k]


@inner
def _fill_to(grid: Grid, room: Room) -> None:
    """Put the parts of all costs together."""
    for side in range(2):
        to, n = room.to[side], 1
        to[0] = 0
        for k in range(grid.counts.size - 1, -1, -1):
            for at in range(grid.counts[k] - 1, -1, -1):  # what is there already is overwritten last
                part = room.part[side, k, at]
                for level in range(n):
                    to[at * n + level] = to[level] + part if part != NONE and to[level] != NONE else NONE
            n *= grid.counts[k]


@inner
def _is_within(mdp: BeliefMDP, grid: Grid, i: int, policy: int, level: int) -> bool:
    """True if a policy that knows no budget surely stays within a level."""
    for k in range(grid.counts.size):
        if mdp.sure[i, policy, k] > grid.value[k, (level // grid.stride[k]) % grid.counts[k]]:
            return False
    return True


@kernel
def start(mdp: BeliefMDP, grid: Grid, bounds: Bounds, informed: FloatArray) -> None:
    """Start from bounds without a budget, and from policies that know none."""
    for i in range(bounds.upper.shape[0]):
        for level in range(bounds.upper.shape[1]):
            bounds.upper[i, level] = informed[i]
            bounds.lower[i, level] = -np.inf
        for policy in range(mdp.value.shape[1]):
            for level in range(bounds.upper.shape[1]):
                if mdp.value[i, policy] > bounds.lower[i, level] and _is_within(mdp, grid, i, policy, level):
                    bounds.lower[i, level] = mdp.value[i, policy]


@inner
def _back_up(mdp: BeliefMDP, grid: Grid, bounds: Bounds, room: Room, i: int) -> float:
    """Back up one belief at all levels; return the largest change."""
    n_actions, n_levels = mdp.reward.shape[1], bounds.upper.shape[1]
    for level in range(n_levels):
        room.best[0, level] = -np.inf
        room.best[1, level] = bounds.lower[i, level]
    for a in range(n_actions):
        _fill_parts(mdp, grid, room, i, a)
        _fill_to(grid, room)
        up, down = room.to[0], room.to[1]
        above, below = room.total[0], room.total[1]
        for level in range(n_levels):
            above[level] = mdp.reward[i, a]
            below[level] = mdp.reward[i, a]
        for e in range(mdp.first[i * n_actions + a], mdp.first[i * n_actions + a + 1]):
            upper, lower, p = bounds.upper[mdp.child[e]], bounds.lower[mdp.child[e]], mdp.discount * mdp.chance[e]
            for level in range(n_levels):
                if up[level] != NONE:
                    above[level] += p * upper[up[level]]
                if down[level] != NONE:
                    below[level] += p * lower[down[level]]
        for level in range(n_levels):
            if up[level] != NONE:
                room.best[0, level] = max(room.best[0, level], above[level])
            if down[level] != NONE:
                room.best[1, level] = max(room.best[1, level], below[level])
    return _take_up(bounds, room, i)


@inner
def _take_up(bounds: Bounds, room: Room, i: int) -> float:
    """Bounds only come closer to each other; return the largest change."""
    change = 0.0
    for level in range(bounds.upper.shape[1]):
        if room.best[0, level] < bounds.upper[i, level]:
            change = max(change, bounds.upper[i, level] - room.best[0, level])
            bounds.upper[i, level] = room.best[0, level]
        if room.best[1, level] > bounds.lower[i, level]:
            change = max(change, room.best[1, level] - bounds.lower[i, level])
            bounds.lower[i, level] = room.best[1, level]
    return change


@kernel
def sweep(mdp: BeliefMDP, grid: Grid, bounds: Bounds, room: Room) -> float:
    """Back up all beliefs, those that were found last first; return the largest change."""
    change = 0.0
    for i in range(bounds.upper.shape[0] - 1, -1, -1):
        change = max(change, _back_up(mdp, grid, bounds, room, i))
    return change


@kernel
def refine(before: Bounds, bounds: Bounds, above: IntArray, below: IntArray) -> None:
    """Take bounds over from fewer levels: a level is bounded by the next one above and the next one below."""
    for i in range(bounds.upper.shape[0]):
        for level in range(bounds.upper.shape[1]):
            bounds.upper[i, level] = before.upper[i, above[level]]
            bounds.lower[i, level] = before.lower[i, below[level]] if below[level] != NONE else -np.inf


@inner
def _level_below(mdp: BeliefMDP, grid: Grid, i: int, a: int, level: int) -> int:
    """The level that an action leads to, rounded down; NONE if it cannot be paid."""
    to = 0
    for k in range(grid.counts.size):
        n, at = grid.counts[k], (level // grid.stride[k]) % grid.counts[k]
        d = grid.value[k, at]
        if d * (1.0 + mdp.snap) < mdp.cost[i, a, k] or d < mdp.need[i, a, k] * (1.0 - SNAP):
            return NONE
        rest = max(left_after(d, mdp.cost[i, a, k], mdp.cost_discount[k]), 0.0) * (1.0 + mdp.snap)
        low, high = 0, n - 1
        while low < high:  # the last level that is not above the rest
            middle = (low + high + 1) // 2
            if grid.value[k, middle] <= rest:
                low = middle
            else:
                high = middle - 1
        to += (low if at < n - 1 else at) * grid.stride[k]
    return to


@inner
def _best_choice(mdp: BeliefMDP, grid: Grid, bounds: Bounds, i: int, level: int) -> tuple[int, int]:
    """Choice that attains the lower bound at (belief, level): an action and the next level, or a policy and NONE."""
    n_actions, best, most, to = mdp.reward.shape[1], NONE, -np.inf, NONE
    for policy in range(mdp.value.shape[1]):
        if mdp.value[i, policy] > most and _is_within(mdp, grid, i, policy, level):
            best, most = policy, mdp.value[i, policy]
    for a in range(n_actions):
        after = _level_below(mdp, grid, i, a, level)
        if after == NONE:
            continue
        value = mdp.reward[i, a]
        for e in range(mdp.first[i * n_actions + a], mdp.first[i * n_actions + a + 1]):
            value += mdp.discount * mdp.chance[e] * bounds.lower[mdp.child[e], after]
        if value > most:
            best, most, to = a, value, after
    return best, to


@kernel
def follow_best(
    mdp: BeliefMDP, grid: Grid, bounds: Bounds, number: IndexArray, queue: IntArray, action: IntArray, link: IntArray
) -> tuple[int, int]:
    """Number the (belief, level) that the best choices lead to from ``queue[0]``, up to the room there is.

    Node i*(L + P) + l is a belief with a level, or from l = L on with policy l − L. Write the action of each, and its
    successors, one for each edge. Return how many nodes there are, and how many of them are done.
    """
    n_actions, n_levels = mdp.reward.shape[1], bounds.upper.shape[1]
    width = n_levels + mdp.value.shape[1]
    count, done, links = 1, 0, 0
    number[queue[0]] = 0
    while done < count:
        i, level = queue[done] // width, queue[done] % width
        policy, to = level - n_levels, NONE
        a = mdp.steady[i, max(policy, 0)]
        if level < n_levels:
            a, to = _best_choice(mdp, grid, bounds, i, level)
            if to == NONE:
                policy = a
                a = mdp.steady[i, policy]
        first, last = mdp.first[i * n_actions + a], mdp.first[i * n_actions + a + 1]
        if count + last - first > queue.size or links + last - first > link.size:
            break
        action[done] = a
        for e in range(first, last):
            node = mdp.child[e] * width + (to if to != NONE else n_levels + policy)
            if number[node] == NONE:
                number[node] = count
                queue[count] = node
                count += 1
            link[links] = number[node]
            links += 1
        done += 1
    return count, done


@kernel
def evaluate(
    gain: FloatArray,
    first: IntArray,
    link: IntArray,
    chance: FloatArray,
    discount: float,
    cost_discount: FloatArray,
    exact: float,
    most_sweeps: int,
    total: FloatArray,
    sure: FloatArray,
) -> None:
    """Write ``total = gain + γ Σ p total'`` and ``sure = C + β max sure'`` of a graph, from 0 on.

    Nodes are taken from the last to the first, as most are followed by later ones. What is rare leaves the expectation
    long before it leaves the worst history: all of it must be settled. A sure cost that is not settled after so many
    sweeps may grow for ever, as undiscounted ones do: it is infinite then.
    """
    n, columns = gain.shape
    settled, sweeps = False, 0
    while not settled:
        sweeps += 1
        change, largest = np.zeros(2 * columns - 1), np.zeros(2 * columns - 1)
        for i in range(n - 1, -1, -1):
            for k in range(columns):
                value, worst = 0.0, 0.0
                for e in range(first[i], first[i + 1]):
                    value += chance[e] * total[link[e], k]
                    if k > 0:
                        worst = max(worst, sure[link[e], k - 1])
                value = gain[i, k] + discount * value
                change[k] = max(change[k], abs(value - total[i, k]))
                largest[k] = max(largest[k], abs(value))
                total[i, k] = value
                if k > 0:
                    worst = gain[i, k] + cost_discount[k - 1] * worst
                    change[columns + k - 1] = max(change[columns + k - 1], abs(worst - sure[i, k - 1]))
                    largest[columns + k - 1] = max(largest[columns + k - 1], abs(worst))
                    sure[i, k - 1] = worst
        settled = True
        for k in range(change.size):
            if k >= columns and sweeps >= most_sweeps:
                if change[k] > exact * largest[k]:
                    sure[:, k - columns] = np.inf
                continue
            settled = settled and change[k] <= exact * largest[k]


@kernel
def raise_needs(mdp: BeliefMDP, sweeps: int) -> None:
    """Raise what actions need, ``C(b, a) + β max_o min_a' need(b', a')``, from what is there."""
    n_actions = mdp.reward.shape[1]
    for _ in range(sweeps):
        moved = False
        for i in range(mdp.reward.shape[0] - 1, -1, -1):
            for a in range(n_actions):
                for k in range(mdp.cost.shape[2]):
                    worst = 0.0
                    for e in range(mdp.first[i * n_actions + a], mdp.first[i * n_actions + a + 1]):
                        least = np.inf
                        for follow in range(n_actions):
                            least = min(least, mdp.need[mdp.child[e], follow, k])
                        worst = max(worst, least)
                    need = mdp.cost[i, a, k] + mdp.cost_discount[k] * worst
                    if need > mdp.need[i, a, k]:
                        moved = moved or need > mdp.need[i, a, k] * (1.0 + 1e-14)
                        mdp.need[i, a, k] = need
        if not moved:
            break


@kernel
def settle_sure(mdp: BeliefMDP, sweeps: int) -> None:
    """Lower the sure costs of policies, ``C(b, π(b)) + β max_o w(b')``, from above; what never costs anything has 0."""
    n_actions = mdp.reward.shape[1]
    for policy in range(mdp.value.shape[1]):
        for k in range(mdp.cost.shape[2]):
            costly = np.zeros(mdp.reward.shape[0], dtype=np.bool_)
            moved = True
            while moved:
                moved = False
                for i in range(mdp.reward.shape[0] - 1, -1, -1):
                    a = mdp.steady[i, policy]
                    if costly[i]:
                        continue
                    found = mdp.cost[i, a, k] > 0.0
                    for e in range(mdp.first[i * n_actions + a], mdp.first[i * n_actions + a + 1]):
                        found = found or costly[mdp.child[e]]
                    costly[i] = found
                    moved = moved or found
            for i in range(mdp.reward.shape[0]):
                mdp.sure[i, policy, k] = mdp.sure[i, policy, k] if costly[i] else 0.0
            for _ in range(sweeps):
                moved = False
                for i in range(mdp.reward.shape[0] - 1, -1, -1):
                    a, worst = mdp.steady[i, policy], 0.0
                    for e in range(mdp.first[i * n_actions + a], mdp.first[i * n_actions + a + 1]):
                        worst = max(worst, mdp.sure[mdp.child[e], policy, k])
                    sure = mdp.cost[i, a, k] + mdp.cost_discount[k] * worst
                    if sure < mdp.sure[i, policy, k]:
                        moved = moved or sure < mdp.sure[i, policy, k] * (1.0 - 1e-14)
                        mdp.sure[i, policy, k] = sure
                if not moved:
                    break
