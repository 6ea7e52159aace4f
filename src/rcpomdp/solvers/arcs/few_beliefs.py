"""Models with few beliefs: an RC-POMDP is then a small MDP over (belief, budget left), solved on ever finer levels.

Where all histories together lead to some hundred beliefs, nothing has to be searched: value iteration bounds the
optimum from above with what is left rounded up to a level, and from below with it rounded down
(`kernels.arcs.few_beliefs`). Each grid of levels starts from the bounds of the one before, and the second from those
for budgets that are kept in expectation, too (`solvers.arcs.expected_budgets`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ... import deadline
from ..._types import FloatArray, IndexArray, IntArray
from ...kernels.arcs import few_beliefs as kernels
from ...kernels.arcs.few_beliefs import NONE, BeliefMDP, Bounds, Grid, Room
from ...kernels.pointbased.beliefs import SAME, expand_all
from ...model import CPOMDP
from ...policies import ControllerPolicy
from ...policies.equal_nodes import NOWHERE, closed, merge_equal
from ..belief_graph.search import Objective
from ..early import finishing
from ..effort import Effort
from ..pointbased.levels import level_values
from ..pointbased.search import PointBasedSearch
from ..pointbased.switches import PointBasedSwitches
from ..result import INFEASIBLE, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, STALLED, TIME_LIMIT, Result, TracePoint
from ..warmup import loads_kernels, smallest_model
from .expected_budgets import ExpectedBudgets, expected_budgets
from .outcome import outcome

_MOST_STATES, _MOST_BELIEFS = 2000, 1000
_MOST_DISCOUNT = 0.995
_LOOK = PointBasedSwitches(informed="fib", informed_levels=False)
_FIRST = 256  # levels of a cost, to begin with; if there are two, the square root of 16 times as many
_FINER = 4  # times as many levels in the next grid
_DEPTH, _DEEPER = 4.0, 1.0  # levels go down to the budget's e^-4-th part, and deeper in each grid
_STEP_COSTS = 64  # different costs of a step that levels are made for
_STRIDE = 100  # sweeps between looks at the clock
_EXPANSION = 50_000_000  # entries of transitions that are looked at in between when beliefs are expanded
_MOST_EDGES = 50_000_000  # steps between beliefs times actions after them; each sweep looks at all of them
_SWEEPS = 10_000  # until sure costs are settled, at most
_NO_LIMIT = 1 << 62
_SETTLED = 0.25  # share of the gap that further sweeps must promise
_NODES = 4096  # of a controller, to begin with
_EXACT = 1e-13  # relative change of a policy's totals in a sweep that is none
_MOST_CELLS = 10_000_000  # beliefs times levels up to which finer levels are worth it
_MOST_EXPECTED = 20_000_000  # the same times multipliers, up to which bounds start from budgets in expectation
_SHARE = 0.5  # of a time limit
_ADDED_UP = 1e-10  # share of a budget that rounding may add up to where nothing is discounted
_LEAST_SHARE = 1e-6  # of such a budget that a step costs; levels are too coarse for less
_ROUNDING = 0.1  # share of the tolerance that is for rounding
_SOME = 10  # sweeps of the next grid that there must be time for
_BLINK = 0.05  # seconds between points of the trace
_MOST_COSTS = 2  # budgets that a grid can have; with more it is too coarse


class FewBeliefs:
    """A model's beliefs, closed under all that can follow, with bounds over a grid of levels."""

    def __init__(self, search: PointBasedSearch) -> None:
        self.search = search
        self.memory_limit = search.memory_limit
        self.model, self.limited = search.model, np.flatnonzero(search.limited)
        self.unlimited = search.unlimited[search.limited]
        # A little of what is allowed for rounding is kept for it.
        given, limit = np.asarray(search.model.budget)[self.limited], search.budget[self.limited]
        self.budget = given + (1 - _ROUNDING) * (limit - given)
        self.mdp, self.informed, self._observation = _belief_mdp(search, self.limited)
        _in_strides(lambda sweeps: kernels.settle_sure(self.mdp, sweeps), self.mdp.sure)
        self.grids = 0
        self.sweeps = 0
        self._expected: ExpectedBudgets | None = None
        self._lay_out()
        kernels.start(self.mdp, self.grid, self.bounds, self.informed)

    @property
    def n_beliefs(self) -> int:
        """Number of beliefs."""
        return len(self.mdp.reward)

    @property
    def lower(self) -> float:
        """Lower bound on the optimum; −inf while nothing is known to keep the budget."""
        return float(self.bounds.lower[0, self._root])

    @property
    def upper(self) -> float:
        """Upper bound on the optimum; −inf if nothing can keep the budget."""
        if (self.needed[self.limited] * (1 - kernels.SNAP) > self.search.budget[self.limited]).any():
            return -np.inf
        return float(self.bounds.upper[0, self._root])

    @property
    def needed(self) -> FloatArray:
        """Least budget of each cost that is not ruled out, [K]."""
        needed = np.zeros(self.model.n_costs)
        needed[self.limited] = self.mdp.need[0].min(axis=0)
        return needed

    @property
    def slack(self) -> float:
        """More than rounding, and taking beliefs that agree to `SAME` for one, can have done to a bound."""
        largest = max(float(np.abs(self.informed).max()), float(np.abs(self.mdp.value).max()))
        return 8 * SAME * (largest + float(np.abs(self.mdp.reward).max())) / self.model.fade

    def sweep(self) -> float:
        """Back up all beliefs at all levels; return the largest change."""
        self.sweeps += 1
        deadline.charge(deadline.PRODUCT * self.mdp.child.size * self.bounds.upper.shape[1])
        return float(kernels.sweep(self.mdp, self.grid, self.bounds, self.room))

    def refine(self, memory_limit: float) -> bool:
        """More levels; False if there are as many as is worth it."""
        n_levels = self.bounds.upper.shape[1]
        cells = _FINER * n_levels * self.n_beliefs
        if cells > _MOST_CELLS or 32 * cells > memory_limit:
            return False
        if self.grids == 1:  # easy models need none
            self._expected = expected_budgets(self.mdp, self.budget)
        grid, bounds = self.grid, self.bounds
        self._lay_out()
        above, below = _between(grid, self.grid)
        kernels.refine(bounds, self.bounds, above, below)
        if self._expected is not None and len(self._expected.multiplier) * self.bounds.upper.size <= _MOST_EXPECTED:
            np.minimum(self.bounds.upper, self._expected.at(self.grid), out=self.bounds.upper)
        return True

    def _lay_out(self) -> None:
        """Levels for the next grid, and room for its bounds."""
        k, depth = len(self.limited), _DEPTH + _DEEPER * self.grids
        n = round((_FIRST * 16 ** (k - 1) * _FINER**self.grids) ** (1 / k))
        values = [self._levels(j, n, depth) for j in range(k)]
        count = np.array([len(v) for v in values], dtype=np.int64)
        value = np.full((k, int(count.max())), np.inf)
        for j, v in enumerate(values):
            value[j, : len(v)] = v
        stride = np.cumprod([1, *count[:0:-1]])[::-1].astype(np.int64)
        n_levels = int(count.prod())
        self.grids += 1
        self.grid = Grid(value, count, stride)
        self.bounds = Bounds(np.empty((self.n_beliefs, n_levels)), np.empty((self.n_beliefs, n_levels)))
        self.room = Room(
            np.empty((2, n_levels)),
            np.empty((2, n_levels)),
            np.empty((2, n_levels), dtype=np.int64),
            np.empty((2, *value.shape), dtype=np.int64),
        )
        self._root = sum(
            int(np.searchsorted(v, b * (1 - 1e-12))) * int(s)
            for v, b, s in zip(values, self.budget, stride, strict=True)
        )

    def _levels(self, j: int, n: int, depth: float) -> FloatArray:
        """About n levels of a cost, from 0 to what is as good as unlimited."""
        costs = np.unique(self.mdp.cost[..., j])[:_STEP_COSTS]
        beta, unlimited = float(self.mdp.cost_discount[j]), float(self.unlimited[j])
        values = level_values(float(self.budget[j]), costs, beta, unlimited, n, depth)
        if self.grids and self.grid.counts[j] > 1:  # those of the grid before stay: bounds are taken over
            values = np.union1d(values, self.grid.value[j, 1 : self.grid.counts[j] - 1])
        least = np.unique(self.mdp.need[..., j].min(axis=1))  # a budget of just what is needed must not be rounded down
        if len(least) <= n:
            values = np.union1d(values, least)
        inside = values[(values > 0) & (values < unlimited)]
        return np.concatenate([[0.0], inside, [unlimited]])

    # The policy

    def controller(self) -> tuple[ControllerPolicy, float, FloatArray, FloatArray]:
        """The policy that attains the lower bound, with its exact reward, costs and sure costs.

        While nothing is known to keep the budget, it is the policy that needs the least share of it.
        """
        n_levels, n_actions = self.bounds.upper.shape[1], self.model.n_actions
        width, room = n_levels + self.mdp.value.shape[1], _NODES
        while True:
            if 8 * room * (2 + self.model.n_observations) + 4 * self.n_beliefs * width > self.memory_limit:
                raise MemoryError
            number = np.full(self.n_beliefs * width, NONE, dtype=np.int32)
            queue, actions = (np.zeros(room, dtype=np.int64) for _ in range(2))
            link = np.empty(room * self.model.n_observations, dtype=np.int64)
            queue[0] = self._root if self.lower > -np.inf else width - 1
            count, done = kernels.follow_best(self.mdp, self.grid, self.bounds, number, queue, actions, link)
            if done == count:
                break
            room *= 8
        actions, heads = actions[:count], queue[:count] // width
        pairs = heads * n_actions + actions
        degree = self.mdp.first[pairs + 1] - self.mdp.first[pairs]
        rows, starts = np.repeat(np.arange(count), degree), np.cumsum(degree) - degree
        edges = np.repeat(self.mdp.first[pairs] - starts, degree) + np.arange(len(rows))
        successors = np.full((count, self.model.n_observations), NOWHERE)
        successors[rows, self._observation[edges]] = link[: len(rows)]
        merged, after = merge_equal(actions, successors)
        policy = ControllerPolicy(self.model, merged, closed(after))
        first = np.append(starts, len(rows))
        return policy, *self._evaluate(heads, actions, first, link[: len(rows)], self.mdp.chance[edges])

    def _evaluate(
        self, heads: IntArray, actions: IntArray, first: IntArray, link: IntArray, chance: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """Reward, costs and sure costs of a graph of beliefs from its first node."""
        b = self.search.parts.beliefs
        where = b.info["row"][heads]
        gain = np.concatenate([b.reward[where, actions][:, None], b.cost[where, :, actions]], axis=1)
        totals, sure = np.zeros_like(gain), np.zeros_like(gain[:, 1:])
        discounts = self.model.discount, np.array(self.model.cost_discount)
        most_sweeps = _SWEEPS if (discounts[1] == 1).any() else _NO_LIMIT
        kernels.evaluate(gain, first, link, chance, *discounts, _EXACT, most_sweeps, totals, sure)
        return float(totals[0, 0]), totals[0, 1:], sure[0]


def _belief_mdp(search: PointBasedSearch, limited: IntArray) -> tuple[BeliefMDP, FloatArray, IndexArray]:
    """The MDP of the beliefs there are, what they are worth at most without a budget, and the edges' observations."""
    s = search.parts
    b, n, n_actions = s.beliefs, int(s.counts["beliefs"][0]), search.model.n_actions
    info = b.info[:n]
    rows = info["row"]
    degree = b.degree[rows]
    first = np.concatenate([[0], np.cumsum(degree.ravel())]).astype(np.int64)
    at = np.repeat(b.edge[rows].ravel() - first[:-1], degree.ravel()) + np.arange(first[-1])
    cost = np.ascontiguousarray(np.moveaxis(b.cost[rows][:, limited], 1, 2))
    corner = s.informed.corner[0, -1]  # [S, A]
    informed = np.empty(n)
    for i, (start, size) in enumerate(zip(info["offset"].tolist(), info["size"].tolist(), strict=True)):
        informed[i] = (b.prob[start : start + size] @ corner[b.state[start : start + size]]).max()
    mdp = BeliefMDP(
        discount=search.model.discount,
        cost_discount=np.ascontiguousarray(search.model.cost_discount[limited]),
        snap=min(1e-12, 1e-10 * search.model.fade, _ADDED_UP * _least_share(search.model)),
        reward=np.ascontiguousarray(b.reward[rows]),
        cost=cost,
        first=first,
        child=np.ascontiguousarray(b.edge_child[at]),
        chance=np.ascontiguousarray(b.edge_prob[at]),
        need=cost.copy(),
        steady=np.tile(np.arange(n_actions + 1), (n, 1)),
        value=np.empty((n, n_actions + 1)),
        sure=np.tile(search.unlimited[limited], (n, n_actions + 1, 1)),
    )
    _in_strides(lambda sweeps: kernels.raise_needs(mdp, sweeps), mdp.need)
    # One action for ever, and last what needs the least share of the budget.
    with np.errstate(over="ignore"):  # of a budget of nothing
        share = mdp.need / np.maximum(search.budget[limited], 1e-300)
    mdp.steady[:, -1] = share.max(axis=2, initial=0.0).argmin(axis=1)
    for policy, actions in enumerate(mdp.steady.T):
        deadline.check()
        mdp.value[:, policy] = _value(mdp, actions)
    return mdp, informed, b.edge_obs[at]


def _in_strides(sweep: Callable[[int], None], values: FloatArray) -> None:
    """Sweep until values stay as they are, or there were many sweeps, with looks at the clock in between."""
    for _ in range(_SWEEPS // _STRIDE):
        deadline.check()
        before = values.copy()
        sweep(_STRIDE)
        if np.array_equal(before, values):
            break


def _value(mdp: BeliefMDP, actions: IntArray) -> FloatArray:
    """Value of a policy over beliefs, [N]."""
    n = len(actions)
    pairs = np.arange(n) * mdp.reward.shape[1] + actions
    degree = mdp.first[pairs + 1] - mdp.first[pairs]
    edges = np.repeat(mdp.first[pairs] - np.cumsum(degree) + degree, degree) + np.arange(degree.sum())
    step = sp.csr_array((mdp.chance[edges], (np.repeat(np.arange(n), degree), mdp.child[edges])), (n, n))
    system = sp.csc_array(sp.identity(n, format="csc") - mdp.discount * step)
    value: FloatArray = splu(system).solve(mdp.reward[np.arange(n), actions])
    return value


def _between(old: Grid, new: Grid) -> tuple[IntArray, IntArray]:
    """For each level of a grid the next one of an older grid that is no lower, and the next that is no higher."""
    n_levels = int(new.counts.prod())
    above, below = np.zeros(n_levels, dtype=np.int64), np.zeros(n_levels, dtype=np.int64)
    for k, (n_old, n_new) in enumerate(zip(old.counts, new.counts, strict=True)):
        place = np.arange(n_levels) // new.stride[k] % n_new
        up = np.searchsorted(old.value[k, :n_old], new.value[k, :n_new])
        down = np.searchsorted(old.value[k, :n_old], new.value[k, :n_new], side="right") - 1
        above += up[place] * old.stride[k]
        below += down[place] * old.stride[k]
    return above, below


def may_have_few_beliefs(model: CPOMDP) -> bool:
    """True if it is worth a look how many beliefs there are, and iteration would get somewhere."""
    return (
        model.n_states <= _MOST_STATES
        and model.discount <= _MOST_DISCOUNT
        and not model.has_step_limits
        and _least_share(model) >= _LEAST_SHARE
    )


def _least_share(model: CPOMDP) -> float:
    """The least share of its budget that a step costs of what is not discounted, if it costs anything; 1 at most.

    What such a step loses or gains by rounding adds up: as often as it can be paid for.
    """
    shares = [1.0]
    for k in np.flatnonzero((model.cost_discount == 1) & (model.budget > 0) & np.isfinite(model.budget)).tolist():
        paid = model.cost[k][model.cost[k] > 0]
        shares.append(float(paid.min(initial=np.inf) / model.budget[k]) if paid.size else 1.0)
    return min(shares)


def few_beliefs(model: CPOMDP, memory_limit: float, over: Callable[[], bool]) -> FewBeliefs | None:
    """The model's beliefs if they are few and few of its budgets bind; else None."""
    if not may_have_few_beliefs(model):
        return None
    search = PointBasedSearch(
        model, Objective(1.0, np.zeros(model.n_costs)), np.array(model.spending_limit), _LOOK, memory_limit, 4
    )
    if not search.limited.any() or int((search.limited & (search.budget > 0)).sum()) > _MOST_COSTS:
        return None
    done, counts, stride = 0, search.parts.counts, _EXPANSION // model.arrays.t_prob.size
    while done < counts["beliefs"][0] <= _MOST_BELIEFS:
        s = search.parts
        enough = min(_MOST_BELIEFS, int(counts["beliefs"][0]) + stride)
        deadline.charge((enough - done) * model.arrays.t_prob.size)
        done = int(expand_all(s.space, s.beliefs, s.scratch, s.counts, done, enough))
        if done < counts["beliefs"][0]:
            search._make_room()
        if search.out_of_memory or over():
            return None
    if counts["beliefs"][0] > _MOST_BELIEFS or int(counts["edges"][0]) * model.n_actions > _MOST_EDGES:
        return None
    return FewBeliefs(search)


def solve_few(few: FewBeliefs, effort: Effort) -> Result:
    """Value iteration on ever finer levels, and the policy that attains the lower bound."""
    clock = effort.clock
    clock.ready()
    trace = [effort.first(_point(few, 0.0))]
    try:
        status = _iterate(few, effort, trace)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except MemoryError:
        status = MEMORY_LIMIT
    with finishing(clock):
        policy, reward, cost, sure = few.controller()
    trace.append(_point(few, clock.seconds, trace[-1]))
    if status in (STALLED, TIME_LIMIT) and trace[-1].upper - trace[-1].lower <= effort.epsilon:
        status = OPTIMAL  # by the levels that were laid out last
    return outcome(
        status,
        trace,
        clock.setup_seconds,
        effort.seed,
        policy=policy,
        reward=reward,
        cost=cost,
        sure_cost=sure,
        admissible=few.lower > -np.inf,
        needed=few.needed,
        visits=few.sweeps * few.n_beliefs,
        evidence=few,
    )


def _iterate(few: FewBeliefs, effort: Effort, trace: list[TracePoint]) -> str:
    """Sweeps until the bounds meet, with more levels whenever sweeps change little; return what ended it.

    That is "stalled" if a search should go on from here.
    """
    epsilon, clock = effort.epsilon, effort.clock
    while not trace[-1].upper - trace[-1].lower <= epsilon:
        if few.upper == -np.inf:
            return INFEASIBLE
        if clock.over:
            return TIME_LIMIT
        if clock.time_limit is not None and clock.elapsed > _SHARE * clock.time_limit:
            return STALLED
        began = clock.now()
        change = few.sweep()
        has_time = clock.left is None or _SOME * _FINER * (clock.now() - began) <= clock.left
        point = _point(few, clock.seconds, trace[-1])
        if point.seconds - trace[-1].seconds > _BLINK or point.upper - point.lower <= epsilon:
            trace.append(point)
            if effort.progress is not None:
                effort.progress(point)
        gap = few.upper - few.lower
        settled = change / few.model.fade <= _SETTLED * gap or change == 0.0
        if settled and (gap <= 2 * few.slack or not has_time or not few.refine(effort.memory_limit)):
            return STALLED
    return OPTIMAL


def _point(few: FewBeliefs, seconds: float, before: TracePoint | None = None) -> TracePoint:
    """The bounds now, rounded outward; what held before still does."""
    lower, upper = few.lower - few.slack, few.upper + few.slack
    if before is not None:
        lower, upper = max(lower, before.lower), min(upper, before.upper)
    return TracePoint(seconds, lower, upper, few.sweeps, few.n_beliefs, few.bounds.upper.shape[1])


@loads_kernels
def load_kernels() -> None:
    """Compile the kernels, or load them from the cache, before any clock runs."""
    few = few_beliefs(smallest_model(), np.inf, lambda: False)
    assert few is not None
    few.sweep()
    few.refine(np.inf)
    few.controller()
