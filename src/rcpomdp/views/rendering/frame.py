"""A step of a run as a picture: the map on the left, words, budgets and the likeliest states on the right."""

from __future__ import annotations

import math
from bisect import bisect
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ...model import CPOMDP
from ...model.beliefs import Belief
from ...model.validation import count
from ...simulation.trajectory import Step
from ...tolerance import spending_limit
from ..drawing import PALETTE, Circle, Drawing, Line, Rect, Shape, checked_overlay, checked_scene
from ..parts import uncertain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (900, 540)  # pixels
_DPI = 100
_SHOWN = 5  # states beside a map
_MOST_SHOWN = 14  # states in place of one
_LONGEST = 200  # characters of a label that are measured
_GAUGES = 4  # costs that there is room for
_INK, _FAINT, _EDGE = (PALETTE[role].light for role in ("ink", "faint", "edge"))
_SPENT, _NOW, _OVER = (PALETTE[role].light for role in ("agent", "goal", "hazard"))


def draw(model: CPOMDP, step: Step, drawing: Drawing | None) -> Figure:
    """A figure of `SIZE` pixels at `_DPI` dots per inch."""
    from matplotlib.figure import Figure

    width, height = (pixels / _DPI for pixels in SIZE)
    figure = Figure(figsize=(width, height), dpi=_DPI, facecolor="white")
    words = figure.add_axes((0.66, 0.04, 0.32, 0.92))
    words.set_xlim(0, 1)
    words.set_ylim(1, 0)
    words.set_axis_off()
    if drawing is None:
        _bars(figure.add_axes((0.33, 0.06, 0.25, 0.80)), model, step, _MOST_SHOWN, room=0.30 / 0.25)
        _write(figure.text, 0.02, 0.93, "belief", 13, _FAINT)
    else:
        box = (0.02, 0.04, 0.60, 0.92)
        inches = min(box[2] * width / drawing.width, box[3] * height / drawing.height)  # of a cell
        _map(figure.add_axes(box), drawing, step, points=72 * inches)
        if model.n_costs <= 2:  # else the budgets need the room
            _bars(figure.add_axes((0.83, 0.05, 0.13, 0.24)), model, step, _SHOWN, room=0.16 / 0.13, size=8)
            _write(figure.text, 0.66, 0.315, "likeliest states", 9, _FAINT)
    _tell(words, model, step)
    return figure


def _map(axes: Axes, drawing: Drawing, step: Step, points: float) -> None:
    """The drawing; `points` make a cell."""
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)  # y goes down
    axes.set_aspect("equal")
    axes.set_axis_off()
    for z, shape in enumerate([*checked_scene(drawing), *checked_overlay(drawing, step.belief)]):
        _put(axes, shape, z, points)


