"""The simulator: what it counts, that seeds rule, and the martingale of accumulated cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import rcpomdp as rc
from rcpomdp.model import beliefs
from rcpomdp.policies import AlphaPolicy, MixturePolicy, RandomPolicy, blind
from strategies import Dense, cpomdps, random_model

SETTINGS = settings(derandomize=True, deadline=None, max_examples=60)


def blind_cost(case: Dense, a: int) -> np.ndarray:
    """V_C of taking action a for ever, from each state: [K, S]."""
    system = np.eye(case.model.n_states) - case.model.discount * case.T[a]
    return np.linalg.solve(system, case.C[:, :, a].T).T


@SETTINGS
@given(cpomdps(max_states=5, max_observations=3, discounts=(0.0, 0.5, 0.95)))
def test_accumulated_and_expected_cost_are_a_martingale_over_histories(case: Dense) -> None:
    """``Σ_h p(h) [W(h_t) + γ^t V_C(b_t)] = V_C(b_0)`` at every t, over all histories of a blind policy."""
    model = case.model
    for a in range(model.n_actions):
        value = blind_cost(case, a)
        root = value @ model.initial_belief
        histories = [(1.0, np.zeros(model.n_costs), beliefs.initial(model))]
        for t in range(4):
            total = sum(p * (w + model.discount**t * (value[:, b.states] @ b.probabilities)) for p, w, b in histories)
            np.testing.assert_allclose(total, root, atol=1e-9 * max(1.0, np.abs(root).max(initial=0)))
            histories = [
                (p * q, w + model.discount**t * beliefs.expected_cost(model, b, a), nxt)
                for p, w, b in histories
                for _, q, nxt in beliefs.branches(model, b, a)
            ]


@pytest.mark.parametrize("seed", range(6))
def test_accumulated_cost_after_a_history_is_simulated_at_its_expectation(seed: int) -> None:
    """``E[W(h_∞) | h_t] = W(h_t) + γ^t V_C(b_t)``: runs that start at b_t, against the linear solve."""
    rng = np.random.default_rng(seed)
    case = random_model(rng, n_states=5, n_observations=3, n_costs=2, discount=0.8, n_terminal=seed % 2)
    a, gamma, spent, b = 0, case.model.discount, np.zeros(2), beliefs.initial(case.model)
    for t in range(3):
        spent += gamma**t * beliefs.expected_cost(case.model, b, a)
        found = beliefs.branches(case.model, b, a)
        b = found[int(rng.integers(len(found)))].belief
    there = case.model.with_initial_belief(b.dense(case.model.n_states))
    runs = rc.simulate(there, blind(there, 0), runs=4000, steps=120, seed=seed)
    for k in range(2):
        exact = spent[k] + gamma**3 * float(blind_cost(case, a)[k] @ there.initial_belief)
        for estimate in (runs.spent[k], runs.cost[k]):
            error = gamma**3 * (5 * estimate.se + runs.truncation[1][k]) + 1e-12
            assert abs(spent[k] + gamma**3 * estimate.mean - exact) <= error


@SETTINGS
@given(cpomdps(n_costs=1, discounts=(0.5, 0.95)))
def test_the_spent_cost_is_that_of_the_beliefs_and_violations_follow_from_it(case: Dense) -> None:
    result = rc.simulate(case.model, RandomPolicy(case.model), runs=20, steps=8, seed=5)
    over = result.outcome.spent[:, 0] > case.model.spending_limit[0]
    np.testing.assert_array_equal(result.outcome.violation >= 0, over)  # W never falls
    assert result.violation_rate.mean == over.mean()


def test_the_counterexample_violates_in_the_half_that_sees_rocks() -> None:
    model = rc.problems.make("ce")
    result = rc.simulate(model, blind(model, "tunnel-A"), runs=4000, seed=2)
    rate = result.violation_rate
    assert abs(rate.mean - 0.5) < 4 * math.sqrt(0.25 / 4000)
    assert rate.se == pytest.approx(math.sqrt(rate.mean * (1 - rate.mean) / 4000))
    gamma = model.discount
    # W is 8γ after rocks were seen and 2γ after they were not, whatever the tunnel turns out to be.
    np.testing.assert_allclose(sorted(set(result.outcome.spent[:, 0].round(9))), [2 * gamma, 8 * gamma], rtol=1e-9)
    assert set(result.outcome.violation.tolist()) == {-1, 1}
    assert set(result.outcome.cost[:, 0].round(3)) == {0, 10}
    assert result.reward.mean == pytest.approx(12, abs=1e-4)
    assert result.truncation == (0.0, [0.0])  # every run has ended
    assert result.overrun_rate.mean == (result.outcome.cost[:, 0] > 5).mean()


def test_the_first_step_weighs_one_and_ends_are_counted() -> None:
    model = rc.problems.make("ce", discount=0.5)
    result = rc.simulate(model, blind(model, "tunnel-B"), runs=10)
    assert result.reward == (10.0, 0.0)
    assert result.length == (1.0, 0.0)
    assert result.outcome.ended.all()
    assert result.violation_rate == (0.0, 0.0)  # exactly the budget is no violation


def test_rounding_over_many_free_steps_is_no_violation() -> None:
    """Three steps cost ĉ to the last bit, then a hundred are free: in d, 1e-16 would grow to 3e-4."""
    gamma = 0.75
    n = 104
    chain = np.eye(n, k=1)
    chain[-1, -1] = 1
    cost = np.zeros((n, 1))
    cost[:3] = 0.1
    model = rc.CPOMDP(
        transition=[chain],
        observation=[np.ones((n, 1))],
        reward=np.ones((n, 1)),
        cost=cost,
        initial_belief=np.eye(1, n)[0],
        discount=gamma,
        budget=0.1 * (1 + gamma + gamma**2),
    )
    result = rc.simulate(model, blind(model, 0), runs=1, steps=200)
    assert result.violation_rate.mean == 0
    below = rc.simulate(model.with_budget(0.231), blind(model, 0), runs=1, steps=200)
    assert below.outcome.violation.tolist() == [2]


def test_the_agent_goes_on_until_it_knows_that_all_is_over() -> None:
    """The end is not seen: the true state absorbs at once, but the belief keeps expecting cost."""
    model = rc.CPOMDP(
        transition=[[[0.5, 0.5], [0, 1]]],
        observation=[[[1], [1]]],
        reward=[[1], [0]],
        cost=[[1], [0]],
        initial_belief=[1, 0],
        discount=0.5,
        budget=1.3,
    )
    result = rc.simulate(model, blind(model, 0), runs=2000, steps=30, seed=4)
    assert result.spent[0].mean == pytest.approx(1 / (1 - 0.25), abs=1e-9)
    assert result.spent[0].se == pytest.approx(0, abs=1e-12)
    assert abs(result.cost[0].mean - result.spent[0].mean) < 5 * result.cost[0].se
    assert result.violation_rate.mean == 1  # 1 + 1/4 + 1/16 > 1.3, in every history
    assert set(result.outcome.length) >= {1, 2, 3}


def test_workers_do_not_change_the_rows() -> None:
    model = rc.problems.make("tunnels")
    alpha = AlphaPolicy(model, np.random.default_rng(0).normal(size=(4, model.n_states)), [0, 1, 2, 1])
    policy = MixturePolicy([alpha, RandomPolicy(model)], [0.5, 0.5])
    one = rc.simulate(model, policy, runs=700, steps=9, seed=11, workers=1)
    two = rc.simulate(model, policy, runs=700, steps=9, seed=11, workers=2)
    assert list(one.rows()) == list(two.rows())
    assert list(one.rows()) != list(rc.simulate(model, policy, runs=700, steps=9, seed=12).rows())


def test_what_a_run_draws_depends_on_its_number_alone() -> None:
    model = rc.problems.make("tiger")
    few = list(rc.simulate(model, RandomPolicy(model), runs=10, steps=5, seed=1).rows())
    many = list(rc.simulate(model, RandomPolicy(model), runs=600, steps=5, seed=1).rows())
    assert many[:10] == few
    # Two policies meet the same tiger: opening left and opening right pay 10 and -100 in turn.
    left = rc.simulate(model, blind(model, "open-left"), runs=300, steps=1, seed=1).outcome.reward
    right = rc.simulate(model, blind(model, "open-right"), runs=300, steps=1, seed=1).outcome.reward
    np.testing.assert_array_equal(left + right, -90.0)


def test_frequencies_are_those_of_the_model() -> None:
    """The share of runs that end at each step against the transition probabilities (chi-square, 99.9 %)."""
    model = rc.CPOMDP(
        transition=[[[0.7, 0.3], [0, 1]]],
        observation=[[[1, 0], [0, 1]]],
        reward=[[1], [0]],
        initial_belief=[1, 0],
        discount=0.9,
    )
    n = 20_000
    lengths = rc.simulate(model, blind(model, 0), runs=n, steps=50, seed=8).outcome.length
    counts = np.bincount(np.minimum(lengths, 8), minlength=9)[1:]
    p = np.array([0.3 * 0.7**i for i in range(7)] + [0.7**7])
    assert float(((counts - n * p) ** 2 / (n * p)).sum()) < 24.3


def test_without_costs_and_with_one_run() -> None:
    model = rc.problems.make("rs-5-7")
    result = rc.simulate(model, RandomPolicy(model), runs=1, steps=5)
    summary = result.summary()
    assert summary["costs"] == []
    assert not summary["interrupted"]
    assert summary["violation_rate"] == {"mean": 0.0, "se": 0.0}
    assert summary["reward"]["se"] is None  # one run has no standard error
    assert summary["reward"]["truncation"] == pytest.approx(0.95**5 * 10 / 0.05)
    assert rc.simulate(model, RandomPolicy(model), runs=3, steps=0).reward == (0.0, 0.0)


def test_runs_that_were_cut_are_told_of() -> None:
    model = rc.problems.make("tiger")
    listen = blind(model, 0)
    assert "runs that had not ended after 3 steps could still add" in repr(rc.simulate(model, listen, runs=5, steps=3))
    assert "had not ended" not in repr(rc.simulate(model, listen, runs=5, steps=200))
    ce = rc.problems.make("ce")
    assert not rc.simulate(ce, blind(ce, 0), runs=5).cut_short  # all of them have ended


def test_an_unlimited_budget_is_never_violated() -> None:
    model = rc.problems.make("tiger", budget=None)
    result = rc.simulate(model, blind(model, "listen"), runs=5)
    assert result.violation_rate.mean == 0
    assert result.summary()["costs"][0]["budget"] is None


def test_rows_are_plain_and_complete() -> None:
    model = rc.problems.make("ce")
    row = next(rc.simulate(model, blind(model, "tunnel-B"), runs=2).rows())
    assert row == {
        "run": 0,
        "reward": 10.0,
        "cost": 5.0,
        "cost_undiscounted": 5.0,
        "cost_spent": 5.0,
        "violation_step": None,
        "length": 1,
        "ended": True,
    }
    assert [type(value) for value in row.values()] == [int, float, float, float, float, type(None), int, bool]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"runs": 0}, "runs must be a whole number of at least 1, not 0"),
        ({"steps": -1}, "steps must be a whole number of at least 0, not -1"),
        ({"seed": -5}, "seed must be a whole number of at least 0, not -5"),
        ({"seed": None}, "seed must be a whole number of at least 0, not None"),
        ({"workers": 0}, "workers must be a whole number of at least 1, not 0"),
        ({"runs": 2.5}, "runs must be a whole number of at least 1, not 2.5"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], sentence: str) -> None:
    model = rc.problems.make("ce")
    with pytest.raises(rc.InputError) as caught:
        rc.simulate(model, RandomPolicy(model), **options)
    assert str(caught.value) == sentence


def test_an_interrupt_keeps_the_runs_done() -> None:
    model = rc.problems.make("tiger")

    def stop(done: int) -> None:
        if done >= 512:
            raise KeyboardInterrupt

    result = rc.simulate(model, RandomPolicy(model), runs=5000, steps=3, seed=1, progress=stop)
    assert (result.runs, result.requested) == (512, 5000)
    whole = rc.simulate(model, RandomPolicy(model), runs=512, steps=3, seed=1)
    assert list(result.rows()) == list(whole.rows())
