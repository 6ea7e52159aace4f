"""The distinct one-step beliefs against dense Bayes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings

import rcpomdp as rc
from rcpomdp.bounds.one_step import later_beliefs, one_step_beliefs, one_step_size
from reference import branches
from strategies import Dense, cpomdps


@settings(derandomize=True, deadline=None, max_examples=60)
@given(cpomdps(discounts=(0.5,)))
def test_rows_are_bayes_rule_and_beliefs_are_distinct(case: Dense) -> None:
    n = case.model.n_states
    class_of = np.arange(n, dtype=np.int32)
    x = one_step_beliefs(case.model, class_of)
    assert x is not None
    shares = np.zeros((x.n_beliefs, n))
    for i in range(x.n_beliefs):
        states = x.state[x.start[i] : x.start[i + 1]]
        assert (np.diff(states) > 0).all()
        assert x.cls[i] == states[0]
        shares[i, states] = x.weight[x.start[i] : x.start[i + 1]]
    support = 0
    for a in range(case.model.n_actions):
        for s in range(n):
            row = slice(x.ptr[a * n + s], x.ptr[a * n + s + 1])
            expected = branches(case, np.eye(n)[s], a)
            assert x.obs[row].tolist() == [o for o, _, _ in expected]
            np.testing.assert_allclose(x.prob[row], [p for _, p, _ in expected], rtol=1e-12)
            np.testing.assert_allclose(shares[x.belief[row]], [b for _, _, b in expected], rtol=1e-12)
            support += sum(int((b > 0).sum()) for _, _, b in expected)
    np.testing.assert_allclose(shares[x.root], case.model.initial_belief, rtol=1e-12)
    apart = np.abs(shares[:, None] - shares[None]).max(axis=2) + np.eye(x.n_beliefs)
    assert apart.min() > 1e-15
    assert one_step_size(case.model)[:2] == (len(x.obs), support)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(cpomdps(discounts=(0.5,)))
def test_later_rows_are_bayes_rule_of_mixtures(case: Dense) -> None:
    n, n_actions = case.model.n_states, case.model.n_actions
    before = one_step_beliefs(case.model, np.zeros(n, dtype=np.int32))
    assert before is not None
    elements = sp.csr_array((before.weight, before.state, before.start), shape=(before.n_beliefs, n)).toarray()
    x = later_beliefs(before, n_actions)
    assert x is not None
    shares = sp.csr_array((x.weight, x.state, x.start), shape=(x.n_beliefs, before.n_beliefs)).toarray()
    assert (x.weight > 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    for a in range(n_actions):
        for e, b in enumerate(elements):
            row = slice(x.ptr[a * before.n_beliefs + e], x.ptr[a * before.n_beliefs + e + 1])
            expected = branches(case, b, a)
            assert x.obs[row].tolist() == [o for o, _, _ in expected]
            np.testing.assert_allclose(x.prob[row], [p for _, p, _ in expected], rtol=1e-12)
            found = shares[x.belief[row]] @ elements
            np.testing.assert_allclose(found, [after for _, _, after in expected], rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(shares[x.root] @ elements, case.model.initial_belief, rtol=1e-12)
    assert later_beliefs(before, n_actions, lambda: True) is None


def test_deterministic_moves_lead_to_states_alone() -> None:
    n = 5000
    move = sp.csr_array((np.ones(n), ((np.arange(n)), (np.arange(n) + 1) % n)), shape=(n, n))
    model = rc.CPOMDP(
        transition=[move, sp.identity(n, format="csr")],
        observation=[np.full((n, 2), 0.5)] * 2,
        reward=np.zeros((n, 2)),
        initial_belief=np.full(n, 1 / n),
        discount=0.9,
    )
    x = one_step_beliefs(model, np.zeros(n, dtype=np.int32))
    assert x is not None
    assert x.n_beliefs == n + 1
    assert x.root == n
    assert one_step_size(model) == (4 * n, 4 * n, 2)
    assert one_step_beliefs(model, x.cls, lambda: True) is None
