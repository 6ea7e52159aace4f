"""The map of Drone: the grid, the base, the drone, and the fields as far as the hiker is believed to be there."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

from ..model import CPOMDP
from ..model.beliefs import Belief
from ..views.drawing import Circle, Line, Rect, Shape, Text
from .drone import BASE, FIELDS, FOUND, HEIGHT, OVER, WIDTH, Cell, place_name

_LAND = 0.9  # on the right, where the drone is once it has landed: the state does not tell where


class DroneDrawing:
    """North is up; a field is as strong in colour as it is likely that the hiker is there."""

    width, height = WIDTH + _LAND, float(HEIGHT)

    def __init__(self, model: CPOMDP) -> None:
        names = {place_name(cell): cell for cell in product(range(1, WIDTH + 1), range(1, HEIGHT + 1))}
        # Of each state, where the drone is, and where the hiker is; neither once the run is over.
        self._places: list[tuple[Cell | None, str]] = []
        for state in model.states:
            cell, _, hiker = str(state).partition(" ")
            self._places.append((names.get(cell), hiker))

    def scene(self) -> list[Shape]:
        """Cells, fields and the base."""
        shapes: list[Shape] = [Rect(0, 0, WIDTH, HEIGHT, "ground")]
        shapes += [Line(x, 0, x, HEIGHT, "edge") for x in range(WIDTH + 1)]
        shapes += [Line(0, y, WIDTH, y, "edge") for y in range(HEIGHT + 1)]
        x, y = _middle(BASE)
        shapes.append(Rect(x - 0.42, y - 0.42, 0.84, 0.84, "goal", 0.25, "base"))
        shapes.append(Text(x, y + 0.33, "base", "faint", size=0.2))
        shapes += [Text(x, y - 0.33, "field", "faint", size=0.2) for x, y in map(_middle, FIELDS)]
        shapes.append(Text(WIDTH + _LAND / 2, HEIGHT / 2 - 0.45, OVER, "faint", size=0.2))
        return shapes

    def overlay(self, belief: Belief) -> list[Shape]:
        """The hiker where it may be, and the drone."""
        drone: dict[Cell | None, float] = defaultdict(float)
        hikers: dict[str, float] = defaultdict(float)
        for s, p in zip(belief.states.tolist(), belief.probabilities.tolist(), strict=True):
            cell, hiker = self._places[s]
            drone[cell] += p
            hikers[hiker] += p
        shapes: list[Shape] = []
        for field in FIELDS:
            if (p := hikers[place_name(field)]) > 0:
                x, y = _middle(field)
                shown = f"hiker in {place_name(field)} with probability {p:.3g}"
                shapes.append(Rect(x - 0.42, y - 0.42, 0.84, 0.84, "good", round(0.7 * min(p, 1.0), 6), shown))
                shapes.append(Text(x, y + 0.33, f"{p:.0%}", "ink", 1.0, shown, 0.22))
        for cell, p in drone.items():
            x, y = (WIDTH + _LAND / 2, HEIGHT / 2) if cell is None else _middle(cell)
            shapes.append(
                Circle(x, y, 0.2, "agent", min(p, 1.0), f"drone: {place_name(cell) if cell else OVER}, {p:.3g}")
            )
        if (p := hikers[FOUND]) > 0:
            shapes.append(Text(WIDTH + _LAND / 2, 0.3, FOUND, "good", min(p, 1.0), "the hiker is found", 0.25))
        return shapes


def _middle(cell: Cell) -> tuple[float, float]:
    return cell[0] - 0.5, HEIGHT - cell[1] + 0.5
