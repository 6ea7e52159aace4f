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

from ..._types import AnyArray, FloatArray, IndexArray, IntArray
from ..arrays import ModelArrays
from ..belief import clear, likelihood, predict
from ..jit import inner, kernel

NONE = -1

BELIEF = np.dtype(
    [
        ("cls", np.int64),
        ("states", np.int64),  # where its support begins in the pool of states,
        ("probs", np.int64),  # and its probabilities in theirs
        ("size", np.int64),  # of its support
        ("plan", np.int64),  # that attains its lower bound
        ("tested", np.int64),  # newest plan of its class that was tested here
        ("base", np.int64),  # ends of its ray, or NONE
        ("tip", np.int64),
        ("weight", np.float64),  # of the base
        ("upper", np.float64),  # bounds on its value
        ("lower", np.float64),
        ("point", np.int64),  # its number among the points of the sawtooth, or NONE
        ("seen_point", np.int64),  # newest point of its class that was tested here
        ("hash", np.int64),
        ("states_hash", np.int64),
        ("probs_hash", np.int64),
    ]
)

# What is filled, and the work done so far by what it was done for
WORK = ("making_beliefs", "testing_plans", "making_plans", "upper_backups", "testing_points")
COUNTS = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("beliefs", "state_pool", "prob_pool", "edges", "plans", "plan_values", "plan_links", "points"),
            *WORK,
        )
    ]
)

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
    informed: FloatArray  # [S, A] vectors whose largest product with a belief bounds its value from above (FIB)
    gain: FloatArray  # [rows, S, A] what a plan accumulates: row 0 the objective, then whatever else is kept
    peak: FloatArray  # [n_classes, A, K] largest cost over a class
    merge: bool  # whether equal beliefs are one


class Store(NamedTuple):
    """Beliefs and their edges, by capacity; `counts` says what is filled."""

    info: AnyArray  # [N] BELIEF
    q_hi: FloatArray  # [N, A] upper bound on each action's value
    informed: FloatArray  # [N, A] products with the vectors of Space.informed bound
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
    counts: AnyArray  # [1] COUNTS


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
def _find_states(store: Store, h: int, state: IndexArray, n: int) -> int:
    """The slot of a support: that of the first belief that has it, or an empty one."""
    mask = store.table.shape[1] - 1
    slot = h & mask
    while store.table[BY_STATES, slot] != NONE:
        i = store.table[BY_STATES, slot]
        if store.info[i].states_hash == h and store.info[i].size == n:
            at, j = store.info[i].states, 0
            while j < n and store.state[at + j] == state[j]:
                j += 1
            if j == n:
                break
        slot = (slot + 1) & mask
    return int(slot)


@inner
def _find_probs(store: Store, h: int, prob: FloatArray, n: int) -> int:
    """The slot of probabilities, but for rounding: that of the first belief that has them, or an empty one."""
    mask = store.table.shape[1] - 1
    slot = h & mask
    while store.table[BY_PROBS, slot] != NONE:
        i = store.table[BY_PROBS, slot]
        if store.info[i].probs_hash == h and store.info[i].size == n:
            at, j = store.info[i].probs, 0
            while j < n and abs(store.prob[at + j] - prob[j]) <= SAME * prob[j]:
                j += 1
            if j == n:
                break
        slot = (slot + 1) & mask
    return int(slot)


@inner
def _shares(store: Store, i: int, states: int, probs: int) -> bool:
    """True if belief i has the support of one belief and the probabilities of another; NONE has nothing to share."""
    if states == NONE or probs == NONE:  # noqa: PLR1714 - compiled code is slow at looking into tuples
        return False
    return bool(store.info[i].states == store.info[states].states and store.info[i].probs == store.info[probs].probs)


