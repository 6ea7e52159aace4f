"""Numbers as JSON knows them."""

from __future__ import annotations

import math


def finite(value: float) -> float | None:
    """A number, or None for what JSON has no word for.

    >>> finite(1.5), finite(float("inf")), finite(float("nan"))
    (1.5, None, None)
    """
    return float(value) if math.isfinite(value) else None
