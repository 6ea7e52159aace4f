"""The steps of a run as one file: a GIF with a frame a step, or a PNG with all frames side by side."""

from __future__ import annotations

import math
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...io.atomic import whole_file
from ...model import CPOMDP
from ...policies.base import Policy, check_policy
from ...simulation.trajectory import Step, trajectory
from ..drawing import PALETTE, Drawing, check_drawing
from . import frame

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = (".gif", ".png")
MOST_STEPS = 200  # so that all frames fit in memory
_STEP, _END = 900, 3000  # milliseconds that a frame of a GIF stays, and the last one
_COLUMNS = 3  # of a PNG
_SHEET_WIDTH = 2100  # pixels
_LINE = 2  # pixels between frames


def render(
    model: CPOMDP,
    policy: Policy[Any],
    out: str | os.PathLike[str],
    drawing: Drawing | None = None,
    steps: int = 20,
    seed: int = 0,
) -> list[Step]:
    """Draw a run of a policy: the first run of ``simulate`` with this seed.

    Parameters
    ----------
    out : path of the file, which ends in .gif (a frame a step) or .png (all frames side by side)
    drawing : how the problem looks, as ``problems.get(name).draw(model)`` tells; without one the belief is drawn
    steps : of the run at most, between 1 and 200
    seed : of all random numbers

    The steps that were drawn are returned.
    """
    kind = check(out, steps, seed)
    check_policy(policy)
    if drawing is not None:
        check_drawing(drawing)
    run = trajectory(model, policy, steps, seed)
    with whole_file(out) as file:
        images = [_image(model, step, drawing) for step in run]
        if kind == ".gif":
            shown = [_STEP] * (len(images) - 1) + [_END]
            images[0].save(file, "GIF", save_all=True, append_images=images[1:], duration=shown, loop=0)
        else:
            _sheet(images).save(file, "PNG")
    return run


def check(out: str | os.PathLike[str], steps: int, seed: int) -> str:
    """The format that a path asks for; it, the steps and the seed are refused if they are no good."""
    kind = Path(os.fsdecode(out)).suffix.lower()
    if kind not in FORMATS:
        raise InputError(f"cannot draw to {os.fsdecode(out)!r}: the name must end in {' or '.join(FORMATS)}")
    for value, what, least, most in ((steps, "steps", 1, MOST_STEPS), (seed, "seed", 0, math.inf)):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            limits = f"between {least} and {most}" if most < math.inf else f"of at least {least}"
            raise InputError(f"{what} must be a whole number {limits}, not {value!r}")
    return kind


def _image(model: CPOMDP, step: Step, drawing: Drawing | None) -> Image:
    """A frame in 256 colours, which is what a GIF has."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # anybody's labels: a box will do
        canvas = FigureCanvasAgg(frame.draw(model, step, drawing))
        canvas.draw()  # type: ignore[no-untyped-call]  # matplotlib leaves it so
    pixels = bytes(canvas.buffer_rgba())  # type: ignore[no-untyped-call]  # likewise
    whole = Image.frombuffer("RGBA", frame.SIZE, pixels).convert("RGB")
    return whole.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)


def _sheet(images: list[Image]) -> Image:
    """All frames, row by row."""
    from PIL import Image

    columns = min(_COLUMNS, len(images))
    width = min(frame.SIZE[0], _SHEET_WIDTH // columns)
    height = width * frame.SIZE[1] // frame.SIZE[0]
    # Lines between the frames are the sheet itself.
    rows = math.ceil(len(images) / columns)
    sheet = Image.new(
        "RGB", (columns * (width + _LINE) + _LINE, rows * (height + _LINE) + _LINE), PALETTE["edge"].light
    )
    for i in range(rows * columns):
        place = (i % columns * (width + _LINE) + _LINE, i // columns * (height + _LINE) + _LINE)
        if i < len(images):
            sheet.paste(images[i].convert("RGB").resize((width, height), Image.Resampling.LANCZOS), place)
        else:
            sheet.paste("white", (*place, place[0] + width, place[1] + height))
    return sheet
