"""The map of Tunnels: a hall, three tunnels, where the rover is and where rocks are likely."""

from __future__ import annotations

from collections import defaultdict

from ..model import CPOMDP
from ..model.beliefs import Belief
from ..views.drawing import Circle, Line, Rect, Shape, Text
from .tunnels import LAST_CELL, MAPS, OUT, PRIZE, ROCKY

_HALL = 1.2  # width of the hall, on the left
_GAP = 0.3  # between tunnels
_PRIZE = 1.1  # width of a prize, at the end of its tunnel
_EXIT = 0.6  # on the right, where the rover is once it is out: the state does not tell by which tunnel


class TunnelsDrawing:
    """Tunnel 1 on top, the hall on the left; rocky cells are red as far as they are believed to be."""

    width = _HALL + LAST_CELL + _PRIZE + _EXIT
    height = len(PRIZE) * (1 + _GAP) - _GAP

    def __init__(self, model: CPOMDP) -> None:
        self._places = [str(label).split() for label in model.states]  # place, then the terrain of each tunnel
        self._rocks = MAPS.get(model.name.removeprefix("tunnels-"), MAPS["constant"]).rocks

    def scene(self) -> list[Shape]:
        """Hall, cells and prizes."""
        shapes: list[Shape] = [Rect(0, 0, _HALL, self.height, "ground"), Text(_HALL / 2, 0.3, "hall", "faint")]
        for tunnel, prize in PRIZE.items():
            top = _top(tunnel)
            shapes.append(Rect(_HALL, top, LAST_CELL, 1, "ground"))
            shapes += [Line(_HALL + i, top, _HALL + i, top + 1, "edge") for i in range(1, LAST_CELL)]
            shapes += [Line(_HALL, top + i, _HALL + LAST_CELL, top + i, "edge") for i in range(2)]
            shapes.append(Rect(_HALL + LAST_CELL, top, _PRIZE, 1, "goal", 0.25, f"prize of tunnel {tunnel}"))
            shapes.append(Text(_HALL + LAST_CELL + 0.55, top + 0.5, f"+{prize:g}", "ink", size=0.28))
            shapes.append(Text(_HALL + 0.5, top + 0.17, f"tunnel {tunnel}", "faint", size=0.2))
        shapes.append(Text(self.width - _EXIT / 2, self.height / 2 - 0.4, "out", "faint", size=0.2))
        return shapes

    def overlay(self, belief: Belief) -> list[Shape]:
        """Rocks as far as they are likely, and the rover where it may be."""
        rocky = dict.fromkeys(ROCKY, 0.0)
        place: dict[str, float] = defaultdict(float)
        for s, p in zip(belief.states.tolist(), belief.probabilities.tolist(), strict=True):
            where, *terrain = self._places[s]
            place[where] += p
            for tunnel, seen in zip(ROCKY, terrain, strict=False):  # a run that is over has no terrain
                rocky[tunnel] += p * (seen == "rocky")
        shapes: list[Shape] = []
        alive = 1 - place[OUT]
        for tunnel, p in rocky.items() if alive > 1e-12 else ():
            shown = f"tunnel {tunnel}: rocky with probability {p / alive:.3g}"
            left, width = _HALL + self._rocks[0] - 1, len(self._rocks)
            shapes.append(Rect(left, _top(tunnel), width, 1, "hazard", round(0.6 * p / alive, 6), shown))
            middle = left + width / 2
            shapes.append(Text(middle, _top(tunnel) + 0.83, f"rocky {p / alive:.0%}", "ink", 1.0, shown, 0.22))
        for where, p in place.items():
            if p > 0:
                x, y = self._spot(where)
                shapes.append(Circle(x, y, 0.22, "agent", p, f"rover: {where}, {p:.3g}"))
        return shapes

    def _spot(self, where: str) -> tuple[float, float]:
        if where == OUT:
            return self.width - _EXIT / 2, self.height / 2
        if where == "hall":
            return _HALL / 2, self.height / 2
        _, tunnel, _, cell = where.split("-")
        return _HALL + int(cell) - 0.5, _top(int(tunnel)) + 0.5


def _top(tunnel: int) -> float:
    return (tunnel - 1) * (1 + _GAP)
