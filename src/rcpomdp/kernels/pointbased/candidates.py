"""Candidates: what is known to be possible from a belief, with its reward and sure cost.

A candidate is a plan of the belief's class, or a *belief plan*: an action and a candidate for each observation that can
follow from this one belief. Its reward is exact there, and so is its sure cost, ``w = C(b, a) + γ max_o w_o``; a plan's
is not where costs vary within classes. The candidates of a belief, none of which is dominated by another, are a step
function over budgets: ``V*(b, d) ≥ v`` for every ``d ≥ w``.
"""

from __future__ import annotations

import numpy as np

from ..._types import AnyArray, FloatArray
from ..jit import inner, kernel
from ..reference import by_reference
from .arrays import NO_ROOM, NONE, Beliefs, Candidates, Search, Space
from .plans import product


@inner
def as_link(plan: int) -> int:
    """The number that stands for a plan among the successors of a belief plan, below those of candidates."""
    return -2 - plan


@inner
def fits(space: Space, sure: FloatArray, d: FloatArray) -> bool:
    """True if a sure cost stays within a budget."""
    for k in range(d.size):  # noqa: SIM110 - compiled code has no all()
        if space.limited[k] and sure[k] > d[k]:
            return False
    return True


@inner
def best_candidate(
    space: Space, beliefs: Beliefs, candidates: Candidates, i: int, d: FloatArray, plans_only: bool
) -> int:
    """The best candidate of belief i within a budget, or NONE."""
    best, most, candidate = NONE, -np.inf, beliefs.info[i].candidate
    while candidate != NONE:
        if (
            candidates.total[candidate, 0] > most
            and (candidates.info[candidate].plan != NONE or not plans_only)
            and fits(space, candidates.sure[candidate], d)
        ):
            best, most = candidate, candidates.total[candidate, 0]
        candidate = candidates.info[candidate].next
    return best


@inner
def share_of(space: Space, sure: FloatArray, d: FloatArray) -> float:
    """The largest share of a budget that a sure cost takes; above 1 it does not fit."""
    share = 0.0
    for k in range(d.size):
        if space.limited[k] and sure[k] > 0.0:
            share = max(share, sure[k] / max(d[k], 1e-300))
    return share


@inner
def thriftiest_candidate(space: Space, beliefs: Beliefs, candidates: Candidates, i: int, d: FloatArray) -> int:
    """The candidate of belief i that spends the least share of a budget, or NONE."""
    best, least, candidate = NONE, np.inf, beliefs.info[i].candidate
    while candidate != NONE:
        share = share_of(space, candidates.sure[candidate], d)
        if share < least:
            best, least = candidate, share
        candidate = candidates.info[candidate].next
    return best


@inner
def _is_as_thrifty(space: Space, low: FloatArray, one: FloatArray, other: FloatArray) -> bool:
    """True if a sure cost fits wherever another does, among the budgets that were asked for."""
    for k in range(low.size):  # noqa: SIM110 - compiled code has no all()
        if space.limited[k] and one[k] > max(other[k], low[k]):
            return False
    return True


@inner
def is_known(
    space: Space, beliefs: Beliefs, candidates: Candidates, i: int, value: float, sure: FloatArray, as_plan: bool
) -> bool:
    """True if belief i has a candidate that is no worse; a belief plan does not stand in for a plan."""
    candidate = beliefs.info[i].candidate
    while candidate != NONE:
        if (
            candidates.total[candidate, 0] >= value
            and (not as_plan or candidates.info[candidate].plan != NONE)
            and _is_as_thrifty(space, beliefs.low[i], candidates.sure[candidate], sure)
        ):
            return True
        candidate = candidates.info[candidate].next
    return False


@inner
def new_candidate(candidates: Candidates, counts: AnyArray) -> int:
    """A free place, or NO_ROOM."""
    count = counts[0]
    free = count.free_candidate
    if free != NONE:
        count.free_candidate = candidates.info[free].next
        return int(free)
    new = count.candidates
    if new >= candidates.info.shape[0]:
        return NO_ROOM
    count.candidates = new + 1
    return int(new)


