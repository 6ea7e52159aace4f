"""Bridge repair against the published table."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rcpomdp.policies.alpha import fib
from rcpomdp.problems.bridge_repair import bridge_repair

NEW = [0.80, 0.13, 0.02, 0.00, 0.05]
PUBLISHED = {  # action -> the row of transitions from 15-to-25, that of readings in 15-to-25, the costs by state
    "no-repair+no-inspection": ([0, 0, 0.75, 0.15, 0.10], [1, 0, 0, 0, 0], [0, 0, 0, 300, 2000]),
    "no-repair+visual": ([0, 0, 0.75, 0.15, 0.10], [0.05, 0.70, 0.25, 0, 0], [4, 4, 4, 304, 2004]),
    "no-repair+ultrasonic": ([0, 0, 0.75, 0.15, 0.10], [0, 0.05, 0.90, 0.05, 0], [18, 18, 18, 318, 2018]),
    "paint+no-inspection": ([0, 0, 0.80, 0.10, 0.10], [1, 0, 0, 0, 0], [5, 8, 15, 320, 2050]),
    "paint+visual": ([0, 0, 0.80, 0.10, 0.10], [0.05, 0.70, 0.25, 0, 0], [9, 12, 19, 324, 2054]),
    "paint+ultrasonic": ([0, 0, 0.80, 0.10, 0.10], [0, 0.05, 0.90, 0.05, 0], [23, 26, 33, 338, 2068]),
    "strengthen+no-inspection": ([0.10, 0.20, 0.56, 0.08, 0.06], [1, 0, 0, 0, 0], [25, 80, 100, 450, 2500]),
    "strengthen+visual": ([0.10, 0.20, 0.56, 0.08, 0.06], [0.05, 0.70, 0.25, 0, 0], [29, 84, 104, 454, 2504]),
    "strengthen+ultrasonic": ([0.10, 0.20, 0.56, 0.08, 0.06], [0, 0.05, 0.90, 0.05, 0], [43, 98, 118, 468, 2518]),
    "rebuild+no-inspection": (NEW, [1, 0, 0, 0, 0], [40, 120, 550, 800, 4000]),
    "rebuild+visual": (NEW, [0.05, 0.70, 0.25, 0, 0], [44, 124, 554, 804, 4004]),
    "rebuild+ultrasonic": (NEW, [0, 0.05, 0.90, 0.05, 0], [58, 138, 568, 818, 4018]),
}  # fmt: skip


def test_sizes_and_defaults():
    model = bridge_repair()
    assert model.name == "bridge-repair"
    assert (model.n_states, model.n_actions, model.n_observations) == (5, 12, 5)
    assert_array_equal(model.budget, [40.0])
    assert_allclose(model.initial_belief, 0.2)
    assert not model.terminal.any()
    assert_array_equal(bridge_repair(budget=None).budget, [np.inf])
    assert bridge_repair(discount=0.9).discount == 0.9


def test_rows_of_the_published_table():
    model = bridge_repair()
    assert list(model.actions) == list(PUBLISHED)
    middle = model.states.index("15-to-25")
    for a, (decay, reading, price) in enumerate(PUBLISHED.values()):
        assert_allclose(model.transition[a].toarray()[middle], decay)
        assert_allclose(model.observation[a].toarray()[middle], reading)
        assert_array_equal(model.reward[:, a], -np.array(price))


def test_states_of_a_bridge():
    model = bridge_repair()
    for a, action in enumerate(map(str, model.actions)):
        T, Z = model.transition[a].toarray(), model.observation[a].toarray()
        assert_allclose(T[0], NEW)
        assert_allclose(T[4], NEW if action.startswith("rebuild") else [0, 0, 0, 0, 1])
        assert_allclose(T[:4, 4], [0.05] * 4 if action.startswith("rebuild") else [0.05, *T[1:4, 4]])
        failed = {"no-inspection": 0, "visual": 2, "ultrasonic": 4}[action.split("+")[1]]
        assert_array_equal(Z[4], np.eye(5)[failed])
    by_name = {action: model.transition[a].toarray() for a, action in enumerate(model.actions)}
    assert_allclose(by_name["no-repair+visual"][1], [0, 0.70, 0.17, 0.05, 0.08])
    assert_allclose(by_name["paint+visual"][1], [0, 0.80, 0.10, 0.02, 0.08])
    assert_allclose(by_name["strengthen+visual"][1], [0.19, 0.65, 0.08, 0.02, 0.06])
    assert_allclose(by_name["paint+visual"][3], [0, 0, 0, 0.60, 0.40])
    assert_allclose(by_name["strengthen+visual"][3], [0, 0.10, 0.25, 0.55, 0.10])


def test_only_inspections_cost():
    assert_array_equal(bridge_repair().cost[0], np.tile([0, 4, 18] * 4, (5, 1)))
    model = bridge_repair(visual_cost=1, ultrasonic_cost=2)
    assert_array_equal(model.cost[0], np.tile([0, 1, 2] * 4, (5, 1)))
    assert_array_equal(model.reward, bridge_repair().reward)


def test_to_look_every_year_is_worth_more_than_to_rebuild_blindly():
    model = bridge_repair()
    rebuild = model.actions.index("rebuild+no-inspection")
    blind = np.linalg.solve(np.eye(5) - 0.95 * model.transition[rebuild].toarray(), model.reward[:, rebuild])
    assert model.initial_belief @ blind == pytest.approx(-6015.4)

    # Rebuild and look; then wait after the best grade, rebuild after any other, and look every year. W[s] is the
    # value of state s before it is looked at: W = Z_best (R_wait + 0.95 T_wait W) + Z_other (R_rebuild + ...).
    wait, rebuild = (model.actions.index(name) for name in ("no-repair+visual", "rebuild+visual"))
    best = model.observation[wait].toarray()[:, 0]
    chain = sum(p[:, None] * model.transition[a].toarray() for p, a in ((best, wait), (1 - best, rebuild)))
    W = np.linalg.solve(np.eye(5) - 0.95 * chain, best * model.reward[:, wait] + (1 - best) * model.reward[:, rebuild])
    looking = model.reward[:, rebuild] + 0.95 * model.transition[rebuild].toarray() @ W
    assert model.initial_belief @ looking == pytest.approx(-5705.388, abs=1e-3)
    assert fib(model).value(model.initial_belief) == pytest.approx(-5691.9, abs=0.1)
    assert 0 < model.budget[0] < 4 / (1 - 0.95)  # can be kept without a look, and binds
