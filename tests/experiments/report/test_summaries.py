"""Pooling of seeds against NumPy by hand, and what becomes of records that lack something."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from rcpomdp.experiments.report.summaries import budget_text, groups, label, pooled, pooled_rate, summarise
from rcpomdp.experiments.run.record import Record
from record_json import changed, odd, real

SAMPLES = st.lists(st.floats(-100, 100), min_size=2, max_size=30).map(np.array)


@settings(derandomize=True, deadline=None)
@given(SAMPLES)
def test_one_seed_has_the_usual_standard_error(sample: np.ndarray) -> None:
    mean, se = pooled([sample])
    assert mean == pytest.approx(sample.mean(), abs=1e-9)
    assert se == pytest.approx(sample.std(ddof=1) / math.sqrt(len(sample)), abs=1e-9)


def test_one_seed_is_summed_up_as_a_simulation_is() -> None:
    model = rc.problems.make("tiger")
    simulation = rc.simulate(model, rc.policies.RandomPolicy(model), runs=300, seed=3)
    assert pooled([simulation.outcome.reward]) == pytest.approx(simulation.reward, rel=1e-12)
    assert pooled_rate([simulation.outcome.violation >= 0]) == pytest.approx(simulation.violation_rate, rel=1e-12)


def test_seeds_that_differ_widen_the_error() -> None:
    a, b = np.array([1.0, 2.0, 3.0]), np.array([11.0, 12.0, 13.0, 14.0, 15.0])
    mean, se = pooled([a, b])
    both = np.concatenate([a, b])
    assert mean == pytest.approx(both.mean())
    within = (((a - 2) ** 2).sum() + ((b - 13) ** 2).sum()) / (8 - 2)
    between = 3 * (2 - both.mean()) ** 2 + 5 * (13 - both.mean()) ** 2
    of_seeds = (between - within) / (8 - (9 + 25) / 8)
    assert se == pytest.approx(math.sqrt(of_seeds * (9 + 25) / 64 + within / 8))
    assert se > both.std(ddof=1) / math.sqrt(8)


def test_equal_seeds_of_equal_size_give_the_error_of_their_means() -> None:
    rng = np.random.default_rng(1)
    samples = [rng.normal(5 * i, 1, 200) for i in range(4)]  # far apart, so that seeds count
    means = [x.mean() for x in samples]
    assert pooled(samples).se == pytest.approx(np.std(means, ddof=1) / 2)


def test_seeds_that_agree_are_one_sample() -> None:
    x = np.random.default_rng(2).normal(size=500)
    halves = [x, x[::-1]]  # the same mean: nothing is due to seeds
    assert pooled(halves).se == pytest.approx(math.sqrt(x.var(ddof=1) / 1000))


@settings(derandomize=True, deadline=None)
@given(st.lists(SAMPLES, min_size=1, max_size=4))
def test_order_of_seeds_does_not_matter(samples: list[np.ndarray]) -> None:
    assert pooled(samples) == pytest.approx(pooled(samples[::-1]), abs=1e-9)


def test_rates_of_several_seeds() -> None:
    a, b = np.array([1] * 10 + [0] * 90), np.array([1] * 30 + [0] * 70)
    rate, se = pooled_rate([a, b])
    within = (0.1 * 0.9 + 0.3 * 0.7) / 2
    between = 100 * 0.1**2 * 2
    assert rate == pytest.approx(0.2)
    assert se == pytest.approx(math.sqrt(max(0.0, (between - within) / 100) * 2 / 4 + within / 200))
    assert pooled_rate([np.zeros(50), np.zeros(50)]) == (0.0, 0.0)


def test_a_constant_has_no_rounding_and_a_single_run_no_error() -> None:
    assert pooled([np.full(3, 0.1), np.full(7, 0.1)]) == (0.1, 0.0)
    mean, se = pooled([np.array([2.0]), np.array([4.0])])  # one run a seed
    assert (mean, se) == (3.0, pytest.approx(1.0))
    (one,) = groups(odd()["one run"])
    assert one.rows[0].reward is not None
    assert one.rows[0].reward.se == 0.0  # a constant, as far as is known


def test_seeds_of_a_cell_are_one_row() -> None:
    records = real("paper-extended", "C-Tiger", "CPBVI")
    assert [r.cell.seed for r in records] == [0, 1]
    ((row,),) = (group.rows for group in groups(records))
    assert row.runs == 120
    both = np.concatenate([r.run_reward for r in records])
    assert row.reward is not None
    assert row.reward.mean == pytest.approx(both.mean())


def test_of_two_runs_of_a_seed_the_later_counts() -> None:
    (record,) = real("paper-extended", "CE", "ARCS")
    later = changed(record, run_reward=record.run_reward + 1, finished="2999-01-01T00:00:00+00:00")
    ((row,),) = (group.rows for group in groups([later, record]))
    assert row.reward is not None
    assert (row.runs, row.reward.mean) == (60, 11.0)
    ((row,),) = (group.rows for group in groups([record, *odd()["failed"]]))
    assert row.error is None


def test_a_seed_that_failed_does_not_spoil_the_others() -> None:
    good, failed = real("paper-extended", "CE", "ARCS")[0], changed(odd()["failed"][0], {"seed": 1})
    row = summarise([good, failed])
    assert (row.error, row.runs) == (None, 60)
    assert summarise([failed]).error == failed.error


@pytest.mark.parametrize("name", odd())
def test_odd_records_make_rows(name: str) -> None:
    for group in groups(odd()[name]):
        assert group.name
        assert all(label(row, group.rows) for row in group.rows)


def test_what_is_missing_is_none() -> None:
    cases = {name: groups(records)[0].rows[-1] for name, records in odd().items()}
    assert cases["failed"].reward is cases["failed"].violation is cases["failed"].lower is None
    assert cases["no costs"].violation is None
    assert cases["no costs"].cost == ()
    assert [c.mean for c in cases["several costs"].cost] == [5.0, 10.0]
    exact = cases["no runs"].reward
    assert exact is not None
    assert exact.mean == pytest.approx(10)
    assert math.isnan(exact.se)


def test_groups_carry_sizes_settings_and_budgets() -> None:
    names = {group.name: group.sizes for group in groups(real("paper-extended"))}
    assert names["Tunnels (ĉ = 1, p_correct = 0.8)"] == (53, 3, 5)
    assert names["CE (ĉ = 5)"] == (5, 2, 2)
    assert [budget_text(b) for b in ([], [math.inf], [1.0, 2.5], [5.0])] == ["none", "∞", "(1, 2.5)", "5"]
    assert groups(odd()["a problem that is not here"])[0].sizes is None


def test_a_default_is_told_where_others_differ_from_it() -> None:
    records = real("paper-figure", algorithm="ARCS")
    plain, clear = changed(records[0], {"parameters": {}}), changed(records[0], {"parameters": {"p_correct": 0.95}})
    assert [group.setting for group in groups([plain, clear])] == ["p_correct = 0.8", "p_correct = 0.95"]


def test_rows_of_one_name_are_told_apart() -> None:
    def variant(**cell: object) -> Record:
        return changed(real("paper-extended", "CE", "ARCS")[0], cell)

    (group,) = groups([variant(), variant(options={"variant": "paper"}), variant(time_limit=9.0)])
    assert [label(row, group.rows) for row in group.rows] == [
        "ARCS, variant = default, 3 s",
        "ARCS, variant = paper, 3 s",
        "ARCS, variant = default, 9 s",
    ]
