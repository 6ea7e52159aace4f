"""Supports of beliefs, against a search in Python."""

from __future__ import annotations

import numpy as np
import pytest

import rcpomdp as rc
from random_cases import random_case
from rcpomdp.model.supports import reachable_supports
from strategies import Dense


def walked(case: Dense) -> dict[bytes, dict[tuple[int, int], bytes]]:
    """The supports that can be reached, and those that follow by action and observation."""
    found: dict[bytes, dict[tuple[int, int], bytes]] = {}
    todo = [case.model.initial_belief > 0]
    while todo:
        support = todo.pop()
        if support.tobytes() in found:
            continue
        after = found[support.tobytes()] = {}
        for a in range(case.model.n_actions):
            lands = case.T[a][support].any(axis=0)
            for o in range(case.Z.shape[2]):
                seen = lands & (case.Z[a][:, o] > 0)
                if seen.any():
                    after[a, o] = seen.tobytes()
                    todo.append(seen)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_supports_and_what_follows_them(seed: int) -> None:
    case = random_case(seed)
    expected, graph = walked(case), reachable_supports(case.model, 1000)
    assert graph is not None
    names = [members.tobytes() for members in graph.members]
    assert names[0] == (case.model.initial_belief > 0).tobytes()
    assert sorted(names) == sorted(expected)
    for i, name in enumerate(names):
        after = {(a, o): names[graph.after[i, a, o]] for a, o in np.argwhere(graph.after[i] >= 0).tolist()}
        assert after == expected[name]


def test_more_supports_than_wanted_are_none() -> None:
    model = rc.problems.make("crs-4-4")  # a rock is known, or not
    found = reachable_supports(model, 100_000)
    assert found is not None
    n = len(found.members)
    assert n > 64
    assert reachable_supports(model, n - 1) is None
    assert reachable_supports(model, n) is not None
