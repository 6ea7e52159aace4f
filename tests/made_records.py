"""Cells and records that nothing was run for, and how records are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from rcpomdp.experiments.run.record import Cell, Record

ARRAYS = ("run_reward", "run_cost", "run_spent", "run_violation", "run_length")
SAME = ("status", "error", "lower", "upper", "reward", "cost", "admissible", "model_hash")


def cell(**changes: Any) -> Cell:
    known: dict[str, Any] = {
        **{"suite": "made-up", "title": "CE", "problem": "ce", "parameters": {}, "budget": [5.0], "algorithm": "ARCS"},
        **{"solver": "arcs", "options": {}, "time_limit": 60.0, "runs": 3, "steps": 20, "seed": 0},
    }
    return Cell(**{**known, **changes})


def record(of: Cell, status: str = "optimal", seed: int = 0) -> Record:
    """A record full of numbers of no meaning."""
    rng = np.random.default_rng(seed)
    n, costs = of.runs, len(of.budget)
    return Record(
        cell=of,
        status=status,
        error="something" if status == "failed" else None,
        lower=float(rng.random()),
        upper=None,
        reward=float(rng.random()),
        cost=rng.random(costs).tolist(),
        admissible=True,
        seconds=1.5,
        setup_seconds=0.25,
        simulation_seconds=0.125,
        trace=np.array([[0.0, -np.inf, np.inf], [1.0, 2.0, 3.0]]),
        run_reward=rng.random(n),
        run_cost=rng.random((n, costs)),
        run_spent=rng.random((n, costs)),
        run_violation=rng.integers(-1, 20, n),
        run_length=rng.integers(1, 20, n),
        model_hash="abc",
        versions={"rcpomdp": "0"},
        machine={"cores": 2, "memory": None},
        started="2026-01-01T00:00:00+00:00",
        finished="2026-01-01T00:00:02+00:00",
    )


def outcome(found: Record) -> dict[str, Any]:
    """All of a record that does not depend on the clock or the machine, to be compared with ==."""
    plain = {name: getattr(found, name) for name in ("cell", *SAME)}
    return plain | {name: getattr(found, name).tolist() for name in (*ARRAYS, "paths")}
