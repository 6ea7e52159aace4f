"""``rcpomdp paper``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..errors import InputError
from .common import AsJson, app, say
from .printing import print_json
from .reproduce import DEFAULT_STORE


@app.command("paper")
def _paper(
    store: Annotated[str, typer.Option(metavar="FILE", help="Where runs are kept.")] = DEFAULT_STORE,
    form: Annotated[str, typer.Option("--format", metavar="rich|markdown|latex|html", help="As what.")] = "rich",
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Where to; stdout unless given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say of each number of the paper what the runs of a store make of it: reproduced, explained, open, or not run."""
    from ..experiments.report import formats, verdicts
    from ..experiments.report.selection import select

    draw = {"rich": formats.rich_text, "markdown": formats.markdown, "latex": formats.latex, "html": formats.html}
    if form not in draw:
        raise InputError(f"unknown format {form!r} (known: {', '.join(draw)})")
    if out is not None:
        from ..io.atomic import check_writable

        check_writable(out, store)
    found = verdicts.numbers(select(store))
    if as_json:
        print_json(verdicts.data(found))
        return
    text = f"{draw[form](verdicts.summary(found))}\n{draw[form](verdicts.table(found))}"
    if out is None:
        sys.stdout.write(text)
        return
    from ..io.atomic import whole_file

    with whole_file(out) as file:
        file.write(text.encode())
    say(f"the paper's numbers written to {out}")
