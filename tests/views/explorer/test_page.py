"""The page as a file, and the two commands: what they write, print and refuse."""

from __future__ import annotations

import json
import re
import webbrowser
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.errors import InputError
from rcpomdp.views.explorer.page import Side, page


def data_of(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, flags=re.DOTALL)
    assert found
    return json.loads(found[1])


def test_a_page_holds_the_graph_and_asks_for_nothing() -> None:
    model = rc.problems.make("ce")
    made = page(model, [Side("gamble", rc.policies.blind(model, "tunnel-A"))])
    data = data_of(made.html)
    side = data["sides"][0]
    assert made.nodes == [len(side["action"])] == [4]
    assert [model.actions[a] if a >= 0 else "ended" for a in side["action"]] == ["tunnel-A"] * 3 + ["ended"]
    assert sorted(side["low"][1::2]) == pytest.approx([0, 2, 5, 8], abs=1e-4)  # costs to come
    assert side["high"] is None
    # Nothing but the document itself, its icon (which is empty) and the name of SVG.
    addresses = re.findall(r"""(?:src|href)=["']([^"']*)|(https?://[^"' ]*)""", made.html)
    assert {a or b for a, b in addresses} == {"data:,", "#sides", "http://www.w3.org/2000/svg"}


def test_labels_are_text_whatever_they_say() -> None:
    nasty = "</script><script>alert(1)</script>"
    arrays = {"transition": np.ones((1, 1, 1)), "observation": np.ones((1, 1, 1)), "reward": [[1.0]]}
    model = rc.CPOMDP(**arrays, initial_belief=[1.0], discount=0.5, states=[nasty], actions=["/*SCRIPT*/"], name=nasty)
    html = page(model, [Side(nasty, rc.policies.blind(model, 0))]).html
    assert html.count("<script") == 2  # the data and the program
    assert "<script>alert" not in html
    data = data_of(html)
    assert data["states"] == [nasty]
    assert data["model"]["actions"] == ["/*SCRIPT*/"]


@pytest.mark.parametrize("name", ["/*SCRIPT*/", "/*DATA*/", "/*STYLE*/", "/*TITLE*/ \\1 & <b>"])
def test_a_name_takes_no_place_of_the_page(name: str) -> None:
    arrays = {"transition": np.ones((1, 1, 1)), "observation": np.ones((1, 1, 1)), "reward": [[1.0]]}
    model = rc.CPOMDP(**arrays, initial_belief=[1.0], discount=0.5, name=name)
    html = page(model, [Side(name, rc.policies.blind(model, 0))]).html
    assert data_of(html)["model"]["name"] == name
    assert f"<title>{escape(name)} – policy explorer</title>" in html
    assert html.count("const DATA = JSON.parse") == html.count("color-scheme: light; }") == 1


def test_drawn_problems_have_an_overlay_for_every_belief() -> None:
    model = rc.problems.make("tunnels")
    drawing = rc.problems.get("tunnels").draw(model)
    data = data_of(page(model, [Side("forward", rc.policies.blind(model, "forward"))], drawing).html)
    assert data["drawing"]["width"] == drawing.width
    assert all(row[2] for row in data["beliefs"])
    assert {shape[0] for shape in data["shapes"]} <= {"rect", "circle", "line", "text"}


def test_a_page_of_three_is_refused() -> None:
    model = rc.problems.make("ce")
    with pytest.raises(InputError, match="one policy or two, not 3"):
        page(model, [Side("same", rc.policies.blind(model, 0))] * 3)


# The commands


@pytest.fixture
def saved(tmp_path: Path) -> dict[str, str]:
    """Policy files of the cave and of Tiger, which name their problem."""
    files = {}
    for name, problem, action in [("a", "ce", "tunnel-A"), ("b", "ce", "tunnel-B"), ("tiger", "tiger", "listen")]:
        model = rc.problems.make(problem)
        files[name] = str(tmp_path / f"{name}.rcp")
        rc.save_policy(files[name], rc.policies.blind(model, action), model, problem={"name": problem})
    return files


