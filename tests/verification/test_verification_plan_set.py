"""The checker of plan sets: against the definition, on every kind of fault, and on claims."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_verification import random_controller

import rcpomdp as rc
from plan_sets import Matrices, Plan, assembled, changed, grown, of_controller, taken_apart, with_course
from rcpomdp.policies import MixturePolicy, PlanSetPolicy, blind
from strategies import Dense, cpomdps

SETTINGS = settings(derandomize=True, deadline=None, max_examples=60)
TIGER = rc.problems.make("tiger")
CE = rc.problems.make("ce")


def holds(policy: PlanSetPolicy) -> bool:
    """The definition of a plan set, in loops; differences below 1e-7 are none."""
    model, full, plans, gamma = policy.model, Matrices(policy.model), taken_apart(policy), policy.model.discount

    def covers(j: int, states: tuple[int, ...]) -> bool:
        known = plans[j].states if j >= 0 else None
        return known is not None and set(states) <= set(known)

    def value_at(j: int, b: np.ndarray) -> float:
        known = plans[j].states
        return float(plans[j].values[0]) if known is None else float(plans[j].values @ b[list(known)])

    limited = np.isfinite(model.budget)
    for plan in plans:
        if plan.states is None:
            continue
        states, a = list(plan.states), plan.action
        earned, w = model.reward[states, a].copy(), np.zeros(model.n_costs)
        for o, lands in full.may_follow(plan.states, a).items():
            j = plan.successors[o]
            if not covers(j, lands):
                return False
            spread = np.zeros(model.n_states)
            spread[list(plans[j].states or ())] = plans[j].values
            earned += gamma * full.T[a][states] @ (full.Z[a][:, o] * spread)
            w = np.maximum(w, plans[j].w)
        spent = model.cost[:, states, a].max(axis=1) + gamma * w
        if (plan.values > earned + 1e-7).any() or (spent > plan.w + 1e-7)[limited].any():
            return False

    def belief_node(i: int, b: np.ndarray, above: tuple[int, ...]) -> bool:
        plan, a = plans[i], plans[i].action
        if plan.states is not None:
            return covers(i, tuple(np.flatnonzero(b).tolist()))
        if i in above:
            return False
        earned, w = float(model.reward[:, a] @ b), np.zeros(model.n_costs)
        for o, joint in full.after(b, a).items():
            j, total = plan.successors[o], joint.sum()
            if j < 0 or not belief_node(j, joint / total, (*above, i)):
                return False
            earned += gamma * total * value_at(j, joint / total)
            w = np.maximum(w, plans[j].w)
        spent = model.cost[:, :, a] @ b + gamma * w
        return plan.values[0] <= earned + 1e-7 and not (spent > plan.w + 1e-7)[limited].any()

    affordable = not (plans[policy.start].w > model.budget + 1e-7)[limited].any()
    return affordable and belief_node(policy.start, model.initial_belief, ())


def spoiled(policy: PlanSetPolicy, rng: np.random.Generator) -> PlanSetPolicy:
    """One thing of one node changed, by no small amount."""
    plans = taken_apart(policy)
    i = int(rng.integers(len(plans)))
    kind = rng.integers(5)
    if kind == 0:
        plans[i].values[rng.integers(plans[i].values.size)] += rng.choice([-0.1, 1e-3, 1.0])
    elif kind == 1 and plans[i].w.size:
        k = int(rng.integers(plans[i].w.size))
        plans[i].w[k] = max(0.0, plans[i].w[k] + rng.choice([-1e-3, -1.0, 0.5]))
    elif kind == 2:
        plans[i].successors[rng.integers(len(plans[i].successors))] = int(rng.integers(-1, len(plans)))
    elif kind == 3:
        plans[i] = plans[i]._replace(action=int(rng.integers(policy.model.n_actions)))
    elif plans[i].states is not None and len(plans[i].states) > 1:
        gone = int(rng.integers(len(plans[i].states)))
        states = plans[i].states[:gone] + plans[i].states[gone + 1 :]
        plans[i] = plans[i]._replace(states=states, values=np.delete(plans[i].values, gone))
    return assembled(policy.model, plans, policy.start)


@SETTINGS
@given(cpomdps(max_states=4, max_observations=3, discounts=(0.0, 0.5, 0.9)), st.integers(0, 2**32 - 1))
def test_the_verdict_is_that_of_the_definition(case: Dense, seed: int) -> None:
    policy = with_course(grown(case.model, 5, seed), steps=seed % 3)
    found = rc.verify(case.model, policy)
    assert found.verified == holds(policy)
    rng = np.random.default_rng(seed)
    for _ in range(12):
        worse = spoiled(policy, rng)
        told = rc.verify(case.model, worse)
        if reached_twice(told):
            continue  # a wrong successor may be right at another belief, too
        assert told.verified == holds(worse), told.problem


def reached_twice(found: rc.Verification) -> bool:
    return found.problem is not None and found.problem.endswith(
        ("more than one belief", "closes a cycle", "no policy can earn")
    )


@SETTINGS
@given(cpomdps(max_states=4, discounts=(0.0, 0.5, 0.95, 1 - np.exp(-14))), st.integers(0, 2**32 - 1))
def test_plans_of_a_controller_are_worth_what_it_is_worth(case: Dense, seed: int) -> None:
    controller = random_controller(case, seed)
    model = case.model.with_budget(None)
    policy, exact = of_controller(model, controller), rc.verify(model, controller)
    found = rc.verify(model, policy)
    assert found.verified, found.problem
    assert found.reward == pytest.approx(exact.reward, rel=1e-6, abs=1e-6)
    assert (found.sure_cost >= exact.spent * (1 - 1e-9)).all()
    sure = policy.sure_cost[policy.start]
    assert (sure >= exact.spent * (1 - 1e-9)).all()
    tight = rc.verify(model.with_budget(sure), PlanSetPolicy(model.with_budget(sure), *policy.arrays, policy.start))
    assert tight.verified, tight.problem
    assert tight.sure_cost == pytest.approx(np.minimum(sure, found.sure_cost), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("name", ["tiger", "crs-4-4", "cheese-maze"])
def test_the_plans_that_sarsop_finds(name: str) -> None:
    model = rc.problems.make(name).with_budget(None)
    result = rc.solve(model, "sarsop", epsilon=0.01, time_limit=20)
    assert isinstance(result.policy, rc.policies.ControllerPolicy)
    policy = of_controller(model, result.policy)
    found = rc.verify(model, policy, {"lower": result.lower, "reward": result.reward, "upper": result.upper})
    assert found.verified, found.problem
    assert rc.simulate(model, policy, runs=300).reward.mean == pytest.approx(result.reward, rel=0.5, abs=2)


def test_ce_by_hand() -> None:
    """Tunnel B at once is worth 10 and costs 5; tunnel A is worth 12 and may cost 10."""
    safe = of_controller(CE, blind(CE, "tunnel-B"))
    found = rc.verify(CE, safe, {"lower": 10, "reward": 10, "upper": 10.5, "sure_cost": [5]})
    assert found.verified
    assert found.reward == pytest.approx(10)
    assert found.sure_cost == pytest.approx([5])
    gamble = of_controller(CE, blind(CE, "tunnel-A"))
    assert rc.verify(CE, gamble).problem == f"the start, plan 0, may spend {gamble.sure_cost[0, 0]:.9g} > 5"
    # As belief nodes they count what is expected: 8 after rocks were seen, which is still too much.
    course = with_course(gamble, steps=2)
    assert rc.verify(CE, course).problem == (
        f"the start, belief node {course.start}, may spend {course.sure_cost[course.start, 0]:.9g} > 5"
    )
    assert course.sure_cost[course.start] == pytest.approx([8], abs=1e-4)
    rich = CE.with_budget(9)
    found = rc.verify(rich, PlanSetPolicy(rich, *course.arrays, course.start))
    assert found.verified
    assert (found.reward, found.beliefs) == (pytest.approx(12, abs=1e-4), 3)


def listening() -> PlanSetPolicy:
    """Listen once, then open the left door for ever; in front of it, the same as two steps of belief nodes."""
    door = np.array([-235.0, -125.0])
    plans = [
        Plan(0, [1, 1], np.array([1.0]), (0, 1), -1 + 0.75 * door),
        Plan(1, [1, 1], np.array([0.0]), (0, 1), door),
    ]
    return with_course(assembled(TIGER, plans, 0), steps=2)


def test_every_fault_is_named() -> None:
    good = listening()
    assert rc.verify(TIGER, good).verified
    first, left, right = 4, 2, 3  # belief nodes: the start, and what follows hearing the tiger left and right
    assert good.start == first
    assert good.successors[first].tolist() == [left, right]

    def problem(i: int | None, model: rc.CPOMDP = TIGER, **parts: Any) -> str | None:
        return rc.verify(model, changed(good, i, **parts)).problem

    values = taken_apart(good)
    assert problem(1, values=values[1].values + np.array([0, 1e-3])) == (
        "plan 1 promises -124.999 at state 'tiger-right', and its step earns -124.999625"
    )
    assert problem(0, w=np.array([0.5])) == "plan 0 promises to spend at most 0.5, and its step costs up to 1"
    assert problem(0, successors=[1, -1]) == (
        "plan 0 has no successor after observation 'hear-right', which can follow state 'tiger-left'"
    )
    assert problem(0, successors=[0, 1]) == (
        "plan 0 promises to spend at most 1, and may spend 1.75: after observation 'hear-left' plan 0 spends up to 1"
    )
    assert problem(0, successors=[left, 1]) == (
        "plan 0 goes to belief node 2 after observation 'hear-left', not to a plan"
    )
    assert problem(1, states=(0,), values=np.array([-235.0])) == (
        "plan 1 goes to plan 1 after observation 'hear-left', which does not cover state 'tiger-right'"
    )
    assert problem(1, values=np.array([-1e300, -1e300])) == (
        "plan 1 promises -1e+300 at state 'tiger-left', as no policy can earn"
    )
    assert problem(left, successors=[first, 1]) == (
        "belief node 2 goes to belief node 4 after observation 'hear-left', which closes a cycle"
    )
    assert problem(first, successors=[left, left]) == "belief node 2 is reached at more than one belief"
    assert problem(first, successors=[left, -1]) == (
        "belief node 4 has no successor after observation 'hear-right', which can follow state 'tiger-left'"
    )
    assert problem(left, values=values[left].values + 1) == (
        f"belief node 2 promises {values[left].values[0] + 1:.9g}, and its step earns {values[left].values[0]:.9g}"
    )
    assert problem(first, w=np.array([0.25])) == (
        "belief node 4 promises to spend at most 0.25, and its step costs up to 1"
    )
    assert problem(None, start=1) is None
    assert problem(None, start=0) is None
    alone = changed(assembled(TIGER, taken_apart(good)[:2], 1), 0, states=(0,), values=np.array([-177.25]))
    assert rc.verify(TIGER, changed(alone, start=0)).problem == (
        "the start, plan 0, does not cover state 'tiger-right'"
    )
    assert rc.verify(TIGER, alone).verified  # it starts at plan 1, and plan 0 holds for what it covers


def test_a_belief_node_may_be_reached_twice_at_one_belief() -> None:
    """After hearing left and right, in whatever order, the tiger is as likely here as there."""
    door = np.array([-235.0, -125.0])
    value = [-180.0, -136.0]
    once = [-1 + 0.75 * v for v in value]
    plans = [
        Plan(1, [0, 0], np.array([0.0]), (0, 1), door),
        Plan(1, [0, 0], np.array([0.0]), None, np.array([-180.0])),
        Plan(0, [0, 1], np.array([1.0]), None, np.array([once[0]])),
        Plan(0, [1, 0], np.array([1.0]), None, np.array([once[0]])),
        Plan(0, [2, 3], np.array([1.75]), None, np.array([-1 + 0.75 * once[0]])),
    ]
    policy = assembled(TIGER, plans, 4)
    full = Matrices(TIGER)
    # The plan after two equal sounds is worth more or less than -180, by the door that was heard.
    for i, o in ((2, 0), (3, 1)):
        b = full.after(TIGER.initial_belief, 0)[o]
        joint = full.after(b / b.sum(), 0)
        earned = -1 + 0.75 * (door @ joint[o] + -180 * joint[1 - o].sum())
        policy = changed(policy, i, values=np.array([earned]))
    parts = taken_apart(policy)
    policy = changed(policy, 4, values=-1 + 0.75 * (parts[2].values + parts[3].values) / 2)
    found = rc.verify(TIGER, policy)
    assert found.verified, found.problem
    assert found.beliefs == 4
    assert found.reward == pytest.approx(-1 - 0.75 + 0.75**2 * -180)
    off = changed(policy, 4, successors=[2, 2])
    assert rc.verify(TIGER, off).problem == "belief node 2 is reached at more than one belief"


def test_large_sets_are_checked_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = grown(rc.problems.make("tunnels"), 12)
    whole = rc.verify(policy.model, policy)
    monkeypatch.setattr("rcpomdp.verification.plan_set._ENTRIES", 1)
    assert repr(rc.verify(policy.model, policy)) == repr(whole)


def test_the_policy_s_own_budget_is_the_one_that_counts() -> None:
    policy = grown(TIGER, 12)
    assert rc.verify(TIGER, policy).verified
    assert rc.verify(TIGER.with_budget(3.5), policy).verified
    poor = rc.verify(TIGER.with_budget(2.9), policy)
    assert not poor.verified
    assert poor.problem is not None
    assert poor.problem.endswith((" > 2.9", "and 2.9 is the budget"))
    # Who has too little for the start begins elsewhere, and does not earn what it promises, whatever the model allows.
    thrifty = PlanSetPolicy(TIGER.with_budget(0.5), *policy.arrays, policy.start)
    assert policy.sure_cost[policy.start, 0] > 0.5
    assert rc.verify(TIGER, thrifty).problem == (
        f"the start, plan {policy.start}, may spend {policy.sure_cost[policy.start, 0]:.9g} > 0.5"
    )
    free = PlanSetPolicy(TIGER.with_budget(None), *policy.arrays, policy.start)
    assert rc.verify(TIGER, free).problem == "the policy may spend 4, and 3 is the budget"
    assert rc.verify(TIGER.with_budget(4), free).verified


def test_sure_costs_of_unlimited_costs_are_not_asked_for() -> None:
    policy = changed(of_controller(TIGER, blind(TIGER, "listen")), 0, w=np.array([0.0]))
    assert not rc.verify(TIGER, policy).verified
    free = PlanSetPolicy(TIGER.with_budget(None), *policy.arrays)
    found = rc.verify(free.model, free)
    assert found.verified
    assert found.sure_cost == pytest.approx([4])


def test_claims_beyond_what_is_proven_are_refused() -> None:
    model = rc.problems.make("ce", discount=0.9)
    policy = of_controller(model, blind(model, "tunnel-B"))

    def problem(**claims: object) -> str | None:
        return rc.verify(model, policy, claims).problem

    assert problem(lower=10, reward=9, upper=11, cost=[0], sure_cost=[5], horizon=None) is None
    assert problem(lower=10.1) == "the claimed lower bound 10.1 is above the reward that is proven, 10"
    assert problem(reward=10.1) == "the claimed reward 10.1 is above the one that is proven, 10"
    assert problem(reward=10.1, standard_error=[0.2, 0.1]) is None  # the mean of simulated runs claims nothing
    assert problem(upper=9.9) == "the policy's reward is at least 10, above the claimed upper bound 9.9"
    assert problem(lower=9, upper=8.5) == "the claimed lower bound 9 is above the upper bound 8.5"
    assert problem(sure_cost=[4.9]) == "no history is claimed to spend more than 4.9, and 5 is proven"
    assert problem(lower=99, upper=100, objective="cost") is None
    found = rc.verify(model, policy, {"cost": [1234]})
    assert found.verified
    assert np.isnan(found.cost).all()
    assert found.note == "the reward is what is proven at least; expected costs are not checked"
    assert found.summary()["cost"] == [None]
    assert "reward at least 10, no history spends more than 5" in repr(found)
    assert "at least 10" in found._repr_html_()
    broken = rc.verify(model, changed(policy, 0, w=np.array([0.0])))
    assert repr(broken) == f"Verification: NOT verified: {broken.problem}"
    assert "nan" not in broken._repr_html_()


def test_a_loose_promise_is_a_promise() -> None:
    """Values that are too low and sure costs that are too high prove less, but what they say."""
    plans = [plan._replace(values=plan.values - 1, w=plan.w + 0.5) for plan in taken_apart(grown(TIGER, 8))]
    policy = assembled(TIGER.with_budget(5), plans, 0)
    best = max((i for i, plan in enumerate(plans) if plan.w[0] <= 5), key=lambda i: plans[i].values.mean())
    found = rc.verify(policy.model, changed(policy, start=best))
    assert found.verified
    assert found.reward == pytest.approx(plans[best].values.mean())


def test_what_makes_no_sense_for_a_plan_set_is_one_sentence() -> None:
    policy = grown(TIGER, 4)
    with pytest.raises(
        rc.PolicyError, match="^a plan set is checked for every history, not for those that are shorter than k$"
    ):
        rc.verify(TIGER, policy, k=3)
    with pytest.raises(
        rc.PolicyError, match="^the plan set was made for another model, or for other parameters of it$"
    ):
        rc.verify(rc.problems.make("tiger", accuracy=0.6), policy)
    with pytest.raises(rc.PolicyError, match="^only mixtures of controllers can be verified, not one with PlanSet"):
        rc.verify(TIGER, MixturePolicy([policy], [1.0]))


def test_commands(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    policy = with_course(grown(TIGER, 10), steps=1)
    path = str(tmp_path / "plans.rcp")
    proven = rc.verify(TIGER, policy).reward
    claims = {"lower": proven, "reward": proven + 1, "cost": [1.0], "standard_error": [0.5, 0.1]}
    rc.save_policy(path, policy, TIGER, claims, {"name": "tiger", "parameters": {}})
    code, out, _ = run("verify", path)
    assert code == 0
    assert out.startswith("VERIFIED; not checked: reward, cost\n")
    assert "proven" in out
    assert f"{proven + 1:.6g}, simulated" in out
    assert out.endswith("note: the reward is what is proven at least; expected costs are not checked\n")
    code, out, _ = run("verify", path, "--json")
    assert json.loads(out)["note"].startswith("the reward is what is proven at least")
    code, out, _ = run("verify", path, "--budget", "0.5")
    assert code == 1
    assert out.startswith("NOT VERIFIED: the start, belief node ")
    assert "nan" not in out
    assert run("verify", path, "--k", "3")[0] == 2
    assert run("simulate", "--policy", path, "--runs", "20", "--problem", "tiger")[0] == 0
    assert run("explain", path, "--after", "hear-left")[0] == 0
    assert run("explore", path, "--no-open", "--nodes", "30", "--out", str(tmp_path / "x.html"))[0] == 0
    code, _, err = run("graph", path)
    assert (code, err) == (2, "rcpomdp: a policy of type PlanSetPolicy is no controller, and has no graph\n")


def test_a_plan_that_leads_to_a_guide_is_refused() -> None:
    """Also where no budget is limited, and sure costs do not matter: what a guide earns is not known."""
    for budget in (3.0, None):
        model = rc.problems.make("tiger").with_budget(budget)
        policy = PlanSetPolicy(
            model,
            actions=[1, 0],
            successors=[[0, 1], [-1, -1]],
            sure_cost=[[0.0], [np.inf]],
            domain=[0, 0],
            domain_start=[0, 2],
            domain_states=[0, 1],
            values_start=[0, 2, 4],
            values=[-200.0, -100.0, 5.0, 5.0],
        )
        problem = rc.verify(model, policy).problem
        assert problem == "plan 0 goes to guide 1 after observation 'hear-right', not to a plan"


def test_a_belief_node_that_costs_next_to_nothing_is_no_reason_for_doubt() -> None:
    """Belief nodes never repeat: however little they cost, they add no more steps than there are of them."""
    rare = 1e-9
    model = rc.CPOMDP(
        transition=np.eye(4)[None, [2, 2, 3, 3]],
        observation=np.ones((1, 4, 1)),
        reward=np.array([[0.0], [0.0], [1.0], [1.0]]),  # for ever
        cost=np.array([[[1.0], [0.0], [0.5], [0.0]]]),
        initial_belief=np.array([rare, 1 - rare, 0.0, 0.0]),
        discount=0.5,
        cost_discount=1,
        budget=0.6,
    )
    policy = PlanSetPolicy(
        model,
        actions=[0, 0, 0],
        successors=[[1], [2], [2]],
        sure_cost=[[rare + 0.5], [0.5], [0.0]],
        domain=[-1, 0, 1],
        domain_start=[0, 1, 2],
        domain_states=[2, 3],
        values_start=[0, 1, 2, 3],
        values=[1.0, 2.0, 2.0],
    )
    found = rc.verify(model, policy)
    assert found.verified, found.problem
    assert found.sure_cost == pytest.approx([0.6], rel=1e-9)