@kernel
def intern(space: Space, store: Store, state: IndexArray, prob: FloatArray, n: int) -> int:
    """The belief with this support and these probabilities, made if it is new. There must be room."""
    states_hash, probs_hash = n, n
    for j in range(n):
        states_hash = _mix(states_hash, state[j])
        probs_hash = _mix(probs_hash, int(prob[j] * _GRID + 0.5))
    by_states, by_probs = _find_states(store, states_hash, state, n), _find_probs(store, probs_hash, prob, n)
    states, probs = store.table[BY_STATES, by_states], store.table[BY_PROBS, by_probs]
    h = _mix(states_hash, probs_hash)
    mask = store.table.shape[1] - 1
    slot = h & mask
    while store.table[BY_BELIEF, slot] != NONE:
        i = store.table[BY_BELIEF, slot]
        if space.merge and store.info[i].hash == h and _shares(store, i, states, probs):
            return int(i)
        slot = (slot + 1) & mask
    new = store.counts[0].beliefs
    store.table[BY_BELIEF, slot] = new
    store.counts[0].beliefs = new + 1
    store.counts[0].making_beliefs += n * space.informed.shape[1]
    store.info[new].cls = space.class_of[state[0]]
    store.info[new].size = n
    store.info[new].plan = NONE
    store.info[new].tested = NONE
    store.info[new].base = NONE
    store.info[new].tip = NONE
    store.info[new].point = NONE
    store.info[new].seen_point = NONE
    store.info[new].hash = h
    store.info[new].states_hash = states_hash
    store.info[new].probs_hash = probs_hash
    if states == NONE:
        store.table[BY_STATES, by_states] = new
        _add_states(store, new, state, n)
    else:
        store.info[new].states = store.info[states].states
    if probs == NONE:
        store.table[BY_PROBS, by_probs] = new
        _add_probs(store, new, prob, n)
    else:
        store.info[new].probs = store.info[probs].probs
    for a in range(store.edge.shape[1]):
        store.edge[new, a] = NONE
    fill_products(space, store, new)
    return int(new)


@inner
def _add_states(store: Store, i: int, state: IndexArray, n: int) -> None:
    """Append the support of a belief to the pool."""
    at = store.counts[0].state_pool
    store.info[i].states = at
    for j in range(n):
        store.state[at + j] = state[j]
    store.counts[0].state_pool = at + n


@inner
def _add_probs(store: Store, i: int, prob: FloatArray, n: int) -> None:
    """Append the probabilities of a belief to the pool."""
    at = store.counts[0].prob_pool
    store.info[i].probs = at
    for j in range(n):
        store.prob[at + j] = prob[j]
    store.counts[0].prob_pool = at + n


@inner
def fill_products(space: Space, store: Store, i: int) -> None:
    """Write a belief's products with the informed bound's vectors and the objective, and the bounds that follow."""
    q, gain = store.q_hi[i], store.gain[i]
    for a in range(q.size):
        q[a] = 0.0
        gain[a] = 0.0
    states, probs = store.info[i].states, store.info[i].probs
    for j in range(store.info[i].size):
        p, s = store.prob[probs + j], store.state[states + j]
        informed, here = space.informed[s], space.gain[0, s]
        for a in range(q.size):
            q[a] += p * informed[a]
            gain[a] += p * here[a]
    for a in range(q.size):
        store.informed[i, a] = q[a]
    store.info[i].upper = q[best_action(q)]
    store.info[i].lower = -np.inf


@inner
def best_action(q: FloatArray) -> int:
    """The first of the largest entries."""
    best = 0
    for a in range(1, q.size):
        if q[a] > q[best]:
            best = a
    return best


@inner
def _enlist(store: Store, row: int, h: int, i: int) -> None:
    """Put belief i into a row of the table."""
    mask = store.table.shape[1] - 1
    slot = h & mask
    while store.table[row, slot] != NONE:
        slot = (slot + 1) & mask
    store.table[row, slot] = i


