"""`to_gymnasium`, apart from the package `gym` so that this is imported without Gymnasium."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .model import CPOMDP

if TYPE_CHECKING:
    from .gym import CPOMDPEnv


def to_gymnasium(
    model: CPOMDP,
    *,
    belief: bool = False,
    until_known: bool = False,
    max_episode_steps: int | None = None,
    render_mode: str | None = None,
) -> CPOMDPEnv:
    """The model as a Gymnasium environment; `rcpomdp.gym.CPOMDPEnv` tells of the options.

    >>> import rcpomdp as rc
    >>> rc.to_gymnasium(rc.problems.make("ce")).observation_space
    Discrete(3)
    """
    from .gym import CPOMDPEnv

    return CPOMDPEnv(
        model, belief=belief, until_known=until_known, max_episode_steps=max_episode_steps, render_mode=render_mode
    )