@inner
def enter(space: Space, beliefs: Beliefs, candidates: Candidates, counts: AnyArray, i: int, new: int) -> None:
    """Put a candidate into belief i's list, and take out those that it dominates.

    Plans give their place back; belief plans may be followed by others, and keep it.
    """
    value, is_plan = candidates.total[new, 0], candidates.info[new].plan != NONE
    before, candidate = NONE, beliefs.info[i].candidate
    while candidate != NONE:
        after = candidates.info[candidate].next
        if (
            candidates.total[candidate, 0] <= value
            and (is_plan or candidates.info[candidate].plan == NONE)
            and _is_as_thrifty(space, beliefs.low[i], candidates.sure[new], candidates.sure[candidate])
        ):
            if before == NONE:
                beliefs.info[i].candidate = after
            else:
                candidates.info[before].next = after
            if candidates.info[candidate].plan != NONE:
                candidates.info[candidate].next = counts[0].free_candidate
                counts[0].free_candidate = candidate
        else:
            before = candidate
        candidate = after
    candidates.info[new].next = beliefs.info[i].candidate
    beliefs.info[i].candidate = new


@inner
def refresh(search: Search, i: int, d: FloatArray) -> bool:
    """Test the plans of belief i's class that are newer than the last look and may fit; False if full.

    A belief keeps only what is best for some budget between the least and the most that it was asked for.
    """
    space, beliefs, plans = search.space, search.beliefs, search.plans
    newest = plans.newest[beliefs.info[i].cls]
    asked = fits(space, d, beliefs.high[i]) and fits(space, beliefs.low[i], d)
    if newest == beliefs.info[i].tested and asked:
        return True
    if not asked:
        beliefs.info[i].tested = NONE
        for k in range(d.size):
            beliefs.high[i, k] = max(beliefs.high[i, k], d[k])
            beliefs.low[i, k] = min(beliefs.low[i, k], d[k])
    plan, left = newest, search.most_tests
    while plan > beliefs.info[i].tested and left > 0:
        if fits(space, plans.sure[plan], beliefs.high[i]) or space.varies:
            left -= 1
            if not offer(search, i, plan):
                return False
        plan = plans.info[plan].older
    if left == 0 and not _offer_more(search, i):
        return False
    beliefs.info[i].tested = newest
    return True


@inner
def _offer_more(search: Search, i: int) -> bool:
    """Test the default plan, and what the plans of the belief before this one go on with; False if full."""
    beliefs, plans, candidates, space = search.beliefs, search.plans, search.candidates, search.space
    if not offer(search, i, plans.default[beliefs.info[i].cls]):
        return False
    parent = beliefs.info[i].parent
    candidate = beliefs.info[parent].candidate if parent != NONE else NONE
    pair = beliefs.info[parent].cls * space.gain.shape[2] + beliefs.info[i].action if parent != NONE else 0
    while candidate != NONE:
        plan = candidates.info[candidate].plan
        if plan != NONE and plans.info[plan].action == beliefs.info[i].action:
            for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
                if space.seen_obs[f] == beliefs.info[i].obs:
                    if not offer(search, i, plans.link[plans.info[plan].links + f - space.seen_ptr[pair]]):
                        return False
                    break
        candidate = candidates.info[candidate].next
    return True


@inner
def offer(search: Search, i: int, plan: int) -> bool:
    """Let a plan be a candidate of belief i if it is not dominated there; False if full."""
    space, beliefs, plans, candidates = search.space, search.beliefs, search.plans, search.candidates
    value = product(space, beliefs, plans, i, plan, 0)
    search.counts[0].testing_plans += beliefs.info[i].size
    if is_known(space, beliefs, candidates, i, value, plans.sure[plan], True):
        return True
    new = new_candidate(candidates, search.counts)
    if new == NO_ROOM:
        return False
    rows = space.gain.shape[0]
    for row in range(candidates.total.shape[1]):  # reward and costs come last
        at = rows - candidates.total.shape[1] + row
        candidates.total[new, row] = value if at == 0 else product(space, beliefs, plans, i, plan, at)
    for k in range(candidates.sure.shape[1]):
        # What is never expected is never spent, whatever other states of the class would cost.
        candidates.sure[new, k] = plans.sure[plan, k] if candidates.total[new, 1 + k] > 0.0 else 0.0
    candidates.info[new].belief = i
    candidates.info[new].plan = plan
    candidates.info[new].action = plans.info[plan].action
    candidates.info[new].links = NONE
    if rows > candidates.total.shape[1]:
        candidates.total[new, 0] = value  # the objective is what is compared
    enter(space, beliefs, candidates, search.counts, i, new)
    return True


@kernel
def refresh_at(search: Search, i: int, d: FloatArray) -> bool:
    """Test new plans at a belief, for Python; False if full."""
    return refresh(by_reference(search), i, d)


@kernel
def best_at(search: Search, i: int, d: FloatArray) -> int:
    """The best known candidate at (belief, budget), or NONE, for Python."""
    search = by_reference(search)
    return best_candidate(search.space, search.beliefs, search.candidates, i, d, False)
