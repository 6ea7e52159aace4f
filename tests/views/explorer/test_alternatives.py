"""What is proven of actions: against plain NumPy, and against every policy of a problem small enough for that."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from rcpomdp.bounds import cost_fib_vectors, fib_vectors
from rcpomdp.bounds.blind import blind_vectors
from rcpomdp.views.explorer.alternatives import BREAKS, LESS, OPEN, TAKEN, WORSE, Bounds, judge
from strategies import Dense, cpomdps, random_belief

NOTHING = np.zeros(1)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(cpomdps(n_costs=1), st.integers(0, 10**6), st.floats(0, 30))
def test_bounds_are_those_of_one_step_ahead(case: Dense, seed: int, left: float) -> None:
    model, gamma = case.model, case.model.discount
    b = random_belief(np.random.default_rng(seed), model.n_states)
    F, G = fib_vectors(model), cost_fib_vectors(model)
    B = blind_vectors(model, model.reward[None])[:, 0]
    for a, option in enumerate(Bounds(model).at(rc.beliefs.as_belief(model, b))):
        cost = b @ case.C[0, :, a]
        low = high = within = b @ case.R[:, a]
        least = cost
        for o in range(model.n_observations):
            after = (b @ case.T[a]) * case.Z[a][:, o]  # p(o) b_o
            if after.sum() == 0:
                continue
            low += gamma * (B @ after).max()
            high += gamma * (F @ after).max()
            least += gamma * (G @ after).min()
            kept = cost + gamma * (G @ after) / after.sum() <= left
            within += gamma * (F @ after)[kept].max(initial=-np.inf) if kept.any() else -np.inf
        scale = 1 + abs(high) + abs(low)
        assert option.reward_lo == pytest.approx(low, abs=1e-9 * scale)
        assert option.reward_hi == pytest.approx(high, abs=1e-9 * scale)
        assert option.cost[0] == pytest.approx(cost)
        assert option.cost_lo[0] == pytest.approx(least, abs=1e-9 * (1 + least))
        found = option.within(np.array([left]), NOTHING)
        near = min(abs(stair.need - left) for stair in option.stairs[0]) < 1e-9 * (1 + left)
        if not near:  # rounding decides at the edge of a stair
            expected = pytest.approx(within, abs=1e-9 * scale)
            assert found is None if within == -np.inf else found == expected


def test_a_staircase_rises() -> None:
    model = rc.problems.make("tunnels")
    for option in Bounds(model).at(rc.beliefs.initial(model)):
        for stairs in option.stairs:
            needs, rewards = zip(*stairs, strict=True)
            assert (np.diff(needs) > 0).all()
            assert (np.diff(rewards) > 0).all()
            assert rewards[-1] == pytest.approx(option.reward_hi)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.floats(0, 12))
def test_no_policy_of_the_cave_that_keeps_what_is_left_earns_more(left: float) -> None:
    model = rc.problems.make("ce", discount=0.9)
    options = Bounds(model).at(rc.beliefs.initial(model))
    # From the start A costs nothing and shows the terrain; then A costs 8 or 2, B costs 5 and earns nothing.
    after = [[(0.9 * 12, 8.0), (0.0, 5.0)], [(0.9 * 12, 2.0), (0.0, 5.0)]]
    best_a = [
        0.5 * (rocky[0] + clear[0]) for rocky, clear in product(*after) if max(rocky[1], clear[1]) <= left / 0.9 + 1e-12
    ]
    found = options[0].within(np.array([left]), NOTHING)
    assert (found is None) == (not best_a)
    if best_a:
        assert found == pytest.approx(max(best_a), abs=1e-5)  # the fast informed bound stops at 1e-6
    assert options[1].within(np.array([left]), NOTHING) == (None if left < 5 else pytest.approx(10))


def test_the_cave_is_explained_as_the_paper_does() -> None:
    model = rc.problems.make("ce")
    a, b = Bounds(model).at(rc.beliefs.initial(model))
    five, nine, four = np.array([5.0]), np.array([9.0]), np.array([4.0])
    slack = np.array([1e-8])
    assert judge(b, 1, 10.0, five, slack).word == TAKEN
    assert judge(a, 1, 10.0, five, slack) == (WORSE, pytest.approx(6, abs=1e-4))
    assert judge(a, 1, 10.0, five, slack, keeps=False) == (LESS, pytest.approx(6, abs=1e-4))
    assert judge(a, 1, 10.0, nine, slack) == (OPEN, pytest.approx(12, abs=1e-4))
    assert judge(a, 1, 10.0, four, slack) == (BREAKS, None)


def test_every_cost_has_its_own_staircase() -> None:
    arrays = {"transition": np.ones((2, 1, 1)), "observation": np.ones((2, 1, 1)), "reward": [[1.0, 3.0]]}
    cost = [[[0.0, 1.0]], [[2.0, 0.0]]]
    model = rc.CPOMDP(**arrays, cost=cost, budget=[1, 2], initial_belief=[1.0], discount=0.5)
    first, second = Bounds(model).at(rc.beliefs.initial(model))
    nothing = np.zeros(2)
    assert first.within(np.array([0.0, 1.9]), nothing) is None
    assert second.within(np.array([0.9, 9.0]), nothing) is None
    # With plenty of the first and little of the second, only the second action may follow, and the other way round.
    assert second.within(np.array([9.0, 0.0]), nothing) == pytest.approx(3 + 0.5 * 6, abs=1e-4)
    assert first.within(np.array([0.0, 9.0]), nothing) == pytest.approx(1 + 0.5 * (1 + 0.5 * 6), abs=1e-4)
