"""Explanations: the paper's counterexample, budgets by hand, mixtures, and what cannot be explained."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.errors import InputError
from rcpomdp.views.explorer.risk import verified_reward, within_account
from rcpomdp.views.explorer.walk import starts, walk


@pytest.fixture(scope="module")
def cave() -> rc.CPOMDP:
    return rc.problems.make("ce")


def test_self_destruction_is_seen_where_it_begins(cave: rc.CPOMDP) -> None:
    gamble = rc.policies.blind(cave, "tunnel-A")
    assert rc.explain(gamble, cave).broken is None
    rocky = rc.explain(gamble, cave, ["looks-rocky"])
    assert rocky.broken == (1, 0)
    assert rocky.cost[0] == pytest.approx([8, 8])
    assert rocky.left[0] == pytest.approx(5, abs=1e-4)
    assert rc.explain(gamble, cave, ["looks-clear"]).broken is None
    ended = rc.explain(gamble, cave, ["looks-rocky", "looks-clear"])
    assert ended.broken == (1, 0)
    assert ended.action is None
    assert "the process has ended" in str(ended)
    assert ended.left[0] == pytest.approx(-3, abs=1e-4)


def test_a_step_is_called_deliberate_only_if_another_one_keeps_the_budget(cave: rc.CPOMDP) -> None:
    gamble = rc.policies.blind(cave, "tunnel-A")
    lost = rc.explain(gamble, cave, ["looks-rocky"])
    assert (lost.deliberate, lost.keeping) == (True, (1,))
    assert "DELIBERATE: tunnel-B could keep what is left, tunnel-A cannot" in str(lost)
    assert lost.summary()["keeping"] == ["tunnel-B"]
    start = rc.explain(gamble, cave)  # tunnel B can still be taken afterwards
    assert (start.deliberate, start.keeping) == (False, (0, 1))
    assert rc.explain(gamble, cave, ["looks-clear"]).keeping == (0, 1)
    poor = cave.with_budget(3.0)
    assert (forced := rc.explain(gamble, poor, ["looks-rocky"])).broken
    assert (forced.deliberate, forced.keeping) == (False, ())
    assert rc.explain(gamble, cave, ["looks-rocky", "looks-clear"]).keeping == ()


def test_the_better_gamble_is_proven_worse_within_the_budget(cave: rc.CPOMDP) -> None:
    told = rc.explain(rc.policies.blind(cave, "tunnel-B"), cave).summary()
    a, b = told["alternatives"]
    assert (a["verdict"], b["verdict"]) == ("worse", "taken")
    assert a["reward_at_most"] == pytest.approx(6, abs=1e-4)
    assert a["reason"] == "within the budget it earns at most 6, the policy earns 10"


def test_keeping_the_budget_is_not_called_worse_than_breaking_it_later(cave: rc.CPOMDP) -> None:
    told = rc.explain(rc.policies.blind(cave, "tunnel-A"), cave)
    assert (told.broken, told.keeps) == (None, False)
    b = told.summary()["alternatives"][1]
    assert b["verdict"] == "earns less within the budget"
    assert b["reason"] == "at most 10; the policy earns 12 by breaking the budget later"
    clear = rc.explain(rc.policies.blind(cave, "tunnel-A"), cave, ["looks-clear"])
    assert clear.keeps is True
    assert clear.summary()["alternatives"][1]["verdict"] == "worse"


def test_one_draw_of_a_randomised_policy_is_not_the_policy(cave: rc.CPOMDP) -> None:
    assert rc.explain(rc.policies.blind(cave, 0), cave).seed is None
    policy = rc.policies.RandomPolicy(cave)
    seed = next(seed for seed in range(20) if rc.explain(policy, cave, seed=seed).action == 0)
    told = rc.explain(policy, cave, seed=seed)
    assert f"ONE DRAW (seed {seed}) of a randomised policy" in str(told)
    facts = told.summary()
    assert facts["randomised"] is True
    assert facts["about"] == f"one draw (seed {seed}) of a randomised policy"
    assert facts["alternatives"][1]["verdict"].endswith("than this draw")
    assert "the policy" not in facts["alternatives"][1]["reason"]
    model = rc.problems.make("tiger")
    lost = next(
        told for seed in range(20) if (told := rc.explain(rc.policies.RandomPolicy(model), model, seed=seed)).broken
    )
    assert "SELF-DESTRUCTION of this draw at step 0" in str(lost)


def test_what_is_left_follows_the_recursion() -> None:
    model = rc.problems.make("tiger")
    listen = rc.policies.blind(model, "listen")
    left = 3.0
    for step in range(6):
        told = rc.explain(listen, model, ["hear-left", "hear-right", "hear-left", "hear-left", "hear-right"][:step])
        assert told.left[0] == pytest.approx(left)
        assert told.cost[0] == pytest.approx([4, 4])
        assert told.broken == (0, 0)  # 4 > 3 from the start
        left = (left - 1) / 0.75
    verdicts = {option["action"]: option["verdict"] for option in told.summary()["alternatives"]}
    assert verdicts["open-left"] == "breaks the budget"
    assert "is spent already" in told.summary()["alternatives"][1]["reason"]


def test_probabilities_of_histories_sum_to_one(cave: rc.CPOMDP) -> None:
    model = rc.problems.make("tiger")
    policy = rc.policies.fib(model)
    seen = product(range(2), repeat=3)
    assert sum(rc.explain(policy, model, history).probability for history in seen) == pytest.approx(1)


def two_plans(model: rc.CPOMDP) -> rc.policies.PlanSetPolicy:
    return rc.policies.PlanSetPolicy(
        model,
        actions=[0, 1],  # listening for ever costs 4, opening a door nothing
        successors=[[0, 0], [1, 1]],
        sure_cost=[[4.0], [0.0]],
        domain=[0, 0],
        domain_start=[0, 2],
        domain_states=[0, 1],
        values_start=[0, 2, 4],
        values=[-4, -4, -235, -125],
    )


def test_a_plan_set_that_is_verified_keeps_what_is_left_unexplored() -> None:
    model = rc.problems.make("tiger").with_budget(5)
    plans = two_plans(model)
    told = rc.explain(plans, model, ["hear-left"])
    assert told.keeps is True
    assert told.cost[0, 1] <= told.left[0] * (1 + 1e-8)
    assert "not explored far enough" not in str(told)
    least = rc.verify(model, plans).reward
    assert rc.explain(plans, model).reward[0] >= least - 1e-9
    lying = rc.policies.PlanSetPolicy(model, *(array * (0.1 if i == 2 else 1) for i, array in enumerate(plans.arrays)))
    assert rc.explain(lying, model, ["hear-left"]).keeps is None


def test_a_controller_that_is_verified_keeps_what_is_left_unexplored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rcpomdp.views.explorer.explanation._MOST_NODES", 2)
    model = rc.problems.make("tiger")
    wait = rc.policies.ControllerPolicy(model, [0, 1, 1], [[1, 1], [2, 2], [2, 2]])  # listens once, and then guesses
    assert rc.explain(wait, model).keeps is True
    assert rc.explain(wait, model.with_budget(0.5)).keeps is not True
    forever = rc.policies.ControllerPolicy(model, [0], [[0, 0]])
    assert rc.explain(forever, model).keeps is not True


def test_a_mixture_says_which_of_its_policies_it_tells_of(cave: rc.CPOMDP) -> None:
    blind = [rc.policies.blind(cave, action) for action in ("tunnel-A", "tunnel-B")]
    told = rc.explain(rc.policies.MixturePolicy(blind, [0.25, 0.75]), cave)
    assert "mixture  of 2 policies; all of this is about number 2" in str(told)
    assert told.summary()["draws"] == 2
    assert "mixture" not in str(rc.explain(blind[0], cave))


def test_a_mixture_is_the_policy_that_was_drawn(cave: rc.CPOMDP) -> None:
    a, b = (rc.policies.blind(cave, name) for name in ("tunnel-A", "tunnel-B"))
    mixture = rc.policies.MixturePolicy([a, b], [0.25, 0.75])
    assert rc.explain(mixture, cave).draw == 2
    assert rc.explain(mixture, cave, draw=1).probability == 0.25
    told = rc.explain(mixture, cave, [("tunnel-A", "looks-rocky")])  # only the first goes there
    assert (told.draw, told.probability) == (1, pytest.approx(0.125))


def test_a_policy_of_ones_own_is_explained_too() -> None:
    model = rc.problems.make("tiger")

    class Twice:
        def initial(self, rng):
            return {"heard": []}  # not hashable

        def action(self, state):
            return 0 if len(state["heard"]) < 2 else 1

        def update(self, state, observation):
            return {"heard": [*state["heard"], observation][-2:]}

    told = rc.explain(Twice(), model, ["hear-left", "hear-left"])
    assert told.summary()["action"] == "open-left"
    assert told.reward[0] <= told.reward[1]
    assert told.belief.probabilities == pytest.approx([0.85**2 / (0.85**2 + 0.15**2), 0.15**2 / (0.85**2 + 0.15**2)])


def test_a_bound_is_not_told_as_a_value() -> None:
    """What is not explored to the end has no known total: without a discount none at all, with one a range."""

    class Counting:  # never in the same state again
        def initial(self, rng):
            return 0

        def action(self, state):
            return 0

        def update(self, state, observation):
            return state + 1

    tiger = rc.problems.make("tiger")
    battery = rc.explain(Counting(), tiger.with_cost_discount(1))
    ((low, high),) = battery.summary()["cost_to_come"]
    assert (low > 0, high) == (True, float("inf"))
    assert f"; cost at least {low:.6g}, with 3 left" in str(battery)
    ((low, high),) = (told := rc.explain(Counting(), tiger)).summary()["cost_to_come"]
    assert low < high
    assert f"; cost between {low:.6g} and {high:.6g}, with 3 left" in str(told)
    endless = rc.explain(rc.policies.blind(tiger, "listen"), tiger.with_cost_discount(1))  # exact: no bound
    assert "; cost inf, with 3 left" in str(endless)


@pytest.mark.parametrize(
    ("history", "draw", "sentence"),
    [
        (["looks-odd"], None, "observation 'looks-odd' is not declared"),
        ([("tunnel-B", "looks-clear")], None, "at step 1 of the history the policy takes 'tunnel-A', not 'tunnel-B'"),
        (["looks-rocky", "looks-rocky"], None, "observation 'looks-rocky' is impossible after action 'tunnel-A'"),
        (["looks-rocky", "looks-clear", "looks-clear"], None, "step 3 of the history comes after the end"),
        ([], 2, "draw 2 is not between 1 and 1"),
    ],
)
def test_histories_that_cannot_be_are_named(cave: rc.CPOMDP, history: list, draw: int | None, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        rc.explain(rc.policies.blind(cave, "tunnel-A"), cave, history, draw=draw)


def test_states_that_have_parts_are_told_part_by_part() -> None:
    model = rc.problems.make("crs-4-4")
    told = rc.explain(rc.policies.blind(model, "north"), model)
    states, rocks = told.summary()["belief"], told.summary()["marginals"]
    assert f"\nparts    {next(iter(rocks[0]))}; " in str(told)
    assert [sum(part.values()) for part in rocks] == pytest.approx([1.0] * 4)
    good = sum(row["probability"] for row in states if row["state"].split()[1] == "good")
    assert rocks[1]["good"] == pytest.approx(good)
    tiger = rc.problems.make("tiger")
    assert "parts" not in str(rc.explain(rc.policies.blind(tiger, "listen"), tiger))


def test_an_action_that_is_a_label_is_told(cave: rc.CPOMDP) -> None:
    class Own:
        def initial(self, rng: object) -> None: ...

        def action(self, state: None) -> str:
            return "tunnel-A"

        def update(self, state: None, observation: int) -> None: ...

    for history in ([], ["looks-rocky"]):
        with pytest.raises(rc.PolicyError, match="is 'tunnel-A', not an index; model.actions.index"):
            rc.explain(Own(), cave, history)  # type: ignore[arg-type]  # on purpose


def test_a_page_shows_no_cost_above_the_account_of_a_verified_plan_set() -> None:
    model = rc.problems.make("tiger").with_budget(5).with_cost_discount(1)  # listening for ever is not allowed
    own = rc.policies.PlanSetPolicy(
        model,
        actions=[0, 1],  # listen once; open a door for ever
        successors=[[1, 1], [1, 1]],
        sure_cost=[[1.0], [0.0]],
        domain=[0, 0],
        domain_start=[0, 2],
        domain_states=[0, 1],
        values_start=[0, 2, 4],
        values=[-400, -400, -400, -400],
    )
    graph = walk(model, starts(model, own), most_nodes=3)
    assert not graph.complete
    assert verified_reward(model, own) == pytest.approx(-400)
    assert graph.values[0, 1, 1] == np.inf
    assert (within_account(graph)[:, 1] <= [state.left[0] for state in graph.states]).all()
