"""Graphs of controllers: what can be reached, what leads where, and that DOT can be read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from rcpomdp.policies import AlphaPolicy, ControllerPolicy, MixturePolicy, blind, policy_graph
from rcpomdp.policies.graph import Edge, Node, PolicyGraph, Start
from strategies import Dense, cpomdps

MODEL = rc.problems.make("tiger")
# Node 3 cannot be reached.
CONTROLLER = ControllerPolicy(MODEL, [2, 0, 1, 1], [[1, 1], [0, 2], [1, 1], [0, 0]], start=1)

_SVG = "{http://www.w3.org/2000/svg}"
_STRING = r'"(?:[^"\\]|\\.)*"'
_WORD = rf"(?:[A-Za-z_][A-Za-z0-9_]*|-?[0-9.]+|{_STRING})"
_ATTRIBUTES = rf"(?: \[{_WORD}={_WORD}(?:, {_WORD}={_WORD})*\])?"
_LINE = re.compile(rf"  (?:{_WORD}={_WORD}|{_WORD}(?: -> {_WORD})?{_ATTRIBUTES});")


def parsed(dot: str) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """Labels of the nodes, and edges with theirs, by the part of DOT's grammar that is used; anything else fails."""
    first, *lines, last = dot.splitlines()
    assert re.fullmatch(rf"digraph {_STRING} {{", first)
    assert last == "}"
    nodes, edges = {}, []
    for line in lines:
        assert _LINE.fullmatch(line), line
        label = re.search(rf"label=({_STRING})", line)
        text = "" if label is None else unquoted(label[1])
        if edge := re.match(rf"  ({_WORD}) -> ({_WORD})", line):
            edges.append((edge[1], edge[2], text))
        elif node := re.match(r"  (n\d+|start\d+|more) ", line):
            nodes[node[1]] = text
    for source, target, _ in edges:
        assert {source, target} <= nodes.keys()
    return nodes, edges


def unquoted(string: str) -> str:
    """What GraphViz shows for a quoted label."""
    inner = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], string[1:-1])
    return inner.replace("&amp;", "&")


def test_only_what_can_be_reached_is_shown_in_the_order_it_is_met() -> None:
    graph = policy_graph(CONTROLLER, MODEL)
    assert graph.nodes == (Node("listen", 0, 1), Node("open-right", 0, 0), Node("open-left", 0, 2))
    assert graph.edges == (
        Edge(0, 1, ("hear-left",)),
        Edge(0, 2, ("hear-right",)),
        Edge(1, 0, ("hear-left", "hear-right")),
        Edge(2, 0, ("hear-left", "hear-right")),
    )
    assert (graph.starts, graph.omitted, graph.cut) == ((Start(0, 1.0),), 0, ())


def test_impossible_observations_and_ended_processes_make_no_edge() -> None:
    """In CE, looking leads to one of two observations once; a tunnel ends the process."""
    model = rc.problems.make("ce")
    a, b = (model.actions.index(name) for name in ("tunnel-A", "tunnel-B"))
    policy = ControllerPolicy(model, [a, a, b], [[1, 2], [0, 0], [0, 0]])
    graph = policy_graph(policy, model)
    assert [node.action for node in graph.nodes] == ["tunnel-A", "tunnel-A", "tunnel-B"]
    assert graph.edges == (Edge(0, 1, ("looks-rocky",)), Edge(0, 2, ("looks-clear",)))
    ended = model.with_initial_belief(model.terminal / model.terminal.sum())
    assert policy_graph(policy, ended).edges == ()


@settings(derandomize=True, deadline=None, max_examples=60)
@given(cpomdps(), st.integers(0, 2**32 - 1))
def test_nodes_and_edges_are_those_of_a_walk_over_all_supports(case: Dense, seed: int) -> None:
    """Against a plain search over (node, state) pairs with dense arrays."""
    rng, model, n = np.random.default_rng(seed), case.model, 5
    policy = ControllerPolicy(
        model, rng.integers(model.n_actions, size=n), rng.integers(n, size=(n, model.n_observations))
    )
    pairs = {(0, int(s)) for s in np.flatnonzero(model.initial_belief) if not model.terminal[s]}
    todo, edges = list(pairs), set()
    while todo:
        node, s = todo.pop()
        a = int(policy.actions[node])
        for t in np.flatnonzero(case.T[a, s]).tolist():
            for o in np.flatnonzero(case.Z[a, t]).tolist() if not model.terminal[t] else []:
                target = int(policy.successors[node, o])
                edges.add((node, o, target))
                if (target, t) not in pairs:
                    pairs.add((target, t))
                    todo.append((target, t))
    graph = policy_graph(policy, model)
    assert {node.number for node in graph.nodes} == {0, *(node for node, _ in pairs)}
    found = {
        (graph.nodes[edge.source].number, model.observations.index(o), graph.nodes[edge.target].number)
        for edge in graph.edges
        for o in edge.observations
    }
    assert found == edges


