"""The store of beliefs: each distinct belief once, with what follows from it.

States are numbered so that an observability class is contiguous; a belief lies inside one class. Actions are expanded
one at a time: an expanded action has edges, one for each observation that can follow.

**Rays.** A posterior b' after (a, o) lies on a line through the prediction b̄ (the belief without the
observation, within the class of b'): ``b' = β·b̄ + (1−β)·e``, with β as large as possible, so that e lies on the
boundary of the simplex. Convex values obey ``V(b') ≤ β·V(b̄) + (1−β)·V(e)``. Both are beliefs of the store.
Bayes' rule is linear up to scale: if ``b = β·c + (1−β)·e``, then the successor of b under (a, o) lies between those of
c and e, with weight ``β p(o|c, a) / p(o|b, a)``. So a belief with a ray hands rays on to its successors.
"""

from __future__ import annotations

import numpy as np

from ..._types import AnyArray, FloatArray, IndexArray
from ..arrays import ModelArrays
from ..belief import clear, likelihood, predict
from ..jit import inner, kernel
from .arrays import NONE, Beliefs, Scratch, Space

SAME = 1e-14  # relative difference below which two probabilities are rounding of one
_ZERO = 2e-14  # relative size below which a difference is rounding of zero
_GRID = 2.0**40  # probabilities are hashed on a grid this fine


# Interning


@inner
def _hash(cls: int, state: IndexArray, prob: FloatArray, n: int) -> int:
    h = cls + 1
    for i in range(n):
        h = (h ^ (state[i] + 1)) * 0x1E3779B97F4A7C15  # products wrap around
        h = (h ^ (h >> 29) ^ int(prob[i] * _GRID + 0.5)) * 0x3F58476D1CE4E5B9
    return h ^ (h >> 31)


@inner
def _same(beliefs: Beliefs, i: int, h: int, cls: int, state: IndexArray, prob: FloatArray, n: int) -> bool:
    known = beliefs.info[i]
    if known.hash != h or known.cls != cls or known.size != n:
        return False
    at = known.offset
    for j in range(n):
        if beliefs.state[at + j] != state[j] or abs(beliefs.prob[at + j] - prob[j]) > SAME * prob[j]:
            return False
    return True


@kernel
def intern(space: Space, beliefs: Beliefs, counts: AnyArray, state: IndexArray, prob: FloatArray, n: int) -> int:
    """The belief with this support and these probabilities, made if it is new. There must be room."""
    cls = int(space.class_of[state[0]])
    h = _hash(cls, state, prob, n)
    mask = beliefs.table.size - 1
    slot = h & mask
    while beliefs.table[slot] != NONE:
        if space.merge and _same(beliefs, beliefs.table[slot], h, cls, state, prob, n):
            return int(beliefs.table[slot])
        slot = (slot + 1) & mask
    count = counts[0]
    new, at = count.beliefs, count.pool
    beliefs.table[slot] = new
    count.beliefs = new + 1
    count.pool = at + n
    count.making_beliefs += 4 * n
    made = beliefs.info[new]
    made.cls = cls
    made.size = n
    made.offset = at
    made.hash = h
    made.parent = NONE
    made.row = NONE
    made.strip = NONE
    made.candidate = NONE
    made.tested = NONE
    made.base = NONE
    made.tip = NONE
    for j in range(n):
        beliefs.state[at + j] = state[j]
        beliefs.prob[at + j] = prob[j]
    for k in range(beliefs.least.shape[1]):
        beliefs.low[new, k] = np.inf
        beliefs.high[new, k] = -1.0
        beliefs.least[new, k] = _least_cost(space, state, prob, n, k)
    return int(new)


@inner
def _least_cost(space: Space, state: IndexArray, prob: FloatArray, n: int, k: int) -> float:
    """A lower bound on the least expected cost, hence on the least budget that suffices."""
    if space.least_cost.shape[1] == 0:
        return 0.0
    least = np.inf
    for a in range(space.least_cost.shape[2]):
        expected = 0.0
        for j in range(n):
            expected += prob[j] * space.least_cost[k, state[j], a]
        least = min(least, expected)
    return least


@kernel
def rehash(beliefs: Beliefs, n: int) -> None:
    """Fill an empty table with the n beliefs there are."""
    mask = beliefs.table.size - 1
    for i in range(n):
        slot = beliefs.info[i].hash & mask
        while beliefs.table[slot] != NONE:
            slot = (slot + 1) & mask
        beliefs.table[slot] = i


# Opening and expanding


