"""The store of beliefs: each distinct belief once, with its bounds and what follows from it.

States are numbered so that an observability class is contiguous; a belief lies inside one class. Its support and its
probabilities stand in two common pools, and what several beliefs share stands there once: where a robot moves and what
it does not see stays as it is, beliefs at many places have the same probabilities. Actions are expanded one at a time:
an expanded action has edges, one for each observation that can follow.

**Rays.** A posterior b' after (a, o) lies on a line through the prediction b̄ (the belief without the
observation, within the class of b'): ``b' = w·b̄ + (1−w)·e``, with w as large as possible, so that e lies on the
boundary of the simplex. Values are convex, hence ``V(b') ≤ w·V(b̄) + (1−w)·V(e)``. Both are beliefs of the store.
Bayes' rule is linear up to scale: if ``b = w·c + (1−w)·e``, then the successor of b under (a, o) lies between those of
c and e, with weight ``w p(o|c, a) / p(o|b, a)``. So a belief with a ray hands rays on to its successors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import FloatArray, IndexArray, IntArray
from ..arrays import ModelArrays
from ..belief import clear, likelihood, predict
from ..jit import inner, kernel

NONE = -1

# Columns of Store.info
CLASS, STATES, PROBS, SIZE, PLAN, TESTED, BASE, TIP, POINT, SEEN_POINT, HASH, STATES_HASH, PROBS_HASH = range(13)
N_INFO = 13
# Columns of Store.value
HI, LO, WEIGHT = range(3)
# Entries of Store.used
BELIEFS, STATE_POOL, PROB_POOL, EDGES, PLANS, PLAN_VALUES, PLAN_LINKS, POINTS = range(8)
# ... and the work done so far, by what it was done for
MAKING_BELIEFS, TESTING_PLANS, MAKING_PLANS, UPPER_BACKUPS, TESTING_POINTS = range(8, 13)
N_USED = 13
# Rows of Store.table
BY_BELIEF, BY_STATES, BY_PROBS = range(3)

SAME = 1e-14  # relative difference below which two probabilities are rounding of one
_ZERO = 2e-14  # relative size below which a difference is rounding of zero
_GRID = 2.0**40  # probabilities are hashed on a grid this fine


class Space(NamedTuple):
    """The model in class order, and what its classes look like."""

    model: ModelArrays
    class_of: IndexArray  # [S]
    start: IntArray  # [n_classes + 1] first state of a class
    seen_ptr: IntArray  # [n_classes*A + 1] where the observations possible from (class, action) start
    seen_obs: IntArray  # observation
    seen_class: IntArray  # class that follows it
    hint: FloatArray  # [S, A] vectors whose largest product with a belief bounds its value from above (FIB)
    gain: FloatArray  # [rows, S, A] what a plan accumulates: row 0 the objective, then whatever else is kept
    peak: FloatArray  # [n_classes, A, K] largest cost over a class
    merge: bool  # whether equal beliefs are one


class Store(NamedTuple):
    """Beliefs and their edges, by capacity; `used` counts what is filled."""

    info: IntArray  # [N, 13] CLASS, where its STATES and PROBS begin in the pools, SIZE, PLAN, TESTED, BASE, TIP, ...
    value: FloatArray  # [N, 3] HI, LO, WEIGHT of the ray's base
    q_hi: FloatArray  # [N, A] upper bound on each action's value
    hint: FloatArray  # [N, A] products with the vectors of Space.hint
    gain: FloatArray  # [N, A] objective R(b, a)
    edge: IntArray  # [N, A] first edge of an expanded action, or NONE
    degree: IntArray  # [N, A] number of edges
    state: IndexArray  # [P] supports, each once
    prob: FloatArray  # [Q] probabilities, each list once
    edge_child: IntArray  # [E]
    edge_obs: IntArray  # [E]
    edge_prob: FloatArray  # [E]
    table: IntArray  # [3, H] beliefs by hash, and the first belief with a support, or probabilities, by hash of that
    point: IntArray  # [N] beliefs that serve as points of the sawtooth, in the order they became so
    older: IntArray  # [N] the point of the same class before this one
    newest: IntArray  # [n_classes] the last point of a class
    used: IntArray  # [13]


class Scratch(NamedTuple):
    """Working memory; ``acc`` is zero between calls."""

    acc: FloatArray  # [S]
    touched: IndexArray  # [S]
    state: IndexArray  # [S]
    prob: FloatArray  # [S]
    mass: FloatArray  # [n_classes] probability of ending in a class
    by_obs: IntArray  # [O]
    path: IntArray  # [depth]
    stack: IntArray  # [nesting of rays]


@inner
def _mix(h: int, word: int) -> int:
    h = (h ^ word) * 0x1E3779B97F4A7C15  # products wrap around
    return h ^ (h >> 29)


@inner
def _find_states(b: Store, h: int, state: IndexArray, n: int) -> int:
    """The slot of a support: that of the first belief that has it, or an empty one."""
    mask = b.table.shape[1] - 1
    slot = h & mask
    while b.table[BY_STATES, slot] != NONE:
        i = b.table[BY_STATES, slot]
        if b.info[i, STATES_HASH] == h and b.info[i, SIZE] == n:
            at, j = b.info[i, STATES], 0
            while j < n and b.state[at + j] == state[j]:
                j += 1
            if j == n:
                break
        slot = (slot + 1) & mask
    return int(slot)


@inner
def _find_probs(b: Store, h: int, prob: FloatArray, n: int) -> int:
    """The slot of probabilities, but for rounding: that of the first belief that has them, or an empty one."""
    mask = b.table.shape[1] - 1
    slot = h & mask
    while b.table[BY_PROBS, slot] != NONE:
        i = b.table[BY_PROBS, slot]
        if b.info[i, PROBS_HASH] == h and b.info[i, SIZE] == n:
            at, j = b.info[i, PROBS], 0
            while j < n and abs(b.prob[at + j] - prob[j]) <= SAME * prob[j]:
                j += 1
            if j == n:
                break
        slot = (slot + 1) & mask
    return int(slot)


@inner
def _shares(b: Store, i: int, states: int, probs: int) -> bool:
    """Whether belief i has the support of one belief and the probabilities of another; NONE has nothing to share."""
    if states == NONE or probs == NONE:  # noqa: PLR1714 - compiled code is slow at looking into tuples
        return False
    return bool(b.info[i, STATES] == b.info[states, STATES] and b.info[i, PROBS] == b.info[probs, PROBS])


@kernel
def intern(x: Space, b: Store, state: IndexArray, prob: FloatArray, n: int) -> int:
    """The belief with this support and these probabilities, made if it is new. There must be room."""
    states_hash, probs_hash = n, n
    for j in range(n):
        states_hash = _mix(states_hash, state[j])
        probs_hash = _mix(probs_hash, int(prob[j] * _GRID + 0.5))
    by_states, by_probs = _find_states(b, states_hash, state, n), _find_probs(b, probs_hash, prob, n)
    states, probs = b.table[BY_STATES, by_states], b.table[BY_PROBS, by_probs]
    h = _mix(states_hash, probs_hash)
    mask = b.table.shape[1] - 1
    slot = h & mask
    while b.table[BY_BELIEF, slot] != NONE:
        i = b.table[BY_BELIEF, slot]
        if x.merge and b.info[i, HASH] == h and _shares(b, i, states, probs):
            return int(i)
        slot = (slot + 1) & mask
    new = b.used[BELIEFS]
    b.table[BY_BELIEF, slot] = new
    b.used[BELIEFS] = new + 1
    b.used[MAKING_BELIEFS] += n * x.hint.shape[1]
    b.info[new, CLASS] = x.class_of[state[0]]
    b.info[new, SIZE] = n
    b.info[new, PLAN] = NONE
    b.info[new, TESTED] = NONE
    b.info[new, BASE] = NONE
    b.info[new, TIP] = NONE
    b.info[new, POINT] = NONE
    b.info[new, SEEN_POINT] = NONE
    b.info[new, HASH] = h
    b.info[new, STATES_HASH] = states_hash
    b.info[new, PROBS_HASH] = probs_hash
    if states == NONE:
        b.table[BY_STATES, by_states] = new
        _add_states(b, new, state, n)
    else:
        b.info[new, STATES] = b.info[states, STATES]
    if probs == NONE:
        b.table[BY_PROBS, by_probs] = new
        _add_probs(b, new, prob, n)
    else:
        b.info[new, PROBS] = b.info[probs, PROBS]
    for a in range(b.edge.shape[1]):
        b.edge[new, a] = NONE
    fill_products(x, b, new)
    return int(new)


@inner
def _add_states(b: Store, i: int, state: IndexArray, n: int) -> None:
    """Append the support of a belief to the pool."""
    at = b.used[STATE_POOL]
    b.info[i, STATES] = at
    for j in range(n):
        b.state[at + j] = state[j]
    b.used[STATE_POOL] = at + n


@inner
def _add_probs(b: Store, i: int, prob: FloatArray, n: int) -> None:
    """Append the probabilities of a belief to the pool."""
    at = b.used[PROB_POOL]
    b.info[i, PROBS] = at
    for j in range(n):
        b.prob[at + j] = prob[j]
    b.used[PROB_POOL] = at + n


@inner
def fill_products(x: Space, b: Store, i: int) -> None:
    """Write a belief's products with the hint's vectors and the objective, and the bounds that follow."""
    q, gain = b.q_hi[i], b.gain[i]
    for a in range(q.size):
        q[a] = 0.0
        gain[a] = 0.0
    states, probs = b.info[i, STATES], b.info[i, PROBS]
    for j in range(b.info[i, SIZE]):
        p, s = b.prob[probs + j], b.state[states + j]
        hint, here = x.hint[s], x.gain[0, s]
        for a in range(q.size):
            q[a] += p * hint[a]
            gain[a] += p * here[a]
    for a in range(q.size):
        b.hint[i, a] = q[a]
    b.value[i, HI] = q[best_action(q)]
    b.value[i, LO] = -np.inf


@inner
def best_action(q: FloatArray) -> int:
    """The first of the largest entries."""
    best = 0
    for a in range(1, q.size):
        if q[a] > q[best]:
            best = a
    return best


@inner
def _enlist(b: Store, row: int, h: int, i: int) -> None:
    """Put belief i into a row of the table."""
    mask = b.table.shape[1] - 1
    slot = h & mask
    while b.table[row, slot] != NONE:
        slot = (slot + 1) & mask
    b.table[row, slot] = i


@kernel
def rehash(b: Store) -> None:
    """Fill an empty table with the beliefs there are."""
    states, probs = 0, 0
    for i in range(b.used[BELIEFS]):
        _enlist(b, BY_BELIEF, b.info[i, HASH], i)
        if b.info[i, STATES] == states:  # it was the first to have this support
            _enlist(b, BY_STATES, b.info[i, STATES_HASH], i)
            states += b.info[i, SIZE]
        if b.info[i, PROBS] == probs:
            _enlist(b, BY_PROBS, b.info[i, PROBS_HASH], i)
            probs += b.info[i, SIZE]


@inner
def has_room(x: Space, b: Store, i: int, a: int) -> bool:
    """Whether an expansion of belief i under action a is sure to fit."""
    pair = b.info[i, CLASS] * x.hint.shape[1] + a
    first, last = x.seen_ptr[pair], x.seen_ptr[pair + 1]
    entries = 0
    for f in range(first, last):
        c = x.seen_class[f]
        entries += 3 * (x.start[c + 1] - x.start[c])
    beliefs = b.used[BELIEFS] + 3 * (last - first)
    return bool(
        beliefs <= b.info.shape[0]
        and 2 * beliefs <= b.table.shape[1]
        and b.used[STATE_POOL] + entries <= b.state.size
        and b.used[PROB_POOL] + entries <= b.prob.size
        and b.used[EDGES] + last - first <= b.edge_child.size
    )


@inner
def expand(x: Space, b: Store, w: Scratch, i: int, a: int, least_weight: float) -> bool:
    """Give belief i the edges of action a, and before it the beliefs at the ends of its ray; False if full.

    Nothing is done for rays if none has the weight that is asked for.
    """
    depth = 1
    w.stack[0] = i
    while depth > 0:
        top = w.stack[depth - 1]
        if least_weight < 1.0 and depth < w.stack.size and b.info[top, BASE] != NONE:
            if b.edge[b.info[top, BASE], a] == NONE:
                w.stack[depth] = b.info[top, BASE]
                depth += 1
                continue
            if b.edge[b.info[top, TIP], a] == NONE:
                w.stack[depth] = b.info[top, TIP]
                depth += 1
                continue
        if not has_room(x, b, top, a):
            return False
        if b.edge[top, a] == NONE:
            _expand_one(x, b, w, top, a, least_weight)
        depth -= 1
    return True


@inner
def _expand_one(x: Space, b: Store, w: Scratch, i: int, a: int, least_weight: float) -> None:
    """Give belief i the edges of action a. There must be room.

    Posteriors of a belief without a ray get one to the prediction, if it has at least `least_weight` there.
    """
    m = x.model
    states, probs, size = b.info[i, STATES], b.info[i, PROBS], b.info[i, SIZE]
    n = predict(m, b.state[states : states + size], b.prob[probs : probs + size], a, w.acc, w.touched)
    for j in range(n):
        w.mass[x.class_of[w.touched[j]]] = 0.0
    for j in range(n):
        w.mass[x.class_of[w.touched[j]]] += w.acc[w.touched[j]]
    pair = b.info[i, CLASS] * x.hint.shape[1] + a
    b.edge[i, a] = b.used[EDGES]
    base, tip, on_base = b.info[i, BASE], b.info[i, TIP], b.value[i, WEIGHT]  # a successor may be b itself
    handed_on = base != NONE and b.edge[base, a] != NONE and b.edge[tip, a] != NONE
    for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
        o, cls = x.seen_obs[f], x.seen_class[f]
        # The successors in this class, touched[first:last]: they are sorted, so bisect.
        first = _bisect(w.touched, n, x.start[cls])
        last = _bisect(w.touched, n, x.start[cls + 1])
        support, p_obs, least = _condition(m, w, a, o, first, last)
        b.used[MAKING_BELIEFS] += 4 * (last - first)
        if p_obs <= 0.0:
            continue
        child = intern(x, b, w.state, w.prob, support)
        edge = b.used[EDGES]
        b.edge_child[edge] = child
        b.edge_obs[edge] = o
        b.edge_prob[edge] = p_obs
        b.used[EDGES] = edge + 1
        if handed_on:
            from_base, from_tip = _edge(b, base, a, o), _edge(b, tip, a, o)
            if from_base >= 0 and from_tip >= 0:
                weight = on_base * b.edge_prob[from_base] / p_obs
                _set_ray(b, child, weight, b.edge_child[from_base], b.edge_child[from_tip])
        else:
            weight = least * w.mass[cls] / p_obs  # min over s of b'(s) / b̄(s)
            if b.info[child, BASE] == NONE and least_weight <= weight < 1.0 - 1e-9:
                _add_ray(x, b, w, child, weight, first, last, w.mass[cls])
    b.degree[i, a] = b.used[EDGES] - b.edge[i, a]
    clear(w.acc, w.touched, n)


@inner
def _edge(b: Store, i: int, a: int, o: int) -> int:
    """The edge of (belief, action) under observation o, or NONE."""
    for e in range(b.edge[i, a], b.edge[i, a] + b.degree[i, a]):
        if b.edge_obs[e] == o:
            return e
    return NONE


@inner
def _set_ray(b: Store, i: int, weight: float, base: int, tip: int) -> None:
    """Give belief i a ray, unless it has one that bounds it no worse."""
    if i in (base, tip) or not 1e-9 < weight < 1.0 - 1e-9:
        return
    if b.info[i, BASE] != NONE:
        old = b.value[i, WEIGHT]
        before = old * b.value[b.info[i, BASE], HI] + (1.0 - old) * b.value[b.info[i, TIP], HI]
        if weight * b.value[base, HI] + (1.0 - weight) * b.value[tip, HI] >= before:
            return
    b.info[i, BASE] = base
    b.info[i, TIP] = tip
    b.value[i, WEIGHT] = weight


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
def _tip(b: Store, w: Scratch, child: int, weight: float, first: int, last: int, mass: float) -> int:
    """Write ``b' − w·b̄``, scaled, into the scratch: the tip of a ray. Return its support size."""
    states, probs, size = b.info[child, STATES], b.info[child, PROBS], b.info[child, SIZE]
    n, j, total = 0, 0, 0.0
    for t in range(first, last):
        s = w.touched[t]
        p = 0.0
        if j < size and b.state[states + j] == s:
            p = b.prob[probs + j]
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
def _add_ray(x: Space, b: Store, w: Scratch, child: int, weight: float, first: int, last: int, mass: float) -> None:
    """Intern the ends of a posterior's ray: the prediction b̄, and the tip on the simplex's boundary."""
    n = _tip(b, w, child, weight, first, last, mass)
    if n == 0:
        return
    tip = intern(x, b, w.state, w.prob, n)
    for t in range(first, last):
        w.state[t - first] = w.touched[t]
        w.prob[t - first] = w.acc[w.touched[t]] / mass
    base = intern(x, b, w.state, w.prob, last - first)
    _set_ray(b, child, weight, base, tip)


# Points of the sawtooth


@inner
def share_of_point(b: Store, i: int, p: int) -> float:
    """``φ = min_{p(s)>0} b(s)/p(s)`` for point p and belief i, rounded down: ``b = φp + (1−φ)r`` for some belief r."""
    states, probs, size = b.info[i, STATES], b.info[i, PROBS], b.info[i, SIZE]
    p_states, p_probs = b.info[p, STATES], b.info[p, PROBS]
    b.used[TESTING_POINTS] += size
    phi, t = 1.0, 0
    for n in range(b.info[p, SIZE]):
        s = b.state[p_states + n]
        while t < size and b.state[states + t] < s:
            t += 1
        if t == size or b.state[states + t] != s:
            return 0.0
        phi = min(phi, b.prob[probs + t] / b.prob[p_probs + n])
    return phi * (1.0 - 1e-12)


@inner
def enlist_point(b: Store, i: int) -> None:
    """Let belief i serve as a point, the newest of its class."""
    k, cls = b.used[POINTS], b.info[i, CLASS]
    b.info[i, POINT] = k
    b.point[k] = i
    b.older[k] = b.newest[cls]
    b.newest[cls] = k
    b.used[POINTS] = k + 1
