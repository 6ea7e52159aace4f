"""The state of a published-ARCS search: tree, minimum-cost policy, and what is read off them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import FloatArray
from ...deadline import charge
from ...kernels.arcs_published import trials as kernels
from ...kernels.arcs_published.leaf_policy import Setting
from ...kernels.arcs_published.tree import (
    ALIVE,
    BIN,
    BINS,
    COUNTS,
    GAIN,
    NODE,
    NONE,
    PRUNED,
    ROOT,
    SPAN,
    VALUE,
    Q,
    Scratch,
    Tree,
    start,
)
from ...model import CPOMDP, beliefs
from ...policies import ControllerPolicy
from ..result import TracePoint
from .leaf_policy import build_setting, followers, least_cost_search, listed_plans, minimise

_DEPTH = 4096  # nodes that a trial samples at most
_UNIFORMS = 2**16  # random numbers drawn at a time
_NODES, _ROWS, _POOL = 4096, 256, 4096  # room to begin with
_GROWTH = (2.0, 1.5, 1.2)  # how much it grows at a time
_COST_SHARE = 0.25  # of the time limit, for the minimum-cost policy
_TRIAL, _NODE = 5000, 200  # elementary steps that a trial and a new node take, about
_ROUNDING = 4e-14  # what rounding may add to a bound, relative to the largest value, times 1 / (1−γ)


@dataclass(frozen=True)
class Found:
    """A policy and what is known of it."""

    policy: ControllerPolicy
    reward: float
    cost: float
    sure_cost: float
    horizon: int | None  # None: proven admissible


class PaperSearch:
    """The tree, the minimum-cost policy that its leaves follow, and what is read off them."""

    def __init__(
        self,
        model: CPOMDP,
        memory_limit: float,
        seed: int,
        pruning: bool = True,
        time_limit: float | None = None,
        heuristic_share: float = 0.5,
        first_tie: bool = False,
    ) -> None:
        self.model, self.memory_limit, self.heuristic_share = model, memory_limit, heuristic_share
        self.rng = np.random.default_rng(seed)
        self.graph_search = least_cost_search(model, memory_limit)  # Alg. 1, line 1
        self.interrupted = not minimise(self.graph_search, None if time_limit is None else _COST_SHARE * time_limit)
        self.plans = listed_plans(self.graph_search)
        self.setting = build_setting(self.graph_search, self.plans, pruning, first_tie)
        self.tree = _new_tree(self.setting)
        self.scratch = _new_scratch(self.setting)
        self.uniforms = self.rng.random(_UNIFORMS)
        start(self.setting, self.tree, self.scratch, *beliefs.initial(self.graph_search.ordered))
        largest = max(float(np.abs(values).max()) for values in (self.setting.reward_fib, self.setting.plan_reward))
        self.slack = _ROUNDING * largest / model.fade

    # Searching

    @property
    def n_nodes(self) -> int:
        """Histories with bounds, the leaves among them."""
        return int(self.tree.counts["nodes"][0])

    @property
    def trials(self) -> int:
        """Rounds of SAMPLE, BACKUP and PRUNE."""
        return int(self.tree.counts["trials"][0])

    @property
    def infeasible(self) -> bool:
        """True if no admissible policy exists."""
        return bool(self.tree.info["status"][ROOT] == PRUNED or self.tree.value["v_hi"][ROOT] == -np.inf)

    @property
    def gap(self) -> float:
        """Upper bound minus what is proven."""
        return float(self.tree.value["v_hi"][ROOT] - self.tree.value["proven"][ROOT])

    def advance(self, epsilon: float, trials: int) -> bool:
        """Run some trials, or fewer if they settle it; False if memory is short."""
        goal, before = self.trials + trials, self.n_nodes
        charge(trials * _TRIAL)
        while self.trials < goal:
            why = kernels.search(
                self.setting, self.tree, self.scratch, self.uniforms, epsilon, goal, self.heuristic_share
            )
            if why == kernels.DONE:
                break
            if why == kernels.OUT_OF_UNIFORMS:
                self.uniforms = self.rng.random(_UNIFORMS)
                self.tree.counts["drawn"][0] = 0
            elif not self._grow():
                return False
        charge((self.n_nodes - before) * _NODE)
        return True

    def advance_at(self, node: int, epsilon: float) -> bool:
        """One heuristic trial from a sampled node; False if memory is short, or there is nothing left to find."""
        value, status = self.tree.value[node], self.tree.info["status"][node]
        if status != ALIVE or not value["v_hi"] - value["v_lo"] > epsilon:
            return False
        why = kernels.search_at(self.setting, self.tree, self.scratch, node, epsilon)
        return why == kernels.DONE or self._grow()

    def _grow(self) -> bool:
        """More room, twice as much if memory allows, wherever one more sampled node may not fit; False if none."""
        x, t = self.setting, self.tree
        short: dict[str, int] = {}  # what must grow, and what it needs at least
        for names, count, wanted in (
            (("info", "value"), "nodes", x.reward_fib.shape[1] * x.model.n_observations),
            (("span", "q", "gain", "first", "degree", "cut"), "rows", 1),
            (("state", "prob"), "pool", x.widest),
        ):
            if t.counts[count][0] + wanted > len(getattr(t, names[0])):
                short |= dict.fromkeys(names, int(t.counts[count][0]) + wanted)
        old = {name: getattr(t, name) for name in short}
        for factor in _GROWTH:
            sizes = {name: max(least, int(factor * len(old[name]))) for name, least in short.items()}
            added = sum(sizes[name] * old[name].nbytes / len(old[name]) for name in short)
            # Each array is let go once it is copied, so two of a kind stand side by side for one at a time.
            rest = sum(array.nbytes for array in t) - sum(a.nbytes for a in old.values()) + self.graph_search.memory
            if rest + added + max(array.nbytes for array in old.values()) <= self.memory_limit:
                break
        else:
            return False
        del old, t
        try:
            for name, size in sizes.items():
                before = getattr(self.tree, name)
                bigger = np.zeros((size, *before.shape[1:]), dtype=before.dtype)
                # As bytes: numpy copies records field by field.
                bigger.reshape(-1).view(np.uint8)[: before.nbytes] = before.reshape(-1).view(np.uint8)
                self.tree = self.tree._replace(**{name: bigger})
        except MemoryError:
            return False
        return True

    # Reading off

    def point(self, seconds: float, last: TracePoint | None = None) -> TracePoint:
        """The bounds, moved outward by what rounding may have done; they never get worse."""
        if self.infeasible:
            lower = upper = -np.inf
        else:
            upper = float(self.tree.value["v_hi"][ROOT]) + self.slack
            lower = min(float(self.tree.value["proven"][ROOT]) - self.slack, upper)
            if self.setting.first_tie:  # what is proven is not what is followed
                lower = -np.inf
            if last is not None:
                lower, upper = max(lower, last.lower), min(upper, last.upper)
        return TracePoint(seconds, lower, upper, self.trials, int(self.tree.counts["rows"][0]), len(self.plans))

    def budgets(self) -> dict[str, FloatArray]:
        """The least a budget must be, `needed`, and `suffices`, which the minimum-cost policy surely keeps."""
        if not self.infeasible:
            return {}
        needed = max(float(kernels.least_budget(self.setting, self.tree)), float(self.model.budget[0]))
        return {"needed": np.array([needed]), "suffices": self.graph_search.best_totals()[2]}

    def policy(self) -> Found:
        """The proven policy if there is one, else the tree's, as a controller."""
        if self.infeasible:
            reward, cost, sure = self.graph_search.best_totals()
            return Found(self.graph_search.policy(), reward, float(cost[0]), float(sure[0]), 0)
        t, column = self.tree, self.followed
        order = [ROOT]
        for node in order:
            order.extend(self._children(node, column))
        totals = self._totals(order, column)
        proven = column == "proven_action" or (self.setting.first_tie and totals[2] <= self.setting.limit)
        horizon = None if proven else int(t.info["horizon"][ROOT])
        return Found(self._controller(order, column), *totals, horizon)

    @property
    def followed(self) -> str:
        """The column of the nodes' actions that the policy follows, NONE where it follows the plan of a leaf."""
        proven = self.tree.value["proven"][ROOT] > -np.inf and not self.setting.first_tie
        return "proven_action" if proven else "action"

    def _totals(self, order: list[int], column: str) -> tuple[float, float, float]:
        """Reward, cost and sure cost of the tree's nodes in `order`, parents before children."""
        t, gamma = self.tree, self.model.discount
        totals: dict[int, tuple[float, float, float]] = {}
        for node in reversed(order):
            children = self._children(node, column)
            if not children:
                totals[node] = self._leaf_totals(node)
                continue
            after = np.array([totals.pop(child) for child in children])
            reward, cost = t.gain[t.info["row"][node], t.info[column][node]]
            mean = t.value["prob"][children.start : children.stop] @ after[:, :2]
            sure = cost + gamma * after[:, 2].max()
            totals[node] = float(reward + gamma * mean[0]), float(cost + gamma * mean[1]), float(sure)
        return totals[ROOT]

    def _controller(self, order: list[int], column: str) -> ControllerPolicy:
        """Nodes of the tree first, then the plans that its leaves follow, and those that plans follow."""
        t, n_observations = self.tree, self.model.n_observations
        inner = [node for node in order if t.info[column][node] != NONE]
        number = {node: i for i, node in enumerate(inner)}
        followed: dict[int, int] = {}
        queue: list[int] = []

        def number_of(plan: int) -> int:
            if plan not in followed:
                followed[plan] = len(inner) + len(queue)
                queue.append(plan)
            return followed[plan]

        def entry(node: int) -> int:
            return number[node] if node in number else number_of(int(self.plans[t.info["plan"][node]]))

        first = entry(ROOT)
        rows: list[tuple[int, list[tuple[int, int]]]] = []  # action, (observation, successor)
        for node in inner:
            following = [(int(t.info["obs"][child]), entry(child)) for child in self._children(node, column)]
            rows.append((int(t.info[column][node]), following))
        for plan in queue:
            following = [(o, number_of(after)) for o, after in followers(self.graph_search, plan)]
            rows.append((int(self.graph_search.plans.info["action"][plan]), following))
        successors = np.zeros((len(rows), n_observations), dtype=np.int64)  # 0 after what cannot be observed
        for i, (_, following) in enumerate(rows):
            for o, j in following:
                successors[i, o] = j
        return ControllerPolicy(self.model, [action for action, _ in rows], successors, first)

    def _children(self, node: int, column: str) -> range:
        """The nodes that can follow a node under its policy; none for a leaf."""
        a = int(self.tree.info[column][node])
        return range(0) if a == NONE else self.children(node, a)

    def children(self, node: int, a: int) -> range:
        """The nodes that can follow a sampled node under an action."""
        row = self.tree.info["row"][node]
        first = int(self.tree.first[row, a])
        return range(first, first + int(self.tree.degree[row, a]))

    def _leaf_totals(self, node: int) -> tuple[float, float, float]:
        """Reward, cost and sure cost of the plan that is followed from a node."""
        x, t = self.setting, self.tree
        row, plan = t.info["row"][node], t.info["plan"][node]
        reward, cost = t.value["v_lo"][node], t.value["c_hi"][node]
        if row != NONE:  # its bounds are no longer the plan's
            at, size = t.span["at"][row], t.span["size"][row]
            states, probs = t.state[at : at + size], t.prob[at : at + size]
            place = x.plan_at[plan] + states - x.start[x.class_of[states[0]]]
            reward, cost = x.plan_reward[place] @ probs, x.plan_cost[place] @ probs
        sure = 0.0 if cost == 0 else x.plan_step[plan] / self.model.fade
        return float(reward), float(cost), float(sure)


