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
from rcpomdp.experiments.run.store import canonical
from rcpomdp.solvers import registry
from rcpomdp.solvers.arcs.search import ArcsSwitches

TABLES = Path(paper.__file__).with_name("paper_tables.csv")


def lines() -> list[dict[str, str]]:
    with TABLES.open(newline="") as file:
        return list(csv.DictReader(file))


def in_words(line: dict[str, str]) -> tuple[str, ...]:
    return tuple(line[name] for name in ("table", "problem", "budget", "setting", "algorithm"))


def test_each_row_of_the_tables_has_exactly_one_cell() -> None:
    asked = Counter()
    for suite, table in (("paper-extended", "extended"), ("paper-unconstrained", "unconstrained")):
        for _, cell in suites.cells(suite):
            setting = f"{cell.time_limit:g}s" if table == "unconstrained" else ""
            if table == "extended" and cell.problem == "tunnels":
                setting = f"p_correct={cell.parameters['p_correct']}"
            title = cell.title.removesuffix(", longer")
            asked[table, title, f"{cell.budget[0]:g}", setting, cell.algorithm] += 1
    assert asked == Counter(map(in_words, lines()))
    assert set(asked.values()) == {1}
    assert len(asked) == 72


def test_a_cell_finds_its_row_whatever_its_limit() -> None:
    for suite in ("paper-extended", "paper-unconstrained"):
        for limit in (None, 1.0, 90.0):
            found = [paper.row_of(cell) for _, cell in suites.cells(suite, time_limit=limit)]
            assert None not in found
            assert len(set(found)) == len(found)
    assert sorted(paper.rows()) == sorted(paper._row(line) for line in lines())
    for _, cell in suites.cells("paper-main"):
        assert paper.row_of(cell) is not None
    assert all(paper.row_of(cell) is None for _, cell in suites.cells("smoke"))


def test_cells_of_the_paper_have_its_sizes_limits_and_runs() -> None:
    sizes = {(line["problem"], line["states"], line["actions"], line["observations"]) for line in lines()}
    for suite in ("paper-main", "paper-extended", "paper-unconstrained"):
        for _, cell in suites.cells(suite):
            own = problems.get(cell.problem).sizes
            assert own is not None
            longer = cell.title.endswith(", longer")
            assert (cell.title.removesuffix(", longer"), *map(str, own)) in sizes
            assert cell.time_limit == (1000 if longer else 300)
            assert cell.runs == (100 if cell.algorithm == "CGCP-CL" else 1000)
            assert cell.steps == 20
            assert cell.options == ({"step_time": 300.0} if cell.algorithm == "CGCP-CL" else {})


def test_the_main_table_is_part_of_the_extended_one() -> None:
    main, extended = ({canonical(cell) for _, cell in suites.cells(f"paper-{name}")} for name in ("main", "extended"))
    figure = {canonical(cell) for _, cell in suites.cells("paper-figure")}
    assert main < extended
    assert len(main) == 36
    assert figure < main


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
    [(_, closed)] = suites.cells("paper-main", time_limit=30.0, step_time=0.5, only="CE,*CGCP-CL")
    assert (closed.time_limit, closed.options) == (30.0, {"step_time": 0.5})
    [(_, closed)] = suites.cells("paper-main", time_limit=30.0, only="CE,*CGCP-CL")
    assert closed.options == {"step_time": 30.0}


def test_seeds_share_a_position() -> None:
    asked = suites.cells("paper-figure", seeds=3)
    assert [(position, cell.seed) for position, cell in asked] == [(p, seed) for p in (0, 1) for seed in (0, 1, 2)]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"name": "paper-mian"}, "unknown suite 'paper-mian'; did you mean 'paper-main'?"),
        ({"name": "smoke", "time_limit": 0.0}, "the time limit must be above 0 and finite, not 0.0"),
        ({"name": "smoke", "step_time": float("nan")}, "the time for a step must be above 0 and finite, not nan"),
        ({"name": "smoke", "seeds": 0}, "seeds must be at least 1, not 0"),
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
    assert {cell.algorithm for _, cell in kept if cell.title.startswith("CRS")} == set(suites.TABLE) - {"CGCP-CL"}
    assert not any(cell.problem == "tiger" for _, cell in kept)
    assert len(suites.cells("paper-extended", only="CRS(5,7)*CGCP", skip=["CGCP-CL"])) == 1
