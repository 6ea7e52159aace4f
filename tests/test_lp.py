"""The mixing program: its optimum and duals against SciPy's, warm starts, and the first phase."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from rcpomdp.lp import MixingProgram


def case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values [n] and costs [n, K] of choices of which the first is free, and budgets [K]."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, 20)), int(rng.integers(1, 4))
    costs = rng.random((n, k)) * [1.0, 1e3, 1e-3][:k]
    costs[0] = 0.0
    return 10 * rng.random(n), costs, costs.max(axis=0) * rng.uniform(0.1, 0.6, k)


@pytest.mark.parametrize("seed", range(20))
def test_primal_and_dual_optimum(seed: int) -> None:
    values, costs, budget = case(seed)
    program = MixingProgram(budget, budget, 10.0)
    program.add(values, costs)
    found = program.solve()
    assert found is not None
    other = linprog(-values, costs.T, budget, np.ones((1, values.size)), [1.0])
    assert values @ found.weights == pytest.approx(-other.fun, rel=1e-7)
    assert found.threshold + found.multipliers @ budget == pytest.approx(-other.fun, rel=1e-7)  # strong duality
    assert (values - costs @ found.multipliers <= found.threshold + 1e-6).all()
    assert (found.multipliers >= 0).all()
    assert found.excess == 0.0


@pytest.mark.parametrize("seed", range(10))
def test_choices_added_one_by_one_lead_to_the_same_optimum(seed: int) -> None:
    values, costs, budget = case(seed)
    at_once, in_turn = MixingProgram(budget, budget), MixingProgram(budget, budget)
    at_once.add(values, costs)
    for i in range(values.size):
        in_turn.add(values[i : i + 1], costs[i : i + 1])
        last = in_turn.solve()
    found = at_once.solve()
    assert found is not None
    assert last is not None
    np.testing.assert_allclose(last.weights, found.weights, atol=1e-9)
    assert values @ last.weights == pytest.approx(float(values @ found.weights), rel=1e-9)


def test_the_first_phase_minimises_the_excess_and_the_second_the_loss() -> None:
    """Options that cost 3 and 2 exceed a budget of 1 by one unit at least; a third, which is free, mixes with them."""
    program = MixingProgram(np.array([1.0]), np.array([1.0]), tolerance=1e-10, most_excess=np.inf)
    program.add(np.array([9.0, 5.0]), np.array([[3.0], [2.0]]))
    found = program.solve()
    assert found is not None
    assert (found.excess, found.weights.tolist()) == (pytest.approx(1.0), pytest.approx([0.0, 1.0]))
    program.add(np.array([0.0]), np.array([[0.0]]))
    found = program.solve()
    assert found is not None
    assert found.excess == pytest.approx(0.0)
    program.maximise(np.array([9.0, 5.0, 0.0]), 0.0)
    found = program.solve()
    assert found is not None
    assert found.weights.tolist() == pytest.approx([1 / 3, 0.0, 2 / 3])
    assert found.multipliers.tolist() == pytest.approx([3.0])


def test_budgets_that_no_mixture_keeps() -> None:
    program = MixingProgram(np.array([1.0]), np.array([1.0]))
    program.add(np.array([1.0]), np.array([[2.0]]))
    assert program.solve() is None
    assert program.solve_anew(1e-8) is None
    assert "Infeasible" in program.status


@pytest.mark.filterwarnings("error")
def test_multipliers_of_costs_that_are_next_to_nothing_are_numbers() -> None:
    budget, unit = np.zeros(1), np.array([1e-310])
    program = MixingProgram(budget, unit)
    program.add(np.array([1e3, 0.0]), np.array([[1e-310], [0.0]]))
    found = program.solve()
    assert found is not None
    assert found.weights == pytest.approx([0, 1])
    assert found.multipliers.tolist() == [1e100]
