"""The effort that goes into an informed bound, which holds wherever its iteration stops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._types import FloatArray
from ...deadline import hurry
from ...model import CPOMDP

_RELATIVE = 1e-6


class Effort:
    """Limits of an iteration: sweeps of each bound, a deadline, and the least fall that counts.

    The deadline is looked at every 0.1 s or so. The fall is relative to the largest gain, times ``min(1, 10(1−γ))``.
    """

    def __init__(
        self, max_sweeps: int = 1000, deadline: Callable[[], bool] | None = None, relative: float = _RELATIVE
    ) -> None:
        self.max_sweeps = max_sweeps
        self.relative = relative
        self._deadline = deadline

    def over(self) -> bool:
        """Return whether the deadline is reached, or that of the work at hand is near."""
        return hurry() or (self._deadline is not None and self._deadline())

    def tolerance(self, model: CPOMDP, gain: FloatArray) -> float:
        """The least fall that counts."""
        return self.relative * float(np.abs(gain).max()) * min(1.0, 10 * model.fade)


FULL_EFFORT = Effort()
