"""Compressed policies earn what they should, keep the budget in every history, and have fewer nodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from plan_sets import grown, with_course
from rcpomdp.compression.dominators import dominated
from rcpomdp.compression.measure import Measure, Moves
from rcpomdp.policies import ControllerPolicy, blind, policy_graph
from rcpomdp.policies.equal_nodes import NOWHERE, closed, merge_equal, reached
from strategies import Dense, cpomdps

SETTINGS = settings(derandomize=True, deadline=None, max_examples=40)
TIGER = rc.problems.make("tiger")


def random_controller(model: rc.CPOMDP, n: int, seed: int) -> ControllerPolicy:
    rng = np.random.default_rng(seed)
    actions, successors = rng.integers(model.n_actions, size=n), rng.integers(n, size=(n, model.n_observations))
    return ControllerPolicy(model, actions, successors, start=n - 1)


def measure(model: rc.CPOMDP, policy: ControllerPolicy) -> Measure:
    moves = [Moves.of(model, a) for a in range(model.n_actions)]
    return Measure(model, moves, *reached(policy.actions, policy.successors, policy.start))


def many_times(policy: ControllerPolicy, model: rc.CPOMDP, copies: int, seed: int) -> ControllerPolicy:
    """The same controller with copies of its nodes: each edge leads to any copy."""
    rng = np.random.default_rng(seed)
    n = policy.actions.size
    successors = np.tile(policy.successors, (copies, 1))
    successors = successors + n * rng.integers(copies, size=successors.shape)
    return ControllerPolicy(model, np.tile(policy.actions, copies), successors, policy.start)


# Equal nodes


@SETTINGS
@given(cpomdps(), st.integers(1, 4), st.integers(0, 99))
def test_copies_of_nodes_are_one(case: Dense, n: int, seed: int) -> None:
    model = case.model
    policy = random_controller(model, n, seed)
    small = merge_equal(*reached(policy.actions, policy.successors, policy.start))
    again = many_times(policy, model, 4, seed)
    assert merge_equal(again.actions, again.successors, again.start)[0].size == small[0].size <= n


@SETTINGS
@given(cpomdps(), st.integers(2, 8), st.integers(0, 99))
def test_merged_nodes_act_alike_in_every_possible_history(case: Dense, n: int, seed: int) -> None:
    """What cannot be observed at a node may be followed by anything; all that can is as before."""
    model = case.model
    policy = random_controller(model, n, seed)
    whole = measure(model, policy)
    actions, successors = merge_equal(whole.actions, whole.successors)
    small = ControllerPolicy(model, actions, closed(successors))
    assert small.actions.size <= len(policy_graph(policy, model).nodes)
    pairs, met = [(policy.start, 0)], {(policy.start, 0)}
    possible = {i: np.flatnonzero(row != NOWHERE) for i, row in enumerate(whole.successors)}
    order, _ = reached(np.arange(n), policy.successors, policy.start)
    place = {int(node): i for i, node in enumerate(order)}
    for i, j in pairs:
        assert policy.action(i) == small.action(j)
        for o in possible[place[i]].tolist():
            after = (policy.update(i, o), small.update(j, o))
            if after not in met:
                met.add(after)
                pairs.append(after)
    before, after_ = rc.verify(model, policy), rc.verify(model, small)
    assert after_.reward == pytest.approx(before.reward, rel=1e-9, abs=1e-9)
    assert after_.spent == pytest.approx(before.spent, rel=1e-6)


def test_nodes_that_agree_where_both_can_be_are_folded() -> None:
    """Node 1 knows what follows observation 0, node 2 what follows 1: one node knows both."""
    actions, successors = merge_equal(
        np.array([0, 1, 1, 0]), np.array([[1, 2], [3, NOWHERE], [NOWHERE, 3], [NOWHERE, NOWHERE]])
    )
    assert actions.tolist() == [0, 1]
    assert successors.tolist() == [[1, 1], [0, 0]]


# Measures


@SETTINGS
@given(cpomdps(), st.integers(1, 5), st.integers(0, 99))
def test_measures_are_those_of_the_checker(case: Dense, n: int, seed: int) -> None:
    model = case.model
    policy = random_controller(model, n, seed)
    found, whole = rc.verify(model, policy), measure(model, policy)
    near = 1e-9 * found.size + 1e-9
    assert whole.reward == pytest.approx(found.reward, abs=near)
    assert whole.alpha[0] @ model.initial_belief == pytest.approx(found.reward, abs=near)
    assert (whole.sure_cost[:, 0] >= found.spent * (1 - 1e-9)).all()
    limit = whole.sure_cost[:, 0]
    left = whole.left(limit)
    for i, row in enumerate(whole.successors):
        for j in row[row != NOWHERE].tolist():
            assert (whole.sure_cost[:, j] <= left[:, i] * (1 + 1e-9) + 1e-9).all()


@SETTINGS
@given(st.integers(1, 12), st.integers(0, 999))
def test_dominated_nodes_are_those_that_are_cut_off(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    actions, table = reached(np.zeros(n, dtype=int), rng.integers(n, size=(n, 2)), 0)
    graph = table.tolist()
    first, last = dominated(graph)
    for i in range(len(graph)):
        met = set() if i == 0 else {0}
        for node in (queue := list(met)):
            fresh = {j for j in graph[node] if j != i} - met
            met |= fresh
            queue += fresh
        inside = {j for j in range(len(graph)) if first[i] <= first[j] < last[i]}
        assert inside == set(range(len(actions))) - met


# Compression


@SETTINGS
@given(cpomdps(), st.integers(2, 8), st.integers(0, 99), st.sampled_from([0.0, 0.5]))
def test_no_more_is_lost_than_allowed(case: Dense, n: int, seed: int, loss: float) -> None:
    model = case.model.with_budget(None)
    policy = random_controller(model, n, seed)
    within = model.with_budget(rc.verify(model, policy).sure_cost * 1.000001)
    small = rc.compress(within, policy, loss)
    assert small.after.verified or not small.before.verified
    assert small.policy.actions.size <= n
    assert small.loss <= loss + 1e-9 * (1 + small.before.size)
    again = rc.verify(within, small.policy)
    assert again.reward == pytest.approx(small.after.reward)
    if loss == 0:
        assert (again.spent <= small.before.sure_cost * (1 + 1e-6) + 1e-12).all()


def test_a_policy_that_breaks_its_budget_is_only_merged() -> None:
    model = TIGER.with_budget(1)
    policy = many_times(blind(model, "listen"), model, 5, 0)
    small = rc.compress(model, policy, loss=100.0)
    assert not small.after.verified
    assert (small.policy.actions.tolist(), small.loss) == ([0], 0.0)


def test_tiger_is_carried_in_fewer_nodes() -> None:
    """The solver's controller listens and opens by what is left of the budget; many of its nodes can stand in."""
    model = TIGER.with_budget(1.5)
    result = rc.solve(model)
    small = rc.compress(model, result.policy, loss=0.001)
    assert small.after.verified
    assert small.loss <= 0.001
    assert small.policy.actions.size < result.policy.actions.size / 2
    assert [step.name for step in small.steps] == ["equal nodes", "stand-ins", "with a loss"]
    lossless = result.policy.compressed(model)
    found = rc.verify(model, lossless, {"sure_cost": result.sure_cost.tolist(), "lower": result.lower})
    assert found.verified


