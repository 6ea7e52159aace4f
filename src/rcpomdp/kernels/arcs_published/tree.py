"""The policy tree of the published ARCS over flat arrays: SuccessorNode, BACKUP and PRUNE.

A node is a history's belief and what was spent on the way. It is made with bounds alone, as a leaf that continues with
a plan of the minimum-cost policy; the first visit *samples* it, which gives it a row: its belief, and the successors of
every action, laid one after the other. Values live in the node, so histories with the same belief share nothing.

Budgets are compared in the units of the root: ``d = (ĉ − W) / γ^t`` multiplies rounding by 1/γ at every step, so a node
keeps ``W`` and ``γ^t``, and ``x ≤ d`` is tested as ``W + γ^t x ≤ ĉ``. Algorithms and lines are those of the paper's
appendix: Alg. 2 SAMPLE, Alg. 3 SuccessorNode, Alg. 4 BACKUP, Alg. 5 PRUNE.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import BoolArray, FloatArray, IndexArray, IntArray
from ..belief import clear, expectation, predict, update
from ..jit import inner, kernel
from .leaf_policy import FOREVER, Setting, admissible_horizon, choose_plan

NONE = -1
ROOT = 0

# Columns of Tree.info
PARENT, VIA, OBS, ROW, PLAN, HORIZON, ACTION, PROVEN_ACTION, STATUS = range(9)
# What STATUS may be
ALIVE, ENDED, PRUNED = range(3)  # ENDED: the belief is sure that the process is over
# Columns of Tree.value
V_HI, V_LO, C_HI, C_LO, SPENT, WEIGHT, PROB, PROVEN, BINNED = range(9)
# Columns of Tree.q
Q_HI, Q_LO, QC_HI, QC_LO = range(4)
# Entries of Tree.used
NODES, ROWS, POOL, DRAWN, TRIALS, DEPTH = range(6)

BINS = (16, 8)  # of the predicted value: by initial upper bound, by entropy


class Tree(NamedTuple):
    """Nodes and rows by capacity; `used` counts what is filled. Children of (row, action) follow one another."""

    info: IndexArray  # [N, 9] PARENT, VIA an action, OBS, ROW or NONE, PLAN, HORIZON k, ACTION, PROVEN_ACTION, STATUS
    value: FloatArray  # [N, 9] two-sided bounds, SPENT W, WEIGHT γ^t, PROB of the observation, PROVEN, BINNED
    span: IntArray  # [M, 3] belief of a row: first entry of the pool, size; bin
    q: FloatArray  # [M, A, 4]
    gain: FloatArray  # [M, A, 2] R(b, a), C(b, a)
    first: IndexArray  # [M, A] first child
    degree: IndexArray  # [M, A] children
    cut: BoolArray  # [M, A] pruned node-actions
    state: IndexArray  # [P] supports
    prob: FloatArray  # [P]
    bins: FloatArray  # [n_bins, 2] sum of lower bounds, count
    used: IntArray  # [6]


class Scratch(NamedTuple):
    """Working memory; ``acc`` is zero between calls."""

    acc: FloatArray  # [S]
    touched: IndexArray  # [S]
    p_obs: FloatArray  # [O]
    begin: IntArray  # [O + 1] where the posterior of an observation starts
    fill: IntArray  # [O]
    state: IndexArray  # [most entries of Z under one action] posteriors
    prob: FloatArray
    product: FloatArray  # [2, A]
    path: IntArray  # [depth] the nodes sampled by a trial, B_sam


# Starting a node (Alg. 3)


@inner
def add_node(
    x: Setting,
    t: Tree,
    w: Scratch,
    parent: int,
    a: int,
    o: int,
    p: float,
    states: IndexArray,
    probs: FloatArray,
    spent: float,
    weight: float,
) -> int:
    """Make a leaf (Alg. 3). There must be room."""
    i = t.used[NODES]
    t.used[NODES] = i + 1
    n_actions = x.reward_fib.shape[1]
    for b in range(n_actions):
        w.product[0, b] = 0.0
        w.product[1, b] = 0.0
    ended = True
    for j in range(states.size):
        ended = ended and x.terminal[states[j]]
        reward, cost = x.reward_fib[states[j]], x.cost_fib[states[j]]
        for b in range(n_actions):
            w.product[0, b] += probs[j] * reward[b]
            w.product[1, b] += probs[j] * cost[b]
    v_hi, c_lo = -np.inf, np.inf
    for b in range(n_actions):
        v_hi = max(v_hi, w.product[0, b])
        c_lo = min(c_lo, w.product[1, b])
    plan, v_lo, c_hi = choose_plan(x, states, probs)
    # Eq. (infinite admissibility): the second case has the cost bound 0 in place of C_max.
    k = admissible_horizon(x.limit - spent, weight, x.discount, 0.0 if c_hi == 0.0 else x.plan_step[plan])
    t.info[i, PARENT] = parent
    t.info[i, VIA] = a
    t.info[i, OBS] = o
    t.info[i, ROW] = NONE
    t.info[i, PLAN] = plan
    t.info[i, HORIZON] = k
    t.info[i, ACTION] = NONE
    t.info[i, PROVEN_ACTION] = NONE
    t.info[i, STATUS] = ENDED if ended else ALIVE
    t.value[i, V_HI] = v_hi
    t.value[i, V_LO] = v_lo
    t.value[i, C_HI] = c_hi
    t.value[i, C_LO] = c_lo
    t.value[i, SPENT] = spent
    t.value[i, WEIGHT] = weight
    t.value[i, PROB] = p
    t.value[i, PROVEN] = v_lo if k == FOREVER else -np.inf
    t.value[i, BINNED] = -np.inf
    return int(i)


@kernel
def start(x: Setting, t: Tree, w: Scratch, states: IndexArray, probs: FloatArray) -> None:
    """Make the root (Alg. 1, lines 2-6); its belief stands at the front of the pool."""
    for j in range(states.size):
        t.state[j] = states[j]
        t.prob[j] = probs[j]
    t.used[POOL] = states.size
    add_node(x, t, w, NONE, NONE, NONE, 1.0, states, probs, 0.0, 1.0)
    if t.value[ROOT, C_LO] > x.limit:
        t.info[ROOT, STATUS] = PRUNED


@inner
def has_room(x: Setting, t: Tree) -> bool:
    """Whether one more node can be sampled, whatever follows it."""
    return bool(
        t.used[ROWS] < t.span.shape[0]
        and t.used[NODES] + x.reward_fib.shape[1] * x.model.n_observations <= t.info.shape[0]
        and t.used[POOL] + x.widest <= t.state.size
    )


@inner
def branch(x: Setting, w: Scratch, states: IndexArray, probs: FloatArray, a: int) -> None:
    """Write p(o | b, a) and all posteriors into the scratch; that of o stands at ``begin[o]:begin[o + 1]``."""
    m = x.model
    n = predict(m, states, probs, a, w.acc, w.touched)
    for o in range(w.p_obs.size):
        w.p_obs[o] = 0.0
        w.fill[o] = 0
    for j in range(n):
        row = a * m.reward.shape[0] + w.touched[j]
        for e in range(m.z_ptr[row], m.z_ptr[row + 1]):
            p = w.acc[w.touched[j]] * m.z_prob[e]
            if p > 0.0:
                w.fill[m.z_obs[e]] += 1
                w.p_obs[m.z_obs[e]] += p
    w.begin[0] = 0
    for o in range(w.p_obs.size):
        w.begin[o + 1] = w.begin[o] + w.fill[o]
        w.fill[o] = w.begin[o]
    for j in range(n):
        row = a * m.reward.shape[0] + w.touched[j]
        for e in range(m.z_ptr[row], m.z_ptr[row + 1]):
            o = m.z_obs[e]
            p = w.acc[w.touched[j]] * m.z_prob[e]
            if p > 0.0:
                w.state[w.fill[o]] = w.touched[j]
                w.prob[w.fill[o]] = p / w.p_obs[o]
                w.fill[o] += 1
    clear(w.acc, w.touched, n)


@inner
def expand(x: Setting, t: Tree, w: Scratch, i: int) -> None:
    """Sample node i: write its belief, and the successors of all actions that can follow (Alg. 3 for each)."""
    m = x.model
    row = t.used[ROWS]
    t.used[ROWS] = row + 1
    t.info[i, ROW] = row
    if i == ROOT:
        at, size = 0, t.used[POOL]
    else:
        at = t.used[POOL]
        parent = t.info[t.info[i, PARENT], ROW]
        before = t.span[parent, 0]
        after = before + t.span[parent, 1]
        size, _ = update(
            m,
            t.state[before:after],
            t.prob[before:after],
            t.info[i, VIA],
            t.info[i, OBS],
            w.acc,
            w.touched,
            t.state[at:],
            t.prob[at:],
        )
        t.used[POOL] = at + size
    states, probs = t.state[at : at + size], t.prob[at : at + size]
    t.span[row, 0] = at
    t.span[row, 1] = size
    t.span[row, 2] = bin_of(x, t.value[i, V_HI], probs)
    spent, weight = t.value[i, SPENT], t.value[i, WEIGHT]
    for a in range(x.reward_fib.shape[1]):
        cost = expectation(m.cost[0], a, states, probs)
        t.gain[row, a, 0] = expectation(m.reward, a, states, probs)
        t.gain[row, a, 1] = cost
        t.cut[row, a] = False
        t.first[row, a] = t.used[NODES]
        branch(x, w, states, probs, a)
        for o in range(w.p_obs.size):
            if w.p_obs[o] > 0.0:
                b, q = w.state[w.begin[o] : w.begin[o + 1]], w.prob[w.begin[o] : w.begin[o + 1]]
                add_node(x, t, w, i, a, o, w.p_obs[o], b, q, spent + weight * cost, weight * x.discount)
        t.degree[row, a] = t.used[NODES] - t.first[row, a]
    back_up(x, t, i)


# The predicted value of SARSOP: beliefs alike in initial upper bound and entropy are alike in value


@inner
def bin_of(x: Setting, v_hi: float, probs: FloatArray) -> int:
    """The bin of a belief, by its initial upper bound and its entropy as a share of the largest."""
    entropy = 0.0
    for j in range(probs.size):
        entropy -= probs[j] * np.log(probs[j])
    share = entropy / np.log(float(max(2, x.class_of.size)))
    i = min(BINS[0] - 1, max(0, int((v_hi - x.bin_low) / x.bin_width)))
    return i * BINS[1] + min(BINS[1] - 1, max(0, int(share * BINS[1])))


@inner
def enter_bin(t: Tree, i: int) -> None:
    """Bring a sampled node's lower bound into its bin, in place of its last."""
    b = t.span[t.info[i, ROW], 2]
    if t.value[i, BINNED] > -np.inf:
        t.bins[b, 0] -= t.value[i, BINNED]
        t.bins[b, 1] -= 1.0
    t.value[i, BINNED] = t.value[i, V_LO]
    if t.value[i, BINNED] > -np.inf:
        t.bins[b, 0] += t.value[i, BINNED]
        t.bins[b, 1] += 1.0


