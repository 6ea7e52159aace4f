"""Environments side by side are what single ones are, to the last bit, whenever they are reset."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from rcpomdp.gym import CPOMDPVectorEnv, VectorSafetyGymnasium
from strategies import Dense, cpomdps, random_model

SETTINGS = settings(derandomize=True, deadline=None, max_examples=40)
MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]


def assert_same(ours: Any, theirs: Any) -> None:
    """Two answers of an environment, dictionaries and all, equal to the last bit."""
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs)
        for key in theirs:
            assert_same(ours[key], theirs[key])
    elif isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            assert_same(mine, other)
    else:
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


def both(model: rc.CPOMDP, n: int, mode: AutoresetMode, **options: Any) -> tuple[CPOMDPVectorEnv, SyncVectorEnv]:
    """Ours, and Gymnasium's loop over single environments."""
    single = [lambda: rc.to_gymnasium(model, **options)] * n
    return CPOMDPVectorEnv(model, n, autoreset_mode=mode, **options), SyncVectorEnv(single, autoreset_mode=mode)


@SETTINGS
@given(cpomdps(), st.sampled_from(MODES), st.booleans(), st.booleans())
def test_they_are_single_environments(case: Dense, mode: AutoresetMode, belief: bool, until_known: bool) -> None:
    ours, theirs = both(case.model, 3, mode, belief=belief, until_known=until_known, max_episode_steps=4)
    assert_same(ours.reset(seed=7), theirs.reset(seed=7))
    rng = np.random.default_rng(0)
    for t in range(14):
        if t == 9:
            assert_same(ours.reset(), theirs.reset())
        actions = rng.integers(case.model.n_actions, size=3)
        assert_same(ours.step(actions), theirs.step(actions))


def test_episodes_beyond_a_block_of_the_simulator() -> None:
    """Each episode of the counterexample takes one step here; a block has 256 runs."""
    ours, theirs = both(rc.problems.make("ce"), 2, AutoresetMode.SAME_STEP)
    assert_same(ours.reset(seed=[3, 11]), theirs.reset(seed=[3, 11]))
    for t in range(300):
        actions = np.array([1, t % 2])
        assert_same(ours.step(actions), theirs.step(actions))


def test_resets_by_the_caller() -> None:
    ours, theirs = both(rc.problems.make("ce"), 3, AutoresetMode.DISABLED)
    assert_same(ours.reset(seed=0), theirs.reset(seed=0))
    assert_same(ours.step(np.array([0, 1, 0])), theirs.step(np.array([0, 1, 0])))
    with pytest.raises(gymnasium.error.ResetNeeded):
        ours.step(np.array([0, 0, 0]))
    mask = np.array([False, True, False])
    assert_same(ours.reset(options={"reset_mask": mask}), theirs.reset(options={"reset_mask": mask}))
    assert_same(ours.step(np.array([0, 0, 0])), theirs.step(np.array([0, 0, 0])))