@kernel
def rehash(store: Store) -> None:
    """Fill an empty table with the beliefs there are."""
    states, probs = 0, 0
    for i in range(store.counts[0].beliefs):
        _enlist(store, BY_BELIEF, store.info[i].hash, i)
        if store.info[i].states == states:  # it was the first to have this support
            _enlist(store, BY_STATES, store.info[i].states_hash, i)
            states += store.info[i].size
        if store.info[i].probs == probs:
            _enlist(store, BY_PROBS, store.info[i].probs_hash, i)
            probs += store.info[i].size


@inner
def has_room(space: Space, store: Store, i: int, a: int) -> bool:
    """True if an expansion of belief i under action a is sure to fit."""
    pair = store.info[i].cls * space.informed.shape[1] + a
    first, last = space.seen_ptr[pair], space.seen_ptr[pair + 1]
    entries = 0
    for f in range(first, last):
        c = space.seen_class[f]
        entries += 3 * (space.start[c + 1] - space.start[c])
    beliefs = store.counts[0].beliefs + 3 * (last - first)
    return bool(
        beliefs <= store.info.shape[0]
        and 2 * beliefs <= store.table.shape[1]
        and store.counts[0].state_pool + entries <= store.state.size
        and store.counts[0].prob_pool + entries <= store.prob.size
        and store.counts[0].edges + last - first <= store.edge_child.size
    )


@inner
def expand(space: Space, store: Store, scratch: Scratch, i: int, a: int, least_weight: float) -> bool:
    """Give belief i the edges of action a, and before it the beliefs at the ends of its ray; False if full.

    Nothing is done for rays if none has the weight that is asked for.
    """
    depth = 1
    scratch.stack[0] = i
    while depth > 0:
        top = scratch.stack[depth - 1]
        if least_weight < 1.0 and depth < scratch.stack.size and store.info[top].base != NONE:
            if store.edge[store.info[top].base, a] == NONE:
                scratch.stack[depth] = store.info[top].base
                depth += 1
                continue
            if store.edge[store.info[top].tip, a] == NONE:
                scratch.stack[depth] = store.info[top].tip
                depth += 1
                continue
        if not has_room(space, store, top, a):
            return False
        if store.edge[top, a] == NONE:
            _expand_one(space, store, scratch, top, a, least_weight)
        depth -= 1
    return True


@inner
def _expand_one(space: Space, store: Store, scratch: Scratch, i: int, a: int, least_weight: float) -> None:
    """Give belief i the edges of action a. There must be room.

    Posteriors of a belief without a ray get one to the prediction, if it has at least `least_weight` there.
    """
    model = space.model
    states, probs, size = store.info[i].states, store.info[i].probs, store.info[i].size
    n = predict(
        model, store.state[states : states + size], store.prob[probs : probs + size], a, scratch.acc, scratch.touched
    )
    for j in range(n):
        scratch.mass[space.class_of[scratch.touched[j]]] = 0.0
    for j in range(n):
        scratch.mass[space.class_of[scratch.touched[j]]] += scratch.acc[scratch.touched[j]]
    pair = store.info[i].cls * space.informed.shape[1] + a
    store.edge[i, a] = store.counts[0].edges
    base, tip, on_base = store.info[i].base, store.info[i].tip, store.info[i].weight  # a successor may be b itself
    handed_on = base != NONE and store.edge[base, a] != NONE and store.edge[tip, a] != NONE
    for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
        o, cls = space.seen_obs[f], space.seen_class[f]
        # The successors in this class, touched[first:last]: they are sorted, so bisect.
        first = _bisect(scratch.touched, n, space.start[cls])
        last = _bisect(scratch.touched, n, space.start[cls + 1])
        support, p_obs, least = _condition(model, scratch, a, o, first, last)
        store.counts[0].making_beliefs += 4 * (last - first)
        if p_obs <= 0.0:
            continue
        child = intern(space, store, scratch.state, scratch.prob, support)
        edge = store.counts[0].edges
        store.edge_child[edge] = child
        store.edge_obs[edge] = o
        store.edge_prob[edge] = p_obs
        store.counts[0].edges = edge + 1
        if handed_on:
            from_base, from_tip = _edge(store, base, a, o), _edge(store, tip, a, o)
            if from_base >= 0 and from_tip >= 0:
                weight = on_base * store.edge_prob[from_base] / p_obs
                _set_ray(store, child, weight, store.edge_child[from_base], store.edge_child[from_tip])
        else:
            weight = least * scratch.mass[cls] / p_obs  # min over s of b'(s) / b̄(s)
            if store.info[child].base == NONE and least_weight <= weight < 1.0 - 1e-9:
                _add_ray(space, store, scratch, child, weight, first, last, scratch.mass[cls])
    store.degree[i, a] = store.counts[0].edges - store.edge[i, a]
    clear(scratch.acc, scratch.touched, n)


