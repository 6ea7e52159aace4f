"""Options: what is known to be possible from a belief, with its reward and sure cost.

An option is a plan of the belief's class, or a *belief plan*: an action and an option for each observation that can
follow from this one belief. Its reward is exact there, and so is its sure cost, ``w = C(b, a) + γ max_o w_o``; a plan's
is not where costs vary within classes. The options of a belief, none of which is dominated by another, are a step
function over budgets: ``V*(b, d) ≥ v`` for every ``d ≥ w``.
"""

from __future__ import annotations

import numpy as np

from ..._types import AnyArray, FloatArray
from ..jit import inner, kernel
from ..reference import by_reference
from .arrays import NO_ROOM, NONE, Beliefs, Options, Search, Space
from .plans import product


@inner
def as_link(plan: int) -> int:
    """How a plan is told from an option among the successors of a belief plan."""
    return -2 - plan


@inner
def fits(x: Space, sure: FloatArray, d: FloatArray) -> bool:
    """Whether a sure cost stays within a budget."""
    for k in range(d.size):  # noqa: SIM110 - compiled code has no all()
        if x.limited[k] and sure[k] > d[k]:
            return False
    return True


@inner
def best_option(x: Space, b: Beliefs, c: Options, i: int, d: FloatArray, plans_only: bool) -> int:
    """The best option of belief i within a budget, or NONE."""
    best, most, option = NONE, -np.inf, b.info[i].option
    while option != NONE:
        if c.total[option, 0] > most and (c.info[option].plan != NONE or not plans_only) and fits(x, c.sure[option], d):
            best, most = option, c.total[option, 0]
        option = c.info[option].next
    return best


@inner
def share_of(x: Space, sure: FloatArray, d: FloatArray) -> float:
    """The largest share of a budget that a sure cost takes; above 1 it does not fit."""
    share = 0.0
    for k in range(d.size):
        if x.limited[k] and sure[k] > 0.0:
            share = max(share, sure[k] / max(d[k], 1e-300))
    return share


@inner
def thriftiest_option(x: Space, b: Beliefs, c: Options, i: int, d: FloatArray) -> int:
    """The option of belief i that spends the least share of a budget, or NONE."""
    best, least, option = NONE, np.inf, b.info[i].option
    while option != NONE:
        share = share_of(x, c.sure[option], d)
        if share < least:
            best, least = option, share
        option = c.info[option].next
    return best


@inner
def _is_as_thrifty(x: Space, low: FloatArray, one: FloatArray, other: FloatArray) -> bool:
    """Whether a sure cost fits wherever another does, among the budgets that were asked for."""
    for k in range(low.size):  # noqa: SIM110 - compiled code has no all()
        if x.limited[k] and one[k] > max(other[k], low[k]):
            return False
    return True


@inner
def is_known(x: Space, b: Beliefs, c: Options, i: int, value: float, sure: FloatArray, as_plan: bool) -> bool:
    """Whether belief i has an option that is no worse; a belief plan does not stand in for a plan."""
    option = b.info[i].option
    while option != NONE:
        if (
            c.total[option, 0] >= value
            and (not as_plan or c.info[option].plan != NONE)
            and _is_as_thrifty(x, b.low[i], c.sure[option], sure)
        ):
            return True
        option = c.info[option].next
    return False


@inner
def new_option(c: Options, counts: AnyArray) -> int:
    """A free place, or NO_ROOM."""
    count = counts[0]
    free = count.free_option
    if free != NONE:
        count.free_option = c.info[free].next
        return int(free)
    new = count.options
    if new >= c.info.shape[0]:
        return NO_ROOM
    count.options = new + 1
    return int(new)


