"""A tabulated policy does what the policy does, and what cannot be tabulated is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.errors import PolicyError
from rcpomdp.policies import ControllerPolicy, tabulate


class Window:
    """Acts on its last two observations; a list of them if `state` is one."""

    def __init__(self, model: rc.CPOMDP, state: type = tuple) -> None:
        self.model, self.kind = model, state

    def initial(self, rng: np.random.Generator) -> Any:
        return self.kind()

    def action(self, state: Any) -> int:
        return (sum(state) + len(state)) % self.model.n_actions

    def update(self, state: Any, observation: int) -> Any:
        return self.kind([*state, observation][-2:])


class Counter(Window):
    """Never in the same state twice."""

    def initial(self, rng: np.random.Generator) -> int:
        return 0

    def action(self, state: int) -> int:
        return 0

    def update(self, state: int, observation: int) -> int:
        return state + 1


@pytest.mark.parametrize("name", ["ce", "tiger", "tunnels", "crs-4-4", "cheese-maze"])
def test_it_runs_as_the_policy_does(name: str) -> None:
    model = rc.problems.make(name)
    own = rc.simulate(model, Window(model), runs=60, seed=2)
    table = rc.simulate(model, tabulate(Window(model), model), runs=60, seed=2)
    assert np.array_equal(own.outcome.reward, table.outcome.reward)
    assert np.array_equal(own.outcome.cost, table.outcome.cost)


def test_a_controller_stays_what_it_is() -> None:
    model = rc.problems.make("tiger")
    made = ControllerPolicy(model, [0, 1, 2, 0], [[1, 2], [0, 0], [0, 0], [3, 3]])
    found = tabulate(made, model)
    assert found.actions.size == 3  # node 3 is never reached
    assert rc.evaluate(model, found).reward == pytest.approx(rc.evaluate(model, made).reward)


def test_it_is_verified_and_saved(tmp_path) -> None:
    model = rc.problems.make("tiger")
    table = tabulate(Window(model), model)
    assert rc.verify(model, table, {"reward": rc.evaluate(model, table).reward}).reward == pytest.approx(
        rc.evaluate(model, table).reward
    )
    rc.save_policy(tmp_path / "own.rcp", table, model)
    assert rc.load_policy(tmp_path / "own.rcp", model).actions.size == table.actions.size


def test_only_observations_that_can_be_made_are_asked_about() -> None:
    model = rc.problems.make("tunnels")

    class Picky(Window):
        def update(self, state: Any, observation: int) -> Any:
            last = model.transition[self.action(state)].T @ (state[-1] > 0)
            now = np.asarray(model.observation[self.action(state)][:, [observation]].todense()).ravel() * last
            assert now.sum() > 0, "an impossible observation"
            return (*state[:1], (now > 0).astype(float))

        def initial(self, rng: np.random.Generator) -> Any:
            return (0, (model.initial_belief > 0).astype(float))

        def action(self, state: Any) -> int:
            return 0

    found = tabulate(Picky(model), model, key=lambda state: state[-1].tobytes())
    assert found.actions.size > 1


def test_what_cannot_be_tabulated_is_refused() -> None:
    model = rc.problems.make("tiger")
    with pytest.raises(PolicyError, match="more than 50 reachable states"):
        tabulate(Counter(model), model, max_states=50)
    with pytest.raises(PolicyError, match="is a list, which cannot be told from others"):
        tabulate(Window(model, list), model)
    assert tabulate(Window(model, list), model, key=tuple).actions.size == 7
    with pytest.raises(PolicyError, match="draws its first state at random"):
        tabulate(rc.policies.RandomPolicy(model), model)
    wrong = Window(model)
    for action, said in ((3, "in state .* is 3, not between"), ("listen", "in state .* is 'listen', not an index")):
        wrong.action = lambda state, action=action: action  # type: ignore[method-assign,assignment,misc]
        with pytest.raises(PolicyError, match=said):
            tabulate(wrong, model)


def test_a_key_that_leaves_something_out_is_refused() -> None:
    model = rc.problems.make("tiger")

    class Twice:
        def initial(self, rng):
            return 0

        def action(self, state):
            return 0 if state < 2 else 1

        def update(self, state, observation):
            return (state + 1) % 3

    assert len(rc.policies.tabulate(Twice(), model).actions) == 3
    with pytest.raises(rc.PolicyError, match="takes other actions in states with one key"):
        rc.policies.tabulate(Twice(), model, key=lambda state: state % 2)


def test_a_key_whose_states_part_later_is_refused() -> None:
    model, actions = rc.problems.make("tiger"), (0, 1, 0, 0, 0, 2)

    class Round:
        def initial(self, rng):
            return 0

        def action(self, state):
            return actions[state]

        def update(self, state, observation):
            return (state + 1) % 6

    assert len(tabulate(Round(), model).actions) == 6
    for key in (lambda state: state % 2, lambda state: actions[state]):
        with pytest.raises(PolicyError, match="states with one key"):
            tabulate(Round(), model, key=key)


@pytest.mark.parametrize(
    "call",
    [
        rc.simulate,
        rc.verify,
        rc.evaluate,
        lambda model, policy: tabulate(policy, model),
        lambda model, policy: rc.explain(policy, model),
        lambda model, policy: rc.save_policy("none.rcp", policy, model),
    ],
    ids=["run", "verify", "evaluate", "table", "explain", "save"],
)
def test_what_is_no_policy_is_told_from_one(call) -> None:
    model = rc.problems.make("ce")
    with pytest.raises(rc.PolicyError, match=r"is no policy: it lacks .*; its policy is \.policy$"):
        call(model, rc.solve(model))
    with pytest.raises(rc.PolicyError, match="^FibPolicy is a class; a policy is an object of it"):
        call(model, type("FibPolicy", (), {"initial": 1}))
