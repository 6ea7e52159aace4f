"""The search of the published ARCS: SAMPLE (Alg. 2), and the loop around it (Alg. 1, lines 7-13)."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray
from ..jit import inner, kernel
from .leaf_policy import Setting
from .tree import (
    ALIVE,
    NONE,
    ROOT,
    Scratch,
    Tree,
    back_up,
    expand,
    has_room,
    optimistic_action,
    predicted_value,
    prune,
)

# Why a search pauses
DONE, FULL, OUT_OF_UNIFORMS = range(3)

KAPPA = 0.5


@inner
def largest_excess(tree: Tree, row: int, a: int, allowed: float) -> int:
    """The successor whose gap beyond what is allowed contributes most."""
    chosen, most = tree.first[row, a], -np.inf
    for c in range(tree.first[row, a], tree.first[row, a] + tree.degree[row, a]):
        excess = tree.value[c].prob * (tree.value[c].v_hi - tree.value[c].v_lo - allowed)
        if excess > most:
            chosen, most = c, excess
    return int(chosen)


@inner
def passed_on(setting: Setting, tree: Tree, row: int, a: int, child: int, level: float, upper: bool) -> float:
    """Value that one successor needs for the action to reach `level`, if the others have their bounds."""
    level = (level - tree.gain[row, a].reward) / setting.discount
    for c in range(tree.first[row, a], tree.first[row, a] + tree.degree[row, a]):
        if c != child:
            level -= tree.value[c].prob * (tree.value[c].v_hi if upper else tree.value[c].v_lo)
    return float(level / tree.value[child].prob)


@inner
def sample_heuristic(setting: Setting, tree: Tree, scratch: Scratch, top: int, epsilon: float) -> tuple[int, int]:
    """Descend from a node as SARSOP does (SampleHeu); return how many nodes were sampled, and if room was short."""
    i, n = top, 0
    low = tree.value[top].v_lo  # SAMPLE, lines 1 and 2
    target = max(epsilon, KAPPA * (tree.value[top].v_hi - low))  # ε_t
    high = low + target
    allowed = target / setting.discount if setting.discount > 0.0 else np.inf  # ε γ^{-t}, with t = 1 at the top
    while n < scratch.path.size and tree.info[i].status == ALIVE:
        if tree.info[i].row == NONE:
            if not has_room(setting, tree):
                return n, FULL
            expand(setting, tree, scratch, i)  # lines 15-16; lines 5-14 need the bounds of what follows
        scratch.path[n] = i
        n += 1
        v_hi, v_lo = tree.value[i].v_hi, tree.value[i].v_lo
        if not v_hi - v_lo > KAPPA * allowed:  # deep sampling has gone deep enough; also false for a node found dead
            break
        if predicted_value(tree, i) <= low and v_hi <= max(high, v_lo + allowed):  # lines 1-3
            break
        row = tree.info[i].row
        q_lo = -np.inf  # lines 5-7
        for a in range(tree.cut.shape[1]):
            if not tree.cut[row, a]:
                q_lo = max(q_lo, tree.q[row, a].q_lo)
        low = max(low, q_lo)
        high = max(high, q_lo + allowed)
        a = optimistic_action(setting, tree, i)  # lines 8-10
        if a == NONE:
            break
        i = largest_excess(tree, row, a, allowed)  # line 12
        low = passed_on(setting, tree, row, a, i, low, False)  # lines 13 and 14
        high = passed_on(setting, tree, row, a, i, high, True)
        allowed /= setting.discount
    return n, DONE


@inner
def sample_random(setting: Setting, tree: Tree, scratch: Scratch, uniforms: FloatArray) -> tuple[int, int]:
    """Descend by chance until a new node is sampled (SampleRandom); returns as `sample_heuristic`.

    Actions are those not pruned, observations those that can follow, all with the same chance.
    """
    i, n = ROOT, 0
    while n < scratch.path.size and tree.info[i].status == ALIVE:
        is_new = tree.info[i].row == NONE
        if is_new:
            if not has_room(setting, tree):
                return n, FULL
            expand(setting, tree, scratch, i)
        scratch.path[n] = i
        n += 1
        if is_new:  # line 5; the root is new once
            break
        row = tree.info[i].row
        left = 0
        for a in range(tree.cut.shape[1]):
            left += not tree.cut[row, a]
        if left == 0:
            break
        skip = int(uniforms[tree.counts[0].drawn] * left)
        a = 0
        while tree.cut[row, a] or skip > 0:
            skip -= not tree.cut[row, a]
            a += 1
        i = tree.first[row, a] + int(uniforms[tree.counts[0].drawn + 1] * tree.degree[row, a])
        tree.counts[0].drawn += 2
    return n, DONE


@inner
def back_up_and_prune(setting: Setting, tree: Tree, scratch: Scratch, n: int) -> None:
    """BACKUP and PRUNE of the first n nodes of a path, the deepest first, so that one pass reaches its top."""
    for j in range(n - 1, -1, -1):
        back_up(setting, tree, scratch.path[j])
    if setting.pruning:
        for j in range(n - 1, -1, -1):
            prune(setting, tree, scratch.path[j])


@kernel
def search(
    setting: Setting,
    tree: Tree,
    scratch: Scratch,
    uniforms: FloatArray,
    epsilon: float,
    trials: int,
    heuristic_share: float,
) -> int:
    """Trials until there have been `trials`, the gap is at most epsilon, nothing is left, or something runs short.

    Return why it paused. What a search does depends on its own state alone, not on where it is paused.
    """
    while tree.counts[0].trials < trials and tree.info[ROOT].status == ALIVE and tree.value[ROOT].v_hi > -np.inf:
        if tree.value[ROOT].v_hi - tree.value[ROOT].proven <= epsilon:
            break
        if tree.counts[0].drawn + 2 * scratch.path.size + 1 > uniforms.size:
            return OUT_OF_UNIFORMS
        heuristic = uniforms[tree.counts[0].drawn] < heuristic_share
        tree.counts[0].drawn += 1
        if heuristic:
            n, status = sample_heuristic(setting, tree, scratch, ROOT, epsilon)
        else:
            n, status = sample_random(setting, tree, scratch, uniforms)
        back_up_and_prune(setting, tree, scratch, n)
        tree.counts[0].trials += 1
        tree.counts[0].depth = max(tree.counts[0].depth, n)
        if status == FULL:
            return FULL
    return DONE


@kernel
def search_at(setting: Setting, tree: Tree, scratch: Scratch, top: int, epsilon: float) -> int:
    """One heuristic trial from a sampled node, whose predecessors are not backed up; return DONE or FULL."""
    n, status = sample_heuristic(setting, tree, scratch, top, epsilon)
    back_up_and_prune(setting, tree, scratch, n)
    return status


@kernel
def least_budget(setting: Setting, tree: Tree) -> float:
    """A lower bound on the budget that any policy needs: ``M(b) = min_a [C(b, a) + γ max_o M(b_o)]`` over the tree.

    It depends on no budget, so nodes count whether pruned or not; leaves have their starting bound.
    """
    n = tree.counts[0].nodes
    least = np.zeros(n)
    for i in range(n - 1, -1, -1):
        row = tree.info[i].row
        if row == NONE:
            least[i] = tree.value[i].c_lo
            continue
        least[i] = np.inf
        for a in range(tree.cut.shape[1]):
            worst = 0.0
            for c in range(tree.first[row, a], tree.first[row, a] + tree.degree[row, a]):
                worst = max(worst, least[c])
            least[i] = min(least[i], tree.gain[row, a].cost + setting.discount * worst)
    return float(least[ROOT])
