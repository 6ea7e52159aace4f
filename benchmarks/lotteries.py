"""Bounds on the optimum for a finite k by brute force, which shares no code with the package.

The budget must hold, with what is expected after it, at every history of k − 1 steps. All trees of actions of that
depth are gone through. What follows one of their histories is a C-POMDP over the graph of the beliefs that can be met.
Its optimum is a linear program over the visits x(b, a) of a policy that may draw lots:

    max Σ x R    subject to    Σ_a x(b', a) = [b' is the first] + γ Σ_b,a x(b, a) P(b' | b, a),    Σ x C ≤ what is left.

With a horizon a belief has its time t; visits are then not discounted, and R and C are counted by γ^t and β^t. Without
one the graph may have to be cut off. From below one action is then done for ever, which one by a lot; from above
(r, c) may be had if ``r ≤ F_λ(b) + λ·c`` for all λ that are looked at, with the fast informed bound F_λ of ``R − λC``,
and if c is no less than what is expected at least by whoever knows the state.
"""

from __future__ import annotations

from typing import NamedTuple

import highspy
import numpy as np
import scipy.sparse as sp

from brute_force import ALLOWED, FORBIDDEN, PRICES, SAME, SWEEPS, Array, Model

TOLERANCE = 1e-9  # of the linear program
NOWHERE = -1  # what follows the last step


class Ends(NamedTuple):
    """What bounds a belief where the graph is cut off."""

    prices: Array  # [L, K]
    informed: Array  # [L, A, S] fast informed bound of R − λC
    least: Array  # [K, S] the least expected cost if the state is known
    blind: Array  # [A, 1 + K, S] reward and costs of one action for ever


class Graph:
    """The beliefs that can be met, nearest first.

    Parameters
    ----------
    most : beliefs, about, after which it is cut off unless there is a horizon
    """

    def __init__(self, model: Model, most: int) -> None:
        self.model = model
        self.belief: list[Array] = []
        self.time: list[int] = []  # 0 without a horizon
        self.child: list[list[list[tuple[float, int]]]] = []  # by node and action: chances and what follows
        self._place: dict[bytes, int] = {}
        joint = np.einsum("ast,ato->aost", model.T, model.Z)
        self._add(model.start, 0)
        while len(self.child) < len(self.belief) and (model.horizon or len(self.belief) < most):
            b, time = self.belief[len(self.child)], self.time[len(self.child)]
            self.child.append([self._after(parts, time) for parts in np.einsum("s,aost->aot", b, joint)])
        self.ends = _ends(model, joint) if len(self.child) < len(self.belief) else None

    def _after(self, parts: Array, time: int) -> list[tuple[float, int]]:
        chances = parts.sum(axis=1).tolist()
        after = time + 1 if self.model.horizon else 0
        return [(p, self._add(part / p, after)) for part, p in zip(parts, chances, strict=True) if p > 0]

    def _add(self, b: Array, time: int) -> int:
        if self.model.horizon and time == self.model.horizon:
            return NOWHERE
        key = np.append(np.round(b / SAME), [time, *(b > 0)]).tobytes()
        if key not in self._place:
            self._place[key] = len(self.belief)
            self.belief.append(b)
            self.time.append(time)
        return self._place[key]


def _ends(model: Model, joint: Array) -> Ends:
    """Informed bounds from above, least costs from below, one action for ever exactly."""
    (n, m), k, gamma, prices = model.R.shape, len(model.C), model.discount, _prices(model)
    gain = (model.R[None] - np.einsum("lk,ksa->lsa", prices, model.C)).transpose(0, 2, 1)
    informed = np.broadcast_to(gain.max(axis=(1, 2))[:, None, None] / (1 - gamma), gain.shape)
    for _ in range(SWEEPS):
        ahead = np.einsum("aost,lbt->laosb", joint, informed).max(axis=4).sum(axis=2)
        after = np.minimum(informed, gain + gamma * ahead)
        done = np.abs(after - informed).max() <= 1e-9
        informed = after
        if done:
            break
    least = np.zeros((k, n))
    for _ in range(SWEEPS):
        least = (model.C + gamma * np.einsum("ast,kt->ksa", model.T, least)).min(axis=2)
    now = np.concatenate([model.R[None], model.C]).transpose(2, 1, 0)  # [A, S, 1 + K]
    blind = np.array([np.linalg.solve(np.eye(n) - gamma * model.T[a], now[a]).T for a in range(m)])
    return Ends(prices, informed, least, blind)


def _prices(model: Model) -> Array:
    k = len(model.C)
    unit = max(float(np.ptp(model.R)), 1e-9) / np.maximum(model.C.max(axis=(1, 2)), 1e-9) * np.isfinite(model.budget)
    directions = [*np.eye(k), np.ones(k)] if k > 1 else [np.ones(1)]
    return np.unique([np.zeros(k), *(p * d * unit for p in PRICES for d in directions)], axis=0)


