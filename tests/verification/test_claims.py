"""Claims of a policy: each is confirmed, refuted, undecided or not checked, and no other word stands above it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.policies import ControllerPolicy, blind

CE = rc.problems.make("ce")


def told_apart_slowly() -> rc.CPOMDP:
    """A state that never changes, four sensors of different accuracy, and a cost in the rarer state."""
    accuracy = np.array([0.51, 0.52, 0.53, 0.54])
    seen = np.stack([np.concatenate([accuracy, 1 - accuracy]), np.concatenate([1 - accuracy, accuracy])]) / 4
    return rc.CPOMDP(
        transition=np.eye(2)[None],
        observation=seen[None],
        reward=np.zeros((2, 1)),
        cost=np.array([[[0.0], [1.0]]]),
        discount=0.99,
        initial_belief=[0.9, 0.1],
        budget=[200.0],
    )


def verdicts(found: rc.Verification) -> dict[str, str]:
    return {check.claim: check.verdict for check in found.checks}


def test_a_sure_cost_is_walked_as_far_as_it_is_claimed() -> None:
    """The budget is far away and decides nothing: some history spends 89.5, and 25 is claimed."""
    model = told_apart_slowly()
    policy = blind(model, 0)
    for claimed in (12.0, 25.0, 60.0, 85.0):
        found = rc.verify(model, policy, {"sure_cost": [claimed]}, most_pairs=20_000)
        assert not found.verified
        assert verdicts(found)["sure_cost"] in ("refuted", "undecided")
    assert rc.verify(model, policy, {"sure_cost": [100.0]}).verified
    assert rc.verify(model, policy).verified


def test_what_is_not_walked_to_its_end_is_undecided() -> None:
    model = told_apart_slowly()
    found = rc.verify(model, blind(model, 0), {"sure_cost": [80.0]}, most_pairs=500)
    assert not found.verified
    assert verdicts(found) == {"sure_cost": "undecided"}
    assert found.problem is not None
    assert "do not decide whether no history spends more than 80 as claimed" in found.problem


def test_sure_costs_of_mixtures_and_lots_are_walked_too() -> None:
    model = told_apart_slowly()
    policy = blind(model, 0)
    mixture = rc.policies.MixturePolicy([policy, policy], [0.5, 0.5])
    lots = rc.policies.StochasticControllerPolicy(model, [0], np.zeros((1, 8), int), [0, 1], [0], [1.0], start=1)
    for both in (mixture, lots):
        assert not rc.verify(model, both, {"sure_cost": [25.0]}, most_pairs=5_000).verified
        assert rc.verify(model, both, {"sure_cost": [100.0]}).verified


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ({"reward": 10.0}, "confirmed"),
        ({"reward": 10.1}, "refuted"),
        ({"reward": 99.0, "standard_error": [0.5, 0.1]}, "not checked"),
        ({"cost": [5.0]}, "confirmed"),
        ({"cost": [4.9]}, "refuted"),
        ({"sure_cost": [7.0]}, "confirmed"),
        ({"sure_cost": [4.9]}, "refuted"),
        ({"lower": 9.0}, "confirmed"),
        ({"lower": 10.1}, "refuted"),
        ({"lower": 9.0, "objective": "cost 'cost'"}, "not checked"),
        ({"upper": 12.0}, "not checked"),
        ({"upper": 9.9}, "refuted"),
        ({"gap": 2.0, "lower": 10.0, "upper": 12.0}, "not checked"),
        ({"gap": 1.0, "lower": 10.0, "upper": 12.0}, "refuted"),
        ({"gap": 1.0}, "not checked"),
        ({"status": "optimal", "lower": 10.0, "upper": 10.5, "epsilon": 1.0}, "not checked"),
        ({"status": "optimal", "lower": 10.0, "upper": 12.0, "epsilon": 1.0}, "refuted"),
        ({"status": "infeasible"}, "refuted"),
        ({"status": "time limit"}, "not checked"),
        ({"admissible": True}, "confirmed"),
        ({"horizon": 3}, "confirmed"),
        ({"k": 2}, "confirmed"),
        ({"budget": [5.0]}, "confirmed"),
        ({"budget": [None]}, "refuted"),
        ({"budget": [6.0]}, "refuted"),
        ({"needed": [5.1]}, "refuted"),
        ({"needed": [4.9]}, "not checked"),
        ({"suffices": [5.0]}, "confirmed"),
        ({"suffices": [4.0]}, "not checked"),
        ({"seconds": 0.1}, "not checked"),
        ({"anything": "else"}, "not checked"),
    ],
)
def test_every_claim_has_its_verdict(claim: dict[str, object], verdict: str) -> None:
    """The tunnel without a sensor earns 10 and costs 5, for sure."""
    found = rc.verify(CE, blind(CE, "tunnel-B"), claim)
    assert verdicts(found)[next(iter(claim))] == verdict
    assert found.verified == (verdict != "refuted")


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ({"admissible": True}, "refuted"),
        ({"horizon": 1}, "not checked"),
        ({"horizon": 2}, "refuted"),  # after two steps too much is spent
        ({"lower": 1.0}, "not checked"),
        ({"status": "infeasible"}, "not checked"),
        ({"budget": [5.0]}, "confirmed"),
    ],
)
def test_claims_of_a_policy_that_breaks_its_budget(claim: dict[str, object], verdict: str) -> None:
    found = rc.verify(CE, blind(CE, "tunnel-A"), claim)
    assert not found.verified
    assert verdicts(found) == {next(iter(claim)): verdict}


def test_a_weaker_question_confirms_no_more_than_was_asked() -> None:
    """On average tunnel A costs 5: that is k = 1, and says nothing of every history."""
    claims = {"admissible": True, "lower": 11.0, "k": 2}
    found = rc.verify(CE, blind(CE, "tunnel-A"), claims, k=1)
    assert verdicts(found) == dict.fromkeys(claims, "not checked")
    found = rc.verify(CE, blind(CE, "tunnel-A"), {"lower": 11.0, "upper": 11.5, "k": 1}, k=1)
    assert verdicts(found) == {"lower": "confirmed", "upper": "refuted", "k": "confirmed"}


@pytest.mark.parametrize("word", ["reward ", "Reward", "costs", "cost 'fuel'", "cost:fuel", 3, "reward - cost"])
def test_objectives_that_are_none_are_refused(word: object) -> None:
    with pytest.raises(rc.PolicyError, match="^the claimed objective is .*, which is none"):
        rc.verify(CE, blind(CE, "tunnel-B"), {"objective": word, "lower": 1e9})


@pytest.mark.parametrize("word", ["reward", "cost", "cost:cost", "cost 'cost'", "reward - (4.15)·cost", None])
def test_objectives_that_solvers_have_are_known(word: str | None) -> None:
    assert rc.verify(CE, blind(CE, "tunnel-B"), {"objective": word, "lower": 1.0}).verified


@pytest.mark.parametrize("claims", [{"status": 3}, {"admissible": "yes"}, {"gap": "x"}, {"k": 1.5}, {"needed": 3}])
def test_claims_of_the_wrong_kind_are_refused(claims: dict[str, object]) -> None:
    with pytest.raises(rc.PolicyError, match="^the claimed "):
        rc.verify(CE, blind(CE, "tunnel-B"), claims)


@pytest.mark.parametrize("unit", [1e-12, 1e-8, 1.0, 1e9])
def test_claims_are_held_to_the_scale_of_rewards_and_costs(unit: float) -> None:
    """Nine times too much is too much, and one in a billion is rounding, in whatever unit."""
    model = rc.CPOMDP(
        transition=np.ones((1, 1, 1)),
        observation=np.ones((1, 1, 1)),
        reward=np.array([[unit]]),
        cost=np.array([[[1 / unit]]]),
        discount=0.5,
        initial_belief=[1.0],
        budget=[3 / unit],
    )
    policy = blind(model, 0)
    right = {"reward": 2 * unit, "lower": 2 * unit, "upper": 2 * unit, "cost": [2 / unit], "sure_cost": [2 / unit]}
    assert rc.verify(model, policy, right).verified
    for name, value in right.items():
        for factor in (0.1, 0.999, 1.001, 9.0):
            wrong = (np.array(value) * factor).tolist()
            modest = (name in ("upper", "sure_cost") and factor > 1) or (name == "lower" and factor < 1)
            assert rc.verify(model, policy, {name: wrong}).verified == modest
        near = (np.array(value) * (1 + 1e-9)).tolist()
        assert rc.verify(model, policy, {name: near}).verified


def test_a_penalty_that_is_never_met_hides_no_wrong_claim() -> None:
    model = rc.CPOMDP(
        transition=np.ones((2, 1, 1)),
        observation=np.ones((2, 1, 1)),
        reward=np.array([[1.0, -1e9]]),
        cost=np.zeros((1, 1, 2)),
        discount=0.5,
        initial_belief=[1.0],
        budget=[1.0],
    )
    assert rc.verify(model, blind(model, 0), {"reward": 2.0}).verified
    assert not rc.verify(model, blind(model, 0), {"reward": 3.0}).verified


def test_the_problem_s_budget_holds(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    free = rc.problems.make("tiger").with_budget(None)
    path = str(tmp_path / "free.rcp")
    rc.save_policy(path, blind(free, "listen"), free, {"reward": -4.0}, {"name": "tiger", "parameters": {}})
    code, out, _ = run("verify", path, "--problem", "tiger")
    assert code == 1
    assert out.startswith("NOT VERIFIED: ")
    cheap = str(tmp_path / "cheap.rcp")
    rc.save_policy(cheap, blind(free, "open-left"), free, None, {"name": "tiger", "parameters": {}})
    code, out, _ = run("verify", cheap, "--problem", "tiger")
    assert (code, out.splitlines()[0]) == (
        1,
        "NOT VERIFIED: the claims are for the budget unlimited, and 3 is asked for",
    )
    code, out, _ = run("verify", path)
    assert (code, out.splitlines()[0]) == (0, "VERIFIED for the file's own budget, unlimited; that of tiger is 3")
    assert run("verify", cheap, "--problem", "tiger", "--budget", "3")[0] == 0  # another budget was asked for
    assert run("verify", path, "--problem", "tiger", "--budget", "3")[0] == 1


def test_the_verdicts_are_shown(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    path = str(tmp_path / "policy.rcp")
    claims = {"reward": 10.0, "lower": 10.0, "upper": 10.5, "status": "optimal", "seconds": 3.0}
    rc.save_policy(path, blind(CE, "tunnel-B"), CE, claims, {"name": "ce", "parameters": {}})
    code, out, _ = run("verify", path)
    assert (code, out.splitlines()[0]) == (0, "VERIFIED; not checked: upper bound, status")
    rows = {line[:12].strip(): line.strip() for line in out.splitlines()[2:]}
    assert rows["reward"].endswith("confirmed")
    assert rows["upper bound"].endswith("not checked")
    told = json.loads(run("verify", path, "--json")[1])
    shown = {check["claim"]: check["verdict"] for check in told["checks"]}
    assert shown == {
        "budget": "confirmed",
        "lower": "confirmed",
        "upper": "not checked",
        "status": "not checked",
        "reward": "confirmed",
        "seconds": "not checked",
    }
    rc.save_policy(path, blind(CE, "tunnel-B"), CE, claims | {"reward": 11.0}, {"name": "ce", "parameters": {}})
    code, out, _ = run("verify", path)
    assert (code, out.splitlines()[0]) == (1, "NOT VERIFIED: the policy's reward is 10, not 11 as claimed")
    assert any(line.strip().endswith("refuted") for line in out.splitlines())


def test_solved_policies_keep_all_that_is_claimed() -> None:
    for model in (rc.problems.make("tunnels"), rc.problems.make("crs-4-4")):
        result = rc.solve(model)
        found = rc.verify(model, result.policy, result.claims(model))
        assert found.verified
        told = verdicts(found)
        assert {name for name, verdict in told.items() if verdict == "confirmed"} == {
            *("budget", "lower", "reward", "cost", "sure_cost", "admissible")
        }


def test_random_sure_costs_are_never_confirmed_below_the_truth() -> None:
    rng = np.random.default_rng(0)
    model = rc.problems.make("tiger").with_budget(None)
    for _ in range(20):
        n = int(rng.integers(1, 5))
        policy = ControllerPolicy(model, rng.integers(0, 3, n), rng.integers(0, n, (n, 2)))
        exact = rc.verify(model, policy)
        for share in (0.5, 0.99, 0.99999):
            claimed = (exact.spent * share).tolist()
            if exact.spent[0] > 0:
                assert not rc.verify(model, policy, {"sure_cost": claimed}).verified
        assert rc.verify(model, policy, {"sure_cost": exact.sure_cost.tolist()}).verified
