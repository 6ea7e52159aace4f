"""Plans and options: what is known to be possible, with its reward and sure cost.

A *plan* is an action and a plan for *every* observation that is possible from some state of its class, with
``α(s) = g(s, a) + γ Σ_{s'} T(s, a, s') Σ_o Z(s', a, o) α_o(s')`` for each kept row g and the sure cost
``w = max_{s in class} C(s, a) + γ max_o w_o``: no history that starts in the class spends more. The maximum over
states is taken at each step apart. A plan serves every belief of its class with a budget of at least w.

A *belief plan* is an action and an option for each observation that can follow from one belief. Its reward is exact
there, and so is its sure cost, ``w = C(b, a) + γ max_o w_o``; a plan's is not where costs vary within classes.

The options of a belief, none of which is dominated by another, are a step function over budgets:
``V*(b, d) ≥ v`` for every ``d ≥ w``. Plans are made *under a budget*: at (b, d) from what fits ``(d − c) / γ``.
"""

from __future__ import annotations

import numpy as np

from ..._types import AnyArray, FloatArray
from ..jit import inner, kernel
from .arrays import EXACT, NO_ROOM, NONE, Beliefs, Options, Plans, Scratch, Search, Space
from .levels import left_after
from .nodes import kids_of

_LOOKS = 3  # actions whose successors one look for a better plan tests


@inner
def as_link(plan: int) -> int:
    """How a plan is told from an option among the successors of a belief plan."""
    return -2 - plan


# Options of a belief


@kernel
def product(x: Space, b: Beliefs, g: Plans, i: int, plan: int, row: int) -> float:
    """``α·b`` of one row."""
    cls = b.info[i].cls
    first = x.start[cls]
    at, size = b.info[i].offset, b.info[i].size
    vector = g.value[g.info[plan].values + row * (x.start[cls + 1] - first) :]
    prob = b.prob[at : at + size]
    total = 0.0
    if b.state[at + size - 1] - b.state[at] == size - 1:  # no gaps: four sums at a time
        vector = vector[b.state[at] - first :]
        one, two, three = 0.0, 0.0, 0.0
        whole = size - size % 4
        for j in range(0, whole, 4):
            total += prob[j] * vector[j]
            one += prob[j + 1] * vector[j + 1]
            two += prob[j + 2] * vector[j + 2]
            three += prob[j + 3] * vector[j + 3]
        for j in range(whole, size):
            total += prob[j] * vector[j]
        return (total + one) + (two + three)
    state = b.state[at : at + size]
    for j in range(size):
        total += prob[j] * vector[state[j] - first]
    return total


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
def _is_known(x: Space, b: Beliefs, c: Options, i: int, value: float, sure: FloatArray, as_plan: bool) -> bool:
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
def _new_option(c: Options, counts: AnyArray) -> int:
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
def _enter(x: Space, b: Beliefs, c: Options, counts: AnyArray, i: int, new: int) -> None:
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
    if _is_known(x, b, c, i, value, g.sure[plan], True):
        return True
    new = _new_option(c, s.counts)
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
    _enter(x, b, c, s.counts, i, new)
    return True


# Making plans and belief plans


@inner
def plan_has_room(x: Space, g: Plans, counts: AnyArray, cls: int, a: int) -> bool:
    """Whether one more plan for (class, action) fits."""
    pair = cls * x.gain.shape[2] + a
    size = (x.start[cls + 1] - x.start[cls]) * x.gain.shape[0]
    links = x.seen_ptr[pair + 1] - x.seen_ptr[pair]
    return bool(
        counts[0].plans < g.info.shape[0]
        and counts[0].plan_values + size <= g.value.size
        and counts[0].plan_links + links <= g.link.size
    )


@inner
def add_plan(x: Space, g: Plans, w: Scratch, counts: AnyArray, cls: int, a: int) -> int:
    """Make the plan of a class that takes action a and then follows ``w.by_obs``. There must be room."""
    m = x.model
    n_states, n_actions = m.reward.shape
    pair = cls * n_actions + a
    plan, at, links = counts[0].plans, counts[0].plan_values, counts[0].plan_links
    for k in range(g.sure.shape[1]):
        worst = 0.0
        for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
            worst = max(worst, g.sure[w.by_obs[x.seen_obs[f]], k])
        g.sure[plan, k] = x.peak[cls, a, k] + x.discount * worst
    n_links = x.seen_ptr[pair + 1] - x.seen_ptr[pair]
    for f in range(n_links):
        g.link[links + f] = w.by_obs[x.seen_obs[x.seen_ptr[pair] + f]]
    first, last = x.start[cls], x.start[cls + 1]
    size = last - first
    for row in range(x.gain.shape[0]):
        for s in range(first, last):
            total = 0.0
            for e in range(m.t_ptr[a * n_states + s], m.t_ptr[a * n_states + s + 1]):
                s_next = m.t_next[e]
                c = x.class_of[s_next]
                width, place = x.start[c + 1] - x.start[c], s_next - x.start[c]
                part = 0.0
                for f in range(m.z_ptr[a * n_states + s_next], m.z_ptr[a * n_states + s_next + 1]):
                    follow = w.by_obs[m.z_obs[f]]
                    part += m.z_prob[f] * g.value[g.info[follow].values + row * width + place]
                total += m.t_prob[e] * part
            g.value[at + row * size + s - first] = x.gain[row, s, a] + x.discount * total
    counts[0].making_plans = counts[0].making_plans + 4 * size * x.gain.shape[0]
    made = g.info[plan]
    made.cls = cls
    made.action = a
    made.values = at
    made.links = links
    made.older = g.newest[cls]
    g.newest[cls] = plan
    counts[0].plans = plan + 1
    counts[0].plan_values = at + size * x.gain.shape[0]
    counts[0].plan_links = links + n_links
    return int(plan)


