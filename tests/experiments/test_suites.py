"""The suites: every row of the paper's tables has its cell, and cells name what there is."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

import rcpomdp as rc
from rcpomdp import problems
from rcpomdp.errors import InputError
from rcpomdp.experiments import suites
from rcpomdp.experiments.report import paper
from rcpomdp.experiments.run.record import Cell
from rcpomdp.experiments.run.store import canonical
from rcpomdp.solvers import registry
from rcpomdp.solvers.arcs.search import ArcsSwitches

TABLES = Path(paper.__file__).with_name("paper_tables.csv")


def lines() -> list[dict[str, str]]:
    with TABLES.open(newline="") as file:
        return list(csv.DictReader(file))


def in_words(line: dict[str, str]) -> tuple[str, ...]:
    return tuple(line[name] for name in ("table", "problem", "budget", "setting", "algorithm"))


def is_plain(cell: Cell) -> bool:
    """Our solver on what the paper says."""
    return "," not in cell.algorithm and not paper.cause(cell)


def test_each_row_of_the_tables_has_exactly_one_plain_cell() -> None:
    asked = Counter()
    for suite, table in (("paper-extended", "extended"), ("paper-unconstrained", "unconstrained")):
        for _, cell in suites.cells(suite):
            if not is_plain(cell):
                continue
            setting = f"{cell.time_limit:g}s" if table == "unconstrained" else ""
            if table == "extended" and cell.problem == "tunnels":
                setting = f"p_correct={cell.parameters['p_correct']}"
            title = cell.title.removesuffix(", longer")
            asked[table, title, f"{cell.budget[0]:g}", setting, cell.algorithm] += 1
    assert asked == Counter(in_words(line) for line in lines() if line["table"] != "main")
    assert set(asked.values()) == {1}
    assert len(asked) == 72


def test_a_cell_finds_its_row_whatever_its_limit() -> None:
    for suite in ("paper-extended", "paper-unconstrained"):
        for limit in (None, 1.0, 90.0):
            asked = [cell for _, cell in suites.cells(suite, time_limit=limit)]
            assert None not in map(paper.row_of, asked)
            plain = [paper.row_of(cell) for cell in asked if is_plain(cell)]
            assert len(set(plain)) == len(plain)
    assert sorted(paper.rows()) == sorted(paper._row(line) for line in lines())
    for _, cell in suites.cells("paper-main"):
        assert paper.row_of(cell) is not None
    assert all(paper.row_of(cell) is None for _, cell in suites.cells("smoke"))


def test_what_the_paper_may_have_run_instead_has_its_rows_and_says_so() -> None:
    causes = Counter(paper.cause(cell) for _, cell in suites.cells("paper-extended"))
    del causes[""]
    assert set(causes) == {
        *("ĉ = 0.5", "the map 'rising'", "planned with ĉ = 2", "the map 'rising', planned with ĉ = 2", "B = 20"),
    }
    [(_, half)] = suites.cells("paper-extended", only="CRS(4,4)*0.5, CGCP", skip=["CGCP-CL"])
    whole = paper.row_of(half)
    assert whole is not None
    assert (half.budget, whole.budget, whole.reward) == ([0.5], 1.0, 10.434)
    [(_, planned)] = suites.cells("paper-main", only="rising*CPBVI-D, planned")
    assert paper.row_of(planned) == paper.row_of(suites.cells("paper-main", only="tunnels*CPBVI-D")[0].cell)


def test_the_main_table_differs_from_the_extended_one_in_ten_numbers() -> None:
    own = [line for line in lines() if line["table"] == "main"]
    differs = 0
    for line in own:
        twin = next(
            other for other in lines() if in_words(other)[1:] == in_words(line)[1:] and other["table"] == "extended"
        )
        for name in ("violation_rate", "reward", "cost"):
            if line[name]:
                differs += 1
                assert round(float(twin[name]), len(line[name].partition(".")[2])) != float(line[name])
    assert differs == 10


def test_rows_as_published_have_the_options_of_the_paper() -> None:
    for _, cell in suites.cells("paper-extended"):
        name, _, change = cell.algorithm.partition(", ")
        if change.startswith("as published"):
            assert suites.PUBLISHED[name].items() <= cell.options.items()
        elif not change:
            assert set(cell.options) <= {"step_time"}


def test_cells_of_the_paper_have_its_sizes_limits_and_runs() -> None:
    sizes = {(line["problem"], line["states"], line["actions"], line["observations"]) for line in lines()}
    for suite in ("paper-main", "paper-extended", "paper-unconstrained"):
        for _, cell in suites.cells(suite):
            own = problems.get(cell.problem).sizes
            assert own is not None
            longer, online = cell.title.endswith(", longer"), cell.solver == "cgcp-cl" or "act_time" in cell.options
            assert (cell.title.removesuffix(", longer"), *map(str, own)) in sizes
            assert cell.time_limit == (1000 if longer else 15 if "ties" in cell.options else 300)
            assert cell.runs == (100 if online else 1000)
            assert cell.steps == 20
            assert cell.options.get("step_time") == (300.0 if cell.solver == "cgcp-cl" else None)
            assert cell.options.get("act_time") in (None, 0.05)


def test_the_main_table_is_part_of_the_extended_one() -> None:
    main, extended = ({canonical(cell) for _, cell in suites.cells(f"paper-{name}")} for name in ("main", "extended"))
    figure = {canonical(cell) for _, cell in suites.cells("paper-figure")}
    assert main < extended
    assert len(main) == 94
    assert figure < extended


@pytest.mark.parametrize("name", suites.names())
def test_cells_name_problems_solvers_and_options_that_exist(name: str) -> None:
    asked = suites.cells(name)
    assert len({canonical(cell) for _, cell in asked}) == len(asked)
    assert [position for position, _ in asked] == list(range(len(asked)))
    for _, cell in asked:
        assert cell.suite == name
        assert set(cell.options) <= set(registry.get(cell.solver).options)
        assert set(cell.parameters) <= set(problems.get(cell.problem).parameters)
        ArcsSwitches.of(cell.options.get("switches", {}))
    assert all(cell.solver in {"sarsop", "cgcp", "arcs"} for _, cell in asked) or name in ("smoke", *paper._TABLES)


def test_smaller_maps_of_the_scaling_suite_can_be_built() -> None:
    built = {
        cell.title: rc.problems.make(cell.problem, **cell.parameters).n_states
        for _, cell in suites.cells("scaling", only="CRS(5,")
    }
    assert built == {f"CRS(5,{k})": 25 * 2**k + 1 for k in (1, 3, 5, 7)}


def test_limits_scale_together_and_step_time_is_its_own() -> None:
    limits = {cell.time_limit for _, cell in suites.cells("paper-unconstrained", time_limit=30.0)}
    assert limits == {30.0, 100.0}
    plain = {"only": "CE,*CGCP-CL", "skip": ["published"]}
    [(_, closed)] = suites.cells("paper-main", time_limit=30.0, step_time=0.5, **plain)
    assert (closed.time_limit, closed.options) == (30.0, {"step_time": 0.5})
    [(_, closed)] = suites.cells("paper-main", time_limit=30.0, **plain)
    assert closed.options == {"step_time": 30.0}


def test_runs_are_at_most_what_is_asked_for() -> None:
    asked = suites.cells("paper-main", only="CE,", runs=200)
    assert {cell.solver == "cgcp-cl": cell.runs for _, cell in asked} == {True: 100, False: 200}
    assert {cell.runs for _, cell in suites.cells("ablation", runs=7)} == {0}


def test_seeds_share_a_position() -> None:
    asked = suites.cells("paper-figure", seeds=3)
    assert [(position, cell.seed) for position, cell in asked] == [(p, seed) for p in range(8) for seed in (0, 1, 2)]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"name": "paper-mian"}, "unknown suite 'paper-mian'; did you mean 'paper-main'?"),
        ({"name": "smoke", "time_limit": 0.0}, "the time limit must be above 0 and finite, not 0.0"),
        ({"name": "smoke", "step_time": float("nan")}, "the time for a step must be above 0 and finite, not nan"),
        ({"name": "smoke", "seeds": 0}, "seeds must be at least 1, not 0"),
        ({"name": "smoke", "runs": -1}, "runs must be at least 0, not -1"),
        ({"name": "smoke", "only": "no such"}, "suite 'smoke' has no cell like 'no such'"),
        ({"name": "smoke", "skip": ["*"]}, "suite 'smoke' has no cell left"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        suites.cells(**given)
    assert str(refused.value).startswith(sentence)


def test_cells_can_be_left_out() -> None:
    kept = suites.cells("paper-extended", skip=["CRS*CGCP-CL", "tiger"])
    names = {cell.algorithm.partition(",")[0] for _, cell in kept if cell.title.startswith("CRS")}
    assert names == set(suites.TABLE) - {"CGCP-CL"}
    assert not any(cell.problem == "tiger" for _, cell in kept)
    assert len(suites.cells("paper-extended", only="CRS(5,7)*CGCP", skip=["CGCP-CL"])) == 1
