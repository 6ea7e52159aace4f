"""Plan sets: what they do by hand, that they never break the budget, and what is no plan set."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from plan_sets import grown, of_controller, with_course
from rcpomdp.policies import PlanSetPolicy, blind
from rcpomdp.policies.plan_set import Guide
from rcpomdp.simulation.visits import nodes_met
from reference import branches
from sample_policies import Unbatched, any_plan_set
from strategies import Dense, cpomdps, random_model

SETTINGS = settings(derandomize=True, deadline=None, max_examples=25)
TIGER = rc.problems.make("tiger")  # discount 0.75, listening costs 1, budget 3
RNG = np.random.default_rng(0)


def listen_or_open(model: rc.CPOMDP, start: int) -> PlanSetPolicy:
    """Listen once, then open the left door for ever (w = 1); or do that at once (w = 0)."""
    door = -100 - 0.75 * 45 / 0.25, 10 - 0.75 * 45 / 0.25
    once = -1 + 0.75 * np.array(door)
    return PlanSetPolicy(
        model,
        actions=[0, 1],
        successors=[[1, 1], [1, 1]],
        sure_cost=[[1.0], [0.0]],
        domain=[0, 0],
        domain_start=[0, 2],
        domain_states=[0, 1],
        values_start=[0, 2, 4],
        values=[*once, *door],
        start=start,
    )


def test_tiger_by_hand() -> None:
    """Opening promises −180 at first, listening first −136: it listens as long as that is better and 1 is left."""
    model = TIGER.with_budget(1.5)
    policy = listen_or_open(model, start=1)
    state = policy.initial(RNG)
    assert (state.node, state.left) == (0, (1.5,))
    assert policy.promise(state) == pytest.approx(-1 + 0.75 * (-45 - 135))
    state = policy.update(state, 0)
    assert state.left == ((1.5 - 1) / 0.75,)
    assert state.belief.probabilities == pytest.approx([0.85, 0.15])
    assert state.node == 1  # to listen again would cost 1, more than is left
    state = policy.update(state, 0)
    assert state.left == pytest.approx((0.5 / 0.75**2,))
    assert state.node == 1
    state = policy.update(state, 0)
    assert state.left == pytest.approx((0.5 / 0.75**3,))
    assert state.node == 0  # by now it is affordable again
    found = rc.verify(model, policy)
    assert found.verified
    assert found.reward == pytest.approx(-180)  # of its start
    assert found.sure_cost == pytest.approx([1.5])
    assert rc.evaluate(model, policy).reward > -136


def test_of_several_costs_all_must_be_kept() -> None:
    """Two actions that last for ever, worth 2 and 1 a step, cost (1, 0) and (0, 1)."""
    model = rc.CPOMDP(
        transition=np.ones((2, 1, 1)),
        observation=np.ones((2, 1, 1)),
        reward=[[2, 1]],
        cost=[[[1, 0]], [[0, 1]]],
        initial_belief=[1],
        discount=0.5,
        budget=[1.5, 2],
    )
    arrays: dict[str, Any] = {
        "actions": [0, 1],
        "successors": [[0], [1]],
        "sure_cost": [[2.0, 0.0], [0.0, 2.0]],
        "domain": [0, 0],
        "domain_start": [0, 1],
        "domain_states": [0],
        "values_start": [0, 1, 2],
        "values": [4.0, 2.0],
    }
    policy = PlanSetPolicy(model, **arrays, start=1)
    assert policy.initial(RNG).node == 1
    assert PlanSetPolicy(model.with_budget([2, 0]), **arrays, start=1).initial(RNG).node == 0
    assert PlanSetPolicy(model.with_budget([None, 0]), **arrays, start=1).initial(RNG).node == 0
    found = rc.verify(model, policy)
    assert found.verified
    assert found.reward == pytest.approx(2)
    # The second step has (3, 2) left, and the better plan takes over.
    assert policy.update(policy.initial(RNG), 0).node == 0
    assert rc.evaluate(model, policy).reward == pytest.approx(1 + 0.5 * 4)


def test_a_start_beyond_the_budget_gives_way_to_a_plan_within_it() -> None:
    assert listen_or_open(TIGER.with_budget(0.5), start=0).initial(RNG).node == 1
    alone = of_controller(TIGER, blind(TIGER, "listen"))
    poor = PlanSetPolicy(TIGER.with_budget(1), *alone.arrays, start=0)
    assert poor.initial(RNG).node == 0  # there is no other
    assert rc.simulate(TIGER.with_budget(1), poor, runs=10).violation_rate.mean == 1


def test_what_rounding_leaves_of_a_budget_buys_nothing() -> None:
    """0.3 − 0.1 − 0.2 is 5e-17, which would have grown to pay for 0.1 after 60 steps."""
    model = rc.CPOMDP(
        transition=np.ones((3, 1, 1)),
        observation=np.ones((3, 1, 1)),
        reward=[[1, 0, 2]],
        cost=[[0.1, 0, 0.2 / 0.5]],
        initial_belief=[1],
        discount=0.5,
        budget=0.1 + 0.2,
    )
    policy = PlanSetPolicy(
        model,
        actions=[0, 2, 1, 0],
        successors=[[1], [2], [2], [2]],
        sure_cost=[[0.1 + 0.2], [0.4], [0.0], [0.1]],
        domain=[0, 0, 0, 0],
        domain_start=[0, 1],
        domain_states=[0],
        values_start=[0, 1, 2, 3, 4],
        values=[2.0, 2.0, 0.0, 1.0],
    )
    state = policy.initial(RNG)
    nodes = []
    for _ in range(100):
        nodes.append(state.node)
        state = policy.update(state, 0)
    assert nodes == [0, 1, *[2] * 98]
    assert state.left == (0.0,)


@SETTINGS
@given(cpomdps(max_states=4, max_observations=3, discounts=(0.0, 0.5, 0.9)), st.integers(0, 2**32 - 1))
def test_no_history_breaks_the_budget_and_the_reward_is_what_was_promised(case: Dense, seed: int) -> None:
    policy = with_course(grown(case.model, 5, seed), steps=seed % 3)
    found = rc.verify(case.model, policy)
    if not found.verified:
        assert found.problem is not None
        assert found.problem.startswith("the start, ")  # nothing that was made is within the budget
        return
    gamma, limit = case.model.discount, case.model.spending_limit

    def worst(state: Any, b: np.ndarray, spent: np.ndarray, weight: float, left: int) -> np.ndarray:
        a = policy.action(state)
        spent = spent + weight * (case.C[:, :, a] @ b)
        if not left:
            return spent
        after = [worst(policy.update(state, o), x, spent, weight * gamma, left - 1) for o, _, x in branches(case, b, a)]
        return np.max(after, axis=0)

    most = worst(policy.initial(RNG), case.model.initial_belief, np.zeros(case.model.n_costs), 1.0, 5)
    assert (most <= limit).all()
    assert (most <= found.sure_cost * (1 + 1e-9) + 1e-12).all()
    exact = rc.evaluate(case.model, policy, tolerance=1e-6, most_beliefs=300)
    assert exact.reward + exact.error >= found.reward - 1e-9


def any_guides(policy: PlanSetPolicy, rng: np.random.Generator, n: int = 12) -> list[Guide]:
    """Guides over domains of the policy and over all states, with vectors of any size."""
    model, first = policy.model, policy.domain_start
    domains = [policy.domain_states[first[i] : first[i + 1]] for i in range(first.size - 1)]
    domains.append(np.arange(model.n_states))
    drawn = [domains[i] for i in rng.integers(len(domains), size=n)]
    return [Guide(int(rng.integers(model.n_actions)), d, rng.normal(scale=1e6, size=d.size)) for d in drawn]


def test_the_best_guide_goes_before_plans_after_which_one_of_them_fits() -> None:
    """Listening is guided and costs 1 of the 1.5. The next guide opens a door for free until 1 is there again."""
    model = TIGER.with_budget(1.5)
    door = PlanSetPolicy(model, [1], [[0, 0]], [[0.0]], [0], [0, 2], [0, 1], [0, 2], [-235.0, -125.0])
    policy = door.with_guides([Guide(0, np.arange(2), np.zeros(2)), Guide(2, np.arange(2), -np.ones(2))])
    state, taken = policy.initial(RNG), []
    for _ in range(6):
        taken.append(model.actions[policy.action(state)])
        state = policy.update(state, 0)
    assert taken == ["listen", "open-right", "open-right", "listen", "open-right", "open-right"]
    alone = door.with_guides([Guide(0, np.arange(2), np.zeros(2))])  # without another guide the plan is followed
    assert model.actions[alone.action(alone.update(alone.initial(RNG), 0))] == "open-left"
    assert repr(policy) == "PlanSetPolicy(1 plans, 2 guides)"
    found, without = rc.verify(model, policy), rc.verify(model, door)
    assert found.verified
    assert found.reward == without.reward
    assert found.note is not None
    assert "without the guides" in found.note
    assert not rc.verify(model, policy, {"reward": -100.0}).verified
    # With a limit of less than 1 for a step, listening is out of the question.
    strict = rc.problems.make("tiger", step_limit=0.5).with_budget(1.5)
    shy = PlanSetPolicy(strict, *policy.arrays)
    assert strict.actions[shy.action(shy.initial(RNG))] == "open-right"


@SETTINGS
@given(cpomdps(max_states=4, max_observations=3, discounts=(0.0, 0.5, 0.9)), st.integers(0, 2**32 - 1))
def test_whatever_the_guides_no_history_breaks_the_budget(case: Dense, seed: int) -> None:
    plain = with_course(grown(case.model, 5, seed), steps=seed % 3)
    found = rc.verify(case.model, plain)
    policy = plain.with_guides(any_guides(plain, np.random.default_rng(seed)))
    again = rc.verify(case.model, policy)
    assert (again.verified, again.problem) == (found.verified, found.problem)
    if not found.verified:
        return
    assert again.reward == found.reward

    def check(state: Any, b: np.ndarray, spent: np.ndarray, weight: float, left: int) -> None:
        a = policy.action(state)
        spent = spent + weight * (case.C[:, :, a] @ b)
        assert (spent <= case.model.spending_limit).all()
        for o, _, x in branches(case, b, a) if left else ():
            check(policy.update(state, o), x, spent, weight * case.model.discount, left - 1)

    check(policy.initial(RNG), case.model.initial_belief, np.zeros(case.model.n_costs), 1.0, 5)
    fast = rc.simulate(case.model, policy, runs=10, steps=20, seed=seed)
    assert fast.violation_rate.mean == 0
    assert list(fast.rows()) == list(rc.simulate(case.model, Unbatched(policy), runs=10, steps=20, seed=seed).rows())


def test_runs_mark_the_nodes_that_they_act_from() -> None:
    plain = grown(TIGER, 12)
    policy = plain.with_guides([Guide(0, np.arange(2), np.zeros(2)), Guide(0, np.arange(2), -np.ones(2))])
    met = nodes_met(TIGER, policy, 10, 0, lambda: False)
    assert met[plain.actions.size :].tolist() == [True, False]  # the second is never better
    assert 0 < met.sum() < met.size


@pytest.mark.parametrize("name", ["tiger", "tunnels", "crs-4-4"])
def test_a_thousand_runs_without_a_violation(name: str) -> None:
    model = rc.problems.make(name)
    policy = with_course(grown(model, 25), steps=2)
    found = rc.verify(model, policy, {"lower": rc.verify(model, policy).reward})
    assert found.verified
    runs = rc.simulate(model, policy, runs=1000, steps=100)
    assert runs.violation_rate.mean == 0
    assert runs.reward.mean + 4 * runs.reward.se + 1e-9 >= found.reward
    slow = rc.simulate(model, Unbatched(policy), runs=40, steps=30)
    assert list(slow.rows()) == list(rc.simulate(model, policy, runs=40, steps=30).rows())


def test_arrays_do_what_the_protocol_does_whatever_the_numbers() -> None:
    rng = np.random.default_rng(5)
    for seed in range(20):
        case = random_model(rng, n_states=6, n_costs=seed % 3, discount=0.9)
        policy = any_plan_set(case.model, rng, n=30)
        fast = rc.simulate(case.model, policy, runs=20, steps=30, seed=seed)
        assert list(fast.rows()) == list(
            rc.simulate(case.model, Unbatched(policy), runs=20, steps=30, seed=seed).rows()
        )


def test_another_budget_is_the_same_model_and_the_policy_keeps_its_own() -> None:
    policy = grown(TIGER, 12)
    here = rc.simulate(TIGER.with_budget(1), policy, runs=30, seed=1)
    assert here.violation_rate.mean > 0
    assert here.reward == rc.simulate(TIGER, policy, runs=30, seed=1).reward
    other = rc.problems.make("tiger", accuracy=0.6)
    rows = list(rc.simulate(other, policy, runs=30, seed=1).rows())
    assert rows == list(rc.simulate(other, Unbatched(policy), runs=30, seed=1).rows())


def test_a_missing_successor_is_named_when_it_is_met() -> None:
    good = listen_or_open(TIGER, start=0)
    arrays = list(good.arrays)
    arrays[1] = np.array([[1, -1], [1, 1]])
    policy = PlanSetPolicy(TIGER, *arrays, start=0)
    for run in (policy, Unbatched(policy), rc.policies.MixturePolicy([policy], [1.0])):
        with pytest.raises(rc.PolicyError, match="^plan 0 has no successor after observation 'hear-right'$"):
            rc.simulate(TIGER, run, runs=20)


def test_belief_nodes_alone_are_a_plan_set_that_ends() -> None:
    parts = {"actions": [0], "successors": [[-1, -1]], "sure_cost": [[1.0]], "domain": [-1]}
    none = {"domain_start": [0], "domain_states": NONE, "values_start": [0, 1], "values": [-1.0]}
    policy = PlanSetPolicy(TIGER, **parts, **none)
    assert rc.simulate(TIGER, policy, runs=3, steps=0).reward.mean == 0
    with pytest.raises(rc.PolicyError, match="^belief node 0 has no successor after observation 'hear-"):
        rc.simulate(TIGER, policy, runs=3, steps=1)
    problem = rc.verify(TIGER, policy).problem
    assert problem == (
        "belief node 0 has no successor after observation 'hear-left', which can follow state 'tiger-left'"
    )


def test_it_shows_itself_and_can_be_sent_to_workers() -> None:
    policy = with_course(grown(TIGER, 8), steps=1)
    assert repr(policy).endswith(" plans, 1 belief nodes)")
    assert repr(grown(TIGER, 8)).endswith(" plans)")
    assert "belief nodes" in policy._repr_html_()
    again = pickle.loads(pickle.dumps(policy))
    assert list(rc.simulate(TIGER, again, runs=9).rows()) == list(rc.simulate(TIGER, policy, runs=9).rows())
    with pytest.raises(ValueError, match="read-only"):
        policy.values[0] = 1.0


def test_it_can_be_explored_and_explained_but_has_no_graph(tmp_path: Any) -> None:
    policy = with_course(grown(TIGER, 8), steps=1)
    assert rc.explore(policy, TIGER, tmp_path / "page.html", most_nodes=50).nodes == [50]
    told = rc.explain(policy, TIGER, ["hear-left"])
    assert told.left == pytest.approx([policy.update(policy.initial(RNG), 0).left[0]])
    assert told.broken is None
    with pytest.raises(rc.PolicyError, match="^a policy of type PlanSetPolicy is no controller, and has no graph$"):
        rc.policies.policy_graph(policy, TIGER)


NONE = np.zeros(0, dtype=np.int64)
GOOD: dict[str, Any] = {
    "actions": [0, 1, 0],
    "successors": [[1, 1], [1, 1], [0, 1]],
    "sure_cost": [[1.0], [0.0], [2.0]],
    "domain": [0, 1, -1],
    "domain_start": [0, 2, 3],
    "domain_states": [0, 1, 1],
    "values_start": [0, 2, 3, 4],
    "values": [0.0, 0.0, 1.0, 2.0],
    "start": 2,
}


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"actions": NONE}, "a plan set needs at least one node"),
        ({"actions": [[0, 1, 0]]}, "a plan set of 3 nodes needs actions of shape (3,), not (1, 3)"),
        ({"actions": [0, 1, 3]}, "node 2 takes action 3, which the model does not have"),
        ({"actions": [0.0, 1.0, 0.0]}, "actions of a plan set must be indices, not float64 values"),
        ({"successors": [[1, 1]]}, "a plan set of 3 nodes needs successors of shape (3, 2), not (1, 2)"),
        (
            {"successors": [[1, 1], [1, 3], [0, 1]]},
            "node 1 goes to node 3 after observation 'hear-right', which does not exist",
        ),
        (
            {"successors": [[-2, 1], [1, 1], [0, 1]]},
            "node 0 goes to node -2 after observation 'hear-left', which does not exist",
        ),
        ({"sure_cost": [[1.0], [0.0]]}, "a plan set of 3 nodes needs sure costs of shape (3, 1), not (2, 1)"),
        ({"sure_cost": [[1.0], [-1.0], [0.0]]}, "the sure cost of node 1 is -1, not at least 0"),
        ({"sure_cost": [[1.0], [0.0], [np.nan]]}, "the sure cost of node 2 is nan, not at least 0"),
        ({"sure_cost": [[np.inf], [0.0], [0.0]]}, "guide 0 has a successor after observation 'hear-left'"),
        (
            {"sure_cost": [[1.0], [0.0], [np.inf]], "successors": [[1, 1], [1, 1], [-1, -1]]},
            "node 2 has an infinite sure cost, but is no guide: those have no other, and a domain",
        ),
        (
            {"sure_cost": [[1.0], [np.inf], [0.0]], "successors": [[1, 1], [-1, -1], [0, 1]], "start": 1},
            "the plan set starts at node 1, which is a guide",
        ),
        ({"domain": [0, 1]}, "a plan set of 3 nodes needs domains of shape (3,), not (2,)"),
        ({"domain": [0, 2, -1]}, "node 1 has domain 2, which does not exist"),
        ({"domain": [0, 1, -2]}, "node 2 has domain -2, which does not exist"),
        ({"domain_start": [0, 2]}, "the beginnings of the domains do not divide 3 states"),
        ({"domain_start": [0, 3, 3]}, "the beginnings of the domains do not divide 3 states"),
        ({"domain_start": [0, 5, 3]}, "the beginnings of the domains do not divide 3 states"),
        ({"domain_start": NONE}, "the beginnings of the domains do not divide 3 states"),
        ({"domain_states": [0, 2, 1]}, "domain 0 has state 2, which the model does not have"),
        ({"domain_states": [0, 1, -1]}, "domain 1 has state -1, which the model does not have"),
        ({"domain_states": [1, 0, 1]}, "the states of domain 0 do not increase"),
        ({"domain_states": [1, 1, 1]}, "the states of domain 0 do not increase"),
        ({"values_start": [0, 2, 3]}, "a plan set of 3 nodes needs beginnings of values of shape (4,), not (3,)"),
        ({"values_start": [0, 2, 3, 5]}, "the beginnings of the values do not divide 4 numbers"),
        ({"values_start": [0, 1, 3, 4]}, "node 0 has 1 values, not 2"),
        ({"values": [0.0, 0.0, np.inf, 2.0]}, "a value of node 1 is not finite"),
        ({"values": [[0.0, 0.0, 1.0, 2.0]]}, "the beginnings of the values do not divide 4 numbers"),
        ({"start": 3}, "the plan set starts at node 3, which does not exist"),
        ({"start": -1}, "the plan set starts at node -1, which does not exist"),
    ],
)
def test_what_is_no_plan_set_is_refused_with_a_sentence(parts: dict[str, Any], sentence: str) -> None:
    PlanSetPolicy(TIGER, **GOOD)
    with pytest.raises(rc.PolicyError) as caught:
        PlanSetPolicy(TIGER, **GOOD | parts)
    assert str(caught.value) == sentence


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 300), st.floats(0, 1.2))
def test_the_plan_that_is_followed_is_the_best_that_can_be_paid(seed: int, n: int, left: float) -> None:
    """So many plans that they form blocks, with values that often are the same, beside a plain look at each."""
    rng = np.random.default_rng(seed)
    model = TIGER.with_budget(max(left, 1e-3))
    values = rng.integers(-4, 5, (n, 2)).astype(float)
    sure = np.append(rng.random(n - 1), 0.0)
    policy = PlanSetPolicy(
        model,
        actions=rng.integers(0, 3, n),
        successors=np.full((n, 2), n - 1),
        sure_cost=sure[:, None],
        domain=np.zeros(n, dtype=int),
        domain_start=[0, 2],
        domain_states=[0, 1],
        values_start=2 * np.arange(n + 1),
        values=values.ravel(),
        start=n - 1,
    )
    node = policy.initial(RNG).node
    affordable = sure <= model.budget[0]
    assert affordable[node]
    assert values[node].mean() == values[affordable].mean(axis=1).max()