@inner
def rest_for_plan(x: Space, cls: int, a: int, d: FloatArray, rest: FloatArray) -> bool:
    """Write what a plan of (class, action) leaves of a budget; False if that is overspent."""
    for k in range(d.size):
        rest[k] = (d[k] - x.peak[cls, a, k]) / x.discount
        if x.limited[k] and rest[k] < 0.0:
            return False
    return True


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
def _look(s: Search, node: int, a: int, d: FloatArray) -> bool:
    """Test new plans at all that may follow an expanded action, and note what is known there; False if full."""
    x, b, n = s.space, s.beliefs, s.nodes
    i = n.info[node].belief
    row, rest = b.info[i].row, s.scratch.rest
    if not left_after(x, d, b.cost[row, :, a], rest):
        return True
    first = kids_of(s, node, a, EXACT)
    if first == NO_ROOM or (first != NONE and not refresh_children(s, i, a, rest)):
        return False
    if first != NONE:
        for e in range(b.degree[row, a]):
            option = best_option(x, b, s.options, b.edge_child[b.edge[row, a] + e], rest, False)
            n.lo[n.kid[first + e], EXACT] = s.options.total[option, 0] if option != NONE else -np.inf
    return True


@inner
def _expected(s: Search, node: int, a: int, d: FloatArray) -> float:
    """What an action promises at (b, d) by what was last noted of its successors; −inf if it cannot be paid."""
    x, b, n = s.space, s.beliefs, s.nodes
    row = b.info[n.info[node].belief].row
    first = n.kids[n.info[node].row, 0, a]
    if b.edge[row, a] == NONE or first == NONE or not left_after(x, d, b.cost[row, :, a], s.scratch.spare):
        return -np.inf
    value = b.reward[row, a]
    for e in range(b.degree[row, a]):
        value += x.discount * b.edge_prob[b.edge[row, a] + e] * n.lo[n.kid[first + e], EXACT]
    return float(value)


@inner
def improve(s: Search, node: int, a: int, d: FloatArray, least_gain: float) -> bool:
    """Make a plan, or where it promises more a belief plan, at an opened node with a budget; False if full.

    Looks at what may follow action a, and then at what the most promising action leads to.
    """
    i = s.nodes.info[node].belief
    if not refresh(s, i, d):
        return False
    looked = a
    for _ in range(_LOOKS):
        if looked != NONE and s.beliefs.edge[s.beliefs.info[i].row, looked] != NONE and not _look(s, node, looked, d):
            return False
        best, most = NONE, -np.inf
        for action in range(s.beliefs.reward.shape[1]):
            value = _expected(s, node, action, d)
            if value > most:
                best, most = action, value
        if best in (looked, NONE):
            break
        looked = best
    if best == NONE:
        return True
    return _make_best(s, i, best, d, least_gain, True) and (
        not s.space.varies or _make_best(s, i, best, d, least_gain, False)
    )


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
        return _make_plan(s, i, a, rest)
    return _make_belief_plan(s, i, a, rest, False)


@inner
def _make_plan(s: Search, i: int, a: int, rest: FloatArray) -> bool:
    """Make the plan of (class, action) that follows the best plans within what is left; False if full."""
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
    return offer(s, i, add_plan(x, g, w, s.counts, cls, a))


@inner
def _make_belief_plan(s: Search, i: int, a: int, rest: FloatArray, thrifty: bool) -> bool:
    """Make the belief plan of an action that follows the best, or the thriftiest, options; False if full."""
    x, b, c, row = s.space, s.beliefs, s.options, s.beliefs.info[i].row
    first, degree, links = b.edge[row, a], b.degree[row, a], s.counts[0].option_links
    if links + degree > c.link.size:
        return False
    new = _new_option(c, s.counts)
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
    if _is_known(x, b, c, i, c.total[new, 0], c.sure[new], False):
        c.info[new].next = s.counts[0].free_option
        s.counts[0].free_option = new
        return True
    s.counts[0].option_links = links + degree
    _enter(x, b, c, s.counts, i, new)
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


@kernel
def forget_idle(s: Search) -> int:
    """Take plans that are an option of no belief off their class's list; return how many stay.

    Nothing is freed: other plans may follow them.
    """
    b, g, c = s.beliefs, s.plans, s.options
    busy = np.zeros(g.info.shape[0], dtype=np.bool_)
    for i in range(s.counts[0].beliefs):
        option = b.info[i].option
        while option != NONE:
            if c.info[option].plan != NONE:
                busy[c.info[option].plan] = True
            option = c.info[option].next
    kept = 0
    for cls in range(g.newest.size):
        busy[g.newest[cls]] = True  # the head marks what has been tested
        busy[g.default[cls]] = True
        plan = g.newest[cls]
        while plan != NONE:
            kept += 1
            older = g.info[plan].older
            while older != NONE and not busy[older]:
                older = g.info[older].older
            g.info[plan].older = older
            plan = older
    return kept


@kernel
def refresh_at(s: Search, i: int, d: FloatArray) -> bool:
    """Test new plans at a belief, for Python; False if full."""
    return refresh(s, i, d)


@kernel
def best_at(s: Search, i: int, d: FloatArray) -> int:
    """The best known option at (belief, budget), or NONE, for Python."""
    return best_option(s.space, s.beliefs, s.options, i, d, False)
