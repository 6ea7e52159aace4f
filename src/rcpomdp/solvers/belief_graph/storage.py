"""The arrays of the belief-graph search: the model in class order, room for beliefs and plans, and how it grows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..._types import AnyArray, FloatArray, IntArray
from ...bounds.blind import blind_sure_costs, blind_vectors
from ...kernels import classes as class_kernels
from ...kernels.belief_graph.interning import rehash
from ...kernels.belief_graph.store import BELIEF, COUNTS, NONE, Scratch, Space, Store
from ...kernels.plans import PLAN, Plans
from ...model import CPOMDP
from ...model.classes import Classes

_DEPTH = 4096  # steps of a trial at most
_NESTED = 256  # rays upon rays that one expansion follows
_BELIEFS, _EDGES, _PLANS, _LINKS = 1024, 4096, 1024, 4096  # room to begin with
_LARGE = 1 << 28  # bytes from which on arrays grow by a sixteenth only: what is added is written to
_PER_BELIEF = ("info", "q_hi", "informed", "gain", "edge", "degree", "point", "older")


def build_space(model: CPOMDP, classes: Classes, gain: FloatArray, informed: FloatArray, merge: bool = True) -> Space:
    """The space of a model whose states are in class order; ``gain [rows, S, A]``, ``informed [S, A]``."""
    m, n_classes = model.arrays, classes.n_classes
    class_of = np.repeat(np.arange(n_classes, dtype=np.int32), classes.sizes)
    seen_ptr = np.zeros(n_classes * model.n_actions + 1, dtype=np.int64)
    scratch, none = np.empty(model.n_observations, dtype=np.int64), np.empty(0, dtype=np.int64)
    class_kernels.list_observations(m, class_of, classes.start, scratch, seen_ptr, none, none)
    seen_obs, seen_class = (np.empty(seen_ptr[-1], dtype=np.int64) for _ in range(2))
    class_kernels.list_observations(m, class_of, classes.start, scratch, seen_ptr, seen_obs, seen_class)
    peak = np.maximum.reduceat(m.cost, classes.start[:-1], axis=1)  # [K, n_classes, A]
    return Space(
        model=m,
        class_of=class_of,
        start=classes.start,
        seen_ptr=seen_ptr,
        seen_obs=seen_obs,
        seen_class=seen_class,
        informed=informed,
        gain=gain,
        peak=np.ascontiguousarray(_or_forbidden(np.moveaxis(peak, 0, 2), m.step_limit)),
        merge=bool(merge),
    )


def build_scratch(x: Space) -> Scratch:
    """Working memory for a space."""
    n = len(x.class_of)
    return Scratch(
        acc=np.zeros(n),
        touched=np.empty(n, dtype=np.int32),
        state=np.empty(n, dtype=np.int32),
        prob=np.empty(n),
        mass=np.zeros(len(x.start) - 1),
        by_obs=np.zeros(x.model.n_observations, dtype=np.int64),
        path=np.empty(_DEPTH, dtype=np.int64),
        stack=np.empty(_NESTED, dtype=np.int64),
    )


def _or_forbidden(peak: FloatArray, step_limit: FloatArray) -> FloatArray:
    """Largest costs ``[n_classes, A, K]``; infinite where some belief of the class may not take the action."""
    return np.where((peak > step_limit).any(axis=2, keepdims=True), np.inf, peak)


def build_store(x: Space) -> Store:
    """A store without beliefs."""
    n_actions, largest = x.informed.shape[1], int(np.diff(x.start).max())
    entries = _BELIEFS + 8 * largest
    return Store(
        info=np.zeros(_BELIEFS, dtype=BELIEF),
        q_hi=np.empty((_BELIEFS, n_actions)),
        informed=np.empty((_BELIEFS, n_actions)),
        gain=np.empty((_BELIEFS, n_actions)),
        edge=np.empty((_BELIEFS, n_actions), dtype=np.int64),
        degree=np.zeros((_BELIEFS, n_actions), dtype=np.int64),
        state=np.empty(entries, dtype=np.int32),
        prob=np.empty(entries),
        edge_child=np.empty(_EDGES, dtype=np.int64),
        edge_obs=np.empty(_EDGES, dtype=np.int64),
        edge_prob=np.empty(_EDGES),
        table=np.full((3, 4 * _BELIEFS), NONE),
        point=np.empty(_BELIEFS, dtype=np.int64),
        older=np.empty(_BELIEFS, dtype=np.int64),
        newest=np.full(len(x.start) - 1, NONE),
        counts=np.zeros(1, dtype=COUNTS),
    )


def build_plans(model: CPOMDP, x: Space, store: Store) -> Plans:
    """The blind plans: plan c*A + a is action a for ever, from class c. Counted in the store."""
    sizes, n_actions = np.diff(x.start), model.n_actions
    n_classes, rows, n_costs = len(sizes), len(x.gain), model.n_costs
    n_plans, n_links = n_classes * n_actions, int(x.seen_ptr[-1])
    n_values = int(sizes.sum()) * n_actions * rows
    vectors = blind_vectors(model, x.gain)  # [A, rows, S]
    sure = blind_sure_costs(x.peak, x.seen_ptr, x.seen_class, model.cost_discount)  # [n_classes, A, K]

    pair = np.arange(n_plans)
    info = np.empty(n_plans + _PLANS, dtype=PLAN)
    info["cls"][:n_plans], info["action"][:n_plans] = np.divmod(pair, n_actions)
    info["links"][:n_plans] = x.seen_ptr[:-1]
    info["older"][:n_plans] = np.where(pair % n_actions == 0, NONE, pair - 1)
    info["values"][:n_plans] = np.cumsum(np.repeat(sizes * rows, n_actions)) - np.repeat(sizes * rows, n_actions)

    value = np.empty(n_values + _PLANS + 64 * int(sizes.max()) * rows)
    value[value_places(x.start, n_actions, rows)] = vectors
    default = thriftiest(vectors[:, 0], sure, x.start)

    link = np.empty(n_links + _LINKS, dtype=np.int64)
    link[:n_links] = x.seen_class * n_actions + np.repeat(pair % n_actions, np.diff(x.seen_ptr))
    all_sure = np.zeros((len(info), n_costs))
    all_sure[:n_plans] = sure.reshape(n_plans, n_costs)
    store.counts[["plans", "plan_values", "plan_links"]] = n_plans, n_values, n_links
    return Plans(info, all_sure, value, link, np.arange(1, n_classes + 1) * n_actions - 1, default)


def value_places(start: IntArray, n_actions: int, rows: int) -> IntArray:
    """Places ``[A, rows, S]`` of the blind plans' values, which lie class by class and there plan by plan."""
    sizes, n = np.diff(start), int(start[-1])
    size, first = np.repeat(sizes, sizes), np.repeat(start[:-1], sizes)
    block = np.arange(n_actions * rows).reshape(n_actions, rows, 1)
    places: IntArray = first * n_actions * rows + block * size + np.arange(n) - first
    return places


