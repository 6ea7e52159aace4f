"""Drawings of problems: simple shapes in a plane, coloured by what they stand for.

A drawing has a scene, which never changes, and an overlay, which shows a belief. Both are lists of shapes that any
program can put on paper: the explorer as SVG, others as PNG. Lengths are in cells of the map; x goes right, y goes
down, and the drawing fills ``0 ≤ x ≤ width``, ``0 ≤ y ≤ height``. A shape has a role instead of a colour (`PALETTE`),
and a strength between 0 and 1, its opacity: mostly the probability of what it shows.

A problem offers its drawing beside its builder, as a function of the model:

>>> import numpy as np
>>> import rcpomdp as rc
>>> class Doors:
...     width, height = 2.0, 1.0
...     def scene(self):
...         return [Rect(i, 0, 1, 1, "ground", title=f"door {i + 1}") for i in range(2)]
...     def overlay(self, belief):
...         here = zip(belief.states.tolist(), belief.probabilities.tolist())
...         return [Circle(s + 0.5, 0.5, 0.3, "hazard", p, f"tiger: {p:.0%}") for s, p in here]
>>> from rcpomdp.problems.tiger import tiger
>>> problem = rc.problems.Problem("drawn-tiger", "Tiger with a picture.", tiger, drawing=lambda model: Doors())
>>> model = problem.make()
>>> problem.draw(model).overlay(rc.beliefs.initial(model))[0]
Circle(x=0.5, y=0.5, radius=0.3, role='hazard', strength=0.5, title='tiger: 50%')
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from ..errors import InputError, ProblemError, did_you_mean

if TYPE_CHECKING:
    from ..model.beliefs import Belief


class Colours(NamedTuple):
    """A role's colour on light and on dark paper."""

    light: str
    dark: str


PALETTE = {
    "ground": Colours("#eef1f4", "#232a33"),  # where one can be
    "edge": Colours("#b9c2cc", "#46525f"),  # walls and lines between cells
    "ink": Colours("#1d2733", "#e6ebf1"),  # words
    "faint": Colours("#5a6877", "#9dabb9"),  # words of less weight
    "agent": Colours("#1f5fbf", "#7db2ff"),  # who acts
    "good": Colours("#1d7a46", "#57c98a"),
    "bad": Colours("#9a4a12", "#e69a5c"),
    "goal": Colours("#0f7681", "#4fc3cf"),
    "hazard": Colours("#b3261e", "#ff8a80"),
}


class Rect(NamedTuple):
    """A filled rectangle, by its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    role: str
    strength: float = 1.0
    title: str = ""  # what it shows, in words


class Circle(NamedTuple):
    """A filled circle, by its centre."""

    x: float
    y: float
    radius: float
    role: str
    strength: float = 1.0
    title: str = ""


class Line(NamedTuple):
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    role: str
    strength: float = 1.0
    title: str = ""
    width: float = 0.02


class Text(NamedTuple):
    """A line of text around a point."""

    x: float
    y: float
    text: str
    role: str
    strength: float = 1.0
    title: str = ""
    size: float = 0.25  # height of the letters


Shape: TypeAlias = Rect | Circle | Line | Text


@runtime_checkable
class Drawing(Protocol):
    """A problem on paper."""

    @property
    def width(self) -> float:
        """Width of the whole."""
        ...

    @property
    def height(self) -> float:
        """Height of the whole."""
        ...

    def scene(self) -> Sequence[Shape]:
        """Shapes that are always there, from the back to the front."""
        ...

    def overlay(self, belief: Belief) -> Sequence[Shape]:
        """Shapes that a belief adds, from the back to the front."""
        ...


_WORDS = ("role", "title", "text")
_EXTENTS = ("width", "height", "radius", "size")  # which cannot be negative


def check_drawing(drawing: Any) -> None:
    """Refuse what is no drawing, or has no room."""
    if not isinstance(drawing, Drawing):
        raise InputError(f"{drawing!r} is no drawing: it lacks width, height, scene or overlay")
    for name, value in (("width", drawing.width), ("height", drawing.height)):
        if not _is_number(value):
            raise InputError(f"the drawing's {name} is {value!r}, not a finite number")
    if not (drawing.width > 0 and drawing.height > 0):
        raise InputError(f"the drawing is {drawing.width:g} wide and {drawing.height:g} high; both must be above 0")


def checked_scene(drawing: Drawing) -> list[Shape]:
    """The scene of a drawing, its shapes checked."""
    return checked_shapes(drawing.scene(), "scene")


def checked_overlay(drawing: Drawing, belief: Belief) -> list[Shape]:
    """The overlay of a drawing for a belief, its shapes checked."""
    return checked_shapes(drawing.overlay(belief), "overlay")


def checked_shapes(shapes: Any, where: str) -> list[Shape]:
    """Shapes of plain numbers and words, strengths cut to between 0 and 1; the first that cannot be drawn is named."""
    if not isinstance(shapes, Iterable) or isinstance(shapes, Shape | str):
        raise ProblemError(f"the drawing's {where} is {shapes!r}, not a list of shapes")
    return [_plain(shape, f"shape {i} of the drawing's {where}") for i, shape in enumerate(shapes, 1)]


def _plain(shape: Any, which: str) -> Shape:
    if not isinstance(shape, Shape):
        raise ProblemError(f"{which} is {shape!r}, not a Rect, Circle, Line or Text")
    plain: dict[str, Any] = {}
    for name, value in shape._asdict().items():
        if name in _WORDS:
            if not isinstance(value, str):
                raise ProblemError(f"{which}, {shape!r}, has the {name} {value!r}, which is not a string")
            plain[name] = str(value)
            continue
        if not _is_number(value):
            raise ProblemError(f"{which}, {shape!r}, has the {name} {value!r}, which is not a finite number")
        if name in _EXTENTS and value < 0:
            raise ProblemError(f"{which}, {shape!r}, has the {name} {value:g}, which is below 0")
        plain[name] = min(max(float(value), 0.0), 1.0) if name == "strength" else float(value)
    if shape.role not in PALETTE:
        known = f"{did_you_mean(shape.role, PALETTE)} (known: {', '.join(PALETTE)})"
        raise ProblemError(f"{which}, {shape!r}, has the role {shape.role!r}{known}")
    return type(shape)(**plain)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
