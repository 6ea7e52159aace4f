"""Environments: Gymnasium's own checks, and that an episode is a run of the simulator, to the last bit."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
import rcpomdp.gym
from budget_kinds import of_a_kind, uses
from rcpomdp.gym import CPOMDPEnv, SafetyGymnasium
from rcpomdp.kernels.simulation.episodes import uniforms
from rcpomdp.simulation import random_streams
from strategies import Dense, cpomdps, random_model

SETTINGS = settings(derandomize=True, deadline=None, max_examples=60)
SMALL = [name for name in rc.problems.names() if "11" not in name]


def play(env: gymnasium.Env[Any, Any], policy: Any, state: Any, discount: float, **reset: Any) -> dict[str, Any]:
    """An episode under a policy, added up as the simulator adds up."""
    observation, info = env.reset(**reset)
    total: dict[str, Any] = {"reward": 0.0, "cost": np.zeros_like(info["cost"]), "steps": 0, "violation": -1}
    weight, over = 1.0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy.action(state))
        total["reward"] += weight * reward
        total["cost"] += weight * info["cost"]
        if (info["remaining_budget"] < 0).any() and total["violation"] < 0:
            total["violation"] = total["steps"]
        total["steps"] += 1
        weight *= discount
        over = terminated or truncated
        if not over:
            state = policy.update(state, observation)
    return total | {"spent": info["spent"], "terminated": terminated}


def assert_plays_what_is_simulated(model: rc.CPOMDP, policy: Any, runs: int, steps: int, seed: int) -> None:
    """All rows of a simulation, episode by episode."""
    rows = rc.simulate(model, policy, runs, steps, seed).outcome
    env = rc.to_gymnasium(model, until_known=True, max_episode_steps=steps)
    _, mind = random_streams.generators(seed, 0)
    if model.terminal[model.initial_belief > 0].all():
        return  # the simulator takes no step, an environment must
    for run in range(runs):
        played = play(env, policy, policy.initial(mind), model.discount, seed=None if run else seed)
        assert played["reward"] == rows.reward[run]
        np.testing.assert_array_equal(played["cost"], rows.cost[run])
        np.testing.assert_array_equal(played["spent"], rows.spent[run])
        assert played["violation"] == rows.violation[run]
        if not played["terminated"]:
            assert played["steps"] == steps


# Gymnasium's checks


@pytest.mark.parametrize("name", SMALL)
def test_gymnasium_finds_no_fault_with_any_problem(name: str) -> None:
    env = gymnasium.make(f"rcpomdp/{name}-v0", render_mode="ansi")
    check_env(env.unwrapped)


def test_the_largest_problem_steps_too() -> None:
    env = gymnasium.make("rcpomdp/crs-11-11-v0")
    _, info = env.reset(seed=0)
    assert info["remaining_budget"].tolist() == [1.0]
    for action in (1, 5, 5, 2):
        env.step(action)
    assert env.unwrapped.observation_space.n == 4


def test_every_problem_has_an_id_and_a_time_limit() -> None:
    ids = {spec.id: spec for spec in gymnasium.registry.values() if spec.namespace == "rcpomdp"}
    assert set(ids) == {f"rcpomdp/{name}-v0" for name in rc.problems.names()}
    assert {spec.max_episode_steps for spec in ids.values()} == {200}
    env = gymnasium.make("rcpomdp/tiger-v0", max_episode_steps=3)
    env.reset(seed=0)
    assert [env.step(0)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]


def test_a_colon_saves_the_import() -> None:
    code = "import gymnasium; print(gymnasium.make('rcpomdp.gym:rcpomdp/tiger-v0').unwrapped.model.name)"
    command = [sys.executable, "-W", "error", "-c", code]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "tiger\n"


def test_problem_parameters_are_arguments_of_make() -> None:
    env = gymnasium.make("rcpomdp/tiger-v0", budget=1.5, belief=True, accuracy=0.7)
    _, info = env.reset(seed=0)
    assert info["remaining_budget"].tolist() == [1.5]
    assert max(env.step(0)[4]["belief"]) == pytest.approx(0.7)
    with pytest.raises(rc.InputError, match="has no parameter 'acuracy'; did you mean 'accuracy'"):
        gymnasium.make("rcpomdp/tiger-v0", acuracy=0.7)


def test_a_problem_registered_later_gets_an_id(monkeypatch: pytest.MonkeyPatch) -> None:
    from rcpomdp.problems.registry import Problem

    monkeypatch.setattr("rcpomdp.problems.registry._registered", {})
    rc.problems.register(Problem("sharp tiger", "has no id", "rcpomdp.problems.tiger:tiger"))
    rc.problems.register(Problem("sharp-tiger", "", "rcpomdp.problems.tiger:tiger", {"accuracy": 0.95}))
    rcpomdp.gym.register()
    try:
        assert gymnasium.make("rcpomdp/sharp-tiger-v0").unwrapped.model.observation[0][0, 0] == 0.95
    finally:
        del gymnasium.registry["rcpomdp/sharp-tiger-v0"]


# Episodes are runs of the simulator


@pytest.mark.parametrize("seed", range(3))
def test_the_compiled_generator_is_numpys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = rng.bit_generator.state["state"]
    bits = np.array([*divmod(words["state"], 2**64), *divmod(words["inc"], 2**64)], dtype=np.uint64)
    expected = rng.random(600)
    for skip in (0, 1, 255, 256, 511):
        drawn = np.empty(80)
        uniforms(bits, skip, drawn)
        np.testing.assert_array_equal(drawn, expected[skip : skip + 80])


@SETTINGS
@given(cpomdps(), st.integers(0, 5))
def test_a_random_policy_meets_what_it_meets_in_the_simulator(case: Dense, seed: int) -> None:
    assert_plays_what_is_simulated(case.model, rc.policies.RandomPolicy(case.model), runs=4, steps=9, seed=seed)


@pytest.mark.parametrize(("name", "steps"), [("ce", 5), ("tiger", 30), ("tunnels", 40)])
def test_arcs_earns_and_spends_in_the_environment_what_it_does_in_the_simulator(name: str, steps: int) -> None:
    model = rc.problems.make(name)
    policy = rc.solve(model, epsilon=0.05, time_limit=20).policy
    assert_plays_what_is_simulated(model, policy, runs=40, steps=steps, seed=3)


def test_any_run_can_be_asked_for() -> None:
    """Run 300 is in the second block of the simulator."""
    model = rc.problems.make("tiger")
    policy = rc.policies.fib(model)
    rows = rc.simulate(model, policy, 302, 12, seed=4).outcome
    env = rc.to_gymnasium(model, max_episode_steps=12)
    state = policy.initial(np.random.default_rng(0))
    assert play(env, policy, state, 0.75, seed=4, options={"run": 300})["reward"] == rows.reward[300]
    assert play(env, policy, state, 0.75)["reward"] == rows.reward[301]  # and then the next
    assert play(env, policy, state, 0.75, options={"run": 255})["reward"] == rows.reward[255]
    assert play(env, policy, state, 0.75)["reward"] == rows.reward[256]
    assert len(set(rows.reward[[300, 301, 255, 256]])) > 2


def test_seeds_rule() -> None:
    def observations(env: CPOMDPEnv, **reset: Any) -> list[int]:
        env.reset(**reset)
        return [int(env.step(0)[0]) for _ in range(40)]

    model = rc.problems.make("tiger")
    one, two = rc.to_gymnasium(model), rc.to_gymnasium(model)
    assert observations(one, seed=1) == observations(two, seed=1)
    assert observations(one) == observations(two)
    assert observations(one, seed=1) != observations(two, seed=2)
    assert observations(rc.to_gymnasium(model)) != observations(rc.to_gymnasium(model))  # unseeded
    one.np_random = np.random.default_rng(5)
    assert len(observations(one, options={"run": 0})) == 40


# Budgets and ends


@SETTINGS
@given(cpomdps(n_costs=2, discounts=(0.5, 0.95)))
def test_the_remaining_budget_is_the_papers_recursion(case: Dense) -> None:
    env = rc.to_gymnasium(case.model, belief=True, until_known=True)
    _, info = env.reset(seed=2)
    d, over = case.model.budget.copy(), False
    rng = np.random.default_rng(0)
    for _ in range(6):
        if over:
            break
        a = int(rng.integers(case.model.n_actions))
        d = (d - case.C[:, :, a] @ info["belief"]) / case.model.discount
        _, _, over, _, info = env.step(a)
        np.testing.assert_allclose(info["remaining_budget"], d, rtol=1e-6, atol=1e-6)
        assert info["belief"].sum() == pytest.approx(1)


@SETTINGS
@given(cpomdps(n_costs=2, discounts=(0.5, 0.9)))
def test_the_remaining_budget_follows_the_discount_of_each_cost(case: Dense) -> None:
    model = of_a_kind(case, cost_discount=[0.95, 1.0])
    env = rc.to_gymnasium(model, belief=True, until_known=True)
    _, info = env.reset(seed=2)
    d, over, rng = model.budget.copy(), False, np.random.default_rng(0)
    for _ in range(6):
        if over:
            break
        a = int(rng.integers(model.n_actions))
        d = (d - case.C[:, :, a] @ info["belief"]) / [0.95, 1.0]
        _, _, over, _, info = env.step(a)
        np.testing.assert_allclose(info["remaining_budget"], d, rtol=1e-6, atol=1e-6)


def test_an_episode_is_over_with_its_horizon() -> None:
    env = rc.to_gymnasium(uses(discount=1.0, horizon=3, budget=2.0))
    env.reset(seed=0)
    steps = [env.step(0) for _ in range(3)]
    assert [terminated for _, _, terminated, _, _ in steps] == [False, False, True]
    assert [float(info["remaining_budget"][0]) for *_, info in steps] == [1, 0, -1]


def test_exactly_the_budget_is_nothing_left_however_long_it_goes_on() -> None:
    """Three steps cost ĉ to the last bit, then all is free: rounding must not grow into a violation."""
    n, gamma = 5, 0.75
    chain = np.eye(n, k=1)
    chain[-1, -1] = 1
    cost = np.zeros((n, 1))
    cost[:3] = 0.1
    model = rc.CPOMDP(
        transition=[chain],
        observation=[np.ones((n, 1))],
        reward=np.ones((n, 1)),
        cost=cost,
        initial_belief=np.eye(1, n)[0],
        discount=gamma,
        budget=0.1 * (1 + gamma + gamma**2),
    )
    env = rc.to_gymnasium(model)
    env.reset(seed=0)
    left = [float(env.step(0)[4]["remaining_budget"][0]) for _ in range(3000)]
    assert min(left) >= 0
    broke = rc.to_gymnasium(model.with_budget(0.231))
    broke.reset(seed=0)
    left = [float(broke.step(0)[4]["remaining_budget"][0]) for _ in range(3000)]
    assert [d < 0 for d in left] == [False, False] + [True] * 2998
    assert left[-1] == -np.inf  # γ^t is 0 by then


def test_the_process_may_end_before_the_agent_knows() -> None:
    """The end is not seen: by default the environment tells it, as Gymnasium has it."""
    model = rc.CPOMDP(
        transition=[[[0.5, 0.5], [0, 1]]],
        observation=[[[1], [1]]],
        reward=[[1], [0]],
        cost=[[1], [0]],
        initial_belief=[1, 0],
        discount=0.5,
        budget=1.3,
    )
    telling, silent = rc.to_gymnasium(model), rc.to_gymnasium(model, until_known=True, max_episode_steps=30)
    lengths = [play(telling, rc.policies.blind(model, 0), 0, 0.5, seed=s)["steps"] for s in range(40)]
    assert set(lengths) >= {1, 2, 3}
    for s in range(5):
        played = play(silent, rc.policies.blind(model, 0), 0, 0.5, seed=s)
        assert (played["steps"], played["violation"], played["terminated"]) == (30, 2, False)


def test_a_belief_that_outgrows_its_first_room() -> None:
    n = 100
    spread = np.full((n, n), 1 / n)
    model = rc.CPOMDP(
        transition=[spread], observation=[np.ones((n, 1))], reward=np.ones((n, 1)), cost=np.ones((n, 1)),
        initial_belief=np.eye(1, n)[0], discount=0.9, budget=5,
    )  # fmt: skip
    env = rc.to_gymnasium(model, belief=True)
    env.reset(seed=0)
    np.testing.assert_allclose(env.step(0)[4]["belief"], 1 / n)


# Odd models


@pytest.mark.parametrize(
    ("states", "actions", "observations", "costs"),
    [(3, 2, 2, 0), (3, 2, 2, 5), (1, 2, 1, 1), (3, 1, 2, 1), (1, 1, 1, 0)],
)
def test_odd_models(states: int, actions: int, observations: int, costs: int) -> None:
    case = random_model(np.random.default_rng(0), states, actions, observations, costs)
    env = rc.to_gymnasium(case.model, max_episode_steps=50)
    check_env(env, skip_render_check=True)
    _, info = env.reset(seed=0)
    assert info["remaining_budget"].shape == info["cost"].shape == (costs,)
    safe = SafetyGymnasium(env)
    safe.reset(seed=0)
    _, _, cost, _, _, info = safe.step(0)
    assert np.shape(cost) == ((5,) if costs == 5 else ())
    np.testing.assert_array_equal(cost, info["cost"] if costs else 0.0)
    assert_plays_what_is_simulated(case.model, rc.policies.RandomPolicy(case.model), runs=3, steps=6, seed=1)


def test_a_process_that_is_over_before_it_begins() -> None:
    model = rc.CPOMDP(transition=[[[1]]], observation=[[[1]]], reward=[[0]], initial_belief=[1], discount=0.9)
    env = rc.to_gymnasium(model)
    env.reset(seed=0)
    assert env.step(0)[:4] == (0, 0.0, True, False)


def test_the_safety_gymnasium_gives_the_cost_that_is_asked_for() -> None:
    case = random_model(np.random.default_rng(3), n_costs=3, cost_density=1.0)
    plain = rc.to_gymnasium(case.model)
    plain.reset(seed=1)
    info = plain.step(1)[4]
    for which in (0, 2, "cost1"):
        safe = SafetyGymnasium(rc.to_gymnasium(case.model), which)
        safe.reset(seed=1)
        cost = safe.step(1)[2]
        assert isinstance(cost, float)
        assert cost == info["cost"][case.model.costs.resolve(which)] > 0
    with pytest.raises(rc.InputError, match="cost 'tolls' is not declared"):
        SafetyGymnasium(plain, "tolls")
    with pytest.raises(rc.InputError, match="is no environment of a CPOMDP"):
        SafetyGymnasium(gymnasium.make("CartPole-v1"))


# What is refused


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"max_episode_steps": 0}, "max_episode_steps must be a whole number of at least 1 or None, not 0"),
        ({"max_episode_steps": 2.5}, "max_episode_steps must be a whole number of at least 1 or None, not 2.5"),
        ({"render_mode": "human"}, "render_mode must be 'ansi' or None, not 'human'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(rc.InputError) as caught:
        rc.to_gymnasium(rc.problems.make("ce"), **options)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("action", [3, -1, 0.5, "listen", [0, 1]])
def test_an_action_that_is_none_is_refused(action: Any) -> None:
    env = rc.to_gymnasium(rc.problems.make("tiger"))
    env.reset(seed=0)
    with pytest.raises(rc.InputError):
        env.step(action)
    assert env.step(0)[1] == -1.0  # and nothing has happened


def test_steps_need_an_episode() -> None:
    env = rc.to_gymnasium(rc.problems.make("ce"))
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    assert env.step(1)[2]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    with pytest.raises(rc.InputError, match="reset has no option 'runs'"):
        env.reset(options={"runs": 3})
    with pytest.raises(rc.InputError, match="run must be a whole number of at least 0, not -3"):
        env.reset(options={"run": -3})
    with pytest.raises(rc.InputError, match=f"run must be at most {2**62}"):
        env.reset(options={"run": 2**63})
    env.reset(options={"run": 2**62})
    env.reset()
    with pytest.raises(rc.InputError, match="the options of reset must be a dictionary, not 5"):
        env.reset(options=5)


def test_a_step_in_words() -> None:
    env = rc.to_gymnasium(rc.problems.make("tiger"), render_mode="ansi")
    env.reset(seed=0)
    assert env.render().startswith("step 0: before the first step; hidden state tiger-")
    env.step(0)
    heard = env.model.observations[int(env.step(0)[0])]
    assert env.render().startswith(
        f"step 2: listen, observed {heard}, reward -1, cost 1 (2.222 left); hidden state tiger-"
    )
    assert len(env.render().splitlines()) == 1


def test_without_gymnasium_one_sentence_says_what_is_missing() -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "from rcpomdp import *\n"
        "import rcpomdp as rc\n"
        "try: rc.to_gymnasium(rc.problems.make('ce'))\n"
        "except ModuleNotFoundError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "environments need Gymnasium, which is not installed: pip install 'rcpomdp[gym]'\n"
