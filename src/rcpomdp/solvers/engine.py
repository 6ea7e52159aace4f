"""The engine: a store of beliefs, plans and bounds for one objective, and the search that tightens them.

Built from any model and an objective ``μR − λ·C``. It starts from the fast informed bound (above) and blind plans
(below), and `search` runs trials of `kernels.search` until a gap is reached or the caller stops it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import beliefs
from .._types import FloatArray
from ..bounds.blind import blind_sure_costs, blind_vectors
from ..bounds.fib import fib_vectors
from ..bounds.mdp import mdp_q_values
from ..classes import in_class_order, observability_classes, one_class
from ..errors import InputError
from ..kernels import classes as class_kernels
from ..kernels import plans as plan_kernels
from ..kernels import search as search_kernels
from ..kernels import store as store_kernels
from ..kernels.plans import Plans
from ..kernels.search import Tuning
from ..kernels.store import (
    BELIEFS,
    EDGES,
    HI,
    LO,
    MAKING_BELIEFS,
    NONE,
    PLAN,
    PLAN_LINKS,
    PLAN_VALUES,
    PLANS,
    POOL,
    Scratch,
    Space,
    Store,
)
from ..model import CPOMDP
from ..policies import ControllerPolicy

_DEPTH = 4096  # steps of a trial at most
_ROUNDS = 10  # of backups over all beliefs after a change of objective
_FIRST_FORGET = 500  # plans made before idle ones are looked for


class Objective(NamedTuple):
    """``μR − λ·C``, what a search maximises."""

    reward: float  # μ
    costs: FloatArray  # λ [K]


@dataclass(frozen=True)
class EngineOptions:
    """Ideas that can be switched off, and how far they go."""

    classes: bool = True  # vectors and points live per observability class
    fib: bool = True  # start from the fast informed bound, not from the MDP's
    rays: bool = True
    sawtooth: bool = True
    lazy_actions: bool = True  # expand an action only when it is the best by its upper bound
    share: float = 0.5  # target of a deep trial, as a share of the current gap: they raise the lower bound
    wide_share: float = 0.95  # target of the wide trials that take turns with them: they bring down the upper bound
    forget: bool = True  # take idle plans off the lists
    least_weight: float = 0.02
    end_share: float = 0.25
    least_gain: float = 1e-3
    least_drop: float = 0.02

    def tuning(self) -> Tuning:
        """What the kernels are told."""
        return Tuning(
            share=float(self.share),
            wide_share=float(self.wide_share),
            least_weight=self.least_weight if self.rays else 2.0,
            end_share=self.end_share,
            least_gain=self.least_gain,
            least_drop=self.least_drop if self.sawtooth else 2.0,
            all_actions=not self.lazy_actions,
        )


class Engine:
    """Beliefs, plans and bounds for one model and objective; `root` is the initial belief."""

    def __init__(
        self,
        model: CPOMDP,
        objective: Objective,
        options: EngineOptions | None = None,
        memory_limit: float = np.inf,
    ) -> None:
        self.model = model
        self.memory_limit = memory_limit
        self.out_of_memory = False  # whether the search ended for want of memory
        self.objective = objective
        self.options = options or EngineOptions()
        classes = observability_classes(model) if self.options.classes else one_class(model)
        self.classes = classes
        self.ordered = in_class_order(model, classes)
        self.space = self._build_space()
        self.scratch = self._build_scratch()
        self._allocate()
        b = beliefs.initial(self.ordered)
        self.root = int(store_kernels.intern(self.space, self.store, *b, b.states.size))
        plan_kernels.refresh_lower(self.space, self.store, self.plans, self.root)
        self.trials = 0
        self._forget_at = int(self.store.used[PLANS]) + _FIRST_FORGET

    # Bounds

    @property
    def lower(self) -> float:
        """Lower bound on the objective at the initial belief."""
        return float(self.store.value[self.root, LO])

    @property
    def upper(self) -> float:
        """Upper bound on the objective at the initial belief."""
        return float(self.store.value[self.root, HI])

    @property
    def gap(self) -> float:
        """Upper minus lower bound."""
        return self.upper - self.lower

    @property
    def work(self) -> int:
        """Work done, in elementary steps."""
        return sum(self.profile.values())

    @property
    def profile(self) -> dict[str, int]:
        """Work done, in elementary steps, by what it was done for."""
        names = ("making beliefs", "testing plans", "making plans", "upper backups", "testing points")
        return {name: int(done) for name, done in zip(names, self.store.used[MAKING_BELIEFS:], strict=True)}

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of beliefs and plans."""
        return int(self.store.used[BELIEFS]), int(self.store.used[PLANS])

    def search(self, epsilon: float, work: int, share: float | None = None) -> None:
        """Run trials until the gap is at most epsilon or `work` is done; `share` overrides both options."""
        stop = self.work + work
        tuning = self.options.tuning()
        if share is not None:
            tuning = tuning._replace(share=share, wide_share=share)
        while self.work < stop and self.gap > epsilon and not self.out_of_memory:
            status, trials = search_kernels.search(
                self.space,
                self.store,
                self.plans,
                self.scratch,
                self.model.discount,
                self.root,
                epsilon,
                tuning,
                stop - self.work,
            )
            self.trials += trials
            if status == search_kernels.FULL:
                self._grow()
            if self.options.forget and self.store.used[PLANS] > self._forget_at:
                self._forget()

    def retarget(self, objective: Objective) -> None:
        """Start again for another objective, with the beliefs, edges, rays and plans there are."""
        if not self._keeps_reward:
            raise InputError("this engine was built without costs: it has no other objective")
        self.objective = objective
        m, x = self.space.model, self.space
        x.gain[0] = objective.reward * m.reward - np.tensordot(objective.costs, m.cost, axes=1)
        x.hint[:] = self._hint(x.gain[0])
        weights = np.concatenate([[objective.reward], -objective.costs])
        search_kernels.retarget(x, self.store, self.plans, weights, self.model.discount, _ROUNDS)
        plan_kernels.refresh_lower(x, self.store, self.plans, self.root)

    # Plans

    def best_totals(self) -> tuple[float, FloatArray, FloatArray]:
        """Expected reward, expected costs and sure costs of the best plan from the initial belief."""
        plan = self.best_plan
        totals = np.array(
            [
                plan_kernels.product(self.space, self.store, self.plans, self.root, plan, row)
                for row in range(len(self.space.gain))
            ]
        )
        if not self._keeps_reward:
            return float(totals[0]), totals[1:], np.empty(0)
        # What is never expected is never spent, whatever other states of the class would cost.
        return float(totals[1]), totals[2:], np.where(totals[2:] <= 0, 0.0, self.plans.sure[plan])

    @property
    def best_plan(self) -> int:
        """The plan that attains the lower bound."""
        return int(self.store.info[self.root, PLAN])

    def policy(self) -> ControllerPolicy:
        """The best plan as a graph: what follows each observation is a plan of its own."""
        g, x = self.plans, self.space
        n_actions = self.model.n_actions
        number: dict[int, int] = {self.best_plan: 0}
        order = [self.best_plan]
        successors = []
        for plan in order:
            pair = g.info[plan, 0] * n_actions + g.info[plan, plan_kernels.ACTION]
            row = np.zeros(self.model.n_observations, dtype=np.int64)
            for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
                follower = int(g.link[g.info[plan, plan_kernels.LINKS] + f - x.seen_ptr[pair]])
                if follower not in number:
                    number[follower] = len(order)
                    order.append(follower)
                row[x.seen_obs[f]] = number[follower]
            successors.append(row)
        actions = g.info[order, plan_kernels.ACTION]
        return ControllerPolicy(self.model, actions, np.array(successors))

    # Memory

    @property
    def memory(self) -> int:
        """Bytes allocated."""
        return sum(array.nbytes for part in (self.store, self.plans) for array in part)

    def _forget(self) -> None:
        """Take plans off the lists that are best at no belief, once there are many more than at the last look."""
        listed = plan_kernels.forget_idle(self.store, self.plans, int(self.store.used[BELIEFS]))
        self._forget_at = int(self.store.used[PLANS]) + max(_FIRST_FORGET, listed // 2)

    def _build_space(self) -> Space:
        m, model, classes = self.ordered.arrays, self.ordered, self.classes
        n_classes, n_actions = classes.n_classes, model.n_actions
        class_of = np.repeat(np.arange(n_classes, dtype=np.int32), classes.sizes)
        seen_ptr = np.zeros(n_classes * n_actions + 1, dtype=np.int64)
        by_obs = np.full(model.n_observations, NONE)
        none = np.empty(0, dtype=np.int64)
        class_kernels.list_observations(m, class_of, classes.start, by_obs, seen_ptr, none, none)
        seen_obs, seen_class = (np.empty(seen_ptr[-1], dtype=np.int64) for _ in range(2))
        class_kernels.list_observations(m, class_of, classes.start, by_obs, seen_ptr, seen_obs, seen_class)
        objective = self.objective.reward * m.reward - np.tensordot(self.objective.costs, m.cost, axes=1)
        self._keeps_reward = model.n_costs > 0  # else the reward is the objective, and one row does
        gain = np.concatenate([objective[None], m.reward[None], m.cost] if self._keeps_reward else [m.reward[None]])
        peak = np.maximum.reduceat(m.cost, classes.start[:-1], axis=1)  # [K, n_classes, A]
        return Space(
            model=m,
            class_of=class_of,
            start=classes.start,
            seen_ptr=seen_ptr,
            seen_obs=seen_obs,
            seen_class=seen_class,
            hint=self._hint(objective),
            gain=gain,
            peak=np.ascontiguousarray(np.moveaxis(peak, 0, 2)),
        )

    def _hint(self, objective: FloatArray) -> FloatArray:
        """Vectors [S, A] that bound the objective's value from above."""
        target = self.ordered._changed(arrays=self.ordered.arrays._replace(reward=objective))
        return np.ascontiguousarray(fib_vectors(target).T) if self.options.fib else mdp_q_values(target)

    def _build_scratch(self) -> Scratch:
        n = self.model.n_states
        return Scratch(
            acc=np.zeros(n),
            touched=np.empty(n, dtype=np.int32),
            state=np.empty(n, dtype=np.int32),
            prob=np.empty(n),
            mass=np.zeros(self.classes.n_classes),
            by_obs=np.zeros(self.model.n_observations, dtype=np.int64),
            path=np.empty(_DEPTH, dtype=np.int64),
            stack=np.empty(256, dtype=np.int64),
        )

    def _allocate(self) -> None:
        """Room for a start, and the blind plans."""
        x, n_actions = self.space, self.model.n_actions
        sizes = self.classes.sizes
        n_classes, rows, n_costs = len(sizes), len(self.space.gain), self.model.n_costs
        n_plans = n_classes * n_actions
        values = int(sizes.sum()) * n_actions * rows
        beliefs_, entries = 1024, 1024 + 8 * int(sizes.max())
        self.store = Store(
            info=np.empty((beliefs_, 10), dtype=np.int64),
            value=np.zeros((beliefs_, 3)),
            q_hi=np.empty((beliefs_, n_actions)),
            hint=np.empty((beliefs_, n_actions)),
            gain=np.empty((beliefs_, n_actions)),
            edge=np.empty((beliefs_, n_actions), dtype=np.int64),
            degree=np.zeros((beliefs_, n_actions), dtype=np.int64),
            state=np.empty(entries, dtype=np.int32),
            prob=np.empty(entries),
            edge_child=np.empty(4096, dtype=np.int64),
            edge_obs=np.empty(4096, dtype=np.int64),
            edge_prob=np.empty(4096),
            table=np.full(4096, NONE),
            point=np.empty(beliefs_, dtype=np.int64),
            older=np.empty(beliefs_, dtype=np.int64),
            newest=np.full(n_classes, NONE),
            used=np.zeros(12, dtype=np.int64),
        )
        vectors = blind_vectors(self.ordered, x.gain)
        sure = blind_sure_costs(x.peak, x.seen_ptr, x.seen_class, self.model.discount)
        info = np.empty((n_plans + 1024, 5), dtype=np.int64)
        value = np.empty(values + 1024 + 64 * int(sizes.max()) * rows)
        newest, default = np.empty(n_classes, dtype=np.int64), np.empty(n_classes, dtype=np.int64)
        # Plan c*A + a is blind action a from class c: in a class's list the last one is the newest.
        pair = np.arange(n_plans)
        info[:n_plans, 0] = pair // n_actions
        info[:n_plans, plan_kernels.ACTION] = pair % n_actions
        info[:n_plans, plan_kernels.LINKS] = x.seen_ptr[:-1]
        info[:n_plans, plan_kernels.OLDER] = np.where(pair % n_actions == 0, NONE, pair - 1)
        lengths = np.repeat(sizes * rows, n_actions)
        info[:n_plans, plan_kernels.VALUES] = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        for c in range(n_classes):
            first, last = x.start[c], x.start[c + 1]
            block = vectors[:, :, first:last]
            at = info[c * n_actions, plan_kernels.VALUES]
            value[at : at + block.size] = block.ravel()
            newest[c] = (c + 1) * n_actions - 1
            mean = block[:, 0].mean(axis=1)
            least = sure[c].sum(axis=1) if n_costs else np.zeros(n_actions)
            default[c] = c * n_actions + np.lexsort((-mean, least))[0]
        link = np.empty(x.seen_ptr[-1] + 4096, dtype=np.int64)
        action = np.repeat(np.tile(np.arange(n_actions), n_classes), np.diff(x.seen_ptr))
        link[: x.seen_ptr[-1]] = x.seen_class * n_actions + action
        all_sure = np.zeros((len(info), n_costs))
        all_sure[:n_plans] = sure.reshape(n_plans, n_costs)
        self.plans = Plans(info, all_sure, value, link, newest, default)
        self.store.used[PLANS] = n_plans
        self.store.used[PLAN_VALUES] = values
        self.store.used[PLAN_LINKS] = x.seen_ptr[-1]

    def _grow(self) -> None:
        """Double whatever is short of room for one more expansion or plan, if memory allows."""
        n_obs, largest = self.model.n_observations, int(self.classes.sizes.max())
        store = ("info", "value", "q_hi", "hint", "gain", "edge", "degree", "point", "older")
        short: list[tuple[Store | Plans, tuple[str, ...], int, int]] = [
            (self.store, store, BELIEFS, 3 * n_obs),
            (self.store, ("state", "prob"), POOL, 3 * n_obs * largest),
            (self.store, ("edge_child", "edge_obs", "edge_prob"), EDGES, n_obs),
            (self.plans, ("info", "sure"), PLANS, 1),
            (self.plans, ("value",), PLAN_VALUES, largest * len(self.space.gain)),
            (self.plans, ("link",), PLAN_LINKS, n_obs),
        ]
        sizes: list[tuple[Store | Plans, str, int, int]] = []
        for part, names, count, headroom in short:
            in_use, size = int(self.store.used[count]), len(getattr(part, names[0]))
            factor = 1
            while in_use + headroom > factor * size:
                factor *= 2
            sizes += [(part, name, in_use, factor * size) for name in names if factor > 1]
        added = sum(getattr(part, name).nbytes * (size // len(getattr(part, name))) for part, name, _, size in sizes)
        if self.memory + added > self.memory_limit:
            self.out_of_memory = True
            return
        for part, name, in_use, size in sizes:
            array = getattr(part, name)
            bigger = np.empty((size, *array.shape[1:]), dtype=array.dtype)
            bigger[:in_use] = array[:in_use]
            if isinstance(part, Store):
                self.store = self.store._replace(**{name: bigger})
            else:
                self.plans = self.plans._replace(**{name: bigger})
        if 2 * len(self.store.info) > len(self.store.table):
            self.store = self.store._replace(table=np.full(4 * len(self.store.info), NONE))
            store_kernels.rehash(self.store)
