"""Runs step by step: trajectory i and path i are run i of the simulation, and their steps are those of the model."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from budget_kinds import of_a_kind, uses
from rcpomdp.kernels.simulation.rollout import ENDED
from rcpomdp.simulation import random_streams
from rcpomdp.simulation.trajectory import trajectory
from strategies import random_model


class Protocol:
    """A policy without programs: its runs go through the protocol."""

    def __init__(self, policy: Any) -> None:
        self.initial, self.action, self.update = policy.initial, policy.action, policy.update


@pytest.mark.parametrize(("name", "seed", "steps"), [("tunnels", 0, 20), ("tiger", 3, 9), ("crs-4-4", 5, 30)])
def test_trajectory_and_path_i_are_run_i(name: str, seed: int, steps: int) -> None:
    """Also beyond the first block, for runs of compiled programs and of the protocol alike."""
    model = rc.problems.make(name)
    runs = random_streams.block_runs(steps) + 3
    for policy in (rc.policies.RandomPolicy(model), rc.policies.fib(model)):
        out = rc.simulate(model, policy, runs, steps, seed, paths=True).outcome
        alike = rc.simulate(model, Protocol(policy), runs, steps, seed, paths=True).outcome
        assert all(np.array_equal(one, other) for one, other in zip(out, alike, strict=True))
        for i in (0, 1, runs - 2, runs - 1):
            run = trajectory(model, policy, steps, seed, i)
            last = run[-1]
            assert [step.state for step in run] == out.path[i, : len(run)].tolist()
            assert (out.path[i, len(run) :] == ENDED).all()
            assert (last.reward, last.spent.tolist()) == (out.reward[i], out.spent[i].tolist())
            assert bool(model.terminal[last.state]) == out.ended[i]
            assert sum(not model.terminal[step.state] for step in run[:-1]) == out.length[i]
            cost = sum(step.weight * model.cost[:, step.state, step.action] for step in run[:-1])
            np.testing.assert_allclose(cost, out.cost[i], rtol=1e-12)


def test_steps_follow_from_one_another() -> None:
    model = rc.problems.make("tunnels")
    run = trajectory(model, rc.policies.RandomPolicy(model), seed=2)
    assert [step.time for step in run] == list(range(len(run)))
    assert run[-1].action is None
    assert all(step.action is not None for step in run[:-1])
    for before, after in pairwise(run):
        np.testing.assert_array_equal(before.spent + before.cost, after.spent)
        again = rc.beliefs.update(model, before.belief, before.action, after.observation)
        assert again.states.tolist() == after.belief.states.tolist()
        assert before.state in before.belief.states


def test_a_run_goes_on_until_the_belief_is_sure_of_the_end() -> None:
    """The end is not seen: the state absorbs, but the belief never knows, and the path goes on."""
    model = rc.CPOMDP(
        transition=[[[0.5, 0.5], [0, 1]]],
        observation=[[[1], [1]]],
        reward=[[1], [0]],
        initial_belief=[1, 0],
        discount=0.5,
    )
    out = rc.simulate(model, rc.policies.blind(model, 0), 50, 6, paths=True).outcome
    assert (out.path != ENDED).all()
    assert out.ended.any()
    assert ((out.path[:, :-1] == 0).sum(axis=1) == out.length).all()


@pytest.mark.parametrize("name", ["ce", "tunnels", "crs-4-4"])
def test_every_step_is_possible_and_nothing_follows_the_end(name: str) -> None:
    model = rc.problems.make(name)
    paths = rc.simulate(model, rc.policies.RandomPolicy(model), runs=50, steps=30, seed=4, paths=True).outcome.path
    assert paths.shape == (50, 31)
    for path in paths:
        walked = path[path != ENDED]
        assert (path[: len(walked)] == walked).all()
        assert model.initial_belief[walked[0]] > 0
        assert not model.terminal[walked[:-1]].any()  # these models show their end
        assert len(walked) == 31 or model.terminal[walked[-1]]
        for s, t in pairwise(walked):
            assert any(model.transition[a][s, t] > 0 for a in range(model.n_actions))


def test_paths_are_kept_on_demand_alone() -> None:
    model = rc.problems.make("tunnels")
    assert rc.simulate(model, rc.policies.RandomPolicy(model), runs=3).outcome.path.shape == (3, 0)


def test_shares_are_those_of_the_model() -> None:
    """Tunnel 1 is rocky with 0.8; 5 standard errors of 2000 runs are 0.045."""
    model = rc.problems.make("tunnels")
    paths = rc.simulate(model, rc.policies.blind(model, "forward"), 2000, 6, paths=True).outcome.path
    labels = np.array([str(model.states[s]).split()[1] for s in paths[:, 0]])
    assert abs((labels == "rocky").mean() - 0.8) < 0.045
    ends = {str(model.states[path[path != ENDED][-1]]) for path in paths}
    assert ends == {"out"}
    assert {str(model.states[s]).split()[0] for s in paths[:, 4]} == {"tunnel-2-cell-4"}


@pytest.mark.parametrize("seed", range(8))
def test_runs_of_costs_of_all_kinds_are_the_same_by_program_and_by_protocol(seed: int) -> None:
    """Discounts of costs, limits of steps and horizons, to the last bit; also where weights are 0."""
    rng = np.random.default_rng(seed)
    case = random_model(rng, n_states=4, n_observations=2, n_costs=2, discount=(0.0, 0.5, 0.9, 0.9)[seed % 4])
    gamma = case.model.discount
    kinds = {"cost_discount": [gamma, 0.97 if gamma else 0.0], "step_limit": [None, float(rng.uniform(0, 2))]}
    model = of_a_kind(case, **kinds, budget=[3.0, None], horizon=5 if seed % 3 == 0 else None)
    for policy in (rc.policies.RandomPolicy(model), rc.policies.blind(model, 0)):
        out = rc.simulate(model, policy, 40, 20, seed, paths=True).outcome
        alike = rc.simulate(model, Protocol(policy), 40, 20, seed, paths=True).outcome
        assert all(np.array_equal(one, other) for one, other in zip(out, alike, strict=True))
        for i in (0, 39):
            run = trajectory(model, policy, 20, seed, i)
            broken = [
                step.time
                for step in run[:-1]
                if (step.paid > model.step_limit * (1 + 1e-9)).any()
                or (step.spent + step.cost > model.spending_limit).any()
            ]
            assert out.violation[i] == (broken[0] if broken else -1)
            for step in run:
                np.testing.assert_array_equal(step.cost, step.cost_weight * step.paid)


def test_a_step_over_its_limit_is_a_violation_however_late() -> None:
    """β^1200 is 0 in doubles."""
    model = uses(discount=0.5, step_limit=0.5)
    late = rc.policies.ControllerPolicy(model, [1] * 1200 + [0], [[min(i + 1, 1200)] for i in range(1201)])
    for policy in (late, Protocol(late)):
        assert rc.simulate(model, policy, 2, 1300).outcome.violation.tolist() == [1200, 1200]
    assert rc.simulate(model, rc.policies.blind(model, "rest"), 2, 10).violation_rate.mean == 0


def test_a_battery_is_empty_after_so_many_uses() -> None:
    model = uses(cost_discount=1.0, budget=3)
    runs = rc.simulate(model, rc.policies.blind(model, "use"), 2, 10)
    assert runs.outcome.violation.tolist() == [3, 3]
    assert runs.outcome.spent.tolist() == [[10.0], [10.0]]
    assert runs.summary()["costs"][0]["truncation"] is None  # it would go on for ever
