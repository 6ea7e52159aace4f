"""Parts of states: what is believed of each of them, in the explorer's data and in pictures."""

from __future__ import annotations

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.model.beliefs import Belief
from rcpomdp.simulation.trajectory import trajectory
from rcpomdp.views.parts import marginals, uncertain
from rcpomdp.views.rendering.frame import draw

CLINIC = rc.problems.make("clinic")


def test_marginals_are_sums_over_the_other_parts() -> None:
    belief = rc.beliefs.initial(CLINIC)
    found = uncertain(CLINIC, belief)
    assert list(found) == [1, 2]  # the third is sure
    for place, values in found.items():
        for value, p in values.items():
            having = [q for s, q in zip(*belief, strict=True) if str(CLINIC.states[s]).split()[place - 1] == value]
            assert p == pytest.approx(sum(having))
        assert sum(values.values()) == pytest.approx(1)


def test_what_states_tell_alone_has_no_marginals() -> None:
    sure = Belief(np.array([3]), np.array([1.0]))
    two = Belief(rc.beliefs.initial(CLINIC).states[:2], np.array([0.5, 0.5]))  # they differ in one part
    assert uncertain(CLINIC, sure) == uncertain(CLINIC, two) == {}
    tiger = rc.problems.make("tiger")
    assert uncertain(tiger, rc.beliefs.initial(tiger)) == {}


def test_tuples_within_tuples_are_taken_apart() -> None:
    assert marginals([(((1, 2), "wet"), 0.25), (((1, 3), "dry"), 0.75)]) == [
        {"1": 1.0},
        {"3": 0.75, "2": 0.25},
        {"dry": 0.75, "wet": 0.25},
    ]


def test_a_picture_without_a_map_shows_parts() -> None:
    figure = draw(CLINIC, trajectory(CLINIC, rc.policies.blind(CLINIC, "wait"), steps=1, seed=0)[0], None)
    words = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert {"part 1: viral", "part 2: strong", "0.7"} <= words
