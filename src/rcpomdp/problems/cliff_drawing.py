"""The map of Cliff: the lanes, the sea below them, the rover, and the ground as far as it is believed to be loose."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

from ..model import CPOMDP
from ..model.beliefs import Belief
from ..views.drawing import Circle, Line, Rect, Shape, Text
from .cliff import FALLEN, GOAL, HOME, LANES, LENGTH, place_name

_SEA = 0.8  # below the edge


class CliffDrawing:
    """Lane 3 on top, the edge and the sea below; the ground is as red as it is believed to be loose."""

    width, height = float(LENGTH), LANES + _SEA

    def __init__(self, model: CPOMDP) -> None:
        self._places = [str(state).split() for state in model.states]  # place, then ground; or how the run ended
        self._spots = {
            place_name((x, lane)): (x - 0.5, LANES - lane + 0.5)
            for x, lane in product(range(1, LENGTH + 1), range(1, LANES + 1))
        }

    def scene(self) -> list[Shape]:
        """Lanes, home and the edge."""
        shapes: list[Shape] = [Rect(0, 0, LENGTH, LANES, "ground")]
        shapes += [Line(x, 0, x, LANES, "edge") for x in range(LENGTH + 1)]
        shapes += [Line(0, y, LENGTH, y, "edge") for y in range(LANES)]
        shapes.append(Line(0, LANES, LENGTH, LANES, "ink", 1.0, "the edge", 0.06))
        shapes.append(Rect(GOAL[0] - 1, LANES - 1, 1, 1, "goal", 0.25, HOME))
        shapes.append(Text(GOAL[0] - 0.5, LANES - 0.15, HOME, "faint", size=0.2))
        shapes.append(Text(LENGTH / 4, LANES + _SEA / 2, "sea", "faint", size=0.22))
        return shapes

    def overlay(self, belief: Belief) -> list[Shape]:
        """The ground, and the rover where it may be."""
        place: dict[str, float] = defaultdict(float)
        loose = 0.0
        for s, p in zip(belief.states.tolist(), belief.probabilities.tolist(), strict=True):
            where, *ground = self._places[s]
            place[where] += p
            loose += p * (ground == ["loose"])
        shapes: list[Shape] = []
        alive = 1 - place[HOME] - place[FALLEN]
        if alive > 1e-12:
            p = min(loose / alive, 1.0)
            shown = f"ground: loose with probability {p:.3g}"
            shapes.append(Rect(0, 0, LENGTH, LANES, "hazard", round(0.4 * p, 6), shown))
            shapes.append(Text(LENGTH / 2, LANES + _SEA / 2, f"loose {p:.0%}", "ink", 1.0, shown, 0.22))
        for where, p in place.items():
            if p > 0:
                x, y = self._spot(where)
                shapes.append(Circle(x, y, 0.22, "agent", min(p, 1.0), f"rover: {where}, {p:.3g}"))
        return shapes

    def _spot(self, where: str) -> tuple[float, float]:
        if where == FALLEN:  # the state does not tell from where
            return LENGTH - 0.5, LANES + _SEA / 2
        return self._spots[place_name(GOAL) if where == HOME else where]
