"""Tables: the paper's marks, and each format as it was looked at once (``golden/``)."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from rcpomdp.experiments.report import formats, tables
from rcpomdp.experiments.report.marks import BEST, KEEPING, VIOLATING, best_rewards, marks
from rcpomdp.experiments.report.page import report
from rcpomdp.experiments.report.summaries import Group, groups
from rcpomdp.experiments.run.record import Record
from record_json import changed, odd, real

GOLDEN = Path(__file__).parent / "golden"
ENDINGS = {"rich": "txt", "markdown": "md", "latex": "tex", "csv": "csv", "html": "html"}


def some() -> list[Record]:
    return [*real("paper-extended", "CE"), *real("paper-extended", "C-Tiger")]


@pytest.mark.parametrize("form", formats.FORMATS)
def test_each_format_looks_as_it_did(form: str) -> None:
    expected = (GOLDEN / f"extended.{ENDINGS[form]}").read_text(encoding="utf-8")
    assert formats.render(some(), form) == expected


@pytest.mark.parametrize("layout", ["short", "unconstrained"])
def test_the_other_layouts_look_as_they_did(layout: str) -> None:
    records = some() if layout == "short" else real("paper-unconstrained")
    expected = (GOLDEN / f"{layout}.txt").read_text(encoding="utf-8")
    assert formats.render(records, "rich", layout) == expected


def group(outcomes: dict[str, tuple[float, float]]) -> Group:
    """A problem with algorithms of these violation rates and rewards, over 100 runs each."""
    (base,) = real("paper-extended", "CE", "ARCS")
    n = 100
    records = [
        changed(
            base,
            {"algorithm": name},
            run_reward=np.full(n, reward),
            run_cost=np.zeros((n, 1)),
            run_violation=np.where(np.arange(n) < round(rate * n), 1, -1),
        )
        for name, (rate, reward) in outcomes.items()
    ]
    (found,) = groups(records)
    return found


def marked(outcomes: dict[str, tuple[float, float]]) -> dict[str, set[str]]:
    found = group(outcomes)
    return {row.cell.algorithm: mark for row, mark in zip(found.rows, marks(found), strict=True)}


def test_the_rule_on_the_papers_own_numbers() -> None:
    """Violation rates and rewards of Table 1 for CE and Tunnels, and what it prints bold, blue and green there."""
    ce = {"CGCP": (0.51, 12.0), "CGCP-CL": (0.0, 6.12), "Exp-Gradient": (0.49, 11.87)}
    ce |= {"CPBVI": (0.0, 8.39), "CPBVI-D": (0.0, 6.1), "ARCS": (0.0, 10.0)}
    assert marked(ce) == {
        "CGCP": {VIOLATING},
        "CGCP-CL": {BEST},
        "Exp-Gradient": set(),
        "CPBVI": {BEST},
        "CPBVI-D": {BEST},
        "ARCS": {BEST, KEEPING},
    }
    tunnels = {"CGCP": (0.5, 1.61), "CPBVI": (0.9, 1.92), "CPBVI-D": (0.89, 1.92), "ARCS": (0.0, 1.03)}
    expected = {"CGCP": set(), "CPBVI": {VIOLATING}, "CPBVI-D": {VIOLATING}, "ARCS": {BEST, KEEPING}}
    assert marked(tunnels) == expected


def test_marks_where_all_or_none_violate() -> None:
    assert marked({"CGCP": (0.4, 2.0), "ARCS": (0.2, 1.0)}) == {"CGCP": {VIOLATING}, "ARCS": {BEST}}
    assert marked({"CGCP": (0.0, 2.0), "ARCS": (0.0, 1.0)}) == {"CGCP": {BEST, KEEPING}, "ARCS": {BEST}}


def test_without_runs_there_is_nothing_to_mark() -> None:
    for name in ("failed", "no runs", "no costs"):
        (found,) = groups(odd()[name])
        assert marks(found) == [set()]


def test_table_2_marks_the_best_reward_to_the_digits_shown() -> None:
    found = groups(real("paper-unconstrained", "C-Tiger"))[0]
    assert best_rewards(found) == [{BEST}] * 3  # 1.933 each
    worse = [
        changed(r, reward=r.reward - 0.01) if r.cell.algorithm == "CGCP" else r
        for r in real("paper-unconstrained", "CE")
    ]
    assert best_rewards(groups(worse)[0]) == [{BEST}, set(), {BEST}]


def test_the_layout_follows_from_the_budgets() -> None:
    assert tables.layout_of(real("paper-unconstrained")) == tables.UNCONSTRAINED
    assert tables.layout_of(some()) == tables.layout_of(odd()["no costs"]) == tables.EXTENDED
    assert tables.layout_of(odd()["no limit"]) == tables.UNCONSTRAINED
    assert tables.layout_of([changed(record, {"suite": "paper-main"}) for record in some()]) == tables.SHORT


def test_empty_columns_are_left_out() -> None:
    shown = tables.table(real("budget-sweep"))
    titles = [column.title for column in shown.columns]
    assert "Violation rate" not in titles
    assert not any(column.over == "Paper" for column in shown.columns)
    assert "Lower" in titles


@pytest.mark.parametrize("form", formats.FORMATS)
@pytest.mark.parametrize("name", odd())
def test_odd_records_are_shown_in_every_format(name: str, form: str) -> None:
    for layout in tables.LAYOUTS:
        text = formats.render(odd()[name], form, layout)
        assert "nan" not in text.lower()
        if name == "failed":
            assert "MemoryError" in text


def test_csv_has_every_number_in_full() -> None:
    rows = list(csv.DictReader(io.StringIO(formats.render(some(), "csv"))))
    plain = tables.data(some())
    assert [row["algorithm"] for row in rows] == [row["algorithm"] for row in plain]
    assert [float(row["reward"]) for row in rows] == [row["reward"] for row in plain]
    arcs = next(row for row in rows if (row["problem"], row["algorithm"]) == ("CE", "ARCS"))
    assert (arcs["states"], arcs["best"], float(arcs["paper_reward"])) == ("5", "best; keeping", 10.0)
    several = formats.render(odd()["several costs"], "csv")
    assert "5.0; 12.0" in several
    assert "5.0; 10.0" in several


def test_latex_has_as_many_cells_in_every_line_and_closes_what_it_opens() -> None:
    text = formats.render([*some(), *odd()["failed"]], "latex")
    body = text[text.index(r"\begin{tabular}") :].splitlines()
    columns = re.fullmatch(r"\\begin\{tabular\}\{(.*)\}", body[0])
    assert columns is not None
    for line in body[1:]:
        if line.endswith(r" \\"):
            spans = sum(int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", line))
            assert len(re.findall(r"(?<!\\)&", line)) + 1 + spans == len(columns[1].split())
    plain = re.sub(r"\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")
    assert len(re.findall(r"(?<!\\)\$", text)) % 2 == 0
    assert r"\color{DarkGreen}\mathbf{10.000}" in text
    assert not re.search(r"[^\x00-\x7f]", text)


def test_markdown_has_as_many_cells_in_every_line() -> None:
    text = formats.render([*some(), *odd()["failed"], *odd()["a problem that is not here"]], "markdown")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert "<b>" not in text


class Tags(HTMLParser):
    """Checks that tags nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", odd())
