"""The command line: parse, call, print.

Data goes to stdout, progress and messages to stderr. Exit codes: 0 done, 1 failed, 2 bad input, 3 infeasible,
4 stopped before its goal.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from . import __version__, problems
from ._plain import finite
from .errors import InputError, ProblemError
from .output import (
    csv_bytes,
    jsonable,
    live_bounds,
    print_json,
    problem_row,
    progress_bar,
    setting,
    simulation_table,
    stdout,
    text,
)

if TYPE_CHECKING:
    pass

FAILED, BAD_INPUT, STOPPED = 1, 2, 4
_INTERRUPTED = 130  # what typer makes of Ctrl-C

_TITLES = ("name", "states", "actions", "obs.", "discount", "budget")

app = typer.Typer(
    help="Planning under uncertainty with budgets that hold all along the way.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Parameters = Annotated[
    list[str] | None, typer.Option("-p", "--param", metavar="KEY=VALUE", help="A parameter of the problem.")
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
    table = Table(box=None, header_style="bold")
    for title in _TITLES:
        table.add_column(title, justify="left" if title == "name" else "right", no_wrap=True)
    table.add_column("what it is", no_wrap=True)
    cells = [[text(value) for value in row.values()] for row in rows]
    console = stdout()
    # The last column gives way in a narrow window; rich would narrow all of them.
    widths = [max(map(len, column)) for column in zip(_TITLES, *(row[:-1] for row in cells), strict=True)]
    room = max(12, console.width - sum(widths) - 2 * len(widths) - 3)
    for *numbers, summary in cells:
        table.add_row(*numbers, summary if len(summary) <= room else summary[: room - 1] + "…")
    console.print(table, no_wrap=True, crop=False)


@app.command("info")
def _info(
    problem: Annotated[str, typer.Argument(help="Name of a problem.")],
    param: Parameters = None,
    as_json: AsJson = False,
) -> None:
    """Describe a problem: parameters, sizes, rewards, costs, structure."""
    chosen = problems.get(problem)
    given = _parameters(param)
    model = chosen.make(**given)
    _announce_compilation()
    from .classes import observability_classes

    classes = observability_classes(model)
    facts: dict[str, Any] = {
        "name": chosen.name,
        "summary": chosen.summary,
        "states": model.n_states,
        "terminal_states": int(model.terminal.sum()),
        "actions": [str(a) for a in model.actions],
        "observations": [str(o) for o in model.observations],
        "discount": model.discount,
        "initial_support": int((model.initial_belief > 0).sum()),
        "reward_range": [float(model.reward.min()), float(model.reward.max())],
        "costs": [
            {"name": str(name), "budget": finite(budget), "largest": float(cost.max())}
            for name, budget, cost in zip(model.costs, model.budget, model.cost, strict=True)
        ],
        "transitions": int(model.arrays.t_prob.size),
        "observation_entries": int(model.arrays.z_prob.size),
        "observability_classes": int(classes.reachable.sum()),
        "largest_class": int(classes.sizes[classes.reachable].max()),
        "unreachable_states": int(classes.sizes[~classes.reachable].sum()),
        "parameters": {key: jsonable(given.get(key, p.default)) for key, p in chosen.parameters.items()},
        "fingerprint": model.fingerprint,
    }
    if as_json:
        print_json(facts)
        return
    table = Table(box=None, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for key, value in facts.items():
        if key == "costs":
            for cost in value:
                about = f"budget {text(cost['budget']) if cost['budget'] is not None else 'unlimited'}"
                table.add_row(f"cost {cost['name']!r}", f"{about}, at most {text(cost['largest'])} a step")
        elif key == "parameters":
            for name, default in value.items():
                table.add_row(f"-p {name}", setting(default))
        else:
            table.add_row(key.replace("_", " "), text(value))
    stdout().print(table)


@app.command("solve")
def _solve(
    problem: Annotated[str, typer.Argument(help="Name of a problem.")],
    solver: Annotated[str, typer.Option(help="Name of a solver; see `rcpomdp solvers`.")] = "sarsop",
    param: Parameters = None,
    objective: Annotated[
        str, typer.Option(help="reward; cost or cost:NAME; or weights λ for reward - λ·cost, as 4.15 or 1,2.")
    ] = "reward",
    epsilon: Annotated[float, typer.Option(help="Absolute gap to stop at.")] = 1e-3,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Set-up and search; unlimited unless given.")
    ] = None,
    memory_limit: Annotated[float, typer.Option(metavar="GB", help="What beliefs and plans may take.")] = 8.0,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Save the policy, as in policy.rcp.")] = None,
    as_json: AsJson = False,
) -> None:
    """Solve a problem: bounds on the optimum, and a policy."""
    model = problems.make(problem, **_parameters(param))
    _announce_compilation()
    from .io import save_policy
    from .io.atomic import check_writable
    from .solvers import solve

    if out is not None:
        check_writable(out)
    with live_bounds(problem) as progress:
        result = solve(
            model,
            solver,
            objective=_objective(objective),
            epsilon=epsilon,
            time_limit=time_limit,
            memory_limit=memory_limit * 1e9,
            progress=progress,
        )
    if out is not None:
        save_policy(out, result.policy, model)
        _say(f"policy saved to {out}")
    summary = {"problem": problem, **result.summary(), "epsilon": epsilon, "time_limit": time_limit}
    summary["budget"] = [finite(budget) for budget in model.budget]
    if as_json:
        print_json(summary)
    else:
        table = Table(box=None, show_header=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column()
        for key, value in summary.items():
            shown = None
            if isinstance(value, float):
                shown = f"{value:.3f}" if key.endswith("seconds") else f"{value:.{3 if key == 'gap' else 9}g}"
            if value != [] and value is not None:
                table.add_row(key.replace("_", " "), shown or text(value))
        stdout().print(table)
    for name, cost, limit in zip(model.costs, result.cost, model.spending_limit, strict=True):
        if cost > limit:
            _say(f"{name} {cost:.6g} is above its budget: {solver} does not look at budgets")
    if result.status != "optimal":
        raise typer.Exit(_complain(f"{result.status}: the gap is {result.gap:.3g}, above {epsilon:g}", STOPPED))


@app.command("solvers")
def _solvers(as_json: AsJson = False) -> None:
    """List the solvers and what each gives."""
    from .solvers import SOLVERS

    if as_json:
        print_json([{"name": name, "summary": summary} for name, (summary, _) in SOLVERS.items()])
        return
    for name, (summary, _) in SOLVERS.items():
        print(f"{name}: {summary}")


def _objective(text: str) -> Any:
    """An objective as the command line gives it: a word, or weights."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return text


