"""Distances from the paper's values, by hand."""

from __future__ import annotations

import math

import pytest

from rcpomdp.experiments.report import paper
from rcpomdp.experiments.report.comparison import QUANTITIES, difference, printed
from rcpomdp.simulation.estimates import Estimate


def row(problem: str, algorithm: str, table: str = paper.EXTENDED) -> paper.PaperRow:
    return next(r for r in paper.rows() if (r.table, r.problem, r.algorithm) == (table, problem, algorithm))


def test_a_difference_is_in_standard_errors_of_both_and_of_rounding() -> None:
    crs = row("CRS(4,4)", "CGCP")  # prints 10.434 ± 0.125
    expected = (11.0 - 10.434) / math.sqrt(0.2**2 + 0.125**2 + 0.001**2 / 12)
    assert difference(Estimate(11.0, 0.2), crs, "reward") == pytest.approx(expected)


def test_what_the_paper_rounds_to_its_number_is_near_it() -> None:
    ce = row("CE", "CGCP")  # prints 12.0 ± 0.0
    near = difference(Estimate(11.99999, 0.0), ce, "reward")
    assert near is not None
    assert abs(near) < 0.01
    far = difference(Estimate(11.0, 0.0), ce, "reward")
    assert far == pytest.approx(-1 / (0.1 / math.sqrt(12)))


def test_an_exact_value_has_no_error_of_its_own() -> None:
    crs = row("CRS(4,4)", "CGCP")
    assert difference(Estimate(11.0, math.nan), crs, "reward") == difference(Estimate(11.0, 0.0), crs, "reward")


def test_trailing_digits_count() -> None:
    tunnels = row("Tunnels", "CGCP")
    assert printed(tunnels, "violation_rate") == "0.50"
    expected = (0.6 - 0.5) / math.hypot(0.015, 0.01 / math.sqrt(12))
    assert difference(Estimate(0.6, 0.0), tunnels, "violation_rate") == pytest.approx(expected)


def test_nothing_to_compare_with_is_none() -> None:
    lost = row("CRS(11,11)", "CGCP-CL")
    table_2 = row("CE", "CGCP", paper.UNCONSTRAINED)
    some = Estimate(1.0, 0.1)
    for quantity in QUANTITIES:
        assert difference(some, None, quantity) is None
        assert difference(None, row("CE", "CGCP"), quantity) is None
        assert difference(some, lost, quantity) is printed(lost, quantity) is None
        assert difference(some, table_2, quantity) is None


def test_every_printed_number_is_the_one_that_is_read() -> None:
    for line in paper.rows():
        for quantity in QUANTITIES:
            text = printed(line, quantity)
            assert (None if text is None else float(text)) == getattr(line, quantity)
