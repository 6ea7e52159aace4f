"""Informed bounds over budget levels: operators against dense references, and what must hold between them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from informed_reference import Case, corner_step, fib_step, mdp_step, ordered, step, tib_step

from rcpomdp.bounds.informed import (
    Effort,
    TighterBound,
    fib_over_levels,
    mdp_over_levels,
    mdp_q_over_levels,
    tib_over_levels,
)
from reference import tolerance
from strategies import cpomdps, lively_models

SETTINGS = settings(derandomize=True, deadline=None, max_examples=25)
VALUES = (0.0, 0.2, 0.31, 0.5, 0.9, 1.0, 2.0, 3.3, 10.0)


@st.composite
def cases(draw: st.DrawFn, discounts: tuple[float, ...] = (0.0, 0.5, 0.9)) -> Case:
    """Small random models with a few levels."""
    case = draw(
        st.one_of(
            cpomdps(max_states=4, max_actions=3, max_observations=3, n_costs=1, discounts=discounts),
            lively_models(discounts, n_costs=1),
        )
    )
    finite = sorted(draw(st.sets(st.sampled_from(VALUES), max_size=4)))
    return ordered(case, np.array([*finite, np.inf]), draw(st.sampled_from((0.0, 0.3))))


def solve(case: Case, effort: Effort | None = None) -> tuple[np.ndarray, np.ndarray, TighterBound]:
    """V, F and Q of a case."""
    model, effort = case.dense.model, effort or Effort()
    args = (model, case.gain, case.levels)
    value = mdp_over_levels(*args, effort)
    vectors = fib_over_levels(*args, effort, value)
    return value, vectors, tib_over_levels(*args, case.one_step, effort, vectors, every=True)


def assert_at_least(high: np.ndarray, low: np.ndarray, by: float) -> None:
    """high ≥ low, where -inf ≥ -inf."""
    assert not np.isnan(high).any()
    assert ((high >= low - by) | (low == -np.inf)).all()


def assert_is_fixed_point(values: np.ndarray, after: np.ndarray, loose: float, rounding: float) -> None:
    """From above: one more step lowers no value by more than `loose`, and raises none."""
    assert_at_least(values, after, rounding)
    assert_at_least(after, values, loose)


@SETTINGS
@given(cases())
def test_steps_between_levels(case: Case) -> None:
    steps = case.levels.steps
    for cls in range(len(case.floor)):
        for a in range(case.floor.shape[1]):
            for level in range(len(case.levels.values)):
                assert steps.level[steps.kind[cls, a], level] == step(case, cls, a, level)


@SETTINGS
@given(cases())
def test_each_is_the_fixed_point_of_its_operator_from_above(case: Case) -> None:
    value, vectors, tighter = solve(case)
    scale = max(1.0, float(np.abs(case.gain).max())) / (1 - case.dense.model.discount)
    loose, rounding = 1e-4 * scale, tolerance(case.dense, case.gain)
    assert_is_fixed_point(value, mdp_step(case, value), loose, rounding)
    assert_is_fixed_point(vectors, fib_step(case, vectors), loose, rounding)
    assert_is_fixed_point(tighter.q, tib_step(case, tighter.q), loose, rounding)
    np.testing.assert_allclose(tighter.corner, corner_step(case, tighter.q), atol=loose)


@SETTINGS
@given(cases())
def test_each_is_no_looser_than_the_one_before_and_falls_with_the_budget(case: Case) -> None:
    value, vectors, tighter = solve(case)
    by = 1e-4 * max(1.0, float(np.abs(case.gain).max())) / (1 - case.dense.model.discount)
    assert_at_least(mdp_q_over_levels(case.dense.model, case.gain, case.levels, value), vectors, by)
    assert_at_least(vectors, tighter.corner, by)
    for bounds in (value, vectors, tighter.q, tighter.corner):
        assert_at_least(bounds[1:], bounds[:-1], 0.0)


@SETTINGS
@given(cases())
def test_every_early_stop_is_a_bound(case: Case) -> None:
    settled = solve(case)
    by = tolerance(case.dense, case.gain)
    for sweeps in range(5):
        early = solve(case, Effort(sweeps))
        for high, low in zip((early[0], early[1], *early[2]), (settled[0], settled[1], *settled[2]), strict=True):
            # Bounds that stop at different places differ by the tolerance; none may lie below the fixed point.
            assert_at_least(high, low, by + 1e-4 * max(1.0, float(np.abs(case.gain).max())))


@SETTINGS
@given(cases(), st.integers(0, 12))
def test_a_deadline_leaves_bounds(case: Case, looks: int) -> None:
    def soon() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    settled = solve(case)
    left = looks
    early = solve(case, Effort(deadline=soon))
    for high, low in zip((early[0], early[1], *early[2]), (settled[0], settled[1], *settled[2]), strict=True):
        assert_at_least(high, low, 1e-4 * max(1.0, float(np.abs(case.gain).max())))


def best_within(case: Case, b: np.ndarray, d: float, horizon: int) -> float:
    """The most that `horizon` steps of an admissible policy gain, by expanding every branch with its exact cost."""
    T, Z, gamma = case.dense.T, case.dense.Z, case.dense.model.discount
    if horizon == 0:
        return 0.0
    best = -np.inf
    for a in range(len(T)):
        spent = float(b @ case.dense.C[0, :, a])
        if spent <= d:
            total = float(b @ case.gain[:, a])
            joint = (b @ T[a])[:, None] * Z[a]
            for o in np.flatnonzero(joint.sum(axis=0)):
                p = joint[:, o].sum()
                total += gamma * p * best_within(case, joint[:, o] / p, (d - spent) / gamma, horizon - 1)
            best = max(best, total)
    return best


@settings(derandomize=True, deadline=None, max_examples=15)
@given(cases(discounts=(0.5,)))
def test_no_admissible_policy_gains_more(case: Case) -> None:
    horizon, gamma = 4, case.dense.model.discount
    tail = gamma**horizon * float(np.abs(case.gain).max()) / (1 - gamma)
    _, vectors, tighter = solve(case)
    b = case.dense.model.initial_belief
    for level, d in enumerate(case.levels.values):
        least = best_within(case, b, d, horizon) - tail
        for upper in (
            tighter.root(case.one_step)[level],
            (b[b > 0] @ tighter.corner[level][b > 0]).max(),
            (b[b > 0] @ vectors[level][b > 0]).max(),
        ):
            assert upper >= least - 1e-9