@app.command("simulate")
def _simulate(
    problem: Annotated[str, typer.Option("--problem", help="Name of a problem.")],
    policy: Annotated[
        str, typer.Option("--policy", help="blind:ACTION, random, qmdp, fib, or the path of a policy file.")
    ],
    param: Parameters = None,
    runs: Annotated[int, typer.Option(help="Number of runs.")] = 1000,
    steps: Annotated[int, typer.Option(help="Most steps of a run.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes; the rows do not depend on it.")] = 1,
    rows: Annotated[str | None, typer.Option(metavar="FILE", help="Write one row per run as CSV.")] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a policy: reward, costs, violation rate."""
    model = problems.make(problem, **_parameters(param))
    _announce_compilation()
    from .io.atomic import whole_file
    from .policies.named import from_name
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


def _parameters(given: list[str] | None) -> dict[str, Any]:
    parsed = {}
    for pair in given or []:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ProblemError(f"parameter {pair!r} is not of the form key=value")
        parsed[key.strip()] = problems.parse(value)
    return parsed


def _announce_compilation() -> None:
    """Have numba say when it compiles, which takes seconds; what is cached is not compiled."""
    from .kernels.jit import when_compiling

    when_compiling(lambda: _say("compiling kernels, this once ..."))


def _say(sentence: str) -> None:
    print(f"rcpomdp: {sentence}", file=sys.stderr)


def _complain(sentence: str, code: int) -> int:
    _say(sentence)
    return code
