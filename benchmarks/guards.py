"""Simple peers of `rc.solve`, in numpy and scipy alone: bounds over budget levels, and guarded policies.

Bounds. `level_bound` tabulates an MDP, or the fast informed bound (FIB), over states and remaining budgets. Both are
upper bounds on the optimum. The agent is told the state (MDP), or the state before the last step (FIB), which cannot
hurt. It pays the least cost over the states that it may confuse with the true one, and a belief pays at least that
much, since every reachable belief lies within one observability class. The remaining budget is rounded up.

Guards. A guard follows a base policy as long as the way out stays affordable, whatever it observes next; else it takes
a step of the way out. The way out is the plan of least sure cost. Its nodes are the supports of beliefs where these are
few, else the classes. A support pays the largest cost of its states, and no belief over it pays more. So a guard keeps
its budget in every history.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_SUPPORTS = 20_000
TAIL = 1e-3  # simulations and level tables stop when a step weighs less
MOST_STEPS = 500  # of a simulation
MOST_TABLE_STEPS = 800
LEAST_LEVELS, MOST_LEVELS = 20, 2000  # of one budget
LEAST_SHARE = 0.2  # of the gain over the best blind action that a multiplier charges for the whole budget
SWEEPS = 6000
ROUNDING = 1e-9  # relative; the library allows as much


@dataclass
class Arrays:
    """A model as arrays, over the states that some policy reaches."""

    transition: list[Any]  # [A] CSR [S, S]
    observation: list[Any]  # [A] CSR [S, O]
    reward: Array  # [S, A]
    cost: Array  # [K, S, A]
    start: Array  # [S]
    gamma: float
    beta: Array  # [K]
    budget: Array  # [K]
    ended: Bools  # [S]
    classes: Ints  # [S] observability class of each state
    steps: int  # of a simulation
    table_steps: int  # of a level table; the rest is worth the value without a budget
    seen: list[Any] = field(default_factory=list)  # [A] CSR: T(s, s') Z(s', o), a row for each possible (s, o)
    seen_state: list[Ints] = field(default_factory=list)  # [A] the state s of each row

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.start)

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return len(self.transition)

    @property
    def n_costs(self) -> int:
        """Number of costs."""
        return len(self.cost)


def arrays_of(model: Any) -> Arrays:
    """Return the arrays of a model, without the states that nobody reaches."""
    kept, classes = observability_classes(model.transition, model.observation, model.initial_belief)
    transition = [_positive(t[kept][:, kept]) for t in model.transition]
    observation = [_positive(z[kept]) for z in model.observation]
    gamma, horizon = float(model.discount), model.horizon
    steps = horizon or math.ceil(math.log(TAIL) / math.log(gamma))
    made = Arrays(
        transition,
        observation,
        model.reward[kept],
        model.cost[:, kept],
        model.initial_belief[kept],
        gamma,
        np.array(model.cost_discount, dtype=float),
        np.array(model.budget, dtype=float),
        np.asarray(model.terminal)[kept],
        classes,
        min(steps, MOST_STEPS),
        min(steps, MOST_TABLE_STEPS),
    )
    for t, z in zip(transition, observation, strict=True):
        matrix, state = _by_observation(t, z)
        made.seen.append(matrix)
        made.seen_state.append(state)
    return made


def _positive(matrix: Any) -> Any:
    """Return a CSR copy without explicit zeros, which would turn −inf into nan."""
    made = sp.csr_array(matrix, copy=True)
    made.eliminate_zeros()
    return made


def observability_classes(transition: Sequence[Any], observation: Sequence[Any], start: Array) -> tuple[Ints, Ints]:
    """Return the reachable states and the finest partition of them that splits no reachable belief.

    The support of the initial belief is one block. All successors of a block under one action and one observation join
    into one block, until nothing changes.
    """
    n = len(start)
    reached = np.asarray(start) > 0
    label = np.where(reached, 0, np.arange(1, n + 1))  # an unreached state is a block of its own
    while True:
        _, label = np.unique(label, return_inverse=True)
        edges = [(np.arange(n), label + n)]
        n_blocks = int(label.max()) + 1
        offset = n + n_blocks
        member = sp.csr_array((np.ones(reached.sum()), (label[reached], np.flatnonzero(reached))), shape=(n_blocks, n))
        after = reached.copy()
        for t, z in zip(transition, observation, strict=True):
            block = (member @ t).tocoo()
            b, s = block.coords[0][block.data > 0], block.coords[1][block.data > 0]
            after[s] = True
            entry, count = _entries(z, s)
            positive = z.data[entry] > 0
            group = (np.repeat(b, count).astype(np.int64) * z.shape[1] + z.indices[entry])[positive]
            names, hub = np.unique(group, return_inverse=True)
            edges.append((np.repeat(s, count)[positive], offset + hub))
            offset += len(names)
        source = np.concatenate([e[0] for e in edges])
        target = np.concatenate([e[1] for e in edges])
        graph = sp.coo_array((np.ones(len(source)), (source, target)), shape=(offset, offset))
        _, joined = connected_components(graph, directed=False)
        _, joined = np.unique(joined[:n], return_inverse=True)
        if (after == reached).all() and joined.max() == label.max():
            kept = np.flatnonzero(reached)
            _, classes = np.unique(joined[kept], return_inverse=True)
            return kept, classes.astype(np.int64)
        reached, label = after, joined


def _by_observation(t: Any, z: Any) -> tuple[Any, Ints]:
    """Return T(s, s') Z(s', o) as a matrix with a row for each possible pair (s, o), and the state of each row."""
    moves, seen = sp.coo_array(t), sp.csr_array(z)
    s, s2 = moves.coords
    entry, count = _entries(seen, s2)
    weight = np.repeat(moves.data, count) * seen.data[entry]
    key = np.repeat(s, count).astype(np.int64) * seen.shape[1] + seen.indices[entry]
    keys, row = np.unique(key, return_inverse=True)
    matrix = sp.csr_array((weight, (row, np.repeat(s2, count))), shape=(len(keys), t.shape[0]))
    return matrix, keys // seen.shape[1]


def _entries(matrix: Any, rows: Ints) -> tuple[Ints, Ints]:
    """Return the positions of the entries of some rows of a CSR matrix, row after row, and how many each row has."""
    count = np.diff(matrix.indptr)[rows].astype(np.int64)
    first = np.repeat(matrix.indptr[rows] - np.cumsum(count) + count, count)
    return first + np.arange(count.sum()), count


# Values without a budget


def mdp_values(m: Arrays, gain: Array, start: Array | None = None) -> Array:
    """Return Q[s, a] of the MDP with the given rewards, from above and to rounding."""
    if start is None:
        most = gain.max() / (1 - m.gamma) if m.gamma < 1 else gain.max() * m.table_steps
        v = np.where(m.ended, 0.0, max(most, 0.0))
    else:
        v = start
    q = gain
    for _ in range(5000):
        q = np.stack([gain[:, a] + m.gamma * (t @ v) for a, t in enumerate(m.transition)], axis=1)
        new = q.max(axis=1)
        change = np.abs(new - v).max()
        v = new
        if change <= 1e-7 * (1 - m.gamma + 1e-3) * max(1.0, np.abs(v).max()):
            break
    return q


def fib_vectors(m: Arrays, gain: Array, sweeps: int = 400) -> Array:
    """Return the fast informed bound's vectors [S, A]: ``α_a(s) = r + γ Σ_o max_a' Σ_s' T Z α_a'(s')``."""
    alpha = mdp_values(m, gain)
    for _ in range(sweeps):
        new = np.empty_like(alpha)
        for a in range(m.n_actions):
            best = (m.seen[a] @ alpha).max(axis=1)
            new[:, a] = gain[:, a] + m.gamma * np.bincount(m.seen_state[a], best, m.n_states)
        change = np.abs(new - alpha).max()
        alpha = new
        if change <= 1e-5 * max(1.0, np.abs(alpha).max()) * (1 - m.gamma + 1e-3):
            break
    return alpha


def blind_values(m: Arrays) -> Array:
    """Return the expected reward of each action taken for ever, [A]."""
    found = np.empty(m.n_actions)
    for a, t in enumerate(m.transition):
        v = np.zeros(m.n_states)
        for _ in range(m.table_steps * 2):
            v = m.reward[:, a] + m.gamma * (t @ v)
        found[a] = m.start @ v
    return found


def multipliers(m: Arrays) -> Array:
    """Return λ [K] that minimises ``V_λ(b0) + λ·ĉ`` for the MDP of R − λ·C, all costs discounted by γ.

    The multiplier only scales the guards' base policies. Where it is small, a share of the gain over the best blind
    action per unit of budget takes its place.
    """
    value: list[Array] = []

    def dual(lam: Array) -> float:
        q = mdp_values(m, m.reward - np.tensordot(lam, m.cost, axes=1), value[0] if value else None)
        value[:] = [q.max(axis=1)]
        return float(m.start @ value[0] + lam @ m.budget)

    gain = float(m.start @ mdp_values(m, m.reward).max(axis=1)) - float(blind_values(m).max())
    unit = np.maximum(gain, 1e-6) / np.maximum(m.budget, 1e-6)
    lam = np.zeros(m.n_costs)
    for _ in range(1 if m.n_costs == 1 else 3):
        for k in range(m.n_costs):

            def at(x: float, k: int = k, lam: Array = lam) -> float:
                return dual(np.where(np.arange(m.n_costs) == k, x, lam))

            low, high = 0.0, unit[k]
            while at(high * 2) < at(high) and high < 1e3 * unit[k]:
                high *= 2
            high *= 2
            for _ in range(12):
                third = (high - low) / 3
                low, high = (low, high - third) if at(low + third) < at(high - third) else (low + third, high)
            lam = np.where(np.arange(m.n_costs) == k, (low + high) / 2, lam)
    return np.maximum(lam, LEAST_SHARE * unit)


# Bounds over budget levels


class Grid(NamedTuple):
    """Levels of one budget at each time: level i of L is a remaining budget of i / L of the span, in root units."""

    levels: int
    span: Array  # [steps + 1]


def _grid(m: Arrays, k: int, least: Array, most_levels: int) -> Grid:
    """Return levels that lose little to rounding.

    Spans are in units of the root, where a free step changes nothing and rounds nothing. A span shrinks once the
    budget exceeds the largest sum of costs still to come. Undiscounted costs that are multiples of one unit are exact.
    """
    beta, budget = m.beta[k], m.budget[k]
    steps = np.arange(m.table_steps + 1)
    values = np.unique(least)
    values = values[values > 1e-12]
    if beta == 1 and len(values):
        for parts in range(1, 11):
            unit = values[0] / parts
            if np.abs(values / unit - np.round(values / unit)).max() < 1e-6:
                levels = math.floor(budget / unit + 1e-6)
                if levels <= most_levels:
                    return Grid(max(levels, 1), np.full(len(steps), max(levels, 1) * unit))
                break
    largest = float(values[-1]) if len(values) else 0.0
    cap = largest / (1 - beta) if beta < 1 else math.inf
    span = np.minimum(budget, np.maximum(beta**steps * cap, 1e-12)) if largest else np.full(len(steps), budget)
    return Grid(most_levels if largest else 1, span)


def level_bound(m: Arrays, informed: bool, work: float) -> float | None:
    """Return the upper bound by the MDP over (state, remaining budget), or by FIB if `informed`.

    ``V_t(s, d) = max_a R(s, a) + γ Σ_s' T(s, a, s') V_t+1(s', (d − c(s, a)) / β)`` over the actions with c(s, a) ≤ d,
    where c(s, a) is the least cost over the class of s, the levels are rounded up, and the value after the last step
    is the one without a budget. Feasibility is part of it: a value is −inf where no action can be paid.

    `work` limits the multiplications, and so the number of levels; None if too few are left.
    """
    least = np.stack([_least_of_class(m, m.cost[k]) for k in range(m.n_costs)])  # [K, S, A]
    size = sum(t.nnz + 2 * m.n_states for t in m.transition)
    if informed:
        size = sum((x.nnz + 2 * x.shape[0]) * m.n_actions for x in m.seen)
    grids = _grids(m, least, int(work / (size * m.table_steps)))
    if grids is None:
        return None
    columns = math.prod(g.levels + 1 for g in grids)
    kinds = [_kinds(least[:, :, a]) for a in range(m.n_actions)]
    start = fib_vectors(m, m.reward) if informed else mdp_values(m, m.reward)
    q = [np.repeat(start[:, a, None], columns, axis=1) for a in range(m.n_actions)]
    for t in range(m.table_steps - 1, -1, -1):
        value, alphas, q = np.maximum.reduce(q), q, []
        maps: dict[tuple[float, ...], tuple[Ints, Bools]] = {}
        for a in range(m.n_actions):
            after = _informed(m, a, alphas) if informed else m.transition[a] @ value
            paid = np.empty_like(after)
            for costs, rows in kinds[a]:
                if costs not in maps:
                    maps[costs] = _after_paying(m, grids, costs, t)
                index, fits = maps[costs]
                part = after[rows][:, index]
                part[:, ~fits] = -math.inf
                paid[rows] = part
            q.append(m.reward[:, a, None] + m.gamma * paid)
    here = m.start > 0
    return max(float(m.start[here] @ x[here, -1]) for x in q)


def _grids(m: Arrays, least: Array, columns: int) -> list[Grid] | None:
    """Return a grid for each budget, with so many combined levels at most; None if that is too few."""
    grids: list[Grid] = []
    for k in range(m.n_costs):
        share = columns ** (1 / (m.n_costs - k))
        if share < LEAST_LEVELS:
            return None
        grids.append(_grid(m, k, least[k], min(int(share) - 1, MOST_LEVELS)))
        columns //= grids[-1].levels + 1
    return grids


def _informed(m: Arrays, a: int, alphas: Sequence[Array]) -> Array:
    """Return ``Σ_o max_a' Σ_s' T Z α_a'(s')`` for each state and level."""
    best = m.seen[a] @ alphas[0]
    for other in alphas[1:]:
        np.maximum(best, m.seen[a] @ other, out=best)
    return _summed(best, m.seen_state[a], m.n_states)


def _summed(rows: Array, state: Ints, n: int) -> Array:
    """Return the sums of the rows of each state; rows are in the order of states."""
    first = np.searchsorted(state, np.arange(n))
    total: Array = np.add.reduceat(rows, first, axis=0)
    return total


def _least_of_class(m: Arrays, cost: Array) -> Array:
    least = np.full((int(m.classes.max()) + 1, m.n_actions), np.inf)
    np.minimum.at(least, m.classes, cost)
    return least[m.classes]


def _kinds(costs: Array) -> list[tuple[tuple[float, ...], Ints]]:
    """Return the states by their costs [K, S] of one action."""
    values, inverse = np.unique(np.round(costs.T, 12), axis=0, return_inverse=True)
    return [(tuple(v.tolist()), np.flatnonzero(inverse.ravel() == i)) for i, v in enumerate(values)]


def _after_paying(m: Arrays, grids: Sequence[Grid], costs: tuple[float, ...], t: int) -> tuple[Ints, Bools]:
    """Return the level after a payment, rounded up, and whether it fits, for each combined level."""
    index, fits = np.zeros(1, dtype=np.int64), np.ones(1, dtype=bool)
    for k, (grid, cost) in enumerate(zip(grids, costs, strict=True)):
        here, then = grid.span[t] / grid.levels, grid.span[t + 1] / grid.levels
        rest = np.arange(grid.levels + 1) * here - m.beta[k] ** t * cost
        slack = ROUNDING * max(m.budget[k], here)
        to = np.clip(np.ceil((rest + slack) / then - 1e-9), 0, grid.levels).astype(np.int64)
        index = (index[:, None] * (grid.levels + 1) + to).ravel()
        fits = (fits[:, None] & (rest >= -slack)).ravel()
    return index, fits


# The way out


@dataclass
class Nodes:
    """Supports of beliefs, or classes, and the nodes that may follow; the initial belief's is the first."""

    by: str  # "supports" or "classes"
    after: Ints  # [n, A, O] the next node; −1 where the observation is impossible
    members: list[Ints]
    pair: Ints = field(init=False)  # first entry in `follows` of each pair (node, action)
    follows: Ints = field(init=False)  # distinct next nodes, pair after pair

    def __post_init__(self) -> None:
        n, actions, _ = self.after.shape
        flat = self.after.reshape(n * actions, -1)
        row, column = np.nonzero(flat >= 0)
        key = np.unique(row * n + flat[row, column])
        self.follows = key % n
        self.pair = np.searchsorted(key // n, np.arange(n * actions))

    def worst(self, w: Array) -> Array:
        """Return the largest value over what may be observed, [n, A]."""
        n, actions, _ = self.after.shape
        return np.maximum.reduceat(w[self.follows], self.pair).reshape(n, actions)


def nodes_of(m: Arrays) -> Nodes:
    """Return the supports if they are few, else the classes."""
    found = _supports(m)
    return Nodes("classes", *_class_nodes(m)) if found is None else Nodes("supports", *found)


@dataclass
class WayOut:
    """A plan of least sure cost over nodes."""

    nodes: Nodes
    action: Ints  # [n]
    sure: Array  # [K, n] no history from the node spends more
    sure_after: Array  # [K, n, A] the largest over what may be observed
    largest: Array  # [K, n, A] the largest cost of the node's states

    @property
    def from_start(self) -> Array:
        """The sure cost from the initial belief, [K]."""
        return self.sure[:, 0]


def way_out(m: Arrays, nodes: Nodes) -> WayOut:
    """Return the plan that minimises ``w(S) = min_a max_{s in S} C(s, a) + β max_o w(S_o)``.

    With several budgets it minimises the sum of their shares. Its costs are then followed one by one.
    """
    largest = np.stack([m.cost[:, states].max(axis=1) for states in nodes.members], axis=1)
    share = (m.cost / np.maximum(m.budget, 1e-9)[:, None, None]).sum(axis=0)
    shares = np.stack([share[states].max(axis=0) for states in nodes.members])
    beta = float(m.beta.max())
    most = math.inf if beta < 1 else m.n_costs + 1.0
    w = np.zeros(len(shares))
    q = shares
    for _ in range(SWEEPS):
        q = shares + beta * nodes.worst(w)
        new = np.minimum(q.min(axis=1), most)
        change = float((new - w).max())
        w = new
        if change <= 1e-7 * (1 - beta + 1e-5):
            break
    action = q.argmin(axis=1)
    sure = np.stack([_sure_cost(m, k, nodes, largest[k], action) for k in range(m.n_costs)])
    return WayOut(nodes, action, sure, np.stack([nodes.worst(x) for x in sure]), largest)


def _sure_cost(m: Arrays, k: int, nodes: Nodes, largest: Array, action: Ints) -> Array:
    """Return an upper bound on the cost that a plan over nodes spends in any history, [n].

    A cost that is not discounted and exceeds the budget counts as inf.
    """
    n, beta, budget = len(action), float(m.beta[k]), float(m.budget[k])
    each = np.arange(n)
    here, then = largest[each, action], nodes.after[each, action]
    possible = then >= 0
    ptr = np.concatenate([[0], np.cumsum(possible.sum(axis=1))[:-1]])
    follows = then[possible]
    w, change = np.zeros(n), math.inf
    for _ in range(SWEEPS):
        new = here + beta * np.maximum.reduceat(w[follows], ptr)
        if beta == 1:
            new[new > budget * (1 + 1e-6)] = math.inf
        moved = new != w
        change = float((new[moved] - w[moved]).max(initial=0.0))
        w = new
        if change <= 1e-11 * budget:
            break
    return w + change * beta / (1 - beta) if beta < 1 else w * (1 + 1e-9)


def sure_costs_of_blind(m: Arrays, out: WayOut) -> Array:
    """Return the sure costs of each action taken for ever, [K, A], from the initial belief."""
    blind = [np.full(len(out.action), a) for a in range(m.n_actions)]
    return np.array([[_sure_cost(m, k, out.nodes, out.largest[k], b)[0] for b in blind] for k in range(m.n_costs)])


def _supports(m: Arrays) -> tuple[Ints, list[Ints]] | None:
    """Return the supports of all reachable beliefs, the initial one first; None if they are too many."""
    n, width = m.n_states, m.observation[0].shape[1]
    moves = [(t > 0).astype(np.float32) for t in m.transition]
    columns = [[(o, np.flatnonzero(z[:, [o]].toarray().ravel() > 0)) for o in np.unique(z.indices)]
               for z in m.observation]  # fmt: skip
    first = m.start > 0
    number = {np.packbits(first).tobytes(): 0}
    rows: list[Bools] = [first]
    after: list[Ints] = []
    while len(after) < len(rows):
        batch = np.array(rows[len(after) : len(after) + 512])
        to = np.full((len(batch), m.n_actions, width), -1, dtype=np.int64)
        for a in range(m.n_actions):
            reached = (batch.astype(np.float32) @ moves[a]) > 0
            for o, states in columns[a]:
                part = reached[:, states]
                for i in np.flatnonzero(part.any(axis=1)):
                    support = np.zeros(n, dtype=bool)
                    support[states] = part[i]
                    key = np.packbits(support).tobytes()
                    if key not in number:
                        number[key] = len(rows)
                        rows.append(support)
                    to[i, a, o] = number[key]
            if len(rows) > MOST_SUPPORTS:
                return None
        after.extend(to)
    return np.array(after), [np.flatnonzero(row) for row in rows]


def _class_nodes(m: Arrays) -> tuple[Ints, list[Ints]]:
    """Return the classes as nodes, the initial one first."""
    first = int(m.classes[np.argmax(m.start > 0)])
    swap = {first: 0, 0: first}
    label = np.array([swap.get(c, c) for c in m.classes.tolist()])
    n, width = int(label.max()) + 1, m.observation[0].shape[1]
    after = np.full((n, m.n_actions, width), -1, dtype=np.int64)
    for a, (t, z) in enumerate(zip(m.transition, m.observation, strict=True)):
        moves = sp.coo_array(t)
        for s, s2 in zip(*moves.coords, strict=True):
            seen = z.indices[z.indptr[s2] : z.indptr[s2 + 1]]
            after[label[s], a, seen] = label[s2]
    return after, [np.flatnonzero(label == c) for c in range(n)]


# Guarded policies


@dataclass
class Base:
    """A policy for a guard to follow.

    It follows a controller, if it has one, until the guard overrules it once; from then on the action with the best
    value at the belief. A choosy guard takes the best affordable action in place of the way out.
    """

    name: str
    vectors: Array | None = None  # [S, A] values of actions; None: always the way out
    controller: tuple[Ints, Ints, int] | None = None  # actions [n], next nodes [n, O], first node
    choosy: bool = False


class Earned(NamedTuple):
    """The outcome of simulated runs of one guard."""

    name: str
    reward: float
    se: float
    spent: list[float]
    violations: int
    runs: int


class _Sampler:
    """Draws a column of a sparse stochastic matrix for each row that is asked for."""

    def __init__(self, matrix: Any) -> None:
        m = sp.csr_array(matrix)
        total = np.concatenate([[0.0], np.cumsum(m.data)])
        rows = np.repeat(np.arange(m.shape[0]), np.diff(m.indptr))
        within = total[1:] - total[m.indptr[rows]]
        self.cumulated = rows + np.minimum(within, 1.0)
        self.cumulated[m.indptr[1:] - 1] = np.arange(m.shape[0]) + 1.0
        self.columns = m.indices

    def __call__(self, rows: Ints, u: Array) -> Ints:
        found: Ints = self.columns[np.searchsorted(self.cumulated, rows + u, side="right")]
        return found.astype(np.int64)


@dataclass
class _Runs:
    """The runs that go on, in the order of their numbers."""

    number: Ints
    state: Ints
    belief: Array  # [n, S]
    node: Ints
    at: Ints  # node of the base policy's controller; −1 once the guard overruled it

    def only(self, kept: Bools) -> _Runs:
        """Return some of the runs."""
        return _Runs(*(getattr(self, name)[kept] for name in ("number", "state", "belief", "node", "at")))

    def of_guard(self, g: int, runs: int) -> slice:
        """Return the positions of one guard's runs."""
        return slice(*np.searchsorted(self.number, (g * runs, (g + 1) * runs)).tolist())


class _World:
    """Draws states and observations, and follows beliefs, nodes and controllers."""

    def __init__(self, m: Arrays, nodes: Nodes, bases: Sequence[Base], runs: int, seed: int) -> None:
        self.m, self.nodes, self.bases, self.runs = m, nodes, bases, runs
        self.rng = np.random.default_rng(seed)
        self.moves, self.sensors = [_Sampler(t) for t in m.transition], [_Sampler(z) for z in m.observation]
        self.turned = [sp.csr_array(t.T) for t in m.transition]
        self.seen = [np.ascontiguousarray(z.toarray().T) for z in m.observation]

    def begin(self) -> _Runs:
        """Return all runs at the initial belief."""
        m, n = self.m, self.runs * len(self.bases)
        at = np.repeat([-1 if b.controller is None else b.controller[2] for b in self.bases], self.runs)
        state = self.rng.choice(m.n_states, size=n, p=m.start)
        return _Runs(np.arange(n), state, np.repeat(m.start[None], n, axis=0), np.zeros(n, dtype=np.int64), at)

    def advance(self, now: _Runs, action: Ints) -> None:
        """Take one step in each run."""
        u, v = self.rng.random((2, len(action)))
        observed = np.empty(len(action), dtype=np.int64)
        for a in np.unique(action):
            rows = np.flatnonzero(action == a)
            now.state[rows] = self.moves[a](now.state[rows], u[rows])
            observed[rows] = self.sensors[a](now.state[rows], v[rows])
            follow = (self.turned[a] @ now.belief[rows].T).T * self.seen[a][observed[rows]]
            now.belief[rows] = follow / follow.sum(axis=1, keepdims=True)
        now.node = self.nodes.after[now.node, action, observed]
        for g, base in enumerate(self.bases):
            if base.controller is not None:
                rows = now.of_guard(g, self.runs)
                at = now.at[rows]
                now.at[rows] = np.where(at >= 0, base.controller[1][at, observed[rows]], -1)


def _chosen(now: _Runs, out: WayOut, bases: Sequence[Base], runs: int, fits: Bools) -> Ints:
    """Return the action of each run: the base policy's where it fits, else that of the way out."""
    action = out.action[now.node].copy()
    for g, base in enumerate(bases):
        rows = now.of_guard(g, runs)
        if base.vectors is None or rows.start == rows.stop:
            continue
        value = now.belief[rows] @ base.vectors
        if base.choosy:
            value[~fits[rows]] = -math.inf
        choice = value.argmax(axis=1)
        if base.controller is not None:
            choice = np.where(now.at[rows] >= 0, base.controller[0][now.at[rows]], choice)
        allowed = fits[rows][np.arange(len(choice)), choice]
        action[rows] = np.where(allowed, choice, action[rows])
        now.at[rows] = np.where(allowed, now.at[rows], -1)
    return action


def simulate(m: Arrays, out: WayOut, bases: Iterable[Base], runs: int, seed: int) -> list[Earned]:
    """Return what guards earn. All runs of all guards advance together; each keeps its exact belief."""
    bases = list(bases)
    reward, spent = np.zeros(runs * len(bases)), np.zeros((runs * len(bases), m.n_costs))
    violated = np.zeros(len(reward), dtype=bool)
    limit = m.budget * (1 + ROUNDING)
    world = _World(m, out.nodes, bases, runs, seed)
    now = world.begin()
    for t in range(m.steps):
        if m.ended[now.state].any():
            now = now.only(~m.ended[now.state])
        if not len(now.number):
            break
        weight = m.beta**t
        expected = np.stack([now.belief @ c for c in m.cost])  # [K, n, A]
        needed = expected + m.beta[:, None, None] * out.sure_after[:, now.node]
        fits = spent[now.number].T[:, :, None] + weight[:, None, None] * needed <= limit[:, None, None]
        action = _chosen(now, out, bases, runs, fits.all(axis=0))
        spent[now.number] += (weight[:, None] * expected[:, np.arange(len(action)), action]).T
        violated[now.number] |= (spent[now.number] > limit * (1 + ROUNDING)).any(axis=1)
        reward[now.number] += m.gamma**t * m.reward[now.state, action]
        world.advance(now, action)
    found = []
    for g, base in enumerate(bases):
        part = slice(g * runs, (g + 1) * runs)
        se = float(reward[part].std(ddof=1)) / math.sqrt(runs)
        mean = spent[part].mean(axis=0).tolist()
        found.append(Earned(base.name, float(reward[part].mean()), se, mean, int(violated[part].sum()), runs))
    return found