def test_a_mixture_is_one_graph_with_weighted_starts() -> None:
    inner = MixturePolicy([CONTROLLER, blind(MODEL, "listen")], [0.5, 0.5])
    policy = MixturePolicy([inner, blind(MODEL, "open-left"), CONTROLLER], [0.75, 0.25, 0.0])
    graph = policy_graph(policy, MODEL)
    assert graph.starts == (Start(0, 0.375), Start(1, 0.375), Start(2, 0.25))
    assert [node.action for node in graph.nodes[:3]] == ["listen", "listen", "open-left"]
    assert [node.policy for node in graph.nodes] == [0, 1, 2, 0, 0]
    nodes, edges = parsed(graph.to_dot())
    assert [edge for edge in edges if edge[0].startswith("start")] == [
        ("start0", "n0", "0.375"),
        ("start1", "n1", "0.375"),
        ("start2", "n2", "0.25"),
    ]
    assert len(nodes) == 8


def test_a_long_graph_is_cut_after_the_nodes_that_are_met_first() -> None:
    n = 1000
    chain = ControllerPolicy(MODEL, [0] * n, [[min(i + 1, n - 1)] * 2 for i in range(n)])
    assert len(policy_graph(chain, MODEL).nodes) == n
    graph = policy_graph(chain, MODEL, max_nodes=3)
    assert [node.number for node in graph.nodes] == [0, 1, 2]
    assert (len(graph.edges), graph.omitted, graph.cut) == (2, n - 3, (2,))
    nodes, edges = parsed(graph.to_dot())
    assert nodes["more"] == "997 more"
    assert edges[-1][:2] == ("n2", "more")
    with pytest.raises(rc.PolicyError, match="^a graph of 0 nodes shows nothing$"):
        policy_graph(chain, MODEL, max_nodes=0)


def test_what_is_no_controller_is_refused() -> None:
    alpha = AlphaPolicy(MODEL, [[0, 0]], [0])
    for policy in (alpha, MixturePolicy([CONTROLLER, alpha], [0.5, 0.5])):
        with pytest.raises(rc.PolicyError, match="^a policy of type AlphaPolicy is no controller, and has no graph$"):
            policy_graph(policy, MODEL)
    with pytest.raises(rc.PolicyError, match="^the controller was made for a model with other"):
        policy_graph(CONTROLLER, rc.problems.make("ce"))


@pytest.mark.parametrize(
    "name", ['say "no"', "back\\slash\\N", "a -> b; }", "R&D &amp; <b>", "\u00e4\u03b1", "two\nlines"]
)
def test_labels_are_escaped(name: str) -> None:
    graph = PolicyGraph((Node(name, 0, 0),), (Edge(0, 0, (name, "x")),), (Start(0, 1.0),), name=name)
    nodes, edges = parsed(graph.to_dot())
    assert nodes["n0"] == name
    assert edges[-1] == ("n0", "n0", f"{name}\nx")


def test_many_observations_and_control_characters() -> None:
    graph = PolicyGraph((Node("\x00\x1b", 0, 0),), (Edge(0, 0, tuple(f"o{i}" for i in range(20))),), (Start(0, 1.0),))
    nodes, edges = parsed(graph.to_dot())
    assert nodes["n0"] == "\\x00\\x1b"
    assert edges[-1][2].split("\n") == [*(f"o{i}" for i in range(7)), "and 13 more"]


def test_json_has_all_of_it() -> None:
    told = json.loads(json.dumps(policy_graph(CONTROLLER, MODEL, max_nodes=2).to_json()))
    assert told == {
        "name": "tiger",
        "starts": [{"node": 0, "weight": 1.0}],
        "nodes": [{"action": "listen", "policy": 0, "number": 1}, {"action": "open-right", "policy": 0, "number": 0}],
        "edges": [
            {"source": 0, "target": 1, "observations": ["hear-left"]},
            {"source": 1, "target": 0, "observations": ["hear-left", "hear-right"]},
        ],
        "omitted": 1,
        "cut": [0],
    }