def _put(axes: Axes, shape: Shape, z: int, points: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Circle as Disc
    from matplotlib.patches import Rectangle

    style: dict[str, Any] = {"color": PALETTE[shape.role].light, "alpha": shape.strength, "zorder": z}
    if isinstance(shape, Rect):
        axes.add_patch(Rectangle((shape.x, shape.y), shape.width, shape.height, linewidth=0, **style))
    elif isinstance(shape, Circle):
        axes.add_patch(Disc((shape.x, shape.y), shape.radius, linewidth=0, **style))
    elif isinstance(shape, Line):
        ends = [shape.x1, shape.x2], [shape.y1, shape.y2]
        axes.add_line(Line2D(*ends, linewidth=shape.width * points, solid_capstyle="butt", **style))
    else:
        middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": shape.size * points, "parse_math": False}
        axes.text(shape.x, shape.y, shape.text, **middle, **style)


def _tell(axes: Axes, model: CPOMDP, step: Step) -> None:
    """Step, observation, action, reward so far, and a gauge for each budget."""

    def line(y: float, what: str, said: str, size: float = 13) -> None:
        _write(axes.text, 0, y, what, 9, _FAINT)
        _write(axes.text, 0, y + 0.048, said, size, _INK, room=1)

    when = f"step {step.time}"
    _write(axes.text, 0, 0.02, model.title or "a model", 10, _FAINT, room=0.94 - _width(axes, when, 10))
    _write(axes.text, 1, 0.02, when, 10, _FAINT, ha="right")
    line(0.09, "observed", "–" if step.observation is None else _name(model.observations[step.observation]))
    ended = bool(model.terminal[step.belief.states].all())
    over = "– (the end)" if ended else f"– (after {count(step.time, 'step')})"
    line(0.20, "does", over if step.action is None else _name(model.actions[step.action]), 15)
    line(0.32, "reward so far", f"{step.reward:.3f}")
    for k, name in enumerate(model.costs[:_GAUGES]):
        _gauge(axes, 0.44 + 0.12 * k, str(name), step.spent[k], step.cost[k], model.budget[k])
    if model.n_costs > _GAUGES:
        _write(axes.text, 0, 0.44 + 0.12 * _GAUGES, f"and {model.n_costs - _GAUGES} more costs", 9, _FAINT)


def _gauge(axes: Axes, y: float, name: str, spent: float, added: float, budget: float) -> None:
    """A bar of what is spent and what this step adds, with the budget as a mark."""
    from matplotlib.patches import Rectangle

    total = spent + added
    limited = math.isfinite(budget)
    over = total > spending_limit(budget)
    scale = max(budget if limited else 0.0, total) * 1.08 or 1.0
    of = f"of {budget:g}" if limited else "(unlimited)"
    now = f", {added:.3g} of it now" if added > 0 else ""
    amount = f"{total:.3f} {of}"
    room = 0.94 - _width(axes, amount, 9) - _width(axes, f" spent{now}", 9)
    _write(axes.text, 0, y, f"{_fitted(axes, name, 9, room)} spent{now}", 9, _FAINT)
    _write(axes.text, 1, y, amount, 9, _OVER if over else _INK, ha="right")
    for x, width, colour in (
        (0, 1, PALETTE["ground"].light),
        (0, spent / scale, _OVER if over else _SPENT),
        (spent / scale, added / scale, _OVER if over else _NOW),
    ):
        axes.add_patch(Rectangle((x, y + 0.025), width, 0.035, facecolor=colour, linewidth=0))
    if limited:
        axes.plot([budget / scale] * 2, [y + 0.022, y + 0.066], color=_INK, linewidth=1.5)


def _bars(axes: Axes, model: CPOMDP, step: Step, most: int, room: float, size: float = 10) -> None:
    """The likeliest states of the belief, the likeliest first; their names have `room`, in widths of the axes.

    Where states have parts and all of the room is theirs, the lower half shows what is believed of each part.
    """
    p = step.belief.probabilities
    parts = _parts(model, step.belief, most // 2) if most == _MOST_SHOWN else []
    best = np.argsort(-p, kind="stable")[: most - len(parts)]
    rows = [(_name(model.states[int(step.belief.states[i])]), float(p[i])) for i in best] + parts
    colours = [_SPENT] * len(best) + [_NOW] * len(parts)
    axes.barh(range(len(rows)), [q for _, q in rows], height=0.7, color=colours)
    axes.set_xlim(0, 1)
    axes.set_ylim(most - 0.4, -0.6)
    axes.set_yticks([])
    axes.set_xticks([])
    for side in axes.spines.values():
        side.set_visible(False)
    axes.axvline(0, color=_EDGE, linewidth=1)
    for i, (name, q) in enumerate(rows):
        _write(axes.text, -0.03, i, name, size, _INK, ha="right", room=room)
        _write(axes.text, q + 0.02, i, f"{q:.3g}", size, _FAINT)
    if len(p) > len(best):
        what = " states" if parts else ""
        _write(axes.text, 0, most - 0.3, f"and {len(p) - len(best):,} more{what}", size, _FAINT)


def _parts(model: CPOMDP, belief: Belief, most: int) -> list[tuple[str, float]]:
    """The likeliest value of each part that is not sure, and of those with room left the next."""
    found = uncertain(model, belief)
    each = max(1, most // max(1, len(found)))
    rows = [
        (f"part {place}: {value}", p) for place, values in found.items() for value, p in islice(values.items(), each)
    ]
    return rows[:most]


def _write(
    put: Any, x: float, y: float, text: str, size: float, colour: str, ha: str = "left", room: float | None = None
) -> None:
    """Text as it is: a dollar in a label starts no formula. It is cut to the room there is, in widths of its axes."""
    shown = text if room is None else _fitted(put.__self__, text, size, room)
    put(x, y, shown, fontsize=size, color=colour, ha=ha, va="center", parse_math=False)


def _name(label: Any) -> str:
    """A label as text; of a tuple, also one with names, its values."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _fitted(axes: Axes, text: str, size: float, room: float) -> str:
    """As much of a text as there is room for, the rest as an ellipsis."""
    text = " ".join(text.split())  # one line
    if len(text) <= _LONGEST and _width(axes, text, size) <= room:
        return text
    fits = range(min(len(text), _LONGEST))
    return text[: max(bisect(fits, room, key=lambda n: _width(axes, text[:n] + "…", size)) - 1, 1)] + "…"


def _width(axes: Axes, text: str, size: float) -> float:
    """The width of a line of text, in widths of the axes."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    points = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0]
    box = axes.get_position()
    return float(points / 72 / (box.width * SIZE[0] / _DPI))
