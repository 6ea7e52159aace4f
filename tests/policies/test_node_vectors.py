"""The α-vectors of a controller: the equation they solve, and the value of being greedy in them."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from rcpomdp.policies import ControllerPolicy, node_vectors
from strategies import Dense, cpomdps

module = importlib.import_module("rcpomdp.policies.node_vectors")


def random_controller(model: rc.CPOMDP, seed: int, n: int = 4) -> ControllerPolicy:
    rng = np.random.default_rng(seed)
    return ControllerPolicy(
        model, rng.integers(model.n_actions, size=n), rng.integers(n, size=(n, model.n_observations)), start=1
    )


@settings(derandomize=True, deadline=None, max_examples=60)
@given(cpomdps(discounts=(0.0, 0.5, 0.95)), st.integers(0, 2**32 - 1))
def test_vectors_solve_their_equation_either_way(case: Dense, seed: int) -> None:
    model = case.model
    policy = random_controller(model, seed)
    found = node_vectors(policy, model).vectors
    for n, a in enumerate(policy.actions):
        after = np.einsum("st,to,ot->s", case.T[a], case.Z[a], found[policy.successors[n]])
        np.testing.assert_allclose(found[n], case.R[:, a] + model.discount * after, atol=1e-9)
    gain = np.ascontiguousarray(model.reward[:, policy.actions].T)
    np.testing.assert_allclose(module._iterated(policy, model, gain), found, atol=1e-8)
    assert found[1] @ model.initial_belief == pytest.approx(rc.evaluate(model, policy).reward, abs=1e-8)


def test_what_is_too_large_or_of_another_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = rc.problems.make("tiger")
    policy = random_controller(model, 0)
    with pytest.raises(rc.PolicyError, match="^the controller was made for a model with other"):
        node_vectors(policy, rc.problems.make("tunnels"))
    monkeypatch.setattr(module, "_MOST_PAIRS", 7)
    with pytest.raises(rc.PolicyError, match="^the vectors of 4 nodes over 2 states are too many to be held$"):
        node_vectors(policy, model)
    monkeypatch.undo()
    monkeypatch.setattr(module, "_SOLVABLE", 0)
    monkeypatch.setattr(module, "_MOST_SWEEPS", 3)
    with pytest.raises(rc.PolicyError, match="^the vectors of 4 nodes are not found: the discount is too near to 1$"):
        node_vectors(policy, model)
