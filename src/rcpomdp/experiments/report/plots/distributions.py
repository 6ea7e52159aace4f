"""Distributions of reward and realised cost: what single runs come to, where tables give means."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from ...._types import FloatArray
from ....tolerance import spending_limit
from ...run.record import Record
from ..summaries import Group, Row, budget_text, groups, label
from . import style
from .style import Plot

_BINS = 40
_FEW = 25  # outcomes that are shown one by one


def distributions(records: Sequence[Record]) -> list[Plot]:
    """One plot per problem: of each algorithm the share of runs by reward, and by each realised cost."""
    return [_plot(group) for group in groups(records) if any(map(_differ, group.rows))]


def _plot(group: Group) -> Plot:
    rows = [row for row in group.rows if row.runs][::-1]  # the first on top
    n_costs = len(group.budget)
    figure, axes = style.panels(1 + n_costs, width=4.4, height=0.75 + 0.42 * len(rows), room=0.1, sharey=True)
    _ridges(axes[0], rows, lambda record: record.run_reward)
    axes[0].set_xlabel("reward of a run")
    for k, ax in enumerate(axes[1:]):
        _ridges(ax, rows, partial(_cost, k))
        ax.set_xlabel("cost of a run" if n_costs == 1 else f"cost {k + 1} of a run")
        if math.isfinite(group.budget[k]):
            ax.axvline(group.budget[k], color=style.DANGER, linestyle="--", linewidth=1.1)
            ax.annotate(
                f"ĉ = {budget_text(group.budget[k : k + 1])}",
                (group.budget[k], 1),
                xycoords=("data", "axes fraction"),
                xytext=(3, 1),
                textcoords="offset points",
                color=style.DANGER,
                fontsize=8,
                va="bottom",
            )
    axes[0].set_yticks(range(len(rows)), [label(row, group.rows) for row in rows])
    for ax in axes:
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
    figure.suptitle(group.name, x=0.01, ha="left", fontsize=9.5, fontweight="bold")
    return Plot(
        f"distribution-{style.slug(group.name)}",
        f"Reward and cost of single runs: {group.name}",
        "Share of runs by reward and by realised cost; an algorithm's highest bar is its most frequent outcome, and a "
        "line marks the mean. A realised cost above the budget may be bad luck and is no violation by itself.",
        f"{group.name}: " + "; ".join(f"{label(row, group.rows)}: {_words(row)}" for row in rows[::-1]) + ".",
        figure,
    )


def _ridges(ax: Axes, rows: Sequence[Row], part: Callable[[Record], FloatArray]) -> None:
    """Bars per row, standing on the row's line: where outcomes are few at their values, else on common bins."""
    samples = [_runs(row, part) for row in rows]
    low, high = min(float(x.min()) for x in samples), max(float(x.max()) for x in samples)
    room = 0.5 * (high - low) / _BINS or 0.5
    edges = np.linspace(low - room, high + room, _BINS + 1)
    for y, (row, sample) in enumerate(zip(rows, samples, strict=True)):
        places, count = np.unique(np.round(sample, 9), return_counts=True)
        if len(places) > _FEW:
            count, _ = np.histogram(sample, edges)
            places, count = (edges[:-1] + 0.5 * np.diff(edges))[count > 0], count[count > 0]
        tint = style.colour(row.cell.algorithm)
        ax.axhline(y, color=style.FAINT, linewidth=0.6)
        ax.bar(places, 0.78 * count / count.max(), edges[1] - edges[0], bottom=y, color=tint, alpha=0.65)
        mean = float(sample.mean())
        ax.plot([mean, mean], [y, y + 0.86], color=style.INK, linewidth=1.4)
    ax.set_ylim(-0.15, len(rows))


def _differ(row: Row) -> bool:
    """Return whether runs came to different ends; if all came to the same, the table has said it."""
    runs = [np.column_stack([r.run_reward, r.run_cost]) for r in row.records if len(r.run_reward)]
    return bool(runs) and len(np.unique(np.round(np.concatenate(runs), 9), axis=0)) > 1


def _cost(k: int, record: Record) -> FloatArray:
    return record.run_cost[:, k]


def _runs(row: Row, part: Callable[[Record], FloatArray]) -> FloatArray:
    return np.concatenate([part(record) for record in row.records if len(record.run_reward)])


def _words(row: Row) -> str:
    reward = _runs(row, lambda record: record.run_reward)
    told = f"reward from {reward.min():.3g} to {reward.max():.3g}, mean {reward.mean():.3g}"
    if row.cell.budget:
        over = _runs(row, lambda record: np.any(record.run_cost > spending_limit(record.cell.budget), axis=1))
        told += f", a cost above the budget in {over.mean():.1%} of runs"
    return told