@inner
def open_belief(space: Space, beliefs: Beliefs, counts: AnyArray, i: int) -> bool:
    """Give a belief its row: what its actions earn and cost; False if full."""
    if beliefs.info[i].row != NONE:
        return True
    count = counts[0]
    row = count.belief_rows
    if row >= beliefs.reward.shape[0]:
        return False
    count.belief_rows = row + 1
    beliefs.info[i].row = row
    cls, first, size = beliefs.info[i].cls, beliefs.info[i].offset, beliefs.info[i].size
    for a in range(beliefs.reward.shape[1]):
        beliefs.edge[row, a] = NONE
        beliefs.degree[row, a] = 0
        total = 0.0
        for t in range(first, first + size):
            total += beliefs.prob[t] * space.gain[0, beliefs.state[t], a]
        beliefs.reward[row, a] = total
        for k in range(beliefs.cost.shape[1]):
            beliefs.cost[row, k, a] = space.floor[cls, a, k]
            if space.peak[cls, a, k] > space.floor[cls, a, k]:  # else all states of the class cost the same
                total = 0.0
                for t in range(first, first + size):
                    total += beliefs.prob[t] * space.model.cost[k, beliefs.state[t], a]
                beliefs.cost[row, k, a] = total
    return True


@inner
def is_expanded(beliefs: Beliefs, i: int, a: int) -> bool:
    """True if action a of belief i has edges."""
    return bool(beliefs.info[i].row != NONE and beliefs.edge[beliefs.info[i].row, a] != NONE)


@inner
def _has_room(space: Space, beliefs: Beliefs, counts: AnyArray, i: int, a: int) -> bool:
    """True if an expansion of belief i under action a is sure to fit."""
    pair = beliefs.info[i].cls * space.gain.shape[2] + a
    first, last = space.seen_ptr[pair], space.seen_ptr[pair + 1]
    entries = 0
    for f in range(first, last):
        c = space.seen_class[f]
        entries += 3 * (space.start[c + 1] - space.start[c])
    n_beliefs = counts[0].beliefs + 3 * (last - first)
    return bool(
        n_beliefs <= beliefs.info.shape[0]
        and 2 * n_beliefs <= beliefs.table.size
        and counts[0].pool + entries <= beliefs.state.size
        and counts[0].edges + last - first <= beliefs.edge_child.size
    )


@inner
def expand(
    space: Space, beliefs: Beliefs, scratch: Scratch, counts: AnyArray, i: int, a: int, least_weight: float
) -> bool:
    """Give belief i the edges of action a, and before it the beliefs at the ends of its ray; False if full.

    Nothing is done for rays if none has the weight that is asked for.
    """
    depth = 1
    scratch.stack[0] = i
    while depth > 0:
        top = scratch.stack[depth - 1]
        if least_weight < 1.0 and depth < scratch.stack.size and beliefs.info[top].base != NONE:
            if not is_expanded(beliefs, beliefs.info[top].base, a):
                scratch.stack[depth] = beliefs.info[top].base
                depth += 1
                continue
            if not is_expanded(beliefs, beliefs.info[top].tip, a):
                scratch.stack[depth] = beliefs.info[top].tip
                depth += 1
                continue
        if not open_belief(space, beliefs, counts, top) or not _has_room(space, beliefs, counts, top, a):
            return False
        if not is_expanded(beliefs, top, a):
            _expand_one(space, beliefs, scratch, counts, top, a, least_weight)
        depth -= 1
    return True


@inner
def _expand_one(
    space: Space, beliefs: Beliefs, scratch: Scratch, counts: AnyArray, i: int, a: int, least_weight: float
) -> None:
    """Give belief i the edges of action a. There must be room.

    Posteriors of a belief without a ray get one to the prediction, if it has at least `least_weight` there.
    """
    model, row = space.model, beliefs.info[i].row
    at, size = beliefs.info[i].offset, beliefs.info[i].size
    n = predict(model, beliefs.state[at : at + size], beliefs.prob[at : at + size], a, scratch.acc, scratch.touched)
    for j in range(n):
        scratch.mass[space.class_of[scratch.touched[j]]] = 0.0
    for j in range(n):
        scratch.mass[space.class_of[scratch.touched[j]]] += scratch.acc[scratch.touched[j]]
    pair = beliefs.info[i].cls * space.gain.shape[2] + a
    first_edge = counts[0].edges
    beliefs.edge[row, a] = first_edge
    base, tip, on_base = (
        beliefs.info[i].base,
        beliefs.info[i].tip,
        beliefs.info[i].weight,
    )  # a successor may be b itself
    handed_on = base != NONE and is_expanded(beliefs, base, a) and is_expanded(beliefs, tip, a)
    for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
        o, cls = space.seen_obs[f], space.seen_class[f]
        # The successors in this class, touched[first:last]: they are sorted, so bisect.
        first = _bisect(scratch.touched, n, space.start[cls])
        last = _bisect(scratch.touched, n, space.start[cls + 1])
        support, p_obs, least = _condition(model, scratch, a, o, first, last)
        counts[0].making_beliefs += 4 * (last - first)
        if p_obs <= 0.0:
            continue
        before = counts[0].beliefs
        counts[0].reached += 1
        child = intern(space, beliefs, counts, scratch.state, scratch.prob, support)
        if counts[0].beliefs > before:
            counts[0].fresh += 1
            beliefs.info[child].parent = i
            beliefs.info[child].action = a
            beliefs.info[child].obs = o
        edge = counts[0].edges
        beliefs.edge_child[edge] = child
        beliefs.edge_obs[edge] = o
        beliefs.edge_prob[edge] = p_obs
        counts[0].edges = edge + 1
        if handed_on:
            from_base, from_tip = _edge(beliefs, base, a, o), _edge(beliefs, tip, a, o)
            if from_base >= 0 and from_tip >= 0:
                weight = on_base * beliefs.edge_prob[from_base] / p_obs
                _set_ray(beliefs, child, weight, beliefs.edge_child[from_base], beliefs.edge_child[from_tip])
        else:
            weight = least * scratch.mass[cls] / p_obs  # min over s of b'(s) / b̄(s)
            if beliefs.info[child].base == NONE and least_weight <= weight < 1.0 - 1e-9:
                _add_ray(space, beliefs, scratch, counts, child, weight, first, last, scratch.mass[cls])
    beliefs.degree[row, a] = counts[0].edges - first_edge
    clear(scratch.acc, scratch.touched, n)


