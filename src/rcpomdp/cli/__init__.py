"""The command line: parse, call, print.

Data goes to stdout, progress and messages to stderr. Exit codes: 0 done, 1 failed, 2 bad input, 3 infeasible,
4 stopped before its goal.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from .. import __version__
from ..errors import InputError
from . import (  # noqa: F401 - each module adds its commands
    check,
    compress,
    convert,
    explain,
    explore,
    export,
    graph,
    paper,
    plot,
    problems,
    render,
    report,
    reproduce,
    runs,
    simulate,
    solve,
    solvers,
    table,
    verify,
)
from .common import BAD_INPUT, FAILED, STOPPED, app, complain

_INTERRUPTED = 130  # what typer makes of Ctrl-C

app.registered_commands.sort(key=lambda command: command.name or "")


def main() -> None:
    """Run the command line and exit with its code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it is closed: what is said goes nowhere
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an ASCII terminal shows "?" for "±" rather than a failure
    try:
        code = app(standalone_mode=False)
        if code == _INTERRUPTED:
            code = complain("stopped before anything was done", STOPPED)
    except InputError as error:
        code = complain(str(error), BAD_INPUT)
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
            code = complain(f"failed: {type(cause).__name__}: {detail} (RCPOMDP_DEBUG=1 shows where)", FAILED)
    try:
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
