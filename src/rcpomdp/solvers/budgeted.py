"""The engine under a budget: bounds over budget levels and courses, beside the engine's beliefs and plans.

Built on an `Engine` whose objective is the reward. It adds upper bounds as vectors over budget levels
(`kernels.levels`), what is possible within a budget (`kernels.courses`) and the trials that bring them together
(`kernels.budgeted`), and decides about levels, prices λ and memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import FloatArray, IntArray
from ..bounds.blind import blind_sure_costs, largest_sure_costs
from ..bounds.starting import cost_fib_vectors
from ..kernels import budgeted as kernels
from ..kernels.courses import (
    ACTION,
    BELIEF,
    COURSE_LINKS,
    COURSES,
    FILLED,
    LINKS,
    LOOKS,
    MOVED,
    NEXT,
    PRICED,
    VISITS,
    WANTED,
    Courses,
)
from ..kernels.courses import PLAN as LEAF
from ..kernels.levels import Bounds, Levels, LevelScratch, list_maps
from ..kernels.plans import ACTION as PLAN_ACTION
from ..kernels.plans import LINKS as PLAN_LINKS
from ..kernels.plans import VALUES
from ..kernels.search import FULL, Tuning
from ..kernels.store import BELIEFS, NONE
from . import storage
from .engine import Engine, EngineOptions
from .levels import level_values
from .prices import dual_prices

_ROUNDS = 3  # of backups over all beliefs after a change of levels or prices
_COURSES = 4096  # room to begin with
_MOST_BOUNDS = 1 << 30  # levels times beliefs
_WANTED = 16  # levels that are asked for before more of them are made
_LOOSE = 0.2  # share of what can be spent at all, from which on it is worth a look what is best without a budget
_LEAST_PRICED = 0.05  # share of successors that a price must bound to be kept


@dataclass(frozen=True)
class ArcsOptions:
    """Ideas of the search under a budget that can be switched off, and how far they go."""

    engine: EngineOptions = EngineOptions()  # noqa: RUF009 - frozen
    levels: int = 128  # budget levels to begin with; doubled when they hold up the search
    most_levels: int = 1 << 16
    relaxation: bool = True  # bounds from the convex relaxation, with rays
    prices: bool = True  # a second relaxation, with λ from the dual
    needs: bool = True  # prune by M, the least budget that suffices
    monotone: bool = True  # a level is worth no more than one with more budget
    sawtooth: bool = False  # of the relaxations, over the newest points of a class
    leaves: bool = True  # all blind plans that are worth it as leaves, not only the thriftiest
    hand_over: bool = True  # plans of the unconstrained search where the budget is as good as unlimited


def most_spent(engine: Engine) -> FloatArray:
    """What no policy can spend more than, from any belief, [K]: a budget of that is as good as none."""
    x = engine.space
    most = largest_sure_costs(x.peak, x.seen_ptr, x.seen_class, engine.model.discount)
    largest: FloatArray = most[engine.classes.reachable].max(axis=0)
    return largest


class BudgetSearch:
    """Bounds on the best reward within the model's budget, and courses that attain the lower one."""

    levels: Levels
    bounds: Bounds

    def __init__(self, engine: Engine, options: ArcsOptions | None = None) -> None:
        self.engine = engine  # its objective is the reward, and it is this search's from now on
        self.model = model = engine.model
        self.options = options or ArcsOptions()
        self.memory_limit = engine.memory_limit
        self.out_of_memory = False
        self.trials = 0
        self.budget = np.array(model.spending_limit, dtype=np.float64)  # writable, as kernels have it elsewhere
        self.n_levels = self.options.levels
        self.extra = [np.empty(0) for _ in range(model.n_costs)]  # levels that trials wanted
        x = engine.space
        self.cap = np.maximum(most_spent(engine), 1e-300)
        self.limited = self.budget < self.cap
        self._floor = np.minimum.reduceat(self.engine.ordered.cost, x.start[:-1], axis=1)  # [K, n_classes, A]
        self._cost_hint = self._least_costs()
        self.prices = np.zeros((1, model.n_costs))
        self._unpriced = False  # whether a price was tried in vain
        self._hints = [x.hint]
        self.courses = self._build_courses()
        self._lay_out()
        # Beyond this many steps nothing is left of a budget or a reward but rounding.
        deepest = np.log(1e-14) / np.log(model.discount)
        depth = int(min(len(engine.scratch.path), deepest + 2))
        self.steps = kernels.Steps(
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
        return float(self.bounds.upper[self.engine.root, self._root_level])

    @property
    def gap(self) -> float:
        """Upper minus lower bound."""
        return self.upper - self.lower if self.upper > -np.inf else 0.0

    @property
    def slack(self) -> float:
        """More than rounding can have done to a bound."""
        return self.engine.slack

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
        status, self.trials = kernels.search(self._parts(), root, budget, epsilon, tuning, work, self.trials, trials)
        if status == FULL:
            self._grow()

    def _parts(self) -> kernels.Search:
        e = self.engine
        return kernels.Search(
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
        if not self.options.hand_over or (self.budget < _LOOSE * self.cap)[self.limited].any():
            return
        self.engine.search(epsilon, work)
        self._fit()
        *_, sure = self.engine.best_totals()
        self.courses.loose[:] = np.minimum(self.cap, sure)

    def refine(self) -> bool:
        """More levels: where trials wanted them, else twice as many; False if there are as many as there may be."""
        n_levels = self.bounds.upper.shape[1]
        if n_levels >= self.options.most_levels or n_levels * int(self.courses.used[FILLED]) > _MOST_BOUNDS:
            return False
        wanted = self.steps.wanted[: self.courses.used[WANTED]]
        self.courses.used[WANTED] = 0
        before = self.extra
        if self.memory + storage.memory(self.bounds) * 5 // 4 > self.memory_limit:
            self.out_of_memory = True
            return True
        self.extra = [np.union1d(old, new) for old, new in zip(before, wanted.T, strict=True)]
        if all(len(old) == len(new) for old, new in zip(before, self.extra, strict=True)):
            self.n_levels *= 2
        self._lay_out()
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
            self._unpriced = True
            self.prices, self._hints = self.prices[:1], self._hints[:1]
            self._lay_out()
            return True
        price = dual_prices(self.courses.total[self.root_courses], self.lower, self.limited)
        if price is None or np.allclose(price, self.prices[-1], rtol=0.02, atol=1e-9):
            return False
        engine = self.engine
        m = engine.ordered.arrays
        self.prices = np.stack([self.prices[0], price])
        self._hints = [self._hints[0], engine._hint(np.asarray(m.reward - np.tensordot(price, m.cost, axes=1)))]
        self._lay_out()
        return True

    def bracket(self, rounds: int = 20, trials: int = 50) -> None:
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
                self._run(self.engine.root, budget, np.inf, tuning, 1, self.trials + 1)
                if self.needed[k] > low or self.courses.sure[self.thriftiest_course, k] < high:
                    break
            else:
                return

    # While acting

    def search_at(self, belief: int, left: FloatArray, epsilon: float, work: int) -> bool:
        """Run trials from a belief with a budget; False if more would change nothing."""
        self.courses.used[MOVED] = self.trials  # that trials elsewhere changed nothing says nothing here
        self._run(belief, left, epsilon, self.engine.options.tuning(), work, self.trials + work)
        return not (self.still or self.out_of_memory)

    def follow(self, course: int, observation: int) -> int:
        """The course that follows a course after an observation; itself if that was impossible."""
        while True:
            follower = int(kernels.follow(self._parts(), course, observation, self.engine.options.tuning()))
            if follower != kernels.NO_ROOM:
                return follower if follower != NONE else course
            self._grow()
            if self.out_of_memory:
                raise MemoryError("no room to follow the policy")

    def better(self, course: int, left: FloatArray) -> int:
        """The best course known where this one starts that keeps what is left of the budget."""
        best = int(kernels.best_at(self.courses, int(self.courses.info[course, BELIEF]), left))
        return best if best != NONE and self.courses.total[best, 0] > self.courses.total[course, 0] else course

    # Policy

    def first_action(self, course: int) -> int:
        """The action that a course begins with."""
        if self.is_leaf(course):
            return int(self.engine.plans.info[self.courses.info[course, LEAF], PLAN_ACTION])
        return int(self.courses.info[course, ACTION])

    def graph(self, start: int) -> tuple[IntArray, IntArray]:
        """A course as the actions [n] and successors [n, O] of a controller that starts at node 0."""
        e, c = self.engine, self.courses
        store, plans, x = e.store, e.plans, e.space
        n_actions, n_observations = self.model.n_actions, self.model.n_observations
        number: dict[tuple[int, int], int] = {}
        order: list[tuple[int, int]] = []

        def node(course: int, plan: int) -> int:
            if course != NONE and c.info[course, LEAF] != NONE:
                course, plan = NONE, int(c.info[course, LEAF])
            if (course, plan) not in number:
                number[course, plan] = len(order)
                order.append((course, plan))
            return number[course, plan]

        node(start, NONE)
        actions, successors = [], []
        for course, plan in order:
            row = np.zeros(n_observations, dtype=np.int64)
            if course != NONE:
                a, i = int(c.info[course, ACTION]), int(c.info[course, BELIEF])
                for n in range(store.degree[i, a]):
                    follower = int(c.link[c.info[course, LINKS] + n])
                    row[store.edge_obs[store.edge[i, a] + n]] = node(follower, NONE)
            else:
                a = int(plans.info[plan, PLAN_ACTION])
                pair = int(plans.info[plan, 0] * n_actions + a)
                for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
                    follower = int(plans.link[plans.info[plan, PLAN_LINKS] + f - x.seen_ptr[pair]])
                    row[x.seen_obs[f]] = node(NONE, follower)
            actions.append(a)
            successors.append(row)
        return np.array(actions, dtype=np.int64), np.array(successors, dtype=np.int64)

    def is_leaf(self, course: int) -> bool:
        """Whether a course is a plan."""
        return bool(self.courses.info[course, LEAF] != NONE)

    def followers(self, course: int) -> list[int]:
        """The courses that follow a course, none if it is a leaf."""
        if self.is_leaf(course):
            return []
        i, a, first = (int(n) for n in self.courses.info[course, [BELIEF, ACTION, LINKS]])
        return [int(n) for n in self.courses.link[first : first + self.engine.store.degree[i, a]]]

    def first_cost(self, course: int) -> FloatArray:
        """What a course's first step costs, [K]."""
        cost: FloatArray = self.bounds.cost[self.courses.info[course, BELIEF], :, self.first_action(course)]
        return cost

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

    def _lay_out(self) -> None:
        """Levels, relaxations and bounds for the present number of levels and prices, from what there was before."""
        e, k = self.engine, self.model.n_costs
        discount = self.model.discount
        per_cost = (
            self.n_levels if self.limited.sum() <= 1 else max(4, round((4 * self.n_levels) ** (1 / self.limited.sum())))
        )
        values = [
            level_values(self.budget[i], self._step_costs(i), discount, self.cap[i], per_cost, self.extra[i])
            if self.limited[i]
            else np.array([np.inf])
            for i in range(k)
        ]
        count = np.array([len(v) for v in values], dtype=np.int64)
        stride = np.concatenate([[1], np.cumprod(count[:-1])]).astype(np.int64) if k else np.empty(0, dtype=np.int64)
        n_levels, most = int(count.prod()), int(count.max(initial=1))
        value = np.full((k, most), np.inf)
        for i, v in enumerate(values):
            value[i, : len(v)] = v
        tuples = np.stack([value[i, np.arange(n_levels) // stride[i] % count[i]] for i in range(k)])  # [K, L]
        spending, which = np.unique(np.moveaxis(self._floor, 0, 2).reshape(-1, k), axis=0, return_inverse=True)
        part = np.empty((k, most), dtype=np.int64)
        levels = Levels(
            value=value,
            n=count,
            stride=stride,
            part_of=np.stack([np.arange(n_levels) // stride[i] % count[i] for i in range(k)]),
            price=self.prices,
            cap=self.cap,
            worth=self.prices @ np.minimum(tuples, self.cap[:, None]),
            floor=spending[which.ravel()],
            which=np.ascontiguousarray(which.ravel(), dtype=np.int64),
            after=np.empty((len(spending), n_levels), dtype=np.int64),
            hint=np.stack(self._hints),
            cost_hint=self._cost_hint,
            worst=float(e.space.gain[0].min() / (1 - discount)) - 1.0,
            relaxed=bool(self.options.relaxation),
            monotone=bool(self.options.monotone),
        )
        list_maps(levels, np.ascontiguousarray(spending), discount, part, levels.after)
        old = (self.levels, self.bounds) if self.courses.used[FILLED] else None
        self.levels = levels
        self.scratch = LevelScratch(
            row=np.empty((5, n_levels)),
            map=np.empty(n_levels, dtype=np.int64),
            part=part,
            need=np.empty(k),
            rest=np.empty(k),
            sure=np.empty(k),
            worth=np.empty(len(self.prices)),
        )
        n, n_actions, n_prices = len(e.store.info), self.model.n_actions, len(self.prices)
        self.bounds = Bounds(
            reward=np.empty((n, n_actions)),
            cost=np.empty((n, k, n_actions)),
            hint=np.empty((n, n_prices, n_actions)),
            hi=np.empty((n, n_prices, n_levels)),
            lo=np.empty((n, n_prices, n_levels)),
            upper=np.empty((n, n_levels)),
            least=np.empty((n, k)),
        )
        self._root_level = int(
            sum(np.searchsorted(value[i, : count[i]], self.budget[i] * (1 - 1e-13)) * stride[i] for i in range(k))
        )
        if old is not None:
            self._carry_over(*old)
            self.courses.used[MOVED] = self.trials

    def _carry_over(self, levels: Levels, bounds: Bounds) -> None:
        """Take over what was known at other levels: a level is bounded by the next one that is no lower."""
        used, k = int(self.courses.used[FILLED]), self.model.n_costs
        new, n_levels = self.bounds, self.bounds.upper.shape[1]
        place = np.zeros(n_levels, dtype=np.int64)
        for i in range(k):
            mine = self.levels.value[i, np.arange(n_levels) // self.levels.stride[i] % self.levels.n[i]]
            theirs = levels.value[i, : levels.n[i]]
            place += np.searchsorted(theirs, mine) * levels.stride[i]
        for name in ("reward", "cost", "least"):
            getattr(new, name)[:used] = getattr(bounds, name)[:used]
        new.upper[:used] = bounds.upper[:used][:, place]
        kept = len(self.prices) if np.array_equal(levels.price[: len(self.prices)], self.prices) else 1
        new.hint[:used, :kept] = bounds.hint[:used, :kept]
        new.hi[:used, :kept] = bounds.hi[:used, :kept][:, :, place]
        kernels.refill(self._parts(), kept, _ROUNDS)

    def _build_courses(self) -> Courses:
        e, k = self.engine, self.model.n_costs
        leaf_ptr, leaf_plan, leaf_floor = self._leaves()
        room = _COURSES + int(np.diff(leaf_ptr).max()) * len(e.store.info)
        return Courses(
            info=np.empty((room, 5), dtype=np.int64),
            total=np.empty((room, 1 + k)),
            sure=np.empty((room, k)),
            link=np.empty(4 * _COURSES, dtype=np.int64),
            head=np.full(len(e.store.info), NONE),
            leaf_ptr=leaf_ptr,
            leaf_plan=leaf_plan,
            leaf_floor=leaf_floor,
            limited=self.limited.astype(np.int64),
            loose=np.where(self.options.hand_over, self.cap, np.inf),
            used=np.zeros(8, dtype=np.int64),
        )

    def _leaves(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Blind plans that no other blind plan of their class beats in reward, cost and sure cost at once."""
        e = self.engine
        x, plans, k = e.space, e.plans, self.model.n_costs
        n_classes, n_actions = len(x.start) - 1, self.model.n_actions
        n_plans, sizes = n_classes * n_actions, np.diff(x.start)
        rows = len(x.gain)
        vectors = np.empty((n_actions, 1 + k, len(x.class_of)))  # reward, then costs with their sign turned
        for c in range(n_classes):
            at = int(plans.info[c * n_actions, VALUES])
            block = plans.value[at : at + n_actions * rows * sizes[c]].reshape(n_actions, rows, sizes[c])
            vectors[:, :, x.start[c] : x.start[c + 1]] = block[:, rows - 1 - k :]
        vectors[:, 1:] *= -1.0
        sure = plans.sure[:n_plans].reshape(n_classes, n_actions, k)
        floor = blind_sure_costs(np.moveaxis(self._floor, 0, 2), x.seen_ptr, x.seen_class, self.model.discount)
        kept = np.ones((n_classes, n_actions), dtype=bool)
        for a in range(n_actions):
            for better in range(n_actions):
                if a == better:
                    continue
                beats = np.logical_and.reduceat((vectors[better] >= vectors[a]).all(axis=0), x.start[:-1])
                beats &= (sure[:, better] <= sure[:, a]).all(axis=1) & kept[:, better]
                kept[:, a] &= ~beats
        if not self.options.leaves:
            kept[:] = False
        kept[np.arange(n_classes), plans.default % n_actions] = True
        pairs = np.flatnonzero(kept)
        leaf_ptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
        return leaf_ptr, pairs.astype(np.int64), np.ascontiguousarray(floor.reshape(-1, k)[pairs])

    def _least_costs(self) -> FloatArray:
        """Vectors [K, S, A] below the least expected costs, or [K, 0, 0] if they are all zero."""
        k = self.model.n_costs
        vectors = np.stack([cost_fib_vectors(self.engine.ordered, i).T for i in range(k)])
        if not vectors.min(axis=2).any() or not self.options.needs:
            return np.zeros((k, 0, 0))
        return np.ascontiguousarray(vectors)

    def _step_costs(self, k: int) -> FloatArray:
        """A few costs that steps have: of classes first, then of states."""
        found = np.unique(np.concatenate([np.unique(self._floor[k]), np.unique(self.engine.ordered.cost[k])]))
        return found if found.size <= 8 else np.unique(self._floor[k])[:8]

    def _grow(self) -> None:
        """More room wherever one more expansion, plan or course may not fit."""
        e = self.engine
        elsewhere, room = storage.memory(self.bounds, self.courses), len(self.bounds.upper)
        per_belief = storage.memory(self.bounds) // room
        more = storage.grown(e.space, e.store, e.plans, self.memory_limit - elsewhere, per_belief)
        self.out_of_memory = more is None
        if more is None:
            return
        e.store = more
        self._fit()

    def _fit(self) -> None:
        """Room for the bounds and courses of all beliefs that the store has room for."""
        e, c = self.engine, self.courses
        try:
            storage.lengthen([*self.bounds, c.head], len(e.store.info))
            new, leaves = int(e.store.used[BELIEFS] - c.used[FILLED]), int(np.diff(c.leaf_ptr).max())
            if c.used[COURSES] + (new + 1) * leaves + 1 > len(c.info):
                storage.lengthen([c.info, c.total, c.sure], 3 * len(c.info) // 2 + (new + 1) * leaves)
            if c.used[COURSE_LINKS] + self.model.n_observations > len(c.link):
                storage.lengthen([c.link], 2 * len(c.link) + self.model.n_observations)
        except MemoryError:
            self.out_of_memory = True
