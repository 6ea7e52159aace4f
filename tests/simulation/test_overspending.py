"""Overspending: amounts and first steps, and runs that overspend though they need not, against exact shares."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from budget_reference import least_budget_interval
from random_cases import random_case
from rcpomdp.kernels.simulation.rollout import NEVER
from rcpomdp.model import CPOMDP, beliefs
from rcpomdp.policies import MixturePolicy, RandomPolicy, blind
from rcpomdp.simulation.trajectory import trajectory
from strategies import Dense

CE = rc.problems.make("ce")
RUNS = 2000


def near(rate: float, exact: float, runs: int = RUNS) -> bool:
    return abs(rate - exact) <= 4 * math.sqrt(max(exact * (1 - exact), 1e-12) / runs) + 1e-12


def test_the_counterexample_destroys_itself_in_the_half_that_sees_rocks() -> None:
    """Tunnel A costs 8 after rocks were seen, of the 5 that are left; tunnel B would cost 5 (paper, Sec. 3)."""
    found = rc.simulate(CE, blind(CE, "tunnel-A"), RUNS, seed=3, deliberate=True)
    assert found.deliberate is not None
    rocks = found.outcome.violation != NEVER
    np.testing.assert_array_equal(found.deliberate.step, np.where(rocks, 1, NEVER))
    assert not found.deliberate.undecided.any()
    assert found.deliberate_rate == found.violation_rate
    assert near(found.violation_rate.mean, 0.5)
    gamma = CE.discount
    np.testing.assert_allclose(found.overspent[0].most, 8 * gamma - 5, rtol=1e-9)
    np.testing.assert_allclose(found.overspent[0].mean, (8 * gamma - 5) * rocks.mean(), rtol=1e-9)
    assert found.violation_step == (1.0, 1)
    # As it falls out, rocks cost 10 and their absence nothing, whatever was seen.
    np.testing.assert_allclose(found.overrun[0].most, 10 * gamma - 5, rtol=1e-9)
    assert found.undiscounted[0].most == 10
    assert near(found.undiscounted[0].mean / 10, 0.5)


def test_luck_may_save_a_run_that_gambled() -> None:
    """One action earns 1 and may lead where 3 must be paid, of 1 that is allowed; the other ends it all."""
    model = CPOMDP(
        states=["start", "debt", "end"],
        actions=["gamble", "stop"],
        transition=[[[0, 0.25, 0.75], [0, 0, 1], [0, 0, 1]], [[0, 0, 1]] * 3],
        observation=[[[1, 0], [1, 0], [0, 1]]] * 2,
        reward=[[1, 0], [0, 0], [0, 0]],
        cost=[[0, 0], [3, 3], [0, 0]],
        initial_belief=[1, 0, 0],
        discount=0.5,
        budget=1.0,
        terminal=["end"],
    )
    found = rc.simulate(model, blind(model, "gamble"), RUNS, seed=1, deliberate=True)
    assert found.deliberate is not None
    assert (found.deliberate.step == 0).all()
    assert near(found.violation_rate.mean, 0.25)
    assert found.violation_step == (1.0, 1)
    assert rc.simulate(model, blind(model, "stop"), 50, deliberate=True).deliberate_rate == (0.0, 0.0)


def test_who_has_no_choice_does_not_overspend_deliberately() -> None:
    model = CE.with_budget(3.0)  # nothing costs less than 5
    for action in ("tunnel-A", "tunnel-B"):
        found = rc.simulate(model, blind(model, action), 200, deliberate=True)
        assert found.deliberate is not None
        assert not found.deliberate.undecided.any()
        # A first look may show that the tunnel is likely clear: 2 is within 3, and no step is out of the question.
        assert found.deliberate_rate == (0.0, 0.0)
    assert found.violation_rate.mean == 1


@pytest.mark.parametrize("problem", ["ce", "tiger", "tunnels", "crs-4-4"])
def test_a_policy_of_arcs_has_nothing_of_all_this(problem: str) -> None:
    model = rc.problems.make(problem)
    policy = rc.solve(model, "arcs", time_limit=5).policy
    found = rc.simulate(model, policy, 300, steps=30, deliberate=True)
    assert found.violation_rate == found.deliberate_rate == found.undecided_rate == (0.0, 0.0)
    assert found.violation_step is None
    assert found.overspent[0] == (0.0, 0.0, 0.0)
    assert found.summary()["deliberate"]["step"] is None


@pytest.mark.parametrize("problem", ["tiger", "tunnels"])
def test_every_violation_of_what_could_be_kept_is_deliberate(problem: str) -> None:
    model = rc.problems.make(problem)
    policy = rc.solve(model, "cgcp", time_limit=5).policy
    found = rc.simulate(model, policy, 300, steps=30, deliberate=True)
    assert found.deliberate is not None
    assert found.violation_rate.mean > 0.2
    violating = found.outcome.violation != NEVER
    assert (found.deliberate.step[violating] != NEVER).all()
    assert (found.deliberate.step[violating] <= found.outcome.violation[violating]).all()
    assert not found.deliberate.undecided.any()


def reference(case: Dense, policy: Any, run: int, steps: int, seed: int) -> list[tuple[bool | None, bool | None]]:
    """For each step of a run whether the budget can be kept, and by the action taken, from brute force alone."""
    model, told = case.model, []
    slack = 2e-9 * np.asarray(model.budget)
    for step in trajectory(model, policy, steps, seed, run):
        if step.action is None:
            break
        left = (np.asarray(model.budget) - step.spent) / step.weight

        def least(b: beliefs.Belief) -> tuple[np.ndarray, np.ndarray]:
            there = case.model.with_initial_belief(b.dense(model.n_states))
            return least_budget_interval(case._replace(model=there), 200)

        margin = slack / step.weight
        low, high = least(step.belief)
        after = [least(branch.belief) for branch in beliefs.branches(model, step.belief, step.action)]
        now = beliefs.expected_cost(model, step.belief, step.action)
        q_low = now + model.discount * np.max([low for low, _ in after], axis=0)
        q_high = now + model.discount * np.max([high for _, high in after], axis=0)
        told.append(tuple(_whether(*pair, left, margin) for pair in ((low, high), (q_low, q_high))))
    return told


def _whether(low: np.ndarray, high: np.ndarray, left: np.ndarray, margin: np.ndarray) -> bool | None:
    if (high <= left - margin).all():
        return True
    return False if (low > left + margin).any() else None


@pytest.mark.parametrize("seed", [seed for seed in range(40) if random_case(seed).model.n_costs == 1])
def test_verdicts_agree_with_brute_force_on_random_models(seed: int) -> None:
    case = random_case(seed)
    model, steps = case.model, 4
    _, high = least_budget_interval(case, 400)
    budget = float(high[0]) * 1.2 + 0.1
    case = case._replace(model=model.with_budget(budget))
    policy = RandomPolicy(case.model)
    found = rc.simulate(case.model, policy, 6, steps, seed, deliberate=True)
    assert found.deliberate is not None
    for run in range(6):
        told = reference(case, policy, run, steps, seed)
        proven, undecided = int(found.deliberate.step[run]), bool(found.deliberate.undecided[run])
        certain = [t for t, (can, keeps) in enumerate(told) if can and keeps is False]
        possible = [t for t, (can, keeps) in enumerate(told) if can is not False and keeps is not True]
        if proven != NEVER:
            assert [t for t in possible if t <= proven]
        elif not undecided:
            assert not certain
        if found.outcome.violation[run] != NEVER and high[0] <= budget:
            assert proven != NEVER or undecided


def test_workers_and_the_way_of_running_change_nothing() -> None:
    model = rc.problems.make("tunnels")
    policy = MixturePolicy([blind(model, "forward"), RandomPolicy(model)], [0.5, 0.5])
    plain = rc.simulate(model, policy, 600, 9, seed=4)
    one = rc.simulate(model, policy, 600, 9, seed=4, deliberate=True)
    two = rc.simulate(model, policy, 600, 9, seed=4, workers=2, deliberate=True)
    assert plain.deliberate is None
    assert plain.deliberate_rate is None
    assert all(np.array_equal(a, b) for a, b in zip(plain.outcome, one.outcome, strict=True))
    assert list(one.rows()) == list(two.rows())
    assert one.deliberate_rate is not None
    assert 0 < one.deliberate_rate.mean < 1


def test_without_a_future_only_the_first_step_can_be_deliberate() -> None:
    case = rc.problems.make("ce", discount=0.0)
    found = rc.simulate(case, blind(case, "tunnel-A"), 20, deliberate=True)
    assert found.deliberate_rate == (0.0, 0.0)
    poor = case.with_budget(4.0)
    assert rc.simulate(poor, blind(poor, "tunnel-B"), 20, deliberate=True).deliberate_rate == (1.0, 0.0)


def test_rows_and_summaries_tell_it_in_plain_numbers() -> None:
    found = rc.simulate(CE, blind(CE, "tunnel-A"), 40, seed=1, deliberate=True)
    rows = list(found.rows())
    assert {row["deliberate_step"] for row in rows} == {None, 1}
    assert {row["undecided"] for row in rows} == {False}
    assert {row["cost_undiscounted"] for row in rows} == {0.0, 10.0}
    told = found.summary()
    share = np.mean([row["deliberate_step"] is not None for row in rows])
    assert told["deliberate"]["rate"]["mean"] == share
    assert told["deliberate"]["undecided"] == {"mean": 0.0, "se": 0.0}
    assert told["deliberate"]["step"] == told["violation_step"] == {"mean": 1.0, "earliest": 1}
    assert told["costs"][0]["undiscounted"]["most"] == 10
    assert rc.simulate(CE, blind(CE, "tunnel-A"), 5).summary()["deliberate"] is None
    unlimited = rc.problems.make("tiger", budget=None)
    free = rc.simulate(unlimited, blind(unlimited, "listen"), 5, deliberate=True)
    assert free.deliberate_rate == (0.0, 0.0)
    assert free.overspent[0] == (0.0, 0.0, 0.0)
