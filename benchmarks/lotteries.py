"""Bounds on the optimum for a finite k by brute force, which shares no code with the package.

The budget must hold, with what is expected after it, at every history of k − 1 steps. All trees of actions of that
depth are gone through. What follows one of their histories is a C-POMDP with what is left, d, over the graph of the
beliefs that can be met. Its optimum is a linear program over the discounted visits x(b, a) of a policy that may draw
lots:

    max Σ x R    subject to    Σ_a x(b', a) = [b' is the first] + γ Σ_b,a x(b, a) P(b' | b, a),    Σ x C ≤ d.

Where the graph is cut off, from below one action is done for ever, which one by a lot; from above (r, c) may be had if
``r ≤ F_λ(b) + λ·c`` for some λ, with the fast informed bound F_λ of ``R − λC``, and if c is no less than what is
expected at least by whoever knows the state.
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

    informed: Array  # [L, A, S] fast informed bound of R − λC
    least: Array  # [K, S] the least expected cost if the state is known
    blind: Array  # [A, 1 + K, S] reward and costs of one action for ever


class Graph:
    """The beliefs that can be met, nearest first, and those where it is cut off.

    Parameters
    ----------
    most : beliefs, about
    """

    def __init__(self, model: Model, most: int) -> None:
        self.model = model
        self._joint = np.einsum("ast,ato->aost", model.T, model.Z)
        self.prices = _prices(model)
        self._ends: dict[int, Ends] = {}
        self.belief: list[Array] = []
        self.left: list[int] = []  # steps that are left; 0 without a horizon
        self._place: dict[bytes, int] = {}
        self.child: list[list[list[tuple[float, int]]]] = []  # by node and action: chances and what follows
        self._add(model.start, model.horizon)
        while len(self.child) < len(self.belief) and len(self.belief) < most:
            b, left = self.belief[len(self.child)], self.left[len(self.child)]
            self.child.append([self._after(joint, left) for joint in np.einsum("s,aost->aot", b, self._joint)])

    def _after(self, joint: Array, left: int) -> list[tuple[float, int]]:
        chances = joint.sum(axis=1)
        return [(p, self._add(part / p, left - 1)) for part, p in zip(joint, chances.tolist(), strict=True) if p > 0]

    def _add(self, b: Array, left: int) -> int:
        if self.model.horizon and left == 0:
            return NOWHERE
        left = max(left, 0)
        key = np.append(np.round(b / SAME), [left, *(b > 0)]).tobytes()
        if key not in self._place:
            self._place[key] = len(self.belief)
            self.belief.append(b)
            self.left.append(left)
        return self._place[key]

    def ends(self, node: int) -> Ends:
        """What bounds a node with so many steps left."""
        left = self.left[node]
        if left not in self._ends:
            self._ends[left] = self._bounds(left)
        return self._ends[left]

    def _bounds(self, left: int) -> Ends:
        """By recursion over the steps that are left; without a horizon from above, from below, and exactly."""
        model, (n, m), k = self.model, self.model.R.shape, len(self.model.C)
        gain = model.R[None] - np.einsum("lk,ksa->lsa", self.prices, model.C)
        now = np.concatenate([model.R[None], model.C]).transpose(2, 0, 1)  # [A, 1 + K, S]
        if model.horizon:
            informed, least, blind = np.zeros((len(gain), m, n)), np.zeros((k, n)), np.zeros((m, 1 + k, n))
        else:
            informed = np.broadcast_to(gain.max(axis=(1, 2))[:, None, None] / (1 - model.discount), (len(gain), m, n))
            least = np.zeros((k, n))
            blind = np.array([np.linalg.solve(np.eye(n) - model.discount * model.T[a], now[a].T).T for a in range(m)])
        for _ in range(left or SWEEPS):
            ahead = np.einsum("aost,lbt->laosb", self._joint, informed).max(axis=4).sum(axis=2)
            after = gain.transpose(0, 2, 1) + model.discount * ahead
            done = not model.horizon and np.abs(after - informed).max() <= 1e-9
            informed = after if model.horizon else np.minimum(informed, after)
            least = (model.C + model.discount * np.einsum("ast,kt->ksa", model.T, least)).min(axis=2)
            if model.horizon:
                blind = now + model.discount * np.einsum("ast,akt->aks", model.T, blind)
            if done:
                break
        return Ends(informed, least, blind)


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
        for node in range(known):
            reward, cost = graph.belief[node] @ model.R, model.C.transpose(2, 0, 1) @ graph.belief[node]
            for a, after in enumerate(graph.child[node]):
                flow = {node: 1.0}
                for p, following in after:
                    if following != NOWHERE:
                        flow[following] = flow.get(following, 0.0) - model.discount * p
                self._column(reward[a], flow, cost[a])
        for node in range(known, self._n):
            (self._cut if from_above else self._mixed)(graph, node)
        self._solver = self._built()

    def _column(self, objective: float, rows: dict[int, float], cost: Array, least: float = 0.0) -> None:
        entries = {**rows, **{self._n + i: float(c) for i, c in enumerate(cost) if c}}
        self._columns.append((float(objective), list(entries), list(entries.values()), least))

    def _mixed(self, graph: Graph, node: int) -> None:
        """One action for ever from here on."""
        for blind in graph.ends(node).blind @ graph.belief[node]:
            self._column(blind[0], {node: 1.0}, blind[1:])

    def _cut(self, graph: Graph, node: int) -> None:
        """Visits y, reward r and costs c: ``r − F_λ y − λ·c ≤ 0`` for each λ, and ``m y − c ≤ 0``."""
        ends, b, row = graph.ends(node), graph.belief[node], self._n + self._k + len(self._row_limits)
        most, least = (ends.informed @ b).max(axis=1), ends.least @ b
        n_prices = len(most)
        self._row_limits += [0.0] * (n_prices + self._k)
        visits = {row + i: -float(f) for i, f in enumerate(most)}
        visits |= {row + n_prices + i: float(c) for i, c in enumerate(least)}
        self._column(0.0, {node: 1.0, **visits}, np.zeros(self._k))
        self._column(1.0, {row + i: 1.0 for i in range(n_prices)}, np.zeros(self._k), -highspy.kHighsInf)
        for i, unit in enumerate(np.eye(self._k)):
            priced = {row + j: -float(lam[i]) for j, lam in enumerate(graph.prices) if lam[i]}
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
        model, gamma, known = self._model, self._model.discount, {}

        def best(node: int, spent: Array, depth: int) -> float:
            if node == NOWHERE:
                return 0.0
            key = node, np.round(spent / SAME).tobytes(), depth
            if key not in known:
                known[key] = leaf(node, spent, depth) if depth == self._model.k - 1 else branch(node, spent, depth)
            return known[key]

        def leaf(node: int, spent: Array, depth: int) -> float:
            value = program.value(node, (budget - spent) / gamma**depth)
            return unknown if value is None else value

        def branch(node: int, spent: Array, depth: int) -> float:
            value, b = -np.inf, self._graph.belief[node]
            for a, following in enumerate(self._graph.child[node]):
                after = spent + gamma**depth * (model.C[:, :, a] @ b)
                if (after <= budget).all():
                    ahead = [p * best(child, after, depth + 1) for p, child in following]
                    value = max(value, float(b @ model.R[:, a]) + gamma * sum(ahead))
            return value

        return best(0, np.zeros(len(model.C)), 0)
