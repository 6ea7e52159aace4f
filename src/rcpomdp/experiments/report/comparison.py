"""The distance of a result from the paper's, in standard errors.

The difference is divided by the standard error of both together, to which a printed number adds that of its rounding:
a number printed to a unit u is off by up to u/2, so by u/√12 at a standard deviation. Without it, 12 ± 0 would be
infinitely far from the 11.99999 ± 0 that the paper rounds to it. Where the paper prints no standard error, its runs are
taken to be as many as ours, and so to have ours; what is exact has none.
"""

from __future__ import annotations

import csv
import math
from functools import cache
from importlib import resources

from ...simulation.estimates import Estimate
from .paper import PaperRow

QUANTITIES = ("violation_rate", "reward", "cost")


def difference(ours: Estimate | None, row: PaperRow | None, quantity: str) -> float | None:
    """Ours minus the paper's in standard errors; None if one of the two is missing, or the paper gives no error."""
    if ours is None or row is None:
        return None
    if getattr(row, quantity.removesuffix("_rate") + "_se") is None:
        return None
    return distance(ours, row, quantity)


def distance(ours: Estimate, row: PaperRow, quantity: str) -> float | None:
    """The same, also where the paper prints no standard error; None if it has no such number."""
    value, error = getattr(row, quantity), getattr(row, quantity.removesuffix("_rate") + "_se")
    if value is None:
        return None
    return _in_errors(ours, float(value), error, _unit(row, quantity))


def share_distance(ours: Estimate, text: str, runs: int) -> float:
    """The distance of a share of runs from one that the paper's text gives of so many runs."""
    value = float(text)
    return _in_errors(ours, value, math.sqrt(value * (1 - value) / runs), 10.0 ** -len(text.partition(".")[2]))


def _in_errors(ours: Estimate, value: float, error: float | None, unit: float) -> float:
    own = 0.0 if math.isnan(ours.se) else ours.se  # an exact value has no error
    return (ours.mean - value) / math.hypot(own, own if error is None else error, unit / math.sqrt(12))


def printed(row: PaperRow | None, quantity: str) -> str | None:
    """A number of the paper as it prints it: one of the `QUANTITIES`, or its standard error."""
    return None if row is None else _texts()[_key(row)][quantity] or None


def _unit(row: PaperRow, quantity: str) -> float:
    """The unit of the last digit that the paper prints."""
    return 10.0 ** -len(_texts()[_key(row)][quantity].partition(".")[2])


@cache
def _texts() -> dict[tuple[str, str, float, str, str], dict[str, str]]:
    text = resources.files(__package__).joinpath("paper_tables.csv").read_text(encoding="utf-8")
    return {
        (line["table"], line["problem"], float(line["budget"]), line["setting"], line["algorithm"]): line
        for line in csv.DictReader(text.splitlines())
    }


def _key(row: PaperRow) -> tuple[str, str, float, str, str]:
    return row.table, row.problem, row.budget, row.setting, row.algorithm
