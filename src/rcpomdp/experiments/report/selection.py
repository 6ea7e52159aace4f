"""The records that a table, a plot or a report is made of."""

from __future__ import annotations

from ...errors import InputError, did_you_mean
from ..run.record import Record
from ..run.store import RunStore


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
    return [record for record in records if suite in (None, record.cell.suite)]


def suites(records: list[Record]) -> list[str]:
    """The suites that records belong to, in their order."""
    return list(dict.fromkeys(record.cell.suite for record in records))
