"""The policy protocol, and that a policy run as arrays does what it does step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import rcpomdp as rc
from rcpomdp.cli.named_policies import from_name
from rcpomdp.policies import (
    AlphaPolicy,
    ControllerPolicy,
    MixturePolicy,
    RandomPolicy,
    blind,
    fib,
)
from sample_policies import Unbatched, every_kind
from strategies import Dense, cpomdps

SETTINGS = settings(derandomize=True, deadline=None, max_examples=40)


@SETTINGS
@given(cpomdps())
def test_arrays_and_protocol_give_the_same_rows_to_the_last_bit(case: Dense) -> None:
    for policy in every_kind(case.model).values():
        fast = rc.simulate(case.model, policy, runs=7, steps=6, seed=3)
        slow = rc.simulate(case.model, Unbatched(policy), runs=7, steps=6, seed=3)
        assert list(fast.rows()) == list(slow.rows())


@pytest.mark.parametrize("name", ["tiger", "tunnels", "crs-4-4"])
def test_a_state_can_be_branched_and_is_never_changed(name: str) -> None:
    model = rc.problems.make(name)
    for policy in every_kind(model).values():
        state = policy.initial(np.random.default_rng(1))
        for _ in range(3):
            action = policy.action(state)
            before = repr(state)
            belief = rc.beliefs.initial(model)
            possible = np.flatnonzero(rc.beliefs.observation_probabilities(model, belief, action))
            branches = [policy.update(state, int(o)) for o in possible[:1]]
            assert repr(state) == before
            assert policy.action(state) == action
            assert [repr(policy.update(state, int(o))) for o in possible[:1]] == [repr(b) for b in branches]
            break  # the beliefs of further steps depend on the policy


def test_random_actions_are_uniform_and_independent() -> None:
    model = rc.problems.make("crs-4-4")
    policy, rng = RandomPolicy(model), np.random.default_rng(0)
    actions = []
    for _ in range(400):
        state = policy.initial(rng)
        for _ in range(50):
            actions.append(policy.action(state))
            state = policy.update(state, 0)
    n, k = len(actions), model.n_actions
    counts = np.bincount(actions, minlength=k)
    chi2 = float(((counts - n / k) ** 2 / (n / k)).sum())
    assert chi2 < 24.3  # the 99.9 % quantile of chi-square with 7 degrees of freedom
    pairs = np.bincount(np.array(actions[:-1]) * k + actions[1:], minlength=k * k)
    assert float(((pairs - n / k**2) ** 2 / (n / k**2)).sum()) < 103.4  # the same with 63


def test_a_mixture_draws_by_its_weights_and_never_one_of_weight_zero() -> None:
    model = rc.problems.make("tiger")
    parts = [blind(model, a) for a in model.actions]
    policy = MixturePolicy(parts, [0.25, 0.75, 0.0])
    rng = np.random.default_rng(0)
    drawn = np.bincount([policy.initial(rng).drawn for _ in range(4000)], minlength=3)
    assert drawn[2] == 0
    assert abs(drawn[0] / 4000 - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)
    assert repr(policy) == "MixturePolicy(3 policies)"


def test_alpha_policy_takes_the_best_vector_and_says_its_value() -> None:
    model = rc.problems.make("tiger")
    policy = AlphaPolicy(model, [[0, 0], [-10, 1], [1, -10]], [0, 1, 2])
    assert policy.at([0.5, 0.5]).action == 0
    assert policy.at([0.01, 0.99]).action == 1
    assert policy.at([0.99, 0.01]).action == 2
    assert policy.value([0.01, 0.99]) == pytest.approx(0.89)
    tie = AlphaPolicy(model, [[1, 1], [1, 1]], [2, 1])
    assert tie.at([0.5, 0.5]).action == 2  # the first of equals


TIGER = rc.problems.make("tiger")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: AlphaPolicy(TIGER, [[0, 0, 0]], [0]), "1 actions need vectors of shape (1, 2), not (1, 3)"),
        (lambda: AlphaPolicy(TIGER, [[0, 0]], [3]), "vector 0 takes action 3, which the model does not have"),
        (lambda: AlphaPolicy(TIGER, [[0, np.nan]], [1]), "vector 0 is not finite at state 'tiger-right'"),
        (
            lambda: ControllerPolicy(TIGER, [0], [[0]]),
            "a controller of 1 nodes needs successors of shape (1, 2), not (1, 1)",
        ),
        (
            lambda: ControllerPolicy(TIGER, [5], [[0, 0]]),
            "node 0 takes action 5, which the model does not have",
        ),
        (
            lambda: ControllerPolicy(TIGER, [0], [[0, 1]]),
            "node 0 goes to node 1 after observation 'hear-right', which does not exist",
        ),
        (
            lambda: ControllerPolicy(TIGER, [0], [[0, 0]], start=4),
            "the controller starts at node 4, which does not exist",
        ),
        (lambda: MixturePolicy([RandomPolicy(TIGER)], [0.5, 0.5]), "1 policies need as many weights, not 2"),
        (lambda: MixturePolicy([RandomPolicy(TIGER)], [0.5]), "the weights of the mixture sum to 0.5, not 1"),
        (
            lambda: MixturePolicy([RandomPolicy(TIGER)] * 2, [-1, 2]),
            "weight 0 of the mixture is -1, which is no probability",
        ),
        (
            lambda: MixturePolicy([RandomPolicy(TIGER)], [np.nan]),
            "weight 0 of the mixture is nan, which is no probability",
        ),
        (lambda: blind(TIGER, "lisen"), "action 'lisen' is not declared; did you mean 'listen'?"),
        (lambda: blind(TIGER, 7), "action 7 is not between 0 and 2"),
        (lambda: from_name(TIGER, "qmpd"), "unknown policy 'qmpd'; did you mean 'qmdp'?"),
        (lambda: from_name(TIGER, "nowhere.rcp"), "policy file 'nowhere.rcp' does not exist"),
    ],
)
def test_a_policy_that_does_not_fit_is_refused_with_a_sentence(make: Any, sentence: str) -> None:
    with pytest.raises(rc.InputError) as caught:
        make()
    assert str(caught.value) == sentence


def test_a_policy_of_another_model_is_refused_or_follows_its_own_beliefs() -> None:
    ce, rocks = rc.problems.make("ce"), rc.problems.make("crs-4-4")
    for policy in (blind(rocks, "check-1"), RandomPolicy(rocks)):
        with pytest.raises(rc.PolicyError, match="was made for a model with other actions"):
            rc.simulate(ce, policy, runs=3)
    with pytest.raises(rc.InputError, match="^the policy's action at step 0 is .*, not between 0 and 1$|impossible"):
        rc.simulate(ce, fib(rocks), runs=50)
    # The same sizes, other numbers: the policy keeps to the beliefs of its own model, as in the field.
    dull, sharp = rc.problems.make("tiger", accuracy=0.6), rc.problems.make("tiger", accuracy=0.95)
    policy = AlphaPolicy(dull, [[0, 0], [-10, 1], [1, -10]], [0, 1, 2])
    here = rc.simulate(sharp, policy, runs=50, seed=2)
    assert list(here.rows()) == list(rc.simulate(sharp, Unbatched(policy), runs=50, seed=2).rows())
    own = rc.simulate(sharp, AlphaPolicy(sharp, policy.vectors, policy.actions), runs=50, seed=2)
    assert list(here.rows()) != list(own.rows())
    # Another budget is the same model.
    assert rc.simulate(dull.with_budget(1), policy, runs=5).violation_rate.mean > 0


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        ("listen", "the policy's action at step 0 is 'listen', not an index; model.actions.index('listen') is one"),
        ("lisen", "the policy's action at step 0 is 'lisen', not an index"),
        (True, "the policy's action at step 0 is True, not an index"),
        (1.0, "the policy's action at step 0 is 1.0, not an index"),
        (77, "the policy's action at step 0 is 77, not between 0 and 2"),
        (-1, "the policy's action at step 0 is -1, not between 0 and 2"),
    ],
)
def test_a_wrong_action_is_named(action: Any, sentence: str) -> None:
    class Own:
        def initial(self, rng: np.random.Generator) -> None: ...

        def action(self, state: None) -> Any:
            return action

        def update(self, state: None, observation: int) -> None: ...

    with pytest.raises(rc.PolicyError) as caught:
        rc.simulate(TIGER, Own(), runs=1)
    assert str(caught.value) == sentence


def test_labels_for_indices_are_refused() -> None:
    with pytest.raises(rc.PolicyError, match="^actions of a controller must be indices, not <U6 values$"):
        ControllerPolicy(TIGER, ["listen"], [[0, 0]])
    with pytest.raises(rc.PolicyError, match="^'fib' is no policy: it lacks initial, action or update$"):
        rc.simulate(TIGER, "fib")


def test_blind_takes_a_label_or_an_index() -> None:
    assert blind(TIGER, "open-left").action(0) == 1
    assert blind(TIGER, 2).action(0) == 2
