"""Histories as a graph: probabilities, values, limits, what is one node, and the riskiest branch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from rcpomdp.views.explorer.risk import NO_WAY, risks
from rcpomdp.views.explorer.walk import ENDED, NOT_EXPLORED, HistoryGraph, components, frozen, starts, walk
from strategies import Dense, cpomdps


def controller(model: rc.CPOMDP, rng: np.random.Generator, n: int = 4) -> rc.policies.ControllerPolicy:
    actions = rng.integers(model.n_actions, size=n)
    return rc.policies.ControllerPolicy(model, actions, rng.integers(n, size=(n, model.n_observations)))


def walked(model: rc.CPOMDP, policy: Any, **limits: Any) -> HistoryGraph:
    return walk(model, starts(model, policy), **limits)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(cpomdps(n_costs=1), st.integers(0, 10**6))
def test_values_are_those_of_the_policy_and_satisfy_their_equation(case: Dense, seed: int) -> None:
    model = case.model
    policy = controller(model, np.random.default_rng(seed))
    graph = walked(model, policy, most_nodes=60)
    exact = rc.evaluate(model, policy)
    assert graph.values[graph.roots[0], 0, 0] == pytest.approx(exact.reward, abs=1e-6 * (1 + abs(exact.reward)))
    assert graph.values[graph.roots[0], 1, 0] == pytest.approx(exact.cost[0], abs=1e-6 * (1 + exact.cost[0]))
    for n, edges in enumerate(graph.edges):
        if graph.action[n] == ENDED:
            assert not edges
            continue
        assert sum(e.probability for e in edges) == pytest.approx(1)
        if all(e.node != NOT_EXPLORED for e in edges):
            b = graph.beliefs[graph.belief[n]]
            now = rc.beliefs.expected_cost(model, b, graph.action[n])[0]
            ahead = sum(e.probability * graph.values[e.node, 1, 0] for e in edges)
            total = now + model.discount * ahead
            assert graph.values[n, 1, 0] == pytest.approx(total, abs=1e-6 * (1 + total))


def test_histories_that_go_on_alike_are_one_node() -> None:
    model = rc.problems.make("tiger")
    graph = walked(model, rc.policies.blind(model, "listen"), most_nodes=41)
    # Beliefs depend on how often each side was heard: a difference of 0, ±1, ..., and each is met once.
    assert len(graph) == len(graph.beliefs) == 41  # 20 to either side
    assert not graph.complete
    after = {e.observation: e.node for e in graph.edges[0]}
    assert {e.observation: e.node for e in graph.edges[after[0]]}[1] == 0


def test_limits_are_kept_and_what_lies_beyond_is_marked() -> None:
    model = rc.problems.make("tunnels")
    policy = rc.policies.fib(model)
    assert len(walked(model, policy, most_nodes=5)) == 5
    shallow = walked(model, policy, most_steps=1)
    assert not shallow.complete
    assert all(e.node != NOT_EXPLORED for e in shallow.edges[0])
    assert any(e.node == NOT_EXPLORED for row in shallow.edges[1:] for e in row)
    assert walked(model, rc.policies.blind(model, "forward")).complete


@pytest.mark.parametrize("name", ["tiger", "cheese-maze"])
def test_values_without_a_controller_lie_between_their_bounds(name: str) -> None:
    model = rc.problems.make(name)
    policy = rc.policies.fib(model)
    exact = rc.evaluate(model, policy, tolerance=1e-4)
    widths = []
    for most in (20, 200):
        low, high = walked(model, policy, most_nodes=most).values[0].T
        for value, lo, hi in zip([exact.reward, *exact.cost], low, high, strict=True):
            assert lo - exact.error - 1e-6 <= value <= hi + exact.error + 1e-6
        widths.append((high - low).max())
    assert widths[1] <= widths[0] + 1e-9


def test_a_mixture_begins_once_for_each_policy_that_it_draws() -> None:
    model = rc.problems.make("ce")
    a, b = (rc.policies.blind(model, name) for name in ("tunnel-A", "tunnel-B"))
    inner = rc.policies.MixturePolicy([a, b], [0.5, 0.5])
    parts = components(rc.policies.MixturePolicy([inner, b], [0.4, 0.6]))
    assert [w for w, _ in parts] == pytest.approx([0.2, 0.2, 0.6])
    graph = walked(model, inner)
    assert [graph.action[root] for root in graph.roots] == [0, 1]


def test_states_are_compared_by_value_where_that_is_possible() -> None:
    assert frozen((1, np.array([0.5, 0.5]))) == frozen((1, np.array([0.5, 0.5 + 1e-15])))
    assert frozen({"a": [1]}) == frozen({"a": [1]}) != frozen({"a": [2]})
    assert frozen({1}) != frozen({1})  # a set has no hash, and equals nothing


# The riskiest branch


def largest_promise(graph: HistoryGraph, node: int, steps: int) -> float:
    """By brute force: the largest ``W(h) + γ^t V_C(h)`` over all histories of some steps."""
    promise = float(graph.values[node, 1, 0])
    if steps == 0 or graph.action[node] == ENDED:
        return promise
    now = rc.beliefs.expected_cost(graph.model, graph.beliefs[graph.belief[node]], graph.action[node])[0]
    known = [e.node for e in graph.edges[node] if e.node != NOT_EXPLORED]
    ahead = max((largest_promise(graph, child, steps - 1) for child in known), default=-np.inf)
    return max(promise, float(now + graph.model.discount * ahead))


@pytest.mark.parametrize("seed", range(8))
def test_the_riskiest_branch_is_the_one_that_promises_most(seed: int) -> None:
    model = rc.problems.make("tunnels")
    policy = controller(model, np.random.default_rng(seed), 6)
    graph = walked(model, policy, most_nodes=400)
    risk = risks(graph)
    root = graph.roots[0]
    assert risk.most[root, 0] >= largest_promise(graph, root, 7) - 1e-9
    # Following the way really leads there.
    node, spent, scale = root, 0.0, 1.0
    for _ in range(5000):  # a loop leads on for ever, to less and less
        if risk.way[node, 0] == NO_WAY:
            break
        spent += scale * rc.beliefs.expected_cost(model, graph.beliefs[graph.belief[node]], graph.action[node])[0]
        node, scale = graph.edges[node][risk.way[node, 0]].node, scale * model.discount
    assert spent + scale * graph.values[node, 1, 0] == pytest.approx(risk.most[root, 0], rel=1e-6)


def test_the_gamble_of_the_cave_is_found() -> None:
    model = rc.problems.make("ce")
    graph = walked(model, rc.policies.blind(model, "tunnel-A"))
    risk = risks(graph)
    assert risk.most[0, 0] == pytest.approx(8, abs=1e-4)
    assert graph.edges[0][risk.way[0, 0]].observation == model.observations.index("looks-rocky")
