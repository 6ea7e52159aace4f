"""Tables laid out like the paper's, its values beside ours.

``short`` is the paper's first table; ``extended`` is that of its appendix, with sizes, bounds and how searches ended;
``unconstrained`` is its Table 2: the policies' own rewards, under budgets that do not bind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..._json_values import finite
from ...simulation.estimates import Estimate
from ..run.record import Record
from . import comparison
from .marks import BEST, DECIMALS, KEEPING, VIOLATING, best_rewards, marks
from .paper import UNCONSTRAINED as PAPER_UNCONSTRAINED
from .paper import cause
from .summaries import FAILED, Group, Row, groups, label

SHORT, EXTENDED, UNCONSTRAINED = "short", "extended", "unconstrained"
LAYOUTS = (SHORT, EXTENDED, UNCONSTRAINED)
NOTHING = "–"
_FIRST_TABLE = "paper-main"
_UNBOUND = 1000.0  # the paper's budget that binds no policy of its problems


@dataclass(frozen=True)
class Column:
    """A column: what its title says, above it what it has in common with its neighbours."""

    title: str
    over: str = ""
    number: bool = True  # numbers stand to the right
    once: bool = False  # shown once a problem


@dataclass(frozen=True)
class Entry:
    """One place of a table."""

    text: str
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table, problem by problem, and the sentences below it."""

    title: str
    columns: tuple[Column, ...]
    blocks: tuple[tuple[tuple[Entry, ...], ...], ...]  # [problem][row][column]
    notes: tuple[str, ...]
    marks: tuple[str, ...]  # those that the table uses, of which the reader is told


def layout_of(records: Sequence[Record]) -> str:
    """The layout that suits records best: that of the paper's table, or unconstrained if no budget can bind."""
    if records and all(record.cell.suite == _FIRST_TABLE for record in records):
        return SHORT
    unbound = all(record.cell.budget and min(record.cell.budget) >= _UNBOUND for record in records)
    return UNCONSTRAINED if unbound and records else EXTENDED


def table(records: Sequence[Record], layout: str | None = None, title: str = "") -> Table:
    """A table of records; columns that would be empty are left out."""
    layout = layout or layout_of(records)
    found = groups(records)
    marked = [(group, best_rewards(group) if layout == UNCONSTRAINED else marks(group)) for group in found]
    columns = []
    for column, make in _PARTS[layout]:
        entries = [[make(group, row, mark) for row, mark in zip(group.rows, own, strict=True)] for group, own in marked]
        if any(entry.text != NOTHING for block in entries for entry in block):
            columns.append((column, entries))
    return Table(
        title,
        tuple(column for column, _ in columns),
        tuple(tuple(zip(*blocks, strict=True)) for blocks in zip(*(entries for _, entries in columns), strict=True)),
        tuple(_notes(found, layout)),
        tuple(mark for mark in (BEST, VIOLATING, KEEPING) if any(mark in m for _, own in marked for m in own)),
    )


def data(records: Sequence[Record]) -> list[dict[str, Any]]:
    """The rows of all problems as plain values, for CSV and JSON; costs are lists."""
    return [
        _plain(group, row, mark)
        for group in groups(records)
        for row, mark in zip(group.rows, marks(group), strict=True)
    ]


# Within


def _plain(group: Group, row: Row, mark: set[str]) -> dict[str, Any]:
    sizes = group.sizes or (None, None, None)

    def numbers(name: str, estimate: Estimate | None) -> dict[str, Any]:
        error = name.removesuffix("_rate") + "_se"
        return {name: estimate and estimate.mean, error: estimate and finite(estimate.se)}

    return {
        "suite": row.cell.suite,
        "problem": group.title,
        "setting": group.setting,
        "budget": [finite(b) for b in group.budget],
        **dict(zip(("states", "actions", "observations"), sizes, strict=True)),
        "algorithm": row.cell.algorithm,
        "options": dict(row.cell.options),
        "time_limit": row.cell.time_limit,
        "seeds": [record.cell.seed for record in row.records],
        "failed_seeds": [record.cell.seed for record in (row.records if row.error else row.lost)],
        "runs": row.runs,
        **numbers("violation_rate", row.violation),
        **numbers("reward", row.reward),
        "cost": [c.mean for c in row.cost],
        "cost_se": [finite(c.se) for c in row.cost],
        "overspent": [finite(c.mean) for c in row.overspent],
        "overspent_se": [finite(c.se) for c in row.overspent],
        "overspent_most": [finite(c.most) for c in row.overspent],
        "exact_reward": row.exact_reward,
        "exact_cost": list(row.exact_cost),
        "lower": row.lower,
        "upper": row.upper,
        "seconds": row.seconds,
        "status": row.status,
        "error": row.error,
        "best": sorted(mark),
        **{
            f"paper_{name}": getattr(row.paper, name) if row.paper else None
            for quantity in comparison.QUANTITIES
            for name in (quantity, quantity.removesuffix("_rate") + "_se")
        },
        **{f"difference_{q}": comparison.difference(_ours(row, q), row.paper, q) for q in comparison.QUANTITIES},
    }