def test_explore_writes_beside_the_policy_and_opens_it(run, saved, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    code, out, err = run("explore", saved["a"], "--compare", saved["b"])
    path = saved["a"].replace(".rcp", ".html")
    assert (code, out) == (0, f"{path}\n")
    assert "4 and 2 nodes" in err
    assert opened == [Path(path).as_uri()]
    assert [side["title"] for side in data_of(Path(path).read_text())["sides"]] == ["a.rcp", "b.rcp"]


def test_explore_tells_its_limits(run, saved, tmp_path: Path) -> None:
    out = str(tmp_path / "page.html")
    code, printed, err = run("explore", saved["tiger"], "--nodes", "7", "--no-open", "--out", out, "--json")
    told = json.loads(printed)
    assert code == 0
    explored = {"nodes": [7], "complete": False, "randomised": [False], "bytes": Path(out).stat().st_size}
    assert told == {"page": out, "seed": 0, **explored}
    assert "the rest is not explored" in err
    run("explore", saved["tiger"], "--depth", "2", "--no-open", "--out", out)
    assert len(data_of(Path(out).read_text())["sides"][0]["action"]) == 5  # heard 0, ±1, ±2 more often on the left


def test_explore_refuses_what_does_not_fit_and_writes_nothing(run, saved, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    code, _, err = run("explore", saved["a"], "--compare", saved["tiger"], "--no-open", "--out", str(out))
    assert code == 2
    assert "was made for another model, 'tiger'" in err
    code, _, err = run("explore", saved["a"], "--no-open", "--out", str(tmp_path / "nowhere" / "page.html"))
    assert (code, "No such file or directory" in err) == (2, True)
    assert not out.exists()


def test_explore_never_takes_the_place_of_what_it_reads(run, saved, tmp_path: Path) -> None:
    odd = tmp_path / "policy.html"
    odd.write_bytes(Path(saved["a"]).read_bytes())
    (tmp_path / "link.html").symlink_to(saved["b"])
    for words in (
        (str(odd),),  # whose page would have its own name
        (saved["a"], "--out", saved["a"]),
        (saved["a"], "--compare", saved["b"], "--out", str(tmp_path / "link.html")),
    ):
        before = {path: path.read_bytes() for path in tmp_path.iterdir()}
        code, out, err = run("explore", *words, "--no-open")
        assert (code, out) == (2, "")
        assert "it would take the place of what it is made from" in err
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_policies_of_model_files_are_explored_and_rendered(run, tmp_path: Path) -> None:
    model = rc.problems.make("tiger")
    where, policy = str(tmp_path / "own.pomdp"), str(tmp_path / "own.rcp")
    rc.save_model(where, model)
    read = rc.load_model(where)
    rc.save_policy(policy, rc.policies.blind(read, 0), read, problem={"name": where})
    code, out, _ = run("explore", policy, "--no-open", "--nodes", "5")
    assert code == 0
    assert data_of(Path(out.strip()).read_text())["drawing"] is None
    code, _, _ = run("render", "--policy", policy, "--out", str(tmp_path / "own.png"), "--steps", "1")
    assert code == 0


def test_a_model_of_ones_own_has_a_page_from_python(tmp_path: Path) -> None:
    model = rc.problems.make("tiger")
    lots = rc.policies.RandomPolicy(model)
    written = rc.explore(rc.policies.blind(model, 0), model, tmp_path / "own.html", Side("lots", lots), most_nodes=9)
    assert written.randomised == [False, True]
    data = data_of((tmp_path / "own.html").read_text())
    assert [side["title"] for side in data["sides"]] == ["policy", "lots"]
    assert [draw[2] for side in data["sides"] for draw in side["draws"]] == [0, 1]


def test_explain_prints_facts(run, saved) -> None:
    code, out, _ = run("explain", saved["a"], "--after", "tunnel-A:looks-rocky")
    assert code == 0
    assert "belief   entrance-rocky 0.8, entrance-clear 0.2" in out
    assert "SELF-DESTRUCTION at step 1" in out
    code, out, _ = run("explain", saved["a"], "--after", "looks-rocky", "--json")
    told = json.loads(out)
    assert told["self_destruction"] == {"step": 1, "cost": "cost"}
    assert told["history"] == [["tunnel-A", "looks-rocky"]]
    code, out, err = run("explain", saved["a"], "--after", "looks-odd")
    assert (code, out) == (2, "")
    assert err == "rcpomdp: observation 'looks-odd' is not declared; did you mean 'looks-rocky'?\n"


def test_a_cost_without_end_is_written(tmp_path: Path) -> None:
    model = rc.problems.make("tiger", cost_discount=1)
    written = tmp_path / "page.html"
    rc.explore(rc.policies.blind(model, "listen"), model, written)
    assert '"costDiscount":[1.0]' in written.read_text()


def test_a_small_controller_is_on_the_page() -> None:
    """Node 2 of this one is never reached, and where a run has ended it does not matter where it would be."""
    model = rc.problems.make("ce")
    policy = rc.policies.ControllerPolicy(model, [1, 0, 0], [[1, 1], [1, 0], [0, 0]])
    side = data_of(page(model, [Side("small", policy)]).html)["sides"][0]
    shown = side["controller"]
    assert shown["nodes"][0] == str(model.actions[1])
    assert len(shown["at"]) == len(side["action"])
    assert shown["at"][side["draws"][0][1]] == 0
    for node, at in zip(side["action"], shown["at"], strict=True):
        assert node == -1 or shown["nodes"][at] == str(model.actions[node])
    one = rc.policies.MixturePolicy([policy], [1.0])  # as solvers of budgets on average may return it
    assert data_of(page(model, [Side("small", one)]).html)["sides"][0]["controller"] == shown
    tiger = rc.problems.make("tiger")
    chain = np.minimum(np.arange(120) + 1, 119)
    large = rc.policies.ControllerPolicy(tiger, np.zeros(120, dtype=int), np.column_stack([chain, chain]))
    for policy in (large, rc.policies.fib(tiger)):
        side = data_of(page(tiger, [Side("large, or none", policy)], most_nodes=10).html)["sides"][0]
        assert side["controller"] is None
