"""``rcpomdp table``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..errors import InputError
from .common import AsJson, app, complete_suite, say, tell_lines
from .printing import print_json
from .reproduce import DEFAULT_STORE


@app.command("table")
def _table(
    suite: Annotated[str, typer.Argument(help="Name of a suite.", autocompletion=complete_suite)],
    store: Annotated[str, typer.Option(metavar="FILE", help="Where runs are kept.")] = DEFAULT_STORE,
    form: Annotated[str, typer.Option("--format", metavar="rich|markdown|latex|csv|html", help="As what.")] = "rich",
    layout: Annotated[
        str | None,
        typer.Option(
            metavar="short|extended|unconstrained", help="Which of the paper's layouts; the suite's unless given."
        ),
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Where to; stdout unless given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what came of a suite beside the paper's values."""
    from ..experiments.report import formats, tables
    from ..experiments.report.selection import select

    for value, known, what in ((form, formats.FORMATS, "format"), (layout, tables.LAYOUTS, "layout")):
        if value is not None and value not in known:
            raise InputError(f"unknown {what} {value!r} (known: {', '.join(known)})")
    if out is not None:
        from ..io.atomic import check_writable

        check_writable(out, store)
    records = select(store, suite)
    if as_json:
        print_json(tables.data(records))
        return
    if form == formats.RICH and out is None and sys.stdout.isatty():
        formats.print_rich(tables.table(records, layout))
        return
    text = formats.render(records, form, layout)
    if out is None:
        tell_lines(text)
        return
    from ..io.atomic import whole_file

    with whole_file(out) as file:
        file.write(text.encode())
    say(f"table of {suite} written to {out}")
