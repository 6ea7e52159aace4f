"""Rays: a belief between two others is worth no more than they are.

A posterior b' after (a, o) lies on a line through the prediction b̄ (the belief without the
observation, within the class of b'): ``b' = β·b̄ + (1−β)·e``, with β as large as possible, so that e lies on the
boundary of the simplex. Values are convex, hence ``V(b') ≤ β·V(b̄) + (1−β)·V(e)``. Both are beliefs of the store.
Bayes' rule is linear up to scale: if ``b = β·c + (1−β)·e``, then the successor of b under (a, o) lies between those of
c and e, with weight ``β p(o|c, a) / p(o|b, a)``. So a belief with a ray hands rays on to its successors.
"""

from __future__ import annotations

from ..jit import inner
from .interning import intern
from .store import NONE, Scratch, Space, Store

_ZERO = 2e-14  # relative size below which a difference is rounding of zero


@inner
def set_ray(store: Store, i: int, weight: float, base: int, tip: int) -> None:
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
def _tip(store: Store, scratch: Scratch, child: int, weight: float, first: int, last: int, mass: float) -> int:
    """Write ``b' − β·b̄``, scaled, into the scratch: the tip of a ray. Return its support size."""
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
def add_ray(
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
    set_ray(store, child, weight, base, tip)
