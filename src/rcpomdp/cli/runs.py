"""``rcpomdp runs``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError, did_you_mean
from .common import AsJson, app, say, tell_lines
from .printing import print_json, stdout
from .reproduce import DEFAULT_STORE

if TYPE_CHECKING:
    from rich.table import Table

    from ..experiments.run.record import Record


@app.command("runs")
def _runs(
    store: Annotated[str, typer.Option(metavar="FILE", help="Where runs are kept.")] = DEFAULT_STORE,
    suite: Annotated[str | None, typer.Option(help="Of this suite alone.")] = None,
    solver: Annotated[str | None, typer.Option(help="By this solver alone.")] = None,
    problem: Annotated[str | None, typer.Option(help="On this problem alone.")] = None,
    status: Annotated[str | None, typer.Option(help="That ended so, as in 'time limit' or failed.")] = None,
    every: Annotated[bool, typer.Option("--every", help="Failed attempts too, where a later one went well.")] = False,
    export: Annotated[str | None, typer.Option(metavar="csv|json|parquet", help="Write them as data.")] = None,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Where to; stdout unless given.")] = None,
    rows: Annotated[bool, typer.Option("--rows", help="One row per simulated run, not per cell.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what a store holds."""
    from ..experiments.report.export import PARQUET, cell_row, check_format, exported
    from ..experiments.run.store import RunStore

    if export is not None:
        check_format(export)
    if (out is not None or rows) and export is None:
        raise InputError("--out and --rows belong to --export")
    if export == PARQUET and out is None:
        raise InputError("parquet is no text; say with --out where to write it")
    with RunStore(store) as kept:
        known = kept.suites()
        if suite is not None and suite not in known:
            raise InputError(
                f"store {store!r} has nothing of suite {suite!r}{did_you_mean(suite, known)} "
                f"(it has: {', '.join(known) or 'none'})"
            )
        records = kept.records(suite, solver, problem, status, every)
    if export is not None:
        data = exported(records, export, rows)
        if out is None:
            tell_lines(data.decode())
            return
        from ..io.atomic import check_writable, whole_file

        check_writable(out, store)
        with whole_file(out) as file:
            file.write(data)
        say(f"{len(records)} {'run' if len(records) == 1 else 'runs'} written to {out}")
    elif as_json:
        print_json([cell_row(record) for record in records])
    else:
        stdout().print(_table(records))


def _table(records: list[Record]) -> Table:
    from rich.table import Table

    from ..experiments.run.progress import outcome
    from ..experiments.suites import label

    table = Table(box=None, header_style="bold")
    for column in ("suite", "cell", "limit", "seed", "finished", "outcome"):
        table.add_column(
            column, justify="right" if column in ("limit", "seed") else "left", no_wrap=column != "outcome"
        )
    for record in records:
        cell = record.cell
        words = label(cell).removesuffix(f", seed {cell.seed}")
        limit, seed = f"{cell.time_limit:g} s", str(cell.seed)
        table.add_row(cell.suite, words, limit, seed, record.finished, outcome(record))
    return table
