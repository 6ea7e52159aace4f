"""The choice of a search for a model, and where results, the command line and the log tell of it."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import rcpomdp as rc
import reference
from rcpomdp.cli.printing import solution_table
from rcpomdp.policies import ControllerPolicy, PlanSetPolicy
from rcpomdp.solvers.result import CandidateValue
from rcpomdp.solvers.route import BELIEF_GRAPH, POINT_BASED, Route, choose_route


@pytest.mark.parametrize(
    ("problem", "engines"),
    [
        ("ce", (BELIEF_GRAPH, POINT_BASED)),
        ("crs-4-4", (BELIEF_GRAPH, POINT_BASED)),
        ("crs-7-8", (BELIEF_GRAPH,)),  # too many states for a second set-up
        ("tiger", (POINT_BASED, BELIEF_GRAPH)),
        ("tunnels", (BELIEF_GRAPH, POINT_BASED)),
        ("delivery", (POINT_BASED, BELIEF_GRAPH)),
        ("hallway", (POINT_BASED,)),
        ("tag", (POINT_BASED,)),
    ],
)
def test_routes_of_known_problems(problem: str, engines: tuple[str, ...]) -> None:
    assert choose_route(rc.problems.make(problem)).engines == engines


def test_the_belief_graph_alone_keeps_step_limits_and_does_what_is_asked_of_it() -> None:
    model = rc.problems.make("hallway")
    assert choose_route(model.with_step_limit(1.0)).engines == (BELIEF_GRAPH,)
    assert choose_route(model, needs="a reason") == Route((BELIEF_GRAPH,), "a reason")


@pytest.mark.parametrize("problem", ["ce", "tiger", "delivery", "hallway"])
def test_states_that_nothing_reaches_change_no_route(problem: str) -> None:
    model = rc.problems.make(problem)
    assert choose_route(reference.with_unreachable_states(model, 30)) == choose_route(model)


def test_chance_among_terminal_states_leaves_moves_certain() -> None:
    T = np.array([[[0.0, 1.0], [0.5, 0.5]]])
    model = rc.CPOMDP(
        transition=T, observation=np.ones((1, 2, 1)), reward=[[1.0], [0.0]], cost=[[1.0], [0.0]],
        initial_belief=[1.0, 0.0], discount=0.9, budget=1.0, terminal=[False, False],
    )  # fmt: skip
    assert choose_route(model).engines == (POINT_BASED, BELIEF_GRAPH)
    ends = rc.CPOMDP(
        transition=np.array([[[0.0, 1.0], [0.0, 1.0]]]), observation=np.ones((1, 2, 1)), reward=[[1.0], [0.0]],
        cost=[[1.0], [0.0]], initial_belief=[1.0, 0.0], discount=0.9, budget=1.0, terminal=[False, True],
    )  # fmt: skip
    assert choose_route(ends).engines == (BELIEF_GRAPH, POINT_BASED)


def test_a_route_in_words() -> None:
    assert str(Route(("one",), "why")) == "one: why"
    assert str(Route(("one", "two"), "why")) == "one and two, in turn: why"


@pytest.mark.parametrize(
    ("problem", "options", "begins"),
    [
        ("tiger", {"budget": np.inf}, "no budget can bind; point-based search and belief-graph search, in turn: "),
        ("mini-hall", {}, "value iteration over few beliefs: "),
        ("tiger", {}, "point-based search and belief-graph search, in turn: "),
        ("crs-4-4", {"switches": {}}, "belief-graph search: its switches are given"),
        ("hallway", {"time_limit": 2}, "point-based search: "),
    ],
)
def test_results_of_arcs_name_their_route(problem: str, options: dict[str, object], begins: str) -> None:
    model = rc.problems.make(problem)
    if "budget" in options:
        model = model.with_budget(options.pop("budget"))
    result = rc.solve(model, "arcs", epsilon=0.05, **options)
    assert result.route is not None
    assert result.route.startswith(begins)
    assert result.summary()["route"] == result.route


def test_results_of_sarsop_name_their_route() -> None:
    model = rc.problems.make("tiger")
    assert rc.solve(model, "sarsop").summary()["route"].startswith("point-based search and belief-graph search")
    assert (
        rc.solve(model, "cgcp", epsilon=0.1).summary()["route"].startswith("belief-graph search: the objective moves")
    )


def test_both_searches_of_a_route_find_the_same_optimum() -> None:
    """Bounds of each alone and of both in turn enclose it."""
    model = rc.problems.make("crs-4-4")
    both, graph = rc.solve(model, epsilon=0.01), rc.solve(model, epsilon=0.01, switches={})
    assert both.status == graph.status == "optimal"
    assert max(both.lower, graph.lower) <= min(both.upper, graph.upper)


@pytest.mark.parametrize("problem", ["tiger", "tunnels", "crs-4-4", "ce"])
def test_an_optimal_solve_ends_with_a_controller_and_exact_totals(problem: str) -> None:
    model = rc.problems.make(problem)
    result = rc.solve(model, epsilon=0.02)
    assert result.status == "optimal"
    assert isinstance(result.policy, ControllerPolicy)
    assert result.standard_error is None
    exact = rc.evaluate(model, result.policy)
    near = reference.tolerance(reference.dense(model), np.concatenate([model.reward[None], model.cost])) + exact.error
    np.testing.assert_allclose([result.reward, *result.cost], [exact.reward, *exact.cost], 0, near)
    assert rc.verify(model, result.policy, result.summary()).verified


def test_a_gap_that_stays_open_leaves_a_plan_set_and_simulated_totals() -> None:
    model = rc.problems.make("hallway")
    result = rc.solve(model, time_limit=2)
    assert isinstance(result.policy, PlanSetPolicy)
    assert result.standard_error is not None
    assert result.lower <= result.reward <= result.upper


# What is told


def test_the_command_line_tells_the_route(run) -> None:
    told = run("solve", "ce")
    (line,) = [line for line in told.out.splitlines() if line.strip().startswith("route")]
    assert "belief-graph search and point-based search, in turn: every move is certain" in line
    assert json.loads(run("solve", "ce", "--json").out)["route"].startswith("belief-graph search")


def test_the_log_tells_the_route(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "rcpomdp"):
        result = rc.solve(rc.problems.make("ce"))
    assert f"route: {result.route}" in [record.message for record in caplog.records]


def test_candidates_are_in_the_summary_and_the_table_names_the_winner() -> None:
    candidates = (CandidateValue("FIB, λ = 1 of the dual", 2.5, 0.1), CandidateValue("plans", 2.0, np.inf))
    found = rc.solve(rc.problems.make("ce"))
    assert "candidates" not in found.summary()
    summary = replace(found, candidates=candidates).summary()
    assert summary["candidates"] == [
        {"name": "FIB, λ = 1 of the dual", "reward": 2.5, "standard_error": 0.1},
        {"name": "plans", "reward": 2.0, "standard_error": None},
    ]
    json.dumps(summary, allow_nan=False)
    page = StringIO()
    Console(file=page, width=120).print(solution_table(summary))
    (line,) = [line for line in page.getvalue().splitlines() if line.strip().startswith("candidates")]
    assert line.split(maxsplit=1)[1].strip() == "2, of which simulated runs chose FIB, λ = 1 of the dual"


def test_the_winner_comes_first() -> None:
    result = rc.solve(rc.problems.make("patrol"), time_limit=4)
    assert len(result.candidates) > 1
    assert len({each.name for each in result.candidates}) == len(result.candidates)
    assert result.reward == pytest.approx(np.clip(result.candidates[0].reward, result.lower, result.upper), abs=1e-9)
    others = {each.name: each for each in result.candidates[1:]}
    if result.candidates[0].name != "plans":
        assert result.candidates[0].reward > others["plans"].reward
