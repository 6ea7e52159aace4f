"""The worst way through a graph, with and without a discount."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rcpomdp.verification.worst import Worst, worst

SETTINGS = settings(derandomize=True, deadline=None, max_examples=200)


def graph(here: list[float], edges: list[tuple[int, int]], discount: float = 1.0) -> Worst:
    parent, child = (
        (np.array(end, dtype=np.int64) for end in zip(*sorted(edges), strict=True))
        if edges
        else [np.zeros(0, dtype=np.int64)] * 2
    )
    return worst(np.array(here), parent, child, discount)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[float], list[tuple[int, int]]]:
    n = draw(st.integers(1, 7))
    here = draw(st.lists(st.sampled_from([0.0, 0.0, 1.0, 0.25]), min_size=n, max_size=n))
    points = st.integers(0, n - 1)
    return here, draw(st.lists(st.tuples(points, points), unique=True, max_size=3 * n))


@SETTINGS
@given(graphs(), st.sampled_from([0.5, 0.9, 1.0]))
def test_values_are_those_of_iteration_from_nothing(given_graph: tuple, discount: float) -> None:
    """After n steps without a circle that costs, nothing changes; with one, more than all that can be had is spent."""
    here, edges = given_graph
    found, x = graph(here, edges, discount), np.zeros(len(here))
    for _ in range(60 if discount == 1 else 400):
        x = np.array(
            [c + discount * max((x[j] for i, j in edges if i == at), default=0.0) for at, c in enumerate(here)]
        )
    expected = np.where(x > sum(here), np.inf, x) if discount == 1 else x
    np.testing.assert_allclose(found.value, expected, atol=1e-12)
    assert (found.above >= found.value).all()


@SETTINGS
@given(graphs())
def test_moves_attain_the_value(given_graph: tuple) -> None:
    here, edges = given_graph
    found, n = graph(here, edges), len(here)
    for start in range(n):
        spent, before, i, steps = 0.0, start, start, 0
        while i < n and steps < 50 * n:
            assert steps == 0 or (before, i) in edges
            spent, before, i, steps = spent + here[i], i, int(found.move[i]), steps + 1
        assert spent == found.value[start] if np.isfinite(found.value[start]) else spent > sum(here)


@pytest.mark.parametrize(
    ("here", "edges", "value"),
    [
        ([1.0], [], 1.0),
        ([0.0], [(0, 0)], 0.0),  # for ever, and for nothing
        ([1e-300], [(0, 0)], np.inf),
        ([1.0, 0.0, 0.0, 5.0], [(0, 1), (1, 2), (2, 1), (2, 3)], 6.0),  # out of a circle
        ([1.0, 0.0, 0.0, 5.0], [(0, 1), (1, 2), (2, 1)], 1.0),
        ([1.0, 0.0, 2.0], [(0, 1), (1, 2), (2, 1)], np.inf),
        ([1.0, 2.0, 3.0], [(0, 1), (0, 2)], 4.0),
        ([0.0, 0.0, 1.0], [(0, 1), (1, 0), (1, 2), (2, 2)], np.inf),  # a circle behind a circle
    ],
)
def test_circles(here: list[float], edges: list[tuple[int, int]], value: float) -> None:
    assert graph(here, edges).value[0] == value
