"""The paper's own figures (Ho et al. 2024): Table 2 and the extended table of the appendix, row by row.

Of Table 1, whose numbers are those of the extended table without their standard errors, "main" has what differs from
it.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from ..run.record import Cell

EXTENDED, UNCONSTRAINED, MAIN = "extended", "unconstrained", "main"
SHARES = {("CGCP", 1): "0.51", ("CGCP", 2): "0.49", ("ARCS", 1): "0"}  # of runs that take a tunnel, in Sec. 6
SHARES_OF = 1000  # runs
LONGER = ", longer"  # ends the title of what the paper gave 1000 s
_RUN_AS = {("CRS(4,4)", 0.5): 1.0}  # a budget that a row may have been run with -> the one that it is printed with
_TABLES = {
    **{"paper-main": EXTENDED, "paper-extended": EXTENDED, "paper-figure": EXTENDED},
    "paper-unconstrained": UNCONSTRAINED,
}


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


def row_of(cell: Cell, table: str | None = None) -> PaperRow | None:
    """The row that a cell repeats, of its suite's table unless another is named; None if the paper has none."""
    if cell.suite not in _TABLES or len(cell.budget) != 1:
        return None
    table = table or _TABLES[cell.suite]
    problem, budget = cell.title.removesuffix(LONGER), float(cell.budget[0])
    if table == UNCONSTRAINED:
        setting = "1000s" if cell.title.endswith(LONGER) else "300s"
    else:
        setting = ",".join(f"{key}={value}" for key, value in cell.parameters.items() if key != "map")
    return _by_key().get((table, problem, _RUN_AS.get((problem, budget), budget), setting, algorithm_of(cell)))


def algorithm_of(cell: Cell) -> str:
    """The paper's name of an algorithm; what follows a comma is a change to it."""
    return cell.algorithm.partition(",")[0]


def cause(cell: Cell) -> str:
    """What a cell has in place of what the paper says of the row that it repeats; "" if nothing."""
    row, causes = row_of(cell), []
    if row is not None and float(cell.budget[0]) != row.budget:
        causes.append(f"ĉ = {cell.budget[0]:g}")
    if "map" in cell.parameters:
        causes.append(f"the map {cell.parameters['map']!r}")
    if "bound" in cell.options:
        causes.append(f"B = {cell.options['bound']:g}")
    if "planned_budget" in cell.options:
        causes.append(f"planned with ĉ = {cell.options['planned_budget']:g}")
    return ", ".join(causes)


@cache
def _by_key() -> dict[tuple[Any, ...], PaperRow]:
    return {row[:5]: row for row in rows()}


def _row(line: dict[str, str]) -> PaperRow:
    figures = {key: float(line[key]) if line[key] else None for key in PaperRow._fields[5:]}
    labels = {key: line[key] for key in ("table", "problem", "setting", "algorithm")}
    return PaperRow(budget=float(line["budget"]), **labels, **figures)  # type: ignore[arg-type]  # figures may be None
