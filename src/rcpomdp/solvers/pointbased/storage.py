"""The arrays of a search: the model in class order, room for all that is found, and how it grows."""

from __future__ import annotations

import numpy as np

from ..._types import AnyArray, FloatArray
from ...bounds.blind import blind_sure_costs, blind_vectors, class_policy_vectors
from ...bounds.class_plan import thriftiest_plan
from ...kernels import classes as class_kernels
from ...kernels.plans import PLAN, Plans
from ...kernels.pointbased import arrays as a
from ...kernels.pointbased import beliefs as belief_kernels
from ...model import CPOMDP
from ...model.classes import Classes
from ..belief_graph.storage import lengthen, memory, thriftiest, value_places

_DEPTH = 4096  # steps of a trial at most
_ROOM = 1024  # of anything, to begin with
_LARGE = 1 << 28  # bytes from which on arrays grow by a quarter only
_SAME = 1e-9  # relative difference of sure costs that counts as none
_STEP = 64  # rows that one step may open
_WANTED = 16  # levels that are asked for before more of them are made


def build_space(
    model: CPOMDP,
    classes: Classes,
    gain: FloatArray,
    least_cost: FloatArray,
    budget: FloatArray,
    cap: FloatArray,
    most: FloatArray,
    merge: bool = True,
) -> a.Space:
    """The space of a model whose states are in class order; ``gain [rows, S, A]``, ``budget [K]``, inf: unlimited.

    ``cap`` and ``most [K]`` are the most that any policy spends, discounted by γ and by β.
    """
    m, n_classes = model.arrays, classes.n_classes
    class_of = np.repeat(np.arange(n_classes, dtype=np.int32), classes.sizes)
    seen_ptr = np.zeros(n_classes * model.n_actions + 1, dtype=np.int64)
    scratch, none = np.empty(model.n_observations, dtype=np.int64), np.empty(0, dtype=np.int64)
    class_kernels.list_observations(m, class_of, classes.start, scratch, seen_ptr, none, none)
    seen_obs, seen_class = (np.empty(seen_ptr[-1], dtype=np.int64) for _ in range(2))
    class_kernels.list_observations(m, class_of, classes.start, scratch, seen_ptr, seen_obs, seen_class)
    peak, floor = (
        np.ascontiguousarray(np.moveaxis(bound.reduceat(m.cost, classes.start[:-1], axis=1), 0, 2))
        for bound in (np.maximum, np.minimum)
    )
    limited = np.isfinite(budget)
    return a.Space(
        model=m,
        discount=model.discount,
        class_of=class_of,
        start=classes.start,
        seen_ptr=seen_ptr,
        seen_obs=seen_obs,
        seen_class=seen_class,
        gain=gain,
        peak=peak,
        floor=floor,
        least_cost=least_cost,
        limited=limited.astype(np.int64),
        cap=cap,
        unlimited=most,
        worst=float(gain[0].min() / model.fade) - 1.0,
        varies=bool((peak != floor)[classes.reachable][..., limited].any()),
        merge=bool(merge),
    )


def build_scratch(x: a.Space, n_modes: int, n_tables: int, n_layers: int, depth: int) -> a.Scratch:
    """Working memory for a space; that of backups is `level_scratch`."""
    n, k, n_actions = len(x.class_of), len(x.limited), x.gain.shape[2]
    depth = min(depth, _DEPTH)
    return a.Scratch(
        acc=np.zeros(n),
        touched=np.empty(n, dtype=np.int32),
        state=np.empty(n, dtype=np.int32),
        prob=np.empty(n),
        by_obs=np.zeros(x.model.n_observations, dtype=np.int64),
        hint=np.empty((n_modes, n_actions)),
        informed=np.empty((n_tables, n_actions)),
        coarse=np.empty(n_tables, dtype=np.int64),
        mixed=np.zeros(n_tables, dtype=np.int64),
        element=np.empty((n_tables, n), dtype=np.int64),
        weight=np.empty((n_tables, n)),
        came_by=np.empty((n_layers, 2), dtype=np.int64),
        done=np.empty(n_actions, dtype=np.bool_),
        need=np.empty(k),
        rest=np.empty(k),
        spare=np.empty(k),
        unlimited=np.full(k, np.inf),
        sums=np.empty((0, 0)),
        allowance=np.empty((n_modes - 1, 0)),
        to=np.empty(0, dtype=np.int64),
        path=np.empty(depth, dtype=np.int64),
        level=np.empty(depth, dtype=np.int64),
        mode=np.empty(depth, dtype=np.int64),
        action=np.empty(depth, dtype=np.int64),
        left=np.empty((depth, k)),
        wanted=np.empty((_WANTED, k)),
    )


