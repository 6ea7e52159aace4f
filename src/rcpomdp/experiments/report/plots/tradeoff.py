"""Reward against violation rate: what is earned, and how often the budget is broken for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes

from ...run.record import Record
from ..summaries import Group, Row, groups, label
from . import style
from .style import Plot

_NEAR = 0.04  # of a panel's side: points closer than that would hide each other


def reward_against_violation(records: Sequence[Record]) -> list[Plot]:
    """Mean reward and violation rate of each algorithm, one panel per problem."""
    found = [group for group in groups(records) if _points(group) > 1]
    if not found:
        return []
    figure, axes = style.panels(len(found))
    for group, ax in zip(found, axes, strict=True):
        _panel(ax, group)
    axes[0].set_ylabel("mean reward")
    names = dict.fromkeys(row.cell.algorithm for group in found for row in group.rows if row.violation)
    keys = [style.key(name, linestyle="") for name in names]
    if any(row.paper and row.paper.violation_rate is not None for group in found for row in group.rows):
        keys.append(style.hollow_key("the paper's"))
    style.legend(figure, keys)
    return [
        Plot(
            "reward-violation",
            "Reward against violation rate",
            "Means of simulated runs with one standard error. At the left edge the budget holds in every run; what "
            "lies further right breaks it in some. Points that coincide lie on top of each other, the largest lowest.",
            " ".join(
                f"{group.name}: "
                + "; ".join(f"{label(row, group.rows)} {_words(row)}" for row in group.rows if row.violation)
                + "."
                for group in found
            ),
            figure,
        )
    ]


def _points(group: Group) -> int:
    """How many points there are to compare, ours and the paper's; 0 if none is ours."""
    ours = [row for row in group.rows if row.violation]
    return len(ours) + sum(row.paper is not None and row.paper.violation_rate is not None for row in ours)


def _panel(ax: Axes, group: Group) -> None:
    ours = [row for row in group.rows if row.violation and row.reward]
    means = [row.reward.mean for row in ours if row.reward]
    papers = [(row, row.paper) for row in group.rows if row.paper and row.paper.violation_rate is not None]
    low, high = _range(means, [paper.reward for _, paper in papers if paper.reward is not None])
    far = []
    for row, paper in papers:
        if paper.violation_rate is not None and paper.reward is not None:
            if low <= paper.reward <= high:
                ax.plot(paper.violation_rate, paper.reward, markerfacecolor="none", **_look(row.cell.algorithm))
            else:
                far.append(f"{row.cell.algorithm} {paper.reward:g}".replace(" -", " −"))
    places = [
        (row.violation.mean, (row.reward.mean - low) / (high - low)) for row in ours if row.violation and row.reward
    ]
    for number, row in enumerate(ours):
        hidden = sum(math.dist(places[number], later) < _NEAR for later in places[number + 1 :])
        _point(ax, row, hidden)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(low, high)
    ax.set_title(group.name)
    words = f"off the scale, the paper's: {', '.join(far)}" if far else ""
    ax.set_xlabel("\n".join(["violation rate", *wrap(words, 46)]))
    ax.grid()


def _point(ax: Axes, row: Row, hidden: int) -> None:
    """A mean with its errors, larger if others that come later would hide it."""
    if row.violation and row.reward:
        look = _look(row.cell.algorithm)
        look["markersize"] *= 1 + 0.4 * hidden
        x, y = row.violation, row.reward
        ax.errorbar(x.mean, y.mean, _error(y.se), _error(x.se), elinewidth=1, zorder=3, **look)


def _range(ours: Sequence[float], papers: Sequence[float]) -> tuple[float, float]:
    """The span of the axis of rewards: all of ours, and the paper's as far as they do not squeeze ours."""
    low, high = min(ours), max(ours)
    far = 1.5 * max(high - low, 0.1 * max(abs(low), abs(high)), 0.1)
    near = [reward for reward in papers if low - far <= reward <= high + far]
    low, high = min([low, *near]), max([high, *near])
    room = 0.12 * (high - low) or 0.1 * max(abs(high), 1.0)
    return low - room, high + room


def _look(name: str) -> dict[str, Any]:
    size = style.marker_size(name)
    return {
        "color": style.colour(name),
        "marker": style.marker(name),
        "markersize": size,
        "linestyle": "",
        "clip_on": False,
    }


def _error(se: float) -> float | None:
    return None if math.isnan(se) else se


def _words(row: Row) -> str:
    reward = f"{row.reward.mean:.3g}" if row.reward else "unknown"
    return f"earns {reward} and violates in {row.violation.mean:.1%} of runs" if row.violation else reward