def thriftiest(values: FloatArray, sure: FloatArray, start: IntArray) -> IntArray:
    """The plan that meets what nobody foresaw in each class: of least sure cost, then of the best value on average.

    ``values [A, S]``, ``sure [n_classes, A, K]``.
    """
    n_classes, n_actions, _ = sure.shape
    least = sure.sum(axis=2)
    mean = np.add.reduceat(values, start[:-1], axis=1).T / np.diff(start)[:, None]
    chosen = np.where(least == least.min(axis=1, keepdims=True), mean, -np.inf).argmax(axis=1)
    plans: IntArray = np.arange(n_classes) * n_actions + chosen
    return plans


def memory(*parts: Iterable[object]) -> int:
    """Bytes allocated."""
    return sum(array.nbytes for part in parts for array in part if isinstance(array, np.ndarray))


def more_room(room: int, size: int) -> int:
    """Number of rows to give arrays that have `room` of them and take `size` bytes."""
    return int((2.0 if size < _LARGE else 1.0625) * room) + 1


def lengthen(arrays: Sequence[AnyArray], n: int) -> None:
    """Give arrays n rows, in place: where they are large the system moves no byte."""
    for array in arrays:
        if len(array) < n:
            # Nobody else holds them: kernels let go of what they were called with.
            array.resize((n, *array.shape[1:]), refcheck=False)


def grown(x: Space, store: Store, plans: Plans, limit: float, per_belief: int = 0) -> Store | None:
    """The store with more room, in it and in the plans, for one more expansion or plan; None if that is too much.

    ``per_belief`` bytes are kept elsewhere for each belief that there is room for. Arrays grow in place; only the hash
    table is another one.
    """
    n_obs, largest = x.model.n_observations, int(np.diff(x.start).max())
    wanted = [
        ([getattr(store, name) for name in _PER_BELIEF], "beliefs", 3 * n_obs),
        ([store.state], "state_pool", 3 * n_obs * largest),
        ([store.prob], "prob_pool", 3 * n_obs * largest),
        ([store.edge_child, store.edge_obs, store.edge_prob], "edges", n_obs),
        ([plans.info, plans.sure], "plans", 1),
        ([plans.value], "plan_values", largest * len(x.gain)),
        ([plans.link], "plan_links", n_obs),
    ]
    growth, added = [], 0
    for arrays, count, needed in wanted:
        in_use, room = int(store.counts[count][0]), len(arrays[0])
        if in_use + needed > room:
            size = sum(a.nbytes for a in arrays) + (per_belief * room if count == "beliefs" else 0)
            n = max(more_room(room, size), in_use + 2 * needed)
            growth.append((arrays, n))
            added += size * (n - room) // room
    if memory(store, plans) + added > limit:
        return None
    try:
        for arrays, n in growth:
            lengthen(arrays, n)
        if 2 * len(store.info) > store.table.shape[1]:
            store = store._replace(table=np.full((3, 2 * store.table.shape[1]), NONE))
            rehash(store)
    except MemoryError:
        return None
    return store
