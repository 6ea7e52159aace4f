"""Slow and plain NumPy references: what a POMDP is worth, and what a plan graph accumulates.

They share no code with the package. `value_interval` expands beliefs and brackets the optimum; `point_vectors` makes
vectors of true policies, so that no upper bound may lie below their products with a belief; `controller_totals` solves
for what a controller accumulates. `gain [S, A]` is whatever is accumulated: reward, cost, ``R − λ·C``.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from rcpomdp.model import CPOMDP
from rcpomdp.policies import ControllerPolicy
from strategies import Dense


def dense(model: CPOMDP) -> Dense:
    """A model with its arrays as dense ones."""
    T = np.array([matrix.toarray() for matrix in model.transition])
    Z = np.array([matrix.toarray() for matrix in model.observation])
    return Dense(model, T, Z, model.reward, model.cost)


def renumbered(case: Dense, order: np.ndarray) -> Dense:
    """The arrays of a case with its states in another order; the model stays as it is."""
    T = case.T[:, order][:, :, order]
    return Dense(case.model, T, case.Z[:, order], case.R[order], case.C[:, order])


def with_unreachable_states(model: CPOMDP, n: int) -> CPOMDP:
    """The model with n more states, which lead to each other alone."""
    case, n_actions, size = dense(model), model.n_actions, model.n_states

    def padded(known: np.ndarray, more: float, shape: tuple[int, ...]) -> np.ndarray:
        wider = np.full(shape, more)
        wider[tuple(map(slice, known.shape))] = known
        return wider

    T = padded(case.T, 0.0, (n_actions, size + n, size + n))
    T[:, size:, size:] = 1 / n
    return CPOMDP(
        transition=T,
        observation=padded(case.Z, 1 / model.n_observations, (n_actions, size + n, model.n_observations)),
        reward=padded(case.R, 0.0, (size + n, n_actions)),
        cost=padded(case.C, 1.0, (model.n_costs, size + n, n_actions)),
        initial_belief=np.append(model.initial_belief, np.zeros(n)),
        discount=model.discount,
        budget=model.budget,
    )


def tolerance(case: Dense, gain: np.ndarray) -> float:
    """What rounding may do to a value: 1e-9 of the largest that there can be, and more if the discount is near 1."""
    gamma = case.model.discount
    return (1e-9 + 1e-14 / (1 - gamma)) * (1e-3 + float(np.abs(gain).max(initial=0.0))) / (1 - gamma)


def branches(case: Dense, b: np.ndarray, a: int) -> list[tuple[int, float, np.ndarray]]:
    """(observation, probability, posterior) of all that can follow a dense belief."""
    joint = (b @ case.T[a])[:, None] * case.Z[a]
    p = joint.sum(axis=0)
    return [(int(o), float(p[o]), joint[:, o] / p[o]) for o in np.flatnonzero(p)]


def value_interval(case: Dense, gain: np.ndarray, start: np.ndarray, size: int = 120) -> tuple[float, float]:
    """Bounds on the optimum from a belief.

    The `size` beliefs nearest to it are a finite MDP, solved exactly. Beyond them the best blind policy is what can be
    had at least, and the state's MDP what can be had at most. If there are no more beliefs, the bounds meet.
    """
    gamma, n_actions = case.model.discount, len(case.T)
    found, number = [start], {tuple(start.round(10)): 0}
    edges: list[list[list[tuple[int, float]]]] = []
    while len(edges) < min(len(found), size):
        edges.append([[] for _ in range(n_actions)])
        for a in range(n_actions):
            for _, p, after in branches(case, found[len(edges) - 1], a):
                key = tuple(after.round(10))
                if key not in number:
                    number[key] = len(found)
                    found.append(after)
                edges[-1][a].append((number[key], p))
    n = len(edges)
    chain = np.zeros((n_actions, n, len(found)))
    for i in range(n):
        for a in range(n_actions):
            for j, p in edges[i][a]:
                chain[a, i, j] += p
    points = np.array(found)
    here = (points[:n] @ gain).T
    inside, beyond = chain[:, :, :n], gamma * chain[:, :, n:]
    at_least = (points[n:] @ blind_vectors(case, gain).T).max(axis=1, initial=-np.inf)
    at_most = points[n:] @ solve_mdp(case.T, gain.T, gamma)[1]
    low, _ = solve_mdp(inside, here + beyond @ at_least, gamma)
    _, high = solve_mdp(inside, here + beyond @ at_most, gamma)
    return float(low[0]), float(high[0])


def solve_mdp(chain: np.ndarray, gain: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Optimal values [n] of an MDP with ``chain [A, n, n]`` and ``gain [A, n]``, from below and from above.

    Policy iteration: below is what the last policy attains, above it the residual's worth.
    """
    n = chain.shape[1]
    every = np.arange(n)
    policy = gain.argmax(axis=0)
    for _ in range(200):
        value = np.linalg.solve(np.eye(n) - gamma * chain[policy, every], gain[policy, every])
        q = gain + gamma * chain @ value
        better = q.argmax(axis=0)
        rise = q[better, every] - q[policy, every]
        if (rise <= 1e-13 * (1 + np.abs(value).max())).all():
            break
        policy = np.where(rise > 0, better, policy)
    return value, value + max(0.0, float((q.max(axis=0) - value).max())) / (1 - gamma)


