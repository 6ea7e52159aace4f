"""A ready-made map for models whose states are called by cells: (3, 1), or "(3,1) north", or "(3,1) (5,2)".

The first cell of a label is where the agent is, and drawn so; further ones are what else is somewhere. x goes right and
y goes up. What labels tell besides, a direction or a rock, is not drawn.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable
from typing import TYPE_CHECKING

from .drawing import Circle, Drawing, Line, Rect, Shape, Text
from .untimed import drawn

if TYPE_CHECKING:
    from ..model import CPOMDP
    from ..model.beliefs import Belief

_Cell = tuple[int, int]
_IN_TEXT = re.compile(r"\((-?\d+), ?(-?\d+)\)")
_WIDEST = 60  # cells of a side: more would be specks
_ROLES = ("agent", "hazard", "goal")  # of the first cell of a label, the second, the third


class GridDrawing:
    """Cells that some state names, and circles as strong as what is there is likely."""

    def __init__(self, cells: list[list[_Cell]]) -> None:
        self._cells = cells
        self._known = sorted({cell for of_state in cells for cell in of_state})
        self._left, self._low = (min(cell[i] for cell in self._known) for i in range(2))
        self._top = max(y for _, y in self._known)
        self.width = float(max(x for x, _ in self._known) - self._left + 1)
        self.height = float(self._top - self._low + 1)

    def scene(self) -> list[Shape]:
        """The cells, with lines between them."""
        shapes: list[Shape] = []
        for x, y in map(self._corner, self._known):
            shapes.append(Rect(x, y, 1, 1, "ground"))
            shapes += [Line(x, y, x + 1, y, "edge"), Line(x, y + 1, x + 1, y + 1, "edge")]
            shapes += [Line(x, y, x, y + 1, "edge"), Line(x + 1, y, x + 1, y + 1, "edge")]
        first = self._corner(self._known[0])
        name = f"{self._known[0][0]},{self._known[0][1]}"
        return [*shapes, Text(first[0] + 0.5, first[1] + 0.9, name, "faint", size=0.2)]

    def overlay(self, belief: Belief) -> list[Shape]:
        """The agent, and what else labels name, wherever they may be."""
        there: dict[tuple[int, _Cell], float] = defaultdict(float)
        for s, p in zip(belief.states.tolist(), belief.probabilities.tolist(), strict=True):
            for i, cell in enumerate(self._cells[s][: len(_ROLES)]):
                there[i, cell] += p
        shapes: list[Shape] = []
        for (i, cell), p in sorted(there.items(), reverse=True):  # the agent in front
            x, y = self._corner(cell)
            shapes.append(Circle(x + 0.5, y + 0.5, 0.25 + 0.1 * i, _ROLES[i], min(p, 1.0), f"{cell}: {p:.3g}"))
        return shapes

    def _corner(self, cell: _Cell) -> tuple[float, float]:
        return float(cell[0] - self._left), float(self._top - cell[1])


def grid_drawing(model: CPOMDP) -> Drawing | None:
    """The map of a model whose states name cells; None if some that has not ended names none, or it would be too wide.

    >>> import rcpomdp as rc
    >>> warehouse = grid_drawing(rc.problems.make("warehouse"))
    >>> warehouse.width, warehouse.height
    (24.0, 16.0)
    >>> grid_drawing(rc.problems.make("tiger")) is None
    True
    """
    return drawn(model, _grid)


def _grid(model: CPOMDP) -> GridDrawing | None:
    cells = [_cells(label) for label in model.states]
    ended = model.terminal
    if not any(cells) or any(not found and not ended[s] for s, found in enumerate(cells)):
        return None
    grid = GridDrawing(cells)
    return grid if max(grid.width, grid.height) <= _WIDEST else None


def _cells(label: Hashable) -> list[_Cell]:
    """The cells that a label names: pairs of whole numbers, one within another, or as texts."""
    if not isinstance(label, tuple):
        return [(int(x), int(y)) for x, y in _IN_TEXT.findall(str(label))]
    if len(label) >= 2 and all(type(entry) is int for entry in label[:2]):
        return [(label[0], label[1]), *(cell for entry in label[2:] for cell in _cells(entry))]
    return [cell for entry in label for cell in (_cells(entry) if isinstance(entry, tuple | str) else [])]