def _ours(row: Row, quantity: str) -> Estimate | None:
    if quantity == "cost":
        return row.cost[0] if len(row.cost) == 1 else None
    return row.violation if quantity == "violation_rate" else row.reward


_Make = Callable[[Group, Row, set[str]], Entry]


def _problem(group: Group, row: Row, mark: set[str]) -> Entry:
    return Entry(group.name)


def _size(group: Group, row: Row, mark: set[str]) -> Entry:
    return Entry(" / ".join(f"{n}" for n in group.sizes) if group.sizes else NOTHING)


def _algorithm(group: Group, row: Row, mark: set[str]) -> Entry:
    return Entry(label(row, group.rows))


def _violation(group: Group, row: Row, mark: set[str]) -> Entry:
    return Entry(estimate_text(row.violation), BEST if BEST in mark else "")


def _reward(group: Group, row: Row, mark: set[str]) -> Entry:
    return Entry(estimate_text(row.reward), next((m for m in (VIOLATING, KEEPING) if m in mark), ""))


def _cost(group: Group, row: Row, mark: set[str]) -> Entry:
    return Entry("; ".join(map(estimate_text, row.cost)) or NOTHING)


def _exact_reward(group: Group, row: Row, mark: set[str]) -> Entry:
    return Entry(_fixed(row.exact_reward if row.runs else None))


def _exact_cost(group: Group, row: Row, mark: set[str]) -> Entry:
    return Entry("; ".join(map(_fixed, row.exact_cost if row.runs else ())) or NOTHING)


def _overspent(group: Group, row: Row, mark: set[str]) -> Entry:
    return Entry("; ".join(estimate_text(Estimate(c.mean, c.se)) for c in row.overspent) or NOTHING)


def _most_overspent(group: Group, row: Row, mark: set[str]) -> Entry:
    return Entry("; ".join(_fixed(c.most) for c in row.overspent) or NOTHING)


def _limit(group: Group, row: Row, mark: set[str]) -> Entry:
    return Entry(f"{row.cell.time_limit:g} s")


def _of_paper(quantity: str) -> _Make:
    def make(group: Group, row: Row, mark: set[str]) -> Entry:
        texts = (comparison.printed(row.paper, name) for name in (quantity, quantity.removesuffix("_rate") + "_se"))
        return Entry(" ± ".join(text for text in texts if text).replace("-", "−") or NOTHING)

    return make


def _difference(quantity: str) -> _Make:
    def make(group: Group, row: Row, mark: set[str]) -> Entry:
        found = comparison.difference(_ours(row, quantity), row.paper, quantity)
        return Entry(NOTHING if found is None else signed(found, 1))

    return make


def _number(value: Callable[[Row], float | None]) -> _Make:
    def make(group: Group, row: Row, mark: set[str]) -> Entry:
        return Entry(_fixed(value(row)))

    return make


def _own_reward(group: Group, row: Row, mark: set[str]) -> Entry:
    return Entry(_fixed(row.own_reward), BEST if BEST in mark else "")


def _from_paper(group: Group, row: Row, mark: set[str]) -> Entry:
    reward = row.own_reward
    if row.paper is None or row.paper.reward is None or reward is None:
        return Entry(NOTHING)
    return Entry(signed(reward - row.paper.reward, 2))


def _status(group: Group, row: Row, mark: set[str]) -> Entry:
    lost = f"failed with {len(row.lost)} of {len(row.lost) + len(row.records)} seeds" if row.lost else ""
    return Entry(", ".join(filter(None, (row.status, lost))))


def _runs(group: Group, row: Row, mark: set[str]) -> Entry:
    return Entry(f"{row.runs:,}" if row.runs else NOTHING)


_MEANS: list[tuple[Column, _Make]] = [
    (Column("Violation rate"), _violation),
    (Column("Reward"), _reward),
    (Column("Cost"), _cost),
]
_EXACT: list[tuple[Column, _Make]] = [
    (Column("Reward", "Exact"), _exact_reward),
    (Column("Cost", "Exact"), _exact_cost),
]
_PAPER: list[tuple[Column, _Make]] = [
    *(
        (Column(title, "Paper"), _of_paper(quantity))
        for title, quantity in zip(("Violation rate", "Reward", "Cost"), comparison.QUANTITIES, strict=True)
    ),
    *(
        (Column(title, "Δ in s.e."), _difference(quantity))
        for title, quantity in zip(("Viol.", "Reward", "Cost"), comparison.QUANTITIES, strict=True)
    ),
]
_BOUNDS: list[tuple[Column, _Make]] = [
    (Column("Lower", "Bounds"), _number(lambda row: row.lower)),
    (Column("Upper", "Bounds"), _number(lambda row: row.upper)),
]
_OVERSPENT: list[tuple[Column, _Make]] = [
    (Column("Mean", "Overspent"), _overspent),
    (Column("Most", "Overspent"), _most_overspent),
]
_NAME = (Column("Problem", number=False, once=True), _problem)
_ALGORITHM = (Column("Algorithm", number=False), _algorithm)
_LIMIT = (Column("Limit"), _limit)

