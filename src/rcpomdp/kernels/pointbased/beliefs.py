"""The store of beliefs: each distinct belief once, with what follows from it.

States are numbered so that an observability class is contiguous; a belief lies inside one class. Actions are expanded
one at a time: an expanded action has edges, one for each observation that can follow.

**Rays.** A posterior b' after (a, o) lies on a line through the prediction b̄ (the belief without the
observation, within the class of b'): ``b' = w·b̄ + (1−w)·e``, with w as large as possible, so that e lies on the
boundary of the simplex. Convex values obey ``V(b') ≤ w·V(b̄) + (1−w)·V(e)``. Both are beliefs of the store.
Bayes' rule is linear up to scale: if ``b = w·c + (1−w)·e``, then the successor of b under (a, o) lies between those of
c and e, with weight ``w p(o|c, a) / p(o|b, a)``. So a belief with a ray hands rays on to its successors.
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
def _same(b: Beliefs, i: int, h: int, cls: int, state: IndexArray, prob: FloatArray, n: int) -> bool:
    known = b.info[i]
    if known.hash != h or known.cls != cls or known.size != n:
        return False
    at = known.offset
    for j in range(n):  # noqa: SIM110 - compiled code has no all()
        if b.state[at + j] != state[j] or abs(b.prob[at + j] - prob[j]) > SAME * prob[j]:
            return False
    return True


@kernel
def intern(x: Space, b: Beliefs, counts: AnyArray, state: IndexArray, prob: FloatArray, n: int) -> int:
    """The belief with this support and these probabilities, made if it is new. There must be room."""
    cls = int(x.class_of[state[0]])
    h = _hash(cls, state, prob, n)
    mask = b.table.size - 1
    slot = h & mask
    while b.table[slot] != NONE:
        if x.merge and _same(b, b.table[slot], h, cls, state, prob, n):
            return int(b.table[slot])
        slot = (slot + 1) & mask
    count = counts[0]
    new, at = count.beliefs, count.pool
    b.table[slot] = new
    count.beliefs = new + 1
    count.pool = at + n
    count.making_beliefs = count.making_beliefs + 4 * n
    made = b.info[new]
    made.cls = cls
    made.size = n
    made.offset = at
    made.hash = h
    made.parent = NONE
    made.row = NONE
    made.strip = NONE
    made.option = NONE
    made.tested = NONE
    made.base = NONE
    made.tip = NONE
    for j in range(n):
        b.state[at + j] = state[j]
        b.prob[at + j] = prob[j]
    for k in range(b.least.shape[1]):
        b.low[new, k] = np.inf
        b.high[new, k] = -1.0
        b.least[new, k] = _least_cost(x, state, prob, n, k)
    return int(new)


@inner
def _least_cost(x: Space, state: IndexArray, prob: FloatArray, n: int, k: int) -> float:
    """A lower bound on the least expected cost, hence on the least budget that suffices."""
    if x.least_cost.shape[1] == 0:
        return 0.0
    least = np.inf
    for a in range(x.least_cost.shape[2]):
        expected = 0.0
        for j in range(n):
            expected += prob[j] * x.least_cost[k, state[j], a]
        least = min(least, expected)
    return least


@kernel
def rehash(b: Beliefs, n: int) -> None:
    """Fill an empty table with the n beliefs there are."""
    mask = b.table.size - 1
    for i in range(n):
        slot = b.info[i].hash & mask
        while b.table[slot] != NONE:
            slot = (slot + 1) & mask
        b.table[slot] = i


# Opening and expanding


@inner
def open_belief(x: Space, b: Beliefs, counts: AnyArray, i: int) -> bool:
    """Give a belief its row: what its actions earn and cost; False if full."""
    if b.info[i].row != NONE:
        return True
    count = counts[0]
    row = count.belief_rows
    if row >= b.reward.shape[0]:
        return False
    count.belief_rows = row + 1
    b.info[i].row = row
    cls, first, size = b.info[i].cls, b.info[i].offset, b.info[i].size
    for a in range(b.reward.shape[1]):
        b.edge[row, a] = NONE
        b.degree[row, a] = 0
        total = 0.0
        for t in range(first, first + size):
            total += b.prob[t] * x.gain[0, b.state[t], a]
        b.reward[row, a] = total
        for k in range(b.cost.shape[1]):
            b.cost[row, k, a] = x.floor[cls, a, k]
            if x.peak[cls, a, k] > x.floor[cls, a, k]:  # else all states of the class cost the same
                total = 0.0
                for t in range(first, first + size):
                    total += b.prob[t] * x.model.cost[k, b.state[t], a]
                b.cost[row, k, a] = total
    return True


@inner
def is_expanded(b: Beliefs, i: int, a: int) -> bool:
    """Whether action a of belief i has edges."""
    return bool(b.info[i].row != NONE and b.edge[b.info[i].row, a] != NONE)


@inner
def _has_room(x: Space, b: Beliefs, counts: AnyArray, i: int, a: int) -> bool:
    """Whether an expansion of belief i under action a is sure to fit."""
    pair = b.info[i].cls * x.gain.shape[2] + a
    first, last = x.seen_ptr[pair], x.seen_ptr[pair + 1]
    entries = 0
    for f in range(first, last):
        c = x.seen_class[f]
        entries += 3 * (x.start[c + 1] - x.start[c])
    beliefs = counts[0].beliefs + 3 * (last - first)
    return bool(
        beliefs <= b.info.shape[0]
        and 2 * beliefs <= b.table.size
        and counts[0].pool + entries <= b.state.size
        and counts[0].edges + last - first <= b.edge_child.size
    )


@inner
def expand(x: Space, b: Beliefs, w: Scratch, counts: AnyArray, i: int, a: int, least_weight: float) -> bool:
    """Give belief i the edges of action a, and before it the beliefs at the ends of its ray; False if full.

    Nothing is done for rays if none has the weight that is asked for.
    """
    depth = 1
    w.stack[0] = i
    while depth > 0:
        top = w.stack[depth - 1]
        if least_weight < 1.0 and depth < w.stack.size and b.info[top].base != NONE:
            if not is_expanded(b, b.info[top].base, a):
                w.stack[depth] = b.info[top].base
                depth += 1
                continue
            if not is_expanded(b, b.info[top].tip, a):
                w.stack[depth] = b.info[top].tip
                depth += 1
                continue
        if not open_belief(x, b, counts, top) or not _has_room(x, b, counts, top, a):
            return False
        if not is_expanded(b, top, a):
            _expand_one(x, b, w, counts, top, a, least_weight)
        depth -= 1
    return True


@inner
def _expand_one(x: Space, b: Beliefs, w: Scratch, counts: AnyArray, i: int, a: int, least_weight: float) -> None:
    """Give belief i the edges of action a. There must be room.

    Posteriors of a belief without a ray get one to the prediction, if it has at least `least_weight` there.
    """
    m, row = x.model, b.info[i].row
    at, size = b.info[i].offset, b.info[i].size
    n = predict(m, b.state[at : at + size], b.prob[at : at + size], a, w.acc, w.touched)
    for j in range(n):
        w.mass[x.class_of[w.touched[j]]] = 0.0
    for j in range(n):
        w.mass[x.class_of[w.touched[j]]] += w.acc[w.touched[j]]
    pair = b.info[i].cls * x.gain.shape[2] + a
    first_edge = counts[0].edges
    b.edge[row, a] = first_edge
    base, tip, on_base = b.info[i].base, b.info[i].tip, b.info[i].weight  # a successor may be b itself
    handed_on = base != NONE and is_expanded(b, base, a) and is_expanded(b, tip, a)
    for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
        o, cls = x.seen_obs[f], x.seen_class[f]
        # The successors in this class, touched[first:last]: they are sorted, so bisect.
        first = _bisect(w.touched, n, x.start[cls])
        last = _bisect(w.touched, n, x.start[cls + 1])
        support, p_obs, least = _condition(m, w, a, o, first, last)
        counts[0].making_beliefs = counts[0].making_beliefs + 4 * (last - first)
        if p_obs <= 0.0:
            continue
        before = counts[0].beliefs
        counts[0].reached = counts[0].reached + 1
        child = intern(x, b, counts, w.state, w.prob, support)
        if counts[0].beliefs > before:
            counts[0].fresh = counts[0].fresh + 1
            b.info[child].parent = i
            b.info[child].action = a
            b.info[child].obs = o
        edge = counts[0].edges
        b.edge_child[edge] = child
        b.edge_obs[edge] = o
        b.edge_prob[edge] = p_obs
        counts[0].edges = edge + 1
        if handed_on:
            from_base, from_tip = _edge(b, base, a, o), _edge(b, tip, a, o)
            if from_base >= 0 and from_tip >= 0:
                weight = on_base * b.edge_prob[from_base] / p_obs
                _set_ray(b, child, weight, b.edge_child[from_base], b.edge_child[from_tip])
        else:
            weight = least * w.mass[cls] / p_obs  # min over s of b'(s) / b̄(s)
            if b.info[child].base == NONE and least_weight <= weight < 1.0 - 1e-9:
                _add_ray(x, b, w, counts, child, weight, first, last, w.mass[cls])
    b.degree[row, a] = counts[0].edges - first_edge
    clear(w.acc, w.touched, n)


@inner
def _edge(b: Beliefs, i: int, a: int, o: int) -> int:
    """The edge of (belief, action) under observation o, or NONE."""
    row = b.info[i].row
    for e in range(b.edge[row, a], b.edge[row, a] + b.degree[row, a]):
        if b.edge_obs[e] == o:
            return e
    return NONE


@inner
def _set_ray(b: Beliefs, i: int, weight: float, base: int, tip: int) -> None:
    """Give belief i a ray, unless it has one already."""
    if i in (base, tip) or b.info[i].base != NONE or not 1e-9 < weight < 1.0 - 1e-9:
        return
    b.info[i].base = base
    b.info[i].tip = tip
    b.info[i].weight = weight


@inner
def _condition(m: ModelArrays, w: Scratch, a: int, o: int, first: int, last: int) -> tuple[int, float, float]:
    """Write the prediction ``touched[first:last]`` given o into the scratch: support size, p(o), least likelihood."""
    support, p_obs, least = 0, 0.0, np.inf
    for j in range(first, last):
        s = w.touched[j]
        z = likelihood(m, a, s, o)
        least = min(least, z)
        p = w.acc[s] * z
        if p > 0.0:
            w.state[support] = s
            w.prob[support] = p
            support += 1
            p_obs += p
    for j in range(support):
        w.prob[j] /= p_obs
    return support, p_obs, least


@inner
def _bisect(values: IndexArray, n: int, bound: int) -> int:
    """How many of the increasing ``values[:n]`` lie below `bound`."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if values[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _tip(b: Beliefs, w: Scratch, child: int, weight: float, first: int, last: int, mass: float) -> int:
    """Write ``b' − w·b̄``, scaled, into the scratch: the tip of a ray. Return its support size."""
    at, size = b.info[child].offset, b.info[child].size
    n, j, total = 0, 0, 0.0
    for t in range(first, last):
        s = w.touched[t]
        p = 0.0
        if j < size and b.state[at + j] == s:
            p = b.prob[at + j]
            j += 1
        rest = p - weight * w.acc[s] / mass
        if rest > _ZERO * p:  # what is zero but for rounding is the boundary
            w.state[n] = s
            w.prob[n] = rest
            total += rest
            n += 1
    for t in range(n):
        w.prob[t] /= total
    return n


@inner
def _add_ray(
    x: Space, b: Beliefs, w: Scratch, counts: AnyArray, child: int, weight: float, first: int, last: int, mass: float
) -> None:
    """Intern the ends of a posterior's ray: the prediction b̄, and the tip on the simplex's boundary."""
    n = _tip(b, w, child, weight, first, last, mass)
    if n == 0:
        return
    tip = intern(x, b, counts, w.state, w.prob, n)
    for t in range(first, last):
        w.state[t - first] = w.touched[t]
        w.prob[t - first] = w.acc[w.touched[t]] / mass
    base = intern(x, b, counts, w.state, w.prob, last - first)
    _set_ray(b, child, weight, base, tip)


@kernel
def expand_all(x: Space, b: Beliefs, w: Scratch, counts: AnyArray, first: int, most: int) -> int:
    """Expand all actions of the beliefs from `first` on, until there are `most`; return the first that is not done.

    It is the number of beliefs if they are closed under all that can follow.
    """
    i = first
    while i < counts[0].beliefs and counts[0].beliefs <= most:
        for a in range(x.gain.shape[2]):
            if not is_expanded(b, i, a) and not expand(x, b, w, counts, i, a, 2.0):
                return i
        i += 1
    return i
