"""Runs as rows of plain values, for other programs: one row per cell, or one per simulated run."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib import import_module
from typing import Any

from ..._json_values import finite
from ...errors import InputError
from ...io.csv_rows import csv_bytes
from ..run.record import Cell, Record

CSV, JSON, PARQUET = "csv", "json", "parquet"
FORMATS = (CSV, JSON, PARQUET)


def cell_row(record: Record) -> dict[str, Any]:
    """A record in one row: means over its runs, facts of how it was made; no arrays."""
    runs = len(record.run_reward)
    return {
        **_asked(record.cell),
        "status": record.status,
        "error": record.error,
        **{name: getattr(record, name) for name in ("lower", "upper", "reward", "cost", "admissible")},
        "simulated": runs,
        "mean_reward": float(record.run_reward.mean()) if runs else None,
        "mean_cost": record.run_cost.mean(axis=0).tolist() if runs else [],
        "violation_rate": float((record.run_violation >= 0).mean()) if runs else None,
        **{name: getattr(record, name) for name in ("seconds", "setup_seconds", "simulation_seconds")},
        **{name: getattr(record, name) for name in ("model_hash", "versions", "machine", "started", "finished")},
    }


def run_rows(record: Record) -> Iterator[dict[str, Any]]:
    """One row per simulated run of a record."""
    asked = _asked(record.cell)
    for run in range(len(record.run_reward)):
        step = int(record.run_violation[run])
        yield {
            **asked,
            "run": run,
            "run_reward": float(record.run_reward[run]),
            "run_cost": record.run_cost[run].tolist(),
            "run_spent": record.run_spent[run].tolist(),
            "violation_step": None if step < 0 else step,
            "length": int(record.run_length[run]),
        }


def exported(records: Sequence[Record], form: str, rows: bool) -> bytes:
    """Records in one of the `FORMATS`, one row per cell or per run."""
    if rows:
        found = [row for record in records for row in run_rows(record)]
    else:
        found = [cell_row(record) for record in records]
    if form == JSON:
        return (json.dumps(found, indent=None if rows else 2, allow_nan=False) + "\n").encode()
    flat = _flat(found)
    if form == CSV:
        return csv_bytes(flat) if flat else b""
    return _parquet(flat)


def check_format(form: str) -> None:
    """Refuse a format that is unknown, or that needs what is not installed."""
    if form not in FORMATS:
        raise InputError(f"unknown format {form!r} (known: {', '.join(FORMATS)})")
    if form == PARQUET:
        try:
            import_module("pyarrow.parquet")
        except ImportError:
            raise InputError("parquet needs pyarrow: pip install 'rcpomdp[parquet]'") from None


def _asked(cell: Cell) -> dict[str, Any]:
    return asdict(cell) | {"budget": [finite(limit) for limit in cell.budget]}


def _flat(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of single values: lists of one number are that number where all rows have one, and else JSON."""

    def single(value: Any) -> bool:
        return isinstance(value, list) and len(value) == 1 and isinstance(value[0], int | float | None)

    numbers = {key for key in (rows[0] if rows else ()) if all(single(row[key]) for row in rows)}
    return [
        {
            key: value[0] if key in numbers else json.dumps(value) if isinstance(value, list | dict) else value
            for key, value in row.items()
        }
        for row in rows
    ]


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    arrow: Any = import_module("pyarrow")  # it has no complete types
    parquet: Any = import_module("pyarrow.parquet")
    buffer = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(rows), buffer)
    return buffer.getvalue()
