"""``rcpomdp export``."""

from __future__ import annotations

from typing import Annotated

import typer

from . import arguments
from .common import Parameters, ProblemOfFile, app, say

_ENDINGS = {".h": "c", ".c": "c", ".json": "json", ".dot": "dot", ".gv": "dot"}


@app.command("export")
def _export(
    policy: Annotated[str, typer.Argument(metavar="FILE", help="Path of a policy file.")],
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="c|json|dot", help="What to write; as --out ends, or c, unless given."),
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Write to a file instead of stdout.")] = None,
    problem: ProblemOfFile = None,
    param: Parameters = None,
) -> None:
    """Write a controller for another program: a C header, JSON, or a graph for GraphViz."""
    form = arguments.file_format(format_, out, _ENDINGS, "c")
    _, model, _ = arguments.model_of_file(policy, problem, param, None)
    from ..io import controller_c, controller_json, load_policy
    from ..io.atomic import check_writable, whole_file
    from ..policies import policy_graph

    if out is not None:
        check_writable(out, policy, problem)
    loaded = load_policy(policy, model)
    if form == "dot":
        written = policy_graph(loaded, model).to_dot()
    else:
        written = controller_c(loaded, model) if form == "c" else controller_json(loaded, model)
    if out is None:
        print(written, end="")
        return
    with whole_file(out) as file:
        file.write(written.encode())
    say(f"controller written to {out}")
