"""What the command line prints: tables, JSON, CSV, and live lines on stderr."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from ._plain import finite
from .errors import ProblemError
from .problems import Problem

if TYPE_CHECKING:
    from .solvers import TracePoint

PIPE_WIDTH = 160  # where stdout is no terminal, tables are not squeezed into 80 columns


def simulation_table(summary: dict[str, Any]) -> Table:
    """A simulation's summary, one quantity a row."""
    table = Table(box=None, header_style="bold")
    table.add_column("quantity", no_wrap=True)
    for title in ("mean", "± s.e.", "truncation", "budget"):
        table.add_column(title, justify="right", no_wrap=True)

    def add(name: str, estimate: dict[str, Any], tail: str = "", budget: str = "") -> None:
        error = "-" if estimate["se"] is None else f"{estimate['se']:.2g}"
        table.add_row(name, text(estimate["mean"]), error, tail, budget)

    add("reward", summary["reward"], f"≤ {text(summary['reward']['truncation'])}")
    for cost in summary["costs"]:
        budget = "unlimited" if cost["budget"] is None else text(cost["budget"])
        add(str(cost["name"]), cost, f"≤ {text(cost['truncation'])}", budget)
        add(f"{cost['name']} spent, by beliefs", cost["spent"])
    if summary["costs"]:
        add("violation rate", summary["violation_rate"])
        add("overrun rate", summary["overrun_rate"])
    add("length", summary["length"])
    return table


def problem_row(name: str, problem: Problem | ProblemError) -> dict[str, Any]:
    """What a listing tells of a problem, or of the plug-in that should have provided it."""
    sizes: tuple[int | None, ...] = (None, None, None)
    defaults: dict[str, Any] = {}
    if isinstance(problem, ProblemError):
        summary = str(problem)
    else:
        summary, sizes = problem.summary, problem.sizes or sizes
        defaults = {key: jsonable(default) for key, (default, _) in problem.parameters.items()}
    return {
        "name": name,
        "states": sizes[0],
        "actions": sizes[1],
        "observations": sizes[2],
        "discount": defaults.get("discount"),
        "budget": defaults.get("budget"),
        "summary": summary,
    }


@contextmanager
def live_bounds(what: str) -> Iterator[Callable[[TracePoint], None] | None]:
    """A live line with the bounds on stderr, if that is a terminal; yields what moves it on."""
    console = Console(stderr=True, markup=False)
    if not console.is_terminal:
        yield None
        return
    with console.status(f"{what}: setting up") as status:
        yield lambda p: status.update(
            f"{what}: {p.seconds:.0f} s, [{p.lower:.5g}, {p.upper:.5g}], gap {p.upper - p.lower:.3g}, "
            f"{p.beliefs:,} beliefs, {p.plans:,} plans"
        )


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """A live line on stderr, if that is a terminal; yields what moves it on."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as live:
        task = live.add_task(what, total=total)
        yield lambda done: live.update(task, completed=done)


def csv_bytes(rows: list[dict[str, Any]]) -> bytes:
    """Rows as CSV, the first line naming the columns."""
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue().encode()


def stdout() -> Console:
    """Where data goes."""
    # Labels and summaries are anybody's text: brackets in them are no markup.
    return Console(markup=False) if sys.stdout.isatty() else Console(markup=False, width=PIPE_WIDTH)


def print_json(value: Any) -> None:
    """Data as JSON on stdout."""
    print(json.dumps(value, indent=2, allow_nan=False))


def setting(value: Any) -> str:
    """A parameter's value as ``-p`` takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        items = ",".join(f"({setting(i)})" if isinstance(i, list | tuple) else setting(i) for i in value)
        return items + "," if len(value) == 1 else items
    return str(value)


def jsonable(value: Any) -> Any:
    """A parameter's value as JSON has it."""
    if isinstance(value, tuple | list):
        return [jsonable(item) for item in value]
    if isinstance(value, float):
        return finite(value)
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def text(value: Any) -> str:
    """A value as a person reads it in a table."""
    match value:
        case None:
            shown = "-"
        case bool():
            shown = str(value).lower()
        case int():
            shown = f"{value:,}"
        case float():
            shown = f"{value:.6g}" if abs(value) < 0.9999 or abs(value) >= 1 else f"{value:.12g}"
        case dict():
            shown = ", ".join(f"{key} {text(item)}" for key, item in value.items())
        case list() | tuple():
            shown = ", ".join(f"({text(i)})" if isinstance(i, list | tuple) else text(i) for i in value)
        case _:
            shown = str(value)
    return shown