def test_html_nests_and_escapes(name: str) -> None:
    text = formats.render(odd()[name], "html")
    parser = Tags()
    parser.feed(text)
    assert parser.open == []
    assert "<no>" not in text
    assert "<b>" not in text


def test_seeds_that_failed_are_told_in_every_format_and_layout() -> None:
    good, bad = real("paper-extended", "CE", "ARCS")[0], changed(odd()["failed"][0], {"seed": 1}, error="no room")
    for layout in tables.LAYOUTS:
        for form in ("rich", "markdown", "latex", "html"):
            text = formats.render([good, bad], form, layout)
            assert "ARCS failed on CE (" in text
            assert "with 1 of 2 seeds (1), which are left out: no room" in text
    [row] = csv.DictReader(io.StringIO(formats.render([good, bad], "csv")))
    assert (row["seeds"], row["failed_seeds"]) == ("0", "1")
    assert "with 1 of 2 seeds (1)" in report([good, bad])


def test_exact_values_stand_beside_the_means_of_runs() -> None:
    (arcs,) = real("paper-extended", "C-Tiger", "ARCS")
    known = changed(arcs, exact=True, reward=-2.7784, cost=[2.9903])
    shown = tables.table([known])
    titles = [(column.over, column.title) for column in shown.columns]
    row = dict(zip(titles, (entry.text for entry in shown.blocks[0][0]), strict=True))
    assert "±" in row["", "Reward"]
    assert (row["Exact", "Reward"], row["Exact", "Cost"]) == ("−2.778", "2.990")
    assert tables.data([known])[0]["exact_reward"] == -2.7784


@pytest.mark.parametrize("exact", [None, False])
def test_what_is_not_known_to_be_exact_is_not_called_so(exact: bool | None) -> None:
    known, other = (changed(record, exact=True) for record in real("paper-extended", "C-Tiger")[:2])
    shown = tables.table([changed(known, exact=exact)])
    assert not any(column.over == "Exact" for column in shown.columns)
    beside = tables.table([changed(known, exact=exact), other])
    place = [column.over for column in beside.columns].index("Exact")
    assert sorted(row[place].text == tables.NOTHING for row in beside.blocks[0]) == [False, True]
