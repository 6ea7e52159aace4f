"""Each number of the paper beside the runs that repeat it: reproduced, explained, or open.

A number is *reproduced* if a run of what the paper says, by our solver or by one set as the paper's is, is within two
standard errors of it (`comparison`). It is *explained* if only a run with something else in place of what the paper
says is: another budget, another map (`paper.cause`). Else it is *open*. What was not run explains nothing.
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

REPRODUCED, EXPLAINED, OPEN = VERDICTS = ("reproduced", "explained", "open")
WITHIN = 2.0  # standard errors
_TITLES = {paper.EXTENDED: "extended table", paper.MAIN: "Table 1", paper.UNCONSTRAINED: "Table 2", "figure": "figure"}
_WORDS = {"violation_rate": "violation rate", "reward": "reward", "cost": "cost"}


class Run(NamedTuple):
    """What one row of our tables has for a number."""

    value: Estimate
    distance: float  # from the paper's, in standard errors
    how: str  # "ours", "as published", or what it has in place of what the paper says
    cause: str

    @property
    def near(self) -> bool:
        """Within two standard errors."""
        return abs(self.distance) <= WITHIN


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
        if any(run.near and not run.cause for run in self.runs):
            return REPRODUCED
        return EXPLAINED if any(run.near for run in self.runs) else OPEN

    @property
    def told(self) -> Run | None:
        """The run that the verdict rests on: the nearest of what the paper says, if that is near; else the nearest."""
        plain = [run for run in self.runs if not run.cause]
        wanted = plain if self.verdict == REPRODUCED else self.runs
        return min(wanted, key=lambda run: abs(run.distance), default=None)

    @property
    def ours(self) -> Run | None:
        """Our solver on what the paper says."""
        return next((run for run in self.runs if run.how == "ours"), None)


def numbers(records: Sequence[Record]) -> list[Number]:
    """All numbers of the paper, in the order of its tables; those that no record repeats have no runs."""
    rows = [row for group in groups(records) for row in group.rows if not row.error]
    return [*_of_tables(rows), *_of_figure(rows)]


def counts(found: Iterable[Number]) -> dict[str, int]:
    """How many numbers have each verdict."""
    verdicts = [number.verdict for number in found]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


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
        "together, the paper's rounding included. Explained: only a run with something else in its place is. "
        "Where the paper prints no standard error it is taken to have ours.",
    )
    return Table("", columns, tuple(blocks), notes, ())


def summary(found: Sequence[Number]) -> Table:
    """How many numbers of each table have each verdict."""
    columns = (
        Column("Table", number=False),
        *(Column(verdict.capitalize()) for verdict in VERDICTS),
        Column("Numbers"),
    )
    names = list(dict.fromkeys(number.table for number in found))
    lines = [(_TITLES[name], [number for number in found if number.table == name]) for name in names]
    lines.append(("all", list(found)))
    block = tuple(
        tuple(Entry(text) for text in (name, *(str(n) for n in counts(own).values()), str(len(own))))
        for name, own in lines
    )
    return Table("", columns, (block,), (), ())


def data(found: Sequence[Number]) -> dict[str, Any]:
    """Counts and numbers as plain values."""
    return {
        "counts": counts(found),
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
        same = [r for r in rows if paper.row_of(r.cell, row.table) == row and _is_of(r, row)]
        for quantity in comparison.QUANTITIES:
            text = comparison.printed(row, quantity)
            if text is None:
                continue
            error = comparison.printed(row, quantity.removesuffix("_rate") + "_se")
            runs = []
            for r in same:
                value = _value(r, quantity, exact=row.table == paper.UNCONSTRAINED)
                distance = None if value is None else comparison.distance(value, row, quantity)
                if value is not None and distance is not None:
                    runs.append(Run(value, distance, _how(r), paper.cause(r.cell)))
            shown = " ± ".join(part for part in (text, error) if part).replace("-", "−")
            yield Number(row.table, _problem(row), row.algorithm, _WORDS[quantity], shown, _distinct(runs))


def _of_figure(rows: Sequence[Row]) -> Iterator[Number]:
    """The shares of runs through the tunnels that the text gives."""
    walked = [
        (r, ends(paths_of(r)))
        for r in rows
        if r.cell.problem == "tunnels" and r.cell.parameters.get("p_correct") == 0.8 and r.records[0].paths.size
    ]
    for (algorithm, tunnel), text in paper.SHARES.items():
        runs = []
        for r, shares in walked:
            if paper.algorithm_of(r.cell) == algorithm and "planned_budget" not in r.cell.options:
                share = shares[tunnel]
                value = Estimate(share, math.sqrt(share * (1 - share) / r.runs))
                distance = comparison.share_distance(value, text, paper.SHARES_OF)
                runs.append(Run(value, distance, _how(r), paper.cause(r.cell)))
        what = f"share in tunnel {'ABC'[tunnel - 1]}"
        yield Number("figure", "Tunnels (ĉ = 1, p_correct=0.8)", algorithm, what, text, _distinct(runs))


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
    change = row.cell.algorithm.partition(", ")[2]
    cause = paper.cause(row.cell)
    words = [word for word in (cause, change) if word and not (word == change and word in cause)]
    return ", ".join(words) or "ours"


def _distinct(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Runs without repetitions, as a cell may belong to two suites."""
    return tuple(dict.fromkeys(runs))


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
            told.how if told else "not run",
            signed(told.distance, 1) if told else NOTHING,
            number.verdict,
        )
    )