def level_scratch(scratch: a.Scratch, levels: a.Levels) -> a.Scratch:
    """Working memory that fits the levels."""
    n = levels.after.shape[1]
    return scratch._replace(
        sums=np.empty((4, n)),
        allowance=np.empty((len(scratch.allowance), n)),
        to=np.empty(n, dtype=np.int64),
    )


def build_beliefs(x: a.Space) -> a.Beliefs:
    """A store without beliefs."""
    n_actions, k, largest = x.gain.shape[2], len(x.limited), int(np.diff(x.start).max())
    entries = _ROOM + 8 * largest
    return a.Beliefs(
        info=np.empty(_ROOM, dtype=a.BELIEF),
        least=np.empty((_ROOM, k)),
        low=np.empty((_ROOM, k)),
        high=np.empty((_ROOM, k)),
        state=np.empty(entries, dtype=np.int32),
        prob=np.empty(entries),
        reward=np.empty((_ROOM, n_actions)),
        cost=np.empty((_ROOM, k, n_actions)),
        edge=np.empty((_ROOM, n_actions), dtype=np.int32),
        degree=np.empty((_ROOM, n_actions), dtype=np.int32),
        edge_child=np.empty(_ROOM, dtype=np.int32),
        edge_obs=np.empty(_ROOM, dtype=np.int32),
        edge_prob=np.empty(_ROOM),
        table=np.full(4 * _ROOM, a.NONE, dtype=np.int32),
    )


def build_strips(n_modes: int) -> a.Strips:
    """Room for strips."""
    return a.Strips(
        info=np.empty(_ROOM, dtype=a.STRIP),
        level=np.zeros(_ROOM, dtype=np.int32),
        hi=np.empty((_ROOM, n_modes)),
        lo=np.empty(_ROOM),
        q=np.empty(_ROOM),
    )


def with_levels(s: a.Search, levels: a.Levels) -> a.Search:
    """The search with more levels: those that strips have get other places."""
    n, old = s.strips, s.levels
    info, cells = n.info[: int(s.counts["strips"][0])], n.level[: int(s.counts["cells"][0])]
    before, others = info["others"].copy(), np.zeros(len(info), dtype=np.int64)
    for k in range(len(levels.counts)):
        place = np.searchsorted(levels.value[k, : levels.counts[k]], old.value[k, : old.counts[k]])
        if k == 0:
            cells[:] = place[np.clip(cells, 0, len(place) - 1)]  # room that is not in use holds anything
        else:
            shift = (k - 1) * levels.bits
            others |= place[(before >> shift) & ((1 << levels.bits) - 1)] << shift
    info["others"] = others
    return s._replace(levels=levels, scratch=level_scratch(s.scratch, levels))


def build_candidates(n_costs: int) -> a.Candidates:
    """Room for candidates."""
    return a.Candidates(
        info=np.empty(_ROOM, dtype=a.CANDIDATE),
        total=np.empty((_ROOM, 1 + n_costs)),
        sure=np.empty((_ROOM, n_costs)),
        link=np.empty(_ROOM, dtype=np.int32),
    )


def build_plans(model: CPOMDP, x: a.Space, counts: AnyArray) -> Plans:
    """The plans that a search starts from: plan c*A + a is action a for ever, from class c.

    Under a budget the plan of least sure cost among those that go by the class alone comes after them.
    """
    sizes, n_actions = np.diff(x.start), model.n_actions
    n_classes, rows, n_costs = len(sizes), len(x.gain), model.n_costs
    n_blind, n_links = n_classes * n_actions, int(x.seen_ptr[-1])
    n_values = int(sizes.sum()) * n_actions * rows
    vectors = blind_vectors(model, x.gain)  # [A, rows, S]
    sure = blind_sure_costs(x.peak, x.seen_ptr, x.seen_class, model.cost_discount)  # [n_classes, A, K]

    pair = np.arange(n_blind)
    info = np.empty(n_blind + n_classes + _ROOM, dtype=PLAN)
    info["cls"][:n_blind], info["action"][:n_blind] = np.divmod(pair, n_actions)
    info["links"][:n_blind] = x.seen_ptr[:-1]
    info["older"][:n_blind] = np.where(pair % n_actions == 0, a.NONE, pair - 1)
    info["values"][:n_blind] = np.cumsum(np.repeat(sizes * rows, n_actions)) - np.repeat(sizes * rows, n_actions)

    value = np.empty(n_values + _ROOM + (64 * int(sizes.max()) + int(sizes.sum())) * rows)
    value[value_places(x.start, n_actions, rows)] = vectors
    link = np.empty(2 * n_links + _ROOM, dtype=np.int32)
    link[:n_links] = x.seen_class * n_actions + np.repeat(pair % n_actions, np.diff(x.seen_ptr))
    all_sure = np.zeros((len(info), n_costs))
    all_sure[:n_blind] = sure.reshape(n_blind, n_costs)
    counts["plans"], counts["plan_values"], counts["plan_links"] = n_blind, n_values, n_links
    newest, default = np.arange(1, n_classes + 1) * n_actions - 1, thriftiest(vectors[:, 0], sure, x.start)
    plans = Plans(info, all_sure, value, link, newest, default)
    return _with_thriftiest(model, x, plans, counts) if x.limited.any() else plans


