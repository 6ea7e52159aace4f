"""Processes that are over after some steps: the product with time, its relatives, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from budget_kinds import of_a_kind, uses
from rcpomdp.model.classes import observability_classes
from reference import dense
from strategies import Dense, cpomdps

SETTINGS = settings(derandomize=True, deadline=None, max_examples=25)


@SETTINGS
@given(cpomdps(max_states=4), st.integers(1, 4))
def test_the_product_is_that_of_dense_matrices(case: Dense, horizon: int) -> None:
    """All pairs (s, t) and the end, of which the model keeps those that can be met."""
    model, n = case.model, case.model.n_states
    product = dense(model.with_horizon(horizon))
    met, pairs = model.initial_belief > 0, []
    for t in range(horizon):
        pairs += [t * n + s for s in np.flatnonzero(met)]
        met = (case.T[:, met] > 0).any(axis=(0, 1))
    size = horizon * n + 1
    T = np.zeros((model.n_actions, size, size))
    Z = np.full((model.n_actions, size, model.n_observations), 1 / model.n_observations)
    R, C = np.zeros((size, model.n_actions)), np.zeros((model.n_costs, size, model.n_actions))
    for t in range(horizon):
        here = slice(t * n, (t + 1) * n)
        Z[:, here], R[here], C[:, here] = case.Z, case.R, case.C
        if t + 1 < horizon:
            T[:, here, (t + 1) * n : (t + 2) * n] = case.T
        else:
            T[:, here, -1] = 1
    T[:, -1, -1] = 1
    kept = [*pairs, size - 1]
    np.testing.assert_array_equal(product.T, T[:, kept][:, :, kept])
    np.testing.assert_array_equal(product.Z, Z[:, kept])
    np.testing.assert_array_equal(product.R, R[kept])
    np.testing.assert_array_equal(product.C, C[:, kept])
    first = [s for s in pairs if s < n]
    np.testing.assert_array_equal(product.model.initial_belief[: len(first)], model.initial_belief[first])
    assert product.model.initial_belief[len(first) :].sum() == 0
    assert product.model.terminal.tolist() == [*model.terminal[np.array(pairs) % n].tolist(), True]
    assert list(product.model.states) == [*((model.states[p % n], p // n) for p in pairs), ("end", horizon)]


@SETTINGS
@given(cpomdps(max_states=4), st.integers(1, 4))
def test_no_class_holds_two_times(case: Dense, horizon: int) -> None:
    product = case.model.with_horizon(horizon)
    classes = observability_classes(product).class_of
    times = np.array([time for _, time in product.states])
    for cls in np.unique(classes):
        assert np.unique(times[classes == cls]).size == 1


def test_a_model_that_is_made_with_a_horizon_is_the_product() -> None:
    one, other = uses(horizon=3), uses().with_horizon(3)
    assert one.fingerprint == other.fingerprint
    assert (one.horizon, one.n_states, list(one.states)) == (3, 4, list(other.states))
    assert one.base is not None
    assert (one.base.n_states, one.base.horizon, one.base.base) == (1, None, None)
    assert repr(one).endswith("discount 0.9, budget inf, horizon 3")


def test_another_horizon_takes_the_place_of_the_first() -> None:
    model = uses(horizon=3, budget=2.0, cost_discount=1.0, step_limit=1.0)
    longer = model.with_budget(5).with_horizon(4)
    assert longer.fingerprint == uses(horizon=4, cost_discount=1.0, step_limit=1.0).fingerprint
    assert (longer.budget.tolist(), longer.cost_discount.tolist(), longer.step_limit.tolist()) == ([5], [1], [1])
    tiger = rc.problems.make("tiger")
    left = {("tiger-left", 0): 1.0}
    known = tiger.with_horizon(2).with_initial_belief(left).with_horizon(3)
    assert known.fingerprint == tiger.with_initial_belief({"tiger-left": 1.0}).with_horizon(3).fingerprint
    priced = tiger.with_horizon(2).scalarised([0.5]).with_horizon(3)
    assert priced.fingerprint == tiger.scalarised([0.5]).with_horizon(3).fingerprint
    late = tiger.with_horizon(2).with_initial_belief({("tiger-left", 1): 1.0})
    with pytest.raises(rc.ModelError, match="^the initial belief is of a later time: give the horizon to the model"):
        late.with_horizon(3)


def test_prices_leave_ends_as_they_are() -> None:
    model = rc.problems.make("ce").with_horizon(3)
    np.testing.assert_array_equal(model.scalarised([0.3]).terminal, model.terminal)
    assert model.terminal.sum() > 1


@SETTINGS
@given(cpomdps(max_states=4, discounts=(0.5, 0.95)), st.integers(1, 3))
def test_a_product_survives_pickling(case: Dense, horizon: int) -> None:
    product = case.model.with_horizon(horizon)
    again = pickle.loads(pickle.dumps(product))
    assert again.fingerprint == product.fingerprint
    assert (again.horizon, list(again.states)) == (horizon, list(product.states))
    assert again.with_horizon(horizon).fingerprint == product.fingerprint


@pytest.mark.parametrize("horizon", [0, -1, True, 2.5, "3", float("nan")])
def test_what_is_no_number_of_steps_is_refused(horizon: Any) -> None:
    for make in (lambda: uses(horizon=horizon), lambda: uses().with_horizon(horizon)):
        with pytest.raises(rc.ModelError) as caught:
            make()
        assert str(caught.value) == f"horizon is {horizon!r}, not a number of steps, 1 or more"


def test_a_horizon_that_makes_too_many_states_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(rc.ModelError) as caught:
        uses().with_horizon(10**12)
    assert str(caught.value) == "horizon is 1000000000000, too many steps; the most is 1,000,000"
    monkeypatch.setattr("rcpomdp.model.horizon._MOST_STATES", 5)
    with pytest.raises(rc.ModelError, match="^horizon 1000 makes more than 5 states of 2, too many"):
        rc.problems.make("tiger").with_horizon(1000)


# Costs of their own kind


def test_fingerprints_of_models_as_they_were_stay_the_same() -> None:
    tiger = rc.problems.make("tiger")
    assert tiger.fingerprint == "8195b4706b2a0fdf34f0ea12134f23cfaf0f3537ad0457f45efa19ca6a2caa58"
    plain = uses()
    assert uses(cost_discount=0.9, step_limit=np.inf).fingerprint == plain.fingerprint
    prints = {m.fingerprint for m in (plain, uses(cost_discount=1.0), uses(step_limit=1.0), uses(horizon=2))}
    assert len(prints) == 4


def test_costs_keep_their_kind_in_relatives() -> None:
    model = uses(cost_discount=0.95, step_limit=2.0, budget=3.0)
    for other in (model.with_budget(1), model.with_initial_belief([1.0]), pickle.loads(pickle.dumps(model))):
        assert (other.cost_discount.tolist(), other.step_limit.tolist()) == ([0.95], [2.0])
        assert other.fingerprint == model.fingerprint
    assert repr(model).endswith("discount 0.9, budget 3, cost discount 0.95, step limit 2")
    priced = model.scalarised([1.0])
    assert (priced.n_costs, priced.cost_discount.size, priced.step_limit.size) == (0, 0, 0)


TWO = {"cost": [[[1.0, 0.0]], [[2.0, 0.0]]], "costs": ["fuel", "wear"]}
OUTSIDE = "outside [0.9, 1], from the discount to 1"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"cost_discount": 0.8}, f"cost discount of 'cost' is 0.8, {OUTSIDE}"),
        ({"cost_discount": 1.1}, f"cost discount of 'cost' is 1.1, {OUTSIDE}"),
        ({"cost_discount": "1"}, "cost discount is '1', a text and not a number"),
        ({**TWO, "step_limit": {"wear": "1"}}, "step limit is '1', a text and not a number"),
        ({"cost_discount": np.nan}, "cost discount of 'cost' is not a number"),
        ({"cost_discount": [1.0, 1.0]}, "cost discount has length 2, but the model has 1 cost"),
        ({**TWO, "cost_discount": 1.0}, "cost discount has length 1, but the model has 2 costs"),
        ({**TWO, "cost_discount": {"wear": 0.5}}, f"cost discount of 'wear' is 0.5, {OUTSIDE}"),
        ({**TWO, "cost_discount": [None, 2]}, f"cost discount of 'wear' is 2.0, {OUTSIDE}"),
        (
            {"discount": 0.0, "cost_discount": 0.5},
            "cost discount of 'cost' is 0.5, but with discount 0 nothing after a step counts",
        ),
        ({"step_limit": -1}, "step limit of 'cost' is -1, below 0"),
        ({"step_limit": np.nan}, "step limit of 'cost' is not a number"),
        ({**TWO, "step_limit": {"fuel": 1, "wear": -2}}, "step limit of 'wear' is -2, below 0"),
        ({**TWO, "step_limit": [1, 2, 3]}, "step limit has length 3, but the model has 2 costs"),
        ({"discount": 1.5}, "discount is 1.5, outside [0, 1]"),
    ],
)
def test_bad_kinds_of_costs_are_refused_in_a_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(rc.ModelError) as caught:
        uses(**given)
    assert str(caught.value) == sentence


def test_an_unknown_cost_is_named() -> None:
    with pytest.raises(rc.ModelError, match="^cost discount: .*'fule'"):
        uses(**TWO, cost_discount={"fule": 1.0})


def test_kinds_by_name_and_by_place_are_the_same() -> None:
    by_name = uses(**TWO, cost_discount={"wear": 1.0}, step_limit={"fuel": 3})
    by_place = uses(**TWO, cost_discount=[None, 1.0], step_limit=[3, None])
    assert by_name.fingerprint == by_place.fingerprint
    assert by_name.cost_discount.tolist() == [0.9, 1.0]
    assert by_name.step_limit.tolist() == [3, np.inf]


@SETTINGS
@given(cpomdps(n_costs=1, discounts=(0.5, 0.95)))
def test_a_discount_that_is_given_as_the_rewards_is_no_change(case: Dense) -> None:
    assert of_a_kind(case, cost_discount=case.model.discount).fingerprint == case.model.fingerprint
