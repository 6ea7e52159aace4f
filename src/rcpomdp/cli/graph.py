"""``rcpomdp graph``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from . import arguments
from .common import Parameters, ProblemOfFile, app, say, tell_lines

_ENDINGS = {".dot": "dot", ".gv": "dot", ".json": "json", ".svg": "svg"}


@app.command("graph")
def _graph(
    policy: Annotated[str, typer.Argument(metavar="FILE", help="Path of a policy file.")],
    problem: ProblemOfFile = None,
    param: Parameters = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="dot|json|svg", help="What to write; as --out ends, or dot, unless given."),
    ] = None,
    max_nodes: Annotated[
        int | None, typer.Option(min=1, help="Most nodes, those that are met first; all that can be reached.")
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Write to a file instead of stdout.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Draw a controller: its nodes and where observations lead, for GraphViz, as JSON or as a picture."""
    form = "json" if as_json else arguments.file_format(format_, out, _ENDINGS, "dot")
    _, model, _ = arguments.model_of_file(policy, problem, param, None)
    from ..io import load_policy
    from ..io.atomic import check_writable, whole_file
    from ..policies import policy_graph

    if out is not None:
        check_writable(out, policy, problem)
    graph = policy_graph(load_policy(policy, model), model, max_nodes)
    if form == "json":
        written = json.dumps(graph.to_json(), indent=2, allow_nan=False) + "\n"
    else:
        written = graph.to_svg() if form == "svg" else graph.to_dot()
    if graph.omitted:
        say(f"{graph.omitted:,} of {len(graph.nodes) + graph.omitted:,} nodes are left out")
    if out is None:
        tell_lines(written)
    else:
        with whole_file(out) as file:
            file.write(written.encode())
        say(f"graph written to {out}")
