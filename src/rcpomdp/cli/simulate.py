"""``rcpomdp simulate``."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

import typer

from ..errors import InputError
from . import arguments
from .common import (
    STOPPED,
    AsJson,
    Budgets,
    Parameters,
    announce_compilation,
    app,
    complain,
    complete_problem,
    say,
    tell,
)
from .printing import beyond_last_step, first_steps, print_json, progress_bar, simulation_table, stdout


@app.command("simulate")
def _simulate(
    policy: Annotated[
        str, typer.Option("--policy", help="blind:ACTION, random, qmdp, fib, or the path of a policy file.")
    ],
    problem: Annotated[
        str | None,
        typer.Option(
            "--problem",
            help="Name of a problem, or a model file; a policy file may name its own.",
            autocompletion=complete_problem,
        ),
    ] = None,
    param: Parameters = None,
    budget: Budgets = None,
    runs: Annotated[int, typer.Option(help="Number of runs.")] = 1000,
    steps: Annotated[int, typer.Option(help="Most steps of a run.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes; the rows do not depend on it.")] = 1,
    rows: Annotated[str | None, typer.Option(metavar="FILE", help="Write one row per run as CSV.")] = None,
    deliberate: Annotated[
        bool, typer.Option("--deliberate", help="Also count the runs that overspend though they need not; slower.")
    ] = False,
    replan_seconds: Annotated[
        float | None,
        typer.Option(help="Seconds of ARCS for each of some histories at which runs begin to overspend deliberately."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a policy: reward, costs, violation rate."""
    from .named_policies import from_name, is_path

    if is_path(policy):
        problem, model, _ = arguments.model_of_file(policy, problem, param, budget)
    elif problem is None:
        raise InputError(f"policy {policy!r} names no problem; give it with --problem")
    else:
        model = arguments.model(problem, param, budget)
    announce_compilation()
    from ..io.atomic import check_writable, whole_file
    from ..io.csv_rows import csv_bytes
    from ..simulation.simulate import simulate

    if rows is not None:
        check_writable(rows, policy, problem)
    chosen = from_name(model, policy)
    with whole_file(rows) if rows else nullcontext() as file:  # a path that cannot be written is refused at once
        with progress_bar(f"{problem}, {policy}", runs) as progress:
            result = simulate(
                model, chosen, runs, steps, seed, workers, progress, deliberate=deliberate or replan_seconds is not None
            )
        if file is not None:
            file.write(csv_bytes(list(result.rows())))
    replanned = None
    if replan_seconds is not None:
        from ..solvers.replanning import replan

        replanned = replan(result, chosen, replan_seconds)
    summary = result.summary()
    if as_json:
        told = {} if replan_seconds is None else {"replanning": replanned and replanned.summary()}
        print_json({"problem": problem, "policy": policy, **summary, **told})
    else:
        tell(f"{problem}, {policy}: {result.runs} runs of at most {steps} steps, seed {seed}")
        stdout().print(simulation_table(summary))
        for sentence in first_steps(summary):
            tell(sentence)
        if replan_seconds is not None:
            tell(
                str(replanned)
                if replanned
                else "no run overspends deliberately, as far as is proven: there is nothing to plan anew"
            )
    if result.cut_short:
        say(beyond_last_step(summary, steps))
    if result.runs < result.requested:
        raise typer.Exit(complain(f"stopped after {result.runs} of {result.requested} runs", STOPPED))
