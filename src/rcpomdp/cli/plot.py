"""``rcpomdp plot``."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ..errors import InputError
from .common import AsJson, app, complete_suite, tell
from .printing import print_json
from .reproduce import DEFAULT_STORE


@app.command("plot")
def _plot(
    suite: Annotated[str, typer.Argument(help="Name of a suite.", autocompletion=complete_suite)],
    out: Annotated[str, typer.Option(metavar="FOLDER", help="Where to; made if it is not there.")],
    store: Annotated[str, typer.Option(metavar="FILE", help="Where runs are kept.")] = DEFAULT_STORE,
    form: Annotated[str, typer.Option("--format", metavar="svg|png", help="As what.")] = "svg",
    as_json: AsJson = False,
) -> None:
    """Draw every plot that the runs of a suite have something to show in."""
    from ..experiments.report.selection import select

    if form not in {"svg", "png"}:
        raise InputError(f"unknown format {form!r} (known: svg, png)")
    records = select(store, suite)
    try:
        os.makedirs(out, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {out!r}: {error.strerror}") from None
    from ..experiments.report.plots import plots
    from ..experiments.report.plots.style import png, svg
    from ..io.atomic import whole_file

    found = plots(records)
    if not found:
        raise InputError(f"suite {suite!r} in store {store!r} has neither bounds nor runs to draw")
    files = []
    for plot in found:
        path = os.path.join(out, f"{plot.name}.{form}")
        with whole_file(path) as file:
            file.write(png(plot) if form == "png" else svg(plot).encode())
        files.append({"file": path, "title": plot.title})
    if as_json:
        print_json(files)
    else:
        for written in files:
            tell(f"{written['file']}: {written['title']}")
