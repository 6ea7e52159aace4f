"""Observability classes against a slow closure over sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from rcpomdp.model import beliefs
from rcpomdp.model.classes import in_class_order, observability_classes
from strategies import Dense, cpomdps

SETTINGS = settings(derandomize=True, deadline=None, max_examples=150)


def slow_classes(case: Dense) -> set[frozenset[int]]:
    """Unite the support of b_0, then each class's successors under each (a, o), until nothing changes."""
    classes = [set(np.flatnonzero(case.model.initial_belief).tolist())]
    while True:
        found = [set(c) for c in classes]
        for c in classes:
            for a in range(case.model.n_actions):
                for o in range(case.model.n_observations):
                    weight = case.T[a][sorted(c)].sum(axis=0) * case.Z[a][:, o]
                    if weight.any():
                        found.append(set(np.flatnonzero(weight).tolist()))
        merged: list[set[int]] = []
        for c in found:
            meeting = [m for m in merged if m & c]
            merged = [m for m in merged if not m & c] + [c.union(*meeting)]
        if sorted(map(sorted, merged)) == sorted(map(sorted, classes)):
            return {frozenset(c) for c in classes}
        classes = merged


@SETTINGS
@given(cpomdps(max_states=9, max_actions=3, max_observations=4))
def test_classes_are_those_of_the_slow_closure(case: Dense) -> None:
    classes = observability_classes(case.model)
    found = {
        frozenset(np.flatnonzero(classes.class_of == c).tolist())
        for c in range(classes.n_classes)
        if classes.reachable[c]
    }
    assert found == slow_classes(case)
    assert classes.reachable[:-1].all()


@SETTINGS
@given(cpomdps(max_states=9))
def test_the_new_numbering_makes_each_class_contiguous(case: Dense) -> None:
    classes = observability_classes(case.model)
    np.testing.assert_array_equal(classes.rank[classes.order], np.arange(case.model.n_states))
    for c in range(classes.n_classes):
        members = classes.order[classes.start[c] : classes.start[c + 1]]
        assert (classes.class_of[members] == c).all()
    assert classes.start[-1] == case.model.n_states


@SETTINGS
@given(cpomdps(max_states=9))
def test_a_renumbered_model_is_the_same_model(case: Dense) -> None:
    classes = observability_classes(case.model)
    model, order = in_class_order(case.model, classes), classes.order
    for a in range(model.n_actions):
        np.testing.assert_array_equal(model.transition[a].toarray(), case.T[a][np.ix_(order, order)])
        np.testing.assert_array_equal(model.observation[a].toarray(), case.Z[a][order])
        assert model.transition[a].has_sorted_indices
    np.testing.assert_array_equal(model.reward, case.R[order])
    np.testing.assert_array_equal(model.cost, case.C[:, order])
    np.testing.assert_array_equal(model.initial_belief, case.model.initial_belief[order])
    np.testing.assert_array_equal(model.terminal, case.model.terminal[order])
    assert list(model.states) == [case.model.states[s] for s in order]


@SETTINGS
@given(cpomdps(max_states=9), st.integers(0, 2**32 - 1))
def test_every_belief_met_lies_in_one_class(case: Dense, seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = observability_classes(case.model)
    b = beliefs.initial(case.model)
    for _ in range(30):
        assert len(set(classes.class_of[b.states])) == 1
        found = beliefs.branches(case.model, b, int(rng.integers(case.model.n_actions)))
        b = found[int(rng.integers(len(found)))].belief


@pytest.mark.parametrize(
    ("name", "n_classes", "largest"),
    [
        ("tiger", 1, 2),  # nothing is observed
        ("tunnels", 14, 4),  # one per cell, and the end
        ("crs-4-4", 26, 8),
        ("crs-7-8", 50, 256),
    ],
)
def test_known_structure(name: str, n_classes: int, largest: int) -> None:
    classes = observability_classes(rc.problems.make(name))
    assert (classes.n_classes, classes.sizes.max()) == (n_classes, largest)


def test_a_drifting_chain_becomes_one_class_without_rescans() -> None:
    """A walk that nobody sees: each scanned state adds one to the class. Quadratic code would not return."""
    n = 200_000
    import scipy.sparse as sp

    stay_or_go = sp.csr_array(
        sp.diags_array([np.full(n, 0.5), np.full(n - 1, 0.5)], offsets=[0, 1], shape=(n, n))
    ).tolil()
    stay_or_go[n - 1, n - 1] = 1
    model = rc.CPOMDP(
        transition=[sp.csr_array(stay_or_go)],
        observation=[sp.csr_array(np.ones((n, 1)))],
        reward=np.zeros((n, 1)),
        initial_belief=np.eye(1, n)[0],
        discount=0.9,
    )
    assert observability_classes(model).n_classes == 1
