"""Points of the sawtooth: beliefs whose upper bounds others of their class are bounded by."""

from __future__ import annotations

from ..jit import inner
from .store import Store


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