@inner
def _edge(beliefs: Beliefs, i: int, a: int, o: int) -> int:
    """The edge of (belief, action) under observation o, or NONE."""
    row = beliefs.info[i].row
    for e in range(beliefs.edge[row, a], beliefs.edge[row, a] + beliefs.degree[row, a]):
        if beliefs.edge_obs[e] == o:
            return e
    return NONE


@inner
def _set_ray(beliefs: Beliefs, i: int, weight: float, base: int, tip: int) -> None:
    """Give belief i a ray, unless it has one already."""
    if i in (base, tip) or beliefs.info[i].base != NONE or not 1e-9 < weight < 1.0 - 1e-9:
        return
    beliefs.info[i].base = base
    beliefs.info[i].tip = tip
    beliefs.info[i].weight = weight


@inner
def _condition(model: ModelArrays, scratch: Scratch, a: int, o: int, first: int, last: int) -> tuple[int, float, float]:
    """Write the prediction ``touched[first:last]`` given o into the scratch: support size, p(o), least likelihood."""
    support, p_obs, least = 0, 0.0, np.inf
    for j in range(first, last):
        s = scratch.touched[j]
        z = likelihood(model, a, s, o)
        least = min(least, z)
        p = scratch.acc[s] * z
        if p > 0.0:
            scratch.state[support] = s
            scratch.prob[support] = p
            support += 1
            p_obs += p
    for j in range(support):
        scratch.prob[j] /= p_obs
    return support, p_obs, least


@inner
def _bisect(values: IndexArray, n: int, bound: int) -> int:
    """Number of the increasing ``values[:n]`` below `bound`."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if values[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _tip(beliefs: Beliefs, scratch: Scratch, child: int, weight: float, first: int, last: int, mass: float) -> int:
    """Write ``b' − β·b̄``, scaled, into the scratch: the tip of a ray. Return its support size."""
    at, size = beliefs.info[child].offset, beliefs.info[child].size
    n, j, total = 0, 0, 0.0
    for t in range(first, last):
        s = scratch.touched[t]
        p = 0.0
        if j < size and beliefs.state[at + j] == s:
            p = beliefs.prob[at + j]
            j += 1
        rest = p - weight * scratch.acc[s] / mass
        if rest > _ZERO * p:  # what is zero but for rounding is the boundary
            scratch.state[n] = s
            scratch.prob[n] = rest
            total += rest
            n += 1
    for t in range(n):
        scratch.prob[t] /= total
    return n


@inner
def _add_ray(
    space: Space,
    beliefs: Beliefs,
    scratch: Scratch,
    counts: AnyArray,
    child: int,
    weight: float,
    first: int,
    last: int,
    mass: float,
) -> None:
    """Intern the ends of a posterior's ray: the prediction b̄, and the tip on the simplex's boundary."""
    n = _tip(beliefs, scratch, child, weight, first, last, mass)
    if n == 0:
        return
    tip = intern(space, beliefs, counts, scratch.state, scratch.prob, n)
    for t in range(first, last):
        scratch.state[t - first] = scratch.touched[t]
        scratch.prob[t - first] = scratch.acc[scratch.touched[t]] / mass
    base = intern(space, beliefs, counts, scratch.state, scratch.prob, last - first)
    _set_ray(beliefs, child, weight, base, tip)


@kernel
def expand_all(space: Space, beliefs: Beliefs, scratch: Scratch, counts: AnyArray, first: int, most: int) -> int:
    """Expand all actions of the beliefs from `first` on, until there are `most`; return the first that is not done.

    It is the number of beliefs if they are closed under all that can follow.
    """
    i = first
    while i < counts[0].beliefs and counts[0].beliefs <= most:
        for a in range(space.gain.shape[2]):
            if not is_expanded(beliefs, i, a) and not expand(space, beliefs, scratch, counts, i, a, 2.0):
                return i
        i += 1
    return i
