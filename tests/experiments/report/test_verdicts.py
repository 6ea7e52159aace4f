"""Verdicts on the paper's numbers, on records made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from made_records import cell, record
from rcpomdp.experiments.report import formats, paper, verdicts
from rcpomdp.experiments.report.verdicts import EXPLAINED, NOT_RUN, OPEN, REPRODUCED, Number
from rcpomdp.experiments.run.record import Record
from record_json import changed, real


def made(algorithm: str, reward: float, spread: float = 4.0, overspent: int = 0, **changes: Any) -> Record:
    """A record of CRS(4,4) whose 1000 runs earn this on average, with a standard error of spread / √1000."""
    values = np.where(np.arange(1000) % 2, reward + spread, reward - spread)
    of = cell(
        **{"suite": "paper-extended", "title": "CRS(4,4)", "problem": "crs-4-4", "budget": [1.0], "runs": 1000}
        | {"algorithm": algorithm, "solver": "cgcp"}
        | changes
    )
    return changed(
        record(of),
        {},
        run_reward=values,
        run_cost=np.zeros((1000, 1)),
        run_spent=np.zeros((1000, 1)),
        run_violation=np.where(np.arange(1000) < overspent, 3, -1),
        run_length=np.full(1000, 5),
    )


def number(records: list[Record], algorithm: str = "CGCP", quantity: str = "reward") -> Number:
    """The paper's number for CRS(4,4): 10.434 ± 0.125 for the reward of CGCP."""
    (found,) = (
        n
        for n in verdicts.numbers(records)
        if (n.table, n.problem, n.algorithm, n.quantity) == ("extended", "CRS(4,4) (ĉ = 1)", algorithm, quantity)
    )
    return found


def test_near_is_reproduced_and_far_is_open() -> None:
    error = float(np.hypot(0.125, 4 / np.sqrt(999)))
    for distance, verdict in ((1.9, REPRODUCED), (-1.9, REPRODUCED), (2.1, OPEN), (-2.1, OPEN)):
        found = number([made("CGCP", 10.434 + distance * error)])
        assert found.verdict == verdict
        assert found.told is not None
        assert found.told.distance == pytest.approx(distance, rel=1e-3)


def test_a_change_to_the_algorithm_reproduces_and_another_budget_explains() -> None:
    far = made("CGCP", 12.2)
    published = number([far, made("CGCP, as published", 10.4)])
    assert (published.verdict, published.told and published.told.how) == (REPRODUCED, "as published")
    half = number([far, made("CGCP", 10.4, budget=[0.5], overspent=512)])
    assert (half.verdict, half.told and half.told.how) == (EXPLAINED, "ĉ = 0.5")
    both = number([made("CGCP", 10.5), made("CGCP", 10.434, budget=[0.5], overspent=512)])
    assert (both.verdict, both.told and both.told.how) == (REPRODUCED, "ours")
    assert number([far]).verdict == OPEN


def test_one_number_of_three_may_be_met_by_chance() -> None:
    """The paper's row has a violation rate of 0.512, too; a run that meets neither it nor the cost explains nothing."""
    chance = number([made("CGCP", 10.434, budget=[0.5])])
    assert (chance.verdict, chance.told and chance.told.near) == (OPEN, True)


def test_runs_are_called_by_what_is_changed() -> None:
    tunnels = {"title": "Tunnels", "problem": "tunnels", "parameters": {"p_correct": 0.8}, "budget": [1.0]}
    rising = tunnels | {"parameters": {"p_correct": 0.8, "map": "rising"}}
    planned = {"options": {"planned_budget": 2.0}, "solver": "cpbvi"}
    records = [
        made("CPBVI", 1.0, **tunnels),
        made("CPBVI, as published", 1.1, **rising),
        made("CPBVI, planned with ĉ = 2", 1.2, **tunnels, **planned),
        made("CPBVI, planned with ĉ = 2", 1.3, **rising, **planned),
    ]
    found = verdicts.numbers(records)
    (own,) = (n for n in found if "0.8" in n.problem and n.algorithm == "CPBVI" and n.quantity == "reward")
    assert [run.how for run in own.runs] == [
        *("ours", "planned with ĉ = 2"),
        *("the map 'rising', as published", "the map 'rising', planned with ĉ = 2"),
    ]


def test_what_was_not_run_is_not_open() -> None:
    found = number([made("CGCP", 10.434)], algorithm="ARCS")
    assert (found.verdict, found.runs, found.told, found.ours) == (NOT_RUN, (), None, None)
    assert verdicts.counts(verdicts.numbers([])) == {REPRODUCED: 0, EXPLAINED: 0, OPEN: 0, NOT_RUN: 202}


