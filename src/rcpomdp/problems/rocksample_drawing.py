"""RockSample's map: the rover's cell, and how likely each rock is good."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..model import CPOMDP
from ..model.beliefs import Belief
from ..views.drawing import Circle, Line, Rect, Shape, Text
from .rocksample import ACTIONS, SAMPLE

_EXIT = 0.8  # width of the strip in the east that ends the run


class RockSampleDrawing:
    """The map as a grid, north up; a rock is green as far as it is believed good, brown as far as bad.

    >>> import rcpomdp as rc
    >>> drawing = RockSampleDrawing(rc.problems.make("crs-4-4"))
    >>> drawing.n, drawing.rocks
    (5, ((1, 1), (3, 3), (4, 4)))
    """

    def __init__(self, model: CPOMDP) -> None:
        self.k = model.n_actions - len(ACTIONS)
        self.n = math.isqrt((model.n_states - 1) >> self.k)
        # With all rocks good, sampling turns bad the one that is there: so the model tells where they are.
        every_good = np.arange(1, self.n * self.n + 1) * 2**self.k - 1
        sampled = model.transition[SAMPLE].indices[every_good]
        cell_of = {
            int(every_good[c] - sampled[c]).bit_length() - 1: int(c) for c in np.flatnonzero(sampled - every_good)
        }
        self.rocks = tuple((cell_of[i] % self.n + 1, cell_of[i] // self.n + 1) for i in range(self.k))
        self.width, self.height = self.n + _EXIT, float(self.n)

    def scene(self) -> list[Shape]:
        """Cells, the way out, and where the rocks lie."""
        n = self.n
        shapes: list[Shape] = [Rect(0, 0, n, n, "ground"), Rect(n, 0, _EXIT, n, "goal", 0.25, "exit")]
        shapes += [Line(i, 0, i, n, "edge") for i in range(n + 1)]
        shapes += [Line(0, i, n, i, "edge") for i in range(n + 1)]
        shapes.append(Text(n + _EXIT / 2, n / 2, "exit", "ink", size=0.24))
        return shapes

    def overlay(self, belief: Belief) -> list[Shape]:
        """The rover where it may be, and the rocks as they are believed to be."""
        cell, config = np.divmod(belief.states, 2**self.k)
        p: Any = belief.probabilities
        there = np.bincount(cell, weights=p, minlength=self.n**2 + 1)
        alive = float(there[:-1].sum())
        shapes: list[Shape] = []
        for i, rock in enumerate(self.rocks):
            x, y = self._centre(*rock)
            good = float(p[(cell < self.n**2) & (config >> i & 1 == 1)].sum()) / alive if alive > 0 else 0.0
            known = f"rock {i + 1} at {rock}: good with probability {good:.3g}"
            if alive > 0:
                shapes += [
                    Rect(x - 0.36, y + 0.2, 0.72, 0.16, "bad", 1.0, known),
                    Rect(x - 0.36, y + 0.2, 0.72 * good, 0.16, "good", 1.0, known),
                ]
            shapes.append(Text(x + 0.28, y - 0.3, str(i + 1), "faint", 1.0, known, 0.22))
        for c in np.flatnonzero(there[:-1]).tolist():
            x, y = self._centre(c % self.n + 1, c // self.n + 1)
            shown = f"rover at ({c % self.n + 1}, {c // self.n + 1}): {there[c]:.3g}"
            shapes.append(Circle(x - 0.04, y - 0.08, 0.2, "agent", float(there[c]), shown))
        if there[-1] > 0:
            left = f"rover has left: {there[-1]:.3g}"
            shapes.append(Circle(self.n + _EXIT / 2, self.n / 2 - 0.5, 0.2, "agent", float(there[-1]), left))
        return shapes

    def _centre(self, x: int, y: int) -> tuple[float, float]:
        """Of a cell, whose y counts north from 1."""
        return x - 0.5, self.n - y + 0.5
