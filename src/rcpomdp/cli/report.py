"""``rcpomdp report``."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from .common import AsJson, app, say
from .printing import print_json
from .reproduce import DEFAULT_STORE


@app.command("report")
def _report(
    out: Annotated[str, typer.Option(metavar="FILE", help="The page to write.")] = "report.html",
    store: Annotated[str, typer.Option(metavar="FILE", help="Where runs are kept.")] = DEFAULT_STORE,
    as_json: AsJson = False,
) -> None:
    """Write one page with every table and plot of a store, to be read offline and to be printed."""
    from ..experiments.report.selection import select, suites
    from ..io.atomic import check_writable, whole_file

    check_writable(out, store)
    records = select(store)
    from ..experiments.report.page import report

    page = report(records, os.path.basename(store)).encode()
    with whole_file(out) as file:
        file.write(page)
    if as_json:
        print_json({"file": out, "bytes": len(page), "suites": suites(records), "cells": len(records)})
    else:
        say(f"{len(records)} cells of {', '.join(suites(records))} written to {out}")
