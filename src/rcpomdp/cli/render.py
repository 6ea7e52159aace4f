"""``rcpomdp render``."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ..errors import InputError
from . import arguments
from .common import AsJson, Budgets, Parameters, ProblemOfFile, announce_compilation, app, complete_problem, tell
from .printing import print_json


@app.command("render")
def _render(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A policy file; or, with --policy, the name of a problem or a model file.",
            autocompletion=complete_problem,
        ),
    ] = None,
    policy: Annotated[
        str | None, typer.Option("--policy", help="Path of a policy file, or blind:ACTION, random, qmdp, fib.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="run.gif, a frame a step, or run.png, all at once; by default a .gif beside FILE."
        ),
    ] = None,
    of: ProblemOfFile = None,
    param: Parameters = None,
    budget: Budgets = None,
    steps: Annotated[int, typer.Option(help="Most steps of the run.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the run: the first that simulate does with it.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Draw a run of a policy: map, belief, action, budget and reward, step by step."""
    from ..io.atomic import check_writable
    from ..model.validation import count
    from ..views.rendering import render
    from ..views.rendering.film import check
    from .named_policies import from_name, is_path

    if what is not None and of is not None and policy is not None:
        raise InputError("the problem is given twice: before the options, and with --problem")
    problem = of if policy is None or what is None else what
    policy = what if policy is None else policy
    if policy is None:
        raise InputError("there is no policy to render; give a policy file, or --policy")
    if out is None:
        if not is_path(policy):
            raise InputError(f"policy {policy!r} is no file that the picture could be put beside; give --out")
        out = os.path.splitext(policy)[0] + ".gif"
    check(out, steps, seed)
    check_writable(out)
    if is_path(policy):
        problem, model, _ = arguments.model_of_file(policy, problem, param, budget)
    elif problem is None:
        raise InputError(f"policy {policy!r} names no problem; name one, as in `rcpomdp render ce --policy {policy}`")
    else:
        model = arguments.model(problem, param, budget)
    announce_compilation()
    drawing = arguments.drawing(problem, model)
    last = render(model, from_name(model, policy), out, drawing, steps, seed)[-1]
    if as_json:
        drawn = {"problem": problem, "policy": policy, "file": out, "steps": last.time, "seed": seed}
        print_json(drawn | {"reward": last.reward, "spent": last.spent.tolist(), "map": drawing is not None})
    else:
        how = "" if drawing is not None else " (the problem has no map: its belief is drawn)"
        tell(f"{out}: {count(last.time, 'step')} of {problem} by {policy}, seed {seed}, reward {last.reward:.6g}{how}")
