"""Paths of policies through the tunnels (the paper's figure of them): C-POMDP and RC-POMDP side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from ....problems.tunnels import LAST_CELL, MAPS, PRIZE, ROCKY
from ...run.record import Record
from ..paper import SHARES
from ..summaries import groups, label
from ..tunnel_paths import HALL, Place, ends, paths_of
from . import style
from .style import Plot

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
            paths = paths_of(row)
            _map(ax, MAPS[row.cell.parameters.get("map", "constant")].rocks)
            _draw(ax, paths, style.colour(row.cell.algorithm))
            ax.set_title(label(row, group.rows), loc="center")
            told.append(f"{label(row, group.rows)}: {_words(paths)}")
        plots.append(
            Plot(
                "tunnels",
                f"Paths through {group.name}",
                "Paths of simulated runs, the more opaque the more frequent, and the share of runs that end in each "
                "tunnel. Red: where rocks may be, at a cost of 1 a step, the redder the likelier; steps back cost. "
                "CGCP keeps the budget in expectation (C-POMDP), ARCS in every history (RC-POMDP). "
                f"The paper's CGCP takes tunnel A in {_percent('CGCP', 1)} of its runs and B in {_percent('CGCP', 2)}.",
                "; ".join(told) + ".",
                figure,
            )
        )
    return plots


def _map(ax: Axes, rocky_cells: tuple[int, ...]) -> None:
    edge: dict[str, Any] = {"edgecolor": style.FAINT, "linewidth": 0.8}
    left, right = _x(1) - _WIDE / 2, _x(3) + _WIDE / 2
    ax.add_patch(Rectangle((left, -0.4), right - left, 0.8, facecolor="none", **edge))
    ax.text(_x(2), -0.5, "hall", ha="center", va="top", fontsize=8)
    for tunnel, prize in PRIZE.items():
        x, rocks = _x(tunnel) - _WIDE / 2, ROCKY.get(tunnel, 0.0)
        low, high = rocky_cells[0] - 0.5, rocky_cells[-1] + 0.5
        ax.add_patch(Rectangle((x, low), _WIDE, high - low, facecolor=style.DANGER, alpha=0.45 * rocks, linewidth=0))
        for cell in range(1, LAST_CELL + 1):
            ax.add_patch(Rectangle((x, cell - 0.5), _WIDE, 1, facecolor="none", **edge))
        ax.text(_x(tunnel), LAST_CELL + 0.6, f"{_NAMES[tunnel]}: pays {prize:g}", ha="center", va="bottom", fontsize=8)
        if rocks:
            ax.text(
                x - 0.06, (low + high) / 2, f"rocks, p = {rocks:g}", rotation=90, ha="right", va="center", fontsize=7.5
            )
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
    for tunnel, share in ends(paths).items():
        ax.text(_x(tunnel), LAST_CELL + 0.95, f"{share:.0%}", ha="center", va="bottom", fontweight="bold", color=tint)


def _line(path: Sequence[Place], shift: float) -> tuple[list[float], list[float]]:
    """A path as a line; steps back run beside the way out, and the hall is crossed at the path's own height."""
    level = 0.6 * shift
    xs: list[float] = []
    ys: list[float] = []
    for here, there in pairwise(path):
        back = there[1] < here[1]
        x = _x(there[0] or here[0]) + shift + (0.07 if back else 0.0)
        y = level if here == HALL else float(here[1])
        if not xs:
            xs, ys = [_x(2) + shift if here == HALL else x], [y]
        xs += [x, x]
        ys += [y, level if there == HALL else float(there[1])]
    return xs, ys


def _percent(algorithm: str, tunnel: int) -> str:
    return f"{float(SHARES[algorithm, tunnel]):.0%}"


def _words(paths: dict[tuple[Place, ...], float]) -> str:
    back = sum(s for path, s in paths.items() if any(b[1] < a[1] for a, b in pairwise(path)))
    told = ", ".join(f"{share:.0%} of runs end in tunnel {_NAMES[t]}" for t, share in ends(paths).items())
    return f"{told}, {back:.0%} step back on the way"
