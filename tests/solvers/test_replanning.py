"""Planning anew where a run overspends: exact on the counterexample, and refused where it makes no sense."""

from __future__ import annotations

import pytest

import rcpomdp as rc
from rcpomdp.policies import blind
from rcpomdp.solvers.replanning import replan

CE = rc.problems.make("ce")


def test_the_counterexample_collects_twelve_and_could_keep_its_promise_for_nothing() -> None:
    """After rocks were seen tunnel B pays nothing any more: who plans anew gets 0 where the policy gets 12."""
    policy = blind(CE, "tunnel-A")
    runs = rc.simulate(CE, policy, 60, seed=2, deliberate=True)
    found = replan(runs, policy, seconds=5.0, most_runs=20)
    assert found is not None
    assert (found.runs, found.solved) == (20, 1)
    assert found.before.mean == 0
    assert found.collected.mean == pytest.approx(12 * CE.discount)
    assert found.lower.mean <= 0 <= found.upper.mean
    assert found.upper.mean - found.lower.mean < 0.01
    assert found.loss.mean == pytest.approx(found.collected.mean - found.lower.mean)
    assert "of 20 runs" in str(found)
    assert found.summary()["collected"]["se"] == 0


def test_planning_anew_is_within_what_is_left() -> None:
    model = rc.problems.make("tunnels")
    policy = rc.solve(model, "cgcp").policy
    found = replan(rc.simulate(model, policy, 100, deliberate=True), policy, seconds=2.0, most_runs=15)
    assert found is not None
    assert found.lower.mean <= found.upper.mean
    assert 0 < found.lower.mean < found.collected.mean  # tunnel 3 is left, and pays 0.5


def test_there_may_be_nothing_to_plan_anew() -> None:
    policy = blind(CE, "tunnel-B")
    assert replan(rc.simulate(CE, policy, 10, deliberate=True), policy, seconds=1.0) is None
    with pytest.raises(rc.InputError, match="deliberate=True"):
        replan(rc.simulate(CE, policy, 10), policy, seconds=1.0)
    with pytest.raises(rc.InputError, match="must be above 0"):
        replan(rc.simulate(CE, policy, 10, deliberate=True), policy, seconds=0.0)
