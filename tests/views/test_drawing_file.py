"""Drawings from files: what they show, and what is wrong with them in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.errors import InputError
from rcpomdp.model.beliefs import Belief
from rcpomdp.views.drawing import Circle, Rect, Text
from rcpomdp.views.drawing_file import drawing_beside, load_drawing

MODEL = rc.problems.make("tiger")
DOORS: dict[str, Any] = {
    "width": 2,
    "height": 1,
    "scene": [{"rect": [0, 0, 2, 1], "role": "ground"}, {"text": [1, 0.9, "doors"], "role": "faint", "size": 0.2}],
    "states": {
        "tiger-left": {"circle": [0.5, 0.5, 0.3], "role": "hazard", "title": "tiger"},
        "tiger-*": [{"rect": [0, 0, 0.1, 0.1], "role": "agent", "strength": 0.5}],
    },
}


def written(folder: Path, given: Any) -> Path:
    path = folder / "tiger.drawing.json"
    path.write_text(given if isinstance(given, str) else json.dumps(given))
    return path


def test_shapes_are_as_strong_as_their_states_are_likely(tmp_path: Path) -> None:
    drawing = load_drawing(written(tmp_path, DOORS), MODEL)
    assert (drawing.width, drawing.height) == (2, 1)
    assert drawing.scene() == [Rect(0, 0, 2, 1, "ground"), Text(1, 0.9, "doors", "faint", size=0.2)]
    belief = Belief(np.array([0, 1]), np.array([0.25, 0.75]))
    assert drawing.overlay(belief) == [
        Circle(0.5, 0.5, 0.3, "hazard", 0.25, "tiger: 0.25"),
        Rect(0, 0, 0.1, 0.1, "agent", 0.5, "tiger-*: 1"),
    ]
    assert len(drawing.overlay(Belief(np.array([1]), np.array([1.0])))) == 1


def changed(key: str, value: Any) -> dict[str, Any]:
    return {**DOORS, key: value}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("{", "it is no JSON: "),
        ("[" * 100_000, "it is no JSON: "),
        ([], "it is no JSON object"),
        ({}, "it has no width"),
        (changed("width", "wide"), "the drawing's width is 'wide', not a finite number"),
        (changed("height", 0), "both must be above 0"),
        (
            changed("scenes", []),
            "it has 'scenes', which is none of width, height, scene, states; did you mean 'scene'?",
        ),
        (changed("scene", {}), "the scene is {}, not a list of shapes"),
        (changed("scene", ["rect"]), "shape 1 of the scene is 'rect', which names no one kind of shape"),
        (changed("scene", [{"rect": [0, 0]}]), "shape 1 of the scene has the rect [0, 0], not [x, y, width, height]"),
        (changed("scene", [{"line": [0, 0, 1, 1]}]), "shape 1 of the scene has no role"),
        (changed("scene", [{"rect": [0, 0, 1, -1], "role": "ink"}]), "has the height -1, which is below 0"),
        (changed("states", []), "states is no JSON object of shapes by label"),
        (
            changed("states", {"tiger-lft": []}),
            "no state of the model is called 'tiger-lft'; did you mean 'tiger-left'?",
        ),
        (changed("states", {"*": {"circle": [0, 0, 1], "role": "blue"}}), "state '*', Circle("),
        (changed("states", {"*": {"circle": [0, 0, 1], "role": "ink", "colour": 1}}), "has 'colour', which is none of"),
        (changed("states", {"*": {"circle": [0, 0, float("nan")], "role": "ink"}}), "not a finite number"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(tmp_path: Path, given: Any, sentence: str) -> None:
    path = written(tmp_path, given)
    with pytest.raises(InputError) as refused:
        load_drawing(path, MODEL)
    assert str(refused.value).startswith(f"drawing {str(path)!r}: ")
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_horizon_changes_no_labels(tmp_path: Path) -> None:
    path, timed = written(tmp_path, DOORS), MODEL.with_horizon(4)
    drawing, plain = load_drawing(path, timed), load_drawing(path, MODEL)
    later = Belief(np.array([timed.states.index((label, 3)) for label in MODEL.states]), np.array([0.25, 0.75]))
    assert drawing.overlay(later) == plain.overlay(Belief(np.array([0, 1]), np.array([0.25, 0.75])))
    assert drawing.overlay(Belief(np.array([timed.n_states - 1]), np.array([1.0]))) == []
    known = timed.with_initial_belief({"tiger-left": 1.0}).with_horizon(1)  # tiger-right is not met
    assert load_drawing(path, known).overlay(rc.beliefs.initial(known))[0].strength == 1
    with pytest.raises(InputError, match="called 'tiger-lft'; did you mean 'tiger-left'"):
        load_drawing(written(tmp_path, changed("states", {"tiger-lft": []})), timed)


def test_the_command_line_takes_the_drawing_beside_a_model_file(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rc.save_model("tiger.pomdp", MODEL)
    words = ("render", "tiger.pomdp", "--policy", "blind:listen", "--out", "run.png", "--steps", "1", "--json")
    assert drawing_beside("tiger.pomdp", MODEL) is None
    assert json.loads(run(*words)[1])["map"] is False
    written(tmp_path, DOORS)
    assert json.loads(run(*words)[1])["map"] is True
    assert json.loads(run(*words, "-p", "horizon=4")[1])["map"] is True
    written(tmp_path, changed("height", -1))
    Path("run.png").unlink()
    code, out, told = run(*words)
    assert (code, out) == (2, "")
    assert told.startswith("rcpomdp: drawing 'tiger.drawing.json': ")
    assert not Path("run.png").exists()
