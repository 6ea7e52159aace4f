"""Clinic from its prose: severity as a small chain, the patient as blocks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rcpomdp import observability_classes
from rcpomdp.errors import ModelError
from rcpomdp.problems.clinic import clinic

KINDS = [(illness, kidneys) for illness in ("viral", "bacterial") for kidneys in ("strong", "weak")]
LEFT_ALONE = np.array(  # from severity 1 to 4, to well and severity 1 to 4
    [
        [0.2, 0.5, 0.3, 0.0, 0.0],
        [0.0, 0.2, 0.5, 0.3, 0.0],
        [0.0, 0.0, 0.2, 0.5, 0.3],
        [0.0, 0.0, 0.0, 0.2, 0.8],
    ]
)
CURED = np.array(
    [
        [0.6, 0.3, 0.1, 0.0, 0.0],
        [0.0, 0.6, 0.3, 0.1, 0.0],
        [0.0, 0.0, 0.6, 0.3, 0.1],
        [0.0, 0.0, 0.0, 0.6, 0.4],
    ]
)
ACTIONS = ["antiviral", "antibiotic", "blood-test", "scan", "wait"]


@pytest.fixture(scope="module")
def model():
    return clinic()


def test_sizes_labels_and_start(model):
    assert (model.n_states, model.n_actions, model.n_observations, model.n_costs) == (17, 5, 7, 3)
    assert list(model.states) == [f"{i} {k} {n}" for i, k in KINDS for n in (1, 2, 3, 4)] + ["well"]
    assert list(model.actions) == ACTIONS
    assert list(model.observations) == ["fever", "no-fever", "viral", "bacterial", "strong", "weak", "well"]
    assert list(model.costs) == ["toxicity", "radiation", "blood"]
    assert (model.discount, model.budget.tolist()) == (0.95, [4.5, 1.0, 1.0])
    assert_array_equal(model.terminal, np.arange(17) == 16)
    start = clinic(p_viral=0.6, p_weak=0.25).initial_belief
    assert_allclose(start[:16].reshape(4, 4), np.outer([0.45, 0.15, 0.3, 0.1], [0, 0, 1, 0]), atol=1e-15)


@pytest.mark.parametrize("a", range(5))
def test_severity(model, a):
    T = model.transition[a].toarray()
    for kind, (illness, _) in enumerate(KINDS):
        cures = (ACTIONS[a], illness) in {("antiviral", "viral"), ("antibiotic", "bacterial")}
        expected = np.zeros((4, 17))
        expected[:, [16, *range(4 * kind, 4 * kind + 4)]] = CURED if cures else LEFT_ALONE
        assert_allclose(T[4 * kind : 4 * kind + 4], expected, atol=1e-15)
    assert_array_equal(model.reward[:, a], [-1, -2, -3, -4] * 4 + [0])


def test_what_is_seen(model):
    drug_a, drug_b, blood, scan, wait = (matrix.toarray() for matrix in model.observation)
    fever = np.tile([0.1, 0.4, 0.7, 0.9], 4)
    for Z in (drug_a, drug_b, wait):
        assert_allclose(Z[:16], np.column_stack([fever, 1 - fever, np.zeros((16, 5))]), atol=1e-15)
    assert_allclose(blood[:16, 2:4], [[0.85, 0.15]] * 8 + [[0.15, 0.85]] * 8, atol=1e-15)
    assert_allclose(scan[:16, 4:6], ([[0.9, 0.1]] * 4 + [[0.1, 0.9]] * 4) * 2, atol=1e-15)
    for Z in (drug_a, drug_b, blood, scan, wait):
        assert_array_equal(Z[16], np.eye(7)[6])
        assert_allclose(Z.sum(axis=1), 1)
    assert sorted(observability_classes(model).sizes.tolist()) == [1, 16]


def test_costs():
    model = clinic(weak_toxicity=5.0)
    toxic = [1.0] * 4 + [5.0] * 4
    expected = np.zeros((3, 17, 5))
    expected[0, :16, 0] = expected[0, :16, 1] = toxic * 2
    expected[1, :16, 3] = expected[2, :16, 2] = 1.0
    assert_array_equal(model.cost, expected)


@pytest.mark.parametrize("given", [{"p_viral": 1.2}, {"p_weak": -1.0}, {"p_scan": float("nan")}])
def test_probabilities_are_checked(given):
    with pytest.raises(ModelError, match=r"^\w+ is .*, but a probability is at least 0 and at most 1$"):
        clinic(**given)


def test_costs_are_checked():
    with pytest.raises(ModelError, match="^weak_toxicity is -1.0, but a cost is a number of at least 0$"):
        clinic(weak_toxicity=-1.0)