def _new_tree(x: Setting) -> Tree:
    n_actions, most = x.reward_fib.shape[1], x.reward_fib.shape[1] * x.model.n_observations
    nodes = _NODES + most
    return Tree(
        info=np.zeros(nodes, dtype=NODE),
        value=np.zeros(nodes, dtype=VALUE),
        span=np.zeros(_ROWS, dtype=SPAN),
        q=np.zeros((_ROWS, n_actions), dtype=Q),
        gain=np.zeros((_ROWS, n_actions), dtype=GAIN),
        first=np.zeros((_ROWS, n_actions), dtype=np.int32),
        degree=np.zeros((_ROWS, n_actions), dtype=np.int32),
        cut=np.zeros((_ROWS, n_actions), dtype=np.bool_),
        state=np.zeros(_POOL + x.widest, dtype=np.int32),
        prob=np.zeros(_POOL + x.widest),
        bins=np.zeros(BINS[0] * BINS[1], dtype=BIN),
        counts=np.zeros(1, dtype=COUNTS),
    )


def _new_scratch(x: Setting) -> Scratch:
    n_states, n_actions = x.reward_fib.shape
    most = int(np.diff(x.model.z_ptr[::n_states]).max())
    return Scratch(
        acc=np.zeros(n_states),
        touched=np.empty(n_states, dtype=np.int32),
        p_obs=np.empty(x.model.n_observations),
        begin=np.empty(x.model.n_observations + 1, dtype=np.int64),
        fill=np.empty(x.model.n_observations, dtype=np.int64),
        state=np.empty(most, dtype=np.int32),
        prob=np.empty(most),
        product=np.empty((2, n_actions)),
        path=np.empty(_DEPTH, dtype=np.int64),
    )
