"""``rcpomdp reproduce``."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .common import FAILED, STOPPED, AsJson, app, complain, say, tell, tell_lines
from .printing import print_json

if TYPE_CHECKING:
    from ..experiments.run.pool import Pool
    from ..experiments.run.record import Cell
    from ..experiments.run.store import Asked, RunStore

DEFAULT_STORE = "runs.db"


@app.command("reproduce")
def _reproduce(
    suite: Annotated[str | None, typer.Argument(help="Name of a suite; without it they are listed.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Limit of a solve in place of the suite's.")
    ] = None,
    step_time: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Of CGCP-CL before each step; the time limit unless given.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds each cell is run with.")] = 1,
    workers: Annotated[int | None, typer.Option(help="Processes; as many as there are cores unless given.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on a dask scheduler, as in tcp://host:8786.")
    ] = None,
    store: Annotated[str, typer.Option(metavar="FILE", help="Where runs are kept.")] = DEFAULT_STORE,
    runs: Annotated[int | None, typer.Option(help="Simulated runs of a cell, at most.")] = None,
    only: Annotated[str | None, typer.Option(metavar="PATTERN", help="Cells like this, as in 'tiger*arcs'.")] = None,
    skip: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="No cells like this; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a suite of experiments; what is in the store already is not run again."""
    from ..experiments import suites

    if suite is None:
        _list(as_json)
        return
    asked = suites.cells(suite, time_limit, step_time, seeds, only, skip or (), runs)
    if workers is not None and workers < 1:
        raise InputError(f"workers must be at least 1, not {workers}")
    if workers is not None and scheduler is not None:
        raise InputError("workers are those of the scheduler; give --workers or --scheduler, not both")
    from ..experiments.run.store import RunStore, canonical

    with RunStore(store, create=True) as kept:
        code = _run(asked, kept, workers, scheduler)
        wanted = {canonical(cell) for _, cell in asked}
        records = [record for record in kept.records(suite) if canonical(record.cell) in wanted]
    from ..experiments.report import formats, tables
    from ..experiments.run.progress import plural

    if as_json:
        print_json(tables.data(records))
    elif records:
        shown = tables.table(records)
        if sys.stdout.isatty():
            formats.print_rich(shown)
        else:
            tell_lines(formats.rich_text(shown))
    failed = sum(record.status == "failed" for record in records)
    if failed and not code:
        code = complain(f"{failed} of {plural(len(asked))} failed; the same command runs them again", FAILED)
    raise typer.Exit(code)


def _list(as_json: bool) -> None:
    from ..experiments import suites

    rows = [
        {"suite": name, "cells": len(suites.cells(name)), "limit": suites.get(name).limit}
        | {"summary": suites.get(name).summary}
        for name in suites.names()
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        tell(f"{row['suite']}: {row['summary']} ({row['cells']} cells, {row['limit']:g} s each unless said otherwise)")


def _run(asked: list[Asked], store: RunStore, workers: int | None, scheduler: str | None) -> int:
    """Run what is not done yet; the exit code of what stopped it."""
    cells = [cell for _, cell in asked]
    if len(store.finished(cells)) == len(cells):
        try:
            store.ask(asked)  # as another suite may have run them
        except sqlite3.OperationalError as error:
            raise InputError(f"store {store.path!r} cannot be written: {error}") from None
        say("the one cell was done before" if len(cells) == 1 else f"all {len(cells)} cells were done before")
        return 0
    from ..experiments.reproduce import reproduce
    from ..experiments.run.pool import PoolLostError
    from ..experiments.run.progress import watching

    try:
        with closing(_pool(workers, scheduler)) as pool, watching(say) as watch:
            reproduce(asked, store, pool, watch)
    except KeyboardInterrupt:
        for again in (signal.SIGINT, signal.SIGTERM):  # what is left to do is short, and whoever asks again is answered
            signal.signal(again, signal.SIG_IGN)
        return complain(f"stopped with {_done(store, cells)}; the same command goes on", STOPPED)
    except PoolLostError as error:
        return complain(f"{error}, with {_done(store, cells)}; the same command goes on", FAILED)
    except sqlite3.OperationalError as error:
        return complain(f"store {store.path!r} cannot be written: {error}; what was done before is kept", FAILED)
    return 0


def _done(store: RunStore, cells: list[Cell]) -> str:
    from ..experiments.run.progress import plural

    return f"{len(store.finished(cells))} of {plural(len(cells))} done"


def _pool(workers: int | None, scheduler: str | None) -> Pool:
    if scheduler is not None:
        from ..experiments.run.cluster import ClusterPool

        return ClusterPool(scheduler)
    from ..experiments.run.pool import LocalPool
    from ..experiments.run.warm import compile_kernels
    from .common import announce_compilation

    announce_compilation()
    compile_kernels()  # here and once: the workers find everything in the cache
    return LocalPool(workers or len(os.sched_getaffinity(0)))