def test_the_ids_make_them(recwarn: pytest.WarningsRecorder) -> None:
    envs = gymnasium.make_vec("rcpomdp.gym:rcpomdp/tiger-v0", num_envs=4, budget=2.0, max_episode_steps=5)
    assert isinstance(envs, CPOMDPVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    loop = gymnasium.make_vec(
        "rcpomdp/tiger-v0", num_envs=4, vectorization_mode="sync", budget=2.0, max_episode_steps=5
    )
    assert envs.action_space == loop.action_space
    assert envs.observation_space == loop.observation_space
    assert_same(envs.reset(seed=1), loop.reset(seed=1))
    for _ in range(12):
        assert_same(envs.step(np.zeros(4, dtype=int)), loop.step(np.zeros(4, dtype=int)))
    assert gymnasium.make_vec("rcpomdp/tiger-v0", num_envs=2).spec.kwargs["max_episode_steps"] == 200
    assert not recwarn


def test_statistics_wrappers_of_gymnasium_take_them() -> None:
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(
        gymnasium.make_vec("rcpomdp.gym:rcpomdp/ce-v0", num_envs=2)
    )
    envs.reset(seed=0)
    info = envs.step(np.array([1, 1]))[4]
    assert info["episode"]["r"].tolist() == [10, 10]
    assert info["episode"]["l"].tolist() == [1, 1]


@pytest.mark.parametrize("mode", MODES)
def test_six_values_hold_the_cost_of_the_action_also_when_the_episode_is_over(mode: AutoresetMode) -> None:
    envs = VectorSafetyGymnasium(CPOMDPVectorEnv(rc.problems.make("ce"), 3, autoreset_mode=mode))
    envs.reset(seed=0)
    _, rewards, costs, terminated, truncated, _ = envs.step(np.array([1, 0, 1]))
    assert costs.tolist() == [5, 0, 5]
    assert rewards.tolist() == [10, 0, 10]
    assert terminated.tolist() == [True, False, True]
    assert truncated.tolist() == [False] * 3


@pytest.mark.parametrize("costs", [0, 1, 5])
def test_six_values_for_any_number_of_costs(costs: int) -> None:
    case = random_model(np.random.default_rng(1), n_costs=costs)
    envs = VectorSafetyGymnasium(CPOMDPVectorEnv(case.model, 4))
    envs.reset(seed=0)
    assert envs.step(np.zeros(4, dtype=int))[2].shape == ((4, 5) if costs == 5 else (4,))
    if costs == 5:
        assert VectorSafetyGymnasium(CPOMDPVectorEnv(case.model, 4), "cost2")._which == 2


def test_what_is_returned_is_the_callers_to_keep() -> None:
    envs = CPOMDPVectorEnv(rc.problems.make("tiger"), 2)
    first = envs.reset(seed=0)
    kept = json.dumps([first[0].tolist(), {key: value.tolist() for key, value in first[1].items()}])
    second = envs.step(np.array([0, 0]))
    second[0][:] = 0
    envs.step(np.array([1, 1]))
    assert json.dumps([first[0].tolist(), {key: value.tolist() for key, value in first[1].items()}]) == kept


def test_bad_arguments_are_refused() -> None:
    model = rc.problems.make("tiger")
    with pytest.raises(rc.InputError, match="num_envs must be a whole number of at least 1, not 0"):
        CPOMDPVectorEnv(model, 0)
    with pytest.raises(rc.InputError, match="num_envs must be at most 1,000,000, not 10,000,000"):
        CPOMDPVectorEnv(model, 10**7)
    with pytest.raises(
        rc.InputError, match="autoreset_mode must be one of 'NextStep', 'SameStep', 'Disabled', not 'now'"
    ):
        CPOMDPVectorEnv(model, 2, autoreset_mode="now")
    envs = CPOMDPVectorEnv(model, 2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.array([0, 0]))
    with pytest.raises(rc.InputError, match="3 seeds given for 2 environments"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(rc.InputError, match="a seed must be a whole number of at least 0 or None, not -1"):
        envs.reset(seed=[1, -1])
    with pytest.raises(rc.InputError, match="reset has no option 'mask'"):
        envs.reset(options={"mask": 1})
    with pytest.raises(rc.InputError, match="the options of reset must be a dictionary, not 5"):
        envs.reset(options=5)
    with pytest.raises(rc.InputError, match="a seed must be a whole number of at least 0, or one for each .*, not 1.5"):
        envs.reset(seed=1.5)
    with pytest.raises(rc.InputError, match="reset_mask must be an array of 2 truth values"):
        envs.reset(options={"reset_mask": [True, False]})
    envs.reset(seed=0)
    with pytest.raises(rc.InputError, match="action 3 is not between 0 and 2"):
        envs.step(np.array([0, 3]))
    with pytest.raises(rc.InputError, match="is not one index of an action per environment"):
        envs.step(np.array([0, 1, 2]))
