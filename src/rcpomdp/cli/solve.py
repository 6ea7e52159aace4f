"""``rcpomdp solve``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from .._json_values import finite
from ..errors import InputError
from . import arguments
from .common import (
    FAILED,
    AddedCosts,
    AsJson,
    Budgets,
    Parameters,
    announce_compilation,
    app,
    complain,
    complete_problem,
    complete_solver,
    hint_at_costly_ends,
    hint_at_no_budget,
    say,
    tell,
)
from .judgement import judge, unproven
from .printing import beyond_last_step, budget_facts, print_json, progress_bar, simulation_table, solution_table, stdout

if TYPE_CHECKING:
    from ..model import CPOMDP
    from ..solvers import Result, Solver
    from ..verification.proof import Proof


@app.command("solve")
def _solve(
    problem: Annotated[
        str,
        typer.Argument(help="Name of a problem, or a model file (.pomdp, .pomdpx).", autocompletion=complete_problem),
    ],
    solver: Annotated[
        str | None, typer.Option(help="Name of a solver; see `rcpomdp solvers`.", autocompletion=complete_solver)
    ] = None,
    param: Parameters = None,
    budget: Budgets = None,
    cost: AddedCosts = None,
    variant: Annotated[str | None, typer.Option(help="Variant of the solver, if it has several.")] = None,
    objective: Annotated[
        str | None,
        typer.Option(help="sarsop: reward; cost or cost:NAME; or weights λ for reward - λ·cost, as 4.15 or 1,2."),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option(
            "--k",
            metavar="NUMBER",
            help="arcs: hold the budget at histories shorter than this, 1 is on average; every history unless given.",
        ),
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Steps after which the process is over, as -p horizon=STEPS.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Absolute gap to stop at; 0.001 unless given.")] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Of set-up and search, without compilation; unlimited unless given."),
    ] = None,
    work_limit: Annotated[
        float | None,
        typer.Option(
            metavar="STEPS", help="In place of a time limit: elementary steps, so that results repeat exactly."
        ),
    ] = None,
    memory_limit: Annotated[
        float | None, typer.Option(metavar="GB", help="What beliefs and plans may take; 8 unless given.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of a solver with random choices.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "-o", "--option", metavar="KEY=VALUE", help="Another option of the solver, as in -o iterations=500."
        ),
    ] = None,
    runs: Annotated[int, typer.Option(min=0, help="Simulate the policy so many times.")] = 0,
    steps: Annotated[int, typer.Option(min=0, help="Most steps of a simulated run.")] = 20,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Save the policy, as in policy.rcp.")] = None,
    proof: Annotated[
        str | None, typer.Option(metavar="FILE", help="Prove the upper bound, and save the proof, as in bound.rcproof.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Solve a problem: bounds on the optimum, and a policy."""
    if horizon is not None:
        param = [*(param or []), f"horizon={horizon}"]
    model = arguments.model(problem, param, budget, cost)
    hint_at_costly_ends(model)
    announce_compilation()
    from ..solvers import registry, solve

    if memory_limit is not None and not memory_limit > 0:
        raise InputError(f"the memory limit must be above 0 GB, not {memory_limit:g}")
    chosen = registry.get(solver or registry.DEFAULT)
    _check_files(chosen, problem, out, proof)
    if chosen.criterion is not registry.Criterion.NO_BUDGET:
        hint_at_no_budget(model)
    flags = {
        "proof": True if proof is not None else None,
        "variant": variant,
        "objective": None if objective is None else arguments.objective(objective),
        "k": None if k is None else arguments.number(k),
        "epsilon": epsilon,
        "time_limit": time_limit,
        "work_limit": work_limit,
        "memory_limit": None if memory_limit is None else memory_limit * 1e9,
        "seed": seed,
    }
    options = arguments.options(option, flags)
    result = solve(model, chosen.name, **options)
    summary = {"problem": problem, **result.summary(), "epsilon": result.epsilon, "time_limit": time_limit}
    summary |= {} if work_limit is None else {"work_limit": work_limit}
    summary |= budget_facts(model)
    unsaved = None if out is None else _save(result, model, out)
    if proof is not None and result.proof is None:
        summary["proof"] = None
        say(f"no proof is written: the solve ended ({result.status}) before there was a bound to prove")
    elif proof is not None and result.proof is not None:
        summary["proof"] = {"upper": finite(result.proof.upper), "bytes": result.proof.n_bytes}
        unsaved = _save_proof(result.proof, model, proof) or unsaved
    simulation = None
    if runs and result.status != "interrupted":
        from ..simulation.simulate import simulate

        with progress_bar(f"{problem}, simulated", runs) as moved:
            simulated = simulate(model, result.policy, runs, steps, seed or 0, progress=moved)
        simulation = simulated.summary()
        if simulated.cut_short:
            say(beyond_last_step(simulation, steps))
    if as_json:
        print_json(summary if simulation is None else {**summary, "simulation": simulation})
    else:
        stdout().print(solution_table(summary))
        if simulation is not None:
            tell("")
            tell(f"{simulation['runs']} runs of at most {steps} steps, seed {seed or 0}")
            stdout().print(simulation_table(simulation))
    code = judge(result, model, chosen)
    if unsaved is not None:
        code = complain(unsaved, FAILED)
    raise typer.Exit(code)


def _check_files(solver: Solver, problem: str, out: str | None, proof: str | None) -> None:
    """Refuse files that could not be written in the end."""
    from ..io.atomic import check_writable
    from ..io.policy.file import check_ending
    from ..io.proof_file import check_proof_ending

    if out is not None:
        if solver.online:
            raise InputError(
                f"the policy of {solver.name} solves while it runs, and cannot be saved; simulate it with --runs"
            )
        check_ending(out)
        check_writable(out)
    if proof is not None:
        if "proof" not in solver.options:
            raise InputError(f"{solver.name} writes no proofs; arcs, sarsop and cgcp do")
        check_proof_ending(proof)
        check_writable(proof, problem)


def _save(result: Result, model: CPOMDP, out: str) -> str | None:
    """Save the policy; why it could not be, for what was found is shown all the same."""
    try:
        result.save(out, model)
    except (InputError, OSError) as error:
        return f"the policy is not saved: {error}"
    say(f"policy saved to {out}{unproven(result, model)}")
    return None


def _save_proof(proof: Proof, model: CPOMDP, path: str) -> str | None:
    """Save the proof; why it could not be."""
    from ..io import save_proof

    try:
        save_proof(path, proof, model, model.source)
    except (InputError, OSError) as error:
        return f"the proof is not saved: {error}"
    told = "that no policy keeps the budget" if proof.upper == -math.inf else f"{proof.upper:.9g}"
    say(f"proof of {told} saved to {path}")
    return None