@inner
def predicted_value(t: Tree, i: int) -> float:
    """V̂: the average of the bin, within the node's own bounds."""
    b = t.span[t.info[i, ROW], 2]
    if t.bins[b, 1] < 1.0:
        return float(t.value[i, V_HI])
    return float(min(t.value[i, V_HI], max(t.value[i, V_LO], t.bins[b, 0] / t.bins[b, 1])))


# BACKUP (Alg. 4)


@inner
def optimistic_action(x: Setting, t: Tree, i: int) -> int:
    """``argmax_a {Q̄_R(a) | Q̲_C(a) ≤ d}``, or NONE."""
    row, spent, weight = t.info[i, ROW], t.value[i, SPENT], t.value[i, WEIGHT]
    best = NONE
    for a in range(t.cut.shape[1]):
        if t.cut[row, a] or t.q[row, a, Q_HI] == -np.inf or spent + weight * t.q[row, a, QC_LO] > x.limit:
            continue
        if best == NONE or t.q[row, a, Q_HI] > t.q[row, best, Q_HI]:
            best = a
    return best


@inner
def fill_q(x: Setting, t: Tree, row: int, a: int) -> tuple[int, float]:
    """Write the Q-values of an action (lines 3-6); return the least k of its successors and what is proven of it."""
    first, last = t.first[row, a], t.first[row, a] + t.degree[row, a]
    v_hi, v_lo, c_hi, c_lo, proven = 0.0, 0.0, 0.0, 0.0, 0.0
    k = FOREVER
    dead = bool(t.cut[row, a])
    for c in range(first, last):
        p = t.value[c, PROB]
        dead = dead or t.info[c, STATUS] == PRUNED
        v_hi += p * t.value[c, V_HI]
        v_lo += p * t.value[c, V_LO]
        c_hi += p * t.value[c, C_HI]
        c_lo += p * t.value[c, C_LO]
        proven += p * t.value[c, PROVEN]
        k = min(k, t.info[c, HORIZON])
    q, gain = t.q[row, a], t.gain[row, a]
    if dead:
        q[Q_HI], q[Q_LO], q[QC_HI], q[QC_LO] = -np.inf, -np.inf, np.inf, np.inf
        return 0, -np.inf
    q[Q_HI] = gain[0] + x.discount * v_hi
    q[Q_LO] = gain[0] + x.discount * v_lo
    q[QC_HI] = gain[1] + x.discount * c_hi
    q[QC_LO] = gain[1] + x.discount * c_lo
    return k, (-np.inf if proven == -np.inf else gain[0] + x.discount * proven)


