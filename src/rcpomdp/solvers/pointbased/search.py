"""The point-based search over beliefs and budget levels: bounds on one objective, and candidates that attain them.

Built from a model, an objective ``μR − λ·C`` and budgets. Without budgets it is SARSOP's search; with them, that of
ARCS. It starts from an informed bound (above) and blind plans (below), and `search` runs trials of
`kernels.pointbased.trials` until a gap is reached or the caller stops it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ... import deadline
from ..._types import BoolArray, FloatArray
from ...bounds.blind import blind_plans, largest_sure_costs
from ...bounds.fib import cost_fib_vectors
from ...kernels.pointbased import arrays, candidates, plans, strips, trials
from ...kernels.pointbased.arrays import EXACT, NO_ROOM, NONE, WORK, Search, Space
from ...kernels.pointbased.beliefs import SAME, intern
from ...kernels.pointbased.levels import level_at
from ...model import CPOMDP, beliefs
from ...model.classes import in_class_order, observability_classes, one_class
from ...model.endings import adding_up
from ...policies import ControllerPolicy
from ..belief_graph.search import Objective
from ..belief_graph.storage import memory
from . import storage
from .informed_choice import InformedBounds, no_deadline
from .levels import build_levels, level_values, with_levels
from .policy import controller
from .switches import PointBasedSwitches

_NO_LIMIT = 2**62
_FIRST_FORGET = 500  # plans made before idle ones are looked for
_TINY = 1e-8  # of a budget is next to nothing
_LATE = 1e-6  # discount from which on it does not matter what next to nothing has grown to
_MOST_LEVELS = 1 << 16
_VARYING = 0.3  # share of the time for delays where costs vary within a class, so that levels tell little
_STEP_COSTS = 8  # different costs of a step that levels are made for


class PointBasedSearch:
    """Beliefs, bounds and candidates for one model, objective and budget; `root` is the initial belief."""

    parts: Search

    def __init__(
        self,
        model: CPOMDP,
        objective: Objective,
        budget: FloatArray | None = None,
        switches: PointBasedSwitches | None = None,
        memory_limit: float = np.inf,
        n_levels: int = 128,
        seed: int = 0,
        over: Callable[[], bool] = no_deadline,
        delay_seconds: float = 0.0,
    ) -> None:
        self.model = model
        self.memory_limit = memory_limit
        self.out_of_memory = False  # whether the search ended for want of memory
        self.objective = objective
        self.switches = switches or PointBasedSwitches()
        self.trials = 0
        self.classes = observability_classes(model) if self.switches.classes else one_class(model)
        self.ordered = in_class_order(model, self.classes)
        m, n_costs = self.ordered.arrays, model.n_costs
        objective_gain = self._objective_gain()
        # A search under a budget, or without costs, has the reward for its objective: one row does for both.
        self._keeps_reward = budget is None and (n_costs > 0 or objective.reward != 1)
        rows = [objective_gain[None], m.reward[None], m.cost] if self._keeps_reward else [m.reward[None], m.cost]
        unlimited = np.full(n_costs, np.inf)
        space = storage.build_space(
            self.ordered, self.classes, np.concatenate(rows), np.zeros((n_costs, 0, 0)), unlimited, unlimited, unlimited
        )
        deadline.check()
        self.unlimited = self._most_spent(space, model.cost_discount)
        # Classes may follow each other in a circle though the process surely ends: without a discount that is endless.
        at_every_step = adding_up(model.cost.max(axis=(1, 2), initial=0.0), np.full(n_costs, model.fade))
        self.cap = np.minimum(self._most_spent(space, model.discount), np.maximum(at_every_step, 1e-300))
        self.budget = unlimited if budget is None else np.array(budget, dtype=np.float64)
        self.limited: BoolArray = self.budget < self.unlimited
        space = storage.build_space(
            self.ordered,
            self.classes,
            np.concatenate(rows),
            self._least_costs() if self.limited.any() else np.zeros((n_costs, 0, 0)),
            np.where(self.limited, self.budget, np.inf),
            self.cap,
            self.unlimited,
            self.switches.merge,
        )
        deadline.check()
        if space.varies:
            delay_seconds *= _VARYING
        bounds = InformedBounds(self.ordered, space, self.switches, over, memory_limit, delay_seconds)
        has_levels = bool(self.limited.any()) and self.switches.informed_levels
        tables = [bounds.plain(objective_gain, is_all=not has_levels)]
        if has_levels:
            b0 = self.ordered.initial_belief
            blind = min(float(b0 @ plan.reward) for plan in blind_plans(self.ordered))
            best = float((b0 @ tables[0].corner[-1]).max())
            tables += bounds.over_budgets(objective_gain, self.budget, best - blind)
        informed = bounds.pack(tables)
        n_modes = 1 + (len(informed.multiplier) if space.varies else 0)
        deadline.check()
        tiny, trifle = self._tiny()
        self._n_levels = n_levels
        counts = np.zeros(1, dtype=arrays.COUNTS)
        counts["free_candidate"] = NONE
        # Beyond this many steps nothing is left of a budget or a reward but rounding.
        depth = int(min(model.steps_until(1e-14) + 2, 1e6))
        levels = build_levels(space, self._level_values(space, n_levels), tiny, trifle)
        self.parts = Search(
            space=space,
            informed=informed,
            levels=levels,
            beliefs=storage.build_beliefs(space),
            strips=storage.build_strips(n_modes),
            plans=storage.build_plans(self.ordered, space, counts),
            candidates=storage.build_candidates(n_costs),
            scratch=storage.level_scratch(
                storage.build_scratch(space, n_modes, len(informed.multiplier), len(informed.size), depth), levels
            ),
            counts=counts,
            most_tests=self.switches.most_tests,
        )
        self._chance = np.array([seed * 0x9E3779B9 + 1], dtype=np.uint64)
        b = beliefs.initial(self.ordered)
        self._make_room()
        self.root = int(intern(space, self.parts.beliefs, counts, *b, b.states.size))
        self._set_root()
        self._most_plans = self.sizes[1] + _FIRST_FORGET if self.switches.forget else _NO_LIMIT

    # Bounds

    @property
    def lower(self) -> float:
        """Lower bound on the objective at the root; −inf while nothing is known to keep the budget."""
        best = self.best_candidate
        return float(self.parts.candidates.total[best, 0]) if best != NONE else -np.inf

    @property
    def upper(self) -> float:
        """Upper bound on the objective at the root; −inf if nothing can keep the budget."""
        n = self.parts.strips
        at, size = (int(n.info[self._root_strip][field]) for field in ("at", "size"))
        return float(n.hi[at + np.searchsorted(n.level[at : at + size], self._root_level), EXACT])

    @property
    def gap(self) -> float:
        """Upper minus lower bound."""
        return self.upper - self.lower if self.upper > -np.inf else 0.0

    @property
    def infeasible(self) -> bool:
        """True if it is proven that no policy keeps the budget."""
        return self.upper == -np.inf

    @property
    def needed(self) -> FloatArray:
        """Least budget of each cost that is not ruled out, [K]."""
        return np.array(self.parts.beliefs.least[self.root])

    @property
    def slack(self) -> float:
        """More than rounding, and taking beliefs that agree to `SAME` for one, can have done to a bound.

        Beliefs that differ by δ in sum differ in value by at most δ times the span of the values; each backup may add
        that much, and the roundings of its sums, to a bound.
        """
        x, highest = self.parts.space, self._highest
        lowest = float(self.parts.plans.value[: x.gain.size].min())
        largest = max(abs(highest), abs(lowest), float(np.abs(x.gain[0]).max())) + self._largest_allowance
        return 4 * SAME * (highest - min(lowest, highest) + largest) / self.model.fade

    @property
    def late(self) -> float:
        """Late rewards that the upper bound may miss, from when next to nothing has grown to a budget."""
        if not np.isfinite(self.parts.levels.tiny).any():
            return 0.0
        return _LATE * (self._highest - self.parts.space.worst + self._largest_allowance)

    @cached_property
    def _highest(self) -> float:
        """The largest value of the informed bounds; these stay as they are, and may be very many."""
        corner = self.parts.informed.corner
        return max(float(layer.max(where=np.isfinite(layer), initial=-np.inf)) for table in corner for layer in table)

    @property
    def _largest_allowance(self) -> float:
        """The largest λ·d."""
        return float((self.parts.informed.multiplier @ np.where(self.limited, self.cap, 0.0)).max())

    # Candidates at the root

    @property
    def root_candidates(self) -> list[int]:
        """The candidates of the root, none of which dominates another."""
        info = self.parts.candidates.info
        found, candidate = [], int(self.parts.beliefs.info["candidate"][self.root])
        while candidate != NONE:
            found.append(candidate)
            candidate = int(info["next"][candidate])
        return found

    @property
    def best_candidate(self) -> int:
        """The candidate that attains the lower bound, or NONE."""
        return int(candidates.best_at(self.parts, self.root, self.budget))

    @property
    def thriftiest_candidate(self) -> int:
        """The candidate of the root that may spend the least share of the budget."""
        while not candidates.refresh_at(self.parts, self.root, self.parts.scratch.unlimited):  # none may fit the budget
            self._make_room()
        sure, budget = self.parts.candidates.sure, np.maximum(self.budget, 1e-300)
        share = {i: float((sure[i] / budget)[self.limited].max(initial=0.0)) for i in self.root_candidates}
        return min(share, key=lambda i: share[i], default=NONE)

    def totals(self, candidate: int) -> tuple[float, FloatArray]:
        """Expected reward and costs of a candidate of the root."""
        total = self.parts.candidates.total[candidate]
        return float(total[0]), total[1:].copy()

    def best_totals(self) -> tuple[float, FloatArray, FloatArray]:
        """Expected reward, expected costs and sure costs of the best candidate, which is a plan, from the root."""
        s, best = self.parts, self.best_candidate
        plan = int(s.candidates.info["plan"][best])
        row = len(s.space.gain) - 1 - self.model.n_costs
        reward = plans.product(s.space, s.beliefs, s.plans, self.root, plan, row)
        return float(reward), s.candidates.total[best, 1:].copy(), s.candidates.sure[best].copy()

    def policy(self) -> ControllerPolicy:
        """The best candidate, which is a plan, as a graph."""
        return controller(self, int(self.parts.candidates.info["plan"][self.best_candidate]))

    # Work and sizes

    @property
    def work(self) -> int:
        """Work done, in elementary steps."""
        return sum(self.profile.values())

    @property
    def profile(self) -> dict[str, int]:
        """Work done, in elementary steps, by what it was done for."""
        return {name.replace("_", " "): int(self.parts.counts[name][0]) for name in WORK}

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of beliefs, and of plans and candidates."""
        counts = self.parts.counts
        return int(counts["beliefs"][0]), int(counts["plans"][0])

    @property
    def memory(self) -> int:
        """Bytes allocated."""
        s = self.parts
        return memory(s.beliefs, s.strips, s.plans, s.candidates)

    # Search

    @property
    def still(self) -> bool:
        """True if more trials would change nothing."""
        return self.trials - int(self.parts.counts["moved"][0]) >= trials.STILL

    def search(self, epsilon: float, work: int, share: float | None = None, most_trials: int = _NO_LIMIT) -> None:
        """Run trials until the gap is at most epsilon or `work` is done; `share` overrides both of the switches."""
        before = self.work
        stop = before + work
        tuning = self.switches.tuning()
        target = epsilon
        if share is not None:  # sharper than epsilon, too: a trial's target is no less than what the kernel is given
            tuning, target = tuning._replace(share=share, wide_share=share), share * epsilon
        while self.work < stop and self.gap > epsilon and not self.out_of_memory:
            if self.still or self.trials >= most_trials or self.infeasible:
                break
            status, self.trials = trials.search(
                self.parts,
                self.root,
                self.budget,
                target,
                tuning,
                stop - self.work,
                self.trials,
                most_trials,
                self._most_plans,
                self._chance,
            )
            if status == trials.FULL:
                self._make_room()
            if status == trials.CROWDED:
                self.forget()
        deadline.charge(self.work - before)

    def forget(self) -> None:
        """Take plans off the lists that are a candidate nowhere, once there are many more than at the last look."""
        listed = plans.forget_idle(self.parts)
        self._most_plans = self.sizes[1] + max(_FIRST_FORGET, listed // 2)

    def refine(self) -> bool:
        """Add the levels that trials wanted, else twice as many as there are; False if there are as many as may be."""
        counts, x = self.parts.counts, self.parts.space
        wanted = self.parts.scratch.wanted[: int(counts["wanted"][0])]
        counts["wanted"] = 0
        before = self.parts.levels.counts.sum()
        levels = with_levels(x, self.parts.levels, [np.unique(w[np.isfinite(w)]) for w in wanted.T])
        if levels.counts.sum() == before and self._n_levels < _MOST_LEVELS:
            self._n_levels *= 2
            levels = with_levels(x, levels, self._level_values(x, self._n_levels))
        self.parts = storage.with_levels(self.parts, levels)
        self._set_root()
        counts["moved"] = self.trials
        return bool(levels.counts.sum() > before)

    # Arrays

    def _make_room(self) -> None:
        """More room wherever one more step or plan may not fit."""
        more = storage.grown(self.parts, self.memory_limit)
        self.out_of_memory = more is None
        self.parts = more or self.parts

    def _set_root(self) -> None:
        """Have a strip for the root, and know its candidates."""
        level = int(level_at(self.parts.levels, self.budget))
        self._root_level = level & ((1 << self.parts.levels.bits) - 1)
        while True:
            self._root_strip = int(strips.root_strip(self.parts, self.root, level))
            if self._root_strip != NO_ROOM and candidates.refresh_at(self.parts, self.root, self.budget):
                break
            self._make_room()

    def _most_spent(self, space: Space, discount: float | FloatArray) -> FloatArray:
        """The most that any policy can spend from any belief, [K]."""
        each = np.full(self.model.n_costs, discount)
        most = largest_sure_costs(space.peak, space.seen_ptr, space.seen_class, each)
        largest: FloatArray = np.maximum(most[self.classes.reachable].max(axis=0), 1e-300)
        return largest

    def _tiny(self) -> tuple[FloatArray, FloatArray]:
        """The least level of each cost, and what is a trifle there; NaN where that would be no trifle."""
        tiny = np.where(self.limited & (self.budget > 0), _TINY * self.budget, np.nan)
        return tiny, tiny / _LATE

    def _level_values(self, x: arrays.Space, n: int) -> list[FloatArray]:
        """About n levels for each cost that has a budget."""
        found = []
        for k in range(self.model.n_costs):
            if not self.limited[k]:
                found.append(np.array([np.inf]))
                continue
            of_states = np.unique(self.ordered.cost[k])
            costs = of_states if of_states.size <= _STEP_COSTS else np.unique(x.floor[..., k])[:_STEP_COSTS]
            values = level_values(self.budget[k], costs, float(self.model.cost_discount[k]), self.unlimited[k], n)
            tiny = _TINY * self.budget[k]
            found.append(np.concatenate([[tiny], values[values > tiny]]))
        return found

    def _least_costs(self) -> FloatArray:
        """Vectors [K, S, A] below the least expected costs, or [K, 0, 0] if they are all zero."""
        n_costs = self.model.n_costs
        vectors = np.stack([cost_fib_vectors(self.ordered, k).T for k in range(n_costs)])
        return np.ascontiguousarray(vectors) if vectors.min(axis=2).any() else np.zeros((n_costs, 0, 0))

    def _objective_gain(self) -> FloatArray:
        """μR − λ·C, [S, A]."""
        m = self.ordered.arrays
        return np.asarray(self.objective.reward * m.reward - np.tensordot(self.objective.costs, m.cost, axes=1))
