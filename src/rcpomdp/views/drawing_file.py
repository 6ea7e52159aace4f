"""A drawing as a small file beside a model file: ``tiger.drawing.json`` draws ``tiger.pomdp``.

The file is a JSON object: ``width`` and ``height``; ``scene``, a list of shapes that are always there; and ``states``,
shapes by the states that show them. A shape names its kind and place, ``{"circle": [0.5, 0.5, 0.3], "role": "agent"}``,
and whatever else the shapes of `drawing` have. A key of ``states`` is a label, in which ``*`` stands for any text; its
shapes are as strong as it is likely that the state is called so. Under a horizon the time is no part of the label.
"""

from __future__ import annotations

import json
import os
import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._types import BoolArray
from ..errors import InputError, did_you_mean
from .drawing import Circle, Drawing, Line, Rect, Shape, Text, check_drawing, checked_shapes
from .untimed import drawn

if TYPE_CHECKING:
    from ..model import CPOMDP
    from ..model.beliefs import Belief

ENDING = ".drawing.json"
_LARGEST = 4_000_000  # bytes
_PLACES: dict[str, tuple[type[Shape], tuple[str, ...]]] = {
    "rect": (Rect, ("x", "y", "width", "height")),
    "circle": (Circle, ("x", "y", "radius")),
    "line": (Line, ("x1", "y1", "x2", "y2")),
    "text": (Text, ("x", "y", "text")),
}


class _Shown(NamedTuple):
    """A shape, and the states that show it."""

    key: str
    shape: Shape
    states: BoolArray  # [S]


class FileDrawing:
    """What a file draws of a model."""

    def __init__(self, width: float, height: float, scene: list[Shape], shown: list[_Shown]) -> None:
        self.width, self.height = width, height
        self._scene, self._shown = scene, shown

    def scene(self) -> list[Shape]:
        """The shapes that are always there."""
        return self._scene

    def overlay(self, belief: Belief) -> list[Shape]:
        """The shapes of states, as strong as these are likely."""
        shapes = []
        for key, shape, states in self._shown:
            p = float(belief.probabilities[states[belief.states]].sum())
            if p > 0:
                shapes.append(shape._replace(strength=shape.strength * p, title=f"{shape.title or key}: {p:.3g}"))
        return shapes


def drawing_beside(path: str | os.PathLike[str], model: CPOMDP) -> Drawing | None:
    """The drawing of a model file, from the file that is called so beside it; None if there is none."""
    beside = os.path.splitext(os.fspath(path))[0] + ENDING
    return load_drawing(beside, model) if os.path.exists(beside) else None


def load_drawing(path: str | os.PathLike[str], model: CPOMDP) -> Drawing:
    """The drawing of a model that a file describes; what is wrong with the file is told in one sentence."""
    try:
        return drawn(model, partial(_drawing, _read(path)))
    except InputError as error:
        raise InputError(f"drawing {os.fspath(path)!r}: {error}") from None


def _read(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise InputError(f"it has more than {_LARGEST:,} bytes")
        found = json.loads(content)
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"it is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError("it is no JSON object")
    return found


def _drawing(given: dict[str, Any], model: CPOMDP) -> FileDrawing:
    _check_keys(given, ("width", "height", "scene", "states"), "it")
    for name in ("width", "height"):
        if name not in given:
            raise InputError(f"it has no {name}")
    states = given.get("states", {})
    if not isinstance(states, dict):
        raise InputError("states is no JSON object of shapes by label")
    labels = [str(label) for label in model.states]
    shown = []
    for key, shapes in states.items():
        called = _called(key, labels)
        own = _shapes(shapes if isinstance(shapes, list) else [shapes], f"state {key!r}")
        shown += [_Shown(key, shape, called) for shape in checked_shapes(own, f"state {key!r}")]
    scene = checked_shapes(_shapes(given.get("scene", []), "the scene"), "scene")
    drawing = FileDrawing(given["width"], given["height"], scene, shown)
    check_drawing(drawing)
    return drawing


def _called(key: str, labels: list[str]) -> BoolArray:
    """The states that a key means, [S]."""
    pattern = re.compile(".*".join(map(re.escape, key.split("*"))), re.DOTALL)
    found = np.array([pattern.fullmatch(label) is not None for label in labels])
    if not found.any():
        raise InputError(f"no state of the model is called {key!r}{did_you_mean(key, labels)}")
    return found


def _shapes(given: Any, where: str) -> list[Shape]:
    if not isinstance(given, list):
        raise InputError(f"{where} is {given!r}, not a list of shapes")
    return [_shape(shape, f"shape {i} of {where}") for i, shape in enumerate(given, 1)]


def _shape(given: Any, which: str) -> Shape:
    kinds = [kind for kind in _PLACES if isinstance(given, dict) and kind in given]
    if len(kinds) != 1:
        raise InputError(f"{which} is {given!r}, which names no one kind of shape ({', '.join(_PLACES)})")
    (kind,) = kinds
    made, names = _PLACES[kind]
    place = given[kind]
    if not isinstance(place, list) or len(place) != len(names):
        raise InputError(f"{which} has the {kind} {place!r}, not [{', '.join(names)}]")
    others = [name for name in made._fields if name not in names]
    _check_keys(given, (kind, *others), which)
    if "role" not in given:
        raise InputError(f"{which} has no role")
    return made(**dict(zip(names, place, strict=True)), **{name: given[name] for name in others if name in given})


def _check_keys(given: dict[str, Any], known: tuple[str, ...], which: str) -> None:
    for key in given:
        if key not in known:
            raise InputError(f"{which} has {key!r}, which is none of {', '.join(known)}{did_you_mean(key, known)}")
