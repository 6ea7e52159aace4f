"""Records of finished cells: what was asked, how it was solved, and the simulated runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._types import FloatArray, IntArray


@dataclass(frozen=True)
class Cell:
    """One entry of a suite: a solver on a problem under a budget, and how to measure what it finds."""

    suite: str
    title: str  # of the problem, as the paper's tables have it: "C-Tiger", "CRS(4,4)"
    problem: str  # its name in the registry
    parameters: dict[str, Any]  # of the problem
    budget: list[float]  # [K]
    algorithm: str  # as the paper's tables have it: "CGCP-CL"
    solver: str  # its name in the registry
    options: dict[str, Any]  # of the solver, without time limit and seed
    time_limit: float  # seconds of a solve
    runs: int  # simulated; 0: none
    steps: int  # of each, at most
    seed: int


@dataclass(frozen=True)
class Record:
    """A cell that was run. Arrays are indexed by simulated run; they are empty where none was asked for."""

    cell: Cell
    status: str  # of the result, or "failed"
    error: str | None  # what went wrong, of a cell that failed
    lower: float | None  # bounds and values from the initial belief; None: there is none
    upper: float | None
    reward: float | None
    cost: list[float]  # [K]
    admissible: bool | None
    seconds: float  # of search
    setup_seconds: float
    simulation_seconds: float
    trace: FloatArray  # [n, 3] seconds, lower, upper
    run_reward: FloatArray  # [N] discounted
    run_cost: FloatArray  # [N, K] discounted, as it fell out
    run_spent: FloatArray  # [N, K] discounted, as the agent expected it step by step
    run_violation: IntArray  # [N] first step in violation, or -1
    run_length: IntArray  # [N]
    model_hash: str
    versions: dict[str, str]  # of rcpomdp, python, numpy, scipy, numba, highspy
    machine: dict[str, Any]  # processor, cores, memory, system
    started: str  # ISO 8601, UTC
    finished: str
    paths: IntArray = field(
        default_factory=lambda: np.zeros((0, 0), dtype=np.int64)
    )  # [N, T+1] states, -1 after the end
    exact: bool | None = None  # reward and cost are the policy's own, no means of runs; None: not noted at the time
