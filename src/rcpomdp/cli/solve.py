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
    INFEASIBLE,
    STOPPED,
    AsJson,
    Budgets,
    Parameters,
    announce_compilation,
    app,
    complain,
    hint_at_costly_ends,
    say,
    tell,
)
from .printing import budget_facts, print_json, progress_bar, simulation_table, solution_table, stdout

if TYPE_CHECKING:
    from ..model import CPOMDP
    from ..solvers import Result, Solver


@app.command("solve")
def _solve(
    problem: Annotated[str, typer.Argument(help="Name of a problem, or a model file (.pomdp, .pomdpx).")],
    solver: Annotated[str | None, typer.Option(help="Name of a solver; see `rcpomdp solvers`.")] = None,
    param: Parameters = None,
    budget: Budgets = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            "--cost", metavar="LINE", help="A further cost, as 'energy: forward : * 1'; NAME: ACTION : STATE VALUE."
        ),
    ] = None,
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
    model = arguments.model(problem, param, budget, cost)
    hint_at_costly_ends(model)
    announce_compilation()
    from ..io.atomic import check_writable
    from ..io.policy.file import check_ending
    from ..solvers import registry, solve

    if memory_limit is not None and not memory_limit > 0:
        raise InputError(f"the memory limit must be above 0 GB, not {memory_limit:g}")
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
    result = solve(model, chosen.name, **options)
    summary = {"problem": problem, **result.summary(), "epsilon": result.epsilon, "time_limit": time_limit}
    summary |= budget_facts(model)
    unsaved: list[str] = []
    if out is not None:
        try:
            result.save(out, model)
        except (InputError, OSError) as error:  # what was found is shown all the same
            unsaved.append(f"the policy is not saved: {error}")
        else:
            say(f"policy saved to {out}{_unproven(result, model)}")
    if proof is not None and result.proof is not None:
        from ..io import save_proof

        try:
            save_proof(proof, result.proof, model, {"name": problem, "parameters": arguments.parameters(param)})
        except (InputError, OSError) as error:
            unsaved.append(f"the proof is not saved: {error}")
        else:
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
            tell("")
            tell(f"{simulation['runs']} runs of at most {steps} steps, seed {seed or 0}")
            stdout().print(simulation_table(simulation))
    code = _judge(result, model, chosen)
    for reason in unsaved:
        code = complain(reason, FAILED)
    raise typer.Exit(code)


def _unproven(result: Result, model: CPOMDP) -> str:
    """What a saved policy does not promise."""
    if result.k is not None and result.lower > -math.inf:
        return f"; it keeps the budget at histories shorter than {result.k} alone"
    return "" if result.admissible or not model.n_costs else "; it is NOT proven to keep the budget in every history"


def _judge(result: Result, model: CPOMDP, solver: Solver) -> int:
    """Say what a result leaves to be desired, and return the exit code."""
    from ..solvers import Criterion
    from ..solvers.advice import advice

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
    elif result.lower == -math.inf and _claims_no_lower_bound(result, model, solver):
        found = (
            f"there is a policy, but {result.solver} claims no lower bound; none is worth more than {result.upper:.6g}"
        )
    elif result.lower == -math.inf:
        found = f"no policy that keeps the budget was found yet, and none is worth more than {result.upper:.6g}"
    else:
        found = f"the gap is {result.gap:.3g}" + ("" if result.epsilon is None else f", above {result.epsilon:g}")
    complain(f"{result.status}: {found}", STOPPED)
    for sentence in advice(result, shell=True):
        say(sentence)
    return STOPPED


def _claims_no_lower_bound(result: Result, model: CPOMDP, solver: Solver) -> bool:
    """True if there is no lower bound though the policy keeps the budget as the solver means it: none is claimed."""
    from ..solvers import Criterion

    is_within = bool((result.cost <= model.spending_limit).all())
    return solver.criterion is Criterion.NO_BUDGET or (result.admissible is not False and is_within)
