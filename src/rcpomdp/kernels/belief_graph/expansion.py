"""Expansion: the edges of a belief under an action, one for each observation that can follow, and their rays."""

from __future__ import annotations

from ..belief import clear, condition, count_below, predict
from ..jit import inner
from .interning import intern
from .rays import add_ray, set_ray
from .store import NONE, Scratch, Space, Store


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
        first = count_below(scratch.touched, n, space.start[cls])
        last = count_below(scratch.touched, n, space.start[cls + 1])
        support, p_obs, least = condition(
            model, a, o, scratch.acc, scratch.touched, first, last, scratch.state, scratch.prob
        )
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
                set_ray(store, child, weight, store.edge_child[from_base], store.edge_child[from_tip])
        else:
            weight = least * scratch.mass[cls] / p_obs  # min over s of b'(s) / b̄(s)
            if store.info[child].base == NONE and least_weight <= weight < 1.0 - 1e-9:
                add_ray(space, store, scratch, child, weight, first, last, scratch.mass[cls])
    store.degree[i, a] = store.counts[0].edges - store.edge[i, a]
    clear(scratch.acc, scratch.touched, n)


@inner
def _edge(store: Store, i: int, a: int, o: int) -> int:
    """The edge of (belief, action) under observation o, or NONE."""
    for e in range(store.edge[i, a], store.edge[i, a] + store.degree[i, a]):
        if store.edge_obs[e] == o:
            return e
    return NONE
