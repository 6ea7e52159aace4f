"""CGCP-CL: the inconsistency of replanning, the budget left, states as values, and what it refuses."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp import cli
from rcpomdp.solvers import TracePoint
from rcpomdp.solvers.cgcp.closed_loop import ClosedLoopPolicy, ClosedLoopState, cgcp_cl
from rcpomdp.solvers.cgcp.solve import cgcp
from strategies import random_model
from work import AMPLE


def policy_of(model: rc.CPOMDP, **options: Any) -> ClosedLoopPolicy:
    policy = cgcp_cl(model, **{"step_time": 0.5, **options}).policy
    assert isinstance(policy, ClosedLoopPolicy)
    return policy


def first_state(policy: ClosedLoopPolicy, seed: int = 0) -> ClosedLoopState:
    return policy.initial(np.random.default_rng(seed))


def test_replanning_turns_back_from_what_was_planned() -> None:
    """The plan is worth 12: always tunnel A. Replanned where rocks were seen, it is given up after all.

    With rocks seen, tunnel A costs 8 of the 5 that are left, so that it turns back to B for nothing and 5; clear, it
    goes on, for 12 and a cost of 2. That is 6 and 3.5 on average, where going through B at once is worth 10.
    """
    model = rc.problems.make("ce")
    result = cgcp_cl(model, step_time=0.5)
    assert result.status == "optimal"
    assert result.lower == pytest.approx(12, abs=1e-3)
    found = rc.simulate(model, result.policy, runs=300)
    assert found.violation_rate.mean == 0
    assert abs(found.reward.mean - 6) <= 4 * found.reward.se
    assert abs(found.spent[0].mean - 3.5) <= 4 * found.spent[0].se
    assert set(np.unique(found.outcome.reward.round(3))) == {0.0, 12.0}


def test_runs_of_tunnels_and_tiger() -> None:
    model = rc.problems.make("tunnels")
    found = rc.simulate(model, policy_of(model), runs=40, steps=12)
    assert 0.8 < found.reward.mean < 1.5  # the plan is worth 1.6
    model = rc.problems.make("tiger")
    found = rc.simulate(model, policy_of(model), runs=5, steps=6)
    assert found.runs == 5


def test_the_budget_left_follows_the_recursion() -> None:
    model = rc.problems.make("tiger").with_budget(3.0)
    policy, b = policy_of(model), rc.beliefs.initial(model)
    state, left = first_state(policy), 3.0
    for observation in (0, 1, 0, 0):
        a = policy.action(state)
        left = max(0.0, (left - rc.beliefs.expected_cost(model, b, a)[0]) / model.discount)
        b = rc.beliefs.posterior(model, b, a, observation)
        state = policy.update(state, observation)
        assert state.left == pytest.approx((left,))
        np.testing.assert_allclose(state.belief.probabilities, b.probabilities)


def test_each_step_is_the_solution_from_there() -> None:
    """What a step does with a belief and a budget is what column generation from there finds."""
    model = rc.problems.make("tunnels")
    policy = policy_of(model)
    state = first_state(policy)
    chances = rc.beliefs.observation_probabilities(model, rc.beliefs.initial(model), state.action)
    state = policy.update(state, int(chances.argmax()))
    ordered = policy._graph_search.ordered
    there = ordered.with_initial_belief(state.belief.dense(model.n_states)).with_budget(state.left)
    expected = cgcp(there, epsilon=1e-4)
    (found,) = policy._solved.values()
    assert expected.status == "optimal"
    assert isinstance(expected.policy, rc.policies.MixturePolicy)
    actions = {part.action(part.start) for part in expected.policy.policies}
    assert actions == set(np.flatnonzero(found))


def test_without_a_budget_it_acts_as_the_optimum_does() -> None:
    model = rc.problems.make("tiger").with_budget(np.inf)
    policy = policy_of(model)
    state = first_state(policy)
    assert model.actions[policy.action(state)] == "listen"
    for _ in range(2):
        state = policy.update(state, 0)
    assert model.actions[policy.action(state)] == "open-right"


def test_where_nothing_keeps_the_budget_it_spends_the_least() -> None:
    """Opening doors is free, listening is not; with nothing left it opens one."""
    model = rc.problems.make("tiger").with_budget(0.0)
    state = first_state(policy_of(model))
    assert model.actions[state.action] != "listen"
    model = rc.problems.make("ce").with_budget(3.0)
    result = cgcp_cl(model, step_time=0.5)
    assert result.status == "infeasible"
    found = rc.simulate(model, result.policy, runs=100)
    assert abs(found.spent[0].mean - 3.5) <= 4 * found.spent[0].se


def test_once_overspent_rewards_may_not_count() -> None:
    """Half a check of CRS(4,4): whoever has checked has overspent. Ours takes what is free, theirs stands still."""
    model = rc.problems.make("crs-4-4").with_budget(0.5)
    ours, published = (
        rc.solve(model, "cgcp-cl", step_time=AMPLE, overspent=overspent).policy
        for overspent in ("nothing-left", "least-cost")
    )
    check, good = model.actions.index("check-1"), model.observations.index("good")
    for policy in (ours, published):
        start = policy.initial(np.random.default_rng(0))
        state = policy.update(start._replace(action=check), good)
        assert (state.left[0] < 0) == (policy is published)
        if policy is published:
            seen = set()
            for _ in range(6):  # it stays for ever where nothing costs
                seen.add(model.actions[state.action])
                state = policy.update(state, model.observations.index("none"))
            assert seen <= {"north", "sample"}
        else:
            assert model.actions[state.action] == "sample"  # the rock is good for sure, and sampling it free


def test_states_are_values() -> None:
    """The same state and observation lead to the same state, in any order, and in a copy of the policy."""
    model = rc.problems.make("tunnels")
    policy = policy_of(model)
    state = first_state(policy, 3)
    chances = rc.beliefs.observation_probabilities(model, rc.beliefs.initial(model), state.action)
    seen = [int(o) for o in np.flatnonzero(chances)]
    there = {o: policy.update(state, o) for o in seen}
    again = {o: policy.update(state, o) for o in reversed(seen)}
    copy = pickle.loads(pickle.dumps(policy))
    for o in seen:
        assert again[o].action == there[o].action == copy.update(state, o).action
        assert again[o].left == there[o].left
    assert first_state(policy, 3).action == state.action


def test_draws_follow_the_mixture_and_the_seed() -> None:
    """Half of the time the best action for ever, whose cost is twice the budget."""
    model = rc.CPOMDP(
        transition=np.ones((2, 1, 1)),
        observation=np.ones((2, 1, 1)),
        reward=[[1.0, 0.0]],
        cost=[[1.0, 0.0]],
        initial_belief=[1.0],
        discount=0.5,
        budget=1.0,
    )
    policy = policy_of(model)
    rng = np.random.default_rng(0)
    drawn = [policy.initial(rng).action for _ in range(400)]
    expected = policy._first[1]
    assert abs(np.mean(drawn) - expected) <= 4 * np.sqrt(expected * (1 - expected) / 400)
    other = policy_of(model, seed=1)
    rng = np.random.default_rng(0)
    assert [other.initial(rng).action for _ in range(400)] != drawn or expected in (0.0, 1.0)


def test_vector_costs_no_costs_and_no_future() -> None:
    for n_costs, discount in ((2, 0.9), (0, 0.9), (1, 0.0)):
        case = random_model(
            np.random.default_rng(5), 3, 2, 2, n_costs, discount=discount, budget=[2.0] * n_costs or None
        )
        found = rc.simulate(case.model, policy_of(case.model, step_time=0.05, epsilon=0.1), runs=3, steps=4)
        assert found.runs == 3


def test_a_full_memory_starts_from_nothing() -> None:
    case = random_model(
        np.random.default_rng(0), 5, 3, 3, 1, density=1.0, deterministic=0.0, discount=0.99, budget=30.0
    )
    policy = policy_of(case.model, step_time=2.0, epsilon=1e-9, memory_limit=1.5e6)
    graph_search = policy._graph_search
    assert rc.simulate(case.model, policy, runs=1, steps=4).runs == 1
    assert policy._graph_search is not graph_search


def test_an_interrupt_ends_the_run() -> None:
    model = rc.problems.make("tunnels")

    def at_once(point: TracePoint) -> None:
        raise KeyboardInterrupt

    result = cgcp_cl(model, progress=at_once)
    assert result.status == "interrupted"
    policy = policy_of(model)
    state = first_state(policy)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    policy._graph_search.retarget = interrupt  # type: ignore[method-assign]
    policy._graph_search.search = interrupt  # type: ignore[method-assign]
    chances = rc.beliefs.observation_probabilities(model, rc.beliefs.initial(model), state.action)
    with pytest.raises(KeyboardInterrupt):
        policy.update(state, int(chances.argmax()))


def test_the_policy_cannot_be_saved(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model, path = rc.problems.make("ce"), tmp_path / "policy.rcp"
    with pytest.raises(rc.InputError, match="cannot be saved"):
        rc.save_policy(path, policy_of(model), model)
    monkeypatch.setattr("sys.argv", ["rcpomdp", "solve", "ce", "--solver", "cgcp-cl", "--out", str(path)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "the policy of cgcp-cl solves while it runs, and cannot be saved" in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"step_time": 0}, "the time for a step must be above 0, not 0"),
        ({"step_time": "long"}, "the time for a step must be above 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"epsilon": None}, "epsilon must be at least 0"),
    ],
)
def test_senseless_options_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(rc.InputError, match=sentence):
        cgcp_cl(rc.problems.make("ce"), **options)
