"""How a problem is drawn: simple shapes in a plane, coloured by what they stand for.

A drawing has a scene, which never changes, and marks, which show a belief. Both are lists of shapes that any program
can put on paper: the explorer as SVG, others as PNG. Lengths are in cells of the map; x goes right, y goes down, and
the drawing fills ``0 ≤ x ≤ width``, ``0 ≤ y ≤ height``. A shape has a role instead of a colour (`PALETTE`), and a
strength between 0 and 1, its opacity: mostly the probability of what it shows.

A problem offers its drawing beside its builder, as a function of the model:

>>> import numpy as np
>>> import rcpomdp as rc
>>> class Doors:
...     width, height = 2.0, 1.0
...     def scene(self):
...         return [Rect(i, 0, 1, 1, "ground", title=f"door {i + 1}") for i in range(2)]
...     def marks(self, belief):
...         here = zip(belief.states.tolist(), belief.probabilities.tolist())
...         return [Circle(s + 0.5, 0.5, 0.3, "hazard", p, f"tiger: {p:.0%}") for s, p in here]
>>> from rcpomdp.problems.tiger import tiger
>>> problem = rc.problems.Problem("drawn-tiger", "Tiger with a picture.", tiger, drawing=lambda model: Doors())
>>> model = problem.make()
>>> problem.draw(model).marks(rc.beliefs.initial(model))[0]
Circle(x=0.5, y=0.5, radius=0.3, role='hazard', strength=0.5, title='tiger: 50%')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from .beliefs import Belief


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
    width: float = 0.03


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
        """What is always there, from the back to the front."""
        ...

    def marks(self, belief: Belief) -> Sequence[Shape]:
        """What a belief adds, from the back to the front."""
        ...
