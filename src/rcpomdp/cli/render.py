"""``rcpomdp render``."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import InputError
from ..model.validation import count
from . import arguments
from .common import AsJson, Budgets, Parameters, announce_compilation, app, tell
from .printing import print_json


@app.command("render")
def _render(
    policy: Annotated[str, typer.Option("--policy", help="Path of a policy file, or blind:ACTION, random, qmdp, fib.")],
    out: Annotated[str, typer.Option(metavar="FILE", help="run.gif, a frame a step; or run.png, all of them at once.")],
    problem: Annotated[str | None, typer.Argument(help="Name of a problem; a policy file may name its own.")] = None,
    param: Parameters = None,
    budget: Budgets = None,
    steps: Annotated[int, typer.Option(help="Most steps of the run.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the run: the first that simulate does with it.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Draw a run of a policy: map, belief, action, budget and reward, step by step."""
    from ..io.atomic import check_writable
    from ..views.rendering import render
    from ..views.rendering.film import check
    from .named_policies import from_name, is_path

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
