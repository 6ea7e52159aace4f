"""Making plans and belief plans *under a budget*: at (b, d), from candidates that fit ``(d − c) / γ``."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..budget import left_after
from ..jit import inner
from ..plans import add_plan, plan_has_room
from .arrays import EXACT, NO_ROOM, NONE, Search
from .candidates import (
    as_link,
    best_candidate,
    enter,
    fits,
    is_known,
    new_candidate,
    offer,
    refresh,
    share_of,
    thriftiest_candidate,
)
from .levels import pay
from .plans import rest_for_plan
from .spending import level_after
from .strips import cell, cover, find_level

_SAME = 1e-12  # relative difference of two values that are one
_LOOKS = 3  # actions whose successors one look for a better plan tests


@inner
def _promise(search: Search, i: int, a: int, rest: FloatArray, plans_only: bool) -> float:
    """``R(b, a) + γ Σ_o p(o) v_o`` of the best known candidates within what is left; −inf if one is missing."""
    beliefs, candidates, row = search.beliefs, search.candidates, search.beliefs.info[i].row
    value = beliefs.reward[row, a]
    search.counts[0].making_plans += 4 * beliefs.degree[row, a]
    for e in range(beliefs.edge[row, a], beliefs.edge[row, a] + beliefs.degree[row, a]):
        candidate = best_candidate(search.space, beliefs, candidates, beliefs.edge_child[e], rest, plans_only)
        if candidate == NONE:
            return -np.inf
        value += search.space.discount * beliefs.edge_prob[e] * candidates.total[candidate, 0]
    return float(value)


@inner
def refresh_children(search: Search, i: int, a: int, rest: FloatArray) -> bool:
    """Test new plans at all that may follow; False if full."""
    beliefs, row = search.beliefs, search.beliefs.info[i].row
    for e in range(beliefs.edge[row, a], beliefs.edge[row, a] + beliefs.degree[row, a]):
        if not refresh(search, beliefs.edge_child[e], rest):
            return False
    return True


@inner
def _look(search: Search, strip: int, level: int, a: int, d: FloatArray) -> bool:
    """Test new plans at all that may follow an expanded action, and note what is known there; False if full."""
    space, beliefs, strips = search.space, search.beliefs, search.strips
    i = strips.info[strip].belief
    row, rest = beliefs.info[i].row, search.scratch.rest
    to, others = level_after(search, strip, level, a, EXACT)
    if to == NONE or not pay(space, d, beliefs.cost[row, :, a], rest):
        return True
    if not refresh_children(search, i, a, rest):
        return False
    for e in range(beliefs.edge[row, a], beliefs.edge[row, a] + beliefs.degree[row, a]):
        kid = cover(search, beliefs.edge_child[e], others, to)
        if kid == NO_ROOM:
            return False
        candidate = best_candidate(space, beliefs, search.candidates, beliefs.edge_child[e], rest, False)
        strips.lo[cell(search, kid, to)] = search.candidates.total[candidate, 0] if candidate != NONE else -np.inf
    return True


@inner
def _expected(search: Search, strip: int, level: int, a: int, d: FloatArray) -> float:
    """Promise of an action at (b, d) by what was last noted of its successors; −inf if it cannot be paid."""
    space, beliefs, strips = search.space, search.beliefs, search.strips
    row = beliefs.info[strips.info[strip].belief].row
    if beliefs.edge[row, a] == NONE or not pay(space, d, beliefs.cost[row, :, a], search.scratch.spare):
        return -np.inf
    to, others = level_after(search, strip, level, a, EXACT)
    if to == NONE:
        return -np.inf
    value = beliefs.reward[row, a]
    for e in range(beliefs.edge[row, a], beliefs.edge[row, a] + beliefs.degree[row, a]):
        kid = find_level(search, beliefs.edge_child[e], others, to)
        if kid == NONE:
            return -np.inf
        value += space.discount * beliefs.edge_prob[e] * strips.lo[cell(search, kid, to)]
    return float(value)


@inner
def improve(search: Search, strip: int, level: int, a: int, d: FloatArray, least_gain: float) -> bool:
    """Make a plan, or where it promises more a belief plan, at a level of an opened strip; False if full.

    Looks at what may follow action a, and then at what the most promising action leads to.
    """
    i = search.strips.info[strip].belief
    if not refresh(search, i, d):
        return False
    looked, row = a, search.beliefs.info[i].row
    for _ in range(_LOOKS):
        if looked != NONE and search.beliefs.edge[row, looked] != NONE and not _look(search, strip, level, looked, d):
            return False
        best, most = NONE, -np.inf
        for action in range(search.beliefs.reward.shape[1]):
            value = _expected(search, strip, level, action, d)
            if value > most:
                best, most = action, value
        if best in (looked, NONE):
            break
        looked = best
    if best == NONE:
        return True
    if not _make_best(search, i, best, d, least_gain, True):
        return False
    if not search.space.varies and _plan_keeps(search, i, best, d):
        return True
    return _make_best(search, i, best, d, least_gain, False)


@inner
def _plan_keeps(search: Search, i: int, a: int, d: FloatArray) -> bool:
    """True if a plan that starts with an action can keep a budget after what is possible in the class alone, too."""
    space, beliefs, plans = search.space, search.beliefs, search.plans
    row, pair = beliefs.info[i].row, beliefs.info[i].cls * space.gain.shape[2] + a
    if not rest_for_plan(space, beliefs.info[i].cls, a, d, search.scratch.rest):
        return False
    e = beliefs.edge[row, a]
    last = e + beliefs.degree[row, a]
    for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
        if e < last and beliefs.edge_obs[e] == space.seen_obs[f]:  # edges are in the same order
            e += 1
        elif not fits(space, plans.sure[plans.default[space.seen_class[f]]], search.scratch.rest):
            return False
    return True


@inner
def _make_best(search: Search, i: int, a: int, d: FloatArray, least_gain: float, as_plan: bool) -> bool:
    """Make a plan or a belief plan if it promises `least_gain` more than is known of its kind; False if full."""
    space, beliefs, rest = search.space, search.beliefs, search.scratch.rest
    if as_plan:
        paid = rest_for_plan(space, beliefs.info[i].cls, a, d, rest)
    else:
        paid = pay(space, d, beliefs.cost[beliefs.info[i].row, :, a], rest)
    if not paid:
        return True
    promise, known = (
        _promise(search, i, a, rest, as_plan),
        best_candidate(space, beliefs, search.candidates, i, d, as_plan),
    )
    if promise == -np.inf or (known != NONE and promise <= search.candidates.total[known, 0] + least_gain):
        return True
    if as_plan:
        return _make_plan(search, i, a, rest, promise)
    return _make_belief_plan(search, i, a, rest, False)


@inner
def _make_plan(search: Search, i: int, a: int, rest: FloatArray, promise: float) -> bool:
    """Make the plan of (class, action) that follows the best plans within what is left; False if full.

    What is possible in the class alone may make it cost more than there is; it is then of use elsewhere, and made once.
    """
    space, beliefs, plans, scratch, candidates = (
        search.space,
        search.beliefs,
        search.plans,
        search.scratch,
        search.candidates,
    )
    cls, row = beliefs.info[i].cls, beliefs.info[i].row
    if not plan_has_room(space, plans, search.counts, cls, a):
        return False
    pair = cls * space.gain.shape[2] + a
    for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
        scratch.by_obs[space.seen_obs[f]] = plans.default[space.seen_class[f]]
    for e in range(beliefs.edge[row, a], beliefs.edge[row, a] + beliefs.degree[row, a]):
        candidate = best_candidate(space, beliefs, candidates, beliefs.edge_child[e], rest, True)
        scratch.by_obs[beliefs.edge_obs[e]] = candidates.info[candidate].plan
    for k in range(scratch.spare.size):
        scratch.spare[k] = 0.0
        for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
            scratch.spare[k] = max(scratch.spare[k], plans.sure[scratch.by_obs[space.seen_obs[f]], k])
        scratch.spare[k] = space.peak[cls, a, k] + space.model.cost_discount[k] * scratch.spare[k]
    if is_known(space, beliefs, candidates, i, promise - _SAME * abs(promise), scratch.spare, True):
        return True
    return offer(search, i, add_plan(space, plans, search.counts, scratch.by_obs, space.discount, cls, a))


@inner
def _make_belief_plan(search: Search, i: int, a: int, rest: FloatArray, thrifty: bool) -> bool:
    """Make the belief plan of an action that follows the best, or the thriftiest, candidates; False if full."""
    space, beliefs, candidates, row = search.space, search.beliefs, search.candidates, search.beliefs.info[i].row
    first, degree, links = beliefs.edge[row, a], beliefs.degree[row, a], search.counts[0].candidate_links
    if links + degree > candidates.link.size:
        return False
    new = new_candidate(candidates, search.counts)
    if new == NO_ROOM:
        return False
    candidates.total[new, 0] = beliefs.reward[row, a]
    for k in range(candidates.sure.shape[1]):
        candidates.total[new, 1 + k] = beliefs.cost[row, k, a]
        candidates.sure[new, k] = 0.0
    for e in range(degree):
        child, p = beliefs.edge_child[first + e], space.discount * beliefs.edge_prob[first + e]
        candidate = (
            thriftiest_candidate(space, beliefs, candidates, child, rest)
            if thrifty
            else best_candidate(space, beliefs, candidates, child, rest, False)
        )
        candidates.link[links + e] = (
            candidate if candidates.info[candidate].plan == NONE else as_link(candidates.info[candidate].plan)
        )
        for column in range(candidates.total.shape[1]):
            candidates.total[new, column] += p * candidates.total[candidate, column]
        for k in range(candidates.sure.shape[1]):
            candidates.sure[new, k] = max(candidates.sure[new, k], candidates.sure[candidate, k])
    for k in range(candidates.sure.shape[1]):
        candidates.sure[new, k] = beliefs.cost[row, k, a] + space.model.cost_discount[k] * candidates.sure[new, k]
    candidates.info[new].belief = i
    candidates.info[new].plan = NONE
    candidates.info[new].action = a
    candidates.info[new].links = links
    if is_known(space, beliefs, candidates, i, candidates.total[new, 0], candidates.sure[new], False):
        candidates.info[new].next = search.counts[0].free_candidate
        search.counts[0].free_candidate = new
        return True
    search.counts[0].candidate_links = links + degree
    enter(space, beliefs, candidates, search.counts, i, new)
    return True


@inner
def improve_thrift(search: Search, i: int, d: FloatArray) -> bool:
    """Make the belief plan of least sure cost, as a share of d, that one step ahead shows; False if full."""
    space, beliefs, candidates, rest, sure = (
        search.space,
        search.beliefs,
        search.candidates,
        search.scratch.rest,
        search.scratch.spare,
    )
    if not refresh(search, i, search.scratch.unlimited):
        return False
    row = beliefs.info[i].row
    known = thriftiest_candidate(space, beliefs, candidates, i, d)
    best, least = NONE, share_of(space, candidates.sure[known], d) * (1.0 - 1e-9) if known != NONE else np.inf
    for a in range(beliefs.reward.shape[1]):
        if beliefs.edge[row, a] == NONE:
            continue
        for k in range(d.size):
            rest[k] = max(left_after(d[k], beliefs.cost[row, k, a], space.model.cost_discount[k]), 0.0)
            sure[k] = 0.0
        if not refresh_children(search, i, a, search.scratch.unlimited):
            return False
        complete = True
        for e in range(beliefs.edge[row, a], beliefs.edge[row, a] + beliefs.degree[row, a]):
            candidate = thriftiest_candidate(space, beliefs, candidates, beliefs.edge_child[e], rest)
            if candidate == NONE:
                complete = False
                break
            for k in range(d.size):
                sure[k] = max(sure[k], candidates.sure[candidate, k])
        for k in range(d.size):
            sure[k] = beliefs.cost[row, k, a] + space.model.cost_discount[k] * sure[k]
        share = share_of(space, sure, d)
        if complete and share < least:
            best, least = a, share
    if best == NONE:
        return True
    for k in range(d.size):
        rest[k] = max(left_after(d[k], beliefs.cost[row, k, best], space.model.cost_discount[k]), 0.0)
    return _make_belief_plan(search, i, best, rest, True)
