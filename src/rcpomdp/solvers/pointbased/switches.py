"""The ideas of a point-based search that can be switched off."""

from __future__ import annotations

from dataclasses import dataclass

from ...kernels.pointbased.trials import Tuning


@dataclass(frozen=True)
class PointBasedSwitches:
    """Ideas that can be switched off, and how far they go."""

    merge: bool = True  # equal beliefs are stored once
    classes: bool = True  # vectors and bounds live per observability class
    informed: str = "tib"  # the informed bound to start from, where it is affordable: "mdp", "fib" or "tib"
    informed_levels: bool = True  # ... and the same over budget levels
    delay: int = 8  # most steps after which the state becomes known in it, where there is time for more than one
    lazy_actions: bool = True  # expand an action only when it is the best by its upper bound
    share: float = 0.5  # target of a deep trial, as a share of the current gap: they raise the lower bound
    wide_share: float = 0.95  # target of the wide trials that take turns with them: they bring down the upper bound
    sampled: int = 3  # trials by chance, which meet the beliefs that the policy meets, for each one by bounds
    explore: float = 0.1  # chance of an action at random in those
    forget: bool = True  # take idle plans off the lists
    most_tests: int = 128  # plans that one look at a belief tests, the newest first
    least_gain: float = 1e-3

    def tuning(self) -> Tuning:
        """The switches as kernels take them."""
        return Tuning(
            share=float(self.share),
            wide_share=float(self.wide_share),
            least_gain=self.least_gain,
            all_actions=not self.lazy_actions,
            sampled=int(self.sampled),
            explore=float(self.explore),
        )
