"""Drawings show what a belief says."""

from __future__ import annotations

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.errors import ProblemError
from rcpomdp.problems.layouts import LAYOUTS
from rcpomdp.problems.tiger import tiger
from rcpomdp.views import drawing


def drawn(name: str) -> tuple[rc.CPOMDP, drawing.Drawing]:
    model = rc.problems.make(name)
    found = rc.problems.get(name).draw(model)
    assert found is not None
    return model, found


@pytest.mark.parametrize("name", ["tunnels", "rocksample", "crs-5-7", "rs-7-8", "drone", "cliff"])
def test_all_shapes_lie_inside_and_have_a_colour(name: str) -> None:
    model, found = drawn(name)
    belief = rc.beliefs.initial(model)
    for action in range(model.n_actions):
        belief = rc.beliefs.branches(model, belief, action)[0].belief
        for shape in [*found.scene(), *found.overlay(belief)]:
            assert shape.role in drawing.PALETTE
            assert 0 <= shape.strength <= 1 + 1e-12
            x, y = (shape.x1, shape.y1) if isinstance(shape, drawing.Line) else (shape.x, shape.y)
            assert 0 <= x <= found.width
            assert 0 <= y <= found.height


@pytest.mark.parametrize("name", ["crs-4-4", "crs-5-7", "crs-7-8", "rs-5-7"])
def test_rocks_are_found_where_the_layout_puts_them(name: str) -> None:
    _, found = drawn(name)
    assert found.rocks == LAYOUTS[name]["rocks"]  # type: ignore[attr-defined]  # of this drawing
    assert found.n == LAYOUTS[name]["n"]  # type: ignore[attr-defined]


def test_a_rock_is_as_green_as_it_is_believed_good() -> None:
    model, found = drawn("crs-4-4")
    belief = rc.beliefs.update(model, rc.beliefs.initial(model), "check-2", "good")
    rocks = [s for s in found.overlay(belief) if isinstance(s, drawing.Rect) and s.role == "good"]
    accuracy = 0.5 * (1 + 2 ** (-np.hypot(2, 2) / 20))
    assert [rock.width / 0.72 for rock in rocks] == pytest.approx([0.5, accuracy, 0.5])
    rover = [s for s in found.overlay(belief) if isinstance(s, drawing.Circle)]
    assert [(s.x, s.y, s.strength) for s in rover] == [(pytest.approx(0.46), pytest.approx(4.42), pytest.approx(1.0))]


def test_rocky_tunnels_are_as_red_as_believed() -> None:
    model, found = drawn("tunnels")
    belief = rc.beliefs.initial(model)
    assert [s.text for s in found.overlay(belief) if isinstance(s, drawing.Text)] == ["rocky 80%", "rocky 40%"]
    seen = rc.beliefs.update(model, belief, "forward", "clear-2")
    texts = [s.text for s in found.overlay(seen) if isinstance(s, drawing.Text)]
    assert texts == ["rocky 80%", f"rocky {0.4 * 0.2 / (0.4 * 0.2 + 0.6 * 0.8):.0%}"]


@pytest.mark.parametrize(("name", "first"), [("constant", 2), ("rising", 3)])
def test_rocks_of_tunnels_are_where_the_map_has_them(name: str, first: int) -> None:
    model = rc.problems.make("tunnels", map=name)
    found = rc.problems.get("tunnels").draw(model)
    assert found is not None
    rocks = [s for s in found.overlay(rc.beliefs.initial(model)) if isinstance(s, drawing.Rect)]
    hall = next(s for s in found.scene() if isinstance(s, drawing.Rect)).width
    assert [(rock.x, rock.width) for rock in rocks] == [(hall + first - 1, 2)] * 2


def test_fields_are_as_green_as_the_hiker_is_likely_there() -> None:
    model, found = drawn("drone")
    belief = rc.beliefs.initial(model)

    def fields(belief: rc.beliefs.Belief) -> dict[tuple[float, float], float]:
        greens = [s for s in found.overlay(belief) if isinstance(s, drawing.Rect)]
        return {(s.x + 0.42, s.y + 0.42): s.strength / 0.7 for s in greens}

    expected = {(0.5, 0.5): 0.1, (2.5, 0.5): 0.2, (2.5, 2.5): 0.3, (3.5, 0.5): 0.4}
    assert fields(belief) == pytest.approx(expected, abs=1e-5)
    for there in ("(2,1)", "(3,1)"):
        belief = rc.beliefs.update(model, belief, "east", there)
    missed = rc.beliefs.update(model, belief, "look", "(3,1)")
    assert fields(missed)[2.5, 2.5] == pytest.approx(0.06 / 0.76, abs=1e-5)
    seen = rc.beliefs.update(model, belief, "look", "(3,1) found")
    assert fields(seen) == {}
    assert [s.text for s in found.overlay(seen) if isinstance(s, drawing.Text)] == ["found"]
    landed = rc.beliefs.update(model, seen, "land", "landed")
    (drone,) = [s for s in found.overlay(landed) if isinstance(s, drawing.Circle)]
    assert drone.x > 4


def test_ground_is_as_red_as_it_is_believed_loose() -> None:
    model, found = drawn("cliff")
    belief = rc.beliefs.initial(model)
    for told, p in (("loose", 0.36 / 0.42), ("firm", 0.04 / 0.58)):
        probed = rc.beliefs.update(model, belief, "probe", told)
        ground, rover = [s for s in found.overlay(probed) if not isinstance(s, drawing.Text)]
        assert ground.strength == pytest.approx(0.4 * p, abs=1e-5)
        assert (rover.x, rover.y) == (0.5, 2.5)  # type: ignore[union-attr]  # it is a circle
    fallen = rc.beliefs.update(model, belief, "east", "fallen")
    (rover,) = found.overlay(fallen)
    assert rover.y > 3  # type: ignore[union-attr]


def test_problems_without_a_drawing_have_none_and_bad_hooks_are_named() -> None:
    assert rc.problems.get("tiger").draw(rc.problems.make("tiger")) is None
    for hook, complaint in [
        (lambda model: "a picture", "is drawn by 'a picture', which is no Drawing"),
        ("rcpomdp.nowhere:Map", "has no drawing 'rcpomdp.nowhere:Map'"),
    ]:
        problem = rc.problems.Problem("odd", "", tiger, drawing=hook)  # type: ignore[arg-type]  # that is the point
        with pytest.raises(ProblemError, match=complaint):
            problem.draw(problem.make())


@pytest.mark.parametrize("name", ["crs-4-4", "tunnels", "cliff"])
def test_a_horizon_changes_nothing_but_that_the_map_is_bare_after_it(name: str) -> None:
    model, found = drawn(name)
    short = model.with_horizon(2)
    timed = rc.problems.get(name).draw(short)
    assert timed is not None
    assert list(timed.scene()) == list(found.scene())
    assert list(timed.overlay(rc.beliefs.initial(short))) == list(found.overlay(rc.beliefs.initial(model)))
    assert list(timed.overlay(rc.beliefs.Belief(np.array([short.n_states - 1]), np.ones(1)))) == []
