"""Budget sweep: the optimum against the budget, in expectation and in every history.

The C-POMDP optimum lies above the RC-POMDP optimum, which has more to keep. What lies between is the price of keeping
the promise at every history. Bounds are drawn as bands: a price is proven where the bands are apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ....solvers import Criterion, registry
from ....solvers.result import INFEASIBLE
from ...run.record import Record
from ..summaries import Group, Row, groups
from . import style
from .style import Plot

_LEAST = 3  # budgets of one problem that make a sweep
_MEANING = {
    Criterion.EXPECTATION: "kept in expectation",
    Criterion.EVERY_HISTORY: "kept in every history",
    Criterion.NO_BUDGET: "no budget",
}


def budget_sweep(records: Sequence[Record]) -> list[Plot]:
    """Optimal reward against the budget, one panel per problem."""
    found = _sweeps(records)
    if not found:
        return []
    figure, axes = style.panels(len(found), width=4.4, height=3.2, most=2)
    names: dict[str, Criterion | None] = {}
    for same, ax in zip(found, axes, strict=True):
        names |= _panel(ax, same)
    axes[0].set_ylabel("optimal reward")
    keys = []
    for name, criterion in names.items():
        entry = style.key(name)
        entry.set_label(name if criterion is None else f"{name}: {_MEANING[criterion]}")
        keys.append(entry)
    if any(map(_lost, found)):
        keys.append(Line2D([], [], color=style.FAINT, marker="x", linestyle="", label="no policy keeps it"))
    style.legend(figure, keys)
    return [
        Plot(
            "budget-sweep",
            "The price of keeping the promise",
            "Optimal reward against the budget, bounds as bands. The dotted lines are the price of keeping the budget "
            "in every history and not in expectation alone, as far as it is proven. Between budgets the curves show "
            "what is proven from below: one in expectation is concave, the other may rise in steps.",
            " ".join(f"{same[0].title}: {_words(same)}." for same in found),
            figure,
        )
    ]


def swept(records: Sequence[Record], group: Group) -> bool:
    """Return whether records hold a problem under enough budgets to make a sweep."""
    return any(
        group.rows[0].cell.title == same[0].title and group.setting == same[0].setting for same in _sweeps(records)
    )


def _sweeps(records: Sequence[Record]) -> list[list[Group]]:
    """The groups of each problem that has several budgets, by budget."""
    by_problem: dict[tuple[str, str], list[Group]] = {}
    for group in groups(records):
        known = any(row.upper is not None or _infeasible(row) for row in group.rows)
        if len(group.budget) == 1 and math.isfinite(group.budget[0]) and known:
            by_problem.setdefault((group.title, group.setting), []).append(group)
    return [sorted(same, key=lambda g: g.budget) for same in by_problem.values() if len(same) >= _LEAST]


def _panel(ax: Axes, same: Sequence[Group]) -> dict[str, Criterion | None]:
    curves = _curves(same)
    criteria = {name: registry.criterion(points[0][1].cell.solver) for name, points in curves.items()}
    for name, points in curves.items():
        tint = style.colour(name)
        budgets = [budget for budget, _ in points]
        lower = [math.nan if row.lower is None else row.lower for _, row in points]
        upper = [math.nan if row.upper is None else row.upper for _, row in points]
        # The optimum in expectation is concave, so that a line between points is proven.
        steps = criteria[name] is not Criterion.EXPECTATION
        ax.fill_between(budgets, lower, upper, color=tint, alpha=0.25, linewidth=0, step="post" if steps else None)
        look: dict[str, Any] = {"color": tint, "drawstyle": "steps-post" if steps else "default"}
        ax.plot(budgets, upper, linewidth=0.8, **look)
        ax.plot(budgets, lower, marker=style.marker(name), markersize=0.7 * style.marker_size(name), **look)
    for budget, low, high in _prices(same):
        ax.plot([budget, budget], [low, high], color=style.FAINT, linewidth=1, linestyle=":", zorder=1)
    lost = _lost(same)
    if lost:
        low, high = ax.get_ylim()
        ax.set_ylim(low - 0.08 * (1 + len(lost)) * (high - low), high)  # room for crosses below all curves
    for number, (name, budgets) in enumerate(lost.items()):
        cross: dict[str, Any] = {"color": style.colour(name), "marker": "x", "linestyle": "", "clip_on": False}
        ax.plot(budgets, [0.03 + 0.05 * number] * len(budgets), transform=ax.get_xaxis_transform(), **cross)
    ax.set_title(", ".join(filter(None, (same[0].title, same[0].setting))))
    ax.set_xlabel("budget ĉ")
    ax.grid()
    return criteria


def _prices(same: Sequence[Group]) -> list[tuple[float, float, float]]:
    """Budgets at which the two optima are proven apart: the RC-POMDP's upper and the C-POMDP's lower bound."""
    found = []
    for group in same:
        bounds = [(registry.criterion(row.cell.solver), row.lower, row.upper) for row in group.rows]
        uppers = [upper for kind, _, upper in bounds if kind is Criterion.EVERY_HISTORY and upper is not None]
        lowers = [lower for kind, lower, _ in bounds if kind is Criterion.EXPECTATION and lower is not None]
        low, high = min(uppers, default=math.inf), max(lowers, default=-math.inf)
        if low < high:
            found.append((group.budget[0], low, high))
    return found


def _lost(same: Sequence[Group]) -> dict[str, list[float]]:
    """The budgets that are proven too small, by algorithm."""
    found: dict[str, list[float]] = {}
    for group in same:
        for row in filter(_infeasible, group.rows):
            found.setdefault(row.cell.algorithm, []).append(group.budget[0])
    return found


def _infeasible(row: Row) -> bool:
    return all(record.status == INFEASIBLE for record in row.records)


def _curves(same: Sequence[Group]) -> dict[str, list[tuple[float, Row]]]:
    curves: dict[str, list[tuple[float, Row]]] = {}
    for group in same:
        for row in group.rows:
            if row.upper is not None or row.lower is not None:
                curves.setdefault(row.cell.algorithm, []).append((group.budget[0], row))
    return curves


def _words(same: Sequence[Group]) -> str:
    def worth(row: Row) -> str:
        return f"at least {row.lower:.4g}" if row.lower is not None else f"at most {row.upper:.4g}"

    curves = [
        f"{name} " + ", ".join(f"{worth(row)} at budget {budget:g}" for budget, row in points)
        for name, points in _curves(same).items()
    ]
    prices = [f"a price of at least {high - low:.3g} at budget {budget:g}" for budget, low, high in _prices(same)]
    lost = [f"{name} proves that no policy keeps {', '.join(f'{b:g}' for b in bs)}" for name, bs in _lost(same).items()]
    return "; ".join([*curves, *prices, *lost])