class Program:
    """The C-POMDP over a graph, from any node and with any budget.

    Parameters
    ----------
    from_above : which bound is sought
    """

    def __init__(self, graph: Graph, from_above: bool) -> None:
        self._n, self._k = len(graph.belief), len(graph.model.C)
        self._columns: list[tuple[float, list[int], list[float], float]] = []  # objective, rows, entries, least value
        self._row_limits: list[float] = []  # of the rows after flows and budgets, from above
        model, known = graph.model, len(graph.child)
        flows = 1.0 if model.horizon else model.discount
        for node in range(known):
            b, t = graph.belief[node], graph.time[node]
            reward, cost = model.discount**t * (b @ model.R), model.beta**t * (model.C.transpose(2, 0, 1) @ b)
            for a, after in enumerate(graph.child[node]):
                flow = {node: 1.0}
                for p, following in after:
                    if following != NOWHERE:
                        flow[following] = flow.get(following, 0.0) - flows * p
                self._column(reward[a], flow, cost[a])
        if graph.ends is not None:
            for node in range(known, self._n):
                (self._cut if from_above else self._mixed)(graph.ends, node, graph.belief[node])
        self._solver = self._built()

    def _column(self, objective: float, rows: dict[int, float], cost: Array, least: float = 0.0) -> None:
        entries = {**rows, **{self._n + i: float(c) for i, c in enumerate(cost) if c}}
        self._columns.append((float(objective), list(entries), list(entries.values()), least))

    def _mixed(self, ends: Ends, node: int, b: Array) -> None:
        """One action for ever from here on."""
        for blind in ends.blind @ b:
            self._column(blind[0], {node: 1.0}, blind[1:])

    def _cut(self, ends: Ends, node: int, b: Array) -> None:
        """Visits y, reward r and costs c: ``r − F_λ y − λ·c ≤ 0`` for each λ, and ``m y − c ≤ 0``."""
        row, n_prices = self._n + self._k + len(self._row_limits), len(ends.prices)
        most, least = (ends.informed @ b).max(axis=1), ends.least @ b
        self._row_limits += [0.0] * (n_prices + self._k)
        visits = {row + i: -float(f) for i, f in enumerate(most)}
        visits |= {row + n_prices + i: float(c) for i, c in enumerate(least)}
        self._column(0.0, {node: 1.0, **visits}, np.zeros(self._k))
        self._column(1.0, {row + i: 1.0 for i in range(n_prices)}, np.zeros(self._k), -highspy.kHighsInf)
        for i, unit in enumerate(np.eye(self._k)):
            priced = {row + j: -float(lam[i]) for j, lam in enumerate(ends.prices) if lam[i]}
            self._column(0.0, {**priced, row + n_prices + i: -1.0}, unit)

    def _built(self) -> highspy.Highs:
        flows, limits = np.zeros(self._n), np.full(self._k, highspy.kHighsInf)
        starts = np.cumsum([0, *(len(rows) for _, rows, _, _ in self._columns)])
        rows = np.concatenate([rows for _, rows, _, _ in self._columns])
        entries = np.concatenate([entries for _, _, entries, _ in self._columns])
        height = self._n + self._k + len(self._row_limits)
        matrix = sp.csc_array((entries, rows, starts), shape=(height, len(self._columns)))
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self._columns), height
        lp.col_cost_ = np.array([objective for objective, _, _, _ in self._columns])
        lp.col_lower_ = np.array([least for _, _, _, least in self._columns])
        lp.col_upper_ = np.full(len(self._columns), highspy.kHighsInf)
        lp.row_lower_ = np.concatenate([flows, np.full(height - self._n, -highspy.kHighsInf)])
        lp.row_upper_ = np.concatenate([flows, limits, self._row_limits])
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
        solver = highspy.Highs()
        solver.silent()
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            solver.setOptionValue(name, TOLERANCE)
        solver.passModel(lp)
        return solver

    def value(self, node: int, left: Array) -> float | None:
        """The optimum from a node with what is left; −inf if there is none, None if the program fails."""
        if (left < 0).any():
            return -np.inf
        self._solver.changeRowBounds(node, 1.0, 1.0)
        for i, limit in enumerate(left.tolist()):
            self._solver.changeRowBounds(self._n + i, -highspy.kHighsInf, limit)
        found = self._run()
        self._solver.changeRowBounds(node, 0.0, 0.0)
        return found

    def _run(self) -> float | None:
        for _ in range(2):
            self._solver.run()
            status = self._solver.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                return float(self._solver.getObjectiveValue())
            if status == highspy.HighsModelStatus.kInfeasible:
                return -np.inf
            self._solver.clearSolver()
        return None


class Trees:
    """Bounds on the optimum for a finite k.

    Parameters
    ----------
    most : beliefs of the graph, about
    """

    def __init__(self, model: Model, most: int) -> None:
        self._model, self._graph = model, Graph(model, most)

    def run(self) -> tuple[float, float]:
        """The optimum is between these; −inf if no policy keeps the budget."""
        low = self._best(Program(self._graph, False), self._model.budget * ALLOWED, -np.inf)
        high = self._best(Program(self._graph, True), self._model.budget * FORBIDDEN, np.inf)
        return low, high

    def _best(self, program: Program, budget: Array, unknown: float) -> float:
        model, graph, gamma, known = self._model, self._graph, self._model.discount, {}

        def best(node: int, spent: Array, depth: int) -> float:
            """From a node on, in the units of the root."""
            if node == NOWHERE:
                return 0.0
            key = node, np.round(spent / SAME).tobytes(), depth
            if key not in known:
                known[key] = leaf(node, spent, depth) if depth == model.k - 1 else branch(node, spent, depth)
            return known[key]

        def leaf(node: int, spent: Array, depth: int) -> float:
            unit = 1.0 if model.horizon else gamma**depth  # of the program
            value = program.value(node, (budget - spent) / unit)
            return unknown if value is None else unit * value

        def branch(node: int, spent: Array, depth: int) -> float:
            value, b = -np.inf, graph.belief[node]
            for a, following in enumerate(graph.child[node]):
                after = spent + model.beta**depth * (model.C[:, :, a] @ b)
                if (after <= budget).all():
                    ahead = [p * best(child, after, depth + 1) for p, child in following]
                    value = max(value, gamma**depth * float(b @ model.R[:, a]) + sum(ahead))
            return value

        return best(0, np.zeros(len(model.C)), 0)
