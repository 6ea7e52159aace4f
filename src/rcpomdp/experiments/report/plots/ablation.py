"""Ablation: the gap that a solver is left with when one of its ideas is switched off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from ...run.record import Record
from ..summaries import Group, Row, groups, label
from . import style
from .scaling import LEAST_GAP, done, gap
from .style import Plot


def ablation(records: Sequence[Record]) -> list[Plot]:
    """Final gap of each variant of a solver, one panel per problem."""
    found = [(group, rows) for group in groups(records) if (rows := _variants(group))]
    if not found:
        return []
    tallest = max(len(rows) for _, rows in found)
    figure, axes = style.panels(len(found), width=4.4, height=0.9 + 0.24 * tallest, most=2)
    for (group, rows), ax in zip(found, axes, strict=True):
        _panel(ax, group, rows)
    if not all(map(done, (row for _, rows in found for row in rows))):
        style.legend(figure, [style.hollow_key("stopped by a limit")])
    return [
        Plot(
            "ablation",
            "What each idea is worth",
            "Gap between the bounds at the end of the search, the smaller the better, and the seconds it took, for "
            "each variant of a solver. The vertical line is the solver as it is. Gaps below 1e-6 are drawn there.",
            " ".join(
                f"{group.name}: " + "; ".join(f"{label(row, group.rows)}: {_words(row)}" for row in rows) + "."
                for group, rows in found
            ),
            figure,
        )
    ]


def _variants(group: Group) -> list[Row]:
    """The rows of solvers that are there with different options, if bounds are known."""
    found = []
    for row in group.rows:
        same = [other for other in group.rows if other.cell.solver == row.cell.solver]
        if any(other.cell.options != row.cell.options for other in same) and gap(row) is not None:
            found.append(row)
    return found if len(found) > 1 else []


def _panel(ax: Axes, group: Group, rows: Sequence[Row]) -> None:
    gaps = [max(gap(row) or 0.0, LEAST_GAP) for row in rows]
    for y, (row, size) in enumerate(zip(rows[::-1], gaps[::-1], strict=True)):
        tint = style.colour(row.cell.algorithm)
        look: dict[str, Any] = {"color": tint, "marker": "o", "markersize": 5.5}
        ax.plot(size, y, markerfacecolor=tint if done(row) else "none", **look)
        ax.annotate(f"{row.seconds:.2g} s", (1.02, y), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    ax.axvline(gaps[0], color=style.FAINT, linewidth=1)
    style.logarithmic(ax, "x")
    ax.set_yticks(range(len(rows)), _short([label(row, group.rows) for row in rows[::-1]]))
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("gap at the end")
    ax.set_title(group.name)
    ax.grid()


def _short(names: Sequence[str]) -> list[str]:
    """Names of variants without the solver that all of them name first."""
    first = {name.partition(", ")[0] for name in names}
    return [name.partition(", ")[2] or name for name in names] if len(first) == 1 else list(names)


def _words(row: Row) -> str:
    size = gap(row) or 0.0
    return f"gap {f'{size:.2g}' if size > LEAST_GAP else 'below 1e-6'}, {row.seconds:.2g} s, {row.status}"
