"""Each number of the paper beside the runs that repeat it: reproduced, explained, open, or not run.

A number is *reproduced* if a run of what the paper says, by our solver or by one set as the paper's is, is within two
standard errors of it (`comparison`). It is *explained* if only a run with something else in place of what the paper
says is: another budget, another map (`paper.cause`); and if that run is as near to most numbers of the paper's row, for
one of several may be met by chance. Else it is *open*; and *not run* if no run repeats it. A row of the paper is
*whole* if one and the same run of what the paper says is near to all of its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from ..._json_values import finite
from ...simulation.estimates import Estimate
from ..run.record import Record
from . import comparison, paper
from .paper import PaperRow
from .summaries import Row, groups
from .tables import NOTHING, Column, Entry, Table, estimate_text, signed
from .tunnel_paths import ends, paths_of

REPRODUCED, EXPLAINED, OPEN, NOT_RUN = VERDICTS = ("reproduced", "explained", "open", "not run")
WITHIN = 2.0  # standard errors
OURS = "ours"
_TITLES = {paper.EXTENDED: "extended table", paper.MAIN: "Table 1", paper.UNCONSTRAINED: "Table 2", "figure": "figure"}
_WORDS = {"violation_rate": "violation rate", "reward": "reward", "cost": "cost"}


class Run(NamedTuple):
    """What one row of our tables has for a number."""

    value: Estimate
    distance: float  # from the paper's, in standard errors
    how: str  # "ours", "as published", or what it has in place of what the paper says
    cause: str
    fits: bool  # near to more than half of the numbers of the paper's row
    whole: bool  # near to all of them

    @property
    def near(self) -> bool:
        """Within two standard errors."""
        return abs(self.distance) <= WITHIN

    @property
    def verdict(self) -> str:
        """What it makes of the number."""
        if not self.near:
            return OPEN
        return REPRODUCED if not self.cause else EXPLAINED if self.fits else OPEN


@dataclass(frozen=True)
class Number:
    """A number of the paper, and the runs that repeat it."""

    table: str
    problem: str  # with its budget and setting
    algorithm: str
    quantity: str
    text: str  # as printed, with its standard error
    runs: tuple[Run, ...]

    @property
    def verdict(self) -> str:
        """One of the `VERDICTS`."""
        return min((run.verdict for run in self.runs), key=VERDICTS.index, default=NOT_RUN)

    @property
    def told(self) -> Run | None:
        """The nearest of the runs that the verdict rests on."""
        same = [run for run in self.runs if run.verdict == self.verdict]
        return min(same, key=lambda run: abs(run.distance), default=None)

    @property
    def ours(self) -> Run | None:
        """Our solver on what the paper says."""
        return next((run for run in self.runs if run.how.startswith(OURS)), None)


def numbers(records: Sequence[Record]) -> list[Number]:
    """All numbers of the paper, in the order of its tables; those that no record repeats have no runs."""
    rows = [row for group in groups(records) for row in group.rows if not row.error]
    return [*_of_tables(rows), *_of_figure(rows)]


def counts(found: Iterable[Number]) -> dict[str, int]:
    """How many numbers have each verdict."""
    verdicts = [number.verdict for number in found]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def whole_rows(found: Iterable[Number]) -> tuple[int, int]:
    """How many rows of the paper one run of what it says repeats in all numbers, and how many rows there are."""
    rows: dict[tuple[str, str, str], bool] = {}
    for number in found:
        row = number.table, number.problem, number.algorithm
        rows[row] = rows.get(row, False) or any(run.whole and not run.cause for run in number.runs)
    return sum(rows.values()), len(rows)


def table(found: Sequence[Number]) -> Table:
    """One line a number."""
    columns = (
        Column("Problem", number=False, once=True),
        Column("Algorithm", number=False),
        Column("Number", number=False),
        Column("Paper"),
        Column("Ours"),
        Column("Nearest"),
        Column("Run", "Nearest", number=False),
        Column("Δ in s.e."),
        Column("Verdict", number=False),
    )
    blocks = [
        tuple(_line(number) for number in same)
        for _, same in groupby(found, key=lambda number: (number.table, number.problem))
    ]
    total = counts(found)
    notes = (
        f"{len(found)} numbers: " + ", ".join(f"{n} {verdict}" for verdict, n in total.items()) + ".",
        "Reproduced: a run of what the paper says, ours or as published, is within two standard errors of both "
        "together, the paper's rounding included. Explained: only a run with something else in its place is, and it is "
        "as near to most numbers of the row. Open: no run is. Not run: no run repeats it. Where the paper prints no "
        "standard error it is taken to have ours.",
    )
    return Table("", columns, tuple(blocks), notes, ())


def summary(found: Sequence[Number]) -> Table:
    """How many numbers of each table have each verdict, and how many of its rows are whole."""
    columns = (
        Column("Table", number=False),
        *(Column(verdict.capitalize()) for verdict in VERDICTS),
        Column("Numbers"),
        Column("Whole rows"),
        Column("Rows"),
    )
    names = list(dict.fromkeys(number.table for number in found))
    lines = [(_TITLES[name], [number for number in found if number.table == name]) for name in names]
    lines.append(("all", list(found)))
    block = tuple(
        (Entry(name), *(Entry(str(n)) for n in (*counts(own).values(), len(own), *whole_rows(own))))
        for name, own in lines
    )
    note = "Whole rows: one and the same run of what the paper says is near to all numbers of the row."
    return Table("", columns, (block,), (note,), ())


def data(found: Sequence[Number]) -> dict[str, Any]:
    """Counts and numbers as plain values."""
    whole, rows = whole_rows(found)
    return {
        "counts": counts(found),
        "whole_rows": whole,
        "rows": rows,
        "numbers": [
            {
                "table": number.table,
                "problem": number.problem,
                "algorithm": number.algorithm,
                "quantity": number.quantity,
                "paper": number.text,
                "verdict": number.verdict,
                "runs": [
                    {"how": r.how, "cause": r.cause, "value": r.value.mean, "se": finite(r.value.se)}
                    | {"distance": r.distance}
                    for r in number.runs
                ],
            }
            for number in found
        ],
    }


# Within


def _of_tables(rows: Sequence[Row]) -> Iterator[Number]:
    for row in paper.rows():
        quantities = [q for q in comparison.QUANTITIES if comparison.printed(row, q) is not None]
        found: dict[str, list[Run]] = {quantity: [] for quantity in quantities}
        for r in rows:
            if paper.row_of(r.cell, row.table) == row and _is_of(r, row):
                values = [_value(r, quantity, exact=row.table == paper.UNCONSTRAINED) for quantity in quantities]
                distances = [
                    None if v is None else comparison.distance(v, row, q)
                    for q, v in zip(quantities, values, strict=True)
                ]
                _enter(found, r, _how(r), values, distances)
        for quantity, runs in found.items():
            texts = (comparison.printed(row, name) for name in (quantity, quantity.removesuffix("_rate") + "_se"))
            shown = " ± ".join(text for text in texts if text).replace("-", "−")
            yield Number(row.table, _problem(row), row.algorithm, _WORDS[quantity], shown, tuple(runs))


def _of_figure(rows: Sequence[Row]) -> Iterator[Number]:
    """The shares of runs through the tunnels that the text gives; for which accuracy of looks, it does not say."""
    for algorithm in dict.fromkeys(name for name, _ in paper.SHARES):
        own = {tunnel: text for (name, tunnel), text in paper.SHARES.items() if name == algorithm}
        texts = {f"share in tunnel {'ABC'[tunnel - 1]}": (tunnel, text) for tunnel, text in own.items()}
        found: dict[str, list[Run]] = {name: [] for name in texts}
        for r in rows:
            in_figure = r.cell.problem == "tunnels" and float(r.cell.budget[0]) == 1
            if in_figure and r.cell.algorithm == algorithm and r.records[0].paths.size:
                shares = ends(paths_of(r))
                values = [Estimate(p := shares[t], math.sqrt(p * (1 - p) / r.runs)) for t, _ in texts.values()]
                distances = [
                    comparison.share_distance(value, text, paper.SHARES_OF)
                    for value, (_, text) in zip(values, texts.values(), strict=True)
                ]
                _enter(found, r, _sight(r), values, distances)
        for name, runs in found.items():
            yield Number("figure", "Tunnels (ĉ = 1)", algorithm, name, texts[name][1], tuple(runs))


def _enter(
    found: dict[str, list[Run]],
    row: Row,
    how: str,
    values: Sequence[Estimate | None],
    distances: Sequence[float | None],
) -> None:
    """Add what a row of our tables has for each number of a row of the paper's."""
    near = sum(distance is not None and abs(distance) <= WITHIN for distance in distances)
    for runs, value, distance in zip(found.values(), values, distances, strict=True):
        if value is not None and distance is not None:
            fits, whole = 2 * near > len(distances), near == len(distances)
            runs.append(Run(value, distance, how, paper.cause(row.cell), fits, whole))


