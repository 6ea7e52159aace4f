"""Budgets of nothing: which actions are free for ever, from what can be the case.

Under ĉ_k = 0 an action may be taken at a belief iff no state of its support makes it cost anything, and something can
be taken after whatever is observed. That depends on the support alone. Where all supports of an observability class
agree about an action, its cost may as well be 0, or 1, in the whole class, and what is out of the question may earn
less than anything else: nothing changes for policies that keep the budget, and bounds see what is allowed.
"""

from __future__ import annotations

import numpy as np

from ..._types import BoolArray
from ...model import CPOMDP
from ...model.classes import observability_classes

_MOST_STATES, _MOST_SUPPORTS = 200, 4096


def with_free_actions(model: CPOMDP) -> CPOMDP:
    """The model with costs and rewards that say what is free for ever, where that is the same in a whole class.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("tiger").with_budget([0.0])
    >>> with_free_actions(model).cost[0].max(axis=0).tolist() == model.cost[0].max(axis=0).tolist()
    True
    """
    nothing = np.flatnonzero(np.asarray(model.budget) == 0)
    if not nothing.size or model.n_states > _MOST_STATES:
        return model
    free: BoolArray = (model.cost[nothing] == 0).all(axis=0)  # [S, A]
    follow = _reachable(model, free)
    if follow is None:
        return model
    allowed = _met(follow, _for_ever(follow), (model.initial_belief > 0).tobytes())
    class_of = observability_classes(model).class_of
    always, never = (np.ones((class_of.max() + 1, model.n_actions), dtype=bool) for _ in range(2))
    for support, actions in allowed.items():
        cls = class_of[np.flatnonzero(np.frombuffer(support, dtype=bool))[0]]
        here = np.isin(np.arange(model.n_actions), actions)
        always[cls] &= here
        never[cls] &= ~here
    cost = model.cost.copy()
    out = never[class_of] & ~model.terminal[:, None]  # what is over stays over
    cost[nothing] = np.where(out, 1.0, np.where(always[class_of], 0.0, cost[nothing]))
    low, high = float(model.reward.min()), float(model.reward.max())
    reward = np.where(out, low - (high - low) / model.fade, model.reward)
    return model._changed(arrays=model.arrays._replace(cost=cost, reward=reward))


def _reachable(model: CPOMDP, free: BoolArray) -> dict[bytes, dict[int, list[bytes]]] | None:
    """The supports that free actions lead to, and what follows each; None if they are too many."""
    moves = [matrix.toarray() > 0 for matrix in model.transition]
    seen = [matrix.toarray() > 0 for matrix in model.observation]
    start = model.initial_belief > 0
    found: dict[bytes, dict[int, list[bytes]]] = {}
    todo = [start]
    while todo:
        support = todo.pop()
        if support.tobytes() in found:
            continue
        if len(found) == _MOST_SUPPORTS:
            return None
        found[support.tobytes()] = after = {}
        for a in np.flatnonzero(free[support].all(axis=0)).tolist():
            landed = moves[a][support].any(axis=0)
            branches = [landed & seen[a][:, o] for o in np.flatnonzero(seen[a][landed].any(axis=0))]
            after[a] = [branch.tobytes() for branch in branches]
            todo += branches
    return found


def _for_ever(follow: dict[bytes, dict[int, list[bytes]]]) -> dict[bytes, list[int]]:
    """The actions of each support after which something is free for ever, whatever is observed."""
    allowed = {support: list(after) for support, after in follow.items()}
    changed = True
    while changed:
        changed = False
        for support, actions in allowed.items():
            kept = [a for a in actions if all(allowed[after] for after in follow[support][a])]
            changed = changed or len(kept) < len(actions)
            allowed[support] = kept
    return allowed


def _met(
    follow: dict[bytes, dict[int, list[bytes]]], allowed: dict[bytes, list[int]], start: bytes
) -> dict[bytes, list[int]]:
    """The supports among them that allowed actions lead to."""
    met: dict[bytes, list[int]] = {}
    todo = [start]
    while todo:
        support = todo.pop()
        if support not in met:
            met[support] = allowed[support]
            todo += [after for a in allowed[support] for after in follow[support][a]]
    return met
