"""The best lottery over choices that cost: the mixing program (`rcpomdp.lp`) behind a randomised choice.

A basic optimum mixes no more choices than there are finite budgets, and one. With one budget it is therefore the best
choice within it, or the best mixture of one within it and one beyond; with several HiGHS finds it. Where no lottery
keeps the budgets, the choice that exceeds them the least is taken (Ho et al. 2024, App. F.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import FloatArray, IntArray
from ..lp import MixingProgram
from ..tolerance import RELATIVE, spending_limit

_LEAST_WEIGHT = 1e-9  # a smaller one is rounding of none
_TIE = 1e-12  # relative: gains below this are rounding, and the plainer choice is kept


def best_lottery(values: FloatArray, budget: FloatArray, mixed: bool = True) -> tuple[IntArray, FloatArray]:
    """Options to draw from, in increasing order, and their probabilities.

    Parameters
    ----------
    values : [n, 1 + K] reward and costs of each choice
    budget : [K] most that may be expected to be spent; inf is unlimited
    mixed : False asks for a single choice, the best that keeps the budgets by itself

    >>> choices = np.array([[0.0, 0.0], [6.0, 2.0], [7.0, 4.0]])  # reward, cost
    >>> best_lottery(choices, np.array([3.0]))
    (array([1, 2]), array([0.5, 0.5]))
    >>> best_lottery(choices, np.array([3.0]), mixed=False)
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
    """The choice that exceeds the budgets the least, all told; of equals the one of most reward."""
    excess = np.maximum(costs - limit, 0.0).sum(axis=1)
    rounding = RELATIVE * np.where(costs > limit, np.maximum(costs, np.abs(limit)), 0.0).sum(axis=1)
    return _first_largest(np.where(excess <= excess.min() + rounding, rewards, -np.inf))


def _first_largest(rewards: FloatArray) -> int:
    largest = float(rewards.max())
    return int((rewards >= largest - _TIE * abs(largest)).argmax())


def _best_pair(
    rewards: FloatArray, costs: FloatArray, limit: float, within: Any, best: int
) -> tuple[IntArray, FloatArray]:
    """With one budget: the best choice within it, or it spent to the last by two."""
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
    """The mixing program for any number of budgets, each in units of itself; None if no lottery keeps them."""
    some = budget > 0
    choices = np.flatnonzero((costs[:, ~some] <= budget[~some]).all(axis=1))  # of nothing, nothing is spent
    if not choices.size:
        return None
    value_unit = float(np.abs(rewards[choices]).max()) or 1.0
    program = MixingProgram(budget[some], budget[some], value_unit, tolerance=RELATIVE, most_weight=1.0)
    program.add(rewards[choices], costs[np.ix_(choices, some)])
    found = program.solve()
    if found is None:
        return None
    drawn = np.flatnonzero(found.weights > _LEAST_WEIGHT)
    return choices[drawn], found.weights[drawn] / found.weights[drawn].sum()
