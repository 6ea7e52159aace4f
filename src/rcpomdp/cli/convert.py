"""``rcpomdp convert``."""

from __future__ import annotations

from typing import Annotated

import typer

from . import arguments
from .common import AddedCosts, Budgets, Parameters, app, say


@app.command("convert")
def _convert(
    source: Annotated[str, typer.Argument(metavar="PROBLEM|FILE", help="Name of a problem, or a model file.")],
    target: Annotated[str, typer.Argument(metavar="FILE", help="The file to write: .pomdp or .pomdpx.")],
    param: Parameters = None,
    budget: Budgets = None,
    cost: AddedCosts = None,
) -> None:
    """Write a problem, or the model of one file, to a file of the format that its name's ending asks for."""
    from ..io import save_model
    from ..io.atomic import check_writable
    from ..io.model_file import check_ending

    check_ending(target)
    check_writable(target)
    save_model(target, arguments.model(source, param, budget, cost))
    say(f"model written to {target}")
