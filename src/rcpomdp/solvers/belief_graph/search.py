"""The belief-graph search: a store of beliefs, plans and bounds for one objective, and the search that tightens them.

Built from any model and an objective ``μR − λ·C``. It starts from the fast informed bound (above) and blind plans
(below), and `search` runs trials of `kernels.belief_graph.search` until a gap is reached or the caller stops it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ... import deadline
from ..._types import FloatArray, IntArray
from ...bounds.fib import fib_vectors
from ...bounds.mdp import mdp_q_values
from ...kernels.belief_graph import plans as plan_kernels
from ...kernels.belief_graph import search as search_kernels
from ...kernels.belief_graph.interning import intern
from ...kernels.belief_graph.search import Tuning
from ...kernels.belief_graph.store import SAME, WORK
from ...model import CPOMDP, beliefs
from ...model.classes import in_class_order, observability_classes, one_class
from ...policies import ControllerPolicy
from . import storage

_ROUNDS = 10  # of backups over all beliefs after a change of objective
_NO_LIMIT = 2**62
_FIRST_FORGET = 500  # plans made before idle ones are looked for


class Objective(NamedTuple):
    """``μR − λ·C``, what a search maximises."""

    reward: float  # μ
    costs: FloatArray  # λ [K]


@dataclass(frozen=True)
class BeliefGraphSwitches:
    """Ideas that can be switched off, and how far they go."""

    merge: bool = True  # equal beliefs are stored once
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
        """The switches as kernels take them."""
        return Tuning(
            share=float(self.share),
            wide_share=float(self.wide_share),
            least_weight=self.least_weight if self.rays else 2.0,
            end_share=self.end_share,
            least_gain=self.least_gain,
            least_drop=self.least_drop if self.sawtooth else 2.0,
            all_actions=not self.lazy_actions,
        )


class BeliefGraphSearch:
    """Beliefs, plans and bounds for one model and objective; `root` is the initial belief, until it is moved."""

    def __init__(
        self,
        model: CPOMDP,
        objective: Objective,
        switches: BeliefGraphSwitches | None = None,
        memory_limit: float = np.inf,
    ) -> None:
        self.model = model
        self.memory_limit = memory_limit
        self.out_of_memory = False  # whether the search ended for want of memory
        self.objective = objective
        self.switches = switches or BeliefGraphSwitches()
        self.classes = observability_classes(model) if self.switches.classes else one_class(model)
        self.ordered = in_class_order(model, self.classes)
        m, objective_gain = self.ordered.arrays, self._objective_gain()
        # Without costs the reward is the objective, and one row does.
        self._keeps_reward = model.n_costs > 0 or objective.reward != 1
        rows = [objective_gain[None], m.reward[None], m.cost] if self._keeps_reward else [m.reward[None]]
        deadline.check()
        informed = self._informed(objective_gain)
        deadline.check()
        self.space = storage.build_space(
            self.ordered, self.classes, np.concatenate(rows), informed, self.switches.merge
        )
        self.scratch = storage.build_scratch(self.space)
        self.store = storage.build_store(self.space)
        self.plans = storage.build_plans(self.ordered, self.space, self.store)
        self.slack = self._slack()  # more than rounding can have done to a bound
        b = beliefs.initial(self.ordered)
        self.root = int(intern(self.space, self.store, *b, b.states.size))
        plan_kernels.refresh_lower(self.space, self.store, self.plans, self.root)
        self.trials = 0
        self._most_plans = self.sizes[1] + _FIRST_FORGET if self.switches.forget else _NO_LIMIT

    # Bounds

    @property
    def lower(self) -> float:
        """Lower bound on the objective at the root."""
        return float(self.store.info["lower"][self.root])

    @property
    def upper(self) -> float:
        """Upper bound on the objective at the root."""
        return float(self.store.info["upper"][self.root])

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
        return {name.replace("_", " "): int(self.store.counts[name][0]) for name in WORK}

    def _slack(self) -> float:
        """More than rounding, and taking beliefs that agree to `SAME` for one, can have done to a bound.

        Beliefs that differ by δ in sum differ in value by at most δ times the span of the values; each backup may add
        that much, and the roundings of its sums, to a bound.
        """
        blind = self.plans.value[: self.space.gain.size]
        highest, lowest = float(self.space.informed.max()), float(blind.min())
        largest = max(abs(highest), abs(lowest), float(np.abs(self.space.gain[0]).max()))
        return 4 * SAME * (highest - min(lowest, highest) + largest) / self.model.fade

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of beliefs and plans."""
        return int(self.store.counts["beliefs"][0]), int(self.store.counts["plans"][0])

    def search(self, epsilon: float, work: int, share: float | None = None) -> None:
        """Run trials until the gap is at most epsilon or `work` is done; `share` overrides both of the switches."""
        before = self.work
        stop = before + work
        tuning = self.switches.tuning()
        target = epsilon
        if share is not None:  # sharper than epsilon, too: a trial's target is no less than what the kernel is given
            tuning, target = tuning._replace(share=share, wide_share=share), share * epsilon
        while self.work < stop and self.gap > epsilon and not self.out_of_memory:
            status, self.trials = search_kernels.search(
                self.space,
                self.store,
                self.plans,
                self.scratch,
                self.model.discount,
                self.root,
                target,
                tuning,
                stop - self.work,
                self.trials,
                self._most_plans,
            )
            if status == search_kernels.FULL:
                more = storage.grown(self.space, self.store, self.plans, self.memory_limit)
                self.out_of_memory = more is None
                self.store = more or self.store
            if status == search_kernels.CROWDED:
                self.forget()
        deadline.charge(self.work - before)

    def aims_at(self, objective: Objective) -> bool:
        """True if this is the objective searched for."""
        mine = self.objective
        return mine.reward == objective.reward and np.array_equal(mine.costs, objective.costs)

    def retarget(self, objective: Objective) -> None:
        """Start again for another objective, with the beliefs, edges, rays and plans there are."""
        if not self._keeps_reward:  # its one objective is the reward
            return
        self.objective = objective
        x = self.space
        x.gain[0] = self._objective_gain()
        x.informed[:] = self._informed(x.gain[0])
        weights = np.concatenate([[objective.reward], -objective.costs])
        search_kernels.retarget(x, self.store, self.plans, weights, self.model.discount, _ROUNDS)
        self.slack = self._slack()
        plan_kernels.refresh_lower(x, self.store, self.plans, self.root)

    def move_root(self, b: beliefs.Belief) -> bool:
        """Search from another belief of `ordered`, one that can be reached; False if there is no room for it."""
        more = storage.grown(self.space, self.store, self.plans, self.memory_limit)
        if more is None:
            self.out_of_memory = True
            return False
        self.store = more
        self.root = int(intern(self.space, self.store, *b, b.states.size))
        plan_kernels.refresh_lower(self.space, self.store, self.plans, self.root)
        return True

    # Plans

    def best_totals(self) -> tuple[float, FloatArray, FloatArray]:
        """Expected reward, expected costs and sure costs of the best plan from the root."""
        return self.totals(self.best_plan)

    def totals(self, plan: int) -> tuple[float, FloatArray, FloatArray]:
        """Expected reward, expected costs and sure costs of a plan of the root's class from the root."""
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
        return int(self.store.info["plan"][self.root])

    @property
    def blind_plans(self) -> list[int]:
        """For each action, the plan of the root's class that takes it for ever."""
        first = int(self.store.info["cls"][self.root]) * self.model.n_actions
        return list(range(first, first + self.model.n_actions))

    def first_action(self, plan: int) -> int:
        """The action that a plan begins with."""
        return int(self.plans.info["action"][plan])

    @property
    def root_class(self) -> int:
        """The observability class of the root."""
        return int(self.store.info["cls"][self.root])

    def vectors(self, plan: int) -> FloatArray:
        """Reward and costs of a plan, [1 + K, states of its class], in the order of `ordered`."""
        x, info = self.space, self.plans.info[plan]
        width = int(x.start[info["cls"] + 1] - x.start[info["cls"]])
        rows = self.plans.value[info["values"] : info["values"] + len(x.gain) * width].reshape(len(x.gain), width)
        return np.array(rows[1:] if self._keeps_reward else rows)

    def sure_cost(self, plan: int) -> FloatArray:
        """What no history under a plan exceeds from any belief of its class, [K]."""
        return np.array(self.plans.sure[plan])

    def class_bounds(self, cls: int) -> tuple[int, int]:
        """The first state of a class in `ordered`, and the one after its last."""
        return int(self.space.start[cls]), int(self.space.start[cls + 1])

    def policy(self, start: int | None = None) -> ControllerPolicy:
        """A plan, the best unless given, as a graph: what follows each observation is a plan of its own."""
        return ControllerPolicy(self.model, *self.graph([self.best_plan if start is None else start]))

    def graph(self, starts: list[int]) -> tuple[IntArray, IntArray]:
        """Actions [n] and successors [n, O] of plans and all that may follow them; the given ones come first."""
        g, x = self.plans, self.space
        n_actions = self.model.n_actions
        number = {plan: i for i, plan in enumerate(starts)}
        order = list(number)
        successors = []
        for plan in order:
            pair = g.info["cls"][plan] * n_actions + g.info["action"][plan]
            row = np.zeros(self.model.n_observations, dtype=np.int64)
            for f in range(x.seen_ptr[pair], x.seen_ptr[pair + 1]):
                follower = int(g.link[g.info["links"][plan] + f - x.seen_ptr[pair]])
                if follower not in number:
                    number[follower] = len(order)
                    order.append(follower)
                row[x.seen_obs[f]] = number[follower]
            successors.append(row)
        return g.info["action"][order], np.array(successors)

    # Memory

    @property
    def memory(self) -> int:
        """Bytes allocated."""
        return storage.memory(self.store, self.plans)

    def forget(self) -> None:
        """Take plans off the lists that are best at no belief, once there are many more than at the last look."""
        listed = plan_kernels.forget_idle(self.store, self.plans, int(self.store.counts["beliefs"][0]))
        self._most_plans = self.sizes[1] + max(_FIRST_FORGET, listed // 2)

    def _objective_gain(self) -> FloatArray:
        """μR − λ·C, [S, A]."""
        m = self.ordered.arrays
        return np.asarray(self.objective.reward * m.reward - np.tensordot(self.objective.costs, m.cost, axes=1))

    def _informed(self, gain: FloatArray) -> FloatArray:
        """Vectors [S, A] that bound the value of a gain from above."""
        target = self.ordered._changed(arrays=self.ordered.arrays._replace(reward=gain))
        return np.ascontiguousarray(fib_vectors(target).T) if self.switches.fib else mdp_q_values(target)
