"""Every problem by its name, as Gymnasium knows environments: ``rcpomdp/NAME-v0``.

Keyword arguments of `gymnasium.make` that are no options of the environment are the problem's parameters.
"""

from __future__ import annotations

import re
from typing import Any

import gymnasium

from .. import problems
from .env import CPOMDPEnv
from .vector import CPOMDPVectorEnv

NAMESPACE = "rcpomdp"
EPISODE_STEPS = 200  # after which episodes of registered environments are truncated


def register() -> None:
    """Register all problems that are known by now; once more after `problems.register`."""
    for name in problems.names():
        env_id = f"{NAMESPACE}/{name}-v0"
        if env_id not in gymnasium.registry and re.fullmatch(r"[\w.-]+", name):  # what an id may be made of
            gymnasium.register(
                env_id,
                entry_point=f"{__name__}:make_env",
                vector_entry_point=f"{__name__}:make_vector_env",
                max_episode_steps=EPISODE_STEPS,
                kwargs={"problem": name},
            )


def make_env(
    problem: str, belief: bool = False, until_known: bool = False, render_mode: str | None = None, **parameters: Any
) -> CPOMDPEnv:
    """The environment of a problem; Gymnasium sees to its time limit."""
    model = problems.make(problem, **parameters)
    return CPOMDPEnv(model, belief=belief, until_known=until_known, render_mode=render_mode)


def make_vector_env(
    problem: str,
    num_envs: int = 1,
    belief: bool = False,
    until_known: bool = False,
    max_episode_steps: int | None = None,
    autoreset_mode: Any = gymnasium.vector.AutoresetMode.NEXT_STEP,
    **parameters: Any,
) -> CPOMDPVectorEnv:
    """Many environments of a problem that are stepped at once."""
    return CPOMDPVectorEnv(
        problems.make(problem, **parameters),
        num_envs,
        belief=belief,
        until_known=until_known,
        max_episode_steps=max_episode_steps,
        autoreset_mode=autoreset_mode,
    )
