"""Means over simulated runs, with their standard errors."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._json_values import finite
from .._types import FloatArray


class Estimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    se: float


class Spread(NamedTuple):
    """A mean, its standard error, and the most that any run had."""

    mean: float
    se: float
    most: float


def estimate(values: FloatArray) -> Estimate:
    """The mean of a quantity of runs; one run has no standard error."""
    n, mean = len(values), float(values.mean())
    if n == 1:
        return Estimate(mean, math.nan)
    if values.min() == values.max():
        return Estimate(float(values[0]), 0.0)  # without the rounding of a mean
    return Estimate(mean, float(values.std(ddof=1)) / math.sqrt(n))


def spread(values: FloatArray) -> Spread:
    """The mean of a quantity of runs, and its largest value."""
    return Spread(*estimate(values), float(values.max()))


def rate(happened: Any) -> Estimate:
    """The share of runs in which something happened."""
    p = float(np.mean(happened))
    return Estimate(p, math.sqrt(p * (1 - p) / len(happened)))


def plain(numbers: Estimate | Spread) -> dict[str, float | None]:
    """Plain numbers by name, ready for JSON; what is not finite is None."""
    return {name: finite(value) for name, value in numbers._asdict().items()}
