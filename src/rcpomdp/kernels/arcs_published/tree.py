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

from ..._types import AnyArray, BoolArray, FloatArray, IndexArray, IntArray
from ..belief import clear, expectation, predict, update
from ..jit import inner, kernel
from .leaf_policy import FOREVER, Setting, admissible_horizon, choose_plan

NONE = -1
ROOT = 0

# What `Tree.info[i].status` may be
ALIVE, ENDED, PRUNED = range(3)  # ENDED: the belief is sure that the process is over

NODE = np.dtype(
    [
        ("parent", np.int32),
        ("via", np.int32),  # action of the parent,
        ("obs", np.int32),  # and what was observed after it
        ("row", np.int32),  # of a sampled node, or NONE
        ("plan", np.int32),  # that is followed from a leaf
        ("horizon", np.int32),  # k
        ("action", np.int32),  # or NONE: the plan is followed
        ("proven_action", np.int32),  # the same of the proven policy
        ("status", np.int32),
    ],
    align=True,
)

VALUE = np.dtype(
    [
        ("v_hi", np.float64),  # two-sided bounds on reward
        ("v_lo", np.float64),
        ("c_hi", np.float64),  # and cost
        ("c_lo", np.float64),
        ("spent", np.float64),  # W
        ("weight", np.float64),  # γ^t
        ("prob", np.float64),  # of the observation
        ("proven", np.float64),  # reward of the proven policy
        ("binned", np.float64),  # lower bound that its bin has of it
    ],
    align=True,
)

SPAN = np.dtype(
    [("at", np.int64), ("size", np.int64), ("bin", np.int64)], align=True
)  # of a belief in the pool; its bin
Q = np.dtype([(name, np.float64) for name in ("q_hi", "q_lo", "qc_hi", "qc_lo")], align=True)
GAIN = np.dtype([("reward", np.float64), ("cost", np.float64)], align=True)
BIN = np.dtype([("total", np.float64), ("count", np.float64)], align=True)  # of the lower bounds in it
COUNTS = np.dtype([(name, np.int64) for name in ("nodes", "rows", "pool", "drawn", "trials", "depth")], align=True)

BINS = (16, 8)  # of the predicted value: by initial upper bound, by entropy


class Tree(NamedTuple):
    """Nodes and rows by capacity; `counts` says what is filled. Children of (row, action) follow one another."""

    info: AnyArray  # [N] NODE
    value: AnyArray  # [N] VALUE
    span: AnyArray  # [M] SPAN, belief of a row
    q: AnyArray  # [M, A] Q
    gain: AnyArray  # [M, A] GAIN: R(b, a), C(b, a)
    first: IndexArray  # [M, A] first child
    degree: IndexArray  # [M, A] children
    cut: BoolArray  # [M, A] pruned node-actions
    state: IndexArray  # [P] supports
    prob: FloatArray  # [P]
    bins: AnyArray  # [n_bins] BIN
    counts: AnyArray  # [1] COUNTS


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
    setting: Setting,
    tree: Tree,
    scratch: Scratch,
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
    i = tree.counts[0].nodes
    tree.counts[0].nodes = i + 1
    n_actions = setting.reward_fib.shape[1]
    for b in range(n_actions):
        scratch.product[0, b] = 0.0
        scratch.product[1, b] = 0.0
    ended = True
    for j in range(states.size):
        ended = ended and setting.terminal[states[j]]
        reward, cost = setting.reward_fib[states[j]], setting.cost_fib[states[j]]
        for b in range(n_actions):
            scratch.product[0, b] += probs[j] * reward[b]
            scratch.product[1, b] += probs[j] * cost[b]
    v_hi, c_lo = -np.inf, np.inf
    for b in range(n_actions):
        v_hi = max(v_hi, scratch.product[0, b])
        c_lo = min(c_lo, scratch.product[1, b])
    plan, v_lo, c_hi = choose_plan(setting, states, probs)
    # Eq. (infinite admissibility): the second case has the cost bound 0 in place of C_max.
    k = admissible_horizon(
        setting.limit - spent, weight, setting.discount, 0.0 if c_hi == 0.0 else setting.plan_step[plan]
    )
    tree.info[i].parent = parent
    tree.info[i].via = a
    tree.info[i].obs = o
    tree.info[i].row = NONE
    tree.info[i].plan = plan
    tree.info[i].horizon = k
    tree.info[i].action = NONE
    tree.info[i].proven_action = NONE
    tree.info[i].status = ENDED if ended else ALIVE
    tree.value[i].v_hi = v_hi
    tree.value[i].v_lo = v_lo
    tree.value[i].c_hi = c_hi
    tree.value[i].c_lo = c_lo
    tree.value[i].spent = spent
    tree.value[i].weight = weight
    tree.value[i].prob = p
    tree.value[i].proven = v_lo if k == FOREVER else -np.inf
    tree.value[i].binned = -np.inf
    return int(i)