@inner
def _edge(store: Store, i: int, a: int, o: int) -> int:
    """The edge of (belief, action) under observation o, or NONE."""
    for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
        if store.edge_obs[e] == o:
            return e
    return NONE


@inner
def _set_ray(store: Store, i: int, weight: float, base: int, tip: int) -> None:
    """Give belief i a ray, unless it has one that bounds it no worse."""
    if i in (base, tip) or not 1e-9 < weight < 1.0 - 1e-9:
        return
    if store.info[i].base != NONE:
        old = store.info[i].weight
        before = old * store.info[store.info[i].base].upper + (1.0 - old) * store.info[store.info[i].tip].upper
        if weight * store.info[base].upper + (1.0 - weight) * store.info[tip].upper >= before:
            return
    store.info[i].base = base
    store.info[i].tip = tip
    store.info[i].weight = weight


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
def _tip(store: Store, scratch: Scratch, child: int, weight: float, first: int, last: int, mass: float) -> int:
    """Write ``b' − w·b̄``, scaled, into the scratch: the tip of a ray. Return its support size."""
    states, probs, size = store.info[child].states, store.info[child].probs, store.info[child].size
    n, j, total = 0, 0, 0.0
    for t in range(first, last):
        s = scratch.touched[t]
        p = 0.0
        if j < size and store.state[states + j] == s:
            p = store.prob[probs + j]
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
    space: Space, store: Store, scratch: Scratch, child: int, weight: float, first: int, last: int, mass: float
) -> None:
    """Intern the ends of a posterior's ray: the prediction b̄, and the tip on the simplex's boundary."""
    n = _tip(store, scratch, child, weight, first, last, mass)
    if n == 0:
        return
    tip = intern(space, store, scratch.state, scratch.prob, n)
    for t in range(first, last):
        scratch.state[t - first] = scratch.touched[t]
        scratch.prob[t - first] = scratch.acc[scratch.touched[t]] / mass
    base = intern(space, store, scratch.state, scratch.prob, last - first)
    _set_ray(store, child, weight, base, tip)


# Points of the sawtooth


@inner
def share_of_point(store: Store, i: int, p: int) -> float:
    """``φ = min_{p(s)>0} b(s)/p(s)`` for point p and belief i, rounded down: ``b = φp + (1−φ)r`` for some belief r."""
    states, probs, size = store.info[i].states, store.info[i].probs, store.info[i].size
    p_states, p_probs = store.info[p].states, store.info[p].probs
    store.counts[0].testing_points += size
    phi, t = 1.0, 0
    for n in range(store.info[p].size):
        s = store.state[p_states + n]
        while t < size and store.state[states + t] < s:
            t += 1
        if t == size or store.state[states + t] != s:
            return 0.0
        phi = min(phi, store.prob[probs + t] / store.prob[p_probs + n])
    return phi * (1.0 - 1e-12)


@inner
def enlist_point(store: Store, i: int) -> None:
    """Let belief i serve as a point, the newest of its class."""
    k, cls = store.counts[0].points, store.info[i].cls
    store.info[i].point = k
    store.point[k] = i
    store.older[k] = store.newest[cls]
    store.newest[cls] = k
    store.counts[0].points = k + 1
