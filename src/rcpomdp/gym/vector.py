"""Many environments of one model, stepped at once by compiled code.

Each is to the last bit what a `CPOMDPEnv` with the same seed is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode, VectorEnv

from .._types import BoolArray, FloatArray, IntArray
from ..errors import InputError
from ..model import CPOMDP
from .env import check_limit, reset_option
from .episode_batch import EpisodeBatch

_MOST_ENVS = 10**6


class CPOMDPVectorEnv(VectorEnv[IntArray, IntArray, Any]):
    """Environments side by side; arrays are indexed by environment.

    ``info`` holds what `CPOMDPEnv` tells, ``cost [n, K]`` and so on, each with a mask ``_cost [n]`` of the environments
    it is told of, as Gymnasium has it. ``reset(seed=s)`` seeds environment i with s + i; a list seeds each.

    Parameters
    ----------
    num_envs : how many
    belief, until_known, max_episode_steps : as for `CPOMDPEnv`
    autoreset_mode : when an environment is reset whose episode is over: "NextStep", whose action is ignored there;
        "SameStep", and ``info["final_obs"]`` and ``info["final_info"]`` tell how it ended; "Disabled", by the caller
        with ``reset(options={"reset_mask": mask})``

    Examples
    --------
    >>> import rcpomdp as rc
    >>> from rcpomdp.gym import CPOMDPVectorEnv
    >>> envs = CPOMDPVectorEnv(rc.problems.make("tiger"), 3)
    >>> observations, info = envs.reset(seed=0)
    >>> observations, rewards, terminated, truncated, info = envs.step(np.array([0, 0, 1]))
    >>> info["remaining_budget"].round(4).tolist()
    [[2.6667], [2.6667], [4.0]]
    """

    single_action_space: Discrete
    single_observation_space: Discrete
    action_space: MultiDiscrete
    observation_space: MultiDiscrete

    def __init__(
        self,
        model: CPOMDP,
        num_envs: int,
        *,
        belief: bool = False,
        until_known: bool = False,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        if isinstance(num_envs, bool) or not isinstance(num_envs, int | np.integer) or num_envs < 1:
            raise InputError(f"num_envs must be a whole number of at least 1, not {num_envs!r}")
        if num_envs > _MOST_ENVS:
            raise InputError(f"num_envs must be at most {_MOST_ENVS:,}, not {num_envs:,}")
        check_limit(max_episode_steps)
        try:
            self._mode = AutoresetMode(autoreset_mode)
        except ValueError:
            modes = ", ".join(repr(mode.value) for mode in AutoresetMode)
            raise InputError(f"autoreset_mode must be one of {modes}, not {autoreset_mode!r}") from None
        self.model = model
        self.num_envs = int(num_envs)
        self.metadata = {"render_modes": [], "autoreset_mode": self._mode}
        self.single_action_space = Discrete(model.n_actions)
        self.single_observation_space = Discrete(model.n_observations + 1)
        self.action_space = MultiDiscrete(np.full(self.num_envs, model.n_actions))
        self.observation_space = MultiDiscrete(np.full(self.num_envs, model.n_observations + 1))
        self._belief, self._until_known, self._most = belief, until_known, max_episode_steps
        self._episodes = EpisodeBatch(model, self.num_envs)
        self._seeded = np.zeros(self.num_envs, dtype=np.bool_)
        self._begun = np.zeros(self.num_envs, dtype=np.bool_)
        self._over = np.zeros(self.num_envs, dtype=np.bool_)
        self._observations = np.full(self.num_envs, model.n_observations)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[IntArray, dict[str, Any]]:
        """Begin an episode everywhere, or where ``options["reset_mask"]`` is true: the first of a seed, or the next."""
        mask = self._reset_mask(options)
        super().reset(seed=seed if isinstance(seed, int | np.integer) else None)
        for i, given in enumerate(self._seeds(seed)):
            if mask[i] and (given is not None or not self._seeded[i]):
                self._episodes.seed(i, int(self.np_random.integers(2**63)) if given is None else given)
                self._seeded[i] = True
        self._begin(mask)
        return self._observations.copy(), self._info(np.zeros((self.num_envs, self.model.n_costs)), mask)

    def step(self, actions: IntArray) -> tuple[IntArray, FloatArray, BoolArray, BoolArray, dict[str, Any]]:
        """Act in every environment; an action that the model does not have is an InputError."""
        over = self._over.copy()
        if not self._begun.all() or (self._mode is AutoresetMode.DISABLED and over.any()):
            raise ResetNeeded("the episode of an environment is over, or none has begun: call reset first")
        out = self._episodes.step(actions, np.flatnonzero(~over))
        self._observations = out.observation
        if over.any():
            self._begin(over)
        terminated = out.known if self._until_known else out.ended
        truncated = np.zeros_like(over) if self._most is None else ~over & (self._episodes.steps >= self._most)
        self._over = terminated | truncated
        final: dict[str, Any] = {}
        if self._mode is AutoresetMode.SAME_STEP and self._over.any():
            final = self._final(out.cost)
            out.cost[self._over] = 0.0
            self._begin(self._over)
        info = self._info(out.cost, np.ones(self.num_envs, dtype=np.bool_)) | final
        return self._observations.copy(), out.reward, terminated, truncated, info

    def _final(self, cost: FloatArray) -> dict[str, Any]:
        """The last observation and info of the episodes that are over."""
        over = self._over
        last: Any = np.full(self.num_envs, None, dtype=object)
        last[over] = list(self._observations[over])  # an object each, as Gymnasium has it
        told = {"final_obs": last, "final_info": self._info(cost, over)}
        return told | {"_final_obs": over.copy(), "_final_info": over.copy()}

    def _begin(self, mask: BoolArray) -> None:
        self._episodes.begin(np.flatnonzero(mask))
        self._observations[mask] = self.model.n_observations
        self._begun |= mask
        self._over = self._over & ~mask

    def _info(self, cost: FloatArray, mask: BoolArray) -> dict[str, Any]:
        """The info of the environments in a mask, with zeros for the others."""
        told = self._episodes.info(cost.copy(), self._belief)
        for key, value in list(told.items()):
            value[~mask] = 0
            told[f"_{key}"] = mask.copy()
        return told

    def _seeds(self, seed: Any) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + i for i in range(self.num_envs)]
        if not isinstance(seed, Sequence | np.ndarray):
            raise InputError(f"a seed must be a whole number of at least 0, or one for each environment, not {seed!r}")
        if len(seed) != self.num_envs:
            raise InputError(f"{len(seed)} seeds given for {self.num_envs} environments")
        for given in seed:
            if given is not None and (not isinstance(given, int | np.integer) or given < 0):
                raise InputError(f"a seed must be a whole number of at least 0 or None, not {given!r}")
        return [None if given is None else int(given) for given in seed]

    def _reset_mask(self, options: dict[str, Any] | None) -> BoolArray:
        mask = reset_option(options, "reset_mask")
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise InputError(f"reset_mask must be an array of {self.num_envs} truth values, not {mask!r}")
        return mask.copy()
