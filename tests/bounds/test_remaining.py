"""Tables over remaining budgets: against backward induction, and against the optimum of small models."""

from __future__ import annotations

import numpy as np
import pytest

import rcpomdp as rc
from budget_reference import optimum_interval
from random_cases import random_case
from rcpomdp.bounds.belief_grid import BeliefGrid
from rcpomdp.bounds.remaining import Ledger, RemainingBudgets
from rcpomdp.model.classes import observability_classes
from reference import dense, with_unreachable_states


def at_most(low: float, high: float) -> bool:
    """True if low ≤ high but for rounding; −inf ≤ −inf."""
    return low == -np.inf or low <= high + 1e-9 * (1 + abs(low))


def never() -> bool:
    """Time is never up."""
    return False


def mdp_value(model: rc.CPOMDP, steps: int) -> float:
    """The value of the MDP over (state, remaining budget), by recursion over the budgets themselves."""
    case, classes = dense(model), observability_classes(model)
    least = np.array([case.C[:, classes.class_of == c].min(axis=1) for c in classes.class_of])  # [S, K, A]

    def value(s: int, left: np.ndarray, t: int) -> float:
        if t == steps:
            return 0.0
        return max(action_value(s, a, left, t) for a in range(model.n_actions))

    def action_value(s: int, a: int, left: np.ndarray, t: int) -> float:
        if model.terminal[s]:
            return 0.0
        rest = left - least[s][:, a]
        if (rest < -1e-12).any():
            return -np.inf
        after = [value(int(i), rest / model.cost_discount, t + 1) for i in np.flatnonzero(case.T[a, s])]
        return float(case.R[s, a] + model.discount * case.T[a, s][case.T[a, s] > 0] @ after)

    b0 = model.initial_belief
    support = np.flatnonzero(b0)
    return max(sum(b0[s] * action_value(int(s), a, model.budget, 0) for s in support) for a in range(model.n_actions))