def _with_thriftiest(model: CPOMDP, x: a.Space, plans: Plans, counts: AnyArray) -> Plans:
    """The plans, and a last one for each class that surely costs least; the same plans if a blind one costs no more."""
    action, sure = thriftiest_plan(model, x.peak, x.seen_ptr, x.seen_class)
    if (sure >= plans.sure[plans.default] * (1 - _SAME)).all():
        return plans
    n_classes, rows, sizes = len(action), len(x.gain), np.diff(x.start)
    first = int(counts["plans"][0])
    new, info = np.arange(first, first + n_classes), plans.info
    info["cls"][new], info["action"][new], info["older"][new] = np.arange(n_classes), action, plans.newest
    vectors = class_policy_vectors(model, action[x.class_of], x.gain)  # [rows, S]
    values, links = int(counts["plan_values"][0]), int(counts["plan_links"][0])
    for cls in range(n_classes):
        plan, pair = new[cls], cls * model.n_actions + action[cls]
        info["values"][plan], info["links"][plan] = values, links
        block = vectors[:, x.start[cls] : x.start[cls + 1]]
        plans.value[values : values + block.size] = block.ravel()
        follows = x.seen_class[x.seen_ptr[pair] : x.seen_ptr[pair + 1]]
        plans.link[links : links + follows.size] = first + follows
        values, links = values + int(sizes[cls]) * rows, links + follows.size
    plans.sure[new] = sure
    counts["plans"], counts["plan_values"], counts["plan_links"] = first + n_classes, values, links
    return plans._replace(newest=new, default=new.copy())


def grown(s: a.Search, limit: float) -> a.Search | None:
    """The search with more room for one more step or plan; None if that takes more than `limit` bytes.

    Arrays grow in place; only hash tables are other ones.
    """
    b, n, g, c = s.beliefs, s.strips, s.plans, s.candidates
    n_levels = s.levels.after.shape[1]
    n_obs, largest = s.space.model.n_observations, int(np.diff(s.space.start).max())
    wanted: list[tuple[list[AnyArray], str, int]] = [
        ([b.info, b.least, b.low, b.high], "beliefs", 3 * n_obs),
        ([b.state, b.prob], "pool", 3 * n_obs * largest),
        ([b.edge_child, b.edge_obs, b.edge_prob], "edges", n_obs),
        ([b.reward, b.cost, b.edge, b.degree], "belief_rows", _STEP),
        ([n.info], "strips", 3 * n_obs + _STEP),
        ([n.level, n.hi, n.lo], "cells", 3 * n_obs + 2 * n_levels),
        ([n.q], "opened", 2 * n_levels * s.scratch.hint.size),
        ([g.info, g.sure], "plans", 1),
        ([g.value], "plan_values", largest * len(s.space.gain)),
        ([g.link], "plan_links", n_obs),
        ([c.info, c.total, c.sure], "candidates", _STEP),
        ([c.link], "candidate_links", n_obs),
    ]
    growth, added = [], 0
    for arrays, count, needed in wanted:
        in_use, room = int(s.counts[count][0]), len(arrays[0])
        if in_use + needed > room:
            size = sum(array.nbytes for array in arrays)
            more = max(int((2.0 if size < _LARGE else 1.25) * room), in_use + 2 * needed)
            growth.append((arrays, more))
            added += size * (more - room) // room
    if memory(b, n, g, c) + added > limit:
        return None
    try:
        for arrays, more in growth:
            lengthen(arrays, more)
        if 2 * len(b.info) > len(b.table):
            return rehash(s)
    except MemoryError:
        return None
    return s


def rehash(s: a.Search) -> a.Search:
    """The search with a hash table that fits its room for beliefs."""
    # At most half full.
    table = np.full(1 << (2 * len(s.beliefs.info) - 1).bit_length(), a.NONE, dtype=np.int32)
    s = s._replace(beliefs=s.beliefs._replace(table=table))
    belief_kernels.rehash(s.beliefs, int(s.counts["beliefs"][0]))
    return s
