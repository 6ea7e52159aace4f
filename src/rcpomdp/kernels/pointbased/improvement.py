"""Making plans and belief plans *under a budget*: at (b, d), from options that fit ``(d − c) / γ``."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..jit import inner
from .arrays import EXACT, NO_ROOM, NONE, Search
from .levels import left_after
from .options import (
    as_link,
    best_option,
    enter,
    fits,
    is_known,
    new_option,
    offer,
    refresh,
    share_of,
    thriftiest_option,
)
from .plans import add_plan, plan_has_room, rest_for_plan
from .spending import level_after
from .strips import cell, cover, find_level

_SAME = 1e-12  # relative difference of two values that are one
_LOOKS = 3  # actions whose successors one look for a better plan tests


@inner
def _promise(s: Search, i: int, a: int, rest: FloatArray, plans_only: bool) -> float:
    """``R(b, a) + γ Σ_o p(o) v_o`` of the best known options within what is left; −inf if one is missing."""
    b, c, row = s.beliefs, s.options, s.beliefs.info[i].row
    value = b.reward[row, a]
    s.counts[0].making_plans = s.counts[0].making_plans + 4 * b.degree[row, a]
    for e in range(b.edge[row, a], b.edge[row, a] + b.degree[row, a]):
        option = best_option(s.space, b, c, b.edge_child[e], rest, plans_only)
        if option == NONE:
            return -np.inf
        value += s.space.discount * b.edge_prob[e] * c.total[option, 0]
    return float(value)


@inner
def refresh_children(s: Search, i: int, a: int, rest: FloatArray) -> bool:
    """Test new plans at all that may follow; False if full."""
    b, row = s.beliefs, s.beliefs.info[i].row
    for e in range(b.edge[row, a], b.edge[row, a] + b.degree[row, a]):  # noqa: SIM110 - compiled code has no all()
        if not refresh(s, b.edge_child[e], rest):
            return False
    return True


@inner
def _look(s: Search, strip: int, level: int, a: int, d: FloatArray) -> bool:
    """Test new plans at all that may follow an expanded action, and note what is known there; False if full."""
    x, b, n = s.space, s.beliefs, s.strips
    i = n.info[strip].belief
    row, rest = b.info[i].row, s.scratch.rest
    to, others = level_after(s, strip, level, a, EXACT)
    if to == NONE or not left_after(x, d, b.cost[row, :, a], rest):
        return True
    if not refresh_children(s, i, a, rest):
        return False
    for e in range(b.edge[row, a], b.edge[row, a] + b.degree[row, a]):
        kid = cover(s, b.edge_child[e], others, to)
        if kid == NO_ROOM:
            return False
        option = best_option(x, b, s.options, b.edge_child[e], rest, False)
        n.lo[cell(s, kid, to), EXACT] = s.options.total[option, 0] if option != NONE else -np.inf
    return True


@inner
def _expected(s: Search, strip: int, level: int, a: int, d: FloatArray) -> float:
    """What an action promises at (b, d) by what was last noted of its successors; −inf if it cannot be paid."""
    x, b, n = s.space, s.beliefs, s.strips
    row = b.info[n.info[strip].belief].row
    if b.edge[row, a] == NONE or not left_after(x, d, b.cost[row, :, a], s.scratch.spare):
        return -np.inf
    to, others = level_after(s, strip, level, a, EXACT)
    if to == NONE:
        return -np.inf
    value = b.reward[row, a]
    for e in range(b.edge[row, a], b.edge[row, a] + b.degree[row, a]):
        kid = find_level(s, b.edge_child[e], others, to)
        if kid == NONE:
            return -np.inf
        value += x.discount * b.edge_prob[e] * n.lo[cell(s, kid, to), EXACT]
    return float(value)


@inner
def improve(s: Search, strip: int, level: int, a: int, d: FloatArray, least_gain: float) -> bool:
    """Make a plan, or where it promises more a belief plan, at a level of an opened strip; False if full.

    Looks at what may follow action a, and then at what the most promising action leads to.
    """
    i = s.strips.info[strip].belief
    if not refresh(s, i, d):
        return False
    looked, row = a, s.beliefs.info[i].row
    for _ in range(_LOOKS):
        if looked != NONE and s.beliefs.edge[row, looked] != NONE and not _look(s, strip, level, looked, d):
            return False
        best, most = NONE, -np.inf
        for action in range(s.beliefs.reward.shape[1]):
            value = _expected(s, strip, level, action, d)
            if value > most:
                best, most = action, value
        if best in (looked, NONE):
            break
        looked = best
    if best == NONE:
        return True
    if not _make_best(s, i, best, d, least_gain, True):
        return False
    if not s.space.varies and _plan_keeps(s, i, best, d):
        return True
    return _make_best(s, i, best, d, least_gain, False)


@inner
def _plan_keeps(s: Search, i: int, a: int, d: FloatArray) -> bool:
    """Whether a plan that starts with an action can keep a budget after what is possible in the class alone, too."""
    x, b, g = s.space, s.beliefs, s.plans
    row, pair = b.info[i].row, b.info[i].cls * x.gain.shape[2] + a
    if not rest_for_plan(x, b.info[i].cls, a, d, s.scratch.rest):
        return False
    e = b.edge[row, a]
    last = e + b.degree[row, a]
    for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
        if e < last and b.edge_obs[e] == x.seen_obs[f]:  # edges are in the same order
            e += 1
        elif not fits(x, g.sure[g.default[x.seen_class[f]]], s.scratch.rest):
            return False
    return True


@inner
def _make_best(s: Search, i: int, a: int, d: FloatArray, least_gain: float, as_plan: bool) -> bool:
    """Make a plan or a belief plan if it promises `least_gain` more than is known of its kind; False if full."""
    x, b, rest = s.space, s.beliefs, s.scratch.rest
    if as_plan:
        paid = rest_for_plan(x, b.info[i].cls, a, d, rest)
    else:
        paid = left_after(x, d, b.cost[b.info[i].row, :, a], rest)
    if not paid:
        return True
    promise, known = _promise(s, i, a, rest, as_plan), best_option(x, b, s.options, i, d, as_plan)
    if promise == -np.inf or (known != NONE and promise <= s.options.total[known, 0] + least_gain):
        return True
    if as_plan:
        return _make_plan(s, i, a, rest, promise)
    return _make_belief_plan(s, i, a, rest, False)


@inner
def _make_plan(s: Search, i: int, a: int, rest: FloatArray, promise: float) -> bool:
    """Make the plan of (class, action) that follows the best plans within what is left; False if full.

    What is possible in the class alone may make it cost more than there is; it is then of use elsewhere, and made once.
    """
    x, b, g, w, c = s.space, s.beliefs, s.plans, s.scratch, s.options
    cls, row = b.info[i].cls, b.info[i].row
    if not plan_has_room(x, g, s.counts, cls, a):
        return False
    pair = cls * x.gain.shape[2] + a
    for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
        w.by_obs[x.seen_obs[f]] = g.default[x.seen_class[f]]
    for e in range(b.edge[row, a], b.edge[row, a] + b.degree[row, a]):
        option = best_option(x, b, c, b.edge_child[e], rest, True)
        w.by_obs[b.edge_obs[e]] = c.info[option].plan
    for k in range(w.spare.size):
        w.spare[k] = 0.0
        for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
            w.spare[k] = max(w.spare[k], g.sure[w.by_obs[x.seen_obs[f]], k])
        w.spare[k] = x.peak[cls, a, k] + x.discount * w.spare[k]
    if is_known(x, b, c, i, promise - _SAME * abs(promise), w.spare, True):
        return True
    return offer(s, i, add_plan(x, g, w, s.counts, cls, a))


@inner
def _make_belief_plan(s: Search, i: int, a: int, rest: FloatArray, thrifty: bool) -> bool:
    """Make the belief plan of an action that follows the best, or the thriftiest, options; False if full."""
    x, b, c, row = s.space, s.beliefs, s.options, s.beliefs.info[i].row
    first, degree, links = b.edge[row, a], b.degree[row, a], s.counts[0].option_links
    if links + degree > c.link.size:
        return False
    new = new_option(c, s.counts)
    if new == NO_ROOM:
        return False
    c.total[new, 0] = b.reward[row, a]
    for k in range(c.sure.shape[1]):
        c.total[new, 1 + k] = b.cost[row, k, a]
        c.sure[new, k] = 0.0
    for e in range(degree):
        child, p = b.edge_child[first + e], x.discount * b.edge_prob[first + e]
        option = thriftiest_option(x, b, c, child, rest) if thrifty else best_option(x, b, c, child, rest, False)
        c.link[links + e] = option if c.info[option].plan == NONE else as_link(c.info[option].plan)
        for column in range(c.total.shape[1]):
            c.total[new, column] += p * c.total[option, column]
        for k in range(c.sure.shape[1]):
            c.sure[new, k] = max(c.sure[new, k], c.sure[option, k])
    for k in range(c.sure.shape[1]):
        c.sure[new, k] = b.cost[row, k, a] + x.discount * c.sure[new, k]
    c.info[new].belief = i
    c.info[new].plan = NONE
    c.info[new].action = a
    c.info[new].links = links
    if is_known(x, b, c, i, c.total[new, 0], c.sure[new], False):
        c.info[new].next = s.counts[0].free_option
        s.counts[0].free_option = new
        return True
    s.counts[0].option_links = links + degree
    enter(x, b, c, s.counts, i, new)
    return True


@inner
def improve_thrift(s: Search, i: int, d: FloatArray) -> bool:
    """Make the belief plan of least sure cost, as a share of d, that one step ahead shows; False if full."""
    x, b, c, rest, sure = s.space, s.beliefs, s.options, s.scratch.rest, s.scratch.spare
    if not refresh(s, i, s.scratch.unlimited):
        return False
    row = b.info[i].row
    known = thriftiest_option(x, b, c, i, d)
    best, least = NONE, share_of(x, c.sure[known], d) * (1.0 - 1e-9) if known != NONE else np.inf
    for a in range(b.reward.shape[1]):
        if b.edge[row, a] == NONE:
            continue
        for k in range(d.size):
            rest[k] = max((d[k] - b.cost[row, k, a]) / x.discount, 0.0)
            sure[k] = 0.0
        if not refresh_children(s, i, a, s.scratch.unlimited):
            return False
        complete = True
        for e in range(b.edge[row, a], b.edge[row, a] + b.degree[row, a]):
            option = thriftiest_option(x, b, c, b.edge_child[e], rest)
            if option == NONE:
                complete = False
                break
            for k in range(d.size):
                sure[k] = max(sure[k], c.sure[option, k])
        for k in range(d.size):
            sure[k] = b.cost[row, k, a] + x.discount * sure[k]
        share = share_of(x, sure, d)
        if complete and share < least:
            best, least = a, share
    if best == NONE:
        return True
    for k in range(d.size):
        rest[k] = max((d[k] - b.cost[row, k, best]) / x.discount, 0.0)
    return _make_belief_plan(s, i, best, rest, True)
