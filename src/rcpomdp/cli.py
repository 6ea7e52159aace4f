"""The command line: parse, call, print.

Data goes to stdout, progress and messages to stderr. Exit codes: 0 done, 1 failed, 2 bad input, 3 infeasible,
4 stopped before its goal.
"""

from __future__ import annotations

import io
import math
import os
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from . import __version__, arguments, problems
from ._plain import finite
from .errors import InputError
from .output import (
    csv_bytes,
    facts_table,
    live_bounds,
    policy_facts,
    policy_table,
    print_json,
    problem_facts,
    problem_row,
    problems_table,
    progress_bar,
    simulation_table,
    solution_table,
    stdout,
    text,
    verification_table,
)

if TYPE_CHECKING:
    from .model import CPOMDP
    from .solvers import Result

FAILED, BAD_INPUT, INFEASIBLE, STOPPED = 1, 2, 3, 4
_INTERRUPTED = 130  # what typer makes of Ctrl-C

app = typer.Typer(
    help="Planning under uncertainty with budgets that hold all along the way.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Parameters = Annotated[
    list[str] | None, typer.Option("-p", "--param", metavar="KEY=VALUE", help="A parameter of the problem.")
]
Budgets = Annotated[
    list[str] | None,
    typer.Option("--budget", metavar="NUMBER", help="Budget in place of the problem's; once per cost, inf: unlimited."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def main() -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an ASCII terminal shows "?" for "±" rather than a failure
    try:
        code = app(standalone_mode=False)
        if code == _INTERRUPTED:
            code = _complain("stopped before anything was done", STOPPED)
    except InputError as error:
        code = _complain(str(error), BAD_INPUT)
    except typer.Exit as exit_:
        code = exit_.exit_code
    except Exception as error:
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # a usage error, which explains itself
            error.show()
            code = error.exit_code
        elif os.environ.get("RCPOMDP_DEBUG"):
            raise
        else:
            cause = error.__cause__ or error if isinstance(error, typer.Abort) else error
            detail = " ".join(str(cause).split()) or "no detail was given"
            code = _complain(f"failed: {type(cause).__name__}: {detail} (RCPOMDP_DEBUG=1 shows where)", FAILED)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has gone: say no more
    sys.exit(code)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


@app.command("problems")
def _problems(as_json: AsJson = False) -> None:
    """List the problems: names, sizes, discount, budget."""
    rows = [problem_row(name, problem) for name, problem in problems.catalogue().items()]
    if as_json:
        print_json(rows)
        return
    console = stdout()
    console.print(problems_table(rows, console.width), no_wrap=True, crop=False)


@app.command("info")
def _info(
    what: Annotated[str, typer.Argument(metavar="PROBLEM|FILE", help="Name of a problem, or a policy file.")],
    param: Parameters = None,
    as_json: AsJson = False,
) -> None:
    """Describe a problem (parameters, sizes, rewards, costs, structure) or a policy file."""
    if what.endswith(".rcp") or (os.path.isfile(what) and what not in problems.names()):
        from .io import policy_info

        if param:
            raise InputError(f"policy file {what!r} takes no parameters")
        facts = policy_facts(what, policy_info(what))
    else:
        _announce_compilation()
        facts = problem_facts(problems.get(what), arguments.parameters(param))
    if as_json:
        print_json(facts)
    else:
        stdout().print(policy_table(facts) if "file" in facts else facts_table(facts))


@app.command("solve")
def _solve(
    problem: Annotated[str, typer.Argument(help="Name of a problem.")],
    solver: Annotated[str | None, typer.Option(help="Name of a solver; see `rcpomdp solvers`.")] = None,
    param: Parameters = None,
    budget: Budgets = None,
    variant: Annotated[str | None, typer.Option(help="Variant of the solver, if it has several.")] = None,
    objective: Annotated[
        str | None,
        typer.Option(help="sarsop: reward; cost or cost:NAME; or weights λ for reward - λ·cost, as 4.15 or 1,2."),
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
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Save the policy, as in policy.rcp.")] = None,
    as_json: AsJson = False,
) -> None:
    """Solve a problem: bounds on the optimum, and a policy."""
    model = arguments.model(problem, param, budget)
    _announce_compilation()
    from .io import save_policy
    from .io.atomic import check_writable
    from .solvers import ONLINE, registry, solve

    solver = solver or arguments.default_solver()
    if out is not None:
        if solver in ONLINE:
            raise InputError(f"the policy of {solver} solves while it runs, and cannot be saved; simulate it in Python")
        check_writable(out)
    given = {
        "variant": variant,
        "objective": None if objective is None else arguments.objective(objective),
        "epsilon": epsilon,
        "time_limit": time_limit,
        "memory_limit": None if memory_limit is None else memory_limit * 1e9,
        "seed": seed,
    }
    options = {key: value for key, value in given.items() if value is not None}
    with live_bounds(problem) as progress:
        shown = {"progress": progress} if "progress" in registry.options(solver) else {}
        result = solve(model, solver, **options, **shown)
    goal = options.get("epsilon", arguments.default_option(solver, "epsilon"))
    summary = {"problem": problem, **result.summary(), "epsilon": goal, "time_limit": time_limit}
    summary["budget"] = [finite(limit) for limit in model.budget]
    if out is not None:
        claims = {key: summary[key] for key in _CLAIMS if key in summary} | {"options": options}
        recipe = {"name": problem, "parameters": arguments.parameters(param)}
        save_policy(out, result.policy, model, claims, recipe)
        unproven = "" if result.admissible in (None, True) else "; it is NOT proven to keep the budget"
        _say(f"policy saved to {out}{unproven}")
    if as_json:
        print_json(summary)
    else:
        stdout().print(solution_table(summary))
    raise typer.Exit(_judge(result, model, goal))


# What a policy file says of its policy.
_CLAIMS = (
    *("solver", "variant", "objective", "status", "lower", "upper", "reward", "cost", "sure_cost"),
    *("admissible", "horizon", "budget", "epsilon", "seed", "seconds", "setup_seconds"),
    "standard_error",
)


def _judge(result: Result, model: CPOMDP, epsilon: float | None) -> int:
    """Say what a result leaves to be desired, and return the exit code."""
    if result.admissible is None:
        for name, cost, limit in zip(model.costs, result.cost, model.spending_limit, strict=True):
            if cost > limit:
                why = ": sarsop does not look at budgets" if result.solver == "sarsop" else ""
                _say(f"{name} {cost:.6g} is above its budget{why}")
    elif not result.admissible and result.status != "infeasible":
        steps = f", only for {result.horizon} steps" if result.horizon else ""
        _say(f"the policy is not proven to keep the budget in every history{steps}")
    if result.status in ("optimal", "converged"):
        return 0
    if result.status == "infeasible":
        needs = [
            f"{name} {model.budget[k]:.6g} is given"
            + (f", at least {result.needed[k]:.9g} is needed" if result.needed is not None else "")
            + (f", {result.suffices[k]:.9g} suffices" if result.suffices is not None else "")
            for k, name in enumerate(model.costs)
        ]
        where = "in expectation" if result.admissible is None else "in every history"
        return _complain(f"infeasible: no policy keeps the budget {where}: {'; '.join(needs)}", INFEASIBLE)
    if result.lower == -math.inf and result.upper == math.inf:
        found = f"there is a policy, but {result.solver} gives no bounds"
    elif result.lower == -math.inf:
        found = f"no policy that keeps the budget was found yet, and none is worth more than {result.upper:.6g}"
    else:
        found = f"the gap is {result.gap:.3g}" + ("" if epsilon is None else f", above {epsilon:g}")
    return _complain(f"{result.status}: {found}", STOPPED)


@app.command("verify")
def _verify(
    policy: Annotated[str, typer.Argument(metavar="FILE", help="Path of a policy file.")],
    problem: Annotated[str | None, typer.Option("--problem", help="Name of a problem; the file's own.")] = None,
    param: Parameters = None,
    budget: Budgets = None,
    horizon: Annotated[
        int | None, typer.Option(min=0, help="Ask only for the first steps, with what is expected after them.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that a policy keeps its budget in every history, and is worth what its file claims."""
    name, model, facts = arguments.model_of_file(policy, problem, param, budget)
    from .io import load_policy
    from .verification import verify

    claims = facts["claims"] or {}
    found = verify(model, load_policy(policy, model), claims, horizon=horizon)
    if as_json:
        limits = [finite(limit) for limit in model.budget]
        print_json({"problem": name, "policy": policy, **found.summary(), "budget": limits, "claims": facts["claims"]})
    else:
        print("VERIFIED" if found.verified else f"NOT VERIFIED: {found.problem}")
        stdout().print(verification_table(found, claims, model))
    raise typer.Exit(0 if found.verified else FAILED)


@app.command("solvers")
def _solvers(as_json: AsJson = False) -> None:
    """List the solvers and what each guarantees."""
    from .solvers.registry import catalogue

    if as_json:
        print_json([solver._asdict() for solver in catalogue()])
        return
    for solver in catalogue():
        origin = f" (plug-in {solver.origin})" if solver.origin else ""
        print(f"{solver.name}{origin}: {f'unusable: {solver.error}' if solver.error else solver.summary}")


@app.command("simulate")
def _simulate(
    policy: Annotated[
        str, typer.Option("--policy", help="blind:ACTION, random, qmdp, fib, or the path of a policy file.")
    ],
    problem: Annotated[
        str | None, typer.Option("--problem", help="Name of a problem; a policy file may name its own.")
    ] = None,
    param: Parameters = None,
    budget: Budgets = None,
    runs: Annotated[int, typer.Option(help="Number of runs.")] = 1000,
    steps: Annotated[int, typer.Option(help="Most steps of a run.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes; the rows do not depend on it.")] = 1,
    rows: Annotated[str | None, typer.Option(metavar="FILE", help="Write one row per run as CSV.")] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a policy: reward, costs, violation rate."""
    from .policies.named import from_name, is_path

    if is_path(policy):
        problem, model, _ = arguments.model_of_file(policy, problem, param, budget)
    elif problem is None:
        raise InputError(f"policy {policy!r} names no problem; give it with --problem")
    else:
        model = arguments.model(problem, param, budget)
    _announce_compilation()
    from .io.atomic import whole_file
    from .simulation import simulate

    chosen = from_name(model, policy)
    with whole_file(rows) if rows else nullcontext() as file:  # a path that cannot be written is refused at once
        with progress_bar(f"{problem}, {policy}", runs) as progress:
            result = simulate(model, chosen, runs, steps, seed, workers, progress)
        if file is not None:
            file.write(csv_bytes(list(result.rows())))
    if as_json:
        print_json({"problem": problem, "policy": policy, **result.summary()})
    else:
        summary = result.summary()
        print(f"{problem}, {policy}: {result.runs} runs of at most {steps} steps, seed {seed}")
        stdout().print(simulation_table(summary))
    summary = result.summary()
    tail, mean = summary["reward"]["truncation"], summary["reward"]["mean"]
    if tail is None or tail > 0.1 * abs(mean):
        _say(
            f"runs that had not ended after {steps} steps could still add {text(tail)}, and violate later; "
            f"--steps goes further"
        )
    if result.runs < result.requested:
        raise typer.Exit(_complain(f"stopped after {result.runs} of {result.requested} runs", STOPPED))


def _announce_compilation() -> None:
    """Have numba say when it compiles, which takes seconds; what is cached is not compiled."""
    from .kernels.jit import when_compiling

    when_compiling(lambda: _say("compiling kernels, this once ..."))


def _say(sentence: str) -> None:
    print(f"rcpomdp: {sentence}", file=sys.stderr)


def _complain(sentence: str, code: int) -> int:
    _say(sentence)
    return code
