"""The report: whole by itself, in order for those who listen to it, and true to its records."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from rcpomdp.experiments import suites
from rcpomdp.experiments.report.page import commands, report
from record_json import changed, odd, real

VOID = {"meta"}


class Page(HTMLParser):
    """What a page holds: its tags in order, with attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture(scope="module")
def text() -> str:
    return report([*real("paper-extended", "CE"), *real("paper-figure"), *real("budget-sweep")])


def test_tags_nest_and_ids_are_unique(text: str) -> None:
    page = Page(text)
    assert page.open == []
    names = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(names) == len(set(names))
    links = [attrs["href"] for attrs in page.all("a")]
    assert {str(link).removeprefix("#") for link in links} <= set(names)


def test_nothing_is_fetched(text: str) -> None:
    for _, attrs in Page(text).tags:
        for name, value in attrs.items():
            if name in {"src", "srcset", "data", "action"} or name.endswith("href"):
                assert str(value).startswith("#"), (name, value)
    assert not re.search(r"url\((?!#)|@import|<script|<link|<iframe|<img", text)
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names, not places


def test_it_can_be_listened_to(text: str) -> None:
    page = Page(text)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    assert len(page.all("table")) == len(page.all("caption"))
    assert len(page.all("figure")) == len(page.all("figcaption")) == len(page.all("svg")) == 7
    names = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    for picture in page.all("svg"):
        assert picture["role"] == "img"
        assert set(str(picture["aria-labelledby"]).split()) <= names
    assert page.all("html")[0]["lang"] == "en"
    assert all(attrs.get("scope") for attrs in page.all("th"))


def test_it_is_light_dark_and_printable(text: str) -> None:
    for rule in ("prefers-color-scheme: dark", "@media print", "@page", "overflow-x: auto"):
        assert rule in text


def test_it_tells_settings_versions_machine_and_dates(text: str) -> None:
    record = real()[0]
    for words in (f"numpy {record.versions['numpy']}", "test machine, 2 cores, 16 GiB", record.started[:10]):
        assert words in text
    assert "step_time 0.05" in text


def test_the_same_records_give_the_same_page() -> None:
    records = real("budget-sweep")
    assert report(records) == report(records)


@pytest.mark.parametrize("name", odd())
def test_odd_records_are_reported(name: str) -> None:
    page = Page(report(odd()[name]))
    assert page.open == []


def test_a_strangers_names_stay_text() -> None:
    (base,) = real("paper-extended", "CE", "ARCS")
    evil = '"><script>alert(1)</script>\\1 & <b onload="x'
    names = {"suite": evil, "title": evil, "algorithm": evil, "options": {evil: evil}}
    text = report([changed(base, names, versions={evil: evil}, machine={"processor": evil, "cores": None})], evil)
    page = Page(text)
    assert page.open == []
    assert not page.all("script")
    assert not any("onload" in attrs for _, attrs in page.tags)


def test_a_failure_is_told_and_escaped() -> None:
    text = report(odd()["failed"])
    assert "1 solve failed." in text
    assert "&lt;no&gt; room &amp;" in text


def test_the_command_makes_the_cells_that_it_is_told_for() -> None:
    (some,) = real("paper-extended", "CE", "ARCS")
    base = changed(some, {"runs": 1000})

    def asked(*words: str) -> list[str]:
        limit = float(words[words.index("--time-limit") + 1]) if "--time-limit" in words else None
        return [f"{e.cell.title} {e.cell.algorithm} {e.cell.time_limit:g}" for e in suites.cells(words[2], limit)]

    for name, limit, expected in (
        ("paper-extended", 300.0, "rcpomdp reproduce paper-extended --store my.db"),
        ("paper-extended", 3.0, "rcpomdp reproduce paper-extended --time-limit 3 --store my.db"),
        ("ablation", 10.0, "rcpomdp reproduce ablation --store my.db"),
    ):
        record = changed(base, {"suite": name, "title": "CRS(4,4)", "time_limit": limit})
        (command,) = commands(name, [record], "my.db")
        assert command.partition("  # ")[0] == expected
        assert command.endswith(f"  # here: 1 of {len(suites.cells(name))} cells; --only and --skip choose")
        assert f"CRS(4,4) ARCS {limit:g}" in asked(*command.split())
    longer = changed(base, {"suite": "paper-unconstrained", "title": "CRS(5,7), longer", "time_limit": 10.0})
    assert commands("paper-unconstrained", [longer], "s.db") == [
        "rcpomdp reproduce paper-unconstrained --time-limit 3 --store s.db"
        "  # here: 1 of 24 cells; --only and --skip choose"
    ]
    assert commands("somebody's", [base], "s.db") == []


def test_seeds_and_steps_are_part_of_the_command() -> None:
    cpbvi, closed = real("paper-extended", "C-Tiger", "CPBVI"), real("paper-extended", "CE", "CGCP-CL")
    whole = [changed(record, {"runs": 1000}) for record in cpbvi] + [
        changed(record, {"runs": 100}) for record in closed
    ]
    assert commands("paper-extended", whole, "s.db") == [
        "rcpomdp reproduce paper-extended --time-limit 3 --step-time 0.05 --seeds 2 --store s.db"
        "  # here: 2 of 143 cells; --only and --skip choose"
    ]


def test_fewer_runs_are_part_of_the_command() -> None:
    record = changed(real("paper-extended", "CE", "ARCS")[0], {"runs": 60})
    (command,) = commands("paper-extended", [record], "s.db")
    assert command.startswith("rcpomdp reproduce paper-extended --time-limit 3 --runs 60 --store s.db")


@pytest.mark.parametrize("limit", [1 / 3, 0.1 + 0.2, 1234567.0, 7.0])
def test_the_command_has_the_limit_in_full_and_the_store_in_quotes(limit: float) -> None:
    asked = suites.cells("paper-unconstrained", limit)
    (base,) = real("paper-extended", "CE", "ARCS")
    records = [replace(base, cell=cell) for _, cell in asked]
    (command,) = commands("paper-unconstrained", records, "my runs; rm x.db")
    words = shlex.split(command)
    assert words[-2:] == ["--store", "my runs; rm x.db"]  # and no remark, as all cells are here
    assert suites.cells(words[2], float(words[words.index("--time-limit") + 1])) == asked
