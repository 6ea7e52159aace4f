"""The longest that a process can go on, and what that makes of a discount of 1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from budget_kinds import uses
from rcpomdp.policies import AlphaPolicy, RandomPolicy, blind
from rcpomdp.solvers import SOLVERS
from strategies import Dense, cpomdps

ENDLESS = "discount 1 needs a horizon, since the process may go on for ever: .with_horizon(steps) or --horizon"


def longest(case: Dense) -> float:
    """Steps of the longest path that meets no end, by enumeration; more than there are states is for ever."""
    moves = (case.T > 0).any(axis=0) & ~case.model.terminal
    front = (case.model.initial_belief > 0) & ~case.model.terminal
    for steps in range(case.model.n_states + 1):
        if not front.any():
            return float(steps)
        front = moves[front].any(axis=0)
    return np.inf


@settings(derandomize=True, deadline=None, max_examples=100)
@given(cpomdps(), st.booleans())
def test_the_longest_way_to_an_end(case: Dense, forward: bool) -> None:
    """Also of models whose states only lead to later ones, which are sure to end."""
    if forward:
        T = np.triu(case.T, 1)
        T[:, :, -1] += 1 - T.sum(axis=2)
        R, C = case.R.copy(), case.C.copy()
        R[-1], C[:, -1] = 0, 0
        model = rc.CPOMDP(
            transition=T, observation=case.Z, reward=R, initial_belief=case.model.initial_belief, discount=1.0
        )
        case = Dense(model, T, case.Z, R, C)
        assert np.isfinite(model.most_steps)
        everywhere = case._replace(model=model.with_initial_belief(np.full(model.n_states, 1 / model.n_states)))
        assert model.fade == 1 / max(longest(everywhere), 1)
    assert case.model.most_steps == longest(case)


def test_what_adds_up_at_most() -> None:
    model = uses(2.0, cost_discount=1.0)
    assert (model.most_steps, model.fade) == (np.inf, pytest.approx(0.1))
    assert (model.cost_fade.tolist(), model.most_spent.tolist()) == ([0.0], [np.inf])
    assert uses(0.0, cost_discount=1.0).most_spent.tolist() == [0.0]
    assert uses(2.0, cost_discount=0.95).most_spent == pytest.approx([40])
    short = uses(2.0, discount=1.0, horizon=4)
    assert (short.most_steps, short.fade) == (4, 0.25)
    assert (short.cost_fade.tolist(), short.most_spent.tolist()) == ([0.25], [8.0])
    assert (short.steps_until(1e-9), uses().steps_until(0.9)) == (4, pytest.approx(1))


def test_a_discount_of_1_without_an_end_is_refused_in_one_sentence() -> None:
    model = uses(discount=1.0, budget=3)
    alpha = AlphaPolicy(model, [[1.0]], [0])
    for ask in (
        *(lambda name=name: rc.solve(model, name) for name in SOLVERS),
        lambda: model.fade,
        lambda: rc.verify(model, blind(model, "rest")),
        *(lambda policy=policy: rc.evaluate(model, policy) for policy in (alpha, RandomPolicy(model), blind(model, 0))),
    ):
        with pytest.raises(rc.ModelError) as caught:
            ask()
        assert str(caught.value) == ENDLESS
    runs = rc.simulate(model, blind(model, "use"), runs=2, steps=5)
    assert (runs.reward.mean, runs.outcome.violation.tolist()) == (5, [3, 3])
    assert runs.summary()["reward"]["truncation"] is None


def test_a_start_where_all_is_over() -> None:
    """γ = 1, and no step at all."""
    model = rc.CPOMDP(
        transition=[[[0.0, 1.0], [0.0, 1.0]]],
        observation=[[[1.0], [1.0]]],
        reward=[[1.0], [0.0]],
        cost=[[1.0], [0.0]],
        initial_belief=[0.0, 1.0],
        discount=1.0,
        budget=0.0,
    )
    assert (model.most_steps, model.fade) == (0, 1)
    result = rc.solve(model)
    assert (result.status, result.lower, result.upper) == (
        "optimal",
        pytest.approx(0, abs=1e-9),
        pytest.approx(0, abs=1e-9),
    )
    assert rc.verify(model, result.policy, result.claims(model)).verified


def test_circles_of_states_that_are_never_met_count_for_the_discount_of_1() -> None:
    """Bounds are of states, whichever can be met: without the refusal a matrix would be singular."""
    model = rc.CPOMDP(
        transition=[[[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]],
        observation=[[[1.0]] * 3],
        reward=[[1.0], [0.0], [1.0]],
        initial_belief=[1.0, 0.0, 0.0],
        discount=1.0,
    )
    assert model.most_steps == 1
    with pytest.raises(rc.ModelError) as caught:
        rc.solve(model)
    assert str(caught.value) == ENDLESS
    assert rc.solve(model.with_horizon(5)).lower == pytest.approx(1)
