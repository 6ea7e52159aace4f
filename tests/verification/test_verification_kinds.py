"""The checker with costs that are not discounted, with limits of steps and with horizons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from budget_kinds import of_a_kind, uses
from plan_sets import Plan, assembled
from rcpomdp.policies import ControllerPolicy, MixturePolicy, PlanSetPolicy, StochasticControllerPolicy, blind
from reference import branches
from strategies import Dense, cpomdps

SETTINGS = settings(derandomize=True, deadline=None, max_examples=30)


def random_controller(model: rc.CPOMDP, seed: int) -> ControllerPolicy:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    successors = rng.integers(n, size=(n, model.n_observations))
    return ControllerPolicy(model, rng.integers(model.n_actions, size=n), successors, start=n - 1)


def after_some(model: rc.CPOMDP, n: int) -> ControllerPolicy:
    """n uses, and rest for ever."""
    return ControllerPolicy(model, [0] * n + [1], [[min(i + 1, n)] for i in range(n + 1)])


def histories(case: Dense, model: rc.CPOMDP, policy: ControllerPolicy, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The most that a history of so many steps spends, and the most that one of its steps costs, [K] each."""

    def rest(node: int, b: np.ndarray, t: int) -> tuple[np.ndarray, np.ndarray]:
        a = int(policy.actions[node])
        here = case.C[:, :, a] @ b
        if t + 1 == steps:
            return here, here
        found = [rest(int(policy.successors[node, o]), b_o, t + 1) for o, _, b_o in branches(case, b, a)]
        spent, dearest = (np.max(part, axis=0) for part in zip(*found, strict=True))
        return here + model.cost_discount * spent, np.maximum(here, dearest)

    return rest(policy.start, model.initial_belief, 0)


@SETTINGS
@given(
    cpomdps(max_states=4, max_observations=2, n_costs=2, discounts=(0.3, 0.5)),
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
)
def test_horizons_are_those_of_enumeration(case: Dense, seed: int, horizon: int) -> None:
    """Costs of two kinds, and then budgets and limits of what is spent, and of less."""
    gamma = 1.0 if seed % 2 else 0.5
    model = of_a_kind(case, cost_discount=[1.0, max(0.8, gamma)], budget=None, discount=gamma)
    policy = random_controller(model, seed)
    spent, dearest = histories(case, model, policy, horizon)
    found = rc.verify(model.with_horizon(horizon), policy)
    np.testing.assert_allclose(found.spent, spent, atol=1e-12)
    np.testing.assert_allclose(found.sure_cost, spent, atol=1e-12)
    for k in np.flatnonzero(spent).tolist():
        for share in (0.99, 1.0):
            budget, limit = np.full(2, np.inf), np.full(2, np.inf)
            budget[k], limit[k] = share * spent[k], share * dearest[k]
            for limits in ({"budget": budget}, {"step_limit": limit, "budget": None}):
                given_limits = {"cost_discount": model.cost_discount, "discount": model.discount, **limits}
                narrow = of_a_kind(case, **given_limits, horizon=horizon)
                checked = rc.verify(narrow, policy)
                assert checked.verified == (share == 1)
                mixed = MixturePolicy([policy, policy], [0.5, 0.5])
                assert rc.verify(narrow, mixed).verified == (share == 1)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_number_of_uses(n: int) -> None:
    model = uses(cost_discount=1.0, budget=3)
    found = rc.verify(model, after_some(model, n), {"cost": [n], "sure_cost": [n]})
    assert found.verified
    assert (found.cost.tolist(), found.spent.tolist(), found.sure_cost.tolist()) == ([n], [n], [n])
    four = rc.verify(model, after_some(model, 4))
    assert four.problem == "after use:o0 (4 times) the policy has spent 4 > 3"
    assert four.history == (("use", "o0"),) * 4


def test_circles_that_cost_are_endless() -> None:
    model = uses(cost_discount=1.0, budget=3)
    found = rc.verify(model, blind(model, "use"))
    assert found.problem == "after use:o0 (4 times) the policy has spent 4 > 3"
    assert (found.cost.tolist(), found.sure_cost.tolist()) == ([np.inf], [np.inf])
    assert rc.verify(model.with_budget(None), blind(model, "use")).verified
    assert rc.verify(model.with_budget(0), blind(model, "rest")).verified
    tiny = uses(1e-300, cost_discount=1.0, budget=1)
    told = rc.verify(tiny, blind(tiny, "use")).problem
    assert told == "after use:o0 and so on for ever the policy spends without end"


@pytest.mark.parametrize("stays", [0.5, 0.9])
def test_an_end_that_is_sure_and_not_seen(stays: float) -> None:
    """A share of what is left ends each time: only the belief knows that little is left, and is never sure of it."""
    total = 1 / (1 - stays)
    model = rc.CPOMDP(
        transition=[[[stays, 1 - stays], [0, 1]]],
        observation=[[[1], [1]]],
        reward=[[1], [0]],
        cost=[[1], [0]],
        initial_belief=[1, 0],
        discount=0.5,
        cost_discount=1.0,
        budget=total,
    )
    found = rc.verify(model, blind(model, 0), {"cost": [total], "sure_cost": [total]})
    assert found.verified, found.problem
    assert found.cost == pytest.approx([total])
    assert not rc.verify(model.with_budget(0.99 * total), blind(model, 0)).verified


