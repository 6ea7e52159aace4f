"""Scaling: time and remaining gap against the number of states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from ...run.record import Record
from ..summaries import Group, Row, groups
from . import style
from .style import Plot

LEAST_GAP, _LEAST_SECONDS = 1e-6, 1e-4  # where the logarithmic axes begin


def scaling(records: Sequence[Record]) -> list[Plot]:
    """Seconds and gap of each algorithm against states, for the problems of a suite that is called so."""
    records = [record for record in records if "scaling" in record.cell.suite]
    points: dict[str, list[tuple[int, Group, Row]]] = {}
    for group in groups(records):
        for row in group.rows:
            if group.sizes is not None and not row.error:
                points.setdefault(row.cell.algorithm, []).append((group.sizes[0], group, row))
    if len({states for own in points.values() for states, _, _ in own}) < 2:  # one size is no curve
        return []
    figure, (time, left) = style.panels(2, width=4.4, height=3.1)
    for name, unsorted in points.items():
        own = sorted(unsorted, key=lambda point: point[0])
        _curve(time, name, [(s, max(row.seconds, _LEAST_SECONDS), done(row)) for s, _, row in own])
        gaps = [(s, gap(row), done(row)) for s, _, row in own]
        _curve(left, name, [(s, max(size, LEAST_GAP), ended) for s, size, ended in gaps if size is not None])
    for ax, what in ((time, "seconds"), (left, "gap at the end")):
        style.logarithmic(ax, "xy")
        ax.set_xlabel("states")
        ax.set_ylabel(what)
        ax.grid()
    keys = [style.key(name) for name in points]
    if not all(done(row) for own in points.values() for _, _, row in own):
        keys.append(style.hollow_key("stopped by a limit"))
    style.legend(figure, keys)
    return [
        Plot(
            "scaling",
            "Time and gap against size",
            "Seconds of set-up and search, and the gap between the bounds when it ended, where a method has bounds; "
            f"gaps below {LEAST_GAP:g} are drawn there.",
            " ".join(
                f"{name}: " + "; ".join(f"{s:,} states in {row.seconds:.2g} s, {row.status}" for s, _, row in own) + "."
                for name, own in points.items()
            ),
            figure,
        )
    ]


def _curve(ax: Axes, name: str, points: Sequence[tuple[int, float, bool]]) -> None:
    """A line through points that are hollow where a limit stopped the search."""
    tint = style.colour(name)
    ax.plot([x for x, _, _ in points], [y for _, y, _ in points], color=tint)
    look: dict[str, Any] = {"marker": style.marker(name), "markersize": style.marker_size(name), "linestyle": ""}
    for ended, face in ((True, tint), (False, "none")):
        own = [(x, y) for x, y, finished in points if finished is ended]
        ax.plot([x for x, _ in own], [y for _, y in own], color=tint, markerfacecolor=face, **look)


def done(row: Row) -> bool:
    """Return whether all searches of a row ended by themselves."""
    return all(record.status in {"optimal", "converged", "infeasible"} for record in row.records)


def gap(row: Row) -> float | None:
    """Upper minus lower bound, if there are both."""
    return None if row.lower is None or row.upper is None else row.upper - row.lower