@kernel
def start(setting: Setting, tree: Tree, scratch: Scratch, states: IndexArray, probs: FloatArray) -> None:
    """Make the root (Alg. 1, lines 2-6); its belief stands at the front of the pool."""
    for j in range(states.size):
        tree.state[j] = states[j]
        tree.prob[j] = probs[j]
    tree.counts[0].pool = states.size
    add_node(setting, tree, scratch, NONE, NONE, NONE, 1.0, states, probs, 0.0, 1.0)
    if setting.pruning and tree.value[ROOT].c_lo > setting.limit:
        tree.info[ROOT].status = PRUNED


@inner
def has_room(setting: Setting, tree: Tree) -> bool:
    """True if one more node can be sampled, whatever follows it."""
    return bool(
        tree.counts[0].rows < tree.span.shape[0]
        and tree.counts[0].nodes + setting.reward_fib.shape[1] * setting.model.n_observations <= tree.info.shape[0]
        and tree.counts[0].pool + setting.widest <= tree.state.size
    )


@inner
def branch(setting: Setting, scratch: Scratch, states: IndexArray, probs: FloatArray, a: int) -> None:
    """Write p(o | b, a) and all posteriors into the scratch; that of o stands at ``begin[o]:begin[o + 1]``."""
    model = setting.model
    n = predict(model, states, probs, a, scratch.acc, scratch.touched)
    for o in range(scratch.p_obs.size):
        scratch.p_obs[o] = 0.0
        scratch.fill[o] = 0
    for j in range(n):
        row = a * model.reward.shape[0] + scratch.touched[j]
        for e in range(model.z_ptr[row], model.z_ptr[row + 1]):
            p = scratch.acc[scratch.touched[j]] * model.z_prob[e]
            if p > 0.0:
                scratch.fill[model.z_obs[e]] += 1
                scratch.p_obs[model.z_obs[e]] += p
    scratch.begin[0] = 0
    for o in range(scratch.p_obs.size):
        scratch.begin[o + 1] = scratch.begin[o] + scratch.fill[o]
        scratch.fill[o] = scratch.begin[o]
    for j in range(n):
        row = a * model.reward.shape[0] + scratch.touched[j]
        for e in range(model.z_ptr[row], model.z_ptr[row + 1]):
            o = model.z_obs[e]
            p = scratch.acc[scratch.touched[j]] * model.z_prob[e]
            if p > 0.0:
                scratch.state[scratch.fill[o]] = scratch.touched[j]
                scratch.prob[scratch.fill[o]] = p / scratch.p_obs[o]
                scratch.fill[o] += 1
    clear(scratch.acc, scratch.touched, n)


@inner
def expand(setting: Setting, tree: Tree, scratch: Scratch, i: int) -> None:
    """Sample node i: write its belief, and the successors of all actions that can follow (Alg. 3 for each)."""
    model = setting.model
    row = tree.counts[0].rows
    tree.counts[0].rows = row + 1
    tree.info[i].row = row
    if i == ROOT:
        at, size = 0, tree.counts[0].pool
    else:
        at = tree.counts[0].pool
        parent = tree.info[tree.info[i].parent].row
        before = tree.span[parent].at
        after = before + tree.span[parent].size
        size, _ = update(
            model,
            tree.state[before:after],
            tree.prob[before:after],
            tree.info[i].via,
            tree.info[i].obs,
            scratch.acc,
            scratch.touched,
            tree.state[at:],
            tree.prob[at:],
        )
        tree.counts[0].pool = at + size
    states, probs = tree.state[at : at + size], tree.prob[at : at + size]
    tree.span[row].at = at
    tree.span[row].size = size
    tree.span[row].bin = bin_of(setting, tree.value[i].v_hi, probs)
    spent, weight = tree.value[i].spent, tree.value[i].weight
    for a in range(setting.reward_fib.shape[1]):
        cost = expectation(model.cost[0], a, states, probs)
        tree.gain[row, a].reward = expectation(model.reward, a, states, probs)
        tree.gain[row, a].cost = cost
        tree.cut[row, a] = False
        tree.first[row, a] = tree.counts[0].nodes
        branch(setting, scratch, states, probs, a)
        for o in range(scratch.p_obs.size):
            if scratch.p_obs[o] > 0.0:
                b, q = (
                    scratch.state[scratch.begin[o] : scratch.begin[o + 1]],
                    scratch.prob[scratch.begin[o] : scratch.begin[o + 1]],
                )
                add_node(
                    setting,
                    tree,
                    scratch,
                    i,
                    a,
                    o,
                    scratch.p_obs[o],
                    b,
                    q,
                    spent + weight * cost,
                    weight * setting.discount,
                )
        tree.degree[row, a] = tree.counts[0].nodes - tree.first[row, a]
    back_up(setting, tree, i)


