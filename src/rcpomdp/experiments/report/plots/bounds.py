"""Bounds over time: how quickly each solver closes in on its optimum."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from ...._types import FloatArray
from ...run.record import Record
from ..summaries import Group, Row, groups, label
from . import style
from .style import Plot
from .sweep import swept

_MOST = 8  # curves in a panel
_EARLIEST = 1e-3  # seconds, where the logarithmic axis begins


def bounds_over_time(records: Sequence[Record]) -> list[Plot]:
    """Lower and upper bound against seconds of search, one panel per problem."""
    found = [group for group in groups(records) if _tellable(group) and not swept(records, group)]
    if not found:
        return []
    figure, axes = style.panels(len(found))
    names: list[str] = []
    for group, ax in zip(found, axes, strict=True):
        names += _panel(ax, group)
    names = list(dict.fromkeys(names))
    lines = style.dashes(names)
    style.legend(figure, [style.key(name, marker="", linestyle=lines[name], linewidth=2.4) for name in names])
    for ax in axes:
        ax.set_xlabel("seconds of search")
    axes[0].set_ylabel("reward")
    return [
        Plot(
            "bounds",
            "Bounds over time",
            "Lower and upper bound on each solver's own optimum, the band between them shaded: ARCS bounds the best "
            "policy that keeps its budget in every history, CGCP and Exp-Gradient the best that keeps it in "
            "expectation, SARSOP the best without a budget.",
            " ".join(f"{group.name}: {'; '.join(_ends(group))}." for group in found),
            figure,
        )
    ]


def _tellable(group: Group) -> bool:
    """Return whether bounds move, few enough to tell their lines apart; an ablation has a plot of its own."""
    return any(map(_moves, group.rows)) and sum(map(_has_bounds, group.rows)) <= _MOST


def _panel(ax: Axes, group: Group) -> list[str]:
    rows = [row for row in group.rows if _has_bounds(row)]
    names = [label(row, group.rows) for row in rows]
    lines = style.dashes(names)
    for row, name in zip(rows, names, strict=True):
        for record in row.records:
            _curve(ax, record, style.colour(name), lines[name])
    style.logarithmic(ax, "x")
    ax.set_title(group.name)
    ax.grid(axis="y")
    ax.set_ylim(*_range(rows))
    return names


def _curve(ax: Axes, record: Record, colour: str, line: str) -> None:
    if not len(record.trace):
        return
    seconds, lower, upper = record.trace.T
    end = max(float(seconds[-1]), _EARLIEST) * 1.02  # a flat end, so that one point is seen too
    seconds = np.append(np.maximum(seconds, _EARLIEST), end)
    lower, upper = (
        np.where(np.isfinite(x), x, np.nan) for x in (np.append(lower, lower[-1]), np.append(upper, upper[-1]))
    )
    for values in (lower, upper):
        ax.plot(seconds, values, color=colour, linestyle=line, drawstyle="steps-post")
    ax.fill_between(seconds, lower, upper, color=colour, alpha=0.15, step="post", linewidth=0)


def _range(rows: Sequence[Row]) -> tuple[float, float]:
    """The final bounds of all with as much room again around them; where bounds began may be far off."""
    ends = [x for row in rows for record in row.records for x in record.trace[-1, 1:] if math.isfinite(x)]
    low, high = min(ends), max(ends)
    starts = [x for row in rows for record in row.records for x in record.trace[0, 1:] if math.isfinite(x)]
    room = max(0.6 * (high - low), 0.02 * max(abs(low), abs(high)), 1e-3)
    return max(low - room, min([low, *starts]) - 0.1 * room), min(high + room, max([high, *starts]) + 0.1 * room)


def _has_bounds(row: Row) -> bool:
    return any(len(record.trace) and np.isfinite(record.trace[-1, 1:]).any() for record in row.records)


def _moves(row: Row) -> bool:
    """Return whether bounds change where the axis shows it; how they end is in the table."""
    return _has_bounds(row) and any(_changes(record.trace) for record in row.records)


def _changes(trace: FloatArray) -> bool:
    first = max(0, int((trace[:, 0] <= _EARLIEST).sum()) - 1)
    return len(np.unique(trace[first:, 1:], axis=0)) > 1


def _ends(group: Group) -> list[str]:
    return [
        f"{label(row, group.rows)} ends {_between(row)} after {row.seconds:.2g} s"
        for row in group.rows
        if _has_bounds(row)
    ]


def _between(row: Row) -> str:
    if row.lower is None:
        return f"at most {row.upper:.4g}" if row.upper is not None else "without bounds"
    return f"at least {row.lower:.4g}" if row.upper is None else f"between {row.lower:.4g} and {row.upper:.4g}"
