"""The belief-graph search under a budget: bounds over budget levels and belief plans, beside its beliefs and plans.

Built on an `BeliefGraphSearch` whose objective is the reward. It adds upper bounds as vectors over budget levels
(`kernels.arcs.level_bounds`), what is possible within a budget (`kernels.arcs.belief_plans`) and the trials that bring
them together (`kernels.arcs.trials`), and decides about levels, multipliers λ and memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import deadline
from ..._types import FloatArray, IntArray
from ...errors import InputError
from ...kernels.arcs import trials as kernels
from ...kernels.arcs.choices import NO_ROOM, Search, Steps
from ...kernels.arcs.levels import Bounds, Levels
from ...kernels.belief_graph.search import FULL, Tuning
from ...kernels.belief_graph.store import NONE, SAME
from ...kernels.budget import CostRules
from ..belief_graph import storage
from ..belief_graph.search import BeliefGraphSearch, BeliefGraphSwitches
from .controller import controller_graph, first_action, guaranteed_horizon
from .multipliers import dual_multipliers
from .storage import (
    Layout,
    build_belief_plans,
    build_bounds,
    build_level_scratch,
    build_levels,
    carry_over,
    least_costs,
    most_spent,
)

_ROUNDS = 3  # of backups over all beliefs after a change of levels or multipliers
_MOST_BOUNDS = 1 << 30  # levels times rows
_ROWS = 256  # of bounds, to begin with
_BY_ROW = Bounds._fields.index("hi")  # where the fields of bounds begin that are by row
_WANTED = 16  # levels that are asked for before more of them are made
_FEW = 4  # new ones that are too few to be all there are
NEARLY_UNCONSTRAINED = (
    0.2  # share of what can be spent at all, from which on it is worth a look what is best without a budget
)
_LEAST_USED = 0.05  # share of successors that a multiplier must bound to be kept


@dataclass(frozen=True)
class ArcsSwitches:
    """Ideas of the search under a budget that can be switched off, and how far they go."""

    belief_graph: BeliefGraphSwitches = BeliefGraphSwitches()  # noqa: RUF009 - frozen
    levels: int = 128  # budget levels to begin with; doubled when they hold up the search
    most_levels: int = 1 << 16
    relaxation: bool = True  # bounds from the convex relaxation, with rays
    multipliers: bool = True  # a second relaxation, with λ from the dual
    needs: bool = True  # M, the least budget that suffices, starts from the fast informed bound on costs
    monotone: bool = True  # a level is worth no more than one with more budget
    sawtooth: bool = False  # of the relaxations, over the newest points of a class
    leaves: bool = True  # all blind plans that are worth it as leaves, not only the thriftiest
    unconstrained_leaves: bool = True  # plans of the unconstrained search where the budget is as good as unlimited

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> ArcsSwitches:
        """Switches from plain values, as JSON has them.

        >>> ArcsSwitches.of({"levels": 1, "belief_graph": {"rays": False}}).belief_graph.rays
        False
        """
        try:
            return cls(**{**given, "belief_graph": BeliefGraphSwitches(**given.get("belief_graph", {}))})
        except TypeError as error:
            raise InputError(f"ARCS does not know these switches: {error}") from error


class BudgetSearch:
    """Bounds on the best reward within the model's budget, and belief plans that attain the lower one."""

    levels: Levels
    bounds: Bounds

    def __init__(
        self, graph_search: BeliefGraphSearch, switches: ArcsSwitches | None = None, hopeless: bool = False
    ) -> None:
        self.graph_search = graph_search  # its objective is the reward, and it is this search's from now on
        self.hopeless = hopeless  # whether it is known beforehand that nothing can keep the budget
        self.model = model = graph_search.model
        self.switches = switches or ArcsSwitches()
        self.memory_limit = graph_search.memory_limit
        self.out_of_memory = False
        self.trials = 0
        self.layout_seconds = 0.0  # that the last change of levels or multipliers took
        self.budget = np.array(model.spending_limit, dtype=np.float64)  # writable, as kernels have it elsewhere
        beta = np.array(model.cost_discount)
        self.rules = CostRules(beta, np.array(model.arrays.step_limit))
        self.n_levels = self.switches.levels
        self.extra = [np.empty(0) for _ in range(model.n_costs)]  # levels that trials wanted
        self.unlimited = np.maximum(most_spent(graph_search), 1e-300)
        self.cap = np.maximum(most_spent(graph_search, model.discount), 1e-300)
        self.limited = self.budget < self.unlimited
        if np.isfinite(model.step_limit).any():  # a step that costs too much is one that no budget pays for
            self.limited = np.isfinite(self.budget)
        self._layout = Layout(
            budget=self.budget,
            cap=self.cap,
            unlimited=self.unlimited,
            limited=self.limited,
            floor=np.minimum.reduceat(graph_search.ordered.cost, graph_search.space.start[:-1], axis=1),
            least_cost=least_costs(graph_search) if self.switches.needs else np.zeros((model.n_costs, 0, 0)),
            relaxed=bool(self.switches.relaxation),
            monotone=bool(self.switches.monotone),
        )
        self.multipliers = np.zeros((1, model.n_costs))
        self._without_multiplier = False  # whether a multiplier was tried in vain
        self._informed_vectors = [graph_search.space.informed]
        self.belief_plans = build_belief_plans(graph_search, self._layout, self.switches.leaves)
        if not self.switches.unconstrained_leaves:
            self.belief_plans.unconstrained_from[:] = np.inf
        self._lay_out()
        # Beyond this many steps nothing is left of a budget or a reward but rounding.
        deepest = model.steps_until(1e-14)
        depth = int(min(len(graph_search.scratch.path), deepest + 2))
        self.steps = Steps(
            np.empty(depth, dtype=np.int64), np.empty((depth, model.n_costs)), np.empty((_WANTED, model.n_costs))
        )
        while self.belief_plans.counts["filled"][0] == 0 and not self.out_of_memory:
            self._run(graph_search.root, self.budget, np.inf, graph_search.switches.tuning(), 0, 0)

    # Bounds

    @property
    def lower(self) -> float:
        """Lower bound on the optimum; −inf while nothing is known to keep the budget."""
        best = self.best_belief_plan
        return float(self.belief_plans.total[best, 0]) if best != NONE else -np.inf

    @property
    def upper(self) -> float:
        """Upper bound on the optimum; −inf if nothing can keep the budget."""
        if self.hopeless:
            return -np.inf
        return float(self.bounds.upper[self.bounds.row[self.graph_search.root], self._root_level])

    @property
    def gap(self) -> float:
        """Upper minus lower bound."""
        return self.upper - self.lower if self.upper > -np.inf else 0.0

    @property
    def slack(self) -> float:
        """More than rounding can have done to a bound, those with a multiplier included."""
        allowance_of = float((self.multipliers @ self.cap).max())
        return self.graph_search.slack + 4 * SAME * allowance_of / self.model.fade

    @property
    def infeasible(self) -> bool:
        """True if it is proven that no policy keeps the budget."""
        return self.upper == -np.inf

    @property
    def needed(self) -> FloatArray:
        """Least budget of each cost that is not ruled out, [K]."""
        least: FloatArray = self.bounds.least[self.graph_search.root].copy()
        return least

    @property
    def root_belief_plans(self) -> list[int]:
        """The belief plans of the initial belief, none of which dominates another."""
        found, belief_plan = [], int(self.belief_plans.head[self.graph_search.root])
        while belief_plan != NONE:
            found.append(belief_plan)
            belief_plan = int(self.belief_plans.info["next"][belief_plan])
        return found

    @property
    def best_belief_plan(self) -> int:
        """The belief plan that attains the lower bound, or NONE."""
        c = self.belief_plans
        fitting = [i for i in self.root_belief_plans if (c.sure[i] <= self.budget)[self.limited].all()]
        return max(fitting, key=lambda i: c.total[i, 0], default=NONE)

    @property
    def thriftiest_belief_plan(self) -> int:
        """The belief plan that may spend the least share of the budget, or NONE."""
        c, limited = self.belief_plans, self.limited
        budget = np.maximum(self.budget[limited], 1e-300)
        share = {i: float((c.sure[i][limited] / budget).max(initial=0.0)) for i in self.root_belief_plans}
        return min(share, key=lambda i: share[i], default=NONE)

    # Search

    @property
    def still(self) -> bool:
        """True if more trials would change nothing."""
        return self.trials - int(self.belief_plans.counts["moved"][0]) >= kernels.STILL

    def search(self, epsilon: float, work: int, trials: int) -> None:
        """Run trials until the gap is at most epsilon, `work` is done, or there were so many of them in all."""
        graph_search = self.graph_search
        stop = graph_search.work + work
        tuning = graph_search.switches.tuning()
        if not self.switches.sawtooth:
            tuning = tuning._replace(least_drop=2.0)
        while graph_search.work < stop and self.gap > epsilon and not self.out_of_memory:
            if self.still or self.trials >= trials or self.infeasible:
                break
            self._run(graph_search.root, self.budget, epsilon, tuning, stop - graph_search.work, trials)

    def _run(self, root: int, budget: FloatArray, epsilon: float, tuning: Tuning, work: int, trials: int) -> None:
        """One call of the kernel from a belief with a budget, and more room if it was short."""
        if len(self.bounds.row) < len(self.graph_search.store.info):  # an interrupt may have come between the two
            self._fit()
        before = self.graph_search.work
        status, self.trials = kernels.search(self._parts(), root, budget, epsilon, tuning, work, self.trials, trials)
        deadline.charge(self.graph_search.work - before)
        if status == FULL:
            self._grow()

    def _parts(self) -> Search:
        e = self.graph_search
        return Search(
            e.space,
            e.store,
            e.plans,
            e.scratch,
            self.levels,
            self.bounds,
            self.belief_plans,
            self.scratch,
            self.steps,
            self.model.discount,
            self.rules,
        )

    def probe(self, epsilon: float, work: int) -> None:
        """Search without a budget for a moment: what it finds may keep the budget, or help where much of it is left."""
        if (
            not self.switches.unconstrained_leaves
            or (self.budget < NEARLY_UNCONSTRAINED * self.unlimited)[self.limited].any()
        ):
            return
        self.graph_search.search(epsilon, work)
        self._fit()
        *_, sure = self.graph_search.best_totals()
        self.belief_plans.unconstrained_from[:] = np.minimum(self.unlimited, sure)

    def refine(self) -> bool:
        """More levels: where trials wanted them, and twice as many if those are few; False if there may be no more."""
        n_levels = self.bounds.upper.shape[1]
        if n_levels >= self.switches.most_levels or n_levels * int(self.belief_plans.counts["rows"][0]) > _MOST_BOUNDS:
            return False
        before = self.extra, self.n_levels
        wanted = self.steps.wanted[: self.belief_plans.counts["wanted"][0]]
        self.belief_plans.counts["wanted"][0] = 0
        self.extra = [np.union1d(old, new) for old, new in zip(self.extra, wanted.T, strict=True)]
        if all(len(new) - len(old) < _FEW for old, new in zip(before[0], self.extra, strict=True)):
            self.n_levels *= 2
        if not self._lay_out():
            self.extra, self.n_levels = before
            self.out_of_memory = True
        return True

    def update_multiplier(self) -> bool:
        """Take up the multiplier λ that the initial belief's plans suggest; False if it is the one there is."""
        if not self.switches.multipliers or not self.limited.any():
            return False
        looks, by_multiplier = self.belief_plans.counts[["looks", "by_multiplier"]][0]
        self.belief_plans.counts[["looks", "by_multiplier"]] = 0, 0
        if self._without_multiplier:
            return False
        if len(self.multipliers) > 1 and by_multiplier < _LEAST_USED * looks:  # not worth the second relaxation
            return self._take_up(self.multipliers[:1], self._informed_vectors[:1])
        multiplier = dual_multipliers(self.belief_plans.total[self.root_belief_plans], self.lower, self.limited)
        if multiplier is None or np.allclose(multiplier, self.multipliers[-1], rtol=0.02, atol=1e-9):
            return False
        graph_search = self.graph_search
        m = graph_search.ordered.arrays
        informed = graph_search._informed(np.asarray(m.reward - np.tensordot(multiplier, m.cost, axes=1)))
        return self._take_up(np.stack([self.multipliers[0], multiplier]), [self._informed_vectors[0], informed])

    def _take_up(self, multipliers: FloatArray, informed_vectors: list[FloatArray]) -> bool:
        """Lay out for other multipliers; False if there is no room for that."""
        before = self.multipliers, self._informed_vectors
        self.multipliers, self._informed_vectors = multipliers, informed_vectors
        if not self._lay_out():
            self.multipliers, self._informed_vectors = before
            return False
        self._without_multiplier = len(multipliers) == 1
        return True

    def bracket(self, over: Callable[[], bool], rounds: int = 20, trials: int = 50) -> None:
        """Narrow what is known of the least budget that suffices, where one cost is limited and nothing keeps it."""
        limited = np.flatnonzero(self.limited)
        if limited.size != 1:
            return
        k, budget, tuning = int(limited[0]), self.budget.copy(), self.graph_search.switches.tuning()
        for _ in range(rounds):
            low, high = float(self.needed[k]), float(self.belief_plans.sure[self.thriftiest_belief_plan, k])
            if high - low <= 1e-3 * high:
                return
            budget[k] = (low + high) / 2
            for _ in range(trials):
                if over() or self.out_of_memory:
                    return
                self.trials += self.trials % 2  # every other trial is thrifty
                self.belief_plans.counts["moved"][0] = self.trials
                self._run(self.graph_search.root, budget, np.inf, tuning, 1, self.trials + 1)
                if self.needed[k] > low or self.belief_plans.sure[self.thriftiest_belief_plan, k] < high:
                    break
            else:
                return

    def graph(self, belief_plan: int) -> tuple[IntArray, IntArray]:
        """A belief plan as the actions [n] and successors [n, O] of a controller that starts at node 0."""
        return controller_graph(self.graph_search, self.belief_plans, belief_plan)

    def horizon(self, belief_plan: int) -> int:
        """Steps for which a belief plan is known to keep the budget, expecting what comes after."""
        budget = np.where(self.limited, self.budget, np.inf)
        return guaranteed_horizon(self.graph_search, self.belief_plans, self.bounds.cost, belief_plan, budget)

    # While acting

    def first_action(self, belief_plan: int) -> int:
        """The action that a belief plan begins with."""
        return first_action(self.graph_search, self.belief_plans, belief_plan)

    def first_cost(self, belief_plan: int) -> FloatArray:
        """Cost of a belief plan's first step, [K]."""
        cost: FloatArray = self.bounds.cost[
            self.belief_plans.info["belief"][belief_plan], :, self.first_action(belief_plan)
        ]
        return cost

    def search_at(self, belief: int, left: FloatArray, epsilon: float, work: int) -> bool:
        """Run trials from a belief with a budget; False if more would change nothing."""
        # That trials elsewhere changed nothing says nothing here.
        before = self.belief_plans.counts["moved"][0] = self.trials
        self._run(belief, left, epsilon, self.graph_search.switches.tuning(), work, self.trials + work)
        return not (self.still or self.out_of_memory) and self.trials > before

    def follow(self, belief_plan: int, observation: int) -> int | None:
        """The belief plan that follows one after an observation, itself if that was impossible; None without room."""
        while True:
            follower = int(kernels.follow(self._parts(), belief_plan, observation))
            if follower != NO_ROOM:
                return follower if follower != NONE else belief_plan
            self._grow()
            if self.out_of_memory:
                return None

    def better(self, belief_plan: int, left: FloatArray) -> int:
        """The best belief plan known where this one starts that keeps what is left of the budget."""
        best = int(kernels.best_at(self.belief_plans, int(self.belief_plans.info["belief"][belief_plan]), left))
        return (
            best
            if best != NONE and self.belief_plans.total[best, 0] > self.belief_plans.total[belief_plan, 0]
            else belief_plan
        )

    # Sizes

    @property
    def visits(self) -> int:
        """Beliefs with a budget that trials went through, each visit counted."""
        return int(self.belief_plans.counts["visits"][0])

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of beliefs and of belief plans and plans."""
        return self.graph_search.sizes[0], int(self.belief_plans.counts["belief_plans"][0]) + self.graph_search.sizes[1]

    @property
    def memory(self) -> int:
        """Bytes allocated."""
        return self.graph_search.memory + storage.memory(self.bounds, self.belief_plans)

    # Arrays

    def _lay_out(self) -> bool:
        """Levels, relaxations and bounds for the present number of levels and multipliers, from what there was before.

        Nothing changes, and False is returned, if they would take more memory than there may be. They are taken up
        all at once when they are whole: an interrupt finds either the old ones or the new.
        """
        e, first, began = self.graph_search, not hasattr(self, "levels"), deadline.now()
        levels = build_levels(e, self._layout, self.n_levels, self.extra, self.multipliers, self._informed_vectors)
        n, (used, rows) = len(e.store.info), self.belief_plans.counts[["filled", "rows"]][0]
        room = _ROWS if first else len(self.bounds.upper)
        size = 8 * room * levels.part_of.shape[1] * (1 + 2 * len(self.multipliers))
        if not first and self.memory + size > self.memory_limit:
            return False
        scratch, bounds = build_level_scratch(levels), build_bounds(levels, n, room, e.model.n_actions)
        parts = self._parts()._replace(levels=levels, bounds=bounds, level_scratch=scratch) if not first else None
        if parts is not None:
            kept = carry_over(used, rows, self.levels, self.bounds, levels, bounds)
            kernels.refill(parts, kept, _ROUNDS)
        root_level = int(kernels.level_at(levels, self.budget))
        self.levels, self.bounds, self.scratch, self._root_level = levels, bounds, scratch, root_level
        self.belief_plans.counts["moved"][0] = self.trials
        deadline.charge(deadline.PRODUCT * bounds.upper.size * e.model.n_actions)
        self.layout_seconds = deadline.now() - began
        return True

    def _grow(self) -> None:
        """More room wherever one more expansion, plan or belief plan may not fit."""
        e = self.graph_search
        y = self.bounds
        by_belief, by_row = storage.memory(y[:_BY_ROW]) // len(y.row), storage.memory(y[_BY_ROW:]) // len(y.upper)
        elsewhere = storage.memory(y, self.belief_plans) + by_row * (self._row_room() - len(y.upper))
        more = storage.grown(e.space, e.store, e.plans, self.memory_limit - elsewhere, by_belief)
        self.out_of_memory = more is None
        if more is None:
            return
        e.store = more
        self._fit()

    def _row_room(self) -> int:
        """For how many rows there should be room."""
        room = len(self.bounds.upper)
        if self.belief_plans.counts["rows"][0] < room:
            return room
        return storage.more_room(room, storage.memory(self.bounds[_BY_ROW:]))

    def _fit(self) -> None:
        """Room for the bounds and belief plans of all beliefs that the store has room for."""
        e, c = self.graph_search, self.belief_plans
        try:
            storage.lengthen([*self.bounds[:_BY_ROW], c.head], len(e.store.info))
            storage.lengthen(self.bounds[_BY_ROW:], self._row_room())
            new, leaves = int(e.store.counts["beliefs"][0] - c.counts["filled"][0]), int(np.diff(c.leaf_ptr).max())
            if c.counts["belief_plans"][0] + (new + 1) * leaves + 1 > len(c.info):
                storage.lengthen([c.info, c.total, c.sure], 3 * len(c.info) // 2 + (new + 1) * leaves)
            if c.counts["belief_plan_links"][0] + self.model.n_observations > len(c.link):
                storage.lengthen([c.link], 2 * len(c.link) + self.model.n_observations)
        except MemoryError:
            self.out_of_memory = True
