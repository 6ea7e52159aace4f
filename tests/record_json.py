"""Records as JSON, for the tests; what is not finite is spelled as Python's json does."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from rcpomdp.experiments.run.record import Cell, Record

_TRACE_ROWS = 25  # a file for tests needs no more of a search
_WHOLE = ("run_violation", "run_length", "paths")
_REAL = ("trace", "run_reward", "run_cost", "run_spent")


def dump(records: list[Record], path: str) -> None:
    """Write records, numbers with six digits."""
    lines = [json.dumps(_plain(record), separators=(",", ":")) for record in records]
    Path(path).write_text("[\n" + ",\n".join(lines) + "\n]\n")


def load(path: Path) -> list[Record]:
    """Read records."""
    return [_record(fields) for fields in json.loads(path.read_text())]


def _plain(record: Record) -> dict[str, object]:
    fields = asdict(record)
    chosen = np.unique(np.linspace(0, len(record.trace) - 1, _TRACE_ROWS).astype(int))
    fields["trace"] = record.trace[chosen]
    for name in _REAL:
        fields[name] = [_short(row) for row in fields[name]]
    for name in _WHOLE:
        fields[name] = fields[name].tolist()
    return fields


def _short(row: object) -> object:
    return float(f"{row:.6g}") if np.ndim(row) == 0 else [float(f"{x:.6g}") for x in np.asarray(row)]


def _record(fields: dict[str, object]) -> Record:
    n_costs = len(fields["cell"]["budget"])
    arrays = {name: np.array(fields[name], dtype=np.int64) for name in _WHOLE}
    arrays |= {name: np.array(fields[name], dtype=np.float64) for name in _REAL}
    for name, width in (("run_cost", n_costs), ("run_spent", n_costs), ("trace", 3)):
        arrays[name] = arrays[name].reshape(-1, width)
    arrays["paths"] = arrays["paths"].reshape(len(fields["paths"]), -1) if fields["paths"] else np.zeros((0, 0), int)
    return Record(**{**fields, **arrays, "cell": Cell(**fields["cell"])})


def real(suite: str | None = None, title: str | None = None, algorithm: str | None = None) -> list[Record]:
    """Records that `make_records.py` made, all or some."""
    wanted = (("suite", suite), ("title", title), ("algorithm", algorithm))
    records = load(Path(__file__).parent / "experiments" / "records.json")
    return [r for r in records if all(asked in (None, getattr(r.cell, name)) for name, asked in wanted)]


def changed(record: Record, cell: dict[str, object] | None = None, **fields: object) -> Record:
    """A record with other fields, and a cell with others."""
    return replace(record, cell=replace(record.cell, **(cell or {})), **fields)


def odd() -> dict[str, list[Record]]:
    """Records that lack what most have, or have more of it, made from real ones."""
    (arcs,) = real("paper-extended", "CE", "ARCS")
    nothing = {
        "run_reward": np.zeros(0),
        "run_cost": np.zeros((0, 1)),
        "run_spent": np.zeros((0, 1)),
        "run_violation": np.zeros(0, dtype=np.int64),
        "run_length": np.zeros(0, dtype=np.int64),
    }
    no_trace = {"lower": None, "upper": None, "trace": np.zeros((0, 3))}
    failed = changed(
        arcs,
        status="failed",
        error="MemoryError: <no> room & _none_ 5% \\ |",
        reward=None,
        cost=[],
        **no_trace,
        **nothing,
    )
    two = np.hstack([arcs.run_cost, 2 * arcs.run_cost])
    return {
        "failed": [failed],
        "failed beside others": [failed, *real("paper-extended", "CE", "CGCP")],
        "no runs": [changed(arcs, **nothing)],
        "no runs and no bounds": [changed(arcs, **nothing, **no_trace)],
        "one run": [changed(arcs, **{name: getattr(arcs, name)[:1] for name in nothing})],
        "no bounds": [changed(arcs, **no_trace)],
        "bounds that are not finite": [
            changed(arcs, lower=None, trace=np.array([[0.1, -np.inf, np.inf], [0.2, -np.inf, 9]]))
        ],
        "no costs": [
            changed(arcs, {"budget": []}, cost=[], run_cost=np.zeros((60, 0)), run_spent=np.zeros((60, 0))),
        ],
        "several costs": [changed(arcs, {"budget": [5.0, 12.0]}, cost=[5.0, 10.0], run_cost=two, run_spent=two)],
        "no limit": [changed(arcs, {"budget": [np.inf]})],
        "a problem that is not here": [changed(arcs, {"problem": "gone", "title": "Gone <b>", "parameters": {"n": 3}})],
        "a stranger's algorithm": [changed(arcs, {"algorithm": "My & Own", "solver": "mine"})],
    }
