"""Models as Gymnasium environments; docs/gymnasium.md tells how to use them.

Importing this package registers every problem: ``gymnasium.make("rcpomdp/tiger-v0")``. Without an import of one's own,
Gymnasium takes the package's name before a colon: ``gymnasium.make("rcpomdp.gym:rcpomdp/tiger-v0")``.
"""

from __future__ import annotations

try:
    import gymnasium as _gymnasium  # noqa: F401 - only to see whether it is there
except ModuleNotFoundError as error:
    if error.name != "gymnasium":
        raise
    raise ModuleNotFoundError(
        "environments need Gymnasium, which is not installed: pip install 'rcpomdp[gym]'", name="gymnasium"
    ) from None

from .env import CPOMDPEnv
from .registration import register
from .safety_gymnasium import SafetyGymnasium, VectorSafetyGymnasium
from .vector import CPOMDPVectorEnv

__all__ = ["CPOMDPEnv", "CPOMDPVectorEnv", "SafetyGymnasium", "VectorSafetyGymnasium", "register"]

register()
