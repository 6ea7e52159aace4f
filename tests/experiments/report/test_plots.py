"""Plots: well-formed, the same for the same data, in words too; what applies, and what does not."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from rcpomdp.experiments.report.plots import plots, style
from rcpomdp.experiments.report.plots.style import Plot, inline_svg, png, slug, svg
from rcpomdp.experiments.run.record import Record
from record_json import changed, odd, real

SUITES = {
    "paper-extended": ["reward-violation", "distribution-ce-c-5"],  # of CE alone, whose searches end at once
    "paper-unconstrained": ["bounds"],
    "paper-figure": ["tunnels", "reward-violation", "distribution-tunnels-c-1-p-correct-0.8", "bounds"],
    "ablation": ["bounds", "ablation"],
    "budget-sweep": ["budget-sweep"],
    "scaling": ["bounds", "scaling"],
}


def plot(suite: str, name: str) -> Plot:
    return next(p for p in plots(real(suite)) if p.name == name)


@pytest.mark.parametrize("suite", SUITES)
def test_each_suite_has_its_plots(suite: str) -> None:
    records = real(suite, title="CE") if suite == "paper-extended" else real(suite)
    found = plots(records)
    assert [p.name for p in found] == SUITES[suite]
    for p in found:
        for text in (svg(p), inline_svg(p)):
            root = ET.fromstring(text)
            assert root.tag.endswith("svg")
            words = [child.text for child in root[:2]]
            assert words == [p.title, p.description]
            assert not re.search(r"(href|src)=\"(?!#)|url\((?!#)|@import", text)
        assert "nan" not in p.description


def lively(record: Record) -> Record:
    """A record whose runs differ and whose bounds move, if it has any."""
    end = record.trace[-1:]
    trace = np.vstack([end - np.array([0, 1, -1]), end + np.array([1, 0, 0])])
    return changed(record, run_reward=record.run_reward + np.arange(len(record.run_reward)), trace=trace)


@pytest.mark.parametrize("name", odd())
def test_odd_records_are_drawn_or_left_out(name: str) -> None:
    drawn = {p.name for p in plots([lively(r) for r in odd()[name]]) if ET.fromstring(svg(p)) is not None}
    expected = {
        "failed": set(),
        "no runs and no bounds": set(),
        "no runs": {"bounds"},
        "one run": {"reward-violation", "bounds"},
        "no bounds": {"reward-violation", "distribution-ce-c-5"},
        "no costs": {"distribution-ce-c-none", "bounds"},
    }
    assert drawn == expected.get(name, drawn)
    assert drawn or name in {"failed", "no runs and no bounds"}


def test_a_plot_with_nothing_to_show_is_left_out() -> None:
    """Every run of ARCS on CE earns 10 and costs 5, and its bounds are there before the axis of time begins."""
    (arcs,) = real("paper-extended", "CE", "ARCS")
    settled = changed(arcs, trace=np.array([[1e-4, 0.0, 12.0], [5e-4, 10.0, 10.0], [2e-3, 10.0, 10.0]]))
    assert [p.name for p in plots([settled])] == ["reward-violation"]  # with the paper's point
    assert plots([changed(settled, {"problem": "gone", "title": "gone"})]) == []
    assert "scaling" not in {p.name for p in plots(real("scaling")[:1])}


def test_a_legend_takes_one_row_where_it_has_room() -> None:
    (legend,) = plot("paper-extended", "reward-violation").figure.legends
    assert legend._ncols == len(legend.get_texts()) > 4
    assert legend.get_window_extent().width <= legend.figure.bbox.width


def test_the_same_records_give_the_same_files() -> None:
    first, again = (plot("budget-sweep", "budget-sweep") for _ in range(2))
    assert svg(first) == svg(again)
    assert png(first) == png(again)
    assert png(first).startswith(b"\x89PNG")
    assert not re.search(r"20\d\d-\d\d", svg(first))


def test_an_inlined_plot_takes_the_colours_of_its_page_and_names_of_its_own() -> None:
    text = inline_svg(plot("budget-sweep", "budget-sweep"))
    assert style.INK not in text
    assert "currentColor" in text
    names = re.findall(r'\bid="([^"]+)"', text)
    assert len(names) == len(set(names))
    assert all(name.startswith("budget-sweep-") for name in names)
    used = re.findall(r'(?:url\(|href=")#([^)"]+)', text)
    assert set(used) <= set(names)


def test_every_algorithm_has_its_colour_and_marker() -> None:
    names = ["CGCP", "CGCP-CL", "Exp-Gradient", "CPBVI", "CPBVI-D", "ARCS", "SARSOP"]
    assert len({style.colour(name) for name in names}) == len({style.marker(name) for name in names}) == len(names)
    assert style.colour("ARCS, as published") == style.colour("ARCS")
    assert style.colour("somebody's") == style.colour("somebody's")


@pytest.mark.parametrize("background", ["#ffffff", "#15181c"])
def test_colours_stand_out_from_a_light_and_a_dark_page(background: str) -> None:
    """A contrast of 2.7 at least; WCAG asks for 3 of what is not told by a marker as well."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    for name in ("CGCP", "CGCP-CL", "Exp-Gradient", "CPBVI", "CPBVI-D", "ARCS", "SARSOP"):
        high, low = sorted((luminance(style.colour(name)), luminance(background)), reverse=True)
        assert (high + 0.05) / (low + 0.05) > 2.7, name