_PARTS: dict[str, list[tuple[Column, _Make]]] = {
    SHORT: [_NAME, _ALGORITHM, *_MEANS, *_EXACT, *_PAPER, _LIMIT],
    EXTENDED: [
        _NAME,
        (Column("S / A / O", once=True, number=False), _size),
        _ALGORITHM,
        *_MEANS,
        *_EXACT,
        *_OVERSPENT,
        *_BOUNDS,
        *_PAPER,
        (Column("Runs"), _runs),
        _LIMIT,
        (Column("Ended", number=False), _status),
    ],
    UNCONSTRAINED: [
        _NAME,
        _ALGORITHM,
        (Column("Reward"), _own_reward),
        (Column("Cost"), _number(lambda row: row.own_cost)),
        *_BOUNDS,
        (Column("Reward", "Paper"), _of_paper("reward")),
        (Column("Cost", "Paper"), _of_paper("cost")),
        (Column("Reward", "Difference"), _from_paper),
        _LIMIT,
        (Column("Ended", number=False), _status),
    ],
}


def _notes(found: Sequence[Group], layout: str) -> list[str]:
    rows = [row for group in found for row in group.rows]
    notes = []
    if layout == UNCONSTRAINED:
        notes.append("Reward and cost are those of the policy that was found, without sampling; the best are bold.")
    elif any(row.runs for row in rows):
        notes.append("Means of simulated runs ± one standard error; without ±, the policy's own value.")
        if any(row.exact_reward is not None for row in rows if row.runs):
            notes.append("Exact are the policy's expected totals, computed; the means of its runs scatter around them.")
    if any(len(row.records) > 1 for row in rows):
        notes.append("Runs of several seeds are pooled; the standard error counts the spread between seeds.")
    if any(row.paper for row in rows):
        limits = sorted({row.paper.setting for row in rows if row.paper and row.paper.table == PAPER_UNCONSTRAINED})
        notes.append(
            f"The paper's time limit is {' or '.join(s.removesuffix('s') for s in limits)} s."
            if limits
            else "The paper's time limit is 300 s, for CGCP-CL at each step; its runs are 1000, and 100 of CGCP-CL."
        )
        if layout != UNCONSTRAINED:
            notes.append(
                "Δ is ours minus the paper's, in standard errors of both together, the paper's rounding included."
            )
    causes = {(row.paper.problem, row.paper.budget, cause(row.cell)) for row in rows if row.paper and cause(row.cell)}
    for problem, budget, other in sorted(causes):
        notes.append(f"{problem} with {other} stands beside the paper's rows of {problem} with ĉ = {budget:g}.")
    for group in found:
        for row in group.rows:
            if row.error:
                notes.append(f"{label(row, group.rows)} failed on {group.name}: {row.error}")
            elif row.lost:
                notes.append(_lost(label(row, group.rows), group, row))
    steps = {(row.cell.algorithm, row.cell.options.get("step_time")) for row in rows}
    for algorithm, seconds in sorted(step for step in steps if isinstance(step[1], int | float)):
        notes.append(f"{algorithm} had {seconds:g} s before each step but the first.")
    return notes


def _lost(name: str, group: Group, row: Row) -> str:
    """A sentence that says which seeds are not in a row, and why."""
    seeds = ", ".join(str(record.cell.seed) for record in row.lost)
    reasons = "; ".join(dict.fromkeys(record.error or FAILED for record in row.lost))
    return (
        f"{name} failed on {group.name} with {len(row.lost)} of {len(row.lost) + len(row.records)} seeds "
        f"({seeds}), which are left out: {reasons}"
    )


def estimate_text(estimate: Estimate | None) -> str:
    """Mean and standard error with the digits of the tables."""
    if estimate is None:
        return NOTHING
    shown = _fixed(estimate.mean)
    return shown if math.isnan(estimate.se) else f"{shown} ± {estimate.se:.{DECIMALS}f}"


def _fixed(value: float | None) -> str:
    """A number with the digits of the tables; no zero has a sign."""
    return NOTHING if value is None else f"{round(value, DECIMALS) + 0.0:.{DECIMALS}f}".replace("-", "−")


def signed(value: float, decimals: int) -> str:
    """A number with its sign; no zero has one."""
    rounded = round(value, decimals) + 0.0
    return f"{rounded:.{decimals}f}" if rounded == 0 else f"{rounded:+.{decimals}f}".replace("-", "−")
