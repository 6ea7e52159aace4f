"""The paper's own figures (Ho et al. 2024): Table 2 and the extended table of the appendix, row by row."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from ..run.record import Cell

EXTENDED, UNCONSTRAINED = "extended", "unconstrained"
LONGER = ", longer"  # ends the title of what the paper gave 1000 s
_TABLES = {"paper-main": EXTENDED, "paper-extended": EXTENDED, "paper-unconstrained": UNCONSTRAINED}


class PaperRow(NamedTuple):
    """One row of a table; None where the table has no figure."""

    table: str
    problem: str
    budget: float
    setting: str  # what else tells a row apart: "p_correct=0.95", "300s"
    algorithm: str
    violation_rate: float | None
    violation_se: float | None
    reward: float | None
    reward_se: float | None
    cost: float | None
    cost_se: float | None


@cache
def rows() -> list[PaperRow]:
    """All rows, in the order of the tables."""
    text = resources.files(__package__).joinpath("paper_tables.csv").read_text(encoding="utf-8")
    return [_row(line) for line in csv.DictReader(text.splitlines())]


def row_of(cell: Cell) -> PaperRow | None:
    """The row that a cell repeats; None if the paper has none."""
    if cell.suite not in _TABLES or len(cell.budget) != 1:
        return None
    table = _TABLES[cell.suite]
    problem = cell.title.removesuffix(LONGER)
    if table == UNCONSTRAINED:
        setting = "1000s" if cell.title.endswith(LONGER) else "300s"
    else:
        setting = ",".join(f"{key}={value}" for key, value in cell.parameters.items())
    key = (table, problem, float(cell.budget[0]), setting, cell.algorithm)
    return _by_key().get(key)


@cache
def _by_key() -> dict[tuple[Any, ...], PaperRow]:
    return {row[:5]: row for row in rows()}


def _row(line: dict[str, str]) -> PaperRow:
    figures = {key: float(line[key]) if line[key] else None for key in PaperRow._fields[5:]}
    labels = {key: line[key] for key in ("table", "problem", "setting", "algorithm")}
    return PaperRow(budget=float(line["budget"]), **labels, **figures)  # type: ignore[arg-type]  # figures may be None
