"""Which search solves a model, and what results, the command line and the log say of that."""

from __future__ import annotations

import pytest

import rcpomdp as rc
from rcpomdp.solvers.route import BELIEF_GRAPH, POINT_BASED, choose_route

BOTH = {POINT_BASED, BELIEF_GRAPH}


@pytest.mark.parametrize(
    ("problem", "engines"),
    [
        ("ce", (BELIEF_GRAPH, POINT_BASED)),
        ("crs-4-4", (BELIEF_GRAPH, POINT_BASED)),
        ("rs-5-7", (BELIEF_GRAPH, POINT_BASED)),
        ("crs-11-11", (BELIEF_GRAPH,)),  # too large for a second set-up
        ("tiger", (POINT_BASED, BELIEF_GRAPH)),
        ("tunnels", (POINT_BASED, BELIEF_GRAPH)),
        ("delivery", (POINT_BASED, BELIEF_GRAPH)),
        ("hallway", (POINT_BASED,)),
        ("tag", (POINT_BASED,)),
    ],
)
def test_the_route_of_known_problems(problem: str, engines: tuple[str, ...]) -> None:
    assert choose_route(rc.problems.make(problem)).engines == engines
