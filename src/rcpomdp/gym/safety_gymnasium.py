"""Environments in the form of Safety-Gymnasium, whose steps return the cost after the reward.

Libraries for safe reinforcement learning take ``observation, reward, cost, terminated, truncated, info`` (Ji et al.,
Safety Gymnasium: A Unified Safe Reinforcement Learning Benchmark, 2023).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from .._types import AnyArray, BoolArray, FloatArray
from ..errors import InputError
from ..model import CPOMDP

if TYPE_CHECKING:
    _VectorWrapper = VectorWrapper[AnyArray, AnyArray, AnyArray, AnyArray, AnyArray]
else:
    _VectorWrapper = VectorWrapper  # older versions of Gymnasium give it no parameters


class SafetyGymnasium(gymnasium.Wrapper[np.int64, np.int64, np.int64, np.int64]):
    """An environment whose steps return the cost after the reward.

    Parameters
    ----------
    env : an environment of a model, wrapped or not
    cost : which cost, by index or label; unless given that is the only one, all of several as an array [K], or 0.0

    Examples
    --------
    >>> import rcpomdp as rc
    >>> from rcpomdp.gym import SafetyGymnasium
    >>> env = SafetyGymnasium(rc.to_gymnasium(rc.problems.make("tiger")))
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[1:5]  # listen
    (-1.0, 1.0, False, False)
    """

    def __init__(self, env: gymnasium.Env[np.int64, np.int64], cost: Any = None) -> None:
        super().__init__(env)
        self._which = _which(env.unwrapped, cost)

    def step(self, action: np.int64) -> tuple[np.int64, Any, Any, bool, bool, dict[str, Any]]:  # type: ignore[override]  # six
        """Act."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        cost = _chosen(info["cost"], self._which)
        return observation, reward, float(cost) if cost.ndim == 0 else cost, terminated, truncated, info


class VectorSafetyGymnasium(_VectorWrapper):
    """Environments side by side whose steps return the costs [n], or [n, K] of all of several, after the rewards.

    Under autoreset in the same step these are still the costs of the action, as the rewards are its rewards.
    """

    def __init__(self, env: VectorEnv[AnyArray, AnyArray, AnyArray], cost: Any = None) -> None:
        super().__init__(env)
        self._which = _which(env.unwrapped, cost)

    def step(  # type: ignore[override]  # six values on purpose
        self, actions: AnyArray
    ) -> tuple[AnyArray, FloatArray, FloatArray, BoolArray, BoolArray, dict[str, Any]]:
        """Act."""
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        costs = info["cost"]
        if "final_info" in info:
            ended = info["_final_info"][:, None]
            costs = np.where(ended, info["final_info"]["cost"], costs)
        return observations, rewards, _chosen(costs, self._which), terminated, truncated, info


def _which(env: Any, cost: Any) -> int | None:
    """The index of the cost that is asked for, None for all of several."""
    model = getattr(env, "model", None)
    if not isinstance(model, CPOMDP):
        raise InputError(f"{env!r} is no environment of a CPOMDP")
    if cost is None:
        return 0 if model.n_costs < 2 else None
    return model.costs.resolve(cost)


def _chosen(costs: FloatArray, which: int | None) -> Any:
    """One of the costs along the last axis, or all of them; that of a model without costs is 0."""
    if which is None:
        return costs
    return costs[..., which].copy() if costs.shape[-1] else np.zeros(costs.shape[:-1])
