"""Finite k: the budget must hold, in expectation of what is yet to come, at every history shorter than k.

``W(h_t) + γ^t V_C(h_t) ≤ ĉ`` for all t < k (paper, Def. 4) is the same as the condition at t = k − 1 alone
(docs/theory.md, Theorem 11). So the problem is a tree of depth k − 1 over beliefs and budgets (`solvers.finite_k.tree`)
whose leaves are C-POMDPs (`solvers.finite_k.fronts`, `solvers.finite_k.prices`): k = 1 is the C-POMDP itself, k = ∞ the
RC-POMDP. Trials walk from the root to where the gap counts most. It stops when the bounds are within epsilon.

The policy acts deterministically for k − 1 steps and then draws, once, among finitely many controllers. Its reward is
evaluated exactly, and the budget is tested at each of its leaves, before it becomes a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..._types import FloatArray
from ...kernels.belief_graph.store import NONE
from ...model import CPOMDP
from ...policies import ControllerPolicy, Policy
from .. import sarsop as unconstrained
from ..cgcp.solve import cgcp
from ..clock import Clock
from ..early import finishing
from ..result import INFEASIBLE, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, STALLED, TIME_LIMIT, Result, TracePoint
from ..route import OBJECTIVE_MOVES, choose_route
from ..warmup import load_model_kernels
from .extraction import Extraction
from .prices import Prices
from .tree import Tree

_NOTHING = 1e-10  # of a budget: what is spent beyond some depth, and below the tolerance
_DEEPEST = 10**9
_WORK = 2_000_000  # elementary steps of the first search at a leaf
_FIRST = 12  # steps of column generation at the root, which serve all leaves
_SHARE = 0.5  # of the gap at the root: the target of a trial
_TELL = 0.05  # seconds between points of the trace


def finite_k(
    model: CPOMDP,
    k: int,
    *,
    epsilon: float,
    time_limit: float | None,
    memory_limit: float,
    seed: int,
    progress: Callable[[TracePoint], None] | None,
) -> Result:
    """Solve for a finite k; the options are those of `arcs`, which checks them."""
    if k == 1:
        found = cgcp(
            model, epsilon=epsilon, time_limit=time_limit, memory_limit=memory_limit, seed=seed, progress=progress
        )
        return replace(found, solver="arcs", k=1, seed=seed)
    load_model_kernels()
    unconstrained.load_kernels()
    clock = Clock(time_limit).watch()
    prices = Prices(model, memory_limit, clock)
    tree = Tree(model, min(k, _deepest(model)), prices)
    clock.ready()
    search = _Search(tree, memory_limit, clock, progress)
    try:
        status = search.run(epsilon)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except MemoryError:
        status = MEMORY_LIMIT
    with finishing(clock):
        return replace(search.result(status, model, epsilon, seed), k=k)


def _deepest(model: CPOMDP) -> int:
    """A k beyond which no k asks for more than the tolerance on budgets leaves open (docs/theory.md, 8)."""
    limited = np.isfinite(model.budget) & (model.cost.max(axis=(1, 2), initial=0.0) > 0)
    if model.discount == 1:
        return int(min(model.most_steps + 1, _DEEPEST))
    share = _NOTHING * model.budget[limited] * model.fade
    if not limited.any() or not share.all():
        return _DEEPEST
    steps = np.log(share / model.cost.max(axis=(1, 2))[limited]) / np.log(model.discount)
    return int(np.clip(1 + np.ceil(steps.max()), 2, _DEEPEST))


class _Search:
    """Trials, and what is told of them."""

    def __init__(
        self, tree: Tree, memory_limit: float, clock: Clock, progress: Callable[[TracePoint], None] | None
    ) -> None:
        self.tree, self.memory_limit, self.clock, self._progress = tree, memory_limit, clock, progress
        self.trace: list[TracePoint] = []
        self._tell()

    def run(self, epsilon: float) -> str:
        """Trials until the bounds are within epsilon; return what ended it."""
        tree, prices = self.tree, self.tree.prices
        inner = max(epsilon - 2 * prices.slack, prices.slack)
        self._prepare(inner)
        target = np.inf
        while not self.trace[-1].upper - self.trace[-1].lower <= epsilon:
            if tree.root.upper == -np.inf:
                return INFEASIBLE
            if self.clock.over:
                return TIME_LIMIT
            if prices.out_of_memory or tree.memory > self.memory_limit:
                return MEMORY_LIMIT
            gap = tree.root.gap
            target = min(target, max(_SHARE * gap, inner / 2)) if gap < np.inf else inner / 2
            if not tree.trial(target, _WORK) and tree.root.upper > -np.inf:
                if target <= inner / 2:
                    return STALLED
                target = max(target / 4, inner / 2)
            if self.clock.seconds >= self.trace[-1].seconds + _TELL or tree.root.gap <= inner:
                self._tell()
                if tree.root.gap <= inner / 4 and self.trace[-1].upper - self.trace[-1].lower > epsilon:
                    return STALLED
        return OPTIMAL

    def _prepare(self, goal: float) -> None:
        """Column generation at the root: its multipliers and plans are good guesses for the leaves."""
        tree, front = self.tree, self.tree.root.front
        for _ in range(_FIRST if front is not None else 0):
            assert front is not None
            left, most = tree.left(tree.root), tree.left_at_most(tree.root)
            upper = front.upper(most)
            if self.clock.over or upper == -np.inf or upper - front.mix(left, most, tree.scale).value <= goal:
                break
            tree.prices.improve(front, left, most, goal, tree.scale, _WORK)
        tree.look(tree.root)
        self._tell()

    def _tell(self) -> None:
        self.trace.append(self._point())
        if self._progress is not None:
            self._progress(self.trace[-1])

    def _point(self) -> TracePoint:
        """The bounds now; what held before still does."""
        root, slack = self.tree.root, self.tree.prices.slack
        lower, upper = root.lower - slack, root.upper
        if self.trace:
            lower, upper = max(lower, self.trace[-1].lower), min(upper, self.trace[-1].upper)
        seconds = self.clock.seconds if self.trace else 0.0
        return TracePoint(seconds, lower, upper, self.tree.trials, *self.tree.prices.sizes)

    def result(self, status: str, model: CPOMDP, epsilon: float, seed: int) -> Result:
        """The bounds, and the policy that attains the lower one."""
        tree = self.tree
        self.trace.append(self._point())
        last = self.trace[-1]
        found = Extraction(tree, model) if tree.root.lower > -np.inf else None
        policy: Policy[Any]
        if found is not None:
            policy = found.policy
            reward, cost, error, keeps = found.evaluated()
            lower = reward - error if keeps else -np.inf
            sure: FloatArray = found.sure_cost()
            upper = max(last.upper, lower)  # they may meet but for rounding
            if status == STALLED and upper - lower <= epsilon:
                status = OPTIMAL
        else:
            policy, reward, cost, sure = self._thriftiest()
            lower, upper = -np.inf, (-np.inf if status == INFEASIBLE else last.upper)
        # Nothing on record is above what was evaluated exactly.
        self.trace = [point._replace(lower=min(point.lower, lower)) for point in self.trace[:-1]]
        self.trace.append(last._replace(lower=lower, upper=upper))
        known = lower > -np.inf
        needed = np.array([tree.needed(tree.root, i) for i in range(model.n_costs)])
        return Result.of_search(
            "arcs",
            status,
            self.trace,
            self.clock.setup_seconds,
            policy=policy,
            reward=reward,
            cost=cost,
            sure_cost=sure,
            tree_nodes=tree.size,
            seed=seed,
            k=tree.k,
            suffices=None if known else sure.copy(),
            needed=None if known else needed,
            route=str(choose_route(model, needs=OBJECTIVE_MOVES)),
        )

    def _thriftiest(self) -> tuple[ControllerPolicy, float, FloatArray, FloatArray]:
        """The plan that expects to spend the least, while none is known to keep the budget."""
        prices = self.tree.prices
        graph_search = prices.cheapest
        prices.visit(graph_search, prices.initial)
        plan = graph_search.best_plan
        if plan == NONE:  # nothing was searched from there
            limit = np.maximum(graph_search.model.spending_limit, 1e-300)
            share = {p: float((graph_search.totals(p)[1] / limit).max(initial=0.0)) for p in graph_search.blind_plans}
            plan = min(share, key=lambda p: share[p])
        return graph_search.policy(plan), *graph_search.totals(plan)
