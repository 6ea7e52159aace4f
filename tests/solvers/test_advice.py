"""Advice fits the way a search went, and how options are written where it is given."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.solvers import Result, TracePoint
from rcpomdp.solvers.advice import advice


def result(*gaps: float, status: str = "time limit", solver: str = "arcs", **more: object) -> Result:
    """A result whose gap fell so from second to second, below a value of 10."""
    trace = [TracePoint(float(t), 10.0 - gap, 10.0, t, t, t) for t, gap in enumerate(gaps)]
    found = Result.of_search(
        solver,
        status,
        trace,
        0.0,
        policy=rc.policies.blind(rc.problems.make("ce"), "tunnel-B"),
        reward=trace[-1].lower,
        cost=np.array([1.0]),
        sure_cost=np.array([1.0]),
        variant="levels",
        admissible=True,
    )
    return replace(found, **more)


def test_time_helps_where_the_gap_falls() -> None:
    said = result(8.0, 4.0, 2.0).advice
    assert said[0] == "more time helps: in the last half of 2 s the gap fell from 4 to 2"
    assert result(8.0, 2.0, 2.0).advice[0].startswith("more time alone helps little: ")
    assert result(math.inf, math.inf, 2.0).advice[0] == "more time lets the search go on"
    assert result(math.inf, math.inf, admissible=None).advice[0] == "more time lets the search go on"
    assert "may find a policy" in result(math.inf, math.inf, admissible=False).advice[0]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("stalled", "more time will not help"),
        ("memory limit", "a larger --memory-limit"),
        ("iteration limit", "-o iterations= with a larger number"),
    ],
)
def test_what_ran_out_is_named(status: str, said: str) -> None:
    assert advice(result(4.0, 2.0, status=status), shell=True)[0].startswith(said)


def test_a_small_gap_may_be_enough() -> None:
    assert "epsilon=0.22 would have been enough: the gap is 0.021 of the value" in result(1.0, 0.213).advice
    assert "--epsilon 0.22" in " ".join(advice(result(1.0, 0.213), shell=True))
    assert not any("epsilon" in sentence for sentence in result(8.0, 2.0).advice)


def test_searching_on_and_the_weaker_promise_are_for_budgets_in_every_history() -> None:
    said = " ".join(result(8.0, 2.0).advice)
    assert "act_time=0.1" in said
    assert 'rc.solve(model, "cgcp")' in said
    assert "act_time" not in " ".join(result(8.0, 2.0, options={"act_time": 1.0}).advice)
    assert "act_time" not in " ".join(result(8.0, 2.0, admissible=False).advice)
    for other in (result(8.0, 2.0, solver="cgcp"), result(8.0, 2.0, cost=np.zeros(0), sure_cost=np.zeros(0))):
        assert len(other.advice) == 1
    assert "cgcp" not in " ".join(result(8.0, 2.0, k=3).advice)


@pytest.mark.parametrize("status", ["optimal", "converged", "infeasible"])
def test_nothing_to_do_is_said_where_there_is_nothing(status: str) -> None:
    assert result(1.0, 0.5, status=status).advice == []


def test_a_notebook_shows_it() -> None:
    assert "to do better" in result(8.0, 2.0)._repr_html_()
    assert "to do better" not in result(8.0, 0.0, status="optimal")._repr_html_()


def test_a_solver_that_refuses_the_model_is_not_advised() -> None:
    model = rc.problems.make("tiger", cost_discount=1.0)
    assert not any("cgcp" in sentence for sentence in rc.solve(model, time_limit=0.2, epsilon=0.0).advice)
    assert any("cgcp" in sentence for sentence in rc.solve(rc.problems.make("tiger"), time_limit=0.2).advice)


def test_a_search_that_had_not_begun_is_not_said_to_stand_still() -> None:
    result = rc.solve(rc.problems.make("crs-11-11"), time_limit=0.3)
    assert result.trace[-1].seconds == 0
    assert result.advice[0] == "the search had not begun yet: more time lets it"
