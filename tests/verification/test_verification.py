"""The checker: against enumeration, on policies made by hand, and on policies and claims that are wrong."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from rcpomdp import verification
from rcpomdp.policies import ControllerPolicy, MixturePolicy, RandomPolicy, blind, fib
from reference import branches, controller_totals, dense
from strategies import Dense, cpomdps

SETTINGS = settings(derandomize=True, deadline=None, max_examples=60)


def random_controller(case: Dense, seed: int) -> ControllerPolicy:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    successors = rng.integers(n, size=(n, case.model.n_observations))
    return ControllerPolicy(case.model, rng.integers(case.model.n_actions, size=n), successors, start=n - 1)


def most_spent(case: Dense, policy: ControllerPolicy, steps: int) -> np.ndarray:
    """The most that any history of so many steps spends, by enumerating them."""

    def rest(node: int, b: np.ndarray, left: int) -> np.ndarray:
        a = int(policy.actions[node])
        here = case.C[:, :, a] @ b
        if left == 1:
            return here
        after = [rest(int(policy.successors[node, o]), b_o, left - 1) for o, _, b_o in branches(case, b, a)]
        return here + case.model.discount * np.max(after, axis=0)

    return rest(policy.start, case.model.initial_belief, steps)


def chain_of(model: rc.CPOMDP, names: list[str], then: str) -> ControllerPolicy:
    """Actions one after another whatever is observed, and the last for ever."""
    actions = [model.actions.index(name) for name in (*names, then)]
    successors = [[min(i + 1, len(names))] * model.n_observations for i in range(len(actions))]
    return ControllerPolicy(model, actions, successors)


@SETTINGS
@given(cpomdps(max_states=5, max_observations=2, discounts=(0.0, 0.3, 0.5)), st.integers(0, 2**32 - 1))
def test_the_worst_spending_is_that_of_enumeration(case: Dense, seed: int) -> None:
    policy, steps, gamma = random_controller(case, seed), 9, case.model.discount
    worst = most_spent(case, policy, steps)
    tail = gamma**steps * case.C.max(axis=(1, 2), initial=0.0) / (1 - gamma)
    found = rc.verify(case.model, policy)
    assert (found.spent <= worst + tail + 1e-9).all()
    assert (found.sure_cost >= worst - 1e-9).all()
    assert (found.spent <= found.sure_cost).all()
    limit = case.model.spending_limit
    if found.verified:
        assert (worst <= limit + 1e-9).all()
    if (worst > limit + 1e-9).any():
        assert not found.verified
        assert found.history
    if (worst + tail < limit - 1e-9).all():
        assert found.verified
    for share in (0.9, 1.0):
        tight = rc.verify(case.model.with_budget(share * found.sure_cost), policy)
        assert tight.verified or share < 1
        if (found.spent > 0.95 * found.sure_cost).any() and share < 1:
            assert not tight.verified


@SETTINGS
@given(cpomdps(max_states=5, max_observations=3, discounts=(0.0, 0.5, 0.95)), st.integers(0, 2**32 - 1))
def test_a_named_history_spends_what_it_is_said_to(case: Dense, seed: int) -> None:
    policy = random_controller(case, seed)
    model = case.model
    if not model.n_costs:
        return
    full = rc.verify(model, policy)
    k = int(np.argmax(full.spent))
    if full.spent[k] < 1e-3:
        return
    budget = np.full(model.n_costs, np.inf)
    budget[k] = 0.7 * full.spent[k]
    found = rc.verify(model.with_budget(budget), policy)
    assert not found.verified
    node, b, spent, weight = policy.start, model.initial_belief, 0.0, 1.0
    for action, observation in found.history:
        a, o = model.actions.index(action), model.observations.index(observation)
        assert a == policy.actions[node]
        assert spent <= budget[k] * (1 + 1e-9)  # the last step is the one that is too much
        spent += weight * float(case.C[k, :, a] @ b)
        weight *= model.discount
        b = next(b_o for seen, _, b_o in branches(case, b, a) if seen == o)
        node = int(policy.successors[node, o])
    assert spent > budget[k]


@SETTINGS
@given(cpomdps(), st.integers(0, 2**32 - 1))
def test_reward_and_costs_are_exact(case: Dense, seed: int) -> None:
    policy = random_controller(case, seed)
    found = rc.verify(case.model.with_budget(None), policy)
    expected = controller_totals(case, policy)
    scale = max(1.0, float(np.abs(expected).max()))
    assert np.abs(np.array([found.reward, *found.cost]) - expected).max() <= found.error + 1e-9 * scale
    assert found.error <= 1e-6 * scale


# Policies made by hand


def test_tiger_that_listens_twice_and_opens() -> None:
    """In three steps 1 + γ is spent: 1.75 / (1 − γ³) = 3.027 in all, above 3 after the tenth listening."""
    model = rc.problems.make("tiger")
    rounds = ControllerPolicy(model, [0, 0, 1], [[1, 1], [2, 2], [0, 0]])
    total = 1.75 / (1 - 0.75**3)
    found = rc.verify(model, rounds)
    assert not found.verified
    assert found.spent == pytest.approx([total])
    spent = np.cumsum([0.75**t * (t % 3 < 2) for t in range(40)])
    assert len(found.history) == int(np.argmax(spent > 3)) + 1
    again = rc.verify(model.with_budget(total), rounds)  # a cyclic plan, and a budget that it just keeps
    assert again.verified
    assert again.sure_cost == pytest.approx([total])
    assert again.cost == pytest.approx([total])
    assert again.reward == pytest.approx(rc.evaluate(model, rounds).reward)


def test_tunnels_with_a_way_back() -> None:
    """Enter tunnel 2 and go on if it looks clear; the worst is a second look that shows rocks after all."""
    model = rc.problems.make("tunnels")
    forward, left, right = (model.actions.index(name) for name in ("forward", "left", "right"))
    go, back, other = 1, 2, 3
    after_entering = [back if o == "rocky-2" else go for o in model.observations]
    successors = [after_entering, [go] * 5, [other] * 5, [go] * 5]
    policy = ControllerPolicy(model, [forward, forward, left, right], successors)
    found = rc.verify(model, policy)
    rocks = 0.4 * 0.2 * 0.8 / (0.4 * 0.2 * 0.8 + 0.6 * 0.8 * 0.2)
    assert found.verified
    assert found.sure_cost == pytest.approx([max(rocks * (0.99**2 + 0.99**3), 0.5 * 0.99)])
    assert found.sure_cost[0] == pytest.approx(float(most_spent(dense(model), policy, 7)[0]))
    changed = ControllerPolicy(model, [forward, forward, forward, right], successors)
    broken = "after forward:rocky-2 (2 times), right:rocky-2 the policy has spent 1.38614 > 1"
    assert rc.verify(model, changed).problem == broken


def test_ce() -> None:
    model = rc.problems.make("ce")
    found = rc.verify(model, blind(model, "tunnel-B"))
    assert found.verified
    assert (found.reward, found.cost[0], found.sure_cost[0]) == (10, 5, 5)
    found = rc.verify(model, blind(model, "tunnel-A"))
    assert found.problem == "after tunnel-A:looks-rocky, tunnel-A:looks-clear the policy has spent 7.99999 > 5"
    assert found.cost[0] == pytest.approx(5, abs=1e-4)  # on average it keeps the budget
    assert found.history[0] == ("tunnel-A", "looks-rocky")


def test_a_cycle_that_overspends_only_after_thirty_steps() -> None:
    model = rc.problems.make("tiger", discount=0.95)
    thirty, one_more = ((1 - 0.95**t) / 0.05 for t in (30, 31))
    found = rc.verify(model.with_budget((thirty + one_more) / 2), blind(model, "listen"))
    assert not found.verified
    assert len(found.history) == 31
    assert found.problem is not None
    assert f"{one_more:.6g}" in found.problem
    assert rc.verify(model.with_budget(20), blind(model, "listen")).verified


def test_a_cycle_when_the_discount_is_near_one() -> None:
    gamma = 1 - np.exp(-14)
    model = rc.problems.make("tiger", discount=gamma)
    total = 1 / (1 - gamma)
    found = rc.verify(model.with_budget(1.001 * total), blind(model, "listen"))
    assert found.verified
    assert found.cost[0] == pytest.approx(total)
    assert found.sure_cost[0] == pytest.approx(total)
    assert not rc.verify(model.with_budget(1000), blind(model, "listen")).verified
    assert rc.verify(model.with_budget(3), chain_of(model, ["listen"] * 3, "open-left")).verified


def test_the_maximum_over_trajectories_would_be_wrong() -> None:
    """No trajectory costs more than 1; the history that reveals state 1 has weighed state 0 first: 0.5 + 0.9."""
    model = rc.CPOMDP(
        transition=[np.eye(3), [[0, 0, 1]] * 3],
        observation=[np.eye(3), np.eye(3)],
        reward=np.zeros((3, 2)),
        cost=[[1, 0], [0, 1], [0, 0]],
        initial_belief=[0.5, 0.5, 0],
        discount=0.9,
        budget=1.0,
        actions=["look", "pay"],
        states=["zero", "one", "end"],
    )
    policy = ControllerPolicy(model, [0, 1, 1], [[1, 2, 2], [1, 1, 1], [2, 2, 2]])
    found = rc.verify(model, policy)
    assert found.problem == "after look:o1, pay:o2 the policy has spent 1.4 > 1"
    assert found.spent == pytest.approx([1.4])
    assert rc.verify(model.with_budget(1.4), policy).verified


def test_a_changed_action_is_named() -> None:
    model = rc.problems.make("crs-4-4").with_budget(1)
    policy = chain_of(model, ["check-1", "check-2"], "east")
    assert rc.verify(model.with_budget(2), policy).verified
    actions = policy.actions.copy()
    actions[1] = model.actions.index("check-1")
    actions[2] = model.actions.index("check-3")
    found = rc.verify(model, ControllerPolicy(model, actions, policy.successors))
    assert not found.verified
    assert found.problem is not None
    assert found.problem.startswith("after check-1:")


def test_several_costs_name_the_one_that_is_too_high() -> None:
    model = rc.CPOMDP(
        transition=[[[1.0]]],
        observation=[[[1.0]]],
        reward=[[1.0]],
        cost=[[[1.0]], [[2.0]]],
        initial_belief=[1.0],
        discount=0.5,
        budget=[2, 3],
        costs=["time", "fuel"],
    )
    found = rc.verify(model, blind(model, "a0"))
    assert found.problem == "after a0:o0 (3 times) the policy has spent 3.5 > 3 of fuel"
    assert rc.verify(model.with_budget([2, 4]), blind(model, 0)).verified
    assert rc.verify(model.with_budget([None, 4]), blind(model, 0)).verified


def test_models_without_costs_and_beliefs_that_have_ended() -> None:
    model = rc.problems.make("rs-5-7")
    found = rc.verify(model, blind(model, "east"))
    assert found.verified
    assert found.reward == pytest.approx(10 * 0.95**4)
    assert found.cost.shape == found.sure_cost.shape == (0,)
    ended = rc.problems.make("ce").with_initial_belief({"out": 1.0})
    found = rc.verify(ended, blind(ended, "tunnel-A"))
    assert (found.verified, found.reward, found.sure_cost.tolist()) == (True, 0, [0])


# Claims, horizons, limits


def test_claims_are_checked() -> None:
    model = rc.problems.make("ce")
    policy = blind(model, "tunnel-B")
    good = {"lower": 10, "upper": 10.001, "reward": 10, "cost": [5], "sure_cost": [5], "admissible": True}

    def problem(**claims: object) -> str | None:
        return rc.verify(model, policy, good | claims).problem

    assert problem() is None
    assert problem(lower=None, horizon=None) is None
    assert problem(lower=10.5) == "the claimed lower bound 10.5 is above the upper bound 10.001"
    assert problem(lower=11, upper=12) == "the claimed lower bound 11 is above the policy's reward 10"
    assert problem(lower=11, upper=12, objective="cost") is None  # bounds on something else
    assert problem(reward=10.1) == "the policy's reward is 10, not 10.1 as claimed"
    assert problem(cost=[4]) == "the policy's cost is 5, not 4 as claimed"
    assert problem(sure_cost=[4.5]) == "some history spends 5, more than 4.5 as claimed"
    assert problem(sure_cost=[6]) is None
    for name, value in (("lower", "x"), ("reward", [1]), ("cost", 5), ("cost", [5, 5]), ("horizon", "two")):
        with pytest.raises(rc.PolicyError, match="^the claimed .* is .*no(t a list of one)? number"):
            problem(**{name: value})


def test_a_finite_horizon_asks_for_less() -> None:
    """Taking tunnel A costs 5 on average, so it is 1-admissible; whoever saw rocks expects 8."""
    model = rc.problems.make("ce")
    policy = blind(model, "tunnel-A")
    assert rc.verify(model, policy, k=1).verified
    found = rc.verify(model, policy, k=2)
    assert found.problem == "after tunnel-A:looks-rocky the policy expects to spend 7.99999 > 5 in all"
    assert found.history == (("tunnel-A", "looks-rocky"),)
    found = rc.verify(model.with_budget(1), policy, k=3)
    assert found.problem == "at the start the policy expects to spend 5 > 1 in all"
    assert rc.verify(model.with_budget(8), policy, k=10**9).verified


@pytest.mark.parametrize("claims", [{"horizon": 1}, {"horizon": 0, "admissible": False}, {"admissible": False}, None])
def test_modest_claims_do_not_excuse_a_broken_budget(claims: dict[str, object] | None) -> None:
    model = rc.problems.make("ce")
    assert not rc.verify(model, blind(model, "tunnel-A"), claims).verified


def test_what_takes_too_long_is_not_verified() -> None:
    model = rc.problems.make("tiger").with_budget(2.5)
    # Listens on only while what it hears alternates: what is heard decides, and no bound short of walking does.
    policy = ControllerPolicy(model, [0, 0, 0, 1], [[1, 2], [3, 2], [1, 3], [3, 3]])
    found = rc.verify(model, policy, most_pairs=3)
    assert not found.verified
    assert found.problem is not None
    assert "pairs of node and belief do not decide it" in found.problem
    assert found.history == ()


def test_mixtures_keep_the_budget_in_each_part() -> None:
    model = rc.problems.make("ce")
    a, b = blind(model, "tunnel-A"), blind(model, "tunnel-B")
    found = rc.verify(model.with_budget(8), MixturePolicy([a, b], [0.25, 0.75]))
    assert found.verified
    assert found.reward == pytest.approx(0.25 * 12 + 0.75 * 10, abs=1e-4)
    assert found.sure_cost == pytest.approx([8], abs=1e-4)
    found = rc.verify(model, MixturePolicy([b, a], [0.999, 0.001]))
    assert found.problem is not None
    assert found.problem.startswith("policy 2 of the mixture: after tunnel-A:looks-rocky, ")
    assert rc.verify(model, MixturePolicy([b, a], [1.0, 0.0])).verified
    assert rc.verify(model, MixturePolicy([b, MixturePolicy([b], [1.0])], [0.5, 0.5])).verified


def test_only_controllers_can_be_verified() -> None:
    model = rc.problems.make("tiger")
    for policy in (fib(model), RandomPolicy(model)):
        kind = type(policy).__name__
        with pytest.raises(
            rc.PolicyError,
            match=f"^only controllers, mixtures of them and plan sets can .*, not {kind}; simulate it, or make",
        ):
            rc.verify(model, policy)
        with pytest.raises(rc.PolicyError, match=f"^only mixtures of controllers can .*, not one with {kind}$"):
            rc.verify(model, MixturePolicy([policy], [1.0]))
    with pytest.raises(rc.PolicyError, match="was made for a model with other actions"):
        rc.verify(model, blind(rc.problems.make("crs-4-4"), 7))
    with pytest.raises(rc.InputError, match="is no model"):
        rc.verify("tiger", blind(model, 0))


def test_a_solver_s_policy_is_worth_what_it_says() -> None:
    model = rc.problems.make("crs-4-4").with_budget(None)
    result = rc.solve(model, "sarsop", epsilon=0.05)
    claims = result.summary()
    found = rc.verify(model, result.policy, claims)
    assert found.verified
    assert (found.sure_cost <= result.sure_cost + 1e-9).all()
    assert not rc.verify(model.with_budget(1), result.policy, claims).verified


def test_the_checker_shares_no_code_with_what_it_checks() -> None:
    allowed = {"_json_values", "_types", "errors", "model", "model.endings", "policies", "tolerance"}
    allowed |= {"policies.base", "views.notebook"}
    for path in Path(verification.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 2:
                assert node.module in allowed, path


@pytest.mark.parametrize(
    ("claims", "complaint"),
    [
        ({"lower": -100, "upper": -50}, "the policy's reward 10 is above the claimed upper bound -50"),
        ({"upper": -50}, "the policy's reward 10 is above the claimed upper bound -50"),
        ({"lower": 11}, "the claimed lower bound 11 is above the policy's reward 10"),
    ],
)
def test_a_kept_promise_refutes_bounds(claims: dict[str, object], complaint: str) -> None:
    model = rc.problems.make("ce")
    assert rc.verify(model, blind(model, "tunnel-B"), claims).problem == complaint


@pytest.mark.parametrize(
    "claims", [{"sure_cost": [-np.inf]}, {"reward": 10**400}, {"reward": np.nan}, {"cost": [np.inf]}]
)
def test_claims_that_are_no_numbers_are_refused(claims: dict[str, object]) -> None:
    model = rc.problems.make("ce")
    with pytest.raises(rc.PolicyError, match="which is no number"):
        rc.verify(model, blind(model, "tunnel-B"), claims)
