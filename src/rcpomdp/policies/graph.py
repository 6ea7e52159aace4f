"""A controller as a graph to look at: the nodes it can reach, what leads from one to another, as SVG, DOT and JSON.

A node is reached if some history of the model leads to it before the process has surely ended; observations that are
impossible where a node is met make no edge. A mixture is one graph with several starts and their weights.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._types import BoolArray, IntArray
from ..errors import PolicyError
from ..model import CPOMDP
from .base import Policy
from .controller import ControllerPolicy
from .graph_svg import svg
from .mixture import MixturePolicy

_SHOWN = 8  # observations on one arrow of a drawing
_LOOKED_AT = 40  # nodes in a notebook


class Node(NamedTuple):
    """A node and its action."""

    action: str
    policy: int  # which of a mixture's controllers it belongs to
    number: int  # there


class Edge(NamedTuple):
    """The observations that lead from one node to another."""

    source: int
    target: int
    observations: tuple[str, ...]


class Start(NamedTuple):
    """A node at which runs begin, and their share."""

    node: int
    weight: float


@dataclass(frozen=True)
class PolicyGraph:
    """Nodes by their place, in the order in which they are met from the starts."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    starts: tuple[Start, ...]
    omitted: int = 0  # nodes that can be reached but are not shown
    cut: tuple[int, ...] = ()  # nodes that lead to them
    name: str = ""

    def to_json(self) -> dict[str, Any]:
        """The graph as JSON has it."""
        return {
            "name": self.name,
            "starts": [start._asdict() for start in self.starts],
            "nodes": [node._asdict() for node in self.nodes],
            "edges": [{**edge._asdict(), "observations": list(edge.observations)} for edge in self.edges],
            "omitted": self.omitted,
            "cut": list(self.cut),
        }

    def to_dot(self) -> str:
        """The graph as GraphViz reads it."""
        return "\n".join(self._dot()) + "\n"

    def to_svg(self) -> str:
        """The graph as a picture, in the colours of the page it stands in."""
        return svg(self) + "\n"

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{svg(self.first(_LOOKED_AT))}</div>'

    def first(self, count: int) -> PolicyGraph:
        """The nodes that are met first, and what leads from one of them to another."""
        if count >= len(self.nodes):
            return self
        beyond = {edge.source for edge in self.edges if edge.target >= count}
        return replace(
            self,
            nodes=self.nodes[:count],
            edges=tuple(edge for edge in self.edges if max(edge.source, edge.target) < count),
            starts=tuple(start for start in self.starts if start.node < count),
            omitted=self.omitted + len(self.nodes) - count,
            cut=tuple(i for i in range(count) if i in beyond or i in self.cut),
        )

    def _dot(self) -> Iterator[str]:
        yield f"digraph {_quoted(self.name)} {{"
        yield "  rankdir=LR;"
        yield "  node [shape=box, style=rounded];"
        for i, node in enumerate(self.nodes):
            yield f"  n{i} [label={_quoted(node.action)}];"
        for i, start in enumerate(self.starts):
            yield f'  start{i} [shape=point, label=""];'
            label = "" if len(self.starts) == 1 else f" [label={_quoted(f'{start.weight:.6g}')}]"
            yield f"  start{i} -> n{start.node}{label};"
        for edge in self.edges:
            yield f"  n{edge.source} -> n{edge.target} [label={_quoted(_listed(edge.observations))}];"
        if self.omitted:
            yield f"  more [shape=plaintext, label={_quoted(f'{self.omitted} more')}];"
            yield from (f"  n{i} -> more [style=dashed];" for i in self.cut)
        yield "}"


