"""The best lottery over options that cost: the linear program behind a randomised choice.

``max Σ_i w_i v_i`` subject to ``Σ_i w_i c_i ≤ d``, ``Σ_i w_i = 1``, ``w ≥ 0`` over options with reward v_i and costs
c_i. A basic optimum mixes no more options than there are finite budgets, and one. With one budget it is therefore the
best option within it, or the best mixture of one within it and one beyond; with several HiGHS finds it. Where no
lottery keeps the budgets, the option that exceeds them the least is taken (Ho et al. 2024, App. F.1).
"""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np

from .._types import FloatArray, IntArray
from ..tolerance import RELATIVE, spending_limit

_LEAST_WEIGHT = 1e-9  # a smaller one is rounding of none
_MOST_BUDGETS = 1e9  # an option that costs more budgets than this has no part in a lottery
_TIE = 1e-12  # relative: gains below this are rounding, and the plainer choice is kept


def best_lottery(values: FloatArray, budget: FloatArray, mixed: bool = True) -> tuple[IntArray, FloatArray]:
    """Options to draw from, in increasing order, and their probabilities.

    Parameters
    ----------
    values : [n, 1 + K] reward and costs of each option
    budget : [K] most that may be expected to be spent; inf is unlimited
    mixed : False asks for a single option, the best that keeps the budgets by itself

    >>> options = np.array([[0.0, 0.0], [6.0, 2.0], [7.0, 4.0]])  # reward, cost
    >>> best_lottery(options, np.array([3.0]))
    (array([1, 2]), array([0.5, 0.5]))
    >>> best_lottery(options, np.array([3.0]), mixed=False)
    (array([1]), array([1.]))
    """
    limited = np.isfinite(budget)
    rewards, costs, limit = values[:, 0], values[:, 1:][:, limited], spending_limit(budget[limited])
    within = (costs <= limit).all(axis=1)
    best = _first_largest(np.where(within, rewards, -np.inf)) if within.any() else -1
    if mixed and limit.size == 1 and best >= 0:
        return _best_pair(rewards, costs[:, 0], float(limit[0]), within, best)
    if mixed and limit.size > 1:
        found = _program(rewards, costs, budget[limited])
        if found is not None:
            return found
    if best < 0:
        scale = np.abs(costs).max(axis=0, initial=0.0)
        scale[scale == 0] = 1.0
        best = least_excess(rewards, costs / scale, limit / scale)
    return np.array([best]), np.ones(1)


def least_excess(rewards: FloatArray, costs: FloatArray, limit: FloatArray) -> int:
    """The option that exceeds the budgets the least, all told; of equals the one of most reward."""
    excess = np.maximum(costs - limit, 0.0).sum(axis=1)
    rounding = RELATIVE * np.where(costs > limit, np.maximum(costs, np.abs(limit)), 0.0).sum(axis=1)
    return _first_largest(np.where(excess <= excess.min() + rounding, rewards, -np.inf))


def _first_largest(rewards: FloatArray) -> int:
    largest = float(rewards.max())
    return int((rewards >= largest - _TIE * abs(largest)).argmax())


def _best_pair(
    rewards: FloatArray, costs: FloatArray, limit: float, within: Any, best: int
) -> tuple[IntArray, FloatArray]:
    """With one budget: the best option within it, or it spent to the last by two."""
    low, high = np.flatnonzero(within), np.flatnonzero(~within & (rewards > rewards[best]))
    if high.size:
        share = (limit - costs[low, None]) / (costs[high] - costs[low, None])  # of the one beyond
        mixture = rewards[low, None] + share * (rewards[high] - rewards[low, None])
        i, j = divmod(int(mixture.argmax()), high.size)
        if mixture[i, j] > rewards[best] + _TIE * abs(rewards[best]) and share[i, j] > _LEAST_WEIGHT:
            pair, weights = np.array([low[i], high[j]]), np.array([1 - share[i, j], share[i, j]])
            order = pair.argsort()
            return pair[order], weights[order]
    return np.array([best]), np.ones(1)


def _program(rewards: FloatArray, costs: FloatArray, budget: FloatArray) -> tuple[IntArray, FloatArray] | None:
    """The linear program for any number of budgets, each in units of itself; None if no lottery keeps them."""
    some = budget > 0
    options = np.flatnonzero((costs[:, ~some] <= budget[~some]).all(axis=1))  # of nothing, nothing is spent
    if not options.size:
        return None
    rewards, costs = rewards[options], np.minimum(costs[np.ix_(options, some)] / budget[some], _MOST_BUDGETS)
    n, n_rows = len(rewards), 1 + costs.shape[1]
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = n, n_rows
    size = float(np.abs(rewards).max()) or 1.0
    program.col_cost_ = -rewards / size
    program.col_lower_, program.col_upper_ = np.zeros(n), np.ones(n)
    program.row_lower_ = np.concatenate([np.full(n_rows - 1, -highspy.kHighsInf), [1.0]])
    program.row_upper_ = np.ones(n_rows)
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.arange(n + 1, dtype=np.int32) * n_rows
    program.a_matrix_.index_ = np.tile(np.arange(n_rows, dtype=np.int32), n)
    program.a_matrix_.value_ = np.concatenate([costs, np.ones((n, 1))], axis=1).ravel()
    make: Any = highspy.Highs  # untyped
    solver = make()
    solver.silent()
    solver.setOptionValue("primal_feasibility_tolerance", RELATIVE)
    solver.passModel(program)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    weights = np.array(solver.getSolution().col_value)
    drawn = np.flatnonzero(weights > _LEAST_WEIGHT)
    return options[drawn], weights[drawn] / weights[drawn].sum()
