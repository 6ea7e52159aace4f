"""Pictures of runs: the steps are those of a run of the simulator, and the file shows it."""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

import rcpomdp as rc
from rcpomdp import cli
from rcpomdp.simulation.trajectory import trajectory
from rcpomdp.views.drawing import PALETTE, Circle, Line, Rect, Text
from rcpomdp.views.rendering import frame


def rgb(colour: str) -> tuple[int, int, int]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))  # type: ignore[return-value]  # three of them


def pixels(model: rc.CPOMDP, step: Any, drawing: Any) -> np.ndarray:
    canvas = FigureCanvasAgg(frame.draw(model, step, drawing))
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3]


def shows(picture: np.ndarray, role: str) -> int:
    """How many pixels have a role's colour."""
    return int((picture == rgb(PALETTE[role].light)).all(axis=2).sum())


class Doors:
    """A drawing with one shape of each kind."""

    width, height = 2.0, 1.0

    def scene(self) -> list[Any]:
        return [Rect(0, 0, 2, 1, "ground"), Line(1, 0, 1, 1, "edge"), Text(0.5, 0.2, "$left_", "ink")]

    def overlay(self, belief: rc.beliefs.Belief) -> list[Any]:
        here = zip(belief.states.tolist(), belief.probabilities.tolist(), strict=True)
        return [Circle(s + 0.5, 0.6, 0.2, "hazard", 1.0 if p == 0.5 else p) for s, p in here]


def test_a_drawing_is_put_where_it_belongs() -> None:
    model = rc.problems.make("tiger")
    first = trajectory(model, rc.policies.blind(model, "listen"), 1)[0]
    picture = pixels(model, first, Doors())
    height, width = picture.shape[:2]
    assert (width, height) == frame.SIZE
    red = (picture == rgb(PALETTE["hazard"].light)).all(axis=2)
    # The map fills 2 to 62 % of the width, its cells are square, and the circles are 0.6 down of 1.
    cell = 0.30 * width
    for left in (0, 1):
        part = red[:, int(0.02 * width + left * cell) : int(0.02 * width + (left + 1) * cell)]
        assert part.sum() == pytest.approx(np.pi * (0.2 * cell) ** 2, rel=0.05)
        rows, columns = np.nonzero(part)
        assert columns.mean() == pytest.approx(cell / 2, abs=2)
        assert rows.mean() == pytest.approx(height / 2 + 0.1 * cell, abs=2)


def test_the_gauge_shows_what_is_spent_and_turns_red() -> None:
    model = rc.problems.make("ce")
    run = trajectory(model, rc.policies.blind(model, "tunnel-A"), seed=0)
    assert run[1].cost[0] == pytest.approx(2, abs=1e-4)
    assert shows(pixels(model, run[0], None), "goal") == 0
    assert shows(pixels(model, run[1], None), "goal") > 500
    gamble = rc.policies.blind(model, "tunnel-A")
    rocky = next(run for seed in range(20) if (run := trajectory(model, gamble, seed=seed))[1].cost[0] > 7)
    over = pixels(model, rocky[1], None)
    assert shows(over, "hazard") > 500
    assert shows(over, "goal") == 0
    free = model.with_budget(None)
    assert shows(pixels(free, rocky[1], None), "hazard") == 0


def test_no_costs_and_many_costs() -> None:
    model = rc.problems.make("tiger")
    plain = model.scalarised([0.0])
    assert pixels(plain, trajectory(plain, rc.policies.blind(plain, 0), 2)[0], Doors()).std() > 0
    six = rc.CPOMDP(
        transition=[np.eye(2)],
        observation=[np.full((2, 1), 1.0)],
        reward=[[1], [1]],
        cost=np.ones((6, 2, 1)),
        initial_belief=[0.5, 0.5],
        discount=0.5,
        budget=[3, 3, 3, None, 3, 3],
    )
    assert shows(pixels(six, trajectory(six, rc.policies.blind(six, 0), 2)[1], Doors()), "agent") > 1000


@pytest.mark.parametrize("name", ["crs-4-4", "tunnels"])
def test_built_in_maps_show_the_rover(name: str) -> None:
    model = rc.problems.make(name)
    drawing = rc.problems.get(name).draw(model)
    picture = pixels(model, trajectory(model, rc.policies.RandomPolicy(model), 1)[0], drawing)
    map_ = picture[:, : int(0.62 * frame.SIZE[0])]
    assert shows(map_, "agent") > 300
    assert shows(map_, "ground") > 20_000


