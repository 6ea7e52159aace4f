"""The application that all commands share, its options, exit codes and messages on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from .._plain_text import printable, printable_lines

if TYPE_CHECKING:
    from ..model import CPOMDP

FAILED, BAD_INPUT, INFEASIBLE, STOPPED = 1, 2, 3, 4

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
    typer.Option(
        "--budget",
        metavar="NUMBER",
        help="Budget in place of the problem's; once per cost, or as NAME=NUMBER; inf is unlimited.",
    ),
]
AddedCosts = Annotated[
    list[str] | None,
    typer.Option(
        "--cost", metavar="LINE", help="A further cost, as 'energy: forward : * 1'; NAME: ACTION : STATE VALUE."
    ),
]


def complete_problem(begun: str) -> list[str]:
    """Names of problems that begin so, and whatever the shell finds of files."""
    from .. import problems

    return [name for name in problems.names() if name.startswith(begun)]


def complete_solver(begun: str) -> list[str]:
    """Names of solvers that begin so."""
    from ..solvers import registry

    return [name for name in registry.names() if name.startswith(begun)]


def complete_suite(begun: str) -> list[str]:
    """Names of suites that begin so."""
    from ..experiments import suites

    return [name for name in ["paper", *suites.names()] if name.startswith(begun)]


ProblemOfFile = Annotated[
    str | None,
    typer.Option(
        "--problem", help="Name of a problem, or a model file; the policy file's own.", autocompletion=complete_problem
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of policies that draw at random.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def announce_compilation() -> None:
    """Have numba say when it compiles, which takes seconds; what is cached is not compiled."""
    from .. import _live

    _live.announce_compilation(always=True)


def tell(words: str) -> None:
    """A line of data on stdout; names in it are anybody's text, and steer no terminal."""
    print(printable(words))


def tell_lines(text: str) -> None:
    """The same for a text whose lines end where it says."""
    sys.stdout.write(printable_lines(text))


def say(sentence: str) -> None:
    """A sentence on stderr."""
    print(f"rcpomdp: {printable(sentence)}", file=sys.stderr)


def complain(sentence: str, code: int) -> int:
    """Say what is wrong; return the exit code for it."""
    say(sentence)
    return code


def hint_at_costly_ends(model: CPOMDP) -> None:
    """Ask about states that look like ends but cost something."""
    from ..model.added_costs import costly_ends

    ends = costly_ends(model)
    if ends:
        more = f" (and {len(ends) - 1:,} more)" if len(ends) > 1 else ""
        say(f"{ends[0]!r}{more} absorbs but costs: is it meant to be the end? An end costs nothing")


def hint_at_no_budget(model: CPOMDP) -> None:
    """Say so where there are costs and none of them has a limit."""
    import numpy as np

    if model.n_costs and np.isinf(model.budget).all() and not model.has_step_limits:
        first = printable(str(model.costs[0]))
        say(f"cost {first!r} has no budget, so that nothing is limited: --budget {first}=... sets one")