def _is_of(row: Row, printed: PaperRow) -> bool:
    """Simulated runs for what the paper simulates, the policies' own values for Table 2."""
    return printed.table == paper.UNCONSTRAINED or row.runs > 0


def _value(row: Row, quantity: str, exact: bool) -> Estimate | None:
    if exact:
        own = row.own_reward if quantity == "reward" else row.own_cost
        return None if own is None else Estimate(own, math.nan)
    if quantity == "cost":
        return row.cost[0] if len(row.cost) == 1 else None
    return row.violation if quantity == "violation_rate" else row.reward


def _how(row: Row) -> str:
    """A run in words: what is changed in the algorithm, and what it has in place of what the paper says."""
    change, cause = row.cell.algorithm.partition(", ")[2], paper.cause(row.cell)
    if change in cause or cause in change:
        return max(change, cause, key=len) or OURS
    return f"{cause}, {change}"


def _sight(row: Row) -> str:
    """A run through the tunnels in words."""
    return f"{_how(row)}, p_correct = {row.cell.parameters['p_correct']:g}"


def _problem(row: PaperRow) -> str:
    inside = ", ".join(part for part in (f"ĉ = {row.budget:g}", row.setting) if part)
    return f"{row.problem} ({inside})"


def _line(number: Number) -> tuple[Entry, ...]:
    told, ours = number.told, number.ours
    return tuple(
        Entry(text)
        for text in (
            number.problem if number.table != paper.MAIN else f"{number.problem}, in Table 1",
            number.algorithm,
            number.quantity,
            number.text,
            estimate_text(ours.value) if ours else NOTHING,
            estimate_text(told.value) if told else NOTHING,
            told.how if told else NOTHING,
            signed(told.distance, 1) if told else NOTHING,
            number.verdict,
        )
    )
