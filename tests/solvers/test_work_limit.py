"""Work limits: the same seed and limit give the same result, however fast the machine is."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.deadline import STEPS_PER_SECOND, charge, counting_work, now, unhurried

QUICK = 0.2 * STEPS_PER_SECOND
CASES = [
    *[("arcs", name) for name in ("tiger", "crs-4-4", "hallway", "warehouse", "delivery", "cheese-maze")],
    *[(solver, "crs-4-4") for solver in ("sarsop", "cgcp", "exp-gradient", "cpbvi", "cpbvi-d")],
    *[("sarsop", "hallway"), ("cgcp", "hallway")],
]


@pytest.fixture
def clock_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every look at the machine's clock fail. Kernels are loaded before."""

    def fail() -> float:
        raise AssertionError("a solve with a work limit looked at the clock")

    for name in ("perf_counter", "monotonic", "process_time", "time"):
        monkeypatch.setattr(time, name, fail)


def told(result: rc.Result) -> dict[str, Any]:
    """Everything that a result says."""
    policy = {key: value for key, value in vars(result.policy).items() if isinstance(value, np.ndarray)}
    trace = [tuple(point) for point in result.trace]
    return {**result.summary(), "trace": trace, **{f"policy {key}": value.tobytes() for key, value in policy.items()}}


@pytest.mark.parametrize(("solver", "problem"), CASES)
def test_a_work_limit_repeats(solver: str, problem: str, request: pytest.FixtureRequest) -> None:
    model = rc.problems.make(problem)
    first = rc.solve(model, solver, work_limit=QUICK, progress=False)
    request.getfixturevalue("clock_that_fails")
    again = rc.solve(model, solver, work_limit=QUICK, progress=False)
    assert told(first) == told(again)
    assert first.seconds <= 1.3 * QUICK / STEPS_PER_SECOND


def test_more_work_is_never_worse() -> None:
    model = rc.problems.make("hallway")
    some, more = (rc.solve(model, work_limit=n * STEPS_PER_SECOND, progress=False) for n in (0.2, 1.0))
    assert some.status == more.status == "work limit"
    assert more.gap < some.gap


def test_finite_k_and_proofs_repeat() -> None:
    model = rc.problems.make("tunnels")
    for options in ({"k": 3}, {"proof": True}):
        first, again = (rc.solve(model, work_limit=QUICK, progress=False, **options) for _ in range(2))
        assert told(first) == told(again)


def test_what_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    with counting_work():
        began = now()
        with unhurried():
            charge(10 * STEPS_PER_SECOND)
        assert now() - began < 1e-3
    monkeypatch.setattr(time, "perf_counter", lambda: 7.0)
    assert now() == 7.0  # outside, time is that of the machine


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"work_limit": 0}, "the work limit must be a number of steps above 0, not 0"),
        ({"work_limit": np.nan}, "the work limit must be a number of steps above 0, not nan"),
        ({"work_limit": "many"}, "the work limit must be a number of steps above 0, not 'many'"),
        ({"work_limit": 1e9, "time_limit": 1}, "give a time limit or a work limit, not both"),
        (
            {"work_limit": 1e9, "act_time": 0.1},
            "a policy with act_time goes by the clock; give a time limit, not a work limit",
        ),
        ({"work_limit": 1e9, "solver": "cgcp-cl"}, "solver 'cgcp-cl' does not count its work; give a time limit"),
    ],
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(rc.InputError, match=message):
        rc.solve(rc.problems.make("ce"), **options)