def test_the_table_of_a_short_process_is_exact() -> None:
    """Whatever happens, all of the tiger's process is over after four steps, and there is room for all levels."""
    model = rc.problems.make("tiger").with_budget(1.7).with_horizon(4)
    bound = RemainingBudgets(model, np.array(model.spending_limit)).bound(False, 1e7, never)
    assert bound == pytest.approx(mdp_value(model, 5), abs=1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_no_table_is_below_the_optimum(seed: int) -> None:
    case = random_case(seed)
    model = case.model
    if model.discount == 0:
        pytest.skip("without a future nothing is searched")
    low, _ = optimum_interval(case, 500)
    tables = RemainingBudgets(model, np.array(model.spending_limit))
    bounds = [tables.bound(is_informed, work, never) for is_informed in (False, True) for work in (2e6, 2e7)]
    for bound in bounds:
        assert bound is None or at_most(low, bound)


@pytest.mark.parametrize("seed", range(60))
def test_a_grid_of_beliefs_encloses_the_optimum(seed: int) -> None:
    case = random_case(seed)
    model = case.model
    if model.discount == 0 or not BeliefGrid.fits(model):
        pytest.skip("without a future, or with large classes, there is no grid")
    low, high = optimum_interval(case, 500)
    grid = BeliefGrid(model)
    for work in (1e6, 1e8):
        found = grid.bounds(np.array(model.budget), np.array(model.spending_limit), work, never)
        if found is not None:
            assert at_most(found.lower, high)
            assert at_most(low, found.upper)
            assert found.lower <= found.upper


@pytest.mark.parametrize(("budget", "prior"), [(2.0, 0.01), (2.0, 0.3), (1.5, 0.1)])
def test_plans_of_a_grid_heed_observations_that_are_impossible_at_its_points(budget: float, prior: float) -> None:
    """A test is positive in the bad state only; a plan of the point where all is well may be followed elsewhere."""
    stay, treat = np.eye(2), np.array([[0.95, 0.05], [0.7, 0.3]])
    waits, tests = [[0.8, 0.2, 0.0], [0.6, 0.3, 0.1]], [[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]]
    model = rc.CPOMDP(
        transition=np.array([stay, stay, treat]),
        observation=np.array([waits, tests, [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]]),
        reward=[[-1.0, -1.3, -3.0], [-20.0, -20.3, -21.0]], cost=[[[0.0, 0.5, 1.0], [0.0, 0.5, 1.0]]],
        initial_belief=[1 - prior, prior], discount=0.95, budget=budget,
    )  # fmt: skip
    found = BeliefGrid(model).bounds(np.array(model.budget), np.array(model.spending_limit), 1e8, never)
    assert found is not None
    assert found.lower <= found.upper


def test_states_that_nothing_reaches_make_no_grid_larger() -> None:
    tiger = rc.problems.make("tiger")
    found = [
        BeliefGrid(model).bounds(np.array(model.budget), np.array(model.spending_limit), 1e7, never)
        for model in (tiger, with_unreachable_states(tiger, 20))
    ]
    assert found[0] == pytest.approx(found[1])


def test_a_grid_of_beliefs_all_but_solves_the_tiger() -> None:
    """ARCS proves an optimum between −2.777 and −2.776."""
    model = rc.problems.make("tiger")
    found = BeliefGrid(model).bounds(np.array(model.budget), np.array(model.spending_limit), 1e9, never)
    assert found is not None
    assert -2.79 < found.lower < -2.776 < found.upper < -2.76


def test_large_classes_and_limits_of_steps_have_no_grid() -> None:
    assert not BeliefGrid.fits(rc.problems.make("hallway"))
    assert BeliefGrid.fits(rc.problems.make("tiger"))
    assert not BeliefGrid.fits(rc.problems.make("tiger").with_step_limit(0.5))


@pytest.mark.parametrize("is_up", [True, False])
@pytest.mark.parametrize("most", [30, 5000])
def test_levels_are_rounded_to_one_side(is_up: bool, most: int) -> None:
    """A random sequence of payments leaves no more, or no less, than the levels say."""
    rng = np.random.default_rng(0)
    costs, budget, beta = rng.uniform(size=(1, 2, 3)).round(2), np.array([4.0]), np.array([0.9])
    costs[0, :, 0] = 0.0
    ledger = Ledger(costs, budget, beta, 12, is_up)
    assert ledger.divide(most)
    for _ in range(200):
        left, level = budget[0], ledger.width(0) - 1
        for t in range(12):
            a, cls = int(rng.integers(3)), int(rng.integers(2))
            to = int(ledger.places(t)[ledger.kind[cls, a], level])
            rest = (left - costs[0, cls, a]) / beta[0]
            if rest < -1e-9:
                assert is_up or to < 0
                break
            if to < 0:
                assert not is_up
                break
            left, level = rest, to
            shown = ledger.left(t + 1)[level, 0]
            assert shown >= left - 1e-8 if is_up else shown <= left + 1e-8 or np.isinf(shown)
    assert np.mean([ledger.width(t) for t in range(13)]) <= most
    assert ledger.divide(most, 25)
    assert max(ledger.width(t) for t in range(13)) <= 25


def test_a_state_under_a_horizon_counts_at_its_own_time_alone() -> None:
    """The same bound takes less than a third of the work, and steps end at the horizon."""
    model = rc.problems.make("tiger").with_horizon(4)
    tables = RemainingBudgets(model, np.array(model.spending_limit))
    free = RemainingBudgets(rc.problems.make("tiger"), np.array(model.spending_limit))
    assert tables.work(False) < 4 * 3 * free.work(False) / free._steps
    assert tables.bound(False, 1e9, never) == pytest.approx(mdp_value(model, 4))


def test_what_can_never_be_spent_is_one_level() -> None:
    ledger = Ledger(np.array([[[0.0, 1.0]]]), np.array([1e6]), np.array([0.5]), 5)
    assert ledger.divide(100)
    assert [ledger.width(t) for t in range(6)] == [1] * 6


def test_a_table_without_room_or_time_is_none() -> None:
    model = rc.problems.make("hallway")
    tables = RemainingBudgets(model, np.array(model.spending_limit))
    assert tables.bound(False, 100.0, never) is None
    assert tables.bound(True, 1e9, lambda: True) is None
