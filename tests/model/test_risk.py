"""Risk as a cost: its expected total is the probability of ever failing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rcpomdp as rc
from rcpomdp.errors import ModelError

EDGE, SLIP = 3, 0.1  # cells 0 to 3; over the edge from 3


def walk(**given):
    """Cells in a row: a step goes on or slips on by two, waiting stays; beyond the last is the abyss."""

    def transition(s, a):
        if a == "wait" or s in {"abyss", "home"}:
            return {s: 1.0}
        if a == "leave":
            return {"home": 1.0}
        row = {}
        for by, p in ((1, 1 - SLIP), (2, SLIP)):
            there = s + by if s + by <= EDGE else "abyss"
            row[there] = row.get(there, 0.0) + p
        return row

    parts = {
        "states": [*range(EDGE + 1), "abyss", "home"],
        "actions": ["step", "wait", "leave"],
        "observations": ["blank"],
        "transition": transition,
        "observation": lambda a, s: {"blank": 1.0},
        "reward": lambda s, a: float(a == "step" and s not in {"abyss", "home"}),
        "initial": {0: 1.0},
        "discount": 0.9,
    }
    return rc.CPOMDP.from_functions(**{**parts, **given})


def test_it_is_the_probability_that_the_next_step_fails():
    cost = rc.risk_cost(walk(), ["abyss"])
    expected = np.zeros((6, 3))
    expected[:, 0] = [0, 0, SLIP, 1, 0, 0]
    assert_allclose(cost, expected, atol=1e-15)


def test_labels_masks_and_predicates_are_the_same():
    model = walk()
    for failures in (["abyss"], {"abyss"}, np.arange(6) == 4, lambda s: s == "abyss"):
        assert_array_equal(rc.risk_cost(model, failures), rc.risk_cost(model, ["abyss"]))


@pytest.mark.parametrize("steps", [2, 3, 4, 9])
def test_the_expected_total_is_the_probability_of_ever_failing(steps):
    model = walk().with_horizon(steps).with_risk(["abyss"])
    blind = rc.policies.blind(model, "step")
    at = np.eye(6)[0]
    for _ in range(steps):
        at = at @ walk().transition[0].toarray()
    assert rc.evaluate(model, blind).cost[0] == pytest.approx(at[4], abs=1e-12)


def test_a_failure_at_the_last_step_counts():
    late = walk(initial={EDGE: 1.0}).with_horizon(1).with_risk(["abyss"], budget=0.5)
    assert late.cost[0, 0].tolist() == [1.0, 0.0, 0.0]
    assert (late.horizon, late.budget.tolist(), list(late.costs)) == (1, [0.5], ["risk"])
    given_early = walk(initial={EDGE: 1.0}).with_risk(["abyss"], budget=0.5).with_horizon(1)
    assert late.fingerprint == given_early.fingerprint


def test_it_joins_the_other_costs():
    model = walk(cost=lambda s, a: 2.0 * (a == "step"), costs=["battery"], budget=5, step_limit=3)
    risky = model.with_risk(["abyss"], budget=0.05, name="fall", step_limit=0.01)
    assert list(risky.costs) == ["battery", "fall"]
    assert risky.budget.tolist() == [5, 0.05]
    assert risky.cost_discount.tolist() == [0.9, 1.0]
    assert risky.step_limit.tolist() == [3, 0.01]
    assert_array_equal(risky.cost[0], model.cost[0])
    assert_array_equal(risky.cost[1], rc.risk_cost(model, ["abyss"]))
    assert_array_equal(risky.terminal, model.terminal)
    assert model.n_costs == 1
    assert walk().with_risk(["abyss"]).budget.tolist() == [np.inf]


def test_failures_may_lead_to_one_another_and_go_on_paying():
    def transition(s, a):
        return {"wreck": 0.2, "up": 0.8} if s == "up" else {"burning": 1.0}

    model = rc.CPOMDP.from_functions(
        states=["up", "wreck", "burning"],
        actions=["fly"],
        observations=["blank"],
        transition=transition,
        observation=lambda a, s: {"blank": 1.0},
        reward=lambda s, a: -1.0,
        initial={"up": 1.0},
    )
    assert_allclose(rc.risk_cost(model, ["wreck", "burning"]), [[0.2], [0.0], [0.0]], atol=1e-15)
    with pytest.raises(
        ModelError, match="^failure state 'wreck' can be left: action 'fly' leads from it to 'burning'$"
    ):
        rc.risk_cost(model, ["wreck"])


@pytest.mark.parametrize(
    ("failures", "complaint"),
    [
        ([2], "^failure state 2 can be left: action 'step' leads from it to 3$"),
        ([], "^failures: no state is one, so that there is no risk to bound$"),
        (lambda s: False, "^failures: no state is one"),
        ("abyss", "^failures is 'abyss', not a list$"),
        (["abys"], "^failures: .*'abys'"),
        ([True, False], "^failures mask has length 2, but the model has 6 states$"),
    ],
)
def test_bad_failures_are_named(failures, complaint):
    with pytest.raises(ModelError, match=complaint):
        walk().with_risk(failures, budget=0.1)


def test_a_run_does_not_start_failed():
    model = walk(initial={0: 0.75, "abyss": 0.25})
    assert rc.risk_cost(model, ["abyss"]).shape == (6, 3)
    with pytest.raises(ModelError, match="^the initial belief gives failure state 'abyss' probability 0.25, a failure"):
        model.with_risk(["abyss"], budget=0.5)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"budget": -0.1}, "^budget of 'risk' is -0.1, below 0$"),
        ({"step_limit": -1}, "^step limit of 'risk' is -1, below 0$"),
        ({"budget": 1.5}, "^budget of 'risk' is 1.5, above 1, and a risk is a probability$"),
        ({"step_limit": 2}, "^step limit of 'risk' is 2, above 1, and a risk is a probability$"),
        ({"name": "battery"}, "battery"),
    ],
)
def test_bad_numbers_are_named(given, complaint):
    model = walk(cost=lambda s, a: 0.0, costs=["battery"])
    with pytest.raises(ModelError, match=complaint):
        model.with_risk(["abyss"], **given)


def test_the_budget_bounds_what_is_risked():
    seen = walk(observations=[*range(EDGE + 1), "abyss", "home"], observation=lambda a, s: {s: 1.0})
    model = seen.with_risk(["abyss"], budget=SLIP)
    result = rc.solve(model, "arcs")
    check = rc.verify(model, result.policy, result.summary())
    assert check.verified
    # The step from cell 2 may slip into the abyss, once; from cell 3 there is no step that may be taken.
    assert result.reward == pytest.approx(1 + 0.9 + 0.81 * (1 - SLIP) ** 2)
    assert check.sure_cost[0] == pytest.approx(SLIP)
    fails = SLIP * SLIP + (1 - SLIP) ** 2 * SLIP  # from cell 2, met after one step or after two
    assert rc.evaluate(model, result.policy).cost[0] == pytest.approx(fails)