def blind_vectors(case: Dense, gain: np.ndarray) -> np.ndarray:
    """What each action taken for ever accumulates, [A, S]."""
    eye = np.eye(len(gain))
    return np.array([np.linalg.solve(eye - case.model.discount * t, g) for t, g in zip(case.T, gain.T, strict=True)])


def exact_totals(T: np.ndarray, gain: np.ndarray, gamma: float) -> list[Fraction]:
    """``x = g + γTx`` in rational arithmetic, by Gauss and Jordan; the matrix is diagonally dominant."""
    n = len(gain)
    rows = [[Fraction(int(i == j)) - Fraction(gamma) * Fraction(T[i, j]) for j in range(n)] for i in range(n)]
    rows = [[*row, Fraction(g)] for row, g in zip(rows, gain, strict=True)]
    for i in range(n):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(n):
            if j != i:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[n] for row in rows]


def point_vectors(case: Dense, gain: np.ndarray, points: np.ndarray, sweeps: int) -> np.ndarray:
    """Vectors [n, S] of policies that are good at the points [P, S], by point-based value iteration."""
    vectors = blind_vectors(case, gain)
    for _ in range(sweeps):
        made = []
        for a, (t, z) in enumerate(zip(case.T, case.Z, strict=True)):
            total = np.repeat(gain[None, :, a], len(points), axis=0)
            for likelihood in z.T:
                projected = case.model.discount * (t * likelihood) @ vectors.T  # [S, n]
                total += projected.T[(points @ projected).argmax(axis=1)]
            made.append(total)
        best = np.einsum("aps,ps->ap", made, points).argmax(axis=0)
        vectors = np.unique(np.array(made)[best, np.arange(len(points))], axis=0)
    return np.concatenate([vectors, blind_vectors(case, gain)])


def controller_totals(case: Dense, policy: ControllerPolicy) -> np.ndarray:
    """Expected reward and costs [1 + K] of a controller, by a solve over the (node, state) pairs it can reach."""
    pairs = [(policy.start, int(s)) for s in np.flatnonzero(case.model.initial_belief)]
    number = {pair: i for i, pair in enumerate(pairs)}
    entries: list[tuple[int, int, float]] = []
    for i, (node, s) in enumerate(pairs):
        a = policy.actions[node]
        for after in np.flatnonzero(case.T[a, s]):
            for o in np.flatnonzero(case.Z[a, after]):
                pair = (int(policy.successors[node, o]), int(after))
                if pair not in number:
                    number[pair] = len(pairs)
                    pairs.append(pair)
                entries.append((i, number[pair], float(case.T[a, s, after] * case.Z[a, after, o])))
    chain = np.zeros((len(pairs), len(pairs)))
    for i, j, p in entries:
        chain[i, j] += p
    nodes, states = np.array(pairs).T
    gain = np.concatenate([case.R[None], case.C])[:, states, policy.actions[nodes]]
    totals = np.linalg.solve(np.eye(len(pairs)) - case.model.discount * chain, gain.T)
    start = np.flatnonzero(case.model.initial_belief)
    result: np.ndarray = case.model.initial_belief[start] @ totals[: len(start)]
    return result