def policy_graph(policy: Policy[Any], model: CPOMDP, max_nodes: int | None = None) -> PolicyGraph:
    """The graph of a controller, or of a mixture of controllers.

    Parameters
    ----------
    max_nodes : keep so many, those that are met first; `omitted` counts the others

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("tiger")
    >>> policy_graph(rc.policies.blind(model, "listen"), model).edges
    (Edge(source=0, target=0, observations=('hear-left', 'hear-right')),)
    """
    if max_nodes is not None and max_nodes < 1:
        raise PolicyError(f"a graph of {max_nodes} nodes shows nothing")
    controllers = list(_controllers(policy, 1.0))
    possible = [possible_observations(controller, model) for controller, _ in controllers]
    place: dict[tuple[int, int], int] = {}
    queue = deque((p, controller.start) for p, (controller, _) in enumerate(controllers))
    while queue:
        p, n = queue.popleft()
        if (p, n) not in place:
            place[p, n] = len(place)
            following = controllers[p][0].successors[n]
            queue.extend((p, m) for m in following[possible[p][n]].tolist())
    shown = len(place) if max_nodes is None else max_nodes
    actions, observations = [str(a) for a in model.actions], [str(o) for o in model.observations]
    edges = []
    for source, (p, n) in enumerate(list(place)[:shown]):
        leading: dict[int, list[str]] = {}
        for o in np.flatnonzero(possible[p][n]).tolist():
            leading.setdefault(place[p, int(controllers[p][0].successors[n, o])], []).append(observations[o])
        edges += [Edge(source, target, tuple(seen)) for target, seen in leading.items()]
    whole = PolicyGraph(
        nodes=tuple(Node(actions[controllers[p][0].actions[n]], p, n) for p, n in place),
        edges=tuple(edges),
        starts=tuple(Start(place[p, c.start], weight) for p, (c, weight) in enumerate(controllers)),
        name=model.title,
    )
    return whole.first(shown)


def _controllers(policy: Policy[Any], weight: float) -> Iterator[tuple[ControllerPolicy, float]]:
    """The controllers of a policy with their weights, those of weight 0 left out."""
    if isinstance(policy, MixturePolicy):
        for part, share in zip(policy.policies, policy.weights.tolist(), strict=True):
            if share > 0:
                yield from _controllers(part, weight * share)
    elif isinstance(policy, ControllerPolicy):
        yield policy, weight
    else:
        raise PolicyError(f"a policy of type {type(policy).__name__} is no controller, and has no graph")


def possible_observations(controller: ControllerPolicy, model: CPOMDP) -> BoolArray:
    """The observations that can be made at each node, [n, O]: the states that each node can meet are followed."""
    controller.batches([], model)  # refuses a controller of another model
    m, n_states = model.arrays, model.n_states
    possible = np.zeros(controller.successors.shape, dtype=bool)
    first = np.flatnonzero((model.initial_belief > 0) & ~model.terminal)
    met: dict[int, IntArray] = {}
    fresh: dict[int, list[IntArray]] = {controller.start: [first]}
    while fresh:
        node = next(iter(fresh))
        found = np.unique(np.concatenate(fresh.pop(node)))
        states = np.setdiff1d(found, met.get(node, found[:0]), assume_unique=True)
        met[node] = np.union1d(met.get(node, found[:0]), states)
        rows = int(controller.actions[node]) * n_states
        landed = np.unique(_entries(m.t_ptr, m.t_next, rows + states)[1])
        owner, seen = _entries(m.z_ptr, m.z_obs, rows + landed)
        going_on = ~model.terminal[landed[owner]]
        owner, seen = owner[going_on], seen[going_on]
        order = np.argsort(seen, kind="stable")
        observations, start = np.unique(seen[order], return_index=True)
        possible[node, observations] = True
        parts = np.split(landed[owner[order]], start[1:]) if start.size else []
        for o, part in zip(observations.tolist(), parts, strict=True):
            target = int(controller.successors[node, o])
            if target not in met or not np.isin(part, met[target]).all():
                fresh.setdefault(target, []).append(part)
    return possible


def _entries(pointer: IntArray, column: Any, rows: IntArray) -> tuple[IntArray, IntArray]:
    """For sparse rows: the place in `rows` of each entry, and its column."""
    length = pointer[rows + 1] - pointer[rows]
    owner = np.repeat(np.arange(rows.size), length)
    within = np.arange(owner.size) - np.repeat(np.cumsum(length) - length, length)
    return owner, column[pointer[rows][owner] + within].astype(np.int64)


def _listed(observations: tuple[str, ...]) -> str:
    if len(observations) <= _SHOWN:
        return "\n".join(observations)
    return "\n".join((*observations[: _SHOWN - 1], f"and {len(observations) - _SHOWN + 1} more"))


def _quoted(text: str) -> str:
    r"""A text as DOT has it, which decodes backslashes and HTML entities.

    >>> print(_quoted('say "no" & \\N'))
    "say \"no\" &amp; \\N"
    """
    lines = text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"').split("\n")
    shown = "\\n".join(lines)
    return '"' + "".join(c if c.isprintable() else f"\\\\x{ord(c):02x}" for c in shown) + '"'
