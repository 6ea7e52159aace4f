"""The records that a table, a plot or a report is made of."""

from __future__ import annotations

from dataclasses import replace

from ..._plain_text import printable
from ...errors import InputError, did_you_mean
from ..run.record import Record
from ..run.store import RunStore

_NAMES = ("suite", "title", "algorithm", "problem", "solver")


def select(path: str, suite: str | None = None) -> list[Record]:
    """The records of a store, or of one suite in it; raises an InputError if there are none."""
    with RunStore(path) as store:
        records = store.records()
    if not records:
        raise InputError(f"store {path!r} holds no records")
    known = suites(records)
    if suite is not None and suite not in known:
        raise InputError(
            f"store {path!r} has no records of suite {suite!r}{did_you_mean(suite, known)} (it has: {', '.join(known)})"
        )
    return [_named(record) for record in records if suite in (None, record.cell.suite)]


def _named(record: Record) -> Record:
    """The record with names that are printable, whoever wrote the store."""
    labels = {name: printable(getattr(record.cell, name)) for name in _NAMES}
    return replace(record, cell=replace(record.cell, **labels))


def suites(records: list[Record]) -> list[str]:
    """The suites that records belong to, in their order."""
    return list(dict.fromkeys(record.cell.suite for record in records))