# The predicted value of SARSOP: beliefs alike in initial upper bound and entropy are alike in value


@inner
def bin_of(setting: Setting, v_hi: float, probs: FloatArray) -> int:
    """The bin of a belief, by its initial upper bound and its entropy as a share of the largest."""
    entropy = 0.0
    for j in range(probs.size):
        entropy -= probs[j] * np.log(probs[j])
    share = entropy / np.log(float(max(2, setting.class_of.size)))
    i = min(BINS[0] - 1, max(0, int((v_hi - setting.bin_low) / setting.bin_width)))
    return i * BINS[1] + min(BINS[1] - 1, max(0, int(share * BINS[1])))


@inner
def enter_bin(tree: Tree, i: int) -> None:
    """Bring a sampled node's lower bound into its bin, in place of its last."""
    b = tree.span[tree.info[i].row].bin
    if tree.value[i].binned > -np.inf:
        tree.bins[b].total -= tree.value[i].binned
        tree.bins[b].count -= 1.0
    tree.value[i].binned = tree.value[i].v_lo
    if tree.value[i].binned > -np.inf:
        tree.bins[b].total += tree.value[i].binned
        tree.bins[b].count += 1.0


@inner
def predicted_value(tree: Tree, i: int) -> float:
    """V̂: the average of the bin, within the node's own bounds."""
    b = tree.span[tree.info[i].row].bin
    if tree.bins[b].count < 1.0:
        return float(tree.value[i].v_hi)
    return float(min(tree.value[i].v_hi, max(tree.value[i].v_lo, tree.bins[b].total / tree.bins[b].count)))


# BACKUP (Alg. 4)


@inner
def optimistic_action(setting: Setting, tree: Tree, i: int) -> int:
    """``argmax_a {Q̄_R(a) | Q̲_C(a) ≤ d}``, or NONE."""
    row, spent, weight = tree.info[i].row, tree.value[i].spent, tree.value[i].weight
    best = NONE
    for a in range(tree.cut.shape[1]):
        if tree.cut[row, a] or tree.q[row, a].q_hi == -np.inf or spent + weight * tree.q[row, a].qc_lo > setting.limit:
            continue
        if best == NONE or tree.q[row, a].q_hi > tree.q[row, best].q_hi:
            best = a
    return best


@inner
def fill_q(setting: Setting, tree: Tree, row: int, a: int) -> tuple[int, float]:
    """Write the Q-values of an action (lines 3-6); return the least k of its successors and what is proven of it."""
    first, last = tree.first[row, a], tree.first[row, a] + tree.degree[row, a]
    v_hi, v_lo, c_hi, c_lo, proven = 0.0, 0.0, 0.0, 0.0, 0.0
    k = FOREVER
    dead = bool(tree.cut[row, a])
    for c in range(first, last):
        p = tree.value[c].prob
        dead = dead or tree.info[c].status == PRUNED
        v_hi += p * tree.value[c].v_hi
        v_lo += p * tree.value[c].v_lo
        c_hi += p * tree.value[c].c_hi
        c_lo += p * tree.value[c].c_lo
        proven += p * tree.value[c].proven
        k = min(k, tree.info[c].horizon)
    q, gain = tree.q[row, a], tree.gain[row, a]
    if dead:
        q.q_hi, q.q_lo, q.qc_hi, q.qc_lo = -np.inf, -np.inf, np.inf, np.inf
        return 0, -np.inf
    q.q_hi = gain.reward + setting.discount * v_hi
    q.q_lo = gain.reward + setting.discount * v_lo
    q.qc_hi = gain.cost + setting.discount * c_hi
    q.qc_lo = gain.cost + setting.discount * c_lo
    return k, (-np.inf if proven == -np.inf else gain.reward + setting.discount * proven)


