"""The engine under a budget: bounds over budget levels and courses, beside the engine's beliefs and plans.

Built on an `Engine` whose objective is the reward. It adds upper bounds as vectors over budget levels
(`kernels.arcs.level_bounds`), what is possible within a budget (`kernels.arcs.courses`) and the trials that bring them
together (`kernels.arcs.trials`), and decides about levels, prices λ and memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._types import FloatArray, IntArray
from ...kernels.arcs import trials as kernels
from ...kernels.arcs.choices import NO_ROOM, Search, Steps
from ...kernels.arcs.courses import (
    BELIEF,
    COURSE_LINKS,
    COURSES,
    FILLED,
    LOOKS,
    MOVED,
    NEXT,
    PRICED,
    ROWS,
    VISITS,
    WANTED,
)
from ...kernels.arcs.levels import Bounds, Levels
from ...kernels.belief_graph.search import FULL, Tuning
from ...kernels.belief_graph.store import BELIEFS, NONE, SAME
from ..belief_graph import storage
from ..belief_graph.search import Engine, EngineOptions
from .controller import controller_graph, first_action, guaranteed_horizon
from .multipliers import dual_multipliers
from .storage import (
    Layout,
    build_bounds,
    build_courses,
    build_level_scratch,
    build_levels,
    carry_over,
    least_costs,
    most_spent,
)

_ROUNDS = 3  # of backups over all beliefs after a change of levels or prices
_MOST_BOUNDS = 1 << 30  # levels times rows
_ROWS = 256  # of bounds, to begin with
_BY_ROW = Bounds._fields.index("hi")  # where the fields of bounds begin that are by row
_WANTED = 16  # levels that are asked for before more of them are made
LOOSE = 0.2  # share of what can be spent at all, from which on it is worth a look what is best without a budget
_LEAST_PRICED = 0.05  # share of successors that a price must bound to be kept


@dataclass(frozen=True)
class ArcsOptions:
    """Ideas of the search under a budget that can be switched off, and how far they go."""

    engine: EngineOptions = EngineOptions()  # noqa: RUF009 - frozen
    levels: int = 128  # budget levels to begin with; doubled when they hold up the search
    most_levels: int = 1 << 16
    relaxation: bool = True  # bounds from the convex relaxation, with rays
    prices: bool = True  # a second relaxation, with λ from the dual
    needs: bool = True  # M, the least budget that suffices, starts from the fast informed bound on costs
    monotone: bool = True  # a level is worth no more than one with more budget
    sawtooth: bool = False  # of the relaxations, over the newest points of a class
    leaves: bool = True  # all blind plans that are worth it as leaves, not only the thriftiest
    hand_over: bool = True  # plans of the unconstrained search where the budget is as good as unlimited


class BudgetSearch:
    """Bounds on the best reward within the model's budget, and courses that attain the lower one."""

    levels: Levels
    bounds: Bounds

    def __init__(self, engine: Engine, options: ArcsOptions | None = None, hopeless: bool = False) -> None:
        self.engine = engine  # its objective is the reward, and it is this search's from now on
        self.hopeless = hopeless  # whether it is known beforehand that nothing can keep the budget
        self.model = model = engine.model
        self.options = options or ArcsOptions()
        self.memory_limit = engine.memory_limit
        self.out_of_memory = False
        self.trials = 0
        self.layout_seconds = 0.0  # that the last change of levels or prices took
        self.budget = np.array(model.spending_limit, dtype=np.float64)  # writable, as kernels have it elsewhere
        self.n_levels = self.options.levels
        self.extra = [np.empty(0) for _ in range(model.n_costs)]  # levels that trials wanted
        self.cap = np.maximum(most_spent(engine), 1e-300)
        self.limited = self.budget < self.cap
        self._layout = Layout(
            budget=self.budget,
            cap=self.cap,
            limited=self.limited,
            floor=np.minimum.reduceat(engine.ordered.cost, engine.space.start[:-1], axis=1),
            cost_hint=least_costs(engine) if self.options.needs else np.zeros((model.n_costs, 0, 0)),
            relaxed=bool(self.options.relaxation),
            monotone=bool(self.options.monotone),
        )
        self.prices = np.zeros((1, model.n_costs))
        self._unpriced = False  # whether a price was tried in vain
        self._hints = [engine.space.hint]
        self.courses = build_courses(engine, self._layout, self.options.leaves)
        if not self.options.hand_over:
            self.courses.loose[:] = np.inf
        self._lay_out()
        # Beyond this many steps nothing is left of a budget or a reward but rounding.
        deepest = np.log(1e-14) / np.log(model.discount)
        depth = int(min(len(engine.scratch.path), deepest + 2))
        self.steps = Steps(
            np.empty(depth, dtype=np.int64), np.empty((depth, model.n_costs)), np.empty((_WANTED, model.n_costs))
        )
        while self.courses.used[FILLED] == 0 and not self.out_of_memory:
            self._run(engine.root, self.budget, np.inf, engine.options.tuning(), 0, 0)

    # Bounds

    @property
    def lower(self) -> float:
        """Lower bound on the optimum; −inf while nothing is known to keep the budget."""
        best = self.best_course
        return float(self.courses.total[best, 0]) if best != NONE else -np.inf

    @property
    def upper(self) -> float:
        """Upper bound on the optimum; −inf if nothing can keep the budget."""
        if self.hopeless:
            return -np.inf
        return float(self.bounds.upper[self.bounds.row[self.engine.root], self._root_level])

    @property
    def gap(self) -> float:
        """Upper minus lower bound."""
        return self.upper - self.lower if self.upper > -np.inf else 0.0

    @property
    def slack(self) -> float:
        """More than rounding can have done to a bound, those with a price included."""
        priced = float((self.prices @ self.cap).max())
        return self.engine.slack + 4 * SAME * priced / (1 - self.model.discount)

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that no policy keeps the budget."""
        return self.upper == -np.inf

    @property
    def needed(self) -> FloatArray:
        """Least budget of each cost that is not ruled out, [K]."""
        least: FloatArray = self.bounds.least[self.engine.root].copy()
        return least

    @property
    def root_courses(self) -> list[int]:
        """The courses of the initial belief, none of which dominates another."""
        found, course = [], int(self.courses.head[self.engine.root])
        while course != NONE:
            found.append(course)
            course = int(self.courses.info[course, NEXT])
        return found

    @property
    def best_course(self) -> int:
        """The course that attains the lower bound, or NONE."""
        c = self.courses
        fitting = [i for i in self.root_courses if (c.sure[i] <= self.budget)[self.limited].all()]
        return max(fitting, key=lambda i: c.total[i, 0], default=NONE)

    @property
    def thriftiest_course(self) -> int:
        """The course that may spend the least share of the budget, or NONE."""
        c, budget = self.courses, np.maximum(self.budget, 1e-300)
        share = {i: float((c.sure[i] / budget)[self.limited].max(initial=0.0)) for i in self.root_courses}
        return min(share, key=lambda i: share[i], default=NONE)

    # Search

    @property
    def still(self) -> bool:
        """Whether more trials would change nothing."""
        return self.trials - int(self.courses.used[MOVED]) >= kernels.STILL

    def search(self, epsilon: float, work: int, trials: int) -> None:
        """Run trials until the gap is at most epsilon, `work` is done, or there were so many of them in all."""
        engine = self.engine
        stop = engine.work + work
        tuning = engine.options.tuning()
        if not self.options.sawtooth:
            tuning = tuning._replace(least_drop=2.0)
        while engine.work < stop and self.gap > epsilon and not self.out_of_memory:
            if self.still or self.trials >= trials or self.infeasible:
                break
            self._run(engine.root, self.budget, epsilon, tuning, stop - engine.work, trials)

    def _run(self, root: int, budget: FloatArray, epsilon: float, tuning: Tuning, work: int, trials: int) -> None:
        """One call of the kernel from a belief with a budget, and more room if it was short."""
        if len(self.bounds.row) < len(self.engine.store.info):  # an interrupt may have come between the two
            self._fit()
        status, self.trials = kernels.search(self._parts(), root, budget, epsilon, tuning, work, self.trials, trials)
        if status == FULL:
            self._grow()

    def _parts(self) -> Search:
        e = self.engine
        return Search(
            e.space,
            e.store,
            e.plans,
            e.scratch,
            self.levels,
            self.bounds,
            self.courses,
            self.scratch,
            self.steps,
            self.model.discount,
        )

    def probe(self, epsilon: float, work: int) -> None:
        """Search without a budget for a moment: what it finds may keep the budget, or help where much of it is left."""
        if not self.options.hand_over or (self.budget < LOOSE * self.cap)[self.limited].any():
            return
        self.engine.search(epsilon, work)
        self._fit()
        *_, sure = self.engine.best_totals()
        self.courses.loose[:] = np.minimum(self.cap, sure)

    def refine(self) -> bool:
        """More levels: where trials wanted them, else twice as many; False if there are as many as there may be."""
        n_levels = self.bounds.upper.shape[1]
        if n_levels >= self.options.most_levels or n_levels * int(self.courses.used[ROWS]) > _MOST_BOUNDS:
            return False
        before = self.extra, self.n_levels
        wanted = self.steps.wanted[: self.courses.used[WANTED]]
        self.courses.used[WANTED] = 0
        self.extra = [np.union1d(old, new) for old, new in zip(self.extra, wanted.T, strict=True)]
        if all(len(old) == len(new) for old, new in zip(before[0], self.extra, strict=True)):
            self.n_levels *= 2
        if not self._lay_out():
            self.extra, self.n_levels = before
            self.out_of_memory = True
        return True

    def reprice(self) -> bool:
        """Take up the price λ that the courses of the initial belief suggest; False if it is the one there is."""
        if not self.options.prices or not self.limited.any():
            return False
        looks, priced = self.courses.used[[LOOKS, PRICED]]
        self.courses.used[[LOOKS, PRICED]] = 0
        if self._unpriced:
            return False
        if len(self.prices) > 1 and priced < _LEAST_PRICED * looks:  # not worth the second relaxation
            return self._take_up(self.prices[:1], self._hints[:1])
        price = dual_multipliers(self.courses.total[self.root_courses], self.lower, self.limited)
        if price is None or np.allclose(price, self.prices[-1], rtol=0.02, atol=1e-9):
            return False
        engine = self.engine
        m = engine.ordered.arrays
        hint = engine._hint(np.asarray(m.reward - np.tensordot(price, m.cost, axes=1)))
        return self._take_up(np.stack([self.prices[0], price]), [self._hints[0], hint])

    def _take_up(self, prices: FloatArray, hints: list[FloatArray]) -> bool:
        """Lay out for other prices; False if there is no room for that."""
        before = self.prices, self._hints
        self.prices, self._hints = prices, hints
        if not self._lay_out():
            self.prices, self._hints = before
            return False
        self._unpriced = len(prices) == 1
        return True

    def bracket(self, over: Callable[[], bool], rounds: int = 20, trials: int = 50) -> None:
        """Narrow what is known of the least budget that suffices, where one cost is limited and nothing keeps it."""
        limited = np.flatnonzero(self.limited)
        if limited.size != 1:
            return
        k, budget, tuning = int(limited[0]), self.budget.copy(), self.engine.options.tuning()
        for _ in range(rounds):
            low, high = float(self.needed[k]), float(self.courses.sure[self.thriftiest_course, k])
            if high - low <= 1e-3 * high:
                return
            budget[k] = (low + high) / 2
            for _ in range(trials):
                if over() or self.out_of_memory:
                    return
                self.trials += self.trials % 2  # every other trial is thrifty
                self.courses.used[MOVED] = self.trials
                self._run(self.engine.root, budget, np.inf, tuning, 1, self.trials + 1)
                if self.needed[k] > low or self.courses.sure[self.thriftiest_course, k] < high:
                    break
            else:
                return

    def graph(self, course: int) -> tuple[IntArray, IntArray]:
        """A course as the actions [n] and successors [n, O] of a controller that starts at node 0."""
        return controller_graph(self.engine, self.courses, course)

    def horizon(self, course: int) -> int:
        """Steps for which a course is known to keep the budget, expecting what comes after."""
        budget = np.where(self.limited, self.budget, np.inf)
        return guaranteed_horizon(self.engine, self.courses, self.bounds.cost, course, budget)

    # While acting

    def first_action(self, course: int) -> int:
        """The action that a course begins with."""
        return first_action(self.engine, self.courses, course)

    def first_cost(self, course: int) -> FloatArray:
        """What a course's first step costs, [K]."""
        cost: FloatArray = self.bounds.cost[self.courses.info[course, BELIEF], :, self.first_action(course)]
        return cost

    def search_at(self, belief: int, left: FloatArray, epsilon: float, work: int) -> bool:
        """Run trials from a belief with a budget; False if more would change nothing."""
        before = self.courses.used[MOVED] = self.trials  # that trials elsewhere changed nothing says nothing here
        self._run(belief, left, epsilon, self.engine.options.tuning(), work, self.trials + work)
        return not (self.still or self.out_of_memory) and self.trials > before

    def follow(self, course: int, observation: int) -> int:
        """The course that follows a course after an observation; itself if that was impossible."""
        while True:
            follower = int(kernels.follow(self._parts(), course, observation))
            if follower != NO_ROOM:
                return follower if follower != NONE else course
            limit, self.memory_limit = self.memory_limit, np.inf  # what is promised is followed at any price
            self._grow()
            self.memory_limit = limit

    def better(self, course: int, left: FloatArray) -> int:
        """The best course known where this one starts that keeps what is left of the budget."""
        best = int(kernels.best_at(self.courses, int(self.courses.info[course, BELIEF]), left))
        return best if best != NONE and self.courses.total[best, 0] > self.courses.total[course, 0] else course

    # Sizes

    @property
    def visits(self) -> int:
        """Beliefs with a budget that trials went through, each visit counted."""
        return int(self.courses.used[VISITS])

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of beliefs and of courses and plans."""
        return self.engine.sizes[0], int(self.courses.used[COURSES]) + self.engine.sizes[1]

    @property
    def memory(self) -> int:
        """Bytes allocated."""
        return self.engine.memory + storage.memory(self.bounds, self.courses)

    # Arrays

    def _lay_out(self) -> bool:
        """Levels, relaxations and bounds for the present number of levels and prices, from what there was before.

        Nothing changes, and False is returned, if they would take more memory than there may be. They are taken up
        all at once when they are whole: an interrupt finds either the old ones or the new.
        """
        e, first, began = self.engine, not hasattr(self, "levels"), time.monotonic()
        levels = build_levels(e, self._layout, self.n_levels, self.extra, self.prices, self._hints)
        n, (used, rows) = len(e.store.info), self.courses.used[[FILLED, ROWS]]
        room = _ROWS if first else len(self.bounds.upper)
        size = 8 * room * levels.part_of.shape[1] * (1 + 2 * len(self.prices))
        if not first and self.memory + size > self.memory_limit:
            return False
        scratch, bounds = build_level_scratch(levels), build_bounds(levels, n, room, e.model.n_actions)
        parts = self._parts()._replace(v=levels, y=bounds, z=scratch) if not first else None
        if parts is not None:
            kept = carry_over(used, rows, self.levels, self.bounds, levels, bounds)
            kernels.refill(parts, kept, _ROUNDS)
        root_level = int(kernels.level_at(levels, self.budget))
        self.levels, self.bounds, self.scratch, self._root_level = levels, bounds, scratch, root_level
        self.courses.used[MOVED] = self.trials
        self.layout_seconds = time.monotonic() - began
        return True

    def _grow(self) -> None:
        """More room wherever one more expansion, plan or course may not fit."""
        e = self.engine
        y = self.bounds
        by_belief, by_row = storage.memory(y[:_BY_ROW]) // len(y.row), storage.memory(y[_BY_ROW:]) // len(y.upper)
        elsewhere = storage.memory(y, self.courses) + by_row * (self._row_room() - len(y.upper))
        more = storage.grown(e.space, e.store, e.plans, self.memory_limit - elsewhere, by_belief)
        self.out_of_memory = more is None
        if more is None:
            return
        e.store = more
        self._fit()

    def _row_room(self) -> int:
        """For how many rows there should be room."""
        room = len(self.bounds.upper)
        if self.courses.used[ROWS] < room:
            return room
        return storage.more_room(room, storage.memory(self.bounds[_BY_ROW:]))

    def _fit(self) -> None:
        """Room for the bounds and courses of all beliefs that the store has room for."""
        e, c = self.engine, self.courses
        try:
            storage.lengthen([*self.bounds[:_BY_ROW], c.head], len(e.store.info))
            storage.lengthen(self.bounds[_BY_ROW:], self._row_room())
            new, leaves = int(e.store.used[BELIEFS] - c.used[FILLED]), int(np.diff(c.leaf_ptr).max())
            if c.used[COURSES] + (new + 1) * leaves + 1 > len(c.info):
                storage.lengthen([c.info, c.total, c.sure], 3 * len(c.info) // 2 + (new + 1) * leaves)
            if c.used[COURSE_LINKS] + self.model.n_observations > len(c.link):
                storage.lengthen([c.link], 2 * len(c.link) + self.model.n_observations)
        except MemoryError:
            self.out_of_memory = True
