"""What a policy is worth by simulated runs: few runs say so, and time that is up leaves something to show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.deadline import within
from rcpomdp.solvers import policy_value
from rcpomdp.solvers.clock import Clock
from rcpomdp.solvers.policy_value import Worth, simulated_worth, with_expected_costs
from rcpomdp.testing import truth
from rcpomdp.testing.broken import RuleError
from rcpomdp.testing.enclosure import totals

UNLIKELY = 0.03


def rare_loss() -> rc.CPOMDP:
    """One step, that earns 1, or seldom loses 100: runs that are few agree on 1."""
    loses, ended = np.array([[0.0, 0.0, 1.0]] * 3), np.array([1.0 - UNLIKELY, UNLIKELY, 0.0])
    return rc.CPOMDP(
        transition=loses[None],
        observation=np.ones((1, 3, 1)),
        reward=np.array([[1.0], [-100.0], [0.0]]),
        cost=np.zeros((1, 3, 1)),
        initial_belief=ended,
        discount=0.5,
        budget=1.0,
    )


def test_an_estimate_tells_how_many_runs_it_is_of_and_few_are_not_held_to_their_standard_error() -> None:
    model = rare_loss()
    policy = rc.policies.blind(model, 0)
    estimates = [simulated_worth(model, policy, Clock(1e-9), seed) for seed in range(8)]
    assert all(found.runs == 2 for found in estimates)
    agreed = next(found for found in estimates if found.reward == 1.0)
    assert agreed.error is not None
    assert not agreed.error.any()  # and yet the policy loses 2 on average
    told = rc.solve(model, "cpbvi", time_limit=1)
    told = replace(told, policy=policy, reward=1.0, cost=np.zeros(1), standard_error=agreed.error, runs=2)
    runs = truth.sampled(model, policy)
    truth.is_worth_what_it_says(model, told, runs, exactly=True)
    with pytest.raises(RuleError, match="the policy's reward is -2"):
        truth.is_worth_what_it_says(model, replace(told, runs=2000), runs, exactly=True)


def test_where_time_is_up_in_the_first_run_the_standard_error_is_all_that_totals_can_differ_by() -> None:
    model = rc.problems.make("tiger")
    policy = rc.solve(model, "cpbvi-d", beliefs=3, iterations=1, time_limit=10).policy
    with within(hurry=lambda: True):
        found = simulated_worth(model, policy, Clock(None), 0)
    least, most = totals(model)
    assert found.runs == 1
    assert found.error == pytest.approx(most - least)
    assert least[0] <= found.reward <= most[0]


def test_an_exact_reward_stays_exact_where_costs_of_another_discount_are_simulated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = rc.problems.make("tiger", cost_discount=1, budget=3)
    fib = rc.policies.fib(model)
    exact = replace(rc.solve(model, "arcs", time_limit=1), policy=fib, standard_error=None, runs=None)
    means = Worth(exact.reward + 1, np.array([7.0]), np.array([0.3, 0.2]), 2)
    monkeypatch.setattr(policy_value, "worth", lambda *_: means)
    found = with_expected_costs(exact, model, Clock(None), 0)
    assert found.reward == exact.reward
    assert found.standard_error is not None
    assert found.standard_error.tolist() == [0.0, 0.2]
    assert f"reward {found.reward:.6g} and cost 7 ± 0.2 in 2 simulated runs" in repr(found)
