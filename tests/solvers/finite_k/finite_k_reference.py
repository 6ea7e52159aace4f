"""The optimum for a finite k by brute force: every tree of actions, and the best lottery over all that may follow."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog

import rcpomdp as rc


class Layered:
    """A random model that ends for sure after `steps` steps, as dense arrays; state t·n + i is state i at step t.

    Costs are discounted by β, which is the share `undiscounted` of the way from γ to 1.
    """

    def __init__(
        self,
        seed: int,
        steps: int = 3,
        n: int = 2,
        n_actions: int = 2,
        n_observations: int = 2,
        n_costs: int = 1,
        undiscounted: float = 0.0,
    ) -> None:
        rng = np.random.default_rng(seed)
        size, end = steps * n + 1, steps * n
        self.T = np.zeros((n_actions, size, size))
        for t in range(steps):
            here = slice(t * n, (t + 1) * n)
            if t == steps - 1:
                self.T[:, here, end] = 1.0
            else:
                self.T[:, here, (t + 1) * n : (t + 2) * n] = rng.dirichlet(np.ones(n), (n_actions, n))
        self.T[:, end, end] = 1.0
        self.Z = rng.dirichlet(np.ones(n_observations), (n_actions, size))
        self.R = rng.normal(size=(size, n_actions)) * 3
        self.C = rng.exponential(size=(n_costs, size, n_actions)) * (rng.random((n_costs, size, n_actions)) < 0.7)
        self.R[end], self.C[:, end] = 0.0, 0.0
        self.b = np.zeros(size)
        self.b[:n] = rng.dirichlet(np.ones(n))
        self.discount, self.steps, self.end = float(rng.choice([0.5, 0.8, 0.95])), steps, end
        self.undiscounted = undiscounted
        fronts = self.options(self.b, steps)
        low, high = fronts[:, 1:].min(axis=0), fronts[:, 1:].max(axis=0)
        share = rng.choice([-0.05, 0.05, 0.2, 0.4, 0.7, 1.1], size=n_costs, p=[0.1, 0.2, 0.3, 0.2, 0.1, 0.1])
        self.budget = np.maximum(low + share * (high - low), 0.0)

    @property
    def beta(self) -> float:
        return self.discount + self.undiscounted * (1 - self.discount)

    def model(self) -> rc.CPOMDP:
        return rc.CPOMDP(
            transition=self.T,
            observation=self.Z,
            reward=self.R,
            cost=self.C,
            initial_belief=self.b,
            discount=self.discount,
            budget=self.budget,
            cost_discount=[self.beta] * len(self.C),
            horizon=self.steps if self.undiscounted else None,
        )

    def branches(self, b: np.ndarray, a: int) -> list[tuple[float, np.ndarray]]:
        joint = (b @ self.T[a])[:, None] * self.Z[a]
        return [(p, joint[:, o] / p) for o in range(joint.shape[1]) if (p := joint[:, o].sum()) > 0]

    def options(self, b: np.ndarray, steps: int) -> np.ndarray:
        """Reward and costs [n, 1 + K] of every deterministic policy of so many steps."""
        if steps == 0:
            return np.zeros((1, 1 + len(self.C)))
        found = []
        for a in range(len(self.T)):
            now = np.array([b @ self.R[:, a], *(c[:, a] @ b for c in self.C)])
            after = [p * self.options(nxt, steps - 1) for p, nxt in self.branches(b, a)]
            discounts = np.array([self.discount, *[self.beta] * len(self.C)])
            found += [now + discounts * np.sum(parts, axis=0) for parts in itertools.product(*after)]
        return np.array(found)

    def value(self, k: int, budget: np.ndarray) -> float:
        """The optimum; −inf if no policy keeps the budget."""
        return self._value(self.b, budget, k, self.steps)

    def _value(self, b: np.ndarray, d: np.ndarray, k: int, steps: int) -> float:
        if (d < 0).any():
            return -np.inf
        if k == 1 or steps == 0:
            return self._lottery(self.options(b, steps), d)
        best = -np.inf
        for a in range(len(self.T)):
            left = (d - np.array([c[:, a] @ b for c in self.C])) / self.beta
            after = sum(p * self._value(nxt, left, k - 1, steps - 1) for p, nxt in self.branches(b, a))
            best = max(best, b @ self.R[:, a] + self.discount * after)
        return float(best)

    @staticmethod
    def _lottery(options: np.ndarray, d: np.ndarray) -> float:
        found = linprog(-options[:, 0], options[:, 1:].T, d, np.ones((1, len(options))), [1.0], method="highs-ds")
        return float(-found.fun) if found.status == 0 else -np.inf