def test_a_row_is_whole_if_one_run_meets_all_of_it() -> None:
    """The paper has 0.512, 10.434 and 0.512 for CGCP; two runs that meet a part each do not meet the row."""
    cost = np.where(np.arange(1000) < 512, 1.0, 0.0)[:, None]
    whole = changed(made("CGCP", 10.434, overspent=512), {}, run_cost=cost)
    rate_alone = made("CGCP", 12.2, overspent=512)
    rest = changed(made("CGCP, as published", 10.434), {}, run_cost=cost)
    half_budget = changed(made("CGCP", 10.434, overspent=512, budget=[0.5]), {}, run_cost=cost)

    def rows(records: list[Record]) -> tuple[int, int]:
        return verdicts.whole_rows(n for n in verdicts.numbers(records) if n.table == "extended")

    assert rows([whole]) == (1, 53)
    parts = [rate_alone, rest]
    assert {number(parts, quantity=q).verdict for q in ("violation rate", "reward", "cost")} == {REPRODUCED}
    assert rows(parts) == (0, 53)
    assert rows([half_budget]) == (0, 53)  # which explains, and does not reproduce


def test_a_failed_cell_proves_nothing() -> None:
    lost = record(made("CGCP", 10.434).cell, status="failed")
    assert number([lost]).runs == ()


def test_every_number_of_the_paper_is_judged_once() -> None:
    found = verdicts.numbers([made("CGCP", 10.434)])
    printed = sum(
        getattr(row, quantity) is not None for row in paper.rows() for quantity in ("violation_rate", "reward", "cost")
    )
    assert len(found) == printed + len(paper.SHARES) == 159 + 30 + 10 + 3
    assert sum(verdicts.counts(found).values()) == len(found)
    assert len({(n.table, n.problem, n.algorithm, n.quantity) for n in found}) == len(found)


def test_table_1_has_numbers_of_its_own() -> None:
    """It prints 1.68 where the extended table has 1.657."""
    found = verdicts.numbers([made("CGCP-CL", 1.68, solver="cgcp-cl")])
    (own,) = (n for n in found if n.table == "main" and n.algorithm == "CGCP-CL")
    assert (own.text, own.verdict) == ("1.68", REPRODUCED)


def test_exact_values_are_compared_with_what_is_printed() -> None:
    (ce,) = real("paper-unconstrained", "CE", "ARCS")
    for reward, verdict in ((12.0, REPRODUCED), (11.96, REPRODUCED), (11.9, OPEN)):
        found = verdicts.numbers([changed(ce, {}, reward=reward)])
        (own,) = (
            n
            for n in found
            if (n.table, n.problem[:3], n.algorithm) == ("unconstrained", "CE ", "ARCS") and n.quantity == "reward"
        )
        assert own.verdict == verdict


def test_shares_of_the_figure_come_from_paths() -> None:
    found = {
        (n.algorithm, n.quantity): n
        for n in verdicts.numbers(real("paper-figure"))
        if n.table == "figure"
    }  # fmt: skip
    assert found["ARCS", "share in tunnel A"].verdict == REPRODUCED
    (cgcp,) = real("paper-figure", algorithm="CGCP")
    ends = [path[path >= 0][-2] for path in cgcp.paths]
    told = found["CGCP", "share in tunnel A"].told
    assert told is not None
    assert told.value.mean == pytest.approx(np.mean([(s - 4) // 16 == 0 for s in ends]))
    assert told.how == "ours, p_correct = 0.8"


def test_shares_of_the_figure_are_compared_for_every_accuracy() -> None:
    (cgcp,) = real("paper-figure", algorithm="CGCP")
    clear = changed(cgcp, {"parameters": {"p_correct": 0.95}})
    (found,) = (n for n in verdicts.numbers([cgcp, clear]) if n.table == "figure" and n.quantity == "share in tunnel B")
    assert [run.how for run in found.runs] == ["ours, p_correct = 0.8", "ours, p_correct = 0.95"]


def test_the_tables_of_it_count_what_they_show() -> None:
    found = verdicts.numbers([made("CGCP", 10.434)])
    shown = formats.markdown(verdicts.table(found))
    assert shown.count("| reproduced |") == verdicts.counts(found)[REPRODUCED] > 0
    assert shown.count("| open |") == verdicts.counts(found)[OPEN]
    assert shown.count("| not run |") == verdicts.counts(found)[NOT_RUN] > 0
    (total,) = (line for line in formats.markdown(verdicts.summary(found)).splitlines() if line.startswith("| all"))
    expected = *verdicts.counts(found).values(), len(found), *verdicts.whole_rows(found)
    assert total == f"| all | {' | '.join(map(str, expected))} |"
    data = verdicts.data(found)
    assert data["counts"] == verdicts.counts(found)
    assert (data["whole_rows"], data["rows"]) == verdicts.whole_rows(found)
