"""``rcpomdp explain``."""

from __future__ import annotations

from typing import Annotated

import typer

from .._plain_text import printable
from . import arguments
from .common import AsJson, Budgets, Parameters, ProblemOfFile, Seed, announce_compilation, app, tell_lines
from .printing import print_json


@app.command("explain")
def _explain(
    policy: Annotated[str, typer.Argument(metavar="FILE", help="Path of a policy file.")],
    after: Annotated[
        str,
        typer.Option(
            "--after",
            metavar="STEPS",
            help="The history: action:observation, or the observation alone, for each step, with commas between.",
        ),
    ] = "",
    draw: Annotated[
        int | None, typer.Option(min=1, help="Which policy of a mixture was drawn; the likeliest that fits.")
    ] = None,
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
    """Tell why a policy does what it does after a history: belief, budget, what follows, what else there was."""
    name, model, _ = arguments.model_of_file(policy, problem, param, budget)
    announce_compilation()
    from ..io import load_policy, load_proof
    from ..views.explorer import explain

    held = None if proof is None else load_proof(proof, model)
    told = explain(load_policy(policy, model), model, arguments.history(after), draw=draw, seed=seed, proof=held)
    if as_json:
        print_json({"problem": name, "policy": policy, **told.summary()})
    else:
        tell_lines(f"{printable(name)}, {printable(policy)}: {told}\n")