@inner
def back_up(x: Setting, t: Tree, i: int) -> None:
    """Update a sampled node from its successors."""
    row, spent, weight = t.info[i, ROW], t.value[i, SPENT], t.value[i, WEIGHT]
    best, best_k, cheapest = NONE, 0, NONE
    for a in range(t.cut.shape[1]):
        k, proven = fill_q(x, t, row, a)
        if proven > t.value[i, PROVEN]:
            # Line 9 may give up a proven policy for a better one that is not proven. The proven one is remembered
            # apart: it is what the result's lower bound rests on, and nothing else looks at it.
            t.value[i, PROVEN] = proven
            t.info[i, PROVEN_ACTION] = a
        q = t.q[row, a]
        if q[Q_HI] == -np.inf:
            continue
        if spent + weight * q[QC_HI] <= x.limit:  # line 9
            better = best == NONE or q[Q_LO] > t.q[row, best, Q_LO]
            if better or (q[Q_LO] == t.q[row, best, Q_LO] and k > best_k):
                best, best_k = a, k
        if cheapest == NONE or q[QC_HI] < t.q[row, cheapest, QC_HI]:  # line 15
            cheapest = a
    optimistic = optimistic_action(x, t, i)  # line 20
    if optimistic == NONE:
        bury(t, i)  # lines 25-28
        return
    # C̲ is that of the most promising action, as published: no bound on the least cost, but it exceeds d only if no
    # policy is left. Averages of what is at most d' are at most d', so the tests made with it are sound.
    t.value[i, V_HI] = t.q[row, optimistic, Q_HI]
    t.value[i, C_LO] = t.q[row, optimistic, QC_LO]
    chosen = best if best != NONE else cheapest
    t.info[i, ACTION] = chosen
    t.value[i, V_LO] = t.q[row, chosen, Q_LO]
    t.value[i, C_HI] = t.q[row, chosen, QC_HI]
    if best == NONE:
        t.info[i, HORIZON] = 0  # line 18
    else:
        t.info[i, HORIZON] = best_k if best_k == FOREVER else best_k + 1  # line 13
    enter_bin(t, i)


