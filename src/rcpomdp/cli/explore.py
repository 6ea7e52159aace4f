"""``rcpomdp explore``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from . import arguments
from .common import AsJson, Budgets, Parameters, ProblemOfFile, Seed, announce_compilation, app, say, tell
from .printing import print_json


@app.command("explore")
def _explore(
    policy: Annotated[str, typer.Argument(metavar="FILE", help="Path of a policy file.")],
    compare: Annotated[
        str | None, typer.Option("--compare", metavar="FILE", help="A second policy for the same model, side by side.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE", help="Where to write the page; by default beside FILE."),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Write the page, but do not open it.")] = False,
    nodes: Annotated[int, typer.Option(min=1, help="Most nodes to explore of each policy.")] = 5000,
    depth: Annotated[int | None, typer.Option(min=0, help="Most steps to explore.")] = None,
    seed: Seed = 0,
    proof: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A proof by `rcpomdp solve --proof`, by which actions are judged."),
    ] = None,
    problem: ProblemOfFile = None,
    param: Parameters = None,
    budget: Budgets = None,
    as_json: AsJson = False,
) -> None:
    """Write a policy as one HTML page to click through, and open it in the browser."""
    name, model, _ = arguments.model_of_file(policy, problem, param, budget)
    target = out or os.path.splitext(policy)[0] + ".html"
    announce_compilation()
    from ..io import load_policy, load_proof
    from ..io.atomic import check_writable
    from ..views.explorer import Side, explore

    check_writable(target, policy, compare, name)
    paths = [policy] if compare is None else [policy, compare]
    sides = [Side(os.path.basename(path), load_policy(path, model), _solver(path)) for path in paths]
    beside = None if compare is None else sides[1]
    held = None if proof is None else load_proof(proof, model)
    drawing = arguments.drawing(name, model)
    made = explore(sides[0], model, target, beside, drawing, most_nodes=nodes, most_steps=depth, seed=seed, proof=held)
    for path, randomised in zip(paths, made.randomised, strict=True):
        if randomised:
            say(f"{path} is randomised: the page shows one draw of it, seed {seed}")
    explored = " and ".join(f"{count:,}" for count in made.nodes)
    say(f"{target}: {explored} nodes{'' if made.complete else ', the rest is not explored'}")
    if as_json:
        print_json({"page": target, "seed": seed, **made._asdict()})
    else:
        tell(target)
    if not no_open:
        import webbrowser

        if not webbrowser.open(Path(target).resolve().as_uri()):
            say(f"no browser was found; open {target} in one")


def _solver(path: str) -> str:
    """The solver that a policy file claims to be from; files of other programs claim nothing."""
    from ..io import policy_info
    from ..io.policy.foreign import is_foreign

    return "" if is_foreign(path) else str((policy_info(path)["claims"] or {}).get("solver") or "")