@inner
def back_up(setting: Setting, tree: Tree, i: int) -> None:
    """Update a sampled node from its successors."""
    row, spent, weight = tree.info[i].row, tree.value[i].spent, tree.value[i].weight
    best, best_k, cheapest, stays = NONE, 0, NONE, False
    for a in range(tree.cut.shape[1]):
        k, proven = fill_q(setting, tree, row, a)
        if proven > tree.value[i].proven:
            # Line 9 may give up a proven policy for a better one that is not proven. The proven one is remembered
            # apart: it is what the result's lower bound rests on, and nothing else looks at it.
            tree.value[i].proven = proven
            tree.info[i].proven_action = a
        q = tree.q[row, a]
        if q.q_hi == -np.inf:
            continue
        if spent + weight * q.qc_hi <= setting.limit and not stays:  # line 9
            tie = setting.first_tie and spends_all(setting, spent + weight * q.qc_hi)
            better = best == NONE or (q.q_lo > tree.q[row, best].q_lo and not tie)
            if better or (q.q_lo == tree.q[row, best].q_lo and k > best_k and not tie):
                best, best_k, stays = a, k, tie
        if cheapest == NONE or q.qc_hi < tree.q[row, cheapest].qc_hi:  # line 15
            cheapest = a
    optimistic = optimistic_action(setting, tree, i)  # line 20
    if optimistic == NONE:
        bury(setting, tree, i)  # lines 25-28
        return
    # C̲ is that of the most promising action, as published: no bound on the least cost, but it exceeds d only if no
    # policy is left. Averages of what is at most d' are at most d', so the tests made with it are sound.
    tree.value[i].v_hi = tree.q[row, optimistic].q_hi
    tree.value[i].c_lo = tree.q[row, optimistic].qc_lo
    chosen = best if best != NONE else cheapest
    tree.info[i].action = chosen
    tree.value[i].v_lo = tree.q[row, chosen].q_lo
    tree.value[i].c_hi = tree.q[row, chosen].qc_hi
    if best == NONE:
        tree.info[i].horizon = 0  # line 18
    else:
        tree.info[i].horizon = best_k if best_k == FOREVER else best_k + 1  # line 13
    enter_bin(tree, i)


@inner
def spends_all(setting: Setting, spent: float) -> bool:
    """True if exactly the budget is spent, within the tolerance that the limit adds to it."""
    return bool(setting.budget - (setting.limit - setting.budget) <= spent)


@inner
def bury(setting: Setting, tree: Tree, i: int) -> None:
    """No admissible policy starts here; PRUNE would find so at once (line 2)."""
    if setting.pruning:
        tree.info[i].status = PRUNED
    tree.value[i].v_hi = -np.inf
    tree.value[i].v_lo = -np.inf
    tree.value[i].c_hi = np.inf
    tree.value[i].c_lo = np.inf
    tree.value[i].proven = -np.inf
    tree.info[i].horizon = 0
    tree.info[i].action = NONE
    tree.info[i].proven_action = NONE
    enter_bin(tree, i)


# PRUNE (Alg. 5)


@inner
def prune(setting: Setting, tree: Tree, i: int) -> None:
    """Prune a sampled node, or actions of it. BACKUP has done line 2, as a node with C̲ > d has no action left.

    Line 5 comes last, so that a node whose last action goes, goes too.
    """
    row = tree.info[i].row
    best = NONE  # the a' of line 16 with k = ∞ and the largest lower bound
    for a in range(tree.cut.shape[1]):
        if tree.cut[row, a]:
            continue
        k = FOREVER
        for c in range(tree.first[row, a], tree.first[row, a] + tree.degree[row, a]):
            k = min(k, tree.info[c].horizon)
            if tree.info[c].status == PRUNED:  # line 13
                tree.cut[row, a] = True
        if k == FOREVER and (best == NONE or tree.q[row, a].q_lo > tree.q[row, best].q_lo):
            best = a
    left = 0
    for a in range(tree.cut.shape[1]):
        if best not in (NONE, a) and tree.q[row, a].q_hi < tree.q[row, best].q_lo:
            tree.cut[row, a] = True
        left += not tree.cut[row, a]
    if left == 0:
        bury(setting, tree, i)