def test_a_step_that_costs_too_much_is_named_with_its_history() -> None:
    model = rc.CPOMDP(
        transition=[[[0.5, 0.5], [0, 1]]] * 2,
        observation=[[[1, 0], [0, 1]]] * 2,
        reward=[[1, 0]] * 2,
        cost=[[0.5, 0], [2, 0]],
        initial_belief=[1, 0],
        discount=0.5,
        step_limit=1.0,
        actions=["go", "stay"],
        observations=["dry", "wet"],
    )
    found = rc.verify(model, blind(model, "go"))
    assert found.problem == "after go:wet the step go costs 2 > 1"
    assert found.history == (("go", "wet"),)
    careful = ControllerPolicy(model, [0, 1], [[0, 1], [1, 1]])
    assert rc.verify(model, careful).verified
    lots = StochasticControllerPolicy(model, [0, 0, 1], [[3, 2], [3, 3], [2, 2]], [0, 2], [0, 1], [0.5, 0.5], start=3)
    assert rc.verify(model, lots).problem == "after go:dry, go:wet the step go costs 2 > 1"
    both = MixturePolicy([careful, blind(model, "go")], [0.5, 0.5])
    assert rc.verify(model, both).problem == "policy 2 of the mixture: after go:wet the step go costs 2 > 1"
    for k in (1, 3):
        assert not rc.verify(model, both, k=k).verified
        assert rc.verify(model, MixturePolicy([careful, careful], [0.5, 0.5]), k=k).verified


def test_histories_shorter_than_k_count_costs_by_their_own_discount() -> None:
    """After t uses 3 are expected in all, at every step: with γ^t in the place of 1 it would seem less."""
    model = uses(cost_discount=1.0, discount=0.5, budget=3)
    three, four = after_some(model, 3), after_some(model, 4)
    rests = after_some(model, 0)
    for k in (1, 2, 5):
        assert rc.verify(model, three, k=k).verified
        assert not rc.verify(model, four, k=k).verified
        mixed = MixturePolicy([three, three], [0.5, 0.5])
        assert rc.verify(model, mixed, k=k).verified
        assert rc.verify(model, MixturePolicy([four, rests], [0.75, 0.25]), k=k).verified == (k == 1)


@pytest.mark.parametrize(
    ("claims", "sentence"),
    [
        ({"cost": [2.0]}, "the policy's cost is 3, not 2 as claimed"),
        ({"sure_cost": [2.0]}, "some history spends 3, more than 2 as claimed"),
        ({"reward": 3.0}, "the policy's reward is 2.71, not 3 as claimed"),
        ({"lower": 2.8}, "the claimed lower bound 2.8 is above the policy's reward 2.71"),
        ({"upper": 2.6}, "the policy's reward 2.71 is above the claimed upper bound 2.6"),
    ],
)
def test_wrong_claims_are_refused(claims: dict[str, Any], sentence: str) -> None:
    model = uses(cost_discount=1.0, budget=3)
    assert rc.verify(model, after_some(model, 3), claims).problem == sentence


# Plan sets


def some_uses(model: rc.CPOMDP, n: int, w: list[float] | None = None) -> PlanSetPolicy:
    """Plans for n uses, n − 1, ... and none, each with the sure cost that it has, or that is given."""
    beta, gamma = float(model.cost_discount[0]), model.discount
    plans, sure, value = [Plan(1, [0], np.zeros(1), (0,), np.zeros(1))], 0.0, 0.0
    for i in range(n):
        sure, value = 1 + beta * sure, 1 + gamma * value
        plans.append(Plan(0, [i], np.array([sure if w is None else w[i]]), (0,), np.array([value])))
    return assembled(model, plans, n)


@pytest.mark.parametrize("beta", [0.9, 0.95, 1.0])
def test_plan_sets_of_uses(beta: float) -> None:
    spent = 1 + beta + beta**2
    model = uses(cost_discount=beta, budget=spent)
    found = rc.verify(model, some_uses(model, 3))
    assert found.verified, found.problem
    assert found.reward == pytest.approx(2.71)
    assert found.sure_cost == pytest.approx([spent])
    narrow = uses(cost_discount=beta, budget=0.99 * spent)
    assert "the start, plan 3, may spend" in str(rc.verify(narrow, some_uses(narrow, 3)).problem)
    lies = rc.verify(model, some_uses(model, 3, [1.0, 1.5, spent - 0.2]))
    assert str(lies.problem).startswith(f"plan 2 promises to spend at most 1.5, and may spend {1 + beta:.9g}: after")
    limited = uses(cost_discount=beta, budget=spent, step_limit=0.5)
    told = rc.verify(limited, some_uses(limited, 3)).problem
    assert told == "the step of plan 1 may cost 1; its limit is 0.5"


def test_a_plan_that_uses_for_ever_has_no_finite_sure_cost() -> None:
    for beta, sure in ((1.0, 3.0), (1.0, 1e9), (0.95, 19.9)):
        model = uses(cost_discount=beta, budget=sure)
        for_ever = assembled(model, [Plan(0, [0], np.array([sure]), (0,), np.array([10.0]))], 0)
        assert "plan 0 promises to spend at most" in str(rc.verify(model, for_ever).problem)
    model = uses(cost_discount=0.95, budget=20)
    for_ever = assembled(model, [Plan(0, [0], np.array([20.0]), (0,), np.array([10.0]))], 0)
    assert rc.verify(model, for_ever).verified