def test_the_tunnels_tell_shares_of_runs() -> None:
    (cgcp,) = real("paper-figure", algorithm="CGCP")
    described = plot("paper-figure", "tunnels").description
    ends = [path[path >= 0][-2] for path in cgcp.paths]  # before the run is out
    in_a = np.mean([1 + (s - 4) // 16 == 1 for s in ends])  # the hall has 4 states, a tunnel 4 cells of 4
    assert f"CGCP: {in_a:.0%} of runs end in tunnel A" in described
    assert "ARCS: 0% of runs end in tunnel A" in described


def test_a_price_is_told_only_where_it_is_proven() -> None:
    described = plot("budget-sweep", "budget-sweep").description
    low, high = (real("budget-sweep", algorithm=name) for name in ("ARCS", "CGCP"))
    for rc_record, c_record in zip(low, high, strict=True):
        assert rc_record.upper is not None
        assert c_record.lower is not None
        told = f"a price of at least {c_record.lower - rc_record.upper:.3g} at budget {rc_record.cell.budget[0]:g}"
        assert (told in described) is (c_record.lower > rc_record.upper)


def test_two_budgets_are_no_sweep() -> None:
    records = [r for r in real("budget-sweep") if r.cell.budget[0] <= 0.5]
    assert [p.name for p in plots(records)] == ["bounds"]


def test_an_infeasible_budget_is_left_out_of_a_sweep() -> None:
    def infeasible(record: Record) -> Record:
        lost = {"lower": None, "upper": None, "reward": None, "status": "infeasible"}
        return changed(record, **lost, trace=np.zeros((0, 3))) if record.cell.budget == [0.25] else record

    (found,) = plots([infeasible(r) for r in real("budget-sweep")])
    assert found.name == "budget-sweep"
    assert "budget 0.25" not in found.description


def test_a_search_that_a_limit_stopped_is_hollow() -> None:
    records = [changed(r, status="time limit", upper=math.nextafter(r.upper, math.inf)) for r in real("scaling")]
    scaling = next(p for p in plots(records) if p.name == "scaling")
    assert "stopped by a limit" in svg(scaling)
    assert "stopped by a limit" not in svg(plot("scaling", "scaling"))


def test_names_of_files_are_plain() -> None:
    assert slug("Tunnels (ĉ = (1, 2.5), p = 0.8)/..") == "tunnels-c-1-2.5-p-0.8-.."
    assert slug("CRS(4,4) (ĉ = ∞)") == "crs-4-4-c"
    assert len(slug("x" * 1000)) == 100


def test_no_two_plots_of_a_suite_share_a_name() -> None:
    (record,) = real("paper-extended", "CE", "ARCS")
    twins = [lively(changed(record, {"title": title, "algorithm": a})) for title in ("Δ", "Γ", "Σ") for a in "AB"]
    names = [p.name for p in plots(twins)]
    assert names == ["reward-violation", "distribution-c-5", "distribution-c-5-2", "distribution-c-5-3", "bounds"]


def test_matplotlib_is_imported_for_plots_alone_and_pyplot_never() -> None:
    code = (
        "import sys, rcpomdp.cli\n"
        "import rcpomdp.experiments.report.plots, rcpomdp.experiments.report.tables\n"
        "assert 'matplotlib' not in sys.modules\n"
        "rcpomdp.experiments.report.plots.plots([])\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
