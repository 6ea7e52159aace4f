"""``rcpomdp solve``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from .._json_values import finite
from ..errors import InputError
from . import arguments
from .common import INFEASIBLE, STOPPED, AsJson, Budgets, Parameters, announce_compilation, app, complain, say
from .printing import budget_facts, live_bounds, print_json, progress_bar, simulation_table, solution_table, stdout

if TYPE_CHECKING:
    from ..model import CPOMDP
    from ..solvers import Result, Solver


@app.command("solve")
def _solve(
    problem: Annotated[str, typer.Argument(help="Name of a problem, or a model file (.pomdp, .pomdpx).")],
    solver: Annotated[str | None, typer.Option(help="Name of a solver; see `rcpomdp solvers`.")] = None,
    param: Parameters = None,
    budget: Budgets = None,
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
        typer.Option(
            metavar="SECONDS", help="Set-up and search, first looked at after the set-up; unlimited unless given."
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
    model = arguments.model(problem, param, budget)
    announce_compilation()
    from ..io.atomic import check_writable
    from ..io.policy.file import check_ending
    from ..solvers import registry, solve

    chosen = registry.get(solver or registry.DEFAULT)
    if out is not None:
        if chosen.online:
            raise InputError(
                f"the policy of {chosen.name} solves while it runs, and cannot be saved; simulate it with --runs"
            )
        check_ending(out)
        check_writable(out)
    if proof is not None:
        if "proof" not in chosen.options:
            raise InputError(f"{chosen.name} writes no proofs; arcs, sarsop and cgcp do")
        check_writable(proof)
    flags = {
        "proof": True if proof is not None else None,
        "variant": variant,
        "objective": None if objective is None else arguments.objective(objective),
        "k": None if k is None else arguments.number(k),
        "epsilon": epsilon,
        "time_limit": time_limit,
        "memory_limit": None if memory_limit is None else memory_limit * 1e9,
        "seed": seed,
    }
    options = arguments.options(option, flags)
    with live_bounds(problem) as progress:
        shown = {"progress": progress} if "progress" in chosen.options else {}
        result = solve(model, chosen.name, **options, **shown)
    summary = {"problem": problem, **result.summary(), "epsilon": result.epsilon, "time_limit": time_limit}
    summary |= budget_facts(model)
    if out is not None:
        result.save(out, model, {"name": problem, "parameters": arguments.parameters(param)})
        unproven = (
            "" if result.admissible or not model.n_costs else "; it is NOT proven to keep the budget in every history"
        )
        if result.k is not None and result.lower > -math.inf:
            unproven = f"; it keeps the budget at histories shorter than {result.k} alone"
        say(f"policy saved to {out}{unproven}")
    if proof is not None and result.proof is not None:
        from ..io import save_proof

        save_proof(proof, result.proof, model, {"name": problem, "parameters": arguments.parameters(param)})
        told = "that no policy keeps the budget" if result.proof.upper == -math.inf else f"{result.proof.upper:.9g}"
        say(f"proof of {told} saved to {proof}")
        summary["proof"] = {"upper": finite(result.proof.upper), "bytes": result.proof.n_bytes}
    simulation = None
    if runs and result.status != "interrupted":
        from ..simulation.simulate import simulate

        with progress_bar(f"{problem}, simulated", runs) as moved:
            simulation = simulate(model, result.policy, runs, steps, seed or 0, progress=moved).summary()
    if as_json:
        print_json(summary if simulation is None else {**summary, "simulation": simulation})
    else:
        stdout().print(solution_table(summary))
        if simulation is not None:
            print(f"\n{simulation['runs']} runs of at most {steps} steps, seed {seed or 0}")
            stdout().print(simulation_table(simulation))
    raise typer.Exit(_judge(result, model, chosen))


def _judge(result: Result, model: CPOMDP, solver: Solver) -> int:
    """Say what a result leaves to be desired, and return the exit code."""
    from ..solvers import Criterion

    if result.admissible is None:
        why = f": {solver.name} does not look at budgets" if solver.criterion is Criterion.NO_BUDGET else ""
        for name, cost, limit in zip(model.costs, result.cost, model.spending_limit, strict=True):
            if cost == math.inf:
                say(f"{name} is infinite, shown as '-': it is not discounted, and the policy spends it for ever{why}")
            elif cost > limit:
                say(f"{name} {cost:.6g} is above its budget{why}")
    elif not result.admissible and result.status != "infeasible":
        steps = f", only for {result.horizon} steps" if result.horizon else ""
        say(f"the policy is not proven to keep the budget in every history{steps}")
    if result.status in ("optimal", "converged"):
        return 0
    if result.status == "infeasible":
        needs = [
            f"{name} {model.budget[k]:.6g} is given"
            + (f", at least {result.needed[k]:.9g} is needed" if result.needed is not None else "")
            + (
                f", {result.suffices[k]:.9g} suffices"
                if result.suffices is not None and math.isfinite(result.suffices[k])
                else ""
            )
            + (f", at most {model.step_limit[k]:.6g} a step" if math.isfinite(model.step_limit[k]) else "")
            for k, name in enumerate(model.costs)
        ]
        where = "in expectation" if result.admissible is None else "in every history"
        if result.k is not None and result.k > 1:
            where = f"at every history shorter than {result.k}"
        together = result.needed is not None and (result.needed <= model.spending_limit).all()
        budget = "the budgets together" if together and model.n_costs > 1 else "the budget"
        budget += " and the limits of steps" if model.has_step_limits else ""
        return complain(f"infeasible: no policy keeps {budget} {where}: {'; '.join(needs)}", INFEASIBLE)
    if result.lower == -math.inf and result.upper == math.inf:
        found = f"there is a policy, but {result.solver} gives no bounds"
    elif result.lower == -math.inf:
        found = f"no policy that keeps the budget was found yet, and none is worth more than {result.upper:.6g}"
    else:
        found = f"the gap is {result.gap:.3g}" + ("" if result.epsilon is None else f", above {result.epsilon:g}")
        found += "; -o iterations=N allows more" if result.status == "iteration limit" else ""
    return complain(f"{result.status}: {found}", STOPPED)
