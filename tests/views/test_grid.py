"""Maps of models whose states are called by cells."""

from __future__ import annotations

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.model.beliefs import Belief
from rcpomdp.views.drawing import Circle, check_drawing, checked_overlay, checked_scene
from rcpomdp.views.grid import grid_drawing


def corridor(labels: list[object]) -> rc.CPOMDP:
    """A model with these states, each of which keeps to itself and earns."""
    return rc.CPOMDP.from_functions(
        labels, ["stay"], ["nothing"], lambda s, a: {s: 1.0}, lambda a, s: {"nothing": 1.0}, lambda s, a: 1.0
    )


@pytest.mark.parametrize("name", ["warehouse", "patrol", "tag"])
def test_problems_without_a_drawing_get_a_map(name: str) -> None:
    model = rc.problems.make(name)
    drawing = grid_drawing(model)
    check_drawing(drawing)
    assert drawing is not None
    assert checked_scene(drawing)
    circles = [shape for shape in checked_overlay(drawing, rc.beliefs.initial(model)) if isinstance(shape, Circle)]
    agent = sum(circle.strength for circle in circles if circle.role == "agent")
    assert agent == pytest.approx(1.0)
    assert all(0 <= circle.x <= drawing.width and 0 <= circle.y <= drawing.height for circle in circles)


def test_the_time_of_a_horizon_is_no_coordinate() -> None:
    assert grid_drawing(corridor([0, 1, 2]).with_horizon(2)) is None
    drawing = grid_drawing(corridor([(0, 0), (2, 1)]).with_horizon(5))
    assert drawing is not None
    assert (drawing.width, drawing.height) == (3.0, 2.0)


def test_tuples_are_cells_and_y_goes_up() -> None:
    drawing = grid_drawing(corridor([(0, 0), (2, 1), (2, 1, "wet")]))
    assert drawing is not None
    assert (drawing.width, drawing.height) == (3.0, 2.0)
    low = drawing.overlay(Belief(np.array([0]), np.array([1.0])))
    assert [(shape.x, shape.y) for shape in low if isinstance(shape, Circle)] == [(0.5, 1.5)]


@pytest.mark.parametrize("labels", [["left", "right"], [(0, 0), "home"], [(0, 0), (90, 0)], [(0.5, 1.0), (1.5, 1.0)]])
def test_what_names_no_cells_has_no_map(labels: list[object]) -> None:
    assert grid_drawing(corridor(labels)) is None