def test_what_cannot_be_compressed_is_one_sentence() -> None:
    with pytest.raises(rc.PolicyError, match="^only controllers and sets of plans can be compressed, not AlphaPolicy$"):
        rc.compress(TIGER, rc.policies.fib(TIGER))
    with pytest.raises(rc.PolicyError, match="not a plan set with belief nodes$"):
        rc.compress(TIGER, with_course(grown(TIGER, 4), steps=1))
    for loss in (-1.0, float("nan"), "x"):
        with pytest.raises(rc.InputError, match="^the loss is"):
            rc.compress(TIGER, blind(TIGER, 0), loss)


def test_plan_sets_keep_the_plans_that_are_used() -> None:
    policy = grown(TIGER, 60)
    small = rc.compress(TIGER, policy, loss=1e9, runs=20)
    assert small.after.verified
    assert small.policy.actions.size < policy.actions.size
    exact = rc.compress(TIGER, policy, runs=20)
    assert exact.loss <= 1e-9
    assert exact.after.verified


def test_the_command(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    model = TIGER.with_budget(4)
    path, out = str(tmp_path / "policy.rcp"), str(tmp_path / "small.rcp")
    policy = many_times(blind(model, "listen"), model, 3, 0)
    claims = {"solver": "arcs", "upper": 2.0, "budget": [4.0], "reward": -4.0}
    rc.save_policy(path, policy, model, claims, {"name": "tiger", "parameters": {}})
    code, printed, err = run("compress", path, "--out", out)
    assert (code, err) == (0, f"rcpomdp: policy saved to {out}\n")
    assert "nodes before" in printed
    told = json.loads(run("compress", path, "--json")[1])
    assert (told["nodes_before"], told["nodes"], told["loss"], told["verified"]) == (3, 1, 0.0, True)
    assert run("verify", out)[0] == 0
    info = json.loads(run("info", out, "--json")[1])
    assert (info["nodes"], info["claims"]["upper"], info["claims"]["compressed"]["nodes_before"]) == (1, 2.0, 3)
    assert run("compress", path, "--loss", "-1")[0] == 2
    assert run("compress", path, "--out", str(tmp_path / "no" / "x.rcp"))[0] == 2