def test_the_command_draws_what_a_file_holds(run, tmp_path: Path) -> None:
    path, out = str(tmp_path / "x.rcp"), str(tmp_path / "x.dot")
    rc.save_policy(path, CONTROLLER, MODEL, problem={"name": "tiger", "parameters": {}})
    graph = policy_graph(CONTROLLER, MODEL)
    assert run("graph", path) == (0, graph.to_dot(), "")
    for words in (["--format", "json"], ["--json"]):
        code, told, _ = run("graph", path, *words)
        assert (code, json.loads(told)) == (0, graph.to_json())
    assert run("graph", path, "--out", out) == (0, "", f"rcpomdp: graph written to {out}\n")
    assert Path(out).read_text() == graph.to_dot()
    picture, table = str(tmp_path / "x.svg"), str(tmp_path / "x.json")  # the ending tells what to write
    assert run("graph", path, "--out", picture)[0] == run("graph", path, "--out", table)[0] == 0
    assert (Path(picture).read_text(), json.loads(Path(table).read_text())) == (graph.to_svg(), graph.to_json())
    assert run("graph", path, "--out", picture, "--format", "dot")[0] == 0
    assert Path(picture).read_text() == graph.to_dot()
    assert run("graph", path, "--max-nodes", "1")[2] == "rcpomdp: 2 of 3 nodes are left out\n"
    assert run("graph", path, "--format", "pdf") == (2, "", "rcpomdp: format 'pdf' is none of dot, json and svg\n")


def test_commands_take_policies_of_other_programs(run, tmp_path: Path) -> None:
    graph, vectors = str(tmp_path / "x.pg"), str(tmp_path / "y.policy")
    rc.io.write_policy(graph, CONTROLLER, MODEL)
    rc.io.write_policy(vectors, rc.policies.fib(MODEL), MODEL)
    code, told, _ = run("graph", graph, "--problem", "tiger", "--json")
    assert (code, len(json.loads(told)["nodes"])) == (0, 3)
    by_file = json.loads(run("simulate", "--problem", "tiger", "--policy", vectors, "--runs", "50", "--json")[1])
    by_name = json.loads(run("simulate", "--problem", "tiger", "--policy", "fib", "--runs", "50", "--json")[1])
    assert by_file | {"policy": ""} == by_name | {"policy": ""}
    assert run("verify", graph, "--problem", "tiger", "--budget", "9")[1].startswith("VERIFIED")
    sentence = f"rcpomdp: policy file {vectors!r} does not name its problem; give its name or file with --problem\n"
    assert run("simulate", "--policy", vectors) == (2, "", sentence)
    assert run("solve", "tiger", "--out", vectors)[::2] == (
        2,
        f"rcpomdp: {vectors!r} is the name of another program's policy; save as .rcp, or use rc.io.write_policy\n",
    )


def test_the_picture_has_every_node_and_arrow_and_no_strangers_tags() -> None:
    graph = policy_graph(CONTROLLER, MODEL)
    root = ET.fromstring(graph.to_svg())
    assert (len(root.findall(f".//{_SVG}rect")), len(root.findall(f"{_SVG}path"))) == (3, 1 + len(graph.edges))
    inside = [float(x.get(k)) for x in root.iter(f"{_SVG}rect") for k in ("x", "y")]
    assert min(inside) >= 0
    assert max(inside) <= float(root.get("width"))
    evil = PolicyGraph((Node("<script>&", 0, 0),), (Edge(0, 0, ('"><b>',)),), (Start(0, 1.0),))
    assert {e.tag.removeprefix(_SVG) for e in ET.fromstring(evil.to_svg()).iter()} <= {
        *("svg", "style", "defs", "marker", "polygon", "path", "g", "rect", "text", "title"),
    }


def test_a_notebook_shows_the_first_nodes_of_many() -> None:
    n = 100
    chain = ControllerPolicy(MODEL, [0] * n, [[min(i + 1, n - 1)] * 2 for i in range(n)])
    graph = policy_graph(chain, MODEL)
    shown = graph._repr_html_()
    assert shown.count("<rect") == 40
    assert "and 60 more nodes" in shown
    assert graph.first(40) == policy_graph(chain, MODEL, max_nodes=40)
    assert policy_graph(blind(MODEL, 0), MODEL).to_svg() == policy_graph(blind(MODEL, 0), MODEL).to_svg()