@inner
def bury(t: Tree, i: int) -> None:
    """No admissible policy starts here; PRUNE would find so at once (line 2)."""
    t.info[i, STATUS] = PRUNED
    t.value[i, V_HI] = -np.inf
    t.value[i, V_LO] = -np.inf
    t.value[i, C_HI] = np.inf
    t.value[i, C_LO] = np.inf
    t.value[i, PROVEN] = -np.inf
    t.info[i, HORIZON] = 0
    t.info[i, ACTION] = NONE
    t.info[i, PROVEN_ACTION] = NONE
    enter_bin(t, i)


# PRUNE (Alg. 5)


@inner
def prune(t: Tree, i: int) -> None:
    """Prune a sampled node, or actions of it. BACKUP has done line 2, as a node with C̲ > d has no action left.

    Line 5 comes last, so that a node whose last action goes, goes too.
    """
    row = t.info[i, ROW]
    best = NONE  # the a' of line 16 with k = ∞ and the largest lower bound
    for a in range(t.cut.shape[1]):
        if t.cut[row, a]:
            continue
        k = FOREVER
        for c in range(t.first[row, a], t.first[row, a] + t.degree[row, a]):
            k = min(k, t.info[c, HORIZON])
            if t.info[c, STATUS] == PRUNED:  # line 13
                t.cut[row, a] = True
        if k == FOREVER and (best == NONE or t.q[row, a, Q_LO] > t.q[row, best, Q_LO]):
            best = a
    left = 0
    for a in range(t.cut.shape[1]):
        if best not in (NONE, a) and t.q[row, a, Q_HI] < t.q[row, best, Q_LO]:
            t.cut[row, a] = True
        left += not t.cut[row, a]
    if left == 0:
        bury(t, i)
