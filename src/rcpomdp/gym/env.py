"""A model as a Gymnasium environment.

Actions and observations are indices, as in the model. Before the first action nothing has been observed: `reset`
returns an index that the model does not have, O. Rewards and costs are those of the step, not discounted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete

from ..errors import InputError
from ..model import CPOMDP
from .episode_batch import EpisodeBatch

_LAST_RUN = 2**62  # runs are counted on from there in 64 bits


class CPOMDPEnv(gymnasium.Env[np.int64, np.int64]):
    """One run of a model, step by step.

    ``info`` holds, with an entry per cost: ``cost``, that of the step as it fell out; ``spent``, what the agent had to
    expect to pay so far, ``W = Σ β^τ C(b_τ, a_τ)``; ``remaining_budget``, ``d' = (d − C(b, a)) / β``, which is below 0
    if and only if `simulate` would count a violation of the budget. It says nothing of limits for single steps.

    Episode j after ``reset(seed=s)`` is run j of ``simulate(..., seed=s)``; ``reset(options={"run": j})`` goes there.

    Parameters
    ----------
    belief : whether ``info["belief"]`` holds the belief, a vector over the states
    until_known : go on until the belief is sure that the process has ended, as `simulate` does; otherwise an
        episode terminates when the process has ended, which tells the agent so
    max_episode_steps : truncate after so many steps; None for no limit
    render_mode : "ansi" for a line of text that also tells the hidden state

    Examples
    --------
    >>> import rcpomdp as rc
    >>> env = rc.to_gymnasium(rc.problems.make("tiger"))
    >>> observation, info = env.reset(seed=0)
    >>> int(observation), info["remaining_budget"]
    (2, array([3.]))
    >>> observation, reward, terminated, truncated, info = env.step(0)  # listen
    >>> reward, info["cost"], info["remaining_budget"].round(4)
    (-1.0, array([1.]), array([2.6667]))
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - as in the base class

    def __init__(
        self,
        model: CPOMDP,
        *,
        belief: bool = False,
        until_known: bool = False,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        check_limit(max_episode_steps)
        if render_mode not in {None, *self.metadata["render_modes"]}:
            raise InputError(f"render_mode must be 'ansi' or None, not {render_mode!r}")
        self.model = model
        self.render_mode = render_mode
        self.action_space = Discrete(model.n_actions)
        self.observation_space = Discrete(model.n_observations + 1)
        self._belief, self._until_known, self._most = belief, until_known, max_episode_steps
        self._episodes = EpisodeBatch(model, 1)
        self._seeded = False
        self._over = True
        self._last = ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Begin an episode: the first of a seed, or the next one."""
        super().reset(seed=seed)
        run = _run(options)
        if seed is not None or run is not None or not self._seeded:
            # The seed is unknown, -1, if somebody has put a generator in the place of `np_random`.
            given = self.np_random_seed
            self._episodes.seed(0, int(self.np_random.integers(2**63)) if given == -1 else given, run or 0)
            self._seeded = True
        self._episodes.begin(self._episodes.all)
        self._over = False
        self._last = "before the first step"
        return np.int64(self.model.n_observations), self._info(np.zeros((1, self.model.n_costs)))

    def step(self, action: np.int64) -> tuple[np.int64, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act; an action that the model does not have is an InputError."""
        if self._over:
            raise ResetNeeded("the episode is over, or none has begun: call reset first")
        episodes, actions = self._episodes, np.atleast_1d(action)
        out = episodes.step(actions, episodes.all)
        observation, reward = np.int64(out.observation[0]), float(out.reward[0])
        terminated = bool(out.known[0] if self._until_known else out.ended[0])
        truncated = self._most is not None and int(episodes.steps[0]) >= self._most
        self._over = terminated or truncated
        info = self._info(out.cost)
        if self.render_mode is not None:
            self._last = _describe(self.model, int(actions[0]), int(observation), reward, info)
        return observation, reward, terminated, truncated, info

    def render(self) -> str | None:
        """The last step as a line of text, or None without a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render was called without a render mode; give render_mode='ansi'")
            return None
        state = self.model.states[int(self._episodes.state[0])]
        return f"step {self._episodes.steps[0]}: {self._last}; hidden state {state}\n"

    def _info(self, cost: Any) -> dict[str, Any]:
        return {key: value[0] for key, value in self._episodes.info(cost, self._belief).items()}


def check_limit(max_episode_steps: Any) -> None:
    """Refuse a time limit that is not a whole number of at least 1."""
    if max_episode_steps is not None and (not isinstance(max_episode_steps, int | np.integer) or max_episode_steps < 1):
        raise InputError(f"max_episode_steps must be a whole number of at least 1 or None, not {max_episode_steps!r}")


def _describe(model: CPOMDP, action: int, observation: int, reward: float, info: dict[str, Any]) -> str:
    """A step in words."""
    words = f"{model.actions[action]}, observed {model.observations[observation]}, reward {reward:g}"
    for k, name in enumerate(model.costs):
        words += f", {name} {info['cost'][k]:g} ({info['remaining_budget'][k]:.4g} left)"
    return words


def _run(options: dict[str, Any] | None) -> int | None:
    """The run that options ask for."""
    run = reset_option(options, "run")
    if run is not None and (isinstance(run, bool) or not isinstance(run, int | np.integer) or run < 0):
        raise InputError(f"run must be a whole number of at least 0, not {run!r}")
    if run is not None and run > _LAST_RUN:
        raise InputError(f"run must be at most {_LAST_RUN}")
    return None if run is None else int(run)


def reset_option(options: Any, name: str) -> Any:
    """The one option that a reset takes, or None; any other is refused."""
    if options is None:
        return None
    if not isinstance(options, Mapping):
        raise InputError(f"the options of reset must be a dictionary, not {options!r}")
    for key in options:
        if key != name:
            raise InputError(f"reset has no option {key!r}; it takes {name!r}")
    return options.get(name)
