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
    """The number that stands for a plan among the successors of a belief plan, below those of options."""
    return -2 - plan


@inner
def fits(space: Space, sure: FloatArray, d: FloatArray) -> bool:
    """True if a sure cost stays within a budget."""
    for k in range(d.size):  # noqa: SIM110 - compiled code has no all()
        if space.limited[k] and sure[k] > d[k]:
            return False
    return True


@inner
def best_option(space: Space, beliefs: Beliefs, options: Options, i: int, d: FloatArray, plans_only: bool) -> int:
    """The best option of belief i within a budget, or NONE."""
    best, most, option = NONE, -np.inf, beliefs.info[i].option
    while option != NONE:
        if (
            options.total[option, 0] > most
            and (options.info[option].plan != NONE or not plans_only)
            and fits(space, options.sure[option], d)
        ):
            best, most = option, options.total[option, 0]
        option = options.info[option].next
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
def thriftiest_option(space: Space, beliefs: Beliefs, options: Options, i: int, d: FloatArray) -> int:
    """The option of belief i that spends the least share of a budget, or NONE."""
    best, least, option = NONE, np.inf, beliefs.info[i].option
    while option != NONE:
        share = share_of(space, options.sure[option], d)
        if share < least:
            best, least = option, share
        option = options.info[option].next
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
    space: Space, beliefs: Beliefs, options: Options, i: int, value: float, sure: FloatArray, as_plan: bool
) -> bool:
    """True if belief i has an option that is no worse; a belief plan does not stand in for a plan."""
    option = beliefs.info[i].option
    while option != NONE:
        if (
            options.total[option, 0] >= value
            and (not as_plan or options.info[option].plan != NONE)
            and _is_as_thrifty(space, beliefs.low[i], options.sure[option], sure)
        ):
            return True
        option = options.info[option].next
    return False


@inner
def new_option(options: Options, counts: AnyArray) -> int:
    """A free place, or NO_ROOM."""
    count = counts[0]
    free = count.free_option
    if free != NONE:
        count.free_option = options.info[free].next
        return int(free)
    new = count.options
    if new >= options.info.shape[0]:
        return NO_ROOM
    count.options = new + 1
    return int(new)


@inner
def enter(space: Space, beliefs: Beliefs, options: Options, counts: AnyArray, i: int, new: int) -> None:
    """Put an option into belief i's list, and take out those that it dominates.

    Plans give their place back; belief plans may be followed by others, and keep it.
    """
    value, is_plan = options.total[new, 0], options.info[new].plan != NONE
    before, option = NONE, beliefs.info[i].option
    while option != NONE:
        after = options.info[option].next
        if (
            options.total[option, 0] <= value
            and (is_plan or options.info[option].plan == NONE)
            and _is_as_thrifty(space, beliefs.low[i], options.sure[new], options.sure[option])
        ):
            if before == NONE:
                beliefs.info[i].option = after
            else:
                options.info[before].next = after
            if options.info[option].plan != NONE:
                options.info[option].next = counts[0].free_option
                counts[0].free_option = option
        else:
            before = option
        option = after
    options.info[new].next = beliefs.info[i].option
    beliefs.info[i].option = new


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
    beliefs, plans, options, space = search.beliefs, search.plans, search.options, search.space
    if not offer(search, i, plans.default[beliefs.info[i].cls]):
        return False
    parent = beliefs.info[i].parent
    option = beliefs.info[parent].option if parent != NONE else NONE
    pair = beliefs.info[parent].cls * space.gain.shape[2] + beliefs.info[i].action if parent != NONE else 0
    while option != NONE:
        plan = options.info[option].plan
        if plan != NONE and plans.info[plan].action == beliefs.info[i].action:
            for f in range(space.seen_ptr[pair], space.seen_ptr[pair + 1]):
                if space.seen_obs[f] == beliefs.info[i].obs:
                    if not offer(search, i, plans.link[plans.info[plan].links + f - space.seen_ptr[pair]]):
                        return False
                    break
        option = options.info[option].next
    return True


@inner
def offer(search: Search, i: int, plan: int) -> bool:
    """Let a plan be an option of belief i if it is not dominated there; False if full."""
    space, beliefs, plans, options = search.space, search.beliefs, search.plans, search.options
    value = product(space, beliefs, plans, i, plan, 0)
    search.counts[0].testing_plans += beliefs.info[i].size
    if is_known(space, beliefs, options, i, value, plans.sure[plan], True):
        return True
    new = new_option(options, search.counts)
    if new == NO_ROOM:
        return False
    rows = space.gain.shape[0]
    for row in range(options.total.shape[1]):  # reward and costs come last
        at = rows - options.total.shape[1] + row
        options.total[new, row] = value if at == 0 else product(space, beliefs, plans, i, plan, at)
    for k in range(options.sure.shape[1]):
        # What is never expected is never spent, whatever other states of the class would cost.
        options.sure[new, k] = plans.sure[plan, k] if options.total[new, 1 + k] > 0.0 else 0.0
    options.info[new].belief = i
    options.info[new].plan = plan
    options.info[new].action = plans.info[plan].action
    options.info[new].links = NONE
    if rows > options.total.shape[1]:
        options.total[new, 0] = value  # the objective is what is compared
    enter(space, beliefs, options, search.counts, i, new)
    return True


@kernel
def refresh_at(search: Search, i: int, d: FloatArray) -> bool:
    """Test new plans at a belief, for Python; False if full."""
    return refresh(by_reference(search), i, d)


@kernel
def best_at(search: Search, i: int, d: FloatArray) -> int:
    """The best known option at (belief, budget), or NONE, for Python."""
    search = by_reference(search)
    return best_option(search.space, search.beliefs, search.options, i, d, False)