@inner
def enter(x: Space, b: Beliefs, c: Options, counts: AnyArray, i: int, new: int) -> None:
    """Put an option into belief i's list, and take out those that it dominates.

    Plans give their place back; belief plans may be followed by others, and keep it.
    """
    value, is_plan = c.total[new, 0], c.info[new].plan != NONE
    before, option = NONE, b.info[i].option
    while option != NONE:
        after = c.info[option].next
        if (
            c.total[option, 0] <= value
            and (is_plan or c.info[option].plan == NONE)
            and _is_as_thrifty(x, b.low[i], c.sure[new], c.sure[option])
        ):
            if before == NONE:
                b.info[i].option = after
            else:
                c.info[before].next = after
            if c.info[option].plan != NONE:
                c.info[option].next = counts[0].free_option
                counts[0].free_option = option
        else:
            before = option
        option = after
    c.info[new].next = b.info[i].option
    b.info[i].option = new


@inner
def refresh(s: Search, i: int, d: FloatArray) -> bool:
    """Test the plans of belief i's class that are newer than the last look and may fit; False if full.

    A belief keeps only what is best for some budget between the least and the most that it was asked for.
    """
    x, b, g = s.space, s.beliefs, s.plans
    newest = g.newest[b.info[i].cls]
    asked = fits(x, d, b.high[i]) and fits(x, b.low[i], d)
    if newest == b.info[i].tested and asked:
        return True
    if not asked:
        b.info[i].tested = NONE
        for k in range(d.size):
            b.high[i, k] = max(b.high[i, k], d[k])
            b.low[i, k] = min(b.low[i, k], d[k])
    plan, left = newest, s.most_tests
    while plan > b.info[i].tested and left > 0:
        if fits(x, g.sure[plan], b.high[i]) or x.varies:
            left -= 1
            if not offer(s, i, plan):
                return False
        plan = g.info[plan].older
    if left == 0 and not _offer_more(s, i):
        return False
    b.info[i].tested = newest
    return True


@inner
def _offer_more(s: Search, i: int) -> bool:
    """Test the default plan, and what the plans of the belief before this one go on with; False if full."""
    b, g, c, x = s.beliefs, s.plans, s.options, s.space
    if not offer(s, i, g.default[b.info[i].cls]):
        return False
    parent = b.info[i].parent
    option = b.info[parent].option if parent != NONE else NONE
    pair = b.info[parent].cls * x.gain.shape[2] + b.info[i].action if parent != NONE else 0
    while option != NONE:
        plan = c.info[option].plan
        if plan != NONE and g.info[plan].action == b.info[i].action:
            for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
                if x.seen_obs[f] == b.info[i].obs:
                    if not offer(s, i, g.link[g.info[plan].links + f - x.seen_ptr[pair]]):
                        return False
                    break
        option = c.info[option].next
    return True


@inner
def offer(s: Search, i: int, plan: int) -> bool:
    """Let a plan be an option of belief i if it is not dominated there; False if full."""
    x, b, g, c = s.space, s.beliefs, s.plans, s.options
    value = product(x, b, g, i, plan, 0)
    s.counts[0].testing_plans = s.counts[0].testing_plans + b.info[i].size
    if is_known(x, b, c, i, value, g.sure[plan], True):
        return True
    new = new_option(c, s.counts)
    if new == NO_ROOM:
        return False
    rows = x.gain.shape[0]
    for row in range(c.total.shape[1]):  # reward and costs come last
        at = rows - c.total.shape[1] + row
        c.total[new, row] = value if at == 0 else product(x, b, g, i, plan, at)
    for k in range(c.sure.shape[1]):
        # What is never expected is never spent, whatever other states of the class would cost.
        c.sure[new, k] = g.sure[plan, k] if c.total[new, 1 + k] > 0.0 else 0.0
    c.info[new].belief = i
    c.info[new].plan = plan
    c.info[new].action = g.info[plan].action
    c.info[new].links = NONE
    if rows > c.total.shape[1]:
        c.total[new, 0] = value  # the objective is what is compared
    enter(x, b, c, s.counts, i, new)
    return True


@kernel
def refresh_at(s: Search, i: int, d: FloatArray) -> bool:
    """Test new plans at a belief, for Python; False if full."""
    return refresh(by_reference(s), i, d)


@kernel
def best_at(s: Search, i: int, d: FloatArray) -> int:
    """The best known option at (belief, budget), or NONE, for Python."""
    s = by_reference(s)
    return best_option(s.space, s.beliefs, s.options, i, d, False)
