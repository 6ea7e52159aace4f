"""What notebooks show: well-formed, escaped, small, and true to the numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.solvers.arcs.online import OnlinePolicy
from rcpomdp.solvers.cgcp.closed_loop import ClosedLoopPolicy
from rcpomdp.views import notebook


class Reader(HTMLParser):
    """The text of a page by cells, and whether its tags match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def words(shown: Any) -> list[str]:
    page = shown if isinstance(shown, str) else shown._repr_html_()
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert len(page) < 6000
    assert "color:#" not in page  # the page's own colours, light or dark
    return reader.words


@pytest.fixture(scope="module")
def ce() -> rc.CPOMDP:
    return rc.problems.make("ce")


def test_model(ce: rc.CPOMDP) -> None:
    shown = words(ce)
    assert shown[0] == "CPOMDP ce"
    for word in ("5", "tunnel-A, tunnel-B", "cost", "budget 5", "at most 10 a step"):
        assert word in shown


def test_labels_of_strangers_are_escaped_and_cut() -> None:
    evil = "<script>alert('x')</script>"
    model = rc.CPOMDP(
        transition=np.ones((1, 1, 1)),
        observation=np.ones((1, 1, 1)),
        reward=[[0]],
        cost=[[0]],
        initial_belief=[1],
        discount=0.5,
        states=[evil],
        actions=["x" * 1000],
        costs=[evil],
        name=evil,
    )
    page = model._repr_html_()
    assert "<script" not in page
    assert f"CPOMDP {evil}" in words(model)
    assert "x" * 59 + "…" in words(model)
    runs = rc.simulate(model, rc.policies.blind(model, 0), 3)
    assert "<script" not in runs._repr_html_()
    assert "budget unlimited" in words(runs)


def test_a_large_model_is_not_listed() -> None:
    shown = words(rc.problems.make("crs-7-8"))
    assert "12,545" in shown
    assert any(word.endswith(", …") for word in shown)


def test_result_and_verification(ce: rc.CPOMDP) -> None:
    result = rc.solve(ce)
    shown = words(result)
    assert shown[0] == "arcs: optimal"
    assert "in every history, proven" in shown
    assert "5 expected, no history more than 5" in shown
    found = rc.verify(ce, result.policy)
    assert words(found)[0] == "✓ verified"
    assert repr(found) == "Verification: verified; reward 10, no history spends more than 5"
    gamble = rc.verify(ce, rc.policies.blind(ce, "tunnel-A"))
    assert words(gamble)[0] == "✗ not verified"
    assert gamble.problem in words(gamble)
    assert repr(gamble).startswith(f"Verification: NOT verified: {gamble.problem}; reward 12")


def test_result_without_bounds_or_costs(ce: rc.CPOMDP) -> None:
    free = ce.scalarised([0.0])
    assert words(rc.solve(free, "sarsop"))[0] == "sarsop: optimal"
    assert not any("cost" in word for word in words(rc.simulate(free, rc.policies.blind(free, 0), 5)))


def test_simulation_and_evaluation(ce: rc.CPOMDP) -> None:
    policy = rc.policies.blind(ce, "tunnel-B")
    shown = words(rc.simulate(ce, policy, 20, seed=4))
    assert shown[0] == "20 runs of ce, seed 4"
    assert "10 ± 0" in shown
    assert "deliberate rate" not in shown
    assert "deliberate rate" in words(rc.simulate(ce, policy, 20, deliberate=True))
    alone = rc.simulate(ce, policy, 1)
    assert math.isnan(alone.reward.se)
    assert "10" in words(alone)
    assert words(rc.evaluate(ce, policy))[1:] == ["reward", "10", "cost", "5"]


def test_every_policy_shows_itself(ce: rc.CPOMDP) -> None:
    blind = rc.policies.blind(ce, 0)
    policies = [
        blind,
        rc.policies.RandomPolicy(ce),
        rc.policies.fib(ce),
        rc.policies.MixturePolicy([blind] * 9, [1 / 9] * 9),
        rc.solve(ce, "cpbvi").policy,
    ]
    for policy in policies:
        assert words(policy)[0] == type(policy).__name__
    assert "…" in words(policies[3])
    for kind in (ClosedLoopPolicy, OnlinePolicy):
        assert "_repr_html_" in vars(kind)
    online = rc.solve(rc.problems.make("tiger"), act_time=0.5, epsilon=1.0).policy
    assert words(online) == ["OnlinePolicy", "searches", "0.5 s before each step"]


def test_a_table_with_a_header() -> None:
    assert words(notebook.table("t", [("a", 1)], ("name", "n"))) == ["t", "name", "n", "a", "1"]


def test_a_page_without_a_path_is_shown_in_its_cell(ce: rc.CPOMDP) -> None:
    shown = rc.explore(rc.policies.blind(ce, 0), ce)
    assert shown.nodes == [4]
    assert repr(shown).startswith("a page of 4 nodes")
    cell = shown._repr_html_()
    assert cell.startswith('<iframe sandbox="allow-scripts"')
    assert cell.count("<") == 2  # the page itself is escaped


def test_an_explanation_shows_its_belief_as_bars(ce: rc.CPOMDP) -> None:
    told = rc.explain(rc.policies.blind(ce, "tunnel-A"), ce, ["looks-rocky"])
    html = told._repr_html_()
    assert "width:80.0%" in html
    assert "SELF-DESTRUCTION" in html


def test_costs_of_a_result_have_their_names(ce: rc.CPOMDP) -> None:
    model = rc.problems.make("delivery")
    found = rc.solve(model, epsilon=10)
    shown = words(found)
    assert "policy's battery" in shown
    assert "policy's noise" in shown
    assert "policy's cost 2" in words(replace(found, model=None))
    assert "policy's cost" in words(rc.solve(ce))


def test_words_are_not_broken_within(ce: rc.CPOMDP) -> None:
    assert "word-break:normal" in rc.explain(rc.policies.blind(ce, "tunnel-A"), ce)._repr_html_()
