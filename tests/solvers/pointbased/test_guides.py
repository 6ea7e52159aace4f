"""Guides for plan sets: they keep the budget, and earn more where plans pay for the worst of hidden costs."""

from __future__ import annotations

import numpy as np
import pytest

import rcpomdp as rc
from random_cases import random_case
from rcpomdp.kernels.pointbased.arrays import NONE
from rcpomdp.solvers.belief_graph.search import Objective
from rcpomdp.solvers.pointbased import PointBasedSearch
from rcpomdp.solvers.pointbased.guides import guided_plan_sets
from rcpomdp.solvers.pointbased.policy import plan_set


def searched(model: rc.CPOMDP, work: int) -> PointBasedSearch:
    search = PointBasedSearch(
        model, Objective(1.0, np.zeros(model.n_costs)), np.array(model.spending_limit), n_levels=64
    )
    search.search(1e-6, work)
    return search


def free(model: rc.CPOMDP, work: int) -> PointBasedSearch:
    """A search without a budget."""
    search = PointBasedSearch(model, Objective(1.0, np.zeros(model.n_costs)))
    search.search(1e-6, work)
    return search


@pytest.mark.parametrize("seed", range(30))
def test_guided_plans_keep_the_budget(seed: int) -> None:
    model = random_case(seed).model
    if model.discount == 0 or not model.n_costs:
        pytest.skip("without a future nothing is searched, and without costs nothing is guided")
    search = searched(model, 20_000)
    if search.best_candidate == NONE:
        pytest.skip("nothing that keeps the budget was found")
    plans = plan_set(search, search.best_candidate, everywhere=True)
    for _, policy in guided_plan_sets(plans, [free(model, 20_000)], np.ones(model.n_costs), 0.05, seed):
        assert rc.verify(model, policy, {"lower": search.lower}).verified
        assert rc.simulate(model, policy, 100, 30, seed=seed).violation_rate.mean == 0


def test_guides_earn_more_where_hidden_costs_differ() -> None:
    model = rc.problems.make("patrol")
    search = searched(model, 20_000_000)
    plain = plan_set(search, search.best_candidate)
    plans = plan_set(search, search.best_candidate, everywhere=True)
    earned = rc.simulate(model, plain, 400, 80).reward
    candidates = guided_plan_sets(plans, [free(model, 20_000_000)], np.array([0.3]), 4.0, 0)
    guided = [rc.simulate(model, policy, 400, 80).reward for _, policy in candidates]
    assert max(r.mean for r in guided) > earned.mean + 2 * earned.se
