"""Paths of policies through the tunnels (the paper's figure of them): C-POMDP and RC-POMDP side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from .... import problems
from ....problems.tunnels import LAST_CELL, OUT, PRIZE, ROCKY
from ...run.record import Record
from ..summaries import Row, groups, label
from . import style
from .style import Plot

Place = tuple[int, int]  # tunnel and cell; (0, 0) is the hall
_HALL: Place = (0, 0)
_SEEN = 0.005  # paths of a smaller share of runs are left out
_APART = 1.35  # between the middles of two tunnels, a cell being 1 high
_WIDE = 0.8  # a tunnel
_NAMES = {1: "A", 2: "B", 3: "C"}  # the tunnels as the paper's text calls them


def tunnels(records: Sequence[Record]) -> list[Plot]:
    """The map with the paths of simulated runs, one panel per algorithm."""
    plots = []
    with_paths = [r for r in records if r.cell.problem == "tunnels" and r.paths.size]
    for group in groups(with_paths):
        figure, axes = style.panels(len(group.rows), width=3.3, height=4.2, room=0.1)
        told = []
        for row, ax in zip(group.rows, axes, strict=True):
            paths = _paths(row)
            _map(ax)
            _draw(ax, paths, style.colour(row.cell.algorithm))
            ax.set_title(label(row, group.rows), loc="center")
            told.append(f"{label(row, group.rows)}: {_words(paths)}")
        plots.append(
            Plot(
                "tunnels",
                f"Paths through {group.name}",
                "Paths of simulated runs, the more opaque the more frequent, and the share of runs that end in each "
                "tunnel. Red: where rocks may be, at a cost of 1 a step, the redder the likelier; steps back cost. "
                "CGCP keeps the budget in expectation (C-POMDP), ARCS in every history (RC-POMDP).",
                "; ".join(told) + ".",
                figure,
            )
        )
    return plots


def _paths(row: Row) -> dict[tuple[Place, ...], float]:
    """Sequences of places and the share of runs that took each, the most frequent first."""
    model = problems.make("tunnels", **row.cell.parameters)
    places = [_place(str(state)) for state in model.states]
    count: Counter[tuple[Place, ...]] = Counter()
    for record in row.records:
        for path in record.paths:
            walked = (places[s] for s in path if s >= 0)
            count[tuple(place for place in walked if place is not None)] += 1
    total = sum(count.values())
    return {path: n / total for path, n in count.most_common()}


def _place(state: str) -> Place | None:
    """The place that a state's label begins with; None after the end."""
    if state == OUT:
        return None
    words = state.split(maxsplit=1)[0].split("-")
    return _HALL if words == ["hall"] else (int(words[1]), int(words[3]))


def _map(ax: Axes) -> None:
    edge: dict[str, Any] = {"edgecolor": style.FAINT, "linewidth": 0.8}
    left, right = _x(1) - _WIDE / 2, _x(3) + _WIDE / 2
    ax.add_patch(Rectangle((left, -0.4), right - left, 0.8, facecolor="none", **edge))
    ax.text(_x(2), -0.5, "hall", ha="center", va="top", fontsize=8)
    for tunnel, prize in PRIZE.items():
        x, rocks = _x(tunnel) - _WIDE / 2, ROCKY.get(tunnel, 0.0)
        ax.add_patch(Rectangle((x, 1.5), _WIDE, 2, facecolor=style.DANGER, alpha=0.45 * rocks, linewidth=0))
        for cell in range(1, LAST_CELL + 1):
            ax.add_patch(Rectangle((x, cell - 0.5), _WIDE, 1, facecolor="none", **edge))
        ax.text(_x(tunnel), LAST_CELL + 0.6, f"{_NAMES[tunnel]}: pays {prize:g}", ha="center", va="bottom", fontsize=8)
        if rocks:
            ax.text(x - 0.06, 2.5, f"rocks, p = {rocks:g}", rotation=90, ha="right", va="center", fontsize=7.5)
    ax.set_xlim(left - 0.4, right + 0.3)
    ax.set_ylim(-0.85, LAST_CELL + 1.35)
    ax.set_aspect("equal")
    ax.set_axis_off()


def _x(tunnel: int) -> float:
    return tunnel * _APART


def _draw(ax: Axes, paths: dict[tuple[Place, ...], float], tint: str) -> None:
    shown = [(path, share) for path, share in paths.items() if share >= _SEEN]
    most = max((share for _, share in shown), default=1.0)
    for number, (path, share) in enumerate(reversed(shown)):
        shift = 0.6 * _WIDE * ((number + 0.5) / len(shown) - 0.5)  # paths side by side, not on top of each other
        strength = 0.15 + 0.85 * share / most
        xs, ys = _line(path, shift)
        ax.plot(xs, ys, color=tint, alpha=strength, linewidth=1.8, solid_joinstyle="round")
        ax.plot(xs[-1:], ys[-1:], color=tint, alpha=strength, marker="o", markersize=5)
    for tunnel, share in _ends(paths).items():
        ax.text(_x(tunnel), LAST_CELL + 0.95, f"{share:.0%}", ha="center", va="bottom", fontweight="bold", color=tint)


def _line(path: Sequence[Place], shift: float) -> tuple[list[float], list[float]]:
    """A path as a line; steps back run beside the way out, and the hall is crossed at the path's own height."""
    level = 0.6 * shift
    xs: list[float] = []
    ys: list[float] = []
    for here, there in pairwise(path):
        back = there[1] < here[1]
        x = _x(there[0] or here[0]) + shift + (0.07 if back else 0.0)
        y = level if here == _HALL else float(here[1])
        if not xs:
            xs, ys = [_x(2) + shift if here == _HALL else x], [y]
        xs += [x, x]
        ys += [y, level if there == _HALL else float(there[1])]
    return xs, ys


def _ends(paths: dict[tuple[Place, ...], float]) -> dict[int, float]:
    """The share of runs that end in each tunnel."""
    return {t: sum(s for path, s in paths.items() if path and path[-1] == (t, LAST_CELL)) for t in PRIZE}


def _words(paths: dict[tuple[Place, ...], float]) -> str:
    back = sum(s for path, s in paths.items() if any(b[1] < a[1] for a, b in pairwise(path)))
    told = ", ".join(f"{share:.0%} of runs end in tunnel {_NAMES[t]}" for t, share in _ends(paths).items())
    return f"{told}, {back:.0%} step back on the way"
