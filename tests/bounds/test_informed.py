"""Informed bounds over budget levels: operators against dense references, and what must hold between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from informed_reference import Case, corner_step, fib_step, mdp_step, ordered, step, tib_step

import rcpomdp as rc
from rcpomdp.bounds import fib_vectors
from rcpomdp.bounds.informed import (
    Effort,
    TighterBound,
    budget_levels,
    fib_over_levels,
    mdp_over_levels,
    mdp_q_over_levels,
    no_levels,
    tib_over_levels,
)
from rcpomdp.bounds.one_step import OneStep, later_beliefs, one_step_beliefs
from reference import dense, tolerance
from strategies import Dense, cpomdps, lively_models

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
    return value, vectors, tib_over_levels(*args, [case.one_step], effort, vectors, every=True)


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
        for high, low in zip((*early[:2], *early[2][:2]), (*settled[:2], *settled[2][:2]), strict=True):
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
    for high, low in zip((*early[:2], *early[2][:2]), (*settled[:2], *settled[2][:2]), strict=True):
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


def delays(case: Case, most: int) -> list[OneStep]:
    """The steps of a delay."""
    steps = [case.one_step]
    while len(steps) < most:
        later = later_beliefs(steps[-1], case.dense.model.n_actions)
        assert later is not None
        steps.append(later)
    return steps


@settings(derandomize=True, deadline=None, max_examples=15)
@given(cases(discounts=(0.5,)))
def test_no_admissible_policy_gains_more_however_late_the_state_is_known(case: Case) -> None:
    horizon, gamma = 4, case.dense.model.discount
    tail = gamma**horizon * float(np.abs(case.gain).max()) / (1 - gamma)
    args, b, steps = (case.dense.model, case.gain, case.levels), case.dense.model.initial_belief, delays(case, 3)
    bounds = [tib_over_levels(*args, steps[:delay]) for delay in (1, 2, 3)]
    for level, d in enumerate(case.levels.values):
        least = best_within(case, b, d, horizon) - tail
        roots = [bound.root(steps[bound.delay - 1])[level] for bound in bounds]
        corners = [(b[b > 0] @ bound.corner[level][b > 0]).max() for bound in bounds]
        assert min(*roots, *corners) >= least - 1e-9
        for found in (roots, corners):  # and waiting longer never makes a bound worse
            assert_at_least(np.array(found[:-1]), np.array(found[1:]), 1e-12 * max(1.0, float(np.abs(case.gain).max())))


@settings(derandomize=True, deadline=None, max_examples=15)
@given(cpomdps(max_states=4, max_actions=3, max_observations=3, n_costs=1, discounts=(0.9,)))
def test_a_state_that_is_known_when_all_is_over_tells_nothing(case: Dense) -> None:
    """With a horizon of 2, a bound that waits for 2 steps is the optimum itself."""
    plain = ordered(case, np.array([np.inf]), 0.0)
    ending = ordered(dense(case.model.with_horizon(2)), np.array([np.inf]), 0.0)
    steps = delays(ending, 2)
    bound = tib_over_levels(ending.dense.model, ending.gain, ending.levels, steps)
    expected = best_within(plain, plain.dense.model.initial_belief, np.inf, 2)
    assert float(bound.root(steps[-1])[0]) == pytest.approx(expected, abs=1e-9 * max(1.0, float(np.abs(case.R).max())))


@SETTINGS
@given(cases())
def test_finer_levels_may_start_from_coarser_ones(case: Case) -> None:
    model, values = case.dense.model, case.levels.values
    fine = np.unique(np.concatenate([values, 0.7 * values[np.isfinite(values)]]))
    finer = ordered(case.dense, fine, 0.0)
    coarse = tib_over_levels(model, finer.gain, case.levels, [case.one_step])
    start = coarse.corner[np.searchsorted(values, fine)]
    found = tib_over_levels(model, finer.gain, finer.levels, [finer.one_step], start=start)
    direct = tib_over_levels(model, finer.gain, finer.levels, [finer.one_step])
    by = 1e-4 * max(1.0, float(np.abs(case.gain).max()))
    np.testing.assert_allclose(found.root(finer.one_step), direct.root(finer.one_step), atol=by)


@SETTINGS
@given(cases(discounts=(0.0, 0.5, 0.95)))
def test_the_unlimited_level_is_the_plain_bound(case: Case) -> None:
    model = case.dense.model._changed(arrays=case.dense.model.arrays._replace(reward=case.gain))
    vectors = fib_over_levels(model, case.gain, case.levels)[-1]
    by = 1e-4 * max(1.0, float(np.abs(case.gain).max()))
    np.testing.assert_allclose(vectors, fib_vectors(model).T, atol=by)
    np.testing.assert_allclose(vectors, fib_over_levels(model, case.gain, no_levels(model))[0], atol=by)


@SETTINGS
@given(cases())
def test_what_has_ended_is_worth_nothing_and_what_is_not_allowed_minus_infinity(case: Case) -> None:
    value, vectors, tighter = solve(case)
    ended = case.dense.model.terminal
    for bounds in (value, vectors, tighter.corner):
        assert (bounds[:, ended] == 0.0).all()
    for level in range(len(value)):
        for s in range(len(case.gain)):
            for a in range(case.gain.shape[1]):
                if step(case, case.levels.class_of[s], a, level) < 0:
                    assert vectors[level, s, a] == tighter.corner[level, s, a] == -np.inf


def test_no_policy_is_admissible_where_every_action_costs_more_for_ever() -> None:
    """Each step costs 1, 2 in all: below that every policy must overspend some day, and with it none ever does."""
    model = rc.CPOMDP(
        transition=[[[1.0]]], observation=[[[1.0]]], reward=[[1.0]], cost=[[1.0]], initial_belief=[1.0], discount=0.5
    )
    values = np.array([0.5, 1.0, 1.5, 1.75, 2.0, np.inf])
    levels = budget_levels(values, np.array([[1.0]]), np.zeros(1, dtype=np.int64), 0.5)
    expected = [[-np.inf]] * 4 + [[2.0]] * 2
    np.testing.assert_allclose(mdp_over_levels(model, model.reward, levels), expected)
    np.testing.assert_allclose(fib_over_levels(model, model.reward, levels)[:, :, 0], expected)


def test_levels_must_increase_and_end_unlimited() -> None:
    for values in ([1.0, 2.0], [2.0, 1.0, np.inf], []):
        with pytest.raises(ValueError, match="levels must increase"):
            budget_levels(np.array(values), np.zeros((1, 1)), np.zeros(1, dtype=np.int64), 0.9)
    with pytest.raises(ValueError, match="each class"):
        budget_levels(np.array([np.inf]), np.zeros((1, 1)), np.ones(1, dtype=np.int64), 0.9)


@pytest.mark.parametrize(("name", "expected"), [("hallway", 1.18765), ("tiger-grid", 2.57615), ("maze20", 69.3366)])
def test_known_values_without_levels(name: str, expected: float) -> None:
    """A prototype that shares no code stopped at 1.1893 and 2.5768 on its way down to the first two."""
    model = rc.problems.make(name)
    one_step = one_step_beliefs(model, np.zeros(model.n_states, dtype=np.int32))
    assert one_step is not None
    bound = tib_over_levels(model, model.reward, no_levels(model), [one_step])
    assert float(bound.root(one_step)[0]) == pytest.approx(expected, rel=1e-5)


def test_known_values_over_levels() -> None:
    """maze20 with a budget of 3, λ = 4 and m = 8; the same prototype had 44.6 and 41.8 before it settled."""
    model = rc.problems.make("maze20", budget=3.0)
    gamma, cap = model.discount, float(model.cost.max()) / (1 - model.discount)
    finite = [3.0 * gamma ** (-i / 8) for i in range(-227, 200) if 3.0 * gamma ** (-i / 8) < cap]
    case = ordered(dense(model), np.array([*finite, np.inf]), price=4.0)
    args, at = (case.dense.model, case.gain, case.levels), finite.index(3.0)
    vectors = fib_over_levels(*args)
    bound = tib_over_levels(*args, [case.one_step], start=vectors)
    b = case.dense.model.initial_belief
    assert (b[b > 0] @ vectors[at][b > 0]).max() + 12 == pytest.approx(44.2508, rel=1e-5)
    assert bound.root(case.one_step)[at] + 12 == pytest.approx(41.7596, rel=1e-5)
