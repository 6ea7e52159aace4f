"""Levels of tables and of entries that are made for one budget: what is left is not rounded up to the next one."""

from __future__ import annotations

import numpy as np
import pytest

from rcpomdp.solvers.proofs.levels import TABLE_UP, closed_levels


@pytest.mark.parametrize("beta", [0.75, 0.95, 0.999])
@pytest.mark.parametrize("finer", [2, 10, 40])
def test_levels_of_tables_are_no_less_than_those_of_entries_for_the_same_budget(beta: float, finer: int) -> None:
    budget = 5.0
    natural = budget * beta ** (-np.arange(-40, 41) / 4)
    fine = budget * beta ** (-np.arange(-40 * finer, 40 * finer + 1) / (4 * finer))
    tables, entries = (
        closed_levels(natural, budget, beta, 5.00002, TABLE_UP),
        closed_levels(fine, budget, beta, 5.00001),
    )
    mine = entries[np.searchsorted(entries, natural * (1 - 1e-9))]
    assert mine == pytest.approx(natural, rel=1e-4)
    assert tables[np.searchsorted(tables, mine)] == pytest.approx(natural, rel=1e-3)


@pytest.mark.parametrize("beta", [0.75, 0.95, 0.999, 1.0])
def test_a_step_leads_from_a_level_to_the_one_that_is_meant(beta: float) -> None:
    grid = np.arange(1, 9) / 4 if beta == 1 else 2.0 * beta ** (-np.arange(-20, 21) / 4)
    for levels in (closed_levels(grid, 2.0, beta, 2.000001), closed_levels(grid, 2.0, beta, 2.000002, TABLE_UP)):
        known = levels[(levels > 0) & (levels < levels[-2] * beta)]
        left = (known / beta if beta < 1 else np.maximum(known - 0.25, 0.0)) * (1 + 1e-12)
        assert levels[np.searchsorted(levels, left)] == pytest.approx(left, rel=1e-4, abs=1e-5)
