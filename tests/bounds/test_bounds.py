"""MDP and FIB bounds against dense references."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import rcpomdp as rc
from rcpomdp.bounds import blind_plans, cost_fib_vectors, fib_vectors, mdp_q_values
from rcpomdp.deadline import within
from rcpomdp.model import beliefs
from strategies import Dense, cpomdps, random_model

SETTINGS = settings(derandomize=True, deadline=None, max_examples=60)


def dense_fib_step(case: Dense, vectors: np.ndarray) -> np.ndarray:
    """One application of the FIB operator to vectors [A, S]."""
    weight = np.einsum("ast,ato->asto", case.T, case.Z)  # T(s, a, s') Z(s', a, o)
    best = np.einsum("asto,bt->asob", weight, vectors).max(axis=3)
    return case.R.T + case.model.discount * best.sum(axis=2)


def brute_force(case: Dense, b: beliefs.Belief, horizon: int) -> float:
    """The best reward of `horizon` steps, by expanding every branch."""
    if horizon == 0:
        return 0.0
    return max(
        beliefs.expected_reward(case.model, b, a)
        + case.model.discount
        * sum(p * brute_force(case, nxt, horizon - 1) for _, p, nxt in beliefs.branches(case.model, b, a))
        for a in range(case.model.n_actions)
    )


@SETTINGS
@given(cpomdps())
def test_mdp_values_are_the_fixed_point_from_above(case: Dense) -> None:
    """The residual δ of an upper bound leaves it within δ/(1 − γ) of the fixed point."""
    q = mdp_q_values(case.model)
    backed_up = case.R + case.model.discount * np.einsum("ast,t->sa", case.T, q.max(axis=1))
    scale = max(1.0, np.abs(q).max())
    assert (backed_up <= q + 1e-12 * scale).all()
    np.testing.assert_allclose(q, backed_up, atol=1e-8 * scale)


@pytest.mark.parametrize("name", ["tiger", "hallway", "maze20", "crs-4-4"])
def test_mdp_values_of_small_models_are_settled_in_any_hurry(name: str) -> None:
    model = rc.problems.make(name)
    with within(lambda: True):
        hurried = mdp_q_values(model)
    np.testing.assert_array_equal(hurried, mdp_q_values(model))


@pytest.mark.parametrize("discount", [0.5, 0.95, 1 - math.exp(-14)])
def test_mdp_values_of_a_cycle_in_closed_form(discount: float) -> None:
    """Two states in turn, paying 1 and 0: V = 1/(1 − γ²), also where sweeps would never settle."""
    model = rc.CPOMDP(
        transition=[[[0, 1], [1, 0]]],
        observation=[[[1], [1]]],
        reward=[[1], [0]],
        initial_belief=[1, 0],
        discount=discount,
    )
    value = 1 / (1 - discount**2)
    q = mdp_q_values(model)
    np.testing.assert_allclose(q[:, 0], [value, discount * value], rtol=1e-8)
    assert (q[:, 0] >= np.array([value, discount * value]) * (1 - 1e-12)).all()


def exact_values(model: rc.CPOMDP) -> list[Fraction]:
    """V* in rational arithmetic: the best of all deterministic policies, state by state."""
    n, gamma = model.n_states, Fraction(model.discount)
    T = [[[Fraction(p) for p in row] for row in t.toarray().tolist()] for t in model.transition]
    best: list[Fraction] = []
    for policy in itertools.product(range(model.n_actions), repeat=n):
        rows = [
            [Fraction(int(i == j)) - gamma * T[policy[i]][i][j] for j in range(n)]
            + [Fraction(float(model.reward[i, policy[i]]))]
            for i in range(n)
        ]
        for i in range(n):  # Gauss and Jordan; the matrix is diagonally dominant
            rows[i] = [x / rows[i][i] for x in rows[i]]
            for j in range(n):
                if j != i:
                    rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
        value = [row[n] for row in rows]
        best = value if not best else [max(x, y) for x, y in zip(best, value, strict=True)]
    return best


@pytest.mark.parametrize("discount", [0.9, 0.999, 1 - math.exp(-14), 1 - 1e-10])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e6])
def test_bounds_hold_in_exact_arithmetic_and_are_tight(discount: float, scale: float) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        case = random_model(rng, n_states=3, n_actions=2, n_costs=0, discount=discount, n_terminal=seed % 2)
        shrunk = case.model._changed(arrays=case.model.arrays._replace(reward=case.R * scale))
        exact = exact_values(shrunk)
        q = mdp_q_values(shrunk)
        loose = 1e-6 * max(float(max(map(abs, exact))), scale) / min(1.0, 1e4 * (1 - discount))
        for s in range(3):
            assert exact[s] <= Fraction(float(q[s].max())) <= exact[s] + Fraction(loose)
            assert float(fib_vectors(shrunk)[:, s].max()) <= q[s].max() + loose  # FIB is never looser


@pytest.mark.parametrize("discount", [0.999, 0.9999])
def test_fib_settles_where_nothing_ends(discount: float) -> None:
    case = random_model(np.random.default_rng(4), n_states=5, n_actions=3, n_observations=2, discount=discount)
    vectors = fib_vectors(case.model)
    fall = float((vectors - dense_fib_step(case, vectors)).max())
    assert fall <= 1e-3 * (1 - discount) * np.abs(vectors).max()


@SETTINGS
@given(cpomdps(discounts=(0.0, 0.5, 0.95)))
def test_fib_is_its_operators_fixed_point_and_below_qmdp(case: Dense) -> None:
    vectors = fib_vectors(case.model)
    assert (vectors <= mdp_q_values(case.model).T + 1e-9).all()
    np.testing.assert_allclose(dense_fib_step(case, vectors), vectors, atol=1e-4)
    assert (dense_fib_step(case, vectors) <= vectors + 1e-9).all()  # so stopping here is sound


@SETTINGS
@given(cpomdps(max_states=4, max_actions=2, max_observations=2, discounts=(0.5,)))
def test_fib_bounds_the_value_found_by_expansion(case: Dense) -> None:
    horizon = 5
    tail = case.model.discount**horizon * np.abs(case.R).max() / (1 - case.model.discount)
    lower = brute_force(case, beliefs.initial(case.model), horizon) - tail
    assert (fib_vectors(case.model) @ case.model.initial_belief).max() >= lower - 1e-9


def test_known_values() -> None:
    assert mdp_q_values(rc.problems.make("tiger", discount=0.95)).max() == pytest.approx(200)
    ce = rc.problems.make("ce")
    assert (fib_vectors(ce) @ ce.initial_belief).max() == pytest.approx(12, abs=1e-4)  # the C-POMDP optimum
    tunnels = rc.problems.make("tunnels")
    assert (fib_vectors(tunnels) @ tunnels.initial_belief).max() == pytest.approx(2 * 0.99**4)


@SETTINGS
@given(cpomdps(n_costs=2, discounts=(0.0, 0.5, 0.95)))
def test_starting_bounds_of_costs_enclose_every_blind_policy(case: Dense) -> None:
    model = case.model
    for k in range(2):
        lower = (cost_fib_vectors(model, k) @ model.initial_belief).min()
        for plan in blind_plans(model):
            system = np.eye(model.n_states) - model.discount * case.T[plan.action]
            exact = np.linalg.solve(system, case.C[k, :, plan.action])
            np.testing.assert_allclose(plan.cost[k], exact, atol=1e-9 * max(1.0, exact.max()))
            assert lower <= exact @ model.initial_belief + 1e-9
            assert plan.sure_cost[k] >= exact @ model.initial_belief - 1e-9