def test_a_gif_has_a_frame_a_step(tmp_path: Path) -> None:
    model = rc.problems.make("tunnels")
    drawing = rc.problems.get("tunnels").draw(model)
    run = rc.render(model, rc.policies.blind(model, "right"), tmp_path / "run.gif", drawing, steps=4)
    with Image.open(tmp_path / "run.gif") as film_:
        assert film_.n_frames == len(run) == 5
        assert film_.size == frame.SIZE
    again = tmp_path / "again.GIF"
    rc.render(model, rc.policies.blind(model, "right"), again, drawing, steps=4)
    assert again.read_bytes() == (tmp_path / "run.gif").read_bytes()


@pytest.mark.parametrize(("steps", "columns", "rows"), [(1, 2, 1), (4, 3, 2)])
def test_a_png_shows_all_steps(tmp_path: Path, steps: int, columns: int, rows: int) -> None:
    model = rc.problems.make("tiger")
    rc.render(model, rc.policies.blind(model, "listen"), tmp_path / "run.png", steps=steps)
    with Image.open(tmp_path / "run.png") as sheet:
        width = min(frame.SIZE[0], 2100 // columns)
        height = width * frame.SIZE[1] // frame.SIZE[0]
        assert sheet.size == (columns * (width + 2) + 2, rows * (height + 2) + 2)


def words(figure: Any) -> list[Any]:
    return [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]


@pytest.mark.parametrize("drawing", [None, Doors()])
def test_long_labels_are_cut_to_the_room_there_is(drawing: Any) -> None:
    long = "WWW " * 60
    arrays = {"transition": [np.eye(2)], "observation": [np.ones((2, 1))], "reward": np.zeros((2, 1))}
    labels = {"states": [f"s{long}", "iiii" * 40], "actions": [long], "observations": [long], "costs": [long]}
    start = {"initial_belief": [0.5, 0.5], "discount": 0.5, "budget": 3}
    model = rc.CPOMDP(**arrays, **labels, **start, cost=np.ones((1, 2, 1)), name=f"$\\frac{{$ {long}")
    for step in trajectory(model, rc.policies.blind(model, 0), 2):
        figure = frame.draw(model, step, drawing)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        boxes = [text.get_window_extent() for text in words(figure) if text.get_text()]
        assert all(box.x0 >= 0 and box.x1 <= frame.SIZE[0] for box in boxes)
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_a_run_that_is_cut_is_not_called_ended() -> None:
    def last(name: str, action: str, steps: int) -> list[str]:
        model = rc.problems.make(name)
        step = trajectory(model, rc.policies.blind(model, action), steps)[-1]
        return [text.get_text() for text in words(frame.draw(model, step, None))]

    assert "– (after 6 steps)" in last("tiger", "listen", 6)
    assert "– (after 1 step)" in last("tiger", "listen", 1)
    assert "– (the end)" in last("ce", "tunnel-B", 6)


def test_labels_of_any_kind(tmp_path: Path) -> None:
    model = rc.CPOMDP(
        transition=[np.eye(3)],
        observation=[np.ones((3, 1))],
        reward=np.zeros((3, 1)),
        initial_belief=[0.2, 0.3, 0.5],
        discount=0.5,
        states=["$\\frac{", ("a", 1), "\U0001f916 状态"],
        actions=["x" * 500],
        name="50 % $off$",
    )
    rc.render(model, rc.policies.blind(model, 0), tmp_path / "run.png", steps=1)
    assert (tmp_path / "run.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"out": "run.mp4"}, "cannot draw to 'run.mp4': the name must end in .gif or .png"),
        ({"steps": 0}, "steps must be a whole number between 1 and 200, not 0"),
        ({"steps": 201}, "steps must be a whole number between 1 and 200, not 201"),
        ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ({"drawing": 3}, "3 is no drawing: it lacks width, height, scene or overlay"),
    ],
)
def test_bad_input(change: dict[str, Any], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = rc.problems.make("tiger")
    with pytest.raises(rc.InputError) as error:
        rc.render(model, rc.policies.blind(model, 0), **{"out": "run.gif", **change})
    assert str(error.value) == sentence
    assert list(tmp_path.iterdir()) == []


def test_a_drawing_needs_room(tmp_path: Path) -> None:
    class Flat(Doors):
        height = 0.0

    model = rc.problems.make("tiger")
    with pytest.raises(rc.InputError, match="the drawing is 2 wide and 0 high; both must be above 0"):
        rc.render(model, rc.policies.blind(model, 0), tmp_path / "run.gif", Flat())


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        (Rect(0, 0, 1, 1, "hazzard"), "has the role 'hazzard'; did you mean 'hazard'?"),
        (Rect(0, 0, -1, 1, "hazard"), "has the width -1, which is below 0"),
        (Circle(0, float("nan"), 1, "hazard"), "has the y nan, which is not a finite number"),
        (Line(0, 0, "1", 1, "hazard"), "has the x2 '1', which is not a finite number"),  # type: ignore[arg-type]  # so
        (Circle(0, 0, 1, "hazard", float("inf")), "has the strength inf, which is not a finite number"),
        (Text(0, 0, 7, "ink"), "has the text 7, which is not a string"),  # type: ignore[arg-type]  # so
        ((0, 0, 1, 1, "hazard"), "is (0, 0, 1, 1, 'hazard'), not a Rect, Circle, Line or Text"),
    ],
)
@pytest.mark.parametrize("where", ["scene", "overlay"])
def test_a_shape_that_cannot_be_drawn_is_named(tmp_path: Path, shape: Any, sentence: str, where: str) -> None:
    drawing = Doors()
    setattr(drawing, where, lambda *belief: [Rect(0, 0, 1, 1, "ground"), shape])
    model = rc.problems.make("tiger")
    listen = rc.policies.blind(model, 0)
    for draw in (
        lambda: rc.render(model, listen, tmp_path / "run.gif", drawing),
        lambda: rc.explore(listen, model, tmp_path / "page.html", drawing=drawing),
    ):
        with pytest.raises(rc.ProblemError) as error:
            draw()
        assert str(error.value).startswith(f"shape 2 of the drawing's {where}")
        assert sentence in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_any_kind_are_drawn_alike(tmp_path: Path) -> None:
    class Numpy(Doors):
        def scene(self) -> list[Any]:
            return [Rect(np.float32(0.5), np.int64(0), 1, 1, "ground", np.float64(1 + 1e-9))]

    model = rc.problems.make("tiger")
    listen = rc.policies.blind(model, 0)
    rc.render(model, listen, tmp_path / "run.png", Numpy(), steps=1)
    rc.explore(listen, model, tmp_path / "page.html", drawing=Numpy(), most_nodes=2)
    assert '["rect",0.5,0,1,1,"ground",1,""]' in (tmp_path / "page.html").read_text()


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rcpomdp", "render", *words])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        return int(exit_.value.code or 0), *capsys.readouterr()

    monkeypatch.chdir(tmp_path)
    model = rc.problems.make("tunnels", p_correct=0.95)
    problem = {"name": "tunnels", "parameters": {"p_correct": 0.95}}
    rc.save_policy("right.rcp", rc.policies.blind(model, "right"), model, None, problem)
    code, out, _ = command("--policy", "right.rcp", "--out", "run.gif", "--steps", "2", "--json")
    told = json.loads(out)
    assert (code, told["problem"], told["steps"], told["map"]) == (0, "tunnels", 2, True)
    with Image.open("run.gif") as picture:
        assert picture.n_frames == 3
    code, out, _ = command("ce", "--policy", "blind:tunnel-B", "--out", "ce.png")
    assert code == 0
    assert out == (
        "ce.png: 1 step of ce by blind:tunnel-B, seed 0, reward 10 (the problem has no map: its belief is drawn)\n"
    )
    code, out, err = command("--policy", "random", "--out", "no.png")
    assert (code, out) == (2, "")
    assert "policy 'random' names no problem" in err
    code, out, err = command("ce", "--policy", "random", "--out", "no/where.png")
    assert (code, out) == (2, "")
    assert "No such file or directory" in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ce.png", "right.rcp", "run.gif"]


def test_model_and_policy_in_the_wrong_order_are_told(tmp_path: Path) -> None:
    model = rc.problems.make("tiger")
    with pytest.raises(rc.PolicyError, match="is no policy: it lacks initial, action or update"):
        rc.render(rc.policies.blind(model, "listen"), model, tmp_path / "run.gif")  # type: ignore[arg-type]  # on purpose
    assert list(tmp_path.iterdir()) == []
